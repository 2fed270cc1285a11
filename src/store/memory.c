/* The backend of "memory:": nothing is kept but the sequence of revisions, because the store itself
 * has everything in memory already. Every commit succeeds and is gone with the process. */
#include "base/memory.h"
#include "store/backend.h"

struct memory_backend {
	struct store_backend backend;
	uint64_t revision;
};

static struct memory_backend *memory_of(struct store_backend *backend)
{
	return CONTAINER_OF(backend, struct memory_backend, backend);
}

static int memory_load(struct store_backend *backend, store_row_function row, void *context,
	uint64_t *ret_revision, struct err *err)
{
	(void)row, (void)context, (void)err;
	*ret_revision = memory_of(backend)->revision;
	return 0;
}

static int memory_commit(struct store_backend *backend, const struct store_row *rows, size_t count,
	struct err *err)
{
	(void)err;
	if (count > 0)
		memory_of(backend)->revision = rows[count - 1].revision;
	return 0;
}

static void memory_rollback(struct store_backend *backend)
{
	(void)backend;
}

static int memory_settle(struct store_backend *backend, uint64_t first, uint64_t last,
	bool *ret_durable, struct err *err)
{
	(void)backend, (void)first, (void)last, (void)ret_durable;
	return err_set(err, -ENOTSUP, "memory has nothing to settle");
}

static int memory_wait_descriptor(struct store_backend *backend, int *ret_timeout_ms)
{
	(void)backend;
	*ret_timeout_ms = -1;
	return -1;
}

static void memory_close(struct store_backend *backend)
{
	free(memory_of(backend));
}

static const struct store_backend_operations memory_operations = {
	.load = memory_load,
	.begin = memory_load,
	.commit = memory_commit,
	.rollback = memory_rollback,
	.settle = memory_settle,
	.wait_descriptor = memory_wait_descriptor,
	.close = memory_close,
};

int store_memory_open(struct store_backend **ret_backend, struct err *err)
{
	struct memory_backend *memory = memory_allocate(sizeof(*memory));

	(void)err;
	memory->backend.operations = &memory_operations;
	*ret_backend = &memory->backend;
	return 0;
}
