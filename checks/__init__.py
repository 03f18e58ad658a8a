# SPDX-License-Identifier: GPL-2.0-only
"""The checks of ./lab test: modules of pytest, each beside its data, and the plugin that runs them."""

from padlab.core import paths

# Of pytest, which finds the plugin by them.
ARGUMENTS = ("-c", str(paths.CHECKS / "pytest.ini"), f"--rootdir={paths.ROOT}")
