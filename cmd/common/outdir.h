/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMD_COMMON_OUTDIR_H
#define CMD_COMMON_OUTDIR_H

#include "base/error.h"
#include "cmd/common/command.h"

/* Lets @write fill the directory that the user names with -o.  It is made as PATH.part and takes
 * its place only when it is whole; else it is removed with the files in it.  @write returns 0, or
 * -errno and a sentence; -EINTR: the user has stopped it. */
enum exit_code write_outdir(const struct invocation *inv, const char *path,
			    int (*write)(const char *dir, void *data, struct error *err),
			    void *data);

#endif
