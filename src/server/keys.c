/*
 * slipway's REST API for access keys: GET and POST /v1/keys, DELETE /v1/keys/ID. Signed for service
 * "slipway". A caller sees and changes the keys of its own account; one without a policy in the
 * server's own account may also create keys for other accounts.
 *
 * To policies a key is arn:aws:slipway:REGION:ACCOUNT:key/USER/ID; a new one is key/USER/ and a
 * literal '*', listing asks for key/ and a literal '*'. No caller can create a key with more
 * permissions than its own: a key created by a key with a policy has the same policy.
 */
#include "aws/policy.h"
#include "server/components.h"

/* May the caller do the operation on the key `name` ("USER/ID")? Answers if not. */
static bool authorise(struct server *server, struct http_exchange *exchange,
	const struct aws_caller *caller, const char *operation, bool write, struct span name)
{
	struct arena *arena = http_exchange_request(exchange)->arena;
	struct span action = arena_format(arena, "slipway:%s", operation);
	struct span resource = arena_format(arena, "arn:aws:slipway:%.*s:%.*s:key/%.*s",
		SPAN_ARGS(caller->region), SPAN_ARGS(caller->account), SPAN_ARGS(name));

	if (!caller->policy || aws_policy_allows(caller->policy, action, &resource, 1))
		return true;
	rest_record(server, caller, operation, write, resource, "AccessDenied", 403);
	rest_refuse(exchange, 403, "AccessDenied", "user '%.*s' may not do %.*s on %.*s",
		SPAN_ARGS(caller->user), SPAN_ARGS(action), SPAN_ARGS(resource));
	return false;
}

static bool is_root(const struct server *server, const struct aws_caller *caller)
{
	return !caller->policy && span_is(caller->account, server->config->account);
}

/* ---- list ---- */

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

void keys_list(struct server *server, struct http_exchange *exchange,
	const struct http_request *request)
{
	const struct aws_caller *caller = rest_identify(server, exchange, request);
	struct arena *arena = request->arena;
	struct store_cursor cursor = {.kind = &access_key_kind, .index = -1};
	const struct store_object *object;
	struct json *answer, *list;
	_view_ struct store_view *view = NULL;

	if (!caller || !authorise(server, exchange, caller, "ListKeys", false, SPAN("*")))
		return;
	view = store_view_open(server->store);
	cursor.view = view;
	answer = json_new_object(arena);
	list = json_new_array(arena);
	while ((object = store_next(&cursor))) {
		const struct access_key_facts *facts = object->facts;

		if (is_root(server, caller) || span_equal(facts->account, caller->account))
			json_append(arena, list, key_document(arena, object));
	}
	json_set(arena, answer, "keys", list);
	rest_record(server, caller, "ListKeys", false, SPAN(""), NULL, 200);
	rest_respond(exchange, 200, json_to_text(answer, arena));
}

/* ---- create ---- */

struct creation {
	struct server *server;
	struct http_exchange *exchange;
	const struct aws_caller *caller;
	struct access_key_new key;
	int64_t now_ms;
};

static int create(struct store_transaction *transaction, void *context, struct err *err)
{
	struct creation *creation = context;

	return access_key_put(transaction, &creation->key, creation->now_ms, err);
}

static void created(void *context, int code, uint64_t revision, const struct err *err)
{
	struct creation *creation = context;
	struct arena *arena = http_exchange_request(creation->exchange)->arena;
	struct json *answer = json_new_object(arena);

	(void)revision;
	rest_record(creation->server, creation->caller, "CreateKey", true,
		span_of(creation->key.id), code < 0 ? "StoreUnavailable" : NULL,
		code < 0 ? 503 : 201);
	if (code < 0) {
		rest_refuse(creation->exchange, 503, "StoreUnavailable", "%s", err->message);
		return;
	}
	json_set_string(arena, answer, "accessKeyId", span_of(creation->key.id));
	json_set_string(arena, answer, "secretAccessKey", span_of(creation->key.secret));
	json_set_string(arena, answer, "account", creation->key.account);
	json_set_string(arena, answer, "user", creation->key.user);
	rest_respond(creation->exchange, 201, json_to_text(answer, arena));
}

/* Reads {"user","account","policy"}; false when it has answered already. */
static bool read_creation(struct creation *creation, const struct http_request *request)
{
	static const struct span known[] = {SPAN("user"), SPAN("account"), SPAN("policy")};
	struct http_exchange *exchange = creation->exchange;
	const struct json *policy;
	struct json *body;
	struct err err;

	if (!rest_read_body(exchange, request, known, LENGTH(known), &body))
		return false;
	creation->key.user = json_get_text(body, "user");
	creation->key.account = json_get_text(body, "account");
	if (!creation->key.user.data)
		creation->key.user = creation->caller->user;
	if (!creation->key.account.data)
		creation->key.account = creation->caller->account;
	policy = json_get(body, "policy");
	if (!json_is_absent(policy))
		creation->key.policy = json_to_text(policy, request->arena);
	if (access_key_make(&creation->key, creation->server->random, &err) < 0) {
		rest_refuse(exchange, 400, "InvalidRequest", "%s", err.message);
		return false;
	}
	return true;
}

/* A caller with a policy must not create a key that may do more: the key inherits it. */
static bool inherit_policy(struct creation *creation, const struct http_request *request)
{
	const struct aws_caller *caller = creation->caller;
	_view_ struct store_view *view = NULL;
	const struct store_object *object;
	const struct access_key_facts *facts;

	if (!caller->policy)
		return true;
	if (creation->key.policy.data) {
		rest_record(creation->server, caller, "CreateKey", true, SPAN(""), "AccessDenied",
			403);
		rest_refuse(creation->exchange, 403, "AccessDenied",
			"user '%.*s' has a policy, and so have the keys it makes, the same one: "
			"name none",
			SPAN_ARGS(caller->user));
		return false;
	}
	view = store_view_open(creation->server->store);
	object = store_get(view, &access_key_kind, caller->access_key);
	if (!object) {
		rest_refuse(creation->exchange, 403, "UnrecognizedClientException",
			"the key was deleted meanwhile");
		return false;
	}
	facts = object->facts;
	creation->key.policy = arena_copy_span(request->arena, facts->policy);
	return true;
}

void keys_create(struct server *server, struct http_exchange *exchange,
	const struct http_request *request)
{
	const struct aws_caller *caller = rest_identify(server, exchange, request);
	struct creation *creation;

	if (!caller)
		return;
	creation = arena_allocate(request->arena, sizeof(*creation));
	*creation = (struct creation){.server = server,
		.exchange = exchange,
		.caller = caller,
		.now_ms = clock_wall_ms(server->clock)};
	if (!read_creation(creation, request))
		return;
	if (!is_root(server, caller) && !span_equal(creation->key.account, caller->account)) {
		rest_record(server, caller, "CreateKey", true, SPAN(""), "AccessDenied", 403);
		rest_refuse(exchange, 403, "AccessDenied",
			"only an unrestricted key of account %s may make keys of other accounts",
			server->config->account);
		return;
	}
	if (!authorise(server, exchange, caller, "CreateKey", true,
		    arena_format(request->arena, "%.*s/*", SPAN_ARGS(creation->key.user))) ||
		!inherit_policy(creation, request))
		return;
	if (store_write(server->store, create, created, creation, NULL) < 0)
		rest_refuse(exchange, 503, "StoreUnavailable", "too many writes are waiting");
}

/* ---- delete ---- */

struct deletion {
	struct server *server;
	struct http_exchange *exchange;
	const struct aws_caller *caller;
	struct span id;
};

static int delete_key(struct store_transaction *transaction, void *context, struct err *err)
{
	struct deletion *deletion = context;
	const struct store_object *object =
		store_get(store_head(transaction), &access_key_kind, deletion->id);
	const struct access_key_facts *facts = object ? object->facts : NULL;

	if (!facts || (!is_root(deletion->server, deletion->caller) &&
			      !span_equal(facts->account, deletion->caller->account)))
		return err_set(err, -ENOENT, "there is no key '%.*s'", SPAN_ARGS(deletion->id));
	if (span_is(deletion->id, deletion->server->admin_key.id))
		return err_set(err, -EBUSY, "the admin key of a running server cannot be deleted");
	return access_key_delete(transaction, facts->account, deletion->id, err);
}

static void deleted(void *context, int code, uint64_t revision, const struct err *err)
{
	struct deletion *deletion = context;
	int status = code == 0 ? 200 : code == -ENOENT ? 404 : code == -EBUSY ? 409 : 503;
	const char *error = code == 0         ? NULL
			    : code == -ENOENT ? "NotFound"
			    : code == -EBUSY  ? "InUse"
					      : "StoreUnavailable";

	(void)revision;
	rest_record(deletion->server, deletion->caller, "DeleteKey", true, deletion->id, error,
		status);
	if (error)
		rest_refuse(deletion->exchange, status, error, "%s", err->message);
	else
		rest_respond(deletion->exchange, 200, SPAN("{}"));
}

/* "USER/ID"; "*" and the id if there is no such key: only callers that may delete any learn it. */
static struct span name_of_key(const struct server *server, struct span id, struct arena *arena)
{
	_view_ struct store_view *view = store_view_open(server->store);
	const struct store_object *object = store_get(view, &access_key_kind, id);
	const struct access_key_facts *facts = object ? object->facts : NULL;

	return arena_format(arena, "%.*s/%.*s", SPAN_ARGS(facts ? facts->user : SPAN("*")),
		SPAN_ARGS(id));
}

void keys_delete(struct server *server, struct http_exchange *exchange,
	const struct http_request *request)
{
	const struct aws_caller *caller = rest_identify(server, exchange, request);
	size_t prefix = strlen("/v1/keys/");
	struct span id = {request->path.data + prefix, request->path.length - prefix};
	struct deletion *deletion;

	if (!caller || !authorise(server, exchange, caller, "DeleteKey", true,
			       name_of_key(server, id, request->arena)))
		return;
	deletion = arena_allocate(request->arena, sizeof(*deletion));
	*deletion = (struct deletion){
		.server = server, .exchange = exchange, .caller = caller, .id = id};
	if (store_write(server->store, delete_key, deleted, deletion, NULL) < 0)
		rest_refuse(exchange, 503, "StoreUnavailable", "too many writes are waiting");
}
