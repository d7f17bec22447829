/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/common/pager.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *pager_command(void)
{
	const char *command = getenv("SONDE_PAGER");

	if (!command)
		command = getenv("PAGER");
	if (!command)
		command = "less";
	return *command && strcmp(command, "cat") ? command : NULL;
}

void pager_start(struct pager *p)
{
	const char *command = pager_command();
	int fds[2];

	if (!command || !isatty(STDOUT_FILENO) || pipe(fds))
		return;
	p->pid = fork();
	if (p->pid < 0) {
		p->pid = 0;
	} else if (p->pid == 0) {
		dup2(fds[0], STDIN_FILENO);
		close(fds[0]);
		close(fds[1]);
		setenv("LESS", "FRX", 0); /* colours; not when all fits on one screen */
		signal(SIGINT, SIG_IGN);  /* ^C is for the command; the user leaves with q */
		execl("/bin/sh", "sh", "-c", command, (char *)NULL);
		_exit(127);
	} else {
		dup2(fds[1], STDOUT_FILENO);
	}
	close(fds[0]);
	close(fds[1]);
}

void pager_wait(struct pager *p)
{
	if (p->pid <= 0)
		return;
	fclose(stdout);
	close(STDOUT_FILENO);
	while (waitpid(p->pid, NULL, 0) < 0)
		;
	p->pid = 0;
}
