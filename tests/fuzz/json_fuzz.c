/*
 * JSON parsing beside jansson, whose rules are ours when it is asked to be strict: what the one
 * accepts the other must accept, with the same value. Where they differ by design (our depth limit;
 * jansson's numbers of 64 bits and its names without NUL) only what still can be compared is.
 *
 * And by itself: what is written parses to the same value, and a cap on memory is an error, not a
 * crash.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"
#include "json_oracle.h"

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);            \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void transcribe(const struct json *value, struct buffer *out)
{
	int64_t integer;
	double number = 0;

	switch (value->type) {
	case JSON_OBJECT:
		buffer_format(out, "o%zu ", json_count(value));
		for (size_t i = 0; i < json_count(value); i++) {
			const struct json_member *member = &value->object.members[i];

			CHECK(json_get_span(value, member->name) == member->value);
			buffer_format(out, "k%zu:", member->name.length);
			buffer_add_span(out, member->name);
			transcribe(member->value, out);
		}
		break;
	case JSON_ARRAY:
		buffer_format(out, "a%zu ", json_count(value));
		JSON_EACH_ITEM (value, item)
			transcribe(item, out);
		break;
	case JSON_STRING:
		buffer_format(out, "s%zu:", value->text.length);
		buffer_add_span(out, value->text);
		break;
	case JSON_NUMBER:
		if (json_integer(value, &integer)) {
			buffer_format(out, "i%lld ", (long long)integer);
		} else {
			json_double(value, &number);
			buffer_format(out, "r%a ", number);
		}
		break;
	case JSON_TRUE: buffer_add_char(out, 't'); break;
	case JSON_FALSE: buffer_add_char(out, 'f'); break;
	case JSON_NULL: buffer_add_char(out, 'n'); break;
	}
}

static void check_round_trip(const struct json *value, struct arena *arena)
{
	_buffer_ struct buffer text = {0}, pretty = {0}, again = {0};
	struct json *reread;

	json_write(value, &text);
	CHECK(json_parse(buffer_span(&text), arena, &reread, NULL) == 0);
	CHECK(json_equal(value, reread));
	CHECK(json_equal(reread, value));
	json_write(reread, &again);
	CHECK(span_equal(buffer_span(&text), buffer_span(&again)));
	json_write_pretty(value, &pretty);
	CHECK(json_parse(buffer_span(&pretty), arena, &reread, NULL) == 0);
	CHECK(json_equal(value, reread));
}

static void check_cap(struct span text, int expected)
{
	/* A cap that depends on the text meets every allocation in time. */
	size_t cap = 1 + (text.length > 0 ? (unsigned char)text.data[0] : 0) * text.length / 8;
	_arena_ struct arena *arena = arena_new(cap);
	struct json *value;
	int code = json_parse(text, arena, &value, NULL);

	CHECK(code == expected || code == -E2BIG);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_arena_ struct arena *arena = arena_new(0);
	_buffer_ struct buffer ours = {0}, theirs = {0};
	struct span text = {(const char *)data, size};
	struct json *value = NULL;
	struct err err = {0};
	unsigned depth = 0;
	int code = json_parse(text, arena, &value, &err);

	CHECK(code == 0 ||
		(code == -EINVAL && err.code == code && strncmp(err.message, "line ", 5) == 0));
	check_cap(text, code);
	switch (json_oracle_parse(data, size, &theirs, &depth)) {
	case JSON_ORACLE_ACCEPTED: CHECK((code == 0) == (depth <= JSON_DEPTH_MAX)); break;
	case JSON_ORACLE_REFUSED: CHECK(code == -EINVAL); break;
	case JSON_ORACLE_UNABLE: buffer_clear(&theirs); break;
	}
	if (code < 0)
		return 0;
	transcribe(value, &ours);
	if (theirs.length > 0)
		CHECK(span_equal(buffer_span(&ours), buffer_span(&theirs)));
	check_round_trip(value, arena);
	return 0;
}
