/*
 * Reading goes entry by entry: a context names a cluster and a user, each is looked for in the
 * files in their order, and only what the context uses is checked. So an invalid entry that is not
 * used has no effect, as with kubectl.
 */
#include "kube/kubeconfig.h"

#include <stdio.h>

#include "base/base64.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/yaml.h"

#define PLUGIN_EXTENSION "client.authentication.k8s.io/exec"

/* An entry of a file: what messages say about its fields. */
struct entry {
	const char *path;        /* of the file */
	const char *what;        /* "cluster" */
	struct span name;        /* 'dev' */
	const struct json *body; /* an object, or NULL for an empty one */
	struct arena *arena;
	struct err *err;
};

struct document {
	const char *path;
	const struct json *root;
};

struct documents {
	struct document *items;
	size_t count;
	struct arena *arena;
	struct err *err;
};

static int fail(const struct entry *entry, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static int fail(const struct entry *entry, int code, const char *format, ...)
{
	struct span reason;
	va_list list;

	va_start(list, format);
	reason = arena_format_list(entry->arena, format, list);
	va_end(list);
	return err_set(entry->err, code, "kubeconfig %s: %s '%.*s': %s", entry->path, entry->what,
		SPAN_ARGS(entry->name), reason.data);
}

/* ---- fields ---- */

/* A text; "" and null are as good as absent, which is SPAN_NONE. */
static int read_text(const struct entry *entry, const struct json *object, const char *prefix,
	const char *field, struct span *ret_text)
{
	const struct json *value = json_get(object, field);
	struct span text = json_text(value);

	if (!json_is_absent(value) && !json_is(value, JSON_STRING))
		return fail(entry, -EINVAL, "%s%s is %s and must be a string (in quotes)", prefix,
			field, json_type_name(value->type));
	if (text.length > 0 && memchr(text.data, '\0', text.length))
		return fail(entry, -EINVAL, "%s%s has a NUL in it", prefix, field);
	*ret_text = text.length > 0 ? arena_copy_span(entry->arena, text) : SPAN_NONE;
	return 0;
}

static int read_flag(const struct entry *entry, const char *prefix, const struct json *object,
	const char *field, bool *ret_flag)
{
	const struct json *value = json_get(object, field);

	if (!json_is_absent(value) && !json_is(value, JSON_TRUE) && !json_is(value, JSON_FALSE))
		return fail(entry, -EINVAL, "%s%s must be true or false", prefix, field);
	*ret_flag = json_is_true(value);
	return 0;
}

static struct span beside_file(const struct entry *entry, struct span path)
{
	const char *slash = strrchr(entry->path, '/');

	if (path.data[0] == '/' || !slash)
		return path;
	return arena_format(entry->arena, "%.*s/%.*s", (int)(slash - entry->path), entry->path,
		SPAN_ARGS(path));
}

/* The path in `field`, or the text itself in `data_field`, which wins. */
static int read_material(const struct entry *entry, const char *field, const char *data_field,
	struct kube_material *ret_material)
{
	struct span path, data;
	int code;

	code = read_text(entry, entry->body, "", field, &path);
	if (code == 0)
		code = read_text(entry, entry->body, "", data_field, &data);
	if (code < 0)
		return code;
	if (data.data) {
		struct span text;

		if (!base64_decode(data, entry->arena, &text))
			return fail(entry, -EINVAL, "%s is not base64", data_field);
		*ret_material = (struct kube_material){.text = text};
	} else if (path.data) {
		*ret_material = (struct kube_material){.path = beside_file(entry, path)};
	} else {
		*ret_material = (struct kube_material){0};
	}
	return 0;
}

static bool is_there(const struct kube_material *material)
{
	return material->text.data || material->path.data;
}

/* ---- clusters ---- */

static bool is_host_character(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       c == '-' || c == '.' || c == '_';
}

static bool is_host_name(struct span name)
{
	for (size_t i = 0; i < name.length; i++) {
		if (!is_host_character(name.data[i]))
			return false;
	}
	return name.length > 0 && name.length <= 253;
}

static int check_server(const struct entry *entry, struct span *server)
{
	bool plain = span_starts_with(*server, SPAN("http://"));
	size_t scheme = plain ? 7 : 8;

	if (!plain && !span_starts_with(*server, SPAN("https://")))
		return fail(entry, -EINVAL, "server must begin with https:// or http://");
	for (size_t i = 0; i < server->length; i++) {
		unsigned char c = (unsigned char)server->data[i];

		if (c <= 0x20 || c >= 0x7f || strchr("@?#\\\"<>", c))
			return fail(entry, -EINVAL, "server is not a plain URL");
	}
	while (server->length > scheme && server->data[server->length - 1] == '/')
		server->length--;
	if (server->length == scheme || server->data[scheme] == '/')
		return fail(entry, -EINVAL, "server has no host");
	*server = arena_copy_span(entry->arena, *server);
	return 0;
}

/* A cluster's configuration for credential plugins. */
static struct span find_plugin_config(const struct entry *entry)
{
	JSON_EACH_ITEM (json_get(entry->body, "extensions"), extension) {
		const struct json *config = json_get(extension, "extension");

		if (span_is(json_get_text(extension, "name"), PLUGIN_EXTENSION) && config)
			return json_to_text(config, entry->arena);
	}
	return SPAN_NONE;
}

static int read_cluster(const struct entry *entry, struct kube_access *access)
{
	struct span proxy;
	int code;

	code = read_text(entry, entry->body, "", "server", &access->server);
	if (code == 0 && !access->server.data)
		code = fail(entry, -EINVAL, "server is missing");
	if (code == 0)
		code = check_server(entry, &access->server);
	if (code == 0)
		code = read_text(entry, entry->body, "", "proxy-url", &proxy);
	if (code == 0 && proxy.data)
		code = fail(entry, -EOPNOTSUPP, "proxy-url is not supported");
	if (code == 0)
		code = read_text(entry, entry->body, "", "tls-server-name",
			&access->tls_server_name);
	if (code == 0 && access->tls_server_name.data && !is_host_name(access->tls_server_name))
		code = fail(entry, -EINVAL, "tls-server-name is not a host name");
	if (code == 0)
		code = read_flag(entry, "", entry->body, "insecure-skip-tls-verify",
			&access->insecure);
	if (code == 0)
		code = read_material(entry, "certificate-authority", "certificate-authority-data",
			&access->authorities);
	if (code == 0 && access->insecure && is_there(&access->authorities))
		code = fail(entry, -EINVAL,
			"certificate-authority and insecure-skip-tls-verify exclude each other");
	if (code == 0)
		access->cluster_config = find_plugin_config(entry);
	return code;
}

/* ---- users ---- */

static int check_list(const struct entry *entry, const struct json *list, const char *field)
{
	if (!json_is_absent(list) && !json_is(list, JSON_ARRAY))
		return fail(entry, -EINVAL, "exec.%s must be a list", field);
	if (json_count(list) > KUBECONFIG_EXEC_WORDS_MAX)
		return fail(entry, -EINVAL, "exec.%s has more than %d entries", field,
			KUBECONFIG_EXEC_WORDS_MAX);
	return 0;
}

static int read_arguments(const struct entry *entry, const struct json *list,
	struct kube_exec_plugin *plugin)
{
	struct span *words;
	int code;

	code = check_list(entry, list, "args");
	if (code < 0)
		return code;
	words = arena_allocate_array(entry->arena, json_count(list) + 1, sizeof(*words));
	JSON_EACH_ITEM (list, item) {
		struct span word = json_text(item);

		if (!word.data || memchr(word.data, '\0', word.length))
			return fail(entry, -EINVAL, "exec.args must be strings");
		words[plugin->word_count++] = arena_copy_span(entry->arena, word);
	}
	plugin->words = words;
	return 0;
}

static int read_environment(const struct entry *entry, const struct json *list,
	struct kube_exec_plugin *plugin)
{
	struct span *variables;
	int code;

	code = check_list(entry, list, "env");
	if (code < 0)
		return code;
	variables = arena_allocate_array(entry->arena, json_count(list) + 1, sizeof(*variables));
	JSON_EACH_ITEM (list, item) {
		struct span name, value;

		code = read_text(entry, item, "exec.env.", "name", &name);
		if (code == 0)
			code = read_text(entry, item, "exec.env.", "value", &value);
		if (code < 0)
			return code;
		if (!name.data || memchr(name.data, '=', name.length))
			return fail(entry, -EINVAL, "exec.env.name is missing or has a '=' in it");
		variables[plugin->environment_count++] = arena_format(entry->arena, "%.*s=%.*s",
			SPAN_ARGS(name), (int)value.length, value.data ? value.data : "");
	}
	plugin->environment = variables;
	return 0;
}

static int check_plugin_version(const struct entry *entry, struct span version)
{
	if (!version.data)
		return fail(entry, -EINVAL, "exec.apiVersion is missing");
	if (span_is(version, "client.authentication.k8s.io/v1") ||
		span_is(version, "client.authentication.k8s.io/v1beta1"))
		return 0;
	return fail(entry, -EOPNOTSUPP,
		"exec.apiVersion is %.*s; supported are client.authentication.k8s.io/v1 and "
		"v1beta1",
		SPAN_ARGS(version));
}

static int read_plugin(const struct entry *entry, const struct json *exec,
	struct kube_exec_plugin **ret_plugin)
{
	struct kube_exec_plugin *plugin = arena_allocate(entry->arena, sizeof(*plugin));
	struct span mode;
	int code;

	if (!json_is(exec, JSON_OBJECT))
		return fail(entry, -EINVAL, "exec must be an object");
	code = read_text(entry, exec, "exec.", "apiVersion", &plugin->api_version);
	if (code == 0)
		code = check_plugin_version(entry, plugin->api_version);
	if (code == 0)
		code = read_text(entry, exec, "exec.", "command", &plugin->command);
	if (code == 0 && !plugin->command.data)
		code = fail(entry, -EINVAL, "exec.command is missing");
	if (code == 0)
		code = read_text(entry, exec, "exec.", "interactiveMode", &mode);
	if (code == 0 && span_is(mode, "Always"))
		code = fail(entry, -EOPNOTSUPP,
			"exec.interactiveMode Always is not supported: slipway has no terminal");
	if (code == 0)
		code = read_text(entry, exec, "exec.", "installHint", &plugin->install_hint);
	if (code == 0)
		code = read_flag(entry, "exec.", exec, "provideClusterInfo",
			&plugin->provide_cluster_info);
	if (code == 0)
		code = read_arguments(entry, json_get(exec, "args"), plugin);
	if (code == 0)
		code = read_environment(entry, json_get(exec, "env"), plugin);
	if (code < 0)
		return code;
	/* A command without a slash is searched in PATH; with one it is beside the file. */
	if (memchr(plugin->command.data, '/', plugin->command.length))
		plugin->command = beside_file(entry, plugin->command);
	*ret_plugin = plugin;
	return 0;
}

static const struct {
	const char *field;
	const char *reason;
} refused_of_users[] = {
	{"auth-provider", "auth-provider is not supported (nor by Kubernetes since 1.26): use an "
			  "exec plugin"},
	{"as", "impersonation (as) is not supported"},
	{"as-uid", "impersonation (as-uid) is not supported"},
	{"as-groups", "impersonation (as-groups) is not supported"},
	{"as-user-extra", "impersonation (as-user-extra) is not supported"},
};

static int check_token(const struct entry *entry, struct span token)
{
	for (size_t i = 0; i < token.length; i++) {
		if ((unsigned char)token.data[i] <= 0x20 || (unsigned char)token.data[i] >= 0x7f)
			return fail(entry, -EINVAL, "token has spaces or control characters in it");
	}
	return 0;
}

static int read_token(const struct entry *entry, struct kube_material *ret_token)
{
	struct span token, path;
	int code;

	code = read_text(entry, entry->body, "", "token", &token);
	if (code == 0)
		code = check_token(entry, token);
	if (code == 0)
		code = read_text(entry, entry->body, "", "tokenFile", &path);
	if (code < 0)
		return code;
	/* The file may have been renewed since the token was written: it wins. */
	if (path.data)
		*ret_token = (struct kube_material){.path = beside_file(entry, path)};
	else
		*ret_token = (struct kube_material){.text = token};
	return 0;
}

static int read_password(const struct entry *entry, struct kube_access *access)
{
	int code;

	code = read_text(entry, entry->body, "", "username", &access->username);
	if (code == 0)
		code = read_text(entry, entry->body, "", "password", &access->password);
	if (code < 0)
		return code;
	if (access->username.data && memchr(access->username.data, ':', access->username.length))
		return fail(entry, -EINVAL, "username has a ':' in it");
	if (access->username.data && is_there(&access->token))
		return fail(entry, -EINVAL, "token and username exclude each other");
	if (access->username.data && !access->password.data)
		access->password = SPAN("");
	return 0;
}

static int read_user(const struct entry *entry, struct kube_access *access)
{
	const struct json *exec = json_get(entry->body, "exec");
	struct kube_exec_plugin *plugin = NULL;
	int code;

	for (size_t i = 0; i < LENGTH(refused_of_users); i++) {
		if (!json_is_absent(json_get(entry->body, refused_of_users[i].field)))
			return fail(entry, -EOPNOTSUPP, "%s", refused_of_users[i].reason);
	}
	code = read_material(entry, "client-certificate", "client-certificate-data",
		&access->certificate);
	if (code == 0)
		code = read_material(entry, "client-key", "client-key-data", &access->key);
	if (code == 0 && is_there(&access->certificate) != is_there(&access->key))
		code = fail(entry, -EINVAL, "client-certificate and client-key belong together");
	if (code == 0)
		code = read_token(entry, &access->token);
	if (code == 0)
		code = read_password(entry, access);
	if (code == 0 && !json_is_absent(exec))
		code = read_plugin(entry, exec, &plugin);
	if (code < 0)
		return code;
	/* As with kubectl: credentials that are there are used, and no plugin is asked. */
	if (!is_there(&access->token) && !access->username.data)
		access->plugin = plugin;
	return 0;
}

/* ---- finding entries ---- */

/* Names of the entries of a list, for messages. */
static struct span join_names(const struct documents *documents, const char *list)
{
	_buffer_ struct buffer out = BUFFER_WITH_CAP(512);

	for (size_t i = 0; i < documents->count; i++) {
		JSON_EACH_ITEM (json_get(documents->items[i].root, list), item) {
			if (out.length > 0)
				buffer_add_string(&out, ", ");
			buffer_add_span(&out, json_get_text(item, "name"));
		}
	}
	if (out.length == 0)
		buffer_add_string(&out, "none");
	return arena_copy_span(documents->arena, buffer_span(&out));
}

/* The entry of that name in the first file that has one: {"name": …, WHAT: {…}} in the list WHATs. */
static int find_entry(const struct documents *documents, const char *what, struct span name,
	struct entry *ret_entry)
{
	char list[16];

	snprintf(list, sizeof(list), "%ss", what);
	for (size_t i = 0; i < documents->count; i++) {
		const struct document *document = &documents->items[i];

		JSON_EACH_ITEM (json_get(document->root, list), item) {
			struct entry entry = {document->path, what, name, json_get(item, what),
				documents->arena, documents->err};

			if (!span_equal(json_get_text(item, "name"), name))
				continue;
			if (!json_is_absent(entry.body) && !json_is(entry.body, JSON_OBJECT))
				return fail(&entry, -EINVAL, "must be an object");
			*ret_entry = entry;
			return 0;
		}
	}
	return err_set(documents->err, -ENOENT,
		"kubeconfig %s: there is no %s '%.*s' (there are: %s)", documents->items[0].path,
		what, SPAN_ARGS(name), join_names(documents, list).data);
}

static int choose_context(const struct documents *documents, struct span *context)
{
	for (size_t i = 0; context->length == 0 && i < documents->count; i++) {
		struct span current = json_get_text(documents->items[i].root, "current-context");

		if (current.length > 0)
			*context = current;
	}
	if (context->length > 0)
		return 0;
	return err_set(documents->err, -ENOENT,
		"kubeconfig %s: no current-context is set, and none was named (there are: %s)",
		documents->items[0].path, join_names(documents, "contexts").data);
}

static int read_context(const struct documents *documents, struct span name,
	struct kube_access *access)
{
	struct entry context, cluster, user;
	struct span cluster_name, user_name;
	int code;

	code = find_entry(documents, "context", name, &context);
	if (code == 0)
		code = read_text(&context, context.body, "", "cluster", &cluster_name);
	if (code == 0)
		code = read_text(&context, context.body, "", "user", &user_name);
	if (code == 0)
		code = read_text(&context, context.body, "", "namespace",
			&access->default_namespace);
	if (code < 0)
		return code;
	if (!cluster_name.data)
		return fail(&context, -EINVAL, "cluster is missing");
	if (!access->default_namespace.data)
		access->default_namespace = SPAN("default");
	code = find_entry(documents, "cluster", cluster_name, &cluster);
	if (code == 0)
		code = read_cluster(&cluster, access);
	if (code < 0 || !user_name.data) /* a context without a user is allowed */
		return code;
	code = find_entry(documents, "user", user_name, &user);
	return code < 0 ? code : read_user(&user, access);
}

static int parse_document(const struct kubeconfig_file *file, struct documents *documents)
{
	static const char *const lists[] = {"clusters", "users", "contexts"};
	struct document *document = &documents->items[documents->count];
	struct json *root;
	int code;

	code = yaml_parse(file->text, documents->arena, &root, documents->err);
	if (code < 0)
		return err_prefix(documents->err, code, "kubeconfig %s", file->path);
	if (!json_is(root, JSON_OBJECT) && !json_is(root, JSON_NULL))
		return err_set(documents->err, -EINVAL, "kubeconfig %s: not an object", file->path);
	for (size_t i = 0; i < LENGTH(lists); i++) {
		const struct json *list = json_get(root, lists[i]);

		if (!json_is_absent(list) && !json_is(list, JSON_ARRAY))
			return err_set(documents->err, -EINVAL, "kubeconfig %s: %s must be a list",
				file->path, lists[i]);
	}
	*document = (struct document){file->path, root};
	documents->count++;
	return 0;
}

int kubeconfig_read(const struct kubeconfig_file *files, size_t count, struct span context,
	struct arena *arena, struct kube_access **ret_access, struct err *err)
{
	struct kube_access *access = arena_allocate(arena, sizeof(*access));
	struct document items[KUBECONFIG_FILES_MAX];
	struct documents documents = {items, 0, arena, err};
	int code = 0;

	if (count == 0 || count > KUBECONFIG_FILES_MAX)
		return err_set(err, -EINVAL, "kubeconfig: 1 to %d files can be read, not %zu",
			KUBECONFIG_FILES_MAX, count);
	for (size_t i = 0; i < count && code == 0; i++)
		code = parse_document(&files[i], &documents);
	if (code == 0)
		code = choose_context(&documents, &context);
	if (code == 0)
		code = read_context(&documents, context, access);
	if (code == 0)
		*ret_access = access;
	return code;
}

/* ---- files ---- */

/* Reads the file behind those that are there. */
static int read_file(struct span path, struct arena *arena, struct kubeconfig_file *files,
	size_t *count, struct err *err)
{
	_buffer_ struct buffer text = {0};
	int code;

	if (*count == KUBECONFIG_FILES_MAX)
		return err_set(err, -EINVAL, "kubeconfig: more than %d files",
			KUBECONFIG_FILES_MAX);
	files[*count].path = arena_copy(arena, path.data, path.length);
	code = file_read(files[*count].path, KUBECONFIG_FILE_MAX, &text, err);
	if (code < 0)
		return err_prefix(err, code, "kubeconfig");
	files[*count].text = arena_copy_span(arena, buffer_span(&text));
	(*count)++;
	return 0;
}

static int load(const char *paths, bool may_be_missing, struct span context, struct arena *arena,
	struct kube_access **ret_access, struct err *err)
{
	struct kubeconfig_file files[KUBECONFIG_FILES_MAX];
	struct span rest = span_of(paths), path;
	size_t count = 0;
	bool more = true;
	int code;

	while (more) {
		more = span_split(rest, ':', &path, &rest);
		if (!more)
			path = rest;
		if (path.length == 0)
			continue;
		code = read_file(path, arena, files, &count, err);
		if (code < 0 && !(code == -ENOENT && may_be_missing))
			return code;
	}
	if (count == 0)
		return err_set(err, -ENOENT, "kubeconfig: there is no file %s", paths);
	return kubeconfig_read(files, count, context, arena, ret_access, err);
}

int kubeconfig_load(const char *paths, struct span context, struct arena *arena,
	struct kube_access **ret_access, struct err *err)
{
	return load(paths, false, context, arena, ret_access, err);
}

static struct span read_namespace(const char *folder, struct arena *arena)
{
	_buffer_ struct buffer text = {0};
	struct span path = arena_format(arena, "%s/namespace", folder);

	if (file_read(path.data, KUBECONFIG_FILE_MAX, &text, NULL) < 0 || text.length == 0)
		return SPAN("default");
	return arena_copy_span(arena, span_trim(buffer_span(&text)));
}

int kubeconfig_in_cluster(const char *folder, const char *host, const char *port,
	struct arena *arena, struct kube_access **ret_access, struct err *err)
{
	struct kube_access *own = arena_allocate(arena, sizeof(*own));
	bool is_ipv6;

	if (!host || !host[0] || !port || !port[0])
		return err_set(err, -ENOENT,
			"not in a Kubernetes cluster: KUBERNETES_SERVICE_HOST "
			"and KUBERNETES_SERVICE_PORT are not set");
	if (!folder)
		folder = KUBE_SERVICE_ACCOUNT_FOLDER;
	is_ipv6 = strchr(host, ':') != NULL;
	own->server =
		arena_format(arena, is_ipv6 ? "https://[%s]:%s" : "https://%s:%s", host, port);
	own->authorities.path = arena_format(arena, "%s/ca.crt", folder);
	own->token.path = arena_format(arena, "%s/token", folder);
	own->default_namespace = read_namespace(folder, arena);
	if (access(own->token.path.data, R_OK) < 0)
		return err_errno(err, "service account: %s", own->token.path.data);
	*ret_access = own;
	return 0;
}

int kubeconfig_find(const char *path, struct span context, struct arena *arena,
	struct kube_access **ret_access, struct err *err)
{
	const char *variable = getenv("KUBECONFIG");
	const char *home = getenv("HOME");
	struct span standard = arena_format(arena, "%s/.kube/config", home ? home : "");

	if (path)
		return load(path, false, context, arena, ret_access, err);
	if (variable && variable[0])
		return load(variable, true, context, arena, ret_access, err);
	if (home && access(standard.data, F_OK) == 0)
		return load(standard.data, false, context, arena, ret_access, err);
	if (getenv("KUBERNETES_SERVICE_HOST"))
		return kubeconfig_in_cluster(NULL, getenv("KUBERNETES_SERVICE_HOST"),
			getenv("KUBERNETES_SERVICE_PORT"), arena, ret_access, err);
	return err_set(err, -ENOENT,
		"no Kubernetes cluster is known: name a kubeconfig file, set "
		"KUBECONFIG, or put one at ~/.kube/config");
}
