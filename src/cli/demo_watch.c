/*
 * A client that sends requests continuously and counts the versions that answer. An answer is
 * status 200 and the name of a version; anything else is a failure, and nothing is retried.
 */
#include <ctype.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "cli/demo.h"
#include "io/dns_message.h"

#define ANSWER_MAX 4096
#define REQUEST_PATIENCE_S 30
#define PAUSE_US 2000 /* between requests that no step waits for */

uint64_t demo_counts_sum(const struct demo_counts *counts)
{
	uint64_t sum = counts->failed;

	for (size_t i = 0; i < DEMO_VERSIONS; i++)
		sum += counts->versions[i];
	return sum;
}

static int open_socket(const union proxy_address *address, int kind, struct err *err)
{
	const struct timeval limit = {.tv_sec = REQUEST_PATIENCE_S};
	char text[PROXY_ADDRESS_TEXT_SIZE];
	int one = 1;
	_close_ int descriptor = socket(address->any.sa_family, kind | SOCK_CLOEXEC, 0);

	proxy_address_format(address, text);
	if (descriptor < 0)
		return err_errno(err, "open a socket for %s", text);
	setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	if (kind == SOCK_STREAM)
		setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	if (connect(descriptor, &address->any, proxy_address_length(address)) < 0)
		return err_errno(err, "connect to %s", text);
	return TAKE_FD(descriptor);
}

/* ---- names ---- */

static int read_address(const uint8_t *reply, size_t length, unsigned port,
	union proxy_address *ret_address, struct err *err)
{
	struct dns_reader reader = {reply, length, 0};
	struct dns_header header;
	struct dns_question question;
	struct dns_record_view record;

	if (!dns_read_header(&reader, &header) || header.counts[DNS_SECTION_QUESTION] != 1 ||
		!dns_read_question(&reader, &question))
		return err_set(err, -EBADMSG, "an answer about a name cannot be read");
	for (unsigned i = 0; i < header.counts[DNS_SECTION_ANSWER]; i++) {
		if (!dns_read_record(&reader, &record))
			break;
		if (record.type != DNS_TYPE_A || record.data_length != 4)
			continue;
		*ret_address = (union proxy_address){
			.v4 = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)}};
		memcpy(&ret_address->v4.sin_addr, reply + record.data_at, 4);
		return 0;
	}
	return err_set(err, -ENOENT, "an answer about a name has no address (code %u)",
		header.flags & DNS_FLAG_RCODE);
}

static int look_up(struct demo_watch *watch, union proxy_address *ret_address, struct err *err)
{
	struct dns_question question = {.type = DNS_TYPE_A, .class = DNS_CLASS_IN};
	struct dns_header header = {
		.id = (uint16_t)random_u64(runner_random(watch->runner)), .counts = {1}};
	uint8_t query[DNS_UDP_PLAIN_MAX], reply[DNS_UDP_PLAIN_MAX];
	struct dns_writer writer;
	_close_ int descriptor = open_socket(&watch->dns, SOCK_DGRAM, err);
	ssize_t length;
	int code;

	if (descriptor < 0)
		return descriptor;
	code = dns_name_from_text(span_of(watch->name), &question.name, err);
	if (code < 0)
		return code;
	dns_writer_init(&writer, query, sizeof(query));
	dns_write_header(&writer, 0, 0);
	dns_write_question(&writer, &question);
	dns_writer_set_header(&writer, &header);
	if (send(descriptor, query, writer.length, 0) < 0)
		return err_errno(err, "ask for %s", watch->name);
	length = recv(descriptor, reply, sizeof(reply), 0);
	if (length < 2 || memcmp(reply, query, 2) != 0)
		return err_set(err, -ETIMEDOUT, "no answer about %s", watch->name);
	return read_address(reply, (size_t)length, watch->port, ret_address, err);
}

/* ---- requests ---- */

/* Where the body begins and how long it is; false: there is more to come. */
static bool find_body(const char *answer, size_t length, size_t *ret_start, size_t *ret_length)
{
	const char *end = memmem(answer, length, "\r\n\r\n", 4);
	const char *field;

	if (!end)
		return false;
	*ret_start = (size_t)(end - answer) + 4;
	field = strcasestr(answer, "\r\ncontent-length:");
	if (!field || field > end)
		return false;
	*ret_length = strtoul(field + strlen("\r\ncontent-length:"), NULL, 10);
	return length >= *ret_start + *ret_length;
}

static int exchange(int descriptor, size_t *ret_version, struct err *err)
{
	static const char request[] = "GET / HTTP/1.1\r\nHost: demo\r\n\r\n";
	char answer[ANSWER_MAX + 1];
	size_t length = 0, start = 0, body = 0;

	if (send(descriptor, request, sizeof(request) - 1, MSG_NOSIGNAL) < 0)
		return err_errno(err, "send a request");
	for (;;) {
		ssize_t got = recv(descriptor, answer + length, ANSWER_MAX - length, 0);

		if (got < 0)
			return err_errno(err, "wait for an answer");
		if (got == 0)
			return err_set(err, -ECONNRESET, "the connection ended without an answer");
		length += (size_t)got;
		answer[length] = '\0';
		if (find_body(answer, length, &start, &body))
			break;
		if (length == ANSWER_MAX)
			return err_set(err, -EFBIG, "an answer of more than %d bytes", ANSWER_MAX);
	}
	if (strncmp(answer, "HTTP/1.1 200 ", 13) != 0)
		return err_set(err, -EREMOTEIO, "answered: %.*s", (int)strcspn(answer, "\r\n"),
			answer);
	if (body != 3 || answer[start] != 'v' || answer[start + 1] < '1' ||
		answer[start + 1] >= '1' + DEMO_VERSIONS)
		return err_set(err, -EREMOTEIO, "the answer names no version");
	*ret_version = (size_t)(answer[start + 1] - '1');
	return 0;
}

static int ask(struct demo_watch *watch, size_t *ret_version, struct err *err)
{
	union proxy_address address = watch->address;
	int code = 0;

	if (watch->by_name)
		code = look_up(watch, &address, err);
	if (code < 0)
		return code;
	if (watch->connection < 0)
		watch->connection = open_socket(&address, SOCK_STREAM, err);
	if (watch->connection < 0)
		return watch->connection;
	code = exchange(watch->connection, ret_version, err);
	if (code < 0 || !watch->keep)
		close(TAKE_FD(watch->connection));
	return code;
}

static void watch_main(void *context)
{
	struct demo_watch *watch = context;

	while (!atomic_load(&watch->stop)) {
		bool in_window = atomic_load(&watch->window_left) > 0;
		size_t version = 0;
		struct err err;
		int code = ask(watch, &version, &err);

		if (code < 0 && watch->total.failed == 0)
			snprintf(watch->failure, sizeof(watch->failure), "%s", err.message);
		++*(code < 0 ? &watch->total.failed : &watch->total.versions[version]);
		if (in_window) {
			++*(code < 0 ? &watch->window.failed : &watch->window.versions[version]);
			atomic_fetch_sub(&watch->window_left, 1);
			atomic_fetch_add(&watch->window_done, 1);
		} else {
			runner_sleep_until(watch->runner,
				runner_deadline_us(watch->runner, PAUSE_US));
		}
	}
	if (watch->connection >= 0)
		close(TAKE_FD(watch->connection));
}

int demo_watch_start(struct demo_watch *watch, struct runner *parent, const char *name,
	struct err *err)
{
	int code;

	watch->connection = -1;
	watch->runner = runner_group_new(parent, name);
	code = runner_spawn(watch->runner, name, watch_main, watch, err);
	if (code < 0) {
		runner_free(watch->runner);
		watch->runner = NULL;
	}
	return code;
}

void demo_watch_stop(struct demo_watch *watch)
{
	if (!watch->runner)
		return;
	atomic_store(&watch->stop, true);
	runner_join(watch->runner, NULL);
	runner_free(watch->runner);
	watch->runner = NULL;
}

void demo_watch_window(struct demo_watch *watch, unsigned requests)
{
	memset(&watch->window, 0, sizeof(watch->window));
	atomic_store(&watch->window_done, 0);
	atomic_store(&watch->window_left, requests);
}

bool demo_watch_window_is_done(struct demo_watch *watch, unsigned requests)
{
	return atomic_load(&watch->window_done) >= requests;
}
