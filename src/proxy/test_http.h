/*
 * Shared by the tests of the HAProxy driver, beside test_plane.h: a plane with that driver in a
 * folder of its own, backends that speak HTTP, and clients that keep their connection.
 */
#ifndef PROXY_TEST_HTTP_H
#define PROXY_TEST_HTTP_H

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>

#include "proxy/haproxy/haproxy.h"
#include "proxy/test_plane.h"

#define HTTP_TEXT_MAX 65536

/* ---- backends ---- */

/* Until the end of the head; false when the peer is gone or the backend stops. */
static inline bool http_read_head(struct test_backend *backend, int descriptor, char *head,
	size_t *length)
{
	while (!strstr(head, "\r\n\r\n")) {
		struct pollfd polled = {.fd = descriptor, .events = POLLIN};
		ssize_t got;

		if (*length >= HTTP_TEXT_MAX - 1)
			return false;
		if (poll(&polled, 1, 50) == 0) {
			if (atomic_load(&backend->stopping))
				return false;
			continue;
		}
		got = recv(descriptor, head + *length, HTTP_TEXT_MAX - 1 - *length, 0);
		if (got <= 0)
			return false;
		*length += (size_t)got;
		head[*length] = 0;
	}
	return true;
}

/* Answers every request with its letter. "/echo...": and the head as it came; "/wait": when sum is
 * not 0; "/session": sets the cookie SESSION. */
static inline void http_serve(struct test_backend *backend, int descriptor)
{
	char *head = memory_allocate(HTTP_TEXT_MAX);
	size_t length = 0;

	while (http_read_head(backend, descriptor, head, &length)) {
		char *end = strstr(head, "\r\n\r\n") + 4;
		const char *field = strcasestr(head, "\r\ncontent-length:");
		size_t body = field && field < end ? strtoul(field + 17, NULL, 10) : 0;
		bool echo = strstr(head, " /echo") != NULL;
		const char *cookie = strstr(head, " /session") ? "Set-Cookie: SESSION=1\r\n" : "";
		char answer[HTTP_TEXT_MAX + 512];
		size_t echoed = echo ? (size_t)(end - head) : 0, rest;
		const char *chunked = strcasestr(head, "\r\ntransfer-encoding: chunked");
		bool chunks = chunked && chunked < end;
		int size;

		while (length < (size_t)(end - head) + body ||
			(chunks && !strstr(end - 2, "\r\n0\r\n\r\n"))) {
			ssize_t got =
				recv(descriptor, head + length, HTTP_TEXT_MAX - 1 - length, 0);

			if (got <= 0)
				goto out;
			length += (size_t)got;
			head[length] = 0;
		}
		if (chunks)
			body = (size_t)(strstr(end - 2, "\r\n0\r\n\r\n") + 7 - end);
		if (strncmp(head, "GET /wait", 9) == 0) {
			while (!atomic_load(&backend->sum) && !atomic_load(&backend->stopping))
				test_pause();
		}
		atomic_fetch_add(&backend->requests, 1);
		size = snprintf(answer, sizeof(answer),
			"HTTP/1.1 200 OK\r\n%sContent-Length: %zu\r\n\r\n%c%.*s", cookie,
			1 + echoed, backend->letter, (int)echoed, head);
		if (!test_send_all(descriptor, answer, (size_t)size))
			break;
		rest = length - (size_t)(end - head) - body;
		memmove(head, end + body, rest);
		length = rest;
		head[length] = 0;
	}
out:
	free(head);
}

/* ---- clients ---- */

struct http_answer {
	int status;  /* 0: none came */
	char letter; /* the first of the body */
	bool closes;
	size_t body_length;
	char *body; /* in text */
	char text[HTTP_TEXT_MAX];
};

static inline void http_receive(int client, struct http_answer *out)
{
	size_t length = 0;
	const char *field;
	char *end = NULL;

	out->status = 0;
	out->text[0] = 0;
	for (;;) {
		ssize_t got;

		end = strstr(out->text, "\r\n\r\n");
		if (end) {
			field = strcasestr(out->text, "\r\ncontent-length:");
			out->body = end + 4;
			out->body_length = field && field < end ? strtoul(field + 17, NULL, 10) : 0;
			if (length >= (size_t)(out->body - out->text) + out->body_length)
				break;
		}
		if (length >= HTTP_TEXT_MAX - 1)
			return;
		/* Reads only this response: no other is requested before it was read. */
		got = recv(client, out->text + length, HTTP_TEXT_MAX - 1 - length, 0);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return;
		length += (size_t)got;
		out->text[length] = 0;
	}
	out->status = atoi(out->text + strlen("HTTP/1.1 "));
	out->letter = out->body_length > 0 ? out->body[0] : 0;
	field = strcasestr(out->text, "\r\nconnection: close");
	out->closes = field && field < end;
}

/* fields: lines with their ends. */
static inline void http_ask(int client, const char *method, const char *path, const char *fields,
	struct http_answer *out)
{
	char request[HTTP_TEXT_MAX];
	int size = snprintf(request, sizeof(request), "%s %s HTTP/1.1\r\n%s%s\r\n", method, path,
		strcasestr(fields, "host:") ? "" : "Host: test\r\n", fields);

	out->status = 0;
	out->letter = 0;
	if (client >= 0 && test_send_all(client, request, (size_t)size))
		http_receive(client, out);
}

/* The letter of the backend that answers on this connection; 0: none, or not with 200. */
static inline char http_get(int client, const char *path)
{
	struct http_answer *answer = memory_allocate(sizeof(*answer));
	char letter;

	http_ask(client, "GET", path, "", answer);
	letter = answer->status == 200 ? answer->letter : 0;
	free(answer);
	return letter;
}

/* The same on a new connection. */
static inline char http_get_once(unsigned port, const char *path)
{
	int client = test_connect(port);
	char letter = http_get(client, path);

	if (client >= 0)
		close(client);
	return letter;
}

static inline const char *http_field(const struct http_answer *answer, const char *name, char *out,
	size_t size)
{
	char line[128];
	const char *at;

	snprintf(line, sizeof(line), "\r\n%s: ", name);
	at = strcasestr(answer->text, line);
	out[0] = 0;
	if (at)
		snprintf(out, size, "%.*s", (int)strcspn(at + strlen(line), "\r"),
			at + strlen(line));
	return out;
}

/* ---- the plane ---- */

struct http_plane {
	struct test_plane plane; /* the first member: its functions work on it too */
	char folder[64];
};

static inline int http_setup_with(void **state, struct haproxy_options *options)
{
	struct http_plane *http = memory_allocate(sizeof(*http));
	struct test_plane *plane = &http->plane;
	struct err err;

	signal(SIGPIPE, SIG_IGN);
	snprintf(http->folder, sizeof(http->folder), "/tmp/slipway-haproxy-XXXXXX");
	if (!mkdtemp(http->folder))
		return -1;
	options->folder = http->folder;
	plane->runner = runner_threads_new(clock_system(), random_system());
	if (haproxy_new(plane->runner, options, &plane->driver, &err) < 0 ||
		proxy_new(&plane->driver, 1, &plane->proxy, &err) < 0) {
		fprintf(stderr, "%s\n", err.message);
		return -1;
	}
	*state = http;
	return 0;
}

static inline int http_setup(void **state)
{
	struct haproxy_options options = {.threads = 4, .spare_groups = 8};

	return http_setup_with(state, &options);
}

static inline void http_remove_folder(const char *folder)
{
	DIR *entries = opendir(folder);
	struct dirent *entry;

	while (entries && (entry = readdir(entries)))
		unlinkat(dirfd(entries), entry->d_name, 0);
	if (entries)
		closedir(entries);
	rmdir(folder);
}

static inline int http_teardown(void **state)
{
	char folder[64];

	memcpy(folder, ((struct http_plane *)*state)->folder, sizeof(folder));
	test_plane_teardown(state);
	http_remove_folder(folder);
	return 0;
}

/* As many backends as letters, 'A', 'B' ... */
static inline void http_start_backends(struct test_plane *plane, size_t count)
{
	for (size_t i = 0; i < count; i++)
		test_backend_start(&plane->backends[i], (char)('A' + i), http_serve);
}

#endif
