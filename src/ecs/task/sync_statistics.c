/* Counters of synchronization; see the header. */
#include "ecs/task/sync_statistics.h"

#include <errno.h>
#include <stddef.h>

#include "base/memory.h"

const char *const sync_resource_names[SYNC_RESOURCE_COUNT] = {
#define X(name, text) [SYNC_##name] = text,
	SYNC_RESOURCES(X)
#undef X
};

const char *const sync_error_names[SYNC_ERROR_COUNT] = {
#define X(name, text) [SYNC_ERROR_##name] = text,
	SYNC_ERRORS(X)
#undef X
};

const int64_t sync_bucket_us[SYNC_BUCKETS] = {
	500, 1000, 2500, 5000, 10000, 25000, 50000, 100000, 250000, 500000, 1000000, 5000000};

static enum sync_error error_of(int code)
{
	static const struct {
		int code;
		enum sync_error error;
	} errors[] = {
		{-ECONNREFUSED, SYNC_ERROR_UNAVAILABLE},
		{-ECONNRESET, SYNC_ERROR_UNAVAILABLE},
		{-EHOSTUNREACH, SYNC_ERROR_UNAVAILABLE},
		{-EIO, SYNC_ERROR_UNAVAILABLE},
		{-ENOTCONN, SYNC_ERROR_UNAVAILABLE},
		{-ETIMEDOUT, SYNC_ERROR_TIMEOUT},
		{-EACCES, SYNC_ERROR_DENIED},
		{-EEXIST, SYNC_ERROR_CONFLICT},
		{-ESTALE, SYNC_ERROR_CONFLICT},
		{-EAGAIN, SYNC_ERROR_CONFLICT},
		{-EBUSY, SYNC_ERROR_THROTTLED},
		{-EINVAL, SYNC_ERROR_INVALID},
	};

	for (size_t i = 0; i < LENGTH(errors); i++)
		if (errors[i].code == code)
			return errors[i].error;
	return SYNC_ERROR_OTHER;
}

void sync_statistics_note(struct sync_statistics *statistics, enum sync_resource resource,
	int64_t duration_us, int code)
{
	size_t bucket = 0;

	if (!statistics)
		return;
	while (bucket < SYNC_BUCKETS && duration_us > sync_bucket_us[bucket])
		bucket++;
	atomic_fetch_add(&statistics->resources[resource].buckets[bucket], 1);
	atomic_fetch_add(&statistics->resources[resource].sum_us, (uint64_t)duration_us);
	if (code < 0 && code != -ECANCELED)
		sync_statistics_note_error(statistics, resource, error_of(code));
}

void sync_statistics_note_error(struct sync_statistics *statistics, enum sync_resource resource,
	enum sync_error error)
{
	if (statistics)
		atomic_fetch_add(&statistics->resources[resource].errors[error], 1);
}
