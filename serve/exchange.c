/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/exchange.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Of a question that two workers answer, the second part. */
struct other {
	struct job job;
	struct exchange *exchange;
};

unsigned exchange_take_body(struct exchange *x, const char *data, size_t len)
{
	char *body;

	if (!x->tsp || len > TSP_BODY_MAX - x->body_bytes)
		return 413;
	body = realloc(x->body, x->body_bytes + len);
	if (!body)
		return 503;
	memcpy(body + x->body_bytes, data, len);
	x->body = body;
	x->body_bytes += len;
	return 0;
}

/* ---- with the workers ---------------------------------------------------------------------- */

static enum MHD_Result take_param(void *data, enum MHD_ValueKind kind, const char *name,
				  const char *value)
{
	(void)kind;
	request_add(data, name, value);
	return MHD_YES;
}

static int64_t most(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static void join(struct exchange *x)
{
	struct send_times *t = &x->job.times, *other = &x->other->job.times;

	endpoint_join(&x->job.reply, &x->other->job.reply);
	t->wait_ns = most(t->wait_ns, other->wait_ns);
	t->answer_ns = most(t->answer_ns, other->answer_ns);
	t->cpu_ns += other->cpu_ns;
}

/* Called by the worker whose part is there. */
static void part_came(struct exchange *x)
{
	if (atomic_fetch_sub(&x->to_come, 1) > 1)
		return;
	if (x->other)
		join(x);
	x->answered = true;
	MHD_resume_connection(x->connection);
}

static void on_answer(struct job *job)
{
	part_came((struct exchange *)job);
}

static void on_other_answer(struct job *job)
{
	part_came(((struct other *)job)->exchange);
}

static void answer_part(const struct exchange *x, struct job *job, const struct readers *readers)
{
	endpoint_answer(x->endpoint, readers->histories[x->run], &readers->kept[x->run],
			sonde_history_path(readers->histories[x->run]), &job->request, &job->reply);
}

static void answer_page(struct job *job, const struct readers *readers)
{
	answer_part((struct exchange *)job, job, readers);
}

static void answer_other(struct job *job, const struct readers *readers)
{
	answer_part(((struct other *)job)->exchange, job, readers);
}

static void answer_tsp(struct job *job, const struct readers *readers)
{
	struct exchange *x = (struct exchange *)job;

	tsp_answer(x->tsp, &x->route, x->body, x->body_bytes, &job->request, readers, &job->reply);
}

static void push_job(struct queue *q, struct job *job)
{
	int ret = queue_push(q, job);

	if (!ret)
		return;
	reply_fail(&job->reply, 503,
		   ret == -ESHUTDOWN ? "the server is ending" : "too many questions at a time");
	job->done(job);
}

/* A picture of many rows is made by as many workers as there are for pictures, which is two. */
static void split(struct exchange *x)
{
	struct other *o;

	if (x->tsp || !endpoint_splits(x->endpoint, &x->job.request))
		return;
	o = calloc(1, sizeof(*o));
	if (!o)
		return;
	o->exchange = x;
	o->job.line = x->job.line;
	o->job.question = x;
	o->job.answer = answer_other;
	o->job.done = on_other_answer;
	request_name(&o->job.request, x->endpoint->name);
	MHD_get_connection_values(x->connection, MHD_GET_ARGUMENT_KIND, take_param,
				  &o->job.request);
	o->job.request.part = PART_ODD;
	x->job.question = x;
	x->job.request.part = PART_EVEN;
	x->other = o;
}

enum MHD_Result exchange_push(struct exchange *x, struct queue *q)
{
	struct other *other;

	MHD_get_connection_values(x->connection, MHD_GET_ARGUMENT_KIND, take_param,
				  &x->job.request);
	if (x->job.request.too_long)
		return refuse(x->connection, x->also, 413);
	x->job.answer = x->tsp ? answer_tsp : answer_page;
	x->job.done = on_answer;
	x->asked = true;
	split(x);
	other = x->other;
	atomic_init(&x->to_come, other ? 2 : 1);
	/* Suspended first: the answer may be there before queue_push() returns, and @x is gone. */
	MHD_suspend_connection(x->connection);
	push_job(q, &x->job);
	if (other)
		push_job(q, &other->job);
	return MHD_YES;
}

/* ---- the answer ---------------------------------------------------------------------------- */

enum MHD_Result exchange_reply(struct exchange *x)
{
	struct reply *r = &x->job.reply;
	char *body = r->body;

	if (!body)
		return refuse(x->connection, x->also, r->status ? r->status : 503);
	r->body = NULL;
	return send_bytes(x->connection, x->also, r->status, r->type, body, r->len_bytes,
			  MHD_RESPMEM_MUST_FREE, x->asked ? &x->job.times : NULL);
}

void exchange_free(struct exchange *x)
{
	if (!x)
		return;
	reply_release(&x->job.reply);
	if (x->other)
		reply_release(&x->other->job.reply);
	free(x->other);
	free(x->body);
	free(x);
}
