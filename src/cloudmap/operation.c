/*
 * Operations: what an asynchronous request leaves behind. All that it asks for has happened by then, in
 * the same transaction, so they are born with status SUCCESS. They are kept for an hour, and at most
 * OPERATIONS_MAX of an account and region: a new one takes the place of the oldest.
 */
#include "aws/sigv4_hash.h"
#include "base/memory.h"
#include "cloudmap/api.h"
#include "cloudmap/listing.h"
#include "control/write.h"

#define OPERATIONS_MAX 10000
#define OPERATION_KEPT_MS (INT64_C(60) * 60 * 1000)
#define OPERATIONS_AT_ONCE 500 /* deleted by one transaction */
#define REQUEST_DIGITS 32      /* half a SHA-256 */

/* ---- making one ---- */

/* "gv4g5meo7ndmeh4fqskygvk23d2fijwa-k9302yzd", as AWS has them. */
static struct span new_operation_id(struct aws_request *request)
{
	char first[33], second[9];

	id_from_alphabet(request->random, ID_ALPHABET, 32, first);
	id_from_alphabet(request->random, ID_ALPHABET, 8, second);
	return arena_format(request->arena, "%s-%s", first, second);
}

static int make_room(struct aws_request *request)
{
	struct span prefix = aws_key_prefix(request);
	const struct store_view *head = store_head(request->transaction);
	struct store_cursor cursor = {.view = head,
		.kind = &cloudmap_operation_kind,
		.index = OPERATION_BY_TIME,
		.prefix = prefix};
	const struct store_object *oldest;

	if (store_count(head, &cloudmap_operation_kind, -1, prefix, false) < OPERATIONS_MAX)
		return 0;
	oldest = store_next(&cursor);
	if (store_delete(request->transaction, &cloudmap_operation_kind, oldest->key,
		    oldest->revision, &request->err) < 0)
		return aws_fail_store(request);
	return 0;
}

int cloudmap_operation_succeed(struct aws_request *request, struct operation_facts facts)
{
	struct span id = new_operation_id(request);

	facts.created_ms = request->now_ms;
	if (make_room(request) < 0)
		return -EPERM;
	if (store_put(request->transaction, &cloudmap_operation_kind, aws_key(request, id),
		    SPAN(""), cloudmap_operation_private(&facts, request->arena), STORE_ABSENT,
		    &request->err) < 0)
		return aws_fail_store(request);
	buffer_format(request->out, "{\"OperationId\":\"%.*s\"}", SPAN_ARGS(id));
	return 0;
}

/* ---- requests that were made before ---- */

struct span cloudmap_operation_request(struct aws_request *request, const char *member,
	enum operation_type type, struct span scope)
{
	struct span requested = json_get_text(request->input, member);
	_buffer_ struct buffer text = {0};
	_sigv4_hash_ struct sigv4_hash hash;
	unsigned char digest[SIGV4_HASH_SIZE];
	char hex[SIGV4_HEX_SIZE];

	sigv4_hash_open(&hash);
	if (requested.length == 0)
		return SPAN("");
	buffer_format(&text, "%s/%.*s/", cloudmap_operation_types[type], SPAN_ARGS(scope));
	buffer_add_span(&text, requested);
	sigv4_hash_digest(&hash, buffer_span(&text), digest);
	sigv4_hash_hex(digest, hex);
	return arena_format(request->arena, "%.*s", REQUEST_DIGITS, hex);
}

const struct store_object *cloudmap_operation_of_request(struct aws_request *request,
	struct span hashed)
{
	struct store_cursor cursor = {.view = request->view,
		.kind = &cloudmap_operation_kind,
		.index = OPERATION_BY_REQUEST,
		.prefix = aws_key(request, hashed),
		.exact = true};

	return hashed.length > 0 ? store_next(&cursor) : NULL;
}

int cloudmap_operation_answer(struct aws_request *request, const struct store_object *operation)
{
	buffer_format(request->out, "{\"OperationId\":\"%.*s\"}",
		SPAN_ARGS(operation_facts(operation)->id));
	return 0;
}

int cloudmap_operation_fail_duplicate(struct aws_request *request,
	const struct store_object *operation)
{
	struct json *extra = json_new_object(request->arena);
	struct span id = operation_facts(operation)->id;

	json_set_string(request->arena, extra, "DuplicateOperationId", id);
	aws_fail(request, "DuplicateRequest",
		"CreatorRequestId: was used by operation %.*s for something else; use another one",
		SPAN_ARGS(id));
	request->failure.extra = extra;
	return -EPERM;
}

/* ---- showing ---- */

static struct json *targets_of(struct aws_request *request, const struct operation_facts *facts)
{
	struct json *targets = json_new_object(request->arena);
	const struct {
		const char *name;
		struct span id;
	} rows[] = {
		{"INSTANCE", facts->instance_id},
		{"NAMESPACE", facts->namespace_id},
		{"SERVICE", facts->service_id},
	};

	for (size_t i = 0; i < LENGTH(rows); i++)
		if (rows[i].id.length > 0)
			json_set_string(request->arena, targets, rows[i].name, rows[i].id);
	return targets;
}

static struct span type_of(const struct store_object *operation)
{
	return span_of(cloudmap_operation_types[operation_facts(operation)->type]);
}

int cloudmap_operation_get(struct aws_request *request)
{
	struct span id = json_get_text(request->input, "OperationId");
	const struct store_object *operation =
		store_get(request->view, &cloudmap_operation_kind, aws_key(request, id));
	struct json *document;

	if (!operation)
		return aws_fail(request, "OperationNotFound",
			"Operation %.*s was not found; operations are kept for an hour",
			SPAN_ARGS(id));
	document = json_new_object(request->arena);
	json_set_string(request->arena, document, "Id", id);
	json_set_string(request->arena, document, "OwnerAccount", request->caller->account);
	json_set_string(request->arena, document, "Type", type_of(operation));
	json_set_string(request->arena, document, "Status", SPAN("SUCCESS"));
	json_set_time(request->arena, document, "CreateDate",
		operation_facts(operation)->created_ms);
	json_set_time(request->arena, document, "UpdateDate",
		operation_facts(operation)->created_ms);
	json_set(request->arena, document, "Targets",
		targets_of(request, operation_facts(operation)));
	buffer_add_string(request->out, "{\"Operation\":");
	json_write(document, request->out);
	buffer_add_char(request->out, '}');
	return 0;
}

static struct span namespace_of(const struct store_object *operation)
{
	return operation_facts(operation)->namespace_id;
}

static struct span service_of(const struct store_object *operation)
{
	return operation_facts(operation)->service_id;
}

static struct span status_of(const struct store_object *operation)
{
	(void)operation;
	return SPAN("SUCCESS");
}

static int64_t updated_ms(const struct store_object *operation)
{
	return operation_facts(operation)->created_ms;
}

static void write_summary(struct aws_request *request, const struct store_object *operation)
{
	buffer_format(request->out, "{\"Id\":\"%.*s\",\"Status\":\"SUCCESS\"}",
		SPAN_ARGS(operation_facts(operation)->id));
}

/* The newest first. However few a filter leaves, there are never more than OPERATIONS_MAX to look at. */
int cloudmap_operation_list(struct aws_request *request)
{
	enum { TEXT = FILTER_BIT(FILTER_EQ) | FILTER_BIT(FILTER_IN) };
	static const char *const statuses[] = {"SUBMITTED", "PENDING", "SUCCESS", "FAIL", NULL};
	static const char *const types[] = {"CREATE_NAMESPACE", "DELETE_NAMESPACE",
		"UPDATE_NAMESPACE", "UPDATE_SERVICE", "REGISTER_INSTANCE", "DEREGISTER_INSTANCE",
		NULL};
	static const struct filter_row rows[] = {
		{.name = "NAMESPACE_ID", .conditions = TEXT, .text = namespace_of},
		{.name = "SERVICE_ID", .conditions = TEXT, .text = service_of},
		{.name = "STATUS", .conditions = TEXT, .text = status_of, .values = statuses},
		{.name = "TYPE", .conditions = TEXT, .text = type_of, .values = types},
		{.name = "UPDATE_DATE",
			.conditions = FILTER_BIT(FILTER_BETWEEN),
			.time_ms = updated_ms},
	};
	struct store_cursor cursor = {.view = request->view,
		.kind = &cloudmap_operation_kind,
		.index = OPERATION_BY_TIME,
		.prefix = aws_key_prefix(request),
		.descending = true};
	struct filters filters;

	if (cloudmap_filters_read(request, rows, LENGTH(rows), &filters) < 0)
		return -EPERM;
	return cloudmap_listing_answer(request, "Operations", &cursor, &filters, write_summary);
}

/* ---- forgetting ---- */

/* A key of this controller is an account and region, so that one deadline waits for all operations. */
struct sweep {
	struct span prefix;
	int64_t now_ms;
};

static const struct store_object *oldest_operation(const struct store_view *view,
	struct span prefix)
{
	struct store_cursor cursor = {.view = view,
		.kind = &cloudmap_operation_kind,
		.index = OPERATION_BY_TIME,
		.prefix = prefix};

	return store_next(&cursor);
}

static int64_t end_of(const struct store_object *operation)
{
	return operation_facts(operation)->created_ms + OPERATION_KEPT_MS;
}

static int remove_old(struct store_transaction *transaction, void *context, struct err *err)
{
	struct sweep *sweep = context;

	for (size_t i = 0; i < OPERATIONS_AT_ONCE; i++) {
		const struct store_object *operation =
			oldest_operation(store_head(transaction), sweep->prefix);
		int code;

		if (!operation || end_of(operation) > sweep->now_ms)
			return 0;
		code = store_delete(transaction, &cloudmap_operation_kind, operation->key,
			operation->revision, err);
		if (code < 0)
			return code;
	}
	return 0;
}

static int reconcile(struct controller_call *call, struct span key, struct err *err)
{
	struct sweep sweep = {key, runner_wall_ms(call->runner)};

	for (;;) {
		_view_ struct store_view *view = store_view_open(call->store);
		const struct store_object *operation = oldest_operation(view, sweep.prefix);
		int code;

		if (!operation)
			return 0;
		if (end_of(operation) > sweep.now_ms) {
			call->again_at_ms = end_of(operation);
			return 0;
		}
		code = control_write(call->runner, call->store, remove_old, &sweep, NULL, err);
		if (code < 0)
			return code;
	}
}

static void map_operation(const struct store_change *change, void *context,
	struct controller_keys *keys)
{
	const struct store_object *operation = change->after;

	(void)context;
	if (operation)
		controller_keys_add(keys,
			(struct span){operation->key.data,
				operation->key.length - aws_name_of_key(operation->key).length});
}

static const struct controller_watch watches[] = {
	{.kind = &cloudmap_operation_kind, .map = map_operation}};

const struct controller_row cloudmap_controllers[] = {
	{.name = "cloudmap-operation-retention",
		.watches = watches,
		.watch_count = LENGTH(watches),
		.reconcile = reconcile},
};
const size_t cloudmap_controller_count = LENGTH(cloudmap_controllers);
