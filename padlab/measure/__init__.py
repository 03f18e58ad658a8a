# SPDX-License-Identifier: GPL-2.0-only
"""Comparisons, sweeps, growth, helper starts and native benches, recorded with what made them."""
