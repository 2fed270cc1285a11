/*
 * One thread runs libcurl's multi handle and is the only one to touch it. A caller puts its transfer,
 * which lives on its stack, into a queue, wakes the loop, and waits until the transfer is finished: the
 * loop finishes every transfer exactly once and never touches it again. Whatever a caller wants of a
 * running transfer (stop it, let it go on) is a flag that the loop looks at when it is woken.
 *
 * Two kinds of locks, never held together: the client's for the queue, a transfer's for its data.
 */
#include "io/http_client.h"

#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>

#include "base/buffer.h"
#include "base/lock.h"
#include "base/memory.h"
#include "io/http_client_easy.h"
#include "io/http_client_loop.h"

#define KEPT_HANDLES_MAX 64

struct transfer {
	struct http_client *client;
	const struct http_client_request *request;
	CURL *easy;
	struct http_client_easy_lists lists;
	size_t body_max;
	bool streaming;
	char problem[CURL_ERROR_SIZE];

	/* In the queue, then among the active ones. */
	struct transfer *next;
	struct transfer *previous;

	struct lock lock; /* for all below */
	pthread_cond_t changed;
	struct buffer head;
	struct buffer body;  /* of a stream: what the reader has not taken yet */
	bool head_complete;  /* and does not change any more */
	bool head_requested; /* to the stream's reader */
	bool paused;
	bool resume;
	bool too_large;
	int stop; /* negative: the caller wants it finished with this code */
	bool finished;
	int code; /* when finished: 0 or negative */
	long status;
};

struct http_client {
	CURLM *multi;
	struct http_client_loop loop; /* its turns are the thread's */
	pthread_t thread;
	struct transfer *active; /* the loop's */

	struct lock lock; /* for all below */
	pthread_cond_t idle;
	struct transfer *queue;
	bool attention; /* a flag of some active transfer was set */
	bool stopping;
	size_t callers;
	CURL *handles[KEPT_HANDLES_MAX]; /* ready to be used again */
	size_t handle_count;
};

/* ---- lists ---- */

static void list_add(struct transfer **list, struct transfer *transfer)
{
	transfer->previous = NULL;
	transfer->next = *list;
	if (*list)
		(*list)->previous = transfer;
	*list = transfer;
}

static void list_remove(struct transfer **list, struct transfer *transfer)
{
	if (transfer->previous)
		transfer->previous->next = transfer->next;
	else
		*list = transfer->next;
	if (transfer->next)
		transfer->next->previous = transfer->previous;
}

/* ---- callbacks of libcurl, on the loop's thread ---- */

/* "HTTP/1.1 200 OK" */
static long read_status(struct span line)
{
	struct span protocol, rest;
	uint64_t status = 0;

	if (span_split(line, ' ', &protocol, &rest) && rest.length >= 3)
		span_to_unsigned((struct span){rest.data, 3}, 999, &status);
	return (long)status;
}

/* Wakes a stream's reader; a caller of a whole answer is woken when it is finished. */
static void report_reader(struct transfer *transfer)
{
	if (transfer->streaming)
		pthread_cond_signal(&transfer->changed);
}

/* Called for each line. An interim answer (100 Continue) is forgotten when another one begins; what
 * comes behind the body (trailers) is not looked at. */
static void take_header_line(struct transfer *transfer, struct span line)
{
	if (transfer->head_complete)
		return;
	if (span_starts_with(line, SPAN("HTTP/"))) {
		buffer_reset(&transfer->head);
		transfer->status = read_status(line);
	}
	buffer_add_span(&transfer->head, line);
	transfer->too_large |= buffer_failed(&transfer->head);
	if (span_equal(line, SPAN("\r\n")) || span_equal(line, SPAN("\n"))) {
		transfer->head_complete = transfer->status >= 200;
		report_reader(transfer);
	}
}

static size_t receive_header(char *data, size_t size, size_t count, void *context)
{
	struct transfer *transfer = context;
	size_t length = size * count;

	lock_take(&transfer->lock);
	take_header_line(transfer, (struct span){data, length});
	if (transfer->too_large)
		length = 0;
	lock_release(&transfer->lock);
	return length;
}

static size_t receive_body(char *data, size_t size, size_t count, void *context)
{
	struct transfer *transfer = context;
	size_t length = size * count;

	lock_take(&transfer->lock);
	if (transfer->streaming && transfer->body.length > HTTP_CLIENT_STREAM_BEHIND_MAX) {
		transfer->paused = true;
		length = CURL_WRITEFUNC_PAUSE;
	} else if (!transfer->streaming && length > transfer->body_max - transfer->body.length) {
		transfer->too_large = true;
		length = 0;
	} else {
		buffer_add(&transfer->body, data, length);
	}
	report_reader(transfer);
	lock_release(&transfer->lock);
	return length;
}

/* ---- the loop ---- */

/* The transfer is gone for the loop: its caller may return as soon as the lock is free. */
static void finish(struct transfer *transfer, int code)
{
	lock_take(&transfer->lock);
	transfer->code = transfer->too_large ? -EFBIG : code;
	transfer->finished = true;
	pthread_cond_signal(&transfer->changed);
	lock_release(&transfer->lock);
}

static void finish_active(struct http_client *client, struct transfer *transfer, int code)
{
	curl_multi_remove_handle(client->multi, transfer->easy);
	list_remove(&client->active, transfer);
	finish(transfer, code);
}

static void start(struct http_client *client, struct transfer *transfer)
{
	CURLMcode result = curl_multi_add_handle(client->multi, transfer->easy);

	if (result != CURLM_OK) {
		snprintf(transfer->problem, sizeof(transfer->problem), "%s",
			curl_multi_strerror(result));
		finish(transfer, -EIO);
		return;
	}
	list_add(&client->active, transfer);
}

/* Does what the callers of active transfers want, if anything. */
static void inspect(struct http_client *client, struct transfer *transfer, bool stopping)
{
	const struct http_client_cancel *cancel = transfer->request->cancel;
	bool resume;
	int stop;

	lock_take(&transfer->lock);
	stop = transfer->stop;
	resume = transfer->resume;
	transfer->resume = false;
	if (resume)
		transfer->paused = false;
	lock_release(&transfer->lock);
	if (stopping || (cancel && atomic_load(&cancel->requested)))
		stop = -ECANCELED;
	if (stop < 0)
		finish_active(client, transfer, stop);
	else if (resume)
		curl_easy_pause(transfer->easy, CURLPAUSE_CONT); /* may call receive_body */
}

/* False when the client is being freed and nothing is left to do. */
static bool take_desired(struct http_client *client)
{
	struct transfer *queue, *next;
	bool attention, stopping;

	lock_take(&client->lock);
	queue = client->queue;
	client->queue = NULL;
	attention = client->attention;
	client->attention = false;
	stopping = client->stopping;
	lock_release(&client->lock);

	for (struct transfer *transfer = queue; transfer; transfer = next) {
		next = transfer->next;
		start(client, transfer);
	}
	/* A new transfer may have been cancelled while it was in the queue. */
	if (attention || stopping) {
		for (struct transfer *transfer = client->active; transfer; transfer = next) {
			next = transfer->next;
			inspect(client, transfer, stopping);
		}
	}
	return !stopping;
}

static void finish_done(struct http_client *client)
{
	CURLMsg *message;
	int left;

	while ((message = curl_multi_info_read(client->multi, &left))) {
		CURLcode result = message->data.result;
		struct transfer *transfer;

		if (message->msg != CURLMSG_DONE)
			continue;
		curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&transfer);
		if (result != CURLE_OK && !transfer->problem[0])
			snprintf(transfer->problem, sizeof(transfer->problem), "%s",
				curl_easy_strerror(result));
		finish_active(client, transfer,
			result == CURLE_OK ? 0 : http_client_easy_code(result));
	}
}

static void *run_loop(void *context)
{
	struct http_client *client = context;

	while (take_desired(client)) {
		http_client_loop_turn(&client->loop);
		finish_done(client);
	}
	return NULL;
}

/* ---- a client's life ---- */

/* The loop's thread takes no signals: writing to a closed connection must not end the process. */
static int start_thread(struct http_client *client)
{
	sigset_t all, before;
	int code;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	code = pthread_create(&client->thread, NULL, run_loop, client);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return code;
}

static void destroy(struct http_client *client)
{
	for (size_t i = 0; i < client->handle_count; i++)
		curl_easy_cleanup(client->handles[i]);
	curl_multi_cleanup(client->multi);
	http_client_loop_destroy(&client->loop);
	lock_destroy(&client->lock);
	pthread_cond_destroy(&client->idle);
	free(client);
}

int http_client_new(struct http_client **ret_client, struct err *err)
{
	struct http_client *client;
	int code = libcurl_load(err);

	if (code < 0)
		return code;
	client = memory_allocate(sizeof(*client));
	lock_init(&client->lock);
	pthread_cond_init(&client->idle, NULL);
	client->multi = curl_multi_init();
	if (!client->multi) {
		destroy(client);
		return err_set(err, -ENOMEM, "start the HTTP client");
	}
	code = http_client_loop_init(&client->loop, client->multi, err);
	if (code < 0) {
		destroy(client);
		return code;
	}
	curl_multi_setopt(client->multi, CURLMOPT_PIPELINING, (long)CURLPIPE_NOTHING);
	curl_multi_setopt(client->multi, CURLMOPT_MAXCONNECTS, (long)HTTP_CLIENT_KEPT_MAX);
	curl_multi_setopt(client->multi, CURLMOPT_MAX_TOTAL_CONNECTIONS,
		(long)HTTP_CLIENT_CONNECTIONS_MAX);
	code = start_thread(client);
	if (code != 0) {
		destroy(client);
		return err_system(err, code, "start the HTTP client");
	}
	*ret_client = client;
	return 0;
}

void http_client_free(struct http_client *client)
{
	if (!client)
		return;
	lock_take(&client->lock);
	client->stopping = true;
	lock_release(&client->lock);
	http_client_loop_wake(&client->loop);
	pthread_join(client->thread, NULL);
	lock_take(&client->lock);
	while (client->callers > 0)
		lock_wait(&client->lock, &client->idle);
	lock_release(&client->lock);
	destroy(client);
}

void http_client_free_pointer(struct http_client **client)
{
	http_client_free(*client);
	*client = NULL;
}

static void call_attention(struct http_client *client)
{
	lock_take(&client->lock);
	client->attention = true;
	lock_release(&client->lock);
	http_client_loop_wake(&client->loop);
}

void http_client_cancel(struct http_client *client, struct http_client_cancel *cancel)
{
	atomic_store(&cancel->requested, true);
	call_attention(client);
}

/* ---- a call, on the caller's thread ---- */

static CURL *take_handle(struct http_client *client)
{
	CURL *easy = NULL;

	lock_take(&client->lock);
	client->callers++;
	if (client->handle_count > 0)
		easy = client->handles[--client->handle_count];
	lock_release(&client->lock);
	if (!easy)
		easy = curl_easy_init();
	if (!easy)
		abort(); /* no memory */
	return easy;
}

static void return_handle(struct http_client *client, CURL *easy)
{
	curl_easy_reset(easy);
	lock_take(&client->lock);
	if (client->handle_count < KEPT_HANDLES_MAX) {
		client->handles[client->handle_count++] = easy;
		easy = NULL;
	}
	client->callers--;
	if (client->callers == 0)
		pthread_cond_signal(&client->idle);
	lock_release(&client->lock);
	if (easy)
		curl_easy_cleanup(easy);
}

static void transfer_init(struct transfer *transfer, struct http_client *client,
	const struct http_client_request *request, bool streaming)
{
	pthread_condattr_t attributes;

	*transfer = (struct transfer){
		.client = client,
		.request = request,
		.streaming = streaming,
		.body_max =
			request->response_max ? request->response_max : HTTP_CLIENT_RESPONSE_MAX,
		.head = BUFFER_WITH_CAP(HTTP_CLIENT_HEAD_MAX),
	};
	lock_init(&transfer->lock);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&transfer->changed, &attributes);
	pthread_condattr_destroy(&attributes);
	transfer->easy = take_handle(client);
}

static void transfer_clear(struct transfer *transfer)
{
	return_handle(transfer->client, transfer->easy);
	http_client_easy_lists_clear(&transfer->lists);
	pthread_cond_destroy(&transfer->changed);
	lock_destroy(&transfer->lock);
	buffer_clear(&transfer->head);
	buffer_clear(&transfer->body);
}

static int transfer_start(struct transfer *transfer, struct err *err)
{
	struct http_client *client = transfer->client;
	const struct http_client_cancel *cancel = transfer->request->cancel;
	CURL *easy = transfer->easy;
	bool stopping;
	int code;

	code = http_client_easy_set(easy, transfer->request, transfer->streaming, &transfer->lists,
		err);
	if (code < 0)
		return code;
	curl_easy_setopt(easy, CURLOPT_PRIVATE, transfer);
	curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, transfer->problem);
	curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, receive_header);
	curl_easy_setopt(easy, CURLOPT_HEADERDATA, transfer);
	curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, receive_body);
	curl_easy_setopt(easy, CURLOPT_WRITEDATA, transfer);
	lock_take(&client->lock);
	/* A cancellation that comes after this one finds the transfer in the queue. */
	stopping = client->stopping || (cancel && atomic_load(&cancel->requested));
	if (!stopping)
		list_add(&client->queue, transfer);
	lock_release(&client->lock);
	if (stopping)
		return http_client_easy_fail(transfer->request, -ECANCELED, "cancelled", err);
	http_client_loop_wake(&client->loop);
	return 0;
}

static int transfer_fail(struct transfer *transfer, struct err *err)
{
	const char *reason = transfer->problem;

	if (transfer->code == -ECANCELED)
		reason = "cancelled";
	else if (transfer->code == -EFBIG)
		reason = "the answer is longer than allowed";
	else if (transfer->stop == -ETIMEDOUT)
		reason = "nothing came for too long";
	return http_client_easy_fail(transfer->request, transfer->code, reason, err);
}

static int read_whole(struct transfer *transfer, struct arena *arena,
	struct http_client_response **ret_response)
{
	struct http_client_response *response;
	char *body;
	int code;

	code = http_client_easy_read_head(buffer_span(&transfer->head), arena, &response);
	if (code < 0)
		return code;
	body = arena_allocate_capped(arena, transfer->body.length + 1);
	if (!body)
		return -E2BIG;
	if (transfer->body.length > 0)
		memcpy(body, transfer->body.data, transfer->body.length);
	response->status = (int)transfer->status;
	response->body = (struct span){body, transfer->body.length};
	*ret_response = response;
	return 0;
}

int http_client_request(struct http_client *client, const struct http_client_request *request,
	struct arena *arena, struct http_client_response **ret_response, struct err *err)
{
	CLEANUP(transfer_clear) struct transfer transfer;
	int code;

	transfer_init(&transfer, client, request, false);
	code = transfer_start(&transfer, err);
	if (code < 0)
		return code;
	lock_take(&transfer.lock);
	while (!transfer.finished)
		lock_wait(&transfer.lock, &transfer.changed);
	lock_release(&transfer.lock);
	if (transfer.code < 0)
		return transfer_fail(&transfer, err);
	code = read_whole(&transfer, arena, ret_response);
	if (code < 0)
		return http_client_easy_fail(request, code,
			"the answer needs more memory than it may have", err);
	return 0;
}

/* ---- streams ---- */

/* With the transfer's lock held, which is given up for a moment. */
static void ask_for_attention(struct transfer *transfer)
{
	lock_release(&transfer->lock);
	call_attention(transfer->client);
	lock_take(&transfer->lock);
}

static void ask_to_stop(struct transfer *transfer, int code)
{
	if (transfer->finished)
		return;
	if (transfer->stop == 0)
		transfer->stop = code;
	ask_for_attention(transfer);
}

static struct timespec deadline_in(int64_t milliseconds)
{
	struct timespec deadline;

	/* The kernel's own clock: it is the one that conditions wait by. */
	clock_gettime(CLOCK_MONOTONIC, &deadline);
	deadline.tv_sec += milliseconds / 1000;
	deadline.tv_nsec += milliseconds % 1000 * 1000000;
	if (deadline.tv_nsec >= 1000000000) {
		deadline.tv_sec++;
		deadline.tv_nsec -= 1000000000;
	}
	return deadline;
}

static bool has_changes(const struct transfer *transfer)
{
	return transfer->finished || transfer->body.length > 0 ||
	       (transfer->head_complete && !transfer->head_requested);
}

/* Waits until there is something to read or the transfer is finished; if that takes longer than the
 * idle timeout, asks for it to be finished. */
static void wait_for_changes(struct transfer *transfer)
{
	int64_t idle = transfer->request->idle_timeout_ms;
	struct timespec deadline;

	if (idle == 0)
		idle = HTTP_CLIENT_IDLE_TIMEOUT_MS;
	deadline = deadline_in(idle > 0 ? idle : 0);
	while (!has_changes(transfer)) {
		if (idle < 0 || transfer->stop < 0)
			lock_wait(&transfer->lock, &transfer->changed);
		else if (!lock_wait_until(&transfer->lock, &transfer->changed, &deadline) &&
			 !has_changes(transfer))
			ask_to_stop(transfer, -ETIMEDOUT);
	}
}

static int give_head(struct transfer *transfer, const struct http_client_reader *reader)
{
	_arena_ struct arena *arena = arena_new(0);
	struct http_client_response *response;
	int code;

	if (!reader->head)
		return 0;
	code = http_client_easy_read_head(buffer_span(&transfer->head), arena, &response);
	if (code < 0)
		return code;
	response->status = (int)transfer->status;
	return reader->head(reader->context, response);
}

/* Takes what came and lets the server send more. With the transfer's lock held. */
static void take_chunk(struct transfer *transfer, struct buffer *chunk)
{
	struct buffer empty = *chunk;
	bool resume = transfer->paused && !transfer->resume;

	*chunk = transfer->body;
	transfer->body = empty;
	if (!resume)
		return;
	transfer->resume = true;
	ask_for_attention(transfer);
}

/* Gives the reader the head, once, and what came of the body. */
static int give_changes(struct transfer *transfer, const struct http_client_reader *reader,
	bool head_requested, struct span chunk)
{
	int code = 0;

	if (!head_requested)
		code = give_head(transfer, reader);
	if (code == 0 && chunk.length > 0)
		code = reader->chunk(reader->context, chunk);
	return code;
}

/* Until all that came is read and the transfer is finished, or the reader wants no more. The lock is
 * not held while the reader reads. */
static int read_stream(struct transfer *transfer, const struct http_client_reader *reader)
{
	_buffer_ struct buffer chunk = {0};
	int code = 0;

	lock_take(&transfer->lock);
	while (code == 0) {
		bool head_requested = transfer->head_requested;

		wait_for_changes(transfer);
		if (transfer->body.length == 0 && (head_requested || !transfer->head_complete))
			break; /* nothing is left but that it has ended */
		transfer->head_requested = true;
		buffer_reset(&chunk);
		take_chunk(transfer, &chunk);
		lock_release(&transfer->lock);
		code = give_changes(transfer, reader, head_requested, buffer_span(&chunk));
		lock_take(&transfer->lock);
	}
	ask_to_stop(transfer, -ECANCELED);
	while (!transfer->finished)
		lock_wait(&transfer->lock, &transfer->changed);
	lock_release(&transfer->lock);
	return code;
}

int http_client_stream(struct http_client *client, const struct http_client_request *request,
	const struct http_client_reader *reader, struct err *err)
{
	CLEANUP(transfer_clear) struct transfer transfer;
	int code;

	transfer_init(&transfer, client, request, true);
	code = transfer_start(&transfer, err);
	if (code < 0)
		return code;
	code = read_stream(&transfer, reader);
	if (code < 0)
		return http_client_easy_fail(request, code, "the reader wants no more", err);
	if (code > 0)
		return code;
	return transfer.code < 0 ? transfer_fail(&transfer, err) : 0;
}
