# SPDX-License-Identifier: GPL-2.0-only
# Role "others": run test programs that others wrote, in folders of /others, one after
# another.  On the command line:
#	padlab_programs=NAME,NAME...	which of those in /others/programs
#	padlab_threshold=KIB		thresholds of jobs, if the kernel has them

instances=/sys/kernel/tracing/instances
thp=/sys/kernel/mm/transparent_hugepage
self=$(exec sh -c 'echo $PPID')

mkdir -p /dev/shm /mnt /etc /sbin
ln -s /bin/modprobe /sbin/modprobe
ln -s /proc/self/fd /dev/fd
mount -t tmpfs tmpfs /dev/shm
mount -t cgroup2 cgroup2 /sys/fs/cgroup
echo 'root:x:0:0:root:/:/bin/sh' >/etc/passwd
if [ -b /dev/ram0 ]; then
	mkswap /dev/ram0 >/dev/null
	swapon /dev/ram0 || say trouble "no swap"
fi
# thuge-gen wants 4 GiB.
echo 4294967296 >/proc/sys/kernel/shmmax
echo 4194304 >/proc/sys/kernel/shmall

if [ -n "$padlab_threshold" ]; then
	for of in huge_page_zero huge_page_copy; do
		echo "$padlab_threshold" >/proc/sys/vm/${of}_threshold_kbytes ||
			say trouble "the threshold cannot be set"
	done
fi

# Jobs in which helpers took part, in a buffer that counts what it drops.
shared=$instances/shared
if [ -d /sys/kernel/tracing/events/padata ]; then
	mkdir $shared
	echo 'ran > 1' >$shared/events/padata/padata_mt_job_end/filter
	echo 16 >$shared/buffer_size_kb
	echo 1 >$shared/events/padata/padata_mt_job_end/enable
fi

say_jobs() {
	[ -d $shared ] || return
	say jobs "$1" "$(cat $shared/per_cpu/cpu*/stats | awk '/^(entries|overrun):/ { n += $2 } END { print n + 0 }')"
}

# As each program finds it: so many pages of 2 MiB and of 1 GiB in the pools.  The latter
# are there from boot on, and once given up are hard to get back.
prepare() {
	echo madvise >$thp/enabled
	echo "$2" >/sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages
	echo "$1" >/proc/sys/vm/nr_hugepages
	if [ "$(cat /proc/sys/vm/nr_hugepages)" != "$1" ]; then
		echo 3 >/proc/sys/vm/drop_caches
		echo 1 >/proc/sys/vm/compact_memory
		echo "$1" >/proc/sys/vm/nr_hugepages
	fi
	[ ! -d $shared ] || echo >$shared/trace
}

# What a program has left behind.  Kernel threads have no command line.
clean_up() {
	for pid in /proc/[0-9]*; do
		pid=${pid#/proc/}
		[ "$pid" -ne 1 ] && [ "$pid" -ne "$self" ] || continue
		[ -z "$(tr -d '\0' 2>/dev/null </proc/"$pid"/cmdline)" ] || kill -9 "$pid" 2>/dev/null
	done
	find /sys/fs/cgroup -mindepth 1 -depth -type d -exec rmdir {} \; 2>/dev/null
	mount -o remount /sys/fs/cgroup
	rm -rf /tmp/* /dev/shm/*
}

run() {
	folder=/others/${1%%/*}
	prepare "$3" "$4"
	echo "padlab: $1" >/dev/kmsg
	say running "$1"
	(cd "$folder" && exec timeout -k 10 "$2" sh -c "$5") </dev/null >/out 2>&1
	status=$?
	# Progress is drawn with carriage returns, and results with colours.
	tr '\r' '\n' </out | tr -cd '\n\t -~' | say_lines "ktap $1"
	say status "$1" $status
	say_jobs "$1"
	clean_up
}

tab=$(printf '\t')
while IFS=$tab read -r name limit pages gigantic command; do
	case ",${padlab_programs:?}," in
	*",$name,"*) run "$name" "$limit" "$pages" "$gigantic" "$command" ;;
	esac
done </others/programs
exit 0
