/* The store's writer runs the function and calls done on its own thread; we wait for the event that done
 * signals. That wait is not ended by a stop, because the writer uses our stack until done was called; it
 * is a commit long. */
#include "control/write.h"

struct pending {
	struct runner_event *event;
	int code;
	uint64_t revision;
	struct err err;
};

struct guarded {
	store_write_function function;
	void *context;
	struct pending *pending;
};

static int run_function(struct store_transaction *transaction, void *context, struct err *err)
{
	struct guarded *guarded = context;

	return guarded->function(transaction, guarded->context, err);
}

/* Only the event says that the writer is done: after the signal it uses no memory of ours. */
static void note_done(void *context, int code, uint64_t revision, const struct err *err)
{
	struct pending *pending = ((struct guarded *)context)->pending;

	pending->code = code;
	pending->revision = revision;
	if (code < 0 && err)
		pending->err = *err;
	runner_signal(pending->event);
}

int control_write(struct runner *runner, struct store *store, store_write_function function,
	void *context, uint64_t *ret_revision, struct err *err)
{
	struct pending pending = {0};
	struct guarded guarded = {function, context, &pending};
	int code = runner_yield(runner);

	if (code < 0)
		return err_set(err, code, "stopped before the write");
	pending.event = runner_event_new(runner, "a write");
	code = store_write(store, run_function, note_done, &guarded, err);
	if (code < 0) {
		runner_event_free(pending.event);
		return code;
	}
	while (runner_event_count(pending.event) == 0)
		runner_wait_certain(runner, pending.event, 0);
	runner_event_free(pending.event);
	/* In simulation a crash may hit here: the write is durable and its writer never learns it. */
	code = runner_yield(runner);
	if (code < 0)
		return err_set(err, code, "stopped during the write");
	if (pending.code < 0) {
		if (err)
			*err = pending.err;
		return pending.code;
	}
	if (ret_revision)
		*ret_revision = pending.revision;
	return 0;
}
