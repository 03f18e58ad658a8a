/* SPDX-License-Identifier: GPL-2.0-only */
/* tools/testing/vma of 7.3 has a vma_close() of its own. */
