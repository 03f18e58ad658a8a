# SPDX-License-Identifier: GPL-2.0-only
#
# Shared by the padata selftests, which source it.  Uses only POSIX shell and busybox,
# so that the tests run from an initramfs.
#
# A test calls setup or setup_jobs, then ktap_set_plan, and finish at the end.  If it
# changes anything that has to be put back, it defines a function named restore.

DIR="$(dirname "$(readlink -f "$0")")"

# shellcheck source=/dev/null # it is not a file of this series
. "$DIR"/../kselftest/ktap_helpers.sh

CPUS=/sys/devices/system/cpu
DEBUGFS=/sys/kernel/debug
TRACEFS=/sys/kernel/tracing
CGROUPS=/sys/fs/cgroup
JOBS=$DEBUGFS/test_padata_mt
POOL=/sys/kernel/mm/hugepages/hugepages-2048kB
THRESHOLD=/proc/sys/vm/huge_page_zero_threshold_kbytes
FAULTS="failslab fail_page_alloc"
MARK="padata selftest $(basename "$0") $$"

loaded=
mounted=
tracing=
clock=
jobs=
controllers=
had_pages=
had_threshold=
GROUP=

restore()
{
	:
}

cleanup()
{
	restore
	[ ! -e "$JOBS/release" ] || release
	[ -z "$tracing" ] || stop_tracing
	# This empties the buffer, too.
	[ -z "$clock" ] || echo "$clock" > "$TRACEFS/trace_clock"
	[ -z "$GROUP" ] || remove_groups
	[ -z "$loaded" ] || rmmod test_padata_mt
	for dir in $mounted; do
		umount "$dir"
	done
}

skip_all()
{
	ktap_skip_all "$1"
	exit "$KSFT_SKIP"
}

# await COMMAND...: waits until it succeeds, or for so long that it never will, however slow
# the machine is
await()
{
	tries=0
	until "$@"; do
		[ $((tries += 1)) -le 1200 ] || return 1
		sleep 0.05
	done
}

# mount_if_missing TYPE DIRECTORY FILE: FILE exists once it is mounted
mount_if_missing()
{
	[ ! -e "$2/$3" ] || return 0
	mount -t "$1" none "$2" 2>/dev/null || return 1
	mounted="$2 $mounted"
	[ -e "$2/$3" ]
}

setup()
{
	ktap_print_header
	[ "$(id -u)" -eq 0 ] || skip_all "has to be run as root"
	trap cleanup EXIT
	trap 'exit 1' INT TERM
	echo "$MARK" > /dev/kmsg
}

# $PADATA_MODULE: path of the module, for systems without modprobe to find it
load_module()
{
	[ ! -e "$JOBS/run" ] || return 0
	if [ -n "$PADATA_MODULE" ]; then
		insmod "$PADATA_MODULE" || return 1
	else
		modprobe test_padata_mt 2>/dev/null || return 1
	fi
	loaded=1
}

setup_debugfs()
{
	mount_if_missing debugfs "$DEBUGFS" clear_warn_once ||
		skip_all "needs debugfs (CONFIG_DEBUG_FS)"
}

setup_jobs()
{
	setup
	setup_debugfs
	load_module ||
		skip_all "needs the module test_padata_mt (CONFIG_TEST_PADATA_MT)"
}

# setup_faults: makes set_fault usable
setup_faults()
{
	setup_debugfs
	for fault in $FAULTS; do
		[ -e "$DEBUGFS/$fault/task-filter" ] ||
			skip_all "needs $fault in debugfs (CONFIG_FAULT_INJECTION_DEBUG_FS)"
	done
}

# setup_tracing: makes start_tracing, stop_tracing and the readers of the trace usable.  Events
# of all CPUs are in the order in which they happen.
setup_tracing()
{
	mount_if_missing tracefs "$TRACEFS" events || skip_all "needs tracefs (CONFIG_FTRACE)"
	[ -e "$TRACEFS/events/padata/enable" ] || skip_all "the kernel has no padata events"
	clock=$(sed 's/.*\[\(.*\)\].*/\1/' "$TRACEFS/trace_clock")
	echo counter > "$TRACEFS/trace_clock"
	forget_trace
}

# start_tracing EVENT...
start_tracing()
{
	tracing="$*"
	for event in $tracing; do
		echo 1 > "$TRACEFS/events/$event/enable"
	done
}

# Reading the trace does not stop it: helpers may write faster than it is read.
pause_tracing()
{
	echo 0 > "$TRACEFS/tracing_on"
}

resume_tracing()
{
	echo 1 > "$TRACEFS/tracing_on"
}

stop_tracing()
{
	resume_tracing
	for event in $tracing; do
		echo 0 > "$TRACEFS/events/$event/enable"
	done
	tracing=
}

forget_trace()
{
	echo > "$TRACEFS/trace"
}

# mark STATE: everything traced from here on happens in this state
mark()
{
	echo "$1" > "$TRACEFS/trace_marker"
}

# claims STATE: how many chunks helpers claimed whenever STATE held, and on which CPU: a line
# for each CPU, that with most of them first
claims()
{
	awk -v state="$1" '
		/ tracing_mark_write: /	{ now = $0; sub(/.* tracing_mark_write: /, "", now) }
		now == state && /^ *kworker.* padata_mt_chunk: / {
			match($0, /\[[0-9]+\]/)
			n[substr($0, RSTART + 1, RLENGTH - 2) + 0]++
		}
		END { for (cpu in n) print n[cpu], cpu }' "$TRACEFS/trace" | sort -rn
}

# claimed_on CPU STATE: how many of them on that CPU
claimed_on()
{
	claims "$2" | awk -v cpu="$1" '$2 == cpu { n = $1 } END { print n + 0 }'
}

# chunks_around STATE: counts those of helpers before it, of callers and of helpers in it
chunks_around()
{
	awk -v state="$1" '
		/ tracing_mark_write: /	{ now = $0; sub(/.* tracing_mark_write: /, "", now) }
		/padata_mt_chunk:/	{ n[$1 ~ /^kworker/, now == state]++ }
		END { print n[1, 0] + 0, n[0, 1] + 0, n[1, 1] + 0 }' "$TRACEFS/trace"
}

# CPU time that helpers have used, according to the events padata_mt_helper_end
helpers_ms()
{
	sed -n 's/.* padata_mt_helper_end: .* ns=//p' "$TRACEFS/trace" |
		awk '{ ns += $1 } END { printf "%d\n", ns / 1000000 }'
}

# with_event EVENT COMMAND...: also checks that the command triggers that padata event
with_event()
{
	with_event=$1
	shift
	start_tracing "padata/$with_event"
	"$@"
	with_event_status=$?
	stop_tracing
	with_event_nr=$(grep -c "$with_event" "$TRACEFS/trace")
	forget_trace
	ktap_print_msg "$with_event: $with_event_nr times"
	[ "$with_event_nr" -gt 0 ] && return $with_event_status
}

# program NAME WORD...: runs a program of this directory, and shows its output
program()
{
	program=$1
	shift
	said=$("$DIR/$program" "$@")
	program_status=$?
	[ -z "$said" ] || ktap_print_msg "$program $*: $said"
	return $program_status
}

# have_huge_pages NR KBYTES: NR free pages of 2 MiB, and jobs from KBYTES on; the old
# settings are saved for restore_huge_pages
have_huge_pages()
{
	[ -e "$THRESHOLD" ] && [ -e "$POOL" ] || return 1
	had_threshold=$(cat "$THRESHOLD")
	had_pages=$(cat "$POOL/nr_hugepages")
	echo "$1" > "$POOL/nr_hugepages"
	echo "$2" > "$THRESHOLD"
	[ "$(cat "$POOL/free_hugepages")" = "$1" ]
}

restore_huge_pages()
{
	[ -z "$had_threshold" ] || echo "$had_threshold" > "$THRESHOLD"
	[ -z "$had_pages" ] || echo "$had_pages" > "$POOL/nr_hugepages"
}

# setup_cgroups CONTROLLER...: $GROUP is our own cgroup, whose children have them
setup_cgroups()
{
	mount_if_missing cgroup2 "$CGROUPS" cgroup.controllers ||
		skip_all "needs cgroup v2 at $CGROUPS (CONFIG_CGROUPS)"
	for controller; do
		grep -qw "$controller" "$CGROUPS/cgroup.controllers" ||
			skip_all "needs the cgroup v2 controller $controller"
		grep -qw "$controller" "$CGROUPS/cgroup.subtree_control" ||
			controllers="$controllers $controller"
	done
	GROUP=$CGROUPS/padata_selftest_$$
	mkdir "$GROUP" || skip_all "cannot make a cgroup"
	for controller; do
		{
			echo "+$controller" > "$CGROUPS/cgroup.subtree_control" &&
			echo "+$controller" > "$GROUP/cgroup.subtree_control"
		} || skip_all "cannot enable the cgroup controller $controller"
	done
}

remove_groups()
{
	for group in "$GROUP"/*/; do
		[ ! -d "$group" ] || remove_group "$group"
	done
	remove_group "$GROUP"
	for controller in $controllers; do
		echo "-$controller" > "$CGROUPS/cgroup.subtree_control"
	done
}

# The cgroup stays busy for a moment after its last task has exited.
remove_group()
{
	await rmdir "$1" 2>/dev/null
}

# enter_group NAME: moves the (sub)shell that calls this, and all that it starts
enter_group()
{
	echo 0 > "$GROUP/$1/cgroup.procs"
}

# usage_ms NAME: CPU time that was charged to the cgroup
usage_ms()
{
	awk '$1 == "usage_usec" { printf "%d\n", $2 / 1000 }' "$GROUP/$1/cpu.stat"
}

now_ms()
{
	read -r up _ < /proc/uptime
	echo "${up%.*}${up#*.}0"
}

# Reads a task's stat file, prints the CPU time of the task and of its children
cpu_ms()
{
	read -r stat || return 1
	# Word splitting is intended.
	# shellcheck disable=SC2086
	set -- ${stat##*) }
	echo $(((${12} + ${13} + ${14} + ${15}) * 10))
}

# Sets has.  A task that has ended has none, and will not have more.
has_used_goal()
{
	has=$(cpu_ms < "/proc/$1/stat") || has=
	[ -z "$has" ] || [ "$has" -ge "$goal" ]
} 2>/dev/null

# has_used_ms MS PID: waits until the task has had another MS of CPU time.  Unlike sleep,
# this does not depend on when an emulator lets the task's CPU run.
has_used_ms()
{
	goal=$(($(cpu_ms < "/proc/$2/stat") + $1))
	await has_used_goal "$2" && [ -n "$has" ]
}

# CPU time of all threads that may be helpers.  A worker's name may contain spaces, as it
# says what the worker does.
kworkers_ms()
{
	cat /proc/[0-9]*/stat 2>/dev/null | awk '
		$2 ~ /^\(kworker\// { sub(/^.*\) /, ""); ticks += $12 + $13 }
		END { print ticks * 10 }'
}

# within PERCENT VALUE EXPECTED
within()
{
	awk -v most="$1" -v value="$2" -v expected="$3" 'BEGIN {
		off = value - expected
		exit !((off < 0 ? -off : off) * 100 <= most * expected)
	}'
}

# Those since the test began, or all if the log has grown too long to tell.
kernel_complaints()
{
	dmesg | awk -v mark="$MARK" '
		index($0, mark)	{ delete said; n = 0 }
		/BUG:|WARNING:|INFO: (possible|task|rcu|trying)|workqueue lockup|stall/ {
			said[n++] = $0
		}
		END		{ for (i = 0; i < n; i++) print said[i] }'
}

no_kernel_complaints()
{
	complaints=$(kernel_complaints)
	[ -n "$complaints" ] || return 0
	ktap_print_msg "$complaints"
	return 1
}

# complains PATTERN: the kernel has, in a line that matches
complains()
{
	kernel_complaints | grep -q "$1"
}

lockdep_is_on()
{
	grep -q '^ *debug_locks: *1' /proc/lockdep_stats
}

needs_lockdep()
{
	[ -e /proc/lockdep_stats ] || skip_all "needs lockdep (CONFIG_PROVE_LOCKING)"
	lockdep_is_on || skip_all "lockdep has turned itself off before"
}

# The last case of every test.
finish()
{
	ktap_test_result "the kernel has nothing to complain of" no_kernel_complaints
	ktap_finished
}

# run_job WORD...: see kernel/test_padata_mt.c for the words
run_job()
{
	echo "$*" > "$JOBS/run"
} 2>/dev/null

# progress: sets nr_own and nr_helped, chunks that callers and helpers have begun so far
progress()
{
	read -r nr_own nr_helped < "$JOBS/progress"
}

have_begun()
{
	progress
	[ "$nr_own" -ge "$own_goal" ] && [ "$nr_helped" -ge "$helped_goal" ]
}

# expect_chunks OWN HELPED: have_begun once callers have begun so many chunks from now on, and
# helpers so many
expect_chunks()
{
	progress
	own_goal=$((nr_own + $1))
	helped_goal=$((nr_helped + $2))
}

begin_chunks()
{
	expect_chunks "$@"
	await have_begun
}

# release: chunks that keep a CPU busy do so no more
release()
{
	echo > "$JOBS/release"
}

# start_jobs WORD...: runs jobs back to back in the background, until stop_jobs
start_jobs()
{
	(
		trap - EXIT
		while :; do
			run_job "$@"
		done
	) &
	jobs=$!
}

stop_jobs()
{
	[ -n "$jobs" ] || return 0
	kill -9 "$jobs" 2>/dev/null
	release
	wait "$jobs" 2>/dev/null
	jobs=
}

# values KEY: of all jobs of the last run_job, one per line.  Few processes: each takes
# 10 ms where a debug kernel is emulated.
values()
{
	# shellcheck disable=SC2013 # words are wanted, not lines
	for word in $(cat "$JOBS/result"); do
		[ "${word%%=*}" != "$1" ] || echo "${word#*=}"
	done
}

# all_are KEY VALUE
all_are()
{
	are=
	# shellcheck disable=SC2013 # words are wanted, not lines
	for word in $(cat "$JOBS/result"); do
		case "$word" in
		"$1=$2") are=1 ;;
		"$1="*) return 1 ;;
		esac
	done
	[ -n "$are" ]
}

show_result()
{
	while read -r line; do
		ktap_print_msg "$line"
	done < "$JOBS/result"
}

# job_is_ok WORD...: it runs, and keeps all guarantees that the module checks
job_is_ok()
{
	if ! run_job "$@"; then
		ktap_print_msg "could not run: $*"
		return 1
	fi
	all_are status ok && return 0
	ktap_print_msg "failed: $*"
	show_result
	return 1
}

# check NAME COMMAND...: runs one test case.  If it fails, the job's result is shown.
check()
{
	name="$1"
	shift
	if "$@"; then
		ktap_test_pass "$name"
	else
		[ ! -e "$JOBS/result" ] || show_result
		ktap_test_fail "$name"
	fi
}

# skip NAME REASON: unlike ktap_test_skip, gives the reason
skip()
{
	__ktap_test ok "$1" "SKIP $2"
	KTAP_CNT_SKIP=$((KTAP_CNT_SKIP + 1))
}

# set_fault FAULT NAME=VALUE...
set_fault()
{
	fault_dir=$DEBUGFS/$1
	shift
	for setting; do
		echo "${setting#*=}" > "$fault_dir/${setting%=*}"
	done
}

stop_failing()
{
	for stopped in $FAULTS; do
		[ ! -e "$DEBUGFS/$stopped" ] ||
			set_fault "$stopped" probability=0 task-filter=0 ignore-gfp-wait=1
	done
}

# until_helped UNITS COMMAND...: retries, as some jobs are over before a helper comes
until_helped()
{
	least="$1"
	shift
	for _ in 1 2 3 4 5 6 7 8; do
		"$@" || return 1
		all_are status ok || return 1
		[ "$(values helped)" -lt "$least" ] || return 0
	done
	ktap_print_msg "there was no help"
	return 1
}

online_cpus()
{
	for dir in "$CPUS"/cpu[0-9]*; do
		[ -e "$dir/online" ] && [ "$(cat "$dir/online")" = 0 ] ||
			echo "${dir##*/cpu}"
	done
}

nr_online_cpus()
{
	online_cpus | wc -l
}
