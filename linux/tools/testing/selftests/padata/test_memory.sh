#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Pages that helpers allocate for a task are charged to the task's memory cgroup, and
# are on the nodes that its cpuset and its memory policy say.

. "$(dirname "$0")"/functions.sh

PAGES=16384
JOB="rules=now size=$PAGES max_chunk=16 fn=alloc"
PAGE_SIZE=$(getconf PAGESIZE 2>/dev/null || echo 4096)

# kib NAME: the cgroup's memory.  Exact but for 64 pages that each CPU has in stock;
# memory.stat is seconds late.
kib()
{
	awk '{ printf "%d\n", $1 / 1024 }' "$GROUP/$1/memory.current"
}

# run_in NAME COMMAND...
run_in()
{
	( enter_group "$1" && shift && "$@" )
}

forget_pages()
{
	run_job size=1
}

# Some jobs are over before a helper has come.
has_help()
{
	for _ in 1 2 3 4 5 6 7 8; do
		"$@" || return 1
		all_are status ok || return 1
		[ "$(values helped)" -lt $((PAGES / 10)) ] || return 0
	done
	ktap_print_msg "there was no help"
	return 1
}

# Forgetting gives back the last job's, so the result has this one's alone.
alloc_in()
{
	forget_pages
	had=$(kib "$1")
	# Words are to be split.
	# shellcheck disable=SC2086
	run_in "$1" run_job $JOB
	has=$(kib "$1")
}

# Some is the cgroup's own, for the task that enters.
charges_all()
{
	has_help alloc_in "$1" || return 1
	ktap_print_msg "$((has - had)) KiB charged for $((PAGES * PAGE_SIZE / 1024));" \
		"helpers allocated $(values helped) of $PAGES pages"
	within 5 $((has - had)) $((PAGES * PAGE_SIZE / 1024))
}

uncharges_all()
{
	forget_pages
	[ "$(kib "$1")" -lt $((PAGES * PAGE_SIZE / 1024 / 10)) ]
}

# on_node_alone NODE COMMAND...
on_node_alone()
{
	node="$1"
	shift
	has_help "$@" && all_are pages_by_node "$node:$PAGES"
}

# Half of the pages on either, to within a tenth.
on_both_nodes()
{
	has_help "$@" || return 1
	for pair in $(values pages_by_node | tr ',' ' '); do
		within 10 "${pair#*:}" $((PAGES / 2)) || return 1
	done
	[ "$(values pages_by_node | tr ',' '\n' | wc -l)" -eq 2 ]
}

# with_policy MODE NODES
with_policy()
{
	"$DIR/mempolicy" "$1" "$2" sh -c "echo $JOB > $JOBS/run"
}

memory_nodes()
{
	for dir in /sys/devices/system/node/node[0-9]*; do
		awk '$3 == "MemFree:" && $4 > 262144 { found = 1 } END { exit !found }' \
			"$dir/meminfo" && echo "${dir##*node}"
	done
}

setup_jobs
setup_cgroups memory cpuset
[ "$(nr_online_cpus)" -gt 1 ] || skip_all "needs two CPUs"
mkdir "$GROUP/charged" "$GROUP/bound"
nodes=$(memory_nodes)
a=$(echo "$nodes" | head -n 1)
b=$(echo "$nodes" | tail -n 1)
ktap_set_plan 8

check "pages are charged to the task's memory cgroup, whoever allocates" \
	charges_all charged
check "and uncharged when they are freed" uncharges_all charged

if [ "$a" != "$b" ]; then
	for node in $a $b; do
		echo "$node" > "$GROUP/bound/cpuset.mems"
		# shellcheck disable=SC2086
		check "pages are on the node of the task's cpuset, $node" \
			on_node_alone "$node" run_in bound run_job $JOB
	done
	if "$DIR/mempolicy" bind "$a" true 2>/dev/null; then
		check "pages are where the task's policy binds them, $a" \
			on_node_alone "$a" with_policy bind "$a"
		check "pages are where the task's policy binds them, $b" \
			on_node_alone "$b" with_policy bind "$b"
		check "pages are spread over the nodes of the policy" \
			on_both_nodes with_policy interleave "$a,$b"
	else
		for name in one other spread; do
			skip "pages by policy, $name" "needs the program 'mempolicy'"
		done
	fi
else
	for name in cpuset "other cpuset" bind "other bind" interleave; do
		skip "pages by node, $name" "needs two nodes with free memory"
	done
fi
forget_pages

finish
