#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Where helpers are started after boot: on idle CPUs, those on the node of the data first,
# and among these the CPUs of idle cores first.

. "$(dirname "$0")"/functions.sh

TRIES=10
# For what is right only in most tries: right ones must lead wrong ones by so many, within
# so many tries at most.  If 8 of 10 tries are right, or 9 of 10, as on a host that is
# busy with other things, one run in 100,000 fails; if 7 of 10, five in 1,000; if 3 of 10
# are right, one in 1,000 passes.
LEAD=8
MOST_TRIES=60

# Looked at are no more CPUs and cores of a node, as all of them have to be idle.
MOST=8

# start WORD...: runs a job.  Sets caller and helpers, the CPUs they start on, in order,
# before the caller begins to work itself
start()
{
	forget_trace
	run_job rules=now fn=busy us=100 size=200 max_chunk=10 "$@"
	helpers=$(awk '
		/ padata_mt_job_start: / {
			job = $1
			match($0, /\[[0-9]+\]/)
			print substr($0, RSTART + 1, RLENGTH - 2) + 0
		}
		/ padata_mt_chunk: / && $1 == job { exit }
		/ padata_mt_helper_start: / && $1 == job {
			sub(/.* cpu=/, "")
			print $1 + 0
		}' "$TRACEFS/trace" | tr '\n' ' ')
	caller=${helpers%% *}
	helpers=${helpers#* }
}

# Where CPUs are does not change, and processes take long where a machine is emulated: sets
# cpus, and for each of them node_CPU and core_CPU.
find_cpus()
{
	cpus=$(online_cpus)
	for cpu in $cpus; do
		set -- "$CPUS/cpu$cpu"/node[0-9]*
		eval "node_$cpu=${1##*/node}"
		eval "core_$cpu=$(cat "$CPUS/cpu$cpu/topology/thread_siblings_list")"
		eval "cache_$cpu=$(cat "$CPUS/cpu$cpu/cache/index3/shared_cpu_list" 2>/dev/null ||
			cat "$CPUS/cpu$cpu/topology/die_cpus_list")"
	done
}

# is_on NODE CPU
is_on()
{
	eval "[ \"\$node_$2\" = $1 ]"
}

# split NODE: sets near and far, the numbers of helpers on the node and elsewhere
split()
{
	near=0
	far=0
	for cpu in $helpers; do
		if is_on "$1" "$cpu"; then
			near=$((near + 1))
		else
			far=$((far + 1))
		fi
	done
}

# caches_of NODE: prints how many last-level caches its CPUs have
caches_of()
{
	for cpu in $cpus; do
		! is_on "$1" "$cpu" || eval "echo \$cache_$cpu"
	done | sort -u | wc -l
}

# online_of NODE: prints the number of online CPUs and of cores, as "CPUS CORES", or MOST
online_of()
{
	for cpu in $cpus; do
		! is_on "$1" "$cpu" || eval "echo \$core_$cpu"
	done | sort | uniq -c | awk -v most="$MOST" '
		{ cpus += $1 }
		END { print cpus < most ? cpus : most, NR < most ? NR : most }'
}

# start_elsewhere NODE WORD...: the caller is not on that node
start_elsewhere()
{
	not="$1"
	shift
	stay_on "$elsewhere"
	for _ in $(seq $TRIES); do
		start "$@"
		is_on "$not" "$caller" || return 0
	done
	return 1
}

# mostly COMMAND...: right much more often than wrong, as now and then a CPU is not idle
mostly()
{
	lead=0
	tries=0
	until [ $lead -ge $LEAD ]; do
		[ $tries -lt $MOST_TRIES ] || break
		tries=$((tries + 1))
		if "$@"; then
			lead=$((lead + 1))
		else
			lead=$((lead - 1))
		fi
	done
	# Word splitting is intended.
	# shellcheck disable=SC2086
	ktap_print_msg "$(((tries + lead) / 2)) of $tries times, the last time $caller had" \
		"the help of" $helpers
	[ $lead -ge $LEAD ]
}

# near_the_data NODE NR: there are NR helpers on the node, and no others
near_the_data()
{
	start_elsewhere "$1" nid="$1" max_threads=$(($2 + 1)) || return 1
	split "$1"
	[ $near -eq "$2" ] && [ $far -eq 0 ]
}

# stay_on NODE: moves to one of its CPUs, and is then allowed on all
stay_on()
{
	for cpu in $cpus; do
		! is_on "$1" "$cpu" || break
	done
	taskset -pc "$cpu" $$ > /dev/null
	# Word splitting is intended.
	# shellcheck disable=SC2086
	taskset -pc "$(set -- $cpus; IFS=,; echo "$*")" $$ > /dev/null
}

# spread_first WHAT NODE NR: the first NR helpers are on different ones, core or cache
spread_first()
{
	start_elsewhere "$2" nid="$2" || return 1
	places=$(for cpu in $helpers; do
		eval "echo \$${1}_$cpu"
	done)
	[ "$(echo "$places" | head -n "$3" | sort -u | wc -l)" = "$3" ]
}

# spread_again NODE NR: the first NR helpers are in different caches, and so are the next NR
spread_again()
{
	spread_first cache "$1" "$2" || return 1
	next=$(echo "$places" | head -n $((2 * $2)) | tail -n "$2")
	[ "$(echo "$next" | sort -u | wc -l)" = "$2" ]
}

one_for_a_cpu()
{
	start
	seen=
	for cpu in $helpers; do
		case " $seen" in *" $cpu "*) return 1 ;; esac
		seen="$seen$cpu "
	done
}

# Now and then the scheduler moves the caller.
not_where_the_caller_is()
{
	start
	case " $helpers" in *" $caller "*) return 1 ;; esac
}

setup_jobs
setup_tracing
find_cpus
nodes=$(for cpu in $cpus; do
	eval "echo \$node_$cpu"
done | sort -un)
there=$(echo "$nodes" | tail -n 1)
elsewhere=$(echo "$nodes" | head -n 1)
[ "$(echo "$nodes" | wc -l)" -gt 1 ] || skip_all "needs two nodes with CPUs"
nr=$(online_of "$there")
ktap_set_plan 6

start_tracing padata/padata_mt_job_start padata/padata_mt_helper_start padata/padata_mt_chunk
check "near the data" mostly near_the_data "$there" "${nr% *}"
check "whole cores first" mostly spread_first core "$there" "${nr#* }"
nr_caches=$(caches_of "$there")
if [ "$nr_caches" -gt 1 ]; then
	check "and spread over caches, time after time" mostly spread_again "$there" "$nr_caches"
else
	skip "and spread over caches, time after time" "a node has one cache"
fi
check "no two on one CPU" mostly one_for_a_cpu
check "none where the caller is" mostly not_where_the_caller_is
stop_tracing

finish
