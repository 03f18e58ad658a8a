# SPDX-License-Identifier: GPL-2.0-only
"""padlab: build, boot, check and measure the padata-mt kernel series."""
