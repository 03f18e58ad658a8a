# SPDX-License-Identifier: GPL-2.0-only
# Role "accept": memory that has to be accepted before it is used (checks/faults/).  What is left
# of it after boot, before and after 2 s of what padlab_beside= names, when a program has then used
# padlab_touch= MiB, and when all of it is accepted or padlab_wait= seconds have passed.

accept=/sys/kernel/debug/fake_unaccepted
groups=/sys/fs/cgroup
beside_s=2

value() { sed -n "s/.*\b$1=\([0-9a-z]*\).*/\1/p" /proc/cmdline; }

# By the page allocator, and by the fake.
look() {
	say "$1-unaccepted-kib" "$(awk '/^Unaccepted:/ { print $2 }' /proc/meminfo)"
	sed "s/^/$1-/" $accept
}

# The last CPU is isolated.
partition() {
	mount -t cgroup2 cgroup2 $groups || exit
	echo +cpuset >$groups/cgroup.subtree_control
	mkdir $groups/isolated
	echo $(($(nproc) - 1)) >$groups/isolated/cpuset.cpus
	echo isolated >$groups/isolated/cpuset.cpus.partition
	say partition "$(cat $groups/isolated/cpuset.cpus.partition)"
	look begun
	sleep $beside_s
}

# What others want and get of all CPUs: the time of each, in ticks of 10 ms.
ticks() {
	for pid in $hogs; do
		awk -v key="$1-ticks" '{ print key, $14 + $15 }' /proc/"$pid"/stat
	done
}

hogs() {
	for _ in $(seq "$(nproc)"); do
		while :; do :; done &
		hogs="$hogs $!"
	done
	sleep 1
	look begun
	ticks begun
	sleep $beside_s
	ticks later
}

now_ms() { awk '{ printf "%d", $1 * 1000 }' /proc/uptime; }

# Memory that is only movable goes offline and online, block by block, but for what boot has used.
hotplug() {
	look begun
	for block in /sys/devices/system/memory/memory*; do
		grep -q Movable "$block/valid_zones" || continue
		for state in offline online_movable; do
			start=$(now_ms)
			if ! echo $state >"$block/state"; then
				[ $state = offline ] || say trouble "${block##*/} stays offline"
				break
			fi
			say hotplug-ms $(($(now_ms) - start))
		done
	done
}

# Of each zone, in pages: what is free, the promo watermark, and of what is free, not accepted
awk '
	/^Node/			{ node = $2 + 0; zone = $4 }
	$1 == "promo"		{ promo = $2 }
	$1 == "nr_free_pages"	{ free = $2 }
	$1 == "nr_unaccepted"	{ print "zone", node, zone, free, promo, $2 }
' /proc/zoneinfo
beside=$(value padlab_beside)
touch_mib=$(value padlab_touch)
wait_s=$(value padlab_wait)
look boot
if [ -n "$beside" ]; then
	"$beside"
	look later
	# shellcheck disable=SC2086 # several
	[ -z "$hogs" ] || kill $hogs
fi
if [ -n "$touch_mib" ]; then
	mount -t tmpfs -o size="$((touch_mib + 1))m" tmpfs /tmp || exit
	dd if=/dev/zero of=/tmp/file bs=1M count="$touch_mib" 2>/dev/null || exit
	look touched
	rm /tmp/file
fi
while [ "${wait_s:-0}" -gt 0 ] && grep -q '^left [1-9]' $accept; do
	sleep 1
	wait_s=$((wait_s - 1))
done
look end

# Kernel messages, if they were kept off the console.
read -r level _ </proc/sys/kernel/printk
[ "$level" -gt 4 ] || dmesg >/dev/console
