/*
 * The spec of a task for a runtime: a JSON document made by ecs/ from a task definition with
 * overrides applied, secrets resolved and defaults filled in, so that a driver needs no knowledge
 * of ECS.
 *
 *     {"version": 1, "family": "web", "revision": 3, "cluster": "default", "clusterArn": "arn:…",
 *      "arn": "arn:aws:ecs:…",
 *      "networkMode": "awsvpc" | "bridge" | "host" | "none", "cpu": 256, "memory": 512,
 *      "volumes": [{"name", "host": {"sourcePath"?}}],
 *      "containers": [{
 *         "name", "image", "essential": true, "command": [], "entryPoint": [], "workingDirectory"?,
 *         "user"?, "environment": [{"name","value","secret"?: true}], "environmentFiles"?: [], "cpu": 0, "memory"?: MiB,
 *         "memoryReservation"?, "ulimits": [{"name","softLimit","hardLimit"}],
 *         "portMappings": [{"containerPort","hostPort","protocol"}],
 *         "mountPoints": [{"sourceVolume","containerPath","readOnly"}],
 *         "dependsOn": [{"containerName","condition"}], "healthCheck"?: {"command":[],"interval",
 *         "timeout","retries","startPeriod"}, "startTimeout": s, "stopTimeout": s,
 *         "restartPolicy"?: {"enabled","ignoredExitCodes":[],"restartAttemptPeriod"},
 *         "readonlyRootFilesystem": false, "privileged": false, "capabilities"?: {"add": [], "drop": []},
 *         "hostname"?, "logMaxBytes": 10485760}],
 *      "group": "service:web", "gated"?: true, "holdSeconds"?: s, "constraints"?: [{"type","expression"?}],
 *      "strategy"?: [{"type","field"?}]}
 *
 * cluster is a name; "clusterArn" is its ARN. group, constraints and strategy are for drivers that
 * choose instances themselves; holdSeconds is how long clients may connect after the end of a task
 * was announced; gated: see runtime_group_operations. cpu and memory of the task are 0 when the
 * definition has none. Members that a driver does not support are listed in runtime_task.notes, or
 * fail the start where ignoring them would be wrong.
 */
#ifndef RUNTIME_SPEC_H
#define RUNTIME_SPEC_H

#include <errno.h>

#define RUNTIME_SPEC_VERSION 1

/* Of start(), beside -EINVAL: the task can never start, and the message begins with the name of an error of ECS, as in
 * "CannotCreateVolumeError: there is no volume 'data'". */
#define RUNTIME_REASON_IS_NAMED (-EBADRQC)

#endif
