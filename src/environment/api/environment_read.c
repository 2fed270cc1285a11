/* Environments and their versions as clients see them. Counts are those of this moment. */
#include "aws/arn.h"
#include "aws/page.h"
#include "aws/targets.h"
#include "delivery/cluster_ref.h"
#include "delivery/observe/observe.h"
#include "environment/api/environment_tasks.h"
#include "environment/model/deployment_states.h"
#include "environment/model/environment_type.h"
#include "environment/model/fail.h"
#include "environment/model/matching.h"
#include "environment/model/quarantine_guard.h"
#include "environment/model/runs.h"
#include "environment/model/version_builder.h"

#define PAGE_DEFAULT 100
#define PAGE_MAX 100
#define SCAN_MAX 1000 /* environments that filters may leave out on one page */

/* ---- documents ---- */

static struct json *counts_document(struct arena *arena, const struct environment_counts *counts)
{
	struct json *created = json_new_object(arena);

	json_set_integer(arena, created, "desired", counts->total);
	json_set_integer(arena, created, "active", counts->active);
	json_set_integer(arena, created, "launching", counts->launching);
	json_set_integer(arena, created, "unhealthy", counts->unhealthy);
	json_set_integer(arena, created, "missing", counts->missing);
	json_set_integer(arena, created, "outdated", counts->outdated);
	json_set_integer(arena, created, "total", counts->total);
	json_set_integer(arena, created, "unreachable", counts->unreachable);
	return created;
}

static void count(struct aws_request *request, const struct store_object *environment,
	struct environment_counts *ret_counts)
{
	const struct daemon_context *context = request->context;

	*ret_counts = (struct environment_counts){0};
	if (context && context->count)
		context->count(context->count_context, environment->key, ret_counts);
}

static const char *health_of(const struct environment_counts *counts)
{
	return environment_is_unhealthy(counts) ? "unhealthy" : "healthy";
}

static void set_text(struct arena *arena, struct json *object, const char *name, struct span text)
{
	if (text.length > 0)
		json_set_string(arena, object, name, text);
}

static void set_deployment(struct aws_request *request, const struct store_object *environment,
	struct json *object, const char *name, struct span id)
{
	const struct store_object *deployment =
		environment_deployment_of(request->view, request->arena, environment->key, id);

	if (deployment)
		json_set(request->arena, object, name,
			environment_deployment_document(request->view, request->arena, deployment));
}

static bool is_damaged(struct aws_request *request, const struct store_object *environment)
{
	const struct daemon_context *context = request->context;

	return context && context->store &&
	       environment_is_damaged(context->store, environment->key);
}

/* The service of a remote cluster can be unknown while the cluster is known: permissions for both differ. */
static void inspect_service(struct aws_request *request, const struct store_object *environment,
	struct cluster_ref cluster, struct observe_info *info)
{
	const struct daemon_context *context = request->context;
	const struct environment_facts *facts = environment_facts(environment);
	struct observe_service_info service;

	if (facts->type != ENVIRONMENT_TYPE_Service)
		return;
	observe_get_service(context->state, cluster,
		environment_service_name(request->arena, facts->name), request->arena, &service);
	if (!service.known && !service.error[0])
		return;
	info->stale = service.stale;
	memcpy(info->error, service.error, sizeof(info->error));
}

/* How well the clusters are known that it is in, and what is wrong with that, with its deployment or with its manager. */
static void set_input(struct aws_request *request, const struct store_object *environment,
	struct json *object)
{
	const struct daemon_context *context = request->context;
	struct span rest = environment_facts(environment)->cluster_refs,
		    reason = json_text(json_path(object, "activeDeployment.statusReason")),
		    trouble = SPAN("");
	struct cluster_ref cluster;
	struct observe_info info;
	bool stale = false;

	while (context && context->state && environment_next_cluster(&rest, &cluster)) {
		if (!cluster_ref_is_remote(cluster) ||
			!observe_get_info(context->state, cluster, &info))
			continue;
		if (!info.stale)
			inspect_service(request, environment, cluster, &info);
		stale |= info.stale;
		if (info.stale && info.error[0])
			reason = arena_copy_span(request->arena, span_of(info.error));
	}
	if (stale)
		json_set_bool(request->arena, object, "stale", true);
	/* The age of the observed state that the answer contains. */
	if (context && context->find_trouble && !is_damaged(request, environment))
		trouble = context->find_trouble(context->count_context, environment->key,
			request->arena);
	if (trouble.length > 0)
		reason = trouble;
	if (reason.length > 0)
		json_set_string(request->arena, object, "statusReason", reason);
}

static struct json *environment_document(struct aws_request *request,
	const struct store_object *environment, const struct environment_counts *counts)
{
	const struct environment_facts *facts = environment_facts(environment);
	struct arena *arena = request->arena;
	struct json *created = json_new_object(arena);

	json_set_string(arena, created, "name", facts->name);
	json_set_string(arena, created, "environmentType",
		span_of(environment_type_name(facts->type)));
	json_set_string(arena, created, "status", span_of(environment_status_name(facts->status)));
	json_set_string(arena, created, "health", span_of(health_of(counts)));
	if (is_damaged(request, environment))
		json_set_string(arena, created, "statusReason", SPAN("QUARANTINED"));
	json_set_string(arena, created, "latestVersion", facts->latest);
	set_text(arena, created, "activeVersion", facts->target);
	set_text(arena, created, "lastCompletedVersion", facts->completed);
	json_set_time(arena, created, "createdAt", facts->created_ms);
	json_set_time(arena, created, "updatedAt", facts->updated_ms);
	json_set(arena, created, "counts", counts_document(arena, counts));
	set_deployment(request, environment, created, "activeDeployment",
		facts->in_progress.length > 0 ? facts->in_progress : facts->pending);
	set_input(request, environment, created);
	return created;
}

/* ---- environments ---- */

/* In the cluster of the version that is wanted now. */
static struct span service_arn(struct aws_request *request, const struct store_object *environment,
	const struct store_object *latest)
{
	const struct environment_facts *facts = environment_facts(environment);
	const struct store_object *target = store_get(request->view, &environment_version_kind,
		environment_child_key(request->arena, environment->key, facts->target));
	struct cluster_ref ref;

	if (!cluster_ref_parse(environment_version_facts(target ? target : latest)->cluster_ref,
		    &ref))
		return SPAN("");
	return arena_format(request->arena, "arn:aws:ecs:%.*s:%.*s:service/%.*s/%.*s",
		SPAN_ARGS(ref.region), SPAN_ARGS(ref.account), SPAN_ARGS(ref.cluster),
		SPAN_ARGS(environment_service_name(request->arena, facts->name)));
}

int environment_get(struct aws_request *request)
{
	const struct store_object *environment, *version;
	/* Of the latest version. */
	static const char *const shown[] = {"taskDefinition", "instanceGroup", "target", "role",
		"deploymentConfiguration", "networkConfiguration", "priority", "description"};
	struct environment_counts counts;
	struct json *created, *configuration, *state;
	struct span token;

	if (environment_find(request, &environment) < 0 ||
		environment_version_find(request, environment,
			environment_facts(environment)->latest, &version) < 0)
		return -EPERM;
	count(request, environment, &counts);
	created = environment_document(request, environment, &counts);
	set_deployment(request, environment, created, "inProgressDeployment",
		environment_facts(environment)->in_progress);
	set_deployment(request, environment, created, "pendingDeployment",
		environment_facts(environment)->pending);
	if (json_parse(version->api, request->arena, &configuration, &request->err) < 0)
		return aws_fail_store(request);
	for (size_t i = 0; i < LENGTH(shown); i++)
		json_set(request->arena, created, shown[i], json_get(configuration, shown[i]));
	if (environment_tasks_state(request, environment, &state, &token) < 0)
		return -EPERM;
	json_set(request->arena, created, "currentState", state);
	if (token.length > 0)
		json_set_string(request->arena, created, "nextToken", token);
	if (environment_facts(environment)->type == ENVIRONMENT_TYPE_Cron)
		cron_show(request, environment, created);
	else if (environment_facts(environment)->type == ENVIRONMENT_TYPE_Service)
		json_set_string(request->arena, created, "serviceArn",
			service_arn(request, environment, version));
	json_write(created, request->out);
	return 0;
}

struct filters {
	struct span type, status, health, cluster, target, prefix;
	const struct json *attributes; /* texts, all of which are wanted; NULL */
};

/* The prefix in ENVIRONMENT_BY_CLUSTER for a name or ARN of a cluster; "": none. */
static struct span cluster_text(struct aws_request *request, struct span requested)
{
	struct span type, name;
	struct aws_arn arn;

	if (!requested.data)
		return SPAN_NONE;
	if (!aws_arn_looks_like(requested))
		return span_split(requested, '/', &type, &name) ? SPAN("") : requested;
	if (!aws_arn_parse(requested, &arn) || !span_is(arn.service, "ecs") ||
		!span_equal(arn.partition, aws_partition_of(arn.region)) ||
		!span_split(arn.resource, '/', &type, &name) || !span_is(type, "cluster"))
		return SPAN("");
	return arena_format(request->arena, "%.*s/%.*s/%.*s", SPAN_ARGS(arn.account),
		SPAN_ARGS(arn.region), SPAN_ARGS(name));
}

/* As places say it. */
static struct span target_text(struct span requested)
{
	return span_is(requested, AWS_TARGET_LOCAL) ? SPAN("") : requested;
}

/* "ACCOUNT/REGION/NAME" by the whole of it, or by its name. */
static bool is_cluster(struct span cluster, struct span wanted)
{
	struct span rest = cluster, name = cluster;

	while (span_next_part(&rest, '/', &name))
		continue;
	return span_equal(cluster, wanted) || span_equal(name, wanted);
}

/* In such a cluster of such a target, not in one of each. */
static bool is_at(struct aws_request *request, const struct environment_facts *facts,
	const struct filters *filters)
{
	struct span rest = facts->cluster_refs, part;
	struct cluster_ref ref;
	struct span wanted = cluster_text(request, filters->cluster);

	while (span_next_part(&rest, ' ', &part))
		if (cluster_ref_parse(part, &ref) &&
			(!filters->cluster.data || is_cluster(ref.scope, wanted)) &&
			(!filters->target.data ||
				span_equal(ref.target, target_text(filters->target))))
			return true;
	return false;
}

static bool has_attribute(const struct environment_facts *facts, struct span wanted)
{
	struct span rest = facts->attributes, part;

	while (span_next_part(&rest, ';', &part))
		if (span_equal(part, wanted))
			return true;
	return false;
}

static bool has_attributes(const struct environment_facts *facts, const struct json *wanted)
{
	JSON_EACH_ITEM (wanted, item)
		if (!has_attribute(facts, json_text(item)))
			return false;
	return true;
}

static bool passes(struct aws_request *request, const struct filters *filters,
	const struct store_object *environment, const struct environment_counts *counts)
{
	const struct environment_facts *facts = environment_facts(environment);

	return (!filters->type.data ||
		       span_is(filters->type, environment_type_name(facts->type))) &&
	       (!filters->status.data ||
		       span_is(filters->status, environment_status_name(facts->status))) &&
	       (!filters->health.data || span_is(filters->health, health_of(counts))) &&
	       ((!filters->cluster.data && !filters->target.data) ||
		       is_at(request, facts, filters)) &&
	       has_attributes(facts, filters->attributes);
}

/* The filter with the most selective index; the others are applied to each environment. */
static void choose_index(struct aws_request *request, const struct filters *filters,
	struct store_cursor *cursor)
{
	struct span account = request->caller->account;
	const struct {
		enum environment_index index;
		struct span text; /* SPAN_NONE: not asked for */
	} ways[] = {
		{ENVIRONMENT_BY_ATTRIBUTE, json_text(json_item(filters->attributes, 0))},
		{ENVIRONMENT_BY_CLUSTER, cluster_text(request, filters->cluster)},
		{ENVIRONMENT_BY_HEALTH, filters->health},
		{ENVIRONMENT_BY_STATUS, filters->status},
		{ENVIRONMENT_BY_TARGET, target_text(filters->target)},
		{ENVIRONMENT_BY_TYPE, filters->type},
	};

	for (size_t i = 0; !filters->prefix.data && i < LENGTH(ways); i++) {
		if (!ways[i].text.data)
			continue;
		cursor->exact = true;
		cursor->index = ways[i].index;
		cursor->prefix = environment_key(request->arena, account, ways[i].text);
		return;
	}
	cursor->prefix = environment_key(request->arena, account,
		filters->prefix.data ? filters->prefix : SPAN(""));
}

static int read_filters(struct aws_request *request, struct filters *ret_filters)
{
	const struct json *input = request->input, *attributes = json_get(input, "attributes");

	JSON_EACH_ITEM (attributes, item)
		if (!version_builder_is_attribute(json_text(item)))
			return aws_fail_input(request,
				"attribute: '%.*s' is neither NAME nor NAME=VALUE",
				SPAN_ARGS(json_text(item)));
	*ret_filters = (struct filters){.type = json_get_text(input, "type"),
		.status = json_get_text(input, "status"),
		.health = json_get_text(input, "health"),
		.cluster = json_get_text(input, "cluster"),
		.target = json_get_text(input, "target"),
		.prefix = json_get_text(input, "namePrefix"),
		.attributes = attributes};
	return 0;
}

static struct span filters_text(struct aws_request *request, const struct filters *filters)
{
	struct span attributes =
		filters->attributes ? json_to_text(filters->attributes, request->arena) : SPAN("");

	return arena_format(request->arena, "%.*s|%.*s|%.*s|%.*s|%.*s|%.*s|%.*s",
		(int)filters->type.length, filters->type.data ? filters->type.data : "",
		(int)filters->status.length, filters->status.data ? filters->status.data : "",
		(int)filters->health.length, filters->health.data ? filters->health.data : "",
		(int)filters->cluster.length, filters->cluster.data ? filters->cluster.data : "",
		(int)filters->target.length, filters->target.data ? filters->target.data : "",
		(int)filters->prefix.length, filters->prefix.data ? filters->prefix.data : "",
		SPAN_ARGS(attributes));
}

static void write_list(struct aws_request *request, const char *member, const struct json *list,
	struct span token)
{
	buffer_format(request->out, "{\"%s\":", member);
	json_write(list, request->out);
	if (token.length > 0) {
		buffer_add_string(request->out, ",\"nextToken\":");
		json_write_string(token, request->out);
	}
	buffer_add_char(request->out, '}');
}

int environment_list(struct aws_request *request)
{
	struct filters filters;
	struct span text, token = SPAN("");
	struct json *list = json_new_array(request->arena);
	struct store_cursor cursor = {
		.view = request->view, .kind = &environment_kind, .index = -1};
	const struct store_object *environment;
	struct environment_counts counts;
	struct aws_page page;
	size_t found = 0;

	if (read_filters(request, &filters) < 0)
		return -EPERM;
	text = filters_text(request, &filters);
	if (aws_page_read(request, PAGE_DEFAULT, PAGE_MAX, text, &page) < 0)
		return -EPERM;
	choose_index(request, &filters, &cursor);
	cursor.after_text = page.after_text;
	cursor.after_key = page.after_key;
	for (size_t checked = 0; (environment = store_next(&cursor)); checked++) {
		count(request, environment, &counts);
		if (passes(request, &filters, environment, &counts)) {
			json_append(request->arena, list,
				environment_document(request, environment, &counts));
			found++;
		}
		if (found == page.most || checked == SCAN_MAX) {
			token = aws_page_token(request, text, cursor.text, environment->key);
			break;
		}
	}
	write_list(request, "environments", list, token);
	return 0;
}

/* ---- versions ---- */

int environment_version_get(struct aws_request *request)
{
	const struct store_object *environment, *version;

	if (environment_find(request, &environment) < 0 ||
		environment_version_find(request, environment,
			json_get_text(request->input, "environmentVersion"), &version) < 0)
		return -EPERM;
	buffer_add_span(request->out, version->api);
	return 0;
}

int environment_version_list(struct aws_request *request)
{
	const struct store_object *environment, *version;
	struct json *list = json_new_array(request->arena), *document;
	struct store_cursor cursor = {.kind = &environment_version_kind,
		.index = ENVIRONMENT_VERSION_BY_NUMBER,
		.descending = true};
	struct span token = SPAN("");
	struct aws_page page;
	size_t found = 0;

	if (environment_find(request, &environment) < 0 ||
		aws_page_read(request, PAGE_DEFAULT, PAGE_MAX, environment->key, &page) < 0)
		return -EPERM;
	cursor.view = request->view;
	cursor.prefix = arena_format(request->arena, "%.*s/", SPAN_ARGS(environment->key));
	cursor.after_text = page.after_text;
	cursor.after_key = page.after_key;
	while ((version = store_next(&cursor))) {
		if (json_parse(version->api, request->arena, &document, &request->err) < 0)
			return aws_fail_store(request);
		json_append(request->arena, list, document);
		if (++found == page.most) {
			token = aws_page_token(request, environment->key, cursor.text,
				version->key);
			break;
		}
	}
	write_list(request, "versions", list, token);
	return 0;
}
