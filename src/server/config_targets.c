/* See the header. */
#include "server/config_targets.h"

#include "aws/arn.h"
#include "aws/profile.h"
#include "aws/targets.h"
#include "base/memory.h"
#include "server/config_list.h"

#define TARGET_ACCOUNTS_MAX 100
#define CALLS_PER_SECOND_DEFAULT 10
#define POLL_DEFAULT_MS INT64_C(10000)
#define TIMEOUT_DEFAULT_MS INT64_C(30000)

static const struct config_member members[] = {
#define OFFSET(member) offsetof(struct aws_target_settings, member)
	{"name", CONFIG_NAME, true, OFFSET(name), 0, 0, SERVER_TARGET_NAME_MAX, "production",
		"What environments and applications call it."},
	{"region", CONFIG_TEXT, true, OFFSET(region), 0, 0, 0, "eu-west-1", "Of its clusters."},
	{"account", CONFIG_TEXT, true, OFFSET(account), 0, 0, 0, "\"111122223333\"",
		"Twelve digits, in quotes: the account that its clusters are in."},
	{"endpoint", CONFIG_URL, false, OFFSET(endpoint), 0, 0, 0,
		"https://ecs.eu-west-1.amazonaws.com",
		"Of ECS, http:// or https://. Without it: AWS's of the region."},
	{"cloudMapEndpoint", CONFIG_URL, false, OFFSET(cloudmap_endpoint), 0, 0, 0,
		"https://servicediscovery.eu-west-1.amazonaws.com",
		"Of Cloud Map, which applications use. Without it: where ECS is, if that is not "
		"AWS's own endpoint; else AWS's of the region."},
	{"elbEndpoint", CONFIG_URL, false, OFFSET(elb_endpoint), 0, 0, 0,
		"https://elasticloadbalancing.eu-west-1.amazonaws.com",
		"Of Elastic Load Balancing, likewise."},
	{"stsEndpoint", CONFIG_URL, false, OFFSET(sts_endpoint), 0, 0, 0,
		"https://sts.eu-west-1.amazonaws.com",
		"Of STS, which roles are assumed from. Without it: AWS's of the region."},
	{"ca", CONFIG_TEXT, false, OFFSET(ca), 0, 0, 0, "/etc/slipway/ca.pem",
		"PEM file of the authorities to trust with https. Without it: the system's."},
	{"credentials.profile", CONFIG_TEXT, false, OFFSET(key.profile), 0, 0, 0, "production",
		"A profile of the AWS tools: a key, role_arn, credential_process; or the next "
		"ones. "
		"Without any of them: what every AWS SDK would find, see docs/environments.md."},
	{"credentials.profileFile", CONFIG_TEXT, false, OFFSET(key.profile_file), 0, 0, 0,
		"/etc/slipway/credentials",
		"The only file to look in. Without it: ~/.aws/credentials and ~/.aws/config, or "
		"those of "
		"$AWS_SHARED_CREDENTIALS_FILE and $AWS_CONFIG_FILE."},
	{"credentials.accessKey", CONFIG_TEXT, false, OFFSET(key.access_key), 0, 0, 0,
		"AKIAIOSFODNN7EXAMPLE", "The id of a key, whose secret is in one of the next two."},
	{"credentials.secretFile", CONFIG_TEXT, false, OFFSET(key.secret_file), 0, 0, 0,
		"/etc/slipway/production.secret", "A file with the secret and nothing else."},
	{"credentials.secretVariable", CONFIG_TEXT, false, OFFSET(key.secret_variable), 0, 0, 0,
		"PRODUCTION_SECRET", "An environment variable with the secret."},
	{"role", CONFIG_TEXT, false, OFFSET(role), 0, 0, 0,
		"arn:aws:iam::111122223333:role/slipway",
		"Role (ARN) that is assumed with those credentials before any call."},
	{"externalId", CONFIG_TEXT, false, OFFSET(external_id), 0, 0, 0, "slipway",
		"Given to STS whenever a role is assumed."},
	{"accounts", CONFIG_ACCOUNTS, false, OFFSET(accounts), OFFSET(account_count), 0,
		TARGET_ACCOUNTS_MAX, "[\"123456789012\"]",
		"Accounts of this server that may use the target. Without it: the one of the key "
		"`account`."},
	{"callsPerSecond", CONFIG_NUMBER, false, OFFSET(calls_per_second), 0, 1, 1000, "10",
		"Most calls per second that read, and as many that start and stop; retries count."},
	{"pollInterval", CONFIG_DURATION, false, OFFSET(poll_ms), 0, 100, 3600000, "10s",
		"How often each of its clusters is listed, and services of applications that no "
		"deployment changes; during a deployment every 5 s, or at this interval if it is "
		"shorter. Events that are posted to /v1/ecs-events come in between."},
	{"timeout", CONFIG_DURATION, false, OFFSET(timeout_ms), 0, 100, 300000, "30s",
		"Of a call that reads. Those that start and stop tasks end after 4s, whatever "
		"happened, and are looked after."},
#undef OFFSET
};

static const struct aws_target_settings defaults = {.calls_per_second = CALLS_PER_SECOND_DEFAULT,
	.poll_ms = POLL_DEFAULT_MS,
	.timeout_ms = TIMEOUT_DEFAULT_MS};

/* ---- checks beyond the table ---- */

static int check_credentials(const struct config_list_reading *reading,
	const struct aws_target_settings *settings)
{
	const struct aws_key_source *key = &settings->key;

	if (!key->access_key && (key->secret_file || key->secret_variable))
		return config_list_refuse(reading, reading->object, "credentials",
			"needs accessKey beside the secret");
	if (key->profile && (key->access_key || key->secret_file || key->secret_variable))
		return config_list_refuse(reading, reading->object, "credentials",
			"has a profile and a key; only one of them can be used");
	if (key->profile_file && !key->profile)
		return config_list_refuse(reading, reading->object, "credentials.profileFile",
			"needs profile");
	if (key->access_key && !key->secret_file == !key->secret_variable)
		return config_list_refuse(reading, reading->object, "credentials.accessKey",
			"needs one of secretFile and secretVariable");
	for (const char *at = key->access_key; at && *at; at++)
		if (!((*at >= '0' && *at <= '9') || (*at >= 'A' && *at <= 'Z')))
			return config_list_refuse(reading, reading->object, "credentials.accessKey",
				"has characters that no key's id has");
	return 0;
}

static int check_role(const struct config_list_reading *reading,
	const struct aws_target_settings *settings)
{
	const char *role = settings->role, *external = settings->external_id;
	struct aws_arn arn;

	if (role && (!aws_arn_parse(span_of(role), &arn) || !span_is(arn.service, "iam") ||
			    !span_starts_with(arn.resource, SPAN("role/"))))
		return config_list_refuse(reading, reading->object, "role",
			"'%s' is not the ARN of a role, for example "
			"arn:aws:iam::111122223333:role/slipway",
			role);
	if (external && (strlen(external) < 2 || strlen(external) > 1224))
		return config_list_refuse(reading, reading->object, "externalId",
			"has 2 to 1224 characters");
	return 0;
}

static int check_target(const struct config_list_reading *reading, void *item)
{
	const struct aws_target_settings *settings = item;

	if (strcmp(settings->name, AWS_TARGET_LOCAL) == 0)
		return config_list_refuse(reading, reading->object, "name",
			"'%s' means this server", settings->name);
	if (!server_region_is_valid(span_of(settings->region)))
		return config_list_refuse(reading, reading->object, "region",
			"'%s' is not the name of a region", settings->region);
	if (!config_is_account(span_of(settings->account)))
		return config_list_refuse(reading, reading->object, "account",
			"'%s' is not twelve digits", settings->account);
	if (check_credentials(reading, settings) < 0)
		return -EINVAL;
	return check_role(reading, settings);
}

const struct config_list config_targets = {.name = "targets",
	.help = "ECS in AWS or on other servers, for environments and applications",
	.most = AWS_TARGETS_MAX,
	.size = sizeof(struct aws_target_settings),
	.members = members,
	.member_count = LENGTH(members),
	.defaults = &defaults,
	.check = check_target};

/* Behind those of the other block. */
static int add_targets(struct server_config *config, const struct config_list *list,
	const struct json *block, const char *path, struct arena *arena, struct err *err)
{
	struct aws_target_settings *all;
	void *items = NULL;
	size_t count = 0;
	int code = config_list_read(list, block, path, arena, &items, &count, err);

	if (code < 0)
		return code;
	if (config->target_count + count > AWS_TARGETS_MAX)
		return err_set(err, -EINVAL, "%s: too many targets (limit %d)", path,
			AWS_TARGETS_MAX);
	all = arena_allocate_array(arena, config->target_count + count + 1, sizeof(*all));
	for (size_t i = 0; i < config->target_count + count; i++) {
		all[i] = i < config->target_count
				 ? config->targets[i]
				 : ((struct aws_target_settings *)items)[i - config->target_count];
		for (size_t j = 0; j < i; j++)
			if (strcmp(all[i].name, all[j].name) == 0)
				return err_set(err, -EINVAL,
					"%s: '%s' is in targets and in platformProviders", path,
					all[i].name);
	}
	config->targets = all;
	config->target_count += count;
	return 0;
}

int config_targets_read(struct server_config *config, const struct json *block, const char *path,
	struct arena *arena, struct err *err)
{
	return add_targets(config, &config_targets, block, path, arena, err);
}

/* ---- PipeCD's platform providers ---- */

/* As it stands in `targets`. The account is ours, or that of the role. */
static struct json *target_of_provider(const struct json *provider, struct arena *arena)
{
	const struct json *settings = json_get(provider, "config");
	struct json *target = json_new_object(arena), *credentials = json_new_object(arena);
	struct span role = json_get_text(settings, "roleARN");
	struct aws_arn arn;

	target->line = provider->line;
	credentials->line = provider->line;
	json_set(arena, target, "name", json_get(provider, "name"));
	json_set(arena, target, "region", json_get(settings, "region"));
	json_set(arena, target, "account", json_get(settings, "account"));
	if (json_is_absent(json_get(settings, "account")) && role.data && aws_arn_parse(role, &arn))
		json_set_string(arena, target, "account", arn.account);
	if (role.data)
		json_set(arena, target, "role", json_get(settings, "roleARN"));
	if (!json_is_absent(json_get(settings, "profile"))) {
		json_set(arena, credentials, "profile", json_get(settings, "profile"));
		json_set(arena, credentials, "profileFile", json_get(settings, "credentialsFile"));
		json_set(arena, target, "credentials", credentials);
	}
	return target;
}

int config_platform_providers_read(struct server_config *config, const struct json *block,
	const char *path, struct arena *arena, struct err *err)
{
	struct config_list list = config_targets;
	struct json *targets = json_new_array(arena);

	if (!json_is_absent(block) && !json_is(block, JSON_ARRAY))
		return err_set(err, -EINVAL, "%s:%u: platformProviders must be a list", path,
			block->line);
	JSON_EACH_ITEM (block, provider) {
		struct span type = json_get_text(provider, "type");

		if (!type.data || !span_is(type, "ECS"))
			continue;
		if (!json_is_absent(json_path(provider, "config.tokenFile")))
			return err_set(err, -EINVAL,
				"%s:%u: platformProviders: tokenFile is not read; set "
				"AWS_WEB_IDENTITY_TOKEN_FILE and AWS_ROLE_ARN for the server",
				path, provider->line);
		json_append(arena, targets, target_of_provider(provider, arena));
	}
	if (json_array_count(targets) == 0)
		return 0;
	targets->line = block->line;
	list.name = "platformProviders";
	return add_targets(config, &list, targets, path, arena, err);
}

void config_targets_settle(struct server_config *config, struct arena *arena)
{
	const char **account = arena_allocate(arena, sizeof(*account));
	struct aws_target_settings *settled;

	if (config->target_count == 0)
		return;
	settled = arena_allocate_array(arena, config->target_count, sizeof(*settled));
	memcpy(settled, config->targets, config->target_count * sizeof(*settled));
	*account = config->account;
	for (size_t i = 0; i < config->target_count; i++)
		if (settled[i].account_count == 0) {
			settled[i].accounts = account;
			settled[i].account_count = 1;
		}
	config->targets = settled;
}

int config_targets_check_keys(const struct server_config *config, struct err *err)
{
	for (size_t i = 0; i < config->target_count; i++) {
		_arena_ struct arena *scratch = arena_new(0);
		const struct aws_key_source *key = &config->targets[i].key;
		struct sigv4_credentials credentials;
		struct aws_profile profile;
		int code = 0;

		if (key->access_key)
			code = aws_key_source_read(key, scratch, &credentials, err);
		else if (key->profile)
			code = aws_profile_read(key->profile, key->profile_file, scratch, &profile,
				err);

		if (code < 0)
			return err_prefix(err, code, "targets[%zu].credentials", i);
	}
	return 0;
}
