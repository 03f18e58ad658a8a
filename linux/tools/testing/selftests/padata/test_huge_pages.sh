#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Huge pages zeroed and copied by several threads: all zero or a copy, for every reader, at
# any time.

. "$(dirname "$0")"/functions.sh

HUGE=/sys/kernel/mm/hugepages/hugepages-
THP=/sys/kernel/mm/transparent_hugepage
VM=/proc/sys/vm
NR=16
BIG_KB=1048576

threshold=
copy_threshold=
threads=
pools=
shmem=

restore()
{
	[ ! -e "$TRACEFS/set_event_pid" ] || echo > "$TRACEFS/set_event_pid"
	[ -z "$shmem" ] || echo "$shmem" > $THP/shmem_enabled
	[ -z "$threshold" ] || echo "$threshold" > "$VM/huge_page_zero_threshold_kbytes"
	[ -z "$copy_threshold" ] ||
		echo "$copy_threshold" > "$VM/huge_page_copy_threshold_kbytes"
	[ -z "$threads" ] || echo "$threads" > "$VM/huge_page_max_threads"
	for pool in $pools; do
		echo "${pool#*=}" > "${HUGE}${pool%=*}kB/nr_hugepages"
	done
}

# reserve KB NR: makes a pool of at least NR pages
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

# Every memfd has huge pages from now on
huge_shmem()
{
	[ -e $THP/shmem_enabled ] || return 1
	shmem=$(sed 's/.*\[\(.*\)\].*/\1/' $THP/shmem_enabled)
	echo force > $THP/shmem_enabled
}

# hugepages WORD...: see hugepages.c
hugepages()
{
	said=$("$DIR"/hugepages "$@") && return 0
	ktap_print_msg "hugepages $*: $said"
	return 1
}

# jobs_of WORD...: the number of jobs it takes.  A trace may lack the name of a task, so events
# are those of this shell and of what it starts.
jobs_of()
{
	echo 1 > "$TRACEFS/options/event-fork"
	sh -c 'echo "$PPID"' > "$TRACEFS/set_event_pid"
	start_tracing padata/padata_mt_job_start
	hugepages "$@" || echo failed
	stop_tracing
	echo > "$TRACEFS/set_event_pid"
	echo 0 > "$TRACEFS/options/event-fork"
	grep -c ' padata_mt_job_start' "$TRACEFS/trace"
	forget_trace
}

# with_jobs WORD...: the same, and there are some jobs
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

# With init_on_alloc=1 the page allocator zeroes transparent huge pages.
allocator_zeroes()
{
	dmesg 2>/dev/null | grep -q 'mem auto-init:.*heap alloc:on'
}

# without_jobs WORD...: there are none, and all is well
without_jobs()
{
	jobs=$(jobs_of "$@")
	[ "$jobs" = 0 ] && return 0
	ktap_print_msg "hugepages $*: $jobs jobs"
	return 1
}

# transparent KIND: jobs zero them, unless that was done before
transparent()
{
	if allocator_zeroes; then
		without_jobs zero "$1" 2048 $NR && without_jobs poll "$1" 2048 $NR
	else
		zero_and_poll "$1" 2048 $NR
	fi
}

# copied_by_jobs JOBS KIND KB NR: copies of pages take so many, and none is zeroed by a job
copied_by_jobs()
{
	wanted=$1
	shift
	echo 0 > "$VM/huge_page_zero_threshold_kbytes"
	jobs=$(jobs_of copy "$@")
	echo 64 > "$VM/huge_page_zero_threshold_kbytes"
	[ "$jobs" = "$wanted" ] && return 0
	ktap_print_msg "hugepages copy $*: $jobs jobs"
	return 1
}

# Pages of 2 MiB are copied by jobs up to that threshold.
copied_from_threshold_on()
{
	echo 2048 > "$VM/huge_page_copy_threshold_kbytes"
	copied_by_jobs $((NR / 2)) private 2048 $((NR / 2)) || return 1
	echo 2049 > "$VM/huge_page_copy_threshold_kbytes"
	copied_by_jobs 0 private 2048 $((NR / 2)) || return 1
	echo 0 > "$VM/huge_page_copy_threshold_kbytes"
	copied_by_jobs 0 private 2048 $((NR / 2))
	copied_status=$?
	echo 64 > "$VM/huge_page_copy_threshold_kbytes"
	return $copied_status
}

# moved KIND: from node to node, by jobs
moved()
{
	echo 0 > "$VM/huge_page_zero_threshold_kbytes"
	with_jobs move "$1" 2048 4
	moved_status=$?
	echo 64 > "$VM/huge_page_zero_threshold_kbytes"
	return $moved_status
}

# refuses FILE VALUE
refuses()
{
	! echo "$2" > "$VM/$1"
} 2>/dev/null

# jobs_with_threshold KBYTES KIND KB NR: the number of jobs it takes to zero them
jobs_with_threshold()
{
	echo "$1" > "$VM/huge_page_zero_threshold_kbytes" || return 1
	shift
	jobs_of zero "$@"
	echo 64 > "$VM/huge_page_zero_threshold_kbytes"
}

# Memory is filled, freed and allocated again, so there are two jobs for each page.
job_up_to_threshold()
{
	for kbytes in 1 4 2047 2048; do
		jobs=$(jobs_with_threshold $kbytes private 2048 1)
		[ "$jobs" = 2 ] && continue
		ktap_print_msg "threshold $kbytes: $jobs jobs"
		return 1
	done
}

# The largest unsigned long, and numbers near it, for which the sum with a few kbytes,
# or the product with 1024, wraps around.
no_job_from_there_on()
{
	if refuses huge_page_zero_threshold_kbytes 18446744073709551615; then
		high="4294967295 4294967293 4194303 4194304"
	else
		high="18446744073709551615 18446744073709551613 18014398509481983
		      18014398509481984"
	fi
	for kbytes in 2049 4096 $high; do
		jobs=$(jobs_with_threshold "$kbytes" private 2048 1)
		[ "$jobs" = 0 ] && continue
		ktap_print_msg "threshold $kbytes: $jobs jobs"
		return 1
	done
}

# with_size KB COMMAND...: while transparent huge pages are of that size alone
with_size()
{
	thp_size=$THP/hugepages-$1kB/enabled
	echo always > "$thp_size" && echo never > $THP/hugepages-2048kB/enabled || return 1
	shift
	"$@"
	with_size_status=$?
	echo never > "$thp_size"
	echo inherit > $THP/hugepages-2048kB/enabled
	return $with_size_status
}

no_job_below_two_chunks()
{
	[ "$(with_size 1024 jobs_with_threshold 4 thp 1024 $NR)" = $((2 * NR)) ] &&
		[ "$(with_size 512 jobs_with_threshold 4 thp 512 $NR)" = 0 ]
}

no_job_if_off()
{
	[ "$(jobs_with_threshold 0 private 2048 1)" = 0 ]
}

# jobs_with_threads THREADS KIND KB NR
jobs_with_threads()
{
	echo "$1" > "$VM/huge_page_max_threads" || return 1
	shift
	jobs_of zero "$@"
	echo 8 > "$VM/huge_page_max_threads"
}

number_of_threads()
{
	for threads_jobs in 0=0 1=0 2=2 2147483647=2; do
		jobs=$(jobs_with_threads "${threads_jobs%=*}" private 2048 1)
		[ "$jobs" = "${threads_jobs#*=}" ] && continue
		ktap_print_msg "threads ${threads_jobs%=*}: $jobs jobs"
		return 1
	done
}

refuses_nonsense()
{
	refuses huge_page_zero_threshold_kbytes -1 &&
		refuses huge_page_zero_threshold_kbytes 18446744073709551616 &&
		refuses huge_page_zero_threshold_kbytes many &&
		refuses huge_page_max_threads -1 &&
		refuses huge_page_max_threads 2147483648
}

# The settings may have been changed.
defaults()
{
	name="by default, from 4 MiB on and by eight threads"
	if [ "$threshold $copy_threshold $threads" = "4096 4096 8" ]; then
		ktap_test_pass "$name"
	else
		skip "$name" "set to $threshold KiB, $copy_threshold KiB and $threads"
	fi
}

setup
setup_tracing
[ -e "$VM/huge_page_zero_threshold_kbytes" ] ||
	skip_all "the kernel has no huge_page_zero_threshold_kbytes"
[ -x "$DIR/hugepages" ] || skip_all "needs the program hugepages"
# No more pages than a test fills, so that it gets back those that it filled.
reserve 2048 $NR || skip_all "needs $NR huge pages of 2 MiB"
threshold=$(cat "$VM/huge_page_zero_threshold_kbytes")
threads=$(cat "$VM/huge_page_max_threads")
copy_threshold=$(cat "$VM/huge_page_copy_threshold_kbytes")
echo 64 > "$VM/huge_page_zero_threshold_kbytes"
echo 64 > "$VM/huge_page_copy_threshold_kbytes"
echo 8 > "$VM/huge_page_max_threads"
ktap_set_plan 25

defaults
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
check "2 MiB, copied on write" copied_by_jobs $((NR / 2)) private 2048 $((NR / 2))
check "a page as large as its threshold is copied by a job" copied_from_threshold_on
name="1 GiB, copied on write"
if reserve $BIG_KB 2; then
	check "$name" copied_by_jobs 1 file $BIG_KB 1
else
	skip "$name" "no two pages of 1 GiB are to be had"
fi
for kind in private thp; do
	name="2 MiB, moved while threads write to them, $kind"
	if [ -e /sys/devices/system/node/node1 ]; then
		check "$name" moved $kind
	else
		skip "$name" "there is one node"
	fi
done
if grep -q '\[always\]\|\[madvise\]' $THP/enabled 2>/dev/null; then
	check "transparent, private" transparent thp
	name="1 MiB is a job, 512 KiB is not, however low the threshold"
	if allocator_zeroes; then
		skip "$name" "init_on_alloc=1"
	else
		check "$name" no_job_below_two_chunks
	fi
else
	skip "transparent, private" "transparent huge pages are off"
	skip "1 MiB is a job, 512 KiB is not, however low the threshold" \
		"transparent huge pages are off"
fi
if huge_shmem; then
	check "transparent, shmem" transparent shmem
	check "transparent, shmem, allocated before" transparent shmem-fallocate
else
	skip "transparent, shmem" "shmem has no transparent huge pages"
	skip "transparent, shmem, allocated before" "shmem has no transparent huge pages"
fi
check "many at once" hugepages many private 2048 2
# Each node has its part of the pool.
set -- /sys/devices/system/node/node[0-9]*
check "on the node of the memory policy" hugepages mbind private 2048 $((NR / 2 / $#))
check "a page as large as the threshold is a job" job_up_to_threshold
check "a smaller page is none, however high the threshold" no_job_from_there_on
check "a threshold of 0 switches it off" no_job_if_off
check "up to one thread there is no job" number_of_threads
check "nonsense is refused" refuses_nonsense

finish
