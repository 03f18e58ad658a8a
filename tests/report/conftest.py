# SPDX-License-Identifier: GPL-2.0-only
"""What the page is made with, before any test file imports it."""

from padlab.core import environment

environment.need("report")
