# SPDX-License-Identifier: GPL-2.0-only
#
# Shared by the padata selftests, which source it.  POSIX shell and what busybox
# has, so that the tests run from an initramfs.
#
# A test calls setup or setup_jobs, ktap_set_plan, and finish at the end.  What
# it changes and has to put back goes into a function named restore.

DIR="$(dirname "$(readlink -f "$0")")"

. "$DIR"/../kselftest/ktap_helpers.sh

CPUS=/sys/devices/system/cpu
DEBUGFS=/sys/kernel/debug
JOBS=$DEBUGFS/test_padata_mt
MARK="padata selftest $(basename "$0") $$"

loaded=
mounted=

restore()
{
	:
}

cleanup()
{
	restore
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

# mount_if_missing TYPE DIRECTORY FILE: FILE is there when it is mounted
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

# $PADATA_MODULE: path of the module, where there is no modprobe to find it
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

setup_jobs()
{
	setup
	mount_if_missing debugfs "$DEBUGFS" clear_warn_once ||
		skip_all "needs debugfs (CONFIG_DEBUG_FS)"
	load_module ||
		skip_all "needs the module test_padata_mt (CONFIG_TEST_PADATA_MT)"
}

# Since the test began, or all if the log has grown too long to tell.
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

# The last case of every test.
finish()
{
	ktap_test_result "the kernel has nothing to complain of" no_kernel_complaints
	ktap_finished
}

# run_job WORD...: see lib/test_padata_mt.c for the words
run_job()
{
	echo "$*" > "$JOBS/run"
} 2>/dev/null

# values KEY: of all jobs of the last run_job, one per line
values()
{
	tr ' ' '\n' < "$JOBS/result" | sed -n "s/^$1=//p"
}

# all_are KEY VALUE
all_are()
{
	[ "$(values "$1" | sort -u)" = "$2" ]
}

show_result()
{
	while read -r line; do
		ktap_print_msg "$line"
	done < "$JOBS/result"
}

# job_is_ok WORD...: runs, and keeps all promises that the module checks
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

# check NAME COMMAND...: one case.  The result of a job is shown if it fails.
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

# skip NAME REASON: ktap_test_skip does not say why
skip()
{
	__ktap_test ok "$1" "SKIP $2"
	KTAP_CNT_SKIP=$((KTAP_CNT_SKIP + 1))
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
