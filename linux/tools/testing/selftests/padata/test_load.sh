#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Jobs that run alongside tasks that leave no CPU idle.

. "$(dirname "$0")"/functions.sh

hogs=

# helpers_come: sets cpu, on which they claim most chunks, and used, how many.  The caller
# has one CPU to itself, which may be any.
helpers_come()
{
	begin_chunks 0 20
	pause_tracing
	most=$(claims "free" | head -n 1)
	resume_tracing
	used=${most% *}
	cpu=${most#* }
}

# Another task wants the CPU of a helper, which may just have looked for one and claim one
# more chunk.  Beside a task of nice value 19, one that stayed would get most of the CPU time.
leaves_the_cpu()
{
	start_tracing padata/padata_mt_chunk
	mark "free"
	start_jobs rules=now size=20000 max_chunk=1 fn=busy us=1000
	helpers_come
	mark "may change"
	taskset -c "$cpu" sh -c 'renice -n 19 -p $$ > /dev/null; while :; do :; done' &
	hogs=$!
	has_used_ms 100 "$hogs" && mark "wanted" && has_used_ms 300 "$hogs"
	ran=$?
	mark "may change"
	restore
	hogs=
	stop_tracing
	stop_jobs
	strays=$(claimed_on "$cpu" "wanted")
	forget_trace
	ktap_print_msg "claimed on CPU $cpu while it was free, while another task wanted it:" \
		"$used $strays"
	[ "$ran" -eq 0 ] && [ "$strays" -le 1 ]
}

restore()
{
	# Each number is one process; word splitting is intended.
	# shellcheck disable=SC2086
	[ -z "$hogs" ] || kill $hogs 2>/dev/null
}

hog_cpus()
{
	for _ in $(online_cpus); do
		while :; do :; done &
		hogs="$hogs $!"
	done
}

setup_jobs
command -v renice > /dev/null || skip_all "needs renice"
setup_tracing
ktap_set_plan 7

if [ "$(nr_online_cpus)" -ge 2 ]; then
	check "helpers leave a CPU that another task wants" leaves_the_cpu
else
	skip "helpers leave a CPU that another task wants" "needs two CPUs"
fi
hog_cpus
check "a job in a kernel thread" job_is_ok size=100000 min_chunk=64 context=kthread
check "jobs at the same time" job_is_ok size=10000 min_chunk=64 jobs=8
check "jobs that start jobs" job_is_ok size=32 fn=nested jobs=2
check "a job after boot that sleeps" job_is_ok rules=now size=32 max_chunk=1 fn=sleep us=1000
check "jobs after boot at the same time" \
	job_is_ok rules=now size=10000 max_chunk=1000 min_chunk=64 jobs=8

finish
