/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REPORT_PALETTE_H
#define REPORT_PALETTE_H

#include "sonde/history.h"

/*
 * One colour per mode, the same on a terminal and in pictures: idle grey, user green, kernel
 * blues, interrupts warm, hypervisor purple, unknown white.  The letters stand in for colours
 * where there are none.
 */
struct color {
	const char *name; /* "user", for legends */
	const char *ansi; /* foreground sequence */
	uint8_t index;	  /* of the 256 colours of terminals */
	uint8_t safe;	  /* the same, of a set that eyes with any colour weakness can tell apart */
	uint32_t rgb;	  /* 0xrrggbb, for pictures */
	char letter;
};

const struct color *mode_color(enum sonde_mode mode);

/* The same for the states of a vCPU as its parent sees it: values of its attribute `state`. */
#define VCPU_COLORS 5
const struct color *vcpu_color(uint32_t state);

/* And for the states of a thread as its own kernel sees it. */
#define THREAD_COLORS 7
const struct color *thread_color(uint32_t state);

#endif
