/* The view of a deployment: stages with their times, bars of shares, and lines that fit the terminal. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/memory.h"
#include "cli/app_view.h"

#define NOW_MS INT64_C(1700000100000)
#define WIDE 200

static const char *const deployment_text =
	"{\"application\":\"web\",\"number\":3,\"state\":\"RUNNING\",\"commit\":"
	"\"0123456789abcdef\","
	"\"startedAt\":1700000000,\"stages\":["
	"{\"id\":\"canary\",\"kind\":\"ECS_CANARY_ROLLOUT\",\"state\":\"SUCCESS\","
	"\"startedAt\":1700000000,\"endedAt\":1700000012.4},"
	"{\"id\":\"route\",\"kind\":\"ECS_TRAFFIC_ROUTING\",\"state\":\"RUNNING\","
	"\"startedAt\":1700000015,\"reason\":\"2 tasks\\nare not healthy \xc3\xbc\"},"
	"{\"id\":\"primary\",\"kind\":\"ECS_PRIMARY_ROLLOUT\",\"state\":\"NOT_STARTED\"},"
	"{\"id\":\"rollback\",\"kind\":\"ROLLBACK\",\"state\":\"NOT_STARTED\",\"hidden\":true}]}";

static const char *const state_text =
	"{\"service\":{\"taskSets\":["
	"{\"role\":\"PRIMARY\",\"status\":\"PRIMARY\",\"desired\":2,\"running\":2,\"traffic\":66.6,"
	"\"taskDefinition\":\"web:1\"},"
	"{\"role\":\"CANARY\",\"status\":\"ACTIVE\",\"desired\":1,\"running\":0,\"traffic\":0.5,"
	"\"taskDefinition\":\"web:2\"},"
	"{\"role\":\"OLD\",\"status\":\"DRAINING\",\"desired\":0,\"running\":1,"
	"\"taskDefinition\":\"web:0\"}]}}";

static struct span view(struct arena *arena, const char *state, size_t width)
{
	struct json *deployment, *parsed = NULL;

	assert_int_equal(json_parse(span_of(deployment_text), arena, &deployment, NULL), 0);
	if (state)
		assert_int_equal(json_parse(span_of(state), arena, &parsed, NULL), 0);
	return app_view(arena, deployment, parsed, width, NOW_MS);
}

static void test_view(void **context)
{
	_arena_ struct arena *arena = arena_new(0);

	(void)context;
	assert_string_equal(view(arena, state_text, WIDE).data,
		"web, deployment 3, commit 01234567: RUNNING  1m 40s\n"
		"+ canary           ECS_CANARY_ROLLOUT   SUCCESS        12s\n"
		"> route            ECS_TRAFFIC_ROUTING  RUNNING     1m 25s  2 tasks are not "
		"healthy "
		"\xc3\xbc\n"
		"  primary          ECS_PRIMARY_ROLLOUT\n"
		"\n"
		"  PRIMARY  [#############.......]  66.6%  2 of 2 tasks run  web:1\n"
		"  CANARY   [#...................]   0.5%  0 of 1 tasks run  web:2\n"
		"  OLD                                     1 of 0 tasks run, draining  web:0\n");
}

static void test_without_state(void **context)
{
	_arena_ struct arena *arena = arena_new(0);

	(void)context;
	assert_null(strstr(view(arena, NULL, WIDE).data, "PRIMARY "));
}

static void test_lines_fit(void **context)
{
	_arena_ struct arena *arena = arena_new(0);
	struct span text, line;

	(void)context;
	for (size_t width = 1; width < WIDE; width++) {
		size_t lines = 0;

		text = view(arena, state_text, width);
		while (span_next_part(&text, '\n', &line)) {
			size_t columns = 0;

			for (size_t i = 0; i < line.length; i++)
				columns += ((unsigned char)line.data[i] & 0xc0) != 0x80;
			assert_true(columns <= width);
			lines++;
		}
		assert_int_equal(lines, 8);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_view),
		cmocka_unit_test(test_without_state),
		cmocka_unit_test(test_lines_fit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
