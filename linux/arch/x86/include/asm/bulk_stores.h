/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * bulk_stores.h - x86-64: what a CPU is best with where memory is overwritten as a whole
 */
#ifndef _ASM_X86_BULK_STORES_H
#define _ASM_X86_BULK_STORES_H

/*
 * CLZERO zeroes a cache line, which is 64 bytes on every CPU that has the instruction.
 * If it were less on another CPU, old contents would remain, so the size is checked.
 */
#define CLZERO_BYTES	64

/* Columns of the table in bulk_stores.c. */
enum x86_bulk_store {
	X86_BULK_STRING,
	X86_BULK_MOVNTI,
	X86_BULK_CLZERO,
};

enum x86_bulk_store x86_bulk_store(void);

#endif /* _ASM_X86_BULK_STORES_H */
