#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Allocations fail, in the task and in its helpers.  A job may lose its helpers, and other
# requests for memory are told that there is none, but no chunk is lost and no page is
# left unzeroed.

. "$(dirname "$0")"/functions.sh

THP=/sys/kernel/mm/transparent_hugepage
NR=16
RUNS=20
# Decremented with each allocation that is made to fail.
TIMES=1000000

restore()
{
	stop_failing
	workers_may_fail 0
	restore_huge_pages
}

# start_failing FAULT PERCENT: allocations of tasks that may_fail do fail, even those that could
# wait for memory
start_failing()
{
	[ "$1" = failslab ] || set_fault "$1" min-order=0 ignore-gfp-highmem=0
	set_fault "$1" ignore-gfp-wait=0 verbose=0 times=$TIMES task-filter=1 probability="$2"
}

nr_failed()
{
	echo $((TIMES - $(cat "$DEBUGFS/$1/times")))
}

# workers_may_fail 0|1: applies to all existing workers
workers_may_fail()
{
	for comm in /proc/[0-9]*/comm; do
		read -r name < "$comm" || continue
		[ "${name#kworker/}" = "$name" ] || echo "$1" > "${comm%comm}make-it-fail"
	done
} 2>/dev/null

# may_fail COMMAND...: must be a shell builtin or function, as a program might not start
may_fail()
{
	(
		trap - EXIT
		echo 1 > /proc/self/make-it-fail
		"$@"
	) 2>/dev/null
}

# while_failing FAULT PERCENT COMMAND...: repeats it until some have failed
while_failing()
{
	failing=$1
	start_failing "$1" "$2"
	shift 2
	for _ in $(seq $RUNS); do
		"$@"
		while_failing_status=$?
		[ "$while_failing_status" -eq 0 ] && [ "$(nr_failed "$failing")" -eq 0 ] || break
	done
	stop_failing
	ktap_print_msg "$(nr_failed "$failing") allocations failed"
	[ "$(nr_failed "$failing")" -gt 0 ] && return "$while_failing_status"
}

# Only the allocation for helpers does not wait for memory, and so only that fails.
is_done_alone()
{
	set_fault failslab ignore-gfp-wait=1
	may_fail run_job "$@" && all_are status ok && all_are ret 1
}

# The module's own allocations for a job may fail, and then there is no job.
all_is_done()
{
	done=0
	for _ in $(seq $((10 * RUNS))); do
		[ $done -lt $RUNS ] || break
		may_fail run_job "$@" || continue
		all_are status ok || return 1
		done=$((done + 1))
	done
	ktap_print_msg "$done jobs"
	[ $done -ge $RUNS ]
}

setup_jobs
setup_tracing
setup_faults
[ "$(nr_online_cpus)" -gt 1 ] || skip_all "needs two CPUs"
have_huge_pages $NR 1024 || skip_all "needs $NR free pages of 2 MiB, and jobs that zero them"
workers_may_fail 1
ktap_set_plan 9

for rules in boot now; do
	check "without memory for helpers a job is done alone, rules=$rules" \
		while_failing failslab 100 is_done_alone rules=$rules size=10000 max_threads=4
	check "failslab, all that a job allocates, rules=$rules" while_failing failslab 2 \
		all_is_done rules=$rules size=2000 max_chunk=50
done
check "failslab, jobs within jobs" while_failing failslab 2 \
	all_is_done rules=now size=64 max_chunk=1 fn=nested jobs=2
check "failslab, huge pages that are touched" while_failing failslab 10 \
	with_event padata_mt_job_start program hugepages nomem private 2048 $NR
for fault in $FAULTS; do
	if grep -q '\[always\]\|\[madvise\]' $THP/enabled 2>/dev/null; then
		check "$fault, transparent huge pages" while_failing "$fault" 10 \
			with_event padata_mt_job_start program hugepages nomem thp 2048 $NR
	else
		skip "$fault, transparent huge pages" "they are off"
	fi
done

finish
