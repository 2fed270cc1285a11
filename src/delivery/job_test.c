/* Jobs on threads: results, cancellation, limits, and an orderly end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include "base/memory.h"
#include "delivery/job.h"

struct world {
	struct runner *runner;
	struct http_client *client;
	struct jobs *jobs;
	int ended;        /* counts the jobs that have ended */
	atomic_int freed; /* contexts */
	atomic_int cancelled;
};

/* A job waits until `gate` is readable or it is cancelled. */
struct work {
	struct world *world;
	int gate;        /* -1: it does not wait */
	const char *url; /* NULL: it makes no call */
};

static void run_work(struct job *job)
{
	struct work *work = job->context;
	struct pollfd events[] = {
		{.fd = work->gate, .events = POLLIN}, {.fd = job->cancel, .events = POLLIN}};

	if (work->url) {
		const struct http_client_request request = {
			.url = work->url, .total_timeout_ms = -1, .cancel = job->http_cancel};
		_arena_ struct arena *arena = arena_new(0);
		struct http_client_response *response;

		if (http_client_request(work->world->client, &request, arena, &response, NULL) ==
			-ECANCELED)
			atomic_fetch_add(&work->world->cancelled, 1);
	} else if (work->gate >= 0) {
		poll(events, LENGTH(events), -1);
		if (events[1].revents)
			atomic_fetch_add(&work->world->cancelled, 1);
	}
	buffer_add_string(&job->result, "done");
}

static void free_work(void *context)
{
	struct work *work = context;

	atomic_fetch_add(&work->world->freed, 1);
	free(work);
}

static const struct job_kind work_kind = {run_work, free_work};

static void job_ended(void *context, struct span key)
{
	struct world *world = context;
	uint64_t one = 1;

	assert_true(key.length > 0);
	assert_int_equal(write(world->ended, &one, sizeof(one)), sizeof(one));
}

static int setup(void **state)
{
	struct world *world = memory_allocate(sizeof(*world));

	world->runner = runner_threads_new(clock_system(), NULL);
	assert_int_equal(http_client_new(&world->client, NULL), 0);
	world->jobs = jobs_new(world->runner, world->client, job_ended, world);
	world->ended = eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE);
	*state = world;
	return 0;
}

static int teardown(void **state)
{
	struct world *world = *state;

	runner_stop(world->runner);
	jobs_free(world->jobs);
	http_client_free(world->client);
	runner_free(world->runner);
	memory_close_descriptor(&world->ended);
	free(world);
	return 0;
}

static void wait_for_end(const struct world *world)
{
	uint64_t count;

	assert_int_equal(read(world->ended, &count, sizeof(count)), sizeof(count));
}

static int begin_job(struct world *world, const char *key, int gate, const char *url)
{
	struct work *work = memory_allocate(sizeof(*work));

	*work = (struct work){world, gate, url};
	return jobs_begin(world->jobs, span_of(key), &work_kind, work, NULL);
}

static void test_result(void **state)
{
	struct world *world = *state;
	_arena_ struct arena *arena = arena_new(0);
	struct span result;

	assert_int_equal(jobs_take(world->jobs, SPAN("a"), arena, &result), JOB_NONE);
	assert_int_equal(begin_job(world, "a", -1, NULL), 0);
	wait_for_end(world);
	assert_int_equal(jobs_take(world->jobs, SPAN("a"), arena, &result), JOB_ENDED);
	assert_true(span_is(result, "done"));
	assert_int_equal(jobs_take(world->jobs, SPAN("a"), arena, &result), JOB_NONE);
	assert_int_equal(world->freed, 1);
}

static void test_one_of_a_key(void **state)
{
	struct world *world = *state;
	_arena_ struct arena *arena = arena_new(0);
	_close_ int gate = eventfd(0, EFD_CLOEXEC);
	uint64_t one = 1;
	struct span result;

	assert_int_equal(begin_job(world, "a", gate, NULL), 0);
	assert_int_equal(begin_job(world, "a", gate, NULL), -EEXIST);
	assert_int_equal(world->freed, 1);
	assert_int_equal(jobs_take(world->jobs, SPAN("a"), arena, &result), JOB_RUNNING);
	assert_int_equal(write(gate, &one, sizeof(one)), sizeof(one));
	wait_for_end(world);
	assert_int_equal(jobs_take(world->jobs, SPAN("a"), arena, &result), JOB_ENDED);
	assert_int_equal(world->cancelled, 0);
}

static void test_cancel(void **state)
{
	struct world *world = *state;
	_arena_ struct arena *arena = arena_new(0);
	_close_ int gate = eventfd(0, EFD_CLOEXEC);
	struct span result;

	assert_int_equal(begin_job(world, "a", gate, NULL), 0);
	jobs_cancel(world->jobs, SPAN("a"));
	jobs_cancel(world->jobs, SPAN("a"));
	assert_int_equal(jobs_take(world->jobs, SPAN("a"), arena, &result), JOB_NONE);
	/* Its key is free at once. */
	assert_int_equal(begin_job(world, "a", -1, NULL), 0);
	wait_for_end(world);
	jobs_cancel(world->jobs, SPAN("a"));
	runner_stop(world->runner);
	jobs_free(TAKE(world->jobs));
	assert_int_equal(world->freed, 2);
	assert_int_equal(world->cancelled, 1);
}

/* At the end of the server jobs that wait, also for an answer that never comes, are ended. */
static void test_end(void **state)
{
	struct world *world = *state;
	struct sockaddr_in address = {
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t length = sizeof(address);
	_close_ int gate = eventfd(0, EFD_CLOEXEC);
	_close_ int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char key[] = "a", url[64];

	assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(listener, 1), 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &length), 0);
	snprintf(url, sizeof(url), "http://127.0.0.1:%d/", ntohs(address.sin_port));
	for (; key[0] < 'd'; key[0]++)
		assert_int_equal(begin_job(world, key, gate, NULL), 0);
	assert_int_equal(begin_job(world, key, -1, url), 0);
	runner_stop(world->runner);
	jobs_free(TAKE(world->jobs));
	assert_int_equal(world->freed, 4);
	assert_int_equal(world->cancelled, 4);
}

static void test_limit(void **state)
{
	struct world *world = *state;
	_close_ int gate = eventfd(0, EFD_CLOEXEC);
	char key[8];

	for (int i = 0; i < JOBS_MAX; i++) {
		snprintf(key, sizeof(key), "%d", i);
		assert_int_equal(begin_job(world, key, gate, NULL), 0);
	}
	assert_int_equal(begin_job(world, "more", gate, NULL), -EBUSY);
	assert_int_equal(world->freed, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_result, setup, teardown),
		cmocka_unit_test_setup_teardown(test_one_of_a_key, setup, teardown),
		cmocka_unit_test_setup_teardown(test_cancel, setup, teardown),
		cmocka_unit_test_setup_teardown(test_end, setup, teardown),
		cmocka_unit_test_setup_teardown(test_limit, setup, teardown),
	};

	return cmocka_run_group_tests_name("job", tests, NULL, NULL);
}
