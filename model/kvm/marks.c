/* SPDX-License-Identifier: Apache-2.0 */
#include "model/kvm/marks.h"

#include <string.h>

#include "base/text.h"
#include "model/identity/namespace.h"
#include "model/identity/tid.h"

/* A guest may mark without end; what is kept of it is not. */
#define MARKS_MAX (4u << 20)

/* ... nor is all of a line. */
#define LINE_MAX_BYTES 80

static struct mark *add(struct model *m, struct cpu *cpu, const char *text, size_t len_bytes,
			int kind, uint32_t id, bool by_host)
{
	struct mark *mark;

	if (m->nr_marks >= MARKS_MAX) {
		m->marks_dropped++;
		return NULL;
	}
	if (model_grow(m, (void **)&m->marks, m->nr_marks, &m->marks_room, sizeof(*m->marks)))
		return NULL;
	mark = &m->marks[m->nr_marks++];
	*mark = (struct mark){
		.at = m->now,
		.cpu = cpu,
		.thread = cpu->thread,
		.kind = (uint8_t)kind,
		.by_host = by_host,
		.id = id,
		.text = history_writer_string(m->w, text, len_bytes),
	};
	return mark;
}

void mark_call(struct cpu *cpu, const struct ht_mark_call *mark)
{
	add(cpu->machine->model, cpu, mark->text, strlen(mark->text), mark->kind, mark->id, true);
}

/* Text that somebody wrote into the machine's trace (trace_marker) and that is no state line. */
void mark_line(struct cpu *cpu, const struct event *e)
{
	struct state_line line;
	const char *text;
	size_t len;

	if (!state_line_text(cpu->machine->model->stream, e, &text, &len) ||
	    state_line_parse(&line, text, len))
		return;
	len = strnlen(text, len < LINE_MAX_BYTES ? len : LINE_MAX_BYTES);
	while (len && text[len - 1] == '\n')
		len--;
	if (len)
		add(cpu->machine->model, cpu, text, len, 0, 0, false);
}

void mark_event(struct cpu *cpu, const struct event *e)
{
	struct model *m = cpu->machine->model;
	struct field_value text;

	if (trace_event_field(m->stream, e, "text", &text) || text.cls != FIELD_STRING)
		return;
	add(m, cpu, text.text, strnlen(text.text, text.len), (int)(e->arg[0] & 3),
	    (uint32_t)e->arg[1], false);
}

/* The numbers that a process has for itself. */
static bool knows_itself_as(const struct thread *th, int64_t vtid, int64_t vpid)
{
	bool nested = namespace_tid(th) != th->tid;

	return th->tid > 0 && namespace_tid(th) == vtid &&
	       (!vpid || th->pid < 0 || nested || th->pid == vpid);
}

static struct thread *user_thread(const struct cpu *cpu, const struct event *e, const char *name)
{
	struct thread *here = cpu->thread, *other;
	int64_t vtid = e->arg[2], vpid = e->arg[3];

	if (!vtid)
		return here && here->tid > 0 ? here : NULL;
	if (here && knows_itself_as(here, vtid, vpid))
		return here;
	if (vtid < 0 || vtid > INT32_MAX)
		return NULL;
	other = thread_find(cpu->machine, (int32_t)vtid);
	return other && knows_itself_as(other, vtid, vpid) && !strncmp(other->comm, name, COMM_LEN)
		       ? other
		       : NULL;
}

/* Fields of an event, without its context, which comes last. */
static void print_payload(const struct model *m, const struct event *e, char *buf, size_t room)
{
	static const char context[] = "context={";
	char *last = NULL;

	trace_event_print(m->stream, e, buf, room);
	for (char *at = strstr(buf, context); at; at = strstr(at + 1, context))
		last = at;
	if (last)
		*last = '\0';
}

/* "provider:event field=value ...", behind "name[number] " when the thread is not known. */
static size_t user_text(const struct model *m, const struct event *e, const char *owner, char *buf,
			size_t room)
{
	char fields[4 * LINE_MAX_BYTES];
	struct text t = text_in(buf, room);
	size_t len;

	print_payload(m, e, fields, sizeof(fields));
	if (owner) {
		text_str(&t, owner);
		text_char(&t, '[');
		text_i64(&t, e->arg[2]);
		text_str(&t, "] ");
	}
	text_str(&t, m->stream->trace->types[e->type].name);
	if (fields[0])
		text_char(&t, ' ');
	text_str(&t, fields);
	text_end(&t, room);
	len = strnlen(buf, room);
	while (len && buf[len - 1] == ' ')
		len--;
	return len;
}

/* What joins a request's events: a number that their provider calls "id". */
static uint32_t user_id(const struct model *m, const struct event *e)
{
	struct field_value id;

	if (trace_event_field(m->stream, e, "id", &id) ||
	    (id.cls != FIELD_INT && id.cls != FIELD_UINT) || id.i < 0 || id.i > UINT32_MAX)
		return 0;
	return (uint32_t)id.i;
}

void mark_user(struct cpu *cpu, const struct event *e)
{
	struct model *m = cpu->machine->model;
	char text[LINE_MAX_BYTES + 1], owner[COMM_LEN] = "";
	struct field_value name;
	struct thread *th;
	struct mark *mark;
	size_t len;

	if (!trace_event_field(m->stream, e, "procname", &name) && name.cls == FIELD_STRING)
		memcpy(owner, name.text,
		       strnlen(name.text, name.len < COMM_LEN - 1 ? name.len : COMM_LEN - 1));
	th = user_thread(cpu, e, owner);
	len = user_text(m, e, !th && e->arg[2] ? owner : NULL, text, sizeof(text));
	mark = add(m, cpu, text, len, 0, user_id(m, e), false);
	if (mark)
		mark->thread = th;
}
