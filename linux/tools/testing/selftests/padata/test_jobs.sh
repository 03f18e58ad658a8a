#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Jobs of many shapes: in a task, as they run after boot, and in a new kernel
# thread with idle CPUs around, as when struct pages are initialised.  With helpers
# placed by the rules for jobs at boot, and by those for jobs now.

. "$(dirname "$0")"/functions.sh

shapes()
{
	cat <<-SHAPES
	one unit: size=1
	nothing: size=0
	many units: size=1000003
	sections of a node: start=1048576 size=8388608 align=32768 min_chunk=32768
	unaligned ends: start=32769 size=1000001 align=32768 min_chunk=32768
	the end of the range: start=0xffffffffffff0000 size=0xffff align=4096
	align not a power of two: start=5 size=100003 align=1000 min_chunk=10
	align greater than size: start=990 size=50 align=1000
	min_chunk greater than size: size=100 min_chunk=101
	align and min_chunk 0: size=1000 align=0 min_chunk=0
	one thread: size=100000 max_threads=1
	two threads: size=100000 min_chunk=10 max_threads=2
	no thread: size=1000 max_threads=0
	less than none: size=1000 max_threads=-1
	nodes in turn: size=100000 min_chunk=16 numa_aware=1
	a thread function that sleeps: size=64 fn=sleep us=1000
	a thread function that works: size=256 fn=busy us=200
	a thread function that starts jobs: size=64 fn=nested
	SHAPES
}

# A chunk is as long as allowed, however long the thread function takes for it, except at
# the end, where each thread has some shorter ones.
is_cut_by_max_chunk()
{
	units=$((100 * $(nr_online_cpus)))
	job_is_ok rules=now size=$units max_chunk=10 fn=busy us=1000 &&
	ktap_print_msg "chunks: $(values chunks) for $units units" &&
	[ "$(values chunks)" -lt $((units / 2)) ]
}

# Nothing says how long a helper would have to be waited for.
is_done_alone()
{
	job_is_ok rules=now size=$((100 * $(nr_online_cpus))) fn=sleep us=1000 &&
	[ "$(values ret)" -eq 1 ]
}

# has_no_help SCOPE: the caller is in it
has_no_help()
{
	job_is_ok rules=now size=10000 max_chunk=10 fn=busy us=50 scope="$1" &&
	[ "$(values ret)" -eq 1 ]
}

setup_jobs
ktap_set_plan $((4 * $(shapes | wc -l) + 7))

for context in task kthread "task rules=now max_chunk=5000" "kthread rules=now max_chunk=5000"; do
	while IFS=: read -r name words; do
		# Word splitting is intended.
		# shellcheck disable=SC2086
		check "$context: $name" job_is_ok $words context=$context
	done <<-SHAPES
	$(shapes)
	SHAPES
done
check "a job after boot that says how long chunks may be" is_cut_by_max_chunk
check "one that does not say it has no helpers" is_done_alone
check "nor has one that must not enter a file system" has_no_help nofs
check "nor one that must not do I/O" has_no_help noio
check "nor one that may use the last of the memory" has_no_help memalloc
if [ -e /proc/lockdep ]; then
	check "nothing is reclaimed to start helpers" \
		job_is_ok rules=now size=10000 max_chunk=10 fn=busy us=50 reclaim=1
else
	skip "nothing is reclaimed to start helpers" "needs lockdep (CONFIG_PROVE_LOCKING)"
fi

finish
