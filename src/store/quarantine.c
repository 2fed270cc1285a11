/* See quarantine.h. It is nearly always empty, and asked before every put: that costs one lock. */
#include "store/quarantine.h"

#include "base/memory.h"

/* A kind's name has no NUL in it, so the joined text is unique for each pair. */
static void join_name(struct buffer *name, struct span kind, struct span key)
{
	buffer_add_span(name, kind);
	buffer_add_char(name, '\0');
	buffer_add_span(name, key);
}

void quarantine_init(struct quarantine *quarantine)
{
	*quarantine = (struct quarantine){0};
	lock_init(&quarantine->lock);
}

static void quarantine_empty(struct quarantine *quarantine)
{
	lock_take(&quarantine->lock);
	MAP_EACH (&quarantine->records, entry)
		free(entry->value);
	map_clear(&quarantine->records);
	lock_release(&quarantine->lock);
}

void quarantine_clear(struct quarantine *quarantine)
{
	quarantine_empty(quarantine);
	lock_destroy(&quarantine->lock);
}

void quarantine_replace(struct quarantine *quarantine, struct quarantine *other)
{
	struct map before;

	lock_take(&quarantine->lock);
	before = quarantine->records;
	quarantine->records = other->records;
	lock_release(&quarantine->lock);
	other->records = before;
	quarantine_empty(other);
}

void quarantine_add(struct quarantine *quarantine, struct span kind, struct span key,
	uint64_t revision, const char *reason)
{
	_buffer_ struct buffer name = {0};
	char *line = memory_format("%.*s %.*s (revision %llu): %s", SPAN_ARGS(kind), SPAN_ARGS(key),
		(unsigned long long)revision, reason);

	join_name(&name, kind, key);
	lock_take(&quarantine->lock);
	free(map_put(&quarantine->records, buffer_span(&name), line));
	lock_release(&quarantine->lock);
}

bool quarantine_has(struct quarantine *quarantine, struct span kind, struct span key)
{
	bool found = false;

	lock_take(&quarantine->lock);
	if (quarantine->records.count > 0) {
		_buffer_ struct buffer name = {0};

		join_name(&name, kind, key);
		found = map_has(&quarantine->records, buffer_span(&name));
	}
	lock_release(&quarantine->lock);
	return found;
}

bool quarantine_has_any(struct quarantine *quarantine, struct span kind, struct span prefix)
{
	bool found = false;

	lock_take(&quarantine->lock);
	if (quarantine->records.count > 0) {
		_buffer_ struct buffer name = {0};

		join_name(&name, kind, prefix);
		MAP_EACH (&quarantine->records, entry)
			found |= span_starts_with(entry->key, buffer_span(&name));
	}
	lock_release(&quarantine->lock);
	return found;
}

bool quarantine_has_key_with(struct quarantine *quarantine, struct span part)
{
	bool found = false;

	lock_take(&quarantine->lock);
	MAP_EACH (&quarantine->records, entry)
		found |= memmem(entry->key.data, entry->key.length, part.data, part.length) != NULL;
	lock_release(&quarantine->lock);
	return found;
}

void quarantine_remove(struct quarantine *quarantine, struct span kind, struct span key)
{
	lock_take(&quarantine->lock);
	if (quarantine->records.count > 0) {
		_buffer_ struct buffer name = {0};

		join_name(&name, kind, key);
		free(map_remove(&quarantine->records, buffer_span(&name)));
	}
	lock_release(&quarantine->lock);
}

void quarantine_remove_all(struct quarantine *quarantine, struct quarantine *other)
{
	lock_take(&quarantine->lock);
	MAP_EACH (&other->records, entry)
		free(map_remove(&quarantine->records, entry->key));
	lock_release(&quarantine->lock);
}

size_t quarantine_count(struct quarantine *quarantine)
{
	size_t count;

	lock_take(&quarantine->lock);
	count = quarantine->records.count;
	lock_release(&quarantine->lock);
	return count;
}

void quarantine_list(struct quarantine *quarantine, struct buffer *out)
{
	lock_take(&quarantine->lock);
	MAP_EACH (&quarantine->records, entry) {
		buffer_add_string(out, entry->value);
		buffer_add_char(out, '\n');
	}
	lock_release(&quarantine->lock);
}
