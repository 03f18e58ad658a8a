# SPDX-License-Identifier: GPL-2.0-only
# Role "boot": what the kernel made of the machine, one line per fact.

read -r up _ </proc/uptime
say uptime "$up"
say cpus "$(grep -c ^processor /proc/cpuinfo)"
say online "$(cat /sys/devices/system/cpu/online)"
say memtotal-kib "$(awk '/^MemTotal:/ { print $2 }' /proc/meminfo)"

# One line per populated zone: node, zone, present, managed (pages).
awk '
	/^Node/		{ node = $2 + 0; zone = $4 }
	$1 == "present"	{ present = $2 }
	$1 == "managed"	{
		if (present > 0)
			print "zone", node, zone, "present", present, "managed", $2
	}
' /proc/zoneinfo

# Kernel messages, if they were kept off the console.
read -r level _ </proc/sys/kernel/printk
[ "$level" -gt 4 ] || dmesg >/dev/console

# When the threads of deferred init were woken, and whom they woke, if traced.
trace=/sys/kernel/tracing/trace
[ ! -r $trace ] || grep pgdatinit $trace | say_lines trace
