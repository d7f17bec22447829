/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Marks from user space (docs/formats/hypertrace.md): --count of them, each a hypercall whose id
 * and text say its number.  All from one instruction, so one address.
 */
#include "workload.h"

#include <cpuid.h>
#include <stdio.h>
#include <string.h>

#define MARK_MAGIC 0x534dull
#define TEXT_BYTES 32

static bool is_intel(void)
{
	unsigned a, b, c, d;

	return __get_cpuid(0, &a, &b, &c, &d) && c == signature_INTEL_ecx;
}

/* The host's answer, -EPERM, is of no use to us. */
static void mark(uint64_t number, bool intel)
{
	uint64_t text[TEXT_BYTES / 8] = {0};
	uint64_t rax, rbx, rcx, rdx, rsi;

	snprintf((char *)text, sizeof(text), "mark %llu", (unsigned long long)number);
	rax = MARK_MAGIC << 48 | (uint64_t)strlen((char *)text) << 32 | (uint32_t)number;
	rbx = text[0];
	rcx = text[1];
	rdx = text[2];
	rsi = text[3];
	if (intel)
		__asm__ volatile("vmcall"
				 : "+a"(rax)
				 : "b"(rbx), "c"(rcx), "d"(rdx), "S"(rsi)
				 : "memory");
	else
		__asm__ volatile("vmmcall"
				 : "+a"(rax)
				 : "b"(rbx), "c"(rcx), "d"(rdx), "S"(rsi)
				 : "memory");
}

int main(int argc, char **argv)
{
	struct workload w = {.kind = "marks"};
	uint64_t count = 10000, done = 0;
	const struct option_spec specs[] = {
		{"count", "marks to make", &count, NULL},
		{0},
	};
	bool intel = is_intel();

	workload_options(&w, argc, argv, specs);
	workload_begin(&w, specs);
	while (done < count && !workload_over(&w))
		mark(done++, intel);
	workload_end(&w, "marks", done, NULL);
	return 0;
}
