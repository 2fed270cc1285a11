/* Names of regions, as AWS makes them: an area, a direction and a number ("eu-central-1"). */
#ifndef AWS_REGION_H
#define AWS_REGION_H

#include <stdbool.h>

#include "base/span.h"

/* Checks the parts of the name, so that a new region of AWS needs no new slipway, and a mistyped
 * one is rejected. */
bool aws_region_is_known(struct span name);

#endif
