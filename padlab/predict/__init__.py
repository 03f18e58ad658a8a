# SPDX-License-Identifier: GPL-2.0-only
"""The simulation of deferred init, fitted to published figures."""
