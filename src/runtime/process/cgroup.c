/* Control groups by their files. */
#include "runtime/process/cgroup.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "runtime/process/process.h"

#define MOUNTS_MAX ((size_t)1024 * 1024)
#define PARENT "slipway"
#define PERIOD_US 100000
#define QUOTA_LEAST_US 1000 /* the kernel's */
#define UNITS_PER_PROCESSOR 1024
#define SHARES_LEAST 2
#define SHARES_MOST 262144
#define MAKE_ATTEMPTS 200
#define REMOVE_ATTEMPTS 5000 /* a millisecond each */

static bool wants_resources(const struct plan *plan)
{
	bool wanted = plan->cpu > 0 || plan->memory > 0;

	for (size_t i = 0; i < plan->container_count; i++)
		wanted |= plan->containers[i].cpu > 0 || plan->containers[i].memory > 0;
	return wanted;
}

bool cgroup_is_wanted(const struct plan *plan)
{
	return plan->processes_max > 0 || wants_resources(plan);
}

static int write_text(const char *folder, const char *file, const char *text)
{
	_free_ char *path = memory_format("%s/%s", folder, file);
	_close_ int descriptor = open(path, O_WRONLY | O_CLOEXEC);

	if (descriptor < 0)
		return -errno;
	return write(descriptor, text, strlen(text)) < 0 ? -errno : 0;
}

static int write_number(const char *folder, const char *file, int64_t number)
{
	char text[32];

	snprintf(text, sizeof(text), "%lld", (long long)number);
	return write_text(folder, file, text);
}

/* A word of a list with separators of which the text has only these two. */
static bool has_word(const char *list, const char *word)
{
	size_t length = strlen(word);

	for (const char *c = list; *c;) {
		size_t here = strcspn(c, ", \n");

		if (here == length && memcmp(c, word, length) == 0)
			return true;
		c += here + (c[here] != '\0');
	}
	return false;
}

static void consider(struct cgroup_mount *mount, enum cgroup_kind kind, const char *path,
	const char *controllers, const char *controller)
{
	if (mount->kind != CGROUP_NONE || !has_word(controllers, controller) ||
		strlen(path) >= sizeof(mount->path))
		return;
	mount->kind = kind;
	snprintf(mount->path, sizeof(mount->path), "%s", path);
}

void cgroup_read_mounts(char *mountinfo, struct cgroup_mounts *ret_mounts)
{
	char *save = NULL;

	*ret_mounts = (struct cgroup_mounts){0};
	for (char *line = strtok_r(mountinfo, "\n", &save); line;
		line = strtok_r(NULL, "\n", &save)) {
		char path[PATH_MAX / 2], type[32], options[256];
		const char *behind = strstr(line, " - ");

		if (!behind || sscanf(line, "%*s %*s %*s %*s %2047s", path) != 1 ||
			sscanf(behind + 3, "%31s %*s %255s", type, options) != 2)
			continue;
		if (strcmp(type, "cgroup") == 0) {
			consider(&ret_mounts->memory, CGROUP_V1, path, options, "memory");
			consider(&ret_mounts->cpu, CGROUP_V1, path, options, "cpu");
			consider(&ret_mounts->processes, CGROUP_V1, path, options, "pids");
		} else if (strcmp(type, "cgroup2") == 0) {
			_free_ char *file = memory_format("%s/cgroup.controllers", path);
			_buffer_ struct buffer list = BUFFER_WITH_CAP(4096);

			if (file_read(file, 4095, &list, NULL) < 0 || !list.data)
				continue;
			consider(&ret_mounts->memory, CGROUP_V2, path, list.data, "memory");
			consider(&ret_mounts->cpu, CGROUP_V2, path, list.data, "cpu");
			consider(&ret_mounts->processes, CGROUP_V2, path, list.data, "pids");
		}
	}
}

void cgroup_find(struct cgroup_mounts *ret_mounts)
{
	_buffer_ struct buffer text = BUFFER_WITH_CAP(MOUNTS_MAX);

	*ret_mounts = (struct cgroup_mounts){0};
	if (geteuid() == 0 && file_read("/proc/self/mountinfo", MOUNTS_MAX - 1, &text, NULL) == 0 &&
		text.data)
		cgroup_read_mounts(text.data, ret_mounts);
}

bool runtime_process_limits_memory(void)
{
	struct cgroup_mounts mounts;

	cgroup_find(&mounts);
	return mounts.memory.kind != CGROUP_NONE && access(mounts.memory.path, W_OK) == 0;
}

static char *task_path(const struct cgroup_mount *mount, struct span token)
{
	return memory_format("%s/" PARENT "/%.*s", mount->path, SPAN_ARGS(token));
}

static char *container_path(const struct cgroup_mount *mount, struct span token,
	struct span container)
{
	return memory_format("%s/" PARENT "/%.*s/%.*s", mount->path, SPAN_ARGS(token),
		SPAN_ARGS(container));
}

static int make_group(const char *path)
{
	return mkdir(path, 0755) < 0 && errno != EEXIST ? -errno : 0;
}

/* The groups of a task in one hierarchy. The parent goes when its last task does, so it may have to
 * be made more than once. */
static int make_groups(const struct cgroup_mount *mount, const char *controller,
	const struct plan *plan)
{
	_free_ char *parent = memory_format("%s/" PARENT, mount->path);
	_free_ char *task = task_path(mount, plan->token);
	_free_ char *enable = memory_format("+%s", controller);
	int code = -ENOENT;

	if (mount->kind == CGROUP_V2) {
		code = write_text(mount->path, "cgroup.subtree_control", enable);
		if (code < 0)
			return code;
	}
	for (int i = 0; i < MAKE_ATTEMPTS; i++) {
		code = make_group(parent);
		if (code == 0 && mount->kind == CGROUP_V2)
			code = write_text(parent, "cgroup.subtree_control", enable);
		if (code == 0)
			code = make_group(task);
		if (code != -ENOENT && code != -ENODEV)
			break;
	}
	if (code == 0 && mount->kind == CGROUP_V2)
		code = write_text(task, "cgroup.subtree_control", enable);
	for (size_t i = 0; code == 0 && i < plan->container_count; i++) {
		_free_ char *container =
			container_path(mount, plan->token, plan->containers[i].name);

		code = make_group(container);
	}
	return code;
}

static void note(struct buffer *notes, const char *what, int code)
{
	buffer_format(notes, "; %s could not be set: %s", what, strerror(-code));
}

static void limit_memory(const struct cgroup_mount *mount, const char *path, int64_t mebibytes,
	struct buffer *notes)
{
	int code = 0;

	if (mebibytes > 0)
		code = write_number(path,
			mount->kind == CGROUP_V2 ? "memory.max" : "memory.limit_in_bytes",
			mebibytes * 1024 * 1024);
	if (code < 0)
		note(notes, "the limit of memory", code);
}

static void limit_processor(const struct cgroup_mount *mount, const char *path, int64_t units,
	struct buffer *notes)
{
	int64_t quota = units * PERIOD_US / UNITS_PER_PROCESSOR;
	int code = 0;

	if (quota < QUOTA_LEAST_US)
		quota = QUOTA_LEAST_US;
	if (units > 0 && mount->kind == CGROUP_V2) {
		char text[64];

		snprintf(text, sizeof(text), "%lld %d", (long long)quota, PERIOD_US);
		code = write_text(path, "cpu.max", text);
	} else if (units > 0) {
		code = write_number(path, "cpu.cfs_period_us", PERIOD_US);
		if (code == 0)
			code = write_number(path, "cpu.cfs_quota_us", quota);
	}
	if (code < 0)
		note(notes, "the limit of cpu", code);
}

static void share_processor(const struct cgroup_mount *mount, const char *path, int64_t units,
	struct buffer *notes)
{
	int64_t shares = units < SHARES_LEAST  ? SHARES_LEAST
			 : units > SHARES_MOST ? SHARES_MOST
					       : units;
	int code = 0;

	if (units > 0 && mount->kind == CGROUP_V2)
		code = write_number(path, "cpu.weight",
			1 + (shares - SHARES_LEAST) * 9999 / (SHARES_MOST - SHARES_LEAST));
	else if (units > 0)
		code = write_number(path, "cpu.shares", shares);
	if (code < 0)
		note(notes, "the share of cpu", code);
}

static void set_limits(const struct cgroup_mounts *mounts, const struct plan *plan,
	struct buffer *notes)
{
	if (mounts->memory.kind != CGROUP_NONE) {
		_free_ char *path = task_path(&mounts->memory, plan->token);

		limit_memory(&mounts->memory, path, plan->memory, notes);
	}
	if (mounts->cpu.kind != CGROUP_NONE) {
		_free_ char *path = task_path(&mounts->cpu, plan->token);

		limit_processor(&mounts->cpu, path, plan->cpu, notes);
	}
	if (mounts->processes.kind != CGROUP_NONE) {
		_free_ char *path = task_path(&mounts->processes, plan->token);
		int code = write_number(path, "pids.max", plan->processes_max);

		if (code < 0)
			note(notes, "the limit of processes", code);
	}
	for (size_t i = 0; i < plan->container_count; i++) {
		const struct plan_container *container = &plan->containers[i];

		if (mounts->memory.kind != CGROUP_NONE) {
			_free_ char *path =
				container_path(&mounts->memory, plan->token, container->name);

			limit_memory(&mounts->memory, path, container->memory, notes);
		}
		if (mounts->cpu.kind != CGROUP_NONE) {
			_free_ char *path =
				container_path(&mounts->cpu, plan->token, container->name);

			share_processor(&mounts->cpu, path, container->cpu, notes);
		}
	}
}

void cgroup_make(struct cgroup_mounts *mounts, const struct plan *plan, struct buffer *notes)
{
	bool resources = wants_resources(plan);
	const struct {
		struct cgroup_mount *mount;
		const char *controller, *problem;
		bool wanted;
	} uses[] = {
		{&mounts->memory, "memory", "memory is reserved, not limited", resources},
		{&mounts->cpu, "cpu", "cpu is reserved, not limited", resources},
		{&mounts->processes, "pids", "the number of processes is not limited",
			plan->processes_max > 0},
	};

	for (size_t i = 0; i < LENGTH(uses); i++) {
		int code;

		if (!uses[i].wanted) {
			uses[i].mount->kind = CGROUP_NONE;
			continue;
		}
		/* A user's processes are limited without control groups; root's are not. */
		if (uses[i].mount->kind == CGROUP_NONE) {
			if (uses[i].mount != &mounts->processes || geteuid() == 0)
				buffer_format(notes, "; %s: no control group for it",
					uses[i].problem);
			continue;
		}
		code = make_groups(uses[i].mount, uses[i].controller, plan);
		if (code == 0)
			continue;
		buffer_format(notes, "; %s: %s", uses[i].problem, strerror(-code));
		uses[i].mount->kind = CGROUP_NONE;
	}
	set_limits(mounts, plan, notes);
}

static void enter_path(const struct cgroup_mount *mount, struct span token, struct span container,
	char path[PATH_MAX])
{
	_free_ char *group = NULL;

	path[0] = '\0';
	if (mount->kind == CGROUP_NONE)
		return;
	group = container_path(mount, token, container);
	snprintf(path, PATH_MAX, "%s/cgroup.procs", group);
}

void cgroup_entry_of(const struct cgroup_mounts *mounts, struct span token, struct span container,
	struct cgroup_entry *ret_entry)
{
	enter_path(&mounts->memory, token, container, ret_entry->memory);
	enter_path(&mounts->cpu, token, container, ret_entry->cpu);
	enter_path(&mounts->processes, token, container, ret_entry->processes);
}

unsigned cgroup_count_kills(const struct cgroup_mounts *mounts, struct span token,
	struct span container)
{
	_buffer_ struct buffer text = BUFFER_WITH_CAP(4096);
	_free_ char *group = NULL, *path = NULL;
	const char *found;

	if (mounts->memory.kind == CGROUP_NONE)
		return 0;
	group = container_path(&mounts->memory, token, container);
	path = memory_format("%s/%s", group,
		mounts->memory.kind == CGROUP_V2 ? "memory.events" : "memory.oom_control");
	if (file_read(path, 4095, &text, NULL) < 0 || !text.data)
		return 0;
	found = strstr(text.data, "oom_kill ");
	return found ? (unsigned)strtoul(found + strlen("oom_kill "), NULL, 10) : 0;
}

bool cgroup_memory_usage(const struct cgroup_mounts *mounts, struct span token,
	struct span container, int64_t *ret_bytes)
{
	_buffer_ struct buffer text = BUFFER_WITH_CAP(64);
	_free_ char *group = NULL, *path = NULL;

	if (mounts->memory.kind == CGROUP_NONE)
		return false;
	group = container_path(&mounts->memory, token, container);
	path = memory_format("%s/%s", group,
		mounts->memory.kind == CGROUP_V2 ? "memory.current" : "memory.usage_in_bytes");
	if (file_read(path, 63, &text, NULL) < 0 || !text.data)
		return false;
	*ret_bytes = strtoll(text.data, NULL, 10);
	return true;
}

static void kill_members(const char *group)
{
	_free_ char *path = memory_format("%s/cgroup.procs", group);
	_buffer_ struct buffer text = BUFFER_WITH_CAP(MOUNTS_MAX);
	char *save = NULL;

	if (file_read(path, MOUNTS_MAX - 1, &text, NULL) < 0 || !text.data)
		return;
	for (char *line = strtok_r(text.data, "\n", &save); line;
		line = strtok_r(NULL, "\n", &save))
		if (atoi(line) > 1)
			kill(atoi(line), SIGKILL);
}

/* A group can be removed once its last process has left it, a moment after that was killed. */
static void remove_group(const char *group)
{
	struct timespec moment = {.tv_nsec = 1000 * 1000};

	for (int i = 0; i < REMOVE_ATTEMPTS; i++) {
		if (rmdir(group) == 0 || errno != EBUSY)
			return;
		kill_members(group);
		nanosleep(&moment, NULL);
	}
}

static void remove_groups(const struct cgroup_mount *mount, struct span token)
{
	_free_ char *parent = NULL, *task = NULL;
	DIR *listing;

	if (mount->kind == CGROUP_NONE)
		return;
	parent = memory_format("%s/" PARENT, mount->path);
	task = task_path(mount, token);
	listing = opendir(task);
	if (!listing)
		return;
	for (struct dirent *entry; (entry = readdir(listing));) {
		_free_ char *group = memory_format("%s/%s", task, entry->d_name);

		if (entry->d_type == DT_DIR && entry->d_name[0] != '.')
			remove_group(group);
	}
	closedir(listing);
	remove_group(task);
	rmdir(parent); /* if this was the last task */
}

void cgroup_remove(const struct cgroup_mounts *mounts, struct span token)
{
	remove_groups(&mounts->memory, token);
	remove_groups(&mounts->cpu, token);
	remove_groups(&mounts->processes, token);
}
