// SPDX-License-Identifier: GPL-2.0-only
/*
 * bulk_stores.c - which stores x86-64 has for memory that is overwritten as a whole
 *
 * A store through the cache first reads the line, unless the CPU knows better, and evicts
 * another.  CLZERO, which AMD's CPUs have, and non-temporal stores (movnti) do neither, and
 * leave nothing in the cache for whoever uses the memory next.  So what is best depends on
 * the CPU and on the use.  All of it is decided by what bulk_stores() returns:
 *
 *					CLZERO		MOVNTI		STRING
 *	struct pages
 *	  freed in bulk			movnti		movnti		movnti
 *	  early, reserved, CMA, hotplug	plain		movnti		plain
 *	memory of user space, zeroed
 *	  touched, up to 1 MiB		string		string		string
 *	  touched, 2 and 4 MiB		string		movnti		string
 *	  larger, by a job, fallocate()	CLZERO		movnti		string
 *
 * "plain" are stores through the cache, "string" is a string instruction.
 *
 * Intel's CPUs are MOVNTI.  On an Emerald Rapids, one thread takes, of its time with plain
 * stores or with clear_page(), and with what is done with the memory next:
 *
 *	early, reserved, CMA's struct pages	0.60, 0.38, 0.79
 *	hotplug of 2 GiB, of 128 MiB		0.73, 0.91
 *	2 MiB zeroed				0.34 to 0.40
 *	 and half of it written to, in order	0.58 to 0.75
 *	 or at random				0.77 to 0.95
 *	 or read, each address from the last	2.0 to 3.1
 *	1 GiB zeroed				0.38
 *
 * On AMD's (Zen 3 to 5), movnti costs 10 to 20 % for early pages, and memory that is used
 * right after CLZERO has to be fetched again.  AMD CPUs without CLZERO, as some VMs present
 * them, are faster by one string instruction.  Nothing is known of other vendors' CPUs.
 */

#include <linux/cpufeature.h>
#include <linux/init.h>
#include <linux/memmap_bulk.h>
#include <linux/processor.h>
#include <linux/string.h>

#include <asm/bulk_stores.h>

static const char * const bulk_stores_names[] = { "string", "movnti", "clzero" };

/* One of the above, or less than 0 for what the CPU is known to be best with. */
static int bulk_stores_chosen __ro_after_init = -1;

static bool have_clzero(void)
{
	return cpu_feature_enabled(X86_FEATURE_CLZERO) &&
	       boot_cpu_data.x86_clflush_size == CLZERO_BYTES;
}

/**
 * bulk_stores - the stores for memory that nobody uses soon
 *
 * Return: BULK_STORES_CLZERO on CPUs that have it, BULK_STORES_MOVNTI on Intel's,
 * BULK_STORES_STRING on all others, unless the command line has bulk_stores=.
 */
enum bulk_stores bulk_stores(void)
{
	if (bulk_stores_chosen >= 0)
		return bulk_stores_chosen;
	if (have_clzero())
		return BULK_STORES_CLZERO;
	return boot_cpu_data.x86_vendor == X86_VENDOR_INTEL ? BULK_STORES_MOVNTI :
							       BULK_STORES_STRING;
}

/* To measure, and to test on any CPU what another one has.  Ignored if this one lacks it. */
static int __init bulk_stores_setup(char *str)
{
	int stores = match_string(bulk_stores_names, ARRAY_SIZE(bulk_stores_names), str);

	if (stores < 0 || (stores == BULK_STORES_CLZERO && !have_clzero()))
		return -EINVAL;
	bulk_stores_chosen = stores;
	return 0;
}
early_param("bulk_stores", bulk_stores_setup);

bool __meminit arch_memmap_uncached(void)
{
	return bulk_stores() == BULK_STORES_MOVNTI;
}
