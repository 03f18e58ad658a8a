#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# fallocate() of huge pages: batched where a job can start and nowhere else, all pages
# zero, and the pool as before, whatever else happens to the file meanwhile.

. "$(dirname "$0")"/functions.sh

NR=16
# At least two pages, so that a job is proof of a batch.
TWO_KB=4096

overcommit=

restore()
{
	restore_huge_pages
	[ -z "$overcommit" ] || echo "$overcommit" > "$POOL/nr_overcommit_hugepages"
}

# What the program is run with here: WHAT NR
pages()
{
	program hugefile "$1" 2048 "$2"
}

# jobs_of COMMAND...: the sizes of the command's jobs, in small pages
jobs_of()
{
	start_tracing padata/padata_mt_job_start
	"$@" || echo failed
	stop_tracing
	sed -n 's/^ *hugefile-.* padata_mt_job_start:.* size=\([0-9]*\).*/\1/p' "$TRACEFS/trace"
	forget_trace
}

# with_jobs COMMAND...: it has jobs, each of two pages at least
with_jobs()
{
	jobs=$(jobs_of "$@")
	for job in $jobs; do
		[ "$job" -ge 1024 ] 2>/dev/null || jobs=
	done
	[ -n "$jobs" ] && return 0
	ktap_print_msg "$*: jobs of $jobs"
	return 1
}

without_jobs()
{
	jobs=$(jobs_of "$@")
	[ -z "$jobs" ] && return 0
	ktap_print_msg "$*: jobs of $jobs"
	return 1
}

# with_threshold KBYTES COMMAND...
with_threshold()
{
	echo "$1" > "$THRESHOLD" || return 1
	shift
	"$@"
	with_threshold_status=$?
	echo $TWO_KB > "$THRESHOLD"
	return $with_threshold_status
}

# with_pool NR MORE COMMAND...: a pool of NR pages, and MORE that may be added to it
with_pool()
{
	echo "$1" > "$POOL/nr_hugepages"
	echo "$2" > "$POOL/nr_overcommit_hugepages"
	shift 2
	"$@"
	with_pool_status=$?
	echo 0 > "$POOL/nr_overcommit_hugepages"
	echo $NR > "$POOL/nr_hugepages"
	return $with_pool_status
}

on_one_cpu()
{
	as="taskset -c $(online_cpus | head -n 1)"
	pages plain $NR
	on_one_cpu_status=$?
	as=
	return $on_one_cpu_status
}

setup
setup_tracing
[ -x "$DIR/hugefile" ] || skip_all "needs the program hugefile"
[ "$(nr_online_cpus)" -gt 1 ] || skip_all "needs two CPUs"
have_huge_pages $NR $TWO_KB || skip_all "needs $NR free pages of 2 MiB, and jobs that zero them"
overcommit=$(cat "$POOL/nr_overcommit_hugepages")
echo 0 > "$POOL/nr_overcommit_hugepages"
ktap_set_plan 16

check "pages are zeroed in batches" with_jobs pages plain $NR
check "on the nodes of the memory policy" pages interleave $NR
check "no batch if even the largest is below the threshold" \
	with_threshold 65536 with_pool 64 0 without_jobs pages plain 64
check "no batch without a CPU for a helper" without_jobs on_one_cpu
check "no batch if a page may have to be waited for" with_pool 0 $NR without_jobs pages plain $NR
check "nor if all that is free is reserved" with_pool $NR $NR without_jobs pages reserved $NR
check "a batch before a page may have to be waited for" with_pool 8 8 with_jobs pages plain $NR
# A hole's pages leave the file before they are free, and faults get other pages in
# their place: this needs twice as many pages, and a few.
check "two at once, beside faults, read() and holes" with_pool 28 0 with_jobs pages race 12
check "the same where nothing is reserved" with_pool 28 0 with_jobs pages norace 12
check "two at once, while the size changes" with_jobs pages truncate 12
check "of several files at once" with_jobs pages files 5
check "pages are up to date, and can be migrated" pages migrate $((NR / 2))
check "a signal interrupts it, and it can go on" pages signals $NR
check "it fails if there are too few pages" pages nospace $NR
check "the same if more may be allocated" with_pool 8 4 pages nospace $NR

finish
