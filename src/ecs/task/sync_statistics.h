/*
 * Statistics of synchronization with a runtime: duration and errors, per resource. Counters only,
 * for metrics; any thread may update them.
 */
#ifndef ECS_SYNC_STATISTICS_H
#define ECS_SYNC_STATISTICS_H

#include <stdatomic.h>
#include <stdint.h>

#define SYNC_RESOURCES(X) X(TASK, "task") X(SERVICE, "service") X(INSTANCE, "instance")
enum sync_resource {
#define X(name, text) SYNC_##name,
	SYNC_RESOURCES(X)
#undef X
		SYNC_RESOURCE_COUNT
};

/* Classes of error codes for metrics. */
#define SYNC_ERRORS(X)                                                                             \
	X(STORE, "store")             /* could not be stored */                                    \
	X(UNAVAILABLE, "unavailable") /* the runtime does not answer */                            \
	X(TIMEOUT, "timeout")                                                                      \
	X(DENIED, "denied")                                                                        \
	X(CONFLICT, "conflict") /* another client changed it */                                    \
	X(THROTTLED, "throttled")                                                                  \
	X(INVALID, "invalid")                                                                      \
	X(OTHER, "other")
enum sync_error {
#define X(name, text) SYNC_ERROR_##name,
	SYNC_ERRORS(X)
#undef X
		SYNC_ERROR_COUNT
};

extern const char *const sync_resource_names[SYNC_RESOURCE_COUNT];
extern const char *const sync_error_names[SYNC_ERROR_COUNT];

/* Upper bounds of the histogram's buckets, in microseconds; the last bucket has none. */
#define SYNC_BUCKETS 12
extern const int64_t sync_bucket_us[SYNC_BUCKETS];

struct sync_statistics {
	struct {
		_Atomic uint64_t buckets[SYNC_BUCKETS + 1];
		_Atomic uint64_t sum_us;
		_Atomic uint64_t errors[SYNC_ERROR_COUNT];
	} resources[SYNC_RESOURCE_COUNT];
};

/* One pass: its duration and return code. -ECANCELED is no error. NULL is fine. */
void sync_statistics_note(struct sync_statistics *statistics, enum sync_resource resource,
	int64_t duration_us, int code);
/* An error that no pass returned, because it was found later. */
void sync_statistics_note_error(struct sync_statistics *statistics, enum sync_resource resource,
	enum sync_error error);

#endif
