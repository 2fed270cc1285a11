/* See the header. */
#include "delivery/job.h"

#include <errno.h>
#include <sys/eventfd.h>

#include "base/lock.h"
#include "base/map.h"
#include "base/memory.h"

struct entry {
	struct jobs *jobs;
	const struct job_kind *kind;
	struct job job;
	struct http_client_cancel http_cancel;
	char key[JOB_KEY_MAX + 1];
	/* Under the lock: */
	bool has_ended, is_forgotten;
};

struct jobs {
	struct runner *runner;
	struct http_client *client;
	void (*ended)(void *context, struct span key);
	void *context;
	struct lock lock;
	struct map entries;   /* by key */
	struct map forgotten; /* that still run, by their address */
	struct runner_event *changed;
	bool is_stopping;
};

static void entry_free(struct entry *entry)
{
	if (entry->kind->free)
		entry->kind->free(entry->job.context);
	memory_close_descriptor(&entry->job.cancel);
	buffer_clear(&entry->job.result);
	free(entry);
}

struct jobs *jobs_new(struct runner *runner, struct http_client *client,
	void (*ended)(void *context, struct span key), void *context)
{
	struct jobs *jobs = memory_allocate(sizeof(*jobs));

	jobs->runner = runner;
	jobs->client = client;
	jobs->ended = ended;
	jobs->context = context;
	jobs->changed = runner_event_new(runner, "jobs");
	lock_init(&jobs->lock);
	return jobs;
}

static struct span address_key(const struct entry *const *entry)
{
	return (struct span){(const char *)entry, sizeof(*entry)};
}

/* Under the lock, so that the entry is there. */
static void request_end(struct entry *entry)
{
	uint64_t one = 1;

	atomic_store(&entry->http_cancel.requested, true);
	if (write(entry->job.cancel, &one, sizeof(one)) != sizeof(one))
		return; /* it was requested before */
}

/* Makes the client look at all cancelled calls; without a lock, because it takes its own. */
static void wake_client(struct jobs *jobs)
{
	struct http_client_cancel none = {0};

	if (jobs->client)
		http_client_cancel(jobs->client, &none);
}

/* The thread of a job. */
static void run_job(void *context)
{
	const struct entry *entry = context;
	struct entry *running = context;
	struct jobs *jobs = running->jobs;
	char key[JOB_KEY_MAX + 1];
	bool is_forgotten;

	running->kind->run(&running->job);
	lock_take(&jobs->lock);
	is_forgotten = running->is_forgotten;
	running->has_ended = true;
	memcpy(key, running->key, sizeof(key));
	if (is_forgotten)
		map_remove(&jobs->forgotten, address_key(&entry));
	lock_release(&jobs->lock);
	if (is_forgotten)
		entry_free(running);
	else
		jobs->ended(jobs->context, span_of(key));
	runner_signal(jobs->changed);
}

static struct entry *entry_new(struct jobs *jobs, struct span key, const struct job_kind *kind,
	void *context)
{
	struct entry *entry = memory_allocate(sizeof(*entry));

	entry->jobs = jobs;
	entry->kind = kind;
	entry->job.context = context;
	entry->job.cancel = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	entry->job.http_cancel = &entry->http_cancel;
	memcpy(entry->key, key.data, key.length);
	return entry;
}

static int add_entry(struct jobs *jobs, struct span key, struct entry *entry, struct err *err)
{
	int code = 0;

	lock_take(&jobs->lock);
	if (jobs->is_stopping)
		code = err_set(err, -ECANCELED, "jobs are being stopped");
	else if (map_has(&jobs->entries, key))
		code = err_set(err, -EEXIST, "the job runs already");
	else if (jobs->entries.count + jobs->forgotten.count >= JOBS_MAX)
		code = err_set(err, -EBUSY, "too many jobs run (limit %d)", JOBS_MAX);
	else if (entry->job.cancel < 0)
		code = err_set(err, -EMFILE, "too many open files");
	else
		map_put(&jobs->entries, key, entry);
	lock_release(&jobs->lock);
	return code;
}

int jobs_begin(struct jobs *jobs, struct span key, const struct job_kind *kind, void *context,
	struct err *err)
{
	struct entry *entry;
	int code;

	if (key.length > JOB_KEY_MAX) {
		if (kind->free)
			kind->free(context);
		return err_set(err, -EINVAL, "key of a job is longer than %d bytes", JOB_KEY_MAX);
	}
	entry = entry_new(jobs, key, kind, context);
	code = add_entry(jobs, key, entry, err);
	if (code >= 0) {
		code = runner_spawn(jobs->runner, "job", run_job, entry, err);
		if (code >= 0)
			return 0;
		lock_take(&jobs->lock);
		map_remove(&jobs->entries, key);
		lock_release(&jobs->lock);
	}
	entry_free(entry);
	return code;
}

enum job_state jobs_take(struct jobs *jobs, struct span key, struct arena *arena,
	struct span *ret_result)
{
	struct entry *entry;
	bool has_ended;

	lock_take(&jobs->lock);
	entry = map_get(&jobs->entries, key);
	has_ended = entry && entry->has_ended;
	if (has_ended)
		map_remove(&jobs->entries, key);
	lock_release(&jobs->lock);
	if (!has_ended)
		return entry ? JOB_RUNNING : JOB_NONE;
	*ret_result = arena_copy_span(arena, buffer_span(&entry->job.result));
	entry_free(entry);
	return JOB_ENDED;
}

enum job_state jobs_find(struct jobs *jobs, struct span key)
{
	const struct entry *entry;
	enum job_state state;

	lock_take(&jobs->lock);
	entry = map_get(&jobs->entries, key);
	state = !entry ? JOB_NONE : entry->has_ended ? JOB_ENDED : JOB_RUNNING;
	lock_release(&jobs->lock);
	return state;
}

void jobs_cancel(struct jobs *jobs, struct span key)
{
	struct entry *entry;
	const struct entry *address;
	bool has_ended;

	lock_take(&jobs->lock);
	entry = map_remove(&jobs->entries, key);
	has_ended = entry && entry->has_ended;
	if (entry && !has_ended) {
		address = entry;
		entry->is_forgotten = true;
		request_end(entry);
		map_put(&jobs->forgotten, address_key(&address), entry);
	}
	lock_release(&jobs->lock);
	if (has_ended)
		entry_free(entry);
	else if (entry)
		wake_client(jobs);
}

static bool is_any_running(struct jobs *jobs)
{
	bool is_any = false;

	lock_take(&jobs->lock);
	jobs->is_stopping = true;
	MAP_EACH (&jobs->entries, item) {
		struct entry *entry = item->value;

		if (!entry->has_ended) {
			is_any = true;
			request_end(entry);
		}
	}
	is_any = is_any || jobs->forgotten.count > 0;
	lock_release(&jobs->lock);
	wake_client(jobs);
	return is_any;
}

void jobs_free(struct jobs *jobs)
{
	if (!jobs)
		return;
	for (;;) {
		uint64_t seen = runner_event_count(jobs->changed);

		if (!is_any_running(jobs))
			break;
		runner_wait_certain(jobs->runner, jobs->changed, seen);
	}
	runner_join(jobs->runner, NULL);
	MAP_EACH (&jobs->entries, item)
		entry_free(item->value);
	map_clear(&jobs->entries);
	map_clear(&jobs->forgotten);
	runner_event_free(jobs->changed);
	lock_destroy(&jobs->lock);
	free(jobs);
}
