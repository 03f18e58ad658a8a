#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Helpers leave the CPU to any other task: a task of nice value 0 loses at most 5 % of
# what it gets without helpers, whether it runs all the time or sleeps in between, and when it
# wakes up it waits for the rest of a chunk at most.
#
# The caller is a task like others and takes its share, so every figure is compared with
# that for the same job without helpers; and except in the first case, the caller has a
# CPU without a competing task, and stays there.  For what it takes to measure CPU time,
# see test_time_cpu_max.sh.

. "$(dirname "$0")"/functions.sh

SECONDS_EACH=4
JOB="rules=now size=100000 max_chunk=1 fn=busy us=1000"

out=$(mktemp -d)

restore()
{
	stop_jobs
	rm -r "$out"
}

# One job after another, started on the first CPU and then allowed on all CPUs.  The
# caller hardly sleeps until it is killed, and so has no reason to move.
start_jobs()
{
	first=$(echo "$cpus" | sort -n | head -n 1)
	taskset -c "$first" sh -c "while :; do echo $* > $JOBS/run; done" &
	jobs=$!
	begin_chunks 1 0
	taskset -pc "$(cat "$CPUS/online")" "$jobs" > /dev/null
}

# loads BUSY_MS SLEEP_MS CPU...: one on each CPU; prints their total rounds and CPU time, and by
# how many us 99 of 100 wake-ups were late at most
loads()
{
	busy="$1"
	nap="$2"
	shift 2
	for cpu; do
		taskset -c "$cpu" "$DIR/load" "$busy" "$nap" $SECONDS_EACH > "$out/$cpu" &
		pids="$pids $!"
	done
	# Each number is one process; word splitting is intended.
	# shellcheck disable=SC2086
	wait $pids
	cat "$out"/* | awk '
		{ rounds += $1; ms += $2; late = late > $3 ? late : $3 }
		END { print rounds, ms, late }'
	rm "$out"/*
}

# Load balancing may have moved the caller to where it competes itself.
stayed()
{
	[ "$(sed 's/^.*) //' "/proc/$jobs/stat" | cut -d ' ' -f 37)" = "$first" ]
}

# beside_job MAX_THREADS BUSY_MS SLEEP_MS CPU...: sets rounds, got, late and helped
beside_job()
{
	max_threads="$1"
	shift
	for _ in 1 2 3 4 5 6; do
		# Word splitting is intended.
		# shellcheck disable=SC2086
		start_jobs $JOB max_threads="$max_threads"
		helped=$(kworkers_ms)
		got=$(loads "$@")
		helped=$(($(kworkers_ms) - helped))
		moved=1
		! stayed || moved=
		stop_jobs
		sleep 0.2
		if [ -z "$moved" ] || [ $# -gt 3 ]; then
			break
		fi
		ktap_print_msg "once more: the caller has moved"
	done
	rounds=${got%% *}
	late=${got##* }
	got=${got#* }
	got=${got% *}
}

# compare NAME BUSY_MS SLEEP_MS CPU...
compare()
{
	name="$1"
	shift
	beside_job 1 "$@"
	rounds_alone=$rounds
	got_alone=$got
	beside_job 1000 "$@"
	ktap_print_msg "$name: $rounds_alone rounds and $got_alone ms without helpers," \
		"$rounds and $got ms with them, which took $helped ms; $late us late"
}

# keeps VALUE BEFORE: VALUE is at least 95 % of BEFORE
keeps()
{
	[ $(($1 * 100)) -ge $(($2 * 95)) ]
}

setup_jobs
[ "$(nr_online_cpus)" -gt 1 ] || skip_all "needs two CPUs"
[ -x "$DIR/load" ] || skip_all "needs the program 'load', which make builds"
command -v taskset > /dev/null || skip_all "needs taskset"
ktap_set_plan 9

cpus=$(online_cpus)
last=$(echo "$cpus" | sort -n | tail -n 1)

# What the caller takes of each CPU depends on where it runs, so it is not compared.
# Word splitting is intended.
# shellcheck disable=SC2086
compare "busy on every CPU" 10 0 $cpus
check "helpers take nothing from tasks that are busy on all CPUs" \
	[ $((helped * 100)) -le $((got * 5)) ]

compare "busy on one CPU" 10 0 "$last"
check "a task that is busy has no less CPU time" keeps "$got" "$got_alone"

compare "busy for 10 ms, and asleep for as long" 10 10 "$last"
check "helpers take the time in which a task sleeps" [ "$helped" -gt $((got / 4)) ]
check "such a task gets on as fast" keeps "$rounds" "$rounds_alone"
check "it waits for a chunk at most" [ "$late" -le 1100 ]

compare "busy for 2 ms, and asleep for 20" 2 20 "$last"
check "so does one that sleeps most of the time" keeps "$rounds" "$rounds_alone"
check "and it waits for a chunk at most" [ "$late" -le 1100 ]

# At the end of each job, the caller waits for its helper.
JOB="$JOB size=30"
compare "busy for 10 ms, and asleep for as long, beside short jobs" 10 10 "$last"
check "so does one beside many short jobs" keeps "$rounds" "$rounds_alone"

finish
