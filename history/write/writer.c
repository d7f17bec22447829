/* SPDX-License-Identifier: Apache-2.0 */
#include "history/history.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "history/write/encoder.h"
#include "history/parts/names.h"

/*
 * The writer's side that callers see.  Changes go to the open batch; a full batch goes to the
 * encoder, in a thread of its own when there is one.  Batches circulate: open -> queued -> free.
 * When all are queued the caller waits, which bounds memory.
 */
#define NR_BATCHES 3

struct history_writer {
	struct outfile file;
	struct encoder *encoder;
	struct names names;
	uint32_t *current; /* value of each attribute */
	uint32_t nr_current, current_room;
	struct batch batches[NR_BATCHES];
	struct batch *open;
	uint32_t nr_flags; /* attributes whose flags the encoder has */
	bool any, failed;
	bool ended; /* everything before is with the file */
	bool late;  /* rows came since */
	ns_t first, last;
	void (*sync)(void *data); /* NULL: none */
	void *sync_data;

	bool threaded;
	pthread_t thread;
	pthread_mutex_t lock; /* guards what follows */
	pthread_cond_t wake;
	struct batch *queue, **queue_end;
	struct batch *free;
	bool stop;
};

static void *encode_loop(void *arg)
{
	struct history_writer *w = arg;

	pthread_mutex_lock(&w->lock);
	for (;;) {
		struct batch *b = w->queue;

		if (!b && w->stop)
			break;
		if (!b) {
			pthread_cond_wait(&w->wake, &w->lock);
			continue;
		}
		w->queue = b->next;
		if (!w->queue)
			w->queue_end = &w->queue;
		pthread_mutex_unlock(&w->lock);
		encoder_batch(w->encoder, b);
		pthread_mutex_lock(&w->lock);
		b->next = w->free;
		w->free = b;
		pthread_cond_broadcast(&w->wake);
	}
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

static void start_thread(struct history_writer *w)
{
	w->queue_end = &w->queue;
	for (unsigned i = 1; i < NR_BATCHES; i++) {
		w->batches[i].next = w->free;
		w->free = &w->batches[i];
	}
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->wake, NULL);
	w->threaded = !pthread_create(&w->thread, NULL, encode_loop, w);
}

static bool sync_attrs(struct history_writer *w)
{
	uint32_t nr = w->names.nr_attrs;

	if (nr > w->current_room) {
		uint32_t room = w->current_room ? w->current_room * 2 : 256;
		uint32_t *p;

		while (room < nr)
			room *= 2;
		p = realloc(w->current, room * sizeof(*p));
		if (!p)
			return false;
		w->current = p;
		w->current_room = room;
	}
	while (w->nr_current < nr)
		w->current[w->nr_current++] = 0;
	return true;
}

int history_writer_open(struct history_writer **out, const char *path,
			const struct history_writer_options *opt, struct error *err)
{
	struct history_writer *w = calloc(1, sizeof(*w));
	uint32_t flags = (opt->ticks_are_ns ? FILE_TICKS_ARE_NS : 0) |
			 (opt->wall_known ? FILE_WALL_KNOWN : 0);
	int ret;

	if (!w)
		return fail(err, -ENOMEM, "no memory to write %s", path);
	ret = outfile_open(&w->file, path, flags, opt->wall_known ? opt->wall_offset_ns : 0, err);
	if (ret) {
		free(w);
		return ret;
	}
	w->open = &w->batches[0];
	w->first = w->last = -FORMAT_TIME_MAX;
	if (names_init(&w->names) || !sync_attrs(w) || encoder_new(&w->encoder, &w->file))
		w->failed = true;
	else if (opt->threads)
		start_thread(w);
	if (w->failed) {
		history_writer_close(w, 0, NULL);
		return fail(err, -ENOMEM, "no memory to write %s", path);
	}
	*out = w;
	return 0;
}

attr_t history_writer_attr(struct history_writer *w, attr_t parent, const char *name,
			   enum attr_type type, unsigned flags)
{
	uint32_t id;
	attr_t attr;

	if (parent >= w->names.nr_attrs)
		return ATTR_NONE;
	id = strings_put(&w->names.strings, name, strlen(name));
	attr = id == UINT32_MAX ? ATTR_NONE : names_attr(&w->names, parent, id, type, flags);
	if (attr == ATTR_NONE || !sync_attrs(w)) {
		w->failed = true;
		return ATTR_NONE;
	}
	return attr;
}

uint32_t history_writer_string(struct history_writer *w, const char *text, size_t len_bytes)
{
	uint32_t id = strings_put(&w->names.strings, text, len_bytes);

	if (id == UINT32_MAX)
		w->failed = true;
	return id == UINT32_MAX ? 0 : id;
}

/* The flags of attributes that are new to the encoder. */
static bool put_flags(struct history_writer *w, struct batch *b)
{
	b->nr_attrs = w->names.nr_attrs;
	b->first_flag = w->nr_flags;
	if (b->nr_attrs - b->first_flag > b->flag_room) {
		free(b->flags);
		b->flag_room = b->nr_attrs - b->first_flag;
		b->flags = malloc(b->flag_room);
		if (!b->flags) {
			b->flag_room = 0;
			return false;
		}
	}
	for (uint32_t i = b->first_flag; i < b->nr_attrs; i++)
		b->flags[i - b->first_flag] = w->names.attrs[i].flags;
	w->nr_flags = b->nr_attrs;
	return true;
}

static struct batch *take_free(struct history_writer *w)
{
	struct batch *b;

	pthread_mutex_lock(&w->lock);
	while (!w->free)
		pthread_cond_wait(&w->wake, &w->lock);
	b = w->free;
	w->free = b->next;
	pthread_mutex_unlock(&w->lock);
	return b;
}

static void enqueue(struct history_writer *w, struct batch *b)
{
	pthread_mutex_lock(&w->lock);
	b->next = NULL;
	*w->queue_end = b;
	w->queue_end = &b->next;
	pthread_cond_broadcast(&w->wake);
	pthread_mutex_unlock(&w->lock);
}

/* Gives the open batch, which is not empty, to the encoder. */
static void hand_over(struct history_writer *w, ns_t end, bool last)
{
	struct batch *b = w->open;

	if (w->sync)
		w->sync(w->sync_data);
	b->end = end;
	b->last = last;
	if (!put_flags(w, b))
		w->failed = true;
	bytes_clear(&b->names);
	names_put(&w->names, &b->names);
	if (w->failed) {
		/* The encoder could go wrong on what is missing: stop here, close() tells. */
	} else if (w->threaded) {
		enqueue(w, b);
		w->open = take_free(w);
	} else {
		encoder_batch(w->encoder, b);
	}
	w->open->nr = 0;
}

static bool batch_room(struct batch *b)
{
	uint32_t room = b->room ? b->room * 2 : SLICE_CHANGES + 1024;
	void *p = room < b->room ? NULL : realloc(b->changes, room * sizeof(*b->changes));

	if (!p)
		return false;
	b->changes = p;
	b->room = room;
	return true;
}

void history_writer_set(struct history_writer *w, attr_t attr, ns_t t, uint32_t value)
{
	struct batch *b = w->open;

	if (unlikely(attr >= w->nr_current) || w->current[attr] == value)
		return;
	if (unlikely(t < w->last))
		t = w->last;
	if (unlikely(t > FORMAT_TIME_MAX))
		t = FORMAT_TIME_MAX;
	if (unlikely(b->nr >= SLICE_CHANGES) && t > w->last) {
		hand_over(w, t, false);
		b = w->open;
	}
	if (unlikely(b->nr == b->room) && !batch_room(b)) {
		w->failed = true;
		return;
	}
	if (unlikely(!w->any)) {
		w->any = true;
		w->first = t;
	}
	w->current[attr] = value;
	w->last = t;
	b->changes[b->nr++] = (struct change){.t = t, .attr = attr, .value = value};
}

int history_writer_table(struct history_writer *w, const char *name, const struct column *columns,
			 unsigned nr_columns)
{
	uint32_t column_names[NAMES_COLUMNS_MAX];
	enum column_type types[NAMES_COLUMNS_MAX];
	int table;

	if (nr_columns > NAMES_COLUMNS_MAX)
		return -EINVAL;
	for (unsigned i = 0; i < nr_columns; i++) {
		column_names[i] =
			history_writer_string(w, columns[i].name, strlen(columns[i].name));
		types[i] = columns[i].type;
	}
	table = names_table(&w->names, history_writer_string(w, name, strlen(name)), column_names,
			    types, nr_columns);
	if (table == -ENOMEM)
		w->failed = true;
	return table;
}

int history_writer_table_named(struct history_writer *w, const char *name)
{
	uint32_t id = names_find(&w->names, name, strlen(name));

	for (unsigned i = 0; i < w->names.nr_tables && id != UINT32_MAX; i++) {
		if (w->names.tables[i].name == id)
			return (int)i;
	}
	return -ENOENT;
}

int64_t history_writer_row(struct history_writer *w, int table, const int64_t *cells)
{
	if (table < 0 || (unsigned)table >= w->names.nr_tables)
		return -EINVAL;
	w->late |= w->ended;
	if (names_row(&w->names.tables[table], cells)) {
		w->failed = true;
		return -ENOMEM;
	}
	return w->names.tables[table].nr_rows - 1;
}

void history_writer_cell(struct history_writer *w, int table, int64_t row, unsigned column,
			 int64_t cell)
{
	if (table < 0 || (unsigned)table >= w->names.nr_tables)
		return;
	if (names_cell(&w->names.tables[table], row, column, cell) == -ENOMEM)
		w->failed = true;
}

void history_writer_change_row(struct history_writer *w, int table, int64_t row,
			       const int64_t *cells)
{
	if (table < 0 || (unsigned)table >= w->names.nr_tables)
		return;
	if (names_change_row(&w->names.tables[table], row, cells) == -ENOMEM)
		w->failed = true;
}

void history_writer_end_table(struct history_writer *w, int table, int64_t nr_rows)
{
	if (table < 0 || (unsigned)table >= w->names.nr_tables)
		return;
	if (names_end_table(&w->names.tables[table], nr_rows) == -ENOMEM)
		w->failed = true;
}

void history_writer_before_batch(struct history_writer *w, void (*sync)(void *data), void *data)
{
	w->sync = sync;
	w->sync_data = data;
}

static void stop_thread(struct history_writer *w)
{
	if (!w->threaded)
		return;
	pthread_mutex_lock(&w->lock);
	w->stop = true;
	pthread_cond_broadcast(&w->wake);
	pthread_mutex_unlock(&w->lock);
	pthread_join(w->thread, NULL);
	pthread_mutex_destroy(&w->lock);
	pthread_cond_destroy(&w->wake);
}

static void write_names(struct history_writer *w)
{
	struct bytes plain = {0}, packed = {0};

	names_put(&w->names, &plain);
	names_pack(&plain, &packed);
	outfile_part(&w->file, PART_NAMES, 0, w->last, w->last, &packed);
	bytes_release(&plain);
	bytes_release(&packed);
}

void history_writer_end(struct history_writer *w, ns_t end)
{
	if (w->ended)
		return;
	if (end < w->last)
		end = w->last;
	if (end > FORMAT_TIME_MAX)
		end = FORMAT_TIME_MAX;
	if (!w->failed && w->any)
		hand_over(w, end, true);
	stop_thread(w);
	w->threaded = false;
	w->last = end;
	w->ended = true;
	if (!w->failed && !w->any) /* nothing ever changed; there still are names */
		write_names(w);
	if (!w->failed && w->any)
		encoder_finish(w->encoder, end);
}

int history_writer_close(struct history_writer *w, ns_t end, struct error *err)
{
	int ret;

	history_writer_end(w, end);
	if (!w->failed && w->late)
		write_names(w);
	if (!w->failed)
		outfile_finish(&w->file, w->any ? w->first : w->last, w->last);
	else
		fail(&w->file.error, -ENOMEM, "no memory to write %s", w->file.path);
	ret = outfile_close(&w->file, err);
	encoder_free(w->encoder);
	names_release(&w->names);
	free(w->current);
	for (unsigned i = 0; i < NR_BATCHES; i++) {
		free(w->batches[i].changes);
		free(w->batches[i].flags);
		bytes_release(&w->batches[i].names);
	}
	free(w);
	return ret;
}
