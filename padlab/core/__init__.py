# SPDX-License-Identifier: GPL-2.0-only
"""Errors, paths, processes, tables, statistics, progress: knows no kernel."""
