/*
 * A block of slipway.yaml that is a list of things with keys: `targets:`, `webhooks:`. A table says the keys of one
 * thing, and from it come reading, messages and documentation. Messages name the file, the line and the key:
 * "slipway.yaml:7: targets[0].region: is required".
 */
#ifndef SERVER_CONFIG_LIST_H
#define SERVER_CONFIG_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "base/err.h"
#include "base/json.h"

enum config_type {
	CONFIG_TEXT,     /* const char * */
	CONFIG_NUMBER,   /* double */
	CONFIG_DURATION, /* int64_t, milliseconds */
	CONFIG_NAME,     /* const char *: lower-case letters, digits and hyphens; no two the same */
	CONFIG_URL,      /* const char *: http:// or https:// */
	CONFIG_TEXTS,    /* const char *const *, and how many at another offset */
	CONFIG_ACCOUNTS, /* the same, of twelve digits each */
};

struct config_member {
	const char *path; /* "region", or "credentials.profile": at most one level down */
	enum config_type type;
	bool required;
	size_t offset, count_offset;
	int64_t least, most; /* of a number or a time; most: of a name's length, of texts too */
	const char *example, *help;
};

struct config_list_reading;

struct config_list {
	const char *name; /* "targets" */
	const char *help; /* "remote ECS that environments may be in" */
	size_t most;
	size_t size; /* of one thing */
	const struct config_member *members;
	size_t member_count;
	const void *defaults;
	/* Checks that the table cannot express. */
	int (*check)(const struct config_list_reading *reading, void *item);
};

struct config_list_reading {
	const struct config_list *list;
	const char *path; /* of the file */
	struct arena *arena;
	struct err *err;
	const struct json *object; /* being read */
	size_t index;
	const void *items; /* those before it, too */
};

/* Fills err; -EINVAL. member: "" for the whole. */
int config_list_refuse(const struct config_list_reading *reading, const struct json *where,
	const char *member, const char *format, ...) __attribute__((format(printf, 4, 5)));
/* Reads the block (absent: nothing) into an array in the arena, of which *ret_count are used. */
int config_list_read(const struct config_list *list, const struct json *block, const char *path,
	struct arena *arena, void **ret_items, size_t *ret_count, struct err *err);

bool config_is_account(struct span text);

void config_list_write_yaml(const struct config_list *list, struct buffer *out);
void config_list_write_markdown(const struct config_list *list, struct buffer *out);

#endif
