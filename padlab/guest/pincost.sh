# SPDX-License-Identifier: GPL-2.0-only
# Role "pincost": how long it takes to pin and map memory for a device through VFIO, and to undo
# that, by the guest's clock.  On the command line padlab_mib=MIB is how much, and padlab_memory=KIND,...
# of which kinds, each twice, as the first time finds cold caches.

for device in /sys/bus/pci/devices/*; do
	[ "$(cat "$device/vendor"):$(cat "$device/device")" = 0x1234:0x11e8 ] || continue
	echo vfio-pci >"$device/driver_override"
	echo "${device##*/}" >/sys/bus/pci/drivers_probe
	group=$(readlink "$device/iommu_group")
	edu=/dev/vfio/${group##*/}:${device##*/}
done
for memory in $(echo "${padlab_memory:?}" | tr , ' '); do
	for _ in 1 2; do
		us=$(pinpages "$edu" "$memory" "${padlab_mib:?}") || { say trouble "pinpages $memory: $us"; continue; }
		say cost "$memory $us"
	done
done
