/* SPDX-License-Identifier: Apache-2.0 */
/* How a stream's event headers and contexts are read: LTTng's two kinds of header have decoders of
 * their own. */
#include "source/ctf/plan.h"

static bool is_uint(const struct ctf_fc *fc, unsigned size, unsigned align)
{
	return fc->kind == CTF_INT && !fc->is_signed && fc->size == size && fc->align == align &&
	       fc->order == CTF_ORDER_LE && !fc->bits_reversed;
}

static bool is_header_option(const struct ctf_member *m, unsigned time_bits, unsigned time_align,
			     bool has_id, uint64_t low, uint64_t high)
{
	const struct ctf_fc *fc = m->fc;
	unsigned nr = has_id ? 2 : 1;

	if (fc->kind != CTF_STRUCT || fc->nr_members != nr || m->nr_ranges != 1 ||
	    m->ranges[0].low != low || m->ranges[0].high != high)
		return false;
	if (has_id &&
	    (!is_uint(fc->members[0].fc, 32, 8) || fc->members[0].fc->role != CTF_ROLE_EVENT_ID))
		return false;
	return is_uint(fc->members[nr - 1].fc, time_bits, time_align) &&
	       fc->members[nr - 1].fc->role == CTF_ROLE_TIME;
}

/* LTTng's two headers, in exactly the layout that decode.c knows by heart. */
static bool is_lttng_header(const struct ctf_fc *h, unsigned id_bits, unsigned time_bits,
			    unsigned align)
{
	const struct ctf_fc *v;
	uint64_t extended = (UINT64_C(1) << id_bits) - 1;

	if (!h || h->nr_members != 2 || h->align != 8 || !is_uint(h->members[0].fc, id_bits, align))
		return false;
	v = h->members[1].fc;
	return h->members[0].fc->role == CTF_ROLE_EVENT_ID && v->kind == CTF_VARIANT &&
	       v->align == 1 && v->nr_members == 2 && v->ref_reg == h->members[0].fc->reg &&
	       is_header_option(&v->members[0], time_bits, align, false, 0, extended - 1) &&
	       is_header_option(&v->members[1], 64, 8, true, extended, extended);
}

/* Do events refer to fields of their header?  Then they want it read by the interpreter, which
 * saves the registers. */
static bool header_is_referred_to(const struct ctf_fc *h)
{
	const struct ctf_fc *v = h->members[1].fc;

	if (h->members[0].fc->nr_refs > 1) /* one is the header's own */
		return true;
	for (unsigned i = 0; i < v->nr_members; i++) {
		for (unsigned k = 0; k < v->members[i].fc->nr_members; k++) {
			if (v->members[i].fc->members[k].fc->reg >= 0)
				return true;
		}
	}
	return false;
}

/* Is any field in it a length or selector of something? */
static bool has_register(const struct ctf_fc *fc)
{
	if (!fc)
		return false;
	for (unsigned i = 0; i < fc->nr_members; i++) {
		if (has_register(fc->members[i].fc))
			return true;
	}
	return fc->reg >= 0 || has_register(fc->elem);
}

/* Adds the size of a field that is always the same number of whole bytes; false when it is not. */
static bool packed_size(const struct ctf_fc *fc, uint64_t *bits)
{
	uint64_t elem = 0;

	if (fc->align > 8 || fc->reg >= 0)
		return false;
	switch ((enum ctf_kind)fc->kind) {
	case CTF_INT:
	case CTF_FLOAT:
		*bits += fc->size;
		return fc->size % 8 == 0;
	case CTF_STRUCT:
		for (unsigned i = 0; i < fc->nr_members; i++) {
			if (!packed_size(fc->members[i].fc, bits))
				return false;
		}
		return true;
	case CTF_ARRAY:
		if (fc->ref || fc->len > CTF_RUN_BYTES_MAX || !packed_size(fc->elem, &elem))
			return false;
		*bits += elem * fc->len;
		return *bits < CTF_RUN_BYTES_MAX * 8ull;
	default:
		return false;
	}
}

static void measure_context(struct ctf_stream_plan *out)
{
	uint64_t bits = 0;

	out->context_is_packed =
		!out->cls->event_context ||
		(packed_size(out->cls->event_context, &bits) && bits < CTF_RUN_BYTES_MAX * 8ull);
	out->context_bits = (uint32_t)bits;
}

static void choose(struct ctf_stream_plan *out, const struct ctf_metadata *m)
{
	const struct ctf_fc *h = out->cls->event_header;

	out->header = CTF_HEADER_WALK;
	out->bytewise = h && h->align >= 8;
	out->header_align = h ? h->align / 8 : 1;
	if (is_lttng_header(h, 5, 27, 1) && !header_is_referred_to(h))
		out->header = CTF_HEADER_COMPACT;
	else if (is_lttng_header(h, 16, 32, 8) && !header_is_referred_to(h))
		out->header = CTF_HEADER_LARGE;
	out->self_contained = out->header != CTF_HEADER_WALK && !has_register(m->packet_header) &&
			      !has_register(out->cls->packet_context);
}

void ctf_plan_header(struct ctf_stream_plan *out, const struct ctf_metadata *m)
{
	choose(out, m);
	measure_context(out);
}
