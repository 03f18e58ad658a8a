#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# A caller holds a lock which its thread function takes: lockdep reports the deadlock
# between the two without any hang, after one job that takes the lock and another one
# whose caller holds it.
#
# After that, lockdep disables itself until the next boot.

. "$(dirname "$0")"/functions.sh

# One of the locks in the report is the job, the other one is the function's.
names_both()
{
	dmesg | grep -q 'padata_mt_job.*at: ' && dmesg | grep -q 'test_fn_lock.*at: '
}

setup_jobs
needs_lockdep
ktap_set_plan 8

check "a thread function may take a lock" job_is_ok rules=now size=64 fn=lock
check "so may one of a job at boot" job_is_ok rules=boot size=64 fn=lock
check "it may start a job" job_is_ok rules=now size=64 max_chunk=1 fn=nested
check "none of that is reported" no_kernel_complaints
check "lockdep is on" lockdep_is_on
check "a caller may hold a lock" job_is_ok rules=now size=64 fn=touch hold=1
check "but not the one that the thread function takes" \
	complains 'possible circular locking dependency'
check "the report names the job and the lock" names_both
ktap_finished
