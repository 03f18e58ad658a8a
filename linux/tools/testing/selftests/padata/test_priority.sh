#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Helpers of a task work at nice 19.  When the task has nothing left to do but to
# wait for them, it gives them its own nice value, one after the other.
#
# The scheduler's trace events tell priorities: 120 for nice 0, 139 for nice 19.

. "$(dirname "$0")"/functions.sh

LOWEST=139

hogs=

restore()
{
	# Each is one process, to be split.
	# shellcheck disable=SC2086
	[ -z "$hogs" ] || kill -9 $hogs 2>/dev/null
}

# events: of helpers, from their first chunk until they leave: "PID chunk", "PID left"
# and "PID prio PRIO" where one goes off a CPU
events()
{
	sed -n '
		s/^ *kworker[^ ]*-\([0-9]*\) .* padata_mt_chunk: .*/\1 chunk/p
		s/^ *kworker[^ ]*-\([0-9]*\) .* padata_mt_helper_left: .*/\1 left/p
		s/.* prev_comm=kworker.* prev_pid=\([0-9]*\) prev_prio=\([0-9]*\) .*/\1 prio \2/p
	' "$TRACEFS/trace" | awk '
		$2 == "chunk"			{ inside[$1] = 1 }
		$2 != "prio" || inside[$1]	{ print }
		$2 == "left"			{ inside[$1] = 0 }'
}

# trace_job COMMAND...: sets events
trace_job()
{
	start_tracing sched/sched_switch padata/padata_mt_chunk padata/padata_mt_helper_left
	"$@"
	stop_tracing
	events=$(events)
	forget_trace
}

# prios: how often helpers had which, as "PRIO TIMES"
prios()
{
	echo "$events" | awk '
		$2 == "prio"	{ n[$3]++ }
		END		{ for (prio in n) print prio, n[prio] }' | sort -n
}

are_low()
{
	# A helper that sleeps goes off its CPU in every chunk.  Words are to be split.
	# shellcheck disable=SC2086
	trace_job job_is_ok "$@" || return 1
	ktap_print_msg "priorities of helpers, and how often: $(prios | tr '\n' ',')"
	[ -n "$(prios)" ] && ! prios | grep -qv "^$LOWEST "
}

# Worker threads are left as they were.
workers_are_normal()
{
	for stat in /proc/[0-9]*/stat; do
		cat "$stat" 2>/dev/null
	done | awk '
		/\(kworker\/[0-9]+:[0-9]+[^H)]*\)/ && $19 != 0 && $2 !~ /H/ {
			print "# " $0
			odd = 1
		}
		END { exit odd }'
}

# Tasks that want the CPUs that helpers are on, from soon after the job has begun
hog_soon()
{
	for cpu; do
		# shellcheck disable=SC2016
		taskset -c "$cpu" sh -c 'kill -STOP $$; while :; do :; done' &
		hogs="$hogs $!"
	done
	sleep 0.2
	# Each is one process, to be split.
	# shellcheck disable=SC2086
	( trap - EXIT; sleep 0.4; kill -CONT $hogs ) &
}

# The caller's own chunk is short, its helpers' are long: when the others come they
# have most of it left, which at nice 19 would take minutes.
wait_for_helpers()
{
	hog_soon "$@"
	list=$(echo "$home" "$@" | tr ' ' ',')
	job="rules=now size=$(($# + 1)) max_chunk=1 fn=work us=100000 us_helper=2000000"
	taskset -c "$list" sh -c "renice -n $nice -p \$\$ && echo $job > $JOBS/run"
	restore
	# shellcheck disable=SC2086
	wait $hogs 2>/dev/null
	hogs=
}

# are_raised NICE CPU...: to the caller's, if no longer at the lowest
are_raised()
{
	nice="$1"
	shift
	# Where no CPU is idle at the moment there are no helpers to be raised.
	for _ in 1 2 3 4 5; do
		trace_job wait_for_helpers "$@"
		[ "$(values helped)" -ne $# ] || break
	done
	ktap_print_msg "priorities of helpers, and how often: $(prios | tr '\n' ',')"
	[ "$(values helped)" -eq $# ] && all_are status ok &&
	prios | grep -q "^$((120 + nice)) " &&
	! prios | grep -qv -e "^$((120 + nice)) " -e "^$LOWEST "
}

# one_by_one NICE: several are raised, none while another one is.  That is seen from
# when one first goes off its CPU until it leaves.
one_by_one()
{
	ktap_print_msg "raised: $(echo "$events" | grep -c "prio $((120 + $1))\$") times"
	echo "$events" | awk -v prio=$((120 + $1)) '
		$2 == "left" && $1 == raised	{ raised = 0 }
		$2 == "prio" && $3 == prio {
			if (raised && raised != $1)
				broken = 1
			raised = $1
			all[$1] = 1
		}
		END {
			for (pid in all)
				n++
			exit broken || n < 2
		}'
}

setup_jobs
setup_tracing
[ -e "$TRACEFS/events/sched/sched_switch" ] || skip_all "the kernel has no scheduler events"
command -v taskset > /dev/null || skip_all "needs taskset"
command -v renice > /dev/null || skip_all "needs renice"
[ "$(nr_online_cpus)" -ge 4 ] || skip_all "needs four CPUs"
home=$(online_cpus | sort -n | head -n 1)
others=$(online_cpus | sort -n | sed -n 2,4p)
ktap_set_plan 7

check "helpers are at nice 19" are_low rules=now size=400 max_chunk=1 fn=sleep us=1000
check "those of a kernel thread as well" \
	are_low rules=now size=400 max_chunk=1 fn=sleep us=1000 context=kthread
check "worker threads get their own nice value back" workers_are_normal

# Words are to be split.
# shellcheck disable=SC2086
{
check "one that the caller waits for is raised" are_raised -5 "$(echo "$others" | tail -n 1)"
check "several are raised" are_raised -5 $others
check "one after the other" one_by_one -5
}

finish
