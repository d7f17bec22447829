/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/common/outfile.h"
#include "base/replace.h"

#include <errno.h>
#include <string.h>

/* Exports are gigabytes: a write per page would be a tenth of their time. */
#define BUFFER_BYTES (1u << 20)

static int write_file(const char *path, int (*write)(FILE *out, void *data, struct error *err),
		      void *data, struct error *err)
{
	FILE *out = fopen(path, "we");
	int ret;

	if (!out)
		return -errno;
	setvbuf(out, NULL, _IOFBF, BUFFER_BYTES); /* or the buffer that it has */
	ret = write(out, data, err);
	if (!ret && (fflush(out) || ferror(out)))
		ret = errno ? -errno : -EIO;
	if (fclose(out) && !ret)
		ret = -errno;
	return ret;
}

enum exit_code write_outfile(const struct invocation *inv, const char *path,
			     int (*write)(FILE *out, void *data, struct error *err), void *data)
{
	struct error err = {0};
	struct replace place;
	int ret;

	if (!strcmp(path, "-")) {
		ret = write(inv->screen.out, data, &err);
		return !ret ? EXIT_DONE
			    : complain(inv, ret == -EINTR ? EXIT_INTERRUPTED : EXIT_FAILED, "%s",
				       err.text);
	}
	if (replace_begin(&place, path, &err))
		return complain(inv, EXIT_FAILED, "%s", err.text);
	ret = write_file(place.write_to, write, data, &err);
	if (ret) {
		replace_end(&place, false, NULL);
		if (ret == -EINTR)
			return complain(inv, EXIT_INTERRUPTED, "interrupted; %s is not written",
					path);
		return complain(inv, EXIT_FAILED, "cannot write %s: %s", path,
				*err.text ? err.text : strerror(-ret));
	}
	if (replace_end(&place, true, &err))
		return complain(inv, EXIT_FAILED, "%s", err.text);
	return EXIT_DONE;
}
