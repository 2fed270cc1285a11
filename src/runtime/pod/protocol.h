/* Texts of slipway-pod in a container's termination log, which Kubernetes shows in the pod's
 * status. */
#ifndef RUNTIME_POD_PROTOCOL_H
#define RUNTIME_POD_PROTOCOL_H

#define POD_TERMINATION_LOG "/dev/termination-log"
#define POD_EXITED "slipway: exited with "       /* and the exit code */
#define POD_CANNOT_RUN "slipway: cannot start: " /* and why */
/* Other containers wait for this container to be healthy, and it did not become so. */
#define POD_UNHEALTHY "slipway: did not become healthy"
/* It was not started, because a container that it depends on did not become healthy. */
#define POD_NOT_AFTER "slipway: not started: "

#endif
