/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECORD_HOST_QEMU_OPTION_H
#define RECORD_HOST_QEMU_OPTION_H

#include <stdbool.h>
#include <stddef.h>

/*
 * A value in an option of QEMU's command line: "key=value" in a list with commas (",," is a comma
 * in a value), or "key":value where the option is JSON, as libvirt writes them.  @key "": the first
 * value that has no name ("-name vm-a,debug-threads=on"); lists only.  True when it is there and
 * fits; @value is undefined otherwise.
 */
bool qemu_option(const char *option, const char *key, char *value, size_t room);

#endif
