/* Credentials: what is read from files and plugins, when it is renewed, what happens when it cannot be. */
#include "kube/credentials.h"

#include <dirent.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/memory.h"

/* A clock that runs, and can be moved ahead. */
struct moving_clock {
	struct clock clock;
	_Atomic int64_t ahead_us;
};

static int64_t moving_wall_ms(struct clock *clock)
{
	struct moving_clock *moving = (struct moving_clock *)clock;

	return clock_wall_ms(clock_system()) + moving->ahead_us / 1000;
}

static int64_t moving_steady_us(struct clock *clock)
{
	struct moving_clock *moving = (struct moving_clock *)clock;

	return clock_steady_us(clock_system()) + moving->ahead_us;
}

struct world {
	struct arena *arena;
	struct moving_clock clock;
	struct runner *runner;
	char folder[64];
	struct kube_exec_plugin plugin;
	struct kube_access access;
	struct kube_credentials *credentials;
};

static struct span in_folder(struct world *world, const char *name)
{
	return arena_format(world->arena, "%s/%s", world->folder, name);
}

static void write_file(struct world *world, const char *name, const char *text)
{
	assert_int_equal(file_replace(in_folder(world, name).data, span_of(text), 0700, NULL), 0);
}

static void begin(struct world *world)
{
	*world = (struct world){.arena = arena_new(0)};
	world->clock.clock = (struct clock){moving_wall_ms, moving_steady_us};
	world->runner = runner_threads_new(&world->clock.clock, random_system());
	snprintf(world->folder, sizeof(world->folder), "/tmp/credentials-test-XXXXXX");
	assert_non_null(mkdtemp(world->folder));
	world->access.server = SPAN("https://192.0.2.1");
}

static void start(struct world *world)
{
	world->credentials = kube_credentials_new(world->runner, &world->access);
}

static void end(struct world *world)
{
	DIR *folder = opendir(world->folder);
	struct dirent *entry;

	kube_credentials_free(world->credentials);
	runner_free(world->runner);
	while ((entry = readdir(folder)))
		unlinkat(dirfd(folder), entry->d_name, 0);
	closedir(folder);
	rmdir(world->folder);
	arena_free(world->arena);
}

static void move_ahead(struct world *world, int64_t seconds)
{
	world->clock.ahead_us += seconds * 1000000;
}

static const struct kube_credential *get(struct world *world)
{
	const struct kube_credential *credential = NULL;
	struct err err;

	if (kube_credentials_get(world->credentials, NULL, &credential, &err) < 0)
		fail_msg("%s", err.message);
	return credential;
}

static void check_authorization(struct world *world, const char *expected)
{
	const struct kube_credential *credential = get(world);

	if (expected)
		assert_string_equal(credential->authorization.data, expected);
	else
		assert_null(credential->authorization.data);
	kube_credential_release(credential);
}

static int get_code(struct world *world, struct err *err)
{
	const struct kube_credential *credential;
	int code = kube_credentials_get(world->credentials, NULL, &credential, err);

	if (code == 0)
		kube_credential_release(credential);
	return code;
}

/* ---- files ---- */

static void test_given(void **state)
{
	struct world world;

	(void)state;
	begin(&world);
	start(&world);
	check_authorization(&world, NULL);
	kube_credentials_free(world.credentials);
	world.access.username = SPAN("me");
	world.access.password = SPAN("p:w");
	start(&world);
	check_authorization(&world, "Basic bWU6cDp3");
	end(&world);
}

static void test_a_token_file_is_read_again(void **state)
{
	struct world world;
	struct err err;

	(void)state;
	begin(&world);
	world.access.token.path = in_folder(&world, "token");
	start(&world);
	assert_int_equal(get_code(&world, &err), -ENOENT);
	write_file(&world, "token", "");
	assert_int_equal(get_code(&world, &err), -ENODATA);
	write_file(&world, "token", " one \n");
	check_authorization(&world, "Bearer one");
	write_file(&world, "token", "two\n");
	check_authorization(&world, "Bearer one");
	move_ahead(&world, 60);
	check_authorization(&world, "Bearer two");
	/* While it cannot be read, the known one stays in use; and it is read again later. */
	unlink(in_folder(&world, "token").data);
	move_ahead(&world, 60);
	check_authorization(&world, "Bearer two");
	write_file(&world, "token", "three");
	check_authorization(&world, "Bearer two");
	move_ahead(&world, 60);
	check_authorization(&world, "Bearer three");
	assert_int_equal(kube_credentials_renewals(world.credentials), 3);
	end(&world);
}

static void test_a_refused_token_is_read_at_once(void **state)
{
	const struct kube_credential *credential, *newer;
	struct world world;
	struct err err;

	(void)state;
	begin(&world);
	world.access.token.path = in_folder(&world, "token");
	write_file(&world, "token", "one");
	start(&world);
	credential = get(&world);
	write_file(&world, "token", "two");
	move_ahead(&world, 5);
	kube_credentials_refused(world.credentials, credential);
	newer = get(&world);
	assert_string_equal(newer->authorization.data, "Bearer two");
	/* Another call that was refused with the old one does not spoil the new one. */
	kube_credentials_refused(world.credentials, credential);
	check_authorization(&world, "Bearer two");
	assert_int_equal(kube_credentials_renewals(world.credentials), 2);
	/* Refused and cannot be renewed: there is nothing to show. */
	unlink(in_folder(&world, "token").data);
	move_ahead(&world, 5);
	kube_credentials_refused(world.credentials, newer);
	assert_int_equal(get_code(&world, &err), -ENOENT);
	kube_credential_release(credential);
	kube_credential_release(newer);
	end(&world);
}

static void test_certificates(void **state)
{
	const struct kube_credential *credential;
	struct world world;

	(void)state;
	begin(&world);
	world.access.authorities.path = in_folder(&world, "ca");
	world.access.certificate.path = in_folder(&world, "cert");
	world.access.key.text = SPAN("key");
	write_file(&world, "ca", "ca\n");
	write_file(&world, "cert", "cert\n");
	start(&world);
	credential = get(&world);
	assert_string_equal(credential->authorities.data, "ca\n");
	assert_string_equal(credential->certificate.data, "cert\n");
	assert_string_equal(credential->key.data, "key");
	kube_credential_release(credential);
	end(&world);
}

/* ---- output of plugins ---- */

#define VERSION "client.authentication.k8s.io/v1"
#define PRINTED(status)                                                                            \
	"{\"kind\":\"ExecCredential\",\"apiVersion\":\"" VERSION "\",\"status\":" status "}"

static const struct {
	const char *output;
	const char *message; /* NULL: good */
} outputs[] = {
	{PRINTED("{\"token\":\"t\"}"), NULL},
	{PRINTED("{\"clientCertificateData\":\"c\",\"clientKeyData\":\"k\"}"), NULL},
	{PRINTED("{\"token\":\"t\",\"expirationTimestamp\":\"2023-11-14T22:13:20Z\"}"), NULL},
	{"", "it did not print JSON"},
	{"login first", "it did not print JSON"},
	{"{}", "it did not print an ExecCredential"},
	{"{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/v1beta1\"}",
		"it printed apiVersion 'client.authentication.k8s.io/v1beta1' instead of"},
	{PRINTED("{}"), "it gave neither status.token nor status.clientCertificateData"},
	{PRINTED("null"), "it gave neither"},
	{PRINTED("{\"clientCertificateData\":\"c\"}"), "belong together"},
	{PRINTED("{\"token\":\"a\\r\\nX-Evil: b\"}"), "has spaces or control characters in it"},
	{PRINTED("{\"token\":\"t\",\"expirationTimestamp\":\"soon\"}"), "is not a time"},
};

static void test_outputs(void **state)
{
	(void)state;
	for (size_t i = 0; i < LENGTH(outputs); i++) {
		_arena_ struct arena *arena = arena_new(0);
		struct kube_plugin_answer answer;
		struct err err = {0};
		int code = kube_plugin_read(span_of(outputs[i].output), SPAN(VERSION), arena,
			&answer, &err);

		if ((code == 0) != !outputs[i].message ||
			(code < 0 && !strstr(err.message, outputs[i].message)))
			fail_msg("row %zu: %d %s", i, code, err.message);
	}
}

/* ---- running them ---- */

static void set_plugin(struct world *world, const char *script)
{
	static const struct span environment[] = {SPAN("FROM_CONFIG=yes"), SPAN("HOME=/nowhere")};

	write_file(world, "plugin", script);
	world->plugin = (struct kube_exec_plugin){
		.api_version = SPAN(VERSION),
		.command = in_folder(world, "plugin"),
		.environment = environment,
		.environment_count = LENGTH(environment),
		.provide_cluster_info = true,
	};
	world->access.plugin = &world->plugin;
}

/* Prints how often it was run, as its token. */
#define COUNTING                                                                                   \
	"#!/bin/sh\nf=$(dirname $0)/count\nn=$(($(cat $f 2>/dev/null || echo 0) + 1))\n"           \
	"echo $n >$f\n"

static void test_a_plugin_is_asked_when_needed(void **state)
{
	const struct kube_credential *credential;
	struct world world;

	(void)state;
	begin(&world);
	set_plugin(&world, COUNTING "printf '{\"kind\":\"ExecCredential\",\"apiVersion\":\"" VERSION
				    "\",\"status\":{\"token\":\"t%d\"}}' $n\n");
	start(&world);
	check_authorization(&world, "Bearer t1");
	move_ahead(&world, 86400);
	check_authorization(&world, "Bearer t1"); /* it did not say that it expires */
	credential = get(&world);
	kube_credentials_refused(world.credentials, credential);
	kube_credential_release(credential);
	check_authorization(&world, "Bearer t2");
	end(&world);
}

static void test_a_plugins_credential_expires(void **state)
{
	struct world world;
	char expires[CLOCK_ISO_SIZE];
	struct span script;
	struct err err;

	(void)state;
	begin(&world);
	clock_format_iso(clock_wall_ms(clock_system()) + 3600000, expires);
	script = arena_format(world.arena,
		COUNTING "[ $n -gt 1 ] && { echo no more >&2; exit 3; }\n"
			 "printf '{\"kind\":\"ExecCredential\",\"apiVersion\":\"" VERSION
			 "\",\"status\":{\"token\":\"t%%d\",\"expirationTimestamp\":\"%s\"}}' $n\n",
		expires);
	set_plugin(&world, script.data);
	start(&world);
	check_authorization(&world, "Bearer t1");
	move_ahead(&world, 3000);
	check_authorization(&world, "Bearer t1");
	move_ahead(&world, 3000);
	assert_int_equal(get_code(&world, &err), -EACCES);
	assert_non_null(strstr(err.message, "it ended with 3: no more"));
	assert_non_null(strstr(err.message, "credentials: credential plugin "));
	end(&world);
}

static void test_input_of_a_plugin(void **state)
{
	_buffer_ struct buffer reported = {0};
	struct world world;
	struct json *info;

	(void)state;
	begin(&world);
	world.access.authorities.text = SPAN("hello");
	world.access.tls_server_name = SPAN("k.test");
	world.access.cluster_config = SPAN("{\"audience\":\"me\"}");
	set_plugin(&world, "#!/bin/sh\nprintf '%s' \"$KUBERNETES_EXEC_INFO\" >\"${0%/*}/input\"\n"
			   "[ -z \"$(cat)\" ] || exit 1\n"
			   "printf '{\"kind\":\"ExecCredential\",\"apiVersion\":\"" VERSION
			   "\",\"status\":{\"token\":\"%s-%s\"}}' \"$FROM_CONFIG\" \"$HOME\"\n");
	start(&world);
	setenv("KUBERNETES_EXEC_INFO", "stale", 1);
	check_authorization(&world, "Bearer yes-/nowhere");
	unsetenv("KUBERNETES_EXEC_INFO");
	assert_int_equal(file_read(in_folder(&world, "input").data, 10000, &reported, NULL), 0);
	assert_int_equal(json_parse(buffer_span(&reported), world.arena, &info, NULL), 0);
	assert_true(span_is(json_get_text(info, "kind"), "ExecCredential"));
	assert_true(span_is(json_get_text(info, "apiVersion"), VERSION));
	assert_false(json_is_true(json_path(info, "spec.interactive")));
	assert_true(span_is(json_text(json_path(info, "spec.cluster.server")),
		"https://192.0.2.1"));
	assert_true(span_is(json_text(json_path(info, "spec.cluster.tls-server-name")), "k.test"));
	assert_true(span_is(json_text(json_path(info, "spec.cluster.certificate-authority-data")),
		"aGVsbG8="));
	assert_true(span_is(json_text(json_path(info, "spec.cluster.config.audience")), "me"));
	end(&world);
}

static void test_bad_plugins(void **state)
{
	static const struct {
		const char *script;
		int code;
		const char *message;
	} rows[] = {
		{"#!/bin/sh\nkill -9 $$\n", -EACCES, "it was killed by signal 9"},
		{"#!/bin/sh\nexec yes\n", -EFBIG, "it printed more than"},
		{"#!/nowhere/sh\n", -ENOENT, "it is not there: get it at example.com"},
		{"#!/bin/sh\nyes | head -c 5000000 >&2; echo the end >&2; exit 1\n", -EACCES,
			"the end"},
		{"#!/bin/sh\nexec >&- 2>&-\n", -EACCES, "it did not print JSON"},
	};
	struct world world;

	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++) {
		struct err err = {0};
		int code;

		begin(&world);
		set_plugin(&world, rows[i].script);
		world.plugin.install_hint = SPAN("get it at example.com");
		start(&world);
		code = get_code(&world, &err);
		if (code != rows[i].code || !strstr(err.message, rows[i].message))
			fail_msg("row %zu: %d %s", i, code, err.message);
		end(&world);
	}
}

/* The clock is moved for a plugin that never ends; it and its children are gone afterwards. */
static void *hurry(void *context)
{
	struct world *world = context;

	while (access(in_folder(world, "child").data, F_OK) < 0)
		nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
	move_ahead(world, 100);
	return NULL;
}

static void test_a_plugin_that_hangs(void **state)
{
	_buffer_ struct buffer text = {0};
	struct world world;
	struct err err;
	pthread_t thread;
	int tries = 0;
	pid_t child;

	(void)state;
	begin(&world);
	set_plugin(&world, "#!/bin/sh\nsleep 1000 &\necho $! >\"${0%/*}/new\"\n"
			   "mv \"${0%/*}/new\" \"${0%/*}/child\"\nwait\n");
	start(&world);
	pthread_create(&thread, NULL, hurry, &world);
	assert_int_equal(get_code(&world, &err), -ETIMEDOUT);
	pthread_join(thread, NULL);
	assert_int_equal(file_read(in_folder(&world, "child").data, 100, &text, NULL), 0);
	child = (pid_t)strtol(text.data, NULL, 10);
	/* Killed; its new parent reaps it at any later time, so a zombie counts as gone. */
	for (;;) {
		_buffer_ struct buffer status = {0};
		struct span path = arena_format(world.arena, "/proc/%d/stat", child);

		if (file_read(path.data, 4096, &status, NULL) < 0 || strstr(status.data, ") Z "))
			break;
		assert_true(++tries < 12000);
		nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
	}
	end(&world);
}

/* A plugin that hangs blocks neither the caller that runs it nor callers that wait for that one. */
static struct http_client_cancel all_of_them;

static void *get_cancelled(void *context)
{
	struct world *world = context;
	const struct kube_credential *credential;

	return (void *)(intptr_t)kube_credentials_get(world->credentials, &all_of_them, &credential,
		NULL);
}

static void test_cancelling(void **state)
{
	struct world world;
	pthread_t threads[3];
	void *code;

	(void)state;
	begin(&world);
	set_plugin(&world, "#!/bin/sh\ntouch \"${0%/*}/child\"\nexec sleep 1000\n");
	start(&world);
	for (size_t i = 0; i < LENGTH(threads); i++)
		pthread_create(&threads[i], NULL, get_cancelled, &world);
	while (access(in_folder(&world, "child").data, F_OK) < 0)
		nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
	atomic_store(&all_of_them.requested, true);
	for (size_t i = 0; i < LENGTH(threads); i++) {
		pthread_join(threads[i], &code);
		assert_int_equal((intptr_t)code, -ECANCELED);
	}
	end(&world);
}

/* Many ask at once: one of them asks the plugin. */
static void *get_one(void *context)
{
	check_authorization(context, "Bearer t1");
	return NULL;
}

static void test_one_asks_for_all(void **state)
{
	struct world world;
	pthread_t threads[8];

	(void)state;
	begin(&world);
	set_plugin(&world,
		COUNTING "sleep 0.1\nprintf '{\"kind\":\"ExecCredential\",\"apiVersion\":\"" VERSION
			 "\",\"status\":{\"token\":\"t%d\"}}' $n\n");
	start(&world);
	for (size_t i = 0; i < LENGTH(threads); i++)
		pthread_create(&threads[i], NULL, get_one, &world);
	for (size_t i = 0; i < LENGTH(threads); i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(kube_credentials_renewals(world.credentials), 1);
	end(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_given),
		cmocka_unit_test(test_a_token_file_is_read_again),
		cmocka_unit_test(test_a_refused_token_is_read_at_once),
		cmocka_unit_test(test_certificates),
		cmocka_unit_test(test_outputs),
		cmocka_unit_test(test_a_plugin_is_asked_when_needed),
		cmocka_unit_test(test_a_plugins_credential_expires),
		cmocka_unit_test(test_input_of_a_plugin),
		cmocka_unit_test(test_bad_plugins),
		cmocka_unit_test(test_a_plugin_that_hangs),
		cmocka_unit_test(test_cancelling),
		cmocka_unit_test(test_one_asks_for_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
