/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * search.pml - the search through all that the threads of a model may do
 *
 * Spin goes through all options of all states, keeps the states that it has seen, and
 * puts earlier ones back.  What a state is, and what happens in a step, is weak.c's
 * matter, and that of the C code which runs in it.
 */

c_decl {
	\#include "weak.h"
};

c_track "mc_state" "MC_STATE_SIZE" "UnMatched";
c_track "&mc_options" "sizeof(mc_options)" "UnMatched";
c_track "mc_digest" "sizeof(mc_digest)" "Matched";

#define OPTION(nr)	\
	:: d_step { c_expr { nr < mc_options } -> c_code { mc_step(nr); }; assert(c_expr { !mc_failed }) }

init {
	d_step { c_code { mc_begin(); }; assert(c_expr { !mc_failed }) }
	do
	OPTION(0)  OPTION(1)  OPTION(2)  OPTION(3)  OPTION(4)
	OPTION(5)  OPTION(6)  OPTION(7)  OPTION(8)  OPTION(9)
	OPTION(10) OPTION(11) OPTION(12) OPTION(13) OPTION(14)
	OPTION(15) OPTION(16) OPTION(17) OPTION(18) OPTION(19)
	OPTION(20) OPTION(21) OPTION(22) OPTION(23) OPTION(24)
	OPTION(25) OPTION(26) OPTION(27) OPTION(28) OPTION(29)
	OPTION(30) OPTION(31) OPTION(32) OPTION(33) OPTION(34)
	OPTION(35) OPTION(36) OPTION(37) OPTION(38) OPTION(39)
	:: c_expr { mc_options == 0 } -> break
	od
}
