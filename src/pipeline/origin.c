/* See the header. */
#include "pipeline/origin.h"

#include "aws/sigv4_hash.h"
#include "base/memory.h"
#include "store/fact_table.h"

#define X(name) #name,
static const char *const state_names[] = {ORIGIN_STATES(X)};
#undef X

const char *origin_state_name(enum origin_state state)
{
	return state_names[state];
}

int origin_state_find(struct span name)
{
	return fact_name_find(state_names, LENGTH(state_names), name);
}

/* ---- keys ---- */

struct span repository_id(struct arena *arena, struct span url, struct span branch, bool follows,
	struct span path)
{
	struct span text = arena_format(arena, "%.*s\n%.*s\n%s%.*s", SPAN_ARGS(url),
		SPAN_ARGS(branch), follows ? "all:" : "", SPAN_ARGS(follows ? path : SPAN("")));
	unsigned char digest[SIGV4_HASH_SIZE];
	_sigv4_hash_ struct sigv4_hash hash;
	char hex[SIGV4_HEX_SIZE];

	sigv4_hash_open(&hash);
	sigv4_hash_digest(&hash, text, digest);
	sigv4_hash_hex(digest, hex);
	return arena_copy_span(arena, (struct span){hex, REPOSITORY_ID_LENGTH});
}

struct span repository_key(struct arena *arena, struct span account, struct span id)
{
	return arena_format(arena, "%.*s/%.*s", SPAN_ARGS(account), SPAN_ARGS(id));
}

/* ---- facts ---- */

static const struct fact_row repository_rows[] = {
	FACT(FACT_TEXT, repository_facts, url, "url"),
	FACT(FACT_TEXT, repository_facts, branch, "branch"),
	FACT(FACT_FLAG, repository_facts, follows, "follows"),
	FACT(FACT_TEXT, repository_facts, path, "path"),
	FACT(FACT_TEXT, repository_facts, region, "region"),
	FACT(FACT_TEXT, repository_facts, target, "target"),
	FACT(FACT_TEXT, repository_facts, role, "role"),
	FACT(FACT_TEXT, repository_facts, created_by, "createdBy"),
	FACT(FACT_TEXT, repository_facts, commit, "commit"),
	FACT(FACT_FLAG, repository_facts, has_failed, "failed"),
	FACT(FACT_NUMBER, repository_facts, created_ms, "created"),
	FACT(FACT_NUMBER, repository_facts, polled_ms, "polled"),
	FACT(FACT_NUMBER, repository_facts, requested_ms, "requested"),
};

static const struct fact_row origin_rows[] = {
	FACT(FACT_TEXT, origin_facts, repository, "repository"),
	FACT(FACT_TEXT, origin_facts, folder, "folder"),
	FACT(FACT_TEXT, origin_facts, file, "file"),
	FACT(FACT_TEXT, origin_facts, region, "region"),
	FACT(FACT_TEXT, origin_facts, target, "target"),
	FACT(FACT_TEXT, origin_facts, role, "role"),
	FACT(FACT_FLAG, origin_facts, is_found, "found"),
	FACT(FACT_TEXT, origin_facts, seen, "seen"),
	FACT_NAMED(origin_facts, state, "state", state_names),
};

static int extract(const struct store_object *object, const struct fact_row *rows, size_t count,
	struct span *ret_account, struct span *ret_name, void *facts, struct arena *scratch,
	struct err *err)
{
	struct json *private_;
	int code;

	if (!span_split(object->key, '/', ret_account, ret_name))
		return err_set(err, -EINVAL, "'%.*s' is not the key of a %s",
			SPAN_ARGS(object->key), object->kind->name);
	code = json_parse(object->private_, scratch, &private_, err);
	return code < 0 ? code : fact_table_read(rows, count, private_, facts, err);
}

static int extract_repository(const struct store_object *object, void *facts, struct arena *scratch,
	struct err *err)
{
	struct repository_facts *repository = facts;

	return extract(object, repository_rows, LENGTH(repository_rows), &repository->account,
		&repository->id, facts, scratch, err);
}

static int extract_origin(const struct store_object *object, void *facts, struct arena *scratch,
	struct err *err)
{
	struct origin_facts *origin = facts;

	return extract(object, origin_rows, LENGTH(origin_rows), &origin->account, &origin->name,
		facts, scratch, err);
}

static struct span write_rows(struct store_transaction *transaction, const struct fact_row *rows,
	size_t count, const void *facts)
{
	struct arena *arena = store_transaction_arena(transaction);
	struct json *private_ = json_new_object(arena);

	fact_table_write(rows, count, facts, arena, private_);
	return json_to_text(private_, arena);
}

int repository_put(struct store_transaction *transaction, struct span key, struct span api,
	const struct repository_facts *facts, uint64_t expected, struct err *err)
{
	return store_put(transaction, &repository_kind, key, api,
		write_rows(transaction, repository_rows, LENGTH(repository_rows), facts), expected,
		err);
}

int origin_put(struct store_transaction *transaction, struct span key, struct span api,
	const struct origin_facts *facts, uint64_t expected, struct err *err)
{
	return store_put(transaction, &origin_kind, key, api,
		write_rows(transaction, origin_rows, LENGTH(origin_rows), facts), expected, err);
}

const struct store_object *origin_find(const struct store_view *view, struct span application,
	struct arena *arena, const struct store_object **ret_repository)
{
	const struct store_object *origin = store_get(view, &origin_kind, application);

	*ret_repository = NULL;
	if (origin)
		*ret_repository = store_get(view, &repository_kind,
			repository_key(arena, origin_facts(origin)->account,
				origin_facts(origin)->repository));
	return origin;
}

/* ---- kinds ---- */

static void write_repository(const struct store_object *object, struct store_index_writer *writer)
{
	const struct origin_facts *facts = origin_facts(object);

	store_index_add_format(writer, "%.*s/%.*s/%.*s", SPAN_ARGS(facts->account),
		SPAN_ARGS(facts->repository), SPAN_ARGS(facts->name));
}

static const struct store_index origin_indexes[ORIGIN_INDEX_COUNT] = {
	[ORIGIN_BY_REPOSITORY] = {.name = "repository", .write = write_repository},
};

const struct store_kind repository_kind = {
	.name = "pipeline.repository",
	.facts_size = sizeof(struct repository_facts),
	.extract = extract_repository,
};

const struct store_kind origin_kind = {
	.name = "pipeline.origin",
	.facts_size = sizeof(struct origin_facts),
	.extract = extract_origin,
	.indexes = origin_indexes,
	.index_count = LENGTH(origin_indexes),
};
