/* See crd.h. */
#include "release/crd.h"

#include "base/yaml.h"
#include "release/release_names.h"

#define ASK_AGAIN_US INT64_C(100000)

static int apply(struct kube_client *client, const struct json *definition, struct arena *arena,
	struct err *err)
{
	struct span name = json_get_text(json_get(definition, "metadata"), "name");
	struct kube_target target = {&kube_custom_resource_definitions, SPAN_NONE, name, NULL};
	struct json *answer;
	int r = kube_apply(client, &target, definition, true, NULL, arena, &answer, err);

	return r < 0 ? err_prefix(err, r, "install %.*s", SPAN_ARGS(name)) : 0;
}

int crd_check(struct kube_client *client, struct err *err)
{
	const struct kube_kind *const kinds[] = {
		&release_kind, &release_history_kind, &release_canary_kind};

	for (size_t i = 0; i < LENGTH(kinds); i++) {
		const struct kube_kind *found;
		int r = kube_kind_find(client, SPAN(RELEASE_API_VERSION), span_of(kinds[i]->kind),
			&found, err);

		if (r == -ENOENT)
			return err_set(err, r,
				"the API server has no %s of group " RELEASE_GROUP
				"; run: slipway canary install",
				kinds[i]->kind);
		if (r < 0)
			return r;
	}
	return 0;
}

static int wait_until_served(struct kube_client *client, struct runner *runner, int64_t deadline_us,
	struct err *err)
{
	for (;;) {
		int r = crd_check(client, err);

		if (r != -ENOENT || runner_now_us(runner) >= deadline_us)
			return r;
		if (runner_sleep_until(runner, runner_deadline_us(runner, ASK_AGAIN_US)) < 0)
			return err_set(err, -ECANCELED, "canceled");
	}
}

int crd_install(struct kube_client *client, struct runner *runner, int64_t timeout_ms,
	struct err *err)
{
	int64_t deadline_us = runner_deadline_us(runner, timeout_ms * 1000);
	_arena_ struct arena *arena = arena_new(0);
	struct yaml_document *documents;
	size_t count;
	int r;

	r = yaml_parse_documents(crd_text, arena, &documents, &count, err);
	for (size_t i = 0; r == 0 && i < count; i++) {
		if (json_is(documents[i].value, JSON_OBJECT))
			r = apply(client, documents[i].value, arena, err);
	}
	return r == 0 ? wait_until_served(client, runner, deadline_us, err) : r;
}
