/* See crd.h. */
#include "release/crd.h"

#include "base/memory.h"
#include "base/yaml.h"
#include "release/object_calls.h"
#include "release/release_names.h"

const struct span *const crd_texts[CRD_TEXTS] = {
	&crd_text, &namespace_text, &rights_text, &canary_rights_text};

#define ASK_AGAIN_US INT64_C(100000)

/* -ENOENT: the API server does not serve all of them; the message says what to do. */
static int crd_check(struct kube_client *client, struct err *err)
{
	const struct kube_kind *const kinds[] = {
		&release_kind, &release_history_kind, &release_canary_kind};

	for (size_t i = 0; i < LENGTH(kinds); i++) {
		const struct kube_kind *found;
		int code = kube_kind_find(client, SPAN(RELEASE_API_VERSION),
			span_of(kinds[i]->kind), &found, err);

		if (code == -ENOENT)
			return err_set(err, code,
				"the API server has no %s of group " RELEASE_GROUP
				"; run: slipway canary install",
				kinds[i]->kind);
		if (code < 0)
			return code;
	}
	return 0;
}

static int wait_until_served(struct kube_client *client, struct runner *runner, int64_t deadline_us,
	struct err *err)
{
	for (;;) {
		int code = crd_check(client, err);

		if (code != -ENOENT || runner_now_us(runner) >= deadline_us)
			return code;
		if (runner_sleep_until(runner, runner_deadline_us(runner, ASK_AGAIN_US)) < 0)
			return err_set(err, -ECANCELED, "canceled");
	}
}

struct installation {
	const struct object_calls *calls;
	void (*installed)(void *context, const struct json *object);
	void *context;
};

static int apply_documents(const struct installation *installation, struct span text,
	struct err *err)
{
	_arena_ struct arena *arena = arena_new(0);
	struct yaml_document *documents;
	size_t count;
	int code = yaml_parse_documents(text, arena, &documents, &count, err);

	for (size_t i = 0; code == 0 && i < count; i++) {
		const struct json *object = documents[i].value;
		struct json *answer;

		if (!json_is(object, JSON_OBJECT))
			continue;
		code = object_apply(installation->calls, object, SPAN_NONE, arena, &answer, err);
		if (code < 0)
			return err_prefix(err, code, "install %.*s '%.*s'",
				SPAN_ARGS(json_get_text(object, "kind")),
				SPAN_ARGS(json_get_text(json_get(object, "metadata"), "name")));
		if (installation->installed)
			installation->installed(installation->context, answer);
	}
	return code;
}

int crd_install(struct kube_client *client, struct runner *runner, int64_t timeout_ms,
	void (*installed)(void *context, const struct json *object), void *context, struct err *err)
{
	int64_t deadline_us = runner_deadline_us(runner, timeout_ms * 1000);
	struct object_calls calls = {.client = client, .field_manager = "slipway-install"};
	struct installation installation = {&calls, installed, context};
	int code = 0;

	for (size_t i = 0; code == 0 && i < CRD_TEXTS; i++)
		code = apply_documents(&installation, *crd_texts[i], err);
	return code == 0 ? wait_until_served(client, runner, deadline_us, err) : code;
}
