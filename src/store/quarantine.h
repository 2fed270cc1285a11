/* The records that may not be used: damaged, or such that their kind cannot read them. From any
 * thread. */
#ifndef STORE_QUARANTINE_H
#define STORE_QUARANTINE_H

#include "base/buffer.h"
#include "base/lock.h"
#include "base/map.h"

struct quarantine {
	struct lock lock;
	struct map records; /* "kind key" -> the line that describes it */
};

void quarantine_init(struct quarantine *quarantine);
void quarantine_clear(struct quarantine *quarantine);
/* Has what another one has, which is left empty, in place of its own. */
void quarantine_replace(struct quarantine *quarantine, struct quarantine *other);
/* Adds the record, or replaces what was said about it. */
void quarantine_add(struct quarantine *quarantine, struct span kind, struct span key,
	uint64_t revision, const char *reason);
bool quarantine_has(struct quarantine *quarantine, struct span kind, struct span key);
/* Any record of the kind whose key begins so. */
bool quarantine_has_any(struct quarantine *quarantine, struct span kind, struct span prefix);
/* Any record, whatever its kind, whose key contains this. */
bool quarantine_has_key_with(struct quarantine *quarantine, struct span part);
void quarantine_remove(struct quarantine *quarantine, struct span kind, struct span key);
/* Every record that another one has, too. */
void quarantine_remove_all(struct quarantine *quarantine, struct quarantine *other);
size_t quarantine_count(struct quarantine *quarantine);
void quarantine_list(struct quarantine *quarantine, struct buffer *out);

#endif
