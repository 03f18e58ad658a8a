#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# CPUs go offline and online while jobs run on them, and while huge pages are zeroed.
# A job may lose helpers, but nothing else.

. "$(dirname "$0")"/functions.sh

# A few CPUs are enough, as each takes some time.
MAX_CPUS=4

NR=16

toggler=
cpus=$(
	for cpu in $(online_cpus); do
		[ ! -w "$CPUS/cpu$cpu/online" ] || echo "$cpu"
	done | head -n $MAX_CPUS
)

restore()
{
	[ -z "$toggler" ] || kill "$toggler" 2>/dev/null
	for cpu in $cpus; do
		[ "$(cat "$CPUS/cpu$cpu/online")" = 1 ] ||
			echo 1 > "$CPUS/cpu$cpu/online"
	done
	restore_huge_pages
}

# A CPU that is needed elsewhere may refuse to go offline.
toggle()
{
	for cpu in $cpus; do
		echo 0 > "$CPUS/cpu$cpu/online"
		echo 1 > "$CPUS/cpu$cpu/online"
	done 2>/dev/null
}

# while_toggling COMMAND...: repeats it until the toggling has ended
while_toggling()
{
	toggle &
	toggler=$!
	status=0
	runs=0
	while kill -0 "$toggler" 2>/dev/null && [ $status -eq 0 ]; do
		"$@" || status=1
		runs=$((runs + 1))
	done
	wait "$toggler"
	toggler=
	ktap_print_msg "$runs runs"
	return $status
}

runs_while_toggling()
{
	while_toggling job_is_ok "$@"
}

# The CPUs that were offline help again.
all_help()
{
	job_is_ok size=100000 cpus="$(cat "$CPUS/online")" &&
		all_are ret $(($(nr_online_cpus) + 1))
}

setup_jobs
setup_tracing
[ -n "$cpus" ] || skip_all "needs a CPU that can go offline (CONFIG_HOTPLUG_CPU)"
nr=$(nr_online_cpus)
ktap_set_plan 9

check "a job in a task" runs_while_toggling size=10000 min_chunk=4
check "jobs in kernel threads" \
	runs_while_toggling size=10000 min_chunk=4 jobs=4 context=kthread
check "jobs that sleep" runs_while_toggling size=64 fn=sleep us=1000 jobs=4
check "a job after boot" runs_while_toggling rules=now size=1000 max_chunk=1 fn=busy us=300
check "a job after boot that sleeps" \
	runs_while_toggling rules=now size=256 max_chunk=1 fn=sleep us=1000
name="huge pages that others read meanwhile"
if have_huge_pages $NR 1024; then
	check "$name" with_event padata_mt_helper_start while_toggling \
		program hugepages poll file 2048 $NR
else
	skip "$name" "needs $NR huge pages of 2 MiB"
fi
check "all CPUs are back" [ "$(nr_online_cpus)" -eq "$nr" ]
check "all CPUs help again" all_help

finish
