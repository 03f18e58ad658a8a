#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# A job ends though others want the CPUs of its helpers in the middle of a chunk: how long the
# caller waits depends on what is left of the chunks.  A realtime task has no helpers.

. "$(dirname "$0")"/functions.sh

hogs=
caller=

restore()
{
	# Each number is one process; word splitting is intended.
	# shellcheck disable=SC2086
	[ -z "$hogs$caller" ] || kill -9 $hogs $caller 2>/dev/null
	hogs=
}

# start SIZE JOB...: by a task, on $cpus.  Sets caller; returns when it works and has $nr_helpers,
# or cannot have so many any more
start()
{
	size=$1
	shift
	expect_chunks 1 $nr_helpers
	all_begun=$((nr_helped + nr_own + size))
	(
		trap - EXIT
		# Word splitting is intended.
		# shellcheck disable=SC2086
		exec taskset -c "$(echo $cpus | tr ' ' ',')" sh -c "
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
# the moment has none, and the scheduler may have two on a CPU, of which one leaves
helped()
{
	for _ in $(seq 40); do
		start "$@"
		! have_helpers || return 0
		end
	done
	ktap_print_msg "not all CPUs had a helper"
	return 1
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
# is let go on.
start_rivals()
{
	for cpu in $cpus; do
		taskset -c "$cpu" "$@" sh -c "
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

# A realtime task takes the CPU of a helper in the middle of its chunk, for long.  Another CPU is
# idle: the job does not wait for the time that realtime tasks leave to others, a twentieth.
moves_away()
{
	start_rivals "$DIR/setsched" fifo
	last=${cpus##*[!0-9]}
	rival=${hogs##* }
	nr_helpers=1
	helped 2 fn=work us=100000 us_helper=500000 max_threads=2 cpus="$last" &&
		kill -CONT "$rival" && await has_ended
	ended=$?
	ran=$(cpu_ms < "/proc/$rival/stat")
	nr_helpers=3
	restore
	end
	ktap_print_msg "the realtime task has had $ran ms"
	[ $ended -eq 0 ] && all_are status ok && [ "$ran" -lt 4000 ]
}

# has_no_help POLICY
has_no_help()
{
	# Word splitting is intended.
	# shellcheck disable=SC2086
	"$DIR/setsched" "$1" sh -c "echo $JOB > $JOBS/run" && all_are status ok &&
		all_are ret 1 && all_are helped 0
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
[ "$(nr_online_cpus)" -ge 4 ] || skip_all "needs four CPUs"
cpus=$(online_cpus | sort -n | head -n 4)
nr_helpers=3
# This shell looks on from elsewhere, if it can.
others=$(online_cpus | sort -n | tail -n +5 | tr '\n' ',')
[ -z "$others" ] || taskset -pc "${others%,}" $$ > /dev/null
ktap_set_plan 7

JOB="rules=now size=400 max_chunk=1 fn=busy us=1000"

check "a job ends though others want the CPUs of its helpers" ends_beside
if [ -e "$DEBUGFS/sched/fair_server" ]; then
	check "a job ends though realtime tasks want the CPUs" ends_beside "$DIR/setsched" fifo
else
	skip "a job ends though realtime tasks want the CPUs" "no fair server"
fi

check "a helper moves away from a realtime task" moves_away

# No task with a deadline may be kept from some CPUs.
taskset -pc "$(cat "$CPUS/online")" $$ > /dev/null

check "a realtime task is alone" has_no_help fifo
check "so is one with a deadline" has_no_help deadline
check "a task that becomes realtime gets no more help" loses_help fifo

finish
