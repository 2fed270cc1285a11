/*
 * Cloud Map for unit tests; aws/test_service.h has the calls. Include it behind cmocka's header.
 */
#ifndef CLOUDMAP_TEST_SERVER_H
#define CLOUDMAP_TEST_SERVER_H

#include "aws/test_service.h"
#include "cloudmap/kinds.h"

/* On another clock than its own: that of a simulation. */
static inline struct test_server *test_server_new_on(struct clock *clock)
{
	struct test_server *server = test_server_open((struct store_config){
		.kinds = cloudmap_kinds, .kind_count = cloudmap_kind_count, .clock = clock});

	server->service = &cloudmap_service;
	aws_dispatcher_register(server->dispatcher, &cloudmap_service, NULL);
	return server;
}

static inline int test_server_setup(void **state)
{
	*state = test_server_new_on(NULL);
	return 0;
}

/* Makes the namespace "test" (private DNS) or "http" and in it the service "web"; more: ",'DnsConfig':…". */
static inline void test_make_service(struct test_server *server, bool http, const char *more,
	char ret_id[32])
{
	char namespace_id[32];

	test_call(server, http ? "CreateHttpNamespace" : "CreatePrivateDnsNamespace",
		"{'Name':'%s','Vpc':'v'}", http ? "http" : "test");
	test_call(server, "ListNamespaces", "{'Filters':[{'Name':'NAME','Values':['%s']}]}",
		http ? "http" : "test");
	snprintf(namespace_id, sizeof(namespace_id), "%s",
		arena_copy_span(server->arena,
			json_get_text(json_item(json_get(server->answer, "Namespaces"), 0), "Id"))
			.data);
	test_call(server, "CreateService", "{'Name':'web','NamespaceId':'%s'%s}", namespace_id,
		more);
	snprintf(ret_id, 32, "%s", test_text(server, "Service.Id"));
}

#define TEST_A_RECORD ",'DnsConfig':{'DnsRecords':[{'Type':'A','TTL':60},{'Type':'SRV','TTL':90}]}"
#define TEST_CHECKED ",'HealthCheckCustomConfig':{}"

#endif
