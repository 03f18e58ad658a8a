# SPDX-License-Identifier: GPL-2.0-only
"""Code of the kernel in userspace, and models of it."""
