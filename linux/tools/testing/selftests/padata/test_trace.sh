#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Trace events describe a job completely: its start, where helpers were placed, which
# thread got which chunk, and its end.

. "$(dirname "$0")"/functions.sh

# The sizes are unusual, so that no other job looks like this one.
START=1234567
SIZE=54321

restore()
{
	[ ! -e "$TRACEFS/events/padata" ] || echo 0 > "$TRACEFS/events/padata/enable"
}

# The events of our job, as "TASK EVENT KEY=VALUE...".
trace_job()
{
	echo > "$TRACEFS/trace"
	echo 1 > "$TRACEFS/events/padata/enable"
	# Waiting in the thread function gives helpers a chance to take part.
	job_is_ok start=$START size=$SIZE min_chunk=100 align=10 fn=sleep us=500
	echo 0 > "$TRACEFS/events/padata/enable"

	sed -n 's/^ *\([^ ].*-[0-9]*\) .*: \(padata_mt_[a-z_]*\): /\1 \2 /p' \
		"$TRACEFS/trace" | awk -v start="start=$START" '
		/ padata_mt_job_start / && index($0, start " ") {
			match($0, /job=[0-9]+ /)
			job = substr($0, RSTART, RLENGTH)
		}
		{ lines[NR] = $0 }
		END {
			for (i = 1; i <= NR; i++)
				if (job && index(lines[i] " ", job))
					print lines[i]
		}'
}

# events NAME: the job's events of that name
events()
{
	echo "$job" | grep " padata_mt_$1 "
}

# field KEY: of each event on standard input
field()
{
	tr ' ' '\n' | sed -n "s/^$1=//p"
}

describes_job()
{
	[ "$(events job_start | wc -l)" -eq 1 ] &&
	[ "$(events job_start | field size)" = $SIZE ] &&
	[ "$(events job_start | field align)" = 10 ] &&
	[ "$(events job_start | field min_chunk)" = 100 ] &&
	[ "$(events job_start | field threads)" = "$(values ret)" ]
}

# In the order of the range, each chunk begins where the previous one ended.
chunks_cover_job()
{
	events chunk | sed 's/.* start=\([0-9]*\) end=\([0-9]*\).*/\1 \2/' | sort -n |
		awk -v pos=$START -v end=$((START + SIZE)) '
			$1 != pos	{ broken = 1 }
					{ pos = $2 }
			END		{ exit broken || pos != end }'
}

chunks_are_all_there()
{
	[ "$(events chunk | wc -l)" -eq "$(values chunks)" ]
}

one_helper_per_cpu()
{
	[ "$(events helper_start | wc -l)" -eq $(($(values ret) - 1)) ] &&
	[ -z "$(events helper_start | field cpu | sort | uniq -d)" ]
}

threads_are_counted()
{
	[ "$(events job_end | wc -l)" -eq 1 ] &&
	[ "$(events job_end | field threads)" = "$(values ret)" ] &&
	[ "$(events chunk | sed 's/ padata_mt_.*//' | sort -u | wc -l)" -le "$(values ret)" ]
}

setup_jobs
setup_tracing
ktap_set_plan 6

job=$(trace_job)
check "the start describes the job" describes_job
check "helpers have a CPU each" one_helper_per_cpu
check "chunks cover the job" chunks_cover_job
check "there is an event for every chunk" chunks_are_all_there
check "the end counts the threads" threads_are_counted

finish
