# SPDX-License-Identifier: GPL-2.0-only
"""On other systems: bare Debian roots."""
