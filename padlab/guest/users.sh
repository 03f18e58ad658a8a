# SPDX-License-Identifier: GPL-2.0-only
# Role "users": uses what configs/users.config has, and says what came of each under "did".
# QEMU's monitor is at the third serial port, so that memory comes and goes when this asks for it.
# The kernel is followed by itself, by kexec and then as a crash kernel: padlab_after= says which.

# shellcheck disable=SC2154 # the kernel sets it
after=$padlab_after

did() { say did "$*"; }
count() { awk -v key="$2" '$1 ~ key { n += $NF } END { print n + 0 }' "$1"; }
present() { count /proc/zoneinfo '^present$'; }
vmstat() { count /proc/vmstat "^$1\$"; }

# What the command $3... prints, once it is $2, or else after a minute.
settled() {
	name=$1 wanted=$2
	shift 2
	tries=0
	while [ "$("$@")" != "$wanted" ] && [ $tries -lt 60 ]; do
		sleep 1
		tries=$((tries + 1))
	done
	did "$name" "$("$@")"
}

# How much the result of a command has grown since $1.
grown() {
	was=$1
	shift
	echo $(($("$@") - was))
}

# Kernels that follow this one

next() {
	sed "s/ padlab_after=[a-z]*//; s/\$/ padlab_after=$*/" /proc/cmdline
}

if [ "$after" = crash ]; then
	did crash-kernel "$([ -s /proc/vmcore ] && echo has the memory of the one before)"
	exit 0
fi
if [ "$after" = kexec ]; then
	did kexec "$(cat /sys/kernel/kexec_crash_loaded)"
	kexec -p /kernel /next "$(next crash)"
	echo c >/proc/sysrq-trigger
	exit 1
fi

exec 3<>/dev/ttyS2
stty raw -echo <&3
cat <&3 >/dev/null &		# it repeats what is typed
monitor() { echo "$*" >&3; }
monitor				# ends what it was sent before

# Memory of a hypervisor

added() {
	pages=0
	while IFS='- ' read -r first last what; do
		[ "$what" != ": System RAM (virtio_mem)" ] || pages=$((pages + ((0x$last + 1 - 0x$first) >> 12)))
	done <<-end
	$(sed 's/^ *//' /proc/iomem)
	end
	echo $pages
}
settled virtio-mem-at-boot $((256 << 8)) added
# It is put online after it has been added, under the lock that this takes.
wait_until_online() { echo online >/sys/devices/system/memory/memory0/state; }
wait_until_online
base=$(present)
monitor qom-set vmem0 requested-size 1G
settled virtio-mem-grown $((1024 << 8)) added
wait_until_online
did virtio-mem-online "$(grown "$base" present)"
monitor qom-set vmem0 requested-size 0
settled virtio-mem-shrunk 0 added

trace=/sys/kernel/tracing
echo 1 >$trace/events/workqueue/workqueue_execute_start/enable
monitor balloon 3072
settled balloon-inflated $((1024 << 8)) vmstat balloon_inflate
monitor balloon 4096
settled balloon-deflated $((1024 << 8)) vmstat balloon_deflate
reported() { grep -c page_reporting_process $trace/trace | sed 's/[1-9].*/some/'; }
settled pages-reported some reported
echo 0 >$trace/events/workqueue/workqueue_execute_start/enable

# Memory that fails: free pages, from /sys and by a test's hand

corrupted() { count /proc/meminfo '^HardwareCorrupted:' </dev/null; }
for address in 0x118345000 0x119000000; do
	echo $address >/sys/devices/system/memory/hard_offline_page
done
echo 0x11a001000 >/sys/devices/system/memory/soft_offline_page
echo $((0x11b003)) >/sys/kernel/debug/hwpoison/corrupt-pfn
did poisoned "$(grep HardwareCorrupted /proc/meminfo | tr -s ' ')"
echo $((0x11b003)) >/sys/kernel/debug/hwpoison/unpoison-pfn
did unpoisoned "$(grep HardwareCorrupted /proc/meminfo | tr -s ' ')"

# Huge pages whose struct pages are given back

memmap=$(count /proc/vmstat '^nr_memmap(_boot)?(_pages)?$')
echo 128 >/proc/sys/vm/nr_hugepages
did huge-pages "$(cat /proc/sys/vm/nr_hugepages)"
did huge-pages-memmap "$(grown "$memmap" count /proc/vmstat '^nr_memmap(_boot)?(_pages)?$')"
echo 0 >/proc/sys/vm/nr_hugepages
did huge-pages-given-back "$(grown "$memmap" count /proc/vmstat '^nr_memmap(_boot)?(_pages)?$')"

# Memory of a device, as memory of the system

base=$(present)
region=/sys/bus/nd/devices/region0
dax=$(cat $region/dax_seed)
echo namespace0.0 >/sys/bus/nd/drivers/nd_pmem/unbind
cat /proc/sys/kernel/random/uuid >$region/"$dax"/uuid
echo ram >$region/"$dax"/mode
echo namespace0.0 >$region/"$dax"/namespace
echo "$dax" >/sys/bus/nd/drivers/dax_pmem/bind
echo dax0.0 >/sys/bus/dax/drivers/device_dax/unbind
echo dax0.0 >/sys/bus/dax/drivers/kmem/new_id
settled pmem-as-memory $((384 << 8)) grown "$base" present

kexec /kernel /next "$(next kexec)"
say trouble "kexec: $?"
