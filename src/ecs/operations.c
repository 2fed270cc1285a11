/* The table of ECS operations. What the model has and this table has not answers
 * UnsupportedFeatureException and names itself. */
#include "ecs/account_setting.h"
#include "ecs/attribute.h"
#include "ecs/capacity_provider.h"
#include "ecs/cluster.h"
#include "ecs/container_instance.h"
#include "ecs/ecs.h"
#include "ecs/tags.h"
#include "ecs/task_definition.h"

static const struct aws_operation operations[] = {
	{.name = "CreateCapacityProvider", .mode = AWS_WRITE,
	 .prepare = capacity_provider_create_prepare, .run = capacity_provider_create,
	 .resources = capacity_provider_resources},
	{.name = "CreateCluster", .mode = AWS_WRITE, .run = cluster_create,
	 .resources = cluster_create_resources},
	{.name = "DeleteAccountSetting", .mode = AWS_WRITE, .prepare = account_setting_prepare,
	 .run = account_setting_delete},
	{.name = "DeleteAttributes", .mode = AWS_WRITE, .run = attribute_delete,
	 .resources = cluster_resources},
	{.name = "DeleteCapacityProvider", .mode = AWS_WRITE, .run = capacity_provider_delete,
	 .resources = capacity_provider_resources},
	{.name = "DeleteCluster", .mode = AWS_WRITE, .run = cluster_delete,
	 .resources = cluster_resources},
	{.name = "DeleteTaskDefinitions", .mode = AWS_WRITE, .run = task_definition_delete,
	 .resources = task_definition_resources},
	{.name = "DeregisterContainerInstance", .mode = AWS_WRITE,
	 .run = container_instance_deregister, .resources = cluster_resources},
	{.name = "DeregisterTaskDefinition", .mode = AWS_WRITE, .run = task_definition_deregister,
	 .resources = task_definition_resources},
	{.name = "DescribeCapacityProviders", .mode = AWS_READ, .run = capacity_provider_describe},
	{.name = "DescribeClusters", .mode = AWS_READ, .run = cluster_describe,
	 .resources = cluster_list_resources},
	{.name = "DescribeContainerInstances", .mode = AWS_READ, .run = container_instance_describe,
	 .resources = cluster_resources},
	{.name = "DescribeTaskDefinition", .mode = AWS_READ, .run = task_definition_describe,
	 .resources = task_definition_resources},
	{.name = "ListAccountSettings", .mode = AWS_READ, .run = account_setting_list},
	{.name = "ListAttributes", .mode = AWS_READ, .run = attribute_list,
	 .resources = cluster_resources},
	{.name = "ListClusters", .mode = AWS_READ, .run = cluster_list},
	{.name = "ListContainerInstances", .mode = AWS_READ, .run = container_instance_list,
	 .resources = cluster_resources},
	{.name = "ListTagsForResource", .mode = AWS_READ, .run = tags_list,
	 .resources = tags_resources},
	{.name = "ListTaskDefinitionFamilies", .mode = AWS_READ,
	 .run = task_definition_list_families},
	{.name = "ListTaskDefinitions", .mode = AWS_READ, .run = task_definition_list},
	{.name = "PutAccountSetting", .mode = AWS_WRITE, .prepare = account_setting_prepare,
	 .run = account_setting_put},
	{.name = "PutAccountSettingDefault", .mode = AWS_WRITE, .prepare = account_setting_prepare,
	 .run = account_setting_put_default},
	{.name = "PutAttributes", .mode = AWS_WRITE, .run = attribute_put,
	 .resources = cluster_resources},
	{.name = "PutClusterCapacityProviders", .mode = AWS_WRITE,
	 .run = cluster_put_capacity_providers, .resources = cluster_resources},
	{.name = "RegisterContainerInstance", .mode = AWS_WRITE,
	 .prepare = container_instance_register_prepare, .run = container_instance_register,
	 .resources = cluster_resources},
	{.name = "RegisterTaskDefinition", .mode = AWS_WRITE,
	 .prepare = task_definition_register_prepare, .run = task_definition_register,
	 .resources = task_definition_register_resources},
	{.name = "TagResource", .mode = AWS_WRITE, .prepare = tags_prepare, .run = tags_tag,
	 .resources = tags_resources},
	{.name = "UntagResource", .mode = AWS_WRITE, .run = tags_untag,
	 .resources = tags_resources},
	{.name = "UpdateCapacityProvider", .mode = AWS_WRITE, .run = capacity_provider_update,
	 .resources = capacity_provider_resources},
	{.name = "UpdateCluster", .mode = AWS_WRITE, .run = cluster_update,
	 .resources = cluster_resources},
	{.name = "UpdateClusterSettings", .mode = AWS_WRITE, .run = cluster_update_settings,
	 .resources = cluster_resources},
};

const struct aws_service ecs_service = {
	.name = "ecs",
	.json_target = "AmazonEC2ContainerServiceV20141113",
	.shapes = &shape_ecs,
	.operations = operations,
	.operation_count = LENGTH(operations),
	.invalid_input = "InvalidParameterException",
};

const struct store_kind *const ecs_kinds[] = {
	&account_setting_kind,	  &capacity_provider_kind, &cluster_kind,
	&container_instance_kind, &task_definition_kind,   &task_family_kind,
};
const size_t ecs_kind_count = LENGTH(ecs_kinds);
