# SPDX-License-Identifier: GPL-2.0-only
"""Kernel source, trees, hooks, builds, the mailable series and native programs."""
