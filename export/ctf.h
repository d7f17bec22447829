/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EXPORT_CTF_H
#define EXPORT_CTF_H

#include "base/types.h"

#include <stdio.h>

struct sonde_history;

/* Writes the metadata of the streams of ctf_stream.h: TSDL, the language of CTF 1.8.  @origin is
 * what was subtracted from times. */
void ctf_metadata(FILE *out, struct sonde_history *history, ns_t begin, ns_t end, ns_t origin);

#endif
