/* Launch types, capacity provider strategies, platform versions and networks of requests; see the header. */
#include "ecs/task/launch_options.h"

#include "aws/document.h"
#include "base/memory.h"
#include "ecs/record/capacity_provider.h"
#include "ecs/record/cluster.h"
#include "ecs/record/name.h"

#define WEIGHT_MAX 1000
#define BASE_MAX 100000
#define SUBNETS_MAX 16
#define SECURITY_GROUPS_MAX 5
#define NETWORK_ID_MAX 128

/* Fargate's platform versions; the first is what is meant when none is named. */
static const char *const platform_versions[] = {
	"LATEST", "1.4.0", "1.3.0", "1.2.0", "1.1.0", "1.0.0"};

/* ---- capacity providers ---- */

static int check_range(struct aws_request *request, struct span provider, const char *member,
	int64_t value, int64_t most)
{
	if (value >= 0 && value <= most)
		return 0;
	return aws_fail_input(request,
		"capacityProviderStrategy: %s of '%.*s' must be between 0 and %lld", member,
		SPAN_ARGS(provider), (long long)most);
}

static int read_item(struct aws_request *request, const struct json *providers,
	const struct json *item, struct json **ret_clean)
{
	struct json *clean = json_new_object(request->arena);
	int64_t weight = json_get_integer(item, "weight", 0);
	int64_t base = json_get_integer(item, "base", 0);
	struct span name;

	if (ecs_resolve(request, "capacityProviderStrategy", "capacity-provider",
		    json_get_text(item, "capacityProvider"), &name) < 0)
		return -EPERM;
	/* Those of AWS are there for every cluster. */
	if (!document_list_has(providers, name) && !capacity_provider_is_fargate(name))
		return aws_fail_input(request,
			"The specified capacity provider '%.*s' was not found. It is not "
			"among the capacity providers of the cluster.",
			SPAN_ARGS(name));
	if (check_range(request, name, "weight", weight, WEIGHT_MAX) < 0 ||
		check_range(request, name, "base", base, BASE_MAX) < 0)
		return -EPERM;
	json_set_string(request->arena, clean, "capacityProvider", name);
	json_set_integer(request->arena, clean, "weight", weight);
	json_set_integer(request->arena, clean, "base", base);
	*ret_clean = clean;
	return 0;
}

/* Providers of the cluster, each once, all of one kind, at most one with a base. */
static int read_strategy(struct aws_request *request, const struct json *providers,
	const struct json *requested, const struct json **ret_strategy)
{
	struct json *strategy = json_new_array(request->arena);
	struct json *seen = json_new_array(request->arena);
	size_t bases = 0, fargate = 0;
	int64_t weights = 0;

	if (json_count(requested) > LAUNCH_PROVIDERS_MAX)
		return aws_fail_input(request,
			"capacityProviderStrategy: %zu items are given, the limit is %d",
			json_count(requested), LAUNCH_PROVIDERS_MAX);
	JSON_EACH_ITEM (requested, item) {
		struct json *clean;
		struct span name;

		if (read_item(request, providers, item, &clean) < 0)
			return -EPERM;
		name = json_get_text(clean, "capacityProvider");
		if (document_list_has(seen, name))
			return aws_fail_input(request,
				"capacityProviderStrategy: '%.*s' is given twice", SPAN_ARGS(name));
		json_append(request->arena, seen, json_new_string(request->arena, name));
		json_append(request->arena, strategy, clean);
		weights += json_get_integer(clean, "weight", 0);
		bases += json_get_integer(clean, "base", 0) > 0;
		fargate += capacity_provider_is_fargate(name);
	}
	if (bases > 1)
		return aws_fail_input(request,
			"capacityProviderStrategy: only one item may have a base");
	if (weights == 0)
		return aws_fail_input(request, "capacityProviderStrategy: at least one item must "
					       "have a weight greater than 0");
	if (fargate > 0 && fargate < json_count(requested))
		return aws_fail_input(request, "capacityProviderStrategy: Fargate and other "
					       "capacity providers cannot be mixed");
	*ret_strategy = strategy;
	return 0;
}

static int read_launch(struct aws_request *request, const struct store_object *cluster,
	const struct json *requested, struct launch_options *options)
{
	const struct json *strategy = json_get(requested, "capacityProviderStrategy");
	struct span type = json_get_text(requested, "launchType");
	struct json *document;

	if (json_parse(cluster->api, request->arena, &document, &request->err) < 0)
		return aws_fail_store(request);
	if (type.length > 0 && json_count(strategy) > 0)
		return aws_fail_input(request,
			"Specifying both a launch type and capacity provider strategy is not "
			"supported. Remove one and try again.");
	if (type.length == 0 && json_count(strategy) == 0)
		strategy = json_get(document, "defaultCapacityProviderStrategy");
	if (json_count(strategy) > 0) {
		options->launch_type = SPAN("");
		if (read_strategy(request, json_get(document, "capacityProviders"), strategy,
			    &options->strategy) < 0)
			return -EPERM;
		options->fargate =
			capacity_provider_is_fargate(json_get_text(json_item(options->strategy, 0),
				"capacityProvider"));
		return 0;
	}
	options->launch_type = type.length > 0 ? type : SPAN("EC2");
	if (span_is(type, "MANAGED_INSTANCES"))
		return aws_fail_input(request, "launchType: managed instances are used with a "
					       "capacityProviderStrategy, not with a launch type");
	options->fargate = span_is(type, "FARGATE");
	return 0;
}

/* ---- rules of the definition ---- */

static int check_compatible(struct aws_request *request, const struct json *definition,
	const struct launch_options *options)
{
	struct span type = options->fargate                   ? SPAN("FARGATE")
			   : options->launch_type.length == 0 ? SPAN("EC2")
							      : options->launch_type;
	const struct json *compatibilities = json_get(definition, "compatibilities");

	if (document_list_has(compatibilities, type))
		return 0;
	return aws_fail_input(request, "Task definition does not support launch_type %.*s.",
		SPAN_ARGS(type));
}

static int read_platform(struct aws_request *request, const struct json *requested,
	struct launch_options *options)
{
	struct span version = json_get_text(requested, "platformVersion");

	options->platform_version = SPAN("");
	if (!options->fargate) {
		if (version.length > 0)
			return aws_fail_input(request,
				"The platform version must be null when specifying an EC2 launch "
				"type.");
		return 0;
	}
	options->platform_version = span_of(platform_versions[0]);
	for (size_t i = 0; i < LENGTH(platform_versions); i++)
		if (span_is(version, platform_versions[i]))
			options->platform_version = version;
	if (version.length > 0 && !span_equal(options->platform_version, version))
		return aws_fail(request, "PlatformUnknownException",
			"The specified platform does not exist: '%.*s'.", SPAN_ARGS(version));
	return 0;
}

/* ---- networks ---- */

static int check_ids(struct aws_request *request, const char *member, const struct json *ids,
	size_t most)
{
	if (json_count(ids) > most)
		return aws_fail_input(request, "%s can have at most %zu items.", member, most);
	JSON_EACH_ITEM (ids, id)
		if (json_text(id).length == 0 || json_text(id).length > NETWORK_ID_MAX)
			return aws_fail_input(request,
				"networkConfiguration.awsvpcConfiguration.%s: an id must have "
				"between 1 and %d characters",
				member, NETWORK_ID_MAX);
	return 0;
}

static int read_network(struct aws_request *request, const struct json *definition,
	const struct json *requested, struct launch_options *options)
{
	const struct json *vpc = json_path(requested, "networkConfiguration.awsvpcConfiguration");
	bool wanted = span_is(json_get_text(definition, "networkMode"), "awsvpc");
	struct json *network, *complete;

	if (json_is_absent(vpc)) {
		if (wanted)
			return aws_fail_input(request,
				"Network Configuration must be provided when networkMode 'awsvpc' "
				"is specified.");
		return 0;
	}
	if (!wanted)
		return aws_fail_input(request, "Network Configuration is not valid for the given "
					       "networkMode of this task definition.");
	if (json_count(json_get(vpc, "subnets")) == 0)
		return aws_fail_input(request, "subnets can not be empty.");
	if (check_ids(request, "subnets", json_get(vpc, "subnets"), SUBNETS_MAX) < 0 ||
		check_ids(request, "securityGroups", json_get(vpc, "securityGroups"),
			SECURITY_GROUPS_MAX) < 0)
		return -EPERM;
	if (span_is(json_get_text(vpc, "assignPublicIp"), "ENABLED") && !options->fargate)
		return aws_fail_input(request,
			"Assign public IP is not supported for this launch type.");
	complete = json_copy_object(request->arena, vpc);
	document_set_default(request->arena, complete, "securityGroups",
		json_new_array(request->arena));
	document_set_default(request->arena, complete, "assignPublicIp",
		json_new_string(request->arena, SPAN("DISABLED")));
	network = json_new_object(request->arena);
	json_set(request->arena, network, "awsvpcConfiguration", complete);
	options->network = network;
	return 0;
}

int launch_options_read(struct aws_request *request, const struct store_object *cluster,
	const struct json *definition, const struct json *requested,
	struct launch_options *ret_options)
{
	struct launch_options options = {0};

	if (read_launch(request, cluster, requested, &options) < 0 ||
		check_compatible(request, definition, &options) < 0 ||
		read_platform(request, requested, &options) < 0 ||
		read_network(request, definition, requested, &options) < 0)
		return -EPERM;
	*ret_options = options;
	return 0;
}

void launch_options_set(const struct launch_options *options, struct arena *arena,
	struct json *document)
{
	static const char *const members[] = {"launchType", "capacityProviderStrategy",
		"platformVersion", "platformFamily", "networkConfiguration"};

	for (size_t i = 0; i < LENGTH(members); i++)
		json_unset(document, members[i]);
	if (options->strategy)
		json_set(arena, document, "capacityProviderStrategy", options->strategy);
	else
		json_set_string(arena, document, "launchType", options->launch_type);
	if (options->fargate) {
		json_set_string(arena, document, "platformVersion", options->platform_version);
		json_set_string(arena, document, "platformFamily", SPAN("Linux"));
	}
	json_set(arena, document, "networkConfiguration", options->network);
}

/* ---- shares ---- */

void launch_shares_add(struct launch_shares *shares, struct span provider)
{
	size_t count = json_count(shares->strategy);

	for (size_t i = 0; i < count && i < LAUNCH_PROVIDERS_MAX; i++)
		if (span_equal(json_get_text(json_item(shares->strategy, i), "capacityProvider"),
			    provider))
			shares->requested[i]++;
}

struct span launch_next_provider(struct launch_shares *shares)
{
	size_t count = json_count(shares->strategy), chosen = SIZE_MAX;
	int64_t chosen_beyond = 0, chosen_weight = 1;

	for (size_t i = 0; i < count && i < LAUNCH_PROVIDERS_MAX; i++) {
		const struct json *item = json_item(shares->strategy, i);
		int64_t beyond = shares->requested[i] - json_get_integer(item, "base", 0);
		int64_t weight = json_get_integer(item, "weight", 0);

		if (beyond < 0) {
			chosen = i;
			break;
		}
		if (weight > 0 &&
			(chosen == SIZE_MAX || beyond * chosen_weight < chosen_beyond * weight)) {
			chosen = i;
			chosen_beyond = beyond;
			chosen_weight = weight;
		}
	}
	if (chosen == SIZE_MAX)
		return SPAN("");
	shares->requested[chosen]++;
	return json_get_text(json_item(shares->strategy, chosen), "capacityProvider");
}
