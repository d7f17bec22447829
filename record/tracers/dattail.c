/* SPDX-License-Identifier: Apache-2.0 */
#include "record/tracers/datfile.h"

#include <fcntl.h>
#include <string.h>
#include <sys/utsname.h>

/* Options of trace.dat that other tools and Sonde read. */
enum {
	OPT_CPUSTAT = 2,
	OPT_TRACECLOCK = 4,
	OPT_UNAME = 5,
	OPT_CPUCOUNT = 8,
	OPT_VERSION = 9,
	OPT_TRACEID = 11,
	OPT_TSC2NSEC = 14
};

static void put_option(struct buffer *out, uint16_t id, const void *data, size_t len_bytes)
{
	buffer_u16(out, id);
	buffer_u32(out, (uint32_t)len_bytes);
	buffer_bytes(out, data, len_bytes);
}

static void put_text(struct buffer *out, uint16_t id, const struct buffer *text)
{
	put_option(out, id, text->data, text->len_bytes);
}

static void put_clock(struct buffer *out, int instance_dir)
{
	struct buffer text = {0};

	if (buffer_file(&text, instance_dir, "trace_clock") > 0) {
		buffer_bytes(&text, "", 1);
		put_text(out, OPT_TRACECLOCK, &text);
	}
	buffer_release(&text);
}

static void put_uname(struct buffer *out)
{
	struct buffer text = {0};
	struct utsname u;

	uname(&u);
	buffer_print(&text, "%s %s %s %s", u.sysname, u.nodename, u.release, u.machine);
	buffer_bytes(&text, "", 1);
	put_text(out, OPT_UNAME, &text);
	buffer_release(&text);
}

/* What the kernel counted on each CPU: entries, overrun, dropped events. */
static void put_stats(struct buffer *out, int instance_dir, unsigned nr_cpus)
{
	for (unsigned cpu = 0; cpu < nr_cpus; cpu++) {
		struct buffer text = {0};
		struct buffer path = {0};

		buffer_print(&path, "per_cpu/cpu%u/stats", cpu);
		buffer_bytes(&path, "", 1);
		buffer_print(&text, "CPU: %u\n", cpu);
		if (!path.error && buffer_file(&text, instance_dir, path.data) > 0) {
			buffer_bytes(&text, "", 1);
			put_text(out, OPT_CPUSTAT, &text);
		}
		buffer_release(&path);
		buffer_release(&text);
	}
}

/* libtracecmd takes the factor for a signed number: those of counters between 1 and 2 GHz, which
 * the kernel gives with all 32 bits, would make its times run backwards. */
static void put_rate(struct buffer *out, const struct tsc_rate *rate)
{
	unsigned over = rate->mult > INT32_MAX && rate->shift;
	struct buffer data = {0};

	buffer_u32(&data, rate->mult >> over);
	buffer_u32(&data, rate->shift - over);
	buffer_u64(&data, 0); /* cycles to take away first */
	put_text(out, OPT_TSC2NSEC, &data);
	buffer_release(&data);
}

int datfile_tail(struct buffer *out, const struct dat_tail *tail, struct error *err)
{
	buffer_u64(out, tail->comms->len_bytes);
	buffer_bytes(out, tail->comms->data, tail->comms->len_bytes);
	buffer_u32(out, tail->nr_cpus);
	buffer_bytes(out, "options  ", 10);
	put_option(out, OPT_CPUCOUNT, &tail->nr_cpus, sizeof(uint32_t));
	put_clock(out, tail->instance_dir);
	put_uname(out);
	put_option(out, OPT_VERSION, tail->writer, strlen(tail->writer) + 1);
	put_option(out, OPT_TRACEID, &tail->trace_id, sizeof(tail->trace_id));
	if (tail->rate)
		put_rate(out, tail->rate);
	put_stats(out, tail->instance_dir, tail->nr_cpus);
	buffer_u16(out, 0);
	return out->error ? fail(err, out->error, "out of memory for the end of a trace.dat") : 0;
}
