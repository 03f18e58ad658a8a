# SPDX-License-Identifier: GPL-2.0-only
# The oracle looks before anything else in user space has used memory.  Only
# memory in slots comes first, which padlab_online= on the command line says how
# to online: a word for /sys/devices/system/memory/*/state.
if [ -n "$padlab_online" ]; then
	insmod /lib/memmap_online.ko || say trouble "insmod memmap_online: $?"
	mount -t sysfs sysfs /sys
	for state in /sys/devices/system/memory/memory*/state; do
		read -r was <"$state"
		[ "$was" != offline ] || echo "$padlab_online" >"$state" || say trouble "cannot online $state"
	done
	umount /sys
fi
insmod /lib/memmap_oracle.ko || say oracle-failed "insmod: $?"
