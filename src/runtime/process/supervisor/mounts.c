/* A child makes the namespace and the mounts in it; the supervisor stays where it is. */
#include "runtime/process/supervisor/mounts.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"

#define COVERED_MAX 4096 /* entries of a folder that is covered */
#define OWN_MAX (2 * PLAN_MOUNTS_MAX)

bool mounts_are_wanted(const struct plan_container *plan)
{
	return plan->mount_count > 0 || plan->readonly_root;
}

int mounts_check_plain(const struct plan_container *plan, struct err *err)
{
	for (size_t i = 0; i < plan->mount_count; i++) {
		const struct plan_mount *mount = &plan->mounts[i];

		if (!mount->source || strcmp(mount->source, mount->target) != 0)
			return err_set(err, -EPERM,
				"a volume at '%s' needs a mount namespace; in plain mode a volume "
				"can "
				"be only where this machine has it",
				mount->target);
	}
	return 0;
}

/* In the child. Paths that exist only here, so that mount points below them change no folder of the
 * machine. */
struct scene {
	char own[OWN_MAX][PATH_MAX];
	size_t own_count;
	int folder; /* the task's */
	int trees[PLAN_MOUNTS_MAX];
	bool is_file[PLAN_MOUNTS_MAX];
};

static void add_own(struct scene *scene, const char *path)
{
	if (scene->own_count < OWN_MAX)
		snprintf(scene->own[scene->own_count++], PATH_MAX, "%s", path);
}

static bool is_own(const struct scene *scene, const char *path)
{
	for (size_t i = 0; i < scene->own_count; i++)
		if (strcmp(scene->own[i], path) == 0)
			return true;
	return false;
}

static int make_empty(const char *path, bool is_file)
{
	int descriptor;

	if (!is_file)
		return mkdir(path, 0755) < 0 && errno != EEXIST ? -errno : 0;
	descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
	if (descriptor < 0)
		return -errno;
	close(descriptor);
	return 0;
}

/* One entry of a covered folder, bound onto the cover. */
static int keep_entry(int covered, const char *name, const char *cover)
{
	char from[PATH_MAX], to[PATH_MAX], target[PATH_MAX];
	struct stat status;
	ssize_t length;
	int code;

	if (snprintf(from, sizeof(from), "/proc/self/fd/%d/%s", covered, name) >= PATH_MAX ||
		snprintf(to, sizeof(to), "%s/%s", cover, name) >= PATH_MAX)
		return -ENAMETOOLONG;
	if (fstatat(covered, name, &status, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (S_ISLNK(status.st_mode)) {
		length = readlinkat(covered, name, target, sizeof(target) - 1);
		if (length < 0)
			return -errno;
		target[length] = '\0';
		return symlink(target, to) < 0 ? -errno : 0;
	}
	code = make_empty(to, !S_ISDIR(status.st_mode));
	if (code < 0)
		return code;
	return mount(from, to, NULL, MS_BIND | MS_REC, NULL) < 0 ? -errno : 0;
}

static int keep_entries(int covered, const char *cover)
{
	int again = openat(covered, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *listing = again < 0 ? NULL : fdopendir(again);
	int code = 0, count = 0;

	if (!listing)
		return -errno;
	for (struct dirent *entry; code == 0 && (entry = readdir(listing));) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		code = ++count > COVERED_MAX ? -E2BIG : keep_entry(covered, entry->d_name, cover);
	}
	closedir(listing);
	return code;
}

/*
 * The root cannot be covered where it is: it is built over the task's folder and moved. That folder has no path where
 * the folders of slipway are hidden, so it is entered from the one above it.
 */
static int cover_root(struct scene *scene, int covered, const char *options)
{
	char place[PATH_MAX], again[PATH_MAX], hidden[2 * PATH_MAX];
	int code;

	if (fchdir(scene->folder) < 0 || !getcwd(place, sizeof(place)) ||
		mount("tmpfs", ".", "tmpfs", 0, options) < 0)
		return -errno;
	snprintf(again, sizeof(again), "..%s", strrchr(place, '/'));
	if (chdir(again) < 0)
		return -errno;
	code = keep_entries(covered, ".");
	if (code < 0)
		return code;
	/* The copy of it that came with what it is in. */
	snprintf(hidden, sizeof(hidden), "%s%s", place, place);
	umount2(hidden, MNT_DETACH);
	if (mount(".", "/", NULL, MS_MOVE, NULL) < 0 || chroot(".") < 0 ||
		fchdir(scene->folder) < 0)
		return -errno;
	return 0;
}

static int cover(struct scene *scene, const char *folder)
{
	_close_ int covered = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	char options[64];
	struct stat status;
	int code;

	if (covered < 0 || fstat(covered, &status) < 0)
		return -errno;
	snprintf(options, sizeof(options), "mode=%o,uid=%u,gid=%u", status.st_mode & 07777u,
		(unsigned)status.st_uid, (unsigned)status.st_gid);
	if (strcmp(folder, "/") == 0) {
		code = cover_root(scene, covered, options);
	} else {
		code = mount("tmpfs", folder, "tmpfs", 0, options) < 0
			       ? -errno
			       : keep_entries(covered, folder);
	}
	if (code == 0)
		add_own(scene, folder);
	return code;
}

/* Makes what is missing of a path, in memory. */
static int make_target(struct scene *scene, const char *target, bool is_file)
{
	char path[PATH_MAX], above[PATH_MAX] = "/";
	int code;

	snprintf(path, sizeof(path), "%s", target);
	for (char *slash = path;; *slash = '/') {
		bool last;

		slash += strspn(slash, "/");
		slash += strcspn(slash, "/");
		last = slash[strspn(slash, "/")] == '\0';
		*slash = '\0';
		if (access(path, F_OK) < 0 && errno == ENOENT) {
			if (!is_own(scene, above)) {
				code = cover(scene, above);
				if (code < 0)
					return code;
			}
			code = make_empty(path, last && is_file);
			if (code < 0)
				return code;
			add_own(scene, path);
		}
		if (last)
			return 0;
		snprintf(above, sizeof(above), "%s", path);
	}
}

static int open_source(const struct plan_mount *mount, struct scene *scene, size_t index,
	struct err *err)
{
	char own[PLAN_NAME_MAX + 16];
	const char *source = mount->source;
	struct stat status;

	if (mount->volume) {
		snprintf(own, sizeof(own), "volume-%s", mount->volume);
		source = own;
		if (mkdir(own, 0777) < 0 && errno != EEXIST)
			return err_errno(err, "make volume '%s'", mount->volume);
		chmod(own, 0777);
	} else if (access(source, F_OK) < 0 && errno == ENOENT) {
		/* As Docker does. */
		int code = file_make_folder(source, 0755, err);

		if (code < 0)
			return code;
	}
	if (stat(source, &status) < 0)
		return err_errno(err, "find '%s'", source);
	scene->is_file[index] = !S_ISDIR(status.st_mode);
	scene->trees[index] =
		open_tree(AT_FDCWD, source, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);
	return scene->trees[index] < 0 ? err_errno(err, "take '%s'", source) : 0;
}

static int set_readonly(const char *path, bool readonly)
{
	struct mount_attr attributes = {0};

	if (readonly)
		attributes.attr_set = MOUNT_ATTR_RDONLY;
	else
		attributes.attr_clr = MOUNT_ATTR_RDONLY;
	return mount_setattr(AT_FDCWD, path, AT_RECURSIVE, &attributes, sizeof(attributes)) < 0
		       ? -errno
		       : 0;
}

static int make_readonly(struct err *err)
{
	int code = set_readonly("/", true);

	if (code < 0)
		return err_system(err, -code, "make the root file system read-only");
	/* Not files; and containers can write here, too. */
	set_readonly("/proc", false);
	set_readonly("/dev", false);
	return 0;
}

static int make_mounts(const struct plan_container *plan, struct err *err)
{
	static struct scene scene;
	int code;

	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_SLAVE | MS_REC, NULL) < 0)
		return err_errno(err, "make a mount namespace");
	/* Only now: a folder of the namespace before has no path in this one. */
	scene.folder = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (scene.folder < 0)
		return err_errno(err, "open the task's folder");
	umask(0);
	for (size_t i = 0; i < plan->mount_count; i++) {
		code = open_source(&plan->mounts[i], &scene, i, err);
		if (code < 0)
			return code;
	}
	for (size_t i = 0; i < plan->mount_count; i++) {
		code = make_target(&scene, plan->mounts[i].target, scene.is_file[i]);
		if (code < 0)
			return err_system(err, -code, "make the place '%s'",
				plan->mounts[i].target);
	}
	if (plan->readonly_root) {
		code = make_readonly(err);
		if (code < 0)
			return code;
	}
	for (size_t i = 0; i < plan->mount_count; i++) {
		const char *target = plan->mounts[i].target;

		if (move_mount(scene.trees[i], "", AT_FDCWD, target, MOVE_MOUNT_F_EMPTY_PATH) < 0)
			return err_errno(err, "mount at '%s'", target);
		if (plan->mounts[i].readonly) {
			code = set_readonly(target, true);
			if (code < 0)
				return err_system(err, -code, "make '%s' read-only", target);
		}
	}
	return 0;
}

/* Reports its result, and stays until the namespace has been entered. */
__attribute__((noreturn)) static void be_maker(const struct plan_container *plan, int channel)
{
	struct err err = {.message = ""};
	char c = 'y';

	if (make_mounts(plan, &err) < 0) {
		if (send(channel, err.message, strlen(err.message), MSG_NOSIGNAL) < 0)
			_exit(1);
		_exit(1);
	}
	if (send(channel, "\n", 1, MSG_NOSIGNAL) == 1 && read(channel, &c, 1) >= 0)
		_exit(0);
	_exit(1);
}

int mounts_make(const struct plan_container *plan, int *ret_namespace, struct err *err)
{
	char path[64], answer[ERR_MESSAGE_MAX / 2];
	int ends[2], namespace = -1, code = 0;
	ssize_t got;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return err_errno(err, "make a channel");
	pid = fork();
	if (pid == 0) {
		close(ends[0]);
		be_maker(plan, ends[1]);
	}
	close(ends[1]);
	if (pid < 0) {
		close(ends[0]);
		return err_errno(err, "fork");
	}
	got = read(ends[0], answer, sizeof(answer));
	snprintf(path, sizeof(path), "/proc/%d/ns/mnt", (int)pid);
	if (got == 1 && answer[0] == '\n')
	namespace = open(path, O_RDONLY | O_CLOEXEC);
	if (namespace < 0)
		code = err_set(err, -EIO, "%.*s", got > 0 ? (int)got : 0, answer);
	close(ends[0]);
	waitpid(pid, NULL, 0);
	if (code == 0)
		*ret_namespace = namespace;
	return code;
}

int mounts_cover_file(const char *source, const char *target, struct err *err)
{
	if (mount(source, target, NULL, MS_BIND, NULL) < 0)
		return err_errno(err, "mount '%s' at '%s'", source, target);
	return 0;
}
