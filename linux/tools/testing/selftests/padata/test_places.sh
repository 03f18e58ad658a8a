#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Where helpers are started after boot: on idle CPUs, the node of the data first, and
# there on cores that are idle as a whole first.

. "$(dirname "$0")"/functions.sh

NODES=/sys/devices/system/node
TRIES=20

# helpers_of WORD...: the CPUs of the helpers that a job begins with, in order
helpers_of()
{
	start_tracing padata/padata_mt_helper padata/padata_mt_chunk
	taskset -c "$home" sh -c "echo rules=now fn=busy us=100 $* > $JOBS/run"
	stop_tracing
	sed -n '/padata_mt_chunk/q; s/.* padata_mt_helper: .* cpu=\([0-9]*\).*/\1/p' \
		"$TRACEFS/trace"
	forget_trace
}

node_of()
{
	basename "$CPUS/cpu$1"/node[0-9]* | sed 's/node//'
}

core_of()
{
	cat "$CPUS/cpu$1/topology/thread_siblings_list"
}

# online_of NODE: as many CPUs, and as many cores, as "CPUS CORES"
online_of()
{
	for cpu in $(online_cpus); do
		[ "$(node_of "$cpu")" != "$1" ] || core_of "$cpu"
	done | sort | uniq -c | awk '{ cpus += $1 } END { print cpus, NR }'
}

# Now and then a CPU is not idle.
mostly()
{
	good=0
	for _ in $(seq $TRIES); do
		"$@" && good=$((good + 1))
	done
	ktap_print_msg "$good of $TRIES times"
	[ $good -gt $((TRIES / 2)) ]
}

# As many as there are on the node, and no others
near_the_data()
{
	nodes=$(for cpu in $(helpers_of size=1000 max_chunk=10 near="$1" \
			max_threads=$(($2 + 1))); do
		node_of "$cpu"
	done | sort | uniq -c | awk '{ print $1 ":" $2 }')
	[ "$nodes" = "$2:$1" ]
}

# The first of them on different cores
cores_first()
{
	cores=$(for cpu in $(helpers_of size=1000 max_chunk=10 near="$1"); do
		core_of "$cpu"
	done | head -n "$2" | sort -u | wc -l)
	[ "$cores" = "$2" ]
}

one_for_a_cpu()
{
	for _ in $(seq $TRIES); do
		[ -z "$(helpers_of size=1000 max_chunk=10 | sort | uniq -d)" ] || return 1
	done
}

not_where_the_caller_is()
{
	for _ in $(seq $TRIES); do
		! helpers_of size=1000 max_chunk=10 | grep -qx "$home" || return 1
	done
}

setup_jobs
setup_tracing
command -v taskset > /dev/null || skip_all "needs taskset"
home=$(online_cpus | sort -n | head -n 1)
here=$(node_of "$home")
there=$(for node in "$NODES"/node[0-9]*; do
	[ ! -e "$node/cpulist" ] || echo "${node##*node}"
done | grep -vx "$here" | head -n 1)
[ -n "$there" ] || skip_all "needs two nodes"
nr=$(online_of "$there")
[ "${nr% *}" -gt 0 ] || skip_all "needs CPUs on two nodes"
ktap_set_plan 5

check "near the data" mostly near_the_data "$there" "${nr% *}"
check "whole cores first" mostly cores_first "$there" "${nr#* }"
check "no two on one CPU" one_for_a_cpu
check "none where the caller is" not_where_the_caller_is

finish
