/*
 * The thread that checks. Every target has a time at which its next check starts; every running
 * check has a deadline. Both are found by scanning all of them a few times a second at most: there
 * are thousands, not millions.
 */
#include <openssl/ssl.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include "base/buffer.h"
#include "base/lock.h"
#include "base/map.h"
#include "base/memory.h"
#include "proxy/probe.h"

#define REQUEST_MAX (PROBE_PATH_MAX + PROBE_HOST_MAX + 256)
#define EVENTS 64
#define PROBE_EAGER_MS INT64_C(50) /* delay of the first early check; doubling */

/* One target, and its running check. */
struct probe {
	char *key, *path, *host;
	union proxy_address address;
	struct probe_settings settings; /* its texts are the three above */
	struct probe_health health;
	bool is_new;  /* not reported yet */
	bool removed; /* freed by the thread */
	int64_t next_us;
	int64_t counts_us; /* while initial: a failed check counts from then on; 0: not started */
	int64_t eager_us;  /* while initial: delay of the next check */
	bool counts;       /* of the running check */

	int descriptor; /* -1: no check is under way */
	int64_t until_us;
	SSL *tls;
	bool connected, shaken; /* TCP, TLS */
	char request[REQUEST_MAX];
	size_t request_length, sent;
	char head[PROBE_HEAD_MAX];
	size_t head_length;
};

struct prober {
	struct runner *runner;
	struct lock lock;
	struct map probes; /* struct probe by key; changed under the lock */
	struct map gone;   /* removed, for the thread to free; keys are irrelevant */
	uint64_t gone_count;
	bool stopping;
	int wake, epoll;
	size_t under_way; /* only for the thread */
	SSL_CTX *tls;
	prober_notify report;
	void *context;
};

/* ---- one check ---- */

static void close_check(struct prober *prober, struct probe *probe)
{
	if (probe->descriptor < 0)
		return;
	SSL_free(TAKE(probe->tls));
	close(probe->descriptor);
	probe->descriptor = -1;
	prober->under_way--;
}

static void finish_check(struct prober *prober, struct probe *probe, enum probe_reason reason,
	int code)
{
	struct probe_outcome outcome = {reason, code};
	struct probe_health health;
	bool changed;

	close_check(prober, probe);
	if (reason != PROBE_REASON_NONE && !probe->counts)
		return;
	lock_take(&prober->lock);
	changed = probe_health_note(&probe->health, &probe->settings, &outcome) && !probe->removed;
	health = probe->health;
	lock_release(&prober->lock);
	if (changed)
		prober->report(prober->context, probe->key, &health);
}

static void write_request(struct probe *probe)
{
	char host[PROXY_ADDRESS_TEXT_SIZE];
	int length;

	proxy_address_format(&probe->address, host);
	length = snprintf(probe->request, sizeof(probe->request),
		"GET %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: ELB-HealthChecker/2.0\r\n"
		"Accept: */*\r\nConnection: close\r\n\r\n",
		probe->path, probe->host ? probe->host : host);
	probe->request_length = (size_t)length;
}

/*
 * A program that was just started does not listen yet: with one check per interval it would be in
 * service late, and early checks would count against it. So an initial target is checked often, and
 * only one failure in each interval counts.
 */
static void plan_next(struct probe *probe, int64_t now)
{
	int64_t interval = (int64_t)probe->settings.interval_ms * 1000;

	probe->counts = true;
	probe->next_us = now + interval;
	if (probe->health.state != PROBE_INITIAL)
		return;
	if (probe->counts_us == 0) {
		probe->counts_us = now + interval;
		probe->eager_us = PROBE_EAGER_MS * 1000;
	}
	probe->counts = now >= probe->counts_us;
	if (probe->counts)
		probe->counts_us = now + interval;
	if (now + probe->eager_us < probe->counts_us)
		probe->next_us = now + probe->eager_us;
	else
		probe->next_us = probe->counts_us;
	probe->eager_us *= 2;
}

static void start_check(struct prober *prober, struct probe *probe, int64_t now)
{
	struct epoll_event event = {
		.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, .data.ptr = probe};

	plan_next(probe, now);
	probe->until_us = now + (int64_t)probe->settings.timeout_ms * 1000;
	probe->connected = probe->shaken = false;
	probe->sent = probe->head_length = 0;
	probe->descriptor =
		socket(probe->address.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (probe->descriptor < 0) {
		finish_check(prober, probe, PROBE_REASON_INTERNAL, 0);
		return;
	}
	prober->under_way++;
	if (probe->settings.protocol == PROBE_HTTPS) {
		probe->tls = SSL_new(prober->tls);
		if (!probe->tls || SSL_set_fd(probe->tls, probe->descriptor) != 1) {
			finish_check(prober, probe, PROBE_REASON_INTERNAL, 0);
			return;
		}
		if (probe->host)
			SSL_set_tlsext_host_name(probe->tls, probe->host);
	}
	if ((connect(probe->descriptor, &probe->address.any,
		     proxy_address_length(&probe->address)) < 0 &&
		    errno != EINPROGRESS) ||
		epoll_ctl(prober->epoll, EPOLL_CTL_ADD, probe->descriptor, &event) < 0)
		finish_check(prober, probe, PROBE_REASON_FAILED, 0);
}

enum step { STEP_ON, STEP_WAITS, STEP_FAILED };

static enum step tls_step(struct probe *probe, int result)
{
	int why;

	if (result > 0)
		return STEP_ON;
	why = SSL_get_error(probe->tls, result);
	return why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE ? STEP_WAITS : STEP_FAILED;
}

static enum step send_request(struct probe *probe)
{
	const char *at = probe->request + probe->sent;
	size_t left = probe->request_length - probe->sent;
	ssize_t sent;

	if (probe->tls) {
		enum step step = tls_step(probe, SSL_write(probe->tls, at, (int)left));

		if (step == STEP_ON)
			probe->sent = probe->request_length; /* partial writes are off */
		return step;
	}
	sent = send(probe->descriptor, at, left, MSG_NOSIGNAL);
	if (sent < 0)
		return errno == EAGAIN ? STEP_WAITS : STEP_FAILED;
	probe->sent += (size_t)sent;
	return STEP_ON;
}

static enum step read_answer(struct probe *probe)
{
	char *at = probe->head + probe->head_length;
	size_t room = sizeof(probe->head) - probe->head_length;
	ssize_t got;

	if (room == 0)
		return STEP_FAILED;
	if (probe->tls) {
		int read = SSL_read(probe->tls, at, (int)room);
		enum step step = tls_step(probe, read);

		if (step == STEP_ON)
			probe->head_length += (size_t)read;
		return step;
	}
	got = recv(probe->descriptor, at, room, 0);
	if (got < 0)
		return errno == EAGAIN ? STEP_WAITS : STEP_FAILED;
	if (got == 0)
		return STEP_FAILED;
	probe->head_length += (size_t)got;
	return STEP_ON;
}

static void go_on(struct prober *prober, struct probe *probe)
{
	for (;;) {
		enum step step;
		int status;

		if (!probe->connected) {
			int number = 0;
			socklen_t length = sizeof(number);
			union proxy_address peer;
			socklen_t peer_length = sizeof(peer);

			getsockopt(probe->descriptor, SOL_SOCKET, SO_ERROR, &number, &length);
			if (number != 0) {
				finish_check(prober, probe, PROBE_REASON_FAILED, 0);
				return;
			}
			if (getpeername(probe->descriptor, &peer.any, &peer_length) < 0)
				return; /* not yet */
			probe->connected = true;
			if (probe->settings.protocol == PROBE_TCP) {
				finish_check(prober, probe, PROBE_REASON_NONE, 0);
				return;
			}
		}
		if (probe->tls && !probe->shaken) {
			step = tls_step(probe, SSL_connect(probe->tls));
			probe->shaken = step == STEP_ON;
		} else if (probe->sent < probe->request_length) {
			step = send_request(probe);
		} else {
			step = read_answer(probe);
		}
		if (step == STEP_WAITS)
			return;
		status = probe_status_of((struct span){probe->head, probe->head_length});
		if (step == STEP_FAILED || status < 0) {
			finish_check(prober, probe, PROBE_REASON_FAILED, 0);
			return;
		}
		if (status > 0) {
			bool good = probe_matcher_has(&probe->settings.matcher, status);

			finish_check(prober, probe,
				good ? PROBE_REASON_NONE : PROBE_REASON_MISMATCH,
				good ? 0 : status);
			return;
		}
	}
}

/* ---- the thread ---- */

static void free_probe(struct probe *probe)
{
	free(probe->key);
	free(probe->path);
	free(probe->host);
	free(probe);
}

/* Frees removed targets with their checks. */
static void bury(struct prober *prober)
{
	struct map gone;

	lock_take(&prober->lock);
	gone = prober->gone;
	prober->gone = (struct map){0};
	lock_release(&prober->lock);
	MAP_EACH (&gone, entry) {
		close_check(prober, entry->value);
		free_probe(entry->value);
	}
	map_clear(&gone);
}

/* The next target with work: it is new, its check is late, or due. Returns the time of the next one
 * in *ret_next_us if there is none now. */
static struct probe *next_probe(struct prober *prober, int64_t now, size_t *position,
	int64_t *ret_next_us)
{
	struct map_entry *entry;
	struct probe *found = NULL;

	lock_take(&prober->lock);
	while (!found && (entry = map_next(&prober->probes, position))) {
		struct probe *probe = entry->value;
		int64_t at = probe->descriptor >= 0 ? probe->until_us : probe->next_us;

		if (probe->descriptor < 0 && at <= now && !probe->is_new &&
			prober->under_way >= PROBE_AT_ONCE_MAX)
			continue; /* its turn comes when another check ends */
		if (probe->is_new || at <= now)
			found = probe;
		else if (at < *ret_next_us)
			*ret_next_us = at;
	}
	lock_release(&prober->lock);
	return found;
}

static void do_what_is_due(struct prober *prober, int64_t *ret_next_us)
{
	int64_t now = runner_now_us(prober->runner);
	size_t position = 0;
	struct probe *probe;

	*ret_next_us = INT64_MAX;
	/* Only this thread frees, so targets live during this loop. */
	while ((probe = next_probe(prober, now, &position, ret_next_us))) {
		if (probe->is_new) {
			probe->is_new = false;
			prober->report(prober->context, probe->key, &probe->health);
		}
		if (probe->descriptor >= 0)
			finish_check(prober, probe, PROBE_REASON_TIMEOUT, 0);
		else if (prober->under_way < PROBE_AT_ONCE_MAX)
			start_check(prober, probe, now);
		if (probe->descriptor >= 0 && probe->until_us < *ret_next_us)
			*ret_next_us = probe->until_us;
		if (probe->descriptor < 0 && probe->next_us < *ret_next_us)
			*ret_next_us = probe->next_us;
	}
}

static int wait_ms(struct prober *prober, int64_t next_us)
{
	int64_t left;

	if (next_us == INT64_MAX)
		return -1;
	left = (next_us - runner_now_us(prober->runner) + 999) / 1000;
	return left < 0 ? 0 : left > 60000 ? 60000 : (int)left;
}

static void prober_main(void *context)
{
	struct prober *prober = context;

	for (;;) {
		struct epoll_event events[EVENTS];
		int64_t next_us;
		bool stopping;
		int count;

		bury(prober);
		do_what_is_due(prober, &next_us);
		count = epoll_wait(prober->epoll, events, EVENTS, wait_ms(prober, next_us));
		for (int i = 0; i < count; i++) {
			struct probe *probe = events[i].data.ptr;
			uint64_t wakes;

			if (!probe) {
				if (read(prober->wake, &wakes, sizeof(wakes)) < 0)
					continue;
			} else if (probe->descriptor >= 0) {
				go_on(prober, probe);
			}
		}
		lock_take(&prober->lock);
		stopping = prober->stopping;
		lock_release(&prober->lock);
		if (stopping)
			return;
	}
}

static void wake(struct prober *prober)
{
	uint64_t one = 1;
	ssize_t written = write(prober->wake, &one, sizeof(one));

	(void)written; /* full means that it will wake up */
}

/* ---- calls ---- */

int prober_new(struct runner *runner, prober_notify report, void *context,
	struct prober **ret_prober, struct err *err)
{
	struct prober *prober = memory_allocate(sizeof(*prober));
	struct epoll_event event = {.events = EPOLLIN};
	int code = 0;

	runner_assert_may_block(runner);
	lock_init(&prober->lock);
	prober->runner = runner_group_new(runner, "prober");
	prober->report = report;
	prober->context = context;
	prober->wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	prober->epoll = epoll_create1(EPOLL_CLOEXEC);
	prober->tls = SSL_CTX_new(TLS_client_method());
	if (prober->wake < 0 || prober->epoll < 0 ||
		epoll_ctl(prober->epoll, EPOLL_CTL_ADD, prober->wake, &event) < 0)
		code = err_errno(err, "prepare health checks");
	else if (!prober->tls)
		code = err_set(err, -ENOMEM, "prepare TLS for health checks");
	else
		SSL_CTX_set_verify(prober->tls, SSL_VERIFY_NONE, NULL);
	if (code == 0)
		code = runner_spawn(prober->runner, "prober", prober_main, prober, err);
	if (code < 0) {
		prober_free(prober);
		return code;
	}
	*ret_prober = prober;
	return 0;
}

void prober_free(struct prober *prober)
{
	if (!prober)
		return;
	lock_take(&prober->lock);
	prober->stopping = true;
	lock_release(&prober->lock);
	wake(prober);
	runner_stop(prober->runner);
	runner_join(prober->runner, NULL);
	bury(prober);
	MAP_EACH (&prober->probes, entry) {
		close_check(prober, entry->value);
		free_probe(entry->value);
	}
	map_clear(&prober->probes);
	runner_free(prober->runner);
	SSL_CTX_free(prober->tls);
	if (prober->epoll >= 0)
		close(prober->epoll);
	if (prober->wake >= 0)
		close(prober->wake);
	lock_destroy(&prober->lock);
	free(prober);
}

/* No characters that could end a line of the request or hide in it. */
static bool is_plain(const char *text, size_t most)
{
	size_t length = strlen(text);

	if (length == 0 || length > most)
		return false;
	for (size_t i = 0; i < length; i++) {
		if (text[i] <= ' ' || text[i] > '~')
			return false;
	}
	return true;
}

static int check_target(const struct probe_target *target, struct err *err)
{
	const struct probe_settings *settings = &target->settings;
	const struct {
		const char *name;
		uint32_t value, least, most;
	} limits[] = {
		{"interval", settings->interval_ms, PROBE_INTERVAL_MIN_MS, PROBE_INTERVAL_MAX_MS},
		{"timeout", settings->timeout_ms, 1, PROBE_TIMEOUT_MAX_MS},
		{"healthy threshold", settings->healthy_threshold, 1, PROBE_THRESHOLD_MAX},
		{"unhealthy threshold", settings->unhealthy_threshold, 1, PROBE_THRESHOLD_MAX},
	};

	if (!target->key || !*target->key)
		return err_set(err, -EINVAL, "a health check has no key");
	for (size_t i = 0; i < LENGTH(limits); i++) {
		if (limits[i].value < limits[i].least || limits[i].value > limits[i].most)
			return err_set(err, -EINVAL,
				"health check of '%.128s': %s %u is not from %u to %u", target->key,
				limits[i].name, limits[i].value, limits[i].least, limits[i].most);
	}
	if (proxy_address_port(&target->address) == 0)
		return err_set(err, -EINVAL, "health check of '%.128s': no port", target->key);
	if (settings->path && (!is_plain(settings->path, PROBE_PATH_MAX) || *settings->path != '/'))
		return err_set(err, -EINVAL,
			"health check of '%.128s': the path is not '/' and up to %d plain "
			"characters",
			target->key, PROBE_PATH_MAX - 1);
	if (settings->host && !is_plain(settings->host, PROBE_HOST_MAX))
		return err_set(err, -EINVAL, "health check of '%.128s': the host is not plain",
			target->key);
	return 0;
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static bool is_same(const struct probe *probe, const struct probe_target *target)
{
	const struct probe_settings *a = &probe->settings, *b = &target->settings;

	return proxy_address_equal(&probe->address, &target->address) &&
	       a->protocol == b->protocol && same_text(probe->path, b->path ? b->path : "/") &&
	       same_text(probe->host, b->host) && a->interval_ms == b->interval_ms &&
	       a->timeout_ms == b->timeout_ms && a->healthy_threshold == b->healthy_threshold &&
	       a->unhealthy_threshold == b->unhealthy_threshold &&
	       memcmp(&a->matcher, &b->matcher, sizeof(a->matcher)) == 0;
}

static struct probe *make_probe(const struct probe_target *target, int64_t now)
{
	struct probe *probe = memory_allocate(sizeof(*probe));

	probe->key = memory_copy_string(target->key);
	probe->path = memory_copy_string(target->settings.path ? target->settings.path : "/");
	probe->host = memory_copy_string(target->settings.host);
	probe->address = target->address;
	probe->settings = target->settings;
	probe->settings.path = probe->path;
	probe->settings.host = probe->host;
	probe->is_new = true;
	probe->next_us = now;
	probe->descriptor = -1;
	probe_health_init(&probe->health);
	write_request(probe);
	return probe;
}

/* With the lock held. */
static void remove_probe(struct prober *prober, struct probe *probe)
{
	char number[24];

	probe->removed = true;
	snprintf(number, sizeof(number), "%llu", (unsigned long long)prober->gone_count++);
	map_put(&prober->gone, span_of(number), probe);
}

int prober_set(struct prober *prober, const struct probe_target *targets, size_t count,
	struct err *err)
{
	_map_ struct map wanted = {0};
	int64_t now = runner_now_us(prober->runner);

	if (count > PROBE_TARGETS_MAX)
		return err_set(err, -E2BIG, "%zu health checks, more than %d", count,
			PROBE_TARGETS_MAX);
	for (size_t i = 0; i < count; i++) {
		int code = check_target(&targets[i], err);

		if (code < 0)
			return code;
		if (map_put(&wanted, span_of(targets[i].key), (void *)&targets[i]))
			return err_set(err, -EEXIST, "health check of '%.128s' is there twice",
				targets[i].key);
	}
	lock_take(&prober->lock);
	MAP_EACH (&prober->probes, entry) {
		struct probe *probe = entry->value;
		const struct probe_target *target = map_get(&wanted, entry->key);

		if (target && is_same(probe, target))
			continue;
		map_remove(&prober->probes, entry->key);
		remove_probe(prober, probe);
	}
	for (size_t i = 0; i < count; i++) {
		if (!map_has(&prober->probes, span_of(targets[i].key)))
			map_put(&prober->probes, span_of(targets[i].key),
				make_probe(&targets[i], now));
	}
	lock_release(&prober->lock);
	wake(prober);
	return 0;
}

bool prober_get(struct prober *prober, const char *key, struct probe_health *ret_health)
{
	const struct probe *probe;

	lock_take(&prober->lock);
	probe = map_get(&prober->probes, span_of(key));
	if (probe)
		*ret_health = probe->health;
	lock_release(&prober->lock);
	return probe != NULL;
}
