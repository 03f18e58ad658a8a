// SPDX-License-Identifier: GPL-2.0-only
/*
 * bulk_stores.c - which stores x86-64 has for memory that is overwritten as a whole
 *
 * A store through the cache first reads the line, unless the CPU knows better, and evicts
 * another.  CLZERO, which AMD's CPUs have, and non-temporal stores (movnti) do neither, and
 * leave nothing in the cache for whoever uses the memory next.  So what is best depends on
 * the CPU and on the use.  All of it is decided by x86_bulk_store():
 *
 *					CLZERO		MOVNTI		STRING
 *	struct pages
 *	  freed in blocks, of devices	movnti		movnti		movnti
 *	  freed in pieces		plain		plain		plain
 *	  early, reserved, CMA's	movnti		movnti		plain
 *	  hot-added			plain		movnti		plain
 *	memory of user space, zeroed
 *	  touched, up to 1 MiB		string		string		string
 *	  touched, 2 MiB		string		movnti		string
 *	  all other			CLZERO		movnti		string
 *	memory of user space, copied
 *	  touched, up to 4 MiB		string		string		string
 *	  all other			movnti		movnti		string
 *
 * "plain" are stores through the cache, "string" is a string instruction.
 *
 * CPUs that have CLZERO are CLZERO, of which Zen 3 to 5 have been measured.  Emerald Rapids, which
 * has been measured, and Sapphire Rapids, which has the same cores and memory controllers, are
 * MOVNTI.  The rest is STRING: AMD's without CLZERO, as some VMs present them, and those of which
 * nothing is known.
 */

#include <linux/cpufeature.h>
#include <linux/init.h>
#include <linux/memmap_bulk.h>
#include <linux/processor.h>

#include <asm/bulk_stores.h>
#include <asm/cpu_device_id.h>

static bool have_clzero(void)
{
	return cpu_feature_enabled(X86_FEATURE_CLZERO) &&
	       boot_cpu_data.x86_clflush_size == CLZERO_BYTES;
}

/**
 * x86_bulk_store - what this CPU is best with where memory is overwritten as a whole
 *
 * Context: Any.
 * Return: The column of the table above.
 */
enum x86_bulk_store x86_bulk_store(void)
{
	if (have_clzero())
		return X86_BULK_CLZERO;

	switch (boot_cpu_data.x86_vfm) {
	case INTEL_SAPPHIRERAPIDS_X:
	case INTEL_EMERALDRAPIDS_X:
		return X86_BULK_MOVNTI;
	default:
		return X86_BULK_STRING;
	}
}

bool __meminit arch_memmap_uncached(bool soon)
{
	enum x86_bulk_store store = x86_bulk_store();

	return store == X86_BULK_MOVNTI || (!soon && store == X86_BULK_CLZERO);
}
