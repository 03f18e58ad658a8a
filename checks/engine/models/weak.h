/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * weak.h - threads and weakly ordered memory for models, see weak.c
 *
 * What is between mc_begin() and mc_step() belongs to the search (search.pml), what comes
 * after to the code that is searched: to the models and the shim of the kernel.
 */

#ifndef _MODELS_WEAK_H
#define _MODELS_WEAK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The search */

#define MC_STATE_SIZE	36864
extern char mc_state[];			/* all that there is to put back */
extern uint64_t mc_digest[2];		/* of it: states are compared by this */
extern int mc_options;			/* how many ways there are to go on */
extern int mc_failed;

void mc_begin(void);
void mc_step(int option);

/* Places in the source, for traces */

struct mc_site {
	const char	*file;
	int		line;
	const char	*text;
};

#define MC_SITE(words)							\
({									\
	static const struct mc_site __site = { __FILE__, __LINE__, words }; \
	&__site;							\
})

/* Threads */

#define MC_THREADS	4

struct mc_model {
	const char	*name;
	void		(*start)(void);	/* makes the threads */
	void		(*over)(void);	/* all have ended: is all as it has to be? */
};
extern const struct mc_model mc_models[];

void mc_thread(const char *name, void (*fn)(int nr), int nr);
int mc_self(void);
/* Each of the @n numbers from 0 on is tried. */
int mc_choose(int n, const struct mc_site *site);
/* Until @ready is true of what is in mc_world. */
void mc_until(bool (*ready)(int nr), int nr, const struct mc_site *site);
/* What is wrong; does not return. */
void mc_fail(const char *what, const struct mc_site *site) __attribute__((noreturn));
#define MC_ASSERT(condition, what)					\
do {									\
	if (!(condition))						\
		mc_fail(what, MC_SITE(#condition));			\
} while (0)

/* What a model keeps for itself.  No thread of the kernel's can see it. */
#define MC_WORLD	512
extern char *const mc_world;

/*
 * Words in the text of a site whose accesses are none to this model: a plain access takes
 * their place.  Where that leaves out an order which matters, it is a data race, and found.
 * NULL at the end, or none.
 */
const char *const *mc_quiet(void);

/* Memory.  None is used twice, so whoever uses it after it was freed is found. */

void *mc_alloc(size_t size, const char *name);
void mc_free(const void *p, const struct mc_site *site);
int mc_allocated(void);

/* Atomic accesses */

enum mc_order { MC_RELAXED, MC_ACQUIRE, MC_RELEASE, MC_ACQ_REL };

uint64_t mc_load(const volatile void *p, size_t size, enum mc_order order,
		 const struct mc_site *site);
void mc_store(volatile void *p, size_t size, uint64_t value, enum mc_order order,
	      const struct mc_site *site);
uint64_t mc_xchg(volatile void *p, size_t size, uint64_t value, enum mc_order order,
		 const struct mc_site *site);
uint64_t mc_add(volatile void *p, size_t size, uint64_t value, enum mc_order order,
		const struct mc_site *site);
/* These say whether the value was written. */
bool mc_cmpxchg(volatile void *p, size_t size, uint64_t *old, uint64_t value,
		enum mc_order order, const struct mc_site *site);
bool mc_add_unless_zero(volatile void *p, size_t size, uint64_t value, uint64_t *old,
			enum mc_order order, const struct mc_site *site);
/* True, and then an acquire if @acquire, if the outcome is zero. */
bool mc_dec_and_test(volatile void *p, size_t size, uint64_t *old, bool release,
		     bool acquire, const struct mc_site *site);
/* smp_mb(), if the model is one that has them. */
void mc_fence(const struct mc_site *site);
extern const bool mc_fences;

/*
 * What the kernel synchronises with by itself: locks, completions, queues.  A number that
 * belongs to an address, and always is what it was last set to.
 */

enum mc_sync {
	MC_LOCK,	/* waits for 0, sets 1 */
	MC_COMPLETE,	/* adds 1 */
	MC_WAIT,	/* waits until it is more than 0, subtracts 1 */
	MC_PASS,	/* acquires and releases, whatever it is */
};

void mc_sync(const void *p, enum mc_sync kind, const struct mc_site *site);
/*
 * No place where another thread goes on: to do this at once leaves out nothing.  The
 * first makes the number 0; the second is as MC_PASS, right after a wait.
 */
void mc_unlock(const void *p, const struct mc_site *site);
void mc_pass(const void *p, const struct mc_site *site);

#endif /* _MODELS_WEAK_H */
