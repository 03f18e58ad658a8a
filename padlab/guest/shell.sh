# SPDX-License-Identifier: GPL-2.0-only
# Role "shell": a shell on the console, for a person.

echo "A shell in the guest; 'poweroff -f' or Ctrl-A X ends it." >/dev/console
setsid cttyhack sh
