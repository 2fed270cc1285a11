/* See the header. */
#include "pipeline/service_settings.h"

#include "base/memory.h"
#include "pipeline/definition.h"
#include "pipeline/difference.h"

static const char *const settings[] = {"deploymentConfiguration", "placementConstraints",
	"placementStrategy", "healthCheckGracePeriodSeconds", "enableExecuteCommand",
	"enableECSManagedTags", "propagateTags"};

static bool differs(const struct json *live, const struct json *wanted, struct arena *arena)
{
	struct json *first = json_new_object(arena), *second = json_new_object(arena);
	struct field_list list = {0};

	json_set(arena, first, "value", live);
	json_set(arena, second, "value", wanted);
	difference_find(first, second, true, arena, &list);
	return list.count > 0;
}

static struct json *collect(const struct json *live, const struct json *wanted, bool takes_live,
	struct arena *arena)
{
	struct json *changes = json_new_object(arena);
	const struct json *request = NULL;
	struct err err;

	if (definition_request_of(SPAN("CreateService"), live, arena, &request, &err) < 0)
		return NULL;
	for (size_t i = 0; i < LENGTH(settings); i++) {
		const struct json *found = json_get(request, settings[i]),
				  *value = json_get(wanted, settings[i]);

		if (value && differs(found, value, arena))
			json_set(arena, changes, settings[i], takes_live ? found : value);
	}
	return changes->object.count > 0 ? changes : NULL;
}

struct json *service_settings_changed(const struct json *live, const struct json *wanted,
	struct arena *arena)
{
	return collect(live, wanted, false, arena);
}

struct json *service_settings_before(const struct json *live, const struct json *wanted,
	struct arena *arena)
{
	return collect(live, wanted, true, arena);
}
