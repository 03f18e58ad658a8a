# SPDX-License-Identifier: GPL-2.0-only
# Role "selftest": run the padata kselftests as their runner does, one after
# another.  The output is printed when a test has ended.
#
# padlab_tests=KIND on the command line runs those named test_KIND_*, which are not
# run otherwise: they want a machine, or an outcome, of their own.  padlab_only=NAME[,NAME...] runs
# NAME.sh and no other.  padlab_limit=SECONDS is how long each may take, if not as their
# settings say.

export PADATA_MODULE=/lib/test_padata_mt.ko
failed=0
cd /selftests/padata || exit
limit=${padlab_limit:-$(sed -n 's/^timeout=//p' settings)}
limit=${limit:-45}
kinds='time\|report\|contract\|huge'
if [ -n "$padlab_only" ]; then
	tests=$(echo "$padlab_only" | tr , '\n' | sed 's/$/.sh/' | grep -Fxf /selftests/progs)
elif [ -n "$padlab_tests" ]; then
	tests=$(grep "^test_${padlab_tests}_" /selftests/progs)
else
	tests=$(grep -v "^test_\($kinds\)_" /selftests/progs)
fi
for test in $tests; do
	say running "$test"
	timeout -k 10 "$limit" "./$test" >/tmp/out 2>&1
	status=$?
	say_lines "ktap $test" /tmp/out
	# As timeout ends it, also where it has to kill.
	case $status in 124 | 137 | 143) say ktap "$test" "Bail out! ended after $limit s" ;; esac
	say status "$test" $status
	# 4: skipped, which the KTAP lines tell with a reason.
	[ $status -eq 0 ] || [ $status -eq 4 ] || failed=1
done
exit $failed
