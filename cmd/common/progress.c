/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/common/progress.h"
#include "base/now.h"
#include "cmd/common/signals.h"
#include "report/safe.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SILENT_S 0.5
#define REDRAW_S 0.1
#define BAR 30

void progress_init(struct progress *p, const struct invocation *inv)
{
	memset(p, 0, sizeof(*p));
	p->inv = inv;
	p->terminal = isatty(STDERR_FILENO);
	p->start_s = p->begin_s = now_s();
}

void progress_end(struct progress *p)
{
	if (p->drawn_s > 0)
		fprintf(stderr, "\r\033[K");
	p->drawn_s = 0;
}

static void new_phase(struct progress *p, const char *phase)
{
	double now = now_s();

	if (p->inv->common.verbose && *p->phase && !p->terminal)
		fprintf(stderr, "sonde: %s: %.2f s\n", p->phase, now - p->begin_s);
	snprintf(p->phase, sizeof(p->phase), "%s", phase);
	p->begin_s = now;
}

static void draw(struct progress *p, double done, double now)
{
	unsigned filled = done < 0 ? 0 : done > 1 ? BAR : (unsigned)(done * BAR);
	char bar[BAR + 1];

	memset(bar, '-', BAR);
	memset(bar, '#', filled);
	bar[BAR] = '\0';
	fprintf(stderr, "\r\033[K%-16s [%s] %3.0f%%", p->phase, bar, done * 100);
	fflush(stderr);
	p->drawn_s = now;
}

bool progress_report(const char *phase, double done, void *data)
{
	struct progress *p = data;
	double now;

	if (strcmp(p->phase, phase))
		new_phase(p, phase);
	if (p->terminal && !p->inv->common.quiet) {
		now = now_s();
		if (now - p->start_s > SILENT_S && now - p->drawn_s > REDRAW_S)
			draw(p, done, now);
	}
	return !signals_interrupted();
}

void progress_notice(const char *text, void *data)
{
	struct progress *p = data;
	char safe[1024]; /* names in it come out of traces and manifests */

	if (p->inv->common.quiet)
		return;
	progress_end(p);
	fprintf(stderr, "sonde: %s\n", safe_text(safe, sizeof(safe), text));
}
