/*
 * Output of a Docker daemon: heads of answers, frames of outputs, log messages with their times. The first
 * byte selects how the rest is cut into pieces. However it is cut, the same text results, and a reader that
 * continues where another one ended repeats nothing.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/buffer.h"
#include "runtime/docker/facts.h"
#include "runtime/docker/log_reader.h"
#include "runtime/docker/raw.h"

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);            \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void take_text(void *context, int64_t at_ns, struct span text)
{
	(void)at_ns;
	buffer_add_span(context, text);
}

static int read_log(struct span data, size_t cut, struct docker_log_place had, struct buffer *out,
	struct docker_log_place *ret_done)
{
	struct docker_log_reader reader = {.text = take_text, .context = out};
	int code = 0;

	docker_log_reader_begin(&reader, had);
	for (size_t at = 0; code == 0 && at < data.length; at += cut) {
		size_t length = data.length - at < cut ? data.length - at : cut;

		code = docker_log_reader_feed(&reader, (struct span){data.data + at, length}, NULL);
	}
	*ret_done = reader.done;
	return code;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_buffer_ struct buffer whole = {0}, cut = {0};
	struct docker_log_place done, done_cut;
	struct span text;
	size_t length;
	int status;

	if (size == 0)
		return 0;
	text = (struct span){(const char *)data + 1, size - 1};
	if (docker_raw_head(text, &status, &length))
		CHECK(length <= text.length && status >= 0 && status <= 999);
	if (docker_parse_time(text, &length) != 0)
		CHECK(length <= text.length);
	/* Cut anywhere, the answer is the same, up to where it turns out to be none. */
	if (read_log(text, text.length + 1, (struct docker_log_place){0}, &whole, &done) != 0)
		return 0;
	CHECK(read_log(text, (size_t)data[0] % 64 + 1, (struct docker_log_place){0}, &cut,
		      &done_cut) == 0);
	CHECK(span_equal(buffer_span(&whole), buffer_span(&cut)));
	CHECK(done.at_ns == done_cut.at_ns && done.count == done_cut.count);
	/* Text comes out once: never more than went in. */
	CHECK(whole.length <= text.length);
	return 0;
}
