#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Jobs in a task and in kernel threads, at the same time, and jobs that start jobs: with
# helpers placed by the rules for jobs at boot, and by those for jobs now.  And which jobs
# have no helpers now.

. "$(dirname "$0")"/functions.sh

jobs_of_all_kinds()
{
	cat <<-JOBS
	many units: size=1000003
	nodes in turn: size=100000 min_chunk=16 numa_aware=1
	in a kernel thread: size=100000 min_chunk=8 context=kthread
	more jobs than CPUs: size=100000 min_chunk=8 jobs=16
	many jobs: size=1000 jobs=64
	jobs that sleep: size=64 fn=sleep us=500 jobs=16
	jobs that work: size=256 fn=busy us=200 jobs=2
	jobs that start jobs: size=64 fn=nested jobs=8
	JOBS
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
ktap_set_plan $((2 * $(jobs_of_all_kinds | wc -l) + 7))

for rules in rules=boot "rules=now max_chunk=100"; do
	while IFS=: read -r name words; do
		# Word splitting is intended.
		# shellcheck disable=SC2086
		check "$rules: $name" job_is_ok $words $rules
	done <<-JOBS
	$(jobs_of_all_kinds)
	JOBS
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
