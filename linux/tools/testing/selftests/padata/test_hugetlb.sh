#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Huge page pools, which are filled at boot by padata jobs: all pages requested on
# the command line exist, are intact, and can be freed and allocated again.

. "$(dirname "$0")"/functions.sh

DEFAULT_POOL=/proc/sys/vm/nr_hugepages

had=

restore()
{
	[ -z "$had" ] || echo "$had" > "$DEFAULT_POOL"
}

# hugetlb KEY: of /proc/meminfo
hugetlb()
{
	sed -n "s/^$1: *\([0-9]*\).*/\1/p" /proc/meminfo
}

# The number for the default size, or nothing if it is not that simple.
asked_at_boot()
{
	grep -q 'hugepagesz=' /proc/cmdline ||
		sed -n 's/.*\<hugepages=\([0-9][0-9]*\)\( .*\)*$/\1/p' /proc/cmdline
}

# pool_is N: of N pages, all of them free
pool_is()
{
	[ "$(hugetlb HugePages_Total)" -eq "$1" ] && [ "$(hugetlb HugePages_Free)" -eq "$1" ]
}

# can_set N
can_set()
{
	echo "$1" > "$DEFAULT_POOL" && pool_is "$1"
}

setup
[ -e "$DEFAULT_POOL" ] || skip_all "needs huge pages (CONFIG_HUGETLBFS)"
had=$(cat "$DEFAULT_POOL")
asked=$(asked_at_boot)
size=$(hugetlb Hugepagesize)
# A quarter of what is free, and no more than can be done in a second
some=$(($(hugetlb MemFree) / 4 / size))
[ "$some" -le 128 ] || some=128
[ "$some" -gt 0 ] || skip_all "too little memory for huge pages"
ktap_set_plan 5

if [ -n "$asked" ]; then
	check "the pool has the pages asked for at boot" pool_is "$asked"
else
	skip "the pool has the pages asked for at boot" "no hugepages= on the command line"
fi
check "the pool can be emptied" can_set 0
check "the pool can be filled" can_set "$some"
check "the pool can be put back" can_set "$had"

finish
