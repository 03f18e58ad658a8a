# SPDX-License-Identifier: GPL-2.0-only
# Role "hugecost": when a page of 1 GiB is touched, what passes until the first of it
# is zeroed, by the TSC.  The second time counts: the first one finds cold caches of
# translated code, of allocators and so on.

cd /sys/kernel/tracing || exit
echo 1 >/sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages
echo x86-tsc >trace_clock
for event in padata/padata_mt_job_start padata/padata_mt_helper_start padata/padata_mt_chunk \
	exceptions/page_fault_user; do
	echo 1 >events/$event/enable
done
for _ in 1 2; do
	echo >trace
	hugepages time private 1048576 1 >/dev/null || say trouble "no page of 1 GiB to be had"
done
grep -B1 -A80 padata_mt_job_start trace | say_lines trace
