/*
 * The audit log: caller and operation as one JSON object a line, appended before the answer. A line
 * is one write(2) to a file opened with O_APPEND, so lines never mix. For rotation by renaming,
 * audit_reopen() (SIGHUP) continues in a new file.
 */
#ifndef SERVER_AUDIT_H
#define SERVER_AUDIT_H

#include "aws/dispatch.h"

/* Lines of callers that are not known; of more, the next line has the number as "omitted". */
#define AUDIT_UNKNOWN_BURST 1000
#define AUDIT_UNKNOWN_PER_SECOND 20

struct audit;

/* reads: record successful reads too. */
int audit_open(const char *path, bool reads, struct audit **ret_audit, struct err *err);
int audit_reopen(struct audit *audit, struct err *err);
void audit_close(struct audit *audit); /* NULL is fine */
/* For aws_dispatch_config; context is the audit (NULL: nothing). */
void audit_record(void *context, const struct aws_audit *record);
/* Lines that could not be written. */
uint64_t audit_lost(struct audit *audit);

#endif
