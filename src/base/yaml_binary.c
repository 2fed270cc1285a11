#include "base/yaml_binary.h"

static int base64_value(unsigned char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* Standard base64 with its padding; line breaks are skipped. */
static bool decode_base64(struct span text, struct buffer *out)
{
	unsigned bits = 0, count = 0, padding = 0;

	for (size_t i = 0; i < text.length; i++) {
		unsigned char c = (unsigned char)text.data[i];
		int value;

		if (c == '\n' || c == '\r')
			continue;
		if (c == '=') {
			padding++;
			continue;
		}
		value = base64_value(c);
		if (value < 0 || padding > 0)
			return false;
		bits = bits << 6 | (unsigned)value;
		if (++count % 4 == 0) {
			buffer_add_char(out, (char)(bits >> 16));
			buffer_add_char(out, (char)(bits >> 8));
			buffer_add_char(out, (char)bits);
		}
	}
	if (count % 4 == 1 || padding != (4 - count % 4) % 4)
		return false;
	if (count % 4 == 2) {
		buffer_add_char(out, (char)(bits >> 4));
	} else if (count % 4 == 3) {
		buffer_add_char(out, (char)(bits >> 10));
		buffer_add_char(out, (char)(bits >> 2));
	}
	return true;
}

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
	_buffer_ struct buffer bytes = {0};

	if (!decode_base64(text, &bytes))
		return false;
	add_valid_utf8(buffer_span(&bytes), out);
	return true;
}
