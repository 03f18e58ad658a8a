# SPDX-License-Identifier: GPL-2.0-only
"""Kernel source, trees, core edits, builds, the mailable series and native programs."""
