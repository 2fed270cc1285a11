/*
 * The words in which tools/generate-shapes writes a table: included by src/aws/generated/shapes_*.c, and by
 * tests that need a table of their own.
 *
 * Every text is a field of one structure of characters, so that its offset is a constant the
 * compiler computes and rows name texts instead of numbers. Ranges are pairs of enumerators for the
 * same reason: a new member changes its own line and one count.
 */
#ifndef AWS_SHAPE_TABLE_H
#define AWS_SHAPE_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "aws/shape.h"
#include "base/memory.h"

#define NAME_WORD_FIELD(word) char n_##word[sizeof(#word)];
#define NAME_TEXT_FIELD(identifier, text) char n_##identifier[sizeof(text)];
#define NAME_WORD_VALUE(word) .n_##word = #word,
#define NAME_TEXT_VALUE(identifier, text) .n_##identifier = text,

/* Begins with an empty text, so that an offset of 0 is a text too, and ends with room for a search
 * that reads eight bytes at a time. */
#define SHAPE_NAMES(list)                                                                          \
	static const struct names {                                                                \
		char nothing;                                                                      \
		list(NAME_WORD_FIELD, NAME_TEXT_FIELD) char room[sizeof(uint64_t)];                \
	} names = {list(NAME_WORD_VALUE, NAME_TEXT_VALUE)};                                        \
	_Static_assert(sizeof(struct names) <= UINT16_MAX, "offsets of names have 16 bits")

#define NAME(identifier)                                                                           \
	{                                                                                          \
		offsetof(struct names, n_##identifier),                                            \
			sizeof(((struct names *)0)->n_##identifier) - 1                            \
	}

/* Inside an enum: `name` is where the range begins, `name`_last its last index. */
#define RANGE(name, count) name, name##_last = name + (count)-1
#define SPAN_OF(range) .first = range, .count = range##_last - range + 1

#define MEMBER(identifier, shape, flags)                                                           \
	{                                                                                          \
		NAME(identifier), S_##shape, flags,                                                \
		{                                                                                  \
			0, 0                                                                       \
		}                                                                                  \
	}
#define MEMBER_AS(identifier, shape, flags, wire_name)                                             \
	{                                                                                          \
		NAME(identifier), S_##shape, flags, NAME(wire_name)                                \
	}
#define REQUIRED SHAPE_REQUIRED
#define TOKEN SHAPE_TOKEN

#define STRUCTURE(structure)                                                                       \
	.type = SHAPE_STRUCTURE, .name = NAME(structure), SPAN_OF(M_##structure)
#define ENUM(enumeration) .type = SHAPE_STRING, .name = NAME(enumeration), SPAN_OF(E_##enumeration)
#define UNION SHAPE_UNION
#define SENSITIVE SHAPE_SENSITIVE
#define FLATTENED SHAPE_FLATTENED
#define ERROR SHAPE_ERROR
#define SERVER_FAULT SHAPE_SERVER_FAULT

#define OPERATION(operation, input, output, invalid_input)                                         \
	{                                                                                          \
		NAME(operation), S_##input, S_##output, X_##operation,                             \
			X_##operation##_last - X_##operation + 1, NAME(invalid_input)              \
	}

#define SHAPE_TABLES                                                                               \
	.names = (const char *)&names, .shapes = shapes, .members = members, .values = values,     \
	.limits = limits, .errors = errors, .operations = operations,                              \
	.shape_count = LENGTH(shapes), .operation_count = LENGTH(operations)

#endif
