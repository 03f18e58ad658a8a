#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# CPU time that helpers use for a task is charged to its cgroup: it shows in cpu.stat, and
# cpu.max limits the task and its helpers together.
#
# CPU time is what the scheduler's clock says went by while a thread was on a CPU.
# When a virtual CPU has to wait for a real one, its thread is charged for that, and is
# throttled late.  So this needs a real CPU for each of the guest's, or a clock that
# counts instructions (QEMU: -icount), which the host's load does not affect.

. "$(dirname "$0")"/functions.sh

MS=5000
QUOTA="50000 100000"
# About 40 ms of work each, in chunks of half a millisecond.  A task that has used up its
# quota may go on in the kernel, and is throttled when it leaves it: long jobs would start
# with nothing left for helpers.
JOB="rules=now size=80 max_chunk=1 fn=busy us=500"

# work NAME WORD...: runs jobs in the cgroup for $MS.  Prints what they cost the shell.
work()
{
	enter_group "$1"
	shift
	end=$(($(now_ms) + MS))
	while [ "$(now_ms)" -lt $end ]; do
		run_job "$@"
	done
	cpu_ms < /proc/self/stat
}

# measure NAME WORD...: sets usage, wall, caller, helpers and kworkers, in ms
measure()
{
	start_tracing padata/padata_mt_helper_end
	usage=$(usage_ms "$1")
	wall=$(now_ms)
	kworkers=$(kworkers_ms)
	# Word splitting is intended.
	# shellcheck disable=SC2086
	caller=$(work "$@")
	kworkers=$(($(kworkers_ms) - kworkers))
	wall=$(($(now_ms) - wall))
	usage=$(($(usage_ms "$1") - usage))
	stop_tracing
	helpers=$(helpers_ms)
	forget_trace
	ktap_print_msg "$1: in $wall ms, $usage charged;" \
		"caller $caller, helpers $helpers, their threads $kworkers"
}

keeps_quota()
{
	within 5 "$usage" $((wall / 2))
}

has_help()
{
	[ "$helpers" -gt $((usage / 10)) ]
}

is_paid_for()
{
	within 5 "$usage" $((caller + $1))
}

setup_jobs
setup_tracing
setup_cgroups cpu
[ "$(nr_online_cpus)" -gt 1 ] || skip_all "needs two CPUs"
mkdir "$GROUP/limited" "$GROUP/free"
echo "$QUOTA" > "$GROUP/limited/cpu.max" || skip_all "needs cpu.max (CONFIG_CFS_BANDWIDTH)"
ktap_set_plan 12

# Word splitting is intended.
# shellcheck disable=SC2086
measure limited $JOB max_threads=1
check "a task alone keeps to its quota" keeps_quota
check "alone, it is charged for its own CPU time" is_paid_for 0

# shellcheck disable=SC2086
measure limited $JOB
check "a task with helpers keeps to its quota" keeps_quota
check "the helpers take part" has_help
check "the task is charged for what its helpers say they used" is_paid_for "$helpers"
check "and for what their threads used" is_paid_for "$kworkers"

# shellcheck disable=SC2086
measure free $JOB
check "the helpers of a task without limit take part" has_help
check "it is charged for what its helpers say they used" is_paid_for "$helpers"
check "and for what their threads used" is_paid_for "$kworkers"

# The limit of a cgroup also applies to all cgroups below it.
echo "$QUOTA" > "$GROUP/cpu.max"
# shellcheck disable=SC2086
measure free $JOB
check "a task with helpers keeps to the quota of a cgroup above" keeps_quota
check "they take part there, too" has_help

finish
