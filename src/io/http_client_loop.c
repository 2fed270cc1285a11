#include "io/http_client_loop.h"

#include <limits.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"

#define EVENTS_AT_ONCE 64
#define NEVER INT64_MAX

static int64_t now_us(void)
{
	return clock_steady_us(clock_system());
}

/* ---- callbacks of libcurl ---- */

/* known: what was assigned to the socket, nothing when it is new. */
static int watch_socket(CURL *easy, curl_socket_t socket, int what, void *context, void *known)
{
	struct http_client_loop *loop = context;
	struct epoll_event event = {.data.fd = socket};

	(void)easy;
	if (what == CURL_POLL_REMOVE) {
		epoll_ctl(loop->epoll, EPOLL_CTL_DEL, socket, NULL);
		return 0;
	}
	if (what & CURL_POLL_IN)
		event.events |= EPOLLIN;
	if (what & CURL_POLL_OUT)
		event.events |= EPOLLOUT;
	/* The kernel forgets a socket that is closed by itself, and its number comes again. */
	if (epoll_ctl(loop->epoll, known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, socket, &event) < 0 &&
		epoll_ctl(loop->epoll, known ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, socket, &event) < 0)
		return -1;
	if (!known)
		curl_multi_assign(loop->multi, socket, loop);
	return 0;
}

static int set_timer(CURLM *multi, long milliseconds, void *context)
{
	struct http_client_loop *loop = context;

	(void)multi;
	loop->due_us = milliseconds < 0 ? NEVER : now_us() + milliseconds * INT64_C(1000);
	return 0;
}

/* ---- life ---- */

int http_client_loop_init(struct http_client_loop *loop, CURLM *multi, struct err *err)
{
	struct epoll_event event = {.events = EPOLLIN | EPOLLET};

	*loop = (struct http_client_loop){.multi = multi, .due_us = NEVER};
	loop->epoll = epoll_create1(EPOLL_CLOEXEC);
	loop->waker = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	event.data.fd = loop->waker;
	if (loop->epoll < 0 || loop->waker < 0 ||
		epoll_ctl(loop->epoll, EPOLL_CTL_ADD, loop->waker, &event) < 0) {
		int code = err_system(err, errno, "wait for connections");

		http_client_loop_destroy(loop);
		return code;
	}
	curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, watch_socket);
	curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, loop);
	curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, set_timer);
	curl_multi_setopt(multi, CURLMOPT_TIMERDATA, loop);
	return 0;
}

void http_client_loop_destroy(struct http_client_loop *loop)
{
	if (!loop->multi)
		return;
	if (loop->epoll >= 0)
		close(loop->epoll);
	if (loop->waker >= 0)
		close(loop->waker);
	*loop = (struct http_client_loop){0};
}

/* ---- turns ---- */

void http_client_loop_wake(struct http_client_loop *loop)
{
	static const uint64_t one = 1;

	if (atomic_exchange(&loop->woken, true))
		return;
	/* Fails only when it has counted to its end, and then it has woken. */
	while (write(loop->waker, &one, sizeof(one)) < 0 && errno == EINTR)
		;
}

static int timeout_ms(const struct http_client_loop *loop)
{
	int64_t left_us;

	if (loop->due_us == NEVER)
		return -1;
	left_us = loop->due_us - now_us();
	if (left_us <= 0)
		return 0;
	return left_us > INT_MAX ? INT_MAX / 1000 : (int)((left_us + 999) / 1000);
}

static void note(struct http_client_loop *loop, const struct epoll_event *event)
{
	int running, what = 0;

	/* A later request wakes the loop again; this turn handles the earlier ones. The waker's
	 * number is never read: epoll reports it once for each change. */
	if (event->data.fd == loop->waker) {
		atomic_exchange(&loop->woken, false);
		return;
	}
	if (event->events & EPOLLIN)
		what |= CURL_CSELECT_IN;
	if (event->events & EPOLLOUT)
		what |= CURL_CSELECT_OUT;
	if (event->events & (EPOLLERR | EPOLLHUP))
		what |= CURL_CSELECT_ERR;
	curl_multi_socket_action(loop->multi, event->data.fd, what, &running);
}

void http_client_loop_turn(struct http_client_loop *loop)
{
	struct epoll_event events[EVENTS_AT_ONCE];
	int timeout = timeout_ms(loop), running, count;

	if (timeout == 0) {
		loop->due_us = NEVER;
		curl_multi_socket_action(loop->multi, CURL_SOCKET_TIMEOUT, 0, &running);
		return;
	}
	count = epoll_wait(loop->epoll, events, EVENTS_AT_ONCE, timeout);
	for (int i = 0; i < count; i++)
		note(loop, &events[i]);
}
