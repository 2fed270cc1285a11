/* Specs of tasks: defaults, overrides, secrets, and definitions that can never start. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/memory.h"
#include "ecs/task/task_spec.h"

struct rig {
	struct arena *arena;
	char folder[64]; /* of secrets */
};

static int set_up(void **state)
{
	struct rig *rig = memory_allocate(sizeof(*rig));

	rig->arena = arena_new(0);
	snprintf(rig->folder, sizeof(rig->folder), "/tmp/slipway-secrets-XXXXXX");
	assert_non_null(mkdtemp(rig->folder));
	*state = rig;
	return 0;
}

static void put_secret(struct rig *rig, const char *name, const char *text)
{
	_free_ char *path = memory_format("%s/%s", rig->folder, name);

	assert_int_equal(file_replace(path, span_of(text), 0600, NULL), 0);
}

static int tear_down(void **state)
{
	static const char *const files[] = {
		"password", "database", "prod/password", "empty", "prod"};
	struct rig *rig = *state;

	for (size_t i = 0; i < LENGTH(files); i++) {
		_free_ char *path = memory_format("%s/%s", rig->folder, files[i]);

		remove(path);
	}
	assert_int_equal(rmdir(rig->folder), 0);
	arena_free(rig->arena);
	free(rig);
	return 0;
}

/* Written with ' for ". */
static const struct json *parse(struct rig *rig, const char *text)
{
	char *copy = arena_copy_string(rig->arena, text);
	struct json *value;
	struct err err;

	for (char *c = copy; *c; c++)
		*c = *c == '\'' ? '"' : *c;
	if (json_parse(span_of(copy), rig->arena, &value, &err) < 0)
		fail_msg("%s", err.message);
	return value;
}

static int make(struct rig *rig, const char *definition, const char *overrides,
	struct json **ret_spec, struct err *err)
{
	static const struct task_facts facts = {.cluster = SPAN("default"),
		.id = SPAN("1"),
		.family = SPAN("web"),
		.revision = 3,
		.service = SPAN("front")};
	struct task_spec_write spec_write = {.arena = rig->arena,
		.task_key = SPAN("123456789012/eu-west-1/default/1"),
		.facts = &facts,
		.definition = parse(rig, definition),
		.overrides = overrides ? parse(rig, overrides) : NULL,
		.secrets = rig->folder};

	return task_spec_make(&spec_write, ret_spec, err);
}

static void expect(struct rig *rig, const char *definition, const char *overrides, const char *path,
	const char *expected)
{
	struct json *spec;
	struct err err;
	struct span text;

	if (make(rig, definition, overrides, &spec, &err) < 0)
		fail_msg("%s", err.message);
	if (path[0] == '.') /* of the first container */
		text = json_to_text(json_path(json_item(json_get(spec, "containers"), 0), path + 1),
			rig->arena);
	else
		text = json_to_text(json_path(spec, path), rig->arena);
	for (size_t i = 0; i < text.length; i++)
		if (text.data[i] == '"')
			((char *)text.data)[i] = '\'';
	assert_string_equal(arena_copy_span(rig->arena, text).data, expected);
}

static void expect_refused(struct rig *rig, const char *definition, const char *words)
{
	struct json *spec;
	struct err err;

	assert_int_equal(make(rig, definition, NULL, &spec, &err), -EINVAL);
	if (!strstr(err.message, words))
		fail_msg("'%s' is not in: %s", words, err.message);
}

#define ONE(members)                                                                               \
	"{'containerDefinitions':[{'name':'app','image':'host','essential':true," members "}]}"

static void defaults_are_filled_in(void **state)
{
	struct rig *rig = *state;
	const char *plain = ONE("'cpu':5");

	expect(rig, plain, NULL, "version", "1");
	expect(rig, plain, NULL, "family", "'web'");
	expect(rig, plain, NULL, "revision", "3");
	expect(rig, plain, NULL, "service", "'front'");
	expect(rig, plain, NULL, "arn", "'arn:aws:ecs:eu-west-1:123456789012:task/default/1'");
	expect(rig, plain, NULL, "networkMode", "'bridge'");
	expect(rig, plain, NULL, "cpu", "0");
	expect(rig, plain, NULL, ".command", "[]");
	expect(rig, plain, NULL, ".environment", "[]");
	expect(rig, plain, NULL, ".ulimits", "[]");
	expect(rig, plain, NULL, ".cpu", "5");
	expect(rig, plain, NULL, ".stopTimeout", "30");
	expect(rig, plain, NULL, ".logMaxBytes", "10485760");
	expect(rig, "{'networkMode':'awsvpc','cpu':'256','memory':'512','containerDefinitions':[]}",
		NULL, "memory", "512");
}

static void overrides_win(void **state)
{
	struct rig *rig = *state;
	const char *definition = "{'cpu':'256','containerDefinitions':[{'name':'app','command':"
				 "['a'],'memory':64,'environment':[{'name':'A','value':'1'},"
				 "{'name':'B','value':'2'}]},{'name':'beside','command':['b']}]}";
	const char *overrides = "{'cpu':'1 vCPU','containerOverrides':[{'name':'app','command':"
				"['x','y'],'memory':128,'environment':[{'name':'B','value':'3'},"
				"{'name':'C','value':'4'}]}]}";

	expect(rig, definition, overrides, "cpu", "1024");
	expect(rig, definition, overrides, ".command", "['x','y']");
	expect(rig, definition, overrides, ".memory", "128");
	expect(rig, definition, overrides, ".environment",
		"[{'name':'A','value':'1'},{'name':'B','value':'3'},{'name':'C','value':'4'}]");
	expect(rig, definition, NULL, ".command", "['a']");
}

static void ports_and_health_checks_take_one_form(void **state)
{
	struct rig *rig = *state;

	expect(rig, ONE("'portMappings':[{'containerPort':80,'hostPort':0,'name':'web'}]"), NULL,
		".portMappings", "[{'containerPort':80,'hostPort':0,'protocol':'tcp'}]");
	expect(rig, ONE("'portMappings':[{'containerPortRange':'8080-8081','protocol':'udp'}]"),
		NULL, ".portMappings",
		"[{'containerPort':8080,'hostPort':0,'protocol':'udp'},"
		"{'containerPort':8081,'hostPort':0,'protocol':'udp'}]");
	expect_refused(rig, ONE("'portMappings':[{'containerPortRange':'1-65535'}]"), "1-65535");
	expect(rig, ONE("'healthCheck':{'command':['true','x'],'interval':5}"), NULL,
		".healthCheck.command", "['CMD','true','x']");
	expect(rig, ONE("'healthCheck':{'command':['CMD-SHELL','a','b']}"), NULL,
		".healthCheck.command", "['CMD','/bin/sh','-c','a','b']");
	expect(rig, ONE("'healthCheck':{'command':['CMD-SHELL','a b']}"), NULL,
		".healthCheck.command", "['CMD-SHELL','a b']");
}

static void secrets_are_files(void **state)
{
	struct rig *rig = *state;
	_free_ char *folder = memory_format("%s/prod", rig->folder);
	static const struct {
		const char *from, *value;
	} cases[] = {
		{"password", "a\\nb"},
		{"arn:aws:secretsmanager:eu-west-1:1:secret:password", "a\\nb"},
		{"arn:aws:secretsmanager:eu-west-1:1:secret:password-AbCdEf", "a\\nb"},
		{"arn:aws:secretsmanager:eu-west-1:1:secret:database-AbCdEf:user::", "web"},
		{"arn:aws:ssm:eu-west-1:1:parameter/prod/password", "c"},
		{"/prod/password", "c"},
		{"prod/password", "c"},
		{"empty", ""},
	};
	static const struct {
		const char *from, *words;
	} refused[] = {
		{"missing", "No such file"},
		{"../password", "no name of a secret"},
		{"prod/../password", "no name of a secret"},
		{"prod//password", "no name of a secret"},
		{"//password", "no name of a secret"},
		{".password", "no name of a secret"},
		{"", "no name of a secret"},
		{"arn:aws:secretsmanager:eu-west-1:1:secret:database:missing::",
			"no member 'missing'"},
		{"arn:aws:secretsmanager:eu-west-1:1:secret:password:user::", "unable to retrieve"},
	};

	assert_int_equal(mkdir(folder, 0700), 0);
	put_secret(rig, "password", "a\nb\n");
	put_secret(rig, "database", "{\"user\":\"web\"}");
	put_secret(rig, "prod/password", "c");
	put_secret(rig, "empty", "");
	for (size_t i = 0; i < LENGTH(cases); i++)
		expect(rig,
			arena_format(rig->arena, ONE("'secrets':[{'name':'A','valueFrom':'%s'}]"),
				cases[i].from)
				.data,
			NULL, ".environment",
			arena_format(rig->arena, "[{'name':'A','value':'%s','secret':true}]",
				cases[i].value)
				.data);
	for (size_t i = 0; i < LENGTH(refused); i++)
		expect_refused(rig,
			arena_format(rig->arena, ONE("'secrets':[{'name':'A','valueFrom':'%s'}]"),
				refused[i].from)
				.data,
			refused[i].words);
	/* The message begins as in ECS. */
	expect_refused(rig, ONE("'secrets':[{'name':'A','valueFrom':'missing'}]"),
		"ResourceInitializationError: unable to pull secrets");
}

static void what_there_is_none_of_here_is_refused(void **state)
{
	expect_refused(*state,
		ONE("'environmentFiles':[{'type':'s3','value':'arn:aws:s3:::b/f.env'}]"),
		"ResourceInitializationError: failed to download env files");
}

#define WITH_VOLUME(source)                                                                        \
	"{'volumes':[{'name':'data'," source "}],'containerDefinitions':[{'name':'app',"           \
	"'image':'host','mountPoints':[{'sourceVolume':'data','containerPath':'/data'}]}]}"

/* Better no task than one with an empty folder for its data. */
static void volumes_that_are_not_had_are_refused(void **state)
{
	static const struct {
		const char *definition, *words;
	} refused[] = {
		{WITH_VOLUME("'efsVolumeConfiguration':{'fileSystemId':'fs-1'}"),
			"volume 'data': slipway has no Amazon EFS"},
		{WITH_VOLUME("'fsxWindowsFileServerVolumeConfiguration':{}"), "no Amazon FSx"},
		{WITH_VOLUME("'s3filesVolumeConfiguration':{}"), "no Amazon S3"},
		{WITH_VOLUME("'configuredAtLaunch':true"), "no Amazon EBS"},
		{WITH_VOLUME("'dockerVolumeConfiguration':{'scope':'shared'}"), "scope 'task'"},
		{WITH_VOLUME("'dockerVolumeConfiguration':{'driver':'rexray'}"), "driver 'local'"},
	};

	for (size_t i = 0; i < LENGTH(refused); i++)
		expect_refused(*state, refused[i].definition, refused[i].words);
	expect(*state, WITH_VOLUME("'dockerVolumeConfiguration':{'scope':'task','driver':'local'}"),
		NULL, "volumes", "[{'name':'data'}]");
	expect(*state, WITH_VOLUME("'host':{'sourcePath':'/srv'}"), NULL, "volumes",
		"[{'name':'data','host':{'sourcePath':'/srv'}}]");
}

static void volumes_come_from_other_containers(void **state)
{
	expect(*state,
		"{'containerDefinitions':["
		"{'name':'app','image':'host','volumesFrom':[{'sourceContainer':'one','readOnly':"
		"true},"
		"{'sourceContainer':'two'}],"
		"'mountPoints':[{'sourceVolume':'own','containerPath':'/own'}]},"
		"{'name':'one','image':'host','mountPoints':["
		"{'sourceVolume':'a','containerPath':'/own'},"
		"{'sourceVolume':'b','containerPath':'/b','readOnly':false}]},"
		"{'name':'two','image':'host','mountPoints':["
		"{'sourceVolume':'c','containerPath':'/c'}]}]}",
		NULL, ".mountPoints",
		"[{'sourceVolume':'own','containerPath':'/own'},"
		"{'sourceVolume':'b','containerPath':'/b','readOnly':true},"
		"{'sourceVolume':'c','containerPath':'/c'}]");
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(defaults_are_filled_in),
		TEST(overrides_win),
		TEST(ports_and_health_checks_take_one_form),
		TEST(secrets_are_files),
		TEST(what_there_is_none_of_here_is_refused),
		TEST(volumes_that_are_not_had_are_refused),
		TEST(volumes_come_from_other_containers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
