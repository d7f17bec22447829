/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: command lines of virtual machine monitors, which are whoever's started them. */
#include "record/remote/link_find.h"
#include "record/host/vmm.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes);

static void check_text(const char *text, size_t room)
{
	if (strnlen(text, room) == room)
		abort();
}

static void check_links(const struct link_target *found, unsigned nr)
{
	if (nr > LINK_FOUND_MAX)
		abort();
	for (unsigned i = 0; i < nr; i++) {
		check_text(found[i].address, sizeof(found[i].address));
		if (found[i].kind == LINK_VSOCK && found[i].cid <= 2)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes)
{
	struct link_target found[LINK_FOUND_MAX] = {0};
	struct vm_info vm = {0};
	/* Exactly as long as it is, so that a byte read too far is seen; ended as the callers do.
	 */
	char *words = malloc(len_bytes + 1);

	if (!words)
		return 0;
	memcpy(words, data, len_bytes);
	words[len_bytes] = '\0';
	check_links(found, link_find_in(words, len_bytes, found));
	check_links(found, link_find_in(words, len_bytes + 1, found));
	vmm_read_command(&vm, words, len_bytes);
	check_text(vm.name, sizeof(vm.name));
	check_text(vm.uuid, sizeof(vm.uuid));
	check_text(vm.manager, sizeof(vm.manager));
	vmm_vcpu_of_thread(words);
	free(words);
	return 0;
}
