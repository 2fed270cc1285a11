/* Templates: values in plain manifests, configurations, errors with their lines. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/memory.h"
#include "release/release_names.h"
#include "release/render.h"

#define VALUES "{\"a\":{\"b\":\"text\",\"n\":3,\"t\":true,\"list\":[1]},\"none\":null}"

static int replace(struct arena *arena, const char *text, struct span *ret_text, struct err *err)
{
	struct json *values;

	assert_int_equal(json_parse(SPAN(VALUES), arena, &values, NULL), 0);
	return release_replace_values(arena, span_of(text), values, ret_text, err);
}

static void test_replaced(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	struct span text;

	(void)state;
	assert_int_equal(replace(arena,
				 "x: {{ .Values.a.b }}\ny: '{{.Values.a.n}}{{\t.Values.a.t}}'\nz: "
				 "}} {a}",
				 &text, NULL),
		0);
	assert_true(span_is(text, "x: text\ny: '3true'\nz: }} {a}"));
	assert_int_equal(replace(arena, "", &text, NULL), 0);
	assert_true(span_is(text, ""));
}

static void test_refused_braces(void **state)
{
	static const struct {
		const char *text, *message;
	} cases[] = {
		{"a\nb: {{ include \"x\" . }}", "line 2: '{{ include \"x\" . }}': plain manifests "
						"may have {{ .Values.NAME }} "
						"only; use a chart for more"},
		{"{{ .Release.Name }}", "line 1: '{{ .Release.Name }}': plain manifests may have "
					"{{ .Values.NAME }} only; use a chart for more"},
		{"{{- .Values.a.b }}", "line 1: '{{ - .Values.a.b }}': plain manifests may have "
				       "{{ .Values.NAME }} only; use a chart for more"},
		{"{{ .Values.a.b | quote }}",
			"line 1: '{{ .Values.a.b | quote }}': plain manifests may have "
			"{{ .Values.NAME }} only; use a chart for more"},
		{"{{ .Values. }}", "line 1: '{{ .Values. }}': plain manifests may have "
				   "{{ .Values.NAME }} only; use a chart for more"},
		{"a\n\nb: {{ .Values.a.c }}", "line 3: .Values.a.c is not set"},
		{"{{ .Values.none }}", "line 1: .Values.none is not set"},
		{"{{ .Values.a.b.c }}", "line 1: .Values.a.b.c is not set"},
		{"{{ .Values.a }}",
			"line 1: .Values.a is an object; only text, numbers and booleans "
			"can be inserted"},
		{"a\n{{ .Values.a.b", "line 2: '{{' without '}}'"},
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(cases); i++) {
		_arena_ struct arena *arena = arena_new(0);
		struct span text;
		struct err err;

		assert_int_equal(replace(arena, cases[i].text, &text, &err), -EINVAL);
		assert_string_equal(err.message, cases[i].message);
	}
}

static void test_configurations(void **state)
{
	static const struct {
		const char *config, *values;
	} cases[] = {
		{"", "{}"},
		{"null", "{}"},
		{"{\"a\":1}", "{\"a\":1}"},
		{"{\"_config\":{\"a\":1},\"cart\":{\"_config\":{\"b\":{\"c\":2}},\"deep\":{\"_"
		 "config\":{}}},"
		 "\"_metadata\":{\"revision\":2}}",
			"{\"a\":1,\"cart\":{\"b\":{\"c\":2},\"deep\":{}}}"},
		{"{\"a\":1,\"cart\":{\"_config\":{\"b\":2}}}", "{\"a\":1,\"cart\":{\"b\":2}}"},
	};
	_arena_ struct arena *arena = arena_new(0);
	const struct json *values;
	struct err err;

	(void)state;
	for (size_t i = 0; i < LENGTH(cases); i++) {
		assert_int_equal(release_config_values(arena, span_of(cases[i].config), &values,
					 NULL),
			0);
		assert_true(span_is(json_to_text(values, arena), cases[i].values));
	}
	assert_int_equal(release_config_values(arena, SPAN("[]"), &values, &err), -EINVAL);
	assert_string_equal(err.message, "spec.config is an array, not an object");
	assert_int_equal(release_config_values(arena, SPAN("{"), &values, &err), -EINVAL);
}

#define DEPLOYMENT                                                                                 \
	"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\n"                           \
	"spec:\n  replicas: {{ .Values.replicas }}\n  selector: {matchLabels: {app: web}}\n"       \
	"  template: {metadata: {labels: {app: web}}}\n"

static struct release_render make_render(const char *template_text, const char *config)
{
	return (struct release_render){
		.source = {.template_text = span_of(template_text), .config = span_of(config)},
		.name = SPAN("web"),
		.namespace = SPAN("test"),
		.version = 1,
	};
}

/* Tracks from version 1 on, in all selectors, so that a canary's pods are never selected by accident. */
static void test_tracks(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	struct release_render render =
		make_render(DEPLOYMENT "---\napiVersion: v1\nkind: List\nitems:\n"
				       "- {apiVersion: v1, kind: Service, metadata: {name: web},"
				       " spec: {selector: {app: web}}}\n---\n# nothing\n",
			"{\"replicas\":2}");
	struct release_manifest manifest;
	const struct json *service, *deployment;

	(void)state;
	assert_int_equal(release_render_manifest(arena, &render, &manifest, NULL), 0);
	assert_int_equal(manifest.count, 2);
	service = manifest.objects[0].json;
	deployment = manifest.objects[1].json;
	assert_int_equal(json_get_integer(json_get(deployment, "spec"), "replicas", 0), 2);
	assert_true(span_is(json_get_text(json_path(service, "spec.selector"), RELEASE_TRACK_LABEL),
		RELEASE_TRACK_STABLE));
	assert_true(span_is(json_get_text(json_path(deployment, "spec.selector.matchLabels"),
				    RELEASE_TRACK_LABEL),
		RELEASE_TRACK_STABLE));
	assert_true(span_is(json_get_text(json_path(deployment, "spec.template.metadata.labels"),
				    RELEASE_TRACK_LABEL),
		RELEASE_TRACK_STABLE));
}

static void test_refused_templates(void **state)
{
	static const struct {
		const char *text, *message;
	} cases[] = {
		{"# nothing\n", "spec.template renders no objects"},
		{DEPLOYMENT, "spec.template: line 5: .Values.replicas is not set"},
		{"hello", "spec.template: line 1: the document is a string, not an object; charts "
			  "are "
			  ".tgz archives in base64"},
		{"H4sI!", "spec.template: spec.template is not base64"},
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(cases); i++) {
		_arena_ struct arena *arena = arena_new(0);
		struct release_render render = make_render(cases[i].text, "");
		struct release_manifest manifest;
		struct err err;

		assert_int_equal(release_render_manifest(arena, &render, &manifest, &err), -EINVAL);
		assert_string_equal(err.message, cases[i].message);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_replaced),
		cmocka_unit_test(test_refused_braces),
		cmocka_unit_test(test_configurations),
		cmocka_unit_test(test_tracks),
		cmocka_unit_test(test_refused_templates),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
