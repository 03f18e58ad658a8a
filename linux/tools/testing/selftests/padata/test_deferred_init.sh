#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# What the boot log says about deferred struct page initialisation: a line for every node
# that had something to initialise, and the threads that the command line allows.

. "$(dirname "$0")"/functions.sh

NODES=/sys/devices/system/node
# A node with more pages than this in its last zone has some deferred.
SURELY_DEFERRED=262144

node_lines()
{
	dmesg | grep -o 'node [0-9]* initialised, .*'
}

# "NODE PAGES THREADS", one line per node
initialised_nodes()
{
	node_lines | tr -d ',()' | awk '{ print $2, $4, $8 }'
}

lines_have_form()
{
	n='[0-9]+'
	! node_lines | grep -qvE \
		"^node $n initialised, $n pages in ${n}ms, $n threads\$"
}

# "NODE PAGES", one line per node: the pages of its last zone
last_zones()
{
	awk '
		/^Node/					{ node = $2 + 0 }
		$1 == "present" && $2 > 0		{ last[node] = $2 }
		END { for (node in last) print node, last[node] }
	' /proc/zoneinfo
}

# One line for every large node, with about its number of pages, and no others.  Of what is
# reserved, the memmap grows with memory: a 64th of it.
nodes_are_there()
{
	last_zones | while read -r node present; do
		pages=$(echo "$nodes" | awk -v node="$node" '$1 == node { print $2 }')
		if [ -z "$pages" ] && [ "$present" -gt $SURELY_DEFERRED ]; then
			ktap_print_msg "no line for node $node"
			exit 1
		fi
		if [ "${pages:-0}" -gt "$present" ]; then
			ktap_print_msg "node $node: $pages pages initialised, $present present"
			exit 1
		fi
		least=$((present - present / 32 - SURELY_DEFERRED))
		if [ -n "$pages" ] && [ "$pages" -lt $least ]; then
			ktap_print_msg "node $node: only $pages pages of $present were initialised"
			exit 1
		fi
	done
}

one_line_per_node()
{
	[ -z "$(echo "$nodes" | cut -d ' ' -f 1 | sort | uniq -d)" ]
}

# No line may follow the first message of what boot does next.
waited_for()
{
	dmesg | awk '
		/devtmpfs: initialized/		{ next_began = 1 }
		/node [0-9]+ initialised, /	{ late = late || next_began }
		END				{ exit late || !next_began }'
}

asked_threads()
{
	tr ' ' '\n' < /proc/cmdline | sed -n 's/^deferred_init_threads=//p' | tail -n 1
}

nr_node_cpus()
{
	set -- "$NODES/node$1"/cpu[0-9]*
	[ -e "$1" ] && echo $# || echo 0
}

# max_threads NODE: what the command line allows.  A node without CPUs uses the CPUs
# of another, and a percentage of those cannot be determined here.
max_threads()
{
	cpus=$(nr_node_cpus "$1")
	case "$asked" in
	*%)	[ "$cpus" -gt 0 ] || { echo 1000000; return; }
		cap=$(((cpus * ${asked%\%} + 50) / 100))
		[ "$cap" -gt 0 ] || cap=1
		echo "$cap" ;;
	*)	echo "$asked" ;;
	esac
}

threads_are_capped()
{
	echo "$nodes" | while read -r node _ threads; do
		[ "$threads" -le "$(max_threads "$node")" ] || exit 1
	done
}

is_valid()
{
	echo "$asked" | grep -qE '^([1-9][0-9]*|[1-9][0-9]?%|100%)$'
}

warned()
{
	dmesg | grep -qF "deferred_init_threads: '$asked' is not a number of threads"
}

check_command_line()
{
	name="threads are as the command line says"
	asked=$(asked_threads)
	if [ -z "$asked" ]; then
		skip "$name" "no deferred_init_threads= on the command line"
	elif is_valid; then
		check "$name" threads_are_capped
	else
		check "a bad deferred_init_threads= is warned of" warned
	fi
}

setup
if [ -e /proc/config.gz ] &&
   ! zcat /proc/config.gz | grep -q '^CONFIG_DEFERRED_STRUCT_PAGE_INIT=y'; then
	skip_all "needs CONFIG_DEFERRED_STRUCT_PAGE_INIT"
fi
nodes=$(initialised_nodes)
if [ -z "$nodes" ] && ! last_zones | awk -v most=$SURELY_DEFERRED \
   '$2 > most { found = 1 } END { exit !found }'; then
	skip_all "the machine is too small to defer anything"
fi
ktap_set_plan 6

check "every node has a line" nodes_are_there
check "lines have the form that is documented" lines_have_form
check "no node has two" one_line_per_node
check "boot goes on when all are done" waited_for
check_command_line

finish
