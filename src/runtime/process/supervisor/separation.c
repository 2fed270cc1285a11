/* Every step can be undone, until the next one is known to work. */
#include "runtime/process/supervisor/separation.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"
#include "runtime/process/netlink.h"
#include "runtime/task/record.h"

#define NAMESPACES (CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWIPC)
#define INSIDE_NAME "eth0"
#define LOOPBACK_INDEX 1
#define METADATA_ADDRESS 0xa9feaa02u /* SEPARATION_METADATA_ADDRESS */
#define RESOLVER_ADDRESS 0xa9fea9fdu /* SEPARATION_RESOLVER_ADDRESS */
#define LOCK_ATTEMPTS 10
#define FORWARD_ATTEMPTS 4000 /* half a millisecond each */

/* Processes and mounts. */

struct way_back {
	int processes, mounts, folder;
};

static int leave(struct way_back *back, struct err *err)
{
	*back = (struct way_back){
		.processes = open("/proc/self/ns/pid", O_RDONLY | O_CLOEXEC),
		.mounts = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC),
		.folder = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC),
	};
	if (back->processes < 0 || back->mounts < 0 || back->folder < 0 ||
		unshare(NAMESPACES) < 0) {
		int number = errno;

		memory_close_descriptor(&back->folder); /* fails if no namespace was entered */
		return err_system(err, number, "make namespaces");
	}
	/* Mounts of the machine are visible; mounts made here stay here. */
	if (mount(NULL, "/", NULL, MS_SLAVE | MS_REC, NULL) < 0)
		return err_errno(err, "make mounts private");
	return 0;
}

static void close_way_back(struct way_back *back)
{
	memory_close_descriptor(&back->processes);
	memory_close_descriptor(&back->mounts);
	memory_close_descriptor(&back->folder);
}

static int go_back(struct way_back *back, struct err *err)
{
	if (back->folder < 0)
		return 0;
	if (setns(back->processes, CLONE_NEWPID) < 0 || setns(back->mounts, CLONE_NEWNS) < 0 ||
		fchdir(back->folder) < 0)
		return err_errno(err, "return from the task's namespaces");
	return 0;
}

/* In the first process of the namespace. */
static int take_possession(void)
{
	return mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0 ? errno
											  : 0;
}

/* Forks; returns 0 in the child that has taken possession. In the parent it returns only if the
 * child could not, and why. */
static int fork_separated(struct err *err)
{
	int ends[2], code = 0;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_errno(err, "make a pipe");
	pid = fork();
	if (pid < 0)
		return err_errno(err, "fork");
	if (pid == 0) {
		code = take_possession();
		if (write(ends[1], &code, sizeof(code)) < 0 || code != 0)
			_exit(1);
		close(ends[0]);
		close(ends[1]);
		return 0;
	}
	close(ends[1]);
	/* Ended without a message: it was killed, which the channel shows. */
	if (read(ends[0], &code, sizeof(code)) < (ssize_t)sizeof(code) || code == 0)
		_exit(0);
	close(ends[0]);
	waitpid(pid, NULL, 0);
	return err_system(err, code, "mount /proc");
}

int separation_go_to_background(const struct plan *plan, struct separation *ret_separation,
	struct err *err)
{
	struct separation separation = {.machine = -1};
	struct way_back back = {-1, -1, -1};
	struct err problem;
	pid_t pid;
	int code;

	if (!plan->plain && geteuid() == 0) {
		code = leave(&back, &problem);
		if (code == 0)
			code = fork_separated(&problem);
		separation.separated = code == 0;
		if (code < 0)
			snprintf(separation.reason, sizeof(separation.reason), "%.150s",
				problem.message);
		if (code < 0 && go_back(&back, err) < 0)
			return err->code;
		close_way_back(&back);
	}
	if (!separation.separated) {
		pid = fork();
		if (pid < 0)
			return err_errno(err, "fork");
		if (pid > 0)
			_exit(0);
	}
	setsid();
	*ret_separation = separation;
	return 0;
}

/* Network. */

/* Names are unique by bridge and address; an existing interface of that name is a leftover. */
static int make_pair(int machine, const char *name, int bridge, const uint8_t mac[6], int here)
{
	int code = netlink_make_pair(machine, name, bridge, INSIDE_NAME, mac, here);

	if (code != -EEXIST)
		return code;
	netlink_remove(machine, name);
	return netlink_make_pair(machine, name, bridge, INSIDE_NAME, mac, here);
}

/* Before that, a connection's first packet would be lost, and sent again a second later. */
static int wait_until_it_forwards(int machine, const char *name)
{
	struct timespec moment = {.tv_nsec = 500 * 1000};

	for (int i = 0; i < FORWARD_ATTEMPTS; i++) {
		bool forwards = false;
		int code = netlink_forwards(machine, name, &forwards);

		if (code < 0 || forwards)
			return code;
		nanosleep(&moment, NULL);
	}
	return -ETIMEDOUT;
}

static int set_up_loopback(int inside)
{
	int code = netlink_set_up(inside, LOOPBACK_INDEX);

	if (code == 0)
		code = netlink_add_address(inside, LOOPBACK_INDEX, METADATA_ADDRESS, 32);
	return code < 0 ? code : netlink_add_address(inside, LOOPBACK_INDEX, RESOLVER_ADDRESS, 32);
}

static void name_port(const struct plan_link *link, char name[NETLINK_NAME_MAX])
{
	unsigned number = (unsigned)(link->address & ((1u << (32 - link->prefix)) - 1));

	snprintf(name, NETLINK_NAME_MAX, "%.10s-%03x", link->bridge, number & 0xfffu);
}

static int set_up_link(int machine, int inside, const struct plan_link *link, const uint8_t mac[6])
{
	_close_ int here = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	char name[NETLINK_NAME_MAX];
	int bridge, index, code;

	if (here < 0)
		return -errno;
	name_port(link, name);
	code = netlink_find(machine, link->bridge, &bridge);
	if (code == 0)
		code = make_pair(machine, name, bridge, mac, here);
	if (code == 0)
		code = netlink_find(inside, INSIDE_NAME, &index);
	if (code == 0)
		code = netlink_add_address(inside, index, link->address, link->prefix);
	if (code == 0)
		code = netlink_set_up(inside, index);
	if (code == 0)
		code = netlink_add_default_route(inside, link->gateway);
	if (code == 0)
		code = wait_until_it_forwards(machine, name);
	return code;
}

static int make_network(const struct plan *plan, struct separation *separation)
{
	_close_ int back = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	_close_ int machine = -1, inside = -1;
	uint32_t address = plan->link.address;
	uint8_t mac[6] = {0x02, 0x74, (uint8_t)(address >> 24), (uint8_t)(address >> 16),
		(uint8_t)(address >> 8), (uint8_t)address};
	int code = netlink_open(&machine);

	if (code < 0 || back < 0)
		return code < 0 ? code : -errno;
	if (unshare(CLONE_NEWNET) < 0)
		return -errno;
	code = netlink_open(&inside);
	if (code == 0)
		code = set_up_loopback(inside);
	if (code == 0 && plan->network == PLAN_NETWORK_AWSVPC) {
		code = set_up_link(machine, inside, &plan->link, mac);
		memcpy(separation->mac, mac, sizeof(mac));
	}
	/* New interfaces go with the namespace. */
	if (code < 0 && setns(back, CLONE_NEWNET) < 0)
		return code;
	separation->own_network = code == 0;
	if (code == 0 && plan->network == PLAN_NETWORK_AWSVPC)
		separation->machine = TAKE_FD(machine);
	return code;
}

void separation_make_network(const struct plan *plan, struct separation *separation)
{
	bool wants_link = plan->network == PLAN_NETWORK_AWSVPC;
	int code;

	if (!separation->separated || (!wants_link && plan->network != PLAN_NETWORK_NONE))
		return;
	code = wants_link && !plan->link.bridge[0] ? -EOPNOTSUPP : make_network(plan, separation);
	if (code < 0)
		snprintf(separation->network_reason, sizeof(separation->network_reason), "%s",
			strerror(-code));
}

/* A running server locks the folder of all tasks; another task that ends now holds the lock for a
 * moment, too. A missing folder was removed by a server. */
static bool lock_all(int *ret_lock)
{
	struct timespec moment = {.tv_nsec = 2 * 1000 * 1000};
	_close_ int lock = open("../" RECORD_ALL_LOCK_FILE, O_RDWR | O_CLOEXEC);

	for (int i = 0; lock >= 0 && i < LOCK_ATTEMPTS; i++) {
		if (flock(lock, LOCK_EX | LOCK_NB) == 0) {
			*ret_lock = TAKE_FD(lock);
			return true;
		}
		nanosleep(&moment, NULL);
	}
	return false;
}

void separation_end(const struct plan *plan, struct separation *separation)
{
	_close_ int machine = separation->machine, lock = -1;
	char name[NETLINK_NAME_MAX];
	bool needed = true;
	int bridge;

	separation->machine = -1;
	if (machine < 0)
		return;
	name_port(&plan->link, name);
	netlink_remove(machine, name);
	if (!lock_all(&lock))
		return;
	if (netlink_find(machine, plan->link.bridge, &bridge) == 0 &&
		netlink_has_ports(machine, bridge, &needed) == 0 && !needed)
		netlink_remove(machine, plan->link.bridge);
}
