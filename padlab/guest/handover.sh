# SPDX-License-Identifier: GPL-2.0-only
# Role "handover": the kernel is followed by itself, which finds the memory that its test of
# kexec handover has preserved.  It gets padlab_then= where this one has deferred_init=sync.

# shellcheck disable=SC2154 # the kernel sets it
kexec /kernel /next "$(sed "s/deferred_init=sync/$padlab_then/" /proc/cmdline)"
say trouble "kexec: $?"
