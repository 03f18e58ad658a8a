/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * movdir64b.h - MOVDIR64B, by the CPU or by a signal handler
 */

#ifndef _MOVDIR64B_H
#define _MOVDIR64B_H

#include <stdbool.h>

/* What CPUID says. */
bool movdir64b_in_cpu(void);

/* From now on it works without the CPU, for one thread at a time, slowly. */
void movdir64b_emulate(void);
extern unsigned long movdir64b_emulated;

#endif /* _MOVDIR64B_H */
