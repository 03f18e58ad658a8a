#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Measure on this machine what padata-mt's kit has (see --help), within a given time.
# All of it runs under the kit's own busybox: of the machine's programs none is needed.
# padlab/kit/make.py makes the kit, with QEMU's command lines; form.py says what is written.

here=$(cd "${0%"${0##*/}"}." && pwd) || exit 1
if [ -z "$PADATA_KIT" ]; then
	PADATA_KIT=1 exec "$here/busybox" ash "$here/run" "$@"
	echo "run: $here/busybox cannot be run. Copy the kit, as it is, to where programs may be run." >&2
	exit 1
fi
FORMAT='' BASES='' QEMU='' CROWD_CPUS=0 MOST_CPUS=1 UNPACKED_MIB=0 ARCHIVE_SHA256=''
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

minutes=8 out=padata-kit-$(bb hostname)-$(bb date -u +%Y%m%dT%H%M%SZ).txt
while [ $# -gt 0 ]; do
	case $1 in
	--minutes | --out) [ $# -gt 1 ] || fail "$1" "its value is missing" "See: run --help" ;;
	--help | -h)
		bb cat <<-end
		usage: run [--minutes N] [--out FILE]

		Times the kernel's code as programs, and boots of guests, and looks at their memory maps; writes
		one text file.  Neither root nor a network is needed; a folder in \$TMPDIR is used, and removed
		in the end.  Nothing else should run here meanwhile.  ^C ends it; what is complete is in the file.

		  --minutes N   how long it may take (default 8)
		  --out FILE    what to write (default: padata-kit-HOST-DATE.txt here)

		Example: TMPDIR=/var/tmp ./run --minutes 20 --out big.txt
		end
		exit
		;;
	*) fail "$1" "there is no such option" "See: run --help" ;;
	esac
	eval "${1#--}=\$2"
	shift 2
done
case $minutes in
'' | *[!0-9]* | 0* | ?????*) fail "--minutes $minutes" "it is no number of minutes from 1 on" "Give one, such as 8" ;;
esac
case $out in
/*) ;;
*) out=$(pwd)/$out ;;
esac

# A folder for all that is made on the way

top=${TMPDIR:-/tmp} children=''
{ work=$(bb mktemp -d "$top/padata-kit-XXXXXX") && bb mkdir "$work/bin" "$work/here" &&
	bb --install -s "$work/bin" && cd "$work/here"; } ||
	fail "$top" "no folder with links can be made there" "Set TMPDIR to one with $UNPACKED_MIB MiB free"
kit=$work/kit
PATH=$work/bin:$PATH

cleanup() {
	trap '' INT TERM HUP
	# shellcheck disable=SC2086 # words
	kill $children 2>/dev/null
	wait
	cd / && bb rm -rf "$work"
}
trap cleanup EXIT
trap 'echo "run: ended by a signal; what is complete is in $out"; exit 143' INT TERM HUP
(set -C && echo "padata-kit $FORMAT" >"$out") 2>/dev/null ||
	fail "$out" "it is there already, or cannot be written" "Give another name: --out FILE"

now() { # in seconds
	read -r up _ </proc/uptime
	echo "${up%.*}"
}
start=$(now)
end=$((start + minutes * 60 - 5)) # what is under way then is still written
until=$end			  # of the phase
left() { echo $((until - $(now))); }
say() { printf '[%4d s] %s\n' $(($(now) - start)) "$*"; }

section() { # name, status, file with the body, command
	sum=$(sha256sum <"$3")
	if ! {
		printf '== %s\ncommand: %s\nstatus: %s\n' "$1" "$4" "$2"
		printf 'bytes: %s\nsha256: %s\n' $(($(wc -c <"$3"))) "${sum%% *}"
		cat "$3"
		echo
	} >"$work/section" || ! cat "$work/section" >>"$out"; then
		fail "$out" "it cannot be written any more" "Make room on disk, and run this again"
	fi
}

launch() { # seconds, file for what it says, command...
	seconds=$1 said=$2
	shift 2
	timeout -s KILL $((seconds > 1 ? seconds : 1)) "$@" >"$said" 2>&1 </dev/null &
	children="$children $!"
}

finish() { # wait for the first of those launched
	# shellcheck disable=SC2086 # words
	set -- $children
	{ wait "$1"; } 2>/dev/null # it says "Killed"
	status=$?
	shift
	children=$*
}

# In MiB, that this may still take: what is free, or less where its control group has a limit.
free_mib() {
	mib=$(($(awk '/^MemAvailable:/ { print $2 }' /proc/meminfo) / 1024))
	group=/sys/fs/cgroup$(sed -n 's/^0:://p' /proc/self/cgroup)
	if read -r most <"$group/memory.max" && read -r used <"$group/memory.current" && [ "$most" != max ]; then
		[ $(((most - used) >> 20)) -ge $mib ] || mib=$(((most - used) >> 20))
	fi 2>/dev/null
	echo $mib
}

# The phases

natives() {
	count=$(($(echo "$BASES" | wc -w) * 3))
	for base in $BASES; do
		for args in "zero_bench --min-kib=1024" "zero_bench --min-kib=1024 --copy" memmap_bench; do
			program=${args%% *} share=$(($(left) / count)) count=$((count - 1)) free=$(free_mib)
			[ $share -ge 5 ] || { say "$args of $base: left out, there is no time" && continue; }
			# As much memory as can be gone through a few times.
			mib=$((free < 4096 ? 256 : 1024))
			[ "$program" = zero_bench ] || mib=$((share < 25 ? 512 : share < 50 ? 1024 : 2048))
			args="$args --rounds=5 --mib=$((mib < free / 4 ? mib : free / 4))"
			# shellcheck disable=SC2086 # words
			launch $share native "$kit/$program-$base" ${args#"$program"}
			finish
			section "natives base=$base program=$program" $status native "$args"
			say "$args of $base: $(grep -c ' reference ' native) rounds, status $status"
		done
	done
}

guest() { # seconds, kernel, which of QEMU's command lines, what sed makes of the @NAMES@ in it
	words=$(sed "$4" "$kit/qemu/$3-$2-$accel")
	rm -f "$2.console" "$2.guest"
	# shellcheck disable=SC2086 # words
	set -- "$1" "$2.log" $QEMU
	while IFS= read -r word; do
		set -- "$@" "$word"
	done <<-end
	$words
	end
	launch "$@"
}

finish_guest() { # kernel: its messages are in a file, or QEMU's if that has not started
	finish
	touch "$1.guest"
	[ -s "$1.console" ] || cp "$1.log" "$1.console"
}

# KVM is what counts where it works.  Where it opens, it need not.
find_accel() {
	accel=tcg
	if (: <>/dev/kvm) 2>/dev/null; then
		accel=kvm
		guest 8 patched boot-few 's/@CPUS@/1/g; s/@MIB@/1024/g; s/@MORE@//'
		finish_guest patched
		section kvm $status patched.console "a guest under KVM"
		grep -q 'Run /init' patched.console || accel=tcg
	fi
	say "guests run under $accel"
}

timed() { # name of the section, kernel, GiB, kernel argument
	began=$(now) range=few
	[ "$guest_cpus" -le "$CROWD_CPUS" ] || range=many
	guest "$(left)" "$2" "boot-$range" "s/@CPUS@/$guest_cpus/g; s/@MIB@/$(($3 * 1024))/g; s/@MORE@/$4/"
	finish_guest "$2"
	took=$(($(now) - began + 1))
	section "$1" $status "$2.console" "qemu-system-x86_64 $(echo "$words" | tr '\n' ' ')"
	say "$1: $(grep -o 'node [0-9].*initialised.*\|^.*Run /init' "$2.console" | tr '\r\n' '; ') status $status"
}

sizes() { # in GiB, of guests whose memory can be provided before they start
	most=$(($(free_mib) * 9 / 10240 - 1)) fit=''
	[ "$accel" = kvm ] || most=$((most < guest_cpus * 2 ? most : guest_cpus * 2)) # in seconds
	for gib in 960 256 64 16 8 4 2 1; do
		[ $gib -gt $most ] || { [ $gib -lt 16 ] && [ -n "$fit" ]; } || fit="$gib $fit"
	done
	echo "$fit"
}

boots() {
	find_accel
	took=5 last='' swept=''
	for round in 1 2 3 4 5; do
		for gib in $(sizes); do
			# Both or none, by what the last one took.
			[ $((2 * took * gib / ${last:-$gib})) -lt "$(left)" ] || break
			timed "boots gib=$gib kernel=stock round=$round" stock "$gib"
			timed "boots gib=$gib kernel=patched round=$round" patched "$gib"
			last=$gib
		done
		threads=1 swept=${swept:-$last}
		while [ -n "$swept" ] && [ $threads -le "$guest_cpus" ] && [ "$took" -lt "$(left)" ]; do
			timed "sweep gib=$swept threads=$threads round=$round" patched "$swept" deferred_init_threads=$threads
			threads=$((threads < guest_cpus && guest_cpus < 2 * threads ? guest_cpus : 2 * threads))
		done
	done
}

oracle() { # stock and ours side by side; they are compared when the file is imported
	while read -r mib machine <&3; do
		if [ $((2 * mib)) -gt "$(free_mib)" ] || [ "$(left)" -lt 5 ]; then
			say "oracle: $machine: left out, there is no time, or no memory"
			continue
		fi
		for kernel in stock patched; do
			guest "$(left)" $kernel "oracle-$machine" ''
		done
		for kernel in stock patched; do
			finish_guest $kernel
			for of in console guest; do
				section "oracle machine=$machine kernel=$kernel of=$of" "$status" $kernel.$of "qemu-system-x86_64 -accel $accel"
			done
			say "oracle: $machine, $kernel: $(grep -c '^oracle ' $kernel.guest) lines, status $status"
		done
	done 3<"$kit/oracle"
}

# All of it

cpus=$(nproc)
guest_cpus=$((cpus < MOST_CPUS ? cpus : MOST_CPUS))
{ cat "$here/made" && printf 'run %s\nphases natives,boots,oracle\n' "$(date -u +%Y-%m-%d)"; } >body
section kit 0 body "run --minutes $minutes"
{
	printf 'cpus %s\nfree-mib %s\n' "$cpus" "$(free_mib)"
	printf 'total-mib %s\n' $(($(awk '/^MemTotal:/ { print $2 }' /proc/meminfo) / 1024))
	echo "nodes $(find /sys/devices/system/node -maxdepth 1 -name 'node[0-9]*' 2>/dev/null | wc -l)"
	awk '/^$/ { exit } 1' /proc/cpuinfo
} >body
section host 0 body "what the machine is"
{
	[ "$(sha256sum <"$here/kit.tar.xz")" = "$ARCHIVE_SHA256  -" ] && mkdir "$kit" &&
		unxz -c <"$here/kit.tar.xz" | tar xf - -C "$kit" && "$kit/memmap_bench-${BASES%% *}" --help
} >/dev/null 2>&1 || fail "$top" "the kit is damaged, or cannot be unpacked or run there" \
	"Copy it again, or set TMPDIR to a folder with $UNPACKED_MIB MiB free where programs may be run"
set -- natives boots oracle
while [ $# -gt 0 ]; do # each has its share of the time that is left
	until=$end
	until=$(($(now) + $(left) / $#))
	say "phase $1: $(left) s at most"
	$1
	shift
done
printf 'seconds %s\naccelerator %s\n' $(($(now) - start)) "$accel" >body
section end 0 body "the end"
say "done; all of it is in $out, $(($(wc -c <"$out") / 1024)) KiB"
