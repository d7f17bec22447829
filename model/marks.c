/* SPDX-License-Identifier: Apache-2.0 */
#include "model/marks.h"

#include <string.h>

/* A guest may mark without end; what is kept of it is not. */
#define MARKS_MAX (4u << 20)

/* ... nor is all of a line. */
#define LINE_MAX_BYTES 80

static void add(struct model *m, struct cpu *cpu, const char *text, size_t len_bytes, int kind,
		uint32_t id, bool by_host)
{
	struct mark *mark;

	if (m->nr_marks >= MARKS_MAX) {
		m->marks_dropped++;
		return;
	}
	if (model_grow(m, (void **)&m->marks, m->nr_marks, &m->marks_room, sizeof(*m->marks)))
		return;
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
