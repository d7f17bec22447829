/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECORD_BASE_REMOVE_DIRECTORY_H
#define RECORD_BASE_REMOVE_DIRECTORY_H

/*
 * Removes directories of our own with all that is in them, to a depth of 16.  Symbolic links are
 * removed, not followed.  What cannot be removed stays: nobody could do more about it.
 */
void remove_below(int dir); /* all but @dir itself */
void remove_tree(const char *path);

#endif
