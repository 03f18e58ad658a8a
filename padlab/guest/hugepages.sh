# SPDX-License-Identifier: GPL-2.0-only
# Role "hugepages": how long pages take from the first touch, by the guest's clock.
# huge_threads= on the command line has the numbers of threads to try, for a kernel
# that can be told.

reserve() {
	echo "$2" >/sys/kernel/mm/hugepages/hugepages-"$1"kB/nr_hugepages
	[ "$(cat /sys/kernel/mm/hugepages/hugepages-"$1"kB/nr_hugepages)" = "$2" ] && return
	say trouble "no $2 huge pages of $1 KiB to be had"
}

touch_pages() {
	ns=$(hugepages time private "$2" "$3") || say trouble "hugepages: $ns"
	say huge kib "$2" threads "$1" ns "$ns"
}

reserve 1048576 1
reserve 2048 32
vm=/proc/sys/vm
[ ! -e $vm/huge_page_zero_threshold_kbytes ] || echo 64 >$vm/huge_page_zero_threshold_kbytes
for threads in $(sed -n 's/.*huge_threads=\([0-9,]*\).*/\1/p' /proc/cmdline | tr , ' '); do
	[ ! -e $vm/huge_page_zero_max_threads ] || echo "$threads" >$vm/huge_page_zero_max_threads
	# Once to have the memory behind them, on the host.
	hugepages time private 1048576 1 >/dev/null
	hugepages time private 2048 32 >/dev/null
	touch_pages "$threads" 1048576 1
	touch_pages "$threads" 2048 32
done
