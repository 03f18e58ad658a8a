# SPDX-License-Identifier: GPL-2.0-only
# Role "selftest": run each padata kselftest as its runner would, one after
# another.  The output is printed when a test has ended, with kernel messages
# off, so that none of its lines is cut in two.

mkdir -p /lib/modules
failed=0
cd /selftests/padata
for test in *.sh; do
	say running "$test"
	./"$test" >/tmp/out 2>&1
	status=$?
	dmesg -n 1
	sed "s/^/PADLAB: ktap-$test /" /tmp/out
	say status "$test" $status
	dmesg -n 8
	# 4: skipped, which the KTAP lines tell with a reason.
	[ $status -eq 0 ] || [ $status -eq 4 ] || failed=1
done
exit $failed
