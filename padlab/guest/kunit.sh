# SPDX-License-Identifier: GPL-2.0-only
# Role "kunit": load the suites; print their KTAP from debugfs, where it is
# free of time stamps.

[ ! -e /lib/kunit.ko ] || insmod /lib/kunit.ko || exit 1
insmod /lib/padata_mt_kunit.ko || exit 1

cd /sys/kernel/debug/kunit || exit 1
for suite in *; do
	[ -e "$suite/results" ] || exit 1
	say_lines "ktap $suite" "$suite/results"
done
