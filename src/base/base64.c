#include "base/base64.h"

#include <limits.h>
#include <openssl/evp.h>
#include <string.h>

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static bool is_digit(char c)
{
	return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
	       c == '+' || c == '/';
}

/* OpenSSL takes '=' for a digit anywhere, and gives bytes for the padding, too: both are handled here. */
bool base64_decode(struct span text, struct arena *arena, struct span *ret_data)
{
	char *packed = arena_allocate(arena, text.length + 1);
	char *out = arena_allocate(arena, text.length / 4 * 3 + 4);
	size_t length = 0, padding = 0;
	int decoded;

	for (size_t i = 0; i < text.length; i++) {
		char c = text.data[i];

		if (is_space(c))
			continue;
		if (c == '=' ? ++padding > 2 : padding > 0 || !is_digit(c))
			return false;
		packed[length++] = c;
	}
	if (length % 4 != 0 || length > INT_MAX || (length > 0 && padding > length - 2))
		return false;
	decoded = EVP_DecodeBlock((unsigned char *)out, (const unsigned char *)packed, (int)length);
	if (decoded < 0)
		return false;
	out[(size_t)decoded - padding] = '\0';
	*ret_data = (struct span){out, (size_t)decoded - padding};
	return true;
}

void base64_encode(struct span data, struct buffer *out)
{
	char *at = buffer_reserve(out, (data.length + 2) / 3 * 4 + 1);

	out->length += (size_t)EVP_EncodeBlock((unsigned char *)at,
		(const unsigned char *)data.data, (int)data.length);
}
