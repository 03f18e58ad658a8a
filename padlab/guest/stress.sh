# SPDX-License-Identifier: GPL-2.0-only
# Role "stress": stressors of stress-ng, each for padlab_seconds=N on the command line, with
# padlab_threshold=KIB as in role "others".

mkdir -p /mnt/huge /dev/shm
mount -t tmpfs tmpfs /dev/shm
mount -t hugetlbfs hugetlbfs /mnt/huge
mount -t cgroup2 cgroup2 /sys/fs/cgroup
if [ -n "$padlab_threshold" ]; then
	for of in zero copy; do
		echo "$padlab_threshold" >/proc/sys/vm/huge_page_${of}_threshold_kbytes ||
			say trouble "the threshold cannot be set"
	done
fi

seconds=${padlab_seconds:?}

stress() {
	name=$1
	shift
	echo "padlab: $name" >/dev/kmsg
	say running "$name"
	timeout -k 10 $((seconds * 4 + 60)) \
		stress-ng --timeout "$seconds" --verify "$@" >/out 2>&1
	status=$?
	tr -cd '\n\t -~' </out | say_lines "ktap $name"
	say status "$name" $status
}

stress fallocate --fallocate 2 --fallocate-bytes 64M --temp-path /tmp
stress fallocate-hugetlbfs --fallocate 2 --fallocate-bytes 64M --temp-path /mnt/huge
stress mmaphuge --mmaphuge 2 --mmaphuge-mmaps 64
stress madvise --madvise 2
stress fault --fault 2
stress thp --vm 2 --vm-bytes 256M --vm-madvise hugepage
stress memhotplug --memhotplug 1
# In a group that may use half of a CPU, as the helpers of its jobs may.
echo +cpu >/sys/fs/cgroup/cgroup.subtree_control
mkdir /sys/fs/cgroup/half
echo 50000 100000 >/sys/fs/cgroup/half/cpu.max
echo 0 >/sys/fs/cgroup/half/cgroup.procs
stress thp-half-a-cpu --vm 2 --vm-bytes 128M --vm-madvise hugepage
echo 0 >/sys/fs/cgroup/cgroup.procs
# Debian 12's has no such stressor.
! stress-ng --help | grep -q -e '--cgroup N' || stress cgroup --cgroup 1
exit 0
