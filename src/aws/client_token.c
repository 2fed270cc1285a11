/* Client tokens; see the header. */
#include "aws/client_token.h"

#include <stdlib.h>

#include "aws/sigv4_hash.h"

/* Half a SHA-256: a client that finds two of its own requests that collide gains nothing. */
#define HASH_DIGITS 32

/* ---- the kind ---- */

static int extract(const struct store_object *object, void *facts, struct arena *scratch,
	struct err *err)
{
	struct client_token_facts *token = facts;
	struct json *private_;
	int code = json_parse(object->private_, scratch, &private_, err);

	if (code < 0)
		return code;
	token->expires_ms = json_get_integer(private_, "expires", 0);
	return 0;
}

/* "ACCOUNT/REGION/CLUSTER" */
static struct span scope_of(struct span key)
{
	size_t slashes = 0, length = 0;

	while (length < key.length && (key.data[length] != '/' || ++slashes < 3))
		length++;
	return (struct span){key.data, length};
}

static void write_expiry(const struct store_object *object, struct store_index_writer *writer)
{
	const struct client_token_facts *facts = object->facts;

	store_index_add_format(writer, "%.*s/%015lld", SPAN_ARGS(scope_of(object->key)),
		(long long)facts->expires_ms);
}

static const struct store_index indexes[CLIENT_TOKEN_INDEX_COUNT] = {
	[CLIENT_TOKEN_BY_EXPIRY] = {.name = "expiry", .write = write_expiry},
};

const struct store_kind client_token_kind = {
	.name = "ecs.client_token",
	.facts_size = sizeof(struct client_token_facts),
	.extract = extract,
	.indexes = indexes,
	.index_count = LENGTH(indexes),
};

/* ---- the hash ---- */

static int compare_members(const void *a, const void *b)
{
	const struct json_member *const *left = a, *const *right = b;

	return span_compare((*left)->name, (*right)->name);
}

static void write_sorted(const struct json *value, const char *without, struct arena *arena,
	struct buffer *out);

static void write_object(const struct json *object, const char *without, struct arena *arena,
	struct buffer *out)
{
	size_t count = object->object.count, written = 0;
	const struct json_member **members =
		arena_allocate_array(arena, count + 1, sizeof(*members));

	for (size_t i = 0; i < count; i++)
		members[i] = &object->object.members[i];
	qsort(members, count, sizeof(*members), compare_members);
	buffer_add_char(out, '{');
	for (size_t i = 0; i < count; i++) {
		if (json_is_absent(members[i]->value) ||
			(without && span_is(members[i]->name, without)))
			continue;
		if (written++ > 0)
			buffer_add_char(out, ',');
		json_write_string(members[i]->name, out);
		buffer_add_char(out, ':');
		write_sorted(members[i]->value, NULL, arena, out);
	}
	buffer_add_char(out, '}');
}

/* Members in the order of their names, so that equal requests have equal texts. A parsed value is no deeper
 * than JSON_DEPTH_MAX. */
static void write_sorted(const struct json *value, const char *without, struct arena *arena,
	struct buffer *out)
{
	size_t written = 0;

	if (json_is(value, JSON_OBJECT)) {
		write_object(value, without, arena, out);
		return;
	}
	if (!json_is(value, JSON_ARRAY)) {
		json_write(value, out);
		return;
	}
	buffer_add_char(out, '[');
	JSON_EACH_ITEM (value, item) {
		if (written++ > 0)
			buffer_add_char(out, ',');
		write_sorted(item, NULL, arena, out);
	}
	buffer_add_char(out, ']');
}

static struct span hash_request(struct aws_request *request)
{
	_buffer_ struct buffer text = {0};
	_sigv4_hash_ struct sigv4_hash hash;
	unsigned char digest[SIGV4_HASH_SIZE];
	char digits[SIGV4_HEX_SIZE];

	write_sorted(request->input, "clientToken", request->arena, &text);
	sigv4_hash_open(&hash);
	sigv4_hash_digest(&hash, buffer_span(&text), digest);
	sigv4_hash_hex(digest, digits);
	return arena_copy_span(request->arena, (struct span){digits, HASH_DIGITS});
}

/* ---- the token of a request ---- */

int client_token_prepare(struct aws_request *request, size_t most, struct client_token *ret_token)
{
	struct client_token token = {.text = json_get_text(request->input, "clientToken")};

	if (token.text.length == 0)
		token.text = SPAN_NONE;
	if (token.text.length > most)
		return aws_fail_input(request, "clientToken: has %zu characters, the limit is %zu",
			token.text.length, most);
	for (size_t i = 0; i < token.text.length; i++)
		if (token.text.data[i] < '!' || token.text.data[i] > '~')
			return aws_fail_input(request,
				"clientToken: only ASCII characters from '!' to '~' are allowed");
	if (token.text.data)
		token.hash = hash_request(request);
	*ret_token = token;
	return 0;
}

/* ---- tokens with a record ---- */

static struct span token_key(struct aws_request *request, const struct client_token *token,
	struct span cluster_key)
{
	return arena_format(request->arena, "%.*s/%s/%.*s", SPAN_ARGS(cluster_key),
		request->operation->name, SPAN_ARGS(token->text));
}

enum client_token_use client_token_find(struct aws_request *request,
	const struct client_token *token, struct span cluster_key, const struct json **ret_ids)
{
	const struct store_object *known;
	const struct client_token_facts *facts;
	struct json *private_;

	*ret_ids = NULL;
	if (!token->text.data)
		return CLIENT_TOKEN_UNUSED;
	known = store_get(request->view, &client_token_kind,
		token_key(request, token, cluster_key));
	facts = known ? known->facts : NULL;
	if (!known || facts->expires_ms <= request->now_ms ||
		json_parse(known->private_, request->arena, &private_, NULL) < 0)
		return CLIENT_TOKEN_UNUSED;
	*ret_ids = json_get(private_, "ids");
	return span_equal(json_get_text(private_, "hash"), token->hash) ? CLIENT_TOKEN_SAME
									: CLIENT_TOKEN_OTHER;
}

int client_token_keep(struct aws_request *request, const struct client_token *token,
	struct span cluster_key, const struct json *ids)
{
	struct json *private_;

	if (!token->text.data)
		return 0;
	private_ = json_new_object(request->arena);
	json_set_integer(request->arena, private_, "expires",
		request->now_ms + CLIENT_TOKEN_LIFE_MS);
	json_set_string(request->arena, private_, "hash", token->hash);
	json_set(request->arena, private_, "ids", ids);
	if (store_put(request->transaction, &client_token_kind,
		    token_key(request, token, cluster_key), SPAN(""),
		    json_to_text(private_, request->arena), STORE_ANY, &request->err) < 0)
		return aws_fail_store(request);
	return 0;
}

/* ---- tokens in lists ---- */

struct span client_token_list_find(struct span tokens, struct span values,
	const struct client_token *token)
{
	struct span one, value;

	while (token->text.data && span_next_part(&tokens, ' ', &one) &&
		span_next_part(&values, ' ', &value))
		if (span_equal(one, token->text))
			return value;
	return SPAN_NONE;
}

void client_token_list_add(struct arena *arena, struct span *list, struct span text)
{
	struct span rest = *list, first;
	size_t count = 0;

	while (span_next_part(&rest, ' ', &first))
		count++;
	rest = *list;
	if (count >= CLIENT_TOKEN_LIST_MAX)
		span_next_part(&rest, ' ', &first);
	*list = rest.length > 0 ? arena_format(arena, "%.*s %.*s", SPAN_ARGS(rest), SPAN_ARGS(text))
				: text;
}
