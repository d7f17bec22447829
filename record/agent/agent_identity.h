/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECORD_AGENT_AGENT_IDENTITY_H
#define RECORD_AGENT_AGENT_IDENTITY_H

#include "record/remote/wire_fields.h"

/* Who this machine is, as far as /proc and /sys tell; what they do not stays "". */
void agent_identity(struct wire_identity *id, const char *version);

#endif
