/* Configuration: file, flags, their precedence, and messages for mistakes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "server/config.h"

struct fixture {
	struct arena *arena;
	char folder[64];
	char path[128];
	struct server_config config;
	struct err err;
};

static int set_up(void **state)
{
	struct fixture *fixture = memory_allocate(sizeof(*fixture));

	fixture->arena = arena_new(0);
	snprintf(fixture->folder, sizeof(fixture->folder), "/tmp/slipway-config-XXXXXX");
	if (!mkdtemp(fixture->folder))
		return -1;
	snprintf(fixture->path, sizeof(fixture->path), "%s/slipway.yaml", fixture->folder);
	server_config_init(&fixture->config);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	unlink(fixture->path);
	rmdir(fixture->folder);
	arena_free(fixture->arena);
	free(fixture);
	return 0;
}

static int read_text(struct fixture *fixture, struct span text)
{
	assert_int_equal(file_replace(fixture->path, text, 0600, &fixture->err), 0);
	return server_config_read(&fixture->config, fixture->path, fixture->arena, &fixture->err);
}

static int set_flag(struct fixture *fixture, const char *flag, const char *value)
{
	return server_config_set_flag(&fixture->config, flag, value, fixture->arena, &fixture->err);
}

static int check(struct fixture *fixture)
{
	return server_config_check(&fixture->config, fixture->arena, &fixture->err);
}

static void assert_reported(struct fixture *fixture, const char *message)
{
	if (!strstr(fixture->err.message, message))
		fail_msg("'%s' does not say '%s'", fixture->err.message, message);
}

/* ---- defaults ---- */

static void has_defaults(void **state)
{
	struct fixture *fixture = *state;
	struct server_config *config = &fixture->config;

	assert_string_equal(config->listen, "127.0.0.1:4780");
	assert_string_equal(config->account, "123456789012");
	assert_string_equal(config->auth, "signature");
	assert_null(config->state);
	assert_null(config->store);
	assert_false(config->ephemeral);
	assert_int_equal(config->drain_seconds, 10);
	assert_int_equal(config->http_body_max, 8 * 1024 * 1024);
	config->state = "/s";
	assert_int_equal(check(fixture), 0);
	assert_string_equal(config->store, "sqlite:/s/slipway.db");
	assert_string_equal(config->audit_file, "/s/audit.log");
}

/* As root the folder is fixed; for others it follows their home. */
static void finds_a_state_folder(void **state)
{
	struct fixture *fixture = *state;

	setenv("HOME", "/home/someone", 1);
	unsetenv("XDG_STATE_HOME");
	assert_int_equal(check(fixture), 0);
	assert_string_equal(fixture->config.state,
		geteuid() == 0 ? "/var/lib/slipway" : "/home/someone/.local/state/slipway");
	setenv("XDG_STATE_HOME", "/var/state", 1);
	fixture->config.state = NULL;
	assert_int_equal(check(fixture), 0);
	assert_string_equal(fixture->config.state,
		geteuid() == 0 ? "/var/lib/slipway" : "/var/state/slipway");
	unsetenv("XDG_STATE_HOME");
	unsetenv("HOME");
	fixture->config.state = NULL;
	assert_int_equal(check(fixture), geteuid() == 0 ? 0 : -EINVAL);
	if (geteuid() != 0)
		assert_reported(fixture, "say where with --state DIR");
}

/* ---- the file ---- */

static void reads_every_type(void **state)
{
	struct fixture *fixture = *state;
	struct server_config *config = &fixture->config;

	assert_int_equal(read_text(fixture, SPAN("listen: '[::1]:80'\n"
						 "ephemeral: yes # not YAML 1.1: a text\n")),
		-EINVAL);
	assert_reported(fixture, "slipway.yaml:2: ephemeral: must be true or false, not a string");
	assert_int_equal(read_text(fixture, SPAN("listen: '[::1]:80'\n"
						 "ephemeral: true\n"
						 "drainSeconds: 0\n"
						 "audit: {reads: true}\n"
						 "log:\n"
						 "  level: debug\n"
						 "  format: null\n"
						 "tls:\n"
						 "http:\n"
						 "  threads: 64\n")),
		0);
	assert_string_equal(config->listen, "[::1]:80");
	assert_true(config->ephemeral);
	assert_int_equal(config->drain_seconds, 0);
	assert_true(config->audit_reads);
	assert_string_equal(config->log_level, "debug");
	assert_string_equal(config->log_format, "auto");
	assert_null(config->tls_certificate);
	assert_int_equal(config->http_threads, 64);
}

/* Files written for earlier versions. */
static void reads_older_names(void **state)
{
	struct fixture *fixture = *state;
	struct server_config *config = &fixture->config;

	assert_int_equal(read_text(fixture, SPAN("stop_tasks_on_exit: true\n"
						 "drain_seconds: 1\n"
						 "http:\n"
						 "  body_max: 2048\n"
						 "  connections_max: 3\n"
						 "  connections_per_address: 4\n"
						 "limits:\n"
						 "  reads_per_second: 5\n"
						 "  writes_per_second: 6\n"
						 "  environment_reads_per_second: 7\n"
						 "  environment_writes_per_second: 8\n"
						 "sync:\n"
						 "  serviceStatus: seed\n"
						 "  taskStatus: seed\n")),
		0);
	assert_true(config->stop_tasks_on_exit);
	assert_int_equal(config->drain_seconds, 1);
	assert_int_equal(config->http_body_max, 2048);
	assert_int_equal(config->http_connections_max, 3);
	assert_int_equal(config->http_connections_per_address, 4);
	assert_int_equal(config->limits_reads_per_second, 5);
	assert_int_equal(config->limits_writes_per_second, 6);
	assert_int_equal(config->limits_environment_reads_per_second, 7);
	assert_int_equal(config->limits_environment_writes_per_second, 8);
	assert_string_equal(config->sync_service_status, "kubernetes");
	assert_string_equal(config->sync_task_status, "kubernetes");
}

static void an_empty_file_changes_nothing(void **state)
{
	static const char *const texts[] = {"", "\n", "# listen: 1\n", "null\n", "---\n", "{}\n"};
	struct fixture *fixture = *state;

	for (size_t i = 0; i < LENGTH(texts); i++)
		if (read_text(fixture, span_of(texts[i])) < 0)
			fail_msg("%zu: %s", i, fixture->err.message);
	assert_string_equal(fixture->config.listen, "127.0.0.1:4780");
}

static void says_where_the_file_is_wrong(void **state)
{
	static const struct {
		const char *text, *message;
	} cases[] = {
		{"lissten: x\n", ":1: unknown key 'lissten'; did you mean 'listen'?"},
		{"listen: 127.0.0.1:0\n\nSTATE: x\n", ":3: unknown key 'STATE'"},
		{"frobnicate: 1\n", ":1: unknown key 'frobnicate'"},
		{"log:\n  levle: info\n", ":2: unknown key 'log.levle'; did you mean 'log.level'?"},
		{"tls: {certificat: x}\n", "did you mean 'tls.certificate'?"},
		{"log.level: info\nlisten: 5\n", ":2: listen: must be a string, not a number"},
		{"log: info\n", ":1: 'log' must have keys below it"},
		{"sync:\n  rateLimit: 5\n", ":2: 'sync.rateLimit' must have keys below it"},
		{"sync:\n  rateLimit:\n    qsp: 5\n",
			":3: unknown key 'sync.rateLimit.qsp'; did you mean 'sync.rateLimit.qps'?"},
		{"sync: {resyncPeriod: 5 minutes}\n", "sync.resyncPeriod: must be a time from"},
		{"sync: {resyncPeriod: 5d}\n", "sync.resyncPeriod: must be a time from"},
		{"sync: {resyncPeriod: ms}\n", "sync.resyncPeriod: must be a time from"},
		{"sync: {resyncPeriod: 999ms}\n", "sync.resyncPeriod: must be a time from"},
		{"sync: {resyncPeriod: 99999999999h}\n", "sync.resyncPeriod: must be a time from"},
		{"sync: {batchDelay: 2}\n", "sync.batchDelay: must be a string, not a number"},
		{"sync: {serviceStatus: kecs}\n",
			"sync.serviceStatus: 'kecs' is not one of ecs|kubernetes"},
		{"log: [info]\n", ":1: 'log' must have keys below it"},
		{"log:\n  level: loud\n",
			":2: log.level: 'loud' is not one of debug|info|warning|error"},
		{"log:\n  level: ''\n", ":2: log.level: '' is not one of"},
		{"auth: [none]\n", ":1: auth: must be a string, not an array"},
		{"state: ''\n", ":1: state: must not be empty"},
		{"state: \"a\\0b\"\n", ":1: state: must not hold a NUL character"},
		{"drainSeconds: -1\n", ":1: drainSeconds: must be a number from 0 to 3600"},
		{"drainSeconds: 3601\n", ":1: drainSeconds: must be a number from 0 to 3600"},
		{"drain_seconds: 1.5\n", ":1: drain_seconds: must be a number from 0 to 3600"},
		{"drain_seconds: '5'\n", ":1: drain_seconds: must be a number, not a string"},
		{"drainSeconds: 5\ndrain_seconds: 5\n",
			":2: drain_seconds is set twice, also by an older name"},
		{"http:\n  body_max: 99999999999999999999\n",
			":2: http.body_max: must be a number from"},
		{"ephemeral: 'true'\n", ":1: ephemeral: must be true or false, not a string"},
		{"account: 123456789012\n",
			":1: account: must be a string, not a number; write it in"},
		{"listen: a\nlisten: b\n", "slipway.yaml"},
		{"a: [\n", "slipway.yaml"},
		{"- listen\n", ":1: must have keys, like"},
		{"text\n", ":1: must have keys, like"},
	};
	struct fixture *fixture = *state;

	for (size_t i = 0; i < LENGTH(cases); i++) {
		server_config_init(&fixture->config);
		if (read_text(fixture, span_of(cases[i].text)) == 0)
			fail_msg("not refused: %s", cases[i].text);
		assert_reported(fixture, cases[i].message);
		assert_reported(fixture, fixture->path);
	}
}

static void a_file_has_a_limit(void **state)
{
	struct fixture *fixture = *state;
	_buffer_ struct buffer text = {0};

	for (int i = 0; i < 1024 * 1024 / 16 + 1; i++)
		buffer_add_string(&text, "# a comment ...\n");
	assert_int_equal(read_text(fixture, buffer_span(&text)), -EFBIG);
	unlink(fixture->path);
	assert_int_equal(server_config_read(&fixture->config, fixture->path, fixture->arena,
				 &fixture->err),
		-ENOENT);
	assert_reported(fixture, fixture->path);
}

/* ---- flags ---- */

static void flags_win_over_the_file(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(read_text(fixture, SPAN("listen: 127.0.0.1:1\naccount: '000000000001'\n"
						 "ephemeral: true\n")),
		0);
	assert_int_equal(set_flag(fixture, "listen", "127.0.0.1:2"), 0);
	assert_int_equal(set_flag(fixture, "ephemeral", "false"), 0);
	assert_string_equal(fixture->config.listen, "127.0.0.1:2");
	assert_string_equal(fixture->config.account, "000000000001");
	assert_false(fixture->config.ephemeral);
	assert_int_equal(set_flag(fixture, "ephemeral", NULL), 0);
	assert_true(fixture->config.ephemeral);
	assert_true(server_config_flag_is_bool("ephemeral"));
	assert_false(server_config_flag_is_bool("listen"));
	assert_false(server_config_flag_is_bool("nothing"));
}

static void says_why_a_flag_is_wrong(void **state)
{
	static const struct {
		const char *flag, *value;
		int code;
		const char *message;
	} cases[] = {
		{"frobnicate", "x", -ENOENT, "there is no flag --frobnicate"},
		{"lissten", "x", -ENOENT, "there is no flag --lissten; did you mean --listen?"},
		{"confg", "x", -ENOENT, "there is no flag --confg; did you mean --config?"},
		{"", "x", -ENOENT, "there is no flag --"},
		{"drain_seconds", "1", -ENOENT, "there is no flag --drain_seconds"}, /* file only */
		{"listen", NULL, -EINVAL, "--listen needs a value: --listen ADDR:PORT"},
		{"listen", "", -EINVAL, "--listen: must not be empty"},
		{"auth", "maybe", -EINVAL, "--auth: 'maybe' is not one of signature|none"},
		{"auth", "signature|none", -EINVAL, "--auth: 'signature|none' is not one of"},
		{"ephemeral", "1", -EINVAL, "--ephemeral: must be true or false"},
		{"log-level", "INFO", -EINVAL, "--log-level: 'INFO' is not one of"},
	};
	struct fixture *fixture = *state;

	for (size_t i = 0; i < LENGTH(cases); i++) {
		assert_int_equal(set_flag(fixture, cases[i].flag, cases[i].value), cases[i].code);
		assert_reported(fixture, cases[i].message);
		assert_int_equal(strncmp(fixture->err.message, "--", 2) == 0 ||
					 strncmp(fixture->err.message, "there", 5) == 0,
			1);
	}
}

/* ---- the whole ---- */

static void takes_addresses_apart(void **state)
{
	static const struct {
		const char *listen, *address;
		int port; /* -1: refused */
	} cases[] = {
		{"127.0.0.1:4780", "127.0.0.1", 4780},
		{"[::1]:0", "::1", 0},
		{"[::]:65535", "::", 65535},
		{":80", "0.0.0.0", 80},
		{"localhost:1", "localhost", 1},
		{"127.0.0.1:65536", NULL, -1},
		{"127.0.0.1:", NULL, -1},
		{"127.0.0.1:+1", NULL, -1},
		{"127.0.0.1:1x", NULL, -1},
		{"127.0.0.1", NULL, -1},
		{"4780", NULL, -1},
		{"::1:80", NULL, -1},
		{"[::1]", NULL, -1},
		{"", NULL, -1},
	};
	struct fixture *fixture = *state;

	for (size_t i = 0; i < LENGTH(cases); i++) {
		const char *address = NULL;
		uint16_t port = 0;
		int code = server_config_split_listen(cases[i].listen, fixture->arena, &address,
			&port, &fixture->err);

		if ((code < 0) != (cases[i].port < 0))
			fail_msg("'%s': %d", cases[i].listen, code);
		if (code < 0) {
			assert_null(address);
			assert_reported(fixture, "listen: ");
			continue;
		}
		assert_string_equal(address, cases[i].address);
		assert_int_equal(port, cases[i].port);
	}
}

static void auth_none_is_for_loopback(void **state)
{
	static const struct {
		const char *listen;
		bool allowed;
	} cases[] = {
		{"127.0.0.1:0", true},
		{"127.255.255.254:0", true},
		{"[::1]:0", true},
		{"localhost:0", true},
		{"0.0.0.0:0", false},
		{":0", false},
		{"[::]:0", false},
		{"10.0.0.1:0", false},
		{"128.0.0.1:0", false},
		{"example.com:0", false},
		{"127.0.0.1.example.com:0", false},
		{"[fe80::1]:0", false},
	};
	struct fixture *fixture = *state;

	for (size_t i = 0; i < LENGTH(cases); i++) {
		server_config_init(&fixture->config);
		fixture->config.state = "/s";
		fixture->config.auth = "none";
		fixture->config.listen = cases[i].listen;
		if ((check(fixture) == 0) != cases[i].allowed)
			fail_msg("%s", cases[i].listen);
		if (!cases[i].allowed)
			assert_reported(fixture,
				"auth: none is allowed on loopback addresses only");
		fixture->config.auth = "signature";
		assert_int_equal(check(fixture), 0);
	}
}

static void what_does_not_go_together(void **state)
{
	struct fixture *fixture = *state;
	struct server_config *config = &fixture->config;
	static const char *const accounts[] = {"", "12", "1234567890123", "12345678901x",
		"-12345678901", "+12345678901", " 12345678901"};

	config->tls_key = "/k.pem";
	assert_int_equal(check(fixture), -EINVAL);
	assert_reported(fixture, "tls.key: needs tls.certificate");
	config->tls_certificate = "/c.pem";
	config->state = "/s";
	assert_int_equal(check(fixture), 0);
	for (size_t i = 0; i < LENGTH(accounts); i++) {
		config->account = accounts[i];
		assert_int_equal(check(fixture), -EINVAL);
		assert_reported(fixture, "is not twelve digits");
	}
	config->account = "000000000000";
	assert_int_equal(check(fixture), 0);
	config->ephemeral = true;
	config->store = "sqlite:/x";
	assert_int_equal(check(fixture), -EINVAL);
	assert_reported(fixture, "leave store out");
}

static void memory_has_two_names(void **state)
{
	struct fixture *fixture = *state;
	struct server_config *config = &fixture->config;

	config->state = "/s";
	config->store = ":memory:";
	assert_int_equal(check(fixture), 0);
	assert_string_equal(config->store, "memory:");
	server_config_init(config);
	config->ephemeral = true;
	assert_int_equal(check(fixture), 0);
	assert_string_equal(config->store, "memory:");
	assert_null(config->state); /* nothing is kept anywhere */
	assert_null(config->audit_file);
}

/* ---- for people ---- */

/* The output of `slipway config`, read back, is the default configuration: no key is missing. */
static void the_printed_file_is_the_default(void **state)
{
	struct fixture *fixture = *state;
	struct server_config before = fixture->config;
	_buffer_ struct buffer text = {0};
	_buffer_ struct buffer uncommented = {0};
	struct span rest, line;

	server_config_write_yaml(&text);
	if (read_text(fixture, buffer_span(&text)) < 0)
		fail_msg("%s", fixture->err.message);
	assert_string_equal(fixture->config.listen, before.listen);
	assert_string_equal(fixture->config.account, before.account);
	assert_int_equal(fixture->config.http_body_max, before.http_body_max);
	assert_null(fixture->config.state);
	/* With a comment sign less, every key that has no default is one that can be set. */
	rest = buffer_span(&text);
	while (span_split(rest, '\n', &line, &rest)) {
		const char *sign = memchr(line.data, '#', line.length);
		bool key = sign && line.data[line.length - 2] == ':' && memchr(sign, ':', 20);

		if (key)
			buffer_format(&uncommented, "%.*s%.*s x\n", (int)(sign - line.data),
				line.data, (int)(line.data + line.length - sign - 2), sign + 2);
		else
			buffer_format(&uncommented, "%.*s\n", SPAN_ARGS(line));
	}
	if (read_text(fixture, buffer_span(&uncommented)) < 0)
		fail_msg("%s\n%s", fixture->err.message, uncommented.data);
	assert_string_equal(fixture->config.state, "x");
	assert_string_equal(fixture->config.tls_certificate, "x");
	assert_string_equal(fixture->config.tls_key, "x");
}

static void every_flag_is_in_the_help(void **state)
{
	static const char *const flags[] = {"config FILE", "listen ADDR:PORT", "state DIR",
		"store URL", "account ACCOUNT", "auth HOW", "ephemeral", "log-level LEVEL",
		"log-format FORMAT"};
	_buffer_ struct buffer help = {0};

	(void)state;
	server_config_write_flags(&help);
	for (size_t i = 0; i < LENGTH(flags); i++) {
		_free_ char *flag = memory_format("  --%s ", flags[i]);

		assert_non_null(strstr(help.data, flag));
	}
	assert_non_null(strstr(help.data, "Default: 127.0.0.1:4780."));
}

static void the_block_of_synchronization(void **state)
{
	static const struct {
		const char *text;
		int64_t resync_ms, delay_ms;
	} cases[] = {
		{"listen: 127.0.0.1:0\n", 300000, 2000},
		{"sync: {resyncPeriod: 30s, batchDelay: 500ms}\n", 30000, 500},
		{"sync: {resyncPeriod: 1h, batchDelay: 0ms}\n", 3600000, 0},
		{"sync: {resyncPeriod: 1000ms, batchDelay: 1m}\n", 1000, 60000},
	};
	struct fixture *fixture = *state;
	struct server_config *config = &fixture->config;

	for (size_t i = 0; i < LENGTH(cases); i++) {
		server_config_init(config);
		if (read_text(fixture, span_of(cases[i].text)) < 0)
			fail_msg("%zu: %s", i, fixture->err.message);
		assert_int_equal(config->sync_resync_ms, cases[i].resync_ms);
		assert_int_equal(config->sync_batch_delay_ms, cases[i].delay_ms);
		assert_int_equal(config->sync_qps, 10);
		assert_int_equal(config->sync_burst, 20);
		assert_true(config->sync_enabled);
	}
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(has_defaults),
		TEST(the_block_of_synchronization),
		TEST(finds_a_state_folder),
		TEST(reads_every_type),
		TEST(reads_older_names),
		TEST(an_empty_file_changes_nothing),
		TEST(says_where_the_file_is_wrong),
		TEST(a_file_has_a_limit),
		TEST(flags_win_over_the_file),
		TEST(says_why_a_flag_is_wrong),
		TEST(takes_addresses_apart),
		TEST(auth_none_is_for_loopback),
		TEST(what_does_not_go_together),
		TEST(memory_has_two_names),
		TEST(the_printed_file_is_the_default),
		TEST(every_flag_is_in_the_help),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
