/* SPDX-License-Identifier: Apache-2.0 */
/* What ended a wait: the tables "wake" and "vector". */
#include "query/cells.h"
#include "query/counts.h"
#include "query/query.h"
#include "model/context.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

_Static_assert((int)NR_WAKE_CAUSES == (int)QUERY_NR_CAUSES, "public causes are the model's");
_Static_assert((int)OFF_THROTTLED == (int)SONDE_OFF_THROTTLED, "public reasons are the model's");
_Static_assert((int)WAKE_IPI == (int)SONDE_CAUSE_IPI, "public causes are the model's");

const char *sonde_cause_name(enum sonde_cause cause)
{
	static const char *const names[QUERY_NR_CAUSES] = {
		[SONDE_CAUSE_UNKNOWN] = "unknown", [SONDE_CAUSE_TIMER] = "timer",
		[SONDE_CAUSE_DISK] = "disk",	   [SONDE_CAUSE_NETWORK] = "network",
		[SONDE_CAUSE_IPI] = "ipi",	   [SONDE_CAUSE_DEVICE] = "device",
		[SONDE_CAUSE_VMM] = "vmm",	   [SONDE_CAUSE_HOST] = "host",
		[SONDE_CAUSE_NONE] = "none",
	};

	return (unsigned)cause < QUERY_NR_CAUSES ? names[cause] : "unknown";
}

const char *sonde_off_name(enum sonde_off off)
{
	static const char *const names[QUERY_NR_OFFS] = {
		[SONDE_OFF_NONE] = "",
		[SONDE_OFF_UNKNOWN] = "unknown",
		[SONDE_OFF_SLICE] = "slice",
		[SONDE_OFF_WAKEUP] = "wakeup",
		[SONDE_OFF_CLASS] = "class",
		[SONDE_OFF_MOVED] = "migrated",
		[SONDE_OFF_QUOTA] = "throttled",
		[SONDE_OFF_READY] = "queued",
		[SONDE_OFF_THROTTLED] = "throttled",
	};

	return (unsigned)off < QUERY_NR_OFFS ? names[off] : "unknown";
}

static enum sonde_cause cause_of(int64_t cell)
{
	return cell < 0 || cell >= QUERY_NR_CAUSES ? SONDE_CAUSE_UNKNOWN : (enum sonde_cause)cell;
}

static uint64_t vector_key(int64_t vcpu, int64_t vector)
{
	return (uint64_t)vcpu << 8 | (uint8_t)vector;
}

int query_index_vectors(struct sonde_history *history, struct error *err)
{
	int64_t nr = sonde_nr_vectors(history);
	struct sonde_vector *all = calloc((size_t)nr + 1, sizeof(*all));

	if (!all)
		return fail(err, -ENOMEM, "out of memory");
	for (int64_t row = 0; row < nr; row++)
		sonde_vector_get(history, row, &all[row]);
	history->vectors = all;
	for (int64_t row = 0; row < nr; row++) {
		if (map_put(&history->vector_rows, vector_key(all[row].vcpu, all[row].number),
			    (uint32_t)row))
			return fail(err, -ENOMEM, "out of memory");
	}
	return 0;
}

static int read_vector(const struct sonde_history *history, int64_t row, struct sonde_vector *out)
{
	const enum query_table t = QUERY_VECTOR;

	memset(out, 0, sizeof(*out));
	if (row < 0 || row >= sonde_nr_vectors(history))
		return -ENOENT;
	if (history->vectors) {
		*out = history->vectors[row];
		return 0;
	}
	out->vcpu = query_cell(history, t, row, 0);
	out->number = query_cell(history, t, row, 1);
	out->cause = cause_of(query_cell(history, t, row, 2));
	out->irq = query_text(history, t, row, 3);
	out->times = query_cell(history, t, row, 4);
	out->agree = query_cell(history, t, row, 5);
	out->evidence = query_text(history, t, row, 6);
	return 0;
}

SIZED(vector)

static const struct sonde_vector *find_vector(const struct sonde_history *history, int64_t vcpu,
					      int64_t vector)
{
	const uint32_t *at = vcpu >= 0 && vector >= 0
				     ? map_get(&history->vector_rows, vector_key(vcpu, vector))
				     : NULL;

	return at ? &history->vectors[*at] : NULL;
}

/* More lines than this no machine has; a file that is no real one may. */
#define IRQS_MAX 4096

const char *query_irq_name(const struct sonde_history *history, int64_t machine, int64_t irq)
{
	int64_t nr = query_nr_rows(history, QUERY_IRQ);

	for (int64_t row = 0; row < nr && row < IRQS_MAX; row++) {
		if (query_number(history, QUERY_IRQ, row, 1) == irq &&
		    query_number(history, QUERY_IRQ, row, 0) == machine)
			return query_string(history, QUERY_IRQ, row, 2);
	}
	return "";
}

const char *query_vector_irq(const struct sonde_history *history, int64_t vcpu, int64_t vector)
{
	const struct sonde_vector *v = find_vector(history, vcpu, vector);

	return v ? v->irq : "";
}

enum sonde_cause query_vector_cause(const struct sonde_history *history, int64_t vcpu,
				    int64_t vector)
{
	const struct sonde_vector *v = find_vector(history, vcpu, vector);

	return v ? v->cause : SONDE_CAUSE_UNKNOWN;
}

/* What was learned of the vector: the guest's own name for it counts for more than what its host
 * saw; what the host saw of all deliveries, for more than nothing seen of this one. */
static void add_vector(const struct sonde_history *history, struct sonde_wake *w)
{
	const uint32_t *at;
	const struct sonde_vector *v;

	if (w->vector < 0)
		return;
	at = map_get(&history->vector_rows, vector_key(w->vcpu, w->vector));
	if (!at)
		return;
	v = &history->vectors[*at];
	w->irq = v->irq;
	if (v->cause == SONDE_CAUSE_UNKNOWN || v->cause == w->cause)
		return;
	if (*v->irq || w->cause == SONDE_CAUSE_UNKNOWN || w->cause == SONDE_CAUSE_DEVICE) {
		w->cause = v->cause;
		w->evidence = v->evidence;
	}
}

static int read_wake(const struct sonde_history *history, int64_t row, struct sonde_wake *out)
{
	const enum query_table t = QUERY_WAKE;

	if (history->wakes && query_has_row(history, t, row)) {
		*out = history->wakes[row];
		return 0;
	}
	memset(out, 0, sizeof(*out));
	if (!query_has_row(history, t, row))
		return -ENOENT;
	out->vcpu = query_number(history, t, row, 0);
	out->cause = cause_of(query_number(history, t, row, 1));
	out->vector = query_number(history, t, row, 2);
	out->from = query_number(history, t, row, 3) - 1;
	out->by = query_number(history, t, row, 4);
	out->evidence = query_string(history, t, row, 5);
	out->irq = "";
	add_vector(history, out);
	return 0;
}

SIZED(wake)

/* Older histories tell of losses in words alone. */
bool query_wake_is_loss(const struct sonde_history *history, int64_t wake)
{
	int64_t lost = query_number(history, QUERY_WAKE, wake, 6);

	return lost >= 0 ? lost > 0
			 : !strcmp(query_string(history, QUERY_WAKE, wake, 5), WAKE_LOST_TEXT);
}

void query_read_wakes(struct sonde_history *history)
{
	int64_t nr = query_nr_rows(history, QUERY_WAKE);
	struct sonde_wake *all = history->wakes ? NULL : calloc((size_t)nr + 1, sizeof(*all));

	if (!all)
		return;
	for (int64_t row = 0; row < nr; row++)
		read_wake(history, row, &all[row]);
	history->wakes = all;
}
