# SPDX-License-Identifier: GPL-2.0-only
"""The memory map after boot, stock's and ours."""
