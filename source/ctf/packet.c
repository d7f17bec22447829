/* SPDX-License-Identifier: Apache-2.0 */
#include "source/ctf/reader.h"

#include <errno.h>
#include <string.h>

static int read_header(const struct ctf_trace *t, struct ctf_walk *w, struct error *err)
{
	const struct ctf_roles *r = w->roles;

	if (ctf_walk_record(w, t->meta.packet_header, NULL))
		return fail(err, -EINVAL, "the file ends inside a packet's header");
	if (ctf_has_role(r, CTF_ROLE_MAGIC) && r->value[CTF_ROLE_MAGIC] != CTF_PACKET_MAGIC)
		return fail(err, -EINVAL, "no packet begins here (magic number %#llx)",
			    (unsigned long long)r->value[CTF_ROLE_MAGIC]);
	return 0;
}

static const struct ctf_stream_plan *find_plan(const struct ctf_trace *t, const struct ctf_roles *r)
{
	if (!ctf_has_role(r, CTF_ROLE_STREAM_CLASS))
		return &t->plans[0];
	for (unsigned i = 0; i < t->nr_plans; i++) {
		if (t->plans[i].cls->id == r->value[CTF_ROLE_STREAM_CLASS])
			return &t->plans[i];
	}
	return NULL;
}

/* Sizes: either may be missing, then it equals the other; without both the packet is all there is
 * of the file. */
static int read_sizes(struct ctf_packet_info *out, uint64_t room_bits, struct error *err)
{
	const struct ctf_roles *r = &out->roles;
	bool has_content = ctf_has_role(r, CTF_ROLE_CONTENT_BITS);
	bool has_packet = ctf_has_role(r, CTF_ROLE_PACKET_BITS);

	out->packet_bits = has_packet	 ? r->value[CTF_ROLE_PACKET_BITS]
			   : has_content ? r->value[CTF_ROLE_CONTENT_BITS]
					 : room_bits;
	out->content_bits = has_content ? r->value[CTF_ROLE_CONTENT_BITS] : out->packet_bits;
	if (out->packet_bits % 8 || out->packet_bits < out->body_bits || !out->packet_bits)
		return fail(err, -EINVAL, "packet size %llu bits is impossible",
			    (unsigned long long)out->packet_bits);
	if (out->content_bits > out->packet_bits || out->content_bits < out->body_bits)
		return fail(err, -EINVAL,
			    "content size %llu bits is impossible in a packet of %llu",
			    (unsigned long long)out->content_bits,
			    (unsigned long long)out->packet_bits);
	out->truncated = out->packet_bits > room_bits;
	if (out->content_bits > room_bits)
		out->content_bits = room_bits;
	return 0;
}

bool ctf_is_of_stream(const struct ctf_stream *cs, int64_t cpu, const struct ctf_roles *r)
{
	if (cs->has_instance && ctf_has_role(r, CTF_ROLE_STREAM_INSTANCE) &&
	    r->value[CTF_ROLE_STREAM_INSTANCE] != cs->instance)
		return false;
	return cpu < 0 || !ctf_has_role(r, CTF_ROLE_CPU) || r->value[CTF_ROLE_CPU] == (uint64_t)cpu;
}

int ctf_packet_read(const struct ctf_trace *t, const uint8_t *data, uint64_t room_bytes,
		    uint64_t regs[static CTF_REGS], struct ctf_packet_info *out, struct error *err)
{
	struct ctf_walk w = {.data = data, .end = room_bytes * 8, .regs = regs};
	int ret;

	memset(out, 0, sizeof(*out));
	w.fuel = ctf_walk_fuel(w.end);
	w.roles = &out->roles;
	ret = read_header(t, &w, err);
	if (ret)
		return ret;
	out->plan = find_plan(t, &out->roles);
	if (!out->plan)
		return fail(err, -EINVAL, "the metadata does not describe stream class %llu",
			    (unsigned long long)out->roles.value[CTF_ROLE_STREAM_CLASS]);
	if (ctf_walk_record(&w, out->plan->cls->packet_context, NULL))
		return fail(err, -EINVAL, "the file ends inside a packet's context");
	out->body_bits = w.pos;
	return read_sizes(out, room_bytes * 8, err);
}
