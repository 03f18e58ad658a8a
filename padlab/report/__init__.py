# SPDX-License-Identifier: GPL-2.0-only
"""./lab report: all recorded results on one page."""
