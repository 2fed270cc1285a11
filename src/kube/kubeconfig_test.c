/* kubeconfig files: what they say, what wins when several say it, what is refused and how. */
#include "kube/kubeconfig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/memory.h"

/* A file with one of each, in which a test replaces parts of the cluster and of the user. */
static struct span make_file(struct arena *arena, const char *cluster, const char *user)
{
	return arena_format(arena,
		"apiVersion: v1\nkind: Config\ncurrent-context: x\n"
		"contexts: [{name: x, context: {cluster: c, user: u}}]\n"
		"clusters: [{name: c, cluster: {%s}}]\n"
		"users: [{name: u, user: {%s}}]\n",
		cluster, user);
}

static int read_one(struct span text, struct arena *arena, struct kube_access **ret_access,
	struct err *err)
{
	struct kubeconfig_file file = {"/etc/kube/config", text};

	return kubeconfig_read(&file, 1, SPAN_NONE, arena, ret_access, err);
}

#define SERVER "server: 'https://192.0.2.1:6443'"

static const struct {
	const char *cluster, *user;
	int code;
	const char *message; /* a part of it */
} refused[] = {
	{"", "", -EINVAL, "cluster 'c': server is missing"},
	{"server: 6443", "", -EINVAL, "cluster 'c': server is a number and must be a string"},
	{"server: '192.0.2.1:6443'", "", -EINVAL, "server must begin with https:// or http://"},
	{"server: 'ftp://192.0.2.1'", "", -EINVAL, "server must begin with"},
	{"server: 'https://'", "", -EINVAL, "server has no host"},
	{"server: 'https:///path'", "", -EINVAL, "server has no host"},
	{"server: 'https://me@192.0.2.1'", "", -EINVAL, "server is not a plain URL"},
	{"server: 'https://192.0.2.1/?a=b'", "", -EINVAL, "server is not a plain URL"},
	{"server: \"https://192.0.2.1/a b\"", "", -EINVAL, "server is not a plain URL"},
	{SERVER ", proxy-url: 'http://proxy:3128'", "", -EOPNOTSUPP, "proxy-url is not supported"},
	{SERVER ", tls-server-name: 'a/b'", "", -EINVAL, "tls-server-name is not a host name"},
	{SERVER ", certificate-authority-data: '***'", "", -EINVAL,
		"certificate-authority-data is not base64"},
	{SERVER ", insecure-skip-tls-verify: maybe", "", -EINVAL,
		"insecure-skip-tls-verify must be true or false"},
	{SERVER ", insecure-skip-tls-verify: true, certificate-authority: ca.crt", "", -EINVAL,
		"exclude each other"},
	{SERVER, "auth-provider: {name: gcp}", -EOPNOTSUPP,
		"user 'u': auth-provider is not supported"},
	{SERVER, "as: alice", -EOPNOTSUPP, "impersonation (as) is not supported"},
	{SERVER, "as-groups: [a]", -EOPNOTSUPP, "impersonation (as-groups) is not supported"},
	{SERVER, "client-certificate: a.crt", -EINVAL,
		"client-certificate and client-key belong together"},
	{SERVER, "client-key-data: YQ==", -EINVAL, "belong together"},
	{SERVER, "token: 12345", -EINVAL, "token is a number and must be a string"},
	{SERVER, "token: \"a\\nX-Evil: b\"", -EINVAL, "token has spaces or control characters"},
	{SERVER, "token: \"a\\0b\"", -EINVAL, "token has a NUL in it"},
	{SERVER, "token: a, username: b", -EINVAL, "token and username exclude each other"},
	{SERVER, "username: 'a:b'", -EINVAL, "username has a ':' in it"},
	{SERVER, "exec: [a]", -EINVAL, "exec must be an object"},
	{SERVER, "exec: {command: a}", -EINVAL, "exec.apiVersion is missing"},
	{SERVER, "exec: {command: a, apiVersion: client.authentication.k8s.io/v1alpha1}",
		-EOPNOTSUPP,
		"exec.apiVersion is client.authentication.k8s.io/v1alpha1; supported are"},
	{SERVER, "exec: {apiVersion: client.authentication.k8s.io/v1}", -EINVAL,
		"exec.command is missing"},
	{SERVER, "exec: {apiVersion: client.authentication.k8s.io/v1, command: a, args: b}",
		-EINVAL, "exec.args must be a list"},
	{SERVER, "exec: {apiVersion: client.authentication.k8s.io/v1, command: a, args: [1]}",
		-EINVAL, "exec.args must be strings"},
	{SERVER,
		"exec: {apiVersion: client.authentication.k8s.io/v1, command: a, env: [{value: "
		"1}]}",
		-EINVAL, "exec.env.value is a number"},
	{SERVER,
		"exec: {apiVersion: client.authentication.k8s.io/v1, command: a, env: [{name: "
		"'a=b'}]}",
		-EINVAL, "exec.env.name"},
	{SERVER,
		"exec: {apiVersion: client.authentication.k8s.io/v1, command: a, interactiveMode: "
		"Always}",
		-EOPNOTSUPP, "exec.interactiveMode Always is not supported"},
};

static void test_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < LENGTH(refused); i++) {
		_arena_ struct arena *arena = arena_new(0);
		struct kube_access *access = NULL;
		struct err err = {0};
		int code = read_one(make_file(arena, refused[i].cluster, refused[i].user), arena,
			&access, &err);

		if (code != refused[i].code || !strstr(err.message, refused[i].message) ||
			!strstr(err.message, "kubeconfig /etc/kube/config: "))
			fail_msg("row %zu: %d, %s", i, code, err.message);
		assert_null(access);
	}
}

/* Whole files that are wrong. */
static const struct {
	const char *text;
	int code;
	const char *message;
} wrong[] = {
	{"", -ENOENT, "no current-context is set, and none was named (there are: none)"},
	{"[1]", -EINVAL, "not an object"},
	{"a: [", -EINVAL, "kubeconfig /etc/kube/config: line 2"},
	{"contexts: {}", -EINVAL, "contexts must be a list"},
	{"clusters: x", -EINVAL, "clusters must be a list"},
	{"contexts: [{name: a}, {name: b}]", -ENOENT, "(there are: a, b)"},
	{"current-context: z\ncontexts: [{name: a}]", -ENOENT,
		"there is no context 'z' (there are: a)"},
	{"current-context: a\ncontexts: [{name: a}]", -EINVAL, "context 'a': cluster is missing"},
	{"current-context: a\ncontexts: [{name: a, context: 5}]", -EINVAL, "must be an object"},
	{"current-context: a\ncontexts: [{name: a, context: {cluster: c}}]", -ENOENT,
		"there is no cluster 'c' (there are: none)"},
	{"current-context: a\ncontexts: [{name: a, context: {cluster: c, user: u}}]\n"
	 "clusters: [{name: c, cluster: {server: 'https://h'}}]",
		-ENOENT, "there is no user 'u'"},
};

static void test_wrong_files(void **state)
{
	(void)state;
	for (size_t i = 0; i < LENGTH(wrong); i++) {
		_arena_ struct arena *arena = arena_new(0);
		struct kube_access *access;
		struct err err = {0};
		int code = read_one(span_of(wrong[i].text), arena, &access, &err);

		if (code != wrong[i].code || !strstr(err.message, wrong[i].message))
			fail_msg("row %zu: %d, %s", i, code, err.message);
	}
}

static struct kube_access *read_good(struct arena *arena, const char *cluster, const char *user)
{
	struct kube_access *access = NULL;
	struct err err = {0};

	if (read_one(make_file(arena, cluster, user), arena, &access, &err) < 0)
		fail_msg("%s", err.message);
	return access;
}

static void check_text(struct span text, const char *expected)
{
	if (expected)
		assert_string_equal(text.data, expected);
	else
		assert_null(text.data);
}

static void test_clusters(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	const struct kube_access *access;

	(void)state;
	access = read_good(arena, "server: 'https://h:1/prefix//'", "");
	check_text(access->server, "https://h:1/prefix");
	check_text(access->tls_server_name, NULL);
	check_text(access->authorities.path, NULL);
	check_text(access->authorities.text, NULL);
	check_text(access->default_namespace, "default");
	assert_false(access->insecure);

	access = read_good(arena,
		SERVER ", insecure-skip-tls-verify: true, tls-server-name: 'k.test'", "");
	assert_true(access->insecure);
	check_text(access->tls_server_name, "k.test");

	/* Relative paths are beside the file; data wins over a file; folded base64 is fine. */
	access = read_good(arena, SERVER ", certificate-authority: 'pki/ca.crt'", "");
	check_text(access->authorities.path, "/etc/kube/pki/ca.crt");
	access = read_good(arena, SERVER ", certificate-authority: /ca.crt", "");
	check_text(access->authorities.path, "/ca.crt");
	access = read_good(arena,
		SERVER
		", certificate-authority: /ca.crt, certificate-authority-data: \"aGVs\\n bG8=\"",
		"");
	check_text(access->authorities.text, "hello");
	check_text(access->authorities.path, NULL);
}

static void test_users(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	const struct kube_access *access;

	(void)state;
	access = read_good(arena, SERVER, "client-certificate: a.crt, client-key-data: YQ==");
	check_text(access->certificate.path, "/etc/kube/a.crt");
	check_text(access->key.text, "a");
	access = read_good(arena, SERVER, "token: secret");
	check_text(access->token.text, "secret");
	access = read_good(arena, SERVER, "token: old, tokenFile: run/token");
	check_text(access->token.path, "/etc/kube/run/token");
	check_text(access->token.text, NULL);
	access = read_good(arena, SERVER, "username: me, password: pass");
	check_text(access->username, "me");
	check_text(access->password, "pass");
	access = read_good(arena, SERVER, "token: null, username: ''");
	check_text(access->token.text, NULL);
	check_text(access->username, NULL);
	/* Credentials that are there are used, as kubectl does. */
	access = read_good(arena, SERVER,
		"token: a, exec: {apiVersion: client.authentication.k8s.io/v1, command: b}");
	assert_null(access->plugin);
}

static void test_plugins(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	const struct kube_access *access = read_good(arena,
		SERVER ", extensions: [{name: other}, {name: client.authentication.k8s.io/exec, "
		       "extension: {audience: me}}]",
		"exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: bin/login, "
		"args: [a, "
		"''], env: [{name: A, value: b}, {name: C}], provideClusterInfo: true, "
		"installHint: "
		"get it}");
	const struct kube_exec_plugin *plugin = access->plugin;

	(void)state;
	assert_non_null(plugin);
	check_text(plugin->api_version, "client.authentication.k8s.io/v1beta1");
	check_text(plugin->command, "/etc/kube/bin/login");
	assert_int_equal(plugin->word_count, 2);
	check_text(plugin->words[0], "a");
	check_text(plugin->words[1], "");
	assert_int_equal(plugin->environment_count, 2);
	check_text(plugin->environment[0], "A=b");
	check_text(plugin->environment[1], "C=");
	assert_true(plugin->provide_cluster_info);
	check_text(plugin->install_hint, "get it");
	check_text(access->cluster_config, "{\"audience\":\"me\"}");

	access = read_good(arena, SERVER,
		"exec: {apiVersion: client.authentication.k8s.io/v1, command: login}");
	check_text(access->plugin->command, "login"); /* searched in PATH */
}

/* Of two files the earlier one wins, entry by entry; paths are beside the file they stand in. */
static void test_several_files(void **state)
{
	static const struct kubeconfig_file files[] = {
		{"/a/config", SPAN("clusters: [{name: c, cluster: {server: 'https://first', "
				   "certificate-authority: ca}}]\ncurrent-context: ''\n")},
		{"/b/config", SPAN("clusters: [{name: c, cluster: {server: 'https://second'}}]\n"
				   "users: [{name: u, user: {tokenFile: t}}]\n"
				   "current-context: x\n"
				   "contexts: [{name: x, context: {cluster: c, user: u, namespace: "
				   "n}}]")},
		{"/c/config", SPAN("current-context: y\ncontexts: [{name: x}, {name: y, context: "
				   "{cluster: c}}]\n")},
	};
	_arena_ struct arena *arena = arena_new(0);
	struct kube_access *access;

	(void)state;
	assert_int_equal(kubeconfig_read(files, 3, SPAN_NONE, arena, &access, NULL), 0);
	check_text(access->server, "https://first");
	check_text(access->authorities.path, "/a/ca");
	check_text(access->token.path, "/b/t");
	check_text(access->default_namespace, "n");
	assert_int_equal(kubeconfig_read(files, 3, SPAN("y"), arena, &access, NULL), 0);
	check_text(access->token.path, NULL);
	check_text(access->default_namespace, "default");
	assert_int_equal(kubeconfig_read(files, 3, SPAN(""), arena, &access, NULL), 0);
	check_text(access->default_namespace, "n");
	assert_int_equal(kubeconfig_read(files, 3, SPAN("z"), arena, &access, NULL), -ENOENT);
}

/* ---- files ---- */

struct folder {
	char path[64];
};

static void write_file(const struct folder *folder, const char *name, struct span text)
{
	_free_ char *path = memory_format("%s/%s", folder->path, name);

	assert_int_equal(file_replace(path, text, 0600, NULL), 0);
}

static void folder_make(struct folder *folder)
{
	snprintf(folder->path, sizeof(folder->path), "/tmp/kubeconfig-test-XXXXXX");
	assert_non_null(mkdtemp(folder->path));
}

static void folder_remove(struct folder *folder)
{
	static const char *const names[] = {
		"one", "two", "token", "ca.crt", "namespace", ".kube/config", ".kube", ""};

	for (size_t i = 0; i < LENGTH(names); i++) {
		_free_ char *path = memory_format("%s/%s", folder->path, names[i]);

		remove(path);
	}
}

static void set_environment(const char *kubeconfig, const char *home, const char *host)
{
	setenv("HOME", home, 1);
	if (kubeconfig)
		setenv("KUBECONFIG", kubeconfig, 1);
	else
		unsetenv("KUBECONFIG");
	if (host)
		setenv("KUBERNETES_SERVICE_HOST", host, 1);
	else
		unsetenv("KUBERNETES_SERVICE_HOST");
	setenv("KUBERNETES_SERVICE_PORT", "443", 1);
}

static void test_finding(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	CLEANUP(folder_remove) struct folder folder;
	struct kube_access *access;
	struct err err;
	struct span both, one;

	(void)state;
	folder_make(&folder);
	one = arena_format(arena, "%s/one", folder.path);
	both = arena_format(arena, "%s/missing::%s/one:%s/two", folder.path, folder.path,
		folder.path);
	set_environment(NULL, folder.path, NULL);
	assert_int_equal(kubeconfig_find(NULL, SPAN_NONE, arena, &access, &err), -ENOENT);
	assert_non_null(strstr(err.message, "no Kubernetes cluster is known"));

	write_file(&folder, "one", make_file(arena, "server: 'https://one'", "tokenFile: token"));
	assert_int_equal(kubeconfig_find(one.data, SPAN_NONE, arena, &access, &err), 0);
	check_text(access->server, "https://one");
	check_text(access->token.path, arena_format(arena, "%s/token", folder.path).data);

	/* Of $KUBECONFIG files may be missing, but not all; of what was named none. */
	set_environment(both.data, folder.path, NULL);
	assert_int_equal(kubeconfig_find(NULL, SPAN_NONE, arena, &access, &err), 0);
	check_text(access->server, "https://one");
	assert_int_equal(kubeconfig_load(both.data, SPAN_NONE, arena, &access, &err), -ENOENT);
	set_environment("/nowhere/a:/nowhere/b", folder.path, NULL);
	assert_int_equal(kubeconfig_find(NULL, SPAN_NONE, arena, &access, &err), -ENOENT);
	assert_non_null(strstr(err.message, "there is no file /nowhere/a:/nowhere/b"));

	/* ~/.kube/config is before the cluster that we run in. */
	set_environment(NULL, folder.path, "10.96.0.1");
	assert_int_equal(kubeconfig_find(NULL, SPAN_NONE, arena, &access, &err), -ENOENT);
	assert_non_null(strstr(err.message, "service account: "));
	mkdir(arena_format(arena, "%s/.kube", folder.path).data, 0700);
	write_file(&folder, ".kube/config", make_file(arena, "server: 'https://home'", ""));
	assert_int_equal(kubeconfig_find(NULL, SPAN_NONE, arena, &access, &err), 0);
	check_text(access->server, "https://home");
}

static void test_in_cluster(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	CLEANUP(folder_remove) struct folder folder;
	struct kube_access *access;
	struct err err;

	(void)state;
	folder_make(&folder);
	assert_int_equal(kubeconfig_in_cluster(folder.path, NULL, "443", arena, &access, &err),
		-ENOENT);
	assert_int_equal(kubeconfig_in_cluster(folder.path, "10.96.0.1", "443", arena, &access,
				 &err),
		-ENOENT);
	write_file(&folder, "token", SPAN("secret\n"));
	assert_int_equal(kubeconfig_in_cluster(folder.path, "10.96.0.1", "443", arena, &access,
				 &err),
		0);
	check_text(access->server, "https://10.96.0.1:443");
	check_text(access->default_namespace, "default");
	check_text(access->token.path, arena_format(arena, "%s/token", folder.path).data);
	check_text(access->authorities.path, arena_format(arena, "%s/ca.crt", folder.path).data);
	write_file(&folder, "namespace", SPAN("slipway"));
	assert_int_equal(kubeconfig_in_cluster(folder.path, "fd00::1", "6443", arena, &access,
				 &err),
		0);
	check_text(access->server, "https://[fd00::1]:6443");
	check_text(access->default_namespace, "slipway");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_wrong_files),
		cmocka_unit_test(test_clusters),
		cmocka_unit_test(test_users),
		cmocka_unit_test(test_plugins),
		cmocka_unit_test(test_several_files),
		cmocka_unit_test(test_finding),
		cmocka_unit_test(test_in_cluster),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
