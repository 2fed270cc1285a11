/*
 * A token is base64url without padding over
 *
 *     version (1) · check (8) · length of text (2) · text · key
 *
 * where check is a hash over operation, account, region, filters, text and key. It has no secret,
 * so that a token outlives a restart and works on every server. It guards against mistakes, not
 * attacks: a forged position gives a page that starts there, of objects it may list anyway.
 */
#include "aws/page.h"

#include "base/memory.h"

#define VERSION 1
#define HEAD_SIZE 11 /* version, check, length */
#define POSITION_MAX (2 * STORE_KEY_MAX)
#define TOKEN_MAX (4 * (HEAD_SIZE + POSITION_MAX) / 3 + 4)

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

static struct span encode(struct arena *arena, const unsigned char *data, size_t length)
{
	char *text = arena_allocate(arena, length / 3 * 4 + 5);
	size_t at = 0;

	for (size_t i = 0; i < length; i += 3) {
		size_t left = length - i;
		uint32_t bits = (uint32_t)data[i] << 16 |
				(left > 1 ? (uint32_t)data[i + 1] << 8 : 0) |
				(left > 2 ? data[i + 2] : 0);

		text[at++] = alphabet[bits >> 18];
		text[at++] = alphabet[bits >> 12 & 63];
		if (left > 1)
			text[at++] = alphabet[bits >> 6 & 63];
		if (left > 2)
			text[at++] = alphabet[bits & 63];
	}
	return (struct span){text, at};
}

/* data NULL when it is not what encode writes, to the last bit. */
static struct span decode(struct arena *arena, struct span text)
{
	unsigned char *data = arena_allocate(arena, text.length / 4 * 3 + 3);
	uint32_t bits = 0;
	unsigned have = 0;
	size_t length = 0;

	for (size_t i = 0; i < text.length; i++) {
		const char *found = memchr(alphabet, text.data[i], 64);

		if (!found)
			return SPAN_NONE;
		bits = bits << 6 | (uint32_t)(found - alphabet);
		have += 6;
		if (have >= 8) {
			have -= 8;
			data[length++] = (unsigned char)(bits >> have);
			bits &= (1U << have) - 1;
		}
	}
	if (have == 6 || bits != 0)
		return SPAN_NONE;
	return (struct span){(const char *)data, length};
}

/* FNV-1a, the same on every server and in every version; lengths keep the parts apart. */
static uint64_t check_of(struct aws_request *request, struct span filters, struct span text,
	struct span key)
{
	struct span parts[] = {span_of(request->operation->name), request->caller->account,
		request->caller->region, filters, text, key};
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < LENGTH(parts); i++) {
		hash = (hash ^ parts[i].length) * UINT64_C(0x100000001b3);
		for (size_t k = 0; k < parts[i].length; k++)
			hash = (hash ^ (unsigned char)parts[i].data[k]) * UINT64_C(0x100000001b3);
	}
	return hash;
}

struct span aws_page_token(struct aws_request *request, struct span filters, struct span text,
	struct span key)
{
	size_t length = HEAD_SIZE + text.length + key.length;
	unsigned char *data = arena_allocate(request->arena, length);
	uint64_t check = check_of(request, filters, text, key);

	data[0] = VERSION;
	for (int i = 0; i < 8; i++)
		data[1 + i] = (unsigned char)(check >> 8 * i);
	data[9] = (unsigned char)text.length;
	data[10] = (unsigned char)(text.length >> 8);
	if (text.length > 0)
		memcpy(data + HEAD_SIZE, text.data, text.length);
	if (key.length > 0)
		memcpy(data + HEAD_SIZE + text.length, key.data, key.length);
	return encode(request->arena, data, length);
}

static bool read_token(struct aws_request *request, struct span token, struct span filters,
	struct aws_page *page)
{
	const unsigned char *data;
	struct span bytes, text, key;
	uint64_t check = 0;

	if (token.length > TOKEN_MAX)
		return false;
	bytes = decode(request->arena, token);
	if (bytes.length < HEAD_SIZE)
		return false;
	data = (const unsigned char *)bytes.data;
	text = (struct span){bytes.data + HEAD_SIZE, data[9] | (size_t)data[10] << 8};
	if (data[0] != VERSION || text.length > bytes.length - HEAD_SIZE)
		return false;
	key = (struct span){text.data + text.length, bytes.length - HEAD_SIZE - text.length};
	for (int i = 0; i < 8; i++)
		check |= (uint64_t)data[1 + i] << 8 * i;
	if (check != check_of(request, filters, text, key))
		return false;
	page->after_text = text;
	page->after_key = key;
	return true;
}

int aws_page_read(struct aws_request *request, size_t most_default, size_t most_allowed,
	struct span filters, struct aws_page *ret_page)
{
	const struct aws_spelling *spelling = aws_spelling_of(request);
	const struct json *most = json_get(request->input, spelling->page_size);
	const struct json *token = json_get(request->input, spelling->page_token);
	struct aws_page page = {.most = most_default};
	int64_t number;

	if (!json_is_absent(most)) {
		if (!json_integer(most, &number) || number < 1 || (uint64_t)number > most_allowed)
			return aws_fail_input(request, "%s: must be from 1 to %zu",
				spelling->page_size, most_allowed);
		page.most = (size_t)number;
	}
	/* Some tools send the empty text for "from the start". */
	if (!json_is_absent(token) && json_text(token).length > 0 &&
		!read_token(request, json_text(token), filters, &page))
		return aws_fail_input(request,
			"%s: is not a token of this operation with these filters; take the "
			"one of the last answer, or start again without one",
			spelling->page_token);
	*ret_page = page;
	return 0;
}
