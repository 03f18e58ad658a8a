# SPDX-License-Identifier: GPL-2.0-only
# Role "trace": what the events enabled on the command line recorded at boot,
# and what is needed to judge it: CPUs with node and core, nodes with distances
# and zones.

cd /sys/devices/system/cpu || exit
for cpu in cpu[0-9]*; do
	node=$(echo "$cpu"/node[0-9]*)
	say cpu "${cpu#cpu}" node "${node##*node}" \
		core "$(cat "$cpu/topology/thread_siblings_list")"
done

cd /sys/devices/system/node || exit
for node in node[0-9]*; do
	say distance "${node#node}" "$(cat "$node/distance")"
done

cd /
awk '
	/^Node/			{ node = $2 + 0 }
	$1 == "spanned"		{ spanned = $2 }
	$1 == "start_pfn:" && spanned {
		print "span", node, $2, $2 + spanned
		spanned = 0
	}
' /proc/zoneinfo

grep -v '^#' /sys/kernel/tracing/trace | say_lines trace
