/* SPDX-License-Identifier: Apache-2.0 */

/*
 * ctf_compare [-n] TRACE...: reads each CTF trace with libbabeltrace2 and with Sonde, and compares,
 * event for event of every stream file: time, name, every field of payload and contexts (as text,
 * written here from babeltrace2's fields and by Sonde from its own), every canonical argument and
 * the thread, and the number of lost events.
 *
 * With -n Sonde reads alone, for what babeltrace2 refuses: it checks that every packet is read to
 * its last bit, that every event prints, that time never decreases, and that reading packet by
 * packet gives the same events.
 *
 * Prints what was compared and the first differences.  Exit status 1 when there were any.
 */
#include "events/dialect.h"
#include "source/trace.h"

#include <babeltrace2/babeltrace.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BATCH 256
#define SHOWN_MAX 10
#define TEXT_MAX (1u << 16)

struct text {
	char buf[TEXT_MAX];
	size_t len;
	bool separate;
	uint64_t fields;
	uint64_t stale; /* empty strings that babeltrace2 shows with older text */
};

/* One of Sonde's streams, read beside babeltrace2's. */
struct reader {
	struct stream *stream;
	struct cursor cursor;
	struct event events[BATCH];
	unsigned at, nr;
	uint64_t lost;
};

struct compare {
	const char *path;
	struct trace *trace;
	struct reader *readers;
	uint64_t events, fields, args, peer_lost, differences;
	struct text peer, ours;
};

static void differ(struct compare *c, const struct stream *s, const struct event *e,
		   const char *fmt, ...)
{
	va_list ap;

	if (c->differences++ >= SHOWN_MAX)
		return;
	printf("%s: time %" PRIu64 ", %s: ", s->path, e ? e->time.v : 0,
	       e ? c->trace->types[e->type].name : "-");
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
}

/* babeltrace2's fields as text */

static void put(struct text *t, const char *fmt, ...)
{
	size_t left = sizeof(t->buf) - t->len;
	va_list ap;
	int len;

	va_start(ap, fmt);
	len = vsnprintf(t->buf + t->len, left, fmt, ap);
	va_end(ap);
	t->len += (size_t)len < left ? (size_t)len : left - 1;
}

/*
 * Of an empty string babeltrace2 2.0 says rightly that its length is 0, but hands out the text that
 * was in its buffer before.  The length counts.
 */
static void put_string(struct text *t, const bt_field *f)
{
	const char *s = bt_field_string_get_value(f);

	if (!bt_field_string_get_length(f) && *s) {
		t->stale++;
		s = "";
	}
	put(t, "\"");
	for (; *s; s++) {
		if (*s == '"' || *s == '\\')
			put(t, "\\%c", *s);
		else if (*s == '\n')
			put(t, "\\n");
		else if ((unsigned char)*s < 0x20 || *s == 0x7f)
			put(t, "\\x%02x", (unsigned char)*s);
		else
			put(t, "%c", *s);
	}
	put(t, "\"");
}

static void put_label(struct text *t, const char *label)
{
	bool word = *label;

	for (const char *c = label; *c; c++)
		word &= *c == '_' || (*c >= '0' && *c <= '9') ||
			((*c | 32) >= 'a' && (*c | 32) <= 'z');
	put(t, word ? "%s(" : "\"%s\"(", label);
}

static void put_field(struct text *t, const char *name, const bt_field *f);

static void put_struct(struct text *t, const bt_field *f)
{
	const bt_field_class *fc = bt_field_borrow_class_const(f);

	for (uint64_t i = 0; i < bt_field_class_structure_get_member_count(fc); i++)
		put_field(t,
			  bt_field_class_structure_member_get_name(
				  bt_field_class_structure_borrow_member_by_index_const(fc, i)),
			  bt_field_structure_borrow_member_field_by_index_const(f, i));
}

static void put_array(struct text *t, const bt_field *f)
{
	put(t, "[");
	t->separate = false;
	for (uint64_t i = 0; i < bt_field_array_get_length(f); i++)
		put_field(t, NULL, bt_field_array_borrow_element_field_by_index_const(f, i));
	put(t, "]");
}

static void put_enum(struct text *t, const bt_field *f, bool is_signed)
{
	bt_field_class_enumeration_mapping_label_array labels;
	uint64_t nr = 0;

	if (is_signed)
		bt_field_enumeration_signed_get_mapping_labels(f, &labels, &nr);
	else
		bt_field_enumeration_unsigned_get_mapping_labels(f, &labels, &nr);
	if (nr)
		put_label(t, labels[0]);
	if (is_signed)
		put(t, "%" PRId64, bt_field_integer_signed_get_value(f));
	else
		put(t, "%" PRIu64, bt_field_integer_unsigned_get_value(f));
	if (nr)
		put(t, ")");
}

static void put_value(struct text *t, const bt_field *f)
{
	bt_field_class_type type = bt_field_get_class_type(f);

	if (type == BT_FIELD_CLASS_TYPE_BOOL)
		put(t, bt_field_bool_get_value(f) ? "true" : "false");
	else if (bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_UNSIGNED_ENUMERATION))
		put_enum(t, f, false);
	else if (bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_SIGNED_ENUMERATION))
		put_enum(t, f, true);
	else if (bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_UNSIGNED_INTEGER))
		put(t, "%" PRIu64, bt_field_integer_unsigned_get_value(f));
	else if (bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_SIGNED_INTEGER))
		put(t, "%" PRId64, bt_field_integer_signed_get_value(f));
	else if (type == BT_FIELD_CLASS_TYPE_SINGLE_PRECISION_REAL)
		put(t, "%.17g", bt_field_real_single_precision_get_value(f));
	else if (type == BT_FIELD_CLASS_TYPE_DOUBLE_PRECISION_REAL)
		put(t, "%.17g", bt_field_real_double_precision_get_value(f));
	else if (type == BT_FIELD_CLASS_TYPE_STRING)
		put_string(t, f);
	else if (bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_ARRAY))
		put_array(t, f);
	else if (type == BT_FIELD_CLASS_TYPE_STRUCTURE) {
		put(t, "{");
		t->separate = false;
		put_struct(t, f);
		put(t, "}");
	} else {
		put(t, "?");
	}
}

static void put_field(struct text *t, const char *name, const bt_field *f)
{
	while (bt_field_class_type_is(bt_field_get_class_type(f), BT_FIELD_CLASS_TYPE_VARIANT))
		f = bt_field_variant_borrow_selected_option_field_const(f);
	if (t->separate)
		put(t, name ? " " : ", ");
	if (name)
		put(t, "%s=", name);
	put_value(t, f);
	t->fields++;
	t->separate = true;
}

static void put_context(struct text *t, const char *name, const bt_field *f)
{
	if (!f || !bt_field_class_structure_get_member_count(bt_field_borrow_class_const(f)))
		return;
	put(t, "%s%s={", t->separate ? " " : "", name);
	t->separate = false;
	put_struct(t, f);
	put(t, "}");
	t->separate = true;
}

static void put_event(struct text *t, const bt_event *e)
{
	const bt_field *payload = bt_event_borrow_payload_field_const(e);

	t->len = 0;
	t->buf[0] = '\0';
	t->separate = false;
	if (payload)
		put_struct(t, payload);
	put_context(t, "context", bt_event_borrow_common_context_field_const(e));
	put_context(t, "event_context", bt_event_borrow_specific_context_field_const(e));
}

/* Canonical arguments against babeltrace2's fields */

static bool has_member(const char *name, void *data)
{
	return bt_field_structure_borrow_member_field_by_name_const(data, name) != NULL;
}

static const bt_field *member(const bt_field *structure, const char *name)
{
	char raw[80];
	const bt_field *f;

	if (!structure)
		return NULL;
	f = bt_field_structure_borrow_member_field_by_name_const(structure, name);
	snprintf(raw, sizeof(raw), "_%s", name);
	return f ? f : bt_field_structure_borrow_member_field_by_name_const(structure, raw);
}

static bool same_value(const bt_field *f, int64_t arg)
{
	bt_field_class_type type = bt_field_get_class_type(f);

	if (bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_UNSIGNED_INTEGER))
		return bt_field_integer_unsigned_get_value(f) == (uint64_t)arg;
	if (bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_SIGNED_INTEGER))
		return bt_field_integer_signed_get_value(f) == arg;
	if (type == BT_FIELD_CLASS_TYPE_STRING)
		return !strncmp(bt_field_string_get_value(f), (const char *)(uintptr_t)arg, 16);
	return false;
}

static bool is_unsound(const struct compare *c, const struct event *e, unsigned slot)
{
	return c->trace->vcpu_id_unsound &&
	       ((e->kind == EV_KVM_ENTRY && slot == 0) || e->kind == EV_KVM_NESTED_VMEXIT);
}

static void compare_args(struct compare *c, const struct stream *s, const struct event *e,
			 const bt_event *peer)
{
	uint16_t kind = EV_OTHER;
	const struct event_read *read =
		dialect_find(TRACER_LTTNG, c->trace->types[e->type].name, &kind);
	const bt_field *payload = bt_event_borrow_payload_field_const(peer);
	const bt_field *tid = member(bt_event_borrow_common_context_field_const(peer), "tid");

	if (e->kind != kind)
		differ(c, s, e, "kind %u", e->kind);
	if (tid ? !same_value(tid, e->tid) : e->tid != -1)
		differ(c, s, e, "tid %d", e->tid);
	for (unsigned i = 0; read && payload && i < EVENT_ARGS; i++) {
		char scratch[64];
		const char *name =
			dialect_pick_field(&read->slots[i], has_member, (void *)payload, scratch);

		if (is_unsound(c, e, i))
			continue;
		if (name ? !same_value(member(payload, name), e->arg[i])
			 : e->arg[i] != read->slots[i].otherwise)
			differ(c, s, e, "argument %u (%s): %" PRId64, i, name ? name : "absent",
			       e->arg[i]);
		c->args++;
	}
}

/* Sonde's side */

static const struct event *next_event(struct reader *r)
{
	for (;;) {
		if (r->at == r->nr) {
			r->nr = cursor_next(&r->cursor, r->events, BATCH);
			r->at = 0;
			if (!r->nr)
				return NULL;
		}
		if (r->events[r->at].kind != EV_LOST)
			return &r->events[r->at++];
		r->lost += (uint64_t)r->events[r->at++].arg[0];
	}
}

static struct reader *find_reader(struct compare *c, const bt_stream *stream)
{
	const char *name = bt_stream_get_name(stream);

	for (unsigned i = 0; i < c->trace->nr_streams; i++) {
		const char *path = c->readers[i].stream->path;
		const char *base = strrchr(path, '/');
		const char *peer = strrchr(name, '/');

		if (base && peer && !strcmp(base, peer))
			return &c->readers[i];
	}
	return NULL;
}

static void compare_event(struct compare *c, const bt_message *msg)
{
	const bt_event *peer = bt_message_event_borrow_event_const(msg);
	struct reader *r = find_reader(c, bt_event_borrow_stream_const(peer));
	const struct event *e = r ? next_event(r) : NULL;
	const char *name = bt_event_class_get_name(bt_event_borrow_class_const(peer));
	uint64_t time;

	c->events++;
	if (!e) {
		if (c->differences++ < SHOWN_MAX)
			printf("%s: no event of ours is left for babeltrace2's %s\n", c->path,
			       name);
		return;
	}
	if (strcmp(name, c->trace->types[e->type].name))
		differ(c, r->stream, e, "babeltrace2 has %s", name);
	if (bt_stream_class_borrow_default_clock_class_const(
		    bt_stream_borrow_class_const(bt_event_borrow_stream_const(peer)))) {
		time = bt_clock_snapshot_get_value(
			bt_message_event_borrow_default_clock_snapshot_const(msg));
		if (time != e->time.v)
			differ(c, r->stream, e, "babeltrace2's time is %" PRIu64, time);
	}
	put_event(&c->peer, peer);
	if (trace_event_print(r->stream, e, c->ours.buf, sizeof(c->ours.buf)) != c->peer.len ||
	    memcmp(c->ours.buf, c->peer.buf, c->peer.len))
		differ(c, r->stream, e, "fields\n  babeltrace2: %s\n  Sonde:       %s", c->peer.buf,
		       c->ours.buf);
	compare_args(c, r->stream, e, peer);
}

static void compare_message(struct compare *c, const bt_message *msg)
{
	uint64_t count;

	switch (bt_message_get_type(msg)) {
	case BT_MESSAGE_TYPE_EVENT:
		compare_event(c, msg);
		break;
	case BT_MESSAGE_TYPE_DISCARDED_EVENTS:
		if (bt_message_discarded_events_get_count(msg, &count) ==
		    BT_PROPERTY_AVAILABILITY_AVAILABLE)
			c->peer_lost += count;
		break;
	default:
		break;
	}
}

/* A sink with one port for each of the source's, so that each stream comes in its own order. */

struct sink {
	struct compare *c;
	uint64_t nr_ports;
	bt_message_iterator **iterators;
	uint64_t at;
};

static bt_component_class_initialize_method_status
sink_init(bt_self_component_sink *self, bt_self_component_sink_configuration *config,
	  const bt_value *params, void *data)
{
	struct sink *sink = data;

	(void)config, (void)params;
	bt_self_component_set_data(bt_self_component_sink_as_self_component(self), sink);
	for (uint64_t i = 0; i < sink->nr_ports; i++) {
		char name[32];

		snprintf(name, sizeof(name), "in%" PRIu64, i);
		if (bt_self_component_sink_add_input_port(self, name, NULL, NULL))
			return BT_COMPONENT_CLASS_INITIALIZE_METHOD_STATUS_ERROR;
	}
	return BT_COMPONENT_CLASS_INITIALIZE_METHOD_STATUS_OK;
}

static bt_component_class_sink_graph_is_configured_method_status
sink_configured(bt_self_component_sink *self)
{
	struct sink *sink =
		bt_self_component_get_data(bt_self_component_sink_as_self_component(self));

	for (uint64_t i = 0; i < sink->nr_ports; i++) {
		if (bt_message_iterator_create_from_sink_component(
			    self, bt_self_component_sink_borrow_input_port_by_index(self, i),
			    &sink->iterators[i]))
			return BT_COMPONENT_CLASS_SINK_GRAPH_IS_CONFIGURED_METHOD_STATUS_ERROR;
	}
	return BT_COMPONENT_CLASS_SINK_GRAPH_IS_CONFIGURED_METHOD_STATUS_OK;
}

static bt_component_class_sink_consume_method_status sink_consume(bt_self_component_sink *self)
{
	struct sink *sink =
		bt_self_component_get_data(bt_self_component_sink_as_self_component(self));
	bt_message_array_const messages;
	bt_message_iterator_next_status status;
	uint64_t nr;

	if (sink->at == sink->nr_ports)
		return BT_COMPONENT_CLASS_SINK_CONSUME_METHOD_STATUS_END;
	status = bt_message_iterator_next(sink->iterators[sink->at], &messages, &nr);
	if (status == BT_MESSAGE_ITERATOR_NEXT_STATUS_END) {
		bt_message_iterator_put_ref(sink->iterators[sink->at++]);
	} else if (status != BT_MESSAGE_ITERATOR_NEXT_STATUS_OK) {
		return BT_COMPONENT_CLASS_SINK_CONSUME_METHOD_STATUS_ERROR;
	} else {
		for (uint64_t i = 0; i < nr; i++) {
			compare_message(sink->c, messages[i]);
			bt_message_put_ref(messages[i]);
		}
	}
	return BT_COMPONENT_CLASS_SINK_CONSUME_METHOD_STATUS_OK;
}

static void must(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "ctf_compare: babeltrace2: %s failed\n", what);
	exit(2);
}

static const bt_component_source *add_source(bt_graph *graph, const char *path)
{
	const bt_plugin *plugin;
	const bt_component_source *source;
	bt_value *params = bt_value_map_create(), *inputs = bt_value_array_create();

	must(!bt_plugin_find("ctf", BT_TRUE, BT_TRUE, BT_TRUE, BT_TRUE, BT_TRUE, &plugin),
	     "finding its ctf plug-in");
	must(!bt_value_array_append_string_element(inputs, path) &&
		     !bt_value_map_insert_entry(params, "inputs", inputs),
	     "setting parameters");
	must(!bt_graph_add_source_component(
		     graph, bt_plugin_borrow_source_component_class_by_name_const(plugin, "fs"),
		     "source", params, BT_LOGGING_LEVEL_NONE, &source),
	     "opening the trace");
	bt_value_put_ref(inputs);
	bt_value_put_ref(params);
	return source;
}

static void run_graph(struct compare *c)
{
	bt_graph *graph = bt_graph_create(0);
	const bt_component_source *source = add_source(graph, c->path);
	struct sink sink = {.c = c, .nr_ports = bt_component_source_get_output_port_count(source)};
	bt_component_class_sink *cls = bt_component_class_sink_create("compare", sink_consume);
	const bt_component_sink *component;
	bt_graph_run_status status;

	sink.iterators = calloc(sink.nr_ports + 1, sizeof(*sink.iterators));
	bt_component_class_sink_set_initialize_method(cls, sink_init);
	bt_component_class_sink_set_graph_is_configured_method(cls, sink_configured);
	must(!bt_graph_add_sink_component_with_initialize_method_data(
		     graph, cls, "sink", NULL, &sink, BT_LOGGING_LEVEL_NONE, &component),
	     "adding the sink");
	for (uint64_t i = 0; i < sink.nr_ports; i++)
		must(!bt_graph_connect_ports(
			     graph,
			     bt_component_source_borrow_output_port_by_index_const(source, i),
			     bt_component_sink_borrow_input_port_by_index_const(component, i),
			     NULL),
		     "connecting a port");
	status = bt_graph_run(graph);
	if (status != BT_GRAPH_RUN_STATUS_OK) {
		printf("%s: babeltrace2 stopped with an error after %" PRIu64 " events\n", c->path,
		       c->events);
		c->differences++;
	}
	bt_component_class_sink_put_ref(cls);
	bt_graph_put_ref(graph);
	free(sink.iterators);
}

static uint64_t drain(struct compare *c)
{
	uint64_t lost = 0;

	for (unsigned i = 0; i < c->trace->nr_streams; i++) {
		struct reader *r = &c->readers[i];
		const struct event *e = next_event(r);

		if (e)
			differ(c, r->stream, e, "babeltrace2 has no such event");
		lost += r->lost;
	}
	return lost;
}

/* Alone */

static void check_alone(struct compare *c, struct reader *r)
{
	struct event events[BATCH];
	struct cursor piece;
	const struct event *e;
	uint64_t before = 0;
	unsigned n, at = 0;

	for (uint32_t p = 0; p < r->stream->nr_packets; p++) {
		if (cursor_init(&piece, r->stream, p, 1, 0, NULL))
			abort();
		for (n = at = 0; (n = cursor_next(&piece, events, BATCH)) > 0;) {
			for (at = 0; at < n; at++) {
				if (events[at].kind == EV_LOST) {
					differ(c, r->stream, &events[at], "something was not read");
					continue;
				}
				e = next_event(r);
				if (!e || memcmp(e, &events[at], sizeof(*e))) {
					differ(c, r->stream, e, "differs when read by packets");
					continue;
				}
				if (e->time.v < before)
					differ(c, r->stream, e, "time decreases");
				before = e->time.v;
				c->events++;
				if (e->record &&
				    !trace_event_print(r->stream, e, c->ours.buf,
						       sizeof(c->ours.buf)) &&
				    c->trace->types[e->type].nr_fields)
					differ(c, r->stream, e, "cannot be printed");
			}
		}
		cursor_release(&piece);
	}
}

static void compare_trace(struct compare *c, bool alone)
{
	struct error err = {0};
	uint64_t lost;

	if (trace_open(&c->trace, c->path, &err)) {
		printf("%s\n", err.text);
		c->differences++;
		return;
	}
	c->readers = calloc(c->trace->nr_streams + 1, sizeof(*c->readers));
	for (unsigned i = 0; i < c->trace->nr_streams; i++) {
		struct reader *r = &c->readers[i];

		r->stream = &c->trace->streams[i];
		if (cursor_init(&r->cursor, r->stream, 0, UINT32_MAX, 0, &err))
			abort();
	}
	if (alone) {
		for (unsigned i = 0; i < c->trace->nr_streams; i++)
			check_alone(c, &c->readers[i]);
	} else {
		run_graph(c);
	}
	lost = drain(c);
	if (!alone && lost != c->peer_lost) {
		printf("%s: %" PRIu64 " events lost, babeltrace2 says %" PRIu64 "\n", c->path, lost,
		       c->peer_lost);
		c->differences++;
	}
	printf("%s: %" PRIu64 " events, %" PRIu64 " fields, %" PRIu64 " arguments, %" PRIu64
	       " lost: %" PRIu64 " differences%s\n",
	       c->path, c->events, c->peer.fields, c->args, lost, c->differences,
	       alone ? " (alone)" : "");
	if (c->peer.stale)
		printf("  %" PRIu64 " empty strings that babeltrace2 shows with the text of an "
		       "earlier one\n",
		       c->peer.stale);
	for (unsigned i = 0; i < c->trace->problems.nr; i++)
		printf("  problem: %s\n", c->trace->problems.list[i].text);
	for (unsigned i = 0; i < c->trace->nr_streams; i++)
		cursor_release(&c->readers[i].cursor);
	free(c->readers);
	trace_release(c->trace);
}

int main(int argc, char **argv)
{
	uint64_t events = 0, fields = 0, args = 0, differences = 0;
	bool alone = argc > 1 && !strcmp(argv[1], "-n");

	for (int i = 1 + alone; i < argc; i++) {
		struct compare *c = calloc(1, sizeof(*c));

		if (!c)
			abort();
		c->path = argv[i];
		compare_trace(c, alone);
		events += c->events;
		fields += c->peer.fields;
		args += c->args;
		differences += c->differences;
		free(c);
	}
	printf("%" PRIu64 " events, %" PRIu64 " fields, %" PRIu64 " arguments: %" PRIu64
	       " differences\n",
	       events, fields, args, differences);
	return differences || !events;
}
