/* SPDX-License-Identifier: Apache-2.0 */
#include "merge/merge.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "source/seam.h"

enum batch_state {
	BATCH_EMPTY,   /* waits to be filled */
	BATCH_FILLING, /* somebody works on it, without the lock */
	BATCH_READY,   /* filled; nr == 0 means the stream has ended */
};

struct batch {
	struct event *events;
	ns_t *times;
	unsigned nr;
	uint32_t packet; /* the cursor's packet after filling, for progress */
	enum batch_state state;
};

/* One stream on its way through the merge. */
struct feed {
	struct cursor cursor;
	struct seam seam;
	const struct clock_model *clock;
	struct batch batches[2];
	unsigned front;	      /* which batch the merge reads; the other is filled ahead */
	unsigned at;	      /* next event of the front batch */
	ns_t last;	      /* last time handed to a batch: times never step back */
	uint32_t packet_done; /* for progress */
	struct feed *queue_next;
};

/* A stream's next event, as the heap sees it: earlier time first, then lower rank. */
struct head {
	ns_t time;
	unsigned feed;
};

struct merge {
	struct feed *feeds;
	unsigned nr_feeds;
	unsigned *rank; /* of each feed among equal times */
	struct head *heap;
	unsigned nr_heap;
	unsigned pending; /* events of the run last handed out, still to be stepped over */
	uint64_t bytes_total;
	uint64_t bytes_done;

	pthread_t *workers;
	unsigned nr_workers;
	pthread_mutex_t lock;
	pthread_cond_t work;  /* the queue is not empty, or we stop */
	pthread_cond_t ready; /* a batch became ready */
	struct feed *queue_head;
	struct feed *queue_tail;
	bool stopping;
};

/* What e shows of what is in front of it; false: the event at hand says so itself. */
static bool needs_gap(struct seam *seam, struct event *e, ticks_t *from)
{
	if (!seam_breaks(seam, e, from))
		return false;
	if (e->kind != EV_LOST)
		return true;
	seam_widen(e, *from);
	return false;
}

/* Puts the gaps that the events show between them; there is room for one before each. */
static void show_seams(struct seam *seam, struct batch *b)
{
	uint16_t at[MERGE_BATCH];
	ticks_t from[MERGE_BATCH];
	unsigned nr = 0, end = b->nr;

	for (unsigned i = 0; i < b->nr; i++) {
		at[nr] = (uint16_t)i;
		nr += needs_gap(seam, &b->events[i], &from[nr]);
	}
	b->nr += nr;
	while (nr--) {
		struct event *first = &b->events[at[nr]];

		memmove(first + nr + 1, first, (end - at[nr]) * sizeof(*first));
		first[nr] = seam_lost(from[nr], first[nr + 1].time);
		end = at[nr];
	}
}

static void fill(struct feed *f, struct batch *b)
{
	b->nr = cursor_next(&f->cursor, b->events, MERGE_BATCH);
	show_seams(&f->seam, b);
	b->packet = f->cursor.packet;
	clock_map(f->clock, b->events, b->nr, b->times);
	/* A clock model may step back between two of its pieces; the merged stream must not. */
	for (unsigned i = 0; i < b->nr; i++) {
		if (unlikely(b->times[i] < f->last))
			b->times[i] = f->last;
		f->last = b->times[i];
	}
}

/* ---- the queue of batches to fill; all under the lock -------------------------------------- */

static void queue_push(struct merge *m, struct feed *f)
{
	f->queue_next = NULL;
	if (m->queue_tail)
		m->queue_tail->queue_next = f;
	else
		m->queue_head = f;
	m->queue_tail = f;
	pthread_cond_signal(&m->work);
}

static struct feed *queue_pop(struct merge *m)
{
	struct feed *f = m->queue_head;

	if (!f)
		return NULL;
	m->queue_head = f->queue_next;
	if (!m->queue_head)
		m->queue_tail = NULL;
	return f;
}

static void queue_remove(struct merge *m, struct feed *gone)
{
	struct feed **link = &m->queue_head;
	struct feed *before = NULL;

	while (*link && *link != gone) {
		before = *link;
		link = &before->queue_next;
	}
	if (!*link)
		return;
	*link = gone->queue_next;
	if (m->queue_tail == gone)
		m->queue_tail = before;
}

static void *worker_main(void *data)
{
	struct merge *m = data;

	pthread_mutex_lock(&m->lock);
	while (!m->stopping) {
		struct feed *f = queue_pop(m);
		struct batch *b;

		if (!f) {
			pthread_cond_wait(&m->work, &m->lock);
			continue;
		}
		b = &f->batches[!f->front];
		b->state = BATCH_FILLING;
		pthread_mutex_unlock(&m->lock);
		fill(f, b);
		pthread_mutex_lock(&m->lock);
		b->state = BATCH_READY;
		pthread_cond_broadcast(&m->ready);
	}
	pthread_mutex_unlock(&m->lock);
	return NULL;
}

/* Makes the batch that was filled ahead the front one, filling it here if no worker has begun. */
static void turn_over(struct merge *m, struct feed *f)
{
	struct batch *next = &f->batches[!f->front];

	pthread_mutex_lock(&m->lock);
	while (next->state != BATCH_READY) {
		if (next->state == BATCH_EMPTY) {
			queue_remove(m, f);
			next->state = BATCH_FILLING;
			pthread_mutex_unlock(&m->lock);
			fill(f, next);
			pthread_mutex_lock(&m->lock);
			next->state = BATCH_READY;
		} else {
			pthread_cond_wait(&m->ready, &m->lock);
		}
	}
	f->batches[f->front].state = BATCH_EMPTY;
	f->front = !f->front;
	f->at = 0;
	if (next->nr && m->nr_workers)
		queue_push(m, f);
	pthread_mutex_unlock(&m->lock);
}

/* ---- the heap of heads --------------------------------------------------------------------- */

static bool before(const struct merge *m, const struct head *a, const struct head *b)
{
	if (a->time != b->time)
		return a->time < b->time;
	return m->rank[a->feed] < m->rank[b->feed];
}

static void sift_down(struct merge *m, unsigned i)
{
	struct head moving = m->heap[i];

	for (;;) {
		unsigned child = 2 * i + 1;

		if (child >= m->nr_heap)
			break;
		if (child + 1 < m->nr_heap && before(m, &m->heap[child + 1], &m->heap[child]))
			child++;
		if (!before(m, &m->heap[child], &moving))
			break;
		m->heap[i] = m->heap[child];
		i = child;
	}
	m->heap[i] = moving;
}

static void count_progress(struct merge *m, struct feed *f)
{
	const struct stream *s = f->cursor.stream;
	uint32_t packet = f->batches[f->front].packet;

	for (; f->packet_done < packet && f->packet_done < s->nr_packets; f->packet_done++)
		m->bytes_done += s->packets[f->packet_done].len_bytes;
}

/* Steps over what the last run handed out and puts the stream's new head in its place. */
static void finish_run(struct merge *m)
{
	struct feed *f = &m->feeds[m->heap[0].feed];

	f->at += m->pending;
	m->pending = 0;
	if (f->at == f->batches[f->front].nr) {
		count_progress(m, f);
		turn_over(m, f);
		if (!f->batches[f->front].nr) {
			m->heap[0] = m->heap[--m->nr_heap];
			if (m->nr_heap)
				sift_down(m, 0);
			return;
		}
	}
	m->heap[0].time = f->batches[f->front].times[f->at];
	sift_down(m, 0);
}

static const struct head *second(const struct merge *m)
{
	if (m->nr_heap < 2)
		return NULL;
	if (m->nr_heap > 2 && before(m, &m->heap[2], &m->heap[1]))
		return &m->heap[2];
	return &m->heap[1];
}

bool merge_next(struct merge *m, struct run *run)
{
	const struct head *rival;
	struct batch *b;
	struct feed *f;
	unsigned end;

	if (m->pending)
		finish_run(m);
	if (!m->nr_heap)
		return false;
	f = &m->feeds[m->heap[0].feed];
	b = &f->batches[f->front];
	rival = second(m);
	end = f->at + 1;
	if (!rival) {
		end = b->nr;
	} else {
		/* The rival's time itself still belongs to us when we rank before it. */
		bool first = m->rank[m->heap[0].feed] < m->rank[rival->feed];
		ns_t limit = rival->time;

		while (end < b->nr && (b->times[end] < limit || (first && b->times[end] == limit)))
			end++;
	}
	run->events = b->events + f->at;
	run->times = b->times + f->at;
	run->nr = end - f->at;
	run->input = m->heap[0].feed;
	m->pending = run->nr;
	return true;
}

double merge_progress(const struct merge *m)
{
	return m->bytes_total ? (double)m->bytes_done / (double)m->bytes_total : 1.0;
}

/* ---- opening and closing ------------------------------------------------------------------- */

struct rank_key {
	unsigned machine;
	int cpu;
	unsigned feed;
};

static int compare_rank(const void *a, const void *b)
{
	const struct rank_key *x = a, *y = b;

	if (x->machine != y->machine)
		return x->machine < y->machine ? -1 : 1;
	if (x->cpu != y->cpu)
		return x->cpu < y->cpu ? -1 : 1;
	return x->feed < y->feed ? -1 : x->feed > y->feed;
}

static int make_ranks(struct merge *m, const struct merge_input *inputs)
{
	struct rank_key *keys = calloc(m->nr_feeds, sizeof(*keys));

	m->rank = calloc(m->nr_feeds, sizeof(*m->rank));
	if (!keys || !m->rank) {
		free(keys);
		return -ENOMEM;
	}
	for (unsigned i = 0; i < m->nr_feeds; i++)
		keys[i] = (struct rank_key){inputs[i].machine, inputs[i].stream->cpu, i};
	qsort(keys, m->nr_feeds, sizeof(*keys), compare_rank);
	for (unsigned i = 0; i < m->nr_feeds; i++)
		m->rank[keys[i].feed] = i;
	free(keys);
	return 0;
}

static int feed_open(struct feed *f, const struct merge_input *in, kinds_t want, struct error *err)
{
	int ret;

	for (unsigned i = 0; i < 2; i++) {
		f->batches[i].events = aligned_alloc(64, 2 * MERGE_BATCH * sizeof(struct event));
		f->batches[i].times = malloc(2 * MERGE_BATCH * sizeof(ns_t));
		if (!f->batches[i].events || !f->batches[i].times)
			return fail(err, -ENOMEM, "out of memory for the streams' buffers");
	}
	f->clock = in->clock;
	f->last = NS_MIN;
	f->seam = SEAM_INIT;
	f->packet_done = in->first_packet;
	ret = cursor_init(&f->cursor, in->stream, in->first_packet,
			  in->stream->nr_packets - in->first_packet, want, err);
	f->cursor.shows_seams = true;
	return ret;
}

static void start_workers(struct merge *m, unsigned threads)
{
	m->workers = calloc(threads, sizeof(*m->workers));
	if (!m->workers)
		return;
	for (unsigned i = 0; i < threads; i++) {
		if (pthread_create(&m->workers[i], NULL, worker_main, m))
			break; /* fewer workers are slower, not wrong */
		m->nr_workers++;
	}
}

/* Fills every stream's first batch and builds the heap. */
static void prime(struct merge *m)
{
	pthread_mutex_lock(&m->lock);
	for (unsigned i = 0; m->nr_workers && i < m->nr_feeds; i++)
		queue_push(m, &m->feeds[i]);
	pthread_mutex_unlock(&m->lock);
	for (unsigned i = 0; i < m->nr_feeds; i++) {
		struct feed *f = &m->feeds[i];

		turn_over(m, f);
		if (f->batches[f->front].nr)
			m->heap[m->nr_heap++] = (struct head){f->batches[f->front].times[0], i};
	}
	for (unsigned i = m->nr_heap; i-- > 0;)
		sift_down(m, i);
}

int merge_open(struct merge **out, const struct merge_input *inputs, unsigned nr, kinds_t want,
	       unsigned threads, struct error *err)
{
	struct merge *m = calloc(1, sizeof(*m));
	int ret = 0;

	*out = NULL;
	if (!m)
		return fail(err, -ENOMEM, "out of memory");
	pthread_mutex_init(&m->lock, NULL);
	pthread_cond_init(&m->work, NULL);
	pthread_cond_init(&m->ready, NULL);
	m->feeds = calloc(nr + 1, sizeof(*m->feeds));
	m->heap = calloc(nr + 1, sizeof(*m->heap));
	m->nr_feeds = nr;
	if (!m->feeds || !m->heap || make_ranks(m, inputs)) {
		ret = fail(err, -ENOMEM, "out of memory for %u streams", nr);
		goto out;
	}
	for (unsigned i = 0; i < nr && !ret; i++) {
		ret = feed_open(&m->feeds[i], &inputs[i], want, err);
		for (uint32_t p = inputs[i].first_packet; p < inputs[i].stream->nr_packets; p++)
			m->bytes_total += inputs[i].stream->packets[p].len_bytes;
	}
	if (ret)
		goto out;
	if (threads && nr) /* one decodes a stream at a time: more would have nothing to do */
		start_workers(m, threads < nr ? threads : nr);
	prime(m);
	*out = m;
	m = NULL;
out:
	merge_close(m);
	return ret;
}

void merge_close(struct merge *m)
{
	if (!m)
		return;
	pthread_mutex_lock(&m->lock);
	m->stopping = true;
	pthread_cond_broadcast(&m->work);
	pthread_mutex_unlock(&m->lock);
	for (unsigned i = 0; i < m->nr_workers; i++)
		pthread_join(m->workers[i], NULL);
	for (unsigned i = 0; m->feeds && i < m->nr_feeds; i++) {
		cursor_release(&m->feeds[i].cursor);
		for (unsigned b = 0; b < 2; b++) {
			free(m->feeds[i].batches[b].events);
			free(m->feeds[i].batches[b].times);
		}
	}
	pthread_cond_destroy(&m->ready);
	pthread_cond_destroy(&m->work);
	pthread_mutex_destroy(&m->lock);
	free(m->workers);
	free(m->rank);
	free(m->heap);
	free(m->feeds);
	free(m);
}
