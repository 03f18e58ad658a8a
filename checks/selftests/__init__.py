# SPDX-License-Identifier: GPL-2.0-only
"""The kernel's own test suites: KUnit and kselftests."""
