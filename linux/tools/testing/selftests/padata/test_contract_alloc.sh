#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# A thread function that allocates memory, in a job that says how long its chunks are: once
# such a job has had a helper, lockdep reports it.  After that, lockdep disables itself until
# the next boot.

. "$(dirname "$0")"/functions.sh

setup_jobs
needs_lockdep
ktap_set_plan 4

check "a thread function may allocate memory without max_chunk" \
	job_is_ok rules=boot size=64 fn=alloc
check "a job with max_chunk has a helper" \
	until_helped 1 job_is_ok rules=now size=64 max_chunk=1 fn=busy us=1000
check "none of that is reported" no_kernel_complaints
job_is_ok rules=now size=64 max_chunk=1 fn=alloc
check "with max_chunk it may not" complains 'possible circular locking dependency'
ktap_finished
