/* Phases of objects, and which changes count as changes of content. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/memory.h"
#include "kube/kind.h"
#include "release/release_live.h"

static struct json *parse(struct arena *arena, const char *text)
{
	struct json *value;

	assert_int_equal(json_parse(span_of(text), arena, &value, NULL), 0);
	return value;
}

#define META "\"metadata\":{\"generation\":2}"
#define SPEC3 "\"spec\":{\"replicas\":3}"

static void test_phases(void **state)
{
	static const struct {
		const char *group, *kind, *object;
		enum release_phase phase;
		const char *message;
	} cases[] = {
		{"", "ConfigMap", "{}", RELEASE_PHASE_AVAILABLE, ""},
		{"", "ConfigMap", "{\"metadata\":{\"deletionTimestamp\":\"x\"}}",
			RELEASE_PHASE_PROGRESSING, "the object is being deleted"},
		{"apps", "Deployment", "{" META "," SPEC3 ",\"status\":{\"observedGeneration\":1}}",
			RELEASE_PHASE_PROGRESSING, "the change was not observed yet"},
		{"apps", "Deployment",
			"{" META "," SPEC3
			",\"status\":{\"observedGeneration\":2,\"updatedReplicas\":1}}",
			RELEASE_PHASE_PROGRESSING, "1 of 3 pods are updated"},
		{"apps", "Deployment",
			"{" META "," SPEC3 ",\"status\":{\"observedGeneration\":2,\"replicas\":3,"
			"\"updatedReplicas\":3,\"availableReplicas\":2}}",
			RELEASE_PHASE_PROGRESSING, "2 of 3 pods are available"},
		{"apps", "Deployment",
			"{" META "," SPEC3 ",\"status\":{\"observedGeneration\":2,\"replicas\":4,"
			"\"updatedReplicas\":3,\"availableReplicas\":3}}",
			RELEASE_PHASE_PROGRESSING,
			"pods of the earlier template are being stopped"},
		{"apps", "Deployment",
			"{" META "," SPEC3 ",\"status\":{\"observedGeneration\":2,\"replicas\":3,"
			"\"updatedReplicas\":3,\"availableReplicas\":3}}",
			RELEASE_PHASE_AVAILABLE, ""},
		{"apps", "Deployment",
			"{" META "," SPEC3 ",\"status\":{\"observedGeneration\":2,"
			"\"updatedReplicas\":1,\"conditions\":[{"
			"\"type\":\"Progressing\",\"reason\":\"ProgressDeadlineExceeded\","
			"\"message\":\"too slow\"}]}}",
			RELEASE_PHASE_FAILURE, "too slow"},
		{"apps", "StatefulSet",
			"{" META ",\"spec\":{\"replicas\":3,\"updateStrategy\":{\"rollingUpdate\":"
			"{\"partition\":1}}},\"status\":{\"observedGeneration\":2,"
			"\"updatedReplicas\":2,"
			"\"readyReplicas\":3}}",
			RELEASE_PHASE_AVAILABLE, ""},
		{"apps", "DaemonSet",
			"{" META
			",\"status\":{\"observedGeneration\":2,\"desiredNumberScheduled\":2,"
			"\"updatedNumberScheduled\":2,\"numberAvailable\":1}}",
			RELEASE_PHASE_PROGRESSING, "1 of 2 pods are available"},
		{"batch", "Job", "{\"status\":{}}", RELEASE_PHASE_PROGRESSING,
			"the job is not complete"},
		{"batch", "Job",
			"{\"status\":{\"conditions\":[{\"type\":\"Complete\",\"status\":\"True\"}]}"
			"}",
			RELEASE_PHASE_AVAILABLE, ""},
		{"batch", "Job",
			"{\"status\":{\"conditions\":[{\"type\":\"Failed\",\"status\":\"True\","
			"\"message\":\"no\"}]}}",
			RELEASE_PHASE_FAILURE, "no"},
		{"", "Pod", "{\"status\":{\"phase\":\"Running\"}}", RELEASE_PHASE_PROGRESSING,
			"the pod is not ready"},
		{"", "Pod", "{\"status\":{\"phase\":\"Succeeded\"}}", RELEASE_PHASE_AVAILABLE, ""},
		{"", "PersistentVolumeClaim", "{\"status\":{\"phase\":\"Pending\"}}",
			RELEASE_PHASE_PROGRESSING, "the claim is not bound"},
		/* A custom resource of the same name says nothing about pods. */
		{"example.com", "Deployment", "{" SPEC3 "}", RELEASE_PHASE_AVAILABLE, ""},
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(cases); i++) {
		_arena_ struct arena *arena = arena_new(0);
		struct release_condition condition;

		release_object_condition(arena, span_of(cases[i].group), span_of(cases[i].kind),
			parse(arena, cases[i].object), &condition);
		if (condition.phase != cases[i].phase ||
			!span_is(condition.message, cases[i].message))
			fail_msg("row %zu: %s, %.*s", i, release_phase_name(condition.phase),
				SPAN_ARGS(condition.message));
	}
}

#define OBJECT(more_metadata, data, more)                                                          \
	"{\"metadata\":{\"name\":\"a\",\"uid\":\"u\"" more_metadata "},\"data\":{\"x\":\"" data    \
	"\"}" more "}"

static void test_content(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	uint64_t content = release_content_hash(parse(arena, OBJECT("", "1", "")));

	(void)state;
	assert_true(content == release_content_hash(parse(arena,
				       OBJECT(",\"resourceVersion\":\"7\",\"managedFields\":[{}],"
					      "\"generation\":3",
					       "1", ",\"status\":{\"a\":1},\"kind\":\"A\""))));
	assert_false(content == release_content_hash(parse(arena, OBJECT("", "2", ""))));
	assert_false(content == release_content_hash(parse(arena,
					OBJECT(",\"labels\":{\"a\":\"b\"}", "1", ""))));
}

static void test_reduce(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	_kube_object_ const struct kube_object *object = NULL;
	const struct release_live *live;
	struct json *json = parse(arena,
		"{\"metadata\":{\"name\":\"web\",\"namespace\":\"test\",\"uid\":\"u\",\"labels\":{"
		"\"slipway.dev/release\":\"shop\"},\"annotations\":{\"slipway.dev/drain-until\":"
		"\"1970-01-01T00:00:05Z\"},\"ownerReferences\":[{\"uid\":\"r\"},{\"uid\":\"c\"}]},"
		"\"spec\":{\"replicas\":2},\"status\":{\"replicas\":2,\"readyReplicas\":1}}");

	(void)state;
	assert_int_equal(kube_object_make(json, release_live_reduce, (void *)&kube_deployments,
				 &object, NULL),
		0);
	live = object->data;
	assert_true(span_is(live->release, "shop"));
	assert_int_equal(live->owner_count, 2);
	assert_true(span_is(live->owner_uids[1], "c"));
	assert_int_equal(live->drain_until_ms, 5000);
	assert_int_equal(live->pods, 2);
	assert_int_equal(live->ready_pods, 1);
	assert_int_equal(live->phase, RELEASE_PHASE_PROGRESSING);
	assert_false(live->deleting);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_phases),
		cmocka_unit_test(test_content),
		cmocka_unit_test(test_reduce),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
