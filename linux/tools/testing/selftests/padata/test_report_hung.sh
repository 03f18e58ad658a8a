#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# A thread function does not return: the helper that runs it is reported as hung, and
# the report names the job and the function.
#
# Makes the kernel report hung tasks.

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

# The kernel's messages since the test began
said()
{
	dmesg | sed "1,/$(echo "$MARK" | sed 's/[./]/\\&/g')/d"
}

# Helpers sleep for long enough to be detected.
hangs()
{
	start_jobs rules=now size=64 max_chunk=1 fn=sleep us=1000 us_helper=60000000
	await helper_is_reported
	stop_jobs
	all_are status ok && [ "$(values helped)" -gt 0 ]
}

helper_is_reported()
{
	said | grep -q 'INFO: task kworker/.* blocked for more than'
}

names_job()
{
	said | grep -q 'Workqueue: padata_mt[_task]* padata_mt_helper_fn (job [0-9]* test_thread_fn'
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
check "helpers are reported as hung" helper_is_reported
check "the report of a helper names the job and its function" names_job
check "nothing else is reported" no_other_complaints
ktap_finished
