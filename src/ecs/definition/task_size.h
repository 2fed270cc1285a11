/* CPU and memory of a task: the ways clients write them, and the sizes that Fargate has. */
#ifndef ECS_TASK_SIZE_H
#define ECS_TASK_SIZE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/span.h"

/* "256", "0.25 vCPU", ".5vcpu" → CPU units; false if it is neither. */
bool task_size_read_cpu(struct span text, int64_t *ret_units);
/* "512", "0.5GB", "2 GB" → MiB. */
bool task_size_read_memory(struct span text, int64_t *ret_mib);
/* Is this one of Fargate's combinations? */
bool task_size_is_fargate(int64_t cpu_units, int64_t memory_mib);

#endif
