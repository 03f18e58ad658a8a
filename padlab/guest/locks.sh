# SPDX-License-Identifier: GPL-2.0-only
# Role "locks": how often zone->lock was taken while deferred init ran, from the
# trace of the boot (see checks/boot/test_costs.py).  Messages of the kernel are in it, too,
# and tell when that was.

echo 0 >/sys/kernel/tracing/tracing_on
awk '
	!begun && /console: .*smpboot: Total of/ { begun = 1 }
	!begun { next }
	/ lock_acquire: .*&zone->lock/ { taken++ }
	/console: .*node [0-9]+ (deferred pages )?initialised/ { told = 1; until_last = taken }
	/console: .*devtmpfs: initialized/ { exit }
	END {
		if (told)
			print "zone-lock", until_last + 0
	}
' /sys/kernel/tracing/trace
