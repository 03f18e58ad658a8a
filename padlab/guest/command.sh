# SPDX-License-Identifier: GPL-2.0-only
# Role "command": a command line of the user's.  What it prints is kept apart from messages.

{
	sh /command 2>&1
	echo $? >/tmp/status
} | say_lines out
exit "$(cat /tmp/status)"
