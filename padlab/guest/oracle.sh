# SPDX-License-Identifier: GPL-2.0-only
# Role "oracle": print what the module found when it was loaded (see /early),
# and the kernel's own counters.  Kernel messages stay off the console
# meanwhile, so that none cuts a line in two.

[ -r /proc/memmap_oracle ] || exit 1
dmesg -n 1
sed 's/^/PADLAB: oracle /' /proc/memmap_oracle
grep -E '^Node|^  pages free|^ +(spanned|present|managed|cma|start_pfn)' /proc/zoneinfo |
	sed 's/^/PADLAB: zoneinfo /'
for file in buddyinfo pagetypeinfo; do
	sed "s/^/PADLAB: $file /" /proc/$file
done
