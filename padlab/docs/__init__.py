# SPDX-License-Identifier: GPL-2.0-only
"""Tables of documents and of the series' messages, made from results/ (./lab docs)."""
