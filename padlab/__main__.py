# SPDX-License-Identifier: GPL-2.0-only
"""``python -m padlab``, which is what ./lab runs."""

from padlab.cli import main

main()
