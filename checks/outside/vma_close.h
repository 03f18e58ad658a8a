/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * For tools/testing/vma, which does not link in 6.12.117, stock or patched: mm/vma.c
 * calls vma_close(), which that version added to mm/internal.h and not to the shim.
 */
#define vma_close(vma)						\
	do {							\
		if ((vma)->vm_ops && (vma)->vm_ops->close)	\
			(vma)->vm_ops->close(vma);		\
	} while (0)
