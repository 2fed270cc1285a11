/*
 * Semantic versions and constraints as the Masterminds library reads them: "v1.2" is 1.2.0, and
 * ">=1.20-0 <2 || ~3.1" has groups of constraints that must all hold.
 */
#ifndef CHART_SEMVER_H
#define CHART_SEMVER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/span.h"

#define SEMVER_TEXT_MAX 256
/* Constraints in one text. */
#define SEMVER_CONSTRAINTS_MAX 64

struct semver {
	uint64_t major, minor, patch;
	struct span prerelease; /* without "-" */
	struct span metadata;   /* without "+" */
	struct span original;
};

/* The version points into text. */
bool semver_parse(struct span text, struct semver *ret_version);
int semver_compare(const struct semver *a, const struct semver *b);
/* -1: the constraint cannot be read; else whether the version meets it. */
int semver_check(struct span constraint, const struct semver *version);

#endif
