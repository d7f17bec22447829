/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_KERNEL_RINGS_H
#define TESTS_KERNEL_RINGS_H

/*
 * The plainest reader of rings in a VM's memory: @args are PID, GPA, BYTES, NONCE as the
 * announcement says them, and the file.  Reads until stdin ends, and once more.  Returns an exit
 * status.
 */
int rings_save(char **args);

#endif
