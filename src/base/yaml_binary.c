#include "base/yaml_binary.h"

#include <string.h>

#include "base/base64.h"
#include "base/memory.h"

/* The length of the UTF-8 character at `at`, or 0 if it is none. */
static size_t utf8_length(const unsigned char *at, size_t left)
{
	uint32_t first = at[0], second = left > 1 ? at[1] : 0;
	size_t length = first < 0x80   ? 1
			: first < 0xc2 ? 0
			: first < 0xe0 ? 2
			: first < 0xf0 ? 3
			: first < 0xf5 ? 4
				       : 0;

	if (length == 0 || length > left)
		return 0;
	for (size_t i = 1; i < length; i++) {
		if ((at[i] & 0xc0) != 0x80)
			return 0;
	}
	if ((first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) ||
		(first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f))
		return 0;
	return length;
}

/* Bytes that are not UTF-8 become U+FFFD, as encoding/json has it. */
static void add_valid_utf8(struct span bytes, struct buffer *out)
{
	size_t length;

	for (size_t i = 0; i < bytes.length; i += length ? length : 1) {
		length = utf8_length((const unsigned char *)bytes.data + i, bytes.length - i);
		if (length > 0)
			buffer_add(out, bytes.data + i, length);
		else
			buffer_add_string(out, "\xef\xbf\xbd");
	}
}

bool yaml_binary_decode(struct span text, struct buffer *out)
{
	_arena_ struct arena *arena = arena_new(0);
	struct span bytes;

	/* Only line breaks are skipped. */
	if (memchr(text.data, ' ', text.length) || memchr(text.data, '\t', text.length) ||
		!base64_decode(text, arena, &bytes))
		return false;
	add_valid_utf8(bytes, out);
	return true;
}
