# SPDX-License-Identifier: GPL-2.0-only
"""The lab, and the source of the kernel side."""
