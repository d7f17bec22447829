/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMD_COMMON_LIMITS_H
#define CMD_COMMON_LIMITS_H

#include <sys/resource.h>

/*
 * Allows this process as many open files as it may have: recorders have two a CPU and some a guest,
 * and machines with many have more than the usual limit.  @usual: the limit before, for programs
 * that are started from here.
 */
void allow_many_files(struct rlimit *usual);

#endif
