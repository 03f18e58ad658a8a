#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# In an installed Debian: say how the system is, what its journal has of deferred init, and
# how many helpers zero a huge page; then power off.
say() {
	echo "$*" >/dev/ttyS1
}

stty -F /dev/ttyS1 raw
say release "$(uname -r)"
say system "$(systemctl is-system-running --wait)"
systemctl --failed --no-legend --plain | while read -r unit _; do
	say failed "$unit"
done
journalctl --dmesg --boot --output=cat --no-pager --grep='node [0-9]+ .*initialised' |
	while read -r line; do
		say journal "$line"
	done

tracing=/sys/kernel/tracing
echo 1 >/sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages
mkdir -p /run/huge
mount -t hugetlbfs -o pagesize=1G none /run/huge
echo 1 >$tracing/events/padata/enable
fallocate -l 1G /run/huge/page || say trouble "fallocate of a huge page: $?"
say helpers "$(grep -c padata_mt_helper_start: $tracing/trace)"
say "done" 0
systemctl poweroff
