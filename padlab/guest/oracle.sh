# SPDX-License-Identifier: GPL-2.0-only
# Role "oracle": print what the module found when it was loaded (see /early).

[ -r /proc/memmap_oracle ] || exit 1
say blocks "$(cat /sys/devices/system/memory/memory*/state | sort | uniq -c | tr -s '\n ' ' ')"
if [ -e /sys/kernel/tracing/per_cpu ]; then
	say events "$(awk '/^(entries|overrun):/ { n += $2 } END { print n + 0 }' \
		/sys/kernel/tracing/per_cpu/cpu*/stats)"
fi
say_lines oracle /proc/memmap_oracle
grep ' : Kernel ' /proc/iomem | sed 's/^ *//' | say_lines kernel-image
accept=/sys/kernel/debug/fake_unaccepted
[ ! -e $accept ] || say_lines accept $accept
