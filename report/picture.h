/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REPORT_PICTURE_H
#define REPORT_PICTURE_H

#include "base/error.h"
#include "report/filter.h"
#include "sonde/history.h"

/*
 * A picture of a window of time: rows of cells, one cell per pixel, made once and then drawn on a
 * terminal or as SVG.
 *
 * Rows are grouped.  The first group has a row per physical CPU: what really ran on it.  Then each
 * machine has a group with the same rows, showing only the time in which its own code ran; laid
 * over each other the machines' rows give the physical ones back, for they are the same cells,
 * dealt out.  Then each VM has a row per vCPU as its parent sees it.
 */
enum picture_rows { PICTURE_CPUS = 1, PICTURE_MACHINES = 2, PICTURE_VCPUS = 4 };

enum row_kind { ROW_CPU, ROW_MACHINE, ROW_VCPU };

struct picture_row {
	enum row_kind kind;
	char group[96];	 /* machine's name and what the group shows */
	char label[32];	 /* "cpu 0" */
	int64_t cpu;	 /* row of the CPU or vCPU */
	int64_t machine; /* row: whose code is shown, for ROW_MACHINE */
	bool first;	 /* of its group */
	uint32_t *cells; /* values of the attribute, one per pixel; 0 = nothing */
	uint8_t *shares; /* how much of the pixel it held, 255 = all */
};

struct picture {
	struct sonde_history *history;
	int64_t begin, end;
	unsigned width;		  /* pixels */
	struct picture_row *rows; /* owned */
	unsigned nr_rows;
	uint32_t *cells; /* owned: of all rows that have their own */
	uint8_t *shares;
};

int picture_init(struct picture *p, struct sonde_history *history, int64_t begin, int64_t end,
		 unsigned width, unsigned which, struct error *err);
void picture_release(struct picture *p);

/* What the filter does not match becomes nothing: a picture of what is left has no faded colours.
 */
void picture_keep(struct picture *p, struct filter *filter);

/* The value of a cell as this row shows it; 0 when it shows nothing. */
uint32_t picture_cell(const struct picture *p, unsigned row, unsigned pixel);

/* Time that stands on the left edge of a pixel. */
int64_t picture_time(const struct picture *p, unsigned pixel);

/* A step for the time axis: 1, 2 or 5 times a power of ten ns, at least @min_pixels wide. */
int64_t picture_step(const struct picture *p, unsigned min_pixels);

/* ---- drawing ------------------------------------------------------------------------------- */

#include <stdio.h>

/* One character per two pixels, in colour, or one letter per pixel. */
void picture_print(const struct picture *p, FILE *out, bool color);

/* A page of its own: no scripts, no links, readable in any browser. */
void picture_svg(const struct picture *p, FILE *out);

#endif
