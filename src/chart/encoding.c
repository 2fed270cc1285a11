/* See encoding.h. */
#include "chart/encoding.h"

#include <string.h>

static const char letters64[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
static const char letters32[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

struct span encoding_base32(struct arena *arena, struct span bytes)
{
	char *out = arena_allocate(arena, (bytes.length + 4) / 5 * 8 + 1);
	size_t length = 0;

	for (size_t i = 0; i < bytes.length; i += 5) {
		uint64_t group = 0;
		size_t left = bytes.length - i < 5 ? bytes.length - i : 5;
		size_t used = (left * 8 + 4) / 5;

		for (size_t j = 0; j < 5; j++)
			group = group << 8 | (j < left ? (unsigned char)bytes.data[i + j] : 0);
		for (size_t j = 0; j < 8; j++)
			out[length++] = j < used ? letters32[group >> (35 - 5 * j) & 31] : '=';
	}
	return (struct span){out, length};
}

static size_t skip_breaks(struct span text, size_t position)
{
	while (position < text.length &&
		(text.data[position] == '\n' || text.data[position] == '\r'))
		position++;
	return position;
}

/* Checks the padding that begins at position, behind `digits` letters of the last group. */
static bool padding_fits(struct span text, size_t position, size_t digits, bool base32,
	size_t *ret_bad)
{
	static const bool fits32[8] = {false, false, true, false, true, true, false, true};
	size_t group = base32 ? 8 : 4, missing = group - digits;

	if (base32 ? !fits32[digits] : digits < 2) {
		*ret_bad = position;
		return false;
	}
	for (size_t i = 0; i < missing; i++) {
		position = skip_breaks(text, position);
		if (position >= text.length || text.data[position] != '=') {
			*ret_bad = position < text.length ? position : text.length;
			return false;
		}
		position++;
	}
	position = skip_breaks(text, position);
	*ret_bad = position;
	return position >= text.length;
}

bool encoding_decode(struct arena *arena, struct span text, bool base32, struct span *ret_bytes,
	size_t *ret_bad)
{
	const char *letters = base32 ? letters32 : letters64;
	size_t bits_each = base32 ? 5 : 6, group = base32 ? 8 : 4;
	char *out = arena_allocate(arena, text.length + 1);
	size_t length = 0, digits = 0, bits = 0;
	uint64_t held = 0;

	for (size_t i = 0; i < text.length; i++) {
		char c = text.data[i];
		const char *letter;

		if (c == '\n' || c == '\r')
			continue;
		if (c == '=') {
			if (!padding_fits(text, i, digits % group, base32, ret_bad))
				return false;
			digits = 0;
			break;
		}
		letter = c ? strchr(letters, c) : NULL;
		if (!letter) {
			*ret_bad = i;
			return false;
		}
		held = held << bits_each | (uint64_t)(letter - letters);
		bits += bits_each;
		digits++;
		if (bits >= 8) {
			bits -= 8;
			out[length++] = (char)(held >> bits & 0xFF);
		}
	}
	if (digits % group) {
		*ret_bad = text.length - digits % group;
		return false;
	}
	*ret_bytes = (struct span){out, length};
	return true;
}
