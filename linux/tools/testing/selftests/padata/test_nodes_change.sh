#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Helpers keep to the nodes of the task's memory policy while memory of another node goes
# offline and online, on which the kernel rewrites the nodes of every task, helpers included.
#
# An allocation that walks a zonelist while another CPU rebuilds it, as it does when a node
# gets its first memory, may get a page of the zone that has just taken the place of one
# that it may use.  So a few pages of a job are on the new node whatever its policy is, in
# a movable zone, too, which then does not go offline while they are held.
#
# Needs a node whose memory is offline, as memory in a DIMM slot is at first.

. "$(dirname "$0")"/functions.sh

CHUNK=16
CHUNKS=4000
PAGES=$((CHUNK * CHUNKS))
# Two seconds on all CPUs
JOB="rules=now size=$PAGES max_chunk=$CHUNK fn=alloc us=$((500 * $(nr_online_cpus)))"
NODES=/sys/devices/system/node

out=
flipper=

restore()
{
	[ -z "$flipper" ] || kill "$flipper" 2>/dev/null
	[ -z "$block" ] || go_offline
	[ -z "$out" ] || rm "$out"
}

# A memory block of a node that has no memory online
late_block()
{
	for dir in "$NODES"/node[0-9]*; do
		case "$(cat "$dir"/memory[0-9]*/state 2>/dev/null)" in
		*online* | "") ;;
		*) ls -d "$dir"/memory[0-9]* ;;
		esac
	done | head -n 1
}

# The last job's pages are held until another job has been run.
go_offline()
{
	run_job size=1
	echo offline > "$block/state"
} 2>/dev/null

# Memory that does not go offline is waited for, until a signal comes.
flip()
{
	trap - EXIT
	while :; do
		echo online_movable > "$block/state" && echo +
		sleep 0.1
		echo offline > "$block/state" && echo -
		sleep 0.1
	done > "$out"
}

# with_flips COMMAND...: sets flips, and makes sure that there were some.  The first of
# them may already leave a page of the job on the new node.
with_flips()
{
	for _ in 1 2 3 4; do
		go_offline
		: > "$out"
		flip &
		flipper=$!
		"$@"
		flips=$(wc -l < "$out")
		kill $flipper
		wait $flipper
		flipper=
		all_are status ok || return 1
		[ "$flips" -lt 2 ] || return 0
	done
	return 1
} 2>/dev/null

run_bound_in()
{
	( enter_group "$1" && "$DIR/mempolicy" bind "$2" sh -c "echo $JOB > $JOBS/run" )
}

# pages_on NODE
pages_on()
{
	values pages_by_node | tr ',' '\n' | awk -F : -v node="$1" '
		$1 == node { pages = $2 } END { print pages + 0 }'
}

# all_on NODE COMMAND...: all pages, but for one of each CPU on the new node, each time that
# memory comes or goes
all_on()
{
	node="$1"
	shift
	until_helped $((PAGES / 2)) with_flips "$@" || return 1
	new=$(pages_on "$late")
	strays=$(($(nr_online_cpus) * flips))
	[ "$new" -ge $strays ] || strays=$new
	off=$((PAGES - $(pages_on "$node")))
	ktap_print_msg "$off of $PAGES pages are not on node $node, $new of them on the new one;" \
		"$flips times memory came or went"
	[ $off -le "$strays" ]
}

# Workers that helped, and all others
workers_have_all_nodes()
{
	all=$(sed -n 's/^Mems_allowed_list:\t//p' /proc/2/status)
	for dir in /proc/[0-9]*; do
		grep -qs '^Name:.kworker/' "$dir/status" || continue
		has=$(sed -n 's/^Mems_allowed_list:\t//p' "$dir/status" 2>/dev/null)
		[ "$has" = "$all" ] || [ ! -e "$dir/status" ] || {
			ktap_print_msg "$dir: nodes $has, not $all"
			return 1
		}
	done
}

setup_jobs
setup_cgroups cpuset
block=$(late_block)
[ -n "$block" ] || skip_all "needs a node whose memory is offline"
late=${block%/*}
late=${late##*/node}
a=$(sed 's/[-,].*//' $NODES/has_memory)
b=$(sed 's/.*[-,]//' $NODES/has_memory)
[ "$a" != "$b" ] || skip_all "needs two nodes with memory"
[ "$(nr_online_cpus)" -gt 2 ] || skip_all "needs three CPUs"
"$DIR/mempolicy" bind "$a" true 2>/dev/null || skip_all "needs the program 'mempolicy'"
mkdir "$GROUP/bound"
out=$(mktemp)
ktap_set_plan 3

echo "$b" > "$GROUP/bound/cpuset.mems"
check "helpers keep to the nodes of the task's policy" all_on "$b" run_bound_in bound "$b"
check "workers have all nodes again" workers_have_all_nodes

finish
