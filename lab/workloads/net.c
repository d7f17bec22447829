/* SPDX-License-Identifier: Apache-2.0 */

/*
 * net: echo between two machines.  With --serve 1 it answers what comes in on --port; without, it
 * sends a message of --bytes to --address, waits for the answer, computes and sleeps, and again.
 * --over udp (default) or tcp.  UDP: a message without an answer for a second counts as lost.  TCP:
 * both sides need the same --bytes.
 */
#define _GNU_SOURCE
#include "workload.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#define BYTES_MAX 65000
#define BYTES_MIN 8 /* the message's number */
#define RETRY_US 50000

struct net {
	struct workload w;
	uint64_t serve, port, bytes, busy, gap;
	const char *address, *over;
	uint64_t rounds, lost, sum_us, max_us;
	int fd;
	char buffer[BYTES_MAX];
};

static bool over_tcp(const struct net *n)
{
	return !strcmp(n->over, "tcp");
}

/* A wait ends after a second, so that a server whose client is gone sees that its time is up. */
static void limit_waits(int fd)
{
	struct timeval second = {.tv_sec = 1};

	if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &second, sizeof(second)))
		die("setsockopt(SO_RCVTIMEO)");
}

static int new_socket(const struct net *n)
{
	int fd = socket(AF_INET, over_tcp(n) ? SOCK_STREAM : SOCK_DGRAM, 0), on = 1;

	if (fd < 0)
		die("socket");
	limit_waits(fd);
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)))
		die("setsockopt(SO_REUSEADDR)");
	if (over_tcp(n) && setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)))
		die("setsockopt(TCP_NODELAY)");
	return fd;
}

/* All of a message: a TCP stream may hand it over in parts.  -1: nothing came within a second, or
 * the other side is gone. */
static ssize_t receive(const struct net *n, int fd, char *to, struct sockaddr_in *from)
{
	socklen_t len = sizeof(*from);
	ssize_t got, sum = 0;

	if (!over_tcp(n))
		return recvfrom(fd, to, BYTES_MAX, 0, (struct sockaddr *)from, &len);
	for (; sum < (ssize_t)n->bytes; sum += got) {
		got = recv(fd, to + sum, n->bytes - (size_t)sum, 0);
		if (got <= 0)
			return -1;
	}
	return sum;
}

static void serve_socket(struct net *n, int fd)
{
	struct sockaddr_in from = {0};

	while (!workload_over(&n->w)) {
		ssize_t got = receive(n, fd, n->buffer, &from);

		if (got < 0 && over_tcp(n))
			return;
		if (got < 0)
			continue;
		busy_us(&n->w, n->w.id, n->busy);
		if (over_tcp(n) ? send(fd, n->buffer, (size_t)got, MSG_NOSIGNAL) < 0
				: sendto(fd, n->buffer, (size_t)got, 0, (struct sockaddr *)&from,
					 sizeof(from)) < 0)
			return;
		n->rounds++;
	}
}

static void serve(struct net *n, const struct sockaddr_in *at)
{
	if (bind(n->fd, (const struct sockaddr *)at, sizeof(*at)))
		die("bind");
	if (!over_tcp(n)) {
		while (!workload_over(&n->w))
			serve_socket(n, n->fd);
		return;
	}
	if (listen(n->fd, 1))
		die("listen");
	while (!workload_over(&n->w)) {
		int fd = accept(n->fd, NULL, NULL);

		if (fd < 0)
			continue;
		limit_waits(fd);
		serve_socket(n, fd);
		close(fd);
	}
}

/* The server may not be there yet. */
static bool reach(struct net *n, const struct sockaddr_in *at)
{
	while (connect(n->fd, (const struct sockaddr *)at, sizeof(*at))) {
		if (workload_over(&n->w))
			return false;
		sleep_us(RETRY_US);
		close(n->fd);
		n->fd = new_socket(n);
	}
	return true;
}

/* Sends message @number and waits until its own answer is there, not one that came too late. */
static bool exchange(struct net *n, uint64_t number)
{
	struct sockaddr_in from;
	uint64_t answer = 0;

	memset(n->buffer, 0, n->bytes);
	memcpy(n->buffer, &number, sizeof(number));
	if (send(n->fd, n->buffer, n->bytes, MSG_NOSIGNAL) < 0)
		return false;
	do {
		if (receive(n, n->fd, n->buffer, &from) < (ssize_t)sizeof(answer))
			return false;
		memcpy(&answer, n->buffer, sizeof(answer));
	} while (answer != number);
	return true;
}

static void ask(struct net *n, const struct sockaddr_in *at)
{
	if (!reach(n, at))
		return;
	for (uint64_t number = 1; !workload_over(&n->w); number++) {
		uint64_t begin = tsc_now(), took;

		if (!exchange(n, number)) {
			n->lost++;
			if (over_tcp(n))
				return;
			sleep_us(RETRY_US);
			continue;
		}
		took = us_of_tsc(&n->w, tsc_now() - begin);
		n->sum_us += took;
		n->max_us = took > n->max_us ? took : n->max_us;
		n->rounds++;
		busy_us(&n->w, n->w.id, n->busy);
		if (n->gap)
			sleep_us(n->gap);
	}
}

int main(int argc, char **argv)
{
	static struct net n = {
		.w = {.kind = "net", .waits = "network"},
		.port = 7000,
		.bytes = 512,
		.busy = 200,
		.gap = 5000,
		.address = "0.0.0.0",
		.over = "udp",
	};
	const struct option_spec specs[] = {
		{"serve", "1: answer; 0: ask (0)", &n.serve, NULL},
		{"address", "IPv4 address of the server", NULL, &n.address},
		{"port", "port of the server (7000)", &n.port, NULL},
		{"over", "udp (default) or tcp", NULL, &n.over},
		{"bytes", "of a message, 8 to 65000 (512)", &n.bytes, NULL},
		{"busy-us", "time of computing for each message (200)", &n.busy, NULL},
		{"gap-us", "time of sleeping between two messages (5000)", &n.gap, NULL},
		{NULL, NULL, NULL, NULL},
	};
	struct sockaddr_in at = {.sin_family = AF_INET};

	workload_options(&n.w, argc, argv, specs);
	n.w.sleeps = !n.serve && n.gap;
	at.sin_port = htons((uint16_t)n.port);
	if (!inet_aton(n.address, &at.sin_addr) || n.bytes < BYTES_MIN || n.bytes > BYTES_MAX) {
		errno = EINVAL;
		die("--address or --bytes");
	}
	n.fd = new_socket(&n);
	workload_begin(&n.w, specs);
	if (n.serve)
		serve(&n, &at);
	else
		ask(&n, &at);
	workload_end(&n.w, "periods", n.rounds, "lost", n.lost, "answer_sum_us", n.sum_us,
		     "answer_max_us", n.max_us, NULL);
	return 0;
}
