/* SPDX-License-Identifier: Apache-2.0 */
#include "record/remote/remote.h"
#include "base/now.h"
#include "record/remote/remote_names.h"
#include "record/remote/remote_session.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#define READ_BYTES (256u << 10)
#define READS_IN_TURN 8 /* of one guest, before the next has its turn */
#define TICK_MS 200
#define PING_MS 2000
#define CALL_AGAIN_MS 2000
#define NS_PER_MS 1000000ull

/* What the caller wants of all guests; only grows. */
enum phase { PHASE_CONNECT, PHASE_START, PHASE_STOP, PHASE_END };

struct guest {
	struct remote_session session;
	int fd;
	unsigned next_link;
	uint64_t since_ns; /* when the session's state began */
	uint64_t heard_ns; /* when the last byte came */
	uint64_t pinged_ns;
	uint64_t called_ns;
	enum session_state state; /* that since_ns is of */
	struct error last;	  /* of the links tried */
};

struct remote {
	struct remote_options opt;
	struct guest *guests; /* owned */
	unsigned nr;
	struct pollfd *fds; /* owned: one per guest, and the wake-up */
	uint8_t *buf;	    /* owned */
	int wake_fd;
	pthread_t thread;
	bool has_thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	/* Below: under the lock. */
	enum phase wanted, reached;
	uint64_t stop_before_ns;
	char note[64]; /* "" none */
	unsigned recording;
	uint64_t events_lost, bytes;
};

/* ---- links --------------------------------------------------------------------------------- */

static void guest_unlink(struct guest *g)
{
	if (g->fd >= 0)
		close(g->fd);
	g->fd = -1;
}

static void guest_end(struct guest *g, const char *why)
{
	guest_unlink(g);
	session_end(&g->session, why);
}

/* Connects by the next link that can be connected by; without one the guest is over. */
static void guest_connect(struct guest *g)
{
	const struct remote_target *t = g->session.target;

	guest_unlink(g);
	while (g->next_link < t->nr_links) {
		if (!link_connect(&t->links[g->next_link++], &g->fd, &g->last)) {
			g->session.state = SESSION_CONNECTING;
			return;
		}
	}
	guest_end(g, t->nr_links
			     ? g->last.text
			     : "it has no vsock device and no virtio-serial port " LINK_PORT_NAME);
}

/* An agent that never answered may be reached another way; else it is over. */
static void guest_failed(struct guest *g, const char *why)
{
	if (g->session.state < SESSION_PROVING) {
		fail(&g->last, -EREMOTEIO, "%s", why);
		guest_connect(g);
	} else {
		guest_end(g, why);
	}
}

static void guest_linked(struct guest *g)
{
	struct error err = {0};

	g->called_ns = now_ns(CLOCK_MONOTONIC);
	if (link_connected(&g->session.target->links[g->next_link - 1], g->fd, &err) ||
	    session_call(&g->session, &err))
		guest_failed(g, err.text);
}

static void guest_send(struct guest *g)
{
	struct remote_session *s = &g->session;
	ssize_t done = write(g->fd, s->out, s->out_bytes);

	/* A link that is lost is seen when it is read. */
	if (done <= 0)
		return;
	s->out_bytes -= (unsigned)done;
	memmove(s->out, s->out + done, s->out_bytes);
}

static void link_lost(struct guest *g, const char *how)
{
	const struct remote_session *s = &g->session;
	char why[256];

	if (s->state < SESSION_PROVING)
		snprintf(why, sizeof(why), "no agent answers: %s", how);
	else
		snprintf(why, sizeof(why), "the link to its agent was lost (%s)%s", how,
			 s->state >= SESSION_RECORDING ? "; what came until then is kept" : "");
	guest_failed(g, why);
}

static void guest_read(struct remote *r, struct guest *g)
{
	struct error err = {0};

	for (unsigned i = 0; i < READS_IN_TURN && g->fd >= 0; i++) {
		ssize_t got = read(g->fd, r->buf, READ_BYTES);

		if (got < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (got <= 0) {
			link_lost(g, got ? strerror(errno) : "closed");
			return;
		}
		g->heard_ns = now_ns(CLOCK_MONOTONIC);
		if (session_feed(&g->session, r->buf, (size_t)got, &err)) {
			guest_failed(g, err.text);
			return;
		}
		if (g->session.state == SESSION_OVER)
			guest_unlink(g);
	}
}

/* ---- time ---------------------------------------------------------------------------------- */

static const char *const state_names[] = {
	[SESSION_CONNECTING] = "connecting to it",
	[SESSION_CALLING] = "its agent's answer",
	[SESSION_PROVING] = "its agent's answer",
	[SESSION_STARTING] = "its start",
	[SESSION_STOPPING] = "its end",
};

/* How long a state may last at all, and how long without a byte; 0: for ever. */
static uint64_t state_limit_ns(const struct remote *r, const struct guest *g, bool *silence)
{
	uint64_t timeout_ns = r->opt.timeout_ms * NS_PER_MS;
	uint64_t now = now_ns(CLOCK_MONOTONIC);

	*silence = false;
	switch (g->session.state) {
	case SESSION_CONNECTING:
	case SESSION_CALLING:
	case SESSION_PROVING:
		return timeout_ns;
	case SESSION_STARTING:
	case SESSION_STOPPING:
		*silence = now - g->heard_ns > timeout_ns;
		return timeout_ns * REMOTE_PATIENCE;
	default:
		return 0;
	}
}

static void check_time(struct remote *r, struct guest *g, uint64_t stop_before_ns)
{
	enum session_state state = g->session.state;
	uint64_t now = now_ns(CLOCK_MONOTONIC);
	uint64_t limit;
	bool silence;
	char why[256];

	if (state != g->state) {
		g->state = state;
		g->since_ns = now;
		g->heard_ns = now;
	}
	limit = state_limit_ns(r, g, &silence);
	if (!limit)
		return;
	if (!silence && now - g->since_ns <= limit &&
	    !(state == SESSION_STOPPING && now > stop_before_ns))
		return;
	snprintf(why, sizeof(why), "waited %.1f s for %s%s", (double)(now - g->since_ns) / 1e9,
		 state_names[state], silence ? "; its agent is silent" : "");
	guest_failed(g, why);
}

/* ---- phases -------------------------------------------------------------------------------- */

static void start_guest(struct guest *g)
{
	struct error err = {0};

	if (session_start(&g->session, &err))
		guest_end(g, err.text);
}

/* Takes the guest a step towards what is wanted. */
static void pursue(struct guest *g, enum phase wanted, unsigned stop_ms)
{
	switch (g->session.state) {
	case SESSION_UNLINKED:
		guest_connect(g);
		break;
	case SESSION_READY:
		if (wanted == PHASE_START)
			start_guest(g);
		else if (wanted == PHASE_STOP)
			guest_end(g, "it was not started");
		break;
	case SESSION_STARTING:
	case SESSION_RECORDING:
		if (wanted == PHASE_STOP)
			session_stop(&g->session, stop_ms);
		break;
	default:
		break;
	}
}

/* Who waits has had enough: guests that are not where they should be will not get there. */
static void give_up_waiting(struct remote *r, struct guest *g, enum phase wanted)
{
	bool waited_for = wanted == PHASE_CONNECT ? g->session.state < SESSION_READY
						  : g->session.state < SESSION_RECORDING;

	if (wanted <= PHASE_START && waited_for && r->opt.given_up && r->opt.given_up(r->opt.data))
		guest_end(g, "interrupted before it was recorded");
}

static bool has_reached(enum session_state state, enum phase wanted)
{
	switch (wanted) {
	case PHASE_CONNECT:
		return state >= SESSION_READY;
	case PHASE_START:
		return state >= SESSION_RECORDING;
	case PHASE_STOP:
		return state == SESSION_OVER;
	default:
		return true;
	}
}

/* What a virtio port's agent had not read yet when its last caller left is lost. */
static void call_again(struct guest *g)
{
	const struct remote_session *s = &g->session;
	uint64_t now = now_ns(CLOCK_MONOTONIC);

	if (s->state != SESSION_CALLING || s->target->links[g->next_link - 1].kind != LINK_SOCKET ||
	    now - g->called_ns < CALL_AGAIN_MS * NS_PER_MS)
		return;
	session_call_again(&g->session);
	g->called_ns = now;
}

static void ping(struct guest *g)
{
	uint64_t now = now_ns(CLOCK_MONOTONIC);

	if (g->session.state < SESSION_READY || g->session.state == SESSION_OVER ||
	    now - g->pinged_ns < PING_MS * NS_PER_MS)
		return;
	g->pinged_ns = now;
	session_ping(&g->session);
}

static void pass_note(struct remote *r)
{
	char note[sizeof(r->note)];

	pthread_mutex_lock(&r->lock);
	memcpy(note, r->note, sizeof(note));
	r->note[0] = '\0';
	pthread_mutex_unlock(&r->lock);
	for (unsigned i = 0; i < r->nr && *note; i++) {
		if (r->guests[i].session.state == SESSION_RECORDING)
			session_note(&r->guests[i].session, note);
	}
}

/* Everything that is due whether or not bytes came; returns what is wanted now. */
static enum phase turn(struct remote *r)
{
	enum phase wanted;
	uint64_t stop_before_ns, now = now_ns(CLOCK_MONOTONIC);
	unsigned stop_ms;

	pthread_mutex_lock(&r->lock);
	wanted = r->wanted;
	stop_before_ns = r->stop_before_ns;
	pthread_mutex_unlock(&r->lock);
	stop_ms = stop_before_ns > now ? (unsigned)((stop_before_ns - now) / NS_PER_MS) : 0;
	pass_note(r);
	for (unsigned i = 0; i < r->nr; i++) {
		struct guest *g = &r->guests[i];

		pursue(g, wanted, stop_ms);
		give_up_waiting(r, g, wanted);
		check_time(r, g, stop_before_ns);
		call_again(g);
		ping(g);
	}
	return wanted;
}

static void publish(struct remote *r, enum phase wanted)
{
	unsigned recording = 0;
	uint64_t lost = 0, bytes = 0;
	bool reached = true;

	for (unsigned i = 0; i < r->nr; i++) {
		const struct remote_session *s = &r->guests[i].session;

		reached = reached && has_reached(s->state, wanted);
		recording += s->state == SESSION_RECORDING;
		lost += s->life.events_lost;
		for (unsigned m = 0; m < s->nr_machines; m++)
			bytes += s->machines[m]->got_bytes;
	}
	pthread_mutex_lock(&r->lock);
	r->recording = recording;
	r->events_lost = lost;
	r->bytes = bytes;
	if (reached && r->reached < wanted + 1u) {
		r->reached = (enum phase)(wanted + 1);
		pthread_cond_broadcast(&r->changed);
	}
	pthread_mutex_unlock(&r->lock);
}

/* ---- the thread ---------------------------------------------------------------------------- */

static void wait_for_bytes(struct remote *r)
{
	uint64_t seen;

	for (unsigned i = 0; i < r->nr; i++) {
		const struct guest *g = &r->guests[i];
		bool connecting = g->session.state == SESSION_CONNECTING;

		r->fds[i] = (struct pollfd){
			.fd = g->fd,
			.events = (short)(connecting		 ? POLLOUT
					  : g->session.out_bytes ? POLLIN | POLLOUT
								 : POLLIN),
		};
	}
	r->fds[r->nr] = (struct pollfd){r->wake_fd, POLLIN, 0};
	if (poll(r->fds, r->nr + 1, TICK_MS) < 0)
		return;
	if (r->fds[r->nr].revents && read(r->wake_fd, &seen, sizeof(seen)) < 0)
		return; /* somebody else's wake-up; nothing is lost */
}

static void serve(struct remote *r, struct guest *g, short events)
{
	if (!events || g->fd < 0)
		return;
	if (g->session.state == SESSION_CONNECTING) {
		guest_linked(g);
		return;
	}
	if (events & POLLOUT && g->session.out_bytes)
		guest_send(g);
	if (events & ~POLLOUT)
		guest_read(r, g);
}

static void *thread_main(void *data)
{
	struct remote *r = data;
	enum phase wanted;

	while ((wanted = turn(r)) != PHASE_END) {
		publish(r, wanted);
		wait_for_bytes(r);
		for (unsigned i = 0; i < r->nr; i++)
			serve(r, &r->guests[i], r->fds[i].revents);
	}
	for (unsigned i = 0; i < r->nr; i++) {
		struct guest *g = &r->guests[i];

		if (g->session.state == SESSION_RECORDING)
			g->session.state = SESSION_STOPPING; /* our doing, not its own */
		guest_end(g, "the recorder ended");
	}
	return NULL;
}

/* ---- the caller's side --------------------------------------------------------------------- */

static void wake(struct remote *r)
{
	uint64_t one = 1;

	/* Fails only when a wake-up is pending already. */
	if (write(r->wake_fd, &one, sizeof(one)) < 0)
		return;
}

static void want(struct remote *r, enum phase wanted)
{
	pthread_mutex_lock(&r->lock);
	r->wanted = wanted;
	pthread_mutex_unlock(&r->lock);
	wake(r);
}

static void await(struct remote *r, enum phase phase)
{
	pthread_mutex_lock(&r->lock);
	while (r->reached <= phase)
		pthread_cond_wait(&r->changed, &r->lock);
	pthread_mutex_unlock(&r->lock);
}

static int init_guests(struct remote *r, struct error *err)
{
	struct remote_machine *siblings[REMOTE_TARGETS_MAX];

	for (unsigned i = 0; i < r->opt.nr_targets; i++) {
		const struct remote_target *t = &r->opt.targets[i];
		char name[64];
		int ret;

		remote_fit_name(name, t->name, NULL, siblings, i);
		r->guests[i].fd = -1;
		ret = session_init(&r->guests[i].session, &r->opt, t, name, err);
		if (ret)
			return ret;
		siblings[i] = &r->guests[i].session.machines[0]->m;
		r->nr++;
	}
	return 0;
}

static int init_remote(struct remote *r, struct error *err)
{
	int ret;

	pthread_mutex_init(&r->lock, NULL);
	pthread_cond_init(&r->changed, NULL);
	r->guests = calloc(r->opt.nr_targets + 1, sizeof(*r->guests));
	r->fds = calloc(r->opt.nr_targets + 1, sizeof(*r->fds));
	r->buf = malloc(READ_BYTES);
	r->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (!r->guests || !r->fds || !r->buf || r->wake_fd < 0)
		return fail(err, -ENOMEM, "out of memory for %u guests", r->opt.nr_targets);
	ret = init_guests(r, err);
	if (ret)
		return ret;
	ret = -pthread_create(&r->thread, NULL, thread_main, r);
	r->has_thread = !ret;
	return ret ? fail(err, ret, "cannot make a thread: %s", strerror(-ret)) : 0;
}

int remote_connect(struct remote **out, const struct remote_options *opt, struct error *err)
{
	struct remote *r;
	int ret;

	*out = NULL;
	if (opt->nr_targets > REMOTE_TARGETS_MAX)
		return fail(err, -E2BIG, "%u guests; %u are the most", opt->nr_targets,
			    REMOTE_TARGETS_MAX);
	r = calloc(1, sizeof(*r));
	if (!r)
		return fail(err, -ENOMEM, "out of memory for %u guests", opt->nr_targets);
	r->opt = *opt;
	if (!r->opt.timeout_ms)
		r->opt.timeout_ms = REMOTE_TIMEOUT_MS;
	r->opt.request.timeout_ms = r->opt.timeout_ms;
	ret = init_remote(r, err);
	if (ret) {
		remote_close(r);
		return ret;
	}
	await(r, PHASE_CONNECT);
	*out = r;
	return 0;
}

void remote_start(struct remote *r)
{
	want(r, PHASE_START);
	await(r, PHASE_START);
}

void remote_note(struct remote *r, const char *cause)
{
	pthread_mutex_lock(&r->lock);
	snprintf(r->note, sizeof(r->note), "%s", cause);
	pthread_mutex_unlock(&r->lock);
	wake(r);
}

void remote_stop(struct remote *r, unsigned limit_ms)
{
	if (!limit_ms)
		limit_ms = r->opt.timeout_ms * REMOTE_PATIENCE;
	pthread_mutex_lock(&r->lock);
	r->stop_before_ns = now_ns(CLOCK_MONOTONIC) + limit_ms * NS_PER_MS;
	pthread_mutex_unlock(&r->lock);
	want(r, PHASE_STOP);
	await(r, PHASE_STOP);
}

void remote_progress(struct remote *r, unsigned *recording, uint64_t *events_lost, uint64_t *bytes)
{
	pthread_mutex_lock(&r->lock);
	*recording = r->recording;
	*events_lost = r->events_lost;
	*bytes = r->bytes;
	pthread_mutex_unlock(&r->lock);
}

unsigned remote_nr_machines(const struct remote *r)
{
	unsigned nr = 0;

	for (unsigned i = 0; i < r->nr; i++)
		nr += r->guests[i].session.nr_machines;
	return nr;
}

struct remote_machine *remote_machine(struct remote *r, unsigned i)
{
	struct guest *g = r->guests;

	for (; i >= g->session.nr_machines; g++)
		i -= g->session.nr_machines;
	return &g->session.machines[i]->m;
}

bool remote_has_agent(struct remote *r, pid_t vm)
{
	for (unsigned i = 0; i < r->nr; i++) {
		const struct remote_machine *m = &r->guests[i].session.machines[0]->m;

		if (m->vm_pid == vm && !m->over)
			return true;
	}
	return false;
}

bool remote_claim_vm(struct remote *r, struct remote_machine *m, pid_t vm)
{
	for (unsigned i = 0; i < r->nr; i++) {
		if (remote_is_vm(&r->guests[i].session.machines[0]->m, m, vm))
			return false;
	}
	m->claimed_pid = vm;
	return true;
}

void remote_close(struct remote *r)
{
	if (!r)
		return;
	if (r->has_thread) {
		want(r, PHASE_END);
		pthread_join(r->thread, NULL);
	}
	for (unsigned i = 0; i < r->nr; i++)
		session_release(&r->guests[i].session);
	if (r->wake_fd >= 0)
		close(r->wake_fd);
	pthread_cond_destroy(&r->changed);
	pthread_mutex_destroy(&r->lock);
	free(r->guests);
	free(r->fds);
	free(r->buf);
	free(r);
}
