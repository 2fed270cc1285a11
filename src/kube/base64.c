#include "kube/base64.h"

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* 0..63, or -1. */
static int digit(char c)
{
	const char *at = c ? strchr(alphabet, c) : NULL;

	return at ? (int)(at - alphabet) : -1;
}

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

bool base64_decode(struct span text, struct arena *arena, struct span *ret_data)
{
	char *out = arena_allocate(arena, text.length / 4 * 3 + 4);
	size_t length = 0, digits = 0, padding = 0;
	uint32_t bits = 0;

	for (size_t i = 0; i < text.length; i++) {
		int value = digit(text.data[i]);

		if (is_space(text.data[i]))
			continue;
		if (text.data[i] == '=') {
			padding++;
			continue;
		}
		if (value < 0 || padding > 0)
			return false;
		bits = bits << 6 | (uint32_t)value;
		digits++;
		if (digits % 4 != 1)
			out[length++] = (char)(bits >> (6 - 2 * ((digits + 3) % 4)) & 0xff);
	}
	if (digits % 4 == 1 || padding > 2 || (digits + padding) % 4 != 0)
		return false;
	out[length] = '\0';
	*ret_data = (struct span){out, length};
	return true;
}

void base64_encode(struct span data, struct buffer *out)
{
	for (size_t i = 0; i < data.length; i += 3) {
		size_t left = data.length - i;
		uint32_t bits = (uint32_t)(unsigned char)data.data[i] << 16;

		if (left > 1)
			bits |= (uint32_t)(unsigned char)data.data[i + 1] << 8;
		if (left > 2)
			bits |= (unsigned char)data.data[i + 2];
		buffer_add_char(out, alphabet[bits >> 18]);
		buffer_add_char(out, alphabet[bits >> 12 & 63]);
		buffer_add_char(out, left > 1 ? alphabet[bits >> 6 & 63] : '=');
		buffer_add_char(out, left > 2 ? alphabet[bits & 63] : '=');
	}
}
