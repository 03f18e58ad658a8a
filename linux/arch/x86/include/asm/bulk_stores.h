/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * bulk_stores.h - x86-64: the stores for memory that is overwritten as a whole
 */
#ifndef _ASM_X86_BULK_STORES_H
#define _ASM_X86_BULK_STORES_H

/*
 * CLZERO zeroes a cache line, which is 64 bytes on every CPU that has the instruction.
 * If it were less on another CPU, old contents would remain, so the size is checked.
 */
#define CLZERO_BYTES	64

/* What is best on a CPU where the cache gains nothing: see bulk_stores.c. */
enum bulk_stores {
	BULK_STORES_STRING,
	BULK_STORES_MOVNTI,
	BULK_STORES_CLZERO,
};

enum bulk_stores bulk_stores(void);

#endif /* _ASM_X86_BULK_STORES_H */
