/*
 * jansson, seen through a transcript: its header and ours cannot be included together. A transcript
 * is a plain listing of a value that both sides write in the same words:
 * o COUNT, then for each member k LENGTH:BYTES and a value; a COUNT and values; s LENGTH:BYTES;
 * i INTEGER; r REAL in hexadecimal; t; f; n.
 */
#ifndef TESTS_FUZZ_JSON_ORACLE_H
#define TESTS_FUZZ_JSON_ORACLE_H

#include "base/buffer.h"

enum json_oracle_verdict {
	JSON_ORACLE_ACCEPTED,
	JSON_ORACLE_REFUSED,
	JSON_ORACLE_UNABLE, /* JSON, but jansson cannot hold it: a huge number, a NUL in a name */
};

enum json_oracle_verdict json_oracle_parse(const void *data, size_t size, struct buffer *transcript,
	unsigned *ret_depth);

#endif
