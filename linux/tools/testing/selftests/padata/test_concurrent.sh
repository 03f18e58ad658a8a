#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Jobs that run at the same time, jobs that start jobs, and both together.

. "$(dirname "$0")"/functions.sh

# Writers wait for each other; each must get the result of its own kind of job.
several_writers()
{
	pids=
	for i in 1 2 3 4; do
		( job_is_ok size=10000 min_chunk=$i jobs=2 ) &
		pids="$pids $!"
	done
	status=0
	for pid in $pids; do
		wait "$pid" || status=1
	done
	return $status
}

setup_jobs
ktap_set_plan 13

check "two jobs" job_is_ok size=100000 min_chunk=8 jobs=2
check "more jobs than CPUs" job_is_ok size=100000 min_chunk=8 jobs=16
check "many jobs" job_is_ok size=1000 jobs=64
check "jobs that sleep" job_is_ok size=64 fn=sleep us=500 jobs=16
check "jobs that sleep, two threads each" \
	job_is_ok size=64 fn=sleep us=500 jobs=8 max_threads=2
check "jobs on one CPU" job_is_ok size=64 fn=sleep us=500 jobs=8 cpus=0 context=kthread
check "jobs that start jobs" job_is_ok size=64 fn=nested jobs=8
check "jobs after boot" job_is_ok rules=now size=10000 min_chunk=8 max_chunk=100 jobs=16
check "jobs after boot that sleep" job_is_ok rules=now size=64 max_chunk=1 fn=sleep us=500 jobs=16
check "jobs after boot that start jobs" job_is_ok rules=now size=64 max_chunk=1 fn=nested jobs=8
check "and slowly" job_is_ok rules=now size=64 max_chunk=1 fn=nested jobs=2
check "jobs of several writers" several_writers

finish
