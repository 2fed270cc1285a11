/* Manifests: order, labels, text and back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/memory.h"
#include "base/yaml.h"
#include "release/release_manifest.h"

static struct release_part *read_parts(struct arena *arena, const char *text, size_t *ret_count)
{
	struct yaml_document *documents;
	struct release_part *parts;

	assert_int_equal(yaml_parse_documents(span_of(text), arena, &documents, ret_count, NULL),
		0);
	parts = arena_allocate_array(arena, *ret_count, sizeof(*parts));
	for (size_t i = 0; i < *ret_count; i++)
		parts[i] =
			(struct release_part){documents[i].value, i == 0 ? SPAN("shop") : SPAN("")};
	return parts;
}

static void test_make_and_read(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	struct release_manifest manifest, again;
	struct release_part *parts;
	struct span text;
	size_t count;

	(void)state;
	parts = read_parts(arena,
		"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: "
		"test}\n---\n"
		"apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: a}\n---\n"
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b, labels: {x: z}}\n"
		"data: {text: \"a\\n---\\nb\"}\nstatus: {}\n---\n"
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n",
		&count);
	assert_int_equal(release_manifest_make(arena, parts, count, SPAN("web"), SPAN("test"),
				 &manifest, NULL),
		0);
	assert_int_equal(release_manifest_write(arena, &manifest, &text, NULL), 0);
	assert_true(span_is(text,
		"apiVersion: v1\ndata:\n  text: |-\n    a\n    ---\n    b\nkind: "
		"ConfigMap\nmetadata:\n"
		"  labels:\n    slipway.dev/release: web\n    x: z\n  name: b\n---\n"
		"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  labels:\n    slipway.dev/release: "
		"web\n"
		"  name: a\n---\n"
		"apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  annotations:\n    "
		"helm.sh/path: shop\n"
		"  labels:\n    slipway.dev/release: web\n  name: web\n---\n"
		"apiVersion: example.com/v1\nkind: Thing\nmetadata:\n  labels:\n"
		"    slipway.dev/release: web\n  name: a\n"));
	assert_int_equal(release_manifest_read(arena, text, &again, NULL), 0);
	assert_int_equal(again.count, manifest.count);
	for (size_t i = 0; i < again.count; i++) {
		assert_true(json_equal(again.objects[i].json, manifest.objects[i].json));
		assert_true(span_equal(again.objects[i].path, manifest.objects[i].path));
	}
	assert_ptr_equal(release_manifest_find(&again, SPAN("apps/v1beta1"), SPAN("Deployment"),
				 SPAN("web")),
		&again.objects[2]);
	assert_null(release_manifest_find(&again, SPAN("v1"), SPAN("Deployment"), SPAN("web")));
	assert_int_equal(release_manifest_read(arena, SPAN(""), &again, NULL), 0);
	assert_int_equal(again.count, 0);
}

static void test_refused(void **state)
{
	static const struct {
		const char *text, *message;
	} cases[] = {
		{"kind: A\nmetadata: {name: a}\n", "an object has no apiVersion or no kind"},
		{"apiVersion: v1\nkind: A\n", "A: metadata.name is missing"},
		{"- a\n", "a manifest is an array, not an object"},
		{"apiVersion: v1\nkind: A\nmetadata: {name: a, namespace: other}\n",
			"A 'a' is in namespace 'other'; objects of a Release are in its own "
			"namespace, "
			"'test'"},
		{"apiVersion: g/v1\nkind: A\nmetadata: {name: a}\n---\n"
		 "apiVersion: g/v2\nkind: A\nmetadata: {name: a}\n",
			"A 'a' is there twice"},
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(cases); i++) {
		_arena_ struct arena *arena = arena_new(0);
		struct release_manifest manifest;
		struct err err;
		size_t count;
		struct release_part *parts = read_parts(arena, cases[i].text, &count);

		assert_int_equal(release_manifest_make(arena, parts, count, SPAN("web"),
					 SPAN("test"), &manifest, &err),
			-EINVAL);
		assert_string_equal(err.message, cases[i].message);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_make_and_read),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
