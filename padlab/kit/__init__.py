# SPDX-License-Identifier: GPL-2.0-only
"""``./lab kit``: a folder that measures on machines where nothing is installed, and what it brings back."""
