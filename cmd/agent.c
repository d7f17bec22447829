/* SPDX-License-Identifier: Apache-2.0 */
/* sonde agent: records the machine it runs in when a recorder on its host asks. */
#define _GNU_SOURCE /* SIG_BLOCK with signalfd() */
#include "cmd/common/command.h"
#include "cmd/common/limits.h"
#include "cmd/common/signals.h"
#include "record/agent/agent.h"
#include "record/host/boot_trace.h"
#include "record/tracers/module.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

struct options {
	uint64_t vsock_port;
	const char *virtio;
	const char *tcp;
	const char *token_file;
	struct text_list guests;
	const char *tracer;
	bool once, boot_line;
};

#define FIELD(field) offsetof(struct options, field)

static const struct option_row rows[] = {
	{0, "vsock", OPTION_NUMBER, FIELD(vsock_port), "PORT", NULL,
	 "listen on this vsock port (default 21327)", 0},
	{0, "virtio", OPTION_TEXT, FIELD(virtio), "PATH", NULL,
	 "serve this virtio-serial port (default " LINK_PORT_PATH ")", 0},
	{0, "tcp", OPTION_TEXT, FIELD(tcp), "[ADDRESS:]PORT", NULL,
	 "listen on TCP (default address 127.0.0.1); needs --token-file", 0},
	{0, "token-file", OPTION_TEXT, FIELD(token_file), "FILE", NULL,
	 "answer only to who knows the secret in FILE", 0},
	{0, "guest", OPTION_PAIRS, FIELD(guests), "NAME=LINK", NULL,
	 "a guest of this machine that is not found by itself: tcp:ADDRESS:PORT, vsock:CID, "
	 "unix:PATH",
	 0},
	{0, "tracer", OPTION_CHOICE, FIELD(tracer), "NAME", "ftrace|hypertrace",
	 "hypertrace: send what the kernel module sonde_guest records (default: ftrace)", 0},
	{0, "once", OPTION_FLAG, FIELD(once), NULL, NULL, "end after one recording", 0},
	{0, "boot-line", OPTION_FLAG, FIELD(boot_line), NULL, NULL,
	 "print what is to be on a kernel's command line for its boot to be recorded, and end", 0},
};

static void say(void *data, const char *text)
{
	const struct invocation *inv = data;

	if (!inv->common.quiet)
		complain(inv, EXIT_DONE, "%s", text);
}

/* A descriptor that is readable when the agent is to end.  SIGHUP ends it in order, too, when its
 * terminal goes; an ignored one (nohup) must not be blocked: it would be kept, and read here. */
static int stop_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	if (!signals_ignores(SIGHUP))
		sigaddset(&set, SIGHUP);
	signal(SIGPIPE, SIG_IGN);
	sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static int add_guests(struct remote_targets *t, const struct text_list *list, struct error *err)
{
	int ret = 0;

	t->nr = 0;
	for (unsigned i = 0; i < list->nr && !ret; i++) {
		ret = remote_targets_add(t, list->items[i], NULL, err);
	}
	return ret;
}

static enum exit_code print_boot_line(const struct invocation *inv)
{
	puts(BOOTED_COMMAND_LINE);
	if (!inv->common.quiet && isatty(STDERR_FILENO))
		fputs("# Add it to the kernel's command line; with GRUB: to GRUB_CMDLINE_LINUX\n"
		      "# in /etc/default/grub, then update-grub.  After that boot,\n"
		      "# sonde record --for boot finds what the kernel recorded.\n",
		      stderr);
	return EXIT_DONE;
}

static enum exit_code run_agent(const struct invocation *inv)
{
	const struct options *opt = inv->values;
	static struct remote_targets guests; /* too large for the stack */
	bool told = opt->vsock_port || opt->virtio || opt->tcp;
	char address[sizeof(guests.list[0].links[0].address)];
	struct wire_token token;
	struct rlimit usual;
	unsigned port;
	struct error err = {0};
	struct agent_options a = {
		.vsock = opt->vsock_port || !told,
		.vsock_port = (unsigned)opt->vsock_port,
		.port_path = told ? opt->virtio : LINK_PORT_PATH,
		.tcp = opt->tcp,
		.wait_for_devices = !told,
		.token = opt->token_file ? &token : NULL,
		.guests = &guests,
		.module = opt->tracer && !strcmp(opt->tracer, "hypertrace"),
		.once = opt->once,
		.version = sonde_version(),
		.say = say,
		.data = (void *)inv,
	};

	if (inv->nr_operands)
		return complain(inv, EXIT_USAGE, "what is \"%s\"? see sonde agent --help",
				inv->operands[0]);
	if (opt->boot_line)
		return print_boot_line(inv);
	if (opt->tcp && link_split_address(opt->tcp, address, sizeof(address), &port, &err))
		return complain(inv, EXIT_USAGE, "--tcp: %s", err.text);
	if (opt->tcp && !opt->token_file)
		return complain(inv, EXIT_USAGE, "--tcp: anybody can call: give a --token-file");
	if (add_guests(&guests, &opt->guests, &err))
		return complain(inv, EXIT_USAGE, "--guest: %s", err.text);
	if (opt->token_file && wire_token_load(&token, opt->token_file, &err))
		return complain(inv, EXIT_FAILED, "%s", err.text);
	allow_many_files(&usual);
	if (geteuid())
		say((void *)inv, "only root can record: who asks gets an error");
	if (a.module && access(MODULE_DEVICE, F_OK))
		say((void *)inv, MODULE_DEVICE
		    " is not there, nothing can be sent until it is: " MODULE_DEVICE_HINT);
	a.stop_fd = stop_signals();
	if (agent_run(&a, &err))
		return complain(inv, EXIT_FAILED, "%s", err.text);
	return EXIT_DONE;
}

const struct command agent_command = {
	.name = "agent",
	.summary = "run inside a guest: records it when sonde record on its host asks",
	.operands = "",
	.about =
		"Serves vsock and the virtio-serial port " LINK_PORT_NAME ", whichever there is,\n"
		"unless options say where to listen. Guests of this machine are found and recorded too.\n",
	.options = rows,
	.nr_options = ARRAY_SIZE(rows),
	.values_bytes = sizeof(struct options),
	.run = run_agent,
};
