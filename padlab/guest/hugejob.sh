# SPDX-License-Identifier: GPL-2.0-only
# Role "hugejob": the trace of one job, which zeroes a page of 1 GiB that a task touches.

echo 1 >/sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages
cd /sys/kernel/tracing || exit
echo x86-tsc >trace_clock
# Once to have the memory behind it, on the host.
hugepages time private 1048576 1 >/dev/null || say trouble "hugepages: $?"
echo 1 >events/padata/enable
hugepages time private 1048576 1 >/dev/null || say trouble "hugepages: $?"
grep -v '^#' trace | say_lines trace
