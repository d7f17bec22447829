// SPDX-License-Identifier: GPL-2.0 OR Apache-2.0
/* What every record is called and consists of, for the writer to tell and the reader to know. */
#include "channel/hypertrace.h"

const struct ht_description ht_descriptions[] = {
#define X(id, opcode, text, letters) {opcode, text, letters},
	HT_RECORDS(X)
#undef X
};

const unsigned int ht_nr_descriptions = sizeof(ht_descriptions) / sizeof(ht_descriptions[0]);
