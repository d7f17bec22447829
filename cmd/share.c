/* SPDX-License-Identifier: Apache-2.0 */
/* sonde share: tells the guests of this host when and by what their vCPUs were held up. */
#include "cmd/common/command.h"
#include "base/figure.h"
#include "base/units.h"
#include "cmd/common/duration.h"
#include "cmd/common/signals.h"
#include "record/steal/stolen_share.h"

#include <stdio.h>
#include <unistd.h>

struct share_options {
	struct text_list vms;
	bool all_vms;
	const char *resolution;
	const char *duration;
	const char *period;
	const char *least;
};

#define FIELD(field) offsetof(struct share_options, field)
#define PERIOD_S 0.1
#define PERIOD_MAX_S 0.5 /* a guest that takes its memory back waits for us */
#define LEAST_S 20e-6

#define RESOLUTION_MAX_S 1.0

static const struct option_row option_rows[] = {
	{0, "vm", OPTION_LIST, FIELD(vms), "NAME|UUID|pid:N", NULL,
	 "a VM that may listen, by name, UUID or process; again for more", 0},
	{0, "all-vms", OPTION_FLAG, FIELD(all_vms), NULL, NULL, "any VM may listen", 0},
	{0, "resolution", OPTION_TIME, FIELD(resolution), "TIME", NULL,
	 "resolution of times at which others ran (default: 1ms)", 0},
	{'d', "duration", OPTION_TIME, FIELD(duration), "TIME", NULL,
	 "end after so long: 10s, 2m (default: until ^C)", 0},
	{0, "period", OPTION_TIME, FIELD(period), "TIME", NULL,
	 "how often guests get news, up to 500ms (default: 100ms)", 0},
	{0, "least", OPTION_TIME, FIELD(least), "TIME", NULL,
	 "exits as long as this are listed, shorter ones summed up (default: 20us)", 0},
};

static void tell_guest(const struct stolen_guest *guest, void *data)
{
	const struct invocation *inv = data;
	char count[UNIT_TEXT];

	if (inv->common.quiet)
		return;
	if (guest->ended)
		complain(inv, EXIT_DONE, "process %d%s%s listens no more: it got %s intervals",
			 guest->pid, *guest->name ? ", " : "", guest->name,
			 unit_count(count, (int64_t)guest->stretches));
	else
		complain(inv, EXIT_DONE, "process %d%s%s listens", guest->pid,
			 *guest->name ? ", " : "", guest->name);
}

static void tell_notice(const char *text, void *data)
{
	const struct invocation *inv = data;

	if (!inv->common.quiet)
		complain(inv, EXIT_DONE, "%s", text);
}

static void get_time(const char *text, double *out)
{
	if (text)
		parse_duration(text, out);
}

static void serve_until(struct stolen_share *s, double seconds, double period)
{
	for (double done = 0; !signals_interrupted() && (!seconds || done < seconds);
	     done += period) {
		usleep((useconds_t)(period * 1e6));
		stolen_share_tick(s);
	}
}

static enum exit_code run_share(const struct invocation *inv)
{
	const struct share_options *opt = inv->values;
	double seconds = 0, period = PERIOD_S, least = LEAST_S;
	double resolution = STOLEN_RESOLUTION_NS / 1e9;
	struct stolen_share_options options = {
		.rules = {.vms = opt->vms.items, .nr_vms = opt->vms.nr, .all_vms = opt->all_vms},
		.guest = tell_guest,
		.notice = tell_notice,
		.data = (void *)inv,
	};
	struct stolen_share *s;
	struct error err = {0};

	if (inv->nr_operands)
		return complain(inv, EXIT_USAGE, "what is \"%s\"? see sonde share --help",
				inv->operands[0]);
	get_time(opt->duration, &seconds);
	get_time(opt->period, &period);
	get_time(opt->resolution, &resolution);
	get_time(opt->least, &least);
	for (unsigned i = 0; i < opt->vms.nr; i++) {
		if (!stolen_is_name(opt->vms.items[i]))
			return complain(inv, EXIT_USAGE, "--vm: \"%s\" names no VM",
					opt->vms.items[i]);
	}
	if (!opt->vms.nr && !opt->all_vms)
		return complain(inv, EXIT_USAGE,
				"who may listen? --vm NAME, for each VM, or --all-vms");
	if (resolution > RESOLUTION_MAX_S)
		return complain(inv, EXIT_USAGE, "--resolution: at most 1s");
	if (period > PERIOD_MAX_S)
		return complain(inv, EXIT_USAGE, "--period: at most 500ms");
	if (geteuid())
		return complain(inv, EXIT_FAILED,
				"one has to be root to see what holds vCPUs up, and to tell them");
	options.least_ns = figure_round(least * 1e9);
	options.rules.resolution_ns = (uint64_t)figure_round(resolution * 1e9);
	options.rules.resolution_ns += !options.rules.resolution_ns;
	if (stolen_share_open(&s, &options, &err))
		return complain(inv, EXIT_FAILED, "%s", err.text);
	signals_catch_interrupt();
	tell_notice("sharing with guests that ask for it", (void *)inv);
	serve_until(s, seconds, period);
	if (stolen_share_lost(s))
		complain(inv, EXIT_DONE, "events lost: %llu",
			 (unsigned long long)stolen_share_lost(s));
	stolen_share_close(s);
	return EXIT_DONE;
}

const struct command share_command = {
	.name = "share",
	.summary = "share with guests the steal time of their vCPUs, live",
	.operands = "",
	.about =
		"Guests that have the module sonde_guest see it with `sonde stolen`, live: their "
		"own\n"
		"vCPUs' waits for a CPU and exits, with no names of others, and when others ran in\n"
		"steps of time only.  VMs that are not named get nothing.  It takes the right to "
		"load\n"
		"BPF programs and to write into the memory of VMs' processes: only where a "
		"guest's\n"
		"module says, and KVM that it is the guest's memory.\n",
	.options = option_rows,
	.nr_options = ARRAY_SIZE(option_rows),
	.values_bytes = sizeof(struct share_options),
	.run = run_share,
};
