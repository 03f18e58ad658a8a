#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# A thread function that does not return: the report of the hung task says which job
# the task waits for, so that one knows whom to ask.
#
# Makes the kernel report a hung task, or some.

. "$(dirname "$0")"/functions.sh

HUNG=/proc/sys/kernel/hung_task_timeout_secs
WARNINGS=/proc/sys/kernel/hung_task_warnings

timeout=
warnings=

restore()
{
	[ -z "$timeout" ] || echo "$timeout" > "$HUNG"
	[ -z "$warnings" ] || echo "$warnings" > "$WARNINGS"
}

# What the kernel said since the test began
said()
{
	dmesg | sed "1,/$(echo "$MARK" | sed 's/[./]/\\&/g')/d"
}

# Helpers sleep for so long that the caller is found to be waiting.
hangs()
{
	job_is_ok rules=now size=64 max_chunk=1 fn=sleep us=1000 us_helper=8000000 &&
		[ "$(values helped)" -gt 0 ]
}

is_reported()
{
	said | grep -q 'INFO: task .* blocked for more than'
}

names_job()
{
	said | grep -q 'padata: job [0-9]*, thread_fn test_thread_fn.*, waits for' &&
		said | grep -q 'padata: job [0-9]*: helper [0-9]'
}

no_other_complaints()
{
	! said | grep -qE 'BUG:|WARNING:|INFO: (possible|rcu|trying)'
}

setup_jobs
[ -w "$HUNG" ] || skip_all "needs the hung task detector (CONFIG_DETECT_HUNG_TASK)"
[ "$(nr_online_cpus)" -gt 1 ] || skip_all "needs two CPUs"
timeout=$(cat "$HUNG")
warnings=$(cat "$WARNINGS")
echo 100 > "$WARNINGS"
echo 2 > "$HUNG"
ktap_set_plan 4

check "a job whose helpers take long is done in the end" hangs
check "the caller is reported as hung" is_reported
check "the report names the job, its function and its helpers" names_job
check "nothing else is reported" no_other_complaints
ktap_finished
