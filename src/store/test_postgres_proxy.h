/*
 * A proxy between the store and PostgreSQL that cuts connections at a chosen point of a commit. It
 * listens on a unix socket in a folder of its own, follows the messages of the protocol, and knows a
 * commit of the store by its NOTIFY, which nothing else sends.
 */
#ifndef STORE_TEST_POSTGRES_PROXY_H
#define STORE_TEST_POSTGRES_PROXY_H

#include <arpa/inet.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "store/test_postgres_database.h"

#define PROXY_PAIRS_MAX 16

enum proxy_cut {
	PROXY_PASS,      /* no cut */
	PROXY_BEFORE,    /* the database never gets the COMMIT, and learns that we are gone */
	PROXY_AFTER,     /* the database has committed; its answer is lost */
	PROXY_RACING,    /* everything was sent, then the connection is cut at once */
	PROXY_UNNOTICED, /* the database never gets the COMMIT and does not learn that we are gone */
	PROXY_LATE,      /* the same, but the COMMIT arrives when the next connection was made */
};

struct proxy_pair {
	int client, server; /* -1: closed; a pair with both closed is free */
	bool started;       /* the startup message, which has no type, went through */
	bool doomed;        /* PROXY_AFTER: cut when the server says COMMIT */
	char notify[24];    /* name of the prepared NOTIFY */
	struct buffer from_client, from_server;
	struct buffer held; /* PROXY_LATE: what the server gets later */
};

struct proxy {
	char folder[64];
	char *path;
	char *url; /* of the database, through the proxy */
	struct sockaddr_storage target;
	socklen_t target_length;
	int listener;
	int wake;
	pthread_t thread;
	struct proxy_pair pairs[PROXY_PAIRS_MAX]; /* of the thread */

	pthread_mutex_t lock; /* of what follows */
	enum proxy_cut cut;   /* of the next commit */
	unsigned cuts;        /* done */
	bool down;            /* everybody is turned away */
	bool ending;
};

static inline void proxy_find_target(struct proxy *proxy, const char *url)
{
	PQconninfoOption *options = PQconninfoParse(url, NULL);
	const char *host = "/var/run/postgresql";
	const char *port = "5432";

	for (PQconninfoOption *option = options; option->keyword; option++) {
		if (option->val && strcmp(option->keyword, "host") == 0)
			host = option->val;
		if (option->val && strcmp(option->keyword, "port") == 0)
			port = option->val;
	}
	if (*host == '/') {
		struct sockaddr_un *address = (struct sockaddr_un *)&proxy->target;

		address->sun_family = AF_UNIX;
		snprintf(address->sun_path, sizeof(address->sun_path), "%s/.s.PGSQL.%s", host,
			port);
		proxy->target_length = sizeof(*address);
	} else {
		struct addrinfo wanted = {.ai_socktype = SOCK_STREAM};
		struct addrinfo *found = NULL;

		if (getaddrinfo(host, port, &wanted, &found) != 0)
			test_database_fail(host, "unknown host");
		memcpy(&proxy->target, found->ai_addr, found->ai_addrlen);
		proxy->target_length = found->ai_addrlen;
		freeaddrinfo(found);
	}
	PQconninfoFree(options);
}

static inline void proxy_close(int *descriptor)
{
	if (*descriptor >= 0)
		close(*descriptor);
	*descriptor = -1;
}

static inline void proxy_end_pair(struct proxy_pair *pair)
{
	proxy_close(&pair->client);
	proxy_close(&pair->server);
	buffer_clear(&pair->from_client);
	buffer_clear(&pair->from_server);
	buffer_clear(&pair->held);
	pair->started = pair->doomed = false;
}

static inline void proxy_write(int descriptor, const char *data, size_t length)
{
	while (length > 0) {
		ssize_t written = send(descriptor, data, length, MSG_NOSIGNAL);

		if (written <= 0)
			return; /* the reading side will notice the end */
		data += written;
		length -= (size_t)written;
	}
}

/* The length of the first message in the buffer, or 0 when it is not complete. */
static inline size_t proxy_message(const struct buffer *buffer, size_t header)
{
	uint32_t length;

	if (buffer->length < header + 4)
		return 0;
	memcpy(&length, buffer->data + header, 4);
	length = ntohl(length) + (uint32_t)header;
	return buffer->length < length ? 0 : length;
}

/* Remembers under which name the NOTIFY is prepared; true when this message binds that name. */
static inline bool proxy_is_commit(struct proxy_pair *pair, const char *message)
{
	const char *first = message + 5;
	const char *second = first + strlen(first) + 1;

	if (message[0] == 'P' && strcmp(second, "NOTIFY slipway") == 0)
		snprintf(pair->notify, sizeof(pair->notify), "%s", first);
	return message[0] == 'B' && *pair->notify && strcmp(second, pair->notify) == 0;
}

static inline enum proxy_cut proxy_take_cut(struct proxy *proxy)
{
	enum proxy_cut cut;

	pthread_mutex_lock(&proxy->lock);
	cut = proxy->cut;
	proxy->cut = PROXY_PASS;
	if (cut != PROXY_PASS)
		proxy->cuts++;
	pthread_mutex_unlock(&proxy->lock);
	return cut;
}

/* Reads on until the client's Sync is in the buffer: so the whole COMMIT is. */
static inline void proxy_read_commit(struct proxy_pair *pair)
{
	size_t at = 0;

	for (;;) {
		while (at + 5 <= pair->from_client.length) {
			struct buffer rest = {.data = pair->from_client.data + at,
				.length = pair->from_client.length - at};
			size_t length = proxy_message(&rest, 1);

			if (length == 0)
				break;
			at += length;
			if (rest.data[0] == 'S')
				return;
		}
		char *room = buffer_reserve(&pair->from_client, 65536);
		ssize_t got = recv(pair->client, room, 65536, 0);

		if (got <= 0)
			return;
		pair->from_client.length += (size_t)got;
	}
}

static inline void proxy_cut(struct proxy_pair *pair, enum proxy_cut cut)
{
	switch (cut) {
	case PROXY_PASS: break;
	case PROXY_BEFORE: proxy_end_pair(pair); break;
	case PROXY_AFTER: pair->doomed = true; break;
	case PROXY_RACING:
		proxy_read_commit(pair);
		proxy_write(pair->server, pair->from_client.data, pair->from_client.length);
		proxy_end_pair(pair);
		break;
	case PROXY_LATE:
		proxy_read_commit(pair);
		buffer_add(&pair->held, pair->from_client.data, pair->from_client.length);
		proxy_close(&pair->client);
		break;
	case PROXY_UNNOTICED: proxy_close(&pair->client); break;
	}
}

static inline void proxy_pass_client(struct proxy *proxy, struct proxy_pair *pair)
{
	size_t length;

	while (pair->client >= 0 &&
		(length = proxy_message(&pair->from_client, pair->started ? 1 : 0)) > 0) {
		if (pair->started && proxy_is_commit(pair, pair->from_client.data)) {
			proxy_cut(pair, proxy_take_cut(proxy));
			if (pair->client < 0)
				return;
		}
		pair->started = true;
		proxy_write(pair->server, pair->from_client.data, length);
		buffer_consume(&pair->from_client, length);
	}
}

static inline void proxy_pass_server(struct proxy_pair *pair)
{
	size_t length;

	while (pair->server >= 0 && (length = proxy_message(&pair->from_server, 1)) > 0) {
		if (pair->doomed && pair->from_server.data[0] == 'C' &&
			strcmp(pair->from_server.data + 5, "COMMIT") == 0) {
			proxy_end_pair(pair);
			return;
		}
		if (pair->client >= 0 && !pair->doomed)
			proxy_write(pair->client, pair->from_server.data, length);
		buffer_consume(&pair->from_server, length);
	}
}

/* False at the end of the stream. */
static inline bool proxy_read(int descriptor, struct buffer *buffer)
{
	char *room = buffer_reserve(buffer, 65536);
	ssize_t got = recv(descriptor, room, 65536, 0);

	if (got <= 0)
		return false;
	buffer->length += (size_t)got;
	buffer->data[buffer->length] = 0; /* buffer_reserve() leaves room for it */
	return true;
}

static inline void proxy_accept(struct proxy *proxy)
{
	int client = accept(proxy->listener, NULL, NULL);
	bool down;

	pthread_mutex_lock(&proxy->lock);
	down = proxy->down;
	pthread_mutex_unlock(&proxy->lock);
	for (size_t i = 0; client >= 0 && !down && i < PROXY_PAIRS_MAX; i++) {
		struct proxy_pair *pair = &proxy->pairs[i];

		if (pair->held.length > 0) { /* PROXY_LATE */
			proxy_write(pair->server, pair->held.data, pair->held.length);
			buffer_clear(&pair->held);
		}
		if (client < 0 || pair->client >= 0 || pair->server >= 0)
			continue;
		pair->server = socket(proxy->target.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (connect(pair->server, (struct sockaddr *)&proxy->target, proxy->target_length) <
			0)
			proxy_close(&pair->server);
		else
			pair->client = TAKE_FD(client);
		break;
	}
	proxy_close(&client);
}

static inline void *proxy_run(void *context)
{
	struct proxy *proxy = context;
	bool ending = false;

	while (!ending) {
		struct pollfd waits[2 + 2 * PROXY_PAIRS_MAX] = {
			{.fd = proxy->listener, .events = POLLIN},
			{.fd = proxy->wake, .events = POLLIN},
		};

		for (size_t i = 0; i < PROXY_PAIRS_MAX; i++) {
			waits[2 + 2 * i] =
				(struct pollfd){.fd = proxy->pairs[i].client, .events = POLLIN};
			waits[3 + 2 * i] =
				(struct pollfd){.fd = proxy->pairs[i].server, .events = POLLIN};
		}
		if (poll(waits, LENGTH(waits), -1) < 0)
			continue;
		for (size_t i = 0; i < PROXY_PAIRS_MAX; i++) {
			struct proxy_pair *pair = &proxy->pairs[i];

			if (waits[2 + 2 * i].revents) {
				if (!proxy_read(pair->client, &pair->from_client))
					proxy_end_pair(pair);
				else
					proxy_pass_client(proxy, pair);
			}
			if (pair->server >= 0 && waits[3 + 2 * i].revents) {
				if (!proxy_read(pair->server, &pair->from_server))
					proxy_end_pair(pair);
				else
					proxy_pass_server(pair);
			}
		}
		if (waits[0].revents)
			proxy_accept(proxy);
		if (waits[1].revents) {
			eventfd_t value;

			eventfd_read(proxy->wake, &value);
			pthread_mutex_lock(&proxy->lock);
			ending = proxy->ending;
			for (size_t i = 0; proxy->down && i < PROXY_PAIRS_MAX; i++)
				proxy_end_pair(&proxy->pairs[i]);
			pthread_mutex_unlock(&proxy->lock);
		}
	}
	for (size_t i = 0; i < PROXY_PAIRS_MAX; i++)
		proxy_end_pair(&proxy->pairs[i]);
	return NULL;
}

static inline void proxy_start(struct proxy *proxy, const struct test_database *database)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	memset(proxy, 0, sizeof(*proxy));
	snprintf(proxy->folder, sizeof(proxy->folder), P_tmpdir "/slipway-proxy-XXXXXX");
	if (!mkdtemp(proxy->folder))
		test_database_fail(proxy->folder, "cannot make it");
	proxy->path = memory_format("%s/.s.PGSQL.5432", proxy->folder);
	proxy->url = test_database_url(database->server_url, database->name, proxy->folder);
	proxy_find_target(proxy, database->server_url);
	for (size_t i = 0; i < PROXY_PAIRS_MAX; i++)
		proxy->pairs[i].client = proxy->pairs[i].server = -1;
	proxy->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", proxy->path);
	if (bind(proxy->listener, (struct sockaddr *)&address, sizeof(address)) < 0 ||
		listen(proxy->listener, 16) < 0)
		test_database_fail(proxy->path, "cannot listen");
	proxy->wake = eventfd(0, EFD_CLOEXEC);
	pthread_mutex_init(&proxy->lock, NULL);
	pthread_create(&proxy->thread, NULL, proxy_run, proxy);
}

static inline void proxy_notify(struct proxy *proxy, enum proxy_cut cut, bool down, bool ending)
{
	pthread_mutex_lock(&proxy->lock);
	proxy->cut = cut;
	proxy->down = down;
	proxy->ending = ending;
	pthread_mutex_unlock(&proxy->lock);
	eventfd_write(proxy->wake, 1);
}

/* How many commits were cut so far. */
static inline unsigned proxy_cuts(struct proxy *proxy)
{
	unsigned cuts;

	pthread_mutex_lock(&proxy->lock);
	cuts = proxy->cuts;
	pthread_mutex_unlock(&proxy->lock);
	return cuts;
}

static inline void proxy_stop(struct proxy *proxy)
{
	proxy_notify(proxy, PROXY_PASS, false, true);
	pthread_join(proxy->thread, NULL);
	close(proxy->listener);
	close(proxy->wake);
	unlink(proxy->path);
	rmdir(proxy->folder);
	free(proxy->path);
	free(proxy->url);
	pthread_mutex_destroy(&proxy->lock);
}

#endif
