/* SPDX-License-Identifier: Apache-2.0 */
#include "record/remote/wire_send.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/uio.h>
#include <unistd.h>

int wire_sender_init(struct wire_sender *s, int fd, unsigned timeout_ms, struct error *err)
{
	memset(s, 0, sizeof(*s));
	s->fd = fd;
	s->timeout_ms = timeout_ms;
	s->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (s->wake_fd < 0)
		return fail(err, -errno, "cannot make an eventfd: %s", strerror(errno));
	pthread_mutex_init(&s->lock, NULL);
	return 0;
}

void wire_sender_release(struct wire_sender *s)
{
	if (s->wake_fd <= 0)
		return;
	pthread_mutex_destroy(&s->lock);
	close(s->wake_fd);
	s->wake_fd = 0;
}

void wire_sender_break(struct wire_sender *s)
{
	uint64_t one = 1;

	atomic_store(&s->dead, true);
	/* Non-blocking: it fails only when it is already readable. */
	if (write(s->wake_fd, &one, sizeof(one)) < 0)
		return;
}

/* Until the link takes bytes again. */
static int wait_for_room(struct wire_sender *s, struct error *err)
{
	struct pollfd fds[] = {{s->fd, POLLOUT, 0}, {s->wake_fd, POLLIN, 0}};
	int ret;

	do {
		ret = poll(fds, ARRAY_SIZE(fds), (int)s->timeout_ms);
	} while (ret < 0 && errno == EINTR);
	if (ret < 0)
		return fail(err, -errno, "poll: %s", strerror(errno));
	if (!ret)
		return fail(err, -ETIMEDOUT, "the other side took nothing for %u ms",
			    s->timeout_ms);
	if (fds[1].revents || fds[0].revents & (POLLHUP | POLLERR | POLLNVAL))
		return fail(err, -EPIPE, "the link to the other side is lost");
	return 0;
}

static void advance(struct iovec **iov, int *nr, size_t done)
{
	while (*nr && done >= (*iov)->iov_len) {
		done -= (*iov)->iov_len;
		(*iov)++;
		(*nr)--;
	}
	if (*nr) {
		(*iov)->iov_base = (char *)(*iov)->iov_base + done;
		(*iov)->iov_len -= done;
	}
}

static int write_all(struct wire_sender *s, struct iovec *iov, int nr, struct error *err)
{
	while (nr) {
		ssize_t done = writev(s->fd, iov, nr);
		int ret = 0;

		if (done >= 0) {
			atomic_fetch_add(&s->sent_bytes, (uint64_t)done);
			advance(&iov, &nr, (size_t)done);
		} else if (errno == EAGAIN) {
			ret = wait_for_room(s, err);
		} else if (errno != EINTR) {
			ret = fail(err, -EPIPE, "the link to the other side is lost: %s",
				   strerror(errno));
		}
		if (ret)
			return ret;
	}
	return 0;
}

static int send_iov(struct wire_sender *s, struct iovec *iov, int nr, struct error *err)
{
	int ret;

	pthread_mutex_lock(&s->lock);
	if (atomic_load(&s->dead))
		ret = fail(err, -EPIPE, "the link to the other side is lost");
	else
		ret = write_all(s, iov, nr, err);
	if (ret)
		wire_sender_break(s);
	pthread_mutex_unlock(&s->lock);
	return ret;
}

int wire_send_bytes(struct wire_sender *s, const void *bytes, size_t len_bytes, struct error *err)
{
	struct iovec iov = {(void *)bytes, len_bytes};

	return send_iov(s, &iov, 1, err);
}

int wire_send(struct wire_sender *s, const struct wire_header *h, const void *payload,
	      struct error *err)
{
	uint8_t header[WIRE_HEADER_BYTES];
	struct iovec iov[] = {
		{header, sizeof(header)},
		{(void *)payload, h->len_bytes},
	};

	wire_put_header(header, h);
	return send_iov(s, iov, h->len_bytes ? 2 : 1, err);
}

int wire_send_message(struct wire_sender *s, enum wire_type type, uint16_t machine,
		      enum wire_message m, const void *value, struct error *err)
{
	uint8_t payload[WIRE_CONTROL_MAX];
	struct wire_header h = {.type = (uint8_t)type, .machine = machine};

	h.len_bytes = (uint32_t)wire_pack(m, value, payload, sizeof(payload));
	return wire_send(s, &h, payload, err);
}

int wire_send_error(struct wire_sender *s, const char *text)
{
	struct wire_text message;

	snprintf(message.text, sizeof(message.text), "%s", text);
	return wire_send_message(s, WIRE_ERROR, 0, WIRE_TEXT, &message, NULL);
}
