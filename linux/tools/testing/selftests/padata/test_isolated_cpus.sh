#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Helpers of a kernel thread, which no cpuset restricts, avoid a CPU that unbound work stays
# off: one that a cpuset partition has isolated.  They leave it if that happens in the middle
# of a job.

. "$(dirname "$0")"/functions.sh

CHANGES=5
# Long enough to be running when the CPU is isolated, and for a while after.
JOB="rules=now context=kthread size=4000 max_chunk=1 fn=sleep us=1000"
# Claimed on one CPU
FILTER=$TRACEFS/events/padata/padata_mt_chunk/filter

restore()
{
	stop_jobs
	[ ! -e "$FILTER" ] || echo 0 > "$FILTER"
}

# The caller may be starting a helper there when that is isolated.
isolate()
{
	echo isolated > "$GROUP/one/cpuset.cpus.partition"
	[ "$(cat "$GROUP/one/cpuset.cpus.partition")" = isolated ] || return 1
	begin_chunks 8 0
	mark "is isolated"
	begin_chunks 50 0
	mark "may change"
	echo member > "$GROUP/one/cpuset.cpus.partition"
}

# Until helpers work there.  A job that has begun while the CPU is isolated never uses it, so it
# may be the next one that does.
use()
{
	mark "is not isolated"
	await has_claimed_more
	claimed=$?
	mark "may change"
	return $claimed
}

has_claimed_more()
{
	before=$used
	pause_tracing
	used=$(claimed_on "$last" "is not isolated")
	resume_tracing
	[ "$used" -gt "$before" ]
}

# started_on CPU STATE: the number of helpers started there whenever STATE held
started_on()
{
	awk -v cpu="$1" -v state="$2" '
		/ tracing_mark_write: /	{ now = $0; sub(/.* tracing_mark_write: /, "", now) }
		now == state && / padata_mt_helper_start: / {
			sub(/.* cpu=/, "")
			n += $0 + 0 == cpu
		}
		END { print n + 0 }' "$TRACEFS/trace"
}

# keeps_off: sets strays and used, chunks that helpers claimed on $last in either state,
# and woken, helpers that were started there in vain.  One that has just looked may claim one
# more chunk, each time.
keeps_off()
{
	# Word splitting is intended.
	# shellcheck disable=SC2086
	start_jobs $JOB
	echo "CPU == $last" > "$FILTER"
	start_tracing padata/padata_mt_chunk padata/padata_mt_helper_start
	used=0
	changes=0
	while use && [ $changes -lt $CHANGES ] && isolate; do
		changes=$((changes + 1))
	done
	stop_tracing
	stop_jobs
	strays=$(claimed_on "$last" "is isolated")
	woken=$(started_on "$last" "is isolated")
	forget_trace
	ktap_print_msg "claimed on CPU $last while it was isolated, while not: $strays $used"
	[ $changes -eq $CHANGES ] && [ "$strays" -le $CHANGES ]
}

is_left_alone()
{
	ktap_print_msg "started on CPU $last while it was isolated: $woken"
	[ "$woken" -eq 0 ]
}

is_used()
{
	[ "$used" -gt $CHANGES ]
}

setup_jobs
setup_tracing
[ "$(nr_online_cpus)" -ge 2 ] || skip_all "needs two CPUs"
setup_cgroups cpuset
last=$(online_cpus | sort -n | tail -n 1)
[ -e "$GROUP/cpuset.cpus.exclusive" ] || skip_all "needs remote cpuset partitions"
mkdir "$GROUP/one"
echo "$last" > "$GROUP/cpuset.cpus.exclusive"
echo "$last" > "$GROUP/one/cpuset.cpus.exclusive"
ktap_set_plan 4

check "no helper works on an isolated CPU" keeps_off
check "nor is one started there" is_left_alone
check "helpers work there when it is not" is_used

finish
