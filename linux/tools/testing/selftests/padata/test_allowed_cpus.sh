#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# A task's helpers work only on CPUs that the task may run on: those of its affinity
# mask and its cpuset, from the moment that either has been changed.
#
# What counts is where chunks are claimed.  Trace events show that, in the order in
# which they happen on all CPUs, with markers around every change among them.  A helper
# may finish a chunk that it has claimed.

. "$(dirname "$0")"/functions.sh

JOB="rules=now size=100 max_chunk=1 fn=sleep us=1000"
CHANGES=20

restore()
{
	stop_jobs
}

# list CPU...: separated by commas
list()
{
	echo "$*" | tr ' ' ','
}

# jobs_on CPUS WORD...: five jobs of a task that may run on CPUS
jobs_on()
{
	on="$1"
	shift
	taskset -c "$on" sh -c "
		for i in 1 2 3 4 5; do echo $* > $JOBS/run; done"
}

# The same in a cpuset.
jobs_in()
{
	(
		enter_group "$1"
		shift
		for _ in 1 2 3 4 5; do
			run_job "$@"
		done
	)
}

# only_allowed [CPUS]: no chunk is claimed elsewhere, but for one by a helper that has just
# looked, each time that the CPUs change.  Sets checked and changes.
only_allowed()
{
	found=$(awk -v allowed="${1:-}" '
		function allow(list,	cpus, i) {
			split("", may)
			n = split(list, cpus, ",")
			for (i = 1; i <= n; i++)
				may[cpus[i] + 0] = 1
			known = n
		}
		BEGIN			{ allow(allowed) }
		/ tracing_mark_write: about to change/	{ known = 0 }
		/ tracing_mark_write: changed to / {
			sub(/.* changed to /, "")
			allow($0)
			changes++
		}
		known && / padata_mt_chunk: / {
			checked += $1 ~ /^kworker/
			match($0, /\[[0-9]+\]/)
			strays += !(substr($0, RSTART + 1, RLENGTH - 2) + 0 in may)
		}
		END { print strays + 0, checked + 0, changes + 0 }' "$TRACEFS/trace")
	forget_trace
	ktap_print_msg "claimed elsewhere, by helpers in all, changes: $found"
	checked=$(echo "$found" | cut -d ' ' -f 2)
	changes=$(echo "$found" | cut -d ' ' -f 3)
	[ "${found%% *}" -le "$changes" ]
}

# stays_on CPUS COMMAND...: the command starts jobs that get help
stays_on()
{
	cpus="$1"
	shift
	start_tracing padata/padata_mt_chunk
	"$@" || return 1
	stop_tracing
	only_allowed "$cpus" && [ "$checked" -gt 0 ]
}

is_alone_on()
{
	# Word splitting is intended.
	# shellcheck disable=SC2086
	jobs_on "$1" $JOB && all_are ret 1 && all_are helped 0
}

set_mask()
{
	taskset -pc "$1" "$jobs" > /dev/null
}

set_cpuset()
{
	echo "$1" > "$GROUP/changing/cpuset.cpus"
}

# follows COMMAND: it changes where a task that runs one job after another may run
follows()
{
	# shellcheck disable=SC2086
	start_jobs $JOB
	echo "$jobs" > "$GROUP/changing/cgroup.procs"
	start_tracing padata/padata_mt_chunk
	for i in $(seq $CHANGES); do
		case $((i % 4)) in
		0) to="$odd" ;;
		1) to="$even" ;;
		2) to="$first,$last" ;;
		3) to="$all" ;;
		esac
		echo "about to change" > "$TRACEFS/trace_marker"
		"$1" "$to" || return 1
		echo "changed to $to" > "$TRACEFS/trace_marker"
		begin_chunks 0 10 || return 1
	done
	echo "about to change" > "$TRACEFS/trace_marker"
	stop_tracing
	stop_jobs
	only_allowed && [ "$checked" -gt $CHANGES ] && [ "$changes" -gt 0 ]
}

setup_jobs
setup_tracing
command -v taskset > /dev/null || skip_all "needs taskset"
[ "$(nr_online_cpus)" -ge 4 ] || skip_all "needs four CPUs"
setup_cgroups cpuset

all=
odd=
even=
for cpu in $(online_cpus | sort -n); do
	all="$all $cpu"
	if [ $((cpu % 2)) -eq 0 ]; then
		even="$even $cpu"
	else
		odd="$odd $cpu"
	fi
done
# Word splitting is intended.
# shellcheck disable=SC2086
{
	all=$(list $all)
	odd=$(list $odd)
	even=$(list $even)
}
first=${all%%,*}
last=${all##*,}
if [ -z "$odd" ] || [ -z "$even" ]; then
	skip_all "needs CPUs of odd and of even number"
fi
mkdir "$GROUP/fixed" "$GROUP/changing"
echo "$odd" > "$GROUP/fixed/cpuset.cpus"
ktap_set_plan 7

# shellcheck disable=SC2086
{
check "helpers stay on the CPUs of the task's mask" stays_on "$even" jobs_on "$even" $JOB
check "helpers stay on the CPUs of the task's cpuset" stays_on "$odd" jobs_in fixed $JOB
}
check "a task that may run on its CPU only is alone" is_alone_on "$last"
check "so is one on the first CPU" is_alone_on "$first"
check "helpers follow a mask that changes all the time" follows set_mask
check "helpers follow a cpuset that changes all the time" follows set_cpuset

finish
