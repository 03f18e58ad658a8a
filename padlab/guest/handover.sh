# SPDX-License-Identifier: GPL-2.0-only
# Role "handover": the kernel is followed by itself, which finds the memory that its test of
# kexec handover has preserved.

kexec /kernel /next "$(cat /proc/cmdline)"
say trouble "kexec: $?"
