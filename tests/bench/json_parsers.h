/*
 * The parsers that json_bench.c compares, each in a file of its own because their headers cannot be
 * included together. A parser is given the whole text, makes all of its values, and frees them. It
 * returns how many values there are, so that none can be left out; 0 if it refuses the text.
 */
#ifndef TESTS_BENCH_JSON_PARSERS_H
#define TESTS_BENCH_JSON_PARSERS_H

#include <stddef.h>

size_t json_parse_jansson(const char *text, size_t length, int count);
size_t json_parse_json_c(const char *text, size_t length, int count);
size_t json_parse_cjson(const char *text, size_t length, int count);

#endif
