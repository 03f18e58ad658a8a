/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * zero_ways.h - ways to zero a folio that other kernels use, or could use
 */

#ifndef _ZERO_WAYS_H
#define _ZERO_WAYS_H

#include "zero_shim.h"

/*
 * Ways to zero a folio that is touched at @addr, all but the last by one thread:
 * stock's, that of Linux 6.12 or of 7.0 and later (see zero_kernel.h); extents of 32 MiB
 * as mainline has them since 7.0, and all of it at once, as mainline does where the kernel
 * can be preempted; CLZERO; non-temporal stores of words; and by as many threads as a job may
 * have, each with an equal share: CLZERO, on Intel's CPUs non-temporal stores, elsewhere all
 * at once.
 */
void zero_stock(const struct folio *folio, unsigned long addr);
void zero_mainline(const struct folio *folio, unsigned long addr);
void zero_whole(const struct folio *folio, unsigned long addr);
void zero_clzero(const struct folio *folio, unsigned long addr);
void zero_movnti(const struct folio *folio, unsigned long addr);
void zero_split(const struct folio *folio, unsigned long addr);

/* Have each of *max_threads threads @write an equal share of a folio. */
void split(const struct folio *folio, void (*write)(char *to, unsigned long bytes));

/*
 * Ways to copy a folio: stock's, by page; by one string instruction; non-temporal stores of
 * words, by one thread, and by several, each with an equal share; ours, when it is touched and
 * when it is migrated.
 */
void copy_stock(const struct folio *folio, unsigned long addr);
void copy_whole(const struct folio *folio, unsigned long addr);
void copy_movnti(const struct folio *folio, unsigned long addr);
void copy_split(const struct folio *folio, unsigned long addr);
void copy_ours(const struct folio *folio, unsigned long addr);
void copy_migrated(const struct folio *folio, unsigned long addr);

#endif /* _ZERO_WAYS_H */
