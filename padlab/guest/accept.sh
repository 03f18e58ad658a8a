# SPDX-License-Identifier: GPL-2.0-only
# Role "accept": memory that has to be accepted before it is used (checks/faults/).  What is left
# of it after boot, when others have wanted all CPUs for padlab_hog= seconds, when a program has then
# used padlab_touch= MiB, and when all of it is accepted or padlab_wait= seconds have passed.

accept=/sys/kernel/debug/fake_unaccepted

value() { sed -n "s/.*\b$1=\([0-9]*\).*/\1/p" /proc/cmdline; }

# By the page allocator, and by the fake.
look() {
	say "$1-unaccepted-kib" "$(awk '/^Unaccepted:/ { print $2 }' /proc/meminfo)"
	sed "s/^/$1-/" $accept
}

# What others want and get of all CPUs: the time of each, in ticks of 10 ms.
ticks() {
	for pid in $hogs; do
		awk -v key="$1-ticks" '{ print key, $14 + $15 }' /proc/"$pid"/stat
	done
}

hog() {
	hogs=
	for _ in $(seq "$(nproc)"); do
		while :; do :; done &
		hogs="$hogs $!"
	done
	sleep 1
	look begun
	ticks begun
	sleep "$1"
	ticks hogged
	look hogged
	# shellcheck disable=SC2086 # several
	kill $hogs
}

touch_mib=$(value padlab_touch)
hog_s=$(value padlab_hog)
wait_s=$(value padlab_wait)
look boot
[ -z "$hog_s" ] || hog "$hog_s"
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
awk '
	/^Node/			{ node = $2 + 0; zone = $4 }
	$1 == "nr_unaccepted"	{ print "zone-unaccepted", node, zone, $2 }
' /proc/zoneinfo

# Kernel messages, if they were kept off the console.
read -r level _ </proc/sys/kernel/printk
[ "$level" -gt 4 ] || dmesg >/dev/console
