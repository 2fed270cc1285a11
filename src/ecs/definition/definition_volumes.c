/* Rules for volumes: names, one source each, and what a source needs. */
#include "ecs/definition/definition_rules.h"
#include "ecs/record/name.h"

#define VOLUMES_MAX 100

static const char *const sources[] = {"host", "dockerVolumeConfiguration", "efsVolumeConfiguration",
	"fsxWindowsFileServerVolumeConfiguration", "s3filesVolumeConfiguration"};

static int check_docker(const struct definition_rules *rules, const struct json *volume)
{
	const struct json *docker = json_get(volume, "dockerVolumeConfiguration");

	if (!json_is_absent(json_get(docker, "autoprovision")) &&
		!span_is(json_get_text(docker, "scope"), "shared"))
		return rule_broken(rules,
			"Volume '%.*s': 'autoprovision' is only allowed when 'scope' is "
			"shared.",
			SPAN_ARGS(json_get_text(volume, "name")));
	return 0;
}

static int check_efs(const struct definition_rules *rules, const struct json *volume)
{
	const struct json *efs = json_get(volume, "efsVolumeConfiguration");
	const struct json *authorization = json_get(efs, "authorizationConfig");
	struct span root = json_get_text(efs, "rootDirectory");
	bool encrypted = span_is(json_get_text(efs, "transitEncryption"), "ENABLED");
	bool access_point = json_get_text(authorization, "accessPointId").data != NULL;
	bool iam = span_is(json_get_text(authorization, "iam"), "ENABLED");
	struct span name = json_get_text(volume, "name");

	if ((access_point || iam) && !encrypted)
		return rule_broken(rules,
			"Volume '%.*s': 'authorizationConfig' needs 'transitEncryption' to be "
			"ENABLED.",
			SPAN_ARGS(name));
	if (access_point && root.data && root.length > 0 && !span_is(root, "/"))
		return rule_broken(rules,
			"Volume '%.*s': with an access point 'rootDirectory' must be left out "
			"or '/'.",
			SPAN_ARGS(name));
	return 0;
}

static int check_volume(const struct definition_rules *rules, const struct json *volume)
{
	struct span name = json_get_text(volume, "name");
	size_t requested = 0;

	if (!ecs_is_name(name))
		return rule_broken(rules,
			"Volume name '%.*s' is not valid. Use 1 to 255 letters, numbers, "
			"hyphens and underscores.",
			SPAN_ARGS(name.data ? name : SPAN("")));
	JSON_EACH_ITEM (rules->volumes, other) {
		if (other == volume)
			break;
		if (span_equal(json_get_text(other, "name"), name))
			return rule_broken(rules, "Volume name '%.*s' is used more than once.",
				SPAN_ARGS(name));
	}
	for (size_t i = 0; i < LENGTH(sources); i++)
		requested += !json_is_absent(json_get(volume, sources[i]));
	requested += json_get_bool(volume, "configuredAtLaunch", false);
	if (requested > 1)
		return rule_broken(rules, "Volume '%.*s' has more than one source.",
			SPAN_ARGS(name));
	if (check_docker(rules, volume) < 0)
		return -EPERM;
	return check_efs(rules, volume);
}

int definition_check_volumes(const struct definition_rules *rules)
{
	if (json_count(rules->volumes) > VOLUMES_MAX)
		return rule_broken(rules, "volumes: %zu are given, the limit is %d.",
			json_count(rules->volumes), VOLUMES_MAX);
	JSON_EACH_ITEM (rules->volumes, volume)
		if (check_volume(rules, volume) < 0)
			return -EPERM;
	return 0;
}
