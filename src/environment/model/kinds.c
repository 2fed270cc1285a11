/* Environments, versions, deployments, placements: facts and indexes; see the header. */
#include "environment/model/kinds.h"

#include "base/memory.h"
#include "delivery/cluster_ref.h"
#include "delivery/notice.h"
#include "delivery/observe/observe.h"
#include "store/fact_table.h"

/* ---- names ---- */

#define X(name) #name,
static const char *const type_names[] = {ENVIRONMENT_TYPES(X)};
static const char *const status_names[] = {ENVIRONMENT_STATUSES(X)};
static const char *const on_failure_names[] = {ENVIRONMENT_ON_FAILURES(X)};
static const char *const intent_names[] = {ENVIRONMENT_INTENTS(X)};
static const char *const run_status_names[] = {ENVIRONMENT_RUN_STATUSES(X)};
#undef X
#define X(name, text) text,
static const char *const deployment_status_names[] = {ENVIRONMENT_DEPLOYMENT_STATUSES(X)};
static const char *const deployment_type_names[] = {ENVIRONMENT_DEPLOYMENT_TYPES(X)};
#undef X

const char *environment_type_name(enum environment_type type)
{
	return type_names[type];
}

const char *environment_status_name(enum environment_status status)
{
	return status_names[status];
}

const char *environment_deployment_status_name(enum environment_deployment_status status)
{
	return deployment_status_names[status];
}

const char *environment_deployment_type_name(enum environment_deployment_type type)
{
	return deployment_type_names[type];
}

const char *environment_run_status_name(enum environment_run_status status)
{
	return run_status_names[status];
}

/* ---- the automaton of a deployment ---- */

#define TO(status) (1U << ENVIRONMENT_DEPLOYMENT_##status)
#define RUNNING (TO(in_progress) | TO(unhealthy) | TO(blocked))
#define AFTER_RUNNING (TO(completed) | TO(to_be_stopped) | TO(timed_out))

static const unsigned arrows[ENVIRONMENT_DEPLOYMENT_STATUS_COUNT] = {
	[ENVIRONMENT_DEPLOYMENT_pending] = TO(pending) | TO(in_progress) | TO(canceled),
	[ENVIRONMENT_DEPLOYMENT_in_progress] = RUNNING | AFTER_RUNNING,
	[ENVIRONMENT_DEPLOYMENT_unhealthy] = RUNNING | AFTER_RUNNING,
	[ENVIRONMENT_DEPLOYMENT_blocked] = RUNNING | AFTER_RUNNING,
	[ENVIRONMENT_DEPLOYMENT_to_be_stopped] = TO(to_be_stopped) | TO(stopped),
};

bool environment_deployment_may_become(enum environment_deployment_status from,
	enum environment_deployment_status to)
{
	return arrows[from] & (1U << to);
}

bool environment_deployment_has_ended(enum environment_deployment_status status)
{
	return arrows[status] == 0;
}

/* ---- keys ---- */

struct span environment_key(struct arena *arena, struct span account, struct span name)
{
	return arena_format(arena, "%.*s/%.*s", SPAN_ARGS(account), SPAN_ARGS(name));
}

struct span environment_child_key(struct arena *arena, struct span environment, struct span id)
{
	return arena_format(arena, "%.*s/%.*s", SPAN_ARGS(environment), SPAN_ARGS(id));
}

struct span environment_placement_key(struct arena *arena, struct span environment,
	struct cluster_ref cluster, struct span instance)
{
	return arena_format(arena, "%.*s/%.*s/%.*s", SPAN_ARGS(environment),
		SPAN_ARGS(cluster.text), SPAN_ARGS(instance));
}

struct span environment_run_key(struct arena *arena, struct span environment, int64_t due_ms)
{
	return arena_format(arena, "%.*s/%015lld", SPAN_ARGS(environment), (long long)due_ms);
}

/* Both parts of a key at its n-th slash. */
static bool split_at_slash(struct span key, unsigned number, struct span *ret_left,
	struct span *ret_right)
{
	for (size_t i = 0; i < key.length; i++)
		if (key.data[i] == '/' && --number == 0) {
			*ret_left = (struct span){key.data, i};
			*ret_right = (struct span){key.data + i + 1, key.length - i - 1};
			return true;
		}
	return false;
}

struct span environment_of_child_key(struct span key)
{
	struct span environment = key, rest;

	split_at_slash(key, 2, &environment, &rest);
	return environment;
}

struct span environment_name_of_key(struct span environment)
{
	struct span account, name = environment;

	split_at_slash(environment, 1, &account, &name);
	return name;
}

/* ---- facts ---- */

static const struct fact_row environment_rows[] = {
	FACT_NAMED(environment_facts, type, "type", type_names),
	FACT_NAMED(environment_facts, status, "status", status_names),
	FACT(FACT_FLAG, environment_facts, terminate, "terminate"),
	FACT(FACT_TEXT, environment_facts, latest, "latest"),
	FACT(FACT_TEXT, environment_facts, target, "target"),
	FACT(FACT_TEXT, environment_facts, completed, "completed"),
	FACT(FACT_TEXT, environment_facts, previous, "previous"),
	FACT(FACT_TEXT, environment_facts, in_progress, "inProgress"),
	FACT(FACT_TEXT, environment_facts, pending, "pending"),
	FACT(FACT_TEXT, environment_facts, cluster_refs, "places"),
	FACT(FACT_TEXT, environment_facts, claims_on, "claimsOn"),
	FACT(FACT_TEXT, environment_facts, attributes, "attributes"),
	FACT(FACT_FLAG, environment_facts, unhealthy, "unhealthy"),
	FACT(FACT_TEXT, environment_facts, reserved, "reserved"),
	FACT(FACT_NUMBER, environment_facts, version_count, "versions"),
	FACT(FACT_NUMBER, environment_facts, deployment_count, "deployments"),
	FACT(FACT_NUMBER, environment_facts, created_ms, "created"),
	FACT(FACT_NUMBER, environment_facts, updated_ms, "updated"),
	FACT(FACT_NUMBER, environment_facts, active_ms, "active"),
	FACT(FACT_NUMBER, environment_facts, notice_count, "notices"),
	FACT(FACT_TEXT, environment_facts, tokens, "tokens"),
	FACT(FACT_TEXT, environment_facts, token_hashes, "tokenHashes"),
	FACT(FACT_TEXT, environment_facts, token_versions, "tokenVersions"),
};

static const struct fact_row version_rows[] = {
	FACT(FACT_NUMBER, environment_version_facts, number, "number"),
	FACT(FACT_TEXT, environment_version_facts, cluster_ref, "place"),
	FACT(FACT_TEXT, environment_version_facts, task_definition, "taskDefinition"),
	FACT(FACT_TEXT, environment_version_facts, role, "role"),
	FACT(FACT_TEXT, environment_version_facts, target, "target"),
	FACT(FACT_TEXT, environment_version_facts, attributes, "attributes"),
	FACT(FACT_NUMBER, environment_version_facts, minimum_healthy, "minimumHealthy"),
	FACT(FACT_FLAG, environment_version_facts, minimum_requested, "minimumGiven"),
	FACT(FACT_FLAG, environment_version_facts, surge, "surge"),
	FACT(FACT_NUMBER, environment_version_facts, maximum_over, "maximumOver"),
	FACT(FACT_NUMBER, environment_version_facts, canary_instances, "canaryInstances"),
	FACT(FACT_NUMBER, environment_version_facts, canary_bake_ms, "canaryBake"),
	FACT(FACT_NUMBER, environment_version_facts, timeout_ms, "timeout"),
	FACT(FACT_NUMBER, environment_version_facts, warm_up_ms, "warmUp"),
	FACT(FACT_NUMBER, environment_version_facts, drain_timeout_ms, "drainTimeout"),
	FACT(FACT_NUMBER, environment_version_facts, unreachable_ms, "unreachable"),
	FACT(FACT_NUMBER, environment_version_facts, priority, "priority"),
	FACT_NAMED(environment_version_facts, on_failure, "onFailure", on_failure_names),
	FACT(FACT_TEXT, environment_version_facts, token, "token"),
	FACT(FACT_TEXT, environment_version_facts, token_hash, "tokenHash"),
	FACT(FACT_NUMBER, environment_version_facts, created_ms, "created"),
};

static const struct fact_row deployment_rows[] = {
	FACT(FACT_NUMBER, environment_deployment_facts, number, "number"),
	FACT_NAMED(environment_deployment_facts, type, "type", deployment_type_names),
	FACT_NAMED(environment_deployment_facts, status, "status", deployment_status_names),
	FACT(FACT_FLAG, environment_deployment_facts, rollback, "rollback"),
	FACT(FACT_TEXT, environment_deployment_facts, version, "version"),
	FACT(FACT_TEXT, environment_deployment_facts, previous, "previous"),
	FACT(FACT_TEXT, environment_deployment_facts, created_by, "createdBy"),
	FACT(FACT_TEXT, environment_deployment_facts, reason, "reason"),
	FACT(FACT_TEXT, environment_deployment_facts, token, "token"),
	FACT(FACT_TEXT, environment_deployment_facts, token_hash, "tokenHash"),
	FACT(FACT_NUMBER, environment_deployment_facts, created_ms, "created"),
	FACT(FACT_NUMBER, environment_deployment_facts, started_ms, "started"),
	FACT(FACT_NUMBER, environment_deployment_facts, ended_ms, "ended"),
	FACT(FACT_NUMBER, environment_deployment_facts, canary_ms, "canary"),
	FACT(FACT_FLAG, environment_deployment_facts, canary_proved, "canaryProved"),
	FACT(FACT_NUMBER, environment_deployment_facts, total, "total"),
	FACT(FACT_NUMBER, environment_deployment_facts, done, "done"),
};

static const struct fact_row placement_rows[] = {
	FACT(FACT_TEXT, environment_placement_facts, cluster_ref, "place"),
	FACT(FACT_TEXT, environment_placement_facts, instance, "instance"),
	FACT(FACT_TEXT, environment_placement_facts, version, "version"),
	FACT(FACT_NUMBER, environment_placement_facts, attempt, "attempt"),
	FACT(FACT_NUMBER, environment_placement_facts, failures, "failures"),
	FACT(FACT_NUMBER, environment_placement_facts, until_ms, "until"),
	FACT(FACT_FLAG, environment_placement_facts, refused_for_room, "refusedForRoom"),
	FACT_NAMED(environment_placement_facts, intent, "intent", intent_names),
	FACT(FACT_NUMBER, environment_placement_facts, intent_ms, "intentAt"),
	FACT(FACT_NUMBER, environment_placement_facts, epoch, "epoch"),
	FACT(FACT_NUMBER, environment_placement_facts, seen, "stateVersion"),
	FACT(FACT_TEXT, environment_placement_facts, deployment, "deployment"),
	FACT(FACT_TEXT, environment_placement_facts, task, "task"),
};

static const struct fact_row run_rows[] = {
	FACT(FACT_NUMBER, environment_run_facts, due_ms, "due"),
	FACT(FACT_NUMBER, environment_run_facts, last_ms, "last"),
	FACT(FACT_NUMBER, environment_run_facts, count, "count"),
	FACT_NAMED(environment_run_facts, status, "status", run_status_names),
	FACT(FACT_TEXT, environment_run_facts, version, "version"),
	FACT(FACT_TEXT, environment_run_facts, deployment, "deployment"),
	FACT(FACT_TEXT, environment_run_facts, cluster_ref, "place"),
	FACT(FACT_TEXT, environment_run_facts, tasks, "tasks"),
	FACT(FACT_NUMBER, environment_run_facts, epoch, "epoch"),
	FACT(FACT_NUMBER, environment_run_facts, intended_ms, "intendedAt"),
	FACT(FACT_NUMBER, environment_run_facts, started_ms, "startedAt"),
	FACT(FACT_NUMBER, environment_run_facts, ended_ms, "endedAt"),
	FACT(FACT_NUMBER, environment_run_facts, attempt, "attempt"),
	FACT(FACT_NUMBER, environment_run_facts, until_ms, "until"),
};

static const struct kind_rows {
	const struct store_kind *kind;
	const struct fact_row *rows;
	size_t count;
} kind_rows[] = {
	{&environment_kind, environment_rows, LENGTH(environment_rows)},
	{&environment_version_kind, version_rows, LENGTH(version_rows)},
	{&environment_deployment_kind, deployment_rows, LENGTH(deployment_rows)},
	{&environment_placement_kind, placement_rows, LENGTH(placement_rows)},
	{&environment_run_kind, run_rows, LENGTH(run_rows)},
};

static const struct kind_rows *rows_of(const struct store_kind *kind)
{
	for (size_t i = 0; i < LENGTH(kind_rows); i++)
		if (kind_rows[i].kind == kind)
			return &kind_rows[i];
	return NULL;
}

static int read_rows(const struct store_object *object, void *facts, struct arena *scratch,
	struct err *err)
{
	const struct kind_rows *rows = rows_of(object->kind);
	struct json *private_;
	int code = json_parse(object->private_, scratch, &private_, err);

	if (code < 0)
		return code;
	return fact_table_read(rows->rows, rows->count, private_, facts, err);
}

static int bad_key(const struct store_object *object, struct err *err)
{
	return err_set(err, -EINVAL, "'%.*s' is not the key of a %s", SPAN_ARGS(object->key),
		object->kind->name);
}

static int extract_environment(const struct store_object *object, void *facts,
	struct arena *scratch, struct err *err)
{
	struct environment_facts *environment = facts;

	if (!split_at_slash(object->key, 1, &environment->account, &environment->name))
		return bad_key(object, err);
	return read_rows(object, facts, scratch, err);
}

/* The order of names does not matter. */
static uint64_t number_of_names(const struct json *names, uint64_t kind)
{
	uint64_t number = 0;

	JSON_EACH_ITEM (names, name)
		number += span_hash(json_text(name)) * kind;
	return number;
}

static uint64_t number_of_network(const struct json *network)
{
	struct span requested = json_get_text(network, "assignPublicIp");

	if (!json_is(network, JSON_OBJECT))
		return 0;
	return 1 + number_of_names(json_get(network, "subnets"), 2) +
	       number_of_names(json_get(network, "securityGroups"), 3) +
	       (requested.data && span_is(requested, "ENABLED"));
}

static int extract_version(const struct store_object *object, void *facts, struct arena *scratch,
	struct err *err)
{
	struct environment_version_facts *version = facts;
	struct json *document;
	int code;

	if (!split_at_slash(object->key, 2, &version->environment, &version->id))
		return bad_key(object, err);
	code = json_parse(object->api, scratch, &document, err);
	if (code < 0)
		return code;
	version->network =
		number_of_network(json_path(document, "networkConfiguration.awsvpcConfiguration"));
	return read_rows(object, facts, scratch, err);
}

static int extract_deployment(const struct store_object *object, void *facts, struct arena *scratch,
	struct err *err)
{
	struct environment_deployment_facts *deployment = facts;

	if (!split_at_slash(object->key, 2, &deployment->environment, &deployment->id))
		return bad_key(object, err);
	return read_rows(object, facts, scratch, err);
}

static int extract_placement(const struct store_object *object, void *facts, struct arena *scratch,
	struct err *err)
{
	struct environment_placement_facts *placement = facts;
	struct span rest;

	if (!split_at_slash(object->key, 2, &placement->environment, &rest))
		return bad_key(object, err);
	return read_rows(object, facts, scratch, err);
}

static int extract_run(const struct store_object *object, void *facts, struct arena *scratch,
	struct err *err)
{
	struct environment_run_facts *run = facts;
	struct span rest;

	if (!split_at_slash(object->key, 2, &run->environment, &rest))
		return bad_key(object, err);
	return read_rows(object, facts, scratch, err);
}

int environment_put(struct store_transaction *transaction, const struct store_kind *kind,
	struct span key, struct span api, const void *facts, uint64_t expected, struct err *err)
{
	const struct kind_rows *rows = rows_of(kind);
	struct arena *arena = store_transaction_arena(transaction);
	struct json *private_ = json_new_object(arena);

	fact_table_write(rows->rows, rows->count, facts, arena, private_);
	return store_put(transaction, kind, key, api, json_to_text(private_, arena), expected, err);
}

/* ---- indexes ---- */

static void add_parts(struct span list, char separator, struct store_index_writer *writer)
{
	struct span part;

	while (span_next_part(&list, separator, &part))
		store_index_add(writer, part);
}

static void write_type(const struct store_object *object, struct store_index_writer *writer)
{
	const struct environment_facts *facts = environment_facts(object);

	store_index_add_format(writer, "%.*s/%s", SPAN_ARGS(facts->account),
		type_names[facts->type]);
}

static void write_status(const struct store_object *object, struct store_index_writer *writer)
{
	const struct environment_facts *facts = environment_facts(object);

	store_index_add_format(writer, "%.*s/%s", SPAN_ARGS(facts->account),
		status_names[facts->status]);
}

static void write_health(const struct store_object *object, struct store_index_writer *writer)
{
	const struct environment_facts *facts = environment_facts(object);

	store_index_add_format(writer, "%.*s/%s", SPAN_ARGS(facts->account),
		facts->unhealthy ? "unhealthy" : "healthy");
}

static void write_cluster_refs(const struct store_object *object, struct store_index_writer *writer)
{
	add_parts(environment_facts(object)->cluster_refs, ' ', writer);
}

/* Requests name a cluster, or have its ARN with account and region; neither contains the target. */
static void write_clusters(const struct store_object *object, struct store_index_writer *writer)
{
	const struct environment_facts *facts = environment_facts(object);
	struct span rest = facts->cluster_refs, part;
	struct cluster_ref ref;

	while (span_next_part(&rest, ' ', &part)) {
		if (!cluster_ref_parse(part, &ref))
			continue;
		store_index_add_format(writer, "%.*s/%.*s", SPAN_ARGS(facts->account),
			SPAN_ARGS(ref.scope));
		store_index_add_format(writer, "%.*s/%.*s", SPAN_ARGS(facts->account),
			SPAN_ARGS(ref.cluster));
	}
}

static void write_targets(const struct store_object *object, struct store_index_writer *writer)
{
	const struct environment_facts *facts = environment_facts(object);
	struct span rest = facts->cluster_refs, part;
	struct cluster_ref ref;

	while (span_next_part(&rest, ' ', &part))
		if (cluster_ref_parse(part, &ref))
			store_index_add_format(writer, "%.*s/%.*s", SPAN_ARGS(facts->account),
				SPAN_ARGS(ref.target));
}

static void write_claims(const struct store_object *object, struct store_index_writer *writer)
{
	add_parts(environment_facts(object)->claims_on, ';', writer);
}

static void write_attributes(const struct store_object *object, struct store_index_writer *writer)
{
	const struct environment_facts *facts = environment_facts(object);
	struct span rest = facts->attributes, attribute;

	while (span_next_part(&rest, ';', &attribute))
		if (attribute.length > 0)
			store_index_add_format(writer, "%.*s/%.*s", SPAN_ARGS(facts->account),
				SPAN_ARGS(attribute));
}

static void write_selectors(const struct store_object *object, struct store_index_writer *writer)
{
	const struct environment_facts *facts = environment_facts(object);
	struct span rest = facts->attributes, selector = SPAN(""),
		    cluster_refs = facts->cluster_refs, cluster_ref;

	if (facts->type == ENVIRONMENT_TYPE_Daemon)
		while (selector.length == 0 && span_next_part(&rest, ';', &selector))
			continue;
	while (span_next_part(&cluster_refs, ' ', &cluster_ref))
		store_index_add_format(writer, "%.*s %.*s", SPAN_ARGS(cluster_ref),
			SPAN_ARGS(selector));
}

static const struct store_index environment_indexes[ENVIRONMENT_INDEX_COUNT] = {
	[ENVIRONMENT_BY_TYPE] = {.name = "type", .write = write_type},
	[ENVIRONMENT_BY_STATUS] = {.name = "status", .write = write_status},
	[ENVIRONMENT_BY_HEALTH] = {.name = "health", .write = write_health},
	[ENVIRONMENT_BY_CLUSTER_REF] = {.name = "place", .write = write_cluster_refs},
	[ENVIRONMENT_BY_CLUSTER] = {.name = "cluster", .write = write_clusters},
	[ENVIRONMENT_BY_TARGET] = {.name = "target", .write = write_targets},
	[ENVIRONMENT_BY_CLAIM] = {.name = "claim", .write = write_claims},
	[ENVIRONMENT_BY_ATTRIBUTE] = {.name = "attribute", .write = write_attributes},
	[ENVIRONMENT_BY_SELECTOR] = {.name = "selector", .write = write_selectors},
};

static void write_version_number(const struct store_object *object,
	struct store_index_writer *writer)
{
	const struct environment_version_facts *facts = environment_version_facts(object);

	store_index_add_format(writer, "%.*s/%010lld", SPAN_ARGS(facts->environment),
		(long long)facts->number);
}

static void add_tokens(struct span environment, struct span tokens,
	struct store_index_writer *writer)
{
	while (tokens.length > 0) {
		struct span token = tokens, rest = {NULL, 0};

		if (!span_split(tokens, ' ', &token, &rest))
			rest = (struct span){NULL, 0};
		store_index_add_format(writer, "%.*s/%.*s", SPAN_ARGS(environment),
			SPAN_ARGS(token));
		tokens = rest;
	}
}

static void write_version_token(const struct store_object *object,
	struct store_index_writer *writer)
{
	add_tokens(environment_version_facts(object)->environment,
		environment_version_facts(object)->token, writer);
}

static const struct store_index version_indexes[ENVIRONMENT_VERSION_INDEX_COUNT] = {
	[ENVIRONMENT_VERSION_BY_NUMBER] = {.name = "number", .write = write_version_number},
	[ENVIRONMENT_VERSION_BY_TOKEN] = {.name = "token", .write = write_version_token},
};

static void write_deployment_number(const struct store_object *object,
	struct store_index_writer *writer)
{
	const struct environment_deployment_facts *facts = environment_deployment_facts(object);

	store_index_add_format(writer, "%.*s/%010lld", SPAN_ARGS(facts->environment),
		(long long)facts->number);
}

static void write_deployment_status(const struct store_object *object,
	struct store_index_writer *writer)
{
	const struct environment_deployment_facts *facts = environment_deployment_facts(object);

	store_index_add_format(writer, "%.*s/%s/%010lld", SPAN_ARGS(facts->environment),
		deployment_status_names[facts->status], (long long)facts->number);
}

static void write_deployment_of_account(const struct store_object *object,
	struct store_index_writer *writer)
{
	const struct environment_deployment_facts *facts = environment_deployment_facts(object);
	struct span account, name;

	if (split_at_slash(facts->environment, 1, &account, &name))
		store_index_add_format(writer, "%.*s/%s/%015lld", SPAN_ARGS(account),
			deployment_status_names[facts->status], (long long)facts->created_ms);
}

static void write_deployment_token(const struct store_object *object,
	struct store_index_writer *writer)
{
	add_tokens(environment_deployment_facts(object)->environment,
		environment_deployment_facts(object)->token, writer);
}

static void write_deployment_open(const struct store_object *object,
	struct store_index_writer *writer)
{
	const struct environment_deployment_facts *facts = environment_deployment_facts(object);

	if (!environment_deployment_has_ended(facts->status))
		store_index_add(writer, facts->environment);
}

static const struct store_index deployment_indexes[ENVIRONMENT_DEPLOYMENT_INDEX_COUNT] = {
	[ENVIRONMENT_DEPLOYMENT_BY_NUMBER] = {.name = "number", .write = write_deployment_number},
	[ENVIRONMENT_DEPLOYMENT_BY_STATUS] = {.name = "status", .write = write_deployment_status},
	[ENVIRONMENT_DEPLOYMENT_OF_ACCOUNT] = {.name = "account",
		.write = write_deployment_of_account},
	[ENVIRONMENT_DEPLOYMENT_BY_TOKEN] = {.name = "token", .write = write_deployment_token},
	[ENVIRONMENT_DEPLOYMENT_OPEN] = {.name = "open", .write = write_deployment_open},
};

static void write_run_open(const struct store_object *object, struct store_index_writer *writer)
{
	const struct environment_run_facts *facts = environment_run_facts(object);

	if (facts->status == ENVIRONMENT_RUN_intended || facts->status == ENVIRONMENT_RUN_started)
		store_index_add(writer, facts->environment);
}

static const struct store_index run_indexes[ENVIRONMENT_RUN_INDEX_COUNT] = {
	[ENVIRONMENT_RUN_OPEN] = {.name = "open", .write = write_run_open},
};

/* ---- kinds ---- */

const struct store_kind environment_kind = {
	.name = "daemon.environment",
	.facts_size = sizeof(struct environment_facts),
	.extract = extract_environment,
	.indexes = environment_indexes,
	.index_count = LENGTH(environment_indexes),
};

const struct store_kind environment_version_kind = {
	.name = "daemon.version",
	.facts_size = sizeof(struct environment_version_facts),
	.extract = extract_version,
	.indexes = version_indexes,
	.index_count = LENGTH(version_indexes),
};

const struct store_kind environment_deployment_kind = {
	.name = "daemon.deployment",
	.facts_size = sizeof(struct environment_deployment_facts),
	.extract = extract_deployment,
	.indexes = deployment_indexes,
	.index_count = LENGTH(deployment_indexes),
};

const struct store_kind environment_placement_kind = {
	.name = "daemon.placement",
	.facts_size = sizeof(struct environment_placement_facts),
	.extract = extract_placement,
};

const struct store_kind environment_run_kind = {
	.name = "daemon.run",
	.facts_size = sizeof(struct environment_run_facts),
	.extract = extract_run,
	.indexes = run_indexes,
	.index_count = LENGTH(run_indexes),
};

const struct store_kind *const daemon_kinds[] = {
	&environment_kind,
	&environment_version_kind,
	&environment_deployment_kind,
	&environment_placement_kind,
	&environment_run_kind,
	&observe_event_kind,
	&notice_kind,
};
const size_t daemon_kind_count = LENGTH(daemon_kinds);
