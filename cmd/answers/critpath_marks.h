/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMD_ANSWERS_CRITPATH_MARKS_H
#define CMD_ANSWERS_CRITPATH_MARKS_H

#include "analysis/life/mark_pairs.h"
#include "cmd/common/command.h"
#include "report/json.h"

/* For sonde critpath: the request between two marks that is asked for. */
struct marks_wanted {
	const char *from, *to; /* @to NULL: a span */
	uint64_t nth;	       /* by length; 0 the longest */
};

struct marked_request {
	struct mark_pair pair;
	size_t nr_pairs, nth; /* 0: none was asked for */
	int64_t median;	      /* of all of them */
};

/* In [@begin, @end); says why when there is none. */
enum exit_code marked_request_find(const struct invocation *inv, struct sonde_history *history,
				   const struct marks_wanted *opt, int64_t begin, int64_t end,
				   struct marked_request *out);

/* Both say nothing when none was asked for. */
void marked_request_print(const struct invocation *inv, const struct sonde_history *history,
			  const struct marked_request *r);
void marked_request_json(struct json *j, struct sonde_history *history,
			 const struct marked_request *r);

#endif
