/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* pipe2() */
#include "record/base/program.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

int program_start(pid_t *pid, const char *const *words, int out)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	sigset_t usual;
	int ret;

	/* SIGPIPE may be ignored here, and an ignored signal stays so in a new program. */
	sigemptyset(&usual);
	sigaddset(&usual, SIGPIPE);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setsigdefault(&attr, &usual);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGDEF);
	posix_spawn_file_actions_init(&actions);
	if (out >= 0) {
		posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
		posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
		posix_spawn_file_actions_adddup2(&actions, out, STDERR_FILENO);
	}
	ret = -posix_spawnp(pid, words[0], &actions, &attr, (char *const *)words, environ);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attr);
	return ret;
}

int program_run(const char *const *words, struct buffer *output)
{
	struct buffer unwanted = {0};
	int pipe_fds[2];
	int status, ret;
	pid_t pid, got;

	if (pipe2(pipe_fds, O_CLOEXEC))
		return -errno;
	ret = program_start(&pid, words, pipe_fds[1]);
	close(pipe_fds[1]);
	if (!ret) {
		buffer_fd(output ? output : &unwanted, pipe_fds[0]);
		close(pipe_fds[0]); /* when not all was read: the program is not to wait for us */
		pipe_fds[0] = -1;
		do {
			got = waitpid(pid, &status, 0);
		} while (got < 0 && errno == EINTR);
		ret = got < 0 ? -errno : WIFEXITED(status) ? WEXITSTATUS(status) : -EINTR;
	}
	if (pipe_fds[0] >= 0)
		close(pipe_fds[0]);
	buffer_release(&unwanted);
	return ret;
}

bool program_exists(const char *name)
{
	const char *dirs = getenv("PATH");

	while (dirs && *dirs) {
		int len = (int)strcspn(dirs, ":");
		char path[PATH_MAX];

		snprintf(path, sizeof(path), "%.*s/%s", len, dirs, name);
		if (!access(path, X_OK))
			return true;
		dirs += len + (dirs[len] == ':');
	}
	return false;
}
