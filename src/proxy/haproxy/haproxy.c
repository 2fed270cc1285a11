/*
 * The driver: start and end, and calls that become jobs of the supervisor's thread. One thread does
 * all of it, because the kernel ends a process with the thread that started it.
 */
#include "proxy/haproxy/haproxy.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <pwd.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/file.h"
#include "proxy/haproxy/supervisor.h"

#define DEFAULT_THREADS_MAX 4
#define DEFAULT_MAX_CONNECTIONS 20000
#define DEFAULT_SPARE_GROUPS 64
#define DEFAULT_REQUEST_TIMEOUT_MS 30000
#define DEFAULT_HEADER_BYTES 16384
#define DEFAULT_END_AFTER_MS 3600000
#define HEADER_BYTES_MAX 1048576
#define SPARE_GROUPS_MAX 2048
#define DESCRIPTORS_BESIDE 256 /* of HAProxy, beside its connections */

static struct haproxy *haproxy_of(struct proxy_driver *driver)
{
	return CONTAINER_OF(driver, struct haproxy, driver);
}

/* ---- starting processes ---- */

static void add_spare(struct haproxy *haproxy, const struct shape *shape, size_t wanted)
{
	size_t count = 0;

	for (size_t i = 0; i < haproxy->backend_count; i++)
		count += backend_is_free(haproxy->backends[i]) &&
			 shape_is(&haproxy->backends[i]->shape, shape);
	while (count++ < wanted)
		backend_add(haproxy, shape);
}

/* Backends of each shape that a new group of a listener is likely to need. */
static void add_spares(struct haproxy *haproxy)
{
	static const struct {
		enum proxy_balance balance;
		bool keeps_targets;
		unsigned part;
	} kinds[] = {
		{PROXY_ROUND_ROBIN, false, 1},
		{PROXY_ROUND_ROBIN, true, 4},
		{PROXY_LEAST_REQUESTS, false, 4},
		{PROXY_RANDOM, false, 8},
	};

	MAP_EACH (&haproxy->listeners, entry) {
		struct shape shape = ((struct front *)entry->value)->shape;

		for (size_t i = 0; i < LENGTH(kinds) && (i == 0 || !shape.tcp); i++) {
			shape.balance = kinds[i].balance;
			shape.keeps_targets = kinds[i].keeps_targets;
			add_spare(haproxy, &shape,
				(haproxy->spare_groups + kinds[i].part - 1) / kinds[i].part);
		}
	}
}

/* With the first process: a server without listeners creates no folder. */
static int open_folder(struct haproxy *haproxy, struct err *err)
{
	int code = file_make_folder(haproxy->folder_path, 0700, err);

	if (code < 0)
		return code;
	haproxy->folder = open(haproxy->folder_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (haproxy->folder < 0)
		return err_errno(err, "open '%s'", haproxy->folder_path);
	if (fchmod(haproxy->folder, 0700) < 0)
		return err_errno(err, "make '%s' private", haproxy->folder_path);
	/* In a user namespace there may be no other users. */
	if (haproxy->drop_privileges && fchown(haproxy->folder, haproxy->user, haproxy->group) < 0)
		haproxy->drop_privileges = false;
	config_remove(haproxy, false);
	return 0;
}

/* Starts a process with the whole state; the previous one stops accepting when this one accepts. */
static int replace_process(struct haproxy *haproxy, struct err *err)
{
	struct process *before = haproxy->current, *process;
	int code = haproxy->folder < 0 ? open_folder(haproxy, err) : 0;

	if (code < 0)
		return code;
	add_spares(haproxy);
	if (before) {
		count_sample(haproxy, before);
		count_numbers(haproxy, before);
	}
	rows_restart(haproxy);
	code = process_start(haproxy, &process, err);
	if (code < 0)
		return code;
	follow_version_reported(haproxy);
	haproxy->current = process;
	haproxy->out_of_step = false;
	haproxy->restart_us = 0;
	atomic_store(&haproxy->accepting, process->pid);
	if (before && before->state == PROCESS_ACCEPTS)
		process_end_softly(haproxy, before);
	return 0;
}

/* The accepting process is gone. The first restart is immediate; further ones back off. */
static void plan_restart(struct haproxy *haproxy, int64_t started_us)
{
	int64_t now = runner_now_us(haproxy->runner);
	int64_t *delay = &haproxy->restart_delay_ms;

	if (now - started_us > SHORT_LIFE_MS * 1000)
		*delay = 0;
	haproxy->restart_us = now + *delay * 1000;
	*delay = *delay ? *delay * 2 : 10;
	if (*delay > RESTART_DELAY_MAX_MS)
		*delay = RESTART_DELAY_MAX_MS;
}

static void restart_if_due(struct haproxy *haproxy)
{
	int64_t now = runner_now_us(haproxy->runner);

	if (haproxy->current || haproxy->listeners.count == 0)
		return;
	if (haproxy->restart_us == 0)
		plan_restart(haproxy, haproxy->started_us);
	if (haproxy->restart_us > now)
		return;
	haproxy->started_us = now;
	if (replace_process(haproxy, NULL) < 0)
		haproxy->restart_us = runner_deadline_us(haproxy->runner, START_DELAY_MS * 1000);
}

/* Sends the changes, or starts a process with the new state. */
static int follow(struct haproxy *haproxy, const struct script *removed, struct err *err)
{
	_script_ struct script script = {0};
	int code = 0;

	follow_changes(haproxy, &script);
	follow_run(haproxy, &script);
	if (removed)
		follow_run(haproxy, removed);
	if (haproxy->listeners.count == 0) {
		if (haproxy->current)
			process_end_softly(haproxy, haproxy->current);
		return 0;
	}
	if (follow_needs_process(haproxy)) {
		haproxy->started_us = runner_now_us(haproxy->runner);
		code = replace_process(haproxy, err);
	}
	return code;
}

/* ---- jobs ---- */

static void sample_processes(struct haproxy *haproxy)
{
	for (size_t i = 0; i < PROCESSES_MAX; i++) {
		if (haproxy->processes[i].state != PROCESS_NONE)
			count_sample(haproxy, &haproxy->processes[i]);
	}
}

static void run_job(struct haproxy *haproxy, struct job *job)
{
	_script_ struct script removed = {0};

	switch (job->kind) {
	case JOB_APPLY:
		job->result = model_apply(haproxy, job->state, &removed, job->err);
		if (job->result == 0)
			job->result = follow(haproxy, &removed, job->err);
		return;
	case JOB_WEIGHTS:
		job->result = model_set_weights(haproxy, job->listener, job->routes,
			job->route_count, job->err);
		if (job->result == 0)
			job->result = follow(haproxy, NULL, job->err);
		return;
	case JOB_REPORT:
		sample_processes(haproxy);
		count_report(haproxy, job->arena, job->report);
		return;
	}
}

static void tick(struct haproxy *haproxy, int64_t *ret_next_us)
{
	_script_ struct script script = {0};
	int64_t now = runner_now_us(haproxy->runner), next;
	bool changed = false;

	for (size_t i = 0; i < PROCESSES_MAX; i++) {
		if (haproxy->processes[i].state != PROCESS_NONE)
			process_tick(haproxy, &haproxy->processes[i]);
	}
	restart_if_due(haproxy);
	next = backends_tick(haproxy, &changed);
	if (changed)
		follow_changes(haproxy, &script);
	if (haproxy->graves)
		follow_graves(haproxy, &script);
	follow_run(haproxy, &script);
	if (now - haproxy->sampled_us >= SAMPLE_MS * 1000 && haproxy->current) {
		haproxy->sampled_us = now;
		sample_processes(haproxy);
		count_numbers(haproxy, haproxy->current);
	}
	if (haproxy->out_of_step && haproxy->listeners.count > 0)
		replace_process(haproxy, NULL);
	if (haproxy->graves && next > now + GRAVE_MS * 1000)
		next = now + GRAVE_MS * 1000;
	if (haproxy->current && next > haproxy->sampled_us + SAMPLE_MS * 1000)
		next = haproxy->sampled_us + SAMPLE_MS * 1000;
	for (size_t i = 0; i < PROCESSES_MAX; i++) {
		const struct process *process = &haproxy->processes[i];

		if (process->state == PROCESS_ENDS && next > process_poll_us(process))
			next = process_poll_us(process);
	}
	if (!haproxy->current && haproxy->listeners.count > 0 && next > haproxy->restart_us)
		next = haproxy->restart_us;
	*ret_next_us = next;
}

static void wait_for_work(struct haproxy *haproxy, int64_t next_us)
{
	struct pollfd polled[PROCESSES_MAX + 1] = {{.fd = haproxy->wake, .events = POLLIN}};
	size_t count = 1;
	int64_t wait_ms = -1;
	uint64_t wakes;

	for (size_t i = 0; i < PROCESSES_MAX; i++) {
		if (haproxy->processes[i].state != PROCESS_NONE)
			polled[count++] = (struct pollfd){
				.fd = haproxy->processes[i].output, .events = POLLIN};
	}
	if (next_us != INT64_MAX)
		wait_ms = (next_us - runner_now_us(haproxy->runner)) / 1000 + 1;
	if (next_us != INT64_MAX && wait_ms < 0)
		wait_ms = 0;
	poll(polled, count, wait_ms > 60000 ? 60000 : (int)wait_ms);
	if (polled[0].revents && read(haproxy->wake, &wakes, sizeof(wakes)) < 0)
		return;
}

static void supervisor_main(void *context)
{
	struct haproxy *haproxy = context;

	for (;;) {
		struct job *job;
		int64_t next_us;
		bool stopping;

		lock_take(&haproxy->lock);
		job = haproxy->job && !haproxy->job->done ? haproxy->job : NULL;
		stopping = haproxy->stopping && !job;
		lock_release(&haproxy->lock);
		if (stopping)
			break;
		if (job) {
			run_job(haproxy, job);
			lock_take(&haproxy->lock);
			job->done = true;
			lock_release(&haproxy->lock);
			runner_signal(haproxy->event);
		}
		tick(haproxy, &next_us);
		if (!job)
			wait_for_work(haproxy, next_us);
	}
	for (size_t i = 0; i < PROCESSES_MAX; i++) {
		if (haproxy->processes[i].state == PROCESS_NONE)
			continue;
		if (haproxy->leaving)
			process_leave(haproxy, &haproxy->processes[i]);
		else
			process_bury(haproxy, &haproxy->processes[i]);
	}
}

static void wake(struct haproxy *haproxy)
{
	uint64_t one = 1;
	ssize_t written = write(haproxy->wake, &one, sizeof(one));

	(void)written; /* full means that it will wake up */
}

/* Gives the job to the supervisor's thread and waits for it. */
static int do_job(struct haproxy *haproxy, struct job *job)
{
	bool requested = false;

	for (;;) {
		uint64_t seen = runner_event_count(haproxy->event);
		bool done;

		lock_take(&haproxy->lock);
		if (!requested && haproxy->stopping) {
			lock_release(&haproxy->lock);
			return err_set(job->err, -ECANCELED, "the data plane is stopping");
		}
		if (!requested && !haproxy->job) {
			haproxy->job = job;
			requested = true;
			wake(haproxy);
		}
		done = requested && job->done;
		if (done)
			haproxy->job = NULL;
		lock_release(&haproxy->lock);
		if (done) {
			runner_signal(haproxy->event);
			return job->result;
		}
		/* The job is on this stack, so wait for its end. */
		runner_wait_certain(haproxy->runner, haproxy->event, seen);
	}
}

/* ---- the driver's calls ---- */

static int haproxy_apply(struct proxy_driver *driver, const struct proxy_state *state,
	struct err *err)
{
	struct job job = {.kind = JOB_APPLY, .state = state, .err = err};

	return do_job(haproxy_of(driver), &job);
}

static int haproxy_set_weights(struct proxy_driver *driver, const char *listener,
	const struct proxy_route *routes, size_t route_count, struct err *err)
{
	struct job job = {.kind = JOB_WEIGHTS,
		.listener = listener,
		.routes = routes,
		.route_count = route_count,
		.err = err};

	return do_job(haproxy_of(driver), &job);
}

static void haproxy_report(struct proxy_driver *driver, struct arena *arena,
	struct proxy_report *report)
{
	struct job job = {.kind = JOB_REPORT, .arena = arena, .report = report};

	do_job(haproxy_of(driver), &job);
}

static void haproxy_free(struct proxy_driver *driver)
{
	struct haproxy *haproxy = haproxy_of(driver);

	lock_take(&haproxy->lock);
	haproxy->stopping = true;
	lock_release(&haproxy->lock);
	if (haproxy->wake >= 0)
		wake(haproxy);
	runner_join(haproxy->runner, NULL);
	runner_stop(haproxy->runner);
	model_clear(haproxy);
	count_clear(haproxy);
	runner_event_free(haproxy->event);
	runner_free(haproxy->runner);
	lock_destroy(&haproxy->lock);
	if (haproxy->folder >= 0) {
		config_remove(haproxy, false);
		close(haproxy->folder);
	}
	if (haproxy->wake >= 0)
		close(haproxy->wake);
	free(haproxy->program);
	free(haproxy->folder_path);
	free(haproxy);
}

/* ---- starting ---- */

static bool may_become_others(void)
{
	const uint32_t needed = 1u << CAP_CHOWN | 1u << CAP_SETUID | 1u << CAP_SETGID;
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {0};

	return syscall(SYS_capget, &header, data) == 0 && (data[0].effective & needed) == needed;
}

/* As root, HAProxy runs as an unprivileged user. A root that may not change users (in a container)
 * runs it as itself. */
static void choose_user(struct haproxy *haproxy)
{
	static const char *const names[] = {"haproxy", "nobody"};

	for (size_t i = 0; may_become_others() && i < LENGTH(names) && !haproxy->drop_privileges;
		i++) {
		struct passwd entry, *found = NULL;
		char text[4096];

		if (getpwnam_r(names[i], &entry, text, sizeof(text), &found) != 0 || !found)
			continue;
		haproxy->drop_privileges = true;
		haproxy->user = found->pw_uid;
		haproxy->group = found->pw_gid;
	}
}

/* Two descriptors per connection, within the limit of the process. */
static uint32_t limit_connections(uint32_t wanted)
{
	struct rlimit limit;
	rlim_t most;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_max == RLIM_INFINITY)
		return wanted;
	most = limit.rlim_max > 2 * DESCRIPTORS_BESIDE ? (limit.rlim_max - DESCRIPTORS_BESIDE) / 2
						       : DESCRIPTORS_BESIDE / 2;
	return wanted < most ? wanted : (uint32_t)most;
}

static unsigned default_threads(void)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN);

	if (processors < 1)
		return 1;
	return processors < DEFAULT_THREADS_MAX ? (unsigned)processors : DEFAULT_THREADS_MAX;
}

static int check_options(const struct haproxy_options *options, struct err *err)
{
	const struct {
		const char *name;
		uint32_t value, most;
	} limits[] = {
		{"threads", options->threads, HAPROXY_THREADS_MAX},
		{"connections", options->max_connections, PROXY_CONNECTIONS_MAX},
		{"spare groups", options->spare_groups, SPARE_GROUPS_MAX},
		{"request timeout", options->request_timeout_ms, PROXY_TIMEOUT_MAX_MS},
		{"bytes of headers", options->header_bytes, HEADER_BYTES_MAX},
		{"time to end", options->end_after_ms, PROXY_TIMEOUT_MAX_MS},
	};

	if (!options->folder || !*options->folder)
		return err_set(err, -EINVAL, "HAProxy's files need a folder");
	for (size_t i = 0; i < LENGTH(limits); i++) {
		if (limits[i].value > limits[i].most)
			return err_set(err, -EINVAL, "HAProxy: %s %u is above %u", limits[i].name,
				limits[i].value, limits[i].most);
	}
	return 0;
}

int haproxy_new(struct runner *runner, const struct haproxy_options *options,
	struct proxy_driver **ret_driver, struct err *err)
{
	struct haproxy *haproxy;
	int code = check_options(options, err);

	runner_assert_may_block(runner);
	if (code < 0)
		return code;
	haproxy = memory_allocate(sizeof(*haproxy));
	haproxy->driver = (struct proxy_driver){
		.name = "haproxy",
		.protocols = 1u << PROXY_HTTP | 1u << PROXY_HTTPS | 1u << PROXY_TLS_END,
		.apply = haproxy_apply,
		.set_weights = haproxy_set_weights,
		.report = haproxy_report,
		.free = haproxy_free,
	};
	lock_init(&haproxy->lock);
	haproxy->runner = runner_group_new(runner, "haproxy");
	haproxy->event = runner_event_new(haproxy->runner, "haproxy");
	haproxy->program = memory_copy_string(options->program);
	haproxy->program_is_configured = options->program != NULL;
	haproxy->folder_path = memory_copy_string(options->folder);
#define OR_(value, otherwise) ((value) ? (value) : (otherwise))
	haproxy->threads = OR_(options->threads, default_threads());
	haproxy->max_connections =
		limit_connections(OR_(options->max_connections, DEFAULT_MAX_CONNECTIONS));
	haproxy->spare_groups = OR_(options->spare_groups, DEFAULT_SPARE_GROUPS);
	haproxy->request_timeout_ms = OR_(options->request_timeout_ms, DEFAULT_REQUEST_TIMEOUT_MS);
	haproxy->header_bytes = OR_(options->header_bytes, DEFAULT_HEADER_BYTES);
	haproxy->end_after_ms = OR_(options->end_after_ms, DEFAULT_END_AFTER_MS);
#undef OR_
	haproxy->folder = -1;
	choose_user(haproxy);
	haproxy->wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (haproxy->wake < 0)
		code = err_errno(err, "make an eventfd");
	if (code == 0)
		code = runner_spawn(haproxy->runner, "haproxy", supervisor_main, haproxy, err);
	if (code < 0) {
		haproxy_free(&haproxy->driver);
		return code;
	}
	*ret_driver = &haproxy->driver;
	return 0;
}

void haproxy_leave(struct proxy_driver *driver)
{
	haproxy_of(driver)->leaving = true;
}

pid_t haproxy_process(struct proxy_driver *driver)
{
	return atomic_load(&haproxy_of(driver)->accepting);
}
