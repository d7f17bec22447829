/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMD_COMMON_DAMAGE_H
#define CMD_COMMON_DAMAGE_H

#include "cmd/common/command.h"

/*
 * Whether a history that a command could not answer from is damaged: which part of it, of what
 * time, and what can be done.  A file that is named twice is told of once.  Nothing is printed
 * where all that answers need is whole.  Reads the files whole, so it is for commands that have
 * failed.
 */
void damage_tell(const struct invocation *inv);

#endif
