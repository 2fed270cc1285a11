/*
 * Listening, threads, limits on connections, drain.
 *
 * One loop accepts for all and deals the sockets out in turn: with few connections SO_REUSEPORT would
 * leave some loops without work. Orders from other threads (a socket, drain, stop) lie in the loop's
 * struct under its lock until the loop is woken.
 */
#include "io/http_server.h"

#include <fcntl.h>
#include <netdb.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/memory.h"
#include "io/http_connection.h"

#define LISTEN_BACKLOG 1024
#define ACCEPTS_AT_ONCE 64
#define SWEEP_LEAST_MS 10
#define SWEEP_MOST_MS 1000
#define SWEEPS_PER_TIMEOUT 4 /* how exact timeouts are */
#define DRAIN_SWEEP_MS 20

/* ---- requests of connections ---- */

struct tls_session *http_server_new_tls_session(struct http_server *server)
{
	struct tls_session *session = NULL;

	uv_mutex_lock(&server->lock);
	if (server->tls)
		session = tls_session_new(server->tls);
	uv_mutex_unlock(&server->lock);
	return session;
}

void http_address_of(const struct sockaddr_storage *peer, unsigned char ret_address[16])
{
	static const unsigned char mapped[12] = {[10] = 0xFF, [11] = 0xFF};

	if (peer->ss_family == AF_INET) {
		memcpy(ret_address, mapped, sizeof(mapped));
		memcpy(ret_address + 12, &((const struct sockaddr_in *)peer)->sin_addr, 4);
	} else {
		memcpy(ret_address, &((const struct sockaddr_in6 *)peer)->sin6_addr, 16);
	}
}

static bool is_loopback(const unsigned char address[16])
{
	const struct in6_addr *six = (const struct in6_addr *)(const void *)address;

	return IN6_IS_ADDR_LOOPBACK(six) || (IN6_IS_ADDR_V4MAPPED(six) && address[12] == 127);
}

static void forget(struct http_server *server, const unsigned char address[16], bool counted)
{
	struct span key = {(const char *)address, 16};
	size_t count;

	atomic_fetch_sub(&server->connections, 1);
	if (!counted)
		return;
	uv_mutex_lock(&server->lock);
	count = (size_t)(uintptr_t)map_get(&server->addresses, key);
	if (count <= 1)
		map_remove(&server->addresses, key);
	else
		map_put(&server->addresses, key, (void *)(uintptr_t)(count - 1));
	uv_mutex_unlock(&server->lock);
}

/* Counts the connection, or says that a limit is reached. */
static bool admit(struct http_server *server, struct http_accepted *accepted)
{
	unsigned char address[16];
	struct span key = {(const char *)address, sizeof(address)};
	bool admitted = true;
	size_t count;

	if (atomic_load(&server->connections) >= server->limits.connections_max)
		return false;
	http_address_of(&accepted->peer, address);
	accepted->counted_by_address = server->limit_loopback || !is_loopback(address);
	if (accepted->counted_by_address) {
		uv_mutex_lock(&server->lock);
		count = (size_t)(uintptr_t)map_get(&server->addresses, key);
		admitted = count < server->limits.connections_per_address;
		if (admitted)
			map_put(&server->addresses, key, (void *)(uintptr_t)(count + 1));
		uv_mutex_unlock(&server->lock);
	}
	if (admitted)
		atomic_fetch_add(&server->connections, 1);
	return admitted;
}

/* ---- accepting, on loop 0 ---- */

static void turn_away(struct http_server *server, int descriptor)
{
	static const char text[] =
		"HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain\r\n"
		"Content-Length: 46\r\nRetry-After: 1\r\nConnection: close\r\n\r\n"
		"503 Service Unavailable: too many connections\n";
	ssize_t ignored;

	http_count(&server->loops[0].counters.connections_refused, 1);
	if (!server->certificate_file) {
		ignored = send(descriptor, text, sizeof(text) - 1, MSG_DONTWAIT | MSG_NOSIGNAL);
		(void)ignored;
		shutdown(descriptor, SHUT_WR);
	}
	close(descriptor);
}

static void deal_out(struct http_server *server, struct http_accepted *accepted)
{
	struct http_loop *loop = &server->loops[server->next_loop++ % server->loop_count];
	struct http_accepted *copy;

	if (loop == &server->loops[0]) {
		http_connection_open(loop, accepted);
		return;
	}
	copy = memory_copy(accepted, sizeof(*accepted));
	uv_mutex_lock(&loop->lock);
	copy->next = loop->accepted;
	loop->accepted = copy;
	uv_mutex_unlock(&loop->lock);
	uv_async_send(&loop->wake);
}

static void on_acceptable(uv_poll_t *handle, int status, int events)
{
	struct http_server *server = handle->data;

	(void)events;
	if (status < 0)
		return;
	for (int i = 0; i < ACCEPTS_AT_ONCE; i++) {
		struct http_accepted accepted = {0};
		socklen_t size = sizeof(accepted.peer);

		accepted.descriptor = accept4(server->listener, (struct sockaddr *)&accepted.peer,
			&size, SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (accepted.descriptor < 0) {
			/* Without descriptors the socket stays readable: wait for the next sweep. */
			if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS ||
				errno == ENOMEM) {
				uv_poll_stop(&server->accepts);
				server->accepting = false;
			}
			return;
		}
		if (admit(server, &accepted))
			deal_out(server, &accepted);
		else
			turn_away(server, accepted.descriptor);
	}
}

static void stop_listening(struct http_server *server)
{
	if (server->listener < 0)
		return;
	uv_close((uv_handle_t *)&server->accepts, NULL);
	close(TAKE_FD(server->listener));
}

/* ---- loops ---- */

static bool is_accepting_loop(const struct http_loop *loop)
{
	return loop == &loop->server->loops[0];
}

static void on_sweep(uv_timer_t *timer);

static void begin_drain(struct http_loop *loop, unsigned deadline_ms)
{
	uv_update_time(&loop->uv);
	loop->drain_deadline_ms = uv_now(&loop->uv) + deadline_ms;
	if (!loop->draining && is_accepting_loop(loop))
		stop_listening(loop->server);
	loop->draining = true;
	uv_timer_start(&loop->sweep, on_sweep, DRAIN_SWEEP_MS, DRAIN_SWEEP_MS);
	for (struct http_connection *connection = loop->connections; connection;
		connection = connection->next) {
		if (deadline_ms == 0)
			http_connection_close(connection);
		else
			http_connection_drain(connection);
	}
}

/* Reports to http_server_drain once, when no connection is left. */
static void report_drained(struct http_loop *loop)
{
	bool report = false;

	if (!loop->draining || loop->connection_count > 0)
		return;
	uv_mutex_lock(&loop->lock);
	report = !loop->drained && !loop->accepted;
	if (report)
		loop->drained = true;
	uv_mutex_unlock(&loop->lock);
	if (!report)
		return;
	uv_mutex_lock(&loop->server->lock);
	loop->server->draining_loops--;
	uv_cond_broadcast(&loop->server->drained);
	uv_mutex_unlock(&loop->server->lock);
}

/* Ends the loop when nothing can need it any more. */
static void stop_if_possible(struct http_loop *loop)
{
	bool stop;

	uv_mutex_lock(&loop->lock);
	stop = loop->stop_wanted && !loop->accepted;
	uv_mutex_unlock(&loop->lock);
	if (!stop || !loop->draining || loop->connection_count > 0 || loop->outstanding > 0 ||
		atomic_load(&loop->posting) > 0 || uv_is_closing((uv_handle_t *)&loop->wake))
		return;
	uv_close((uv_handle_t *)&loop->wake, NULL);
	uv_close((uv_handle_t *)&loop->sweep, NULL);
}

void http_loop_connection_closed(struct http_loop *loop, const unsigned char address[16],
	bool counted)
{
	loop->connection_count--;
	forget(loop->server, address, counted);
	http_count(&loop->counters.connections_open, -1);
	report_drained(loop);
	stop_if_possible(loop);
}

static void open_accepted(struct http_loop *loop, struct http_accepted *accepted)
{
	while (accepted) {
		struct http_accepted *next = accepted->next;

		if (loop->draining) {
			unsigned char address[16];

			http_address_of(&accepted->peer, address);
			forget(loop->server, address, accepted->counted_by_address);
			close(accepted->descriptor);
		} else {
			http_connection_open(loop, accepted);
		}
		free(accepted);
		accepted = next;
	}
}

static void refuse_connections(struct http_server *server)
{
	stop_listening(server);
	uv_mutex_lock(&server->lock);
	server->refuses = true;
	uv_cond_broadcast(&server->drained);
	uv_mutex_unlock(&server->lock);
}

static void on_wake(uv_async_t *handle)
{
	struct http_loop *loop = handle->data;
	struct http_accepted *accepted;
	unsigned drain_ms;
	bool drain, refuse;

	uv_mutex_lock(&loop->lock);
	accepted = TAKE(loop->accepted);
	refuse = loop->refuse_wanted;
	loop->refuse_wanted = false;
	drain = loop->drain_wanted;
	drain_ms = loop->drain_ms;
	loop->drain_wanted = false;
	uv_mutex_unlock(&loop->lock);

	if (refuse)
		refuse_connections(loop->server);
	open_accepted(loop, accepted);
	http_loop_process_inbox(loop);
	if (drain)
		begin_drain(loop, drain_ms);
	report_drained(loop);
	stop_if_possible(loop);
}

static void on_sweep(uv_timer_t *timer)
{
	struct http_loop *loop = timer->data;
	uint64_t now = uv_now(&loop->uv);

	for (struct http_connection *connection = loop->connections; connection;
		connection = connection->next) {
		if (loop->draining && now >= loop->drain_deadline_ms)
			http_connection_close(connection);
		else
			http_connection_sweep(connection, now);
	}
	if (is_accepting_loop(loop) && loop->server->listener >= 0 && !loop->server->accepting) {
		loop->server->accepting = true;
		uv_poll_start(&loop->server->accepts, UV_READABLE, on_acceptable);
	}
	report_drained(loop);
	stop_if_possible(loop);
}

/* A quarter of the shortest timeout, within reason: also how long a drained loop may take to notice. */
static uint64_t sweep_period(const struct http_limits *limits)
{
	const unsigned timeouts[] = {limits->idle_ms, limits->head_ms, limits->body_ms,
		limits->write_stall_ms, limits->linger_ms};
	unsigned period = SWEEP_MOST_MS;

	for (size_t i = 0; i < LENGTH(timeouts); i++) {
		if (timeouts[i] / SWEEPS_PER_TIMEOUT < period)
			period = timeouts[i] / SWEEPS_PER_TIMEOUT;
	}
	return period < SWEEP_LEAST_MS ? SWEEP_LEAST_MS : period;
}

static void run_loop(void *context)
{
	struct http_loop *loop = context;

	loop->self = uv_thread_self();
	uv_run(&loop->uv, UV_RUN_DEFAULT);
}

static int loop_init(struct http_server *server, struct http_loop *loop, struct err *err)
{
	int code = uv_loop_init(&loop->uv);

	if (code < 0)
		return err_set(err, code, "make an event loop: %s", uv_strerror(code));
	loop->server = server;
	loop->limits = &server->limits;
	code = uv_async_init(&loop->uv, &loop->wake, on_wake);
	if (code < 0) {
		uv_loop_close(&loop->uv);
		return err_set(err, code, "make an event loop: %s", uv_strerror(code));
	}
	uv_mutex_init(&loop->lock);
	uv_timer_init(&loop->uv, &loop->sweep);
	loop->wake.data = loop;
	loop->sweep.data = loop;
	uv_timer_start(&loop->sweep, on_sweep, sweep_period(loop->limits),
		sweep_period(loop->limits));
	return 0;
}

static void loop_free(struct http_loop *loop)
{
	if (!loop->started) {
		uv_close((uv_handle_t *)&loop->wake, NULL);
		uv_close((uv_handle_t *)&loop->sweep, NULL);
		uv_run(&loop->uv, UV_RUN_DEFAULT);
	}
	http_loop_free_exchanges(loop);
	uv_loop_close(&loop->uv);
	uv_mutex_destroy(&loop->lock);
}

/* Signals are for the program's main thread. A blocked SIGPIPE also makes writes to closed sockets
 * errors instead of deaths. */
static int loop_start(struct http_loop *loop, struct err *err)
{
	sigset_t all, before;
	int code;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	code = uv_thread_create(&loop->thread, run_loop, loop);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (code < 0)
		return err_set(err, code, "start a thread: %s", uv_strerror(code));
	loop->started = true;
	return 0;
}

/* ---- opening and closing ---- */

static int listen_on(struct http_server *server, const char *address, uint16_t port,
	struct err *err)
{
	struct addrinfo hints = {
		.ai_flags = AI_PASSIVE | AI_NUMERICSERV, .ai_socktype = SOCK_STREAM};
	struct addrinfo *found = NULL;
	struct sockaddr_storage bound;
	socklen_t size = sizeof(bound);
	_close_ int descriptor = -1;
	char service[8];
	int one = 1;
	int code;

	if (strcmp(address, "localhost") == 0)
		hints.ai_family = AF_INET;
	else
		hints.ai_flags |= AI_NUMERICHOST;
	snprintf(service, sizeof(service), "%u", port);
	code = getaddrinfo(address, service, &hints, &found);
	if (code != 0)
		return err_set(err, -EINVAL, "listen on '%s': %s", address, gai_strerror(code));
	descriptor = socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	code = 0;
	if (descriptor < 0 ||
		setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) < 0 ||
		bind(descriptor, found->ai_addr, found->ai_addrlen) < 0 ||
		listen(descriptor, LISTEN_BACKLOG) < 0 ||
		getsockname(descriptor, (struct sockaddr *)&bound, &size) < 0)
		code = err_errno(err, "listen on %s port %u", address, port);
	freeaddrinfo(found);
	if (code < 0)
		return code;
	server->port =
		ntohs(bound.ss_family == AF_INET ? ((struct sockaddr_in *)&bound)->sin_port
						 : ((struct sockaddr_in6 *)&bound)->sin6_port);
	server->listener = TAKE_FD(descriptor);
	return 0;
}

static void server_free(struct http_server *server)
{
	if (server->listener >= 0)
		close(server->listener);
	tls_context_free(server->tls);
	map_clear(&server->addresses);
	uv_mutex_destroy(&server->lock);
	uv_cond_destroy(&server->drained);
	free(server->certificate_file);
	free(server->key_file);
	free(server->loops);
	free(server);
}

static int start_loops(struct http_server *server, unsigned count, struct err *err)
{
	int code = 0;

	for (unsigned i = 0; i < count && code == 0; i++) {
		code = loop_init(server, &server->loops[i], err);
		if (code == 0)
			server->loop_count++;
	}
	if (code < 0)
		return code;
	code = uv_poll_init(&server->loops[0].uv, &server->accepts, server->listener);
	if (code < 0)
		return err_set(err, code, "poll the listening socket: %s", uv_strerror(code));
	server->accepts.data = server;
	server->accepting = true;
	uv_poll_start(&server->accepts, UV_READABLE, on_acceptable);
	/* Loop 0, which deals out sockets, comes last: all others are there then. */
	for (unsigned i = count; i-- > 0 && code == 0;)
		code = loop_start(&server->loops[i], err);
	return code;
}

static void undo_open(struct http_server *server)
{
	if (server->accepting)
		stop_listening(server);
	for (unsigned i = 0; i < server->loop_count; i++) {
		struct http_loop *loop = &server->loops[i];

		if (loop->started) {
			uv_mutex_lock(&loop->lock);
			loop->drain_wanted = loop->stop_wanted = true;
			uv_mutex_unlock(&loop->lock);
			uv_mutex_lock(&server->lock);
			server->draining_loops++;
			uv_mutex_unlock(&server->lock);
			uv_async_send(&loop->wake);
			uv_thread_join(&loop->thread);
		}
		loop_free(loop);
	}
	server_free(server);
}

int http_server_open(const struct http_server_config *config, struct http_server **ret_server,
	struct err *err)
{
	struct http_server *server = memory_allocate(sizeof(*server));
	unsigned count = config->loops ? config->loops : 1;
	int code = 0;

	if (count > HTTP_LOOPS_MAX)
		count = HTTP_LOOPS_MAX;
	server->listener = -1;
	server->limits = config->limits;
	http_limits_fill_defaults(&server->limits);
	server->limit_loopback = config->limit_loopback;
	server->handler = config->handler;
	server->context = config->context;
	server->certificate_file = memory_copy_string(config->certificate_file);
	server->key_file = memory_copy_string(config->key_file);
	server->loops = memory_allocate_array(count, sizeof(server->loops[0]));
	uv_mutex_init(&server->lock);
	uv_cond_init(&server->drained);
	if (server->certificate_file)
		code = tls_context_load(server->certificate_file, server->key_file, &server->tls,
			err);
	if (code == 0)
		code = listen_on(server, config->address ? config->address : "127.0.0.1",
			config->port, err);
	if (code == 0)
		code = start_loops(server, count, err);
	if (code < 0) {
		undo_open(server);
		return code;
	}
	*ret_server = server;
	return 0;
}

uint16_t http_server_port(const struct http_server *server)
{
	return server->port;
}

int http_server_reload_tls(struct http_server *server, struct err *err)
{
	struct tls_context *context = NULL;
	struct tls_context *old;
	int code;

	if (!server->certificate_file)
		return err_set(err, -EINVAL, "this server does not speak TLS");
	code = tls_context_load(server->certificate_file, server->key_file, &context, err);
	if (code < 0)
		return code;
	uv_mutex_lock(&server->lock);
	old = server->tls;
	server->tls = context;
	uv_mutex_unlock(&server->lock);
	tls_context_free(old);
	return 0;
}

void http_server_refuse(struct http_server *server)
{
	struct http_loop *loop = &server->loops[0];

	uv_mutex_lock(&loop->lock);
	loop->refuse_wanted = true;
	uv_mutex_unlock(&loop->lock);
	uv_async_send(&loop->wake);
	uv_mutex_lock(&server->lock);
	while (!server->refuses)
		uv_cond_wait(&server->drained, &server->lock);
	uv_mutex_unlock(&server->lock);
}

/* No connection is closed while new ones are accepted: a client that connects again must not come back here. */
void http_server_drain(struct http_server *server, unsigned deadline_ms)
{
	http_server_refuse(server);
	for (unsigned i = 0; i < server->loop_count; i++) {
		struct http_loop *loop = &server->loops[i];

		uv_mutex_lock(&server->lock);
		server->draining_loops++;
		uv_mutex_unlock(&server->lock);
		uv_mutex_lock(&loop->lock);
		loop->drained = false;
		loop->drain_wanted = true;
		loop->drain_ms = deadline_ms;
		uv_mutex_unlock(&loop->lock);
		uv_async_send(&loop->wake);
	}
	uv_mutex_lock(&server->lock);
	while (server->draining_loops > 0)
		uv_cond_wait(&server->drained, &server->lock);
	uv_mutex_unlock(&server->lock);
}

void http_server_close(struct http_server *server)
{
	if (!server)
		return;
	http_server_drain(server, 0);
	for (unsigned i = 0; i < server->loop_count; i++) {
		struct http_loop *loop = &server->loops[i];

		uv_mutex_lock(&loop->lock);
		loop->stop_wanted = true;
		uv_mutex_unlock(&loop->lock);
		uv_async_send(&loop->wake);
	}
	for (unsigned i = 0; i < server->loop_count; i++)
		uv_thread_join(&server->loops[i].thread);
	for (unsigned i = 0; i < server->loop_count; i++)
		loop_free(&server->loops[i]);
	server_free(server);
}

void http_server_statistics(const struct http_server *server,
	struct http_statistics *ret_statistics)
{
	*ret_statistics = (struct http_statistics){0};
	for (unsigned i = 0; i < server->loop_count; i++) {
		const struct http_counters *counters = &server->loops[i].counters;

#define ADD(name, grows, help)                                                                     \
	ret_statistics->name +=                                                                    \
		atomic_load_explicit((_Atomic uint64_t *)&counters->name, memory_order_relaxed);
		HTTP_STATISTICS(ADD)
#undef ADD
	}
}
