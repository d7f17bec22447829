/* SPDX-License-Identifier: Apache-2.0 */
/* Where the header of marks makes a hypercall: in KVM guests, whatever else they show, and in no
 * TD, where it would be a fault.  Its two instructions are made up here: asm statements become
 * calls of execute(), with what CPUID is asked and told by, if that is what stands there. */
#include "tests/unit/unit.h"

#include <string.h>

#include "base/types.h"

static void execute(uint32_t leaf, uint32_t subleaf, uint32_t *out);

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-variable"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#define __asm__
#define volatile(...) execute(leaf, subleaf, out)
static const uint32_t leaf, subleaf;
static uint32_t *const out; /* outside the function that runs CPUID */
#include "libsonde/include/sonde/mark.h"
#undef __asm__
#undef volatile
#pragma GCC diagnostic pop

#define MOST 0x21u /* leaf of TDX */
#define HYPERVISOR 0x40000000u

/* What a machine's CPUID says. */
struct machine {
	const char *hypervisor, *behind; /* at 0x40000000 and 0x40000100 */
	bool is_guest, is_td;
	uint32_t most;
};

static const struct machine *machine;
static unsigned calls;

static void execute(uint32_t of, uint32_t sub, uint32_t *to)
{
	const char *text = NULL;

	(void)sub;
	if (!to) {
		calls++;
		return;
	}
	memset(to, 0, 4 * sizeof(*to));
	if (of == 0)
		to[0] = machine->most;
	if (of == 1)
		to[2] = (uint32_t)machine->is_guest << 31;
	if (of == HYPERVISOR)
		text = machine->hypervisor;
	if (of == HYPERVISOR + 0x100)
		text = machine->behind;
	if (text)
		memcpy(&to[1], text, 12);
	if (of == MOST && machine->is_td) { /* EBX, EDX, ECX */
		memcpy(&to[1], "Inte", 4);
		memcpy(&to[3], "lTDX", 4);
		memcpy(&to[2], "    ", 4);
	}
}

#define KVM "KVMKVMKVM\0\0\0"

static void only_kvm_is_called(void **state)
{
	static const struct {
		struct machine machine;
		bool is_called;
	} machines[] = {
		{{.most = 0x20}, false},
		{{.most = 0x20, .hypervisor = KVM}, false}, /* this bit is the CPU's own */
		{{.most = 0x20, .is_guest = true, .hypervisor = KVM}, true},
		{{.most = MOST, .is_guest = true, .hypervisor = KVM}, true},
		{{.most = MOST, .is_guest = true, .is_td = true, .hypervisor = KVM}, false},
		{{.is_guest = true, .hypervisor = "Microsoft Hv", .behind = KVM}, true},
		{{.is_guest = true, .hypervisor = "XenVMMXenVMM", .behind = KVM}, true},
		{{.is_guest = true, .hypervisor = "VMwareVMware", .behind = KVM}, false},
		{{.is_guest = true, .hypervisor = "Microsoft Hv"}, false},
	};

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(machines); i++) {
		machine = &machines[i].machine;
		assert_int_equal(sonde_mark_find_kvm_(), machines[i].is_called);
	}
}

/* CPUID is an exit itself: it is asked once, so that this is the only machine that is marked in. */
static void a_td_makes_no_call(void **state)
{
	static const struct machine td = {
		.most = MOST, .is_guest = true, .is_td = true, .hypervisor = KVM};

	(void)state;
	machine = &td;
	assert_int_equal(sonde_mark_heard(), 0);
	assert_int_equal(sonde_mark_point("here", 0), 0);
	assert_int_equal(calls, 0);
	sonde_mark_call_(2, 0, (const uint64_t[4]){0});
	assert_int_equal(calls, 1); /* the test would have seen it */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_kvm_is_called),
		cmocka_unit_test(a_td_makes_no_call),
	};

	return cmocka_run_group_tests_name("mark_header", tests, NULL, NULL);
}
