/*
 * ECS for unit tests, with Cloud Map and ELB; aws/test_service.h has the calls. Include it behind cmocka's header.
 */
#ifndef ECS_TEST_SERVER_H
#define ECS_TEST_SERVER_H

#include "aws/test_service.h"
#include "cloudmap/cloudmap.h"
#include "ecs/ecs.h"
#include "ecs/record/container_instance.h"
#include "elb/elb.h"

#define TEST_KINDS_MAX 64

/* Those of ECS, and of what its services are reached by. */
static inline size_t test_kinds(const struct store_kind *kinds[TEST_KINDS_MAX])
{
	size_t count = 0;

	for (size_t i = 0; i < ecs_kind_count; i++)
		kinds[count++] = ecs_kinds[i];
	for (size_t i = 0; i < cloudmap_kind_count; i++)
		kinds[count++] = cloudmap_kinds[i];
	for (size_t i = 0; i < elb_kind_count; i++)
		kinds[count++] = elb_kinds[i];
	return count;
}

struct test_server_options {
	struct clock *clock;                   /* another than its own: that of a simulation */
	struct ecs_context *context;           /* of ECS, outlives it; NULL: none */
	size_t feed_bytes;                     /* of the store's change feed; 0: as usual */
	const struct store_kind *const *kinds; /* of other folders */
	size_t kind_count;
	const struct store_faults *faults; /* outlive it; NULL: none */
};

static inline struct test_server *test_server_new_of(const struct test_server_options *options)
{
	const struct store_kind *kinds[TEST_KINDS_MAX];
	struct store_config store = {.kinds = kinds,
		.kind_count = test_kinds(kinds),
		.clock = options->clock,
		.feed_bytes = options->feed_bytes,
		.faults = options->faults};
	struct elb_context *elb = memory_allocate(sizeof(*elb));
	struct test_server *server;

	for (size_t i = 0; i < options->kind_count; i++)
		kinds[store.kind_count++] = options->kinds[i];
	server = test_server_open(store);
	*elb = (struct elb_context){.domain = SPAN("test.internal"),
		.addresses = SPAN("127.192.0.0/16"),
		.instance_address = container_instance_address};
	server->service = &ecs_service;
	server->any_error = "SerializationException";
	server->context = elb;
	aws_dispatcher_register(server->dispatcher, &ecs_service, options->context);
	aws_dispatcher_register(server->dispatcher, &cloudmap_service, NULL);
	aws_dispatcher_register(server->dispatcher, &elb_service, elb);
	return server;
}

static inline struct test_server *test_server_new_with(struct clock *clock,
	struct ecs_context *context)
{
	const struct test_server_options options = {.clock = clock, .context = context};

	return test_server_new_of(&options);
}

static inline struct test_server *test_server_new_on(struct clock *clock)
{
	return test_server_new_with(clock, NULL);
}

static inline struct test_server *test_server_new(void)
{
	return test_server_new_on(NULL);
}

static inline int test_server_setup(void **state)
{
	*state = test_server_new();
	return 0;
}

#endif
