# SPDX-License-Identifier: GPL-2.0-only
# The oracle looks before anything else in user space has used memory.
insmod /lib/memmap_oracle.ko || say oracle-failed "insmod: $?"
