/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MODEL_CONTEXTS_H
#define MODEL_CONTEXTS_H

#include "model/state.h"

/*
 * Contexts, numbered: every distinct one once.  Open addressing with linear probing, at most half
 * full.
 */

/* Its row + 1; 0: no memory. */
uint32_t context_row(struct model *m, const struct context *c);
void contexts_release(struct model *m);

#endif
