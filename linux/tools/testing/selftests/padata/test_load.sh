#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Jobs beside tasks that leave no CPU idle.

. "$(dirname "$0")"/functions.sh

hogs=

restore()
{
	# Each is one process, to be split.
	# shellcheck disable=SC2086
	[ -z "$hogs" ] || kill $hogs 2>/dev/null
}

hog_cpus()
{
	for _ in $(online_cpus); do
		while :; do :; done &
		hogs="$hogs $!"
	done
}

setup_jobs
ktap_set_plan 10

hog_cpus
check "a job" job_is_ok size=100000 min_chunk=64
check "a job in a kernel thread" job_is_ok size=100000 min_chunk=64 context=kthread
check "a job that sleeps" job_is_ok size=32 fn=sleep us=1000
check "a job that works" job_is_ok size=64 fn=busy us=500
check "jobs at the same time" job_is_ok size=10000 min_chunk=64 jobs=8
check "jobs that start jobs" job_is_ok size=32 fn=nested jobs=2
check "a job after boot" job_is_ok rules=now size=100000 min_chunk=64
check "a job after boot that sleeps" job_is_ok rules=now size=32 fn=sleep us=1000
check "jobs after boot at the same time" job_is_ok rules=now size=10000 min_chunk=64 jobs=8

finish
