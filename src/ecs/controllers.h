/* The controllers of ECS. */
#ifndef ECS_CONTROLLERS_H
#define ECS_CONTROLLERS_H

#include "control/controller.h"

extern const struct controller_row ecs_controllers[];
extern const size_t ecs_controller_count;

#endif
