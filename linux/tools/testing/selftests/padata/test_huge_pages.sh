#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Huge pages that several threads zero: all zero, for all who look, at any time.

. "$(dirname "$0")"/functions.sh

HUGE=/sys/kernel/mm/hugepages/hugepages-
THP=/sys/kernel/mm/transparent_hugepage
VM=/proc/sys/vm
NR=16
BIG_KB=1048576

threshold=
threads=
pools=

restore()
{
	[ -z "$threshold" ] || echo "$threshold" > "$VM/folio_zero_threshold_kb"
	[ -z "$threads" ] || echo "$threads" > "$VM/folio_zero_max_threads"
	for pool in $pools; do
		echo "${pool#*=}" > "${HUGE}${pool%=*}kB/nr_hugepages"
	done
}

# reserve KB NR: a pool of at least so many pages
reserve()
{
	nr_file=${HUGE}$1kB/nr_hugepages
	[ -e "$nr_file" ] || return 1
	had=$(cat "$nr_file")
	[ "$had" -lt "$2" ] || return 0
	pools="$1=$had $pools"
	echo "$2" > "$nr_file"
	[ "$(cat "$nr_file")" -ge "$2" ]
}

# hugepages WORD...: see hugepages.c
hugepages()
{
	said=$("$DIR"/hugepages "$@") && return 0
	ktap_print_msg "hugepages $*: $said"
	return 1
}

# jobs_of WORD...: how many jobs it takes
jobs_of()
{
	start_tracing padata/padata_mt_job_start
	hugepages "$@" || echo failed
	stop_tracing
	grep -c padata_mt_job_start "$TRACEFS/trace"
	forget_trace
}

# with_jobs WORD...: and there are some
with_jobs()
{
	jobs=$(jobs_of "$@")
	[ "$jobs" -gt 0 ] 2>/dev/null && return 0
	ktap_print_msg "hugepages $*: $jobs jobs"
	return 1
}

# zero_and_poll KIND KB NR
zero_and_poll()
{
	with_jobs zero "$@" && with_jobs poll "$@"
}

# One to fill the memory, one to allocate it again, with $NR pages each.
one_job_for_fallocate()
{
	[ "$(jobs_of zero fallocate 2048 $NR)" = 2 ]
}

no_job_if_off()
{
	echo 0 > "$VM/folio_zero_threshold_kb"
	jobs=$(jobs_of zero private 2048 $NR)
	echo 64 > "$VM/folio_zero_threshold_kb"
	[ "$jobs" = 0 ]
}

no_job_below_threshold()
{
	echo 4096 > "$VM/folio_zero_threshold_kb"
	jobs=$(jobs_of zero private 2048 $NR)
	echo 64 > "$VM/folio_zero_threshold_kb"
	[ "$jobs" = 0 ]
}

no_helper_with_one_thread()
{
	echo 1 > "$VM/folio_zero_max_threads"
	start_tracing padata/padata_mt_helper
	hugepages zero private 2048 $NR
	status=$?
	stop_tracing
	helpers=$(grep -c padata_mt_helper "$TRACEFS/trace")
	forget_trace
	echo 8 > "$VM/folio_zero_max_threads"
	[ $status -eq 0 ] && [ "$helpers" -eq 0 ]
}

# refuses FILE VALUE
refuses()
{
	! echo "$2" > "$VM/$1"
} 2>/dev/null

refuses_nonsense()
{
	refuses folio_zero_threshold_kb -1 && refuses folio_zero_threshold_kb many &&
		refuses folio_zero_max_threads -1
}

setup
setup_tracing
[ -e "$VM/folio_zero_threshold_kb" ] || skip_all "the kernel has no folio_zero_threshold_kb"
[ -x "$DIR/hugepages" ] || skip_all "needs the program hugepages"
# No more than a test fills, so that what it filled is what it gets.
reserve 2048 $NR || skip_all "needs $NR huge pages of 2 MiB"
threshold=$(cat "$VM/folio_zero_threshold_kb")
threads=$(cat "$VM/folio_zero_max_threads")
echo 64 > "$VM/folio_zero_threshold_kb"
echo 8 > "$VM/folio_zero_max_threads"
ktap_set_plan 16

for kind in private shared file fallocate; do
	check "2 MiB, $kind" zero_and_poll $kind 2048 $NR
done
if reserve $BIG_KB 1; then
	for kind in private shared fallocate; do
		check "1 GiB, $kind" with_jobs zero $kind $BIG_KB 1
	done
else
	for kind in private shared fallocate; do
		skip "1 GiB, $kind" "no page of 1 GiB is to be had"
	done
fi
if grep -q '\[always\]\|\[madvise\]' $THP/enabled 2>/dev/null; then
	check "transparent, private" zero_and_poll thp 2048 $NR
else
	skip "transparent, private" "transparent huge pages are off"
fi
check "many at once" hugepages many private 2048 2
check "on the node of the memory policy" hugepages mbind private 2048 $((NR / 4))
check "fallocate of a range is one job" one_job_for_fallocate
check "below the threshold there is no job" no_job_below_threshold
check "a threshold of 0 switches it off" no_job_if_off
check "one thread is the task itself" no_helper_with_one_thread
check "nonsense is refused" refuses_nonsense

finish
