#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Memory pinned for a device by several threads: the device gets to all of it, and whatever
# goes wrong on the way, no page stays pinned.  The device is iommufd's mock domain
# (CONFIG_IOMMUFD_TEST) or, through VFIO, QEMU's "edu" behind an IOMMU.

. "$(dirname "$0")"/functions.sh

THRESHOLD=/proc/sys/vm/pin_pages_threshold_kbytes
GIGANTIC=/sys/kernel/mm/hugepages/hugepages-1048576kB
HUGETLB_MIB=128
MIB=256
EDU=0x1234:0x11e8
MAX_NTH=100000

device=
had_threshold=
had_pages=
had_gigantic=
victim=

restore()
{
	stop_failing
	[ -z "$victim" ] || kill -9 "$victim" 2>/dev/null
	[ -z "$had_threshold" ] || echo "$had_threshold" > "$THRESHOLD"
	[ -z "$had_pages" ] || echo "$had_pages" > "$POOL/nr_hugepages"
	[ -z "$had_gigantic" ] || echo "$had_gigantic" > "$GIGANTIC/nr_hugepages"
}

# An edu is given to VFIO.
find_edu()
{
	for pci in /sys/bus/pci/devices/*; do
		[ "$(cat "$pci/vendor"):$(cat "$pci/device")" = "$EDU" ] || continue
		[ -e "$pci/iommu_group" ] || continue
		echo vfio-pci > "$pci/driver_override"
		echo "${pci##*/}" > /sys/bus/pci/drivers_probe
		group=$(readlink -f "$pci/iommu_group")
		device=/dev/vfio/${group##*/}:${pci##*/}
	done
}

vmstat()
{
	sed -n "s/^$1 //p" /proc/vmstat
}

# After a task was killed, its memory may go a moment later.
pins_are_even()
{
	[ "$(vmstat nr_foll_pin_acquired)" = "$(vmstat nr_foll_pin_released)" ]
}

# pin STATUS MEMORY MIB: sets nr_own and nr_helped, the chunks of caller and helpers
pin()
{
	wanted=$1
	shift
	mark "pins"
	program pinpages "$device" "$@"
	status=$?
	mark "does not"
	# shellcheck disable=SC2046 # three numbers
	set -- $(chunks_around "pins")
	nr_own=$2
	nr_helped=$3
	forget_trace
	ktap_print_msg "$nr_own chunks by the caller, $nr_helped by helpers"
	[ "$status" -eq "$wanted" ] && await pins_are_even
}

helped()
{
	pin 0 "$@" && [ "$nr_own" -gt 0 ] && [ "$nr_helped" -gt 0 ]
}

alone()
{
	pin 0 "$@" && [ "$nr_own" -gt 0 ] && [ "$nr_helped" -eq 0 ]
}

has_no_job()
{
	pin 0 "$@" && [ $((nr_own + nr_helped)) -eq 0 ]
}

fails()
{
	pin 3 "$@" && [ "$nr_helped" -gt 0 ]
}

fails_without_job()
{
	pin 3 "$@" && [ $((nr_own + nr_helped)) -eq 0 ]
}

# VFIO checks the limit before it has a job, and iommufd when all of it is pinned.
over_the_limit()
{
	(
		# All shells that are sh somewhere have it.
		# shellcheck disable=SC3045
		ulimit -l 65536
		pin 3 locked $MIB
	)
}

# Where memory is fragmented, what a job fills is not contiguous.
fragmented()
{
	wide_fault fail_page_alloc
	set_fault fail_page_alloc min-order=1 times=-1 task-filter=1 probability=100
	(
		trap - EXIT
		echo 1 > /proc/self/make-it-fail
		exec "$DIR/pinpages" "$device" "$@"
	)
	status=$?
	stop_failing
	[ $status -eq 0 ] && await pins_are_even
}

# In a cgroup that may have less, the task is killed.
out_of_memory()
{
	mkdir "$GROUP/small"
	echo 64M > "$GROUP/small/memory.max"
	(
		trap - EXIT
		enter_group small
		exec "$DIR/pinpages" "$device" new $MIB
	)
	[ $? -eq 137 ] && await pins_are_even && remove_group "$GROUP/small"
}

# An allocation fails: each of the first ones in turn, and then with more and more between them.
no_memory()
{
	nth=1
	nr_mapped=0
	nr_failed=0
	for fault in $FAULTS; do
		wide_fault "$fault"
	done
	while [ $nth -lt $MAX_NTH ]; do
		program pinpages "$device" "$1" 8 $nth
		case $? in
		0) nr_mapped=$((nr_mapped + 1)) ;;
		3) nr_failed=$((nr_failed + 1)) ;;
		5) break ;;
		*) return 1 ;;
		esac
		await pins_are_even || return 1
		nth=$((nth + 1 + nth / 4))
	done
	stop_failing
	ktap_print_msg "without memory: $nr_failed times not mapped, $nr_mapped times mapped"
	[ $nth -lt $MAX_NTH ] && [ $nr_failed -gt 0 ]
}

# has_chunks: a job of the task is under way
has_chunks()
{
	grep -q "padata_mt_chunk" "$TRACEFS/trace"
}

killed()
{
	forget_trace
	"$DIR/pinpages" "$device" new $((MIB * 4)) > /dev/null &
	victim=$!
	await has_chunks
	kill -9 $victim
	wait $victim
	status=$?
	victim=
	forget_trace
	[ $status -eq 137 ] && await pins_are_even
}

setup
setup_tracing
setup_faults
setup_cgroups memory
[ -e "$THRESHOLD" ] || skip_all "the kernel pins no pages by jobs"
[ -x "$DIR/pinpages" ] || skip_all "needs the program 'pinpages', which make builds"
[ "$(nr_online_cpus)" -gt 1 ] || skip_all "needs two CPUs"
find_edu
if [ -z "$device" ] && "$DIR/pinpages" mock new 4 > /dev/null; then
	device=mock
fi
[ -n "$device" ] || skip_all "needs CONFIG_IOMMUFD_TEST, or an edu behind an IOMMU"
ktap_print_msg "the device is $device"
had_threshold=$(cat "$THRESHOLD")
had_pages=$(cat "$POOL/nr_hugepages")
had_gigantic=$(cat "$GIGANTIC/nr_hugepages" 2>/dev/null)
[ -z "$had_gigantic" ] || echo 1 > "$GIGANTIC/nr_hugepages"
echo $((HUGETLB_MIB / 2)) > "$POOL/nr_hugepages"
ktap_set_plan 18

start_tracing padata/padata_mt_chunk
check "memory that is not there" helped new $MIB
check "small pages, more than one job has" helped there $((MIB * 5 / 4))
check "small pages, of memory that is fragmented" fragmented there $((MIB * 5 / 4))
check "huge pages that are there need no help" alone thp $MIB
check "huge pages, some of which are not there" helped begun $MIB
check "huge pages that are not there" helped hugetlb $HUGETLB_MIB
if grep -qs 1 "$GIGANTIC/free_hugepages"; then
	check "a page of 1 GiB that is not there is zeroed by a job" helped gigantic 1024
else
	skip "a page of 1 GiB that is not there is zeroed by a job" "no page of 1 GiB is free"
fi
check "less than the threshold" has_no_job new 28
echo 4096 > "$THRESHOLD"
check "a lower threshold" helped new 28
check "memory that is there, while allocations fail" no_memory there
check "memory that is not there, while allocations fail" no_memory new
echo 0 > "$THRESHOLD"
check "a threshold of 0" has_no_job new $MIB
echo "$had_threshold" > "$THRESHOLD"
check "a page that cannot be pinned" fails short $MIB
check "a page that is not mapped" fails_without_job hole $MIB
check "more than may be locked" over_the_limit
check "more memory than a cgroup may have" out_of_memory
check "a task that is killed" killed
stop_tracing

finish
