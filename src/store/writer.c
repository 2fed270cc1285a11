/*
 * The writer: takes what is queued, runs it as a group against head, makes the group durable with
 * one commit, shows it to everyone, and answers.
 *
 * Answers leave in the order in which the writes ran, after the commit, those of refused writes too:
 * what a write saw of its group shares the fate of the group. A write that was refused by its own
 * function keeps its own code when the group fails.
 *
 * The store's thread is the one thread in slipway that control/ does not make: it must keep running
 * through everything that the runner does, and a simulation has none (inline_writes).
 */
#include <assert.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>

#include "base/lock.h"
#include "base/memory.h"
#include "store/state.h"

#define QUEUE_MAX 65536                           /* writes waiting */
#define GROUP_WRITES_MAX 1024                     /* of one commit */
#define GROUP_BYTES_MAX ((size_t)8 * 1024 * 1024) /* then the rest waits for the next group */
#define GROUP_CHANGES_MAX 4096
#define RETRY_MS 250 /* until an idle writer asks a database again that did not answer */

struct write {
	struct write *next;
	store_write_function function;
	store_done_function done;
	void *context;
	int code;
	uint64_t revision;
	struct err *err; /* in the group's arena, when code is negative */
};

struct write_list {
	struct write *first;
	struct write **end;
	size_t count;
};

struct writer {
	struct store *store;
	struct arena *arena; /* of the group */
	struct store_row *rows;
	size_t row_capacity;
	bool stopped;     /* by a fault after the commit: as if the process had ended there */
	bool unreachable; /* the last look at the database failed */
	bool unsettled;   /* the end of the group's commit is not known */
	bool working;     /* inline_writes: a write is being run, others wait in the queue */

	pthread_t thread;
	bool has_thread;
	int wake_descriptor;
	struct lock lock; /* for what follows */
	struct write_list queue;
	bool sleeping;
	bool closing;
};

/* ---- lists of writes ---- */

static void list_init(struct write_list *list)
{
	*list = (struct write_list){.end = &list->first};
}

static void list_push(struct write_list *list, struct write *write)
{
	write->next = NULL;
	*list->end = write;
	list->end = &write->next;
	list->count++;
}

static struct write *list_pop(struct write_list *list)
{
	struct write *write = list->first;

	if (!write)
		return NULL;
	list->first = write->next;
	if (!list->first)
		list->end = &list->first;
	list->count--;
	return write;
}

/* ---- a group ---- */

static void write_fail(struct writer *writer, struct write *write, int code, const struct err *err)
{
	write->code = code;
	write->revision = 0;
	write->err = arena_allocate(writer->arena, sizeof(*write->err));
	*write->err = *err;
	write->err->code = code;
}

static void write_run(struct writer *writer, struct write *write)
{
	struct store *store = writer->store;
	struct store_transaction transaction = {.store = store, .arena = writer->arena};
	struct err err = {0};
	int code;

	head_begin_edit(store);
	code = write->function(&transaction, write->context, &err);
	assert(code <= 0);
	head_end_edit(store, code == 0);
	write->code = 0;
	write->revision = store->head.view->revision;
	if (code < 0)
		write_fail(writer, write, code, &err);
}

/* Runs writes until the group is full. */
static void group_run(struct writer *writer, struct write_list *queue, struct write_list *group)
{
	struct head *head = &writer->store->head;

	while (queue->first && head->bytes < GROUP_BYTES_MAX && head->count < GROUP_CHANGES_MAX) {
		struct write *write = list_pop(queue);

		write_run(writer, write);
		list_push(group, write);
	}
}

/* Clients may see this: the database's own text, which names hosts, ports and files, is for the log alone. */
static void hide_reason(const struct writer *writer, int code, struct err *err)
{
	if (writer->unsettled)
		err_set(err, code,
			"it is not known whether the write is kept; it will show if it is");
	else if (code != -ENOTSUP)
		err_set(err, code, "the database failed, and the log has the reason");
	err_prefix(err, code, "cannot be made durable");
}

/* Every write of the group that was not refused by its own function. */
static void group_fail(struct writer *writer, struct write_list *group, int code,
	const struct err *err)
{
	for (struct write *write = group->first; write; write = write->next)
		if (write->code == 0)
			write_fail(writer, write, code, err);
}

static int group_make_rows(struct writer *writer, struct err *err)
{
	struct store *store = writer->store;
	struct head *head = &store->head;

	if (writer->row_capacity < head->count) {
		writer->row_capacity = 2 * head->count;
		writer->rows =
			memory_resize(writer->rows, writer->row_capacity * sizeof(*writer->rows));
	}
	for (size_t i = 0; i < head->count; i++) {
		const struct store_change *change = &head->changes[i];
		const struct store_object *after = change->after;
		struct store_row *row = &writer->rows[i];
		int code = 0;

		*row = (struct store_row){
			.kind = span_of(change->kind->name),
			.key = after ? after->key : change->before->key,
			.revision = change->revision,
			.deleted = !after,
			.api = after ? after->api : SPAN(""),
			.private_ = after ? after->private_ : SPAN(""),
		};
		if (store->integrity)
			code = integrity_seal(store->integrity, row, row->mac, err);
		if (code < 0)
			return code;
	}
	return 0;
}

/* Commits, and settles a commit whose result is unknown. */
static int group_commit(struct writer *writer, struct err *err)
{
	struct store *store = writer->store;
	const struct store_backend_operations *operations = store->backend->operations;
	size_t count = store->head.count;
	bool durable = false;
	int code;

	code = operations->commit(store->backend, writer->rows, count, err);
	if (code != -EINPROGRESS)
		return code;
	code = operations->settle(store->backend, writer->rows[0].revision,
		writer->rows[count - 1].revision, &durable, err);
	if (code < 0) {
		writer->unsettled = true;
		return err_prefix(err, code, "not known whether a write is kept");
	}
	return durable ? 0 : err_set(err, -EIO, "the connection was cut before the write was kept");
}

static int group_make_durable(struct writer *writer, struct err *err)
{
	struct store *store = writer->store;
	const struct store_faults *faults = store->faults;
	int64_t start;
	int code = group_make_rows(writer, err);

	if (code == 0 && faults && faults->before_commit) {
		code = faults->before_commit(faults->context);
		if (code < 0)
			err_set(err, code, "fault before the commit");
	}
	if (code < 0) {
		store->backend->operations->rollback(store->backend);
		return code;
	}
	start = clock_steady_us(store->clock);
	code = group_commit(writer, err);
	lock_take(&store->statistics_lock);
	store->statistics.group_microseconds += (uint64_t)(clock_steady_us(store->clock) - start);
	store->statistics.groups++;
	lock_release(&store->statistics_lock);
	if (code == 0 && faults && faults->after_commit &&
		faults->after_commit(faults->context) < 0)
		writer->stopped = true;
	return code;
}

/* After an attempt that ended with this code. A database that is a newer slipway's and does not answer for
 * a while is still that: only one that can be written is ours again. */
static void set_available(struct writer *writer, int code, const struct err *err)
{
	struct store *store = writer->store;
	bool available = code >= 0, before, outdated;

	lock_take(&store->statistics_lock);
	before = store->statistics.available;
	store->statistics.available = available;
	outdated = code == -ENOTSUP && !store->outdated;
	if (available)
		free(TAKE(store->outdated));
	else if (outdated)
		store->outdated = memory_copy_string(err->message);
	lock_release(&store->statistics_lock);
	if (outdated)
		store_report(store, "%s: this server decides nothing more until it is replaced",
			err->message);
	else if (before && !available)
		store_report(store, "the database cannot be written: %s", err->message);
	else if (!before && available)
		store_report(store, "the database can be written again");
}

static void group_answer(struct writer *writer, struct write_list *group, size_t changes)
{
	struct store *store = writer->store;
	struct write *write;

	lock_take(&store->statistics_lock);
	for (write = group->first; write; write = write->next)
		store->statistics.transactions += write->code == 0;
	store->statistics.changes += changes;
	lock_release(&store->statistics_lock);
	while ((write = list_pop(group))) {
		if (write->done)
			write->done(write->context, write->code, write->revision, write->err);
		free(write);
	}
	arena_reset(writer->arena);
}

/* Runs one group from the head of the queue. Answers everything that it took. */
static void writer_run_group(struct writer *writer, struct write_list *queue)
{
	struct store *store = writer->store;
	struct write_list group;
	struct err err = {0};
	size_t changes = 0;
	int code;

	list_init(&group);
	writer->unsettled = false;
	code = rows_take_over(store, true, &err);
	if (code < 0) {
		struct write *write;

		while ((write = list_pop(queue))) {
			write->code = 0;
			list_push(&group, write);
		}
	} else {
		group_run(writer, queue, &group);
		changes = store->head.count;
		if (changes > 0)
			code = group_make_durable(writer, &err);
		else
			store->backend->operations->rollback(store->backend);
	}
	if (writer->stopped) {
		err_set(&err, -ECANCELED, "the store was stopped");
		head_restore(store);
		group_fail(writer, &group, -ECANCELED, &err);
		changes = 0;
	} else if (code < 0) {
		set_available(writer, code, &err);
		hide_reason(writer, code, &err);
		head_restore(store);
		group_fail(writer, &group, -EIO, &err);
		lock_take(&store->statistics_lock);
		store->statistics.failed_groups++;
		lock_release(&store->statistics_lock);
		changes = 0;
	} else {
		set_available(writer, 0, NULL);
		if (changes > 0)
			head_publish(store);
	}
	group_answer(writer, &group, changes);
}

static void writer_cancel(struct writer *writer, struct write_list *queue)
{
	struct err err;

	err_set(&err, -ECANCELED, "the store was closed");
	for (struct write *write = queue->first; write; write = write->next)
		write_fail(writer, write, -ECANCELED, &err);
	group_answer(writer, queue, 0);
}

/* ---- the thread ---- */

/* Sleeps until something is queued, others may have written, or the store closes. */
static void writer_sleep(struct writer *writer)
{
	struct store *store = writer->store;
	struct pollfd polled[2] = {{.fd = writer->wake_descriptor, .events = POLLIN}};
	int timeout_ms = -1, ready, code;
	bool others = false;
	uint64_t number;
	struct err err;

	polled[1].fd = store->backend->operations->wait_descriptor(store->backend, &timeout_ms);
	polled[1].events = POLLIN;
	if (writer->unreachable) { /* its descriptor may be readable all the time */
		polled[1].fd = -1;
		timeout_ms = RETRY_MS;
	}
	lock_take(&writer->lock);
	writer->sleeping = !writer->queue.first && !writer->closing;
	if (!writer->sleeping)
		timeout_ms = 0;
	lock_release(&writer->lock);

	ready = poll(polled, polled[1].fd >= 0 ? 2 : 1, timeout_ms);
	lock_take(&writer->lock);
	others = writer->sleeping &&
		 (ready == 0 || (ready > 0 && polled[1].fd >= 0 && polled[1].revents));
	writer->sleeping = false;
	lock_release(&writer->lock);
	if (ready > 0 && polled[0].revents &&
		read(writer->wake_descriptor, &number, sizeof(number)) < 0)
		assert(errno == EAGAIN);
	if (!others)
		return; /* a group is about to begin, which takes over what others wrote anyway */

	code = rows_take_over(store, false, &err);
	writer->unreachable = code < 0;
	set_available(writer, code, &err);
}

static bool statistics_available(struct store *store)
{
	bool available;

	lock_take(&store->statistics_lock);
	available = store->statistics.available;
	lock_release(&store->statistics_lock);
	return available;
}

/* Takes some writes off the queue. False: there are none and the store closes. */
static bool writer_take(struct writer *writer, struct write_list *ret_taken, bool *ret_closing)
{
	bool more;

	lock_take(&writer->lock);
	while (ret_taken->count < GROUP_WRITES_MAX && writer->queue.first)
		list_push(ret_taken, list_pop(&writer->queue));
	more = ret_taken->first || !writer->closing;
	*ret_closing = writer->closing;
	lock_release(&writer->lock);
	return more;
}

static void *writer_main(void *context)
{
	struct writer *writer = context;
	struct write_list taken;
	bool closing = false;

	list_init(&taken);
	while (writer_take(writer, &taken, &closing)) {
		if (!taken.first)
			writer_sleep(writer);
		else if (writer->stopped || (closing && !statistics_available(writer->store)))
			writer_cancel(writer, &taken);
		else
			writer_run_group(writer, &taken);
	}
	return NULL;
}

struct writer *writer_new(struct store *store)
{
	struct writer *writer = memory_allocate(sizeof(*writer));

	writer->store = store;
	writer->arena = arena_new(0);
	writer->wake_descriptor = -1;
	list_init(&writer->queue);
	lock_init(&writer->lock);
	return writer;
}

int writer_start(struct writer *writer, struct err *err)
{
	sigset_t all, before;
	int number;

	writer->wake_descriptor = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (writer->wake_descriptor < 0)
		return err_errno(err, "make an event descriptor");
	/* Signals are for the threads that wait for them. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	number = pthread_create(&writer->thread, NULL, writer_main, writer);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (number)
		return err_system(err, number, "start the store's writer");
	pthread_setname_np(writer->thread, "store-writer");
	writer->has_thread = true;
	return 0;
}

static void writer_wake(struct writer *writer)
{
	uint64_t one = 1;

	if (write(writer->wake_descriptor, &one, sizeof(one)) < 0)
		assert(errno == EAGAIN); /* full: it is awake */
}

void writer_stop(struct writer *writer)
{
	lock_take(&writer->lock);
	writer->closing = true;
	lock_release(&writer->lock);
	if (!writer->has_thread)
		return;
	writer_wake(writer);
	pthread_join(writer->thread, NULL);
	writer->has_thread = false;
}

void writer_free(struct writer *writer)
{
	if (!writer)
		return;
	assert(!writer->queue.first);
	memory_close_descriptor(&writer->wake_descriptor);
	lock_destroy(&writer->lock);
	arena_free(writer->arena);
	free(writer->rows);
	free(writer);
}

size_t writer_queue_length(struct writer *writer)
{
	size_t length;

	lock_take(&writer->lock);
	length = writer->queue.count;
	lock_release(&writer->lock);
	return length;
}

/* ---- asking for writes ---- */

/* A write asked for by a write or by its done waits until that one is through. */
static void writer_run_inline(struct writer *writer)
{
	struct write_list taken;

	if (writer->working)
		return;
	writer->working = true;
	list_init(&taken);
	while (writer->queue.first || taken.first) {
		if (!taken.first)
			list_push(&taken, list_pop(&writer->queue));
		if (writer->stopped)
			writer_cancel(writer, &taken);
		else
			writer_run_group(writer, &taken);
	}
	writer->working = false;
}

int store_write(struct store *store, store_write_function function, store_done_function done,
	void *context, struct err *err)
{
	struct writer *writer = store->writer;
	struct write *write = memory_allocate(sizeof(*write));
	bool wake = false;
	int code = 0;

	*write = (struct write){.function = function, .done = done, .context = context};
	lock_take(&writer->lock);
	if (writer->closing)
		code = err_set(err, -ECANCELED, "the store is closing");
	else if (writer->queue.count >= QUEUE_MAX)
		code = err_set(err, -EAGAIN, "too many writes are waiting (%d)", QUEUE_MAX);
	else
		list_push(&writer->queue, write);
	if (code == 0 && writer->sleeping) {
		writer->sleeping = false;
		wake = true;
	}
	lock_release(&writer->lock);
	if (code < 0) {
		free(write);
		return code;
	}
	if (wake)
		writer_wake(writer);
	if (store->inline_writes)
		writer_run_inline(writer);
	return 0;
}

struct write_waiter {
	struct lock lock;
	pthread_cond_t changed;
	store_write_function function;
	void *context;
	bool done;
	int code;
	uint64_t revision;
	struct err *err;
};

static int waiter_run(struct store_transaction *transaction, void *context, struct err *err)
{
	struct write_waiter *waiter = context;

	return waiter->function(transaction, waiter->context, err);
}

static void waiter_done(void *context, int code, uint64_t revision, const struct err *err)
{
	struct write_waiter *waiter = context;

	lock_take(&waiter->lock);
	waiter->done = true;
	waiter->code = code;
	waiter->revision = revision;
	if (code < 0 && waiter->err)
		*waiter->err = *err;
	pthread_cond_signal(&waiter->changed);
	lock_release(&waiter->lock);
}

int store_write_wait(struct store *store, store_write_function function, void *context,
	uint64_t *ret_revision, struct err *err)
{
	struct write_waiter waiter = {
		.lock = LOCK_INITIALIZER,
		.changed = PTHREAD_COND_INITIALIZER,
		.function = function,
		.context = context,
		.err = err,
	};
	int code;

	assert(!store->writer->has_thread || !pthread_equal(pthread_self(), store->writer->thread));
	assert(!store->inline_writes || !store->writer->working);
	code = store_write(store, waiter_run, waiter_done, &waiter, err);
	if (code < 0)
		return code;
	lock_take(&waiter.lock);
	while (!waiter.done)
		lock_wait(&waiter.lock, &waiter.changed);
	lock_release(&waiter.lock);
	pthread_cond_destroy(&waiter.changed);
	lock_destroy(&waiter.lock);
	if (waiter.code < 0)
		return waiter.code;
	if (ret_revision)
		*ret_revision = waiter.revision;
	return 0;
}
