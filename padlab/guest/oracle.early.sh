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
# padlab_devdax=1: what has become memory of the system becomes a device again, whose pages are
# compound.
if [ -n "$padlab_devdax" ]; then
	mount -t sysfs sysfs /sys
	for device in /sys/bus/dax/drivers/kmem/dax*; do
		echo "${device##*/}" >/sys/bus/dax/drivers/kmem/unbind || say trouble "cannot unbind $device"
		echo "${device##*/}" >/sys/bus/dax/drivers/device_dax/new_id || say trouble "cannot bind $device"
	done
	umount /sys
fi
insmod /lib/memmap_oracle.ko || say oracle-failed "insmod: $?"
