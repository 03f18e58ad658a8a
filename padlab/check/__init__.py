# SPDX-License-Identifier: GPL-2.0-only
"""The checks of ./lab test: plan, runner, judges."""
