/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LIBSONDE_INPUTS_INPUTS_GIVEN_H
#define LIBSONDE_INPUTS_INPUTS_GIVEN_H

#include "base/arena.h"
#include "libsonde/inputs/inputs.h"

/*
 * What is told of the machines, by run directories, by the hosts in whose traces guests were found,
 * and by the user, whose word comes last and counts most: names, parents, TSC offsets.
 *
 * @list: one for each of in->traces, which it has already.  What is made up of names is kept in
 * @names.  -EINVAL: the user tells of a machine or a trace that is not there.
 */
int inputs_apply_told(const struct inputs *in, const struct sonde_inputs *told,
		      struct topology_input *list, struct arena *names, struct error *err);

#endif
