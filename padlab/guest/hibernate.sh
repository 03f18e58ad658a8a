# SPDX-License-Identifier: GPL-2.0-only
# Role "hibernate": sleeps on the disk with a known file in memory.  What follows runs in the
# next boot, which resumes from there, and says whether the file is still what it was; a boot
# that does not resume runs all of it and sleeps again.

disk=/dev/vda
if ! mkswap $disk >/dev/null || ! swapon $disk; then
	say trouble "no swap on $disk"
fi
dd if=/dev/urandom of=/tmp/known bs=1M count=32 2>/dev/null
before=$(sha256sum /tmp/known)
echo shutdown >/sys/power/disk
# The last word of the boot that sleeps: its machine is switched off then.
say "done" 0
echo disk >/sys/power/state || say trouble "the system does not sleep"
if [ "$before" = "$(sha256sum /tmp/known)" ]; then
	say resumed whole
else
	say resumed broken
fi
