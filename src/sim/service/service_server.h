/*
 * A server of the service simulation: the real controllers on a store, and, if it has machines, the real
 * task controller, the group controller and the maintainer of instances on a runtime of the simulated world. Deliberate bugs sit here:
 * some in the controllers' own configuration, some between the task controller and its runtime.
 */
#ifndef SIM_SERVICE_SERVICE_SERVER_H
#define SIM_SERVICE_SERVICE_SERVER_H

#include "ecs/instance/instance_maintainer.h"
#include "ecs/service/group_controller.h"
#include "ecs/service/service_controller.h"
#include "ecs/task/task_controller.h"
#include "runtime/simulated/simulated.h"
#include "sim/service/service_simulation.h"

#define SIMULATION_ACCOUNT "123456789012"
#define SIMULATION_REGION "eu-west-1"
#define SIMULATION_HOST "machines"
#define SIMULATION_CLUSTER SIMULATION_ACCOUNT "/" SIMULATION_REGION "/default"

struct service_server {
	const char *name;
	bool has_machines;
	enum service_bug bug;
	struct service_checker
		*checker; /* of calls, if the runtime keeps replicas itself; else NULL */
	unsigned boots;
	int64_t boot_at_us;    /* when down */
	struct runner *runner; /* NULL: down */
	struct runtime *runtime;
	struct write_batch
		*batch; /* for what is observed, as a server does whose runtime is far away */
	struct task_controller *tasks;
	struct group_controller *groups;
	struct instance_maintainer *maintainer;
	struct controller *services, *traffic;
	struct service_control control;
};

int service_server_boot(struct service_server *server, struct runner *root, struct store *store,
	struct simulated_world *world, struct err *err);
/* As a crash does: every wait inside returns at once. Fine when it is down. */
void service_server_take_down(struct service_server *server);
/* How often its controller fell behind the feed. */
unsigned service_server_overflows(const struct service_server *server);

#endif
