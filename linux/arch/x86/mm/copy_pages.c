// SPDX-License-Identifier: GPL-2.0-only
/*
 * x86: copy many pages past the cache, see bulk_stores.c.  A copy moves its bytes twice then, not
 * three times.
 */

#include <linux/folio_copy.h>
#include <linux/mm.h>

#include <asm/asm.h>
#include <asm/barrier.h>
#include <asm/bulk_stores.h>
#include <asm/extable_fixup_types.h>
#include <asm/page.h>

/* If what is read is lost, go on behind the loop. */
#define LOAD(offset, reg)						\
	"1:	mov " #offset "(%[from]), %%" #reg "\n"			\
	_ASM_EXTABLE_TYPE(1b, 3f, EX_TYPE_DEFAULT_MCE_SAFE)

#define STORE(reg, offset)						\
	"	movnti %%" #reg ", " #offset "(%[to])\n"

/*
 * A line at a time: return how many bytes were copied.  Loads and stores of half a line take
 * turns, as there are not enough registers that a call need not save.
 */
static unsigned long copy_by_movnti(void *to, const void *from, unsigned long bytes)
{
	void *start = to, *end = to + bytes;

	asm volatile("2:\n"
		     LOAD(0, r8) LOAD(8, r9) LOAD(16, r10) LOAD(24, r11)
		     STORE(r8, 0) STORE(r9, 8) STORE(r10, 16) STORE(r11, 24)
		     LOAD(32, r8) LOAD(40, r9) LOAD(48, r10) LOAD(56, r11)
		     STORE(r8, 32) STORE(r9, 40) STORE(r10, 48) STORE(r11, 56)
		     "	add $64, %[from]\n"
		     "	add $64, %[to]\n"
		     "	cmp %[end], %[to]\n"
		     "	jb 2b\n"
		     "3:\n"
		     : [to] "+&r" (to), [from] "+&r" (from)
		     : [end] "r" (end)
		     : "r8", "r9", "r10", "r11", "memory", "cc");
	return to - start;
}

/*
 * KMSAN's metadata is copied with each page, see copy_mc_highpage().
 *
 * The fence is for the same reason as that of zero_user_pages_uncached(): movnti may become
 * visible later than plain stores that follow, such as the one that publishes the copy.
 */
unsigned long copy_pages_uncached(struct page *to, struct page *from, unsigned long nr)
{
	unsigned long bytes;

	if (IS_ENABLED(CONFIG_KMSAN) || x86_bulk_store() == X86_BULK_STRING)
		return 0;

	bytes = copy_by_movnti(page_address(to), page_address(from), nr * PAGE_SIZE);
	/* See above. */
	wmb();
	return bytes / PAGE_SIZE;
}
