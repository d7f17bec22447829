/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The main program of every fuzz target when no fuzzer drives it:
 *
 *	build-san/fuzz/fuzz_NAME PATH...
 *
 * gives each stored input (files, or all files of directories) to the target, and then some
 * damaged copies of it: bits flipped, bytes overwritten with values that parsers trip over, pieces
 * cut out or repeated.  The damage is the same in every history.  With FUZZ=1 the same targets are
 * built for libFuzzer instead, which has a main of its own.
 */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes);

#define MUTATIONS_PER_INPUT 1000
#define BYTES_PER_INPUT (16u << 20) /* large inputs get fewer mutations */

struct random {
	uint64_t state;
};

static uint32_t random_below(struct random *r, uint32_t limit)
{
	r->state = r->state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)((r->state >> 33) % limit);
}

/* Damages @data in place; returns its new length. */
static size_t mutate(struct random *r, uint8_t *data, size_t len)
{
	static const uint8_t evil[] = {0x00, 0x01, 0x7f, 0x80, 0xff, '{', '}', '"', ';', '\n'};
	unsigned rounds = 1 + random_below(r, 4);

	while (rounds-- && len) {
		size_t at = random_below(r, (uint32_t)len);
		size_t piece = 1 + random_below(r, 16);

		if (piece > len - at)
			piece = len - at;
		switch (random_below(r, 5)) {
		case 0:
			data[at] ^= (uint8_t)(1u << random_below(r, 8));
			break;
		case 1:
			data[at] = evil[random_below(r, sizeof(evil))];
			break;
		case 2:
			memset(data + at, random_below(r, 2) ? 0xff : 0, piece);
			break;
		case 3:
			memmove(data + at, data + at + piece, len - at - piece);
			len -= piece;
			break;
		default:
			len = at;
			break;
		}
	}
	return len;
}

/* A copy with nothing behind it, so that the sanitizer sees a read past the end. */
static void feed(const uint8_t *data, size_t len)
{
	uint8_t *copy = malloc(len ? len : 1);

	if (!copy)
		abort();
	memcpy(copy, data, len);
	LLVMFuzzerTestOneInput(copy, len);
	free(copy);
}

static void feed_with_mutations(const uint8_t *data, size_t len)
{
	struct random r = {.state = len};
	size_t nr = len ? BYTES_PER_INPUT / len : 0;
	uint8_t *scratch = malloc(len ? len : 1);

	if (!scratch)
		abort();
	feed(data, len);
	if (nr > MUTATIONS_PER_INPUT)
		nr = MUTATIONS_PER_INPUT;
	while (nr--) {
		memcpy(scratch, data, len);
		feed(scratch, mutate(&r, scratch, len));
	}
	free(scratch);
}

static int replay_file(const char *path)
{
	FILE *f = fopen(path, "rb");
	uint8_t *data = NULL;
	size_t len = 0, room = 0, got;

	if (!f) {
		fprintf(stderr, "cannot open %s: %s\n", path, strerror(errno));
		return -1;
	}
	do {
		room += 1u << 16;
		data = realloc(data, room);
		if (!data)
			abort();
		got = fread(data + len, 1, room - len, f);
		len += got;
	} while (len == room);
	fclose(f);
	feed_with_mutations(data, len);
	free(data);
	return 1;
}

/* Number of inputs replayed, or -1. */
static int replay(const char *path)
{
	struct dirent **names;
	struct stat st;
	int nr, total = 0;

	if (stat(path, &st) || !S_ISDIR(st.st_mode))
		return replay_file(path);
	nr = scandir(path, &names, NULL, alphasort);
	if (nr < 0)
		return -1;
	for (int i = 0; i < nr; i++) {
		char child[4096];
		int got;

		snprintf(child, sizeof(child), "%s/%s", path, names[i]->d_name);
		got = names[i]->d_name[0] == '.' ? 0 : replay(child);
		total = got < 0 || total < 0 ? -1 : total + got;
		free(names[i]);
	}
	free(names);
	return total;
}

int main(int argc, char **argv)
{
	int total = 0;

	for (int i = 1; i < argc; i++) {
		int got = replay(argv[i]);

		if (got < 0)
			return 1;
		total += got;
	}
	printf("%d inputs\n", total);
	return total ? 0 : 1;
}
