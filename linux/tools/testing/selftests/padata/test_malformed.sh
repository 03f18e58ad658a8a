#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Malformed jobs are refused with EINVAL, no part of them runs, and the kernel warns
# about this once.

. "$(dirname "$0")"/functions.sh

# is_refused WORD...: padata refuses the job
is_refused()
{
	run_job "$@" && all_are ret -22 && all_are chunks 0 && all_are units 0
}

# is_nonsense WORD...: the test module refuses the description
is_nonsense()
{
	! run_job "$@"
}

warns_once()
{
	[ "$(dmesg | grep -c 'padata: job from .* refused')" -le 1 ]
}

setup_jobs
ktap_set_plan 12

check "a job without a function is refused" is_refused size=100 fn=none
check "so is one of size 0" is_refused size=0 fn=none
check "a range that wraps around is refused" \
	is_refused start=0xffffffffffffffff size=1
check "so is one that wraps around far" \
	is_refused start=0xfffffffffffffff0 size=1000 max_threads=4
check "and from a kernel thread" \
	is_refused start=0xffffffffffffffff size=2 context=kthread jobs=4
check "the kernel warns once" warns_once
check "a job after that runs" job_is_ok size=1000

check "the module refuses an unknown word" is_nonsense size=10 colour=red
check "the module refuses a number that is none" is_nonsense size=ten
check "the module refuses a job it cannot check" is_nonsense size=0x100000000
check "the module refuses a description without size" is_nonsense fn=touch

finish
