/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECORD_DIRECTORY_FOLDER_H
#define RECORD_DIRECTORY_FOLDER_H

#include "record/tracers/sink.h"

/*
 * A sink that is a folder on this machine: the files of docs/formats/run.md, one per part.
 *
 *	SINK_HEAD -> head   SINK_CPU n -> cpuN.raw   SINK_TAIL 0, 1 -> tail0, tail1
 *	SINK_CALLS -> hypercalls   SINK_BLOCKS -> hypertrace
 *	SINK_FILE n -> the name that file() announced for n, below lttng/
 *
 * What comes through it may be what a guest sent: numbers and names are checked, no more than
 * @limit_bytes are written, and nothing is ever opened through a symbolic link.
 *
 * When the disk is full the sink says -ENOSPC once and takes no more from then on, except for
 * SINK_TAIL: the folder holds back a reserve of some megabytes, so that the recording can be ended
 * in order and joined (datfile.h).  cpuN.raw is then cut to whole pages.
 */
struct folder_options {
	uint64_t limit_bytes; /* -EDQUOT beyond it; 0 = none */
};

/* Makes the last directory of @path, or uses the one that is there: a part that is in it already is
 * an error (-EEXIST) when it is to be written.  @opt may be NULL. */
int folder_open(struct sink **out, const char *path, const struct folder_options *opt,
		struct error *err);

/* Bytes written so far, in all parts. */
uint64_t folder_bytes(const struct sink *s);

/* Closes the files and gives the reserve back.  What was written stays. */
void folder_close(struct sink *s);

#define FOLDER_FILES_MAX 20000u /* of SINK_FILE */

#endif
