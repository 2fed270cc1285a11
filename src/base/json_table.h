/*
 * The lookup table of an object with many members: open addressing over indexes into its members
 * array. One block of words: [0] mask, [1] seed, then mask + 1 slots that hold index + 1, 0 for free.
 * At most half of the slots are taken. The seed differs from process to process, so that a client
 * cannot choose names that collide.
 */
#ifndef BASE_JSON_TABLE_H
#define BASE_JSON_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"

/* Objects with more members than this have a table. */
#define JSON_TABLE_THRESHOLD 8

#define JSON_TABLE_NOT_FOUND UINT32_MAX

uint32_t json_table_seed(void);
size_t json_table_size(size_t members); /* bytes, for that many members */
/* Makes an empty table in zeroed memory of json_table_size(members). */
void json_table_init(uint32_t *table, size_t members, uint32_t seed);
void json_table_empty(uint32_t *table);
/* Enters members[index]. If its name is there already: returns the index of that one, changes nothing. */
uint32_t json_table_add(uint32_t *table, const struct json_member *members, uint32_t index);
uint32_t json_table_find(const uint32_t *table, const struct json_member *members,
	struct span name);

#endif
