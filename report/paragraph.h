/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REPORT_PARAGRAPH_H
#define REPORT_PARAGRAPH_H

#include "report/table.h"

/*
 * A sentence on a screen: @lead, then @text, broken between words where the screen ends; lines
 * after the first begin below @text's first word, and a length stands beside its unit ("1.5 ms").
 * Control characters become '?'.  A screen without a width gets one line.
 */
void paragraph_print(const struct screen *screen, const char *lead, const char *text);

#endif
