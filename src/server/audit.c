/* The audit log; see audit.h. */
#include "server/audit.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>

#include "base/lock.h"

struct audit {
	char *path;
	bool reads;
	pthread_rwlock_t lock; /* held for reading while a line is written, for writing to reopen */
	int descriptor;
	_Atomic uint64_t lost;
	/* Lines without a caller: how many may be written now, as of when, and how many were left out since the last. */
	struct lock unknown_lock;
	int64_t unknown_left, unknown_ms;
	uint64_t omitted;
};

static int open_log(const char *path, int *ret_descriptor, struct err *err)
{
	int descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

	if (descriptor < 0)
		return err_errno(err, "open audit log '%s'", path);
	*ret_descriptor = descriptor;
	return 0;
}

int audit_open(const char *path, bool reads, struct audit **ret_audit, struct err *err)
{
	struct audit *audit;
	int descriptor;
	int code = open_log(path, &descriptor, err);

	if (code < 0)
		return code;
	audit = memory_allocate(sizeof(*audit));
	audit->path = memory_copy_string(path);
	audit->reads = reads;
	audit->descriptor = descriptor;
	pthread_rwlock_init(&audit->lock, NULL);
	lock_init(&audit->unknown_lock);
	audit->unknown_left = AUDIT_UNKNOWN_BURST;
	*ret_audit = audit;
	return 0;
}

int audit_reopen(struct audit *audit, struct err *err)
{
	int descriptor;
	int code = open_log(audit->path, &descriptor, err);

	if (code < 0)
		return code;
	pthread_rwlock_wrlock(&audit->lock);
	close(audit->descriptor);
	audit->descriptor = descriptor;
	pthread_rwlock_unlock(&audit->lock);
	return 0;
}

void audit_close(struct audit *audit)
{
	if (!audit)
		return;
	close(audit->descriptor);
	pthread_rwlock_destroy(&audit->lock);
	lock_destroy(&audit->unknown_lock);
	free(audit->path);
	free(audit);
}

uint64_t audit_lost(struct audit *audit)
{
	return audit ? audit->lost : 0;
}

static void add_member(struct buffer *line, const char *name, struct span value)
{
	buffer_add_string(line, ",\"");
	buffer_add_string(line, name);
	buffer_add_string(line, "\":");
	json_write_string(value.data ? value : SPAN(""), line);
}

/* Whether to write a line of a caller that is not known, because a client without a key must not fill the disk. *ret_omitted: how
 * many were not written since the line before. */
static bool admit_unknown(struct audit *audit, int64_t time_ms, uint64_t *ret_omitted)
{
	bool admitted;
	int64_t earned;

	lock_take(&audit->unknown_lock);
	earned = (time_ms - audit->unknown_ms) * AUDIT_UNKNOWN_PER_SECOND / 1000;
	if (earned > 0) {
		audit->unknown_left += earned;
		if (audit->unknown_left > AUDIT_UNKNOWN_BURST)
			audit->unknown_left = AUDIT_UNKNOWN_BURST;
		audit->unknown_ms = time_ms;
	}
	admitted = audit->unknown_left > 0;
	if (admitted) {
		audit->unknown_left--;
		*ret_omitted = audit->omitted;
		audit->omitted = 0;
	} else {
		audit->omitted++;
	}
	lock_release(&audit->unknown_lock);
	return admitted;
}

void audit_record(void *context, const struct aws_audit *record)
{
	struct audit *audit = context;
	uint64_t omitted = 0;
	_buffer_ struct buffer line = {0};
	char time[CLOCK_ISO_SIZE];
	ssize_t written;

	if (!audit || (!record->write && !record->error_type && !audit->reads))
		return;
	if (record->caller->account.length == 0 && !admit_unknown(audit, record->time_ms, &omitted))
		return;
	clock_format_iso(record->time_ms, time);
	buffer_format(&line, "{\"time\":\"%s\"", time);
	add_member(&line, "account", record->caller->account);
	add_member(&line, "user", record->caller->user);
	add_member(&line, "key", record->caller->access_key);
	add_member(&line, "region", record->caller->region);
	buffer_format(&line, ",\"operation\":\"%s:", record->service);
	/* The operation may be whatever a client sent: escape it like any text, without the quotes. */
	{
		_buffer_ struct buffer quoted = {0};

		json_write_string(record->operation, &quoted);
		buffer_add(&line, quoted.data + 1, quoted.length - 1);
	}
	add_member(&line, "resource", record->resource);
	add_member(&line, "result",
		record->error_type ? span_of(record->error_type) : SPAN("success"));
	buffer_format(&line, ",\"status\":%d,\"microseconds\":%lld", record->status,
		(long long)record->duration_us);
	add_member(&line, "requestId", span_of(record->request_id));
	if (omitted > 0)
		buffer_format(&line, ",\"omitted\":%llu", (unsigned long long)omitted);
	buffer_add_string(&line, "}\n");
	pthread_rwlock_rdlock(&audit->lock);
	written = write(audit->descriptor, line.data, line.length);
	pthread_rwlock_unlock(&audit->lock);
	if (written != (ssize_t)line.length)
		audit->lost++;
}
