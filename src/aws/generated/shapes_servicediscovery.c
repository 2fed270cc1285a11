/*
 * The shapes of AWS Cloud Map.
 * Written by tools/generate-shapes; change that, or tools/shapes-servicediscovery.json, and write it
 * again.
 */
/* clang-format off */
#include "aws/shape_table.h"

/* Every text of the table once; TEXT_ is for those that are no C identifier. */
#define NAMES(WORD_, TEXT_) \
	WORD_(A) WORD_(AAAA) WORD_(ALL) WORD_(Arn) WORD_(Attributes) WORD_(BEGINS_WITH) \
	WORD_(BETWEEN) WORD_(CNAME) WORD_(CREATE_NAMESPACE) WORD_(Condition) WORD_(CreateDate) \
	WORD_(CreateHttpNamespace) WORD_(CreateHttpNamespaceRequest) \
	WORD_(CreateHttpNamespaceResponse) WORD_(CreatePrivateDnsNamespace) \
	WORD_(CreatePrivateDnsNamespaceRequest) WORD_(CreatePrivateDnsNamespaceResponse) \
	WORD_(CreatePublicDnsNamespace) WORD_(CreatePublicDnsNamespaceRequest) \
	WORD_(CreatePublicDnsNamespaceResponse) WORD_(CreateService) WORD_(CreateServiceRequest) \
	WORD_(CreateServiceResponse) WORD_(CreatedByAccount) WORD_(CreatorRequestId) \
	WORD_(CustomHealthNotFound) WORD_(CustomHealthStatus) WORD_(DELETE_NAMESPACE) \
	WORD_(DEREGISTER_INSTANCE) WORD_(DNS) WORD_(DNS_HTTP) WORD_(DNS_PRIVATE) WORD_(DNS_PUBLIC) \
	WORD_(DeleteNamespace) WORD_(DeleteNamespaceRequest) WORD_(DeleteNamespaceResponse) \
	WORD_(DeleteService) WORD_(DeleteServiceAttributes) WORD_(DeleteServiceAttributesRequest) \
	WORD_(DeleteServiceAttributesResponse) WORD_(DeleteServiceRequest) \
	WORD_(DeleteServiceResponse) WORD_(DeregisterInstance) WORD_(DeregisterInstanceRequest) \
	WORD_(DeregisterInstanceResponse) WORD_(Description) WORD_(DiscoverInstances) \
	WORD_(DiscoverInstancesRequest) WORD_(DiscoverInstancesResponse) \
	WORD_(DiscoverInstancesRevision) WORD_(DiscoverInstancesRevisionRequest) \
	WORD_(DiscoverInstancesRevisionResponse) WORD_(DnsConfig) WORD_(DnsConfigChange) \
	WORD_(DnsProperties) WORD_(DnsRecord) WORD_(DnsRecords) WORD_(DuplicateOperationId) \
	WORD_(DuplicateRequest) WORD_(EQ) WORD_(ErrorCode) WORD_(ErrorMessage) WORD_(FAIL) \
	WORD_(FailureThreshold) WORD_(FilterCondition) WORD_(Filters) WORD_(GetInstance) \
	WORD_(GetInstanceRequest) WORD_(GetInstanceResponse) WORD_(GetInstancesHealthStatus) \
	WORD_(GetInstancesHealthStatusRequest) WORD_(GetInstancesHealthStatusResponse) \
	WORD_(GetNamespace) WORD_(GetNamespaceRequest) WORD_(GetNamespaceResponse) \
	WORD_(GetOperation) WORD_(GetOperationRequest) WORD_(GetOperationResponse) \
	WORD_(GetService) WORD_(GetServiceAttributes) WORD_(GetServiceAttributesRequest) \
	WORD_(GetServiceAttributesResponse) WORD_(GetServiceRequest) WORD_(GetServiceResponse) \
	WORD_(HEALTHY) WORD_(HEALTHY_OR_ELSE_ALL) WORD_(HTTP) WORD_(HTTPS) WORD_(HTTP_NAME) \
	WORD_(HealthCheckConfig) WORD_(HealthCheckCustomConfig) WORD_(HealthCheckType) \
	WORD_(HealthStatus) WORD_(HealthStatusFilter) WORD_(HostedZoneId) \
	WORD_(HttpInstanceSummary) WORD_(HttpName) WORD_(HttpNamespaceChange) \
	WORD_(HttpProperties) WORD_(IN) WORD_(INSTANCE) WORD_(Id) WORD_(Instance) \
	WORD_(InstanceCount) WORD_(InstanceId) WORD_(InstanceNotFound) WORD_(InstanceSummary) \
	WORD_(Instances) WORD_(InstancesRevision) WORD_(InvalidInput) WORD_(Key) \
	WORD_(ListInstances) WORD_(ListInstancesRequest) WORD_(ListInstancesResponse) \
	WORD_(ListNamespaces) WORD_(ListNamespacesRequest) WORD_(ListNamespacesResponse) \
	WORD_(ListOperations) WORD_(ListOperationsRequest) WORD_(ListOperationsResponse) \
	WORD_(ListServices) WORD_(ListServicesRequest) WORD_(ListServicesResponse) \
	WORD_(ListTagsForResource) WORD_(ListTagsForResourceRequest) \
	WORD_(ListTagsForResourceResponse) WORD_(MULTIVALUE) WORD_(MaxResults) WORD_(Message) \
	WORD_(NAME) WORD_(NAMESPACE) WORD_(NAMESPACE_ID) WORD_(Name) WORD_(Namespace) \
	WORD_(NamespaceAlreadyExists) WORD_(NamespaceFilter) WORD_(NamespaceFilterName) \
	WORD_(NamespaceId) WORD_(NamespaceName) WORD_(NamespaceNotFound) \
	WORD_(NamespaceProperties) WORD_(NamespaceSummary) WORD_(NamespaceType) WORD_(Namespaces) \
	WORD_(NextToken) WORD_(Nothing) WORD_(Operation) WORD_(OperationFilter) \
	WORD_(OperationFilterName) WORD_(OperationId) WORD_(OperationNotFound) \
	WORD_(OperationStatus) WORD_(OperationSummary) WORD_(OperationTargetType) \
	WORD_(OperationType) WORD_(Operations) WORD_(OptionalParameters) WORD_(OwnerAccount) \
	WORD_(PENDING) WORD_(PrivateDnsNamespaceChange) WORD_(PrivateDnsNamespaceProperties) \
	WORD_(PrivateDnsNamespacePropertiesChange) WORD_(PrivateDnsPropertiesMutable) \
	WORD_(PrivateDnsPropertiesMutableChange) WORD_(Properties) WORD_(PublicDnsNamespaceChange) \
	WORD_(PublicDnsNamespaceProperties) WORD_(PublicDnsNamespacePropertiesChange) \
	WORD_(PublicDnsPropertiesMutable) WORD_(PublicDnsPropertiesMutableChange) \
	WORD_(QueryParameters) WORD_(REGISTER_INSTANCE) WORD_(RESOURCE_OWNER) WORD_(RecordType) \
	WORD_(RegisterInstance) WORD_(RegisterInstanceRequest) WORD_(RegisterInstanceResponse) \
	WORD_(RequestLimitExceeded) WORD_(ResourceARN) WORD_(ResourceInUse) \
	WORD_(ResourceLimitExceeded) WORD_(ResourceName) WORD_(ResourceNotFoundException) \
	WORD_(ResourceOwner) WORD_(ResourcePath) WORD_(RoutingPolicy) WORD_(SERVICE) \
	WORD_(SERVICE_ID) WORD_(SOA) WORD_(SOAChange) WORD_(SRV) WORD_(STATUS) WORD_(SUBMITTED) \
	WORD_(SUCCESS) WORD_(Service) WORD_(ServiceAlreadyExists) WORD_(ServiceArn) \
	WORD_(ServiceAttributes) WORD_(ServiceAttributesLimitExceededException) \
	WORD_(ServiceChange) WORD_(ServiceCount) WORD_(ServiceFilter) WORD_(ServiceFilterName) \
	WORD_(ServiceId) WORD_(ServiceName) WORD_(ServiceNotFound) WORD_(ServiceSummary) \
	WORD_(ServiceType) WORD_(ServiceTypeOption) WORD_(Services) WORD_(Status) WORD_(TCP) \
	WORD_(TTL) WORD_(TYPE) WORD_(Tag) WORD_(TagKeys) WORD_(TagResource) \
	WORD_(TagResourceRequest) WORD_(TagResourceResponse) WORD_(Tags) WORD_(Targets) \
	WORD_(TooManyTagsException) WORD_(Type) WORD_(UNHEALTHY) WORD_(UNKNOWN) WORD_(UPDATE_DATE) \
	WORD_(UPDATE_NAMESPACE) WORD_(UPDATE_SERVICE) WORD_(UntagResource) \
	WORD_(UntagResourceRequest) WORD_(UntagResourceResponse) WORD_(UpdateDate) \
	WORD_(UpdateHttpNamespace) WORD_(UpdateHttpNamespaceRequest) \
	WORD_(UpdateHttpNamespaceResponse) WORD_(UpdateInstanceCustomHealthStatus) \
	WORD_(UpdateInstanceCustomHealthStatusRequest) WORD_(UpdatePrivateDnsNamespace) \
	WORD_(UpdatePrivateDnsNamespaceRequest) WORD_(UpdatePrivateDnsNamespaceResponse) \
	WORD_(UpdatePublicDnsNamespace) WORD_(UpdatePublicDnsNamespaceRequest) \
	WORD_(UpdatePublicDnsNamespaceResponse) WORD_(UpdateService) \
	WORD_(UpdateServiceAttributes) WORD_(UpdateServiceAttributesRequest) \
	WORD_(UpdateServiceAttributesResponse) WORD_(UpdateServiceRequest) \
	WORD_(UpdateServiceResponse) WORD_(UpdaterRequestId) WORD_(Value) WORD_(Values) WORD_(Vpc) \
	WORD_(WEIGHTED) WORD_(item)

SHAPE_NAMES(NAMES);

enum {
	S_CreateHttpNamespaceRequest, S_CreateHttpNamespaceResponse,
	S_CreatePrivateDnsNamespaceRequest, S_CreatePrivateDnsNamespaceResponse,
	S_CreatePublicDnsNamespaceRequest, S_CreatePublicDnsNamespaceResponse,
	S_CreateServiceRequest, S_CreateServiceResponse, S_CustomHealthNotFound,
	S_CustomHealthStatus, S_DeleteNamespaceRequest, S_DeleteNamespaceResponse,
	S_DeleteServiceAttributesRequest, S_DeleteServiceAttributesResponse, S_DeleteServiceRequest,
	S_DeleteServiceResponse, S_DeregisterInstanceRequest, S_DeregisterInstanceResponse,
	S_DiscoverInstancesRequest, S_DiscoverInstancesResponse, S_DiscoverInstancesRevisionRequest,
	S_DiscoverInstancesRevisionResponse, S_DnsConfig, S_DnsConfigChange, S_DnsProperties,
	S_DnsRecord, S_DuplicateRequest, S_FilterCondition, S_GetInstanceRequest,
	S_GetInstanceResponse, S_GetInstancesHealthStatusRequest,
	S_GetInstancesHealthStatusResponse, S_GetNamespaceRequest, S_GetNamespaceResponse,
	S_GetOperationRequest, S_GetOperationResponse, S_GetServiceAttributesRequest,
	S_GetServiceAttributesResponse, S_GetServiceRequest, S_GetServiceResponse,
	S_HealthCheckConfig, S_HealthCheckCustomConfig, S_HealthCheckType, S_HealthStatus,
	S_HealthStatusFilter, S_HttpInstanceSummary, S_HttpNamespaceChange, S_HttpProperties,
	S_Instance, S_InstanceNotFound, S_InstanceSummary, S_InvalidInput, S_ListInstancesRequest,
	S_ListInstancesResponse, S_ListNamespacesRequest, S_ListNamespacesResponse,
	S_ListOperationsRequest, S_ListOperationsResponse, S_ListServicesRequest,
	S_ListServicesResponse, S_ListTagsForResourceRequest, S_ListTagsForResourceResponse,
	S_Namespace, S_NamespaceAlreadyExists, S_NamespaceFilter, S_NamespaceFilterName,
	S_NamespaceNotFound, S_NamespaceProperties, S_NamespaceSummary, S_NamespaceType, S_Nothing,
	S_Operation, S_OperationFilter, S_OperationFilterName, S_OperationNotFound,
	S_OperationStatus, S_OperationSummary, S_OperationTargetType, S_OperationType,
	S_PrivateDnsNamespaceChange, S_PrivateDnsNamespaceProperties,
	S_PrivateDnsNamespacePropertiesChange, S_PrivateDnsPropertiesMutable,
	S_PrivateDnsPropertiesMutableChange, S_PublicDnsNamespaceChange,
	S_PublicDnsNamespaceProperties, S_PublicDnsNamespacePropertiesChange,
	S_PublicDnsPropertiesMutable, S_PublicDnsPropertiesMutableChange, S_RecordType,
	S_RegisterInstanceRequest, S_RegisterInstanceResponse, S_RequestLimitExceeded,
	S_ResourceInUse, S_ResourceLimitExceeded, S_ResourceNotFoundException, S_RoutingPolicy,
	S_SOA, S_SOAChange, S_Service, S_ServiceAlreadyExists, S_ServiceAttributes,
	S_ServiceAttributesLimitExceededException, S_ServiceChange, S_ServiceFilter,
	S_ServiceFilterName, S_ServiceNotFound, S_ServiceSummary, S_ServiceType,
	S_ServiceTypeOption, S_Tag, S_TagResourceRequest, S_TagResourceResponse,
	S_TooManyTagsException, S_UntagResourceRequest, S_UntagResourceResponse,
	S_UpdateHttpNamespaceRequest, S_UpdateHttpNamespaceResponse,
	S_UpdateInstanceCustomHealthStatusRequest, S_UpdatePrivateDnsNamespaceRequest,
	S_UpdatePrivateDnsNamespaceResponse, S_UpdatePublicDnsNamespaceRequest,
	S_UpdatePublicDnsNamespaceResponse, S_UpdateServiceAttributesRequest,
	S_UpdateServiceAttributesResponse, S_UpdateServiceRequest, S_UpdateServiceResponse,
	S_integer, S_integer_from_1_to_10, S_integer_from_1_to_100, S_integer_from_1_to_1000,
	S_list_of_DnsRecord, S_list_of_HttpInstanceSummary,
	S_list_of_InstanceSummary_as_InstanceSummary, S_list_of_NamespaceFilter_as_item,
	S_list_of_NamespaceSummary, S_list_of_OperationFilter_as_item,
	S_list_of_OperationSummary_as_OperationSummary, S_list_of_ServiceFilter_as_item,
	S_list_of_ServiceSummary, S_list_of_Tag_from_0_to_200,
	S_list_of_string_from_1_to_128_from_0_to_200, S_list_of_string_from_1_to_255_as_item,
	S_list_of_string_to_255_from_1_to_30, S_list_of_string_to_64_as_InstanceId_from_1, S_long,
	S_long_from_0_to_2147483647, S_map_of_HealthStatus_by_string_to_64, S_map_of_string,
	S_map_of_string_to_1024_by_string_to_255, S_map_of_string_to_64_by_OperationTargetType,
	S_string, S_string_from_0_to_256, S_string_from_1_to_1011, S_string_from_1_to_128,
	S_string_from_1_to_255, S_string_to_1024, S_string_to_253, S_string_to_255,
	S_string_to_4096, S_string_to_64, S_timestamp,
};

/* Where the members of a structure begin and end. */
enum {
	RANGE(M_CreateHttpNamespaceRequest, 4),
	RANGE(M_CreateHttpNamespaceResponse, 1),
	RANGE(M_CreatePrivateDnsNamespaceRequest, 6),
	RANGE(M_CreatePrivateDnsNamespaceResponse, 1),
	RANGE(M_CreatePublicDnsNamespaceRequest, 5),
	RANGE(M_CreatePublicDnsNamespaceResponse, 1),
	RANGE(M_CreateServiceRequest, 9),
	RANGE(M_CreateServiceResponse, 1),
	RANGE(M_CustomHealthNotFound, 1),
	RANGE(M_DeleteNamespaceRequest, 1),
	RANGE(M_DeleteNamespaceResponse, 1),
	RANGE(M_DeleteServiceAttributesRequest, 2),
	RANGE(M_DeleteServiceAttributesResponse, 0),
	RANGE(M_DeleteServiceRequest, 1),
	RANGE(M_DeleteServiceResponse, 0),
	RANGE(M_DeregisterInstanceRequest, 2),
	RANGE(M_DeregisterInstanceResponse, 1),
	RANGE(M_DiscoverInstancesRequest, 7),
	RANGE(M_DiscoverInstancesResponse, 2),
	RANGE(M_DiscoverInstancesRevisionRequest, 3),
	RANGE(M_DiscoverInstancesRevisionResponse, 1),
	RANGE(M_DnsConfig, 3),
	RANGE(M_DnsConfigChange, 1),
	RANGE(M_DnsProperties, 2),
	RANGE(M_DnsRecord, 2),
	RANGE(M_DuplicateRequest, 2),
	RANGE(M_GetInstanceRequest, 2),
	RANGE(M_GetInstanceResponse, 2),
	RANGE(M_GetInstancesHealthStatusRequest, 4),
	RANGE(M_GetInstancesHealthStatusResponse, 2),
	RANGE(M_GetNamespaceRequest, 1),
	RANGE(M_GetNamespaceResponse, 1),
	RANGE(M_GetOperationRequest, 2),
	RANGE(M_GetOperationResponse, 1),
	RANGE(M_GetServiceAttributesRequest, 1),
	RANGE(M_GetServiceAttributesResponse, 1),
	RANGE(M_GetServiceRequest, 1),
	RANGE(M_GetServiceResponse, 1),
	RANGE(M_HealthCheckConfig, 3),
	RANGE(M_HealthCheckCustomConfig, 1),
	RANGE(M_HttpInstanceSummary, 5),
	RANGE(M_HttpNamespaceChange, 1),
	RANGE(M_HttpProperties, 1),
	RANGE(M_Instance, 4),
	RANGE(M_InstanceNotFound, 1),
	RANGE(M_InstanceSummary, 3),
	RANGE(M_InvalidInput, 1),
	RANGE(M_ListInstancesRequest, 3),
	RANGE(M_ListInstancesResponse, 3),
	RANGE(M_ListNamespacesRequest, 3),
	RANGE(M_ListNamespacesResponse, 2),
	RANGE(M_ListOperationsRequest, 3),
	RANGE(M_ListOperationsResponse, 2),
	RANGE(M_ListServicesRequest, 3),
	RANGE(M_ListServicesResponse, 2),
	RANGE(M_ListTagsForResourceRequest, 1),
	RANGE(M_ListTagsForResourceResponse, 1),
	RANGE(M_Namespace, 10),
	RANGE(M_NamespaceAlreadyExists, 3),
	RANGE(M_NamespaceFilter, 3),
	RANGE(M_NamespaceNotFound, 1),
	RANGE(M_NamespaceProperties, 2),
	RANGE(M_NamespaceSummary, 9),
	RANGE(M_Nothing, 0),
	RANGE(M_Operation, 9),
	RANGE(M_OperationFilter, 3),
	RANGE(M_OperationNotFound, 1),
	RANGE(M_OperationSummary, 2),
	RANGE(M_PrivateDnsNamespaceChange, 2),
	RANGE(M_PrivateDnsNamespaceProperties, 1),
	RANGE(M_PrivateDnsNamespacePropertiesChange, 1),
	RANGE(M_PrivateDnsPropertiesMutable, 1),
	RANGE(M_PrivateDnsPropertiesMutableChange, 1),
	RANGE(M_PublicDnsNamespaceChange, 2),
	RANGE(M_PublicDnsNamespaceProperties, 1),
	RANGE(M_PublicDnsNamespacePropertiesChange, 1),
	RANGE(M_PublicDnsPropertiesMutable, 1),
	RANGE(M_PublicDnsPropertiesMutableChange, 1),
	RANGE(M_RegisterInstanceRequest, 4),
	RANGE(M_RegisterInstanceResponse, 1),
	RANGE(M_RequestLimitExceeded, 1),
	RANGE(M_ResourceInUse, 1),
	RANGE(M_ResourceLimitExceeded, 1),
	RANGE(M_ResourceNotFoundException, 1),
	RANGE(M_SOA, 1),
	RANGE(M_SOAChange, 1),
	RANGE(M_Service, 14),
	RANGE(M_ServiceAlreadyExists, 4),
	RANGE(M_ServiceAttributes, 3),
	RANGE(M_ServiceAttributesLimitExceededException, 1),
	RANGE(M_ServiceChange, 3),
	RANGE(M_ServiceFilter, 3),
	RANGE(M_ServiceNotFound, 1),
	RANGE(M_ServiceSummary, 12),
	RANGE(M_Tag, 2),
	RANGE(M_TagResourceRequest, 2),
	RANGE(M_TagResourceResponse, 0),
	RANGE(M_TooManyTagsException, 2),
	RANGE(M_UntagResourceRequest, 2),
	RANGE(M_UntagResourceResponse, 0),
	RANGE(M_UpdateHttpNamespaceRequest, 3),
	RANGE(M_UpdateHttpNamespaceResponse, 1),
	RANGE(M_UpdateInstanceCustomHealthStatusRequest, 3),
	RANGE(M_UpdatePrivateDnsNamespaceRequest, 3),
	RANGE(M_UpdatePrivateDnsNamespaceResponse, 1),
	RANGE(M_UpdatePublicDnsNamespaceRequest, 3),
	RANGE(M_UpdatePublicDnsNamespaceResponse, 1),
	RANGE(M_UpdateServiceAttributesRequest, 2),
	RANGE(M_UpdateServiceAttributesResponse, 0),
	RANGE(M_UpdateServiceRequest, 2),
	RANGE(M_UpdateServiceResponse, 1),
};

static const struct shape_member members[] = {
	/* CreateHttpNamespaceRequest */
	MEMBER(Name, string_to_1024, REQUIRED),
	MEMBER(Tags, list_of_Tag_from_0_to_200, 0),
	MEMBER(Description, string_to_1024, 0),
	MEMBER(CreatorRequestId, string_to_64, TOKEN),
	/* CreateHttpNamespaceResponse */
	MEMBER(OperationId, string_to_255, 0),
	/* CreatePrivateDnsNamespaceRequest */
	MEMBER(Vpc, string_to_64, REQUIRED),
	MEMBER(Name, string_to_253, REQUIRED),
	MEMBER(Tags, list_of_Tag_from_0_to_200, 0),
	MEMBER(Properties, PrivateDnsNamespaceProperties, 0),
	MEMBER(Description, string_to_1024, 0),
	MEMBER(CreatorRequestId, string_to_64, TOKEN),
	/* CreatePrivateDnsNamespaceResponse */
	MEMBER(OperationId, string_to_255, 0),
	/* CreatePublicDnsNamespaceRequest */
	MEMBER(Name, string_to_253, REQUIRED),
	MEMBER(Tags, list_of_Tag_from_0_to_200, 0),
	MEMBER(Properties, PublicDnsNamespaceProperties, 0),
	MEMBER(Description, string_to_1024, 0),
	MEMBER(CreatorRequestId, string_to_64, TOKEN),
	/* CreatePublicDnsNamespaceResponse */
	MEMBER(OperationId, string_to_255, 0),
	/* CreateServiceRequest */
	MEMBER(Name, string, REQUIRED),
	MEMBER(Tags, list_of_Tag_from_0_to_200, 0),
	MEMBER(Type, ServiceTypeOption, 0),
	MEMBER(DnsConfig, DnsConfig, 0),
	MEMBER(Description, string_to_1024, 0),
	MEMBER(NamespaceId, string_to_64, 0),
	MEMBER(CreatorRequestId, string_to_64, TOKEN),
	MEMBER(HealthCheckConfig, HealthCheckConfig, 0),
	MEMBER(HealthCheckCustomConfig, HealthCheckCustomConfig, 0),
	/* CreateServiceResponse */
	MEMBER(Service, Service, 0),
	/* CustomHealthNotFound */
	MEMBER(Message, string, 0),
	/* DeleteNamespaceRequest */
	MEMBER(Id, string_to_64, REQUIRED),
	/* DeleteNamespaceResponse */
	MEMBER(OperationId, string_to_255, 0),
	/* DeleteServiceAttributesRequest */
	MEMBER(ServiceId, string, REQUIRED),
	MEMBER(Attributes, list_of_string_to_255_from_1_to_30, REQUIRED),
	/* DeleteServiceRequest */
	MEMBER(Id, string_to_64, REQUIRED),
	/* DeregisterInstanceRequest */
	MEMBER(ServiceId, string_to_64, REQUIRED),
	MEMBER(InstanceId, string_to_64, REQUIRED),
	/* DeregisterInstanceResponse */
	MEMBER(OperationId, string_to_255, 0),
	/* DiscoverInstancesRequest */
	MEMBER(MaxResults, integer_from_1_to_1000, 0),
	MEMBER(ServiceName, string, REQUIRED),
	MEMBER(HealthStatus, HealthStatusFilter, 0),
	MEMBER(OwnerAccount, string, 0),
	MEMBER(NamespaceName, string_to_1024, REQUIRED),
	MEMBER(QueryParameters, map_of_string_to_1024_by_string_to_255, 0),
	MEMBER(OptionalParameters, map_of_string_to_1024_by_string_to_255, 0),
	/* DiscoverInstancesResponse */
	MEMBER(Instances, list_of_HttpInstanceSummary, 0),
	MEMBER(InstancesRevision, long, 0),
	/* DiscoverInstancesRevisionRequest */
	MEMBER(ServiceName, string, REQUIRED),
	MEMBER(OwnerAccount, string, 0),
	MEMBER(NamespaceName, string, REQUIRED),
	/* DiscoverInstancesRevisionResponse */
	MEMBER(InstancesRevision, long, 0),
	/* DnsConfig */
	MEMBER(DnsRecords, list_of_DnsRecord, REQUIRED),
	MEMBER(NamespaceId, string_to_64, 0),
	MEMBER(RoutingPolicy, RoutingPolicy, 0),
	/* DnsConfigChange */
	MEMBER(DnsRecords, list_of_DnsRecord, REQUIRED),
	/* DnsProperties */
	MEMBER(SOA, SOA, 0),
	MEMBER(HostedZoneId, string_to_64, 0),
	/* DnsRecord */
	MEMBER(TTL, long_from_0_to_2147483647, REQUIRED),
	MEMBER(Type, RecordType, REQUIRED),
	/* DuplicateRequest */
	MEMBER(Message, string, 0),
	MEMBER(DuplicateOperationId, string_to_64, 0),
	/* GetInstanceRequest */
	MEMBER(ServiceId, string_to_64, REQUIRED),
	MEMBER(InstanceId, string_to_64, REQUIRED),
	/* GetInstanceResponse */
	MEMBER(Instance, Instance, 0),
	MEMBER(ResourceOwner, string, 0),
	/* GetInstancesHealthStatusRequest */
	MEMBER(Instances, list_of_string_to_64_as_InstanceId_from_1, 0),
	MEMBER(NextToken, string_to_4096, 0),
	MEMBER(ServiceId, string_to_64, REQUIRED),
	MEMBER(MaxResults, integer_from_1_to_100, 0),
	/* GetInstancesHealthStatusResponse */
	MEMBER(Status, map_of_HealthStatus_by_string_to_64, 0),
	MEMBER(NextToken, string_to_4096, 0),
	/* GetNamespaceRequest */
	MEMBER(Id, string_to_64, REQUIRED),
	/* GetNamespaceResponse */
	MEMBER(Namespace, Namespace, 0),
	/* GetOperationRequest */
	MEMBER(OperationId, string_to_64, REQUIRED),
	MEMBER(OwnerAccount, string, 0),
	/* GetOperationResponse */
	MEMBER(Operation, Operation, 0),
	/* GetServiceAttributesRequest */
	MEMBER(ServiceId, string, REQUIRED),
	/* GetServiceAttributesResponse */
	MEMBER(ServiceAttributes, ServiceAttributes, 0),
	/* GetServiceRequest */
	MEMBER(Id, string_to_64, REQUIRED),
	/* GetServiceResponse */
	MEMBER(Service, Service, 0),
	/* HealthCheckConfig */
	MEMBER(Type, HealthCheckType, REQUIRED),
	MEMBER(ResourcePath, string_to_255, 0),
	MEMBER(FailureThreshold, integer_from_1_to_10, 0),
	/* HealthCheckCustomConfig */
	MEMBER(FailureThreshold, integer_from_1_to_10, 0),
	/* HttpInstanceSummary */
	MEMBER(Attributes, map_of_string_to_1024_by_string_to_255, 0),
	MEMBER(InstanceId, string_to_64, 0),
	MEMBER(ServiceName, string, 0),
	MEMBER(HealthStatus, HealthStatus, 0),
	MEMBER(NamespaceName, string_to_1024, 0),
	/* HttpNamespaceChange */
	MEMBER(Description, string_to_1024, REQUIRED),
	/* HttpProperties */
	MEMBER(HttpName, string_to_1024, 0),
	/* Instance */
	MEMBER(Id, string_to_64, REQUIRED),
	MEMBER(Attributes, map_of_string_to_1024_by_string_to_255, 0),
	MEMBER(CreatedByAccount, string, 0),
	MEMBER(CreatorRequestId, string_to_64, 0),
	/* InstanceNotFound */
	MEMBER(Message, string, 0),
	/* InstanceSummary */
	MEMBER(Id, string_to_64, 0),
	MEMBER(Attributes, map_of_string_to_1024_by_string_to_255, 0),
	MEMBER(CreatedByAccount, string, 0),
	/* InvalidInput */
	MEMBER(Message, string, 0),
	/* ListInstancesRequest */
	MEMBER(NextToken, string_to_4096, 0),
	MEMBER(ServiceId, string_to_64, REQUIRED),
	MEMBER(MaxResults, integer_from_1_to_100, 0),
	/* ListInstancesResponse */
	MEMBER(Instances, list_of_InstanceSummary_as_InstanceSummary, 0),
	MEMBER(NextToken, string_to_4096, 0),
	MEMBER(ResourceOwner, string, 0),
	/* ListNamespacesRequest */
	MEMBER(Filters, list_of_NamespaceFilter_as_item, 0),
	MEMBER(NextToken, string_to_4096, 0),
	MEMBER(MaxResults, integer_from_1_to_100, 0),
	/* ListNamespacesResponse */
	MEMBER(NextToken, string_to_4096, 0),
	MEMBER(Namespaces, list_of_NamespaceSummary, 0),
	/* ListOperationsRequest */
	MEMBER(Filters, list_of_OperationFilter_as_item, 0),
	MEMBER(NextToken, string_to_4096, 0),
	MEMBER(MaxResults, integer_from_1_to_100, 0),
	/* ListOperationsResponse */
	MEMBER(NextToken, string_to_4096, 0),
	MEMBER(Operations, list_of_OperationSummary_as_OperationSummary, 0),
	/* ListServicesRequest */
	MEMBER(Filters, list_of_ServiceFilter_as_item, 0),
	MEMBER(NextToken, string_to_4096, 0),
	MEMBER(MaxResults, integer_from_1_to_100, 0),
	/* ListServicesResponse */
	MEMBER(Services, list_of_ServiceSummary, 0),
	MEMBER(NextToken, string_to_4096, 0),
	/* ListTagsForResourceRequest */
	MEMBER(ResourceARN, string_from_1_to_1011, REQUIRED),
	/* ListTagsForResourceResponse */
	MEMBER(Tags, list_of_Tag_from_0_to_200, 0),
	/* Namespace */
	MEMBER(Id, string_to_64, 0),
	MEMBER(Arn, string_to_255, 0),
	MEMBER(Name, string_to_1024, 0),
	MEMBER(Type, NamespaceType, 0),
	MEMBER(CreateDate, timestamp, 0),
	MEMBER(Properties, NamespaceProperties, 0),
	MEMBER(Description, string_to_1024, 0),
	MEMBER(ServiceCount, integer, 0),
	MEMBER(ResourceOwner, string, 0),
	MEMBER(CreatorRequestId, string_to_64, 0),
	/* NamespaceAlreadyExists */
	MEMBER(Message, string, 0),
	MEMBER(NamespaceId, string_to_64, 0),
	MEMBER(CreatorRequestId, string_to_64, 0),
	/* NamespaceFilter */
	MEMBER(Name, NamespaceFilterName, REQUIRED),
	MEMBER(Values, list_of_string_from_1_to_255_as_item, REQUIRED),
	MEMBER(Condition, FilterCondition, 0),
	/* NamespaceNotFound */
	MEMBER(Message, string, 0),
	/* NamespaceProperties */
	MEMBER(DnsProperties, DnsProperties, 0),
	MEMBER(HttpProperties, HttpProperties, 0),
	/* NamespaceSummary */
	MEMBER(Id, string_to_64, 0),
	MEMBER(Arn, string_to_255, 0),
	MEMBER(Name, string_to_1024, 0),
	MEMBER(Type, NamespaceType, 0),
	MEMBER(CreateDate, timestamp, 0),
	MEMBER(Properties, NamespaceProperties, 0),
	MEMBER(Description, string_to_1024, 0),
	MEMBER(ServiceCount, integer, 0),
	MEMBER(ResourceOwner, string, 0),
	/* Operation */
	MEMBER(Id, string_to_255, 0),
	MEMBER(Type, OperationType, 0),
	MEMBER(Status, OperationStatus, 0),
	MEMBER(Targets, map_of_string_to_64_by_OperationTargetType, 0),
	MEMBER(ErrorCode, string, 0),
	MEMBER(CreateDate, timestamp, 0),
	MEMBER(UpdateDate, timestamp, 0),
	MEMBER(ErrorMessage, string, 0),
	MEMBER(OwnerAccount, string, 0),
	/* OperationFilter */
	MEMBER(Name, OperationFilterName, REQUIRED),
	MEMBER(Values, list_of_string_from_1_to_255_as_item, REQUIRED),
	MEMBER(Condition, FilterCondition, 0),
	/* OperationNotFound */
	MEMBER(Message, string, 0),
	/* OperationSummary */
	MEMBER(Id, string_to_255, 0),
	MEMBER(Status, OperationStatus, 0),
	/* PrivateDnsNamespaceChange */
	MEMBER(Properties, PrivateDnsNamespacePropertiesChange, 0),
	MEMBER(Description, string_to_1024, 0),
	/* PrivateDnsNamespaceProperties */
	MEMBER(DnsProperties, PrivateDnsPropertiesMutable, REQUIRED),
	/* PrivateDnsNamespacePropertiesChange */
	MEMBER(DnsProperties, PrivateDnsPropertiesMutableChange, REQUIRED),
	/* PrivateDnsPropertiesMutable */
	MEMBER(SOA, SOA, REQUIRED),
	/* PrivateDnsPropertiesMutableChange */
	MEMBER(SOA, SOAChange, REQUIRED),
	/* PublicDnsNamespaceChange */
	MEMBER(Properties, PublicDnsNamespacePropertiesChange, 0),
	MEMBER(Description, string_to_1024, 0),
	/* PublicDnsNamespaceProperties */
	MEMBER(DnsProperties, PublicDnsPropertiesMutable, REQUIRED),
	/* PublicDnsNamespacePropertiesChange */
	MEMBER(DnsProperties, PublicDnsPropertiesMutableChange, REQUIRED),
	/* PublicDnsPropertiesMutable */
	MEMBER(SOA, SOA, REQUIRED),
	/* PublicDnsPropertiesMutableChange */
	MEMBER(SOA, SOAChange, REQUIRED),
	/* RegisterInstanceRequest */
	MEMBER(ServiceId, string_to_64, REQUIRED),
	MEMBER(Attributes, map_of_string_to_1024_by_string_to_255, REQUIRED),
	MEMBER(InstanceId, string_to_64, REQUIRED),
	MEMBER(CreatorRequestId, string_to_64, TOKEN),
	/* RegisterInstanceResponse */
	MEMBER(OperationId, string_to_255, 0),
	/* RequestLimitExceeded */
	MEMBER(Message, string, 0),
	/* ResourceInUse */
	MEMBER(Message, string, 0),
	/* ResourceLimitExceeded */
	MEMBER(Message, string, 0),
	/* ResourceNotFoundException */
	MEMBER(Message, string, 0),
	/* SOA */
	MEMBER(TTL, long_from_0_to_2147483647, REQUIRED),
	/* SOAChange */
	MEMBER(TTL, long_from_0_to_2147483647, REQUIRED),
	/* Service */
	MEMBER(Id, string_to_64, 0),
	MEMBER(Arn, string_to_255, 0),
	MEMBER(Name, string, 0),
	MEMBER(Type, ServiceType, 0),
	MEMBER(DnsConfig, DnsConfig, 0),
	MEMBER(CreateDate, timestamp, 0),
	MEMBER(Description, string_to_1024, 0),
	MEMBER(NamespaceId, string_to_64, 0),
	MEMBER(InstanceCount, integer, 0),
	MEMBER(ResourceOwner, string, 0),
	MEMBER(CreatedByAccount, string, 0),
	MEMBER(CreatorRequestId, string_to_64, 0),
	MEMBER(HealthCheckConfig, HealthCheckConfig, 0),
	MEMBER(HealthCheckCustomConfig, HealthCheckCustomConfig, 0),
	/* ServiceAlreadyExists */
	MEMBER(Message, string, 0),
	MEMBER(ServiceId, string_to_64, 0),
	MEMBER(ServiceArn, string, 0),
	MEMBER(CreatorRequestId, string_to_64, 0),
	/* ServiceAttributes */
	MEMBER(Attributes, map_of_string, 0),
	MEMBER(ServiceArn, string, 0),
	MEMBER(ResourceOwner, string, 0),
	/* ServiceAttributesLimitExceededException */
	MEMBER(Message, string, 0),
	/* ServiceChange */
	MEMBER(DnsConfig, DnsConfigChange, 0),
	MEMBER(Description, string_to_1024, 0),
	MEMBER(HealthCheckConfig, HealthCheckConfig, 0),
	/* ServiceFilter */
	MEMBER(Name, ServiceFilterName, REQUIRED),
	MEMBER(Values, list_of_string_from_1_to_255_as_item, REQUIRED),
	MEMBER(Condition, FilterCondition, 0),
	/* ServiceNotFound */
	MEMBER(Message, string, 0),
	/* ServiceSummary */
	MEMBER(Id, string_to_64, 0),
	MEMBER(Arn, string_to_255, 0),
	MEMBER(Name, string, 0),
	MEMBER(Type, ServiceType, 0),
	MEMBER(DnsConfig, DnsConfig, 0),
	MEMBER(CreateDate, timestamp, 0),
	MEMBER(Description, string_to_1024, 0),
	MEMBER(InstanceCount, integer, 0),
	MEMBER(ResourceOwner, string, 0),
	MEMBER(CreatedByAccount, string, 0),
	MEMBER(HealthCheckConfig, HealthCheckConfig, 0),
	MEMBER(HealthCheckCustomConfig, HealthCheckCustomConfig, 0),
	/* Tag */
	MEMBER(Key, string_from_1_to_128, REQUIRED),
	MEMBER(Value, string_from_0_to_256, REQUIRED),
	/* TagResourceRequest */
	MEMBER(Tags, list_of_Tag_from_0_to_200, REQUIRED),
	MEMBER(ResourceARN, string_from_1_to_1011, REQUIRED),
	/* TooManyTagsException */
	MEMBER(Message, string, 0),
	MEMBER(ResourceName, string_from_1_to_1011, 0),
	/* UntagResourceRequest */
	MEMBER(TagKeys, list_of_string_from_1_to_128_from_0_to_200, REQUIRED),
	MEMBER(ResourceARN, string_from_1_to_1011, REQUIRED),
	/* UpdateHttpNamespaceRequest */
	MEMBER(Id, string_to_64, REQUIRED),
	MEMBER(Namespace, HttpNamespaceChange, REQUIRED),
	MEMBER(UpdaterRequestId, string_to_64, TOKEN),
	/* UpdateHttpNamespaceResponse */
	MEMBER(OperationId, string_to_255, 0),
	/* UpdateInstanceCustomHealthStatusRequest */
	MEMBER(Status, CustomHealthStatus, REQUIRED),
	MEMBER(ServiceId, string_to_64, REQUIRED),
	MEMBER(InstanceId, string_to_64, REQUIRED),
	/* UpdatePrivateDnsNamespaceRequest */
	MEMBER(Id, string_to_64, REQUIRED),
	MEMBER(Namespace, PrivateDnsNamespaceChange, REQUIRED),
	MEMBER(UpdaterRequestId, string_to_64, TOKEN),
	/* UpdatePrivateDnsNamespaceResponse */
	MEMBER(OperationId, string_to_255, 0),
	/* UpdatePublicDnsNamespaceRequest */
	MEMBER(Id, string_to_64, REQUIRED),
	MEMBER(Namespace, PublicDnsNamespaceChange, REQUIRED),
	MEMBER(UpdaterRequestId, string_to_64, TOKEN),
	/* UpdatePublicDnsNamespaceResponse */
	MEMBER(OperationId, string_to_255, 0),
	/* UpdateServiceAttributesRequest */
	MEMBER(ServiceId, string, REQUIRED),
	MEMBER(Attributes, map_of_string, REQUIRED),
	/* UpdateServiceRequest */
	MEMBER(Id, string_to_64, REQUIRED),
	MEMBER(Service, ServiceChange, REQUIRED),
	/* UpdateServiceResponse */
	MEMBER(OperationId, string_to_255, 0),
};

/* Where the values of an enum begin and end. */
enum {
	RANGE(E_CustomHealthStatus, 2),
	RANGE(E_FilterCondition, 4),
	RANGE(E_HealthCheckType, 3),
	RANGE(E_HealthStatus, 3),
	RANGE(E_HealthStatusFilter, 4),
	RANGE(E_NamespaceFilterName, 4),
	RANGE(E_NamespaceType, 3),
	RANGE(E_OperationFilterName, 5),
	RANGE(E_OperationStatus, 4),
	RANGE(E_OperationTargetType, 3),
	RANGE(E_OperationType, 6),
	RANGE(E_RecordType, 4),
	RANGE(E_RoutingPolicy, 2),
	RANGE(E_ServiceFilterName, 2),
	RANGE(E_ServiceType, 3),
	RANGE(E_ServiceTypeOption, 1),
};

static const struct shape_name values[] = {
	/* CustomHealthStatus */
	NAME(HEALTHY), NAME(UNHEALTHY),
	/* FilterCondition */
	NAME(BEGINS_WITH), NAME(BETWEEN), NAME(EQ), NAME(IN),
	/* HealthCheckType */
	NAME(HTTP), NAME(HTTPS), NAME(TCP),
	/* HealthStatus */
	NAME(HEALTHY), NAME(UNHEALTHY), NAME(UNKNOWN),
	/* HealthStatusFilter */
	NAME(ALL), NAME(HEALTHY), NAME(HEALTHY_OR_ELSE_ALL), NAME(UNHEALTHY),
	/* NamespaceFilterName */
	NAME(HTTP_NAME), NAME(NAME), NAME(RESOURCE_OWNER), NAME(TYPE),
	/* NamespaceType */
	NAME(DNS_PRIVATE), NAME(DNS_PUBLIC), NAME(HTTP),
	/* OperationFilterName */
	NAME(NAMESPACE_ID), NAME(SERVICE_ID), NAME(STATUS), NAME(TYPE), NAME(UPDATE_DATE),
	/* OperationStatus */
	NAME(FAIL), NAME(PENDING), NAME(SUBMITTED), NAME(SUCCESS),
	/* OperationTargetType */
	NAME(INSTANCE), NAME(NAMESPACE), NAME(SERVICE),
	/* OperationType */
	NAME(CREATE_NAMESPACE), NAME(DELETE_NAMESPACE), NAME(DEREGISTER_INSTANCE),
	NAME(REGISTER_INSTANCE), NAME(UPDATE_NAMESPACE), NAME(UPDATE_SERVICE),
	/* RecordType */
	NAME(A), NAME(AAAA), NAME(CNAME), NAME(SRV),
	/* RoutingPolicy */
	NAME(MULTIVALUE), NAME(WEIGHTED),
	/* ServiceFilterName */
	NAME(NAMESPACE_ID), NAME(RESOURCE_OWNER),
	/* ServiceType */
	NAME(DNS), NAME(DNS_HTTP), NAME(HTTP),
	/* ServiceTypeOption */
	NAME(HTTP),
};

enum { L_none,
	L_any_to_64, L_any_to_253, L_any_to_255, L_any_to_1024, L_any_to_4096, L_0_to_200,
	L_0_to_256, L_0_to_2147483647, L_1_to_any, L_1_to_10, L_1_to_30, L_1_to_100, L_1_to_128,
	L_1_to_255, L_1_to_1000, L_1_to_1011,
};

static const struct shape_limits limits[] = {
	[L_none] = {INT64_MIN, INT64_MAX},
	[L_any_to_64] = {INT64_MIN, 64},
	[L_any_to_253] = {INT64_MIN, 253},
	[L_any_to_255] = {INT64_MIN, 255},
	[L_any_to_1024] = {INT64_MIN, 1024},
	[L_any_to_4096] = {INT64_MIN, 4096},
	[L_0_to_200] = {0, 200},
	[L_0_to_256] = {0, 256},
	[L_0_to_2147483647] = {0, 2147483647},
	[L_1_to_any] = {1, INT64_MAX},
	[L_1_to_10] = {1, 10},
	[L_1_to_30] = {1, 30},
	[L_1_to_100] = {1, 100},
	[L_1_to_128] = {1, 128},
	[L_1_to_255] = {1, 255},
	[L_1_to_1000] = {1, 1000},
	[L_1_to_1011] = {1, 1011},
};

static const struct shape shapes[] = {
	[S_CreateHttpNamespaceRequest] = {STRUCTURE(CreateHttpNamespaceRequest), .required = 1},
	[S_CreateHttpNamespaceResponse] = {STRUCTURE(CreateHttpNamespaceResponse)},
	[S_CreatePrivateDnsNamespaceRequest] = {STRUCTURE(CreatePrivateDnsNamespaceRequest), .required = 2},
	[S_CreatePrivateDnsNamespaceResponse] = {STRUCTURE(CreatePrivateDnsNamespaceResponse)},
	[S_CreatePublicDnsNamespaceRequest] = {STRUCTURE(CreatePublicDnsNamespaceRequest), .required = 1},
	[S_CreatePublicDnsNamespaceResponse] = {STRUCTURE(CreatePublicDnsNamespaceResponse)},
	[S_CreateServiceRequest] = {STRUCTURE(CreateServiceRequest), .required = 1},
	[S_CreateServiceResponse] = {STRUCTURE(CreateServiceResponse)},
	[S_CustomHealthNotFound] = {STRUCTURE(CustomHealthNotFound), .status = 404, .flags = ERROR},
	[S_CustomHealthStatus] = {ENUM(CustomHealthStatus)},
	[S_DeleteNamespaceRequest] = {STRUCTURE(DeleteNamespaceRequest), .required = 1},
	[S_DeleteNamespaceResponse] = {STRUCTURE(DeleteNamespaceResponse)},
	[S_DeleteServiceAttributesRequest] = {STRUCTURE(DeleteServiceAttributesRequest), .required = 2},
	[S_DeleteServiceAttributesResponse] = {STRUCTURE(DeleteServiceAttributesResponse)},
	[S_DeleteServiceRequest] = {STRUCTURE(DeleteServiceRequest), .required = 1},
	[S_DeleteServiceResponse] = {STRUCTURE(DeleteServiceResponse)},
	[S_DeregisterInstanceRequest] = {STRUCTURE(DeregisterInstanceRequest), .required = 2},
	[S_DeregisterInstanceResponse] = {STRUCTURE(DeregisterInstanceResponse)},
	[S_DiscoverInstancesRequest] = {STRUCTURE(DiscoverInstancesRequest), .required = 2},
	[S_DiscoverInstancesResponse] = {STRUCTURE(DiscoverInstancesResponse)},
	[S_DiscoverInstancesRevisionRequest] = {STRUCTURE(DiscoverInstancesRevisionRequest), .required = 2},
	[S_DiscoverInstancesRevisionResponse] = {STRUCTURE(DiscoverInstancesRevisionResponse)},
	[S_DnsConfig] = {STRUCTURE(DnsConfig), .required = 1},
	[S_DnsConfigChange] = {STRUCTURE(DnsConfigChange), .required = 1},
	[S_DnsProperties] = {STRUCTURE(DnsProperties)},
	[S_DnsRecord] = {STRUCTURE(DnsRecord), .required = 2},
	[S_DuplicateRequest] = {STRUCTURE(DuplicateRequest), .status = 409, .flags = ERROR},
	[S_FilterCondition] = {ENUM(FilterCondition)},
	[S_GetInstanceRequest] = {STRUCTURE(GetInstanceRequest), .required = 2},
	[S_GetInstanceResponse] = {STRUCTURE(GetInstanceResponse)},
	[S_GetInstancesHealthStatusRequest] = {STRUCTURE(GetInstancesHealthStatusRequest), .required = 1},
	[S_GetInstancesHealthStatusResponse] = {STRUCTURE(GetInstancesHealthStatusResponse)},
	[S_GetNamespaceRequest] = {STRUCTURE(GetNamespaceRequest), .required = 1},
	[S_GetNamespaceResponse] = {STRUCTURE(GetNamespaceResponse)},
	[S_GetOperationRequest] = {STRUCTURE(GetOperationRequest), .required = 1},
	[S_GetOperationResponse] = {STRUCTURE(GetOperationResponse)},
	[S_GetServiceAttributesRequest] = {STRUCTURE(GetServiceAttributesRequest), .required = 1},
	[S_GetServiceAttributesResponse] = {STRUCTURE(GetServiceAttributesResponse)},
	[S_GetServiceRequest] = {STRUCTURE(GetServiceRequest), .required = 1},
	[S_GetServiceResponse] = {STRUCTURE(GetServiceResponse)},
	[S_HealthCheckConfig] = {STRUCTURE(HealthCheckConfig), .required = 1},
	[S_HealthCheckCustomConfig] = {STRUCTURE(HealthCheckCustomConfig)},
	[S_HealthCheckType] = {ENUM(HealthCheckType)},
	[S_HealthStatus] = {ENUM(HealthStatus)},
	[S_HealthStatusFilter] = {ENUM(HealthStatusFilter)},
	[S_HttpInstanceSummary] = {STRUCTURE(HttpInstanceSummary)},
	[S_HttpNamespaceChange] = {STRUCTURE(HttpNamespaceChange), .required = 1},
	[S_HttpProperties] = {STRUCTURE(HttpProperties)},
	[S_Instance] = {STRUCTURE(Instance), .required = 1},
	[S_InstanceNotFound] = {STRUCTURE(InstanceNotFound), .status = 404, .flags = ERROR},
	[S_InstanceSummary] = {STRUCTURE(InstanceSummary)},
	[S_InvalidInput] = {STRUCTURE(InvalidInput), .status = 400, .flags = ERROR},
	[S_ListInstancesRequest] = {STRUCTURE(ListInstancesRequest), .required = 1},
	[S_ListInstancesResponse] = {STRUCTURE(ListInstancesResponse)},
	[S_ListNamespacesRequest] = {STRUCTURE(ListNamespacesRequest)},
	[S_ListNamespacesResponse] = {STRUCTURE(ListNamespacesResponse)},
	[S_ListOperationsRequest] = {STRUCTURE(ListOperationsRequest)},
	[S_ListOperationsResponse] = {STRUCTURE(ListOperationsResponse)},
	[S_ListServicesRequest] = {STRUCTURE(ListServicesRequest)},
	[S_ListServicesResponse] = {STRUCTURE(ListServicesResponse)},
	[S_ListTagsForResourceRequest] = {STRUCTURE(ListTagsForResourceRequest), .required = 1},
	[S_ListTagsForResourceResponse] = {STRUCTURE(ListTagsForResourceResponse)},
	[S_Namespace] = {STRUCTURE(Namespace)},
	[S_NamespaceAlreadyExists] = {STRUCTURE(NamespaceAlreadyExists), .status = 400, .flags = ERROR},
	[S_NamespaceFilter] = {STRUCTURE(NamespaceFilter), .required = 2},
	[S_NamespaceFilterName] = {ENUM(NamespaceFilterName)},
	[S_NamespaceNotFound] = {STRUCTURE(NamespaceNotFound), .status = 404, .flags = ERROR},
	[S_NamespaceProperties] = {STRUCTURE(NamespaceProperties)},
	[S_NamespaceSummary] = {STRUCTURE(NamespaceSummary)},
	[S_NamespaceType] = {ENUM(NamespaceType)},
	[S_Nothing] = {STRUCTURE(Nothing)},
	[S_Operation] = {STRUCTURE(Operation)},
	[S_OperationFilter] = {STRUCTURE(OperationFilter), .required = 2},
	[S_OperationFilterName] = {ENUM(OperationFilterName)},
	[S_OperationNotFound] = {STRUCTURE(OperationNotFound), .status = 404, .flags = ERROR},
	[S_OperationStatus] = {ENUM(OperationStatus)},
	[S_OperationSummary] = {STRUCTURE(OperationSummary)},
	[S_OperationTargetType] = {ENUM(OperationTargetType)},
	[S_OperationType] = {ENUM(OperationType)},
	[S_PrivateDnsNamespaceChange] = {STRUCTURE(PrivateDnsNamespaceChange)},
	[S_PrivateDnsNamespaceProperties] = {STRUCTURE(PrivateDnsNamespaceProperties), .required = 1},
	[S_PrivateDnsNamespacePropertiesChange] = {STRUCTURE(PrivateDnsNamespacePropertiesChange), .required = 1},
	[S_PrivateDnsPropertiesMutable] = {STRUCTURE(PrivateDnsPropertiesMutable), .required = 1},
	[S_PrivateDnsPropertiesMutableChange] = {STRUCTURE(PrivateDnsPropertiesMutableChange), .required = 1},
	[S_PublicDnsNamespaceChange] = {STRUCTURE(PublicDnsNamespaceChange)},
	[S_PublicDnsNamespaceProperties] = {STRUCTURE(PublicDnsNamespaceProperties), .required = 1},
	[S_PublicDnsNamespacePropertiesChange] = {STRUCTURE(PublicDnsNamespacePropertiesChange), .required = 1},
	[S_PublicDnsPropertiesMutable] = {STRUCTURE(PublicDnsPropertiesMutable), .required = 1},
	[S_PublicDnsPropertiesMutableChange] = {STRUCTURE(PublicDnsPropertiesMutableChange), .required = 1},
	[S_RecordType] = {ENUM(RecordType)},
	[S_RegisterInstanceRequest] = {STRUCTURE(RegisterInstanceRequest), .required = 3},
	[S_RegisterInstanceResponse] = {STRUCTURE(RegisterInstanceResponse)},
	[S_RequestLimitExceeded] = {STRUCTURE(RequestLimitExceeded), .status = 429, .flags = ERROR},
	[S_ResourceInUse] = {STRUCTURE(ResourceInUse), .status = 409, .flags = ERROR},
	[S_ResourceLimitExceeded] = {STRUCTURE(ResourceLimitExceeded), .status = 400, .flags = ERROR},
	[S_ResourceNotFoundException] = {STRUCTURE(ResourceNotFoundException), .status = 404, .flags = ERROR},
	[S_RoutingPolicy] = {ENUM(RoutingPolicy)},
	[S_SOA] = {STRUCTURE(SOA), .required = 1},
	[S_SOAChange] = {STRUCTURE(SOAChange), .required = 1},
	[S_Service] = {STRUCTURE(Service)},
	[S_ServiceAlreadyExists] = {STRUCTURE(ServiceAlreadyExists), .status = 400, .flags = ERROR},
	[S_ServiceAttributes] = {STRUCTURE(ServiceAttributes)},
	[S_ServiceAttributesLimitExceededException] = {STRUCTURE(ServiceAttributesLimitExceededException), .status = 400, .flags = ERROR},
	[S_ServiceChange] = {STRUCTURE(ServiceChange)},
	[S_ServiceFilter] = {STRUCTURE(ServiceFilter), .required = 2},
	[S_ServiceFilterName] = {ENUM(ServiceFilterName)},
	[S_ServiceNotFound] = {STRUCTURE(ServiceNotFound), .status = 404, .flags = ERROR},
	[S_ServiceSummary] = {STRUCTURE(ServiceSummary)},
	[S_ServiceType] = {ENUM(ServiceType)},
	[S_ServiceTypeOption] = {ENUM(ServiceTypeOption)},
	[S_Tag] = {STRUCTURE(Tag), .required = 2},
	[S_TagResourceRequest] = {STRUCTURE(TagResourceRequest), .required = 2},
	[S_TagResourceResponse] = {STRUCTURE(TagResourceResponse)},
	[S_TooManyTagsException] = {STRUCTURE(TooManyTagsException), .status = 400, .flags = ERROR},
	[S_UntagResourceRequest] = {STRUCTURE(UntagResourceRequest), .required = 2},
	[S_UntagResourceResponse] = {STRUCTURE(UntagResourceResponse)},
	[S_UpdateHttpNamespaceRequest] = {STRUCTURE(UpdateHttpNamespaceRequest), .required = 2},
	[S_UpdateHttpNamespaceResponse] = {STRUCTURE(UpdateHttpNamespaceResponse)},
	[S_UpdateInstanceCustomHealthStatusRequest] = {STRUCTURE(UpdateInstanceCustomHealthStatusRequest), .required = 3},
	[S_UpdatePrivateDnsNamespaceRequest] = {STRUCTURE(UpdatePrivateDnsNamespaceRequest), .required = 2},
	[S_UpdatePrivateDnsNamespaceResponse] = {STRUCTURE(UpdatePrivateDnsNamespaceResponse)},
	[S_UpdatePublicDnsNamespaceRequest] = {STRUCTURE(UpdatePublicDnsNamespaceRequest), .required = 2},
	[S_UpdatePublicDnsNamespaceResponse] = {STRUCTURE(UpdatePublicDnsNamespaceResponse)},
	[S_UpdateServiceAttributesRequest] = {STRUCTURE(UpdateServiceAttributesRequest), .required = 2},
	[S_UpdateServiceAttributesResponse] = {STRUCTURE(UpdateServiceAttributesResponse)},
	[S_UpdateServiceRequest] = {STRUCTURE(UpdateServiceRequest), .required = 2},
	[S_UpdateServiceResponse] = {STRUCTURE(UpdateServiceResponse)},
	[S_integer] = {.type = SHAPE_INTEGER},
	[S_integer_from_1_to_10] = {.type = SHAPE_INTEGER, .limits = L_1_to_10},
	[S_integer_from_1_to_100] = {.type = SHAPE_INTEGER, .limits = L_1_to_100},
	[S_integer_from_1_to_1000] = {.type = SHAPE_INTEGER, .limits = L_1_to_1000},
	[S_list_of_DnsRecord] = {.type = SHAPE_LIST, .element = S_DnsRecord},
	[S_list_of_HttpInstanceSummary] = {.type = SHAPE_LIST, .element = S_HttpInstanceSummary},
	[S_list_of_InstanceSummary_as_InstanceSummary] = {.type = SHAPE_LIST, .element = S_InstanceSummary, .wire_name = NAME(InstanceSummary)},
	[S_list_of_NamespaceFilter_as_item] = {.type = SHAPE_LIST, .element = S_NamespaceFilter, .wire_name = NAME(item)},
	[S_list_of_NamespaceSummary] = {.type = SHAPE_LIST, .element = S_NamespaceSummary},
	[S_list_of_OperationFilter_as_item] = {.type = SHAPE_LIST, .element = S_OperationFilter, .wire_name = NAME(item)},
	[S_list_of_OperationSummary_as_OperationSummary] = {.type = SHAPE_LIST, .element = S_OperationSummary, .wire_name = NAME(OperationSummary)},
	[S_list_of_ServiceFilter_as_item] = {.type = SHAPE_LIST, .element = S_ServiceFilter, .wire_name = NAME(item)},
	[S_list_of_ServiceSummary] = {.type = SHAPE_LIST, .element = S_ServiceSummary},
	[S_list_of_Tag_from_0_to_200] = {.type = SHAPE_LIST, .element = S_Tag, .limits = L_0_to_200},
	[S_list_of_string_from_1_to_128_from_0_to_200] = {.type = SHAPE_LIST, .element = S_string_from_1_to_128, .limits = L_0_to_200},
	[S_list_of_string_from_1_to_255_as_item] = {.type = SHAPE_LIST, .element = S_string_from_1_to_255, .wire_name = NAME(item)},
	[S_list_of_string_to_255_from_1_to_30] = {.type = SHAPE_LIST, .element = S_string_to_255, .limits = L_1_to_30},
	[S_list_of_string_to_64_as_InstanceId_from_1] = {.type = SHAPE_LIST, .element = S_string_to_64, .wire_name = NAME(InstanceId), .limits = L_1_to_any},
	[S_long] = {.type = SHAPE_LONG},
	[S_long_from_0_to_2147483647] = {.type = SHAPE_LONG, .limits = L_0_to_2147483647},
	[S_map_of_HealthStatus_by_string_to_64] = {.type = SHAPE_MAP, .element = S_HealthStatus, .key = S_string_to_64},
	[S_map_of_string] = {.type = SHAPE_MAP, .element = S_string, .key = S_string},
	[S_map_of_string_to_1024_by_string_to_255] = {.type = SHAPE_MAP, .element = S_string_to_1024, .key = S_string_to_255},
	[S_map_of_string_to_64_by_OperationTargetType] = {.type = SHAPE_MAP, .element = S_string_to_64, .key = S_OperationTargetType},
	[S_string] = {.type = SHAPE_STRING},
	[S_string_from_0_to_256] = {.type = SHAPE_STRING, .limits = L_0_to_256},
	[S_string_from_1_to_1011] = {.type = SHAPE_STRING, .limits = L_1_to_1011},
	[S_string_from_1_to_128] = {.type = SHAPE_STRING, .limits = L_1_to_128},
	[S_string_from_1_to_255] = {.type = SHAPE_STRING, .limits = L_1_to_255},
	[S_string_to_1024] = {.type = SHAPE_STRING, .limits = L_any_to_1024},
	[S_string_to_253] = {.type = SHAPE_STRING, .limits = L_any_to_253},
	[S_string_to_255] = {.type = SHAPE_STRING, .limits = L_any_to_255},
	[S_string_to_4096] = {.type = SHAPE_STRING, .limits = L_any_to_4096},
	[S_string_to_64] = {.type = SHAPE_STRING, .limits = L_any_to_64},
	[S_timestamp] = {.type = SHAPE_TIMESTAMP},
};

/* Where the errors of an operation begin and end. */
enum {
	RANGE(X_CreateHttpNamespace, 5),
	RANGE(X_CreatePrivateDnsNamespace, 5),
	RANGE(X_CreatePublicDnsNamespace, 5),
	RANGE(X_CreateService, 5),
	RANGE(X_DeleteNamespace, 4),
	RANGE(X_DeleteService, 3),
	RANGE(X_DeleteServiceAttributes, 2),
	RANGE(X_DeregisterInstance, 5),
	RANGE(X_DiscoverInstances, 4),
	RANGE(X_DiscoverInstancesRevision, 4),
	RANGE(X_GetInstance, 3),
	RANGE(X_GetInstancesHealthStatus, 3),
	RANGE(X_GetNamespace, 2),
	RANGE(X_GetOperation, 2),
	RANGE(X_GetService, 2),
	RANGE(X_GetServiceAttributes, 2),
	RANGE(X_ListInstances, 2),
	RANGE(X_ListNamespaces, 1),
	RANGE(X_ListOperations, 1),
	RANGE(X_ListServices, 1),
	RANGE(X_ListTagsForResource, 2),
	RANGE(X_RegisterInstance, 5),
	RANGE(X_TagResource, 3),
	RANGE(X_UntagResource, 2),
	RANGE(X_UpdateHttpNamespace, 4),
	RANGE(X_UpdateInstanceCustomHealthStatus, 4),
	RANGE(X_UpdatePrivateDnsNamespace, 4),
	RANGE(X_UpdatePublicDnsNamespace, 4),
	RANGE(X_UpdateService, 3),
	RANGE(X_UpdateServiceAttributes, 3),
};

static const uint16_t errors[] = {
	/* CreateHttpNamespace */
	S_DuplicateRequest, S_InvalidInput, S_NamespaceAlreadyExists, S_ResourceLimitExceeded,
	S_TooManyTagsException,
	/* CreatePrivateDnsNamespace */
	S_DuplicateRequest, S_InvalidInput, S_NamespaceAlreadyExists, S_ResourceLimitExceeded,
	S_TooManyTagsException,
	/* CreatePublicDnsNamespace */
	S_DuplicateRequest, S_InvalidInput, S_NamespaceAlreadyExists, S_ResourceLimitExceeded,
	S_TooManyTagsException,
	/* CreateService */
	S_InvalidInput, S_NamespaceNotFound, S_ResourceLimitExceeded, S_ServiceAlreadyExists,
	S_TooManyTagsException,
	/* DeleteNamespace */
	S_DuplicateRequest, S_InvalidInput, S_NamespaceNotFound, S_ResourceInUse,
	/* DeleteService */
	S_InvalidInput, S_ResourceInUse, S_ServiceNotFound,
	/* DeleteServiceAttributes */
	S_InvalidInput, S_ServiceNotFound,
	/* DeregisterInstance */
	S_DuplicateRequest, S_InstanceNotFound, S_InvalidInput, S_ResourceInUse, S_ServiceNotFound,
	/* DiscoverInstances */
	S_InvalidInput, S_NamespaceNotFound, S_RequestLimitExceeded, S_ServiceNotFound,
	/* DiscoverInstancesRevision */
	S_InvalidInput, S_NamespaceNotFound, S_RequestLimitExceeded, S_ServiceNotFound,
	/* GetInstance */
	S_InstanceNotFound, S_InvalidInput, S_ServiceNotFound,
	/* GetInstancesHealthStatus */
	S_InstanceNotFound, S_InvalidInput, S_ServiceNotFound,
	/* GetNamespace */
	S_InvalidInput, S_NamespaceNotFound,
	/* GetOperation */
	S_InvalidInput, S_OperationNotFound,
	/* GetService */
	S_InvalidInput, S_ServiceNotFound,
	/* GetServiceAttributes */
	S_InvalidInput, S_ServiceNotFound,
	/* ListInstances */
	S_InvalidInput, S_ServiceNotFound,
	/* ListNamespaces */
	S_InvalidInput,
	/* ListOperations */
	S_InvalidInput,
	/* ListServices */
	S_InvalidInput,
	/* ListTagsForResource */
	S_InvalidInput, S_ResourceNotFoundException,
	/* RegisterInstance */
	S_DuplicateRequest, S_InvalidInput, S_ResourceInUse, S_ResourceLimitExceeded,
	S_ServiceNotFound,
	/* TagResource */
	S_InvalidInput, S_ResourceNotFoundException, S_TooManyTagsException,
	/* UntagResource */
	S_InvalidInput, S_ResourceNotFoundException,
	/* UpdateHttpNamespace */
	S_DuplicateRequest, S_InvalidInput, S_NamespaceNotFound, S_ResourceInUse,
	/* UpdateInstanceCustomHealthStatus */
	S_CustomHealthNotFound, S_InstanceNotFound, S_InvalidInput, S_ServiceNotFound,
	/* UpdatePrivateDnsNamespace */
	S_DuplicateRequest, S_InvalidInput, S_NamespaceNotFound, S_ResourceInUse,
	/* UpdatePublicDnsNamespace */
	S_DuplicateRequest, S_InvalidInput, S_NamespaceNotFound, S_ResourceInUse,
	/* UpdateService */
	S_DuplicateRequest, S_InvalidInput, S_ServiceNotFound,
	/* UpdateServiceAttributes */
	S_InvalidInput, S_ServiceAttributesLimitExceededException, S_ServiceNotFound,
};

static const struct shape_operation operations[] = {
	OPERATION(CreateHttpNamespace, CreateHttpNamespaceRequest, CreateHttpNamespaceResponse, InvalidInput),
	OPERATION(CreatePrivateDnsNamespace, CreatePrivateDnsNamespaceRequest, CreatePrivateDnsNamespaceResponse, InvalidInput),
	OPERATION(CreatePublicDnsNamespace, CreatePublicDnsNamespaceRequest, CreatePublicDnsNamespaceResponse, InvalidInput),
	OPERATION(CreateService, CreateServiceRequest, CreateServiceResponse, InvalidInput),
	OPERATION(DeleteNamespace, DeleteNamespaceRequest, DeleteNamespaceResponse, InvalidInput),
	OPERATION(DeleteService, DeleteServiceRequest, DeleteServiceResponse, InvalidInput),
	OPERATION(DeleteServiceAttributes, DeleteServiceAttributesRequest, DeleteServiceAttributesResponse, InvalidInput),
	OPERATION(DeregisterInstance, DeregisterInstanceRequest, DeregisterInstanceResponse, InvalidInput),
	OPERATION(DiscoverInstances, DiscoverInstancesRequest, DiscoverInstancesResponse, InvalidInput),
	OPERATION(DiscoverInstancesRevision, DiscoverInstancesRevisionRequest, DiscoverInstancesRevisionResponse, InvalidInput),
	OPERATION(GetInstance, GetInstanceRequest, GetInstanceResponse, InvalidInput),
	OPERATION(GetInstancesHealthStatus, GetInstancesHealthStatusRequest, GetInstancesHealthStatusResponse, InvalidInput),
	OPERATION(GetNamespace, GetNamespaceRequest, GetNamespaceResponse, InvalidInput),
	OPERATION(GetOperation, GetOperationRequest, GetOperationResponse, InvalidInput),
	OPERATION(GetService, GetServiceRequest, GetServiceResponse, InvalidInput),
	OPERATION(GetServiceAttributes, GetServiceAttributesRequest, GetServiceAttributesResponse, InvalidInput),
	OPERATION(ListInstances, ListInstancesRequest, ListInstancesResponse, InvalidInput),
	OPERATION(ListNamespaces, ListNamespacesRequest, ListNamespacesResponse, InvalidInput),
	OPERATION(ListOperations, ListOperationsRequest, ListOperationsResponse, InvalidInput),
	OPERATION(ListServices, ListServicesRequest, ListServicesResponse, InvalidInput),
	OPERATION(ListTagsForResource, ListTagsForResourceRequest, ListTagsForResourceResponse, InvalidInput),
	OPERATION(RegisterInstance, RegisterInstanceRequest, RegisterInstanceResponse, InvalidInput),
	OPERATION(TagResource, TagResourceRequest, TagResourceResponse, InvalidInput),
	OPERATION(UntagResource, UntagResourceRequest, UntagResourceResponse, InvalidInput),
	OPERATION(UpdateHttpNamespace, UpdateHttpNamespaceRequest, UpdateHttpNamespaceResponse, InvalidInput),
	OPERATION(UpdateInstanceCustomHealthStatus, UpdateInstanceCustomHealthStatusRequest, Nothing, InvalidInput),
	OPERATION(UpdatePrivateDnsNamespace, UpdatePrivateDnsNamespaceRequest, UpdatePrivateDnsNamespaceResponse, InvalidInput),
	OPERATION(UpdatePublicDnsNamespace, UpdatePublicDnsNamespaceRequest, UpdatePublicDnsNamespaceResponse, InvalidInput),
	OPERATION(UpdateService, UpdateServiceRequest, UpdateServiceResponse, InvalidInput),
	OPERATION(UpdateServiceAttributes, UpdateServiceAttributesRequest, UpdateServiceAttributesResponse, InvalidInput),
};

const struct shape_service shape_servicediscovery = {
	.name = "servicediscovery",
	.signing_name = "servicediscovery",
	.protocol = "json",
	.version = "2017-03-14",
	.target_prefix = "Route53AutoNaming_v20170314",
	SHAPE_TABLES,
};
