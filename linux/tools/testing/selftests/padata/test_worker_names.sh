#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# The kernel's description of a worker that helps names the job and its function, so that
# a stuck worker can be identified: in ps and top as well as in reports.

. "$(dirname "$0")"/functions.sh

# 31 characters, so that the function of a module with a long name is truncated.
NAME='^kworker/[u0-9:]*+job [0-9]* test_thread_fn'

job=

restore()
{
	[ -z "$job" ] || kill -9 "$job" 2>/dev/null
}

# Helpers stay until they have been looked at.
start_job()
{
	expect_chunks 1 1
	(
		trap - EXIT
		run_job rules=now size=2000 max_chunk=1 fn=nap us=1000 us_helper=60000000
	) &
	job=$!
	await have_begun
}

# Sets count
count_named()
{
	count=$(cat /proc/[0-9]*/comm 2>/dev/null | grep -c "$NAME")
	[ "$count" -gt 0 ]
}

are_named()
{
	start_job
	await count_named
	release
	wait "$job"
	job=
	helpers=$(($(values ret) - 1))
	ktap_print_msg "$count workers with the job's name, $helpers helpers"
	[ "$count" -gt 0 ] && [ "$count" -le "$helpers" ]
}

# Workers keep the name of the last work item, with a "-" before it.
are_done()
{
	! count_named
}

setup_jobs
[ "$(nr_online_cpus)" -ge 2 ] || skip_all "needs two CPUs"
ktap_set_plan 3

check "helpers have the name of the job and its function" are_named
check "and work on it no more when it is done" are_done

finish
