/*
 * A request as text: "METHOD PATH?QUERY", lines "Name: value", an empty line, the body.
 *
 * First it is verified as it is: whatever its headers say, that ends in an answer. Then it is signed
 * here and verified again: what one half of the code signs the other must accept, and refuse with
 * another secret.
 */
#include <stdlib.h>
#include <string.h>

#include "aws/sigv4.h"
#include "aws/sigv4_canonical.h"
#include "base/clock.h"
#include "base/memory.h"

#define HEADERS_MAX 100
#define NOW "20150830T123600Z"
#define SECRET "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct form {
	struct sigv4_header headers[HEADERS_MAX + 4];
	struct sigv4_request request;
};

static struct span trim(struct span text)
{
	while (text.length > 0 && (text.data[0] == ' ' || text.data[0] == '\t')) {
		text.data++;
		text.length--;
	}
	while (text.length > 0 && strchr(" \t\r", text.data[text.length - 1]))
		text.length--;
	return text;
}

static void read_form(struct span text, struct form *form)
{
	struct sigv4_request *request = &form->request;
	struct span line = text, target = SPAN("/");

	*form = (struct form){.request = {.path = SPAN("/"),
				      .query = SPAN(""),
				      .body = SPAN(""),
				      .headers = form->headers}};
	if (!span_split(text, '\n', &line, &text))
		text = SPAN("");
	request->method = line;
	span_split(line, ' ', &request->method, &target);
	target = trim(target);
	request->path = target;
	span_split(target, '?', &request->path, &request->query);
	while (text.length > 0 && request->header_count < HEADERS_MAX) {
		struct span name, value;

		line = text;
		if (!span_split(text, '\n', &line, &text))
			text = SPAN("");
		if (trim(line).length == 0)
			break;
		if (span_split(line, ':', &name, &value))
			form->headers[request->header_count++] =
				(struct sigv4_header){name, trim(value)};
	}
	request->body = text;
}

/* Names that no HTTP server lets through, and those that signing adds. */
static bool may_be_signed(struct span name)
{
	static const char *const own[] = {"authorization", "date", "host", "x-amz-date",
		"x-amz-security-token", "x-amz-content-sha256"};

	for (size_t i = 0; i < name.length; i++) {
		unsigned char c = (unsigned char)name.data[i];

		if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
			    (c && strchr("!#$%&'*+-.^_`|~", c))))
			return false;
	}
	for (size_t i = 0; i < LENGTH(own); i++) {
		if (span_equal_ignoring_case(name, span_of(own[i])))
			return false;
	}
	return name.length > 0;
}

static size_t count_of(struct span text, char c)
{
	size_t count = 0;

	for (size_t i = 0; i < text.length; i++)
		count += text.data[i] == c;
	return count;
}

static void require(bool actual)
{
	if (!actual)
		abort();
}

static void verify_as_it_is(const struct form *form, struct sigv4_cache *cache)
{
	struct sigv4_claim claim;
	struct sigv4_failure failure = {0};
	int64_t now = clock_parse_basic(NOW, strlen(NOW));
	int code = sigv4_read(&form->request, &claim, &failure);

	if (code == 0)
		code = sigv4_verify(&form->request, &claim, SPAN(SECRET), now, cache, &failure);
	if (code == 0)
		return;
	require(code == -EACCES && failure.type && failure.status == 400 && failure.message[0]);
	for (const char *c = failure.message; *c; c++)
		require(*c >= ' ' && *c <= '~');
}

static void verify_signed(struct form *form, struct sigv4_cache *cache)
{
	struct sigv4_credentials credentials = {.access_key = SPAN("AKIDEXAMPLE"),
		.secret = SPAN(SECRET),
		.session_token = count_of(form->request.body, 'T') % 2 ? SPAN("TOKEN") : SPAN_NONE};
	int64_t now = clock_parse_basic(NOW, strlen(NOW));
	_arena_ struct arena *arena = arena_new(0);
	struct sigv4_claim claim;
	struct sigv4_failure failure;
	size_t kept = 0;

	for (size_t i = 0; i < form->request.header_count && kept < SIGV4_SIGNED_HEADERS_MAX - 4;
		i++) {
		if (may_be_signed(form->headers[i].name))
			form->headers[kept++] = form->headers[i];
	}
	form->headers[kept++] = (struct sigv4_header){SPAN("hOST"), SPAN(" localhost ")};
	form->request.header_count = kept;
	if (count_of(form->request.query, '&') >= SIGV4_QUERY_PAIRS_MAX)
		return;
	form->request.header_count += sigv4_sign(&form->request, &credentials, SPAN("us-east-1"),
		SPAN("ecs"), now, arena, form->headers + kept);
	require(sigv4_read(&form->request, &claim, &failure) == 0);
	require(sigv4_verify(&form->request, &claim, SPAN(SECRET), now, cache, &failure) == 0);
	require(sigv4_verify(&form->request, &claim, SPAN("other"), now, cache, &failure) < 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct sigv4_cache *cache;
	struct form form;

	if (!cache)
		cache = sigv4_cache_new(8);
	read_form((struct span){(const char *)data, size}, &form);
	verify_as_it_is(&form, cache);
	verify_signed(&form, cache);
	return 0;
}
