/*
 * Networks of tasks with an address of their own (awsvpc). All of a task's containers share one
 * network namespace, which belongs to none of them: an idle container of its own (slipway-pause)
 * holds it, as with the ECS agent. If it belonged to the first container, it would end with it, and
 * a container that completes before the others start, or is restarted, could not be the first.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "runtime/docker/docker_internal.h"

#define PAUSE_MAX ((size_t)8 * 1024 * 1024)
#define TAR_BLOCK 512
#define DNS_PORT 53
#define IMPORT_MS 120000

/* Docker allows several networks with one name, so ours are found by their label, and used by their
 * id. */
static int list_networks(struct docker_runtime *runtime, struct arena *arena,
	struct json **ret_list, struct err *err)
{
	struct span filter =
		arena_format(arena, "{\"label\":[\"" DOCKER_LABEL_HOST "=%s\"]}", runtime->host);

	return docker_call(&runtime->api, NULL, arena, ret_list, err, "/networks?filters=%s",
		docker_escape(arena, filter).data);
}

static int create_network(struct docker_runtime *runtime, struct arena *arena, struct span *ret_id,
	struct err *err)
{
	struct json *body = json_new_object(arena), *labels = json_new_object(arena), *built;
	struct docker_request request = {.method = "POST"};
	int code;

	json_set_string(arena, labels, DOCKER_LABEL_HOST, span_of(runtime->host));
	json_set_string(arena, body, "Name", docker_network_name(arena, runtime->host));
	json_set_string(arena, body, "Driver", SPAN("bridge"));
	json_set(arena, body, "Labels", labels);
	request.body = json_to_text(body, arena);
	code = docker_call(&runtime->api, &request, arena, &built, err, "/networks/create");
	if (code == 0)
		*ret_id = json_get_text(built, "Id");
	return code == 0 && !ret_id->data ? err_set(err, -EREMOTEIO, "the network has no id")
					  : code;
}

int docker_network_make(struct docker_runtime *runtime, struct arena *arena, struct span *ret_id,
	struct err *err)
{
	struct json *list;
	int code;

	/* One at a time, or there are two. */
	lock_take(&runtime->making_network);
	code = list_networks(runtime, arena, &list, err);
	if (code == 0 && json_array_count(list) > 0)
		*ret_id = json_get_text(json_item(list, 0), "Id");
	else if (code == 0)
		code = create_network(runtime, arena, ret_id, err);
	lock_release(&runtime->making_network);
	return code;
}

void docker_network_remove(struct docker_runtime *runtime)
{
	_arena_ struct arena *arena = arena_new(0);
	struct docker_request request = {.method = "DELETE"};
	struct json *list;

	if (list_networks(runtime, arena, &list, NULL) < 0)
		return;
	JSON_EACH_ITEM (list, network)
		docker_call(&runtime->api, &request, arena, NULL, NULL, "/networks/%.*s",
			SPAN_ARGS(json_get_text(network, "Id")));
}

/* ---- DNS ---- */

/* Binding is the only way to find out: it needs a privilege, and the port must be free. */
static int try_port(const char *address, struct err *err)
{
	struct sockaddr_in where = {.sin_family = AF_INET, .sin_port = htons(DNS_PORT)};
	_close_ int datagrams = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	_close_ int stream = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int one = 1;

	if (inet_pton(AF_INET, address, &where.sin_addr) != 1)
		return err_set(err, -EAFNOSUPPORT, "the default bridge has no IPv4 address ('%s')",
			address);
	setsockopt(stream, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(datagrams, (struct sockaddr *)&where, sizeof(where)) < 0 ||
		bind(stream, (struct sockaddr *)&where, sizeof(where)) < 0)
		return err_errno(err, "listen on %s:%d", address, DNS_PORT);
	return 0;
}

int docker_find_dns(struct docker_runtime *runtime, struct err *err)
{
	_arena_ struct arena *arena = arena_new(0);
	struct json *network;
	struct span gateway;
	int code = docker_call(&runtime->api, NULL, arena, &network, err, "/networks/bridge");

	if (code < 0)
		return code;
	gateway = json_text(json_path(json_item(json_path(network, "IPAM.Config"), 0), "Gateway"));
	if (gateway.length == 0 || gateway.length >= sizeof(runtime->dns))
		return err_set(err, -ENOENT, "the default bridge has no gateway");
	code = try_port(arena_copy(arena, gateway.data, gateway.length), err);
	if (code == 0)
		snprintf(runtime->dns, sizeof(runtime->dns), "%.*s", SPAN_ARGS(gateway));
	return code;
}

/* ---- the image of slipway-pause ---- */

/* One file in an archive, as little of the format as there is: its head, its bytes, an end. */
static void write_archive(struct span program, struct buffer *out)
{
	static const char zeros[2 * TAR_BLOCK];
	char head[TAR_BLOCK] = "pause";
	unsigned sum = 0;

	snprintf(head + 100, 8, "%07o", 0755u);
	snprintf(head + 108, 8, "%07o", 0u);
	snprintf(head + 116, 8, "%07o", 0u);
	snprintf(head + 124, 12, "%011lo", (unsigned long)program.length);
	snprintf(head + 136, 12, "%011o", 0u);
	memset(head + 148, ' ', 8);
	head[156] = '0';
	memcpy(head + 257, "ustar\00000", 8);
	for (size_t i = 0; i < sizeof(head); i++)
		sum += (unsigned char)head[i];
	snprintf(head + 148, 8, "%06o", sum);
	buffer_add(out, head, sizeof(head));
	buffer_add_span(out, program);
	buffer_add(out, zeros, (TAR_BLOCK - program.length % TAR_BLOCK) % TAR_BLOCK);
	buffer_add(out, zeros, sizeof(zeros));
}

/* Named by a hash of its contents, so that each version of slipway has its own. */
static struct span image_of(struct arena *arena, struct span program)
{
	unsigned char digest[EVP_MAX_MD_SIZE];
	_buffer_ struct buffer name = {0};

	buffer_add_string(&name, "slipway-pause:");
	if (EVP_Digest(program.data, program.length, digest, NULL, EVP_sha256(), NULL) == 1)
		buffer_add_hex(&name, digest, 8);
	return arena_copy_span(arena, buffer_span(&name));
}

static int take_progress(void *context, const struct json *value, struct err *err)
{
	struct span error = json_get_text(value, "error");

	(void)context;
	return error.data ? err_set(err, -EREMOTEIO, "%.*s", SPAN_ARGS(error)) : 0;
}

static int import_image(struct docker_runtime *runtime, struct arena *arena, struct span image,
	struct span program, struct err *err)
{
	_buffer_ struct buffer archive = {0};
	struct docker_request request = {
		.method = "POST", .type = "application/x-tar", .timeout_ms = IMPORT_MS};
	struct docker_lines lines = {.line = take_progress};
	struct span name, tag;

	span_split(image, ':', &name, &tag);
	write_archive(program, &archive);
	request.body = buffer_span(&archive);
	return docker_stream_lines(&runtime->api, &request, &lines, err,
		"/images/create?fromSrc=-&repo=%s&tag=%s", docker_escape(arena, name).data,
		docker_escape(arena, tag).data);
}

int docker_pause_image(struct docker_runtime *runtime, struct arena *arena, struct span *ret_image,
	struct err *err)
{
	_buffer_ struct buffer program = {0};
	struct span image;
	int code = file_read(runtime->pause, PAUSE_MAX, &program, err);

	if (code < 0) {
		err_prefix(err, code, "slipway-pause, which holds a task's network");
		return -EREMOTEIO;
	}
	image = image_of(arena, buffer_span(&program));
	code = docker_call(&runtime->api, NULL, arena, NULL, err, "/images/%s/json", image.data);
	if (code == -ENOENT)
		code = import_image(runtime, arena, image, buffer_span(&program), err);
	if (code == 0)
		*ret_image = image;
	return code;
}
