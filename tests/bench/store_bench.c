/*
 * The store by itself: what a write costs the writer, what it costs with the disk beside a bare SQLite
 * loop that commits groups of the same size, what a view costs, how long 100,000 objects take to load
 * and how much memory they need. Objects look like tasks: 1 KB of JSON, three indexes, one with sums;
 * their facts are extracted by parsing, as the real ones are.
 */
#include <assert.h>
#include <dirent.h>
#include <pthread.h>
#include <semaphore.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/json.h"
#include "base/memory.h"
#include "store/store.h"

#define OBJECTS 100000
#define CLIENTS 64
#define DURABLE_SECONDS 3
#define VIEW_SECONDS 1
#define SERVICES 200

static void check(int code, const struct err *err)
{
	if (code == 0)
		return;
	fprintf(stderr, "store_bench: %s\n", err->message);
	exit(1);
}

static double now(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static double resident_mb(void)
{
	long pages = 0;
	FILE *file = fopen("/proc/self/statm", "re");

	if (!file || fscanf(file, "%*d %ld", &pages) != 1)
		exit(1);
	fclose(file);
	return (double)pages * (double)sysconf(_SC_PAGESIZE) / 1e6;
}

/* ---- the kind ---- */

struct task {
	struct span service;
	struct span instance;
	struct span status;
	int64_t cpu, memory;
};

/* Spans of facts point into the object's text: where the parser copied, look for it there. */
static struct span in_text(struct span text, struct span value)
{
	const char *found = memmem(text.data, text.length, value.data, value.length);

	return found ? (struct span){found, value.length} : SPAN("");
}

static int task_extract(const struct store_object *object, void *facts, struct arena *scratch,
	struct err *err)
{
	struct task *task = facts;
	struct json *json;
	int code = json_parse(object->api, scratch, &json, err);

	if (code < 0)
		return code;
	task->service = in_text(object->api, json_get_text(json, "group"));
	task->instance = in_text(object->api, json_get_text(json, "containerInstanceArn"));
	task->status = in_text(object->api, json_get_text(json, "lastStatus"));
	task->cpu = json_get_integer(json, "cpu", 0);
	task->memory = json_get_integer(json, "memory", 0);
	return 0;
}

static void write_service(const struct store_object *object, struct store_index_writer *writer)
{
	const struct task *task = object->facts;

	store_index_add_format(writer, "%.*s/%.*s", SPAN_ARGS(task->service),
		SPAN_ARGS(task->status));
}

static void write_instance(const struct store_object *object, struct store_index_writer *writer)
{
	store_index_add(writer, ((const struct task *)object->facts)->instance);
}

static void measure_instance(const struct store_object *object, int64_t measures[STORE_MEASURES])
{
	const struct task *task = object->facts;

	measures[0] = task->cpu;
	measures[1] = task->memory;
}

static void write_status(const struct store_object *object, struct store_index_writer *writer)
{
	store_index_add(writer, ((const struct task *)object->facts)->status);
}

static const struct store_index task_indexes[] = {
	{"service", write_service, NULL},
	{"instance", write_instance, measure_instance},
	{"status", write_status, NULL},
};
static const struct store_kind task_kind = {
	"task", sizeof(struct task), task_extract, task_indexes, LENGTH(task_indexes)};
static const struct store_kind *const kinds[] = {&task_kind};

static void task_key(unsigned number, char key[96])
{
	snprintf(key, 96, "arn:aws:ecs:eu-west-1:123456789012:task/production/%08x%024x",
		number * 2654435761u, number);
}

static size_t task_text(unsigned number, unsigned version, char text[2048])
{
	int length = snprintf(text, 2048,
		"{\"taskArn\":\"arn:aws:ecs:eu-west-1:123456789012:task/production/%032x\","
		"\"clusterArn\":\"arn:aws:ecs:eu-west-1:123456789012:cluster/production\","
		"\"taskDefinitionArn\":\"arn:aws:ecs:eu-west-1:123456789012:task-definition/"
		"web:%u\","
		"\"containerInstanceArn\":\"arn:aws:ecs:eu-west-1:123456789012:container-instance/"
		"production/%08x\",\"group\":\"service:web-%u\",\"lastStatus\":\"%s\","
		"\"desiredStatus\":\"RUNNING\",\"cpu\":%u,\"memory\":512,\"launchType\":\"EC2\","
		"\"containers\":[{\"name\":\"app\",\"containerArn\":\"arn:aws:ecs:eu-west-1:"
		"123456789012:container/production/%032x\",\"image\":\"web:%u\",\"lastStatus\":"
		"\"RUNNING\",\"networkBindings\":[{\"bindIP\":\"0.0.0.0\",\"containerPort\":8080,"
		"\"hostPort\":32768,\"protocol\":\"tcp\"}],\"cpu\":\"256\",\"memory\":\"512\"}],"
		"\"version\":%u,\"connectivity\":\"CONNECTED\",\"createdAt\":1700000000.123,"
		"\"attributes\":[{\"name\":\"ecs.cpu-architecture\",\"value\":\"x86_64\"}]}",
		number, number % 10, number % 997, number % SERVICES,
		version % 3 ? "RUNNING" : "PENDING", number % 7 * 128, number, number % 10,
		version);

	return (size_t)length;
}

/* ---- writes ---- */

struct range {
	unsigned first, count, version;
};

static int write_range(struct store_transaction *transaction, void *context, struct err *err)
{
	const struct range *range = context;

	for (unsigned i = 0; i < range->count; i++) {
		char key[96], text[2048];
		size_t length;
		int code;

		task_key(range->first + i, key);
		length = task_text(range->first + i, range->version, text);
		code = store_put(transaction, &task_kind, span_of(key), (struct span){text, length},
			SPAN("{\"token\":\"0123456789abcdef\"}"), STORE_ANY, err);
		if (code < 0)
			return code;
	}
	return 0;
}

static struct store *open_store(const char *url, const char *key_path, bool inline_writes)
{
	struct store_config config = {
		.url = url,
		.key_path = key_path,
		.kinds = kinds,
		.kind_count = 1,
		.inline_writes = inline_writes,
	};
	struct store *store = NULL;
	struct err err;

	check(store_open(&config, &store, &err), &err);
	return store;
}

static void fill(struct store *store)
{
	struct err err;

	for (unsigned first = 0; first < OBJECTS; first += 1000)
		check(store_write_wait(store, write_range, &(struct range){first, 1000, 1}, NULL,
			      &err),
			&err);
}

/* The cost of building keys and texts, which does not count as the store's. */
static double measure_making(void)
{
	enum { TEXTS = 50000 };
	double start = now(CLOCK_THREAD_CPUTIME_ID);

	for (unsigned i = 0; i < TEXTS; i++) {
		char key[96], text[2048];

		task_key(i, key);
		if (task_text(i, i, text) == 0)
			exit(1);
	}
	return (now(CLOCK_THREAD_CPUTIME_ID) - start) / TEXTS;
}

/* Nothing on disk: what the writer's thread itself has to do for a write. */
static void bench_writer_alone(double making)
{
	enum { WRITES = 50000 };
	struct store *store = open_store("memory:", NULL, true);
	double start, writing;
	struct err err;

	fill(store);
	start = now(CLOCK_THREAD_CPUTIME_ID);
	for (unsigned i = 0; i < WRITES; i++)
		check(store_write_wait(store, write_range,
			      &(struct range){i * 7919 % OBJECTS, 1, i}, NULL, &err),
			&err);
	writing = (now(CLOCK_THREAD_CPUTIME_ID) - start) / WRITES - making;
	printf("%-46s %8.1f µs CPU (1 KB, 3 indexes, %d objects)\n",
		"one write, alone in its group", writing * 1e6, OBJECTS);
	store_close(store);
}

struct grouped {
	struct range range;
	int left;
	double cpu; /* of the writer, when it answered last */
	sem_t ended;
};

static int grouped_write(struct store_transaction *transaction, void *context, struct err *err)
{
	struct grouped *grouped = context;

	grouped->range.first = (grouped->range.first + 7919) % OBJECTS;
	grouped->range.version++;
	return write_range(transaction, &grouped->range, err);
}

static void grouped_done(void *context, int code, uint64_t revision, const struct err *err)
{
	struct grouped *grouped = context;

	(void)revision;
	check(code, err);
	if (--grouped->left > 0)
		return;
	grouped->cpu = now(CLOCK_THREAD_CPUTIME_ID);
	sem_post(&grouped->ended);
}

static double run_grouped(struct store *store, struct grouped *grouped, int writes)
{
	struct err err;

	grouped->left = writes;
	for (int i = 0; i < writes; i++)
		check(store_write(store, grouped_write, grouped_done, grouped, &err), &err);
	sem_wait(&grouped->ended);
	return grouped->cpu;
}

static void bench_writer_in_groups(double making)
{
	enum { WRITES = 50000 };
	struct store *store = open_store("memory:", NULL, false);
	struct grouped grouped = {.range = {0, 1, 0}};
	struct store_statistics before, after;
	double start, writing;

	sem_init(&grouped.ended, 0, 0);
	fill(store);
	start = run_grouped(store, &grouped, 1);
	store_statistics(store, &before);
	writing = (run_grouped(store, &grouped, WRITES) - start) / WRITES - making;
	store_statistics(store, &after);
	printf("%-46s %8.1f µs CPU (groups of %.0f)\n", "one write among others", writing * 1e6,
		(double)WRITES / (double)(after.groups - before.groups));
	store_close(store);
	sem_destroy(&grouped.ended);
}

struct client {
	struct store *store;
	struct range range;
	_Atomic uint64_t *answers;
	_Atomic bool *stop;
	sem_t *ended;
};

static int client_write(struct store_transaction *transaction, void *context, struct err *err)
{
	return write_range(transaction, &((struct client *)context)->range, err);
}

static void client_next(void *context, int code, uint64_t revision, const struct err *err)
{
	struct client *client = context;
	struct err refused;

	(void)revision;
	check(code, err);
	(*client->answers)++;
	if (*client->stop) {
		sem_post(client->ended);
		return;
	}
	client->range.first = (client->range.first + CLIENTS) % OBJECTS;
	client->range.version++;
	check(store_write(client->store, client_write, client_next, client, &refused), &refused);
}

static double bench_durable(const char *url, const char *key_path, double *ret_group)
{
	struct client clients[CLIENTS];
	struct store_statistics statistics;
	struct store *store = open_store(url, key_path, false);
	_Atomic uint64_t answers = 0;
	_Atomic bool stop = false;
	struct err err;
	sem_t ended;
	double start, seconds;

	sem_init(&ended, 0, 0);
	start = now(CLOCK_MONOTONIC);
	for (unsigned i = 0; i < CLIENTS; i++) {
		clients[i] = (struct client){store, {i, 1, 0}, &answers, &stop, &ended};
		check(store_write(store, client_write, client_next, &clients[i], &err), &err);
	}
	sleep(DURABLE_SECONDS);
	stop = true;
	for (unsigned i = 0; i < CLIENTS; i++)
		sem_wait(&ended);
	seconds = now(CLOCK_MONOTONIC) - start;
	store_statistics(store, &statistics);
	printf("%-46s %8.0f /s (%d clients, %.0f commits/s, %.1f writes each, %.0f %% of the time "
	       "in them)\n",
		"durable writes", (double)answers / seconds, CLIENTS,
		(double)statistics.groups / seconds, (double)answers / (double)statistics.groups,
		(double)statistics.group_microseconds / seconds / 1e4);
	*ret_group = (double)answers / (double)statistics.groups;
	store_close(store);
	sem_destroy(&ended);
	return (double)answers / seconds;
}

static void sql(sqlite3 *database, const char *text)
{
	if (sqlite3_exec(database, text, NULL, NULL, NULL) == SQLITE_OK)
		return;
	fprintf(stderr, "store_bench: %s: %s\n", text, sqlite3_errmsg(database));
	exit(1);
}

/* The least that any program can do with the same rows and groups of the same size. */
static double bench_bare(const char *path, unsigned group)
{
	sqlite3 *database = NULL;
	sqlite3_stmt *put = NULL;
	unsigned number = 0;
	double start, seconds;
	uint64_t rows = 0;

	if (sqlite3_open(path, &database) != SQLITE_OK)
		exit(1);
	sql(database, "PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL;"
		      "PRAGMA synchronous = FULL;"
		      "CREATE TABLE IF NOT EXISTS bare(key BLOB PRIMARY KEY, text BLOB)");
	sqlite3_prepare_v2(database, "INSERT OR REPLACE INTO bare VALUES(?, ?)", -1, &put, NULL);
	start = now(CLOCK_MONOTONIC);
	do {
		sql(database, "BEGIN");
		for (unsigned i = 0; i < group; i++) {
			char key[96], text[2048];

			task_key(number++ % OBJECTS, key);
			sqlite3_bind_text(put, 1, key, -1, SQLITE_STATIC);
			sqlite3_bind_text(put, 2, text, (int)task_text(number, number, text),
				SQLITE_STATIC);
			if (sqlite3_step(put) != SQLITE_DONE)
				exit(1);
			sqlite3_reset(put);
		}
		sql(database, "COMMIT");
		rows += group;
		seconds = now(CLOCK_MONOTONIC) - start;
	} while (seconds < DURABLE_SECONDS);
	sqlite3_finalize(put);
	sqlite3_close(database);
	return (double)rows / seconds;
}

/* ---- views ---- */

struct reader {
	struct store *store;
	_Atomic bool *stop;
	uint64_t views;
};

static void *reader_main(void *context)
{
	struct reader *reader = context;

	while (!*reader->stop) {
		for (int i = 0; i < 100; i++)
			store_view_close(store_view_open(reader->store));
		reader->views += 100;
	}
	return NULL;
}

static void bench_views(unsigned threads, bool writing)
{
	struct store *store = open_store("memory:", NULL, false);
	struct reader readers[8] = {0};
	struct client client;
	pthread_t ids[8];
	_Atomic uint64_t answers = 0;
	_Atomic bool stop = false;
	uint64_t views = 0;
	struct err err;
	sem_t ended;

	sem_init(&ended, 0, 0);
	check(store_write_wait(store, write_range, &(struct range){0, 1000, 1}, NULL, &err), &err);
	client = (struct client){store, {0, 1, 0}, &answers, &stop, &ended};
	if (writing)
		check(store_write(store, client_write, client_next, &client, &err), &err);
	for (unsigned i = 0; i < threads; i++) {
		readers[i] = (struct reader){store, &stop, 0};
		if (pthread_create(&ids[i], NULL, reader_main, &readers[i]) != 0)
			exit(1);
	}
	sleep(VIEW_SECONDS);
	stop = true;
	for (unsigned i = 0; i < threads; i++) {
		pthread_join(ids[i], NULL);
		views += readers[i].views;
	}
	if (writing)
		sem_wait(&ended);
	printf("views opened and closed on %u thread%s%-14s %8.0f ns each (%.1f M/s, %.0f "
	       "writes/s)\n",
		threads, threads > 1 ? "s" : "", writing ? ", writing" : "",
		VIEW_SECONDS * 1e9 * threads / (double)views, (double)views / 1e6,
		(double)answers / VIEW_SECONDS);
	store_close(store);
	sem_destroy(&ended);
}

/* ---- loading ---- */

static void bench_load(const char *url, const char *key_path)
{
	double start, seconds, cpu, before = resident_mb();
	struct store_statistics statistics;
	struct store *store;
	struct store_view *view;
	char text[2048], key[96];
	size_t length;

	start = now(CLOCK_MONOTONIC);
	cpu = now(CLOCK_THREAD_CPUTIME_ID);
	store = open_store(url, key_path, true);
	seconds = now(CLOCK_MONOTONIC) - start;
	cpu = now(CLOCK_THREAD_CPUTIME_ID) - cpu;
	store_statistics(store, &statistics);
	task_key(0, key);
	length = strlen(key) + task_text(0, 1, text) + 28;
	printf("%-46s %8.2f s (%llu objects, %.2f s CPU)\n", "loading", seconds,
		(unsigned long long)statistics.objects, cpu);
	printf("%-46s %8.1f MB (%.0f bytes an object, of which text and key %zu)\n",
		"memory for them", resident_mb() - before,
		(resident_mb() - before) * 1e6 / (double)statistics.objects, length);
	view = store_view_open(store);
	start = now(CLOCK_THREAD_CPUTIME_ID);
	for (unsigned i = 0; i < OBJECTS; i++) {
		task_key(i * 7919u % OBJECTS, key);
		if (!store_get(view, &task_kind, span_of(key)))
			exit(1);
	}
	printf("%-46s %8.0f ns\n", "get by key",
		(now(CLOCK_THREAD_CPUTIME_ID) - start) / OBJECTS * 1e9);
	start = now(CLOCK_THREAD_CPUTIME_ID);
	for (unsigned i = 0; i < OBJECTS; i++) {
		char service[32];

		snprintf(service, sizeof(service), "service:web-%u/RUNNING", i % SERVICES);
		if (store_count(view, &task_kind, 0, span_of(service), true) == 0)
			exit(1);
	}
	printf("%-46s %8.0f ns\n", "count of one service",
		(now(CLOCK_THREAD_CPUTIME_ID) - start) / OBJECTS * 1e9);
	store_view_close(view);
	store_close(store);
}

/* In a process of its own, whose memory nothing else has touched. */
static void in_own_process(void (*run)(const char *, const char *), const char *a, const char *b)
{
	int status = 0;
	pid_t child;

	fflush(stdout);
	child = fork();
	if (child == 0) {
		run(a, b);
		fflush(stdout);
		_exit(0);
	}
	if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
		exit(1);
}

static void make_database(const char *url, const char *key_path)
{
	struct store *store = open_store(url, key_path, true);

	fill(store);
	store_close(store);
}

static void remove_folder(const char *path)
{
	DIR *folder = opendir(path);
	struct dirent *file;

	while (folder && (file = readdir(folder)))
		unlinkat(dirfd(folder), file->d_name, 0);
	if (folder)
		closedir(folder);
	rmdir(path);
}

int main(void)
{
	const char *parent = getenv("TMPDIR");
	_free_ char *folder =
		memory_format("%s/slipway-store-bench-XXXXXX", parent ? parent : P_tmpdir);
	_free_ char *url = NULL, *key_path = NULL, *bare_path = NULL, *durable_url = NULL;
	double durable, bare, making, group = 1;

	if (!mkdtemp(folder))
		return 1;
	url = memory_format("sqlite:%s/load", folder);
	durable_url = memory_format("sqlite:%s/durable", folder);
	bare_path = memory_format("%s/bare", folder);
	key_path = memory_format("%s/key", folder);

	in_own_process(make_database, url, key_path);
	in_own_process(bench_load, url, key_path);
	making = measure_making();
	bench_writer_alone(making);
	bench_writer_in_groups(making);
	durable = bench_durable(durable_url, key_path, &group);
	bare = bench_bare(bare_path, (unsigned)(group + 0.5));
	printf("%-46s %8.0f /s (groups of %.0f; the store reaches %.0f %% of it)\n",
		"bare SQLite, the same rows", bare, group, 100 * durable / bare);
	bench_views(1, false);
	bench_views(2, false);
	bench_views(2, true);
	bench_views(4, true);
	remove_folder(folder);
	return 0;
}
