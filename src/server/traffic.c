/*
 * Traffic: the drivers of the data plane, the plane that drives them from the store,
 * and the watcher of replaced certificates. No process is started before there is a listener.
 *
 * When the server ends, listeners close at once. The data plane's processes carry open connections
 * to their end, as when the server is killed; the processes of an ephemeral server end with it.
 */
#include <dirent.h>
#include <ftw.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "base/file.h"
#include "ecs/record/container_instance.h"
#include "proxy/haproxy/haproxy.h"
#include "proxy/l4/l4.h"
#include "server/traffic.h"

#define CERTIFICATES_POLL_US INT64_C(1000000)
#define SETTLE_PATIENCE_US INT64_C(30000000)
#define SETTLE_POLL_US INT64_C(5000)
#define FOLDERS_OPEN_MAX 16
#define RUN_FOLDER "/run"

/* ---- the server, for load balancing ---- */

static void fill_context(struct server *server)
{
	const struct server_config *config = server->config;

	server->elb.domain = span_of(config->dns_domain);
	server->elb.addresses = span_of(config->balancers_addresses);
	server->elb.certificates = config->balancers_certificates;
	server->elb.instance_address = container_instance_address;
}

/* ---- certificates ---- */

/* A value that changes with the files of the folder: their names, sizes and times. */
static uint64_t fingerprint(const char *path)
{
	DIR *folder = opendir(path);
	struct dirent *entry;
	uint64_t sum = 0;

	while (folder && (entry = readdir(folder))) {
		struct stat status;
		char text[512];

		if (entry->d_name[0] == '.' ||
			fstatat(dirfd(folder), entry->d_name, &status, 0) < 0)
			continue;
		snprintf(text, sizeof(text), "%s %llu %lld %lld.%ld", entry->d_name,
			(unsigned long long)status.st_ino, (long long)status.st_size,
			(long long)status.st_mtim.tv_sec, status.st_mtim.tv_nsec);
		sum += span_hash(span_of(text)); /* in whatever order they are listed */
	}
	if (folder)
		closedir(folder);
	return sum;
}

static void watch_certificates(void *context)
{
	struct server *server = context;
	struct traffic *traffic = server->traffic;
	uint64_t seen = fingerprint(server->config->balancers_certificates);

	while (runner_sleep_until(traffic->runner,
		       runner_deadline_us(traffic->runner, CERTIFICATES_POLL_US)) == 0) {
		uint64_t now = fingerprint(server->config->balancers_certificates);

		if (now != seen)
			elb_plane_refresh(traffic->plane);
		seen = now;
	}
}

/* ---- opening ---- */

/* HAProxy's files. As root, HAProxy runs as a user without access to the state folder: they are in
 * a folder that only root can write to, under a name that the next server of this state finds. */
static int make_folder(struct server *server, struct traffic *traffic, struct err *err)
{
	const char *state = server->config->state, *parent = getenv("TMPDIR");
	bool as_root = geteuid() == 0 && access(RUN_FOLDER, W_OK) == 0;
	struct stat status;

	traffic->folder_is_temporary = as_root || !state;
	if (as_root && state) {
		if (stat(state, &status) < 0)
			return err_errno(err, "look at '%s'", state);
		traffic->folder = memory_format(RUN_FOLDER "/slipway-%llx-%llx",
			(unsigned long long)status.st_dev, (unsigned long long)status.st_ino);
		return 0;
	}
	if (state) {
		traffic->folder = memory_format("%s/proxy", state);
		return 0;
	}
	if (as_root)
		parent = RUN_FOLDER;
	traffic->folder = memory_format("%s/slipway-XXXXXX", parent && parent[0] ? parent : "/tmp");
	if (!mkdtemp(traffic->folder)) {
		int code = err_errno(err, "make folder '%s'", traffic->folder);

		free(TAKE(traffic->folder));
		return code;
	}
	return 0;
}

static int open_proxy(struct server *server, struct traffic *traffic, struct err *err)
{
	struct l4_options l4 = {.workers = (unsigned)server->config->balancers_workers};
	struct haproxy_options haproxy = {0};
	struct proxy_driver *drivers[2];
	int code = make_folder(server, traffic, err);

	if (code < 0)
		return code;
	haproxy.folder = traffic->folder;
	if (l4.workers == 0)
		l4.workers = get_nprocs() > 3 ? (unsigned)get_nprocs() / 2 : 1;
	if (l4.workers > L4_WORKERS_MAX)
		l4.workers = L4_WORKERS_MAX;
	code = l4_new(server->runner, &l4, &drivers[0], err);
	if (code < 0)
		return code;
	code = haproxy_new(server->runner, &haproxy, &drivers[1], err);
	if (code < 0) {
		drivers[0]->free(drivers[0]);
		return code;
	}
	traffic->l4 = drivers[0];
	traffic->haproxy = drivers[1];
	return proxy_new(drivers, LENGTH(drivers), &traffic->proxy, err);
}

int traffic_open(struct server *server, struct err *err)
{
	struct traffic *traffic = memory_allocate(sizeof(*traffic));
	struct elb_plane_config config = {.runner = server->runner,
		.store = server->store,
		.elb = &server->elb,
		.report = server_report_controller,
		.report_context = server};
	int code;

	server->traffic = traffic;
	fill_context(server);
	traffic->runner = runner_group_new(server->runner, "certificates");
	code = open_proxy(server, traffic, err);
	if (code < 0)
		return err_prefix(err, code, "open the data plane");
	config.proxy = traffic->proxy;
	code = elb_plane_start(&config, &traffic->plane, err);
	if (code == 0 && server->config->balancers_certificates)
		code = runner_spawn(traffic->runner, "certificates", watch_certificates, server,
			err);
	return code;
}

/* ---- closing ---- */

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *walk)
{
	(void)status;
	(void)type;
	(void)walk;
	return remove(path);
}

void traffic_close(struct server *server)
{
	struct traffic *traffic = server->traffic;

	if (!traffic)
		return;
	runner_stop(traffic->runner);
	runner_join(traffic->runner, NULL);
	runner_free(traffic->runner);
	elb_plane_stop(traffic->plane);
	if (traffic->proxy && !server->config->ephemeral) {
		l4_leave(traffic->l4);
		haproxy_leave(traffic->haproxy);
	}
	proxy_free(traffic->proxy);
	if (traffic->folder_is_temporary)
		nftw(traffic->folder, remove_entry, FOLDERS_OPEN_MAX, FTW_DEPTH | FTW_PHYS);
	free(traffic->folder);
	free(traffic);
	server->traffic = NULL;
}

/* ---- asking ---- */

bool traffic_is_ready(struct server *server)
{
	return elb_plane_has_started(server->traffic->plane);
}

int traffic_wait_until_settled(struct server *server)
{
	int64_t deadline = runner_deadline_us(server->runner, SETTLE_PATIENCE_US);

	while (!elb_plane_is_settled(server->traffic->plane)) {
		if (runner_now_us(server->runner) >= deadline)
			return -ETIMEDOUT;
		if (runner_sleep_until(server->runner,
			    runner_deadline_us(server->runner, SETTLE_POLL_US)) < 0)
			return -ECANCELED;
	}
	return 0;
}

void traffic_reload(struct server *server)
{
	elb_plane_refresh(server->traffic->plane);
}
