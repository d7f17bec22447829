/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMD_COMMON_OUTFILE_H
#define CMD_COMMON_OUTFILE_H

#include "base/error.h"
#include "cmd/common/command.h"

/* Lets @write write the file that the user names with --svg, --html or -o: "-" is the screen; a
 * file takes its place only when it is whole.  @write returns 0, or -errno and a sentence; -EINTR:
 * the user has stopped it. */
enum exit_code write_outfile(const struct invocation *inv, const char *path,
			     int (*write)(FILE *out, void *data, struct error *err), void *data);

#endif
