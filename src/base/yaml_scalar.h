/*
 * The type of a plain scalar in the YAML 1.1 dialect of the Go library behind sigs.k8s.io/yaml. The
 * reader uses it to make values, the writer to decide which strings need quotes.
 */
#ifndef BASE_YAML_SCALAR_H
#define BASE_YAML_SCALAR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/span.h"

enum yaml_scalar_kind {
	YAML_SCALAR_NULL,
	YAML_SCALAR_BOOL,
	YAML_SCALAR_INTEGER,  /* fits int64_t */
	YAML_SCALAR_UNSIGNED, /* beyond int64_t, fits uint64_t */
	YAML_SCALAR_FLOAT,
	YAML_SCALAR_TIMESTAMP, /* a string in JSON */
	YAML_SCALAR_STRING,
};

struct yaml_scalar {
	enum yaml_scalar_kind kind;
	bool boolean;
	int64_t integer;
	uint64_t natural;
	double number;
	struct span text; /* as written */
};

struct yaml_scalar yaml_scalar_resolve(struct span text);

/* A date, or a date with a time, that Go's time.Parse accepts by YAML's formats. */
bool yaml_scalar_is_timestamp(struct span text);

#endif
