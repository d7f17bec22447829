/* SPDX-License-Identifier: Apache-2.0 */
#include "record/agent/agent_job.h"
#include "record/agent/agent.h"
#include "record/agent/agent_relay.h"
#include "record/agent/agent_rings.h"
#include "record/remote/wire_sink.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

/* A name and a comma each: more do not fit into a request. */
#define EVENTS_MAX (sizeof(((struct wire_request *)NULL)->events) / 2)
#define NOTE_BYTES 64
#define TICK_MS 1000
#define RINGS_TICK_MS 200 /* as for the host's own guests: a ring that is full is written over */
#define NS_PER_MS 1000000
#define NS_PER_S 1000000000

struct agent_job {
	struct wire_request request;
	const struct agent_options *opt;
	struct wire_sender *sender;
	struct agent_machines machines;
	struct wire_sink sink;
	pthread_t thread;
	int done_fd;
	bool done_sent; /* to be read after the thread's end */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	/* Below: under the lock; once stop is set nothing changes but recorder and relay. */
	bool stop;
	unsigned limit_ms;
	char note[NOTE_BYTES]; /* "" none */
	char early[256];       /* why it ended before it was asked to; "" it did not */
	struct recorder *recorder;
	struct agent_relay *relay;
	uint64_t rings_lost; /* events, in guests' memory */
};

/* What the recorder has to say is for who asked for the recording. */
static void on_notice(const char *text, void *data)
{
	struct agent_job *job = data;
	struct wire_text notice;

	snprintf(notice.text, sizeof(notice.text), "%.500s", text);
	wire_send_message(job->sender, WIRE_NOTICE, 0, WIRE_TEXT, &notice, NULL);
}

static enum record_tracer tracer_for(const struct agent_job *job)
{
	if (job->opt->module)
		return RECORD_HYPERTRACE;
	return job->request.tracer <= RECORD_HYPERTRACE ? (enum record_tracer)job->request.tracer
							: RECORD_FTRACE;
}

/* The request as the recorder wants it; @events holds what it points to. */
static void record_options(struct agent_job *job, struct record_options *o,
			   const char *events[EVENTS_MAX])
{
	struct wire_request *request = &job->request;
	char *save, *text = request->events;

	*o = (struct record_options){
		.tracer = tracer_for(job),
		.purpose = (unsigned)request->purpose,
		.events = events,
		.buffer_kb = (unsigned)request->buffer_kb,
		.clock = *request->clock ? request->clock : NULL,
		.limit_bytes = request->limit_bytes,
		.notice = on_notice,
		.notice_data = job,
	};
	for (char *name = strtok_r(text, ",", &save); name && o->nr_events < EVENTS_MAX;
	     name = strtok_r(NULL, ",", &save))
		events[o->nr_events++] = name;
}

static void send_done(struct agent_job *job, const struct record_cost *cost, const char *why)
{
	struct wire_cost done = {.complete = !*why};

	if (cost)
		done.cost = *cost;
	snprintf(done.why, sizeof(done.why), "%.250s", why);
	job->done_sent = !wire_send_message(job->sender, WIRE_DONE, 0, WIRE_COST, &done, NULL);
}

static void write_note(struct agent_job *job, const char *note)
{
	if (job->relay)
		agent_relay_note(job->relay, note);
	/* What cannot be said about the state costs only that. */
	recorder_note_state(job->recorder, note, NULL);
}

/* False when it is to stop; @note is what was asked for meanwhile. */
static bool wait_a_moment(struct agent_job *job, long ms, char note[static NOTE_BYTES])
{
	struct timespec until;
	bool go_on;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += ms * NS_PER_MS;
	until.tv_sec += until.tv_nsec / NS_PER_S;
	until.tv_nsec %= NS_PER_S;
	pthread_mutex_lock(&job->lock);
	while (!job->stop && !*job->note &&
	       !pthread_cond_timedwait(&job->changed, &job->lock, &until))
		;
	go_on = !job->stop;
	memcpy(note, job->note, NOTE_BYTES);
	job->note[0] = '\0';
	pthread_mutex_unlock(&job->lock);
	return go_on;
}

static void read_rings(struct agent_job *job, struct agent_rings *rings)
{
	agent_rings_tick(rings);
	pthread_mutex_lock(&job->lock);
	job->rings_lost = agent_rings_events_lost(rings);
	pthread_mutex_unlock(&job->lock);
}

/* Until it is to stop, or the recorder has ended by itself. */
static unsigned wait_for_stop(struct agent_job *job, struct agent_rings *rings)
{
	char note[NOTE_BYTES];
	struct error err = {0};

	while (wait_a_moment(job, rings ? RINGS_TICK_MS : TICK_MS, note)) {
		if (*note)
			write_note(job, note);
		if (recorder_check(job->recorder, &err))
			agent_job_stop(job, 0, err.text);
		if (rings)
			read_rings(job, rings);
	}
	return job->limit_ms;
}

static void set_running(struct agent_job *job, struct recorder *recorder, struct agent_relay *relay)
{
	pthread_mutex_lock(&job->lock);
	job->recorder = recorder;
	job->relay = relay;
	pthread_mutex_unlock(&job->lock);
}

static bool is_asked(int pid, void *data)
{
	return agent_relay_has_agent(data, pid);
}

/* NULL: not asked for, or it cannot be had, which costs only that. */
static struct agent_rings *open_rings(struct agent_job *job, struct agent_relay *relay)
{
	struct rings_options options = {
		.limit_bytes = job->request.limit_bytes,
		.is_asked = is_asked,
		.asked_data = relay,
	};
	struct agent_rings *rings = NULL;
	struct error err = {0};

	if (relay && job->request.rings && agent_rings_open(&rings, &options, &job->machines, &err))
		on_notice(err.text, job);
	return rings;
}

/* Guests start after this machine and stop before it: it sees all of what they do. */
static void record(struct agent_job *job, const struct record_options *options,
		   struct agent_relay *relay)
{
	struct recorder *recorder;
	struct agent_rings *rings;
	struct record_cost cost = {0};
	struct error err = {0};
	unsigned limit_ms;

	if (recorder_start(&recorder, options, &job->sink.sink, &err)) {
		send_done(job, NULL, err.text);
		return;
	}
	rings = open_rings(job, relay);
	if (relay)
		agent_relay_start(relay);
	set_running(job, recorder, relay);
	wire_send_message(job->sender, WIRE_STARTED, 0, WIRE_TEXT, &(struct wire_text){0}, NULL);
	limit_ms = wait_for_stop(job, rings);
	if (relay)
		agent_relay_stop(relay, limit_ms);
	if (rings)
		agent_rings_stop(rings);
	agent_rings_close(rings);
	set_running(job, NULL, NULL);
	err.text[0] = '\0';
	if (recorder_stop(recorder, &cost, &err))
		send_done(job, &cost, *err.text ? err.text : "its recorder failed");
	else
		send_done(job, &cost, *job->early ? job->early : cost.missing);
}

static void *thread_main(void *data)
{
	struct agent_job *job = data;
	const char *events[EVENTS_MAX];
	struct record_options options;
	struct agent_relay *relay = NULL;
	struct error err = {0};
	uint64_t one = 1;

	record_options(job, &options, events);
	if (job->request.depth && agent_relay_open(&relay, &job->request, job->opt->token,
						   job->opt->guests, &job->machines, &err))
		send_done(job, NULL, err.text);
	else
		record(job, &options, relay);
	agent_relay_close(relay);
	/* Cannot fail: it is written once. */
	if (write(job->done_fd, &one, sizeof(one)) < 0)
		return NULL;
	return NULL;
}

int agent_job_start(struct agent_job **out, const struct wire_request *request,
		    const struct agent_options *opt, struct wire_sender *sender, struct error *err)
{
	struct agent_job *job = calloc(1, sizeof(*job));
	int ret;

	*out = NULL;
	if (!job)
		return fail(err, -ENOMEM, "out of memory for a recording");
	job->request = *request;
	job->opt = opt;
	job->sender = sender;
	agent_machines_init(&job->machines, sender);
	wire_sink_init(&job->sink, sender, 0);
	pthread_mutex_init(&job->lock, NULL);
	pthread_cond_init(&job->changed, NULL);
	job->done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	ret = job->done_fd < 0 ? -errno : -pthread_create(&job->thread, NULL, thread_main, job);
	if (!ret) {
		*out = job;
		return 0;
	}
	if (job->done_fd >= 0)
		close(job->done_fd);
	agent_machines_release(&job->machines);
	free(job);
	return fail(err, ret, "cannot make a thread: %s", strerror(-ret));
}

int agent_job_done_fd(const struct agent_job *job)
{
	return job->done_fd;
}

void agent_job_stop(struct agent_job *job, unsigned limit_ms, const char *early)
{
	pthread_mutex_lock(&job->lock);
	if (!job->stop) {
		snprintf(job->early, sizeof(job->early), "%.250s", early ? early : "");
		job->limit_ms = limit_ms;
	}
	job->stop = true;
	pthread_cond_signal(&job->changed);
	pthread_mutex_unlock(&job->lock);
}

void agent_job_note(struct agent_job *job, const char *cause)
{
	pthread_mutex_lock(&job->lock);
	snprintf(job->note, sizeof(job->note), "%s", cause);
	pthread_cond_signal(&job->changed);
	pthread_mutex_unlock(&job->lock);
}

uint64_t agent_job_events_lost(struct agent_job *job)
{
	uint64_t lost;

	pthread_mutex_lock(&job->lock);
	lost = job->rings_lost;
	if (job->recorder)
		lost += recorder_events_lost(job->recorder);
	if (job->relay)
		lost += agent_relay_events_lost(job->relay);
	pthread_mutex_unlock(&job->lock);
	return lost;
}

bool agent_job_finish(struct agent_job *job)
{
	bool sent;

	if (!job)
		return false;
	agent_job_stop(job, 0, NULL);
	pthread_join(job->thread, NULL);
	pthread_cond_destroy(&job->changed);
	pthread_mutex_destroy(&job->lock);
	close(job->done_fd);
	agent_machines_release(&job->machines);
	sent = job->done_sent;
	free(job);
	return sent;
}
