#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Measure and check on this machine what padata-mt's kit has (see --help), within a given time.
# All of it runs under the kit's own busybox: of the machine's programs none is needed.

case $0 in
*/*) here=${0%/*} ;;
*) here=. ;;
esac
here=$(cd "$here" && pwd) || exit 1
if [ "$PADATA_KIT" != "$$" ]; then
	PADATA_KIT=$$ exec "$here/busybox" ash "$here/run" "$@"
	echo "run: $here/busybox cannot be run. Copy the kit, as it is, to where programs may be run." >&2
	exit 1
fi

# What the kit was made from, see make.py
ARCHIVE_SHA256='' UNPACKED_MIB=0 FORMAT='' COMMIT='' COMPILER='' BASE='' BASES='' SOURCES='' CONFIG='' QEMU=''
ARGUMENTS='' ARGUMENTS_TCG='' ARGUMENTS_CROWD='' CROWD_CPUS=0 MOST_CPUS=1 GIVEN='' GIVEN_KUNIT=''
# shellcheck source=/dev/null # it is made with the kit
. "$here/conf" || exit 1

unset LD_LIBRARY_PATH LD_PRELOAD
export LC_ALL=C
umask 022
bb() { "$here/busybox" "$@"; }

fail() { # what, why, what to do
	echo "run: $1: $2. $3." >&2
	exit 1
}

usage() {
	cat <<-end
	usage: run [--minutes N] [--phases NAME,...] [--out FILE]

	Measures and checks the kernels of padata-mt (commit $COMMIT) on this machine, and writes one text
	file.  Neither root nor a network is needed; a folder in \$TMPDIR is used, and removed in the end.
	Nothing else should run here meanwhile.  ^C ends it; what is complete then is in the file.

	  --minutes N   how long it may take (default 8); each phase has a share of that
	  --phases ...  which of: natives (the kernel's code as programs), boots (of guests, timed),
	                tests (KUnit and kselftests in a guest), oracle (memory maps after boot)
	  --out FILE    what to write (default: padata-kit-HOST-DATE.txt here, or in \$OUT)

	Example: TMPDIR=/var/tmp ./run --minutes 20 --phases natives,boots --out big.txt
	end
}

# The command line

minutes=8 phases=natives,boots,tests,oracle out='' children='' found='' begins=''
while [ $# -gt 0 ]; do
	case $1 in
	--help | -h) usage; exit 0 ;;
	--minutes | --phases | --out)
		[ $# -gt 1 ] || fail "$1" "its value is missing" "See: run --help"
		eval "${1#--}=\$2"
		shift 2
		;;
	*) fail "$1" "there is no such option" "See: run --help" ;;
	esac
done
case $minutes in
'' | *[!0-9]* | 0* | ?????*) fail "--minutes $minutes" "it is no number of minutes from 1 on" "Give one, such as 8" ;;
esac
for phase in $(echo "$phases" | bb tr , ' '); do
	case $phase in
	host | natives | boots | tests | oracle) ;;
	*) fail "--phases $phases" "there is no phase '$phase'" "Choose of natives, boots, tests, oracle" ;;
	esac
done
out=${out:-${OUT:-.}/padata-kit-$(bb hostname)-$(bb date -u +%Y%m%dT%H%M%SZ).txt}
case $out in
/*) ;;
*) out=$(pwd)/$out ;;
esac

# A folder for all that is made on the way: there is one, so a second run at the same time is refused.

user=$(bb id -u)
top=${TMPDIR:-/tmp}
work=$top/padata-kit-$user

is_alive() { # the run that made the folder
	read -r pid 2>/dev/null <"$work/pid" || { bb sleep 1; read -r pid 2>/dev/null <"$work/pid"; }
	[ -n "$pid" ] && [ -d "/proc/$pid" ] && bb grep -q "PADATA_KIT=$pid" "/proc/$pid/environ" 2>/dev/null
}

if ! bb mkdir -m 700 "$work" 2>/dev/null; then
	[ -d "$work" ] || fail "$top" "no folder can be made there" "Set TMPDIR to a folder of yours with $UNPACKED_MIB MiB free"
	[ "$(bb stat -c %u "$work")" = "$user" ] || fail "$work" "it is not yours" "Set TMPDIR to a folder of your own"
	! is_alive || fail "$work" "another run (process $pid) is using it" "Wait for its end, or end it"
	echo "removing $work, which a killed run has left behind"
	{ bb mv "$work" "$work.$$" && bb rm -rf "$work.$$" && bb mkdir -m 700 "$work"; } ||
		fail "$work" "it cannot be made anew" "Remove it"
fi

cleanup() {
	trap '' INT TERM HUP
	# shellcheck disable=SC2086 # words
	kill $children 2>/dev/null
	wait
	[ -z "$begins" ] || bb rm -f "$out"
	cd / && bb rm -rf "$work"
}
stop() {
	[ -n "$begins" ] || echo "What is complete is in $out"
	echo "run: ended by a signal"
	exit "$1"
}
trap cleanup EXIT
trap 'stop 130' INT
trap 'stop 143' TERM HUP
echo $$ >"$work/pid" || fail "$top" "nothing can be written there" "Set TMPDIR to a folder with room"

{ bb mkdir "$work/bin" && bb --install -s "$work/bin"; } ||
	fail "$work" "no links can be made there" "Set TMPDIR to another folder"
PATH=$work/bin:$PATH
(set -C && echo "padata-kit $FORMAT" >"$out") 2>/dev/null ||
	fail "$out" "it is there already, or cannot be written" "Give another name: --out FILE"
begins=1 # what has no measurement yet is removed

# Time, in seconds

now() {
	read -r up _ </proc/uptime
	echo "${up%.*}"
}
start=$(now)
end=$((start + minutes * 60 - 5)) # what is under way then is still written
until=$end			  # of the phase
say() { printf '[%4d s] %s\n' $(($(now) - start)) "$*"; }
left() { echo $((until - $(now))); }

# Sections of the file, see form.py

section() { # name, status, file with the body, command...
	name=$1 status=$2 body=$3
	shift 3
	sum=$(sha256sum <"$body")
	if ! {
		printf '== %s\ncommand: %s\nstatus: %s\n' "$name" "$*" "$status"
		printf 'bytes: %s\nsha256: %s\n' $(($(wc -c <"$body"))) "${sum%% *}"
		cat "$body"
		echo
	} >"$work/section" || ! cat "$work/section" >>"$out"; then
		fail "$out" "it cannot be written any more" "Make room on disk, and run this again"
	fi
}

limited() { # seconds, file for the output, command...: 137 if the time was over
	seconds=$1 output=$2
	shift 2
	timeout -s KILL $((seconds > 1 ? seconds : 1)) "$@" >"$output" 2>&1 </dev/null &
	children=$!
	{ wait "$children"; } 2>/dev/null # it says "Killed"
	status=$?
	children=
	return $status
}

# The machine

cpus=$(nproc)
guest_cpus=$((cpus < MOST_CPUS ? cpus : MOST_CPUS))

# What the process may still take, in MiB: free memory, or less where a cgroup has a limit.
free_mib() {
	mib=$(($(awk '/^MemAvailable:/ { print $2 }' /proc/meminfo) / 1024))
	group_mib 0:: /sys/fs/cgroup memory.max memory.current
	group_mib '[0-9]*:memory:' /sys/fs/cgroup/memory memory.limit_in_bytes memory.usage_in_bytes
	echo $mib
}
group_mib() { # which line has the group, where it is, files with its limit and what it uses: also of those around it
	group=$(sed -n "s/^$1//p" /proc/self/cgroup)
	[ -d "$2$group" ] || group=
	while :; do
		if [ -r "$2$group/$3" ] && read -r most <"$2$group/$3" && read -r used <"$2$group/$4" && [ "$most" != max ]; then
			[ $(((most - used) >> 20)) -ge $mib ] || mib=$(((most - used) >> 20))
		fi
		[ -n "${group#/}" ] || break
		group=${group%/*}
	done
}

look() { # file...: each under its name
	for file in "$@"; do
		[ -r "$file" ] && echo "$file: $(tr '\n' ' ' <"$file")"
	done 2>/dev/null
}

host() {
	echo "cpus $cpus"
	echo "free-mib $(free_mib)"
	echo "total-mib $(($(awk '/^MemTotal:/ { print $2 }' /proc/meminfo) / 1024))"
	echo "nodes $(find /sys/devices/system/node -maxdepth 1 -name 'node[0-9]*' 2>/dev/null | wc -l)"
	awk '/^$/ { exit } 1' /proc/cpuinfo
	look /sys/devices/system/cpu/smt/active /sys/devices/system/cpu/cpu0/cache/index*/size
	look /sys/devices/system/node/node*/cpulist /sys/devices/system/node/node*/distance
	look /sys/fs/cgroup/cpu.max /sys/fs/cgroup/memory.max /proc/loadavg /proc/version /proc/cmdline
}

ended() { # status
	case $1 in
	0) echo "ended well" ;;
	137) echo "ended by its time" ;;
	*) echo "ended with status $1" ;;
	esac
}

# Native programs

natives() {
	count=$(($(echo "$BASES" | wc -w) * 3))
	for base in $BASES; do
		for what in zero_bench "zero_bench --copy" memmap_bench; do
			program=${what%% *}
			share=$(($(left) / count))
			count=$((count - 1))
			free=$(free_mib)
			if [ $share -lt 5 ]; then
				say "$what of $base: skipped, there is no time"
				continue
			fi
			# As much memory as there is, and as can be gone through a few times.
			mib=$((share < 30 ? 512 : share < 60 ? 1024 : 2048))
			if [ "$program" = zero_bench ]; then
				set -- --mib=$((free >= 4096 ? 1024 : 256)) --min-kib=1024
			else
				set -- --mib=$((mib < free / 4 ? mib : free / 4))
			fi
			[ "$what" = "$program" ] || set -- "${what#* }" "$@"
			limited $share native "$kit/$program-$base" --rounds=5 "$@"
			status=$?
			section "natives base=$base program=$program" $status native "$program --rounds=5 $*"
			say "$what of $base: $(grep -c ' reference ' native) rounds, $(ended "$status")"
		done
	done
}

# Guests

accel=tcg,thread=multi,tb-size=512
qemu="../kit/lib/ld-linux-x86-64.so.2 --library-path ../kit/lib ../kit/qemu-system-x86_64 -L ../kit/share"

qemu() { # seconds, argument...: leaves the files console and guest
	rm -f console guest
	seconds=$1
	shift
	# shellcheck disable=SC2086 # words
	limited "$seconds" qemu.log $qemu "$@"
	[ -s console ] || cat qemu.log >console
	return $status
}

# What any guest has: its kernel, the kernel's arguments, and a console.
plain="-nodefaults -no-user-config -display none -no-reboot -cpu max -serial file:console -serial file:guest"
arguments() { # CPUs
	echo "$ARGUMENTS"
	case $accel in
	tcg*)
		echo "$ARGUMENTS_TCG"
		[ "$1" -le "$CROWD_CPUS" ] || echo "$ARGUMENTS_CROWD"
		;;
	esac
}

# A guest whose memory is provided before it starts, if there is so much.
boot() { # seconds, kernel, CPUs, GiB, kernel argument...
	limit=$1 kernel=$2 smp=$3 gib=$4
	shift 4
	provided=reserve=off
	if [ "$gib" -lt $(($(free_mib) / 1024)) ]; then
		provided=prealloc=on,prealloc-threads=$((cpus < 16 ? cpus : 16))
	fi
	# shellcheck disable=SC2086 # words
	qemu "$limit" $plain -accel $accel -machine pc,memory-backend=m -smp "$smp,sockets=1,cores=$smp,threads=1" -m "${gib}G" \
		-object "memory-backend-ram,id=m,size=${gib}G,$provided" -kernel "$kit/$kernel" -initrd "$kit/boot-$kernel.cpio" \
		-append "$(arguments "$smp" | tr '\n' ' ')$*"
}

# KVM is what counts where it works.  Where it opens, it need not.
find_accel() {
	if (: <>/dev/kvm) 2>/dev/null; then
		tcg=$accel accel=kvm
		boot 8 patched $((guest_cpus < 2 ? guest_cpus : 2)) 1
		section kvm $? console "a guest under KVM"
		grep -q 'Run /init' console || accel=$tcg
	fi
	say "guests run under $accel"
}

timed() { # a section's words, kernel, CPUs, GiB, kernel argument...
	words=$1
	shift
	began=$(now)
	boot "$(left)" "$@"
	status=$?
	took=$(($(now) - began + 1))
	section "$words" $status console "qemu-system-x86_64 -accel $accel -smp $2 -m ${3}G, $provided; $(arguments "$2" | tr '\n' ' ') $4"
	say "$words: $(sed -n 's/.*\(node [0-9]* .*initialised.*\)/\1/p' console | tr '\r\n' '; ')" \
		"$(sed -n 's/^\(.*\)\] Run \/init.*/\1]/p' console | tail -n 1) to init, $(ended "$status")"
}

sizes() { # in GiB, that guests have
	free=$(($(free_mib) / 1024))
	total=$(($(awk '/^MemTotal:/ { print $2 }' /proc/meminfo) / 1048576))
	most=$((free - (total / 10 > 2 ? total / 10 : 2)))
	few=$((guest_cpus < 8 ? guest_cpus * 2 : guest_cpus * 4)) # what they can provide in seconds
	[ $accel = kvm ] || [ $most -lt $few ] || most=$few
	for gib in 16 64; do
		[ $gib -gt $most ] || echo $gib
	done
	if [ $most -lt 16 ]; then
		echo $((most >= 8 ? 8 : most >= 4 ? 4 : most >= 2 ? 2 : 1))
	elif [ $accel = kvm ] && [ $most -gt 16 ] && [ $most -ne 64 ]; then
		echo $((most < 1000 ? most : 1000)) # QEMU's pc has no more
	fi
}

boots() {
	most=0 whole=$until took=5
	until=$(($(now) + $(left) * 2 / 3))
	for round in 1 2 3 4 5; do
		last=
		for gib in $(sizes); do
			# Both or none, by what the last ones took.
			took=$((took * gib / ${last:-$gib}))
			[ $((took * 2)) -lt "$(left)" ] || break
			last=$gib most=$((gib > most ? gib : most))
			timed "boots gib=$gib kernel=stock round=$round" stock "$guest_cpus" "$gib"
			[ $((took / 2)) -lt "$(left)" ] || break # the first one may have taken longer than others do
			timed "boots gib=$gib kernel=patched round=$round" patched "$guest_cpus" "$gib"
		done
	done
	until=$whole
	for round in 1 2 3; do
		threads=1
		while [ $threads -ne 0 ] && [ $most -gt 0 ]; do
			[ "$took" -lt "$(left)" ] || break 2
			timed "sweep gib=$most threads=$threads round=$round" patched "$guest_cpus" $most \
				deferred_init_threads=$threads
			threads=$((threads == guest_cpus ? 0 : threads * 2 < guest_cpus ? threads * 2 : guest_cpus))
		done
	done
}

tests() {
	# Two nodes, with two threads a core.
	smp=$((guest_cpus < 8 ? 8 : guest_cpus / 4 * 4))
	mib=$((2048 + smp * 16))
	if [ "$(free_mib)" -lt 1536 ]; then
		say "tests: skipped, they need 1536 MiB of memory"
		return
	fi
	for role in kunit selftest; do
		case $role in
		kunit) given=$GIVEN_KUNIT limit=$(($(left) / 2)) ;;
		selftest) given=deferred_init_threads=50% limit=$(left) ;;
		esac
		given="$(arguments $smp | tr '\n' ' ')maxcpus=$((smp - 1)) $GIVEN $given"
		# shellcheck disable=SC2086 # words
		qemu "$limit" $plain -accel $accel -machine pc -smp "$smp,sockets=2,cores=$((smp / 4)),threads=2" -m "$((2 * mib))M" \
			-object "memory-backend-ram,id=m0,size=${mib}M,reserve=off" -numa node,nodeid=0,memdev=m0 -numa cpu,node-id=0,socket-id=0 \
			-object "memory-backend-ram,id=m1,size=${mib}M,reserve=off" -numa node,nodeid=1,memdev=m1 -numa cpu,node-id=1,socket-id=1 \
			-kernel "$kit/patched" -initrd "$kit/$role-patched.cpio" -append "$given"
		status=$?
		section "tests role=$role of=console" $status console "qemu-system-x86_64 -accel $accel -smp $smp; $given"
		section "tests role=$role of=guest" "$status" guest "the same"
		say "$role: $(grep -c '^ktap .* ok ' guest) lines ok, $(grep -c '^ktap .*not ok ' guest) not ok, $(ended "$status")"
	done
}

# The memory maps of machines, stock's and ours side by side; they are compared when the file is imported.
map() { # machine-kernel: in the background, in a folder of its own
	mkdir "$work/$1" && cd "$work/$1" || exit 1
	file=$kit/oracle/$1
	set --
	while IFS= read -r word; do
		case $word in
		tcg,*) word=$accel ;;
		esac
		set -- "$@" "$word"
	done <"$file"
	# shellcheck disable=SC2086 # words
	timeout -s KILL "$(left)" $qemu "$@" >qemu.log 2>&1 </dev/null &
	children="$children $!"
}

oracle() {
	exec 3<"$kit/oracle/machines"
	ended='' large=''
	while [ -z "$ended" ]; do
		batch='' free=$(free_mib) room=$cpus
		while [ "$room" -gt 1 ] || [ -z "$batch" ]; do
			read -r mib machine <&3 || { ended=1; break; }
			if [ $((2 * mib)) -gt "$free" ]; then
				large="$large $machine"
				continue
			fi
			free=$((free - 2 * mib)) room=$((room - 2)) batch="$batch $machine"
		done
		if [ "$(left)" -lt 5 ]; then
			say "oracle: there is no time for$batch $(cut -d ' ' -f 2 <&3 | tr '\n' ' ')"
			break
		fi
		for machine in $batch; do
			map "$machine-stock"
			map "$machine-patched"
		done
		# shellcheck disable=SC2086 # words
		set -- $children
		for machine in $batch; do
			for kernel in stock patched; do
				{ wait "$1"; } 2>/dev/null
				status=$?
				shift
				children=$*
				cd "$work/$machine-$kernel" || exit 1
				for of in console guest; do
					touch $of
					section "oracle machine=$machine kernel=$kernel of=$of" "$status" $of "qemu-system-x86_64 -accel $accel"
				done
				say "oracle: $machine, $kernel: $(grep -c '^oracle ' guest) lines, $(ended "$status")"
				cd "$work/here" && rm -rf "${work:?}/$machine-$kernel"
			done
		done
	done
	exec 3<&-
	[ -z "$large" ] || say "oracle: too large for the free memory:$large"
}

# All of it

kit=$work/kit
mkdir "$work/here" && cd "$work/here" || exit 1
{
	printf 'commit %s\nrun %s\nphases %s\nbase %s\n' "$COMMIT" "$(date -u +%Y-%m-%d)" "$phases" "$BASE"
	printf '%s\nconfig %s\nqemu %s\ncompiler %s\n' "$SOURCES" "$CONFIG" "$QEMU" "$COMPILER"
} >body
section kit 0 body "run --minutes $minutes --phases $phases"
host >body 2>&1
section host 0 body "what the machine is"
say "$cpus CPUs, $(free_mib) MiB of free memory: $(sed -n 's/^model name[^:]*: //p' body)"

free=$(($(df -Pk "$work" | awk 'NR == 2 { print $4 }') / 1024))
[ $free -ge $((UNPACKED_MIB + 64)) ] ||
	fail "$top" "$free MiB are free there, $((UNPACKED_MIB + 64)) are needed" "Set TMPDIR to a folder with more room"
say "unpacking"
sum=$(sha256sum <"$here/kit.tar.xz")
[ "${sum%% *}" = "$ARCHIVE_SHA256" ] || fail "$here/kit.tar.xz" "it is not as it was made" "Copy the kit again"
{ mkdir "$kit" && unxz -c <"$here/kit.tar.xz" | tar xf - -C "$kit" && [ -e "$kit/oracle/machines" ]; } ||
	fail "$top" "the kit cannot be unpacked there" "Set TMPDIR to a folder with $UNPACKED_MIB MiB free"
"$kit/memmap_bench-$BASE" --help >/dev/null 2>&1 ||
	fail "$top" "programs cannot be run there (is it mounted noexec?)" "Set TMPDIR to a folder where they can"

wanted=,$phases, done='' skipped=''
weights='natives:40 boots:30 tests:20 oracle:10'
all=0
for pair in $weights; do
	case $wanted in *,"${pair%:*}",*) all=$((all + ${pair#*:})) ;; esac
done
for pair in $weights; do
	phase=${pair%:*} weight=${pair#*:}
	case $wanted in *,"$phase",*) ;; *) continue ;; esac
	until=$end
	share=$(($(left) * weight / all))
	all=$((all - weight))
	if [ $share -lt 8 ]; then
		say "phase $phase: skipped, $(left) s are left"
		skipped="$skipped $phase"
		continue
	fi
	until=$(($(now) + share)) begins=
	say "phase $phase: $share s at most"
	[ "$phase" = natives ] || [ -n "$found" ] || { find_accel; found=1; }
	$phase
	done="$done $phase"
done
printf 'done%s\nskipped%s\nseconds %s\naccelerator %s\n' "$done" "$skipped" $(($(now) - start)) "$accel" >body
section end 0 body "the end"
say "done; all of it is in $out, $(($(wc -c <"$out") / 1024)) KiB"
