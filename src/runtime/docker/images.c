/* Pulling; see the header. */
#include "runtime/docker/images.h"

#include <stdio.h>

#include "base/memory.h"

#define PULL_IDLE_MS (15 * 60 * 1000) /* a registry may be slow, not silent */

void docker_images_init(struct docker_images *images, struct runner *runner, struct docker_api *api,
	struct work_queue *tasks)
{
	struct work_queue_config config = {.backoff_most_us = 5 * 1000 * 1000};

	*images = (struct docker_images){
		.api = api, .tasks = tasks, .wanted = work_queue_new(runner, &config)};
	lock_init(&images->lock);
}

static void free_waiting(struct map *waiting)
{
	map_clear(waiting);
	free(waiting);
}

void docker_images_clear(struct docker_images *images)
{
	MAP_EACH (&images->pulls, entry)
		free_waiting(entry->value);
	MAP_EACH (&images->failures, entry)
		free(entry->value);
	map_clear(&images->pulls);
	map_clear(&images->failures);
	work_queue_free(TAKE(images->wanted));
	lock_destroy(&images->lock);
}

void docker_image_split(struct span image, struct span *ret_repository, struct span *ret_tag)
{
	const char *at = memchr(image.data, '@', image.length);
	size_t name = image.length;

	if (!at)
		for (size_t i = image.length; i > 0 && image.data[i - 1] != '/'; i--)
			if (image.data[i - 1] == ':')
				at = image.data + i - 1;
	*ret_tag = SPAN("latest");
	if (at) {
		name = (size_t)(at - image.data);
		*ret_tag = (struct span){at + 1, image.length - name - 1};
	}
	*ret_repository = (struct span){image.data, name};
}

/* Names become parts of paths. The daemon reports other errors in a name. */
bool docker_image_is_name(struct span image)
{
	bool begins = true; /* a part of it */

	for (size_t i = 0; i < image.length; i++) {
		char c = image.data[i];
		bool plain =
			(c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');

		if (!plain && (begins || !strchr("-_./:@", c) || c == '\0'))
			return false;
		begins = c == '/';
	}
	return image.length > 0 && image.length <= DOCKER_IMAGE_MAX && !begins;
}

/* ---- requests ---- */

static struct span failure_key(struct arena *arena, struct span token, struct span image)
{
	return arena_format(arena, "%.*s %.*s", SPAN_ARGS(token), SPAN_ARGS(image));
}

static void add_waiting(struct docker_images *images, struct span image, struct span token)
{
	struct map *waiting;

	lock_take(&images->lock);
	waiting = map_get(&images->pulls, image);
	if (!waiting) {
		waiting = memory_allocate(sizeof(*waiting));
		map_put(&images->pulls, image, waiting);
	}
	map_put(waiting, token, images);
	lock_release(&images->lock);
	work_queue_add(images->wanted, image);
}

int docker_images_want(struct docker_images *images, struct span image, struct span token,
	struct err *err)
{
	_arena_ struct arena *arena = arena_new(0);
	_free_ char *failure = NULL;
	int code;

	lock_take(&images->lock);
	failure = map_remove(&images->failures, failure_key(arena, token, image));
	lock_release(&images->lock);
	if (failure)
		return err_set(err, -EREMOTEIO, "%s", failure);
	if (!docker_image_is_name(image))
		return err_set(err, -EREMOTEIO, "invalid reference format");
	code = docker_call(images->api, NULL, arena, NULL, err, "/images/%.*s/json",
		SPAN_ARGS(image));
	if (code == -EINVAL)
		return -EREMOTEIO; /* not the name of an image, with the daemon's message */
	if (code != -ENOENT)
		return code == -EREMOTEIO ? -EAGAIN : code;
	add_waiting(images, image, token);
	return -EINPROGRESS;
}

void docker_images_forget(struct docker_images *images, struct span token)
{
	lock_take(&images->lock);
	MAP_EACH (&images->pulls, entry)
		map_remove(entry->value, token);
	MAP_EACH (&images->failures, entry) {
		struct span of, image;

		if (!span_split(entry->key, ' ', &of, &image) || !span_equal(of, token))
			continue;
		free(map_remove(&images->failures, entry->key));
	}
	lock_release(&images->lock);
}

/* ---- pulling ---- */

static int take_progress(void *context, const struct json *value, struct err *err)
{
	struct span error = json_text(json_path(value, "errorDetail.message"));

	(void)context;
	if (!error.data)
		error = json_get_text(value, "error");
	return error.data ? err_set(err, -EREMOTEIO, "%.*s", SPAN_ARGS(error)) : 0;
}

static int pull_image(struct docker_images *images, struct span image, struct err *err)
{
	_arena_ struct arena *arena = arena_new(0);
	struct docker_request request = {.method = "POST"};
	struct docker_lines lines = {.line = take_progress, .idle_timeout_ms = PULL_IDLE_MS};
	struct span repository, tag;

	docker_image_split(image, &repository, &tag);
	return docker_stream_lines(images->api, &request, &lines, err,
		"/images/create?fromImage=%s&tag=%s", docker_escape(arena, repository).data,
		docker_escape(arena, tag).data);
}

/* Reports the result to the waiting tasks. failure NULL: the image exists, or the next request
 * retries. */
static void report_waiting(struct docker_images *images, struct span image, const char *failure)
{
	_arena_ struct arena *arena = arena_new(0);
	struct map *waiting;

	lock_take(&images->lock);
	waiting = map_remove(&images->pulls, image);
	if (waiting && failure)
		MAP_EACH (waiting, entry)
			free(map_put(&images->failures, failure_key(arena, entry->key, image),
				memory_copy_string(failure)));
	lock_release(&images->lock);
	if (!waiting)
		return;
	MAP_EACH (waiting, entry)
		work_queue_add(images->tasks, entry->key);
	free_waiting(waiting);
}

static bool is_wanted(struct docker_images *images, struct span image)
{
	bool wanted;

	lock_take(&images->lock);
	wanted = map_has(&images->pulls, image);
	lock_release(&images->lock);
	return wanted;
}

static int pull_one(struct docker_images *images, struct span image)
{
	struct err err = {0};
	int code;

	if (!is_wanted(images, image))
		return 0; /* pulled meanwhile */
	code = pull_image(images, image, &err);
	if (code == -EAGAIN || code == -ECANCELED)
		return code;
	report_waiting(images, image, code < 0 ? err.message : NULL);
	return 0;
}

void docker_images_main(void *context)
{
	struct docker_images *images = context;
	struct span image;

	while (work_queue_get(images->wanted, &image) == 0) {
		int code = pull_one(images, image);

		if (code == -EAGAIN)
			work_queue_add_rate_limited(images->wanted, image);
		else
			work_queue_forget(images->wanted, image);
		work_queue_done(images->wanted, image);
	}
}
