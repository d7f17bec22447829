/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REPORT_CSV_H
#define REPORT_CSV_H

#include "sonde/tables.h"

#include <stdio.h>

/*
 * Rows as comma-separated values (RFC 4180, lines end in \n): a line of column names, a line per
 * row.  Times and lengths are integers in ns, shares in parts per million, machines, CPUs and
 * threads their labels, what is unknown an empty field.
 */
void rows_csv(FILE *out, struct sonde_history *history, const struct sonde_rows *rows);

/* One field that is text: quoted where it has to be; control characters and what is not UTF-8
 * become '?'.  What a spreadsheet would take for a formula (it begins with "=", "+", "-" or "@", and is
 * no number) has an apostrophe before it. */
void csv_text(FILE *out, const char *text);

#endif
