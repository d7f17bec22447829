/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ANALYSIS_SENTENCE_H
#define ANALYSIS_SENTENCE_H

#include "analysis/culprit.h"

/*
 * Names and lengths inside sentences.  All append to a sentence; what does not fit is cut off.
 */
#define SENTENCE_MAX 900

struct sentence {
	struct sonde_history *history;
	size_t len;
	char text[SENTENCE_MAX];
};

void say(struct sentence *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* "22.1 ms" */
void say_length(struct sentence *s, ns_t length);
/* "12.345678901" */
void say_time(struct sentence *s, ns_t t);
/* "web1" */
void say_machine(struct sentence *s, int64_t machine);
/* "web1 vCPU 2"; of the physical machine "CPU 2 of host0" */
void say_cpu(struct sentence *s, int64_t cpu);
/* "nginx[211]", and in which container it is; a vCPU's thread is that vCPU */
void say_thread(struct sentence *s, int64_t thread);
/* "postgres[12] of db1 (container c1) on its vCPU 0", "an interrupt of host0" ... */
void say_culprit(struct sentence *s, const struct culprit *culprit);
/* "postgres[12] of db1 had CPU 3.", "it was on its way to an idle CPU.": who had the one that
 * somebody waited for; @cpu -1: not always the same. */
void say_had_cpu(struct sentence *s, const struct culprit *culprit, int64_t cpu);

/* A thread's name without its number and its vCPU. */
const char *thread_name(const struct sonde_history *history, int64_t thread);

#endif
