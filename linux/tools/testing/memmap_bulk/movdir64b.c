// SPDX-License-Identifier: GPL-2.0-only
/*
 * movdir64b.c - MOVDIR64B for CPUs that do not have it
 *
 * A handler of SIGILL does what the instruction does.  It knows the forms that
 * have a register for the destination and (register) or disp(register) for the
 * source, which is all that compilers need.  Anything else that is illegal ends
 * the program, as it does without the handler.
 *
 * A UD2 in front of the instruction is taken to be part of it.  With that, the
 * handler is of use on CPUs that have MOVDIR64B, to test it.
 */

#define _GNU_SOURCE
#include <cpuid.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include "movdir64b.h"

unsigned long movdir64b_emulated;

/* In the order of their numbers. */
static const int registers[] = {
	REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
	REG_R8, REG_R9, REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15,
};

/* An instruction: [0F 0B] 66 [REX] 0F 38 F8 /r */
struct movdir64b {
	unsigned int		length;
	unsigned int		dst;		/* register that has the address */
	unsigned int		src;
	long			disp;
};

static bool decode_source(struct movdir64b *insn, const uint8_t *p, unsigned int mod)
{
	int8_t disp8;
	int32_t disp32;

	/* A SIB byte, or relative to the instruction. */
	if ((insn->src & 7) == 4 || (mod == 0 && (insn->src & 7) == 5))
		return false;

	if (mod == 1) {
		memcpy(&disp8, p, sizeof(disp8));
		insn->disp = disp8;
		insn->length += sizeof(disp8);
	} else if (mod == 2) {
		memcpy(&disp32, p, sizeof(disp32));
		insn->disp = disp32;
		insn->length += sizeof(disp32);
	}
	return mod != 3;
}

static bool decode(struct movdir64b *insn, const uint8_t *begin)
{
	static const uint8_t ud2[] = { 0x0f, 0x0b }, opcode[] = { 0x0f, 0x38, 0xf8 };
	const uint8_t *p = begin;
	uint8_t rex = 0, modrm;

	if (!memcmp(p, ud2, sizeof(ud2)))
		p += sizeof(ud2);
	if (*p++ != 0x66)
		return false;
	if ((*p & 0xf0) == 0x40)
		rex = *p++;
	if (memcmp(p, opcode, sizeof(opcode)))
		return false;
	p += sizeof(opcode);

	modrm = *p++;
	*insn = (struct movdir64b){
		.length = p - begin,
		.dst	= (modrm >> 3 & 7) | (rex & 4) << 1,
		.src	= (modrm & 7) | (rex & 1) << 3,
	};
	return decode_source(insn, p, modrm >> 6);
}

static void on_illegal(int signum, siginfo_t *info, void *context)
{
	greg_t *regs = ((ucontext_t *)context)->uc_mcontext.gregs;
	struct movdir64b insn;
	uintptr_t dst;

	if (!decode(&insn, (const uint8_t *)regs[REG_RIP])) {
		signal(SIGILL, SIG_DFL);
		return;
	}

	/* What is not aligned is a general protection fault. */
	dst = regs[registers[insn.dst]];
	if (dst % 64)
		abort();
	memcpy((void *)dst, (const void *)(regs[registers[insn.src]] + insn.disp), 64);
	regs[REG_RIP] += insn.length;
	movdir64b_emulated++;
}

bool movdir64b_in_cpu(void)
{
	unsigned int eax, ebx, ecx, edx;

	return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) && ecx & 1 << 28;
}

void movdir64b_emulate(void)
{
	struct sigaction action = {
		.sa_sigaction = on_illegal,
		.sa_flags     = SA_SIGINFO,
	};

	sigaction(SIGILL, &action, NULL);
}
