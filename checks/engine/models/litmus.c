// SPDX-License-Identifier: GPL-2.0-only
/*
 * litmus.c - the model of memory itself, put to the usual tests
 *
 * A model fails when the outcome in question is reached, so models.toml says of each
 * whether it has to be.
 */

#include "weak.h"

#define LOAD(v, order)		mc_load(v, 4, MC_##order, MC_SITE("load " #v))
#define STORE(v, value, order)	mc_store(v, 4, value, MC_##order, MC_SITE("store " #v))
#define ADD(v, value, order)	mc_add(v, 4, value, MC_##order, MC_SITE("add " #v))
#define MB()			mc_fence(MC_SITE("smp_mb"))

struct memory {
	int x, y, z;
};

struct registers {
	struct memory *memory;
	int r[6];
};


#define R	(((struct registers *)mc_world)->r)
#define M	(((struct registers *)mc_world)->memory)
#define X	(&M->x)
#define Y	(&M->y)
#define Z	(&M->z)

static void threads(void (*a)(int), void (*b)(int), void (*c)(int), void (*d)(int))
{
	void (*const all[])(int) = { a, b, c, d };

	M = mc_alloc(sizeof(struct memory), "memory");
	for (int i = 0; i < 4 && all[i]; i++)
		mc_thread((const char *[]){ "P0", "P1", "P2", "P3" }[i], all[i], i);
}

static void reached(bool outcome)
{
	if (outcome)
		mc_fail("the outcome is reached", MC_SITE("exists"));
}

/* Store buffering */

static void sb0(int mb) { STORE(X, 1, RELAXED); R[0] = LOAD(Y, RELAXED); }
static void sb1(int mb) { STORE(Y, 1, RELAXED); R[1] = LOAD(X, RELAXED); }
static void sb0_mb(int mb) { STORE(X, 1, RELAXED); MB(); R[0] = LOAD(Y, RELAXED); }
static void sb1_mb(int mb) { STORE(Y, 1, RELAXED); MB(); R[1] = LOAD(X, RELAXED); }
static void sb(void) { threads(sb0, sb1, NULL, NULL); }
static void sb_mb(void) { threads(sb0_mb, sb1_mb, NULL, NULL); }
static void sb_mb_one(void) { threads(sb0_mb, sb1, NULL, NULL); }
static void sb_over(void) { reached(!R[0] && !R[1]); }

/* Message passing */

static void mp0(int nr) { STORE(X, 1, RELAXED); STORE(Y, 1, RELAXED); }
static void mp1(int nr) { R[0] = LOAD(Y, RELAXED); R[1] = LOAD(X, RELAXED); }
static void mp0_rel(int nr) { STORE(X, 1, RELAXED); STORE(Y, 1, RELEASE); }
static void mp1_acq(int nr) { R[0] = LOAD(Y, ACQUIRE); R[1] = LOAD(X, RELAXED); }
static void mp0_mb(int nr) { STORE(X, 1, RELAXED); MB(); STORE(Y, 1, RELAXED); }
static void mp1_mb(int nr) { R[0] = LOAD(Y, RELAXED); MB(); R[1] = LOAD(X, RELAXED); }
static void mp(void) { threads(mp0, mp1, NULL, NULL); }
static void mp_rel(void) { threads(mp0_rel, mp1, NULL, NULL); }
static void mp_acq(void) { threads(mp0, mp1_acq, NULL, NULL); }
static void mp_both(void) { threads(mp0_rel, mp1_acq, NULL, NULL); }
static void mp_mb(void) { threads(mp0_mb, mp1_mb, NULL, NULL); }
static void mp_over(void) { reached(R[0] && !R[1]); }

/* The same by way of a read-modify-write of a third, which does not end what was released */

static void mp1_two(int nr) { R[0] = LOAD(Y, ACQUIRE) == 2; R[1] = LOAD(X, RELAXED); }
static void mp_store(int nr) { STORE(Y, 2, RELAXED); }
static void mp_no_sequence(void) { threads(mp0_rel, mp_store, mp1_two, NULL); }
/* 2 is there before 1, too, unless the third has read 1. */
static void mp_rmw_read(int nr) { R[2] = ADD(Y, 1, RELAXED); }
static void mp_sequence_read(void) { threads(mp0_rel, mp_rmw_read, mp1_two, NULL); }
static void mp_sequence_over(void) { reached(R[0] && !R[1] && R[2]); }

/* Message passing of plain data is a race unless it is ordered */

static void plain0(int nr) { M->x = 1; STORE(Y, 1, RELEASE); }
static void plain0_relaxed(int nr) { M->x = 1; STORE(Y, 1, RELAXED); }
static void plain1(int nr) { if (LOAD(Y, ACQUIRE)) R[0] = M->x == 0; }
static void plain1_relaxed(int nr) { if (LOAD(Y, RELAXED)) R[0] = M->x == 0; }
static void plain(void) { threads(plain0, plain1, NULL, NULL); }
static void plain_rel(void) { threads(plain0, plain1_relaxed, NULL, NULL); }
static void plain_acq(void) { threads(plain0_relaxed, plain1, NULL, NULL); }
static void plain_over(void) { reached(R[0]); }

/* Load buffering: what this model leaves out */

static void lb0(int nr) { R[0] = LOAD(X, RELAXED); STORE(Y, 1, RELAXED); }
static void lb1(int nr) { R[1] = LOAD(Y, RELAXED); STORE(X, 1, RELAXED); }
static void lb(void) { threads(lb0, lb1, NULL, NULL); }
static void lb_over(void) { reached(R[0] && R[1]); }

/* Independent reads of independent writes */

static void iriw0(int nr) { STORE(X, 1, RELEASE); }
static void iriw1(int nr) { STORE(Y, 1, RELEASE); }
static void iriw2(int nr) { R[0] = LOAD(X, ACQUIRE); R[1] = LOAD(Y, ACQUIRE); }
static void iriw3(int nr) { R[2] = LOAD(Y, ACQUIRE); R[3] = LOAD(X, ACQUIRE); }
static void iriw2_mb(int nr) { R[0] = LOAD(X, RELAXED); MB(); R[1] = LOAD(Y, RELAXED); }
static void iriw3_mb(int nr) { R[2] = LOAD(Y, RELAXED); MB(); R[3] = LOAD(X, RELAXED); }
static void iriw(void) { threads(iriw0, iriw1, iriw2, iriw3); }
static void iriw_mb(void) { threads(iriw0, iriw1, iriw2_mb, iriw3_mb); }
static void iriw_over(void) { reached(R[0] && !R[1] && R[2] && !R[3]); }

/* Two stores each, in opposite orders: both second ones last */

static void w0(int nr) { STORE(X, 1, RELAXED); STORE(Y, 2, RELAXED); }
static void w1(int nr) { STORE(Y, 1, RELAXED); STORE(X, 2, RELAXED); }
static void w0_rel(int nr) { STORE(X, 1, RELAXED); STORE(Y, 2, RELEASE); }
static void w1_rel(int nr) { STORE(Y, 1, RELAXED); STORE(X, 2, RELEASE); }
static void w0_mb(int nr) { STORE(X, 1, RELAXED); MB(); STORE(Y, 2, RELAXED); }
static void w1_mb(int nr) { STORE(Y, 1, RELAXED); MB(); STORE(X, 2, RELAXED); }
static void w(void) { threads(w0, w1, NULL, NULL); }
static void w_rel(void) { threads(w0_rel, w1_rel, NULL, NULL); }
static void w_mb(void) { threads(w0_mb, w1_mb, NULL, NULL); }
static void w_over(void) { reached(M->x == 1 && M->y == 1); }

/* One variable: nobody reads backwards */

static void co0(int nr) { STORE(X, 1, RELAXED); STORE(X, 2, RELAXED); }
static void co1(int nr) { R[0] = LOAD(X, RELAXED); R[1] = LOAD(X, RELAXED); }
static void co(void) { threads(co0, co1, NULL, NULL); }
static void co_over(void) { reached((R[0] == 2 && R[1] < 2) || (R[0] == 1 && !R[1])); }

/* Write to read causality: release and acquire pass on what was acquired, relaxed does not */

static void wrc0(int nr) { STORE(X, 1, RELAXED); }
static void wrc1(int nr) { R[0] = LOAD(X, RELAXED); STORE(Y, 1, RELEASE); }
static void wrc1_relaxed(int nr) { R[0] = LOAD(X, RELAXED); STORE(Y, 1, RELAXED); }
static void wrc2(int nr) { R[1] = LOAD(Y, ACQUIRE); R[2] = LOAD(X, RELAXED); }
static void wrc(void) { threads(wrc0, wrc1, wrc2, NULL); }
static void wrc_relaxed(void) { threads(wrc0, wrc1_relaxed, wrc2, NULL); }
static void wrc_over(void) { reached(R[0] && R[1] && !R[2]); }

/* Read-modify-writes are atomic, of all kinds */

static void add(int nr) { ADD(X, 1, RELAXED); }
static void atomic(void) { threads(add, add, add, NULL); }
static void atomic_over(void) { reached(M->x != 3); }

static void cas(int nr)
{
	uint64_t old = LOAD(X, RELAXED);

	while (!mc_cmpxchg(X, 4, &old, old + 1, MC_RELAXED, MC_SITE("cmpxchg")))
		;
}
static void atomic_cas(void) { threads(cas, cas, add, NULL); }

static void add_not_atomic(int nr) { STORE(X, LOAD(X, RELAXED) + 1, RELAXED); }
static void not_atomic(void) { threads(add_not_atomic, add_not_atomic, NULL, NULL); }
static void not_atomic_over(void) { reached(M->x != 2); }

/* The last one out sees what the first one did, if both orders are there */

static void out(int nr)
{
	uint64_t old;

	(nr ? &M->x : &M->z)[0] = 1;
	if (mc_dec_and_test(Y, 4, &old, true, true, MC_SITE("dec_and_test")))
		R[0] = M->x + M->z != 2;
}
static void out_relaxed(int nr)
{
	uint64_t old;

	(nr ? &M->x : &M->z)[0] = 1;
	if (mc_dec_and_test(Y, 4, &old, false, true, MC_SITE("dec_and_test")))
		R[0] = M->x + M->z != 2;
}
static void out_unacquired(int nr)
{
	uint64_t old;

	(nr ? &M->x : &M->z)[0] = 1;
	if (mc_dec_and_test(Y, 4, &old, true, false, MC_SITE("dec_and_test")))
		R[0] = M->x + M->z != 2;
}
static void last(void) { threads(out, out, NULL, NULL); M->y = 2; }
static void last_relaxed(void) { threads(out_relaxed, out_relaxed, NULL, NULL); M->y = 2; }
static void last_unacquired(void) { threads(out_unacquired, out_unacquired, NULL, NULL); M->y = 2; }

/* Locks, and what deadlocks with two of them */

static void locked(int nr)
{
	mc_sync(X, MC_LOCK, MC_SITE("lock x"));
	M->z++;
	mc_unlock(X, MC_SITE("unlock x"));
}
static void unlocked(int nr) { M->z++; }
static void lock(void) { threads(locked, locked, locked, NULL); }
static void lock_forgotten(void) { threads(locked, unlocked, NULL, NULL); }
static void lock_over(void) { reached(M->z != 3); }

static void two_locks(int nr)
{
	mc_sync(nr ? X : Y, MC_LOCK, MC_SITE("lock"));
	mc_sync(nr ? Y : X, MC_LOCK, MC_SITE("lock"));
	mc_unlock(X, MC_SITE("unlock"));
	mc_unlock(Y, MC_SITE("unlock"));
}
static void deadlock(void) { threads(two_locks, two_locks, NULL, NULL); }
static void nothing(void) { }

/* Memory that is freed under a reader */

static void freer(int nr) { mc_free(M, MC_SITE("free")); }
static void reader(int nr) { MB(); R[0] = LOAD(X, RELAXED); }
static void freed(void) { threads(freer, reader, NULL, NULL); }

const bool mc_fences = true;

const char *const *mc_quiet(void)
{
	return NULL;
}

const struct mc_model mc_models[] = {
	{ "SB", sb, sb_over },
	{ "SB+mb+po", sb_mb_one, sb_over },
	{ "SB+mbs", sb_mb, sb_over },
	{ "MP", mp, mp_over },
	{ "MP+rel+po", mp_rel, mp_over },
	{ "MP+po+acq", mp_acq, mp_over },
	{ "MP+rel+acq", mp_both, mp_over },
	{ "MP+mbs", mp_mb, mp_over },
	{ "MP+rel+rmw+acq", mp_sequence_read, mp_sequence_over },
	{ "MP+rel+w+acq", mp_no_sequence, mp_over },
	{ "plain+rel+acq", plain, plain_over },
	{ "plain+rel+po", plain_rel, plain_over },
	{ "plain+po+acq", plain_acq, plain_over },
	{ "LB", lb, lb_over },
	{ "IRIW+acqs", iriw, iriw_over },
	{ "IRIW+mbs", iriw_mb, iriw_over },
	{ "2+2W", w, w_over },
	{ "2+2W+rels", w_rel, w_over },
	{ "2+2W+mbs", w_mb, w_over },
	{ "CoRR", co, co_over },
	{ "WRC+rel+acq", wrc, wrc_over },
	{ "WRC+po+acq", wrc_relaxed, wrc_over },
	{ "add", atomic, atomic_over },
	{ "cmpxchg", atomic_cas, atomic_over },
	{ "load+store", not_atomic, not_atomic_over },
	{ "last-out", last, plain_over },
	{ "last-out+po", last_relaxed, plain_over },
	{ "last-out+rel", last_unacquired, plain_over },
	{ "lock", lock, lock_over },
	{ "lock+none", lock_forgotten, nothing },
	{ "lock+lock", deadlock, nothing },
	{ "free", freed, nothing },
	{ NULL, NULL, NULL }
};
