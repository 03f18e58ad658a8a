/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * x86_cpu.h - which CPU this is, for benchmarks of code that goes by its model
 */

#ifndef _PADATA_X86_CPU_H
#define _PADATA_X86_CPU_H

#include <cpuid.h>
#include <stdbool.h>

/* Sapphire Rapids or Emerald Rapids: family 6, models 0x8f and 0xcf, see bulk_stores.c. */
static inline bool cpu_is_rapids(void)
{
	unsigned int a, b, c, d, signature;

	if (!__get_cpuid(0, &a, &b, &c, &d) || b != signature_INTEL_ebx ||
	    !__get_cpuid(1, &a, &b, &c, &d))
		return false;
	signature = a & 0xfff0ff0;
	return signature == 0x806f0 || signature == 0xc06f0;
}

#endif /* _PADATA_X86_CPU_H */
