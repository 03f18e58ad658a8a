#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# What helpers use beyond the quota of the task's cgroup is limited, even for a cgroup that is
# removed when the job is over.  It is repaid out of the next quotas, and after that there is
# help again.
#
# About the clock, see test_time_cpu_max.sh.

. "$(dirname "$0")"/functions.sh

PERIOD_MS=100

# limit NAME QUOTA_MS
limit()
{
	echo "$(($2 * 1000)) $((PERIOD_MS * 1000))" > "$GROUP/$1/cpu.max"
}

# keeps QUOTA_MS LATE_MS: sets allowed.  One quota for each period and $quotas more, and
# LATE_MS for each of $jobs, which may be late by that much
keeps()
{
	allowed=$((($1 * (wall / PERIOD_MS + 1 + quotas)) + $2 * jobs))
	ktap_print_msg "$jobs jobs in $wall ms: $usage charged, helpers $helpers," \
		"$allowed allowed"
	[ "$helpers" -gt 0 ] && [ $((usage * 20)) -le $((allowed * 21)) ]
}

# removed WORD...: several jobs, each in a cgroup of its own
removed()
{
	usage=0
	jobs=0
	start_tracing padata/padata_mt_helper_end
	wall=$(now_ms)
	while [ $jobs -lt 10 ]; do
		mkdir "$GROUP/job"
		limit job 20
		( enter_group job && run_job "$@" )
		usage=$((usage + $(usage_ms job)))
		remove_group "$GROUP/job"
		jobs=$((jobs + 1))
	done
	wall=$(($(now_ms) - wall))
	quotas=$jobs
	stop_tracing
	helpers=$(helpers_ms)
	forget_trace
}

# In each job a helper has one chunk, and uses four quotas for it.  The task has a full quota when
# a job begins, whatever it has taken to get there.  It has more than one chunk itself: the other
# CPU may be busy for a moment when the first one begins.
is_repaid()
{
	mkdir "$GROUP/repaid"
	repaid=0
	for _ in 1 2 3; do
		(
			enter_group repaid && limit repaid 50 &&
			run_job rules=now size=4 max_chunk=1 max_threads=2 fn=busy us=200000
		)
		if [ "$(values helped)" -eq 1 ]; then
			repaid=$((repaid + 1))
		else
			show_result
		fi
		sleep 2
	done
	remove_group "$GROUP/repaid"
	ktap_print_msg "$repaid of 3 jobs had help"
	[ $repaid -eq 3 ]
}

setup_jobs
setup_tracing
setup_cgroups cpu
[ "$(nr_online_cpus)" -gt 1 ] || skip_all "needs two CPUs"
[ -e "$GROUP/cpu.max" ] || skip_all "needs cpu.max (CONFIG_CFS_BANDWIDTH)"
ktap_set_plan 3

removed rules=now size=2000 max_chunk=10 fn=busy us=10 us_helper=5000
check "helpers use little that a cgroup which is removed cannot repay" keeps 20 3

check "once it is repaid there is help again" is_repaid

finish
