#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# A thread function that takes a lock which sleeps, in a job that says how long its chunks are:
# lockdep reports it.  After that, lockdep disables itself until the next boot.

. "$(dirname "$0")"/functions.sh

setup_jobs
needs_lockdep
ktap_set_plan 3

check "a thread function may take a lock without max_chunk" job_is_ok rules=boot size=64 fn=lock
check "that is not reported" no_kernel_complaints
job_is_ok rules=now size=64 max_chunk=1 fn=lock
check "with max_chunk it may not" complains 'Invalid wait context'
ktap_finished
