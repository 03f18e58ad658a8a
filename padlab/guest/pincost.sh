# SPDX-License-Identifier: GPL-2.0-only
# Role "pincost": how long it takes to pin and map memory for a device through VFIO, and to undo
# that, by the guest's clock.  padlab_mib=MIB is how much; each kind of memory twice, as the first
# time finds cold caches.

mib=$(sed -n 's/.*padlab_mib=\([0-9]*\).*/\1/p' /proc/cmdline)
for device in /sys/bus/pci/devices/*; do
	[ "$(cat "$device/vendor"):$(cat "$device/device")" = 0x1234:0x11e8 ] || continue
	echo vfio-pci >"$device/driver_override"
	echo "${device##*/}" >/sys/bus/pci/drivers_probe
	group=$(readlink "$device/iommu_group")
	edu=/dev/vfio/${group##*/}:${device##*/}
done
for memory in there thp; do
	for _ in 1 2; do
		us=$(pinpages "$edu" $memory "$mib") || say trouble "pinpages $memory: $us"
		say cost "$memory $us"
	done
done
