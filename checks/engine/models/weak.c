// SPDX-License-Identifier: GPL-2.0-only
/*
 * weak.c - threads and weakly ordered memory for models
 *
 * Threads are coroutines on stacks of their own.  Each runs up to its next atomic access,
 * lock or other step that threads can tell the order of, which is called an operation
 * here, and stops before it.  The search then chooses which thread goes on and, where
 * memory allows several outcomes, with which: mc_options says how many ways there are,
 * mc_step() goes one of them.  All state is in mc_state, so that the search can put back
 * an earlier one, stacks included.
 *
 * Memory.  Of each atomic variable there are all values that it had, in their order, and
 * of each thread, by a struct view, the oldest of them that it may still read.  A
 * relaxed load may read that one and any that came after.  A store with release order
 * leaves its thread's view with the value, and who reads that with acquire order takes it
 * over.  A store comes anywhere after what its thread has seen, also before others that
 * are there already; a read-modify-write comes right after what it has read.  This is the
 * C11 memory model with release sequences of read-modify-writes, as "promising semantics"
 * without promises (Kang et al., POPL 2017) or RC11 (Lahav et al., PLDI 2017) have it.
 * It allows whatever the kernel's model does, with one exception: no store is made before
 * a load that precedes it in its thread.  Dependencies order nothing here.
 *
 * Plain accesses come from the compiler, as calls for ThreadSanitizer, and are no
 * operations: two of different threads to the same byte, one of them a write, that
 * nothing orders are an error in themselves (vector clocks, by byte), and without such,
 * all orders are the same.  So is any access to memory that is not allocated.
 *
 * States are compared by a digest of 128 bits, of memory, of what threads may read of it,
 * and of their stacks and registers.  What is left on a stack from before may make two
 * states differ that are the same, which costs time, and never the reverse.
 */

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "weak.h"

#define LOCS		16
#define MSGS		8
#define SYNCS		12
#define ARENA		1280
#define STACK		1536
#define BLOCKS		16
#define MAX_OPTIONS	40	/* as many as search.pml has */
#define CANARY		0x6d6f64656c73

struct view {
	uint8_t		seen[LOCS];		/* of each variable, the oldest value left */
	uint8_t		clock[MC_THREADS];	/* of each thread, what has happened before */
};

struct msg {
	uint64_t	value;
	struct view	view;		/* for who acquires it */
	bool		attached;	/* by a read-modify-write to the one before */
};

struct loc {
	uintptr_t	addr;
	size_t		size;
	int		nr;
	struct msg	msgs[MSGS];
};

struct sync {
	uintptr_t	addr;
	long		value;
	struct view	view;
};

enum op_kind { OP_LOAD, OP_STORE, OP_RMW, OP_FENCE, OP_SYNC, OP_CHOOSE, OP_UNTIL };
enum rmw_kind { RMW_XCHG, RMW_ADD, RMW_CMPXCHG, RMW_UNLESS_ZERO, RMW_DEC };

struct op {
	enum op_kind	kind;
	int		sub;
	uintptr_t	addr;
	size_t		size;
	bool		acquire, release, acquire_if_zero;
	uint64_t	value, old;
	bool		(*ready)(int nr);
	int		nr;
	const struct mc_site *site;
	/* The outcome */
	uint64_t	result;
	bool		wrote;
};

struct thread {
	const char	*name;
	void		(*fn)(int nr);
	int		nr;
	void		*sp;
	bool		ended;
	struct op	op;
	struct view	view;
	struct view	read;		/* what relaxed loads have read, for a fence */
	struct view	fenced;		/* the view at the last fence, for relaxed stores */
};

/* Who has accessed a byte, and when by the clock of that thread. */
struct cell {
	uint8_t		writer, written;	/* 0: nobody yet */
	uint8_t		read[MC_THREADS];
	uint8_t		atomic_read[MC_THREADS];
	uint8_t		atomic_write[MC_THREADS];
	uint8_t		live;			/* 1: allocated, 2: freed */
	uint8_t		unused;
};

struct block {
	const char	*name;
	uintptr_t	start;
	size_t		size;
	bool		freed;
};

union all_state {
	char all[MC_STATE_SIZE];
	struct {
		struct thread	threads[MC_THREADS];
		int		nr_threads, current;
		struct loc	locs[LOCS];	/* by address */
		int		nr_locs;
		struct sync	syncs[SYNCS];
		int		nr_syncs;
		struct view	fences;		/* all that came to a full fence */
		uintptr_t	plain;		/* a variable that is about to be written */
		struct block	blocks[BLOCKS];
		int		nr_blocks, allocated;
		size_t		used;
		uint64_t	cells_digest[2];
		struct cell	cells[ARENA];
		_Alignas(16) char arena[ARENA];
		_Alignas(16) char world[MC_WORLD];
		_Alignas(16) char stacks[MC_THREADS][STACK];
	};
};

extern union all_state state;
union all_state state __asm__("mc_state") __attribute__((aligned(64)));
_Static_assert(sizeof(state) == MC_STATE_SIZE, "MC_STATE_SIZE is too small");

#define for_each_view(v)						\
	for (int __v = 0; (v = nth_view(__v)); __v++)

uint64_t mc_digest[2];
int mc_options;
int mc_failed;
char *const mc_world = state.world;

static struct {
	const char		*what;
	const struct mc_site	*site;
	void			*pc;
	uintptr_t		addr;
	int			other;
} failure;

static void *main_sp;
static jmp_buf at_end;
static const struct mc_model *model;
static bool tracing;

/* Failures */

static const char *thread_name(int nr)
{
	return nr >= 0 && nr < state.nr_threads ? state.threads[nr].name : "the model";
}

static void report(void)
{
	printf("model: failed: %s", failure.what);
	for (int i = 0; failure.addr && i < state.nr_blocks; i++) {
		struct block *block = &state.blocks[i];

		if (failure.addr - block->start < block->size)
			printf(" (%s+%#zx%s)", block->name, failure.addr - block->start,
			       block->freed ? ", freed" : "");
	}
	printf(", by %s", thread_name(state.current));
	if (failure.other >= 0)
		printf(" against %s", thread_name(failure.other));
	if (failure.site)
		printf(" at %s:%d %s", failure.site->file, failure.site->line, failure.site->text);
	if (failure.pc)
		printf(" at pc %p", failure.pc);
	printf("\n");
	fflush(stdout);
}

/* The first one counts. */
static void fail(const char *what, const struct mc_site *site, void *pc, uintptr_t addr, int other)
{
	if (mc_failed)
		return;
	mc_failed = 1;
	failure.what = what;
	failure.site = site;
	failure.pc = pc;
	failure.addr = addr;
	failure.other = other;
}

/* Stacks */

void mc_switch(void **save, void *load);
__asm__(".text\n"
	"mc_switch:\n"
	"	pushq %rbx; pushq %rbp; pushq %r12; pushq %r13; pushq %r14; pushq %r15\n"
	"	movq %rsp, (%rdi)\n"
	"	movq %rsi, %rsp\n"
	"	popq %r15; popq %r14; popq %r13; popq %r12; popq %rbp; popq %rbx\n"
	"	ret\n");

static struct thread *self(void)
{
	return &state.threads[state.current];
}

/* To the search, which goes on with this thread some time, or never. */
static void leave(void)
{
	mc_switch(&self()->sp, main_sp);
}

static void thread_main(void)
{
	self()->fn(self()->nr);
	self()->ended = true;
	leave();
	abort();
}

static void enter(int nr)
{
	uint64_t *canary = (uint64_t *)state.stacks[nr];

	state.current = nr;
	mc_switch(&main_sp, state.threads[nr].sp);
	if (*canary != CANARY) {
		fprintf(stderr, "model: the stack of %s is too small\n", thread_name(nr));
		abort();
	}
}

void mc_thread(const char *name, void (*fn)(int nr), int nr)
{
	struct thread *thread = &state.threads[state.nr_threads];
	char *stack = state.stacks[state.nr_threads];
	void **sp = (void **)(stack + STACK - 16);

	if (state.nr_threads == MC_THREADS)
		abort();
	*(uint64_t *)stack = CANARY;
	*--sp = NULL;		/* as if called: the stack is aligned before that */
	*--sp = thread_main;
	*thread = (struct thread){ .name = name, .fn = fn, .nr = nr, .sp = sp - 6 };
	thread->view.clock[state.nr_threads++] = 1;
}

int mc_self(void)
{
	return state.current;
}

void mc_fail(const char *what, const struct mc_site *site)
{
	fail(what, site, NULL, 0, -1);
	if (state.current < 0)
		longjmp(at_end, 1);
	leave();
	abort();
}

/* Views */

static struct view *nth_view(int n)
{
	int per_thread = 3 * state.nr_threads;

	if (n < per_thread) {
		struct thread *thread = &state.threads[n / 3];

		return n % 3 == 0 ? &thread->view : n % 3 == 1 ? &thread->read : &thread->fenced;
	}
	n -= per_thread;
	if (n < state.nr_syncs)
		return &state.syncs[n].view;
	n -= state.nr_syncs;
	if (!n)
		return &state.fences;
	n--;
	for (int i = 0; i < state.nr_locs; i++) {
		if (n < state.locs[i].nr)
			return &state.locs[i].msgs[n].view;
		n -= state.locs[i].nr;
	}
	return NULL;
}

static void join_seen(struct view *to, const struct view *from)
{
	for (int i = 0; i < LOCS; i++) {
		if (to->seen[i] < from->seen[i])
			to->seen[i] = from->seen[i];
	}
}

static void join(struct view *to, const struct view *from)
{
	join_seen(to, from);
	for (int i = 0; i < MC_THREADS; i++) {
		if (to->clock[i] < from->clock[i])
			to->clock[i] = from->clock[i];
	}
}

/* What the thread does from here on is not part of what it has released. */
static void tick(struct thread *thread)
{
	if (!++thread->view.clock[thread - state.threads]) {
		fprintf(stderr, "model: a thread has too many steps\n");
		abort();
	}
}

/* Digests */

static void mix(uint64_t digest[2], uint64_t word)
{
	digest[0] = (digest[0] ^ word) * 0x9e3779b97f4a7c15;
	digest[0] ^= digest[0] >> 32;
	digest[1] = (digest[1] + word) * 0xc2b2ae3d27d4eb4f;
	digest[1] ^= digest[1] >> 29;
}

static void mix_bytes(uint64_t digest[2], const void *p, size_t size)
{
	for (size_t i = 0; i < size; i += 8) {
		uint64_t word = 0;

		memcpy(&word, (const char *)p + i, size - i < 8 ? size - i : 8);
		mix(digest, word);
	}
}

/* Parts of a state whose order does not matter. */
static void add_part(uint64_t sum[2], const uint64_t part[2])
{
	uint64_t last[2] = { part[0], part[1] };

	mix(last, part[1]);
	mix(last, part[0]);
	sum[0] += last[0];
	sum[1] += last[1];
}

static void digest_state(void)
{
	uint64_t sum[2] = { state.cells_digest[0], state.cells_digest[1] };

	for (int i = 0; i < state.nr_threads; i++) {
		struct thread *thread = &state.threads[i];
		uint64_t part[2] = { i + 1, thread->ended };

		if (!thread->ended) {
			mix_bytes(part, thread->sp, state.stacks[i] + STACK - (char *)thread->sp);
			mix_bytes(part, &thread->op, offsetof(struct op, site));
		}
		mix_bytes(part, &thread->view, sizeof(thread->view));
		mix_bytes(part, &thread->read, sizeof(thread->read));
		mix_bytes(part, &thread->fenced, sizeof(thread->fenced));
		add_part(sum, part);
	}
	for (int i = 0; i < state.nr_locs; i++) {
		struct loc *loc = &state.locs[i];
		uint64_t part[2] = { loc->addr, loc->nr };

		for (int j = 0; j < loc->nr; j++) {
			mix(part, loc->msgs[j].value * 2 + loc->msgs[j].attached);
			mix_bytes(part, &loc->msgs[j].view, sizeof(loc->msgs[j].view));
		}
		add_part(sum, part);
	}
	for (int i = 0; i < state.nr_syncs; i++) {
		uint64_t part[2] = { state.syncs[i].addr, state.syncs[i].value };

		mix_bytes(part, &state.syncs[i].view, sizeof(state.syncs[i].view));
		add_part(sum, part);
	}
	mix_bytes(sum, &state.fences, sizeof(state.fences));
	mix_bytes(sum, state.world, sizeof(state.world));
	mix_bytes(sum, state.arena, state.used);
	memcpy(mc_digest, sum, sizeof(sum));
}

/* Plain memory */

static void digest_cell(size_t at, int sign)
{
	uint64_t part[2] = { at + 1, 0 }, sum[2] = { 0, 0 };

	mix_bytes(part, &state.cells[at], sizeof(struct cell));
	add_part(sum, part);
	state.cells_digest[0] += sign * sum[0];
	state.cells_digest[1] += sign * sum[1];
}

/* The thread that has accessed the byte without anything between that and @view, or -1. */
static int unordered(const uint8_t clocks[MC_THREADS], const struct view *view)
{
	for (int i = 0; i < MC_THREADS; i++) {
		if (clocks[i] > view->clock[i])
			return i;
	}
	return -1;
}

static void access_byte(size_t at, bool write, bool atomic, const struct mc_site *site, void *pc)
{
	struct cell *cell = &state.cells[at];
	const struct view *view = &self()->view;
	struct cell next;
	int me = state.current, other = -1;
	uint8_t now = view->clock[me];
	uintptr_t addr = (uintptr_t)state.arena + at;

	if (cell->live != 1) {
		fail(cell->live ? "use after free" : "use of memory that is not allocated", site,
		     pc, addr, -1);
		return;
	}
	if (cell->written > view->clock[cell->writer])
		other = cell->writer;
	if (other < 0 && !atomic)
		other = unordered(cell->atomic_write, view);
	if (other < 0 && write)
		other = unordered(cell->read, view);
	if (other < 0 && write && !atomic)
		other = unordered(cell->atomic_read, view);
	if (other >= 0) {
		fail(write ? "data race: a write" : "data race: a read", site, pc, addr, other);
		return;
	}

	next = *cell;
	if (write && !atomic)
		next = (struct cell){ .writer = me, .written = now, .live = 1 };
	else
		(atomic ? write ? next.atomic_write : next.atomic_read : next.read)[me] = now;
	if (!memcmp(&next, cell, sizeof(next)))
		return;
	digest_cell(at, -1);
	*cell = next;
	digest_cell(at, 1);
}

static bool in_arena(uintptr_t addr)
{
	return addr - (uintptr_t)state.arena < ARENA;
}

static bool on_own_stack(uintptr_t addr)
{
	return addr - (uintptr_t)state.stacks[state.current] < STACK;
}

static bool in_world(uintptr_t addr)
{
	return addr - (uintptr_t)state.world < MC_WORLD;
}

static void access_atomic(const struct op *op, bool write)
{
	if (!in_arena(op->addr)) {
		fail("an atomic access to what is not in the model's memory", op->site, NULL, 0, -1);
		return;
	}
	for (size_t i = 0; i < op->size; i++)
		access_byte(op->addr - (uintptr_t)state.arena + i, write, true, op->site, NULL);
}

/* Variables */

static struct loc *find_loc(uintptr_t addr)
{
	for (int i = 0; i < state.nr_locs; i++) {
		if (state.locs[i].addr == addr)
			return &state.locs[i];
	}
	return NULL;
}

static uint64_t fetch(uintptr_t addr, size_t size)
{
	uint64_t value = 0;

	memcpy(&value, (void *)addr, size);
	return value;
}

/* The last value is what is in memory. */
static void settle(struct loc *loc)
{
	memcpy((void *)loc->addr, &loc->msgs[loc->nr - 1].value, loc->size);
}

/* Sorted, so that views do not depend on which variable was used first. */
static struct loc *make_loc(uintptr_t addr, size_t size)
{
	struct view *view;
	int at = 0;

	if (state.nr_locs == LOCS) {
		fprintf(stderr, "model: too many atomic variables\n");
		abort();
	}
	while (at < state.nr_locs && state.locs[at].addr < addr)
		at++;
	memmove(&state.locs[at + 1], &state.locs[at], (state.nr_locs - at) * sizeof(struct loc));
	state.nr_locs++;
	memset(&state.locs[at], 0, sizeof(struct loc));
	for_each_view(view) {
		memmove(&view->seen[at + 1], &view->seen[at], LOCS - 1 - at);
		view->seen[at] = 0;
	}
	state.locs[at].addr = addr;
	state.locs[at].size = size;
	state.locs[at].nr = 1;
	state.locs[at].msgs[0].value = fetch(addr, size);
	return &state.locs[at];
}

static struct msg *insert(struct loc *loc, int at)
{
	int nr = loc - state.locs;
	struct view *view;

	if (loc->nr == MSGS) {
		fprintf(stderr, "model: a variable has too many values\n");
		abort();
	}
	for_each_view(view) {
		if (view->seen[nr] >= at)
			view->seen[nr]++;
	}
	memmove(&loc->msgs[at + 1], &loc->msgs[at], (loc->nr - at) * sizeof(struct msg));
	loc->nr++;
	memset(&loc->msgs[at], 0, sizeof(struct msg));
	return &loc->msgs[at];
}

/* Values that no thread can read any more. */
static void drop_old(void)
{
	for (int i = 0; i < state.nr_locs; i++) {
		struct loc *loc = &state.locs[i];
		struct view *view;
		int oldest = loc->nr - 1;

		for (int j = 0; j < state.nr_threads; j++) {
			if (!state.threads[j].ended && state.threads[j].view.seen[i] < oldest)
				oldest = state.threads[j].view.seen[i];
		}
		if (!oldest)
			continue;
		loc->nr -= oldest;
		memmove(loc->msgs, loc->msgs + oldest, loc->nr * sizeof(struct msg));
		memset(loc->msgs + loc->nr, 0, oldest * sizeof(struct msg));
		loc->msgs[0].attached = false;
		for_each_view(view)
			view->seen[i] = view->seen[i] > oldest ? view->seen[i] - oldest : 0;
	}
}

/*
 * A variable that was written as a whole, without an atomic access, between two
 * operations: that is another value of it, the last one, or there is a race.
 */
static void flush_plain(void)
{
	struct loc *loc;

	if (!state.plain)
		return;
	for (loc = state.locs; loc < state.locs + state.nr_locs; loc++) {
		uint64_t value = fetch(loc->addr, loc->size);

		if (value == loc->msgs[loc->nr - 1].value || state.cells[loc->addr -
		    (uintptr_t)state.arena].live != 1)
			continue;
		insert(loc, loc->nr)->value = value;
		self()->view.seen[loc - state.locs] = loc->nr - 1;
	}
	state.plain = 0;
}

static void access_plain(const void *p, size_t size, bool write, void *pc)
{
	uintptr_t addr = (uintptr_t)p;

	if (state.current < 0)
		return;		/* before the threads, or after */
	if (in_arena(addr)) {
		if (write)
			state.plain = addr;
		for (size_t i = 0; i < size; i++)
			access_byte(addr - (uintptr_t)state.arena + i, write, false, NULL, pc);
	} else if (write && !on_own_stack(addr) && !in_world(addr)) {
		fail("a write to what is not in the model's memory", NULL, pc, 0, -1);
	}
	if (mc_failed)
		leave();
}

#define TSAN_ACCESS(name, size, write)					\
void name(void *p);							\
void name(void *p)							\
{									\
	access_plain(p, size, write, __builtin_return_address(0));	\
}
#define TSAN_SIZE(size)							\
	TSAN_ACCESS(__tsan_read##size, size, false)			\
	TSAN_ACCESS(__tsan_write##size, size, true)			\
	TSAN_ACCESS(__tsan_unaligned_read##size, size, false)		\
	TSAN_ACCESS(__tsan_unaligned_write##size, size, true)
TSAN_SIZE(1)
TSAN_SIZE(2)
TSAN_SIZE(4)
TSAN_SIZE(8)
TSAN_SIZE(16)

void __tsan_read_range(void *p, size_t size);
void __tsan_read_range(void *p, size_t size)
{
	access_plain(p, size, false, __builtin_return_address(0));
}

void __tsan_write_range(void *p, size_t size);
void __tsan_write_range(void *p, size_t size)
{
	access_plain(p, size, true, __builtin_return_address(0));
}

void __tsan_init(void);
void __tsan_init(void) { }

/* Allocation: each block with a gap after it */

void *mc_alloc(size_t size, const char *name)
{
	char *p = state.arena + state.used;

	if (state.used + size + 16 > ARENA || state.nr_blocks == BLOCKS) {
		fprintf(stderr, "model: too much memory\n");
		abort();
	}
	state.blocks[state.nr_blocks++] = (struct block){ name, (uintptr_t)p, size, false };
	for (size_t i = 0; i < size; i++)
		state.cells[state.used + i].live = 1;
	memset(p, 0, size);
	state.used = (state.used + size + 31) & ~15UL;
	state.allocated++;
	return p;
}

/* As a write to all of it. */
void mc_free(const void *p, const struct mc_site *site)
{
	for (int i = 0; i < state.nr_blocks; i++) {
		struct block *block = &state.blocks[i];
		size_t at = block->start - (uintptr_t)state.arena;

		if (block->start != (uintptr_t)p)
			continue;
		for (size_t j = 0; j < block->size && !mc_failed; j++) {
			access_byte(at + j, true, false, site, NULL);
			digest_cell(at + j, -1);
			state.cells[at + j] = (struct cell){ .live = 2 };
		}
		block->freed = true;
		state.allocated--;
		if (mc_failed)
			leave();
		return;
	}
	mc_fail("memory is freed that was not allocated", site);
}

int mc_allocated(void)
{
	return state.allocated;
}

/* Operations: what each thread is about to do, and how many outcomes that has */

static struct sync *find_sync(uintptr_t addr)
{
	struct sync *sync;

	for (sync = state.syncs; sync < state.syncs + state.nr_syncs; sync++) {
		if (sync->addr == addr)
			return sync;
	}
	if (state.nr_syncs++ == SYNCS) {
		fprintf(stderr, "model: too many locks\n");
		abort();
	}
	*sync = (struct sync){ .addr = addr };
	return sync;
}

static bool rmw(const struct op *op, uint64_t value, uint64_t *to)
{
	uint64_t mask = op->size == 8 ? ~0UL : (1UL << op->size * 8) - 1;

	switch ((enum rmw_kind)op->sub) {
	case RMW_XCHG:
		*to = op->value;
		return true;
	case RMW_ADD:
		*to = (value + op->value) & mask;
		return true;
	case RMW_DEC:
		*to = (value - 1) & mask;
		return true;
	case RMW_CMPXCHG:
		*to = op->value;
		return value == op->old;
	case RMW_UNLESS_ZERO:
		*to = (value + op->value) & mask;
		return value != 0;
	}
	abort();
}

/* May the operation of @thread read, or be put right after, the value at @at? */
static bool possible(const struct thread *thread, const struct loc *loc, int at)
{
	bool room = at + 1 == loc->nr || !loc->msgs[at + 1].attached;
	uint64_t to;

	if (at < thread->view.seen[loc - state.locs])
		return false;
	switch (thread->op.kind) {
	case OP_LOAD:
		return true;
	case OP_STORE:
		return room;
	default:
		return room || !rmw(&thread->op, loc->msgs[at].value, &to);
	}
}

static bool sync_ready(const struct op *op)
{
	long value = find_sync(op->addr)->value;

	switch ((enum mc_sync)op->sub) {
	case MC_LOCK:
		return !value;
	case MC_WAIT:
		return value > 0;
	default:
		return true;
	}
}

/* How many ways there are for @thread to go on. */
static int count_options(const struct thread *thread)
{
	const struct op *op = &thread->op;
	const struct loc *loc;
	int nr = 0;

	if (thread->ended)
		return 0;
	switch (op->kind) {
	case OP_LOAD:
	case OP_STORE:
	case OP_RMW:
		loc = find_loc(op->addr);
		if (!loc)
			return 1;
		for (int i = 0; i < loc->nr; i++)
			nr += possible(thread, loc, i);
		return nr;
	case OP_SYNC:
		return sync_ready(op);
	case OP_CHOOSE:
		return op->nr;
	case OP_UNTIL:
		return op->ready(op->nr);
	case OP_FENCE:
		return 1;
	}
	abort();
}

static void acquire(struct thread *thread, const struct view *view, bool now)
{
	if (mc_fences)
		join(&thread->read, view);
	if (now)
		join(&thread->view, view);
}

static void put(struct thread *thread, struct loc *loc, int after, uint64_t value, bool attached)
{
	struct msg *msg = insert(loc, after + 1);
	int nr = loc - state.locs;

	msg->value = value;
	msg->attached = attached;
	thread->view.seen[nr] = after + 1;
	msg->view = thread->op.release ? thread->view : thread->fenced;
	if (msg->view.seen[nr] < after + 1)
		msg->view.seen[nr] = after + 1;
	if (attached)
		join(&msg->view, &loc->msgs[after].view);
	if (thread->op.release)
		tick(thread);
	settle(loc);
}

static void perform_access(struct thread *thread, int option)
{
	struct op *op = &thread->op;
	struct loc *loc;
	struct view from;
	int at;

	access_atomic(op, op->kind != OP_LOAD);
	if (mc_failed)
		return;
	loc = find_loc(op->addr);
	if (!loc)
		loc = make_loc(op->addr, op->size);
	if (loc->size != op->size) {
		fail("atomic accesses of two sizes", op->site, NULL, op->addr, -1);
		return;
	}
	for (at = 0; at < loc->nr; at++) {
		if (possible(thread, loc, at) && !option--)
			break;
	}

	if (op->kind == OP_STORE) {
		put(thread, loc, at, op->value, false);
		op->result = 0;
		return;
	}
	op->result = loc->msgs[at].value;
	from = loc->msgs[at].view;
	thread->view.seen[loc - state.locs] = at;
	op->wrote = op->kind == OP_RMW && rmw(op, op->result, &op->value);
	/* A cmpxchg that fails orders nothing. */
	acquire(thread, &from, op->acquire && (op->kind == OP_LOAD || op->wrote));
	if (op->wrote)
		put(thread, loc, at, op->value, true);
	if (op->acquire_if_zero && !op->value)
		acquire(thread, &from, true);
}

static void perform_sync(struct thread *thread)
{
	struct op *op = &thread->op;
	struct sync *sync = find_sync(op->addr);

	op->result = sync->value;
	acquire(thread, &sync->view, true);
	switch ((enum mc_sync)op->sub) {
	case MC_LOCK:
		sync->value = 1;
		return;
	case MC_COMPLETE:
		sync->value++;
		break;
	case MC_WAIT:
		sync->value--;
		break;
	case MC_PASS:
		break;
	}
	sync->view = thread->view;
	tick(thread);
}

static void perform_fence(struct thread *thread)
{
	join(&thread->view, &thread->read);
	join_seen(&thread->view, &state.fences);
	join_seen(&state.fences, &thread->view);
	thread->fenced = thread->view;
	tick(thread);
}

static void perform(struct thread *thread, int option)
{
	struct op *op = &thread->op;

	switch (op->kind) {
	case OP_UNTIL:
		break;
	case OP_LOAD:
	case OP_STORE:
	case OP_RMW:
		perform_access(thread, option);
		break;
	case OP_FENCE:
		perform_fence(thread);
		break;
	case OP_SYNC:
		perform_sync(thread);
		break;
	case OP_CHOOSE:
		op->result = option;
		break;
	}
}

/* Without others: memory of the thread's own, or what the model takes for that. */
static uint64_t access_alone(struct op *op)
{
	uint64_t was = fetch(op->addr, op->size);

	if (op->kind == OP_RMW && op->sub == RMW_ADD && in_arena(op->addr))
		access_atomic(op, true);	/* in any order, if nobody looks */
	else
		access_plain((void *)op->addr, op->size, op->kind != OP_LOAD, NULL);
	if (mc_failed)
		leave();
	op->result = was;
	op->wrote = op->kind == OP_RMW && rmw(op, was, &op->value);
	if (op->wrote || op->kind == OP_STORE)
		memcpy((void *)op->addr, &op->value, op->size);
	self()->op = *op;
	return was;
}

static bool is_quiet(const struct op *op)
{
	const char *const *words = mc_quiet();

	while (words && *words) {
		if (strstr(op->site->text, *words++))
			return true;
	}
	return false;
}

static uint64_t operate(struct op op)
{
	flush_plain();
	if (op.kind == OP_LOAD || op.kind == OP_STORE || op.kind == OP_RMW) {
		if (on_own_stack(op.addr) || is_quiet(&op))
			return access_alone(&op);
	}
	self()->op = op;
	leave();
	return self()->op.result;
}

/* The search */

static const char *past(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static void trace(int nr, int option, int options)
{
	const struct op *op = &state.threads[nr].op;
	const struct mc_site *site = op->site;
	char place[80] = "";

	if (!tracing)
		return;
	if (site)
		snprintf(place, sizeof(place), "%s:%d", past(site->file), site->line);
	printf("model: %-8s %-22s %s", thread_name(nr), place, site ? site->text : "");
	if (op->kind != OP_SYNC && op->kind != OP_UNTIL && op->kind != OP_STORE)
		printf(" = %lu", op->result);
	if (op->kind == OP_RMW && op->wrote)
		printf(" -> %lu", op->value);
	if (op->kind == OP_LOAD && option < options - 1)
		printf(" (%d newer)", options - 1 - option);
	printf("\n");
	fflush(stdout);
}

static void count_all(void)
{
	int left = 0;

	mc_options = 0;
	for (int i = 0; i < state.nr_threads; i++) {
		mc_options += count_options(&state.threads[i]);
		left += !state.threads[i].ended;
	}
	if (mc_options > MAX_OPTIONS) {
		fprintf(stderr, "model: too many ways to go on\n");
		abort();
	}
	if (mc_options || mc_failed)
		return;
	if (!left) {
		state.current = -1;
		if (!setjmp(at_end))
			model->over();
		return;
	}
	for (int i = 0; i < state.nr_threads; i++) {
		if (!state.threads[i].ended) {
			state.current = i;
			fail("nobody can go on, and not all are done", state.threads[i].op.site, NULL, 0, -1);
		}
	}
}

void mc_step(int option)
{
	int nr, options = 0;

	for (nr = 0; nr < state.nr_threads; nr++) {
		options = count_options(&state.threads[nr]);
		if (option < options)
			break;
		option -= options;
	}
	state.current = nr;
	perform(&state.threads[nr], option);
	trace(nr, option, options);
	if (!mc_failed)
		enter(nr);
	flush_plain();
	drop_old();
	if (!mc_failed)
		count_all();
	if (mc_failed)
		report();
	digest_state();
}

/* The environment says which model, and whether to tell what is done. */
void mc_begin(void)
{
	const char *name = getenv("MODEL");

	memset(&state, 0, sizeof(state));
	tracing = getenv("MODEL_TRACE");
	mc_failed = 0;
	for (model = mc_models; model->name && name && strcmp(model->name, name); model++)
		;
	if (!name || !model->name) {
		fprintf(stderr, "model: there is no model %s\n", name ? name : "in MODEL");
		exit(2);
	}
	state.current = -1;
	model->start();
	for (int i = 0; i < state.nr_threads; i++)
		enter(i);
	if (mc_failed)
		report();
	else
		count_all();
	digest_state();
}

/* What the code calls */

int mc_choose(int n, const struct mc_site *site)
{
	return operate((struct op){ .kind = OP_CHOOSE, .nr = n, .site = site });
}

void mc_until(bool (*ready)(int nr), int nr, const struct mc_site *site)
{
	operate((struct op){ .kind = OP_UNTIL, .ready = ready, .nr = nr, .site = site });
}

static struct op access_op(enum op_kind kind, const volatile void *p, size_t size, enum mc_order order,
			   const struct mc_site *site)
{
	return (struct op){ .kind = kind, .addr = (uintptr_t)p, .size = size, .site = site,
			    .acquire = order == MC_ACQUIRE || order == MC_ACQ_REL,
			    .release = order == MC_RELEASE || order == MC_ACQ_REL };
}

uint64_t mc_load(const volatile void *p, size_t size, enum mc_order order, const struct mc_site *site)
{
	return operate(access_op(OP_LOAD, p, size, order, site));
}

void mc_store(volatile void *p, size_t size, uint64_t value, enum mc_order order,
	      const struct mc_site *site)
{
	struct op op = access_op(OP_STORE, p, size, order, site);

	op.value = value;
	operate(op);
}

static uint64_t operate_rmw(enum rmw_kind kind, volatile void *p, size_t size, uint64_t value,
			    enum mc_order order, const struct mc_site *site)
{
	struct op op = access_op(OP_RMW, p, size, order, site);

	op.sub = kind;
	op.value = value;
	return operate(op);
}

uint64_t mc_xchg(volatile void *p, size_t size, uint64_t value, enum mc_order order,
		 const struct mc_site *site)
{
	return operate_rmw(RMW_XCHG, p, size, value, order, site);
}

uint64_t mc_add(volatile void *p, size_t size, uint64_t value, enum mc_order order,
		const struct mc_site *site)
{
	return operate_rmw(RMW_ADD, p, size, value, order, site);
}

bool mc_cmpxchg(volatile void *p, size_t size, uint64_t *old, uint64_t value, enum mc_order order,
		const struct mc_site *site)
{
	struct op op = access_op(OP_RMW, p, size, order, site);

	op.sub = RMW_CMPXCHG;
	op.value = value;
	op.old = *old;
	*old = operate(op);
	return self()->op.wrote;
}

bool mc_add_unless_zero(volatile void *p, size_t size, uint64_t value, uint64_t *old,
			enum mc_order order, const struct mc_site *site)
{
	*old = operate_rmw(RMW_UNLESS_ZERO, p, size, value, order, site);
	return self()->op.wrote;
}

bool mc_dec_and_test(volatile void *p, size_t size, uint64_t *old, bool release, bool acquire,
		     const struct mc_site *site)
{
	struct op op = access_op(OP_RMW, p, size, release ? MC_RELEASE : MC_RELAXED, site);

	op.sub = RMW_DEC;
	op.acquire_if_zero = acquire;
	*old = operate(op);
	return *old == 1;
}

void mc_fence(const struct mc_site *site)
{
	if (!mc_fences)
		mc_fail("a fence, and mc_fences is not set", site);
	operate((struct op){ .kind = OP_FENCE, .site = site });
}

void mc_sync(const void *p, enum mc_sync kind, const struct mc_site *site)
{
	operate((struct op){ .kind = OP_SYNC, .sub = kind, .addr = (uintptr_t)p, .site = site });
}

void mc_unlock(const void *p, const struct mc_site *site)
{
	struct sync *sync = find_sync((uintptr_t)p);

	flush_plain();
	if (!sync->value)
		mc_fail("a lock is released that nobody holds", site);
	sync->value = 0;
	sync->view = self()->view;
	tick(self());
}

void mc_pass(const void *p, const struct mc_site *site)
{
	struct sync *sync = find_sync((uintptr_t)p);

	flush_plain();
	join(&self()->view, &sync->view);
	sync->view = self()->view;
	tick(self());
}
