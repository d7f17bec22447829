/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMD_COMMON_DURATION_H
#define CMD_COMMON_DURATION_H

#include <stdbool.h>

/* A length of time as users write it: "10", "10s", "500ms", "20us", "1ns", "2m", "1h";
 * false when it is none of these, or not above 0. */
bool parse_duration(const char *text, double *seconds);

#endif
