# SPDX-License-Identifier: GPL-2.0-only
"""Machines, QEMU, initramfs, boots, and what a guest says."""
