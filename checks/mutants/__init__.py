# SPDX-License-Identifier: GPL-2.0-only
"""Whether the checks notice faults."""
