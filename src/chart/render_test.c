/* Whole charts: what the library returns beside the text, its seams and its limits. */
#include "chart/render.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/memory.h"

#define METADATA "apiVersion: v2\nname: shop\nversion: 1.0.0\n"

struct fixture {
	struct arena *arena;
	struct chart *chart;
	struct render_options options;
	struct rendered rendered;
	struct err err;
	struct clock_manual clock;
	struct random_seeded random;
};

static int setup(void **state)
{
	struct fixture *fixture = memory_allocate(sizeof(*fixture));

	fixture->arena = arena_new(0);
	clock_manual_init(&fixture->clock, 1700000000000);
	random_seeded_init(&fixture->random, 1);
	fixture->options.clock = &fixture->clock.clock;
	fixture->options.random = &fixture->random.random;
	*state = fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	arena_free(fixture->arena);
	free(fixture);
	return 0;
}

/* Builds the chart of these files, and renders it; `values` are YAML, or NULL. */
static int render(struct fixture *fixture, struct chart_file *files, size_t count,
	const char *values)
{
	const struct chart_file_list list = {files, count};
	struct value_map *given = NULL;

	if (values)
		assert_int_equal(chart_read_values(fixture->arena, span_of(values), &given,
					 &fixture->err),
			0);
	if (chart_build(fixture->arena, &list, &fixture->chart, &fixture->err) < 0)
		return -1;
	return render_chart(fixture->arena, fixture->chart, given, &fixture->options,
		&fixture->rendered, &fixture->err);
}

static int render_one(struct fixture *fixture, const char *template)
{
	struct chart_file files[] = {
		{SPAN("Chart.yaml"), SPAN(METADATA)},
		{SPAN("templates/a.yaml"), span_of(template)},
	};

	return render(fixture, files, LENGTH(files), NULL);
}

static void expect_text(struct fixture *fixture, const char *template, const char *text)
{
	if (render_one(fixture, template) < 0)
		fail_msg("%s: %s", template, fixture->err.message);
	assert_int_equal(fixture->rendered.file_count, 1);
	if (!span_is(fixture->rendered.files[0].text, text))
		fail_msg("%s: %.*s", template, SPAN_ARGS(fixture->rendered.files[0].text));
}

static void expect_error(struct fixture *fixture, const char *template, const char *message)
{
	if (render_one(fixture, template) == 0)
		fail_msg("%s: rendered", template);
	assert_string_equal(fixture->err.message, message);
}

/* ---- objects ------------------------------------------------------------------------------------- */

/* Objects carry the path of their chart; hooks are listed apart from them, and notes are neither. */
static void test_objects_hooks_and_notes(void **state)
{
	struct fixture *fixture = *state;
	struct chart_file files[] = {
		{SPAN("Chart.yaml"), SPAN(METADATA)},
		{SPAN("templates/service.yaml"), SPAN("kind: Service\nmetadata: {name: web}\nspec: "
						      "{ports: [{port: 80}]}\n---\n"
						      "kind: Secret\nmetadata: {name: key}\n")},
		{SPAN("templates/hook.yaml"),
			SPAN("kind: Job\nmetadata:\n  name: migrate\n  annotations:\n"
			     "    helm.sh/hook: pre-install, pre-upgrade\n")},
		{SPAN("templates/test.yaml"), SPAN("kind: Pod\nmetadata: {name: try, annotations: "
						   "{helm.sh/hook: test}}\n")},
		{SPAN("templates/NOTES.txt"), SPAN("Hello {{ .Release.Name }}")},
		{SPAN("charts/cart/Chart.yaml"),
			SPAN("apiVersion: v2\nname: cart\nversion: 1.0.0\n")},
		{SPAN("charts/cart/templates/sub/a.yaml"),
			SPAN("kind: ConfigMap\nmetadata: {name: cart}\n")},
		{SPAN("charts/cart/templates/NOTES.txt"), SPAN("unseen")},
		{SPAN("charts/cart/charts/price/Chart.yaml"),
			SPAN("apiVersion: v2\nname: price\nversion: 1.0.0\n")},
		{SPAN("charts/cart/charts/price/templates/a.yaml"),
			SPAN("kind: Deployment\nmetadata: {name: price}\n")},
	};
	static const char *const expected[][3] = {
		{"Secret", "key", "shop"},
		{"ConfigMap", "cart", "shop/cart"},
		{"Service", "web", "shop"},
		{"Deployment", "price", "shop/cart/price"},
	};
	struct rendered *rendered = &fixture->rendered;

	assert_int_equal(render(fixture, files, LENGTH(files), NULL), 0);
	assert_int_equal(rendered->manifests.count, LENGTH(expected));
	for (size_t i = 0; i < LENGTH(expected); i++) {
		const struct manifest *manifest = &rendered->manifests.items[i];

		assert_true(span_is(manifest->kind, expected[i][0]));
		assert_true(span_is(manifest->name, expected[i][1]));
		assert_true(span_is(manifest->chart, expected[i][2]));
		assert_true(span_is(json_get(manifest->object, "kind")->text, expected[i][0]));
	}
	assert_int_equal(rendered->hooks.count, 2);
	assert_true(span_is(rendered->hooks.items[0].name, "try"));
	assert_true(manifest_is_test(&rendered->hooks.items[0]));
	assert_true(span_is(rendered->hooks.items[1].name, "migrate"));
	assert_true(span_is(rendered->hooks.items[1].hook, "pre-install, pre-upgrade"));
	assert_false(manifest_is_test(&rendered->hooks.items[1]));
	assert_true(span_is(rendered->notes, "Hello release-name"));
}

/* ---- seams --------------------------------------------------------------------------------------- */

static int find_secret(void *data, struct arena *arena, const struct span arguments[4],
	struct value *ret_value, struct err *err)
{
	struct value_map *map = value_map_new(arena, 1);

	if (span_is(arguments[3], "broken"))
		return err_set(err, -EIO, "the cluster does not answer");
	assert_true(span_is(arguments[0], "v1"));
	assert_true(span_is(arguments[1], "Secret"));
	assert_true(span_is(arguments[2], "default"));
	++*(int *)data;
	if (span_is(arguments[3], "key"))
		value_map_put(arena, map, "password", value_string(SPAN("kept")));
	*ret_value = value_of_map(map);
	return 0;
}

/* A chart that generates a password keeps the one that is there. */
static void test_lookup(void **state)
{
	struct fixture *fixture = *state;
	static const char keep[] =
		"p: {{ (lookup \"v1\" \"Secret\" \"default\" \"NAME\").password | "
		"default \"new\" }}";
	int calls = 0;

	expect_text(fixture, keep, "p: new");
	fixture->options.lookup = find_secret;
	fixture->options.lookup_data = &calls;
	expect_text(fixture, keep, "p: new");
	expect_text(fixture, "p: {{ (lookup \"v1\" \"Secret\" \"default\" \"key\").password }}",
		"p: kept");
	assert_int_equal(calls, 2);
	assert_true(render_one(fixture, "p: {{ lookup \"v1\" \"Secret\" \"\" \"broken\" }}") < 0);
	assert_non_null(strstr(fixture->err.message, "the cluster does not answer"));
	assert_non_null(strstr(fixture->err.message, "shop/templates/a.yaml:1:6"));
}

static void test_clock_and_random(void **state)
{
	struct fixture *fixture = *state;
	struct span first;

	expect_text(fixture, "t: {{ now | date \"2006-01-02 15:04:05\" }}",
		"t: 2023-11-14 22:13:20");
	assert_int_equal(render_one(fixture, "r: {{ randAlphaNum 20 }}"), 0);
	first = fixture->rendered.files[0].text;
	assert_int_equal(render_one(fixture, "r: {{ randAlphaNum 20 }}"), 0);
	assert_false(span_equal(first, fixture->rendered.files[0].text));
	random_seeded_init(&fixture->random, 1);
	assert_int_equal(render_one(fixture, "r: {{ randAlphaNum 20 }}"), 0);
	assert_true(span_equal(first, fixture->rendered.files[0].text));
}

static void test_release_and_upgrade(void **state)
{
	struct fixture *fixture = *state;

	fixture->options.release_name = "blue";
	fixture->options.namespace = "shop";
	fixture->options.revision = 7;
	fixture->options.is_upgrade = true;
	expect_text(fixture,
		"r: {{ .Release.Name }} {{ .Release.Namespace }} {{ .Release.Revision }} "
		"{{ .Release.IsUpgrade }} {{ .Release.IsInstall }} {{ .Release.Service }}",
		"r: blue shop 7 true false Helm");
	fixture->options.release_name = "Not Valid";
	expect_error(fixture, "", "invalid release name \"Not Valid\"");
}

/* ---- errors -------------------------------------------------------------------------------------- */

static void test_errors_name_the_place(void **state)
{
	struct fixture *fixture = *state;
	struct chart_file files[] = {
		{SPAN("Chart.yaml"), SPAN(METADATA)},
		{SPAN("charts/cart/Chart.yaml"),
			SPAN("apiVersion: v2\nname: cart\nversion: 1.0.0\n")},
		{SPAN("charts/cart/templates/_lib.tpl"),
			SPAN("{{ define \"lib\" }}\n  {{ .none.x.y }}\n{{ end }}")},
		{SPAN("charts/cart/templates/a.yaml"), SPAN("a: 1\nb: {{ include \"lib\" . }}\n")},
	};

	assert_true(render(fixture, files, LENGTH(files), NULL) < 0);
	assert_string_equal(fixture->err.message,
		"shop/charts/cart/templates/_lib.tpl:2:5: nil pointer evaluating interface {}.x\n"
		"  in template \"lib\", called at shop/charts/cart/templates/a.yaml:2:6");
	expect_error(fixture, "a: {{ nothere }}",
		"shop/templates/a.yaml:1:6: function \"nothere\" not defined");
	assert_true(render_one(fixture, "a: [1\n") < 0);
	assert_non_null(strstr(fixture->err.message, "YAML parse error on shop/templates/a.yaml"));
}

/* For lint: every problem at once. */
static void test_all_problems(void **state)
{
	struct fixture *fixture = *state;
	_buffer_ struct buffer problems = {0};
	struct chart_file files[] = {
		{SPAN("Chart.yaml"), SPAN(METADATA "kubeVersion: <1.10\ntype: library\n")},
		{SPAN("values.schema.json"), SPAN("{\"required\":[\"must\"]}")},
		{SPAN("templates/_a.tpl"), SPAN("{{ end }}")},
	};

	fixture->options.problems = &problems;
	assert_int_equal(render(fixture, files, LENGTH(files), NULL), 0);
	assert_non_null(strstr(problems.data, "library charts are not installable"));
	buffer_reset(&problems);
	files[0].data = SPAN(METADATA "kubeVersion: <1.10\n");
	files[2] = (struct chart_file){SPAN("templates/b.yaml"), SPAN("{{ .a.b.c }}")};
	assert_int_equal(render(fixture, files, LENGTH(files), NULL), 0);
	assert_non_null(strstr(problems.data, "must"));
	assert_non_null(strstr(problems.data, "kubeVersion"));
	assert_non_null(strstr(problems.data, "shop/templates/b.yaml:1:"));
}

/* ---- limits -------------------------------------------------------------------------------------- */

static void test_depth_of_charts(void **state)
{
	struct fixture *fixture = *state;
	struct chart_file files[CHART_DEPTH_MAX + 2];
	_buffer_ struct buffer path = {0};

	for (size_t i = 0; i < LENGTH(files); i++) {
		files[i] = (struct chart_file){arena_format(fixture->arena, "%.*sChart.yaml",
						       SPAN_ARGS(buffer_span(&path))),
			SPAN(METADATA)};
		buffer_add_string(&path, "charts/shop/");
	}
	assert_int_equal(render(fixture, files, LENGTH(files) - 1, NULL), 0);
	assert_true(render(fixture, files, LENGTH(files), NULL) < 0);
	assert_non_null(strstr(fixture->err.message, "(limit 32)"));
}

static void test_count_of_manifests(void **state)
{
	struct fixture *fixture = *state;

	assert_true(render_one(fixture, "{{ range until 100001 }}\n---\na: 1\n{{ end }}") < 0);
	assert_string_equal(fixture->err.message, "too many manifests (limit 100000)");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_objects_hooks_and_notes, setup, teardown),
		cmocka_unit_test_setup_teardown(test_lookup, setup, teardown),
		cmocka_unit_test_setup_teardown(test_clock_and_random, setup, teardown),
		cmocka_unit_test_setup_teardown(test_release_and_upgrade, setup, teardown),
		cmocka_unit_test_setup_teardown(test_errors_name_the_place, setup, teardown),
		cmocka_unit_test_setup_teardown(test_all_problems, setup, teardown),
		cmocka_unit_test_setup_teardown(test_depth_of_charts, setup, teardown),
		cmocka_unit_test_setup_teardown(test_count_of_manifests, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
