/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLOCK_FIT_COMPOSE_H
#define CLOCK_FIT_COMPOSE_H

#include "base/error.h"
#include "clock/fit/model.h"

/*
 * Chains two models: @to_parent maps a guest's ticks to its parent's ticks, @parent the parent's
 * ticks to L0 time; @out maps the guest's ticks to L0 time.  A piece begins wherever one of either
 * does, bounds add up, order is kept.  @last is the guest's last tick.  The figures and the method
 * are @to_parent's.
 */
int clock_compose(struct clock_model *out, const struct clock_model *to_parent,
		  const struct clock_model *parent, uint64_t last, struct error *err);

/* A model of one line. */
int clock_one_line(struct clock_model *out, struct clock_piece piece, enum clock_method method,
		   struct error *err);

#endif
