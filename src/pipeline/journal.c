/* See the header. */
#include "pipeline/journal.h"

#include "aws/sigv4_hash.h"
#include "base/memory.h"

static const char *const results[] = {
	[JOURNAL_SENT] = "SENT",
	[JOURNAL_DONE] = "DONE",
	[JOURNAL_REFUSED] = "REFUSED",
	[JOURNAL_UNKNOWN] = "UNKNOWN",
};

/* Members of a record: text or number, by their place. */
static const struct member_row {
	const char *name;
	bool is_text;
	size_t offset;
} rows[] = {
#define TEXT(name, member)                                                                         \
	{                                                                                          \
		name, true, offsetof(struct journal_record, member)                                \
	}
#define NUMBER(name, member)                                                                       \
	{                                                                                          \
		name, false, offsetof(struct journal_record, member)                               \
	}
	TEXT("stage", stage),
	NUMBER("step", step),
	TEXT("operation", operation),
	TEXT("role", role),
	TEXT("target", target),
	NUMBER("number", number),
	TEXT("token", token),
	NUMBER("intentAt", intent_ms),
	NUMBER("resultAt", result_ms),
	TEXT("answer", answer),
	TEXT("reason", reason),
	TEXT("attributes", attributes),
#undef TEXT
#undef NUMBER
};

struct json *journal_write(const struct journal_record *record, struct arena *arena)
{
	struct json *value = json_new_object(arena);

	for (size_t i = 0; i < LENGTH(rows); i++) {
		const void *member = (const char *)record + rows[i].offset;
		struct span text = rows[i].is_text ? *(const struct span *)member : SPAN_NONE;

		if (!rows[i].is_text)
			json_set_integer(arena, value, rows[i].name, *(const int64_t *)member);
		else if (text.length > 0)
			json_set_string(arena, value, rows[i].name, text);
	}
	json_set_string(arena, value, "result", span_of(results[record->result]));
	return value;
}

static int read_result(struct span text, enum journal_result *ret_result, struct err *err)
{
	for (size_t i = 0; i < LENGTH(results); i++) {
		if (text.data && span_is(text, results[i])) {
			*ret_result = (enum journal_result)i;
			return 0;
		}
	}
	return err_set(err, -EINVAL, "journal record: unknown result \"%.*s\"",
		SPAN_ARGS(text.data ? text : SPAN("")));
}

int journal_read(const struct json *value, struct journal_record *ret_record, struct err *err)
{
	struct journal_record record = {0};
	int code;

	if (!json_is(value, JSON_OBJECT))
		return err_set(err, -EINVAL, "journal record: expected an object");
	for (size_t i = 0; i < LENGTH(rows); i++) {
		void *place = (char *)&record + rows[i].offset;
		const struct json *member = json_get(value, rows[i].name);

		if (rows[i].is_text)
			*(struct span *)place =
				json_is(member, JSON_STRING) ? member->text : SPAN("");
		else if (!json_integer(member, place))
			return err_set(err, -EINVAL, "journal record: %s is no integer",
				rows[i].name);
	}
	code = read_result(json_get_text(value, "result"), &record.result, err);
	if (code >= 0)
		*ret_record = record;
	return code;
}

void journal_token(struct span deployment, struct span stage, struct span role, int64_t attempt,
	char out[JOURNAL_TOKEN_SIZE])
{
	_buffer_ struct buffer text = {0};
	_sigv4_hash_ struct sigv4_hash hash;
	unsigned char digest[SIGV4_HASH_SIZE];
	char hex[SIGV4_HEX_SIZE];

	/* IDs and roles have no "|". */
	buffer_format(&text, "%.*s|%.*s|%.*s|%lld", SPAN_ARGS(deployment), SPAN_ARGS(stage),
		SPAN_ARGS(role), (long long)attempt);
	sigv4_hash_open(&hash);
	sigv4_hash_digest(&hash, buffer_span(&text), digest);
	sigv4_hash_hex(digest, hex);
	memcpy(out, hex, JOURNAL_TOKEN_SIZE - 1);
	out[JOURNAL_TOKEN_SIZE - 1] = '\0';
}
