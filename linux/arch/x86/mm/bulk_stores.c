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
 *	  early				movnti		movnti		plain
 *	  reserved, CMA's, hot-added	plain		movnti		plain
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
 * CPUs that have CLZERO are CLZERO, of which Zen 3 to 5 have been measured, and all others of
 * Intel MOVNTI, of which Emerald Rapids has been.  The rest is STRING: AMD's without CLZERO, as
 * some VMs present them, and those of which nothing is known.
 */

#include <linux/array_size.h>
#include <linux/cpufeature.h>
#include <linux/errno.h>
#include <linux/init.h>
#include <linux/memmap_bulk.h>
#include <linux/processor.h>
#include <linux/string.h>

#include <asm/bulk_stores.h>

/* One of the above, or less than 0 for what the CPU is known to be best with. */
static int bulk_store_chosen __ro_after_init = -1;

static bool have_clzero(void)
{
	return cpu_feature_enabled(X86_FEATURE_CLZERO) &&
	       boot_cpu_data.x86_clflush_size == CLZERO_BYTES;
}

/**
 * x86_bulk_store - what this CPU is best with where memory is overwritten as a whole
 *
 * Context: Any, from early parameters on.
 * Return: The column of the table above: by the CPU, unless bulk_stores= names one.
 */
enum x86_bulk_store x86_bulk_store(void)
{
	if (bulk_store_chosen >= 0)
		return bulk_store_chosen;
	if (have_clzero())
		return X86_BULK_CLZERO;
	if (boot_cpu_data.x86_vendor == X86_VENDOR_INTEL)
		return X86_BULK_MOVNTI;
	return X86_BULK_STRING;
}

static int __init bulk_stores_setup(char *str)
{
	static const char * const names[] = {
		[X86_BULK_STRING] = "string",
		[X86_BULK_MOVNTI] = "movnti",
		[X86_BULK_CLZERO] = "clzero",
	};
	int chosen = str ? match_string(names, ARRAY_SIZE(names), str) : -EINVAL;

	if (chosen < 0 || (chosen == X86_BULK_CLZERO && !have_clzero()))
		return -EINVAL;
	bulk_store_chosen = chosen;
	return 0;
}
early_param("bulk_stores", bulk_stores_setup);

bool __meminit arch_memmap_uncached(bool early)
{
	enum x86_bulk_store store = x86_bulk_store();

	return store == X86_BULK_MOVNTI || (early && store == X86_BULK_CLZERO);
}
