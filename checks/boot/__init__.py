# SPDX-License-Identifier: GPL-2.0-only
"""Deferred init in guests, and what it costs."""
