/* See the header. */
#include "environment/model/environment_type.h"

#include "aws/document.h"
#include "base/memory.h"
#include "delivery/cluster_ref.h"
#include "delivery/schedule.h"
#include "ecs/record/service_kind.h"
#include "ecs/record/tags.h"
#include "environment/model/fail.h"

#define OF(type) (1U << ENVIRONMENT_TYPE_##type)

static const struct member {
	const char *name;
	unsigned types;
} members[] = {
	{"minHealthyPercent", OF(Daemon) | OF(Service)},
	{"replaceThenTerminate", OF(Daemon)},
	{"maxOverPercent", OF(Daemon)},
	{"canary", OF(Daemon)},
	{"timeoutSeconds", OF(Daemon) | OF(Service)},
	{"warmUpSeconds", OF(Daemon)},
	{"onFailure", OF(Daemon) | OF(Service)},
	{"drainTimeoutSeconds", OF(Daemon)},
	{"unreachableTimeoutSeconds", OF(Daemon)},
	{"desiredCount", OF(Service) | OF(Cron)},
	{"maxActivePercent", OF(Service)},
	{"loadBalancer", OF(Service)},
	{"schedule", OF(Cron)},
};

enum environment_type environment_type_of_input(const struct json *input)
{
	struct span requested = json_get_text(input, "environmentType");

	if (requested.data && span_is(requested, "Service"))
		return ENVIRONMENT_TYPE_Service;
	return requested.data && span_is(requested, "Cron") ? ENVIRONMENT_TYPE_Cron
							    : ENVIRONMENT_TYPE_Daemon;
}

/* ---- checks ---- */

static int check_members(struct aws_request *request, enum environment_type type,
	const struct json *configuration)
{
	for (size_t i = 0; i < LENGTH(members); i++)
		if (!(members[i].types & (1U << type)) &&
			!json_is_absent(json_get(configuration, members[i].name)))
			return aws_fail_input(request,
				"deploymentConfiguration.%s: an environment of type %s has none",
				members[i].name, environment_type_name(type));
	return 0;
}

static int check_daemon(struct aws_request *request, const struct json *configuration)
{
	bool surge = json_get_bool(configuration, "replaceThenTerminate", false);
	int64_t minimum = json_get_integer(configuration, "minHealthyPercent", -1);

	if (minimum == 100 && !surge)
		return aws_fail_input(request,
			"deploymentConfiguration.minHealthyPercent: with 100 no task could ever be "
			"replaced; give replaceThenTerminate, or less than 100");
	if (!surge && !json_is_absent(json_get(configuration, "maxOverPercent")))
		return aws_fail_input(request, "deploymentConfiguration.maxOverPercent: needs "
					       "replaceThenTerminate");
	if (json_get_integer(configuration, "maxOverPercent", 1) == 0)
		return aws_fail_input(request,
			"deploymentConfiguration.maxOverPercent: with 0 no instance may have two "
			"tasks at once, so replaceThenTerminate could %s; give more than 0, or "
			"leave replaceThenTerminate out",
			minimum == 100 ? "never replace a task, and minHealthyPercent 100 allows "
					 "none to be stopped first"
				       : "never start the new task beside the old one");
	return 0;
}

static int check_service(struct aws_request *request, const struct json *configuration)
{
	int64_t minimum = json_get_integer(configuration, "minHealthyPercent", 100);
	int64_t maximum = json_get_integer(configuration, "maxActivePercent", 200);

	if (minimum == 100 && maximum == 100)
		return aws_fail_input(request,
			"deploymentConfiguration.maxActivePercent: with 100 and minHealthyPercent "
			"100 no task could ever be replaced");
	return 0;
}

static int check_cron(struct aws_request *request, const struct json *configuration)
{
	struct span text = json_get_text(configuration, "schedule");
	int64_t count = json_get_integer(configuration, "desiredCount", 1);
	struct schedule schedule;
	struct err err = {0};

	if (!text.data)
		return aws_fail_input(request, "deploymentConfiguration.schedule: is required for "
					       "an environment of type Cron");
	if (schedule_parse(text, &schedule, &err) < 0)
		return aws_fail_input(request, "deploymentConfiguration.schedule: %s", err.message);
	if (schedule_next(&schedule, request->now_ms, request->now_ms) < 0)
		return aws_fail_input(request,
			"deploymentConfiguration.schedule: '%.*s' is never "
			"due again",
			SPAN_ARGS(text));
	if (count < 1 || count > ENVIRONMENT_CRON_TASKS_MAX)
		return aws_fail_input(request,
			"deploymentConfiguration.desiredCount: must be between 1 and %d for an "
			"environment of type Cron",
			ENVIRONMENT_CRON_TASKS_MAX);
	return 0;
}

int environment_type_check(struct aws_request *request, enum environment_type type,
	const struct json *configuration)
{
	static int (*const checks[])(struct aws_request *, const struct json *) = {
		[ENVIRONMENT_TYPE_Daemon] = check_daemon,
		[ENVIRONMENT_TYPE_Service] = check_service,
		[ENVIRONMENT_TYPE_Cron] = check_cron,
	};

	if (check_members(request, type, configuration) < 0)
		return -EPERM;
	return checks[type](request, configuration);
}

void environment_type_set_defaults(struct arena *arena, enum environment_type type,
	struct json *configuration)
{
	if (type == ENVIRONMENT_TYPE_Daemon)
		return;
	document_set_default(arena, configuration, "desiredCount", json_new_integer(arena, 1));
	if (type == ENVIRONMENT_TYPE_Cron)
		return;
	document_set_default(arena, configuration, "minHealthyPercent",
		json_new_integer(arena, 100));
	document_set_default(arena, configuration, "maxActivePercent",
		json_new_integer(arena, 200));
}

/* ---- the ECS service ---- */

struct span environment_service_name(struct arena *arena, struct span name)
{
	return arena_format(arena, ENVIRONMENT_SERVICE_PREFIX "%.*s", SPAN_ARGS(name));
}

bool environment_owns_service(const struct json *tags, struct span name)
{
	JSON_EACH_ITEM (tags, tag)
		if (span_is(json_get_text(tag, "key"), ENVIRONMENT_SERVICE_TAG))
			return span_equal(json_get_text(tag, "value"), name);
	return false;
}

int environment_check_service(struct aws_request *request, enum environment_type type,
	struct span name, const struct environment_version_facts *version)
{
	struct span service = environment_service_name(request->arena, name);
	const struct store_object *found;
	struct cluster_ref ref = cluster_ref_of(version->cluster_ref);

	/* That of another server is looked at by the manager, before it does anything. */
	if (type != ENVIRONMENT_TYPE_Service || cluster_ref_is_remote(ref))
		return 0;
	if (!cluster_ref_parse(version->cluster_ref, &ref))
		return 0;
	found = store_get(request->view, &service_kind,
		arena_format(request->arena, "%.*s/%.*s", SPAN_ARGS(ref.scope),
			SPAN_ARGS(service)));
	if (!found || service_facts(found)->status == SERVICE_INACTIVE ||
		environment_owns_service(tags_of(request, found), name))
		return 0;
	return daemon_fail(request, "ResourceInUseException", "service", service,
		"There is a service '%.*s' in the cluster that is not of this environment (it has "
		"no tag " ENVIRONMENT_SERVICE_TAG "=%.*s)",
		SPAN_ARGS(service), SPAN_ARGS(name));
}
