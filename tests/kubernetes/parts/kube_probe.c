/*
 * The Kubernetes client on the command line, for tests/kubernetes/test_client.py, with kubectl as the
 * witness of what it did.
 *
 *     kube-probe [--context NAME] [--qps N] [--idle MS] COMMAND…
 *
 * The kubeconfig is $KUBECONFIG, as for kubectl. Commands:
 *
 *     version                       resource KIND
 *     get KIND NAMESPACE NAME       list KIND [NAMESPACE [LABELS [FIELDS]]]
 *     create|update|apply|force|merge|json|strategic KIND NAMESPACE NAME [SUBRESOURCE]   object on stdin
 *     delete KIND NAMESPACE NAME [UID [GRACE [POLICY]]]
 *     scale KIND NAMESPACE NAME REPLICAS
 *     evict NAMESPACE POD           logs NAMESPACE POD [follow]
 *     exec NAMESPACE POD CONTAINER [-i] [-t] -- COMMAND…
 *     watch KIND [NAMESPACE [LABELS [RESYNC_MS]]]
 *
 * Namespace "-" is none. Answers are lines of JSON; a failure is {"code":"ENOENT","message":…} and exit 1.
 * watch runs an informer and prints its changes; lines on stdin ask it: "statistics", "relist", "find INDEX
 * KEY", "get NAMESPACE NAME", "all"; the end of stdin ends it.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>

#include "base/memory.h"
#include "kube/exec.h"
#include "kube/informer.h"
#include "kube/pod.h"

#define LINE_MAX_BYTES 4096
#define INPUT_MAX ((size_t)4 * 1024 * 1024)

static const struct kube_kind *const kinds[] = {
	&kube_config_maps,
	&kube_daemon_sets,
	&kube_deployments,
	&kube_endpoint_slices,
	&kube_events,
	&kube_leases,
	&kube_namespaces,
	&kube_nodes,
	&kube_pod_disruption_budgets,
	&kube_pods,
	&kube_replica_sets,
	&kube_services,
};

struct probe {
	struct arena *arena;
	struct http_client *http;
	struct runner *runner;
	struct kube_client *client;
	struct kube_failure failure;
	struct kube_options options;
	int64_t idle_ms; /* of informers; 0: as they have it */
	char **words;
	int count;
};

/* ---- output ---- */

static pthread_mutex_t output = PTHREAD_MUTEX_INITIALIZER;

static void print_line(struct span text)
{
	pthread_mutex_lock(&output);
	fwrite(text.data, 1, text.length, stdout);
	putchar('\n');
	fflush(stdout);
	pthread_mutex_unlock(&output);
}

static void print(const struct json *value)
{
	_buffer_ struct buffer out = {0};

	json_write(value, &out);
	print_line(buffer_span(&out));
}

static void print_failure(const struct err *err, const struct kube_failure *failure)
{
	_arena_ struct arena *arena = arena_new(0);
	struct json *object = json_new_object(arena);

	json_set_string(arena, object, "code", span_of(strerrorname_np(-err->code)));
	json_set_string(arena, object, "message", span_of(err->message));
	if (failure) {
		json_set_integer(arena, object, "status", failure->status);
		json_set_string(arena, object, "reason", span_of(failure->reason));
		json_set_string(arena, object, "cause", span_of(failure->cause));
	}
	print(object);
}

/* ---- words ---- */

static const char *word(const struct probe *probe, int index)
{
	return index < probe->count ? probe->words[index] : NULL;
}

static struct span span_word(const struct probe *probe, int index)
{
	const char *text = word(probe, index);

	return text && strcmp(text, "-") != 0 ? span_of(text) : SPAN_NONE;
}

static const struct kube_kind *find_kind(const char *plural)
{
	static struct kube_kind other = {.group = "example.com",
		.kind = "Widget",
		.plural = "widgets",
		.namespaced = true,
		.versions = {"v2", "v1"}};

	for (size_t i = 0; plural && i < LENGTH(kinds); i++) {
		if (strcmp(kinds[i]->plural, plural) == 0)
			return kinds[i];
	}
	return &other;
}

static struct kube_target read_target(const struct probe *probe)
{
	return (struct kube_target){find_kind(word(probe, 1)), span_word(probe, 2),
		span_word(probe, 3), word(probe, 4)};
}

static int read_body(const struct probe *probe, struct json **ret_body, struct err *err)
{
	_buffer_ struct buffer text = BUFFER_WITH_CAP(INPUT_MAX);
	char data[LINE_MAX_BYTES];
	size_t n;

	while ((n = fread(data, 1, sizeof(data), stdin)) > 0)
		buffer_add(&text, data, n);
	return json_parse(arena_copy_span(probe->arena, buffer_span(&text)), probe->arena, ret_body,
		err);
}

/* ---- commands ---- */

static int run_version(struct probe *probe, struct err *err)
{
	struct json *object = json_new_object(probe->arena);
	struct kube_version version;
	int code = kube_server_version(probe->client, probe->arena, &version, err);

	if (code < 0)
		return code;
	json_set_integer(probe->arena, object, "major", version.major);
	json_set_integer(probe->arena, object, "minor", version.minor);
	json_set_string(probe->arena, object, "git", version.git);
	print(object);
	return 0;
}

static int run_resource(struct probe *probe, struct err *err)
{
	struct json *object = json_new_object(probe->arena);
	struct kube_resource resource;
	int code = kube_resource_find(probe->client, find_kind(word(probe, 1)), &resource, err);

	if (code < 0)
		return code;
	json_set_string(probe->arena, object, "apiVersion", span_of(resource.api_version));
	json_set_string(probe->arena, object, "path", span_of(resource.path));
	json_set_bool(probe->arena, object, "namespaced", resource.namespaced);
	print(object);
	return 0;
}

static int run_get(struct probe *probe, struct err *err)
{
	struct kube_target target = read_target(probe);
	struct json *object;
	int code = kube_get(probe->client, &target, &probe->options, probe->arena, &object, err);

	if (code == 0)
		print(object);
	return code;
}

static int run_list(struct probe *probe, struct err *err)
{
	struct kube_target target = {
		.kind = find_kind(word(probe, 1)), .namespace = span_word(probe, 2)};
	struct kube_selection selection = {span_word(probe, 3).data, span_word(probe, 4).data};
	struct json *items;
	struct span version;
	int code = kube_list(probe->client, &target, &selection, &probe->options, probe->arena,
		&items, &version, err);

	if (code < 0)
		return code;
	JSON_EACH_ITEM (items, item)
		print(item);
	return 0;
}

static int run_write(struct probe *probe, struct err *err)
{
	static const char *const patches[] = {"merge", "json", "strategic"};
	struct kube_target target = read_target(probe);
	const char *verb = word(probe, 0);
	struct arena *arena = probe->arena;
	struct json *body, *answer = NULL;
	int code = read_body(probe, &body, err);

	if (code < 0)
		return code;
	if (strcmp(verb, "create") == 0)
		code = kube_create(probe->client, &target, body, &probe->options, arena, &answer,
			err);
	else if (strcmp(verb, "update") == 0)
		code = kube_update(probe->client, &target, body, &probe->options, arena, &answer,
			err);
	else if (strcmp(verb, "apply") == 0 || strcmp(verb, "force") == 0)
		code = kube_apply(probe->client, &target, body, strcmp(verb, "force") == 0,
			&probe->options, arena, &answer, err);
	for (size_t i = 0; i < LENGTH(patches); i++) {
		if (strcmp(verb, patches[i]) == 0)
			code = kube_patch(probe->client, &target, (enum kube_patch_type)i, body,
				&probe->options, arena, &answer, err);
	}
	if (code == 0)
		print(answer);
	return code;
}

static int run_delete(struct probe *probe, struct err *err)
{
	static const char *const policies[] = {"", "Orphan", "Background", "Foreground"};
	struct kube_target target = {
		find_kind(word(probe, 1)), span_word(probe, 2), span_word(probe, 3), NULL};
	struct kube_deletion deletion = {.uid = span_word(probe, 4)};

	if (span_word(probe, 5).data) {
		deletion.has_grace_period = true;
		deletion.grace_period_s = strtoll(word(probe, 5), NULL, 10);
	}
	for (size_t i = 0; i < LENGTH(policies); i++) {
		if (word(probe, 6) && strcmp(word(probe, 6), policies[i]) == 0)
			deletion.propagation = (enum kube_propagation)i;
	}
	return kube_delete(probe->client, &target, &deletion, &probe->options, err);
}

static int run_scale(struct probe *probe, struct err *err)
{
	struct kube_target target = {
		find_kind(word(probe, 1)), span_word(probe, 2), span_word(probe, 3), NULL};

	return kube_scale(probe->client, &target, strtoll(word(probe, 4), NULL, 10),
		&probe->options, err);
}

static int run_evict(struct probe *probe, struct err *err)
{
	return kube_pod_evict(probe->client, span_word(probe, 1), span_word(probe, 2), NULL,
		&probe->options, err);
}

static int print_log(void *context, struct span data)
{
	(void)context;
	fwrite(data.data, 1, data.length, stdout);
	fflush(stdout);
	return 0;
}

static int run_logs(struct probe *probe, struct err *err)
{
	struct kube_log_request request = {.namespace = span_word(probe, 1),
		.pod = span_word(probe, 2),
		.follow = word(probe, 3) != NULL};

	return kube_pod_logs(probe->client, &request, print_log, NULL, &probe->options, err);
}

/* ---- exec ---- */

struct copying {
	int from, to; /* to -1: into the text */
	struct buffer text;
};

static void *copy(void *context)
{
	struct copying *copying = context;
	char data[LINE_MAX_BYTES];
	ssize_t n;

	while ((n = read(copying->from, data, sizeof(data))) > 0) {
		if (copying->to < 0)
			buffer_add(&copying->text, data, (size_t)n);
		else if (write(copying->to, data, (size_t)n) < n)
			break;
	}
	/* With a terminal the other direction continues. */
	if (copying->to >= 0)
		shutdown(copying->to, SHUT_WR);
	return NULL;
}

static int run_exec(struct probe *probe, struct err *err)
{
	struct kube_exec_request request = {.namespace = span_word(probe, 1),
		.pod = span_word(probe, 2),
		.container = span_word(probe, 3)};
	struct span *command =
		arena_allocate_array(probe->arena, (size_t)probe->count, sizeof(*command));
	struct copying copies[3] = {{.from = STDIN_FILENO}, {.to = -1}, {.to = -1}};
	struct json *answer = json_new_object(probe->arena);
	pthread_t threads[3];
	struct kube_exec *exec;
	int at = 4, exit_code = 0, code;

	for (; word(probe, at) && strcmp(word(probe, at), "--") != 0; at++) {
		request.input |= strcmp(word(probe, at), "-i") == 0;
		request.terminal |= strcmp(word(probe, at), "-t") == 0;
	}
	while (word(probe, ++at))
		command[request.command_count++] = span_of(word(probe, at));
	request.command = command;
	code = kube_exec_start(probe->client, &request, &exec, err);
	if (code < 0)
		return code;
	kube_exec_take_descriptors(exec, &copies[0].to, &copies[1].from, &copies[2].from);
	json_set_bool(probe->arena, answer, "canCloseInput", kube_exec_can_close_input(exec));
	if (request.terminal)
		kube_exec_resize(exec, 33, 77);
	for (int i = request.input ? 0 : 1; i < 3; i++)
		pthread_create(&threads[i], NULL, copy, &copies[i]);
	code = kube_exec_wait(exec, &exit_code, err);
	kube_exec_free(exec);
	for (int i = request.input ? 0 : 1; i < 3; i++)
		pthread_join(threads[i], NULL);
	json_set_integer(probe->arena, answer, "exitCode", exit_code);
	json_set_string(probe->arena, answer, "output", buffer_span(&copies[1].text));
	json_set_string(probe->arena, answer, "error", buffer_span(&copies[2].text));
	if (code == 0)
		print(answer);
	for (int i = 1; i < 3; i++) {
		buffer_clear(&copies[i].text);
		memory_close_descriptor(&copies[i].from);
	}
	if (request.input && !request.terminal)
		close(copies[0].to);
	return code;
}

/* ---- the informer ---- */

static int reduce_pod(void *context, const struct json *object, struct kube_keep *keep,
	const void **ret_data, struct err *err)
{
	struct span *kept = kube_keep_array(keep, 3, sizeof(*kept));

	(void)context;
	if (json_get(json_path(object, "metadata.annotations"), "refuse"))
		return err_set(err, -EINVAL, "'%.*s' wants to be refused",
			SPAN_ARGS(json_get_text(json_get(object, "metadata"), "name")));
	if (json_get(json_path(object, "metadata.annotations"), "ignore"))
		return KUBE_REDUCE_IGNORE;
	kept[0] = kube_keep_text(keep, json_get_text(json_get(object, "spec"), "nodeName"));
	kept[1] = kube_keep_text(keep, json_get_text(json_get(object, "status"), "phase"));
	kept[2] = kube_keep_json(keep, json_path(object, "metadata.labels"));
	*ret_data = kept;
	return 0;
}

static void index_node(const struct kube_object *object, struct kube_index_keys *keys)
{
	kube_index_keys_add(keys, ((const struct span *)object->data)[0]);
}

static void index_namespace(const struct kube_object *object, struct kube_index_keys *keys)
{
	kube_index_keys_add(keys, object->namespace);
}

static struct json *describe(struct arena *arena, const struct kube_object *object)
{
	struct json *json = json_new_object(arena);
	const struct span *kept = object->data;

	json_set_string(arena, json, "key", object->key);
	json_set_string(arena, json, "uid", object->uid);
	json_set_string(arena, json, "version", object->resource_version);
	json_set_string(arena, json, "node", kept[0].data ? kept[0] : SPAN(""));
	json_set_string(arena, json, "phase", kept[1].data ? kept[1] : SPAN(""));
	json_set_string(arena, json, "labels", kept[2].data ? kept[2] : SPAN(""));
	return json;
}

static void print_change(void *context, const struct kube_object *before,
	const struct kube_object *after)
{
	_arena_ struct arena *arena = arena_new(0);
	struct json *json = describe(arena, after ? after : before);
	const char *what = "updated";

	(void)context;
	if (!before)
		what = "added";
	else if (!after)
		what = "deleted";
	else if (before == after)
		what = "resync";
	json_set_string(arena, json, "event", span_of(what));
	print(json);
}

static void print_synced(void *context)
{
	(void)context;
	print_line(SPAN("{\"event\":\"synced\"}"));
}

static void print_failed(void *context, const struct err *err)
{
	(void)context;
	print_failure(err, NULL);
}

static void print_statistics(struct kube_informer *informer)
{
	_arena_ struct arena *arena = arena_new(0);
	struct json *json = json_new_object(arena);
	struct kube_informer_statistics s;

	kube_informer_statistics(informer, &s);
	json_set_integer(arena, json, "objects", (int64_t)s.objects);
	json_set_integer(arena, json, "bytes", (int64_t)s.bytes);
	json_set_integer(arena, json, "events", (int64_t)s.events);
	json_set_integer(arena, json, "bookmarks", (int64_t)s.bookmarks);
	json_set_integer(arena, json, "lists", (int64_t)s.lists);
	json_set_integer(arena, json, "relists", (int64_t)s.relists);
	json_set_integer(arena, json, "watches", (int64_t)s.watches);
	json_set_integer(arena, json, "expired", (int64_t)s.expired);
	json_set_integer(arena, json, "errors", (int64_t)s.errors);
	json_set_integer(arena, json, "refused", (int64_t)s.refused);
	json_set_integer(arena, json, "received", (int64_t)s.bytes_received);
	json_set_integer(arena, json, "lastEvent", s.last_event_ms);
	json_set_integer(arena, json, "lastContact", s.last_contact_ms);
	json_set_bool(arena, json, "synced", s.synced);
	json_set_bool(arena, json, "watching", s.watching);
	print(json);
}

static void print_found(struct kube_informer *informer, const char *index, const char *key)
{
	_arena_ struct arena *arena = arena_new(0);
	_kube_object_list_ struct kube_object_list list = {0};
	struct json *keys = json_new_array(arena);

	if (index)
		kube_informer_find(informer, index, span_of(key), arena, &list);
	else
		kube_informer_all(informer, arena, &list);
	for (size_t i = 0; i < list.count; i++)
		json_append(arena, keys, describe(arena, list.objects[i]));
	print(keys);
}

static void print_got(struct kube_informer *informer, const char *namespace, const char *name)
{
	_arena_ struct arena *arena = arena_new(0);
	_kube_object_ const struct kube_object *object = kube_informer_get(informer,
		strcmp(namespace, "-") == 0 ? SPAN("") : span_of(namespace), span_of(name));

	print(object ? describe(arena, object) : json_new_null(arena));
}

static void answer(struct kube_informer *informer, char *line)
{
	char *rest = NULL;
	const char *verb = strtok_r(line, " \n", &rest);
	const char *first = strtok_r(NULL, " \n", &rest), *second = strtok_r(NULL, " \n", &rest);

	if (!verb)
		return;
	if (strcmp(verb, "statistics") == 0)
		print_statistics(informer);
	else if (strcmp(verb, "relist") == 0)
		kube_informer_relist(informer);
	else if (strcmp(verb, "all") == 0)
		print_found(informer, NULL, NULL);
	else if (strcmp(verb, "find") == 0 && second)
		print_found(informer, first, second);
	else if (strcmp(verb, "get") == 0 && second)
		print_got(informer, first, second);
}

static int run_watch(struct probe *probe, struct err *err)
{
	static const struct kube_index indexes[] = {
		{"node", index_node}, {"namespace", index_namespace}};
	struct kube_informer_config config = {
		.client = probe->client,
		.runner = probe->runner,
		.kind = find_kind(word(probe, 1)),
		.namespace = span_word(probe, 2),
		.selection = {span_word(probe, 3).data, NULL},
		.reduce = reduce_pod,
		.indexes = indexes,
		.index_count = LENGTH(indexes),
		.changed = print_change,
		.synced = print_synced,
		.failed = print_failed,
		.resync_ms = word(probe, 4) ? strtoll(word(probe, 4), NULL, 10) : 0,
		.backoff_most_ms = 2000,
		.idle_ms = probe->idle_ms,
	};
	struct kube_informer *informer;
	char line[LINE_MAX_BYTES];
	int code = kube_informer_start(&config, &informer, err);

	if (code < 0)
		return code;
	while (fgets(line, sizeof(line), stdin))
		answer(informer, line);
	kube_informer_stop(informer);
	return 0;
}

/* ---- entry ---- */

static const struct {
	const char *name;
	int (*run)(struct probe *probe, struct err *err);
} commands[] = {
	{"version", run_version},
	{"resource", run_resource},
	{"get", run_get},
	{"list", run_list},
	{"create", run_write},
	{"update", run_write},
	{"apply", run_write},
	{"force", run_write},
	{"merge", run_write},
	{"json", run_write},
	{"strategic", run_write},
	{"delete", run_delete},
	{"scale", run_scale},
	{"evict", run_evict},
	{"logs", run_logs},
	{"exec", run_exec},
	{"watch", run_watch},
};

static int open_client(struct probe *probe, const char *context, double qps, struct err *err)
{
	struct kube_client_config config = {.qps = qps};
	struct kube_access *access;
	int code;

	code = kubeconfig_find(NULL, context ? span_of(context) : SPAN_NONE, probe->arena, &access,
		err);
	if (code == 0)
		code = http_client_new(&probe->http, err);
	if (code < 0)
		return code;
	config.http = probe->http;
	config.runner = probe->runner;
	config.access = access;
	probe->options.failure = &probe->failure;
	return kube_client_new(&config, &probe->client, err);
}

static int run(struct probe *probe, struct err *err)
{
	for (size_t i = 0; word(probe, 0) && i < LENGTH(commands); i++) {
		if (strcmp(commands[i].name, word(probe, 0)) == 0)
			return commands[i].run(probe, err);
	}
	return err_set(err, -EINVAL, "no such command");
}

int main(int count, char **words)
{
	struct probe probe = {.arena = arena_new(0), .words = words + 1, .count = count - 1};
	const char *context = NULL;
	struct err err = {0};
	double qps = 0;
	int code;

	signal(SIGPIPE, SIG_IGN);
	while (probe.count > 1 && strncmp(probe.words[0], "--", 2) == 0) {
		if (strcmp(probe.words[0], "--context") == 0)
			context = probe.words[1];
		else if (strcmp(probe.words[0], "--qps") == 0)
			qps = strtod(probe.words[1], NULL);
		else if (strcmp(probe.words[0], "--idle") == 0)
			probe.idle_ms = strtoll(probe.words[1], NULL, 10);
		probe.words += 2;
		probe.count -= 2;
	}
	probe.runner = runner_threads_new(clock_system(), random_system());
	code = open_client(&probe, context, qps, &err);
	if (code == 0)
		code = run(&probe, &err);
	if (code < 0)
		print_failure(&err, &probe.failure);
	kube_client_free(probe.client);
	http_client_free(probe.http);
	runner_free(probe.runner);
	arena_free(probe.arena);
	return code < 0 ? 1 : 0;
}
