/*
 * Functions shared by the JSON reader and writer: finding the end of plain ASCII eight bytes at a
 * time, and checking UTF-8. No function here reads at or beyond `end`.
 */
#ifndef BASE_JSON_SCAN_H
#define BASE_JSON_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define JSON_EACH_BYTE(value) (UINT64_C(0x0101010101010101) * (value))

static inline bool json_is_plain(char c)
{
	unsigned char byte = (unsigned char)c;

	return byte >= 0x20 && byte < 0x80 && byte != '"' && byte != '\\';
}

/* The first byte that is not plain: a quote, a backslash, a control character, or beyond ASCII. */
static inline const char *json_skip_plain(const char *at, const char *end)
{
	const uint64_t high = JSON_EACH_BYTE(0x80);

	while (end - at >= 8) {
		uint64_t word, quote, backslash, found;

		memcpy(&word, at, sizeof(word));
		quote = word ^ JSON_EACH_BYTE('"');
		backslash = word ^ JSON_EACH_BYTE('\\');
		/* A borrow can mark a byte falsely, but only behind one that is marked rightly. */
		found = (((quote - JSON_EACH_BYTE(1)) & ~quote) |
				((backslash - JSON_EACH_BYTE(1)) & ~backslash) |
				((word - JSON_EACH_BYTE(0x20)) & ~word) | word) &
			high;
		if (found) {
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
			return at + (__builtin_ctzll(found) >> 3);
#else
			break;
#endif
		}
		at += 8;
	}
	while (at < end && json_is_plain(*at))
		at++;
	return at;
}

/* Length of the well-formed UTF-8 sequence at `at`: 1 to 4; 0 if it is not one (overlong forms,
 * surrogates and what is beyond U+10FFFF are not). */
static inline size_t json_utf8_length(const char *at, const char *end)
{
	const unsigned char *byte = (const unsigned char *)at;
	size_t left = (size_t)(end - at);
	unsigned char least = 0x80, most = 0xbf;
	size_t length;

	if (left == 0)
		return 0;
	if (byte[0] < 0x80)
		return 1;
	if (byte[0] >= 0xc2 && byte[0] <= 0xdf) {
		length = 2;
	} else if ((byte[0] & 0xf0) == 0xe0) {
		length = 3;
		if (byte[0] == 0xe0)
			least = 0xa0;
		else if (byte[0] == 0xed)
			most = 0x9f;
	} else if (byte[0] >= 0xf0 && byte[0] <= 0xf4) {
		length = 4;
		if (byte[0] == 0xf0)
			least = 0x90;
		else if (byte[0] == 0xf4)
			most = 0x8f;
	} else {
		return 0;
	}
	if (left < length || byte[1] < least || byte[1] > most)
		return 0;
	for (size_t i = 2; i < length; i++) {
		if ((byte[i] & 0xc0) != 0x80)
			return 0;
	}
	return length;
}

#endif
