/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMD_ANSWERS_REPORT_TOPICS_H
#define CMD_ANSWERS_REPORT_TOPICS_H

#include "base/types.h"

/*
 * Topics of sonde report: questions, each with the tables that answer it.
 */
#define TOPIC_SECTIONS_MAX 6
#define TOPIC_HIDE_MAX 5
#define TOPIC_EXPLAIN_MAX 13

struct topic {
	const char *name;
	const char *about;   /* one line */
	const char *nothing; /* what is said when there is no row */
	const char *record;  /* ... and how there would be, or NULL */
	struct topic_section {
		const char *name;
		const char *hide[TOPIC_HIDE_MAX + 1];	    /* columns the text leaves out */
		const char *explain[TOPIC_EXPLAIN_MAX + 1]; /* columns that a line below explains */
		bool whole;				    /* all of its rows, however many */
	} sections[TOPIC_SECTIONS_MAX + 1];
	const char *drawn; /* table that --svg draws; NULL none */
	bool is_phases;	   /* as a chart of phases; else as distributions */
};

extern const struct topic topics[];
extern const unsigned nr_topics;

/* NULL when there is none of that name. */
const struct topic *topic_find(const char *name);

/* "wait, wakeup and boot": all topics, or those that can be @drawn. */
#define TOPIC_NAMES 128
const char *topic_names(char *out, size_t room, bool drawn);

#endif
