/* Values that all tables of the configuration have. */
#ifndef SERVER_CONFIG_VALUE_H
#define SERVER_CONFIG_VALUE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/span.h"

/* "300ms", "2s", "5m", "1h" */
bool config_read_duration(struct span text, int64_t *ret_ms);

#endif
