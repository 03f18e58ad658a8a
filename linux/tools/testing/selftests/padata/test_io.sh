#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# What helpers write for a task is charged to its cgroup: it shows in io.stat.  Nothing
# of the cgroup remains after its removal.

. "$(dirname "$0")"/functions.sh

DISK=/dev/ram0
PAGES=512
PAGE_SIZE=$(getconf PAGESIZE 2>/dev/null || echo 4096)

# written NAME: bytes, to any disk
written()
{
	tr ' ' '\n' < "$GROUP/$1/io.stat" |
		awk -F = '$1 == "wbytes" { bytes += $2 } END { print bytes + 0 }'
}

write_in()
{
	had=$(written "$1")
	( enter_group "$1" && run_job rules=now size=$PAGES max_chunk=1 fn=write file=$DISK )
}

is_charged()
{
	until_helped $((PAGES / 10)) write_in "$1" || return 1
	has=$(written "$1")
	ktap_print_msg "$(((has - had) / PAGE_SIZE)) pages charged of $PAGES," \
		"$(values helped) of them written by helpers"
	[ $((has - had)) -eq $((PAGES * PAGE_SIZE)) ]
}

# are_freed NAME...: the cgroups are freed, some time after their removal
are_freed()
{
	for freed; do
		remove_group "$GROUP/$freed" || return 1
	done
	await none_is_dying
}

setup_jobs
[ -b $DISK ] || skip_all "needs $DISK (CONFIG_BLK_DEV_RAM)"
setup_cgroups io
[ "$(nr_online_cpus)" -gt 1 ] || skip_all "needs two CPUs"
mkdir "$GROUP/writer" "$GROUP/other"
[ -e "$GROUP/writer/io.stat" ] || skip_all "needs io.stat (CONFIG_BLK_CGROUP)"
ktap_set_plan 4

check "what a task and its helpers write is charged to its cgroup" is_charged writer
check "helpers write for whom they work then" is_charged other
check "their cgroups are freed when they are removed" are_freed writer other

finish
