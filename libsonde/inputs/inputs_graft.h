/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LIBSONDE_INPUTS_INPUTS_GRAFT_H
#define LIBSONDE_INPUTS_INPUTS_GRAFT_H

#include "clock/topology.h"

/*
 * The machines of @tree join those of @t, behind them: the tree's own L0 runs in none of @t's.
 * Where a tree is one machine and L0 saw it run, @to_l0 (its ticks to those of L0; consumed) gives
 * its times and their bound.  Else no evidence relates the clocks.  Times are the best guess there
 * is: by the wall clocks where both traces have them, else both begin at the same time.  They have
 * no bound, and the machines' evidence says so.  What is taken from @tree is gone from it; it is to
 * be released all the same.
 *
 * @host: what L0 saw run gets the VM in which it runs as its parent, a machine without a trace, of
 * that name; "": its name is not known; NULL: it gets none.
 */
int inputs_graft(struct topology *t, struct topology *tree, struct clock_model *to_l0,
		 const char *host, struct error *err);

#endif
