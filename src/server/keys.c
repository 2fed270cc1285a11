/*
 * The operations on access keys: ListKeys, CreateKey, DeleteKey. A caller sees and changes the keys of its own account;
 * one without a policy in the server's own account may also create keys for other accounts.
 *
 * To policies a key is arn:aws:slipway:REGION:ACCOUNT:key/USER/ID; a new one is key/USER/ and a literal '*', listing
 * asks for key/ and a literal '*'. No caller can create a key with more permissions than its own: a key created by a
 * key with a policy has the same policy.
 */
#include "server/components.h"

static void add_resource(struct aws_request *request, struct aws_resources *resources,
	struct span name)
{
	const struct aws_caller *caller = request->caller;

	resources->arns[resources->count++] =
		arena_format(request->arena, "arn:aws:slipway:%.*s:%.*s:key/%.*s",
			SPAN_ARGS(caller->region), SPAN_ARGS(caller->account), SPAN_ARGS(name));
}

static bool is_root(const struct server *server, const struct aws_caller *caller)
{
	return !caller->policy && span_is(caller->account, server->config->account);
}

/* ---- list ---- */

static void name_all(struct aws_request *request, struct aws_resources *resources)
{
	add_resource(request, resources, SPAN("*"));
}

static struct json *key_document(struct arena *arena, const struct store_object *object)
{
	const struct access_key_facts *facts = object->facts;
	struct json *document = json_new_object(arena);
	char created[CLOCK_ISO_SIZE];

	clock_format_iso(facts->created_ms, created);
	json_set_string(arena, document, "accessKeyId", object->key);
	json_set_string(arena, document, "account", facts->account);
	json_set_string(arena, document, "user", facts->user);
	json_set_string(arena, document, "createdAt", span_of(created));
	if (facts->policy.data) {
		struct json *policy;

		if (json_parse(facts->policy, arena, &policy, NULL) == 0)
			json_set(arena, document, "policy", policy);
	}
	return document;
}

static int list_keys(struct aws_request *request)
{
	struct arena *arena = request->arena;
	struct store_cursor cursor = {.view = request->view, .kind = &access_key_kind, .index = -1};
	struct json *answer = json_new_object(arena), *list = json_new_array(arena);
	bool all = is_root(request->context, request->caller);
	const struct store_object *object;

	while ((object = store_next(&cursor))) {
		const struct access_key_facts *facts = object->facts;

		if (all || span_equal(facts->account, request->caller->account))
			json_append(arena, list, key_document(arena, object));
	}
	json_set(arena, answer, "keys", list);
	json_write(answer, request->out);
	return 0;
}

/* ---- create ---- */

static struct span user_of(const struct aws_request *request)
{
	struct span user = json_get_text(request->input, "user");

	return user.data ? user : request->caller->user;
}

static void name_created(struct aws_request *request, struct aws_resources *resources)
{
	add_resource(request, resources,
		arena_format(request->arena, "%.*s/*", SPAN_ARGS(user_of(request))));
}

static int prepare_key(struct aws_request *request)
{
	const struct server *server = request->context;
	const struct aws_caller *caller = request->caller;
	struct access_key_new *key = arena_allocate(request->arena, sizeof(*key));
	const struct json *policy = json_get(request->input, "policy");
	struct err err;

	key->user = user_of(request);
	key->account = json_get_text(request->input, "account");
	if (!key->account.data)
		key->account = caller->account;
	if (!is_root(server, caller) && !span_equal(key->account, caller->account))
		return aws_fail(request, "AccessDeniedException",
			"account: only an unrestricted key of account %s may create keys for other "
			"accounts",
			server->config->account);
	if (caller->policy && !json_is_absent(policy))
		return aws_fail(request, "AccessDeniedException",
			"policy: user '%.*s' has a policy, which the keys that it creates inherit; "
			"leave it out",
			SPAN_ARGS(caller->user));
	if (!json_is_absent(policy))
		key->policy = json_to_text(policy, request->arena);
	if (access_key_make(key, request->random, &err) < 0)
		return aws_fail_input(request, "%s", err.message);
	request->prepared = key;
	return 0;
}

static int create_key(struct aws_request *request)
{
	struct access_key_new key = *(const struct access_key_new *)request->prepared;
	struct json *answer = json_new_object(request->arena);

	if (request->caller->policy) {
		const struct store_object *own =
			store_get(request->view, &access_key_kind, request->caller->access_key);

		if (!own)
			return aws_fail(request, "AccessDeniedException",
				"The caller's own key was deleted.");
		key.policy = ((const struct access_key_facts *)own->facts)->policy;
	}
	if (access_key_put(request->transaction, &key, request->now_ms, &request->err) < 0)
		return aws_fail_store(request);
	request->resource = arena_format(request->arena, "arn:aws:slipway:%.*s:%.*s:key/%.*s/%s",
		SPAN_ARGS(request->caller->region), SPAN_ARGS(key.account), SPAN_ARGS(key.user),
		key.id);
	json_set_string(request->arena, answer, "accessKeyId", span_of(key.id));
	json_set_string(request->arena, answer, "secretAccessKey", span_of(key.secret));
	json_set_string(request->arena, answer, "account", key.account);
	json_set_string(request->arena, answer, "user", key.user);
	json_write(answer, request->out);
	return 0;
}

/* ---- delete ---- */

/* Without such a key the user is "*": only callers that may delete any key learn that it does not exist. */
static void name_deleted(struct aws_request *request, struct aws_resources *resources)
{
	const struct server *server = request->context;
	struct span id = json_get_text(request->input, "accessKeyId");
	_view_ struct store_view *view = store_view_open(server->store);
	const struct store_object *object = id.data ? store_get(view, &access_key_kind, id) : NULL;
	const struct access_key_facts *facts = object ? object->facts : NULL;

	add_resource(request, resources,
		arena_format(request->arena, "%.*s/%.*s",
			SPAN_ARGS(facts ? facts->user : SPAN("*")), SPAN_ARGS(id)));
}

static int delete_key(struct aws_request *request)
{
	const struct server *server = request->context;
	struct span id = json_get_text(request->input, "accessKeyId");
	const struct store_object *object = store_get(request->view, &access_key_kind, id);
	const struct access_key_facts *facts = object ? object->facts : NULL;

	if (!facts || (!is_root(server, request->caller) &&
			      !span_equal(facts->account, request->caller->account)))
		return aws_fail(request, "ResourceNotFoundException", "key '%.*s' not found",
			SPAN_ARGS(id));
	if (span_is(id, server->admin_key.id))
		return aws_fail(request, "ResourceInUseException",
			"the admin key of a running server cannot be deleted");
	if (access_key_delete(request->transaction, facts->account, id, &request->err) < 0)
		return aws_fail_store(request);
	return 0;
}

static const struct aws_operation operations[] = {
	{.name = "CreateKey",
		.mode = AWS_WRITE,
		.prepare = prepare_key,
		.run = create_key,
		.resources = name_created},
	{.name = "DeleteKey", .mode = AWS_WRITE, .run = delete_key, .resources = name_deleted},
	{.name = "ListKeys", .mode = AWS_READ, .run = list_keys, .resources = name_all},
};

void keys_register(struct server *server)
{
	rest_add_operations(server, operations, LENGTH(operations), server);
}
