#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Run a command in a root: ROOT [SOURCE PLACE]... "" FOLDER COMMAND...
# In a mount and a PID namespace of its own: each SOURCE is bound to a PLACE in the root.
set -e
root=$1
shift
# What namespaces are made of inside asks that its "/" be a mount.
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount --rbind /sys "$root/sys"
mount --rbind /dev "$root/dev"
while [ -n "$1" ]; do
	mount --bind "$1" "$root$2"
	shift 2
done
shift
# This shell stays, as the first process of its namespace: somebody has to wait for orphans.
status=0
# shellcheck disable=SC2016  # they are for the inner shell
chroot "$root" /usr/bin/env -i /bin/sh -c '. /root/.host-environment; cd "$0" && exec "$@"' "$@" || status=$?
exit "$status"
