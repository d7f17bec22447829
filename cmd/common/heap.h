/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMD_COMMON_HEAP_H
#define CMD_COMMON_HEAP_H

/*
 * How this program uses memory: phase after phase, each some megabytes, none for long.  So what one
 * phase frees is kept for the next (the kernel clears every page that it hands out, which was a
 * tenth of a short run's time), and all of it comes from one heap, in huge pages where there are
 * any. Called once, before anything else.
 */
void heap_settle(void);

#endif
