/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SQL_READY_H
#define SQL_READY_H

/* Queries for the questions that are asked most. */
struct ready_query {
	const char *name;
	const char *question;
	const char *text;
};

extern const struct ready_query ready_queries[];
extern const unsigned nr_ready_queries;

const struct ready_query *ready_find(const char *name);

#endif
