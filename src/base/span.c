/* Comparing, cutting and hashing text that is not terminated. */
#include "base/span.h"

#include <pthread.h>
#include <sys/random.h>

int span_compare(struct span a, struct span b)
{
	size_t shorter = a.length < b.length ? a.length : b.length;
	int order = shorter > 0 ? memcmp(a.data, b.data, shorter) : 0;

	if (order != 0)
		return order;
	return (a.length > b.length) - (a.length < b.length);
}

bool span_starts_with(struct span text, struct span prefix)
{
	return prefix.length <= text.length &&
	       (prefix.length == 0 || memcmp(text.data, prefix.data, prefix.length) == 0);
}

bool span_ends_with(struct span text, struct span suffix)
{
	return suffix.length <= text.length &&
	       (suffix.length == 0 || memcmp(text.data + (text.length - suffix.length), suffix.data,
					      suffix.length) == 0);
}

/* Not tolower(): the locale has no say in protocols. */
static inline unsigned char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (unsigned char)(c + ('a' - 'A')) : (unsigned char)c;
}

bool span_equal_ignoring_case(struct span a, struct span b)
{
	if (a.length != b.length)
		return false;
	for (size_t i = 0; i < a.length; i++) {
		if (lower(a.data[i]) != lower(b.data[i]))
			return false;
	}
	return true;
}

struct span span_trim(struct span text)
{
	while (text.length > 0 && (text.data[0] == ' ' || text.data[0] == '\t')) {
		text.data++;
		text.length--;
	}
	while (text.length > 0 &&
		(text.data[text.length - 1] == ' ' || text.data[text.length - 1] == '\t'))
		text.length--;
	return text;
}

bool span_split(struct span text, char separator, struct span *ret_before, struct span *ret_after)
{
	const char *found = text.length > 0 ? memchr(text.data, separator, text.length) : NULL;
	size_t before;

	if (!found)
		return false;
	before = (size_t)(found - text.data);
	*ret_before = (struct span){text.data, before};
	*ret_after = (struct span){found + 1, text.length - before - 1};
	return true;
}

bool span_next_part(struct span *list, char separator, struct span *ret_part)
{
	if (list->length == 0)
		return false;
	if (!span_split(*list, separator, ret_part, list)) {
		*ret_part = *list;
		*list = SPAN("");
	}
	return true;
}

bool span_to_unsigned(struct span text, uint64_t max, uint64_t *ret_value)
{
	uint64_t value = 0;

	if (text.length == 0)
		return false;
	for (size_t i = 0; i < text.length; i++) {
		unsigned digit = (unsigned char)text.data[i] - (unsigned)'0';

		if (digit > 9 || value > (max - digit) / 10 || digit > max)
			return false;
		value = value * 10 + digit;
	}
	*ret_value = value;
	return true;
}

/* Written once, before the first hash of the process. */
static uint64_t hash_seed;
static pthread_once_t hash_seed_once = PTHREAD_ONCE_INIT;

static void draw_hash_seed(void)
{
	if (getrandom(&hash_seed, sizeof(hash_seed), GRND_NONBLOCK) != (ssize_t)sizeof(hash_seed))
		hash_seed =
			(uintptr_t)&hash_seed; /* early boot: what address randomisation gives */
}

uint64_t span_hash(struct span text)
{
	uint64_t hash;

	pthread_once(&hash_seed_once, draw_hash_seed);
	hash = 0xCBF29CE484222325u ^ hash_seed;
	for (size_t i = 0; i < text.length; i++)
		hash = (hash ^ (unsigned char)text.data[i]) * 0x100000001B3u;
	/* FNV leaves its low bits weak, and maps use exactly those: the mixer of MurmurHash3. */
	hash ^= hash >> 33;
	hash *= 0xFF51AFD7ED558CCDu;
	hash ^= hash >> 33;
	hash *= 0xC4CEB9FE1A85EC53u;
	return hash ^ (hash >> 33);
}

#define NEAREST_WORD_MAX 64 /* longer words get no suggestion */

/* Edits (insert, remove, replace, swap of neighbours) that make b of a; both within the limit. */
static size_t edit_distance(struct span a, struct span b)
{
	size_t rows[3][NEAREST_WORD_MAX + 1];
	size_t *before = rows[0];
	size_t *last = rows[1];
	size_t *row = rows[2];

	for (size_t j = 0; j <= b.length; j++)
		last[j] = before[j] = j;
	for (size_t i = 1; i <= a.length; i++) {
		size_t *oldest = before;

		row[0] = i;
		for (size_t j = 1; j <= b.length; j++) {
			bool same = lower(a.data[i - 1]) == lower(b.data[j - 1]);
			size_t least = last[j - 1] + !same;

			if (last[j] + 1 < least)
				least = last[j] + 1;
			if (row[j - 1] + 1 < least)
				least = row[j - 1] + 1;
			if (i > 1 && j > 1 && lower(a.data[i - 1]) == lower(b.data[j - 2]) &&
				lower(a.data[i - 2]) == lower(b.data[j - 1]) &&
				before[j - 2] + 1 < least)
				least = before[j - 2] + 1;
			row[j] = least;
		}
		before = last;
		last = row;
		row = oldest;
	}
	return last[b.length];
}

struct span span_nearest(struct span word, const struct span *candidates, size_t count)
{
	struct span nearest = SPAN_NONE;
	/* One edit in three characters is a slip; more is another word. */
	size_t best = word.length / 3 + 2;

	if (word.length == 0 || word.length > NEAREST_WORD_MAX)
		return SPAN_NONE;
	for (size_t i = 0; i < count; i++) {
		size_t distance;

		if (candidates[i].length > NEAREST_WORD_MAX)
			continue;
		distance = edit_distance(word, candidates[i]);
		if (distance < best && distance < word.length) {
			best = distance;
			nearest = candidates[i];
		}
	}
	return nearest;
}
