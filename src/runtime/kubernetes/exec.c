/* Programs beside those of a container: commands of clients, and slipway-pod. */
#include "kube/exec.h"

#include "base/memory.h"
#include "runtime/kubernetes/internal.h"

struct guest {
	struct runtime_exec exec;
	struct kube_exec *own;
};

const struct kubernetes_container *kubernetes_find_container(const struct kubernetes_pod *pod,
	struct span name)
{
	for (size_t i = 0; i < pod->container_count; i++)
		if (span_equal(pod->containers[i].name, name))
			return &pod->containers[i];
	return NULL;
}

/* ---- for clients ---- */

static int wait_for_guest(struct runtime_exec *exec, int *ret_exit_code, struct err *err)
{
	struct guest *guest = CONTAINER_OF(exec, struct guest, exec);
	int code = kube_exec_wait(guest->own, ret_exit_code, err);

	kube_exec_free(guest->own);
	free(guest);
	return code;
}

static void resize_guest(struct runtime_exec *exec, unsigned rows, unsigned columns)
{
	kube_exec_resize(CONTAINER_OF(exec, struct guest, exec)->own, rows, columns);
}

/* The node kills it when the connection ends. */
static void kill_guest(struct runtime_exec *exec)
{
	kube_exec_kill(CONTAINER_OF(exec, struct guest, exec)->own);
}

static int read_text(const struct json *command, struct arena *arena,
	struct kube_exec_request *request, struct err *err)
{
	struct span *text = arena_allocate_array(arena, json_count(command), sizeof(*text));

	if (json_array_count(command) == 0 || json_count(command) > KUBE_EXEC_WORDS_MAX)
		return err_set(err, -EINVAL, "a command has 1 to %d words", KUBE_EXEC_WORDS_MAX);
	JSON_EACH_ITEM (command, word) {
		if (!json_text(word).data)
			return err_set(err, -EINVAL, "the command is not a list of words");
		text[request->command_count++] = json_text(word);
	}
	request->command = text;
	return 0;
}

int kubernetes_exec(struct runtime *base, struct span token, struct span container,
	const struct json *command, bool terminal, struct runtime_exec **ret_exec, struct err *err)
{
	struct kubernetes_runtime *runtime = KUBERNETES_RUNTIME(base);
	_arena_ struct arena *arena = arena_new(0);
	_kube_object_ const struct kube_object *pod = NULL;
	const struct kubernetes_container *found;
	struct kube_exec_request request = {.input = true, .terminal = terminal};
	struct kube_exec *own;
	struct guest *guest;
	int code = kubernetes_check_synced(runtime, err);

	if (code < 0)
		return code;
	pod = kubernetes_find_pod(runtime, token);
	found = pod ? kubernetes_find_container(pod->data, container) : NULL;
	if (!found)
		return err_set(err, -ENOENT, "there is no container '%.*s' of a task '%.*s'",
			SPAN_ARGS(container), SPAN_ARGS(token));
	if (found->running_ms == 0)
		return err_set(err, -ESRCH,
			found->ended ? "container '%.*s' of task '%.*s' has stopped"
				     : "container '%.*s' of task '%.*s' does not run yet",
			SPAN_ARGS(container), SPAN_ARGS(token));
	request.namespace = pod->namespace;
	request.pod = pod->name;
	request.container = found->as;
	code = read_text(command, arena, &request, err);
	if (code == 0)
		code = kube_exec_start(runtime->client, &request, &own, err);
	if (code < 0)
		return code;
	guest = memory_allocate(sizeof(*guest));
	guest->own = own;
	kube_exec_take_descriptors(own, &guest->exec.input, &guest->exec.output,
		&guest->exec.error);
	guest->exec.wait = wait_for_guest;
	guest->exec.resize = resize_guest;
	guest->exec.kill = kill_guest;
	*ret_exec = &guest->exec;
	return 0;
}

/* ---- calls of slipway-pod ---- */

static int run_release(struct kubernetes_runtime *runtime, const struct kube_object *pod,
	const struct kubernetes_container *container, struct err *err)
{
	static const struct span command[] = {
		SPAN(KUBERNETES_PROGRAM), SPAN("release"), SPAN(KUBERNETES_RELEASED)};
	struct kube_exec_request request = {.namespace = pod->namespace,
		.pod = pod->name,
		.container = container->as,
		.command = command,
		.command_count = LENGTH(command)};
	struct kube_exec *own;
	int exit_code, code = kube_exec_start(runtime->client, &request, &own, err);

	if (code < 0)
		return code;
	/* Its output is not needed. */
	code = kube_exec_wait(own, &exit_code, err);
	kube_exec_free(own);
	if (code == 0 && exit_code != 0)
		return err_set(err, -EIO, "slipway-pod exited with %d", exit_code);
	return code;
}

/* One container makes the mark that the hooks of all containers poll for. From then on the end
 * takes as long as the containers need: nodes respect that since Kubernetes 1.22. A pod that was
 * deleted while it started gets its containers all the same, and its node (before 1.22) does not
 * report them: so they are called regardless of their reported state. */
int kubernetes_release_held(struct kubernetes_runtime *runtime, const struct kube_object *pod,
	struct err *err)
{
	const struct kubernetes_pod *data = pod->data;
	struct kube_target target = {
		.kind = &kube_pods, .namespace = pod->namespace, .name = pod->name};
	struct kube_deletion deletion = {
		.uid = pod->uid, .has_grace_period = true, .grace_period_s = data->stop};
	int code = -EAGAIN;

	for (size_t i = 0; i < data->container_count && code < 0 && code != -ECANCELED; i++)
		if (!data->containers[i].initial && !data->containers[i].ended)
			code = run_release(runtime, pod, &data->containers[i], err);
	if (code < 0)
		return code == -ECANCELED ? code : -EAGAIN;
	code = kube_delete(runtime->client, &target, &deletion, NULL, err);
	return code == -ENOENT || code == -EAGAIN ? 0 : code;
}
