/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVE_SLOW_LINKS_H
#define SERVE_SLOW_LINKS_H

#include "base/error.h"

#include <microhttpd.h>

/*
 * Links that do not get to the point.  libmicrohttpd ends a link on which nothing comes for a
 * while, but one byte now and then keeps it, and with it one of the few places there are: whoever
 * is on this machine, with the key or without, could keep everybody else out.  So a question has to
 * be there whole, its body included, some seconds after the link was made, or after the last
 * answer.  And when there are many links, the one that has been idle for longest makes room.
 *
 * Who talks HTTP calls link_asks() for each whole question, and link_is_idle() when it was
 * answered.
 */
#define LINK_FIRST_SECONDS 10 /* for a link's first question */
#define LINK_NEXT_SECONDS 30  /* for those after it */

#define LINKS_IDLE_MAX 90 /* with more than so many links, idle ones are ended */

struct links;

int links_open(struct links **out, struct error *err);

/* When no link is open any more. */
void links_close(struct links *l);

/* For MHD_OPTION_NOTIFY_CONNECTION, with the links as its data. */
void links_notify(void *links, struct MHD_Connection *connection, void **mine,
		  enum MHD_ConnectionNotificationCode what);

void link_asks(struct MHD_Connection *connection);
void link_is_idle(struct MHD_Connection *connection);

#endif
