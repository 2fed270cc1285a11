/*
 * Durable writes per second of the store on PostgreSQL, beside pgbench on the same server in the same
 * run: 64 clients that each put one row of 1 KB under one of 100,000 keys and wait for it. Both take
 * turns, so that a noisy machine disturbs both. Then what it costs when another server follows, and
 * when two servers write.
 *
 *     postgres_bench                all of it
 *     postgres_bench --pgbench N    pgbench alone for N seconds; prints its transactions per second
 *
 * The second form is for benchmarks that measure something else on PostgreSQL and need the baseline.
 */
#include <assert.h>
#include <glob.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "store/store.h"
#include "store/test_postgres_database.h"

#define CLIENTS 64
#define KEYS 100000
#define TEXT_SIZE 1000
#define ROUNDS 3
#define SECONDS 3

static const struct store_kind row_kind = {.name = "row"};
static const struct store_kind *const kinds[] = {&row_kind};

static char text[TEXT_SIZE + 1];
static struct test_database database;
static char *folder; /* for the key, and pgbench's script */

static void check(int code, const struct err *err)
{
	if (code == 0)
		return;
	fprintf(stderr, "postgres_bench: %s\n", err->message);
	exit(1);
}

/* ---- the store ---- */

struct client {
	struct store *store;
	uint64_t key;
	_Atomic uint64_t *answers;
	_Atomic bool *stop;
	sem_t *ended;
};

static int client_write(struct store_transaction *transaction, void *context, struct err *err)
{
	struct client *client = context;
	char key[32];
	int length = snprintf(key, sizeof(key), "row/%012" PRIu64, client->key);

	return store_put(transaction, &row_kind, (struct span){key, (size_t)length},
		(struct span){text, TEXT_SIZE}, SPAN(""), STORE_ANY, err);
}

static void client_next(void *context, int code, uint64_t revision, const struct err *err)
{
	struct client *client = context;
	struct err refused;

	(void)revision;
	check(code, err);
	atomic_fetch_add(client->answers, 1);
	if (atomic_load(client->stop)) {
		sem_post(client->ended);
		return;
	}
	client->key = random_below(random_system(), KEYS);
	check(store_write(client->store, client_write, client_next, client, &refused), &refused);
}

/* Writes per second of all clients, spread over the servers. */
static double write_for_a_while(struct store **servers, size_t count)
{
	struct client clients[CLIENTS];
	_Atomic uint64_t answers = 0;
	_Atomic bool stop = false;
	struct clock *clock = clock_system();
	int64_t start = clock_steady_us(clock);
	struct err err;
	sem_t ended;

	sem_init(&ended, 0, 0);
	for (unsigned i = 0; i < CLIENTS; i++) {
		clients[i] = (struct client){servers[i % count], i, &answers, &stop, &ended};
		check(store_write(clients[i].store, client_write, client_next, &clients[i], &err),
			&err);
	}
	sleep(SECONDS);
	atomic_store(&stop, true);
	for (unsigned i = 0; i < CLIENTS; i++)
		while (sem_wait(&ended) < 0)
			;
	sem_destroy(&ended);
	return (double)answers * 1e6 / (double)(clock_steady_us(clock) - start);
}

static struct store *open_store(const char *url, const char *key_path)
{
	struct store_config config = {
		.url = url, .key_path = key_path, .kinds = kinds, .kind_count = 1};
	struct store *store = NULL;
	struct err err;

	check(store_open(&config, &store, &err), &err);
	return store;
}

/* ---- pgbench ---- */

/* The least that a program can do which commits each write by itself; PostgreSQL groups their fsyncs. */
static const char script[] = "\\set key random(1, %d)\n"
			     "INSERT INTO bare VALUES ('row/' || lpad(:key::text, 12, '0'), :text)"
			     " ON CONFLICT (key) DO UPDATE SET text = excluded.text;\n";

static char *find_pgbench(void)
{
	glob_t found;
	char *path = NULL;

	if (glob("/usr/lib/postgresql/*/bin/pgbench", 0, NULL, &found) == 0 && found.gl_pathc > 0)
		path = memory_copy_string(found.gl_pathv[found.gl_pathc - 1]);
	globfree(&found);
	return path ? path : memory_copy_string("pgbench");
}

static double run_pgbench(const char *url, int seconds)
{
	_free_ char *program = find_pgbench();
	_free_ char *path = memory_format("%s/script", folder);
	_free_ char *command =
		memory_format("'%s' -n -M prepared -c %d -j 2 -T %d -D text=%s -f '%s'"
			      " '%s' 2>'%s/errors'",
			program, CLIENTS, seconds, text, path, url, folder);
	FILE *file = fopen(path, "we");
	char line[512];
	double rate = 0;

	if (!file)
		exit(1);
	fprintf(file, script, KEYS);
	fclose(file);
	test_database_run(url,
		"CREATE TABLE IF NOT EXISTS bare (key text PRIMARY KEY, text text NOT NULL)");
	file = popen(command, "re");
	while (file && fgets(line, sizeof(line), file))
		sscanf(line, "tps = %lf", &rate);
	if (!file || pclose(file) != 0 || rate <= 0) {
		_free_ char *show = memory_format("head -n 3 '%s/errors' >&2", folder);

		fprintf(stderr, "postgres_bench: %s failed\n", program);
		exit(system(show) == 0 ? 1 : 2);
	}
	return rate;
}

/* ---- both ---- */

static int compare_rates(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;

	return (left > right) - (left < right);
}

static double median(double *rates)
{
	qsort(rates, ROUNDS, sizeof(*rates), compare_rates);
	return rates[ROUNDS / 2];
}

static void compare(const char *url, const char *key_path)
{
	double ours[ROUNDS], theirs[ROUNDS], sharing;
	struct store *servers[2] = {open_store(url, key_path), NULL};
	struct store_statistics before, after;
	double groups = 0, writes = 0;

	for (int i = 0; i < ROUNDS; i++) {
		store_statistics(servers[0], &before);
		ours[i] = write_for_a_while(servers, 1);
		store_statistics(servers[0], &after);
		groups += (double)(after.groups - before.groups);
		writes += (double)(after.transactions - before.transactions);
		theirs[i] = run_pgbench(url, SECONDS);
	}
	printf("%-46s %8.0f /s (%d clients, %.1f writes a commit)\n", "store on PostgreSQL",
		median(ours), CLIENTS, writes / groups);
	printf("%-46s %8.0f /s (%d clients, one row each; the store reaches %.0f %% of it)\n",
		"pgbench, the same rows", median(theirs), CLIENTS,
		100 * median(ours) / median(theirs));

	servers[1] = open_store(url, key_path);
	sharing = write_for_a_while(servers, 1);
	printf("%-46s %8.0f /s (%.0f %% of alone)\n", "with a second server that follows", sharing,
		100 * sharing / median(ours));
	sharing = write_for_a_while(servers, 2);
	printf("%-46s %8.0f /s (%.0f %% of alone)\n", "with a second server that writes, both",
		sharing, 100 * sharing / median(ours));
	store_close(servers[0]);
	store_close(servers[1]);
}

/* However this ends. */
static void clean_up(void)
{
	_free_ char *command = memory_format("rm -rf '%s'", folder);

	if (database.name)
		test_database_drop(&database);
	if (system(command) != 0)
		fprintf(stderr, "postgres_bench: %s is left\n", folder);
	free(folder);
}

int main(int count, char **arguments)
{
	const char *parent = getenv("TMPDIR");
	_free_ char *key_path = NULL;

	for (int i = 0; i < TEXT_SIZE; i++)
		text[i] = (char)('a' + i * 7 % 26);
	folder = memory_format("%s/slipway-postgres-bench-XXXXXX", parent ? parent : P_tmpdir);
	if (!mkdtemp(folder))
		return 1;
	atexit(clean_up);
	key_path = memory_format("%s/key", folder);
	test_database_create(&database);
	if (count == 3 && strcmp(arguments[1], "--pgbench") == 0)
		printf("%.0f\n", run_pgbench(database.url, atoi(arguments[2])));
	else
		compare(database.url, key_path);
	return 0;
}
