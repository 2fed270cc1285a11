/*
 * Host and Origin of a request: the first line is the Host, the second the Origin. A Host that is allowed with any
 * port is allowed with another one, and an origin that is the server's own has the Host's name.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "server/config.h"
#include "server/request_origin.h"

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);            \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct request_origin_rules rules;
	struct span text = {(const char *)data, size}, host = text, origin = SPAN("");
	struct http_header header = {.name = SPAN("origin")};
	struct http_request request = {.headers = &header, .header_count = 1};
	struct err err;

	if (!rules.domain.data) {
		struct server_config config;

		server_config_init(&config);
		config.http_hosts = "a.example,*.b.example";
		config.http_origins = "https://c.example";
		CHECK(request_origin_read(&config, &rules, &err) == 0);
	}
	if (size == 0)
		return 0;
	span_split(text, '\n', &host, &origin);
	request.host = host;
	header.value = origin;
	if (!request_origin_check_host(&rules, &request) && !memchr(host.data, ':', host.length)) {
		_free_ char *with_port = memory_format("%.*s:81", SPAN_ARGS(host));

		if (!memchr(host.data, '\0', host.length)) {
			request.host = span_of(with_port);
			CHECK(!request_origin_check_host(&rules, &request));
			request.host = host;
		}
	}
	if (!request_origin_check_page(&rules, &request) &&
		!span_equal_ignoring_case(origin, SPAN("https://c.example")))
		CHECK(origin.length > strlen("http://") && host.length > 0);
	return 0;
}
