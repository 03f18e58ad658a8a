# SPDX-License-Identifier: GPL-2.0-only
# Role "ptlocks": threads of one process map huge pages at once, each in page tables
# of its own; which page table locks do they wait for?

echo 48 >/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages
cd /sys/kernel/tracing || exit
echo 1 >events/lock/lock_contended/enable || say trouble "no lock_contended event (CONFIG_LOCK_STAT)"
said=$(hugepages locks file 2048 16) || say trouble "hugepages: $said"
echo 0 >tracing_on
grep ' lock_contended: .*\(page_table_lock\|ptlock_ptr\)' trace | say_lines trace
