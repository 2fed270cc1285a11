/* The kinds `server` and `claim`: what is in their records, and what follows from them. */
#include "control/claims_internal.h"

#include <string.h>

#include "base/json.h"
#include "base/memory.h"

static int parse_text(const struct store_object *object, struct arena *scratch,
	const struct json **ret_value, struct err *err)
{
	struct json *value;
	int code = json_parse(object->private_, scratch, &value, err);

	if (code == 0)
		*ret_value = value;
	return code;
}

/* The names in these records have no characters that JSON escapes, so the text of a member is found in
 * the object itself, where it lives as long as the facts. */
static struct span text_in_object(const struct store_object *object, struct span text)
{
	const char *found;

	if (text.length == 0)
		return SPAN("");
	found = memmem(object->private_.data, object->private_.length, text.data, text.length);
	return found ? (struct span){found, text.length} : SPAN("");
}

static int server_extract(const struct store_object *object, void *facts, struct arena *scratch,
	struct err *err)
{
	struct server_facts *server = facts;
	const struct json *value = NULL;
	int code = parse_text(object, scratch, &value, err);

	if (code < 0)
		return code;
	server->incarnation = text_in_object(object, json_get_text(value, "incarnation"));
	server->folder = text_in_object(object, json_get_text(value, "folder"));
	server->lease_us = json_get_integer(value, "leaseMicroseconds", 0);
	if (server->incarnation.length == 0 || server->lease_us <= 0)
		return err_set(err, -EINVAL, "server record without incarnation or lease");
	return 0;
}

const struct store_kind server_kind = {
	.name = "server",
	.facts_size = sizeof(struct server_facts),
	.extract = server_extract,
};

static int claim_extract(const struct store_object *object, void *facts, struct arena *scratch,
	struct err *err)
{
	struct claim_facts *claim = facts;
	const struct json *value = NULL;
	int code = parse_text(object, scratch, &value, err);

	if (code < 0)
		return code;
	claim->server = text_in_object(object, json_get_text(value, "server"));
	claim->incarnation = text_in_object(object, json_get_text(value, "incarnation"));
	return 0;
}

static void claim_write_owner(const struct store_object *object, struct store_index_writer *writer)
{
	const struct claim_facts *claim = object->facts;

	if (claim->server.length > 0)
		store_index_add_format(writer, "%.*s/%.*s", SPAN_ARGS(claim->server),
			SPAN_ARGS(claim->incarnation));
}

static const struct store_index claim_indexes[] = {
	[CLAIM_BY_OWNER] = {.name = "owner", .write = claim_write_owner},
};

const struct store_kind claim_kind = {
	.name = "claim",
	.facts_size = sizeof(struct claim_facts),
	.extract = claim_extract,
	.indexes = claim_indexes,
	.index_count = LENGTH(claim_indexes),
};

bool server_is_alive(const struct store_view *view, struct span server, struct span incarnation)
{
	const struct store_object *object = store_get(view, &server_kind, server);

	return object &&
	       span_equal(((const struct server_facts *)object->facts)->incarnation, incarnation);
}

bool claim_owner_is_alive(const struct store_view *view, const struct store_object *claim)
{
	const struct claim_facts *facts = claim->facts;

	return facts->server.length > 0 && server_is_alive(view, facts->server, facts->incarnation);
}

bool claim_is_free(const struct store_view *view, const struct store_object *claim)
{
	return !claim || !claim_owner_is_alive(view, claim);
}
