/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SONDE_MARK_H
#define SONDE_MARK_H

/*
 * Marks: a process in a KVM guest tells the trace of its host what it is about to do.  This header
 * is all that is needed: copy it, include it, in C or C++.  No library, no privilege, no module, no
 * daemon; each mark is one hypercall, some microseconds, which the host's tracepoint kvm_hypercall
 * shows whatever the guest may and may not do.
 *
 *	sonde_mark_begin("request", id);
 *	...
 *	sonde_mark_end("request", id);
 *	sonde_mark_point("cache was cold", 0);
 *
 * Outside a KVM guest, in a 32-bit program, and on other processors than x86 these do nothing; what
 * they return says so.  Whether anybody listens cannot be known in the guest.
 *
 * A text is UTF-8 of at most SONDE_MARK_TEXT bytes; of a longer one the rest is cut off, at a
 * character's end.  @id joins a begin to its end; 0: the text and the thread do.  Under nested
 * virtualization the machine that hears it is the one that runs this guest.
 */
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SONDE_MARK_TEXT 32

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))

static inline void sonde_mark_cpuid_(uint32_t leaf, uint32_t subleaf, uint32_t out[4])
{
	__asm__ volatile("cpuid"
			 : "=a"(out[0]), "=b"(out[1]), "=c"(out[2]), "=d"(out[3])
			 : "a"(leaf), "c"(subleaf));
}

/* The twelve characters in EBX, ECX, EDX, or in EBX, EDX, ECX for a vendor. */
static inline int sonde_mark_is_(uint32_t a, uint32_t b, uint32_t c, const char *text)
{
	const uint32_t words[3] = {a, b, c};

	for (unsigned i = 0; i < 12; i++) {
		if ((char)(words[i / 4] >> 8 * (i % 4)) != text[i])
			return 0;
	}
	return 1;
}

/* A KVM guest?  Its leaves stand behind another hypervisor's where KVM speaks that one's language,
 * too.  In a TDX guest the instruction would be a fault. */
static inline int sonde_mark_find_kvm_(void)
{
	uint32_t r[4];

	sonde_mark_cpuid_(1, 0, r);
	if (!(r[2] >> 31)) /* no hypervisor at all */
		return 0;
	sonde_mark_cpuid_(0, 0, r);
	if (r[0] >= 0x21) {
		sonde_mark_cpuid_(0x21, 0, r);
		if (sonde_mark_is_(r[1], r[3], r[2], "IntelTDX    "))
			return 0;
	}
	for (uint32_t leaf = 0x40000000; leaf < 0x40010000; leaf += 0x100) {
		sonde_mark_cpuid_(leaf, 0, r);
		if (sonde_mark_is_(r[1], r[2], r[3], "KVMKVMKVM\0\0\0"))
			return 1;
		/* The others that may stand before it. */
		if (leaf == 0x40000000 && !sonde_mark_is_(r[1], r[2], r[3], "Microsoft Hv") &&
		    !sonde_mark_is_(r[1], r[2], r[3], "XenVMMXenVMM"))
			return 0;
	}
	return 0;
}

/* 0 nobody hears; 1 VMCALL; 2 VMMCALL.  CPUID is an exit itself: asked once. */
static inline int sonde_mark_how_(void)
{
	static int known; /* the answer + 1; threads that ask at once find the same */
	int how = __atomic_load_n(&known, __ATOMIC_RELAXED) - 1;
	uint32_t r[4];

	if (how >= 0)
		return how;
	how = 0;
	if (sonde_mark_find_kvm_()) {
		sonde_mark_cpuid_(0, 0, r);
		how = sonde_mark_is_(r[1], r[3], r[2], "AuthenticAMD") ||
				      sonde_mark_is_(r[1], r[3], r[2], "HygonGenuine")
			      ? 2
			      : 1;
	}
	__atomic_store_n(&known, how + 1, __ATOMIC_RELAXED);
	return how;
}

static inline void sonde_mark_call_(int how, uint64_t nr, const uint64_t text[4])
{
	uint64_t answer = nr;

	if (how == 2)
		__asm__ volatile("vmmcall"
				 : "+a"(answer)
				 : "b"(text[0]), "c"(text[1]), "d"(text[2]), "S"(text[3])
				 : "memory");
	else
		__asm__ volatile("vmcall"
				 : "+a"(answer)
				 : "b"(text[0]), "c"(text[1]), "d"(text[2]), "S"(text[3])
				 : "memory");
}

#else

static inline int sonde_mark_how_(void)
{
	return 0;
}

static inline void sonde_mark_call_(int how, uint64_t nr, const uint64_t text[4])
{
	(void)how;
	(void)nr;
	(void)text;
}

#endif

/* How many bytes of the text are sent. */
static inline unsigned sonde_mark_length(const char *text)
{
	unsigned len = 0;

	while (text && len <= SONDE_MARK_TEXT && text[len])
		len++;
	if (len <= SONDE_MARK_TEXT)
		return len;
	for (len = SONDE_MARK_TEXT; len && ((unsigned char)text[len] & 0xc0) == 0x80;)
		len--;
	return len;
}

/* docs/formats/hypertrace.md has the layout. */
static inline int sonde_mark_send_(unsigned kind, const char *text, uint32_t id)
{
	uint64_t words[4] = {0, 0, 0, 0};
	unsigned len = sonde_mark_length(text);
	int how = sonde_mark_how_();

	if (!how)
		return 0;
	for (unsigned i = 0; i < len; i++)
		words[i / 8] |= (uint64_t)(unsigned char)text[i] << 8 * (i % 8);
	sonde_mark_call_(how,
			 UINT64_C(0x534d) << 48 | (uint64_t)kind << 44 | (uint64_t)len << 32 | id,
			 words);
	return 1;
}

/* 1 where marks reach a host. */
static inline int sonde_mark_heard(void)
{
	return sonde_mark_how_() != 0;
}

/* Each returns 1, or 0 when it did nothing. */
static inline int sonde_mark_point(const char *text, uint32_t id)
{
	return sonde_mark_send_(0, text, id);
}

static inline int sonde_mark_begin(const char *text, uint32_t id)
{
	return sonde_mark_send_(1, text, id);
}

static inline int sonde_mark_end(const char *text, uint32_t id)
{
	return sonde_mark_send_(2, text, id);
}

#ifdef __cplusplus
}
#endif

#endif
