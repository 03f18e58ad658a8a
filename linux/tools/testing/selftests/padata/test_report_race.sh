#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Threads of a job use a variable without a lock: KCSAN reports it.  This shows that the
# absence of reports for other jobs means something.

. "$(dirname "$0")"/functions.sh

# KCSAN samples few accesses, so it may take some jobs.
RUNS=20

reports()
{
	kernel_complaints | grep -q 'KCSAN: data-race in .*test_thread_fn'
}

is_reported()
{
	for _ in $(seq $RUNS); do
		job_is_ok "$@" || return 1
		! reports || return 0
	done
	return 1
}

setup_jobs
[ -e "$DEBUGFS/kcsan" ] || skip_all "needs KCSAN (CONFIG_KCSAN)"
[ "$(nr_online_cpus)" -gt 1 ] || skip_all "needs two CPUs"
ktap_set_plan 1

check "a race of a job is reported" is_reported rules=boot size=100000 fn=race
ktap_finished
