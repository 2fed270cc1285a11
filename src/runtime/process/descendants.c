/* Children are found in /proc/self/task/TID/children, or where the kernel has none by their parent.
 * */
#include "runtime/process/descendants.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void kill_unless_spared(pid_t pid, const pid_t *spared, size_t spared_count)
{
	for (size_t i = 0; i < spared_count; i++)
		if (spared[i] == pid)
			return;
	/* A child not yet waited for keeps its number, so this cannot hit another process. */
	if (pid > 1)
		kill(pid, SIGKILL);
}

static bool kill_listed(const pid_t *spared, size_t spared_count)
{
	char path[64], text[4096];
	ssize_t got;
	pid_t pid = 0;
	int descriptor;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
	descriptor = open(path, O_RDONLY | O_CLOEXEC);
	if (descriptor < 0)
		return false;
	while ((got = read(descriptor, text, sizeof(text))) > 0)
		for (ssize_t i = 0; i < got; i++) {
			if (text[i] >= '0' && text[i] <= '9') {
				pid = pid * 10 + (text[i] - '0');
				continue;
			}
			kill_unless_spared(pid, spared, spared_count);
			pid = 0;
		}
	close(descriptor);
	return true;
}

static pid_t parent_of(const char *pid)
{
	char path[64], text[512];
	const char *behind_name;
	ssize_t got;
	int descriptor, parent = -1;

	snprintf(path, sizeof(path), "/proc/%.16s/stat", pid);
	descriptor = open(path, O_RDONLY | O_CLOEXEC);
	if (descriptor < 0)
		return -1;
	got = read(descriptor, text, sizeof(text) - 1);
	close(descriptor);
	if (got <= 0)
		return -1;
	text[got] = '\0';
	behind_name = strrchr(text, ')');
	if (!behind_name || sscanf(behind_name + 1, " %*c %d", &parent) != 1)
		return -1;
	return parent;
}

static void kill_by_parent(const pid_t *spared, size_t spared_count)
{
	DIR *listing = opendir("/proc");

	if (!listing)
		return;
	for (struct dirent *entry; (entry = readdir(listing));)
		if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' &&
			parent_of(entry->d_name) == getpid())
			kill_unless_spared((pid_t)atoi(entry->d_name), spared, spared_count);
	closedir(listing);
}

void descendants_kill_children(const pid_t *spared, size_t spared_count)
{
	if (!kill_listed(spared, spared_count))
		kill_by_parent(spared, spared_count);
}

void descendants_end(pid_t watched, int *ret_status)
{
	for (;;) {
		int status;
		pid_t pid;

		/* When a child is reaped, its own children are already ours: list again. */
		descendants_kill_children(NULL, 0);
		pid = waitpid(-1, &status, 0);
		if (pid < 0 && errno == ECHILD)
			return;
		if (pid > 0 && pid == watched)
			*ret_status = status;
	}
}
