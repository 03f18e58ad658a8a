# SPDX-License-Identifier: GPL-2.0-only
# Role "sizes": what the kernel has sized by its memory, a line each: settings, watermarks
# and what else zones have, and the memory in all.

find /proc/sys -type f -perm -400 | sort | while read -r file; do
	say size "${file#/proc/sys/}" "$(tr -s '\t\n ' ' ' <"$file" 2>/dev/null)"
done
say size MemTotal "$(awk '/^MemTotal:/ { print $2 }' /proc/meminfo)"
awk '
	/^Node/		{ zone = "node" $2 $4; sub(",", "/", zone) }
	$1 ~ /^(min|low|high|promo|managed|present|batch:|high_min:|high_max:|protection:)$/ {
		sub(":", "", $1)
		name = $1
		$1 = ""
		if (!seen[zone, name]++)
			print "size", zone "/" name $0
	}
' /proc/zoneinfo
