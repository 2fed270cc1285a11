/*
 * Operations of ECS agents: agents of instances that register themselves (RegisterContainerInstance
 * is in container_instance.h) find the server by DiscoverPollEndpoint and report the states of
 * their tasks.
 *
 * A task that this server's own runtime runs is observed there, and no agent can overrule that: such a change
 * is refused. What comes late changes nothing and is acknowledged: a task only ever goes down the ladder.
 */
#ifndef ECS_AGENT_H
#define ECS_AGENT_H

#include "aws/service.h"

int agent_discover_poll_endpoint(struct aws_request *request);
int agent_submit_prepare(struct aws_request *request); /* of the three below */
int agent_submit_task(struct aws_request *request);
int agent_submit_container(struct aws_request *request);
int agent_submit_attachments(struct aws_request *request);

#endif
