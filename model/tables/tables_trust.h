/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MODEL_TABLES_TABLES_TRUST_H
#define MODEL_TABLES_TABLES_TRUST_H

#include "model/state/state.h"

/* How far a run can be trusted: the rows of clocks, losses and problems. */

/* Those from row @from on; the last piece of a clock holds until @end. */
void tables_put_clocks(struct model *m, ns_t end);
void tables_put_losses(struct model *m, uint32_t from, ns_t end);

/* Once, at the end. */
void tables_write_problems(struct model *m);
void tables_write_meta(struct model *m, ns_t end);

#endif
