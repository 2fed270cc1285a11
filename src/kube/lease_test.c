/* Leases: created, held, given back; another holder's is taken only after it was not renewed for its time. */
#include "kube/lease.h"
#include "kube/test_server.h"

#define LEASES "/apis/coordination.k8s.io/v1"
#define MINE LEASES "/namespaces/slipway/leases/release"
#define DISCOVERY                                                                                  \
	STEP("GET " LEASES " HTTP", 200,                                                           \
		"{\"resources\":[{\"name\":\"leases\",\"namespaced\":true}]}")
#define LEASE_OF(holder)                                                                           \
	"{\"metadata\":{\"name\":\"release\",\"resourceVersion\":\"7\"},\"spec\":{"                \
	"\"holderIdentity\":\"" holder "\",\"leaseDurationSeconds\":1,\"leaseTransitions\":4}}"
#define NOT_FOUND "{\"kind\":\"Status\",\"code\":404,\"reason\":\"NotFound\"}"
#define CONFLICT "{\"kind\":\"Status\",\"code\":409,\"reason\":\"Conflict\"}"

struct watcher {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	int count; /* of changes: held, not held, held, … */
};

static void note_change(void *context, bool held)
{
	struct watcher *watcher = context;

	pthread_mutex_lock(&watcher->lock);
	watcher->count++;
	assert_int_equal(held, watcher->count % 2);
	pthread_cond_broadcast(&watcher->changed);
	pthread_mutex_unlock(&watcher->lock);
}

static void wait_for_changes(struct watcher *watcher, int count)
{
	struct timespec deadline;

	clock_gettime(CLOCK_REALTIME, &deadline);
	deadline.tv_sec += TEST_PATIENCE_S;
	pthread_mutex_lock(&watcher->lock);
	while (watcher->count < count)
		assert_int_equal(pthread_cond_timedwait(&watcher->changed, &watcher->lock,
					 &deadline),
			0);
	pthread_mutex_unlock(&watcher->lock);
}

static struct kube_lease *start(struct test_world *world, struct watcher *watcher, int duration_s)
{
	struct kube_lease_config config = {.client = world->client,
		.runner = world->runner,
		.namespace = SPAN("slipway"),
		.name = SPAN("release"),
		.identity = SPAN("me"),
		.duration_s = duration_s,
		.changed = note_change,
		.context = watcher};
	struct kube_lease *lease = NULL;

	*watcher = (struct watcher){.count = 0};
	pthread_mutex_init(&watcher->lock, NULL);
	pthread_cond_init(&watcher->changed, NULL);
	assert_int_equal(kube_lease_start(&config, &lease, NULL), 0);
	return lease;
}

static void test_create_and_give_back(void **state)
{
	static const struct test_step steps[] = {
		DISCOVERY,
		STEP("GET " MINE " HTTP", 404, NOT_FOUND),
		STEP("POST " LEASES "/namespaces/slipway/leases?fieldManager=slipway HTTP", 201,
			"{}", .sent = "\"holderIdentity\":\"me\",\"leaseDurationSeconds\":60"),
		STEP("GET " MINE " HTTP", 200, LEASE_OF("me")),
		STEP("PUT " MINE "?", 200, "{}", .sent = "\"holderIdentity\":\"\""),
	};
	struct test_world world;
	struct watcher watcher;
	struct kube_lease *lease;

	(void)state;
	test_world_begin(&world, steps, LENGTH(steps));
	lease = start(&world, &watcher, 60);
	wait_for_changes(&watcher, 1);
	assert_true(kube_lease_is_held(lease));
	kube_lease_stop(lease);
	test_world_end(&world);
}

/* Its own lease of before a crash is renewed at once; one whose holder changed is not given back. */
static void test_same_identity(void **state)
{
	static const struct test_step steps[] = {
		DISCOVERY,
		STEP("GET " MINE " HTTP", 200, LEASE_OF("me")),
		STEP("PUT " MINE "?", 200, "{}", .sent = "\"leaseTransitions\":4"),
		STEP("GET " MINE " HTTP", 200, LEASE_OF("other")),
	};
	struct test_world world;
	struct watcher watcher;
	struct kube_lease *lease;

	(void)state;
	test_world_begin(&world, steps, LENGTH(steps));
	lease = start(&world, &watcher, 60);
	wait_for_changes(&watcher, 1);
	kube_lease_stop(lease);
	test_world_end(&world);
}

/* The second read is a second later; so long the other's lease was not renewed. Then it is lost again. */
static void test_another_holder(void **state)
{
	static const struct test_step steps[] = {
		DISCOVERY,
		STEP("GET " MINE " HTTP", 200, LEASE_OF("other")),
		STEP("GET " MINE " HTTP", 200, LEASE_OF("other")),
		STEP("PUT " MINE "?", 200, "{}",
			.sent = "\"resourceVersion\":\"7\"},\"spec\":{\"holderIdentity\":\"me\""),
		STEP("GET " MINE " HTTP", 200, LEASE_OF("me")),
		STEP("PUT " MINE "?", 409, CONFLICT),
	};
	struct test_world world;
	struct watcher watcher;
	struct kube_lease *lease;

	(void)state;
	test_world_begin(&world, steps, LENGTH(steps));
	lease = start(&world, &watcher, 6);
	assert_false(kube_lease_is_held(lease));
	wait_for_changes(&watcher, 2);
	assert_false(kube_lease_is_held(lease));
	kube_lease_stop(lease);
	test_world_end(&world);
}

static void test_names(void **state)
{
	struct kube_lease_config config = {
		.namespace = SPAN("a/b"), .name = SPAN("release"), .identity = SPAN("me")};
	struct kube_lease *lease;

	(void)state;
	assert_int_equal(kube_lease_start(&config, &lease, NULL), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_create_and_give_back),
		cmocka_unit_test(test_same_identity),
		cmocka_unit_test(test_another_holder),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
