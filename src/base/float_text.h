/*
 * Floating-point numbers as Go's standard library writes them: the shortest digits that read back to
 * the same number. YAML and JSON of Kubernetes tools contain numbers in this form.
 */
#ifndef BASE_FLOAT_TEXT_H
#define BASE_FLOAT_TEXT_H

#include <stddef.h>

#define FLOAT_TEXT_SIZE 40 /* bytes that the longest text needs, with its NUL */

/* As strconv.FormatFloat(value, 'g', -1, 64): 1e+06, 0.5, -1.5e-07, NaN, +Inf. Returns the length. */
size_t float_text_shortest(double value, char out[static FLOAT_TEXT_SIZE]);
/* The same with the digits of a 32-bit number. */
size_t float_text_shortest_single(float value, char out[static FLOAT_TEXT_SIZE]);
/* As encoding/json: 1000000, 1e+21, 1e-7. The value must be finite. */
size_t float_text_json(double value, char out[static FLOAT_TEXT_SIZE]);

#endif
