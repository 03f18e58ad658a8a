# SPDX-License-Identifier: GPL-2.0-only
# Role "jobcost": what a helper executes for each chunk besides the thread function, by
# the TSC.  Three jobs: with the back end for jobs at boot, with the one for jobs of tasks,
# and with that for a task two cgroups deep, each with a limit of its CPU bandwidth.
#
# The caller sleeps in its one chunk, so that nobody but the helper executes anything.
# Each job is run twice: the first time finds cold caches of allocators and so on.

cgroup=/tmp/cgroup

limit() {
	mkdir $cgroup && mount -t cgroup2 none $cgroup || return
	echo +cpu >$cgroup/cgroup.subtree_control || return
	mkdir $cgroup/outer && echo +cpu >$cgroup/outer/cgroup.subtree_control || return
	mkdir $cgroup/outer/inner || return
	echo 400000 100000 >$cgroup/outer/cpu.max || return
	echo 400000 100000 >$cgroup/outer/inner/cpu.max || return
	echo 0 >$cgroup/outer/inner/cgroup.procs	# this shell, whatever its PID is
}

run() {
	for _ in 1 2; do
		echo >trace
		echo "rules=$1 size=64 min_chunk=1 max_chunk=1 max_threads=2 fn=sleep us=1000000 us_helper=1" \
			>/sys/kernel/debug/test_padata_mt/run
		grep -q 'status=ok' /sys/kernel/debug/test_padata_mt/result || say trouble "the job failed"
	done
	grep padata_mt_ trace | say_lines trace
}

insmod /lib/test_padata_mt.ko || say trouble "no test_padata_mt module"
cd /sys/kernel/tracing || exit
echo x86-tsc >trace_clock
for event in job_start helper_start chunk helper_end; do
	echo 1 >events/padata/padata_mt_$event/enable
done
run boot
run now
limit || say trouble "no cgroup with cpu.max"
run now
