/* SPDX-License-Identifier: Apache-2.0 */
#include "record/agent/agent_machines.h"

#include <errno.h>

void agent_machines_init(struct agent_machines *m, struct wire_sender *sender)
{
	*m = (struct agent_machines){.sender = sender, .nr = 1};
	pthread_mutex_init(&m->lock, NULL);
}

void agent_machines_release(struct agent_machines *m)
{
	pthread_mutex_destroy(&m->lock);
}

int agent_machines_add(struct agent_machines *m, const struct wire_identity *id, uint16_t *number,
		       struct error *err)
{
	int ret;

	pthread_mutex_lock(&m->lock); /* also while it is sent: numbers come in their order */
	*number = m->nr;
	if (m->nr == WIRE_MACHINES_MAX)
		ret = fail(err, -E2BIG, "more than %u machines on one link", WIRE_MACHINES_MAX);
	else
		ret = wire_send_message(m->sender, WIRE_MACHINE, m->nr, WIRE_IDENTITY, id, err);
	m->nr += !ret;
	pthread_mutex_unlock(&m->lock);
	return ret;
}
