/* Covers, capabilities and counts; see confinement.h. */
#include "runtime/process/supervisor/confinement.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"

#define CAPABILITIES_MAX 64
#define STATUS_MAX ((size_t)16 * 1024)
#define COVER_OPTIONS "mode=0,size=4k,nr_inodes=1"

static int cover(const char *folder)
{
	/* One that is not there cannot be read, and nothing in the namespace can make it appear. */
	if (access(folder, F_OK) < 0 && errno == ENOENT)
		return 0;
	return mount("tmpfs", folder, "tmpfs", MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC,
		       COVER_OPTIONS) < 0
		       ? -errno
		       : 0;
}

int confinement_cover(const char *const *folders, struct err *err)
{
	for (; folders && *folders; folders++) {
		int code = cover(*folders);

		if (code < 0)
			return err_system(err, -code, "hide '%s' from the task", *folders);
	}
	return 0;
}

static int write_file(const char *path, const char *text)
{
	int descriptor = open(path, O_WRONLY | O_CLOEXEC), code = 0;

	if (descriptor < 0)
		return -errno;
	if (write(descriptor, text, strlen(text)) < 0)
		code = -errno;
	close(descriptor);
	return code;
}

int confinement_cover_as_user(const char *const *folders)
{
	char users[64], groups[64];
	int code;

	snprintf(users, sizeof(users), "%u %u 1\n", (unsigned)geteuid(), (unsigned)geteuid());
	snprintf(groups, sizeof(groups), "%u %u 1\n", (unsigned)getegid(), (unsigned)getegid());
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
		return -errno;
	code = write_file("/proc/self/setgroups", "deny");
	if (code == 0)
		code = write_file("/proc/self/uid_map", users);
	if (code == 0)
		code = write_file("/proc/self/gid_map", groups);
	if (code == 0 && mount(NULL, "/", NULL, MS_SLAVE | MS_REC, NULL) < 0)
		code = -errno;
	for (; code == 0 && folders && *folders; folders++)
		code = cover(*folders);
	return code;
}

int confinement_try_as_user(const char *const *folders)
{
	int status;
	pid_t pid = fork();

	if (pid < 0)
		return -errno;
	if (pid == 0)
		_exit(-confinement_cover_as_user(folders));
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFEXITED(status) ? -WEXITSTATUS(status) : -EIO;
}

int confinement_limit_capabilities(uint64_t set)
{
	for (unsigned i = 0; i < CAPABILITIES_MAX; i++) {
		if (set >> i & 1 || prctl(PR_CAPBSET_READ, i, 0, 0, 0) != 1)
			continue;
		if (prctl(PR_CAPBSET_DROP, i, 0, 0, 0) == 0)
			continue;
		/* Without CAP_SETPCAP: then no program may gain any. */
		return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ? -errno : 0;
	}
	return 0;
}

int confinement_take_capabilities(uint64_t set)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];

	if (syscall(SYS_capget, &header, data) < 0)
		return -errno;
	for (unsigned i = 0; i < _LINUX_CAPABILITY_U32S_3; i++) {
		uint32_t part = (uint32_t)(set >> (32 * i));

		data[i].permitted &= part;
		data[i].effective &= part;
		data[i].inheritable = 0;
	}
	return syscall(SYS_capset, &header, data) < 0 ? -errno : 0;
}

/* A number behind a name at the beginning of a line of /proc/PID/status. */
static bool read_number(const char *status, const char *name, uint64_t *ret_number)
{
	const char *found = strstr(status, name);

	if (!found)
		return false;
	*ret_number = strtoull(found + strlen(name), NULL, 10);
	return true;
}

uint64_t confinement_count_processes(uid_t user)
{
	DIR *listing = opendir("/proc");
	uint64_t count = 0;

	if (!listing)
		return 0;
	for (struct dirent *entry; (entry = readdir(listing));) {
		_buffer_ struct buffer status = BUFFER_WITH_CAP(STATUS_MAX);
		_free_ char *path = NULL;
		uint64_t owner, threads;

		if (entry->d_name[0] < '1' || entry->d_name[0] > '9')
			continue;
		path = memory_format("/proc/%s/status", entry->d_name);
		if (file_read(path, STATUS_MAX - 1, &status, NULL) == 0 && status.data &&
			read_number(status.data, "\nUid:\t", &owner) && owner == user &&
			read_number(status.data, "\nThreads:\t", &threads))
			count += threads;
	}
	closedir(listing);
	return count;
}
