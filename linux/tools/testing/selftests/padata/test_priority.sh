#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# A task's helpers work at nice 19.  When the task has nothing left to do but wait for
# them, it raises their priority, all at once: to its own nice value, but to no more
# weight than it would have on their CPUs in its own cgroup.
#
# The scheduler's trace events show priorities: 120 for nice 0, 139 for nice 19.

. "$(dirname "$0")"/functions.sh

LOWEST=139
SWITCHES=$TRACEFS/events/sched/sched_switch/filter

hogs=
caller=

restore()
{
	# Each number is one process; word splitting is intended.
	# shellcheck disable=SC2086
	[ -z "$hogs" ] || kill -9 $hogs $caller 2>/dev/null
	[ ! -e "$SWITCHES" ] || echo 0 > "$SWITCHES"
}

# events: of helpers, from their first chunk until they leave: "PID chunk", "PID left"
# and "PID prio PRIO" when one is switched out
events()
{
	sed -n '
		s/^ *kworker[^ ]*-\([0-9]*\) .* padata_mt_chunk: .*/\1 chunk/p
		s/^ *kworker[^ ]*-\([0-9]*\) .* padata_mt_helper_end: .*/\1 left/p
		s/.* prev_comm=kworker.* prev_pid=\([0-9]*\) prev_prio=\([0-9]*\) .*/\1 prio \2/p
	' "$TRACEFS/trace" | awk '
		$2 == "chunk"			{ inside[$1] = 1 }
		$2 != "prio" || inside[$1]	{ print }
		$2 == "left"			{ inside[$1] = 0 }'
}

# trace_job COMMAND...: sets events
trace_job()
{
	echo 'prev_comm ~ "kworker*"' > "$SWITCHES"
	start_tracing sched/sched_switch padata/padata_mt_chunk padata/padata_mt_helper_end
	"$@"
	stop_tracing
	echo 0 > "$SWITCHES"
	events=$(events)
	forget_trace
}

# prios: how often helpers had which priority, as "PRIO TIMES"
prios()
{
	echo "$events" | awk '
		$2 == "prio"	{ n[$3]++ }
		END		{ for (prio in n) print prio, n[prio] }' | sort -n
}

# A few in a hundred may differ: on PREEMPT_RT, a helper that holds a spinlock has for a
# moment the priority of a task that waits for it.
nearly_all_low()
{
	prios | awk -v lowest="$LOWEST" -v percent="$1" '
		$1 != lowest	{ others += $2 }
		{ all += $2 }
		END		{ exit !all || others * 100 > percent * all }'
}

# Everything after the last chunk is ignored: the caller may already be waiting.
before_last_chunk()
{
	echo "$events" | awk '
		{ line[NR] = $0 }
		$2 == "chunk"	{ last = NR }
		END		{ for (i = 1; i < last; i++) print line[i] }'
}

are_low()
{
	# A sleeping helper is switched out in every chunk.  Word splitting is intended.
	# shellcheck disable=SC2086
	trace_job job_is_ok "$@" || return 1
	events=$(before_last_chunk)
	ktap_print_msg "priorities of helpers, and how often: $(prios | tr '\n' ',')"
	if [ -e /sys/kernel/realtime ]; then
		nearly_all_low 5
	else
		nearly_all_low 0
	fi
}

# Worker threads are back at policy SCHED_NORMAL.  A worker's name may contain spaces, as
# it says what the worker does.
workers_are_normal()
{
	for stat in /proc/[0-9]*/stat; do
		cat "$stat" 2>/dev/null
	done | awk '
		$2 ~ /^\(kworker\/[0-9]+:[0-9]+[^H]*$/ {
			line = $0
			sub(/^.*\) /, "")
			if ($17 != 0 || $39 != 0) {
				print "# " line
				odd = 1
			}
		}
		END { exit odd }'
}

# The number of workers with policy SCHED_IDLE
nr_idle_workers()
{
	cat /proc/[0-9]*/stat 2>/dev/null | awk '
		$2 ~ /^\(kworker\// { sub(/^.*\) /, ""); n += $39 == 5 }
		END { print n + 0 }'
}

# Each thread has begun a chunk, and the caller's only one is nearly over; or it had too few
# helpers and does, or has done, the rest itself.
all_have_begun()
{
	progress
	[ $((nr_own + nr_helped - begun)) -gt "$1" ]
}

have_napped()
{
	progress
	[ "$nr_naps" -ge "$naps_goal" ] || ! grep -qs '^State:.[DS]' "/proc/$caller/status"
}

# The caller's own chunk is short, its helpers' last until they are released.  They sleep all
# the time, and are switched out with the priority that they have, also when the caller waits
# for them.
wait_for_helpers()
{
	list=$(echo "$home" "$@" | tr ' ' ',')
	job="rules=now size=$(($# + 1)) max_chunk=1 fn=nap us=20000 us_helper=60000000"
	progress
	begun=$((nr_own + nr_helped))
	(
		trap - EXIT
		[ -z "$group" ] || enter_group "$group"
		# Word splitting is intended.
		# shellcheck disable=SC2086
		exec $as taskset -c "$list" sh -c "
			renice -n $nice -p \$\$ || exit
			sleep 0.2
			echo $job > $JOBS/run"
	) &
	caller=$!
	await all_have_begun $#
	naps_goal=$((nr_naps + 40 + 30 * $#))
	await have_napped
	idle=$(nr_idle_workers)
	release
	wait $caller 2>/dev/null
	caller=
}

# helped_by NICE CPU...: a job whose caller has that nice value, with a helper on each CPU
# that other tasks compete for
helped_by()
{
	nice="$1"
	shift
	# On a CPU that is not idle at the moment, there is no helper to be raised.
	for _ in 1 2 3 4 5 6 7 8; do
		trace_job wait_for_helpers "$@"
		[ "$(values helped)" -ne $# ] || break
	done
	ktap_print_msg "priorities of helpers, and how often: $(prios | tr '\n' ',')"
	[ "$(values helped)" -eq $# ] && all_are status ok
}

# are_raised NICE CPU...: to the caller's nice value, if not at the lowest any more
are_raised()
{
	helped_by "$@" && prios | grep -q "^$((120 + $1)) " &&
	! prios | grep -qv -e "^$((120 + $1)) " -e "^$LOWEST "
}

# No helper leaves before all have been seen at the caller's nice value, NICE.
all_at_once()
{
	echo "$events" | awk -v prio=$((120 + $1)) -v all="$2" '
		$2 == "prio" && $3 == prio && !($1 in raised) {
			raised[$1] = 1
			n++
		}
		$2 == "left" && n < all	{ early = 1 }
		END			{ exit early || n != all }'
}

# weigh_no_more_than WEIGHT CPU...: helpers of a caller of nice value -20, in $group
weigh_no_more_than()
{
	limit="$1"
	shift
	helped_by -20 "$@" || return 1
	# Nice 0 weighs 1024, and each higher nice value a fifth less.
	prios | awk -v limit="$limit" '
		{
			weight = 1024
			for (prio = 120; prio < $1; prio++)
				weight /= 1.25
			for (prio = 120; prio > $1; prio--)
				weight *= 1.25
			if (weight > limit * 1.02)
				heavy = 1
		}
		END { exit heavy || !NR }'
}

# Too light for any nice value: policy is SCHED_IDLE
are_idle()
{
	helped_by "$@" || return 1
	ktap_print_msg "workers that are SCHED_IDLE: $idle"
	[ "$(prios | cut -d ' ' -f 1)" = $LOWEST ] && [ "$idle" -ge $(($# - 1)) ]
}

# has_no_help POLICY
has_no_help()
{
	# Word splitting is intended.
	# shellcheck disable=SC2086
	"$DIR/setsched" "$1" sh -c "echo $JOB > $JOBS/run" && all_are status ok &&
		all_are nr_threads 1 && all_are helped 0
}

# Takes effect as soon as the scheduler's system call has returned
loses_help()
{
	start_tracing padata/padata_mt_chunk
	# shellcheck disable=SC2086
	( trap - EXIT; run_job $JOB size=$((5000 * $(nr_online_cpus))) killable=1 ) &
	hogs=$!
	begin_chunks 1 20
	"$DIR/setsched" "$1" -p "$hogs" || return 1
	mark "changed"
	begin_chunks 100 0 || return 1
	restore
	wait "$hogs" 2>/dev/null
	hogs=
	stop_tracing
	chunks=$(chunks_around "changed")
	forget_trace
	ktap_print_msg "chunks by helpers before, by the caller then, by helpers then: $chunks"
	[ "${chunks%% *}" -gt 0 ] && [ "${chunks##* }" -eq 0 ] &&
	[ "$(echo "$chunks" | cut -d ' ' -f 2)" -gt 0 ]
}

setup_jobs
setup_tracing
[ -e "$TRACEFS/events/sched/sched_switch" ] || skip_all "the kernel has no scheduler events"
command -v taskset > /dev/null || skip_all "needs taskset"
command -v renice > /dev/null || skip_all "needs renice"
[ "$(nr_online_cpus)" -ge 4 ] || skip_all "needs four CPUs"
home=$(online_cpus | sort -n | head -n 1)
others=$(online_cpus | sort -n | sed -n 2,4p)
all=$(online_cpus | sort -n | sed -n 2,16p)
setup_cgroups cpu
mkdir "$GROUP/a" "$GROUP/a/b"
ktap_set_plan 18

JOB="rules=now size=400 max_chunk=1 fn=busy us=1000"
group=
as=

check "helpers are at nice 19" are_low rules=now size=400 max_chunk=1 fn=sleep us=1000
check "those of a kernel thread as well" \
	are_low rules=now size=400 max_chunk=1 fn=sleep us=1000 context=kthread

# Word splitting is intended.
# shellcheck disable=SC2086
{
check "one that the caller waits for is raised" are_raised -5 "$(echo "$others" | tail -n 1)"
check "several are raised" are_raised -5 $others
check "all at once" all_at_once -5 3
check "worker threads get their own nice value back" workers_are_normal

group=a
check "several weigh no more than their parts of the group's share" \
	weigh_no_more_than $((1024 / 3)) $others
check "the more there are, the less" \
	weigh_no_more_than $((1024 / $(echo "$all" | wc -l))) $all
echo 10000 > "$GROUP/a/cpu.weight"
echo 10000 > "$GROUP/cpu.weight"
check "none weighs more than the caller, whatever its group does" are_raised 5 $others
echo 100 > "$GROUP/cpu.weight"
echo 1 > "$GROUP/a/cpu.weight"
check "those of a group that weighs less than nice 19 are idle" are_idle -20 $others
group=a/b
check "so are those of a group in it" are_idle -20 $others
echo 100 > "$GROUP/a/cpu.weight"
group=a
echo 1 > "$GROUP/a/cpu.idle"
check "so are those of an idle group" are_idle 0 $others
group=
as="$DIR/setsched idle"
check "so are those of an idle task" are_idle 0 $others
as=
}
check "worker threads get their policy back" workers_are_normal

check "a realtime task is alone" has_no_help fifo
check "so is one with a deadline" has_no_help deadline
check "a task that becomes realtime gets no more help" loses_help fifo
rmdir "$GROUP/a/b"

finish
