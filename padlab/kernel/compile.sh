#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# make's CC and HOSTCC: compile.sh COMPILER ARGUMENT...  compiles through ccache.
#
# With CCACHE_DEPEND, ccache knows a source, and the headers that the compiler has read.  What
# .incbin includes is not among these.  arch/x86/boot/compressed/piggy.S includes the compressed
# kernel and is the same text whenever that has the same size: a bzImage would have another
# kernel in it, from an earlier build.  So sources with .incbin are compiled each time.

for argument; do
	case $argument in
	*.c | *.S)
		if grep -qs '\.incbin' "$argument"; then
			exec "$@"
		fi
		;;
	esac
done
exec ccache "$@"
