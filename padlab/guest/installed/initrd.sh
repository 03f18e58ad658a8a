#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# A script of initramfs-tools, in the initrd of an installed kernel: there is no system to
# go on with, so it says which kernel this is, and powers off.
case $1 in
prereqs)
	exit 0
	;;
esac
stty -F /dev/ttyS1 raw
{
	echo "release $(uname -r)"
	echo "done 0"
} >/dev/ttyS1
poweroff -f
