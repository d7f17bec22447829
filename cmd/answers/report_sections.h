/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMD_ANSWERS_REPORT_SECTIONS_H
#define CMD_ANSWERS_REPORT_SECTIONS_H

#include <stdio.h>

/* The tables that sonde report can print: all analyses there are. */

/* What a section is called; NULL if there is none. */
const char *report_title(const char *section);
/* --table help, as text and as JSON with all columns. */
void report_sections_list(FILE *out);
void report_sections_json(FILE *out);

#endif
