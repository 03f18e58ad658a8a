#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# A task's helpers are SCHED_IDLE while it works itself.  When it has nothing left to do but
# wait for them, all of them get its own nice value, whatever its cgroup weighs, so that the
# time it waits depends on what is left of their chunks, not on what else runs.

. "$(dirname "$0")"/functions.sh

# Of no other worker: those of pool are at 0 or -20
NICE=-5

hogs=
caller=

restore()
{
	# Each number is one process; word splitting is intended.
	# shellcheck disable=SC2086
	[ -z "$hogs$caller" ] || kill -9 $hogs $caller 2>/dev/null
	hogs=
}

# look: sets idle and boosted, the numbers of workers that are SCHED_IDLE, and that have $NICE.
# A worker's name may contain spaces, as it says what the worker does.
look()
{
	idle=$(cat /proc/[0-9]*/stat 2>/dev/null | awk -v nice=$NICE '
		$2 ~ /^\(kworker\// {
			sub(/^.*\) /, "")
			idle += $39 == 5
			boosted += $39 == 0 && $17 == nice
		}
		END { print idle + 0, boosted + 0 }')
	boosted=${idle#* }
	idle=${idle% *}
}

# Worker threads are back at policy SCHED_NORMAL and their nice value.
workers_are_normal()
{
	look
	[ "$idle" -eq 0 ] && [ "$boosted" -eq 0 ]
}

# start SIZE JOB...: by a task of nice value $NICE, through $as if set, in $group, on $cpus.  Sets
# caller; returns when it works and has $nr_helpers, or cannot have so many any more
start()
{
	size=$1
	shift
	expect_chunks 1 $nr_helpers
	all_begun=$((nr_helped + nr_own + size))
	(
		trap - EXIT
		[ -z "$group" ] || enter_group "$group"
		# Word splitting is intended.
		# shellcheck disable=SC2086
		exec $as taskset -c "$(echo $cpus | tr ' ' ',')" sh -c "
			renice -n $NICE -p \$\$ > /dev/null || exit
			sleep 0.2
			echo rules=now max_chunk=1 size=$size $* > $JOBS/run"
	) &
	caller=$!
	await have_begun_or_cannot
}

have_begun_or_cannot()
{
	have_begun || [ $((nr_own + nr_helped)) -ge "$all_begun" ] ||
		! kill -0 "$caller" 2>/dev/null
}

have_helpers()
{
	have_begun && kill -0 "$caller" 2>/dev/null
}

end()
{
	release
	wait $caller 2>/dev/null
	caller=
}

# helped SIZE JOB...: as start, until all its CPUs but one have a helper: one that is not idle at
# the moment has none
helped()
{
	for _ in 1 2 3 4 5 6 7 8; do
		start "$@"
		! have_helpers || return 0
		end
	done
	ktap_print_msg "not all CPUs had a helper"
	return 1
}

# Another helper may be where the caller was when it slept.
all_idle()
{
	look
	[ "$idle" -ge "$nr_helpers" ] && [ "$boosted" -eq 0 ]
}

all_boosted()
{
	look
	[ "$idle" -eq 0 ] && [ "$boosted" -ge "$nr_helpers" ]
}

# The caller goes on with chunk after chunk, while each helper is in its first one.  It is
# seen long before the caller has done all others, and waits.
stay()
{
	goal=$1
	shift
	helped $((2000 + nr_helpers)) fn=nap us=20000 us_helper=60000000 "$@" || return 1
	own=$((own_goal - 1))
	await "$goal"
	seen=$?
	progress
	end
	ktap_print_msg "SCHED_IDLE: $idle, of nice $NICE: $boosted"
	[ $seen -eq 0 ] && [ $((nr_own - own)) -lt 1000 ] && all_are status ok
}

# The caller's only chunk is short.
are_boosted()
{
	helped $((1 + nr_helpers)) fn=nap us=200000 us_helper=60000000 || return 1
	await all_boosted
	seen=$?
	end
	ktap_print_msg "SCHED_IDLE: $idle, of nice $NICE: $boosted"
	[ $seen -eq 0 ] && all_are status ok
}

# look_at PID: sets state, and on, the CPU that the task is on or was; fails if it is gone
look_at()
{
	read -r stat < "/proc/$1/stat" || return 1
	# Word splitting is intended.
	# shellcheck disable=SC2086
	set -- ${stat##*) }
	state=$1
	on=${37}
} 2>/dev/null

# start_rivals COMMAND...: through the command, a task on each of $cpus that never sleeps, once it
# is let go on.  It weighs as much as a helper that is boosted, and SCHED_IDLE a thousandth of it.
start_rivals()
{
	for cpu in $cpus; do
		taskset -c "$cpu" "$@" sh -c "
			renice -n $NICE -p \$\$ > /dev/null
			kill -STOP \$\$
			while :; do :; done" &
		hogs="$hogs $!"
	done
	await rivals_have_stopped
}

rivals_have_stopped()
{
	for hog in $hogs; do
		look_at "$hog" && [ "$state" = T ] || return 1
	done
}

# The caller stays on the CPU that it is on, and the tasks of all others go on: beside one of
# them, it might never get to the end of its own chunk.  Fails if it has ended by then, and
# with it all helpers.
let_rivals_go_on()
{
	look_at "$caller" && taskset -pc "$on" "$caller" > /dev/null 2>&1 || return 1
	# Word splitting is intended.
	# shellcheck disable=SC2086
	set -- $hogs
	for cpu in $cpus; do
		[ "$cpu" -eq "$on" ] || kill -CONT "$1"
		shift
	done
	look_at "$caller" && [ "$state" != Z ]
}

has_ended()
{
	! kill -0 "$caller" 2>/dev/null
}

# ends_beside COMMAND...: other tasks, started through the command, take the helpers' CPUs in
# the middle of a chunk, and never give them back
ends_beside()
{
	for _ in 1 2 3 4 5 6 7 8; do
		start_rivals "$@" || break
		helped $((1 + nr_helpers)) fn=work us=300000 us_helper=500000 || break
		! let_rivals_go_on || break
		restore
		end
	done
	[ -n "$caller" ] && await has_ended
	ended=$?
	restore
	end
	[ $ended -eq 0 ] && all_are status ok
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
	( trap - EXIT; run_job $JOB size=$((5000 * $(nr_online_cpus))) ) &
	hogs=$!
	begin_chunks 1 20
	"$DIR/setsched" "$1" -p "$hogs" || return 1
	mark "changed"
	begin_chunks 100 0 || return 1
	restore
	release
	wait 2>/dev/null
	stop_tracing
	chunks=$(chunks_around "changed")
	forget_trace
	ktap_print_msg "chunks by helpers before, by the caller then, by helpers then: $chunks"
	# One of each helper that had just looked.
	[ "${chunks%% *}" -gt 0 ] && [ "${chunks##* }" -le "$(nr_online_cpus)" ] &&
	[ "$(echo "$chunks" | cut -d ' ' -f 2)" -gt 0 ]
}

setup_jobs
setup_tracing
command -v taskset > /dev/null || skip_all "needs taskset"
command -v renice > /dev/null || skip_all "needs renice"
[ "$(nr_online_cpus)" -ge 4 ] || skip_all "needs four CPUs"
cpus=$(online_cpus | sort -n | head -n 4)
nr_helpers=3
# This shell looks on from elsewhere, if it can.
others=$(online_cpus | sort -n | tail -n +5 | tr '\n' ',')
[ -z "$others" ] || taskset -pc "${others%,}" $$ > /dev/null
setup_cgroups cpu
mkdir "$GROUP/a"
ktap_set_plan 14

JOB="rules=now size=400 max_chunk=1 fn=busy us=1000"
group=
as=

check "helpers are SCHED_IDLE" stay all_idle
check "those of a caller that waits have its nice value" are_boosted
check "worker threads get their policy and nice value back" workers_are_normal
group=a
echo 1 > "$GROUP/a/cpu.weight"
check "also if the caller's group weighs little" are_boosted
check "and a job ends though others want the CPUs of its helpers" ends_beside
echo 100 > "$GROUP/a/cpu.weight"
echo 1 > "$GROUP/a/cpu.idle"
check "also if its group is idle" are_boosted
check "and a job of it ends" ends_beside
group=
as="$DIR/setsched idle"
check "also if the caller is SCHED_IDLE" are_boosted
check "and a job of it ends" ends_beside
as=
if [ -e "$DEBUGFS/sched/fair_server" ]; then
	check "a job ends though realtime tasks want the CPUs" ends_beside "$DIR/setsched" fifo
else
	skip "a job ends though realtime tasks want the CPUs" "no fair server"
fi

# No task with a deadline may be kept from some CPUs.
taskset -pc "$(cat "$CPUS/online")" $$ > /dev/null

check "a realtime task is alone" has_no_help fifo
check "so is one with a deadline" has_no_help deadline
check "a task that becomes realtime gets no more help" loses_help fifo

finish
