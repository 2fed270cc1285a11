/*
 * The toy controller as in production: threads, SQLite, a world of files. First two servers in this
 * process, one of which dies; then a server in a process of its own that is killed again and again, and
 * each time finds its way from what is on the disk.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"
#include "sim/toy/toy.h"

#define KILLS 25
#define TOYS 3
#define PATIENCE_US INT64_C(120000000)
#define LEASE_US INT64_C(12000000) /* longer than a busy machine makes a thread wait */

static const char *const toy_names[TOYS] = {"ball", "doll", "kite"};

/* ---- the folder ---- */

static char folder[] = "/tmp/toy-threads-XXXXXX";

static char *path_of(const char *name)
{
	return memory_format("%s/%s", folder, name);
}

static int make_folder(void **state)
{
	_free_ char *live = NULL, *ended = NULL;

	(void)state;
	strcpy(folder + strlen(folder) - 6, "XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	live = path_of("live");
	ended = path_of("ended");
	return mkdir(live, 0700) < 0 || mkdir(ended, 0700) < 0 ? -1 : 0;
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *walk)
{
	(void)status;
	(void)type;
	(void)walk;
	return remove(path);
}

static int remove_folder(void **state)
{
	(void)state;
	return nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* ---- a world of files: live/TOY.SLOT.TOKEN, ended/TOKEN ---- */

static int touch(const char *path)
{
	_close_ int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	return fd < 0 ? -errno : 0;
}

static char *live_path(const char *toy, size_t slot, const char *token)
{
	return memory_format("%s/live/%s.%zu.%s", folder, toy, slot, token);
}

/* The world carried it out, and the answer is lost. */
static int maybe_lose_answer(struct err *err)
{
	return random_below(random_system(), 8) == 0 ? err_set(err, -ETIMEDOUT, "no answer") : 0;
}

static int files_start(void *world, const struct toy_caller *caller, struct span toy, size_t slot,
	const char *token, struct err *err)
{
	_free_ char *name = memory_copy_string_n(toy.data, toy.length);
	_free_ char *live = live_path(name, slot, token);
	_free_ char *ended = memory_format("%s/ended/%s", folder, token);

	(void)world;
	runner_assert_may_block(caller->runner);
	if (access(ended, F_OK) < 0 && touch(live) < 0)
		return err_errno(err, "touch '%s'", live);
	return maybe_lose_answer(err);
}

static int files_stop(void *world, const struct toy_caller *caller, struct span toy,
	const char *token, struct err *err)
{
	_free_ char *name = memory_copy_string_n(toy.data, toy.length);
	_free_ char *ended = memory_format("%s/ended/%s", folder, token);

	(void)world;
	runner_assert_may_block(caller->runner);
	if (touch(ended) < 0)
		return err_errno(err, "touch '%s'", ended);
	for (size_t slot = 0; slot < TOY_SLOTS_MAX; slot++) {
		_free_ char *live = live_path(name, slot, token);

		unlink(live);
	}
	return maybe_lose_answer(err);
}

static int files_check(void *world, const struct toy_caller *caller, struct span toy,
	const struct toy_slot slots[TOY_SLOTS_MAX], bool ret_alive[TOY_SLOTS_MAX], struct err *err)
{
	_free_ char *name = memory_copy_string_n(toy.data, toy.length);

	(void)world;
	runner_assert_may_block(caller->runner);
	for (size_t slot = 0; slot < TOY_SLOTS_MAX; slot++) {
		_free_ char *live = live_path(name, slot, slots[slot].token);

		ret_alive[slot] = slots[slot].token[0] && access(live, F_OK) == 0;
	}
	return maybe_lose_answer(err);
}

static const struct toy_world_operations files = {files_start, files_stop, files_check};

/* How many parts live in each slot. */
static void count_parts(unsigned counts[TOYS][TOY_SLOTS_MAX])
{
	_free_ char *path = path_of("live");
	DIR *directory = opendir(path);
	struct dirent *entry;

	memset(counts, 0, TOYS * sizeof(counts[0]));
	assert_non_null(directory);
	while ((entry = readdir(directory))) {
		char toy[16];
		size_t slot;

		if (sscanf(entry->d_name, "%15[a-z].%zu.", toy, &slot) != 2)
			continue;
		for (size_t i = 0; i < TOYS; i++) {
			if (strcmp(toy, toy_names[i]) == 0)
				counts[i][slot]++;
		}
	}
	closedir(directory);
}

static void assert_nothing_is_doubled(void)
{
	unsigned counts[TOYS][TOY_SLOTS_MAX];

	count_parts(counts);
	for (size_t toy = 0; toy < TOYS; toy++) {
		for (size_t slot = 0; slot < TOY_SLOTS_MAX; slot++) {
			if (counts[toy][slot] > 1)
				fail_msg("%u parts in slot %zu of '%s'", counts[toy][slot], slot,
					toy_names[toy]);
		}
	}
}

static bool is_as_wanted(const unsigned desired[TOYS])
{
	unsigned counts[TOYS][TOY_SLOTS_MAX];

	count_parts(counts);
	for (size_t toy = 0; toy < TOYS; toy++) {
		for (size_t slot = 0; slot < TOY_SLOTS_MAX; slot++) {
			if (counts[toy][slot] != (slot < desired[toy]))
				return false;
		}
	}
	return true;
}

/* Ends a part without notifying any server; true with its toy. */
static bool kill_a_part(size_t *ret_toy)
{
	_free_ char *path = path_of("live");
	DIR *directory = opendir(path);
	struct dirent *entry;
	bool found = false;

	assert_non_null(directory);
	while (!found && (entry = readdir(directory))) {
		_free_ char *live = memory_format("%s/live/%s", folder, entry->d_name);
		_free_ char *ended = NULL;
		char *token = strrchr(entry->d_name, '.');

		if (entry->d_name[0] == '.' || random_below(random_system(), 3))
			continue;
		ended = memory_format("%s/ended/%s", folder, token + 1);
		assert_int_equal(touch(ended), 0);
		found = unlink(live) == 0;
		for (size_t i = 0; i < TOYS; i++) {
			if (strncmp(entry->d_name, toy_names[i], strlen(toy_names[i])) == 0)
				*ret_toy = i;
		}
	}
	closedir(directory);
	return found;
}

/* ---- a server ---- */

struct server {
	struct runner *runner;
	struct claims *claims;
	struct controller *controller;
	struct toy_controller toy;
};

static void claim_freed(void *context, struct span key)
{
	struct server *server = context;

	controller_add(server->controller, toy_of_claim_key(key));
}

static int open_store(struct clock *clock, struct store **ret_store, struct err *err)
{
	_free_ char *url = memory_format("sqlite:%s/store.db", folder);
	_free_ char *key = path_of("store.key");
	struct store_config config = {
		.url = url,
		.key_path = key,
		.kinds = toy_kinds,
		.kind_count = LENGTH(toy_kinds),
		.clock = clock,
	};

	return store_open(&config, ret_store, err);
}

static int server_start(struct server *server, struct runner *parent, struct store *store,
	const char *name, int64_t lease_us, struct err *err)
{
	struct claims_config claims = {
		.store = store,
		.server = name,
		.lease_us = lease_us,
	};
	struct controller_config controller = {
		.store = store,
		.context = &server->toy,
		.queue = {.retries_per_second = 1000,
			.retry_burst = 1000,
			.backoff_most_us = 100000},
	};
	int code;

	*server = (struct server){.runner = runner_group_new(parent, name)};
	claims.runner = controller.runner = server->runner;
	code = claims_start(&claims, &server->claims, err);
	if (code < 0)
		return code;
	server->toy = (struct toy_controller){.claims = server->claims, .operations = &files};
	code = controller_start(&toy_controller_row, &controller, &server->controller, err);
	if (code == 0)
		claims_subscribe(server->claims, SPAN("toy/"), claim_freed, server);
	return code;
}

static void server_stop(struct server *server, bool clean)
{
	if (!clean)
		runner_stop(server->runner);
	claims_unsubscribe(server->claims, server);
	controller_stop(TAKE(server->controller));
	if (clean)
		assert_int_equal(claims_resign(server->claims, NULL), 0);
	claims_stop(TAKE(server->claims));
	runner_stop(server->runner);
	runner_join(server->runner, NULL);
	runner_free(TAKE(server->runner));
}

static void await(struct runner *runner, const unsigned desired[TOYS])
{
	int64_t deadline = runner_deadline_us(runner, PATIENCE_US);

	while (!is_as_wanted(desired)) {
		assert_true(runner_now_us(runner) < deadline);
		runner_sleep_until(runner, runner_deadline_us(runner, 5000));
	}
}

/* ---- two servers in this process ---- */

static void test_two_servers(void **state)
{
	struct runner *runner = runner_threads_new(clock_system(), random_system());
	struct store *store = NULL;
	struct server a, b;
	unsigned desired[TOYS];

	(void)state;
	assert_int_equal(open_store(clock_system(), &store, NULL), 0);
	assert_int_equal(server_start(&a, runner, store, "a", LEASE_US, NULL), 0);
	assert_int_equal(server_start(&b, runner, store, "b", LEASE_US, NULL), 0);
	for (unsigned round = 0; round < 5; round++) {
		for (size_t i = 0; i < TOYS; i++) {
			desired[i] = (unsigned)random_below(random_system(), 6);
			assert_int_equal(toy_set_desired(runner, store, span_of(toy_names[i]),
						 desired[i], NULL),
				0);
		}
		await(runner, desired);
		assert_nothing_is_doubled();
	}
	server_stop(&a, false);
	for (size_t i = 0; i < TOYS; i++) {
		desired[i] = (unsigned)(3 + i);
		assert_int_equal(toy_set_desired(runner, store, span_of(toy_names[i]), desired[i],
					 NULL),
			0);
	}
	await(runner, desired);
	server_stop(&b, true);
	assert_nothing_is_doubled();
	store_close(store);
	runner_free(runner);
}

/* ---- a server that gets killed ---- */

enum order_type { ORDER_UPDATE, ORDER_INSPECT, ORDER_STOP };

struct order {
	enum order_type type;
	size_t toy;
	unsigned desired;
};

/* In the child: carries out each order and answers it when it is durable. */
static int serve(int orders, int answers)
{
	struct runner *runner = runner_threads_new(clock_system(), random_system());
	struct store *store = NULL;
	struct server server;
	struct order order;

	if (open_store(clock_system(), &store, NULL) < 0 ||
		server_start(&server, runner, store, "solo", 0, NULL) < 0)
		return 1;
	while (read(orders, &order, sizeof(order)) == sizeof(order)) {
		struct span toy = span_of(toy_names[order.toy]);

		if (order.type == ORDER_UPDATE &&
			toy_set_desired(runner, store, toy, order.desired, NULL) < 0)
			return 2;
		if (order.type == ORDER_INSPECT)
			controller_add(server.controller, toy);
		if (order.type == ORDER_STOP)
			break;
		if (write(answers, "", 1) != 1)
			return 3;
	}
	server_stop(&server, true);
	store_close(store);
	runner_free(runner);
	return 0;
}

struct child {
	pid_t process;
	int orders, answers;
};

static void child_start(struct child *child)
{
	int orders[2], answers[2];

	assert_int_equal(pipe2(orders, O_CLOEXEC), 0);
	assert_int_equal(pipe2(answers, O_CLOEXEC), 0);
	fflush(NULL);
	child->process = fork();
	assert_true(child->process >= 0);
	if (child->process == 0) {
		close(orders[1]);
		close(answers[0]);
		_exit(serve(orders[0], answers[1]));
	}
	close(orders[0]);
	close(answers[1]);
	child->orders = orders[1];
	child->answers = answers[0];
}

static int child_end(struct child *child)
{
	int status = 0;

	close(child->orders);
	close(child->answers);
	assert_int_equal(waitpid(child->process, &status, 0), child->process);
	return status;
}

static void report(struct child *child, enum order_type type, size_t toy, unsigned desired)
{
	struct order order = {type, toy, desired};

	assert_int_equal(write(child->orders, &order, sizeof(order)), sizeof(order));
}

static void hear(struct child *child)
{
	char answer;

	assert_int_equal(read(child->answers, &answer, 1), 1);
}

static void desired_state(struct child *child, unsigned desired[TOYS], unsigned possible[TOYS])
{
	size_t toy = (size_t)random_below(random_system(), TOYS);

	possible[toy] = (unsigned)random_below(random_system(), 6);
	report(child, ORDER_UPDATE, toy, possible[toy]);
	hear(child);
	desired[toy] = possible[toy];
}

static void test_killed_again_and_again(void **state)
{
	struct runner *runner = runner_threads_new(clock_system(), random_system());
	unsigned desired[TOYS] = {0}, possible[TOYS] = {0};
	struct child child;
	size_t toy = 0;

	(void)state;
	signal(SIGPIPE, SIG_IGN);
	for (unsigned i = 0; i < KILLS; i++) {
		unsigned orders = 1 + (unsigned)random_below(random_system(), 20);

		child_start(&child);
		while (orders-- > 0) {
			desired_state(&child, desired, possible);
			if (kill_a_part(&toy)) {
				report(&child, ORDER_INSPECT, toy, 0);
				hear(&child);
			}
		}
		/* In the middle of something. */
		runner_sleep_until(runner,
			runner_deadline_us(runner, (int64_t)random_below(random_system(), 10000)));
		kill(child.process, SIGKILL);
		assert_true(WIFSIGNALED(child_end(&child)));
		assert_nothing_is_doubled();
	}
	/* The next server knows every acknowledged update, and carries it out. */
	child_start(&child);
	await(runner, desired);
	report(&child, ORDER_STOP, 0, 0);
	assert_int_equal(child_end(&child), 0);
	assert_true(is_as_wanted(desired));
	runner_free(runner);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_two_servers, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(test_killed_again_and_again, make_folder,
			remove_folder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
