/* One container of a pod, from the one of the spec. */
#include <inttypes.h>
#include <stdio.h>

#include "base/memory.h"
#include "runtime/kubernetes/notes.h"
#include "runtime/kubernetes/plan.h"
#include "runtime/kubernetes/template_internal.h"

#define ID_MAX INT32_MAX /* of users and groups, as Kubernetes has them */
#define SECONDS_MAX (7 * 24 * 3600)
#define GPUS_MAX 64

/* ---- texts ---- */

/* Kubernetes replaces $(NAME) in commands and values, and takes $$ for a $; ECS does neither. */
static struct json *plain_text(struct arena *arena, struct span text)
{
	_buffer_ struct buffer out = {0};

	for (size_t i = 0; i < text.length; i++) {
		if (text.data[i] == '$')
			buffer_add_char(&out, '$');
		buffer_add_char(&out, text.data[i]);
	}
	return json_new_string(arena, buffer_span(&out));
}

static int add_words(struct making *making, const struct json *container, const char *member,
	bool plain, struct json *list)
{
	JSON_EACH_ITEM (json_get(container, member), word) {
		struct span text = json_text(word);

		if (!text.data || memchr(text.data, '\0', text.length))
			return template_refuse(making, container, "%s is not a list of words",
				member);
		json_append(making->arena, list,
			plain ? plain_text(making->arena, text)
			      : json_new_string(making->arena, text));
	}
	return 0;
}

static void add_word(struct making *making, struct json *list, const char *word)
{
	json_append(making->arena, list, json_new_string(making->arena, span_of(word)));
}

static void add_number(struct making *making, struct json *list, int64_t number)
{
	json_append(making->arena, list, json_new_format(making->arena, "%" PRId64, number));
}

/* ---- commands ---- */

static bool says_what_it_runs(const struct json *container)
{
	return json_count(json_get(container, "entryPoint")) > 0;
}

/* Kubernetes would restart it after its end, and ECS would not. */
static bool must_run_once(const struct making *making, const struct json *container, size_t index)
{
	return making->restarts && !making->order.is_initial[index] &&
	       !kubernetes_restarts(container);
}

static void add_mark(struct making *making, struct json *command, const char *what, size_t index)
{
	json_append(making->arena, command,
		json_new_format(making->arena, KUBERNETES_MARKS_FOLDER "/%s.%.*s", what,
			SPAN_ARGS(making->names[index])));
	making->uses_program = making->uses_marks = true;
}

static bool waits_for_health(const struct making *making, size_t index)
{
	for (size_t to = 0; to < json_count(making->containers); to++)
		if (making->order.waits_for[index][to])
			return true;
	return false;
}

/* slipway-pod's steps before it becomes the container's own program. */
static void wrap_command(struct making *making, const struct json *container, size_t index,
	struct json *command)
{
	if (making->order.any_exit[index]) {
		add_word(making, command, KUBERNETES_PROGRAM);
		add_word(making, command, "complete");
		add_word(making, command, "--");
		making->uses_program = true;
	}
	if (must_run_once(making, container, index)) {
		add_word(making, command, KUBERNETES_PROGRAM);
		add_word(making, command, "once");
		add_mark(making, command, "ran", index);
		add_word(making, command, "--");
	}
	if (waits_for_health(making, index)) {
		add_word(making, command, KUBERNETES_PROGRAM);
		add_word(making, command, "after");
		for (size_t to = 0; to < json_count(making->containers); to++)
			if (making->order.waits_for[index][to])
				add_mark(making, command, "healthy", to);
		add_word(making, command, "--");
	}
}

static void note_unwrapped(struct making *making, const struct json *container, size_t index)
{
	struct span name = json_get_text(container, "name");

	if (making->order.any_exit[index])
		kubernetes_note(&making->notes,
			"the containers that wait for '%.*s' to COMPLETE start only after it "
			"succeeds, because it has no entryPoint",
			SPAN_ARGS(name));
	if (must_run_once(making, container, index) && !json_get_bool(container, "essential", true))
		kubernetes_note(&making->notes,
			"container '%.*s' is started again whenever it exits, because it has no "
			"entryPoint",
			SPAN_ARGS(name));
	if (waits_for_health(making, index))
		kubernetes_note(&making->notes,
			"container '%.*s' is started for a moment before the task ends if what it "
			"waits for does not become HEALTHY, because it has no entryPoint",
			SPAN_ARGS(name));
}

static int make_command(struct making *making, const struct json *container, size_t index,
	struct json *built)
{
	struct json *command = json_new_array(making->arena), *args = json_new_array(making->arena);
	int code;

	if (says_what_it_runs(container) && making->config->helper_image.length > 0)
		wrap_command(making, container, index, command);
	else
		note_unwrapped(making, container, index);
	code = add_words(making, container, "entryPoint", true, command);
	if (code == 0)
		code = add_words(making, container, "command", true, args);
	if (code < 0)
		return code;
	if (json_count(command) > 0)
		json_set(making->arena, built, "command", command);
	if (json_count(args) > 0)
		json_set(making->arena, built, "args", args);
	return 0;
}

/* ---- environment ---- */

/* Names that every version of Kubernetes accepts. */
static bool is_variable(struct span name)
{
	if (name.length == 0 || (name.data[0] >= '0' && name.data[0] <= '9'))
		return false;
	for (size_t i = 0; i < name.length; i++) {
		char c = name.data[i];

		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
			    c == '_' || c == '-' || c == '.'))
			return false;
	}
	return true;
}

static struct json *refer_to_secret(struct making *making, size_t index, struct span name,
	struct span value)
{
	struct arena *arena = making->arena;
	struct json *reference = json_new_object(arena), *from = json_new_object(arena);
	struct span key = arena_format(arena, "%zu.%.*s", index, SPAN_ARGS(name));

	if (!making->secrets)
		making->secrets = json_new_object(arena);
	json_set_string(arena, making->secrets, key.data, value);
	json_set_string(arena, reference, "name", making->request->secret);
	json_set_string(arena, reference, "key", key);
	json_set(arena, from, "secretKeyRef", reference);
	return from;
}

static int make_environment(struct making *making, const struct json *container, size_t index,
	struct json *built)
{
	struct arena *arena = making->arena;
	struct json *list = json_new_array(arena);

	if (json_count(json_get(container, "environmentFiles")) > 0)
		return template_refuse(making, container,
			"environmentFiles are files of the machine that slipway runs on; give "
			"variables as 'environment'");
	JSON_EACH_ITEM (json_get(container, "environment"), variable) {
		struct span name = json_get_text(variable, "name");
		struct span value = json_get_text(variable, "value");
		struct json *entry = json_new_object(arena);

		if (!name.data || !is_variable(name))
			return template_refuse(making, container,
				"'%.*s' is no name of a variable that Kubernetes takes",
				SPAN_ARGS(name));
		if (!value.data || memchr(value.data, '\0', value.length))
			return template_refuse(making, container, "variable '%.*s' has no text",
				SPAN_ARGS(name));
		json_set_string(arena, entry, "name", name);
		if (json_get_bool(variable, "secret", false))
			json_set(arena, entry, "valueFrom",
				refer_to_secret(making, index, name, value));
		else
			json_set(arena, entry, "value", plain_text(arena, value));
		json_append(arena, list, entry);
	}
	if (json_count(list) > 0)
		json_set(arena, built, "env", list);
	return 0;
}

/* ---- ports ---- */

static bool has_port(const struct json *list, int64_t port, struct span protocol)
{
	JSON_EACH_ITEM (list, entry)
		if (json_get_integer(entry, "containerPort", 0) == port &&
			span_equal(json_get_text(entry, "protocol"), protocol))
			return true;
	return false;
}

static int make_ports(struct making *making, const struct json *container, struct json *built)
{
	struct arena *arena = making->arena;
	struct span network = json_get_text(making->spec, "networkMode");
	bool host = network.data && span_is(network, "host");
	bool bridge = !network.data || span_is(network, "bridge");
	struct json *list = json_new_array(arena);

	JSON_EACH_ITEM (json_get(container, "portMappings"), mapping) {
		int64_t port = json_get_integer(mapping, "containerPort", 0);
		int64_t host_port = json_get_integer(mapping, "hostPort", 0);
		struct span protocol = json_get_text(mapping, "protocol");
		struct json *entry = json_new_object(arena);

		if (port < 1 || port > UINT16_MAX || host_port < 0 || host_port > UINT16_MAX)
			return template_refuse(making, container,
				"a port mapping has no port from 1 to 65535");
		protocol = protocol.data && span_is(protocol, "udp") ? SPAN("UDP") : SPAN("TCP");
		if (has_port(list, port, protocol))
			continue;
		json_set_integer(arena, entry, "containerPort", port);
		json_set_string(arena, entry, "protocol", protocol);
		if (host)
			json_set_integer(arena, entry, "hostPort", port);
		else if (bridge && host_port > 0)
			json_set_integer(arena, entry, "hostPort", host_port);
		else if (bridge)
			kubernetes_note(&making->notes,
				"a port without hostPort is at the task's own address instead of "
				"at a port of the instance");
		json_append(arena, list, entry);
	}
	if (json_count(list) > 0)
		json_set(arena, built, "ports", list);
	return 0;
}

/* ---- mounts and rights ---- */

static int make_mounts(struct making *making, const struct json *container, struct json *built)
{
	struct arena *arena = making->arena;
	struct json *mounts = json_new_array(arena);

	JSON_EACH_ITEM (json_get(container, "mountPoints"), point) {
		struct span volume = json_get_text(point, "sourceVolume");
		struct span path = json_get_text(point, "containerPath");

		if (!volume.data || !path.data || path.length == 0 || path.data[0] != '/')
			return template_refuse(making, container,
				"a mount point has no volume or no path that begins with /");
		JSON_EACH_ITEM (mounts, other)
			if (span_equal(json_get_text(other, "mountPath"), path))
				return template_refuse(making, container,
					"two volumes are mounted at '%.*s'", SPAN_ARGS(path));
		template_add_mount(making, mounts, template_name(making, volume).data,
			arena_copy(arena, path.data, path.length),
			json_get_bool(point, "readOnly", false));
	}
	if (making->uses_program)
		template_add_mount(making, mounts, TEMPLATE_PROGRAM_VOLUME,
			KUBERNETES_PROGRAM_FOLDER, true);
	if (making->uses_marks)
		template_add_mount(making, mounts, TEMPLATE_MARKS_VOLUME, KUBERNETES_MARKS_FOLDER,
			false);
	if (json_count(mounts) > 0)
		json_set(arena, built, "volumeMounts", mounts);
	return 0;
}

static bool read_id(struct span text, uint64_t *ret_id)
{
	if (span_is(text, "root")) {
		*ret_id = 0;
		return true;
	}
	return span_to_unsigned(text, ID_MAX, ret_id);
}

void template_restrict(struct arena *arena, struct json *rights)
{
	struct json *capabilities = json_new_object(arena), *all = json_new_array(arena);

	json_append(arena, all, json_new_string(arena, SPAN("ALL")));
	json_set(arena, capabilities, "drop", all);
	json_set_bool(arena, rights, "allowPrivilegeEscalation", false);
	json_set(arena, rights, "capabilities", capabilities);
}

static int make_rights(struct making *making, const struct json *container, struct json *built)
{
	struct arena *arena = making->arena;
	struct json *rights = json_new_object(arena);
	struct span user = json_get_text(container, "user"), group = SPAN("");
	uint64_t id;

	if (user.data && user.length > 0) {
		span_split(user, ':', &user, &group);
		if (!read_id(user, &id))
			return template_refuse(making, container,
				"user '%.*s': Kubernetes knows users by their numbers only",
				SPAN_ARGS(user));
		json_set_integer(arena, rights, "runAsUser", (int64_t)id);
		if (group.length > 0 && !read_id(group, &id))
			return template_refuse(making, container,
				"group '%.*s': Kubernetes knows groups by their numbers only",
				SPAN_ARGS(group));
		if (group.length > 0)
			json_set_integer(arena, rights, "runAsGroup", (int64_t)id);
	}
	if (making->config->restricted && json_get_integer(rights, "runAsUser", 1) == 0)
		return template_refuse(making, container,
			"user root: not allowed with kubernetes.podSecurity restricted");
	if (making->config->restricted && json_get_bool(container, "privileged", false))
		return template_refuse(making, container,
			"privileged: not allowed with kubernetes.podSecurity restricted");
	if (making->config->restricted)
		template_restrict(arena, rights);
	if (json_get_bool(container, "privileged", false))
		json_set_bool(arena, rights, "privileged", true);
	if (json_get_bool(container, "readonlyRootFilesystem", false))
		json_set_bool(arena, rights, "readOnlyRootFilesystem", true);
	if (json_count(rights) > 0)
		json_set(arena, built, "securityContext", rights);
	return 0;
}

/* ---- health and hooks ---- */

/* plain: escaped, for where Kubernetes replaces $(NAME). */
static int health_command(struct making *making, const struct json *container, bool plain,
	struct json *list)
{
	const struct json *command = json_path(container, "healthCheck.command");
	bool shell = span_is(json_text(json_item(command, 0)), "CMD-SHELL");

	if (json_count(command) < 2)
		return template_refuse(making, container, "healthCheck has no command");
	if (shell) {
		add_word(making, list, "/bin/sh");
		add_word(making, list, "-c");
	}
	for (size_t i = 1; i < json_count(command); i++) {
		struct span word = json_text(json_item(command, i));

		if (!word.data)
			return template_refuse(making, container,
				"healthCheck is not a list of words");
		json_append(making->arena, list,
			plain ? plain_text(making->arena, word)
			      : json_new_string(making->arena, word));
	}
	return 0;
}

static struct json *execute(struct making *making, struct json *command)
{
	struct json *exec = json_new_object(making->arena), *built = json_new_object(making->arena);

	json_set(making->arena, exec, "command", command);
	json_set(making->arena, built, "exec", exec);
	return built;
}

static int64_t seconds_of(const struct json *object, const char *name, int64_t otherwise,
	int64_t least)
{
	int64_t value = json_get_integer(object, name, otherwise);

	if (value < least)
		return least;
	return value < SECONDS_MAX ? value : SECONDS_MAX;
}

static int make_probe(struct making *making, const struct json *container, struct json *built)
{
	struct arena *arena = making->arena;
	const struct json *check = json_get(container, "healthCheck");
	struct json *command = json_new_array(arena), *probe;
	int code = health_command(making, container, true, command);

	if (code < 0)
		return code;
	probe = execute(making, command);
	json_set_integer(arena, probe, "periodSeconds",
		seconds_of(check, "interval", KUBERNETES_HEALTH_INTERVAL, 1));
	json_set_integer(arena, probe, "timeoutSeconds",
		seconds_of(check, "timeout", KUBERNETES_HEALTH_TIMEOUT, 1));
	json_set_integer(arena, probe, "failureThreshold",
		seconds_of(check, "retries", KUBERNETES_HEALTH_RETRIES, 1));
	json_set(arena, built, "readinessProbe", probe);
	return 0;
}

/* The next container starts when this has returned. */
static int make_wait(struct making *making, const struct json *container, size_t index,
	struct json *lifecycle)
{
	const struct json *check = json_get(container, "healthCheck");
	struct json *command = json_new_array(making->arena);
	int code;

	add_word(making, command, KUBERNETES_PROGRAM);
	add_word(making, command, "wait");
	add_mark(making, command, "healthy", index);
	add_number(making, command, seconds_of(container, "startTimeout", 0, 0));
	add_number(making, command, seconds_of(check, "interval", KUBERNETES_HEALTH_INTERVAL, 1));
	add_number(making, command, seconds_of(check, "timeout", KUBERNETES_HEALTH_TIMEOUT, 1));
	add_number(making, command, seconds_of(check, "retries", KUBERNETES_HEALTH_RETRIES, 1));
	add_number(making, command, seconds_of(check, "startPeriod", 0, 0));
	add_word(making, command, "--");
	code = health_command(making, container, false, command);
	if (code < 0)
		return code;
	json_set(making->arena, lifecycle, "postStart", execute(making, command));
	return 0;
}

static int make_hooks(struct making *making, const struct json *container, size_t index,
	struct json *built)
{
	struct arena *arena = making->arena;
	struct json *lifecycle = json_new_object(arena);
	int code;

	if (making->order.is_initial[index])
		return 0;
	if (kubernetes_has_health(container)) {
		code = make_probe(making, container, built);
		if (code < 0)
			return code;
	}
	if (making->order.waited_for[index]) {
		code = make_wait(making, container, index, lifecycle);
		if (code < 0)
			return code;
	}
	if (making->hold > 0) {
		struct json *command = json_new_array(arena);

		add_word(making, command, KUBERNETES_PROGRAM);
		add_word(making, command, "hold");
		add_number(making, command, making->hold);
		add_word(making, command, KUBERNETES_RELEASED);
		json_set(arena, lifecycle, "preStop", execute(making, command));
		making->uses_program = making->uses_marks = true;
	}
	if (json_count(lifecycle) > 0)
		json_set(arena, built, "lifecycle", lifecycle);
	return 0;
}

/* ---- the whole container ---- */

static int64_t gpus_of(const struct json *container)
{
	JSON_EACH_ITEM (json_get(container, "resourceRequirements"), requirement) {
		struct span type = json_get_text(requirement, "type");
		uint64_t count;

		if (type.data && span_is(type, "GPU") &&
			span_to_unsigned(json_get_text(requirement, "value"), GPUS_MAX, &count))
			return (int64_t)count;
	}
	return 0;
}

static int make_identity(struct making *making, const struct json *container, size_t index,
	struct json *built)
{
	struct arena *arena = making->arena;
	struct span image = json_get_text(container, "image");
	struct span folder = json_get_text(container, "workingDirectory");

	if (!image.data || image.length == 0)
		return template_refuse(making, container, "it has no image");
	if (span_is(image, "host"))
		return template_refuse(making, container,
			"image \"host\" means a program of the machine, which only the process "
			"runtime runs (--runtime process); name an image");
	json_set_string(arena, built, "name", making->names[index]);
	json_set_string(arena, built, "image", image);
	json_set_string(arena, built, "imagePullPolicy", making->config->pull_policy);
	if (folder.data && folder.length > 0)
		json_set_string(arena, built, "workingDir", folder);
	if (json_count(json_get(container, "ulimits")) > 0)
		kubernetes_note(&making->notes,
			"ulimits are those of the node: Kubernetes cannot set them");
	return 0;
}

int template_make_container(struct making *making, size_t index, struct json **ret_container)
{
	const struct json *container = json_item(making->containers, index);
	struct json *built = json_new_object(making->arena);
	int code = make_identity(making, container, index, built);

	making->uses_program = making->uses_marks = false;
	if (code == 0)
		code = make_command(making, container, index, built);
	if (code == 0)
		code = make_environment(making, container, index, built);
	if (code == 0)
		code = make_ports(making, container, built);
	if (code == 0)
		code = make_rights(making, container, built);
	if (code == 0)
		code = make_hooks(making, container, index, built);
	if (code == 0)
		code = make_mounts(making, container, built);
	if (code < 0)
		return code;
	json_set(making->arena, built, "resources",
		kubernetes_size_write(making->arena, &making->sizes[index], gpus_of(container)));
	making->needs_program |= making->uses_program;
	making->needs_marks |= making->uses_marks;
	*ret_container = built;
	return 0;
}
