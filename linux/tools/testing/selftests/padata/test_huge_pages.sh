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

# jobs_of WORD...: the number of jobs it takes.  A trace may lack the name of a task, so events
# are those of this shell and of what it starts.
jobs_of()
{
	echo 1 > "$TRACEFS/options/event-fork"
	sh -c 'echo "$PPID"' > "$TRACEFS/set_event_pid"
	start_tracing padata/padata_mt_job_start
	program hugepages "$@" || echo failed
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

# For each KBYTES:THREADS:JOBS, pages are zeroed by so many jobs with that threshold and at
# most so many threads.  Memory is filled, freed and allocated again, so there are two jobs for
# each page.
settings_decide()
{
	for kbytes_threads_jobs; do
		kbytes=${kbytes_threads_jobs%%:*}
		threads_jobs=${kbytes_threads_jobs#*:}
		echo "$kbytes" > "$VM/huge_page_zero_threshold_kbytes" &&
			echo "${threads_jobs%:*}" > "$VM/huge_page_max_threads" || return 1
		jobs=$(jobs_of zero private 2048 1)
		echo 64 > "$VM/huge_page_zero_threshold_kbytes"
		echo 8 > "$VM/huge_page_max_threads"
		[ "$jobs" = "${threads_jobs#*:}" ] && continue
		ktap_print_msg "threshold:threads:jobs $kbytes_threads_jobs: $jobs jobs"
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
ktap_set_plan 18

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
else
	skip "transparent, private" "transparent huge pages are off"
fi
if huge_shmem; then
	check "transparent, shmem" transparent shmem
	check "transparent, shmem, allocated before" transparent shmem-fallocate
else
	skip "transparent, shmem" "shmem has no transparent huge pages"
	skip "transparent, shmem, allocated before" "shmem has no transparent huge pages"
fi
check "many at once" program hugepages many private 2048 2
check "a threshold and a number of threads decide whether there are jobs" settings_decide \
	1:8:2 2048:8:2 2049:8:0 0:8:0 64:0:0 64:1:0 64:2:2 64:2147483647:2
check "nonsense is refused" refuses_nonsense

finish
