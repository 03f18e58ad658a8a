#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Pages that helpers allocate for a task are charged to the task's memory cgroup, and are
# on the nodes of its cpuset and its memory policy.  A task that is in the scope of
# memalloc_nofs_save() and the like has no helpers.

. "$(dirname "$0")"/functions.sh

PAGES=16384
JOB="rules=now size=$PAGES max_chunk=16 fn=alloc"
PAGE_SIZE=$(getconf PAGESIZE 2>/dev/null || echo 4096)

# kib NAME: the cgroup's memory.  Exact but for the up to 64 pages that each CPU stocks;
# memory.stat lags by seconds.
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

# Forgetting frees the pages of the last job, so that the result is for this one alone.
alloc_in()
{
	forget_pages
	had=$(kib "$1")
	# Word splitting is intended.
	# shellcheck disable=SC2086
	run_in "$1" run_job $JOB
	has=$(kib "$1")
}

# near KIB WANTED PERCENT: differs by so many percent of all pages at most, and by what CPUs
# may have charged ahead: 64 pages each
near()
{
	off=$(($1 > $2 ? $1 - $2 : $2 - $1))
	most=$((PAGES * $3 / 100 + 64 * $(nr_online_cpus)))
	[ $off -le $((most * PAGE_SIZE / 1024)) ]
}

# Some is charged to the cgroup for the task that enters.
charges_all()
{
	until_helped $((PAGES / 10)) alloc_in "$1" || return 1
	ktap_print_msg "$((has - had)) KiB charged for $((PAGES * PAGE_SIZE / 1024));" \
		"helpers allocated $(values helped) of $PAGES pages"
	near $((has - had)) $((PAGES * PAGE_SIZE / 1024)) 5
}

uncharges_all()
{
	forget_pages
	near "$(kib "$1")" 0 10
}

# The last pages are above memory.high.  Whoever charges them is slowed down, and when the job
# is over no worker has anything of that left to do.  A helper that charges 64 pages does it
# at the end, one that charges more at once: so it takes a few jobs.
is_slowed_down()
{
	echo $((PAGES * PAGE_SIZE)) > "$GROUP/high/memory.high"
	for _ in 1 2 3 4; do
		until_helped $((PAGES / 10)) alloc_in high || return 1
	done
	high=$(awk '$1 == "high" { print $2 }' "$GROUP/high/memory.events")
	ktap_print_msg "above memory.high $high times"
	[ "$high" -gt 0 ] && workers_are_as_before
}

# on_node_alone NODE COMMAND...
on_node_alone()
{
	node="$1"
	shift
	until_helped $((PAGES / 10)) "$@" && all_are pages_by_node "$node:$PAGES"
}

# Half of the pages on each node, to within a tenth.
on_both_nodes()
{
	until_helped $((PAGES / 10)) "$@" || return 1
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

has_no_help()
{
	job_is_ok "$@" && all_are nr_threads 1
}

lockdep_is_on()
{
	grep -qs '^ *debug_locks: *1' /proc/lockdep_stats
}

# The policy is what a helper might need an allocation for.
reclaims_nothing()
{
	"$DIR/mempolicy" bind "$1" sh -c \
		"echo rules=now size=100000 max_chunk=1000 reclaim=1 > $JOBS/run" &&
	all_are status ok && lockdep_is_on
}

# is_gone NAME: after a while, nothing holds a reference to the removed cgroup
is_gone()
{
	remove_group "$GROUP/$1"
	await none_is_dying
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
mkdir "$GROUP/charged" "$GROUP/bound" "$GROUP/high"
nodes=$(memory_nodes)
a=$(echo "$nodes" | head -n 1)
b=$(echo "$nodes" | tail -n 1)
ktap_set_plan 17

check "pages are charged to the task's memory cgroup, whoever allocates" \
	charges_all charged
check "and uncharged when they are freed" uncharges_all charged
check "helpers are slowed down by its memory.high, and only while they help" is_slowed_down

if [ "$a" != "$b" ]; then
	for node in $a $b; do
		echo "$node" > "$GROUP/bound/cpuset.mems"
		# shellcheck disable=SC2086
		check "pages are on the node of the task's cpuset, $node" \
			on_node_alone "$node" run_in bound run_job $JOB
	done
	check "workers may use all nodes again" workers_are_as_before
	if "$DIR/mempolicy" bind "$a" true 2>/dev/null; then
		check "pages are where the task's policy binds them, $a" \
			on_node_alone "$a" with_policy bind "$a"
		check "pages are where the task's policy binds them, $b" \
			on_node_alone "$b" with_policy bind "$b"
		check "pages are spread over the nodes of the policy" \
			on_both_nodes with_policy interleave "$a,$b"
		check "workers have no policy any more" workers_are_as_before
	else
		for name in one other spread left; do
			skip "pages by policy, $name" "needs the program 'mempolicy'"
		done
	fi
else
	for name in cpuset "other cpuset" left bind "other bind" interleave left; do
		skip "pages by node, $name" "needs two nodes with free memory"
	done
fi

for scope in nofs noio memalloc; do
	check "a task in a scope that helpers are not in has none, $scope" \
		has_no_help rules=now size=100000 max_chunk=1000 scope=$scope
done
if ! lockdep_is_on; then
	skip "a job reclaims no memory for its helpers" "needs lockdep (CONFIG_PROVE_LOCKING)"
elif ! "$DIR/mempolicy" bind "$a" true 2>/dev/null; then
	skip "a job reclaims no memory for its helpers" "needs the program 'mempolicy'"
else
	check "a job reclaims no memory for its helpers" reclaims_nothing "$a"
fi
check "workers have nothing left of the tasks" workers_are_as_before
forget_pages
check "a memory cgroup is gone when it is removed" is_gone charged

finish
