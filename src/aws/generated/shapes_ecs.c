/*
 * The shapes of Amazon EC2 Container Service.
 * Written by tools/generate-shapes; change that, or tools/shapes-ecs.json, and write it
 * again.
 */
/* clang-format off */
#include "aws/shape_table.h"

/* Every text of the table once; TEXT_ is for those that are no C identifier. */
#define NAMES(WORD_, TEXT_) \
	WORD_(ABORT) WORD_(ACCELERATED_COMPUTE) WORD_(ACTIVE) WORD_(AGENT_CONNECTIVITY) WORD_(ALL) \
	WORD_(APPMESH) WORD_(ARM64) WORD_(ASC) WORD_(ATTACHMENTS) WORD_(AVERAGE_CPU) \
	WORD_(AVERAGE_MEMORY) WORD_(AWAITING_ACTION) WORD_(AWS_LAMBDA) \
	WORD_(AcceleratorCountRequest) WORD_(AcceleratorManufacturer) WORD_(AcceleratorName) \
	WORD_(AcceleratorTotalMemoryMiBRequest) WORD_(AcceleratorType) \
	WORD_(AccessDeniedException) WORD_(AccessType) WORD_(AdvancedConfiguration) \
	WORD_(AgentUpdateStatus) WORD_(AllowedInstanceType) WORD_(ApplicationProtocol) \
	WORD_(AssignPublicIp) WORD_(AssociateGatewayWithCluster) \
	WORD_(AssociateGatewayWithClusterRequest) WORD_(AssociateGatewayWithClusterResponse) \
	WORD_(Attachment) WORD_(AttachmentStateChange) WORD_(Attribute) \
	WORD_(AttributeLimitExceededException) WORD_(AutoRepairActionsStatus) \
	WORD_(AutoRepairConfiguration) WORD_(AutoScalingGroupProvider) \
	WORD_(AutoScalingGroupProviderUpdate) WORD_(AvailabilityZoneRebalancing) \
	WORD_(AwsVpcConfiguration) WORD_(BAKE_TIME) WORD_(BASIC) WORD_(BLOCKING) WORD_(BLUE_GREEN) \
	WORD_(BOUNDED_PERCENT) WORD_(BareMetal) WORD_(BaselineEbsBandwidthMbpsRequest) \
	WORD_(BlockedException) WORD_(BurstablePerformance) WORD_(CANARY) WORD_(CAPACITY_PROVIDER) \
	WORD_(CLEAN_UP) WORD_(CODE_DEPLOY) WORD_(COMPLETE) WORD_(COMPLETED) WORD_(CONFIGURATIONS) \
	WORD_(CONNECTED) WORD_(CONTAINER_INSTANCE_HEALTH) WORD_(CONTAINER_RUNTIME) WORD_(CONTINUE) \
	WORD_(COUNT) WORD_(CPUArchitecture) WORD_(CREATE_COMPLETE) WORD_(CREATE_FAILED) \
	WORD_(CREATE_IN_PROGRESS) WORD_(CUSTOMER) WORD_(CanaryConfiguration) \
	WORD_(CapacityOptionType) WORD_(CapacityProvider) WORD_(CapacityProviderField) \
	WORD_(CapacityProviderStatus) WORD_(CapacityProviderStrategyItem) \
	WORD_(CapacityProviderType) WORD_(CapacityProviderUpdateStatus) \
	WORD_(CapacityReservationPreference) WORD_(CapacityReservationRequest) \
	WORD_(ClientException) WORD_(Cluster) WORD_(ClusterConfiguration) \
	WORD_(ClusterContainsCapacityProviderException) \
	WORD_(ClusterContainsContainerInstancesException) WORD_(ClusterContainsServicesException) \
	WORD_(ClusterContainsTasksException) WORD_(ClusterField) WORD_(ClusterNotFoundException) \
	WORD_(ClusterServiceConnectDefaults) WORD_(ClusterServiceConnectDefaultsRequest) \
	WORD_(ClusterSetting) WORD_(ClusterSettingName) WORD_(Compatibility) \
	WORD_(ConflictException) WORD_(Connectivity) WORD_(Container) WORD_(ContainerCondition) \
	WORD_(ContainerDefinition) WORD_(ContainerDependency) WORD_(ContainerImage) \
	WORD_(ContainerInstance) WORD_(ContainerInstanceField) \
	WORD_(ContainerInstanceHealthStatus) WORD_(ContainerInstanceStatus) \
	WORD_(ContainerOverride) WORD_(ContainerRestartPolicy) WORD_(ContainerStateChange) \
	WORD_(ContinueServiceDeployment) WORD_(ContinueServiceDeploymentRequest) \
	WORD_(ContinueServiceDeploymentResponse) WORD_(CpuManufacturer) \
	WORD_(CreateCapacityProvider) WORD_(CreateCapacityProviderRequest) \
	WORD_(CreateCapacityProviderResponse) WORD_(CreateCluster) WORD_(CreateClusterRequest) \
	WORD_(CreateClusterResponse) WORD_(CreateDaemon) WORD_(CreateDaemonRequest) \
	WORD_(CreateDaemonResponse) WORD_(CreateExpressGatewayService) \
	WORD_(CreateExpressGatewayServiceRequest) WORD_(CreateExpressGatewayServiceResponse) \
	WORD_(CreateGateway) WORD_(CreateGatewayRequest) WORD_(CreateGatewayResponse) \
	WORD_(CreateManagedInstancesProviderConfiguration) WORD_(CreateService) \
	WORD_(CreateServiceRequest) WORD_(CreateServiceResponse) WORD_(CreateTaskSet) \
	WORD_(CreateTaskSetRequest) WORD_(CreateTaskSetResponse) WORD_(CreatedAt) WORD_(DAEMON) \
	WORD_(DEDICATED) WORD_(DEFAULT) WORD_(DEFERRED) WORD_(DELETED) WORD_(DELETE_COMPLETE) \
	WORD_(DELETE_FAILED) WORD_(DELETE_IN_PROGRESS) WORD_(DEPROVISIONING) WORD_(DEREGISTERING) \
	WORD_(DESC) WORD_(DETAILED) WORD_(DISABLED) WORD_(DISASSOCIATING) WORD_(DISCONNECTED) \
	WORD_(DRAINING) WORD_(DaemonAlarmConfiguration) WORD_(DaemonCapacityProvider) \
	WORD_(DaemonCircuitBreaker) WORD_(DaemonContainerDefinition) WORD_(DaemonContainerImage) \
	WORD_(DaemonDeployment) WORD_(DaemonDeploymentAlarms) \
	WORD_(DaemonDeploymentCapacityProvider) WORD_(DaemonDeploymentConfiguration) \
	WORD_(DaemonDeploymentRevisionDetail) WORD_(DaemonDeploymentRollbackMonitorsStatus) \
	WORD_(DaemonDeploymentStatus) WORD_(DaemonDeploymentSummary) WORD_(DaemonDetail) \
	WORD_(DaemonIpcMode) WORD_(DaemonLinuxParameters) WORD_(DaemonNotActiveException) \
	WORD_(DaemonNotFoundException) WORD_(DaemonPidMode) WORD_(DaemonPropagateTags) \
	WORD_(DaemonRevision) WORD_(DaemonRevisionDetail) WORD_(DaemonRollback) \
	WORD_(DaemonStatus) WORD_(DaemonSummary) WORD_(DaemonTaskDefinition) \
	WORD_(DaemonTaskDefinitionRevisionFilter) WORD_(DaemonTaskDefinitionStatus) \
	WORD_(DaemonTaskDefinitionStatusFilter) WORD_(DaemonTaskDefinitionSummary) \
	WORD_(DaemonVolume) WORD_(DeleteAccountSetting) WORD_(DeleteAccountSettingRequest) \
	WORD_(DeleteAccountSettingResponse) WORD_(DeleteAttributes) WORD_(DeleteAttributesRequest) \
	WORD_(DeleteAttributesResponse) WORD_(DeleteCapacityProvider) \
	WORD_(DeleteCapacityProviderRequest) WORD_(DeleteCapacityProviderResponse) \
	WORD_(DeleteCluster) WORD_(DeleteClusterRequest) WORD_(DeleteClusterResponse) \
	WORD_(DeleteDaemon) WORD_(DeleteDaemonRequest) WORD_(DeleteDaemonResponse) \
	WORD_(DeleteDaemonTaskDefinition) WORD_(DeleteDaemonTaskDefinitionRequest) \
	WORD_(DeleteDaemonTaskDefinitionResponse) WORD_(DeleteExpressGatewayService) \
	WORD_(DeleteExpressGatewayServiceRequest) WORD_(DeleteExpressGatewayServiceResponse) \
	WORD_(DeleteGateway) WORD_(DeleteGatewayRequest) WORD_(DeleteGatewayResponse) \
	WORD_(DeleteService) WORD_(DeleteServiceRequest) WORD_(DeleteServiceResponse) \
	WORD_(DeleteTaskDefinitions) WORD_(DeleteTaskDefinitionsRequest) \
	WORD_(DeleteTaskDefinitionsResponse) WORD_(DeleteTaskSet) WORD_(DeleteTaskSetRequest) \
	WORD_(DeleteTaskSetResponse) WORD_(Deployment) WORD_(DeploymentAlarms) \
	WORD_(DeploymentCircuitBreaker) WORD_(DeploymentConfiguration) WORD_(DeploymentController) \
	WORD_(DeploymentControllerType) WORD_(DeploymentEarlySuccessCriteria) \
	WORD_(DeploymentEphemeralStorage) WORD_(DeploymentLifecycleHook) \
	WORD_(DeploymentLifecycleHookAction) WORD_(DeploymentLifecycleHookDetail) \
	WORD_(DeploymentLifecycleHookStage) WORD_(DeploymentLifecycleHookStatus) \
	WORD_(DeploymentLifecycleHookTargetType) \
	WORD_(DeploymentLifecycleHookTimeoutConfiguration) WORD_(DeploymentRolloutState) \
	WORD_(DeploymentStrategy) WORD_(DeregisterContainerInstance) \
	WORD_(DeregisterContainerInstanceRequest) WORD_(DeregisterContainerInstanceResponse) \
	WORD_(DeregisterTaskDefinition) WORD_(DeregisterTaskDefinitionRequest) \
	WORD_(DeregisterTaskDefinitionResponse) WORD_(DescribeCapacityProviders) \
	WORD_(DescribeCapacityProvidersRequest) WORD_(DescribeCapacityProvidersResponse) \
	WORD_(DescribeClusters) WORD_(DescribeClustersRequest) WORD_(DescribeClustersResponse) \
	WORD_(DescribeContainerInstances) WORD_(DescribeContainerInstancesRequest) \
	WORD_(DescribeContainerInstancesResponse) WORD_(DescribeDaemon) \
	WORD_(DescribeDaemonDeployments) WORD_(DescribeDaemonDeploymentsRequest) \
	WORD_(DescribeDaemonDeploymentsResponse) WORD_(DescribeDaemonRequest) \
	WORD_(DescribeDaemonResponse) WORD_(DescribeDaemonRevisions) \
	WORD_(DescribeDaemonRevisionsRequest) WORD_(DescribeDaemonRevisionsResponse) \
	WORD_(DescribeDaemonTaskDefinition) WORD_(DescribeDaemonTaskDefinitionRequest) \
	WORD_(DescribeDaemonTaskDefinitionResponse) WORD_(DescribeExpressGatewayService) \
	WORD_(DescribeExpressGatewayServiceRequest) WORD_(DescribeExpressGatewayServiceResponse) \
	WORD_(DescribeGateway) WORD_(DescribeGatewayAlbConfiguration) \
	WORD_(DescribeGatewayConfiguration) WORD_(DescribeGatewayRequest) \
	WORD_(DescribeGatewayResources) WORD_(DescribeGatewayResourcesRequest) \
	WORD_(DescribeGatewayResourcesResponse) WORD_(DescribeGatewayResponse) \
	WORD_(DescribeGatewayRoute) WORD_(DescribeGatewayRouteRequest) \
	WORD_(DescribeGatewayRouteResponse) WORD_(DescribeServiceDeployments) \
	WORD_(DescribeServiceDeploymentsRequest) WORD_(DescribeServiceDeploymentsResponse) \
	WORD_(DescribeServiceRevisions) WORD_(DescribeServiceRevisionsRequest) \
	WORD_(DescribeServiceRevisionsResponse) WORD_(DescribeServices) \
	WORD_(DescribeServicesRequest) WORD_(DescribeServicesResponse) \
	WORD_(DescribeTaskDefinition) WORD_(DescribeTaskDefinitionRequest) \
	WORD_(DescribeTaskDefinitionResponse) WORD_(DescribeTaskSets) \
	WORD_(DescribeTaskSetsRequest) WORD_(DescribeTaskSetsResponse) WORD_(DescribeTasks) \
	WORD_(DescribeTasksRequest) WORD_(DescribeTasksResponse) WORD_(DesiredStatus) \
	WORD_(Device) WORD_(DeviceCgroupPermission) WORD_(DisassociateGatewayFromCluster) \
	WORD_(DisassociateGatewayFromClusterRequest) WORD_(DisassociateGatewayFromClusterResponse) \
	WORD_(DiscoverPollEndpoint) WORD_(DiscoverPollEndpointRequest) \
	WORD_(DiscoverPollEndpointResponse) WORD_(DockerVolumeConfiguration) \
	WORD_(EBSResourceType) WORD_(EBSTagSpecification) WORD_(EC2) WORD_(EC2_AUTOSCALING) \
	WORD_(ECS) WORD_(ECSExpressGatewayService) WORD_(ECSManagedResources) \
	WORD_(EFSAuthorizationConfig) WORD_(EFSAuthorizationConfigIAM) WORD_(EFSTransitEncryption) \
	WORD_(EFSVolumeConfiguration) WORD_(ENABLED) WORD_(EXTERNAL) WORD_(ElbGatewayResources) \
	WORD_(EnvironmentFile) WORD_(EnvironmentFileType) WORD_(EphemeralStorage) \
	WORD_(EssentialContainerExited) WORD_(ExcludedInstanceType) WORD_(ExecuteCommand) \
	WORD_(ExecuteCommandAgent) WORD_(ExecuteCommandConfiguration) \
	WORD_(ExecuteCommandLogConfiguration) WORD_(ExecuteCommandLogging) \
	WORD_(ExecuteCommandRequest) WORD_(ExecuteCommandResponse) WORD_(ExpressCpuArchitecture) \
	WORD_(ExpressGatewayContainer) WORD_(ExpressGatewayRepositoryCredentials) \
	WORD_(ExpressGatewayScalingTarget) WORD_(ExpressGatewayServiceAwsLogsConfiguration) \
	WORD_(ExpressGatewayServiceConfiguration) WORD_(ExpressGatewayServiceInclude) \
	WORD_(ExpressGatewayServiceNetworkConfiguration) WORD_(ExpressGatewayServiceScalingMetric) \
	WORD_(ExpressGatewayServiceStatus) WORD_(ExpressGatewayServiceStatusCode) WORD_(FAILED) \
	WORD_(FARGATE) WORD_(FARGATE_SPOT) WORD_(FSxWindowsFileServerAuthorizationConfig) \
	WORD_(FSxWindowsFileServerVolumeConfiguration) WORD_(Failure) WORD_(FirelensConfiguration) \
	WORD_(FirelensConfigurationType) WORD_(GATEWAY) WORD_(GPU) WORD_(Gateway) \
	WORD_(GatewayAlbDesyncMitigationMode) WORD_(GatewayAlbProtocol) \
	WORD_(GatewayAlbTestTrafficRules) WORD_(GatewayClusterAssociationStatus) \
	WORD_(GatewayClusterAssociationSummary) WORD_(GatewayConfiguration) \
	WORD_(GatewayConnection) WORD_(GatewayConnectionAlbResources) \
	WORD_(GatewayConnectionResources) WORD_(GatewayConnector) WORD_(GatewayConnectorFilters) \
	WORD_(GatewayConnectorHealthCheck) WORD_(GatewayConnectorHealthCheckMatcher) \
	WORD_(GatewayConnectorHealthCheckProtocol) WORD_(GatewayElbAccessLogConfiguration) \
	WORD_(GatewayElbAccessLogDestination) WORD_(GatewayElbAccessLogS3Destination) \
	WORD_(GatewayElbIpAddressType) WORD_(GatewayElbNetworkConfiguration) \
	WORD_(GatewayElbScheme) WORD_(GatewayInfrastructureResources) \
	WORD_(GatewayNotFoundException) WORD_(GatewayOperationError) WORD_(GatewayResourceFailure) \
	WORD_(GatewayResources) WORD_(GatewayRoute) WORD_(GatewayRouteAlbResources) \
	WORD_(GatewayRouteLoadBalancerSecurityGroup) WORD_(GatewayRouteResources) \
	WORD_(GatewayRouteStatus) WORD_(GatewayRouteSummary) WORD_(GatewayStatus) \
	WORD_(GatewaySummary) WORD_(GatewayTestTrafficHeader) WORD_(GetTaskProtection) \
	WORD_(GetTaskProtectionRequest) WORD_(GetTaskProtectionResponse) WORD_(GpuDevice) \
	WORD_(GpuSharingMode) WORD_(HEALTHY) WORD_(HTTP) WORD_(HTTPS) WORD_(HealthCheck) \
	WORD_(HealthStatus) WORD_(HostEntry) WORD_(HostSharedAlbConfiguration) \
	WORD_(HostVolumeProperties) WORD_(IDLE) WORD_(IMPAIRED) WORD_(INACTIVE) \
	WORD_(INITIALIZING) WORD_(INSUFFICIENT_DATA) WORD_(IN_PROGRESS) \
	WORD_(InferenceAccelerator) WORD_(InferenceAcceleratorOverride) \
	WORD_(InfrastructureHealth) WORD_(InfrastructureOptimization) WORD_(IngressPathSummary) \
	WORD_(InstanceGeneration) WORD_(InstanceHealthCheckResult) WORD_(InstanceHealthCheckState) \
	WORD_(InstanceHealthCheckType) WORD_(InstanceLaunchTemplate) \
	WORD_(InstanceLaunchTemplateUpdate) WORD_(InstanceRequirementsRequest) \
	WORD_(InvalidParameterException) WORD_(IpcMode) WORD_(JSON) WORD_(KernelCapabilities) \
	WORD_(KeyValuePair) WORD_(LAST_REGISTERED) WORD_(LINEAR) WORD_(LINUX) WORD_(LaunchType) \
	WORD_(LimitExceededException) WORD_(LinearConfiguration) WORD_(LinuxParameters) \
	WORD_(ListAccountSettings) WORD_(ListAccountSettingsRequest) \
	WORD_(ListAccountSettingsResponse) WORD_(ListAttributes) WORD_(ListAttributesRequest) \
	WORD_(ListAttributesResponse) WORD_(ListClusters) WORD_(ListClustersRequest) \
	WORD_(ListClustersResponse) WORD_(ListContainerInstances) \
	WORD_(ListContainerInstancesRequest) WORD_(ListContainerInstancesResponse) \
	WORD_(ListDaemonDeployments) WORD_(ListDaemonDeploymentsRequest) \
	WORD_(ListDaemonDeploymentsResponse) WORD_(ListDaemonTaskDefinitions) \
	WORD_(ListDaemonTaskDefinitionsRequest) WORD_(ListDaemonTaskDefinitionsResponse) \
	WORD_(ListDaemons) WORD_(ListDaemonsRequest) WORD_(ListDaemonsResponse) \
	WORD_(ListGatewayClusterAssociations) WORD_(ListGatewayClusterAssociationsRequest) \
	WORD_(ListGatewayClusterAssociationsResponse) WORD_(ListGatewayRoutes) \
	WORD_(ListGatewayRoutesRequest) WORD_(ListGatewayRoutesResponse) WORD_(ListGateways) \
	WORD_(ListGatewaysRequest) WORD_(ListGatewaysResponse) WORD_(ListServiceDeployments) \
	WORD_(ListServiceDeploymentsRequest) WORD_(ListServiceDeploymentsResponse) \
	WORD_(ListServices) WORD_(ListServicesByNamespace) WORD_(ListServicesByNamespaceRequest) \
	WORD_(ListServicesByNamespaceResponse) WORD_(ListServicesRequest) \
	WORD_(ListServicesResponse) WORD_(ListTagsForResource) WORD_(ListTagsForResourceRequest) \
	WORD_(ListTagsForResourceResponse) WORD_(ListTaskDefinitionFamilies) \
	WORD_(ListTaskDefinitionFamiliesRequest) WORD_(ListTaskDefinitionFamiliesResponse) \
	WORD_(ListTaskDefinitions) WORD_(ListTaskDefinitionsRequest) \
	WORD_(ListTaskDefinitionsResponse) WORD_(ListTasks) WORD_(ListTasksRequest) \
	WORD_(ListTasksResponse) WORD_(LoadBalancer) WORD_(LocalStorage) WORD_(LocalStorageType) \
	WORD_(LogConfiguration) WORD_(LogDriver) WORD_(MANAGED_INSTANCES) WORD_(MONITORING) \
	WORD_(MONITORING_COMPLETE) WORD_(ManagedAgent) WORD_(ManagedAgentName) \
	WORD_(ManagedAgentStateChange) WORD_(ManagedApplicationAutoScalingPolicy) \
	WORD_(ManagedAutoScaling) WORD_(ManagedCertificate) WORD_(ManagedDraining) \
	WORD_(ManagedIngressPath) WORD_(ManagedInstancesLocalStorageConfiguration) \
	WORD_(ManagedInstancesMonitoringOptions) WORD_(ManagedInstancesNetworkConfiguration) \
	WORD_(ManagedInstancesProvider) WORD_(ManagedInstancesStorageConfiguration) \
	WORD_(ManagedListener) WORD_(ManagedListenerRule) WORD_(ManagedLoadBalancer) \
	WORD_(ManagedLogGroup) WORD_(ManagedMetricAlarm) WORD_(ManagedResourceStatus) \
	WORD_(ManagedScalableTarget) WORD_(ManagedScaling) WORD_(ManagedScalingStatus) \
	WORD_(ManagedSecurityGroup) WORD_(ManagedStorageConfiguration) WORD_(ManagedTargetGroup) \
	WORD_(ManagedTerminationProtection) WORD_(MemoryGiBPerVCpuRequest) WORD_(MemoryMiBRequest) \
	WORD_(MetricConfiguration) WORD_(MissingVersionException) WORD_(MonitoringConfiguration) \
	WORD_(MountPoint) WORD_(NEURON_DEVICE) WORD_(NONE) WORD_(NVIDIA_MPS) \
	WORD_(NamespaceNotFoundException) WORD_(NetworkBandwidthGbpsRequest) WORD_(NetworkBinding) \
	WORD_(NetworkConfiguration) WORD_(NetworkInterface) WORD_(NetworkInterfaceCountRequest) \
	WORD_(NetworkMode) WORD_(NeuronDevice) WORD_(NoUpdateAvailableException) \
	WORD_(NvidiaMpsAllocation) WORD_(OK) WORD_(ON_DEMAND) WORD_(OSFamily) WORD_(OVERRIDE) \
	WORD_(PAUSE) WORD_(PENDING) WORD_(PERCENT) WORD_(POST_PRODUCTION_TRAFFIC_SHIFT) \
	WORD_(POST_SCALE_UP) WORD_(POST_TEST_TRAFFIC_SHIFT) WORD_(PRE_PRODUCTION_TRAFFIC_SHIFT) \
	WORD_(PRE_SCALE_UP) WORD_(PRIVATE) WORD_(PRODUCTION_TRAFFIC_SHIFT) WORD_(PROVISIONING) \
	WORD_(PUBLIC) WORD_(PidMode) WORD_(PlacementConstraint) WORD_(PlacementConstraintType) \
	WORD_(PlacementStrategy) WORD_(PlacementStrategyType) WORD_(PlatformDevice) \
	WORD_(PlatformDeviceType) WORD_(PlatformTaskDefinitionIncompatibilityException) \
	WORD_(PlatformUnknownException) WORD_(PortMapping) WORD_(PropagateGatewayTags) \
	WORD_(PropagateMITags) WORD_(PropagateTags) WORD_(ProtectedTask) WORD_(ProxyConfiguration) \
	WORD_(ProxyConfigurationType) WORD_(PutAccountSetting) WORD_(PutAccountSettingDefault) \
	WORD_(PutAccountSettingDefaultRequest) WORD_(PutAccountSettingDefaultResponse) \
	WORD_(PutAccountSettingRequest) WORD_(PutAccountSettingResponse) WORD_(PutAttributes) \
	WORD_(PutAttributesRequest) WORD_(PutAttributesResponse) \
	WORD_(PutClusterCapacityProviders) WORD_(PutClusterCapacityProvidersRequest) \
	WORD_(PutClusterCapacityProvidersResponse) WORD_(RECONCILE_SERVICE) WORD_(REGISTERING) \
	WORD_(REGISTRATION_FAILED) WORD_(REPLICA) WORD_(REQUEST_COUNT_PER_TARGET) \
	WORD_(RESERVATIONS_EXCLUDED) WORD_(RESERVATIONS_FIRST) WORD_(RESERVATIONS_ONLY) \
	WORD_(RESERVED) WORD_(ROLLBACK) WORD_(ROLLBACK_FAILED) WORD_(ROLLBACK_IN_PROGRESS) \
	WORD_(ROLLBACK_REQUESTED) WORD_(ROLLBACK_SUCCESSFUL) WORD_(ROLLING) WORD_(RUNNING) \
	WORD_(RegisterContainerInstance) WORD_(RegisterContainerInstanceRequest) \
	WORD_(RegisterContainerInstanceResponse) WORD_(RegisterDaemonTaskDefinition) \
	WORD_(RegisterDaemonTaskDefinitionRequest) WORD_(RegisterDaemonTaskDefinitionResponse) \
	WORD_(RegisterTaskDefinition) WORD_(RegisterTaskDefinitionRequest) \
	WORD_(RegisterTaskDefinitionResponse) WORD_(RepositoryCredentials) \
	WORD_(ResolvedConfiguration) WORD_(Resource) WORD_(ResourceInUseException) \
	WORD_(ResourceManagementType) WORD_(ResourceNotFoundException) WORD_(ResourceRequirement) \
	WORD_(ResourceType) WORD_(Rollback) WORD_(RunTask) WORD_(RunTaskRequest) \
	WORD_(RunTaskResponse) WORD_(RuntimePlatform) WORD_(RuntimePlatformOverride) \
	WORD_(S3FilesVolumeConfiguration) WORD_(SCALE_UP) WORD_(SERVICE) WORD_(SETTINGS) \
	WORD_(SPOT) WORD_(STABILIZING) WORD_(STAGED) WORD_(STAGING) WORD_(START) WORD_(STATISTICS) \
	WORD_(STEADY_STATE) WORD_(STOPPED) WORD_(STOP_REQUESTED) WORD_(SUCCEEDED) WORD_(SUCCESS) \
	WORD_(SUCCESSFUL) WORD_(Scale) WORD_(ScaleUnit) WORD_(SchedulingStrategy) WORD_(Scope) \
	WORD_(Secret) WORD_(ServerException) WORD_(Service) \
	WORD_(ServiceConnectAccessLogConfiguration) WORD_(ServiceConnectAccessLoggingFormat) \
	WORD_(ServiceConnectClientAlias) WORD_(ServiceConnectConfiguration) \
	WORD_(ServiceConnectContainerConfiguration) WORD_(ServiceConnectContainerLogLevel) \
	WORD_(ServiceConnectIncludeQueryParameters) WORD_(ServiceConnectService) \
	WORD_(ServiceConnectServiceResource) WORD_(ServiceConnectTestTrafficHeaderMatchRules) \
	WORD_(ServiceConnectTestTrafficHeaderRules) WORD_(ServiceConnectTestTrafficRules) \
	WORD_(ServiceConnectTlsCertificateAuthority) WORD_(ServiceConnectTlsConfiguration) \
	WORD_(ServiceCurrentRevisionSummary) WORD_(ServiceDeployment) \
	WORD_(ServiceDeploymentAlarms) WORD_(ServiceDeploymentBrief) \
	WORD_(ServiceDeploymentCircuitBreaker) WORD_(ServiceDeploymentLifecycleStage) \
	WORD_(ServiceDeploymentNotFoundException) WORD_(ServiceDeploymentRollbackMonitorsStatus) \
	WORD_(ServiceDeploymentStatus) WORD_(ServiceEvent) WORD_(ServiceField) \
	WORD_(ServiceManagedEBSVolumeConfiguration) WORD_(ServiceNotActiveException) \
	WORD_(ServiceNotFoundException) WORD_(ServiceRegistry) WORD_(ServiceRevision) \
	WORD_(ServiceRevisionCleanup) WORD_(ServiceRevisionLoadBalancer) \
	WORD_(ServiceRevisionOverrides) WORD_(ServiceRevisionSummary) \
	WORD_(ServiceRevisionVpcLatticeConfiguration) WORD_(ServiceSchedulerInitiated) \
	WORD_(ServiceVolumeConfiguration) WORD_(Session) WORD_(Setting) WORD_(SettingName) \
	WORD_(SettingType) WORD_(SharingStrategy) WORD_(SortOrder) WORD_(SpotInterruption) \
	WORD_(StabilityStatus) WORD_(StartTask) WORD_(StartTaskRequest) WORD_(StartTaskResponse) \
	WORD_(StopServiceDeployment) WORD_(StopServiceDeploymentRequest) \
	WORD_(StopServiceDeploymentResponse) WORD_(StopServiceDeploymentStopType) WORD_(StopTask) \
	WORD_(StopTaskRequest) WORD_(StopTaskResponse) WORD_(SubmitAttachmentStateChanges) \
	WORD_(SubmitAttachmentStateChangesRequest) WORD_(SubmitAttachmentStateChangesResponse) \
	WORD_(SubmitContainerStateChange) WORD_(SubmitContainerStateChangeRequest) \
	WORD_(SubmitContainerStateChangeResponse) WORD_(SubmitTaskStateChange) \
	WORD_(SubmitTaskStateChangeRequest) WORD_(SubmitTaskStateChangeResponse) \
	WORD_(SystemControl) WORD_(TAGS) WORD_(TASK_DEFINITION) WORD_(TEST_TRAFFIC_SHIFT) \
	WORD_(TEXT) WORD_(TIMED_OUT) WORD_(TRIGGERED) WORD_(Tag) WORD_(TagResource) \
	WORD_(TagResourceRequest) WORD_(TagResourceResponse) WORD_(TargetNotConnectedException) \
	WORD_(TargetNotFoundException) WORD_(TargetType) WORD_(Task) WORD_(TaskDefinition) \
	WORD_(TaskDefinitionFamilyStatus) WORD_(TaskDefinitionField) \
	WORD_(TaskDefinitionPlacementConstraint) WORD_(TaskDefinitionPlacementConstraintType) \
	WORD_(TaskDefinitionStatus) WORD_(TaskEphemeralStorage) WORD_(TaskFailedToStart) \
	WORD_(TaskField) WORD_(TaskFilesystemType) WORD_(TaskManagedEBSVolumeConfiguration) \
	WORD_(TaskManagedEBSVolumeTerminationPolicy) WORD_(TaskOverride) WORD_(TaskSet) \
	WORD_(TaskSetField) WORD_(TaskSetNotFoundException) WORD_(TaskStopCode) \
	WORD_(TaskVolumeConfiguration) WORD_(TerminationNotice) WORD_(ThresholdConfiguration) \
	WORD_(ThresholdType) WORD_(TimeoutConfiguration) WORD_(Tmpfs) \
	WORD_(TotalLocalStorageGBRequest) WORD_(TransportProtocol) WORD_(UNBOUNDED_PERCENT) \
	WORD_(UNHEALTHY) WORD_(UNKNOWN) WORD_(UPDATED) WORD_(UPDATE_COMPLETE) WORD_(UPDATE_FAILED) \
	WORD_(UPDATE_IN_PROGRESS) WORD_(UPDATING) WORD_(Ulimit) WORD_(UlimitName) \
	WORD_(UnsupportedFeatureException) WORD_(UntagResource) WORD_(UntagResourceRequest) \
	WORD_(UntagResourceResponse) WORD_(UpdateCapacityProvider) \
	WORD_(UpdateCapacityProviderRequest) WORD_(UpdateCapacityProviderResponse) \
	WORD_(UpdateCluster) WORD_(UpdateClusterRequest) WORD_(UpdateClusterResponse) \
	WORD_(UpdateClusterSettings) WORD_(UpdateClusterSettingsRequest) \
	WORD_(UpdateClusterSettingsResponse) WORD_(UpdateContainerAgent) \
	WORD_(UpdateContainerAgentRequest) WORD_(UpdateContainerAgentResponse) \
	WORD_(UpdateContainerInstancesState) WORD_(UpdateContainerInstancesStateRequest) \
	WORD_(UpdateContainerInstancesStateResponse) WORD_(UpdateDaemon) \
	WORD_(UpdateDaemonRequest) WORD_(UpdateDaemonResponse) WORD_(UpdateExpressGatewayService) \
	WORD_(UpdateExpressGatewayServiceRequest) WORD_(UpdateExpressGatewayServiceResponse) \
	WORD_(UpdateGateway) WORD_(UpdateGatewayAlbConfiguration) \
	WORD_(UpdateGatewayConfiguration) WORD_(UpdateGatewayNetworkConfiguration) \
	WORD_(UpdateGatewayRequest) WORD_(UpdateGatewayResponse) WORD_(UpdateInProgressException) \
	WORD_(UpdateManagedInstancesProviderConfiguration) WORD_(UpdateService) \
	WORD_(UpdateServicePrimaryTaskSet) WORD_(UpdateServicePrimaryTaskSetRequest) \
	WORD_(UpdateServicePrimaryTaskSetResponse) WORD_(UpdateServiceRequest) \
	WORD_(UpdateServiceResponse) WORD_(UpdateTaskProtection) \
	WORD_(UpdateTaskProtectionRequest) WORD_(UpdateTaskProtectionResponse) \
	WORD_(UpdateTaskSet) WORD_(UpdateTaskSetRequest) WORD_(UpdateTaskSetResponse) \
	WORD_(UpdatedExpressGatewayService) WORD_(UserInitiated) WORD_(VCpuCountRangeRequest) \
	WORD_(VersionConsistency) WORD_(VersionInfo) WORD_(Volume) WORD_(VolumeFrom) \
	WORD_(VpcLatticeAdvancedConfiguration) WORD_(VpcLatticeConfiguration) \
	WORD_(WINDOWS_SERVER_2004_CORE) WORD_(WINDOWS_SERVER_2016_FULL) \
	WORD_(WINDOWS_SERVER_2019_CORE) WORD_(WINDOWS_SERVER_2019_FULL) \
	WORD_(WINDOWS_SERVER_2022_CORE) WORD_(WINDOWS_SERVER_2022_FULL) \
	WORD_(WINDOWS_SERVER_2025_CORE) WORD_(WINDOWS_SERVER_2025_FULL) \
	WORD_(WINDOWS_SERVER_20H2_CORE) WORD_(X86_64) WORD_(a100) WORD_(a10g) \
	WORD_(acceleratorCount) WORD_(acceleratorManufacturers) WORD_(acceleratorNames) \
	WORD_(acceleratorTotalMemoryMiB) WORD_(acceleratorTypes) WORD_(accessLogConfiguration) \
	WORD_(accessLogs) WORD_(accessPointArn) WORD_(accessPointId) WORD_(accessType) \
	WORD_(accessTypes) WORD_(acknowledgment) WORD_(acmCertificateArn) WORD_(action) \
	WORD_(actionsStatus) WORD_(activeConfigurations) WORD_(activeServicesCount) WORD_(add) \
	WORD_(advancedConfiguration) WORD_(after) WORD_(agentConnected) WORD_(agentHash) \
	WORD_(agentUpdateStatus) WORD_(agentVersion) WORD_(alarmNames) WORD_(alarms) \
	WORD_(allowedInstanceTypes) WORD_(alternateTargetGroupArn) \
	TEXT_(amazon_web_services, "amazon-web-services") WORD_(amd) WORD_(appProtocol) \
	WORD_(applicationAutoScalingPolicies) WORD_(arn) WORD_(assignPublicIp) \
	WORD_(attachmentArn) WORD_(attachmentId) WORD_(attachments) WORD_(attachmentsStatus) \
	WORD_(attributeName) WORD_(attributeValue) WORD_(attributes) WORD_(authorizationConfig) \
	WORD_(autoRepairConfiguration) WORD_(autoScaling) WORD_(autoScalingGroupArn) \
	WORD_(autoScalingGroupProvider) WORD_(autoScalingMetric) WORD_(autoScalingTargetValue) \
	WORD_(autoprovision) WORD_(availabilityZone) WORD_(availabilityZoneRebalancing) \
	WORD_(awsLogsConfiguration) WORD_(awsPcaAuthorityArn) WORD_(aws_managed) \
	WORD_(awsfirelens) WORD_(awslogs) WORD_(awsvpc) WORD_(awsvpcConfiguration) \
	WORD_(awsvpcTrunking) WORD_(bakeTimeInMinutes) WORD_(bareMetal) WORD_(base) \
	WORD_(baselineEbsBandwidthMbps) WORD_(before) WORD_(bindIP) WORD_(binpack) WORD_(bridge) \
	WORD_(bucket) WORD_(burstablePerformance) WORD_(canaryBakeTimeInMinutes) \
	WORD_(canaryConfiguration) WORD_(canaryPercent) WORD_(capabilities) \
	WORD_(capacityOptionType) WORD_(capacityProvider) WORD_(capacityProviderArn) \
	WORD_(capacityProviderArns) WORD_(capacityProviderName) WORD_(capacityProviderStrategy) \
	WORD_(capacityProviders) WORD_(capacityReservations) WORD_(certificate) \
	WORD_(circuitBreaker) WORD_(clientAliases) WORD_(clientToken) \
	WORD_(cloudWatchEncryptionEnabled) WORD_(cloudWatchLogGroupName) WORD_(cluster) \
	WORD_(clusterArn) WORD_(clusterArns) WORD_(clusterName) WORD_(clusters) WORD_(code) \
	WORD_(command) WORD_(compatibilities) WORD_(computedDesiredCount) WORD_(condition) \
	WORD_(configuration) WORD_(configuredAtLaunch) WORD_(connectivity) WORD_(connectivityAt) \
	WORD_(container) TEXT_(container_instance, "container-instance") WORD_(containerArn) \
	WORD_(containerConfigurations) WORD_(containerCount) WORD_(containerDefinitions) \
	WORD_(containerImages) WORD_(containerInsights) WORD_(containerInstance) \
	WORD_(containerInstanceArn) WORD_(containerInstanceArns) \
	WORD_(containerInstanceLongArnFormat) WORD_(containerInstances) WORD_(containerName) \
	WORD_(containerOverrides) WORD_(containerPath) WORD_(containerPort) \
	WORD_(containerPortRange) WORD_(containers) WORD_(core) WORD_(count) WORD_(cpu) \
	WORD_(cpuArchitecture) WORD_(cpuManufacturers) WORD_(createdAt) WORD_(createdBy) \
	WORD_(credentialSpecs) WORD_(credentialsParameter) WORD_(critical) WORD_(current) \
	WORD_(currentAlbCount) WORD_(currentDeployment) WORD_(currentRevisions) \
	WORD_(currentServiceDeployment) WORD_(currentServiceRevisions) WORD_(daemon) \
	WORD_(daemonArn) WORD_(daemonDeploymentArn) WORD_(daemonDeploymentArns) \
	WORD_(daemonDeployments) WORD_(daemonName) WORD_(daemonRevisionArn) \
	WORD_(daemonRevisionArns) WORD_(daemonRevisions) WORD_(daemonSummariesList) \
	WORD_(daemonTaskDefinition) WORD_(daemonTaskDefinitionArn) WORD_(daemonTaskDefinitions) \
	WORD_(data) WORD_(debug) WORD_(defaultCapacityProviderStrategy) \
	WORD_(defaultLogDriverMode) WORD_(defensive) WORD_(deleteOnTermination) \
	WORD_(deleteRequestedAt) WORD_(deletionProtection) WORD_(dependsOn) WORD_(deploymentArn) \
	WORD_(deploymentCircuitBreaker) WORD_(deploymentConfiguration) WORD_(deploymentController) \
	WORD_(deployments) WORD_(deregisteredAt) WORD_(desiredCount) WORD_(desiredStatus) \
	WORD_(destination) WORD_(detail) WORD_(details) WORD_(deviceName) WORD_(deviceType) \
	WORD_(devices) WORD_(disableNetworking) WORD_(disabled) WORD_(discoveryArn) \
	WORD_(discoveryName) WORD_(distinctInstance) WORD_(dnsName) WORD_(dnsSearchDomains) \
	WORD_(dnsServers) WORD_(dockerLabels) WORD_(dockerSecurityOptions) WORD_(dockerVersion) \
	WORD_(dockerVolumeConfiguration) WORD_(domain) WORD_(domainName) WORD_(doubleValue) \
	WORD_(drainPercent) WORD_(drainingInstanceCount) WORD_(driver) WORD_(driverOpts) \
	WORD_(drop) WORD_(dualstack) \
	TEXT_(dualstack_without_public_ipv4, "dualstack-without-public-ipv4") \
	WORD_(earlySuccessCriteria) WORD_(ec2InstanceId) WORD_(ec2InstanceProfileArn) \
	WORD_(ecsManagedResources) WORD_(effectiveSettings) WORD_(efsVolumeConfiguration) \
	WORD_(enable) WORD_(enableECSManagedTags) WORD_(enableExecuteCommand) \
	WORD_(enableFaultInjection) WORD_(enabled) WORD_(encrypted) WORD_(endpoint) \
	WORD_(entryPoint) WORD_(environment) WORD_(environmentFiles) WORD_(ephemeralStorage) \
	WORD_(errors) WORD_(essential) WORD_(events) WORD_(exact) WORD_(excluded) \
	WORD_(excludedInstanceTypes) WORD_(executeCommandConfiguration) WORD_(executionRoleArn) \
	WORD_(executionStoppedAt) WORD_(exitCode) WORD_(expirationDate) WORD_(expiresAt) \
	WORD_(expiresInMinutes) WORD_(expression) WORD_(ext3) WORD_(ext4) WORD_(externalId) \
	WORD_(extraHosts) WORD_(failedTasks) WORD_(failureCount) WORD_(failures) WORD_(families) \
	WORD_(family) WORD_(familyPrefix) WORD_(fargateEphemeralStorage) \
	WORD_(fargateEphemeralStorageKmsKeyId) WORD_(fargateEventWindows) WORD_(fargateFIPSMode) \
	WORD_(fargateTaskRetirementWaitPeriod) WORD_(field) WORD_(fileSystemArn) \
	WORD_(fileSystemId) WORD_(filesystemType) WORD_(filter) WORD_(filters) WORD_(finishedAt) \
	WORD_(fipsEnabled) WORD_(firelensConfiguration) WORD_(fluentbit) WORD_(fluentd) \
	WORD_(force) WORD_(forceNewDeployment) WORD_(format) WORD_(fpga) WORD_(fsize) \
	WORD_(fsxWindowsFileServerVolumeConfiguration) WORD_(gateway) WORD_(gatewayArn) \
	WORD_(gatewayClusterAssociations) WORD_(gatewayConnections) WORD_(gatewayConnectors) \
	WORD_(gatewayResources) WORD_(gatewayRoute) WORD_(gatewayRouteArn) WORD_(gatewayRouteArns) \
	WORD_(gatewayRoutes) WORD_(gateways) WORD_(gelf) WORD_(gpu) WORD_(gpuDevices) WORD_(gpuId) \
	WORD_(gpuIds) WORD_(gpuSharingStrategy) WORD_(group) WORD_(grpc) WORD_(grpcCode) \
	WORD_(guardDutyActivate) WORD_(guardDutyEnabled) WORD_(h100) WORD_(habana) \
	WORD_(hardLimit) WORD_(hdd) WORD_(header) WORD_(healthCheck) \
	WORD_(healthCheckGracePeriodSeconds) WORD_(healthCheckIntervalSeconds) \
	WORD_(healthCheckPath) WORD_(healthCheckPort) WORD_(healthCheckProtocol) \
	WORD_(healthCheckTimeoutSeconds) WORD_(healthStatus) WORD_(healthyPercent) \
	WORD_(healthyThresholdCount) WORD_(hookDetails) WORD_(hookId) WORD_(hookTargetArn) \
	WORD_(host) WORD_(hostPath) WORD_(hostPort) WORD_(hostPortRange) WORD_(hostSharedAlb) \
	WORD_(hostname) WORD_(http) WORD_(http2) WORD_(httpCode) WORD_(httpDesync) WORD_(iam) \
	WORD_(id) WORD_(idleTimeoutSeconds) WORD_(ignoredExitCodes) WORD_(image) \
	WORD_(imageDigest) WORD_(inboundSecurityGroup) WORD_(include) \
	WORD_(includeQueryParameters) WORD_(included) WORD_(inference) \
	WORD_(inferenceAcceleratorOverrides) WORD_(inferenceAccelerators) WORD_(inferentia) \
	WORD_(info) WORD_(infrastructureOptimization) WORD_(infrastructureRoleArn) \
	WORD_(ingressPaths) WORD_(ingressPortOverride) WORD_(initProcessEnabled) \
	WORD_(instanceGenerations) WORD_(instanceIdentityDocument) \
	WORD_(instanceIdentityDocumentSignature) WORD_(instanceLaunchTemplate) \
	WORD_(instanceMetadataTagsPropagation) WORD_(instanceRequirements) \
	WORD_(instanceWarmupPeriod) WORD_(integerValue) WORD_(intel) WORD_(interactive) \
	WORD_(internal) TEXT_(internet_facing, "internet-facing") WORD_(interval) WORD_(iops) \
	WORD_(ipAddress) WORD_(ipAddressType) WORD_(ipcMode) WORD_(ipv4) WORD_(ipv6Address) \
	WORD_(issuerCertificateAuthority) WORD_(item) WORD_(journald) \
	TEXT_(json_file, "json-file") WORD_(k520) WORD_(k80) WORD_(key) WORD_(kmsKey) \
	WORD_(kmsKeyId) WORD_(labels) WORD_(lastStartedAt) WORD_(lastStatus) \
	WORD_(lastStatusChange) WORD_(lastUpdated) WORD_(launchType) WORD_(lifecycleHookDetails) \
	WORD_(lifecycleHooks) WORD_(lifecycleStage) WORD_(lifecycleStages) \
	WORD_(linearConfiguration) WORD_(links) WORD_(linuxParameters) WORD_(listener) \
	WORD_(listenerArn) WORD_(listenerRuleArn) WORD_(loadBalancer) WORD_(loadBalancerArn) \
	WORD_(loadBalancerName) WORD_(loadBalancerSecurityGroupArns) \
	WORD_(loadBalancerSecurityGroups) WORD_(loadBalancers) WORD_(localStorage) \
	WORD_(localStorageConfiguration) WORD_(localStorageTypes) WORD_(locks) \
	WORD_(logConfiguration) WORD_(logDriver) WORD_(logGroup) WORD_(logGroupName) \
	WORD_(logGroups) WORD_(logLevel) WORD_(logStreamPrefix) WORD_(logging) WORD_(longValue) \
	WORD_(m60) WORD_(managedAgentName) WORD_(managedAgents) WORD_(managedDraining) \
	WORD_(managedEBSVolume) WORD_(managedInstancesProvider) WORD_(managedScaling) \
	WORD_(managedStorageConfiguration) WORD_(managedTerminationProtection) WORD_(matcher) \
	WORD_(max) WORD_(maxAlbCount) WORD_(maxCapacity) WORD_(maxComputePercent) \
	WORD_(maxResults) WORD_(maxSpotPriceAsPercentageOfOptimalOnDemandPrice) WORD_(maxSwap) \
	WORD_(maxTaskCount) WORD_(maximumPercent) WORD_(maximumScalingStepSize) WORD_(memberOf) \
	WORD_(memlock) WORD_(memory) WORD_(memoryGiBPerVCpu) WORD_(memoryMiB) \
	WORD_(memoryReservation) WORD_(message) WORD_(metric) WORD_(metricAlarms) \
	WORD_(metricConfigurations) WORD_(metricNames) WORD_(min) WORD_(minCapacity) \
	WORD_(minTaskCount) WORD_(minimumHealthyPercent) WORD_(minimumScalingStepSize) \
	WORD_(mknod) WORD_(monitor) WORD_(monitoring) WORD_(mountOptions) WORD_(mountPoints) \
	WORD_(msgqueue) WORD_(name) WORD_(names) WORD_(namespace) WORD_(networkBandwidthGbps) \
	WORD_(networkBindings) WORD_(networkConfiguration) WORD_(networkInterfaceCount) \
	WORD_(networkInterfaces) WORD_(networkMode) WORD_(neuronDeviceIds) WORD_(nextToken) \
	WORD_(nice) WORD_(nofile) WORD_(none) WORD_(nproc) WORD_(ntfs) WORD_(nvidia) \
	WORD_(nvidiaMps) WORD_(onDemandMaxPricePercentageOverLowestPrice) \
	WORD_(operatingSystemFamily) WORD_(operation) WORD_(options) WORD_(overallStatus) \
	WORD_(overrides) WORD_(pendingCount) WORD_(pendingTaskCount) WORD_(pendingTasksCount) \
	WORD_(perRequestTimeoutSeconds) WORD_(permissions) WORD_(pidMode) \
	WORD_(placementConstraints) WORD_(placementStrategy) WORD_(platformDevices) \
	WORD_(platformFamily) WORD_(platformVersion) WORD_(policyType) WORD_(port) \
	WORD_(portMappings) WORD_(portName) WORD_(prefix) WORD_(previous) WORD_(primaryContainer) \
	WORD_(primaryTaskSet) WORD_(principalArn) WORD_(privateIpv4Address) WORD_(privileged) \
	WORD_(productionListenerRule) WORD_(propagateTags) WORD_(properties) WORD_(protectedTasks) \
	WORD_(protectionEnabled) WORD_(protocol) WORD_(proxyConfiguration) WORD_(pseudoTerminal) \
	WORD_(pullStartedAt) WORD_(pullStoppedAt) TEXT_(radeon_pro_v520, "radeon-pro-v520") \
	WORD_(random) WORD_(read) WORD_(readOnly) WORD_(readonlyRootFilesystem) WORD_(reason) \
	WORD_(referenceId) WORD_(registeredAt) WORD_(registeredBy) \
	WORD_(registeredContainerInstancesCount) WORD_(registeredResources) WORD_(registryArn) \
	WORD_(remainingMemoryInMiB) WORD_(remainingResources) WORD_(repositoryCredentials) \
	WORD_(requestedProductionTrafficWeight) WORD_(requestedTaskCount) \
	WORD_(requestedTestTrafficWeight) WORD_(requireHibernateSupport) WORD_(required) \
	WORD_(requiresAttributes) WORD_(requiresCompatibilities) WORD_(reservationGroupArn) \
	WORD_(reservationPreference) WORD_(resetOnHealthyTask) WORD_(resolutionSeconds) \
	WORD_(resolvedConfiguration) WORD_(resourceArn) WORD_(resourceIds) \
	WORD_(resourceManagementType) WORD_(resourceRequirements) WORD_(resourceType) \
	WORD_(resources) WORD_(restartAttemptPeriod) WORD_(restartPolicy) WORD_(retries) \
	WORD_(revision) WORD_(role) WORD_(roleArn) WORD_(rollback) \
	WORD_(rollbackCapacityProviders) WORD_(rollbackTargetDaemonRevisionArn) \
	WORD_(rolloutState) WORD_(rolloutStateReason) WORD_(rootDirectory) WORD_(rss) \
	WORD_(rtprio) WORD_(rttime) WORD_(rule) WORD_(ruleArns) WORD_(runningCount) \
	WORD_(runningInstanceCount) WORD_(runningTaskCount) WORD_(runningTasksCount) \
	WORD_(runtimeId) WORD_(runtimePlatform) WORD_(s3) WORD_(s3BucketName) \
	WORD_(s3EncryptionEnabled) WORD_(s3KeyPrefix) WORD_(s3filesVolumeConfiguration) \
	WORD_(scalableTarget) WORD_(scale) WORD_(scaleInAfter) WORD_(scalingTarget) \
	WORD_(schedulingStrategy) WORD_(scheme) WORD_(scope) WORD_(secretOptions) WORD_(secrets) \
	WORD_(securityGroup) WORD_(securityGroupIds) WORD_(securityGroups) WORD_(service) \
	WORD_(serviceArn) WORD_(serviceArns) WORD_(serviceConnectConfiguration) \
	WORD_(serviceConnectDefaults) WORD_(serviceConnectEndpoint) WORD_(serviceConnectResources) \
	WORD_(serviceContainerPortName) WORD_(serviceDeploymentArn) WORD_(serviceDeploymentArns) \
	WORD_(serviceDeployments) WORD_(serviceLongArnFormat) WORD_(serviceName) \
	WORD_(serviceRegistries) WORD_(serviceRevisionArn) WORD_(serviceRevisionArns) \
	WORD_(serviceRevisions) WORD_(serviceSecurityGroupArn) WORD_(serviceSecurityGroups) \
	WORD_(serviceUrl) WORD_(services) WORD_(session) WORD_(sessionId) WORD_(setting) \
	WORD_(settings) WORD_(shared) WORD_(sharedMemorySize) WORD_(sharingMode) \
	WORD_(sharingStrategy) WORD_(sigpending) WORD_(size) WORD_(sizeInGiB) WORD_(snapshotId) \
	WORD_(softLimit) WORD_(sort) WORD_(sourceContainer) WORD_(sourceDaemonRevisions) \
	WORD_(sourcePath) WORD_(sourceServiceRevisionCleanup) WORD_(sourceServiceRevisions) \
	WORD_(sourceVolume) WORD_(splunk) WORD_(spotMaxPricePercentageOverLowestPrice) \
	WORD_(spread) WORD_(ssd) WORD_(stabilityStatus) WORD_(stabilityStatusAt) WORD_(stack) \
	WORD_(startPeriod) WORD_(startTimeout) WORD_(startedAt) WORD_(startedBy) WORD_(statistics) \
	WORD_(status) WORD_(statusCode) WORD_(statusReason) WORD_(stepBakeTimeInMinutes) \
	WORD_(stepPercent) WORD_(stopCode) WORD_(stopTimeout) WORD_(stopType) WORD_(stoppedAt) \
	WORD_(stoppedReason) WORD_(stoppingAt) WORD_(storageConfiguration) WORD_(storageSizeGiB) \
	WORD_(strategy) WORD_(streamUrl) WORD_(strictest) WORD_(stringSetValue) WORD_(subnetIds) \
	WORD_(subnets) WORD_(swappiness) WORD_(syslog) WORD_(systemControls) WORD_(t4) WORD_(t4g) \
	WORD_(tagKeys) WORD_(tagResourceAuthorization) WORD_(tagSpecifications) WORD_(tags) \
	WORD_(targetArn) WORD_(targetCapacity) WORD_(targetConfiguration) \
	WORD_(targetDaemonRevision) WORD_(targetDaemonRevisionArn) WORD_(targetGroupArn) \
	WORD_(targetGroups) WORD_(targetId) WORD_(targetServiceRevision) \
	WORD_(targetServiceRevisionArn) WORD_(targetType) WORD_(targetValue) WORD_(task) \
	WORD_(taskArn) WORD_(taskArns) WORD_(taskDefinition) WORD_(taskDefinitionArn) \
	WORD_(taskDefinitionArns) WORD_(taskDefinitions) WORD_(taskLongArnFormat) \
	WORD_(taskRoleArn) WORD_(taskSet) WORD_(taskSetArn) WORD_(taskSets) WORD_(tasks) \
	WORD_(tcp) WORD_(telemetryEndpoint) WORD_(terminationPolicy) WORD_(testListenerRule) \
	WORD_(testListenerRuleArn) WORD_(testListenerRuleArns) WORD_(testTrafficRules) \
	WORD_(threshold) WORD_(thresholdConfiguration) WORD_(throughput) WORD_(timeout) \
	WORD_(timeoutAction) WORD_(timeoutConfiguration) WORD_(timeoutInMinutes) WORD_(tls) \
	WORD_(tmpfs) WORD_(tokenValue) WORD_(totalDrainingInstanceCount) \
	WORD_(totalLocalStorageGB) WORD_(totalMemoryInMiB) WORD_(totalResources) \
	WORD_(totalRunningCount) WORD_(totalRunningInstanceCount) WORD_(totalWithoutDaemonCount) \
	WORD_(totalWithoutDaemonInstanceCount) WORD_(transitEncryption) \
	WORD_(transitEncryptionPort) WORD_(triggeredAlarmNames) WORD_(type) WORD_(udp) \
	WORD_(ulimits) WORD_(unhealthyThresholdCount) WORD_(unit) WORD_(updateStatus) \
	WORD_(updateStatusReason) WORD_(updatedAt) WORD_(useLocalStorage) WORD_(user) WORD_(v100) \
	WORD_(vCpuCount) WORD_(value) WORD_(valueFrom) WORD_(values) WORD_(version) \
	WORD_(versionConsistency) WORD_(versionInfo) WORD_(volume) WORD_(volumeConfigurations) \
	WORD_(volumeInitializationRate) WORD_(volumeType) WORD_(volumes) WORD_(volumesFrom) \
	WORD_(vpcLatticeConfigurations) WORD_(vu9p) WORD_(webACLArn) WORD_(weight) \
	WORD_(withoutDaemonCount) WORD_(withoutDaemonInstanceCount) WORD_(workingDirectory) \
	WORD_(write) WORD_(xfs) WORD_(xilinx)

SHAPE_NAMES(NAMES);

enum {
	S_AcceleratorCountRequest, S_AcceleratorManufacturer, S_AcceleratorName,
	S_AcceleratorTotalMemoryMiBRequest, S_AcceleratorType, S_AccessDeniedException,
	S_AccessType, S_AdvancedConfiguration, S_AgentUpdateStatus, S_ApplicationProtocol,
	S_AssignPublicIp, S_AssociateGatewayWithClusterRequest,
	S_AssociateGatewayWithClusterResponse, S_Attachment, S_AttachmentStateChange, S_Attribute,
	S_AttributeLimitExceededException, S_AutoRepairActionsStatus, S_AutoRepairConfiguration,
	S_AutoScalingGroupProvider, S_AutoScalingGroupProviderUpdate, S_AvailabilityZoneRebalancing,
	S_AwsVpcConfiguration, S_BareMetal, S_BaselineEbsBandwidthMbpsRequest, S_BlockedException,
	S_BurstablePerformance, S_CPUArchitecture, S_CanaryConfiguration, S_CapacityOptionType,
	S_CapacityProvider, S_CapacityProviderField, S_CapacityProviderStatus,
	S_CapacityProviderStrategyItem, S_CapacityProviderType, S_CapacityProviderUpdateStatus,
	S_CapacityReservationPreference, S_CapacityReservationRequest, S_ClientException, S_Cluster,
	S_ClusterConfiguration, S_ClusterContainsCapacityProviderException,
	S_ClusterContainsContainerInstancesException, S_ClusterContainsServicesException,
	S_ClusterContainsTasksException, S_ClusterField, S_ClusterNotFoundException,
	S_ClusterServiceConnectDefaults, S_ClusterServiceConnectDefaultsRequest, S_ClusterSetting,
	S_ClusterSettingName, S_Compatibility, S_ConflictException, S_Connectivity, S_Container,
	S_ContainerCondition, S_ContainerDefinition, S_ContainerDependency, S_ContainerImage,
	S_ContainerInstance, S_ContainerInstanceField, S_ContainerInstanceHealthStatus,
	S_ContainerInstanceStatus, S_ContainerOverride, S_ContainerRestartPolicy,
	S_ContainerStateChange, S_ContinueServiceDeploymentRequest,
	S_ContinueServiceDeploymentResponse, S_CpuManufacturer, S_CreateCapacityProviderRequest,
	S_CreateCapacityProviderResponse, S_CreateClusterRequest, S_CreateClusterResponse,
	S_CreateDaemonRequest, S_CreateDaemonResponse, S_CreateExpressGatewayServiceRequest,
	S_CreateExpressGatewayServiceResponse, S_CreateGatewayRequest, S_CreateGatewayResponse,
	S_CreateManagedInstancesProviderConfiguration, S_CreateServiceRequest,
	S_CreateServiceResponse, S_CreateTaskSetRequest, S_CreateTaskSetResponse, S_CreatedAt,
	S_DaemonAlarmConfiguration, S_DaemonCapacityProvider, S_DaemonCircuitBreaker,
	S_DaemonContainerDefinition, S_DaemonContainerImage, S_DaemonDeployment,
	S_DaemonDeploymentAlarms, S_DaemonDeploymentCapacityProvider,
	S_DaemonDeploymentConfiguration, S_DaemonDeploymentRevisionDetail,
	S_DaemonDeploymentRollbackMonitorsStatus, S_DaemonDeploymentStatus,
	S_DaemonDeploymentSummary, S_DaemonDetail, S_DaemonIpcMode, S_DaemonLinuxParameters,
	S_DaemonNotActiveException, S_DaemonNotFoundException, S_DaemonPidMode,
	S_DaemonPropagateTags, S_DaemonRevision, S_DaemonRevisionDetail, S_DaemonRollback,
	S_DaemonStatus, S_DaemonSummary, S_DaemonTaskDefinition,
	S_DaemonTaskDefinitionRevisionFilter, S_DaemonTaskDefinitionStatus,
	S_DaemonTaskDefinitionStatusFilter, S_DaemonTaskDefinitionSummary, S_DaemonVolume,
	S_DeleteAccountSettingRequest, S_DeleteAccountSettingResponse, S_DeleteAttributesRequest,
	S_DeleteAttributesResponse, S_DeleteCapacityProviderRequest,
	S_DeleteCapacityProviderResponse, S_DeleteClusterRequest, S_DeleteClusterResponse,
	S_DeleteDaemonRequest, S_DeleteDaemonResponse, S_DeleteDaemonTaskDefinitionRequest,
	S_DeleteDaemonTaskDefinitionResponse, S_DeleteExpressGatewayServiceRequest,
	S_DeleteExpressGatewayServiceResponse, S_DeleteGatewayRequest, S_DeleteGatewayResponse,
	S_DeleteServiceRequest, S_DeleteServiceResponse, S_DeleteTaskDefinitionsRequest,
	S_DeleteTaskDefinitionsResponse, S_DeleteTaskSetRequest, S_DeleteTaskSetResponse,
	S_Deployment, S_DeploymentAlarms, S_DeploymentCircuitBreaker, S_DeploymentConfiguration,
	S_DeploymentController, S_DeploymentControllerType, S_DeploymentEarlySuccessCriteria,
	S_DeploymentEphemeralStorage, S_DeploymentLifecycleHook, S_DeploymentLifecycleHookAction,
	S_DeploymentLifecycleHookDetail, S_DeploymentLifecycleHookStage,
	S_DeploymentLifecycleHookStatus, S_DeploymentLifecycleHookTargetType,
	S_DeploymentLifecycleHookTimeoutConfiguration, S_DeploymentRolloutState,
	S_DeploymentStrategy, S_DeregisterContainerInstanceRequest,
	S_DeregisterContainerInstanceResponse, S_DeregisterTaskDefinitionRequest,
	S_DeregisterTaskDefinitionResponse, S_DescribeCapacityProvidersRequest,
	S_DescribeCapacityProvidersResponse, S_DescribeClustersRequest, S_DescribeClustersResponse,
	S_DescribeContainerInstancesRequest, S_DescribeContainerInstancesResponse,
	S_DescribeDaemonDeploymentsRequest, S_DescribeDaemonDeploymentsResponse,
	S_DescribeDaemonRequest, S_DescribeDaemonResponse, S_DescribeDaemonRevisionsRequest,
	S_DescribeDaemonRevisionsResponse, S_DescribeDaemonTaskDefinitionRequest,
	S_DescribeDaemonTaskDefinitionResponse, S_DescribeExpressGatewayServiceRequest,
	S_DescribeExpressGatewayServiceResponse, S_DescribeGatewayAlbConfiguration,
	S_DescribeGatewayConfiguration, S_DescribeGatewayRequest, S_DescribeGatewayResourcesRequest,
	S_DescribeGatewayResourcesResponse, S_DescribeGatewayResponse,
	S_DescribeGatewayRouteRequest, S_DescribeGatewayRouteResponse,
	S_DescribeServiceDeploymentsRequest, S_DescribeServiceDeploymentsResponse,
	S_DescribeServiceRevisionsRequest, S_DescribeServiceRevisionsResponse,
	S_DescribeServicesRequest, S_DescribeServicesResponse, S_DescribeTaskDefinitionRequest,
	S_DescribeTaskDefinitionResponse, S_DescribeTaskSetsRequest, S_DescribeTaskSetsResponse,
	S_DescribeTasksRequest, S_DescribeTasksResponse, S_DesiredStatus, S_Device,
	S_DeviceCgroupPermission, S_DisassociateGatewayFromClusterRequest,
	S_DisassociateGatewayFromClusterResponse, S_DiscoverPollEndpointRequest,
	S_DiscoverPollEndpointResponse, S_DockerVolumeConfiguration, S_EBSResourceType,
	S_EBSTagSpecification, S_ECSExpressGatewayService, S_ECSManagedResources,
	S_EFSAuthorizationConfig, S_EFSAuthorizationConfigIAM, S_EFSTransitEncryption,
	S_EFSVolumeConfiguration, S_ElbGatewayResources, S_EnvironmentFile, S_EnvironmentFileType,
	S_EphemeralStorage, S_ExecuteCommandConfiguration, S_ExecuteCommandLogConfiguration,
	S_ExecuteCommandLogging, S_ExecuteCommandRequest, S_ExecuteCommandResponse,
	S_ExpressCpuArchitecture, S_ExpressGatewayContainer, S_ExpressGatewayRepositoryCredentials,
	S_ExpressGatewayScalingTarget, S_ExpressGatewayServiceAwsLogsConfiguration,
	S_ExpressGatewayServiceConfiguration, S_ExpressGatewayServiceInclude,
	S_ExpressGatewayServiceNetworkConfiguration, S_ExpressGatewayServiceScalingMetric,
	S_ExpressGatewayServiceStatus, S_ExpressGatewayServiceStatusCode,
	S_FSxWindowsFileServerAuthorizationConfig, S_FSxWindowsFileServerVolumeConfiguration,
	S_Failure, S_FirelensConfiguration, S_FirelensConfigurationType, S_Gateway,
	S_GatewayAlbDesyncMitigationMode, S_GatewayAlbProtocol, S_GatewayAlbTestTrafficRules,
	S_GatewayClusterAssociationStatus, S_GatewayClusterAssociationSummary,
	S_GatewayConfiguration, S_GatewayConnection, S_GatewayConnectionAlbResources,
	S_GatewayConnectionResources, S_GatewayConnector, S_GatewayConnectorFilters,
	S_GatewayConnectorHealthCheck, S_GatewayConnectorHealthCheckMatcher,
	S_GatewayConnectorHealthCheckProtocol, S_GatewayElbAccessLogConfiguration,
	S_GatewayElbAccessLogDestination, S_GatewayElbAccessLogS3Destination,
	S_GatewayElbIpAddressType, S_GatewayElbNetworkConfiguration, S_GatewayElbScheme,
	S_GatewayInfrastructureResources, S_GatewayNotFoundException, S_GatewayOperationError,
	S_GatewayResourceFailure, S_GatewayResources, S_GatewayRoute, S_GatewayRouteAlbResources,
	S_GatewayRouteLoadBalancerSecurityGroup, S_GatewayRouteResources, S_GatewayRouteStatus,
	S_GatewayRouteSummary, S_GatewayStatus, S_GatewaySummary, S_GatewayTestTrafficHeader,
	S_GetTaskProtectionRequest, S_GetTaskProtectionResponse, S_GpuDevice, S_GpuSharingMode,
	S_HealthCheck, S_HealthStatus, S_HostEntry, S_HostSharedAlbConfiguration,
	S_HostVolumeProperties, S_InferenceAccelerator, S_InferenceAcceleratorOverride,
	S_InfrastructureOptimization, S_IngressPathSummary, S_InstanceGeneration,
	S_InstanceHealthCheckResult, S_InstanceHealthCheckState, S_InstanceHealthCheckType,
	S_InstanceLaunchTemplate, S_InstanceLaunchTemplateUpdate, S_InstanceRequirementsRequest,
	S_InvalidParameterException, S_IpcMode, S_KernelCapabilities, S_KeyValuePair, S_LaunchType,
	S_LimitExceededException, S_LinearConfiguration, S_LinuxParameters,
	S_ListAccountSettingsRequest, S_ListAccountSettingsResponse, S_ListAttributesRequest,
	S_ListAttributesResponse, S_ListClustersRequest, S_ListClustersResponse,
	S_ListContainerInstancesRequest, S_ListContainerInstancesResponse,
	S_ListDaemonDeploymentsRequest, S_ListDaemonDeploymentsResponse,
	S_ListDaemonTaskDefinitionsRequest, S_ListDaemonTaskDefinitionsResponse,
	S_ListDaemonsRequest, S_ListDaemonsResponse, S_ListGatewayClusterAssociationsRequest,
	S_ListGatewayClusterAssociationsResponse, S_ListGatewayRoutesRequest,
	S_ListGatewayRoutesResponse, S_ListGatewaysRequest, S_ListGatewaysResponse,
	S_ListServiceDeploymentsRequest, S_ListServiceDeploymentsResponse,
	S_ListServicesByNamespaceRequest, S_ListServicesByNamespaceResponse, S_ListServicesRequest,
	S_ListServicesResponse, S_ListTagsForResourceRequest, S_ListTagsForResourceResponse,
	S_ListTaskDefinitionFamiliesRequest, S_ListTaskDefinitionFamiliesResponse,
	S_ListTaskDefinitionsRequest, S_ListTaskDefinitionsResponse, S_ListTasksRequest,
	S_ListTasksResponse, S_LoadBalancer, S_LocalStorage, S_LocalStorageType, S_LogConfiguration,
	S_LogDriver, S_ManagedAgent, S_ManagedAgentName, S_ManagedAgentStateChange,
	S_ManagedApplicationAutoScalingPolicy, S_ManagedAutoScaling, S_ManagedCertificate,
	S_ManagedDraining, S_ManagedIngressPath, S_ManagedInstancesLocalStorageConfiguration,
	S_ManagedInstancesMonitoringOptions, S_ManagedInstancesNetworkConfiguration,
	S_ManagedInstancesProvider, S_ManagedInstancesStorageConfiguration, S_ManagedListener,
	S_ManagedListenerRule, S_ManagedLoadBalancer, S_ManagedLogGroup, S_ManagedMetricAlarm,
	S_ManagedResourceStatus, S_ManagedScalableTarget, S_ManagedScaling, S_ManagedScalingStatus,
	S_ManagedSecurityGroup, S_ManagedStorageConfiguration, S_ManagedTargetGroup,
	S_ManagedTerminationProtection, S_MemoryGiBPerVCpuRequest, S_MemoryMiBRequest,
	S_MetricConfiguration, S_MissingVersionException, S_MonitoringConfiguration, S_MountPoint,
	S_NamespaceNotFoundException, S_NetworkBandwidthGbpsRequest, S_NetworkBinding,
	S_NetworkConfiguration, S_NetworkInterface, S_NetworkInterfaceCountRequest, S_NetworkMode,
	S_NoUpdateAvailableException, S_NvidiaMpsAllocation, S_OSFamily, S_PidMode,
	S_PlacementConstraint, S_PlacementConstraintType, S_PlacementStrategy,
	S_PlacementStrategyType, S_PlatformDevice, S_PlatformDeviceType,
	S_PlatformTaskDefinitionIncompatibilityException, S_PlatformUnknownException, S_PortMapping,
	S_PropagateGatewayTags, S_PropagateMITags, S_PropagateTags, S_ProtectedTask,
	S_ProxyConfiguration, S_ProxyConfigurationType, S_PutAccountSettingDefaultRequest,
	S_PutAccountSettingDefaultResponse, S_PutAccountSettingRequest, S_PutAccountSettingResponse,
	S_PutAttributesRequest, S_PutAttributesResponse, S_PutClusterCapacityProvidersRequest,
	S_PutClusterCapacityProvidersResponse, S_RegisterContainerInstanceRequest,
	S_RegisterContainerInstanceResponse, S_RegisterDaemonTaskDefinitionRequest,
	S_RegisterDaemonTaskDefinitionResponse, S_RegisterTaskDefinitionRequest,
	S_RegisterTaskDefinitionResponse, S_RepositoryCredentials, S_ResolvedConfiguration,
	S_Resource, S_ResourceInUseException, S_ResourceManagementType, S_ResourceNotFoundException,
	S_ResourceRequirement, S_ResourceType, S_Rollback, S_RunTaskRequest, S_RunTaskResponse,
	S_RuntimePlatform, S_RuntimePlatformOverride, S_S3FilesVolumeConfiguration, S_Scale,
	S_ScaleUnit, S_SchedulingStrategy, S_Scope, S_Secret, S_ServerException, S_Service,
	S_ServiceConnectAccessLogConfiguration, S_ServiceConnectAccessLoggingFormat,
	S_ServiceConnectClientAlias, S_ServiceConnectConfiguration,
	S_ServiceConnectContainerConfiguration, S_ServiceConnectContainerLogLevel,
	S_ServiceConnectIncludeQueryParameters, S_ServiceConnectService,
	S_ServiceConnectServiceResource, S_ServiceConnectTestTrafficHeaderMatchRules,
	S_ServiceConnectTestTrafficHeaderRules, S_ServiceConnectTestTrafficRules,
	S_ServiceConnectTlsCertificateAuthority, S_ServiceConnectTlsConfiguration,
	S_ServiceCurrentRevisionSummary, S_ServiceDeployment, S_ServiceDeploymentAlarms,
	S_ServiceDeploymentBrief, S_ServiceDeploymentCircuitBreaker,
	S_ServiceDeploymentLifecycleStage, S_ServiceDeploymentNotFoundException,
	S_ServiceDeploymentRollbackMonitorsStatus, S_ServiceDeploymentStatus, S_ServiceEvent,
	S_ServiceField, S_ServiceManagedEBSVolumeConfiguration, S_ServiceNotActiveException,
	S_ServiceNotFoundException, S_ServiceRegistry, S_ServiceRevision, S_ServiceRevisionCleanup,
	S_ServiceRevisionLoadBalancer, S_ServiceRevisionOverrides, S_ServiceRevisionSummary,
	S_ServiceRevisionVpcLatticeConfiguration, S_ServiceVolumeConfiguration, S_Session,
	S_Setting, S_SettingName, S_SettingType, S_SharingStrategy, S_SortOrder, S_StabilityStatus,
	S_StartTaskRequest, S_StartTaskResponse, S_StopServiceDeploymentRequest,
	S_StopServiceDeploymentResponse, S_StopServiceDeploymentStopType, S_StopTaskRequest,
	S_StopTaskResponse, S_SubmitAttachmentStateChangesRequest,
	S_SubmitAttachmentStateChangesResponse, S_SubmitContainerStateChangeRequest,
	S_SubmitContainerStateChangeResponse, S_SubmitTaskStateChangeRequest,
	S_SubmitTaskStateChangeResponse, S_SystemControl, S_Tag, S_TagResourceRequest,
	S_TagResourceResponse, S_TargetNotConnectedException, S_TargetNotFoundException,
	S_TargetType, S_Task, S_TaskDefinition, S_TaskDefinitionFamilyStatus, S_TaskDefinitionField,
	S_TaskDefinitionPlacementConstraint, S_TaskDefinitionPlacementConstraintType,
	S_TaskDefinitionStatus, S_TaskEphemeralStorage, S_TaskField, S_TaskFilesystemType,
	S_TaskManagedEBSVolumeConfiguration, S_TaskManagedEBSVolumeTerminationPolicy,
	S_TaskOverride, S_TaskSet, S_TaskSetField, S_TaskSetNotFoundException, S_TaskStopCode,
	S_TaskVolumeConfiguration, S_ThresholdConfiguration, S_ThresholdType,
	S_TimeoutConfiguration, S_Tmpfs, S_TotalLocalStorageGBRequest, S_TransportProtocol,
	S_Ulimit, S_UlimitName, S_UnsupportedFeatureException, S_UntagResourceRequest,
	S_UntagResourceResponse, S_UpdateCapacityProviderRequest, S_UpdateCapacityProviderResponse,
	S_UpdateClusterRequest, S_UpdateClusterResponse, S_UpdateClusterSettingsRequest,
	S_UpdateClusterSettingsResponse, S_UpdateContainerAgentRequest,
	S_UpdateContainerAgentResponse, S_UpdateContainerInstancesStateRequest,
	S_UpdateContainerInstancesStateResponse, S_UpdateDaemonRequest, S_UpdateDaemonResponse,
	S_UpdateExpressGatewayServiceRequest, S_UpdateExpressGatewayServiceResponse,
	S_UpdateGatewayAlbConfiguration, S_UpdateGatewayConfiguration,
	S_UpdateGatewayNetworkConfiguration, S_UpdateGatewayRequest, S_UpdateGatewayResponse,
	S_UpdateInProgressException, S_UpdateManagedInstancesProviderConfiguration,
	S_UpdateServicePrimaryTaskSetRequest, S_UpdateServicePrimaryTaskSetResponse,
	S_UpdateServiceRequest, S_UpdateServiceResponse, S_UpdateTaskProtectionRequest,
	S_UpdateTaskProtectionResponse, S_UpdateTaskSetRequest, S_UpdateTaskSetResponse,
	S_UpdatedExpressGatewayService, S_VCpuCountRangeRequest, S_VersionConsistency,
	S_VersionInfo, S_Volume, S_VolumeFrom, S_VpcLatticeAdvancedConfiguration,
	S_VpcLatticeConfiguration, S_boolean, S_document, S_double, S_double_from_0_to_100,
	S_integer, S_integer_from_0, S_integer_from_0_to_100, S_integer_from_0_to_1000,
	S_integer_from_0_to_10000, S_integer_from_0_to_100000, S_integer_from_0_to_2147483647,
	S_integer_from_0_to_300, S_integer_from_0_to_65535, S_integer_from_1,
	S_integer_from_1_to_10, S_integer_from_1_to_100, S_integer_from_1_to_10000,
	S_integer_from_1_to_20160, S_integer_from_1_to_2880, S_integer_from_20_to_200,
	S_integer_from_21_to_200, S_integer_from_2_to_60, S_integer_from_5_to_300,
	S_integer_from_60_to_1800, S_integer_from_minus_1_to_3600,
	S_list_of_AcceleratorManufacturer_as_item, S_list_of_AcceleratorName_as_item,
	S_list_of_AcceleratorType_as_item, S_list_of_AccessType, S_list_of_Attachment,
	S_list_of_AttachmentStateChange, S_list_of_Attribute, S_list_of_Attribute_to_10,
	S_list_of_CapacityProvider, S_list_of_CapacityProviderField,
	S_list_of_CapacityProviderStrategyItem, S_list_of_Cluster, S_list_of_ClusterField,
	S_list_of_ClusterSetting, S_list_of_Compatibility, S_list_of_Container,
	S_list_of_ContainerDefinition, S_list_of_ContainerDependency, S_list_of_ContainerImage,
	S_list_of_ContainerInstance, S_list_of_ContainerInstanceField, S_list_of_ContainerOverride,
	S_list_of_ContainerStateChange, S_list_of_CpuManufacturer_as_item,
	S_list_of_DaemonCapacityProvider, S_list_of_DaemonContainerDefinition,
	S_list_of_DaemonContainerImage, S_list_of_DaemonDeployment,
	S_list_of_DaemonDeploymentCapacityProvider, S_list_of_DaemonDeploymentRevisionDetail,
	S_list_of_DaemonDeploymentStatus, S_list_of_DaemonDeploymentSummary,
	S_list_of_DaemonRevision, S_list_of_DaemonRevisionDetail, S_list_of_DaemonSummary,
	S_list_of_DaemonTaskDefinitionSummary, S_list_of_DaemonVolume, S_list_of_Deployment,
	S_list_of_DeploymentLifecycleHook, S_list_of_DeploymentLifecycleHookDetail,
	S_list_of_DeploymentLifecycleHookStage, S_list_of_Device, S_list_of_DeviceCgroupPermission,
	S_list_of_EBSTagSpecification, S_list_of_ElbGatewayResources, S_list_of_EnvironmentFile,
	S_list_of_EnvironmentFile_to_10, S_list_of_ExpressGatewayServiceConfiguration,
	S_list_of_ExpressGatewayServiceInclude, S_list_of_Failure,
	S_list_of_GatewayClusterAssociationStatus, S_list_of_GatewayClusterAssociationSummary,
	S_list_of_GatewayConnection, S_list_of_GatewayConnectionAlbResources,
	S_list_of_GatewayConnector, S_list_of_GatewayConnector_to_1,
	S_list_of_GatewayOperationError, S_list_of_GatewayResourceFailure,
	S_list_of_GatewayRouteAlbResources, S_list_of_GatewayRouteLoadBalancerSecurityGroup,
	S_list_of_GatewayRouteStatus, S_list_of_GatewayRouteSummary, S_list_of_GatewayStatus,
	S_list_of_GatewaySummary, S_list_of_GpuDevice, S_list_of_HostEntry,
	S_list_of_InferenceAccelerator, S_list_of_InferenceAcceleratorOverride,
	S_list_of_IngressPathSummary, S_list_of_InstanceGeneration_as_item,
	S_list_of_InstanceHealthCheckResult, S_list_of_KeyValuePair,
	S_list_of_KeyValuePair_sensitive, S_list_of_LoadBalancer,
	S_list_of_LocalStorageType_as_item, S_list_of_ManagedAgent,
	S_list_of_ManagedAgentStateChange, S_list_of_ManagedApplicationAutoScalingPolicy,
	S_list_of_ManagedIngressPath, S_list_of_ManagedLogGroup, S_list_of_ManagedMetricAlarm,
	S_list_of_ManagedSecurityGroup, S_list_of_ManagedTargetGroup, S_list_of_MetricConfiguration,
	S_list_of_MountPoint, S_list_of_NetworkBinding, S_list_of_NetworkInterface,
	S_list_of_PlacementConstraint, S_list_of_PlacementConstraint_to_10,
	S_list_of_PlacementStrategy, S_list_of_PlacementStrategy_to_5, S_list_of_PlatformDevice,
	S_list_of_PortMapping, S_list_of_ProtectedTask, S_list_of_Resource,
	S_list_of_ResourceRequirement, S_list_of_Secret, S_list_of_Service,
	S_list_of_ServiceConnectClientAlias_to_1, S_list_of_ServiceConnectContainerConfiguration,
	S_list_of_ServiceConnectService, S_list_of_ServiceConnectServiceResource,
	S_list_of_ServiceCurrentRevisionSummary, S_list_of_ServiceDeployment,
	S_list_of_ServiceDeploymentBrief, S_list_of_ServiceDeploymentStatus, S_list_of_ServiceEvent,
	S_list_of_ServiceField, S_list_of_ServiceRegistry, S_list_of_ServiceRevision,
	S_list_of_ServiceRevisionLoadBalancer, S_list_of_ServiceRevisionSummary,
	S_list_of_ServiceRevisionVpcLatticeConfiguration, S_list_of_ServiceVolumeConfiguration,
	S_list_of_Setting, S_list_of_SystemControl, S_list_of_Tag_from_0_to_50, S_list_of_Task,
	S_list_of_TaskDefinition, S_list_of_TaskDefinitionField,
	S_list_of_TaskDefinitionPlacementConstraint,
	S_list_of_TaskDefinitionPlacementConstraint_to_10, S_list_of_TaskField, S_list_of_TaskSet,
	S_list_of_TaskSetField, S_list_of_TaskVolumeConfiguration, S_list_of_Tmpfs,
	S_list_of_Ulimit, S_list_of_Volume, S_list_of_VolumeFrom, S_list_of_VpcLatticeConfiguration,
	S_list_of_integer_to_50, S_list_of_string, S_list_of_string_from_1_to_128,
	S_list_of_string_from_1_to_30_as_item_from_0_to_400, S_list_of_string_to_10,
	S_list_of_string_to_100, S_list_of_string_to_20, S_long, S_map_of_string, S_string,
	S_string_from_0_to_256, S_string_from_1_to_128, S_string_from_1_to_30, S_string_sensitive,
	S_string_to_128, S_string_to_2000, S_string_to_36, S_string_to_64, S_timestamp,
};

/* Where the members of a structure begin and end. */
enum {
	RANGE(M_AcceleratorCountRequest, 2),
	RANGE(M_AcceleratorTotalMemoryMiBRequest, 2),
	RANGE(M_AccessDeniedException, 1),
	RANGE(M_AdvancedConfiguration, 4),
	RANGE(M_AssociateGatewayWithClusterRequest, 2),
	RANGE(M_AssociateGatewayWithClusterResponse, 3),
	RANGE(M_Attachment, 4),
	RANGE(M_AttachmentStateChange, 2),
	RANGE(M_Attribute, 4),
	RANGE(M_AttributeLimitExceededException, 1),
	RANGE(M_AutoRepairConfiguration, 1),
	RANGE(M_AutoScalingGroupProvider, 4),
	RANGE(M_AutoScalingGroupProviderUpdate, 3),
	RANGE(M_AwsVpcConfiguration, 3),
	RANGE(M_BaselineEbsBandwidthMbpsRequest, 2),
	RANGE(M_BlockedException, 1),
	RANGE(M_CanaryConfiguration, 2),
	RANGE(M_CapacityProvider, 10),
	RANGE(M_CapacityProviderStrategyItem, 3),
	RANGE(M_CapacityReservationRequest, 2),
	RANGE(M_ClientException, 1),
	RANGE(M_Cluster, 16),
	RANGE(M_ClusterConfiguration, 2),
	RANGE(M_ClusterContainsCapacityProviderException, 1),
	RANGE(M_ClusterContainsContainerInstancesException, 1),
	RANGE(M_ClusterContainsServicesException, 1),
	RANGE(M_ClusterContainsTasksException, 1),
	RANGE(M_ClusterNotFoundException, 1),
	RANGE(M_ClusterServiceConnectDefaults, 1),
	RANGE(M_ClusterServiceConnectDefaultsRequest, 1),
	RANGE(M_ClusterSetting, 2),
	RANGE(M_ConflictException, 2),
	RANGE(M_Container, 19),
	RANGE(M_ContainerDefinition, 42),
	RANGE(M_ContainerDependency, 2),
	RANGE(M_ContainerImage, 3),
	RANGE(M_ContainerInstance, 19),
	RANGE(M_ContainerInstanceHealthStatus, 2),
	RANGE(M_ContainerOverride, 8),
	RANGE(M_ContainerRestartPolicy, 3),
	RANGE(M_ContainerStateChange, 7),
	RANGE(M_ContinueServiceDeploymentRequest, 3),
	RANGE(M_ContinueServiceDeploymentResponse, 1),
	RANGE(M_CreateCapacityProviderRequest, 5),
	RANGE(M_CreateCapacityProviderResponse, 1),
	RANGE(M_CreateClusterRequest, 7),
	RANGE(M_CreateClusterResponse, 1),
	RANGE(M_CreateDaemonRequest, 11),
	RANGE(M_CreateDaemonResponse, 4),
	RANGE(M_CreateExpressGatewayServiceRequest, 14),
	RANGE(M_CreateExpressGatewayServiceResponse, 1),
	RANGE(M_CreateGatewayRequest, 7),
	RANGE(M_CreateGatewayResponse, 3),
	RANGE(M_CreateManagedInstancesProviderConfiguration, 5),
	RANGE(M_CreateServiceRequest, 28),
	RANGE(M_CreateServiceResponse, 1),
	RANGE(M_CreateTaskSetRequest, 13),
	RANGE(M_CreateTaskSetResponse, 1),
	RANGE(M_CreatedAt, 2),
	RANGE(M_DaemonAlarmConfiguration, 2),
	RANGE(M_DaemonCapacityProvider, 3),
	RANGE(M_DaemonCircuitBreaker, 3),
	RANGE(M_DaemonContainerDefinition, 29),
	RANGE(M_DaemonContainerImage, 3),
	RANGE(M_DaemonDeployment, 14),
	RANGE(M_DaemonDeploymentAlarms, 3),
	RANGE(M_DaemonDeploymentCapacityProvider, 4),
	RANGE(M_DaemonDeploymentConfiguration, 3),
	RANGE(M_DaemonDeploymentRevisionDetail, 5),
	RANGE(M_DaemonDeploymentSummary, 10),
	RANGE(M_DaemonDetail, 7),
	RANGE(M_DaemonLinuxParameters, 4),
	RANGE(M_DaemonNotActiveException, 1),
	RANGE(M_DaemonNotFoundException, 1),
	RANGE(M_DaemonRevision, 10),
	RANGE(M_DaemonRevisionDetail, 4),
	RANGE(M_DaemonRollback, 4),
	RANGE(M_DaemonSummary, 4),
	RANGE(M_DaemonTaskDefinition, 15),
	RANGE(M_DaemonTaskDefinitionSummary, 5),
	RANGE(M_DaemonVolume, 2),
	RANGE(M_DeleteAccountSettingRequest, 2),
	RANGE(M_DeleteAccountSettingResponse, 1),
	RANGE(M_DeleteAttributesRequest, 2),
	RANGE(M_DeleteAttributesResponse, 1),
	RANGE(M_DeleteCapacityProviderRequest, 2),
	RANGE(M_DeleteCapacityProviderResponse, 1),
	RANGE(M_DeleteClusterRequest, 1),
	RANGE(M_DeleteClusterResponse, 1),
	RANGE(M_DeleteDaemonRequest, 1),
	RANGE(M_DeleteDaemonResponse, 5),
	RANGE(M_DeleteDaemonTaskDefinitionRequest, 1),
	RANGE(M_DeleteDaemonTaskDefinitionResponse, 1),
	RANGE(M_DeleteExpressGatewayServiceRequest, 1),
	RANGE(M_DeleteExpressGatewayServiceResponse, 1),
	RANGE(M_DeleteGatewayRequest, 1),
	RANGE(M_DeleteGatewayResponse, 3),
	RANGE(M_DeleteServiceRequest, 3),
	RANGE(M_DeleteServiceResponse, 1),
	RANGE(M_DeleteTaskDefinitionsRequest, 1),
	RANGE(M_DeleteTaskDefinitionsResponse, 2),
	RANGE(M_DeleteTaskSetRequest, 4),
	RANGE(M_DeleteTaskSetResponse, 1),
	RANGE(M_Deployment, 21),
	RANGE(M_DeploymentAlarms, 3),
	RANGE(M_DeploymentCircuitBreaker, 4),
	RANGE(M_DeploymentConfiguration, 10),
	RANGE(M_DeploymentController, 1),
	RANGE(M_DeploymentEarlySuccessCriteria, 3),
	RANGE(M_DeploymentEphemeralStorage, 1),
	RANGE(M_DeploymentLifecycleHook, 6),
	RANGE(M_DeploymentLifecycleHookDetail, 6),
	RANGE(M_DeploymentLifecycleHookTimeoutConfiguration, 2),
	RANGE(M_DeregisterContainerInstanceRequest, 3),
	RANGE(M_DeregisterContainerInstanceResponse, 1),
	RANGE(M_DeregisterTaskDefinitionRequest, 1),
	RANGE(M_DeregisterTaskDefinitionResponse, 1),
	RANGE(M_DescribeCapacityProvidersRequest, 5),
	RANGE(M_DescribeCapacityProvidersResponse, 3),
	RANGE(M_DescribeClustersRequest, 2),
	RANGE(M_DescribeClustersResponse, 2),
	RANGE(M_DescribeContainerInstancesRequest, 3),
	RANGE(M_DescribeContainerInstancesResponse, 2),
	RANGE(M_DescribeDaemonDeploymentsRequest, 1),
	RANGE(M_DescribeDaemonDeploymentsResponse, 2),
	RANGE(M_DescribeDaemonRequest, 1),
	RANGE(M_DescribeDaemonResponse, 1),
	RANGE(M_DescribeDaemonRevisionsRequest, 1),
	RANGE(M_DescribeDaemonRevisionsResponse, 2),
	RANGE(M_DescribeDaemonTaskDefinitionRequest, 1),
	RANGE(M_DescribeDaemonTaskDefinitionResponse, 1),
	RANGE(M_DescribeExpressGatewayServiceRequest, 2),
	RANGE(M_DescribeExpressGatewayServiceResponse, 1),
	RANGE(M_DescribeGatewayAlbConfiguration, 10),
	RANGE(M_DescribeGatewayConfiguration, 1),
	RANGE(M_DescribeGatewayRequest, 1),
	RANGE(M_DescribeGatewayResourcesRequest, 3),
	RANGE(M_DescribeGatewayResourcesResponse, 2),
	RANGE(M_DescribeGatewayResponse, 1),
	RANGE(M_DescribeGatewayRouteRequest, 1),
	RANGE(M_DescribeGatewayRouteResponse, 1),
	RANGE(M_DescribeServiceDeploymentsRequest, 1),
	RANGE(M_DescribeServiceDeploymentsResponse, 2),
	RANGE(M_DescribeServiceRevisionsRequest, 1),
	RANGE(M_DescribeServiceRevisionsResponse, 2),
	RANGE(M_DescribeServicesRequest, 3),
	RANGE(M_DescribeServicesResponse, 2),
	RANGE(M_DescribeTaskDefinitionRequest, 2),
	RANGE(M_DescribeTaskDefinitionResponse, 2),
	RANGE(M_DescribeTaskSetsRequest, 4),
	RANGE(M_DescribeTaskSetsResponse, 2),
	RANGE(M_DescribeTasksRequest, 3),
	RANGE(M_DescribeTasksResponse, 2),
	RANGE(M_Device, 3),
	RANGE(M_DisassociateGatewayFromClusterRequest, 2),
	RANGE(M_DisassociateGatewayFromClusterResponse, 3),
	RANGE(M_DiscoverPollEndpointRequest, 2),
	RANGE(M_DiscoverPollEndpointResponse, 3),
	RANGE(M_DockerVolumeConfiguration, 5),
	RANGE(M_EBSTagSpecification, 3),
	RANGE(M_ECSExpressGatewayService, 10),
	RANGE(M_ECSManagedResources, 6),
	RANGE(M_EFSAuthorizationConfig, 2),
	RANGE(M_EFSVolumeConfiguration, 5),
	RANGE(M_ElbGatewayResources, 4),
	RANGE(M_EnvironmentFile, 2),
	RANGE(M_EphemeralStorage, 1),
	RANGE(M_ExecuteCommandConfiguration, 3),
	RANGE(M_ExecuteCommandLogConfiguration, 5),
	RANGE(M_ExecuteCommandRequest, 5),
	RANGE(M_ExecuteCommandResponse, 6),
	RANGE(M_ExpressGatewayContainer, 7),
	RANGE(M_ExpressGatewayRepositoryCredentials, 1),
	RANGE(M_ExpressGatewayScalingTarget, 4),
	RANGE(M_ExpressGatewayServiceAwsLogsConfiguration, 2),
	RANGE(M_ExpressGatewayServiceConfiguration, 13),
	RANGE(M_ExpressGatewayServiceNetworkConfiguration, 2),
	RANGE(M_ExpressGatewayServiceStatus, 2),
	RANGE(M_FSxWindowsFileServerAuthorizationConfig, 2),
	RANGE(M_FSxWindowsFileServerVolumeConfiguration, 3),
	RANGE(M_Failure, 3),
	RANGE(M_FirelensConfiguration, 2),
	RANGE(M_Gateway, 13),
	RANGE(M_GatewayAlbTestTrafficRules, 1),
	RANGE(M_GatewayClusterAssociationSummary, 3),
	RANGE(M_GatewayConfiguration, 1),
	RANGE(M_GatewayConnection, 7),
	RANGE(M_GatewayConnectionAlbResources, 8),
	RANGE(M_GatewayConnectionResources, 1),
	RANGE(M_GatewayConnector, 3),
	RANGE(M_GatewayConnectorFilters, 1),
	RANGE(M_GatewayConnectorHealthCheck, 8),
	RANGE(M_GatewayConnectorHealthCheckMatcher, 2),
	RANGE(M_GatewayElbAccessLogConfiguration, 1),
	RANGE(M_GatewayElbAccessLogDestination, 1),
	RANGE(M_GatewayElbAccessLogS3Destination, 2),
	RANGE(M_GatewayElbNetworkConfiguration, 3),
	RANGE(M_GatewayInfrastructureResources, 1),
	RANGE(M_GatewayNotFoundException, 1),
	RANGE(M_GatewayOperationError, 3),
	RANGE(M_GatewayResourceFailure, 2),
	RANGE(M_GatewayResources, 2),
	RANGE(M_GatewayRoute, 6),
	RANGE(M_GatewayRouteAlbResources, 7),
	RANGE(M_GatewayRouteLoadBalancerSecurityGroup, 2),
	RANGE(M_GatewayRouteResources, 1),
	RANGE(M_GatewayRouteSummary, 6),
	RANGE(M_GatewaySummary, 4),
	RANGE(M_GatewayTestTrafficHeader, 2),
	RANGE(M_GetTaskProtectionRequest, 2),
	RANGE(M_GetTaskProtectionResponse, 2),
	RANGE(M_GpuDevice, 5),
	RANGE(M_HealthCheck, 5),
	RANGE(M_HostEntry, 2),
	RANGE(M_HostSharedAlbConfiguration, 9),
	RANGE(M_HostVolumeProperties, 1),
	RANGE(M_InferenceAccelerator, 2),
	RANGE(M_InferenceAcceleratorOverride, 2),
	RANGE(M_InfrastructureOptimization, 1),
	RANGE(M_IngressPathSummary, 2),
	RANGE(M_InstanceHealthCheckResult, 5),
	RANGE(M_InstanceLaunchTemplate, 10),
	RANGE(M_InstanceLaunchTemplateUpdate, 8),
	RANGE(M_InstanceRequirementsRequest, 24),
	RANGE(M_InvalidParameterException, 1),
	RANGE(M_KernelCapabilities, 2),
	RANGE(M_KeyValuePair, 2),
	RANGE(M_LimitExceededException, 1),
	RANGE(M_LinearConfiguration, 2),
	RANGE(M_LinuxParameters, 7),
	RANGE(M_ListAccountSettingsRequest, 6),
	RANGE(M_ListAccountSettingsResponse, 2),
	RANGE(M_ListAttributesRequest, 6),
	RANGE(M_ListAttributesResponse, 2),
	RANGE(M_ListClustersRequest, 2),
	RANGE(M_ListClustersResponse, 2),
	RANGE(M_ListContainerInstancesRequest, 5),
	RANGE(M_ListContainerInstancesResponse, 2),
	RANGE(M_ListDaemonDeploymentsRequest, 5),
	RANGE(M_ListDaemonDeploymentsResponse, 2),
	RANGE(M_ListDaemonTaskDefinitionsRequest, 7),
	RANGE(M_ListDaemonTaskDefinitionsResponse, 2),
	RANGE(M_ListDaemonsRequest, 4),
	RANGE(M_ListDaemonsResponse, 2),
	RANGE(M_ListGatewayClusterAssociationsRequest, 5),
	RANGE(M_ListGatewayClusterAssociationsResponse, 2),
	RANGE(M_ListGatewayRoutesRequest, 7),
	RANGE(M_ListGatewayRoutesResponse, 2),
	RANGE(M_ListGatewaysRequest, 4),
	RANGE(M_ListGatewaysResponse, 2),
	RANGE(M_ListServiceDeploymentsRequest, 6),
	RANGE(M_ListServiceDeploymentsResponse, 2),
	RANGE(M_ListServicesByNamespaceRequest, 3),
	RANGE(M_ListServicesByNamespaceResponse, 2),
	RANGE(M_ListServicesRequest, 6),
	RANGE(M_ListServicesResponse, 2),
	RANGE(M_ListTagsForResourceRequest, 1),
	RANGE(M_ListTagsForResourceResponse, 1),
	RANGE(M_ListTaskDefinitionFamiliesRequest, 4),
	RANGE(M_ListTaskDefinitionFamiliesResponse, 2),
	RANGE(M_ListTaskDefinitionsRequest, 5),
	RANGE(M_ListTaskDefinitionsResponse, 2),
	RANGE(M_ListTasksRequest, 10),
	RANGE(M_ListTasksResponse, 2),
	RANGE(M_LoadBalancer, 5),
	RANGE(M_LogConfiguration, 3),
	RANGE(M_ManagedAgent, 4),
	RANGE(M_ManagedAgentStateChange, 4),
	RANGE(M_ManagedApplicationAutoScalingPolicy, 7),
	RANGE(M_ManagedAutoScaling, 2),
	RANGE(M_ManagedCertificate, 5),
	RANGE(M_ManagedIngressPath, 8),
	RANGE(M_ManagedInstancesLocalStorageConfiguration, 1),
	RANGE(M_ManagedInstancesNetworkConfiguration, 2),
	RANGE(M_ManagedInstancesProvider, 5),
	RANGE(M_ManagedInstancesStorageConfiguration, 1),
	RANGE(M_ManagedListener, 4),
	RANGE(M_ManagedListenerRule, 4),
	RANGE(M_ManagedLoadBalancer, 7),
	RANGE(M_ManagedLogGroup, 5),
	RANGE(M_ManagedMetricAlarm, 4),
	RANGE(M_ManagedScalableTarget, 6),
	RANGE(M_ManagedScaling, 5),
	RANGE(M_ManagedSecurityGroup, 4),
	RANGE(M_ManagedStorageConfiguration, 2),
	RANGE(M_ManagedTargetGroup, 7),
	RANGE(M_MemoryGiBPerVCpuRequest, 2),
	RANGE(M_MemoryMiBRequest, 2),
	RANGE(M_MetricConfiguration, 2),
	RANGE(M_MissingVersionException, 1),
	RANGE(M_MonitoringConfiguration, 1),
	RANGE(M_MountPoint, 3),
	RANGE(M_NamespaceNotFoundException, 1),
	RANGE(M_NetworkBandwidthGbpsRequest, 2),
	RANGE(M_NetworkBinding, 6),
	RANGE(M_NetworkConfiguration, 1),
	RANGE(M_NetworkInterface, 3),
	RANGE(M_NetworkInterfaceCountRequest, 2),
	RANGE(M_NoUpdateAvailableException, 1),
	RANGE(M_NvidiaMpsAllocation, 2),
	RANGE(M_PlacementConstraint, 2),
	RANGE(M_PlacementStrategy, 2),
	RANGE(M_PlatformDevice, 2),
	RANGE(M_PlatformTaskDefinitionIncompatibilityException, 1),
	RANGE(M_PlatformUnknownException, 1),
	RANGE(M_PortMapping, 6),
	RANGE(M_ProtectedTask, 3),
	RANGE(M_ProxyConfiguration, 3),
	RANGE(M_PutAccountSettingDefaultRequest, 2),
	RANGE(M_PutAccountSettingDefaultResponse, 1),
	RANGE(M_PutAccountSettingRequest, 3),
	RANGE(M_PutAccountSettingResponse, 1),
	RANGE(M_PutAttributesRequest, 2),
	RANGE(M_PutAttributesResponse, 1),
	RANGE(M_PutClusterCapacityProvidersRequest, 3),
	RANGE(M_PutClusterCapacityProvidersResponse, 1),
	RANGE(M_RegisterContainerInstanceRequest, 9),
	RANGE(M_RegisterContainerInstanceResponse, 1),
	RANGE(M_RegisterDaemonTaskDefinitionRequest, 10),
	RANGE(M_RegisterDaemonTaskDefinitionResponse, 1),
	RANGE(M_RegisterTaskDefinitionRequest, 18),
	RANGE(M_RegisterTaskDefinitionResponse, 2),
	RANGE(M_RepositoryCredentials, 1),
	RANGE(M_ResolvedConfiguration, 2),
	RANGE(M_Resource, 6),
	RANGE(M_ResourceInUseException, 1),
	RANGE(M_ResourceNotFoundException, 1),
	RANGE(M_ResourceRequirement, 3),
	RANGE(M_Rollback, 3),
	RANGE(M_RunTaskRequest, 19),
	RANGE(M_RunTaskResponse, 2),
	RANGE(M_RuntimePlatform, 2),
	RANGE(M_RuntimePlatformOverride, 1),
	RANGE(M_S3FilesVolumeConfiguration, 4),
	RANGE(M_Scale, 2),
	RANGE(M_Secret, 2),
	RANGE(M_ServerException, 1),
	RANGE(M_Service, 35),
	RANGE(M_ServiceConnectAccessLogConfiguration, 2),
	RANGE(M_ServiceConnectClientAlias, 3),
	RANGE(M_ServiceConnectConfiguration, 6),
	RANGE(M_ServiceConnectContainerConfiguration, 1),
	RANGE(M_ServiceConnectService, 6),
	RANGE(M_ServiceConnectServiceResource, 2),
	RANGE(M_ServiceConnectTestTrafficHeaderMatchRules, 1),
	RANGE(M_ServiceConnectTestTrafficHeaderRules, 2),
	RANGE(M_ServiceConnectTestTrafficRules, 1),
	RANGE(M_ServiceConnectTlsCertificateAuthority, 1),
	RANGE(M_ServiceConnectTlsConfiguration, 3),
	RANGE(M_ServiceCurrentRevisionSummary, 4),
	RANGE(M_ServiceDeployment, 18),
	RANGE(M_ServiceDeploymentAlarms, 3),
	RANGE(M_ServiceDeploymentBrief, 9),
	RANGE(M_ServiceDeploymentCircuitBreaker, 3),
	RANGE(M_ServiceDeploymentNotFoundException, 1),
	RANGE(M_ServiceEvent, 3),
	RANGE(M_ServiceManagedEBSVolumeConfiguration, 11),
	RANGE(M_ServiceNotActiveException, 1),
	RANGE(M_ServiceNotFoundException, 1),
	RANGE(M_ServiceRegistry, 4),
	RANGE(M_ServiceRevision, 23),
	RANGE(M_ServiceRevisionLoadBalancer, 2),
	RANGE(M_ServiceRevisionOverrides, 1),
	RANGE(M_ServiceRevisionSummary, 6),
	RANGE(M_ServiceRevisionVpcLatticeConfiguration, 2),
	RANGE(M_ServiceVolumeConfiguration, 2),
	RANGE(M_Session, 3),
	RANGE(M_Setting, 4),
	RANGE(M_SharingStrategy, 1),
	RANGE(M_StartTaskRequest, 13),
	RANGE(M_StartTaskResponse, 2),
	RANGE(M_StopServiceDeploymentRequest, 2),
	RANGE(M_StopServiceDeploymentResponse, 1),
	RANGE(M_StopTaskRequest, 3),
	RANGE(M_StopTaskResponse, 1),
	RANGE(M_SubmitAttachmentStateChangesRequest, 2),
	RANGE(M_SubmitAttachmentStateChangesResponse, 1),
	RANGE(M_SubmitContainerStateChangeRequest, 8),
	RANGE(M_SubmitContainerStateChangeResponse, 1),
	RANGE(M_SubmitTaskStateChangeRequest, 10),
	RANGE(M_SubmitTaskStateChangeResponse, 1),
	RANGE(M_SystemControl, 2),
	RANGE(M_Tag, 2),
	RANGE(M_TagResourceRequest, 2),
	RANGE(M_TagResourceResponse, 0),
	RANGE(M_TargetNotConnectedException, 1),
	RANGE(M_TargetNotFoundException, 1),
	RANGE(M_Task, 37),
	RANGE(M_TaskDefinition, 26),
	RANGE(M_TaskDefinitionPlacementConstraint, 2),
	RANGE(M_TaskEphemeralStorage, 2),
	RANGE(M_TaskManagedEBSVolumeConfiguration, 12),
	RANGE(M_TaskManagedEBSVolumeTerminationPolicy, 1),
	RANGE(M_TaskOverride, 7),
	RANGE(M_TaskSet, 25),
	RANGE(M_TaskSetNotFoundException, 1),
	RANGE(M_TaskVolumeConfiguration, 2),
	RANGE(M_ThresholdConfiguration, 2),
	RANGE(M_TimeoutConfiguration, 2),
	RANGE(M_Tmpfs, 3),
	RANGE(M_TotalLocalStorageGBRequest, 2),
	RANGE(M_Ulimit, 3),
	RANGE(M_UnsupportedFeatureException, 1),
	RANGE(M_UntagResourceRequest, 2),
	RANGE(M_UntagResourceResponse, 0),
	RANGE(M_UpdateCapacityProviderRequest, 4),
	RANGE(M_UpdateCapacityProviderResponse, 1),
	RANGE(M_UpdateClusterRequest, 4),
	RANGE(M_UpdateClusterResponse, 1),
	RANGE(M_UpdateClusterSettingsRequest, 2),
	RANGE(M_UpdateClusterSettingsResponse, 1),
	RANGE(M_UpdateContainerAgentRequest, 2),
	RANGE(M_UpdateContainerAgentResponse, 1),
	RANGE(M_UpdateContainerInstancesStateRequest, 3),
	RANGE(M_UpdateContainerInstancesStateResponse, 2),
	RANGE(M_UpdateDaemonRequest, 8),
	RANGE(M_UpdateDaemonResponse, 5),
	RANGE(M_UpdateExpressGatewayServiceRequest, 11),
	RANGE(M_UpdateExpressGatewayServiceResponse, 1),
	RANGE(M_UpdateGatewayAlbConfiguration, 6),
	RANGE(M_UpdateGatewayConfiguration, 1),
	RANGE(M_UpdateGatewayNetworkConfiguration, 1),
	RANGE(M_UpdateGatewayRequest, 5),
	RANGE(M_UpdateGatewayResponse, 3),
	RANGE(M_UpdateInProgressException, 1),
	RANGE(M_UpdateManagedInstancesProviderConfiguration, 5),
	RANGE(M_UpdateServicePrimaryTaskSetRequest, 3),
	RANGE(M_UpdateServicePrimaryTaskSetResponse, 1),
	RANGE(M_UpdateServiceRequest, 24),
	RANGE(M_UpdateServiceResponse, 1),
	RANGE(M_UpdateTaskProtectionRequest, 4),
	RANGE(M_UpdateTaskProtectionResponse, 2),
	RANGE(M_UpdateTaskSetRequest, 4),
	RANGE(M_UpdateTaskSetResponse, 1),
	RANGE(M_UpdatedExpressGatewayService, 7),
	RANGE(M_VCpuCountRangeRequest, 2),
	RANGE(M_VersionInfo, 3),
	RANGE(M_Volume, 7),
	RANGE(M_VolumeFrom, 2),
	RANGE(M_VpcLatticeAdvancedConfiguration, 3),
	RANGE(M_VpcLatticeConfiguration, 4),
};

static const struct shape_member members[] = {
	/* AcceleratorCountRequest */
	MEMBER(max, integer, 0),
	MEMBER(min, integer, 0),
	/* AcceleratorTotalMemoryMiBRequest */
	MEMBER(max, integer, 0),
	MEMBER(min, integer, 0),
	/* AccessDeniedException */
	MEMBER(message, string, 0),
	/* AdvancedConfiguration */
	MEMBER(roleArn, string, 0),
	MEMBER(testListenerRule, string, 0),
	MEMBER(productionListenerRule, string, 0),
	MEMBER(alternateTargetGroupArn, string, 0),
	/* AssociateGatewayWithClusterRequest */
	MEMBER(cluster, string, REQUIRED),
	MEMBER(gateway, string, REQUIRED),
	/* AssociateGatewayWithClusterResponse */
	MEMBER(status, GatewayClusterAssociationStatus, 0),
	MEMBER(clusterArn, string, 0),
	MEMBER(gatewayArn, string, 0),
	/* Attachment */
	MEMBER(id, string, 0),
	MEMBER(type, string, 0),
	MEMBER(status, string, 0),
	MEMBER(details, list_of_KeyValuePair, 0),
	/* AttachmentStateChange */
	MEMBER(status, string, REQUIRED),
	MEMBER(attachmentArn, string, REQUIRED),
	/* Attribute */
	MEMBER(name, string, REQUIRED),
	MEMBER(value, string, 0),
	MEMBER(targetId, string, 0),
	MEMBER(targetType, TargetType, 0),
	/* AttributeLimitExceededException */
	MEMBER(message, string, 0),
	/* AutoRepairConfiguration */
	MEMBER(actionsStatus, AutoRepairActionsStatus, 0),
	/* AutoScalingGroupProvider */
	MEMBER(managedScaling, ManagedScaling, 0),
	MEMBER(managedDraining, ManagedDraining, 0),
	MEMBER(autoScalingGroupArn, string, REQUIRED),
	MEMBER(managedTerminationProtection, ManagedTerminationProtection, 0),
	/* AutoScalingGroupProviderUpdate */
	MEMBER(managedScaling, ManagedScaling, 0),
	MEMBER(managedDraining, ManagedDraining, 0),
	MEMBER(managedTerminationProtection, ManagedTerminationProtection, 0),
	/* AwsVpcConfiguration */
	MEMBER(subnets, list_of_string, REQUIRED),
	MEMBER(assignPublicIp, AssignPublicIp, 0),
	MEMBER(securityGroups, list_of_string, 0),
	/* BaselineEbsBandwidthMbpsRequest */
	MEMBER(max, integer, 0),
	MEMBER(min, integer, 0),
	/* BlockedException */
	MEMBER(message, string, 0),
	/* CanaryConfiguration */
	MEMBER(canaryPercent, double, 0),
	MEMBER(canaryBakeTimeInMinutes, integer, 0),
	/* CapacityProvider */
	MEMBER(name, string, 0),
	MEMBER(tags, list_of_Tag_from_0_to_50, 0),
	MEMBER(type, CapacityProviderType, 0),
	MEMBER(status, CapacityProviderStatus, 0),
	MEMBER(cluster, string, 0),
	MEMBER(updateStatus, CapacityProviderUpdateStatus, 0),
	MEMBER(updateStatusReason, string, 0),
	MEMBER(capacityProviderArn, string, 0),
	MEMBER(autoScalingGroupProvider, AutoScalingGroupProvider, 0),
	MEMBER(managedInstancesProvider, ManagedInstancesProvider, 0),
	/* CapacityProviderStrategyItem */
	MEMBER(base, integer_from_0_to_100000, 0),
	MEMBER(weight, integer_from_0_to_1000, 0),
	MEMBER(capacityProvider, string, REQUIRED),
	/* CapacityReservationRequest */
	MEMBER(reservationGroupArn, string, 0),
	MEMBER(reservationPreference, CapacityReservationPreference, 0),
	/* ClientException */
	MEMBER(message, string, 0),
	/* Cluster */
	MEMBER(tags, list_of_Tag_from_0_to_50, 0),
	MEMBER(status, string, 0),
	MEMBER(settings, list_of_ClusterSetting, 0),
	MEMBER(clusterArn, string, 0),
	MEMBER(statistics, list_of_KeyValuePair, 0),
	MEMBER(attachments, list_of_Attachment, 0),
	MEMBER(clusterName, string, 0),
	MEMBER(configuration, ClusterConfiguration, 0),
	MEMBER(attachmentsStatus, string, 0),
	MEMBER(capacityProviders, list_of_string, 0),
	MEMBER(pendingTasksCount, integer, 0),
	MEMBER(runningTasksCount, integer, 0),
	MEMBER(activeServicesCount, integer, 0),
	MEMBER(serviceConnectDefaults, ClusterServiceConnectDefaults, 0),
	MEMBER(defaultCapacityProviderStrategy, list_of_CapacityProviderStrategyItem, 0),
	MEMBER(registeredContainerInstancesCount, integer, 0),
	/* ClusterConfiguration */
	MEMBER(executeCommandConfiguration, ExecuteCommandConfiguration, 0),
	MEMBER(managedStorageConfiguration, ManagedStorageConfiguration, 0),
	/* ClusterContainsCapacityProviderException */
	MEMBER(message, string, 0),
	/* ClusterContainsContainerInstancesException */
	MEMBER(message, string, 0),
	/* ClusterContainsServicesException */
	MEMBER(message, string, 0),
	/* ClusterContainsTasksException */
	MEMBER(message, string, 0),
	/* ClusterNotFoundException */
	MEMBER(message, string, 0),
	/* ClusterServiceConnectDefaults */
	MEMBER(namespace, string, 0),
	/* ClusterServiceConnectDefaultsRequest */
	MEMBER(namespace, string, REQUIRED),
	/* ClusterSetting */
	MEMBER(name, ClusterSettingName, 0),
	MEMBER(value, string, 0),
	/* ConflictException */
	MEMBER(message, string, 0),
	MEMBER(resourceIds, list_of_string, 0),
	/* Container */
	MEMBER(cpu, string, 0),
	MEMBER(name, string, 0),
	MEMBER(image, string, 0),
	MEMBER(gpuIds, list_of_string, 0),
	MEMBER(memory, string, 0),
	MEMBER(reason, string, 0),
	MEMBER(taskArn, string, 0),
	MEMBER(exitCode, integer, 0),
	MEMBER(runtimeId, string, 0),
	MEMBER(lastStatus, string, 0),
	MEMBER(imageDigest, string, 0),
	MEMBER(containerArn, string, 0),
	MEMBER(healthStatus, HealthStatus, 0),
	MEMBER(managedAgents, list_of_ManagedAgent, 0),
	MEMBER(networkBindings, list_of_NetworkBinding, 0),
	MEMBER(neuronDeviceIds, list_of_string, 0),
	MEMBER(memoryReservation, string, 0),
	MEMBER(networkInterfaces, list_of_NetworkInterface, 0),
	MEMBER(gpuSharingStrategy, SharingStrategy, 0),
	/* ContainerDefinition */
	MEMBER(cpu, integer, 0),
	MEMBER(name, string, 0),
	MEMBER(user, string, 0),
	MEMBER(image, string, 0),
	MEMBER(links, list_of_string, 0),
	MEMBER(memory, integer, 0),
	MEMBER(command, list_of_string, 0),
	MEMBER(secrets, list_of_Secret, 0),
	MEMBER(ulimits, list_of_Ulimit, 0),
	MEMBER(hostname, string, 0),
	MEMBER(dependsOn, list_of_ContainerDependency, 0),
	MEMBER(essential, boolean, 0),
	MEMBER(dnsServers, list_of_string, 0),
	MEMBER(entryPoint, list_of_string, 0),
	MEMBER(extraHosts, list_of_HostEntry, 0),
	MEMBER(privileged, boolean, 0),
	MEMBER(environment, list_of_KeyValuePair_sensitive, 0),
	MEMBER(healthCheck, HealthCheck, 0),
	MEMBER(interactive, boolean, 0),
	MEMBER(mountPoints, list_of_MountPoint, 0),
	MEMBER(stopTimeout, integer, 0),
	MEMBER(volumesFrom, list_of_VolumeFrom, 0),
	MEMBER(dockerLabels, map_of_string, 0),
	MEMBER(portMappings, list_of_PortMapping, 0),
	MEMBER(startTimeout, integer, 0),
	MEMBER(restartPolicy, ContainerRestartPolicy, 0),
	MEMBER(pseudoTerminal, boolean, 0),
	MEMBER(systemControls, list_of_SystemControl, 0),
	MEMBER(credentialSpecs, list_of_string, 0),
	MEMBER(linuxParameters, LinuxParameters, 0),
	MEMBER(dnsSearchDomains, list_of_string, 0),
	MEMBER(environmentFiles, list_of_EnvironmentFile_to_10, 0),
	MEMBER(logConfiguration, LogConfiguration, 0),
	MEMBER(workingDirectory, string, 0),
	MEMBER(disableNetworking, boolean, 0),
	MEMBER(memoryReservation, integer, 0),
	MEMBER(versionConsistency, VersionConsistency, 0),
	MEMBER(resourceRequirements, list_of_ResourceRequirement, 0),
	MEMBER(dockerSecurityOptions, list_of_string, 0),
	MEMBER(firelensConfiguration, FirelensConfiguration, 0),
	MEMBER(repositoryCredentials, RepositoryCredentials, 0),
	MEMBER(readonlyRootFilesystem, boolean, 0),
	/* ContainerDependency */
	MEMBER(condition, ContainerCondition, REQUIRED),
	MEMBER(containerName, string, REQUIRED),
	/* ContainerImage */
	MEMBER(image, string, 0),
	MEMBER(imageDigest, string, 0),
	MEMBER(containerName, string, 0),
	/* ContainerInstance */
	MEMBER(tags, list_of_Tag_from_0_to_50, 0),
	MEMBER(status, string, 0),
	MEMBER(version, long, 0),
	MEMBER(attributes, list_of_Attribute, 0),
	MEMBER(gpuDevices, list_of_GpuDevice, 0),
	MEMBER(attachments, list_of_Attachment, 0),
	MEMBER(versionInfo, VersionInfo, 0),
	MEMBER(healthStatus, ContainerInstanceHealthStatus, 0),
	MEMBER(registeredAt, timestamp, 0),
	MEMBER(statusReason, string, 0),
	MEMBER(ec2InstanceId, string, 0),
	MEMBER(agentConnected, boolean, 0),
	MEMBER(agentUpdateStatus, AgentUpdateStatus, 0),
	MEMBER(pendingTasksCount, integer, 0),
	MEMBER(runningTasksCount, integer, 0),
	MEMBER(remainingResources, list_of_Resource, 0),
	MEMBER(registeredResources, list_of_Resource, 0),
	MEMBER(capacityProviderName, string, 0),
	MEMBER(containerInstanceArn, string, 0),
	/* ContainerInstanceHealthStatus */
	MEMBER(details, list_of_InstanceHealthCheckResult, 0),
	MEMBER(overallStatus, InstanceHealthCheckState, 0),
	/* ContainerOverride */
	MEMBER(cpu, integer, 0),
	MEMBER(name, string, 0),
	MEMBER(memory, integer, 0),
	MEMBER(command, list_of_string, 0),
	MEMBER(environment, list_of_KeyValuePair_sensitive, 0),
	MEMBER(environmentFiles, list_of_EnvironmentFile, 0),
	MEMBER(memoryReservation, integer, 0),
	MEMBER(resourceRequirements, list_of_ResourceRequirement, 0),
	/* ContainerRestartPolicy */
	MEMBER(enabled, boolean, REQUIRED),
	MEMBER(ignoredExitCodes, list_of_integer_to_50, 0),
	MEMBER(restartAttemptPeriod, integer_from_60_to_1800, 0),
	/* ContainerStateChange */
	MEMBER(reason, string, 0),
	MEMBER(status, string, 0),
	MEMBER(exitCode, integer, 0),
	MEMBER(runtimeId, string, 0),
	MEMBER(imageDigest, string, 0),
	MEMBER(containerName, string, 0),
	MEMBER(networkBindings, list_of_NetworkBinding, 0),
	/* ContinueServiceDeploymentRequest */
	MEMBER(action, DeploymentLifecycleHookAction, 0),
	MEMBER(hookId, string, REQUIRED),
	MEMBER(serviceDeploymentArn, string, REQUIRED),
	/* ContinueServiceDeploymentResponse */
	MEMBER(serviceDeploymentArn, string, 0),
	/* CreateCapacityProviderRequest */
	MEMBER(name, string, REQUIRED),
	MEMBER(tags, list_of_Tag_from_0_to_50, 0),
	MEMBER(cluster, string, 0),
	MEMBER(autoScalingGroupProvider, AutoScalingGroupProvider, 0),
	MEMBER(managedInstancesProvider, CreateManagedInstancesProviderConfiguration, 0),
	/* CreateCapacityProviderResponse */
	MEMBER(capacityProvider, CapacityProvider, 0),
	/* CreateClusterRequest */
	MEMBER(tags, list_of_Tag_from_0_to_50, 0),
	MEMBER(settings, list_of_ClusterSetting, 0),
	MEMBER(clusterName, string, 0),
	MEMBER(configuration, ClusterConfiguration, 0),
	MEMBER(capacityProviders, list_of_string, 0),
	MEMBER(serviceConnectDefaults, ClusterServiceConnectDefaultsRequest, 0),
	MEMBER(defaultCapacityProviderStrategy, list_of_CapacityProviderStrategyItem, 0),
	/* CreateClusterResponse */
	MEMBER(cluster, Cluster, 0),
	/* CreateDaemonRequest */
	MEMBER(tags, list_of_Tag_from_0_to_50, 0),
	MEMBER(critical, boolean, 0),
	MEMBER(clusterArn, string, 0),
	MEMBER(daemonName, string, REQUIRED),
	MEMBER(clientToken, string_to_36, 0),
	MEMBER(propagateTags, DaemonPropagateTags, 0),
	MEMBER(capacityProviderArns, list_of_string, REQUIRED),
	MEMBER(enableECSManagedTags, boolean, 0),
	MEMBER(enableExecuteCommand, boolean, 0),
	MEMBER(daemonTaskDefinitionArn, string, REQUIRED),
	MEMBER(deploymentConfiguration, DaemonDeploymentConfiguration, 0),
	/* CreateDaemonResponse */
	MEMBER(status, DaemonStatus, 0),
	MEMBER(createdAt, timestamp, 0),
	MEMBER(daemonArn, string, 0),
	MEMBER(deploymentArn, string, 0),
	/* CreateExpressGatewayServiceRequest */
	MEMBER(cpu, string, 0),
	MEMBER(tags, list_of_Tag_from_0_to_50, 0),
	MEMBER(memory, string, 0),
	MEMBER(cluster, string, 0),
	MEMBER(serviceName, string, 0),
	MEMBER(taskRoleArn, string, 0),
	MEMBER(scalingTarget, ExpressGatewayScalingTarget, 0),
	MEMBER(cpuArchitecture, ExpressCpuArchitecture, 0),
	MEMBER(healthCheckPath, string, 0),
	MEMBER(executionRoleArn, string, 0),
	MEMBER(primaryContainer, ExpressGatewayContainer, 0),
	MEMBER(taskDefinitionArn, string, 0),
	MEMBER(networkConfiguration, ExpressGatewayServiceNetworkConfiguration, 0),
	MEMBER(infrastructureRoleArn, string, REQUIRED),
	/* CreateExpressGatewayServiceResponse */
	MEMBER(service, ECSExpressGatewayService, 0),
	/* CreateGatewayRequest */
	MEMBER(name, string, REQUIRED),
	MEMBER(tags, list_of_Tag_from_0_to_50, 0),
	MEMBER(clientToken, string, TOKEN),
	MEMBER(configuration, GatewayConfiguration, REQUIRED),
	MEMBER(propagateTags, PropagateGatewayTags, 0),
	MEMBER(deletionProtection, boolean, 0),
	MEMBER(infrastructureRoleArn, string, REQUIRED),
	/* CreateGatewayResponse */
	MEMBER(name, string, 0),
	MEMBER(status, GatewayStatus, 0),
	MEMBER(gatewayArn, string, 0),
	/* CreateManagedInstancesProviderConfiguration */
	MEMBER(propagateTags, PropagateMITags, 0),
	MEMBER(infrastructureRoleArn, string, REQUIRED),
	MEMBER(instanceLaunchTemplate, InstanceLaunchTemplate, REQUIRED),
	MEMBER(autoRepairConfiguration, AutoRepairConfiguration, 0),
	MEMBER(infrastructureOptimization, InfrastructureOptimization, 0),
	/* CreateServiceRequest */
	MEMBER(role, string, 0),
	MEMBER(tags, list_of_Tag_from_0_to_50, 0),
	MEMBER(cluster, string, 0),
	MEMBER(launchType, LaunchType, 0),
	MEMBER(monitoring, MonitoringConfiguration, 0),
	MEMBER(clientToken, string_to_36, 0),
	MEMBER(serviceName, string, REQUIRED),
	MEMBER(desiredCount, integer_from_0, 0),
	MEMBER(loadBalancers, list_of_LoadBalancer, 0),
	MEMBER(propagateTags, PropagateTags, 0),
	MEMBER(taskDefinition, string, 0),
	MEMBER(platformVersion, string, 0),
	MEMBER(gatewayConnectors, list_of_GatewayConnector_to_1, 0),
	MEMBER(placementStrategy, list_of_PlacementStrategy_to_5, 0),
	MEMBER(serviceRegistries, list_of_ServiceRegistry, 0),
	MEMBER(schedulingStrategy, SchedulingStrategy, 0),
	MEMBER(deploymentController, DeploymentController, 0),
	MEMBER(enableECSManagedTags, boolean, 0),
	MEMBER(enableExecuteCommand, boolean, 0),
	MEMBER(networkConfiguration, NetworkConfiguration, 0),
	MEMBER(placementConstraints, list_of_PlacementConstraint_to_10, 0),
	MEMBER(volumeConfigurations, list_of_ServiceVolumeConfiguration, 0),
	MEMBER(deploymentConfiguration, DeploymentConfiguration, 0),
	MEMBER(capacityProviderStrategy, list_of_CapacityProviderStrategyItem, 0),
	MEMBER(vpcLatticeConfigurations, list_of_VpcLatticeConfiguration, 0),
	MEMBER(availabilityZoneRebalancing, AvailabilityZoneRebalancing, 0),
	MEMBER(serviceConnectConfiguration, ServiceConnectConfiguration, 0),
	MEMBER(healthCheckGracePeriodSeconds, integer_from_0_to_2147483647, 0),
	/* CreateServiceResponse */
	MEMBER(service, Service, 0),
	/* CreateTaskSetRequest */
	MEMBER(tags, list_of_Tag_from_0_to_50, 0),
	MEMBER(scale, Scale, 0),
	MEMBER(cluster, string, REQUIRED),
	MEMBER(service, string, REQUIRED),
	MEMBER(externalId, string, 0),
	MEMBER(launchType, LaunchType, 0),
	MEMBER(clientToken, string_to_36, 0),
	MEMBER(loadBalancers, list_of_LoadBalancer, 0),
	MEMBER(taskDefinition, string, REQUIRED),
	MEMBER(platformVersion, string, 0),
	MEMBER(serviceRegistries, list_of_ServiceRegistry, 0),
	MEMBER(networkConfiguration, NetworkConfiguration, 0),
	MEMBER(capacityProviderStrategy, list_of_CapacityProviderStrategyItem, 0),
	/* CreateTaskSetResponse */
	MEMBER(taskSet, TaskSet, 0),
	/* CreatedAt */
	MEMBER(after, timestamp, 0),
	MEMBER(before, timestamp, 0),
	/* DaemonAlarmConfiguration */
	MEMBER(enable, boolean, 0),
	MEMBER(alarmNames, list_of_string, 0),
	/* DaemonCapacityProvider */
	MEMBER(arn, string, 0),
	MEMBER(runningCount, integer, 0),
	MEMBER(withoutDaemonCount, integer, 0),
	/* DaemonCircuitBreaker */
	MEMBER(status, DaemonDeploymentRollbackMonitorsStatus, 0),
	MEMBER(threshold, integer, 0),
	MEMBER(failureCount, integer, 0),
	/* DaemonContainerDefinition */
	MEMBER(cpu, integer, 0),
	MEMBER(name, string, 0),
	MEMBER(user, string, 0),
	MEMBER(image, string, REQUIRED),
	MEMBER(memory, integer, 0),
	MEMBER(command, list_of_string, 0),
	MEMBER(secrets, list_of_Secret, 0),
	MEMBER(ulimits, list_of_Ulimit, 0),
	MEMBER(dependsOn, list_of_ContainerDependency, 0),
	MEMBER(essential, boolean, 0),
	MEMBER(entryPoint, list_of_string, 0),
	MEMBER(privileged, boolean, 0),
	MEMBER(environment, list_of_KeyValuePair_sensitive, 0),
	MEMBER(healthCheck, HealthCheck, 0),
	MEMBER(interactive, boolean, 0),
	MEMBER(mountPoints, list_of_MountPoint, 0),
	MEMBER(stopTimeout, integer, 0),
	MEMBER(startTimeout, integer, 0),
	MEMBER(restartPolicy, ContainerRestartPolicy, 0),
	MEMBER(pseudoTerminal, boolean, 0),
	MEMBER(systemControls, list_of_SystemControl, 0),
	MEMBER(linuxParameters, DaemonLinuxParameters, 0),
	MEMBER(environmentFiles, list_of_EnvironmentFile, 0),
	MEMBER(logConfiguration, LogConfiguration, 0),
	MEMBER(workingDirectory, string, 0),
	MEMBER(memoryReservation, integer, 0),
	MEMBER(firelensConfiguration, FirelensConfiguration, 0),
	MEMBER(repositoryCredentials, RepositoryCredentials, 0),
	MEMBER(readonlyRootFilesystem, boolean, 0),
	/* DaemonContainerImage */
	MEMBER(image, string, 0),
	MEMBER(imageDigest, string, 0),
	MEMBER(containerName, string, 0),
	/* DaemonDeployment */
	MEMBER(alarms, DaemonDeploymentAlarms, 0),
	MEMBER(status, DaemonDeploymentStatus, 0),
	MEMBER(rollback, DaemonRollback, 0),
	MEMBER(createdAt, timestamp, 0),
	MEMBER(startedAt, timestamp, 0),
	MEMBER(stoppedAt, timestamp, 0),
	MEMBER(clusterArn, string, 0),
	MEMBER(finishedAt, timestamp, 0),
	MEMBER(statusReason, string, 0),
	MEMBER(circuitBreaker, DaemonCircuitBreaker, 0),
	MEMBER(daemonDeploymentArn, string, 0),
	MEMBER(targetDaemonRevision, DaemonDeploymentRevisionDetail, 0),
	MEMBER(sourceDaemonRevisions, list_of_DaemonDeploymentRevisionDetail, 0),
	MEMBER(deploymentConfiguration, DaemonDeploymentConfiguration, 0),
	/* DaemonDeploymentAlarms */
	MEMBER(status, DaemonDeploymentRollbackMonitorsStatus, 0),
	MEMBER(alarmNames, list_of_string, 0),
	MEMBER(triggeredAlarmNames, list_of_string, 0),
	/* DaemonDeploymentCapacityProvider */
	MEMBER(arn, string, 0),
	MEMBER(runningInstanceCount, integer, 0),
	MEMBER(drainingInstanceCount, integer, 0),
	MEMBER(withoutDaemonInstanceCount, integer, 0),
	/* DaemonDeploymentConfiguration */
	MEMBER(alarms, DaemonAlarmConfiguration, 0),
	MEMBER(drainPercent, double_from_0_to_100, 0),
	MEMBER(bakeTimeInMinutes, integer, 0),
	/* DaemonDeploymentRevisionDetail */
	MEMBER(arn, string, 0),
	MEMBER(capacityProviders, list_of_DaemonDeploymentCapacityProvider, 0),
	MEMBER(totalRunningInstanceCount, integer, 0),
	MEMBER(totalDrainingInstanceCount, integer, 0),
	MEMBER(totalWithoutDaemonInstanceCount, integer, 0),
	/* DaemonDeploymentSummary */
	MEMBER(status, DaemonDeploymentStatus, 0),
	MEMBER(createdAt, timestamp, 0),
	MEMBER(daemonArn, string, 0),
	MEMBER(startedAt, timestamp, 0),
	MEMBER(stoppedAt, timestamp, 0),
	MEMBER(clusterArn, string, 0),
	MEMBER(finishedAt, timestamp, 0),
	MEMBER(statusReason, string, 0),
	MEMBER(daemonDeploymentArn, string, 0),
	MEMBER(targetDaemonRevisionArn, string, 0),
	/* DaemonDetail */
	MEMBER(status, DaemonStatus, 0),
	MEMBER(createdAt, timestamp, 0),
	MEMBER(daemonArn, string, 0),
	MEMBER(updatedAt, timestamp, 0),
	MEMBER(clusterArn, string, 0),
	MEMBER(deploymentArn, string, 0),
	MEMBER(currentRevisions, list_of_DaemonRevisionDetail, 0),
	/* DaemonLinuxParameters */
	MEMBER(tmpfs, list_of_Tmpfs, 0),
	MEMBER(devices, list_of_Device, 0),
	MEMBER(capabilities, KernelCapabilities, 0),
	MEMBER(initProcessEnabled, boolean, 0),
	/* DaemonNotActiveException */
	MEMBER(message, string, 0),
	/* DaemonNotFoundException */
	MEMBER(message, string, 0),
	/* DaemonRevision */
	MEMBER(critical, boolean, 0),
	MEMBER(createdAt, timestamp, 0),
	MEMBER(daemonArn, string, 0),
	MEMBER(clusterArn, string, 0),
	MEMBER(propagateTags, DaemonPropagateTags, 0),
	MEMBER(containerImages, list_of_DaemonContainerImage, 0),
	MEMBER(daemonRevisionArn, string, 0),
	MEMBER(enableECSManagedTags, boolean, 0),
	MEMBER(enableExecuteCommand, boolean, 0),
	MEMBER(daemonTaskDefinitionArn, string, 0),
	/* DaemonRevisionDetail */
	MEMBER(arn, string, 0),
	MEMBER(capacityProviders, list_of_DaemonCapacityProvider, 0),
	MEMBER(totalRunningCount, integer, 0),
	MEMBER(totalWithoutDaemonCount, integer, 0),
	/* DaemonRollback */
	MEMBER(reason, string, 0),
	MEMBER(startedAt, timestamp, 0),
	MEMBER(rollbackCapacityProviders, list_of_string, 0),
	MEMBER(rollbackTargetDaemonRevisionArn, string, 0),
	/* DaemonSummary */
	MEMBER(status, DaemonStatus, 0),
	MEMBER(createdAt, timestamp, 0),
	MEMBER(daemonArn, string, 0),
	MEMBER(updatedAt, timestamp, 0),
	/* DaemonTaskDefinition */
	MEMBER(cpu, string, 0),
	MEMBER(family, string, 0),
	MEMBER(memory, string, 0),
	MEMBER(status, DaemonTaskDefinitionStatus, 0),
	MEMBER(ipcMode, DaemonIpcMode, 0),
	MEMBER(pidMode, DaemonPidMode, 0),
	MEMBER(volumes, list_of_DaemonVolume, 0),
	MEMBER(revision, integer, 0),
	MEMBER(taskRoleArn, string, 0),
	MEMBER(registeredAt, timestamp, 0),
	MEMBER(registeredBy, string, 0),
	MEMBER(executionRoleArn, string, 0),
	MEMBER(deleteRequestedAt, timestamp, 0),
	MEMBER(containerDefinitions, list_of_DaemonContainerDefinition, 0),
	MEMBER(daemonTaskDefinitionArn, string, 0),
	/* DaemonTaskDefinitionSummary */
	MEMBER(arn, string, 0),
	MEMBER(status, DaemonTaskDefinitionStatus, 0),
	MEMBER(registeredAt, timestamp, 0),
	MEMBER(registeredBy, string, 0),
	MEMBER(deleteRequestedAt, timestamp, 0),
	/* DaemonVolume */
	MEMBER(host, HostVolumeProperties, 0),
	MEMBER(name, string, 0),
	/* DeleteAccountSettingRequest */
	MEMBER(name, SettingName, REQUIRED),
	MEMBER(principalArn, string, 0),
	/* DeleteAccountSettingResponse */
	MEMBER(setting, Setting, 0),
	/* DeleteAttributesRequest */
	MEMBER(cluster, string, 0),
	MEMBER(attributes, list_of_Attribute_to_10, REQUIRED),
	/* DeleteAttributesResponse */
	MEMBER(attributes, list_of_Attribute, 0),
	/* DeleteCapacityProviderRequest */
	MEMBER(cluster, string, 0),
	MEMBER(capacityProvider, string, REQUIRED),
	/* DeleteCapacityProviderResponse */
	MEMBER(capacityProvider, CapacityProvider, 0),
	/* DeleteClusterRequest */
	MEMBER(cluster, string, REQUIRED),
	/* DeleteClusterResponse */
	MEMBER(cluster, Cluster, 0),
	/* DeleteDaemonRequest */
	MEMBER(daemonArn, string, REQUIRED),
	/* DeleteDaemonResponse */
	MEMBER(status, DaemonStatus, 0),
	MEMBER(createdAt, timestamp, 0),
	MEMBER(daemonArn, string, 0),
	MEMBER(updatedAt, timestamp, 0),
	MEMBER(deploymentArn, string, 0),
	/* DeleteDaemonTaskDefinitionRequest */
	MEMBER(daemonTaskDefinition, string, REQUIRED),
	/* DeleteDaemonTaskDefinitionResponse */
	MEMBER(daemonTaskDefinitionArn, string, 0),
	/* DeleteExpressGatewayServiceRequest */
	MEMBER(serviceArn, string, REQUIRED),
	/* DeleteExpressGatewayServiceResponse */
	MEMBER(service, ECSExpressGatewayService, 0),
	/* DeleteGatewayRequest */
	MEMBER(gateway, string, REQUIRED),
	/* DeleteGatewayResponse */
	MEMBER(name, string, 0),
	MEMBER(status, GatewayStatus, 0),
	MEMBER(gatewayArn, string, 0),
	/* DeleteServiceRequest */
	MEMBER(force, boolean, 0),
	MEMBER(cluster, string, 0),
	MEMBER(service, string, REQUIRED),
	/* DeleteServiceResponse */
	MEMBER(service, Service, 0),
	/* DeleteTaskDefinitionsRequest */
	MEMBER(taskDefinitions, list_of_string_to_10, REQUIRED),
	/* DeleteTaskDefinitionsResponse */
	MEMBER(failures, list_of_Failure, 0),
	MEMBER(taskDefinitions, list_of_TaskDefinition, 0),
	/* DeleteTaskSetRequest */
	MEMBER(force, boolean, 0),
	MEMBER(cluster, string, REQUIRED),
	MEMBER(service, string, REQUIRED),
	MEMBER(taskSet, string, REQUIRED),
	/* DeleteTaskSetResponse */
	MEMBER(taskSet, TaskSet, 0),
	/* Deployment */
	MEMBER(id, string, 0),
	MEMBER(status, string, 0),
	MEMBER(createdAt, timestamp, 0),
	MEMBER(updatedAt, timestamp, 0),
	MEMBER(launchType, LaunchType, 0),
	MEMBER(failedTasks, integer, 0),
	MEMBER(desiredCount, integer, 0),
	MEMBER(pendingCount, integer, 0),
	MEMBER(rolloutState, DeploymentRolloutState, 0),
	MEMBER(runningCount, integer, 0),
	MEMBER(platformFamily, string, 0),
	MEMBER(taskDefinition, string, 0),
	MEMBER(platformVersion, string, 0),
	MEMBER(rolloutStateReason, string, 0),
	MEMBER(networkConfiguration, NetworkConfiguration, 0),
	MEMBER(volumeConfigurations, list_of_ServiceVolumeConfiguration, 0),
	MEMBER(fargateEphemeralStorage, DeploymentEphemeralStorage, 0),
	MEMBER(serviceConnectResources, list_of_ServiceConnectServiceResource, 0),
	MEMBER(capacityProviderStrategy, list_of_CapacityProviderStrategyItem, 0),
	MEMBER(vpcLatticeConfigurations, list_of_VpcLatticeConfiguration, 0),
	MEMBER(serviceConnectConfiguration, ServiceConnectConfiguration, 0),
	/* DeploymentAlarms */
	MEMBER(enable, boolean, REQUIRED),
	MEMBER(rollback, boolean, REQUIRED),
	MEMBER(alarmNames, list_of_string, REQUIRED),
	/* DeploymentCircuitBreaker */
	MEMBER(enable, boolean, REQUIRED),
	MEMBER(rollback, boolean, REQUIRED),
	MEMBER(resetOnHealthyTask, boolean, 0),
	MEMBER(thresholdConfiguration, ThresholdConfiguration, 0),
	/* DeploymentConfiguration */
	MEMBER(alarms, DeploymentAlarms, 0),
	MEMBER(strategy, DeploymentStrategy, 0),
	MEMBER(lifecycleHooks, list_of_DeploymentLifecycleHook, 0),
	MEMBER(maximumPercent, integer, 0),
	MEMBER(bakeTimeInMinutes, integer, 0),
	MEMBER(canaryConfiguration, CanaryConfiguration, 0),
	MEMBER(linearConfiguration, LinearConfiguration, 0),
	MEMBER(earlySuccessCriteria, DeploymentEarlySuccessCriteria, 0),
	MEMBER(minimumHealthyPercent, integer, 0),
	MEMBER(deploymentCircuitBreaker, DeploymentCircuitBreaker, 0),
	/* DeploymentController */
	MEMBER(type, DeploymentControllerType, REQUIRED),
	/* DeploymentEarlySuccessCriteria */
	MEMBER(enable, boolean, REQUIRED),
	MEMBER(healthyPercent, integer_from_0_to_100, 0),
	MEMBER(sourceServiceRevisionCleanup, ServiceRevisionCleanup, 0),
	/* DeploymentEphemeralStorage */
	MEMBER(kmsKeyId, string, 0),
	/* DeploymentLifecycleHook */
	MEMBER(roleArn, string, 0),
	MEMBER(targetType, DeploymentLifecycleHookTargetType, 0),
	MEMBER(hookDetails, document, 0),
	MEMBER(hookTargetArn, string, 0),
	MEMBER(lifecycleStages, list_of_DeploymentLifecycleHookStage, 0),
	MEMBER(timeoutConfiguration, DeploymentLifecycleHookTimeoutConfiguration, 0),
	/* DeploymentLifecycleHookDetail */
	MEMBER(hookId, string, 0),
	MEMBER(status, DeploymentLifecycleHookStatus, 0),
	MEMBER(expiresAt, timestamp, 0),
	MEMBER(targetArn, string, 0),
	MEMBER(targetType, DeploymentLifecycleHookTargetType, 0),
	MEMBER(timeoutAction, DeploymentLifecycleHookAction, 0),
	/* DeploymentLifecycleHookTimeoutConfiguration */
	MEMBER(action, DeploymentLifecycleHookAction, 0),
	MEMBER(timeoutInMinutes, integer_from_1_to_20160, 0),
	/* DeregisterContainerInstanceRequest */
	MEMBER(force, boolean, 0),
	MEMBER(cluster, string, 0),
	MEMBER(containerInstance, string, REQUIRED),
	/* DeregisterContainerInstanceResponse */
	MEMBER(containerInstance, ContainerInstance, 0),
	/* DeregisterTaskDefinitionRequest */
	MEMBER(taskDefinition, string, REQUIRED),
	/* DeregisterTaskDefinitionResponse */
	MEMBER(taskDefinition, TaskDefinition, 0),
	/* DescribeCapacityProvidersRequest */
	MEMBER(cluster, string, 0),
	MEMBER(include, list_of_CapacityProviderField, 0),
	MEMBER(nextToken, string, 0),
	MEMBER(maxResults, integer_from_1_to_10, 0),
	MEMBER(capacityProviders, list_of_string_to_100, 0),
	/* DescribeCapacityProvidersResponse */
	MEMBER(failures, list_of_Failure, 0),
	MEMBER(nextToken, string, 0),
	MEMBER(capacityProviders, list_of_CapacityProvider, 0),
	/* DescribeClustersRequest */
	MEMBER(include, list_of_ClusterField, 0),
	MEMBER(clusters, list_of_string_to_100, 0),
	/* DescribeClustersResponse */
	MEMBER(clusters, list_of_Cluster, 0),
	MEMBER(failures, list_of_Failure, 0),
	/* DescribeContainerInstancesRequest */
	MEMBER(cluster, string, 0),
	MEMBER(include, list_of_ContainerInstanceField, 0),
	MEMBER(containerInstances, list_of_string_to_100, REQUIRED),
	/* DescribeContainerInstancesResponse */
	MEMBER(failures, list_of_Failure, 0),
	MEMBER(containerInstances, list_of_ContainerInstance, 0),
	/* DescribeDaemonDeploymentsRequest */
	MEMBER(daemonDeploymentArns, list_of_string_to_20, REQUIRED),
	/* DescribeDaemonDeploymentsResponse */
	MEMBER(failures, list_of_Failure, 0),
	MEMBER(daemonDeployments, list_of_DaemonDeployment, 0),
	/* DescribeDaemonRequest */
	MEMBER(daemonArn, string, REQUIRED),
	/* DescribeDaemonResponse */
	MEMBER(daemon, DaemonDetail, 0),
	/* DescribeDaemonRevisionsRequest */
	MEMBER(daemonRevisionArns, list_of_string_to_20, REQUIRED),
	/* DescribeDaemonRevisionsResponse */
	MEMBER(failures, list_of_Failure, 0),
	MEMBER(daemonRevisions, list_of_DaemonRevision, 0),
	/* DescribeDaemonTaskDefinitionRequest */
	MEMBER(daemonTaskDefinition, string, REQUIRED),
	/* DescribeDaemonTaskDefinitionResponse */
	MEMBER(daemonTaskDefinition, DaemonTaskDefinition, 0),
	/* DescribeExpressGatewayServiceRequest */
	MEMBER(include, list_of_ExpressGatewayServiceInclude, 0),
	MEMBER(serviceArn, string, REQUIRED),
	/* DescribeExpressGatewayServiceResponse */
	MEMBER(service, ECSExpressGatewayService, 0),
	/* DescribeGatewayAlbConfiguration */
	MEMBER(port, integer, 0),
	MEMBER(scheme, GatewayElbScheme, 0),
	MEMBER(protocol, GatewayAlbProtocol, 0),
	MEMBER(webACLArn, string, 0),
	MEMBER(accessLogs, GatewayElbAccessLogConfiguration, 0),
	MEMBER(httpDesync, GatewayAlbDesyncMitigationMode, 0),
	MEMBER(maxAlbCount, integer, 0),
	MEMBER(currentAlbCount, integer, 0),
	MEMBER(testTrafficRules, GatewayAlbTestTrafficRules, 0),
	MEMBER(networkConfiguration, GatewayElbNetworkConfiguration, 0),
	/* DescribeGatewayConfiguration */
	MEMBER(hostSharedAlb, DescribeGatewayAlbConfiguration, 0),
	/* DescribeGatewayRequest */
	MEMBER(gateway, string, REQUIRED),
	/* DescribeGatewayResourcesRequest */
	MEMBER(gateway, string, REQUIRED),
	MEMBER(nextToken, string, 0),
	MEMBER(maxResults, integer, 0),
	/* DescribeGatewayResourcesResponse */
	MEMBER(nextToken, string, 0),
	MEMBER(gatewayResources, GatewayResources, 0),
	/* DescribeGatewayResponse */
	MEMBER(gateway, Gateway, 0),
	/* DescribeGatewayRouteRequest */
	MEMBER(gatewayRouteArn, string, REQUIRED),
	/* DescribeGatewayRouteResponse */
	MEMBER(gatewayRoute, GatewayRoute, 0),
	/* DescribeServiceDeploymentsRequest */
	MEMBER(serviceDeploymentArns, list_of_string_to_20, REQUIRED),
	/* DescribeServiceDeploymentsResponse */
	MEMBER(failures, list_of_Failure, 0),
	MEMBER(serviceDeployments, list_of_ServiceDeployment, 0),
	/* DescribeServiceRevisionsRequest */
	MEMBER(serviceRevisionArns, list_of_string_to_20, REQUIRED),
	/* DescribeServiceRevisionsResponse */
	MEMBER(failures, list_of_Failure, 0),
	MEMBER(serviceRevisions, list_of_ServiceRevision, 0),
	/* DescribeServicesRequest */
	MEMBER(cluster, string, 0),
	MEMBER(include, list_of_ServiceField, 0),
	MEMBER(services, list_of_string_to_10, REQUIRED),
	/* DescribeServicesResponse */
	MEMBER(failures, list_of_Failure, 0),
	MEMBER(services, list_of_Service, 0),
	/* DescribeTaskDefinitionRequest */
	MEMBER(include, list_of_TaskDefinitionField, 0),
	MEMBER(taskDefinition, string, REQUIRED),
	/* DescribeTaskDefinitionResponse */
	MEMBER(tags, list_of_Tag_from_0_to_50, 0),
	MEMBER(taskDefinition, TaskDefinition, 0),
	/* DescribeTaskSetsRequest */
	MEMBER(cluster, string, REQUIRED),
	MEMBER(include, list_of_TaskSetField, 0),
	MEMBER(service, string, REQUIRED),
	MEMBER(taskSets, list_of_string, 0),
	/* DescribeTaskSetsResponse */
	MEMBER(failures, list_of_Failure, 0),
	MEMBER(taskSets, list_of_TaskSet, 0),
	/* DescribeTasksRequest */
	MEMBER(tasks, list_of_string_to_100, REQUIRED),
	MEMBER(cluster, string, 0),
	MEMBER(include, list_of_TaskField, 0),
	/* DescribeTasksResponse */
	MEMBER(tasks, list_of_Task, 0),
	MEMBER(failures, list_of_Failure, 0),
	/* Device */
	MEMBER(hostPath, string, REQUIRED),
	MEMBER(permissions, list_of_DeviceCgroupPermission, 0),
	MEMBER(containerPath, string, 0),
	/* DisassociateGatewayFromClusterRequest */
	MEMBER(cluster, string, REQUIRED),
	MEMBER(gateway, string, REQUIRED),
	/* DisassociateGatewayFromClusterResponse */
	MEMBER(status, GatewayClusterAssociationStatus, 0),
	MEMBER(clusterArn, string, 0),
	MEMBER(gatewayArn, string, 0),
	/* DiscoverPollEndpointRequest */
	MEMBER(cluster, string, 0),
	MEMBER(containerInstance, string, 0),
	/* DiscoverPollEndpointResponse */
	MEMBER(endpoint, string, 0),
	MEMBER(telemetryEndpoint, string, 0),
	MEMBER(serviceConnectEndpoint, string, 0),
	/* DockerVolumeConfiguration */
	MEMBER(scope, Scope, 0),
	MEMBER(driver, string, 0),
	MEMBER(labels, map_of_string, 0),
	MEMBER(driverOpts, map_of_string, 0),
	MEMBER(autoprovision, boolean, 0),
	/* EBSTagSpecification */
	MEMBER(tags, list_of_Tag_from_0_to_50, 0),
	MEMBER(resourceType, EBSResourceType, REQUIRED),
	MEMBER(propagateTags, PropagateTags, 0),
	/* ECSExpressGatewayService */
	MEMBER(tags, list_of_Tag_from_0_to_50, 0),
	MEMBER(status, ExpressGatewayServiceStatus, 0),
	MEMBER(cluster, string, 0),
	MEMBER(createdAt, timestamp, 0),
	MEMBER(updatedAt, timestamp, 0),
	MEMBER(serviceArn, string, 0),
	MEMBER(serviceName, string, 0),
	MEMBER(currentDeployment, string, 0),
	MEMBER(activeConfigurations, list_of_ExpressGatewayServiceConfiguration, 0),
	MEMBER(infrastructureRoleArn, string, 0),
	/* ECSManagedResources */
	MEMBER(logGroups, list_of_ManagedLogGroup, 0),
	MEMBER(autoScaling, ManagedAutoScaling, 0),
	MEMBER(ingressPaths, list_of_ManagedIngressPath, 0),
	MEMBER(metricAlarms, list_of_ManagedMetricAlarm, 0),
	MEMBER(gatewayConnections, list_of_GatewayConnection, 0),
	MEMBER(serviceSecurityGroups, list_of_ManagedSecurityGroup, 0),
	/* EFSAuthorizationConfig */
	MEMBER(iam, EFSAuthorizationConfigIAM, 0),
	MEMBER(accessPointId, string, 0),
	/* EFSVolumeConfiguration */
	MEMBER(fileSystemId, string, REQUIRED),
	MEMBER(rootDirectory, string, 0),
	MEMBER(transitEncryption, EFSTransitEncryption, 0),
	MEMBER(authorizationConfig, EFSAuthorizationConfig, 0),
	MEMBER(transitEncryptionPort, integer, 0),
	/* ElbGatewayResources */
	MEMBER(listenerArn, string, 0),
	MEMBER(securityGroup, string, 0),
	MEMBER(loadBalancerArn, string, 0),
	MEMBER(gatewayRouteArns, list_of_string, 0),
	/* EnvironmentFile */
	MEMBER(type, EnvironmentFileType, REQUIRED),
	MEMBER(value, string, REQUIRED),
	/* EphemeralStorage */
	MEMBER(sizeInGiB, integer_from_21_to_200, REQUIRED),
	/* ExecuteCommandConfiguration */
	MEMBER(logging, ExecuteCommandLogging, 0),
	MEMBER(kmsKeyId, string, 0),
	MEMBER(logConfiguration, ExecuteCommandLogConfiguration, 0),
	/* ExecuteCommandLogConfiguration */
	MEMBER(s3KeyPrefix, string, 0),
	MEMBER(s3BucketName, string, 0),
	MEMBER(s3EncryptionEnabled, boolean, 0),
	MEMBER(cloudWatchLogGroupName, string, 0),
	MEMBER(cloudWatchEncryptionEnabled, boolean, 0),
	/* ExecuteCommandRequest */
	MEMBER(task, string, REQUIRED),
	MEMBER(cluster, string, 0),
	MEMBER(command, string, REQUIRED),
	MEMBER(container, string, 0),
	MEMBER(interactive, boolean, REQUIRED),
	/* ExecuteCommandResponse */
	MEMBER(session, Session, 0),
	MEMBER(taskArn, string, 0),
	MEMBER(clusterArn, string, 0),
	MEMBER(interactive, boolean, 0),
	MEMBER(containerArn, string, 0),
	MEMBER(containerName, string, 0),
	/* ExpressGatewayContainer */
	MEMBER(image, string, REQUIRED),
	MEMBER(command, list_of_string, 0),
	MEMBER(secrets, list_of_Secret, 0),
	MEMBER(environment, list_of_KeyValuePair_sensitive, 0),
	MEMBER(containerPort, integer, 0),
	MEMBER(awsLogsConfiguration, ExpressGatewayServiceAwsLogsConfiguration, 0),
	MEMBER(repositoryCredentials, ExpressGatewayRepositoryCredentials, 0),
	/* ExpressGatewayRepositoryCredentials */
	MEMBER(credentialsParameter, string, 0),
	/* ExpressGatewayScalingTarget */
	MEMBER(maxTaskCount, integer, 0),
	MEMBER(minTaskCount, integer, 0),
	MEMBER(autoScalingMetric, ExpressGatewayServiceScalingMetric, 0),
	MEMBER(autoScalingTargetValue, integer, 0),
	/* ExpressGatewayServiceAwsLogsConfiguration */
	MEMBER(logGroup, string, REQUIRED),
	MEMBER(logStreamPrefix, string, REQUIRED),
	/* ExpressGatewayServiceConfiguration */
	MEMBER(cpu, string, 0),
	MEMBER(memory, string, 0),
	MEMBER(createdAt, timestamp, 0),
	MEMBER(taskRoleArn, string, 0),
	MEMBER(ingressPaths, list_of_IngressPathSummary, 0),
	MEMBER(scalingTarget, ExpressGatewayScalingTarget, 0),
	MEMBER(cpuArchitecture, ExpressCpuArchitecture, 0),
	MEMBER(healthCheckPath, string, 0),
	MEMBER(executionRoleArn, string, 0),
	MEMBER(primaryContainer, ExpressGatewayContainer, 0),
	MEMBER(taskDefinitionArn, string, 0),
	MEMBER(serviceRevisionArn, string, 0),
	MEMBER(networkConfiguration, ExpressGatewayServiceNetworkConfiguration, 0),
	/* ExpressGatewayServiceNetworkConfiguration */
	MEMBER(subnets, list_of_string, 0),
	MEMBER(securityGroups, list_of_string, 0),
	/* ExpressGatewayServiceStatus */
	MEMBER(statusCode, ExpressGatewayServiceStatusCode, 0),
	MEMBER(statusReason, string, 0),
	/* FSxWindowsFileServerAuthorizationConfig */
	MEMBER(domain, string, REQUIRED),
	MEMBER(credentialsParameter, string, REQUIRED),
	/* FSxWindowsFileServerVolumeConfiguration */
	MEMBER(fileSystemId, string, REQUIRED),
	MEMBER(rootDirectory, string, REQUIRED),
	MEMBER(authorizationConfig, FSxWindowsFileServerAuthorizationConfig, REQUIRED),
	/* Failure */
	MEMBER(arn, string, 0),
	MEMBER(detail, string, 0),
	MEMBER(reason, string, 0),
	/* FirelensConfiguration */
	MEMBER(type, FirelensConfigurationType, REQUIRED),
	MEMBER(options, map_of_string, 0),
	/* Gateway */
	MEMBER(name, string, 0),
	MEMBER(tags, list_of_Tag_from_0_to_50, 0),
	MEMBER(status, GatewayStatus, 0),
	MEMBER(failures, list_of_GatewayResourceFailure, 0),
	MEMBER(createdAt, timestamp, 0),
	MEMBER(updatedAt, timestamp, 0),
	MEMBER(accessType, AccessType, 0),
	MEMBER(gatewayArn, string, 0),
	MEMBER(statusReason, string, 0),
	MEMBER(configuration, DescribeGatewayConfiguration, 0),
	MEMBER(propagateTags, PropagateGatewayTags, 0),
	MEMBER(deletionProtection, boolean, 0),
	MEMBER(infrastructureRoleArn, string, 0),
	/* GatewayAlbTestTrafficRules */
	MEMBER(header, GatewayTestTrafficHeader, 0),
	/* GatewayClusterAssociationSummary */
	MEMBER(status, GatewayClusterAssociationStatus, 0),
	MEMBER(clusterArn, string, 0),
	MEMBER(gatewayArn, string, 0),
	/* GatewayConfiguration */
	MEMBER(hostSharedAlb, HostSharedAlbConfiguration, 0),
	/* GatewayConnection */
	MEMBER(status, GatewayRouteStatus, 0),
	MEMBER(portName, string, 0),
	MEMBER(resources, GatewayConnectionResources, 0),
	MEMBER(accessType, AccessType, 0),
	MEMBER(gatewayArn, string, 0),
	MEMBER(serviceUrl, string, 0),
	MEMBER(gatewayRouteArn, string, 0),
	/* GatewayConnectionAlbResources */
	MEMBER(listenerArn, string, 0),
	MEMBER(targetGroupArn, string, 0),
	MEMBER(listenerRuleArn, string, 0),
	MEMBER(loadBalancerArn, string, 0),
	MEMBER(acmCertificateArn, string, 0),
	MEMBER(testListenerRuleArn, string, 0),
	MEMBER(alternateTargetGroupArn, string, 0),
	MEMBER(loadBalancerSecurityGroupArns, list_of_string, 0),
	/* GatewayConnectionResources */
	MEMBER(hostSharedAlb, list_of_GatewayConnectionAlbResources, 0),
	/* GatewayConnector */
	MEMBER(filters, GatewayConnectorFilters, 0),
	MEMBER(portName, string, REQUIRED),
	MEMBER(healthCheck, GatewayConnectorHealthCheck, 0),
	/* GatewayConnectorFilters */
	MEMBER(accessTypes, list_of_AccessType, 0),
	/* GatewayConnectorHealthCheck */
	MEMBER(matcher, GatewayConnectorHealthCheckMatcher, 0),
	MEMBER(healthCheckPath, string, 0),
	MEMBER(healthCheckPort, integer, 0),
	MEMBER(healthCheckProtocol, GatewayConnectorHealthCheckProtocol, 0),
	MEMBER(healthyThresholdCount, integer, 0),
	MEMBER(unhealthyThresholdCount, integer, 0),
	MEMBER(healthCheckTimeoutSeconds, integer, 0),
	MEMBER(healthCheckIntervalSeconds, integer, 0),
	/* GatewayConnectorHealthCheckMatcher */
	MEMBER(grpcCode, string, 0),
	MEMBER(httpCode, string, 0),
	/* GatewayElbAccessLogConfiguration */
	MEMBER(destination, GatewayElbAccessLogDestination, 0),
	/* GatewayElbAccessLogDestination */
	MEMBER(s3, GatewayElbAccessLogS3Destination, 0),
	/* GatewayElbAccessLogS3Destination */
	MEMBER(bucket, string, REQUIRED),
	MEMBER(prefix, string, 0),
	/* GatewayElbNetworkConfiguration */
	MEMBER(subnets, list_of_string, 0),
	MEMBER(ipAddressType, GatewayElbIpAddressType, 0),
	MEMBER(inboundSecurityGroup, string, 0),
	/* GatewayInfrastructureResources */
	MEMBER(hostSharedAlb, list_of_ElbGatewayResources, 0),
	/* GatewayNotFoundException */
	MEMBER(message, string, 0),
	/* GatewayOperationError */
	MEMBER(code, string, 0),
	MEMBER(message, string, 0),
	MEMBER(operation, string, 0),
	/* GatewayResourceFailure */
	MEMBER(arn, string, 0),
	MEMBER(errors, list_of_GatewayOperationError, 0),
	/* GatewayResources */
	MEMBER(resources, GatewayInfrastructureResources, 0),
	MEMBER(gatewayArn, string, 0),
	/* GatewayRoute */
	MEMBER(status, GatewayRouteStatus, 0),
	MEMBER(resources, GatewayRouteResources, 0),
	MEMBER(serviceArn, string, 0),
	MEMBER(serviceUrl, string, 0),
	MEMBER(gatewayRouteArn, string, 0),
	MEMBER(serviceContainerPortName, string, 0),
	/* GatewayRouteAlbResources */
	MEMBER(listenerArn, string, 0),
	MEMBER(listenerRuleArn, string, 0),
	MEMBER(loadBalancerArn, string, 0),
	MEMBER(acmCertificateArn, string, 0),
	MEMBER(testListenerRuleArns, list_of_string, 0),
	MEMBER(serviceSecurityGroupArn, string, 0),
	MEMBER(loadBalancerSecurityGroups, list_of_GatewayRouteLoadBalancerSecurityGroup, 0),
	/* GatewayRouteLoadBalancerSecurityGroup */
	MEMBER(arn, string, 0),
	MEMBER(ruleArns, list_of_string, 0),
	/* GatewayRouteResources */
	MEMBER(hostSharedAlb, list_of_GatewayRouteAlbResources, 0),
	/* GatewayRouteSummary */
	MEMBER(status, GatewayRouteStatus, 0),
	MEMBER(clusterArn, string, 0),
	MEMBER(gatewayArn, string, 0),
	MEMBER(serviceArn, string, 0),
	MEMBER(gatewayRouteArn, string, 0),
	MEMBER(serviceContainerPortName, string, 0),
	/* GatewaySummary */
	MEMBER(name, string, 0),
	MEMBER(status, GatewayStatus, 0),
	MEMBER(createdAt, timestamp, 0),
	MEMBER(gatewayArn, string, 0),
	/* GatewayTestTrafficHeader */
	MEMBER(name, string, REQUIRED),
	MEMBER(values, list_of_string, REQUIRED),
	/* GetTaskProtectionRequest */
	MEMBER(tasks, list_of_string_to_100, 0),
	MEMBER(cluster, string, REQUIRED),
	/* GetTaskProtectionResponse */
	MEMBER(failures, list_of_Failure, 0),
	MEMBER(protectedTasks, list_of_ProtectedTask, 0),
	/* GpuDevice */
	MEMBER(gpuId, string, 0),
	MEMBER(sharingMode, GpuSharingMode, 0),
	MEMBER(containerCount, integer, 0),
	MEMBER(totalMemoryInMiB, integer, 0),
	MEMBER(remainingMemoryInMiB, integer, 0),
	/* HealthCheck */
	MEMBER(command, list_of_string, REQUIRED),
	MEMBER(retries, integer_from_1_to_10, 0),
	MEMBER(timeout, integer_from_2_to_60, 0),
	MEMBER(interval, integer_from_5_to_300, 0),
	MEMBER(startPeriod, integer_from_0_to_300, 0),
	/* HostEntry */
	MEMBER(hostname, string, REQUIRED),
	MEMBER(ipAddress, string, REQUIRED),
	/* HostSharedAlbConfiguration */
	MEMBER(port, integer, 0),
	MEMBER(scheme, GatewayElbScheme, 0),
	MEMBER(protocol, GatewayAlbProtocol, 0),
	MEMBER(webACLArn, string, 0),
	MEMBER(accessLogs, GatewayElbAccessLogConfiguration, 0),
	MEMBER(httpDesync, GatewayAlbDesyncMitigationMode, 0),
	MEMBER(maxAlbCount, integer, 0),
	MEMBER(testTrafficRules, GatewayAlbTestTrafficRules, 0),
	MEMBER(networkConfiguration, GatewayElbNetworkConfiguration, 0),
	/* HostVolumeProperties */
	MEMBER(sourcePath, string, 0),
	/* InferenceAccelerator */
	MEMBER(deviceName, string, REQUIRED),
	MEMBER(deviceType, string, REQUIRED),
	/* InferenceAcceleratorOverride */
	MEMBER(deviceName, string, 0),
	MEMBER(deviceType, string, 0),
	/* InfrastructureOptimization */
	MEMBER(scaleInAfter, integer_from_minus_1_to_3600, 0),
	/* IngressPathSummary */
	MEMBER(endpoint, string, REQUIRED),
	MEMBER(accessType, AccessType, REQUIRED),
	/* InstanceHealthCheckResult */
	MEMBER(type, InstanceHealthCheckType, 0),
	MEMBER(status, InstanceHealthCheckState, 0),
	MEMBER(lastUpdated, timestamp, 0),
	MEMBER(statusReason, string, 0),
	MEMBER(lastStatusChange, timestamp, 0),
	/* InstanceLaunchTemplate */
	MEMBER(monitoring, ManagedInstancesMonitoringOptions, 0),
	MEMBER(fipsEnabled, boolean, 0),
	MEMBER(capacityOptionType, CapacityOptionType, 0),
	MEMBER(capacityReservations, CapacityReservationRequest, 0),
	MEMBER(instanceRequirements, InstanceRequirementsRequest, 0),
	MEMBER(networkConfiguration, ManagedInstancesNetworkConfiguration, REQUIRED),
	MEMBER(storageConfiguration, ManagedInstancesStorageConfiguration, 0),
	MEMBER(ec2InstanceProfileArn, string, REQUIRED),
	MEMBER(localStorageConfiguration, ManagedInstancesLocalStorageConfiguration, 0),
	MEMBER(instanceMetadataTagsPropagation, boolean, 0),
	/* InstanceLaunchTemplateUpdate */
	MEMBER(monitoring, ManagedInstancesMonitoringOptions, 0),
	MEMBER(capacityReservations, CapacityReservationRequest, 0),
	MEMBER(instanceRequirements, InstanceRequirementsRequest, 0),
	MEMBER(networkConfiguration, ManagedInstancesNetworkConfiguration, 0),
	MEMBER(storageConfiguration, ManagedInstancesStorageConfiguration, 0),
	MEMBER(ec2InstanceProfileArn, string, 0),
	MEMBER(localStorageConfiguration, ManagedInstancesLocalStorageConfiguration, 0),
	MEMBER(instanceMetadataTagsPropagation, boolean, 0),
	/* InstanceRequirementsRequest */
	MEMBER(bareMetal, BareMetal, 0),
	MEMBER(memoryMiB, MemoryMiBRequest, REQUIRED),
	MEMBER(vCpuCount, VCpuCountRangeRequest, REQUIRED),
	MEMBER(localStorage, LocalStorage, 0),
	MEMBER(acceleratorCount, AcceleratorCountRequest, 0),
	MEMBER_AS(acceleratorNames, list_of_AcceleratorName_as_item, 0, AcceleratorName),
	MEMBER_AS(acceleratorTypes, list_of_AcceleratorType_as_item, 0, AcceleratorType),
	MEMBER_AS(cpuManufacturers, list_of_CpuManufacturer_as_item, 0, CpuManufacturer),
	MEMBER(memoryGiBPerVCpu, MemoryGiBPerVCpuRequest, 0),
	MEMBER_AS(localStorageTypes, list_of_LocalStorageType_as_item, 0, LocalStorageType),
	MEMBER_AS(instanceGenerations, list_of_InstanceGeneration_as_item, 0, InstanceGeneration),
	MEMBER(totalLocalStorageGB, TotalLocalStorageGBRequest, 0),
	MEMBER_AS(allowedInstanceTypes, list_of_string_from_1_to_30_as_item_from_0_to_400, 0, AllowedInstanceType),
	MEMBER(burstablePerformance, BurstablePerformance, 0),
	MEMBER(networkBandwidthGbps, NetworkBandwidthGbpsRequest, 0),
	MEMBER_AS(excludedInstanceTypes, list_of_string_from_1_to_30_as_item_from_0_to_400, 0, ExcludedInstanceType),
	MEMBER(networkInterfaceCount, NetworkInterfaceCountRequest, 0),
	MEMBER(requireHibernateSupport, boolean, 0),
	MEMBER_AS(acceleratorManufacturers, list_of_AcceleratorManufacturer_as_item, 0, AcceleratorManufacturer),
	MEMBER(baselineEbsBandwidthMbps, BaselineEbsBandwidthMbpsRequest, 0),
	MEMBER(acceleratorTotalMemoryMiB, AcceleratorTotalMemoryMiBRequest, 0),
	MEMBER(spotMaxPricePercentageOverLowestPrice, integer, 0),
	MEMBER(onDemandMaxPricePercentageOverLowestPrice, integer, 0),
	MEMBER(maxSpotPriceAsPercentageOfOptimalOnDemandPrice, integer, 0),
	/* InvalidParameterException */
	MEMBER(message, string, 0),
	/* KernelCapabilities */
	MEMBER(add, list_of_string, 0),
	MEMBER(drop, list_of_string, 0),
	/* KeyValuePair */
	MEMBER(name, string, 0),
	MEMBER(value, string, 0),
	/* LimitExceededException */
	MEMBER(message, string, 0),
	/* LinearConfiguration */
	MEMBER(stepPercent, double, 0),
	MEMBER(stepBakeTimeInMinutes, integer, 0),
	/* LinuxParameters */
	MEMBER(tmpfs, list_of_Tmpfs, 0),
	MEMBER(devices, list_of_Device, 0),
	MEMBER(maxSwap, integer, 0),
	MEMBER(swappiness, integer_from_0_to_100, 0),
	MEMBER(capabilities, KernelCapabilities, 0),
	MEMBER(sharedMemorySize, integer, 0),
	MEMBER(initProcessEnabled, boolean, 0),
	/* ListAccountSettingsRequest */
	MEMBER(name, SettingName, 0),
	MEMBER(value, string, 0),
	MEMBER(nextToken, string, 0),
	MEMBER(maxResults, integer, 0),
	MEMBER(principalArn, string, 0),
	MEMBER(effectiveSettings, boolean, 0),
	/* ListAccountSettingsResponse */
	MEMBER(settings, list_of_Setting, 0),
	MEMBER(nextToken, string, 0),
	/* ListAttributesRequest */
	MEMBER(cluster, string, 0),
	MEMBER(nextToken, string, 0),
	MEMBER(maxResults, integer_from_1_to_100, 0),
	MEMBER(targetType, TargetType, REQUIRED),
	MEMBER(attributeName, string, 0),
	MEMBER(attributeValue, string, 0),
	/* ListAttributesResponse */
	MEMBER(nextToken, string, 0),
	MEMBER(attributes, list_of_Attribute, 0),
	/* ListClustersRequest */
	MEMBER(nextToken, string, 0),
	MEMBER(maxResults, integer_from_1_to_100, 0),
	/* ListClustersResponse */
	MEMBER(nextToken, string, 0),
	MEMBER(clusterArns, list_of_string, 0),
	/* ListContainerInstancesRequest */
	MEMBER(filter, string, 0),
	MEMBER(status, ContainerInstanceStatus, 0),
	MEMBER(cluster, string, 0),
	MEMBER(nextToken, string, 0),
	MEMBER(maxResults, integer_from_1_to_100, 0),
	/* ListContainerInstancesResponse */
	MEMBER(nextToken, string, 0),
	MEMBER(containerInstanceArns, list_of_string, 0),
	/* ListDaemonDeploymentsRequest */
	MEMBER(status, list_of_DaemonDeploymentStatus, 0),
	MEMBER(createdAt, CreatedAt, 0),
	MEMBER(daemonArn, string, REQUIRED),
	MEMBER(nextToken, string, 0),
	MEMBER(maxResults, integer_from_1_to_100, 0),
	/* ListDaemonDeploymentsResponse */
	MEMBER(nextToken, string, 0),
	MEMBER(daemonDeployments, list_of_DaemonDeploymentSummary, 0),
	/* ListDaemonTaskDefinitionsRequest */
	MEMBER(sort, SortOrder, 0),
	MEMBER(family, string, 0),
	MEMBER(status, DaemonTaskDefinitionStatusFilter, 0),
	MEMBER(revision, DaemonTaskDefinitionRevisionFilter, 0),
	MEMBER(nextToken, string, 0),
	MEMBER(maxResults, integer_from_1_to_100, 0),
	MEMBER(familyPrefix, string, 0),
	/* ListDaemonTaskDefinitionsResponse */
	MEMBER(nextToken, string, 0),
	MEMBER(daemonTaskDefinitions, list_of_DaemonTaskDefinitionSummary, 0),
	/* ListDaemonsRequest */
	MEMBER(nextToken, string, 0),
	MEMBER(clusterArn, string, 0),
	MEMBER(maxResults, integer_from_1_to_100, 0),
	MEMBER(capacityProviderArns, list_of_string, 0),
	/* ListDaemonsResponse */
	MEMBER(nextToken, string, 0),
	MEMBER(daemonSummariesList, list_of_DaemonSummary, 0),
	/* ListGatewayClusterAssociationsRequest */
	MEMBER(status, list_of_GatewayClusterAssociationStatus, 0),
	MEMBER(cluster, string, 0),
	MEMBER(gateway, string, 0),
	MEMBER(nextToken, string, 0),
	MEMBER(maxResults, integer, 0),
	/* ListGatewayClusterAssociationsResponse */
	MEMBER(nextToken, string, 0),
	MEMBER(gatewayClusterAssociations, list_of_GatewayClusterAssociationSummary, 0),
	/* ListGatewayRoutesRequest */
	MEMBER(status, list_of_GatewayRouteStatus, 0),
	MEMBER(cluster, string, 0),
	MEMBER(gateway, string, 0),
	MEMBER(service, string, 0),
	MEMBER(nextToken, string, 0),
	MEMBER(maxResults, integer, 0),
	MEMBER(serviceContainerPortName, string, 0),
	/* ListGatewayRoutesResponse */
	MEMBER(nextToken, string, 0),
	MEMBER(gatewayRoutes, list_of_GatewayRouteSummary, 0),
	/* ListGatewaysRequest */
	MEMBER(names, list_of_string, 0),
	MEMBER(status, list_of_GatewayStatus, 0),
	MEMBER(nextToken, string, 0),
	MEMBER(maxResults, integer, 0),
	/* ListGatewaysResponse */
	MEMBER(gateways, list_of_GatewaySummary, 0),
	MEMBER(nextToken, string, 0),
	/* ListServiceDeploymentsRequest */
	MEMBER(status, list_of_ServiceDeploymentStatus, 0),
	MEMBER(cluster, string, 0),
	MEMBER(service, string, REQUIRED),
	MEMBER(createdAt, CreatedAt, 0),
	MEMBER(nextToken, string, 0),
	MEMBER(maxResults, integer_from_1_to_100, 0),
	/* ListServiceDeploymentsResponse */
	MEMBER(nextToken, string, 0),
	MEMBER(serviceDeployments, list_of_ServiceDeploymentBrief, 0),
	/* ListServicesByNamespaceRequest */
	MEMBER(namespace, string, REQUIRED),
	MEMBER(nextToken, string, 0),
	MEMBER(maxResults, integer_from_1_to_100, 0),
	/* ListServicesByNamespaceResponse */
	MEMBER(nextToken, string, 0),
	MEMBER(serviceArns, list_of_string, 0),
	/* ListServicesRequest */
	MEMBER(cluster, string, 0),
	MEMBER(nextToken, string, 0),
	MEMBER(launchType, LaunchType, 0),
	MEMBER(maxResults, integer_from_1_to_100, 0),
	MEMBER(schedulingStrategy, SchedulingStrategy, 0),
	MEMBER(resourceManagementType, ResourceManagementType, 0),
	/* ListServicesResponse */
	MEMBER(nextToken, string, 0),
	MEMBER(serviceArns, list_of_string, 0),
	/* ListTagsForResourceRequest */
	MEMBER(resourceArn, string, REQUIRED),
	/* ListTagsForResourceResponse */
	MEMBER(tags, list_of_Tag_from_0_to_50, 0),
	/* ListTaskDefinitionFamiliesRequest */
	MEMBER(status, TaskDefinitionFamilyStatus, 0),
	MEMBER(nextToken, string, 0),
	MEMBER(maxResults, integer_from_1_to_100, 0),
	MEMBER(familyPrefix, string, 0),
	/* ListTaskDefinitionFamiliesResponse */
	MEMBER(families, list_of_string, 0),
	MEMBER(nextToken, string, 0),
	/* ListTaskDefinitionsRequest */
	MEMBER(sort, SortOrder, 0),
	MEMBER(status, TaskDefinitionStatus, 0),
	MEMBER(nextToken, string, 0),
	MEMBER(maxResults, integer_from_1_to_100, 0),
	MEMBER(familyPrefix, string, 0),
	/* ListTaskDefinitionsResponse */
	MEMBER(nextToken, string, 0),
	MEMBER(taskDefinitionArns, list_of_string, 0),
	/* ListTasksRequest */
	MEMBER(family, string, 0),
	MEMBER(cluster, string, 0),
	MEMBER(nextToken, string, 0),
	MEMBER(startedBy, string, 0),
	MEMBER(daemonName, string, 0),
	MEMBER(launchType, LaunchType, 0),
	MEMBER(maxResults, integer_from_1_to_100, 0),
	MEMBER(serviceName, string, 0),
	MEMBER(desiredStatus, DesiredStatus, 0),
	MEMBER(containerInstance, string, 0),
	/* ListTasksResponse */
	MEMBER(taskArns, list_of_string, 0),
	MEMBER(nextToken, string, 0),
	/* LoadBalancer */
	MEMBER(containerName, string, 0),
	MEMBER(containerPort, integer, 0),
	MEMBER(targetGroupArn, string, 0),
	MEMBER(loadBalancerName, string, 0),
	MEMBER(advancedConfiguration, AdvancedConfiguration, 0),
	/* LogConfiguration */
	MEMBER(options, map_of_string, 0),
	MEMBER(logDriver, LogDriver, REQUIRED),
	MEMBER(secretOptions, list_of_Secret, 0),
	/* ManagedAgent */
	MEMBER(name, ManagedAgentName, 0),
	MEMBER(reason, string, 0),
	MEMBER(lastStatus, string, 0),
	MEMBER(lastStartedAt, timestamp, 0),
	/* ManagedAgentStateChange */
	MEMBER(reason, string, 0),
	MEMBER(status, string, REQUIRED),
	MEMBER(containerName, string, REQUIRED),
	MEMBER(managedAgentName, ManagedAgentName, REQUIRED),
	/* ManagedApplicationAutoScalingPolicy */
	MEMBER(arn, string, 0),
	MEMBER(metric, string, REQUIRED),
	MEMBER(status, ManagedResourceStatus, REQUIRED),
	MEMBER(updatedAt, timestamp, REQUIRED),
	MEMBER(policyType, string, REQUIRED),
	MEMBER(targetValue, double, REQUIRED),
	MEMBER(statusReason, string, 0),
	/* ManagedAutoScaling */
	MEMBER(scalableTarget, ManagedScalableTarget, 0),
	MEMBER(applicationAutoScalingPolicies, list_of_ManagedApplicationAutoScalingPolicy, 0),
	/* ManagedCertificate */
	MEMBER(arn, string, 0),
	MEMBER(status, ManagedResourceStatus, REQUIRED),
	MEMBER(updatedAt, timestamp, REQUIRED),
	MEMBER(domainName, string, REQUIRED),
	MEMBER(statusReason, string, 0),
	/* ManagedIngressPath */
	MEMBER(rule, ManagedListenerRule, 0),
	MEMBER(endpoint, string, REQUIRED),
	MEMBER(listener, ManagedListener, 0),
	MEMBER(accessType, AccessType, REQUIRED),
	MEMBER(certificate, ManagedCertificate, 0),
	MEMBER(loadBalancer, ManagedLoadBalancer, 0),
	MEMBER(targetGroups, list_of_ManagedTargetGroup, 0),
	MEMBER(loadBalancerSecurityGroups, list_of_ManagedSecurityGroup, 0),
	/* ManagedInstancesLocalStorageConfiguration */
	MEMBER(useLocalStorage, boolean, 0),
	/* ManagedInstancesNetworkConfiguration */
	MEMBER(subnets, list_of_string, 0),
	MEMBER(securityGroups, list_of_string, 0),
	/* ManagedInstancesProvider */
	MEMBER(propagateTags, PropagateMITags, 0),
	MEMBER(infrastructureRoleArn, string, 0),
	MEMBER(instanceLaunchTemplate, InstanceLaunchTemplate, 0),
	MEMBER(autoRepairConfiguration, AutoRepairConfiguration, 0),
	MEMBER(infrastructureOptimization, InfrastructureOptimization, 0),
	/* ManagedInstancesStorageConfiguration */
	MEMBER(storageSizeGiB, integer_from_1, 0),
	/* ManagedListener */
	MEMBER(arn, string, 0),
	MEMBER(status, ManagedResourceStatus, REQUIRED),
	MEMBER(updatedAt, timestamp, REQUIRED),
	MEMBER(statusReason, string, 0),
	/* ManagedListenerRule */
	MEMBER(arn, string, 0),
	MEMBER(status, ManagedResourceStatus, REQUIRED),
	MEMBER(updatedAt, timestamp, REQUIRED),
	MEMBER(statusReason, string, 0),
	/* ManagedLoadBalancer */
	MEMBER(arn, string, 0),
	MEMBER(scheme, string, REQUIRED),
	MEMBER(status, ManagedResourceStatus, REQUIRED),
	MEMBER(subnetIds, list_of_string, 0),
	MEMBER(updatedAt, timestamp, REQUIRED),
	MEMBER(statusReason, string, 0),
	MEMBER(securityGroupIds, list_of_string, 0),
	/* ManagedLogGroup */
	MEMBER(arn, string, 0),
	MEMBER(status, ManagedResourceStatus, REQUIRED),
	MEMBER(updatedAt, timestamp, REQUIRED),
	MEMBER(logGroupName, string, REQUIRED),
	MEMBER(statusReason, string, 0),
	/* ManagedMetricAlarm */
	MEMBER(arn, string, 0),
	MEMBER(status, ManagedResourceStatus, REQUIRED),
	MEMBER(updatedAt, timestamp, REQUIRED),
	MEMBER(statusReason, string, 0),
	/* ManagedScalableTarget */
	MEMBER(arn, string, 0),
	MEMBER(status, ManagedResourceStatus, REQUIRED),
	MEMBER(updatedAt, timestamp, REQUIRED),
	MEMBER(maxCapacity, integer, REQUIRED),
	MEMBER(minCapacity, integer, REQUIRED),
	MEMBER(statusReason, string, 0),
	/* ManagedScaling */
	MEMBER(status, ManagedScalingStatus, 0),
	MEMBER(targetCapacity, integer_from_1_to_100, 0),
	MEMBER(instanceWarmupPeriod, integer_from_0_to_10000, 0),
	MEMBER(maximumScalingStepSize, integer_from_1_to_10000, 0),
	MEMBER(minimumScalingStepSize, integer_from_1_to_10000, 0),
	/* ManagedSecurityGroup */
	MEMBER(arn, string, 0),
	MEMBER(status, ManagedResourceStatus, REQUIRED),
	MEMBER(updatedAt, timestamp, REQUIRED),
	MEMBER(statusReason, string, 0),
	/* ManagedStorageConfiguration */
	MEMBER(kmsKeyId, string, 0),
	MEMBER(fargateEphemeralStorageKmsKeyId, string, 0),
	/* ManagedTargetGroup */
	MEMBER(arn, string, 0),
	MEMBER(port, integer, REQUIRED),
	MEMBER(status, ManagedResourceStatus, REQUIRED),
	MEMBER(updatedAt, timestamp, REQUIRED),
	MEMBER(statusReason, string, 0),
	MEMBER(healthCheckPath, string, REQUIRED),
	MEMBER(healthCheckPort, integer, REQUIRED),
	/* MemoryGiBPerVCpuRequest */
	MEMBER(max, double, 0),
	MEMBER(min, double, 0),
	/* MemoryMiBRequest */
	MEMBER(max, integer, 0),
	MEMBER(min, integer, REQUIRED),
	/* MetricConfiguration */
	MEMBER(metricNames, list_of_string, REQUIRED),
	MEMBER(resolutionSeconds, integer, REQUIRED),
	/* MissingVersionException */
	MEMBER(message, string, 0),
	/* MonitoringConfiguration */
	MEMBER(metricConfigurations, list_of_MetricConfiguration, 0),
	/* MountPoint */
	MEMBER(readOnly, boolean, 0),
	MEMBER(sourceVolume, string, 0),
	MEMBER(containerPath, string, 0),
	/* NamespaceNotFoundException */
	MEMBER(message, string, 0),
	/* NetworkBandwidthGbpsRequest */
	MEMBER(max, double, 0),
	MEMBER(min, double, 0),
	/* NetworkBinding */
	MEMBER(bindIP, string, 0),
	MEMBER(hostPort, integer, 0),
	MEMBER(protocol, TransportProtocol, 0),
	MEMBER(containerPort, integer, 0),
	MEMBER(hostPortRange, string, 0),
	MEMBER(containerPortRange, string, 0),
	/* NetworkConfiguration */
	MEMBER(awsvpcConfiguration, AwsVpcConfiguration, 0),
	/* NetworkInterface */
	MEMBER(ipv6Address, string, 0),
	MEMBER(attachmentId, string, 0),
	MEMBER(privateIpv4Address, string, 0),
	/* NetworkInterfaceCountRequest */
	MEMBER(max, integer, 0),
	MEMBER(min, integer, 0),
	/* NoUpdateAvailableException */
	MEMBER(message, string, 0),
	/* NvidiaMpsAllocation */
	MEMBER(memory, integer, REQUIRED),
	MEMBER(maxComputePercent, integer, 0),
	/* PlacementConstraint */
	MEMBER(type, PlacementConstraintType, 0),
	MEMBER(expression, string_to_2000, 0),
	/* PlacementStrategy */
	MEMBER(type, PlacementStrategyType, 0),
	MEMBER(field, string, 0),
	/* PlatformDevice */
	MEMBER(id, string, REQUIRED),
	MEMBER(type, PlatformDeviceType, REQUIRED),
	/* PlatformTaskDefinitionIncompatibilityException */
	MEMBER(message, string, 0),
	/* PlatformUnknownException */
	MEMBER(message, string, 0),
	/* PortMapping */
	MEMBER(name, string, 0),
	MEMBER(hostPort, integer_from_0_to_65535, 0),
	MEMBER(protocol, TransportProtocol, 0),
	MEMBER(appProtocol, ApplicationProtocol, 0),
	MEMBER(containerPort, integer_from_0_to_65535, 0),
	MEMBER(containerPortRange, string, 0),
	/* ProtectedTask */
	MEMBER(taskArn, string, 0),
	MEMBER(expirationDate, timestamp, 0),
	MEMBER(protectionEnabled, boolean, 0),
	/* ProxyConfiguration */
	MEMBER(type, ProxyConfigurationType, 0),
	MEMBER(properties, list_of_KeyValuePair, 0),
	MEMBER(containerName, string, REQUIRED),
	/* PutAccountSettingDefaultRequest */
	MEMBER(name, SettingName, REQUIRED),
	MEMBER(value, string, REQUIRED),
	/* PutAccountSettingDefaultResponse */
	MEMBER(setting, Setting, 0),
	/* PutAccountSettingRequest */
	MEMBER(name, SettingName, REQUIRED),
	MEMBER(value, string, REQUIRED),
	MEMBER(principalArn, string, 0),
	/* PutAccountSettingResponse */
	MEMBER(setting, Setting, 0),
	/* PutAttributesRequest */
	MEMBER(cluster, string, 0),
	MEMBER(attributes, list_of_Attribute_to_10, REQUIRED),
	/* PutAttributesResponse */
	MEMBER(attributes, list_of_Attribute, 0),
	/* PutClusterCapacityProvidersRequest */
	MEMBER(cluster, string, REQUIRED),
	MEMBER(capacityProviders, list_of_string, REQUIRED),
	MEMBER(defaultCapacityProviderStrategy, list_of_CapacityProviderStrategyItem, REQUIRED),
	/* PutClusterCapacityProvidersResponse */
	MEMBER(cluster, Cluster, 0),
	/* RegisterContainerInstanceRequest */
	MEMBER(tags, list_of_Tag_from_0_to_50, 0),
	MEMBER(cluster, string, 0),
	MEMBER(attributes, list_of_Attribute, 0),
	MEMBER(versionInfo, VersionInfo, 0),
	MEMBER(totalResources, list_of_Resource, 0),
	MEMBER(platformDevices, list_of_PlatformDevice, 0),
	MEMBER(containerInstanceArn, string, 0),
	MEMBER(instanceIdentityDocument, string, 0),
	MEMBER(instanceIdentityDocumentSignature, string, 0),
	/* RegisterContainerInstanceResponse */
	MEMBER(containerInstance, ContainerInstance, 0),
	/* RegisterDaemonTaskDefinitionRequest */
	MEMBER(cpu, string, 0),
	MEMBER(tags, list_of_Tag_from_0_to_50, 0),
	MEMBER(family, string, REQUIRED),
	MEMBER(memory, string, 0),
	MEMBER(ipcMode, DaemonIpcMode, 0),
	MEMBER(pidMode, DaemonPidMode, 0),
	MEMBER(volumes, list_of_DaemonVolume, 0),
	MEMBER(taskRoleArn, string, 0),
	MEMBER(executionRoleArn, string, 0),
	MEMBER(containerDefinitions, list_of_DaemonContainerDefinition, REQUIRED),
	/* RegisterDaemonTaskDefinitionResponse */
	MEMBER(daemonTaskDefinitionArn, string, 0),
	/* RegisterTaskDefinitionRequest */
	MEMBER(cpu, string, 0),
	MEMBER(tags, list_of_Tag_from_0_to_50, 0),
	MEMBER(family, string, REQUIRED),
	MEMBER(memory, string, 0),
	MEMBER(ipcMode, IpcMode, 0),
	MEMBER(pidMode, PidMode, 0),
	MEMBER(volumes, list_of_Volume, 0),
	MEMBER(networkMode, NetworkMode, 0),
	MEMBER(taskRoleArn, string, 0),
	MEMBER(runtimePlatform, RuntimePlatform, 0),
	MEMBER(ephemeralStorage, EphemeralStorage, 0),
	MEMBER(executionRoleArn, string, 0),
	MEMBER(proxyConfiguration, ProxyConfiguration, 0),
	MEMBER(containerDefinitions, list_of_ContainerDefinition, REQUIRED),
	MEMBER(enableFaultInjection, boolean, 0),
	MEMBER(placementConstraints, list_of_TaskDefinitionPlacementConstraint_to_10, 0),
	MEMBER(inferenceAccelerators, list_of_InferenceAccelerator, 0),
	MEMBER(requiresCompatibilities, list_of_Compatibility, 0),
	/* RegisterTaskDefinitionResponse */
	MEMBER(tags, list_of_Tag_from_0_to_50, 0),
	MEMBER(taskDefinition, TaskDefinition, 0),
	/* RepositoryCredentials */
	MEMBER(credentialsParameter, string, REQUIRED),
	/* ResolvedConfiguration */
	MEMBER(loadBalancers, list_of_ServiceRevisionLoadBalancer, 0),
	MEMBER(vpcLatticeConfigurations, list_of_ServiceRevisionVpcLatticeConfiguration, 0),
	/* Resource */
	MEMBER(name, string, 0),
	MEMBER(type, string, 0),
	MEMBER(longValue, long, 0),
	MEMBER(doubleValue, double, 0),
	MEMBER(integerValue, integer, 0),
	MEMBER(stringSetValue, list_of_string, 0),
	/* ResourceInUseException */
	MEMBER(message, string, 0),
	/* ResourceNotFoundException */
	MEMBER(message, string, 0),
	/* ResourceRequirement */
	MEMBER(type, ResourceType, REQUIRED),
	MEMBER(value, string, 0),
	MEMBER(sharingStrategy, SharingStrategy, 0),
	/* Rollback */
	MEMBER(reason, string, 0),
	MEMBER(startedAt, timestamp, 0),
	MEMBER(serviceRevisionArn, string, 0),
	/* RunTaskRequest */
	MEMBER(tags, list_of_Tag_from_0_to_50, 0),
	MEMBER(count, integer_from_1_to_10, 0),
	MEMBER(group, string, 0),
	MEMBER(cluster, string, 0),
	MEMBER(overrides, TaskOverride, 0),
	MEMBER(startedBy, string_to_128, 0),
	MEMBER(launchType, LaunchType, 0),
	MEMBER(clientToken, string_to_64, TOKEN),
	MEMBER(referenceId, string, 0),
	MEMBER(propagateTags, PropagateTags, 0),
	MEMBER(taskDefinition, string, REQUIRED),
	MEMBER(platformVersion, string, 0),
	MEMBER(placementStrategy, list_of_PlacementStrategy_to_5, 0),
	MEMBER(enableECSManagedTags, boolean, 0),
	MEMBER(enableExecuteCommand, boolean, 0),
	MEMBER(networkConfiguration, NetworkConfiguration, 0),
	MEMBER(placementConstraints, list_of_PlacementConstraint_to_10, 0),
	MEMBER(volumeConfigurations, list_of_TaskVolumeConfiguration, 0),
	MEMBER(capacityProviderStrategy, list_of_CapacityProviderStrategyItem, 0),
	/* RunTaskResponse */
	MEMBER(tasks, list_of_Task, 0),
	MEMBER(failures, list_of_Failure, 0),
	/* RuntimePlatform */
	MEMBER(cpuArchitecture, CPUArchitecture, 0),
	MEMBER(operatingSystemFamily, OSFamily, 0),
	/* RuntimePlatformOverride */
	MEMBER(cpuArchitecture, string, 0),
	/* S3FilesVolumeConfiguration */
	MEMBER(fileSystemArn, string, REQUIRED),
	MEMBER(rootDirectory, string, 0),
	MEMBER(accessPointArn, string, 0),
	MEMBER(transitEncryptionPort, integer, 0),
	/* Scale */
	MEMBER(unit, ScaleUnit, 0),
	MEMBER(value, double_from_0_to_100, 0),
	/* Secret */
	MEMBER(name, string, REQUIRED),
	MEMBER(valueFrom, string, REQUIRED),
	/* ServerException */
	MEMBER(message, string, 0),
	/* Service */
	MEMBER(tags, list_of_Tag_from_0_to_50, 0),
	MEMBER(events, list_of_ServiceEvent, 0),
	MEMBER(status, string, 0),
	MEMBER(roleArn, string, 0),
	MEMBER(taskSets, list_of_TaskSet, 0),
	MEMBER(createdAt, timestamp, 0),
	MEMBER(createdBy, string, 0),
	MEMBER(clusterArn, string, 0),
	MEMBER(launchType, LaunchType, 0),
	MEMBER(serviceArn, string, 0),
	MEMBER(deployments, list_of_Deployment, 0),
	MEMBER(serviceName, string, 0),
	MEMBER(desiredCount, integer, 0),
	MEMBER(pendingCount, integer, 0),
	MEMBER(runningCount, integer, 0),
	MEMBER(loadBalancers, list_of_LoadBalancer, 0),
	MEMBER(propagateTags, PropagateTags, 0),
	MEMBER(platformFamily, string, 0),
	MEMBER(taskDefinition, string, 0),
	MEMBER(platformVersion, string, 0),
	MEMBER(placementStrategy, list_of_PlacementStrategy, 0),
	MEMBER(serviceRegistries, list_of_ServiceRegistry, 0),
	MEMBER(schedulingStrategy, SchedulingStrategy, 0),
	MEMBER(deploymentController, DeploymentController, 0),
	MEMBER(enableECSManagedTags, boolean, 0),
	MEMBER(enableExecuteCommand, boolean, 0),
	MEMBER(networkConfiguration, NetworkConfiguration, 0),
	MEMBER(placementConstraints, list_of_PlacementConstraint, 0),
	MEMBER(resourceManagementType, ResourceManagementType, 0),
	MEMBER(currentServiceRevisions, list_of_ServiceCurrentRevisionSummary, 0),
	MEMBER(deploymentConfiguration, DeploymentConfiguration, 0),
	MEMBER(capacityProviderStrategy, list_of_CapacityProviderStrategyItem, 0),
	MEMBER(currentServiceDeployment, string, 0),
	MEMBER(availabilityZoneRebalancing, AvailabilityZoneRebalancing, 0),
	MEMBER(healthCheckGracePeriodSeconds, integer, 0),
	/* ServiceConnectAccessLogConfiguration */
	MEMBER(format, ServiceConnectAccessLoggingFormat, REQUIRED),
	MEMBER(includeQueryParameters, ServiceConnectIncludeQueryParameters, 0),
	/* ServiceConnectClientAlias */
	MEMBER(port, integer_from_0_to_65535, REQUIRED),
	MEMBER(dnsName, string, 0),
	MEMBER(testTrafficRules, ServiceConnectTestTrafficRules, 0),
	/* ServiceConnectConfiguration */
	MEMBER(enabled, boolean, REQUIRED),
	MEMBER(services, list_of_ServiceConnectService, 0),
	MEMBER(namespace, string, 0),
	MEMBER(logConfiguration, LogConfiguration, 0),
	MEMBER(accessLogConfiguration, ServiceConnectAccessLogConfiguration, 0),
	MEMBER(containerConfigurations, list_of_ServiceConnectContainerConfiguration, 0),
	/* ServiceConnectContainerConfiguration */
	MEMBER(logLevel, ServiceConnectContainerLogLevel, 0),
	/* ServiceConnectService */
	MEMBER(tls, ServiceConnectTlsConfiguration, 0),
	MEMBER(timeout, TimeoutConfiguration, 0),
	MEMBER(portName, string, REQUIRED),
	MEMBER(clientAliases, list_of_ServiceConnectClientAlias_to_1, 0),
	MEMBER(discoveryName, string, 0),
	MEMBER(ingressPortOverride, integer_from_0_to_65535, 0),
	/* ServiceConnectServiceResource */
	MEMBER(discoveryArn, string, 0),
	MEMBER(discoveryName, string, 0),
	/* ServiceConnectTestTrafficHeaderMatchRules */
	MEMBER(exact, string, REQUIRED),
	/* ServiceConnectTestTrafficHeaderRules */
	MEMBER(name, string, REQUIRED),
	MEMBER(value, ServiceConnectTestTrafficHeaderMatchRules, 0),
	/* ServiceConnectTestTrafficRules */
	MEMBER(header, ServiceConnectTestTrafficHeaderRules, REQUIRED),
	/* ServiceConnectTlsCertificateAuthority */
	MEMBER(awsPcaAuthorityArn, string, 0),
	/* ServiceConnectTlsConfiguration */
	MEMBER(kmsKey, string, 0),
	MEMBER(roleArn, string, 0),
	MEMBER(issuerCertificateAuthority, ServiceConnectTlsCertificateAuthority, REQUIRED),
	/* ServiceCurrentRevisionSummary */
	MEMBER(arn, string, 0),
	MEMBER(pendingTaskCount, integer, 0),
	MEMBER(runningTaskCount, integer, 0),
	MEMBER(requestedTaskCount, integer, 0),
	/* ServiceDeployment */
	MEMBER(alarms, ServiceDeploymentAlarms, 0),
	MEMBER(status, ServiceDeploymentStatus, 0),
	MEMBER(rollback, Rollback, 0),
	MEMBER(createdAt, timestamp, 0),
	MEMBER(startedAt, timestamp, 0),
	MEMBER(stoppedAt, timestamp, 0),
	MEMBER(updatedAt, timestamp, 0),
	MEMBER(clusterArn, string, 0),
	MEMBER(finishedAt, timestamp, 0),
	MEMBER(serviceArn, string, 0),
	MEMBER(statusReason, string, 0),
	MEMBER(lifecycleStage, ServiceDeploymentLifecycleStage, 0),
	MEMBER(lifecycleHookDetails, list_of_DeploymentLifecycleHookDetail, 0),
	MEMBER(serviceDeploymentArn, string, 0),
	MEMBER(targetServiceRevision, ServiceRevisionSummary, 0),
	MEMBER(sourceServiceRevisions, list_of_ServiceRevisionSummary, 0),
	MEMBER(deploymentConfiguration, DeploymentConfiguration, 0),
	MEMBER(deploymentCircuitBreaker, ServiceDeploymentCircuitBreaker, 0),
	/* ServiceDeploymentAlarms */
	MEMBER(status, ServiceDeploymentRollbackMonitorsStatus, 0),
	MEMBER(alarmNames, list_of_string, 0),
	MEMBER(triggeredAlarmNames, list_of_string, 0),
	/* ServiceDeploymentBrief */
	MEMBER(status, ServiceDeploymentStatus, 0),
	MEMBER(createdAt, timestamp, 0),
	MEMBER(startedAt, timestamp, 0),
	MEMBER(clusterArn, string, 0),
	MEMBER(finishedAt, timestamp, 0),
	MEMBER(serviceArn, string, 0),
	MEMBER(statusReason, string, 0),
	MEMBER(serviceDeploymentArn, string, 0),
	MEMBER(targetServiceRevisionArn, string, 0),
	/* ServiceDeploymentCircuitBreaker */
	MEMBER(status, ServiceDeploymentRollbackMonitorsStatus, 0),
	MEMBER(threshold, integer, 0),
	MEMBER(failureCount, integer, 0),
	/* ServiceDeploymentNotFoundException */
	MEMBER(message, string, 0),
	/* ServiceEvent */
	MEMBER(id, string, 0),
	MEMBER(message, string, 0),
	MEMBER(createdAt, timestamp, 0),
	/* ServiceManagedEBSVolumeConfiguration */
	MEMBER(iops, integer, 0),
	MEMBER(roleArn, string, REQUIRED),
	MEMBER(kmsKeyId, string, 0),
	MEMBER(encrypted, boolean, 0),
	MEMBER(sizeInGiB, integer, 0),
	MEMBER(snapshotId, string, 0),
	MEMBER(throughput, integer, 0),
	MEMBER(volumeType, string, 0),
	MEMBER(filesystemType, TaskFilesystemType, 0),
	MEMBER(tagSpecifications, list_of_EBSTagSpecification, 0),
	MEMBER(volumeInitializationRate, integer, 0),
	/* ServiceNotActiveException */
	MEMBER(message, string, 0),
	/* ServiceNotFoundException */
	MEMBER(message, string, 0),
	/* ServiceRegistry */
	MEMBER(port, integer, 0),
	MEMBER(registryArn, string, 0),
	MEMBER(containerName, string, 0),
	MEMBER(containerPort, integer, 0),
	/* ServiceRevision */
	MEMBER(createdAt, timestamp, 0),
	MEMBER(overrides, ServiceRevisionOverrides, 0),
	MEMBER(clusterArn, string, 0),
	MEMBER(launchType, LaunchType, 0),
	MEMBER(monitoring, MonitoringConfiguration, 0),
	MEMBER(serviceArn, string, 0),
	MEMBER(loadBalancers, list_of_LoadBalancer, 0),
	MEMBER(platformFamily, string, 0),
	MEMBER(taskDefinition, string, 0),
	MEMBER(containerImages, list_of_ContainerImage, 0),
	MEMBER(platformVersion, string, 0),
	MEMBER(guardDutyEnabled, boolean, 0),
	MEMBER(gatewayConnectors, list_of_GatewayConnector, 0),
	MEMBER(serviceRegistries, list_of_ServiceRegistry, 0),
	MEMBER(serviceRevisionArn, string, 0),
	MEMBER(ecsManagedResources, ECSManagedResources, 0),
	MEMBER(networkConfiguration, NetworkConfiguration, 0),
	MEMBER(volumeConfigurations, list_of_ServiceVolumeConfiguration, 0),
	MEMBER(resolvedConfiguration, ResolvedConfiguration, 0),
	MEMBER(fargateEphemeralStorage, DeploymentEphemeralStorage, 0),
	MEMBER(capacityProviderStrategy, list_of_CapacityProviderStrategyItem, 0),
	MEMBER(vpcLatticeConfigurations, list_of_VpcLatticeConfiguration, 0),
	MEMBER(serviceConnectConfiguration, ServiceConnectConfiguration, 0),
	/* ServiceRevisionLoadBalancer */
	MEMBER(targetGroupArn, string, 0),
	MEMBER(productionListenerRule, string, 0),
	/* ServiceRevisionOverrides */
	MEMBER(runtimePlatform, RuntimePlatformOverride, 0),
	/* ServiceRevisionSummary */
	MEMBER(arn, string, 0),
	MEMBER(pendingTaskCount, integer, 0),
	MEMBER(runningTaskCount, integer, 0),
	MEMBER(requestedTaskCount, integer, 0),
	MEMBER(requestedTestTrafficWeight, double, 0),
	MEMBER(requestedProductionTrafficWeight, double, 0),
	/* ServiceRevisionVpcLatticeConfiguration */
	MEMBER(targetGroupArn, string, 0),
	MEMBER(productionListenerRule, string, 0),
	/* ServiceVolumeConfiguration */
	MEMBER(name, string, REQUIRED),
	MEMBER(managedEBSVolume, ServiceManagedEBSVolumeConfiguration, 0),
	/* Session */
	MEMBER(sessionId, string, 0),
	MEMBER(streamUrl, string, 0),
	MEMBER(tokenValue, string_sensitive, 0),
	/* Setting */
	MEMBER(name, SettingName, 0),
	MEMBER(type, SettingType, 0),
	MEMBER(value, string, 0),
	MEMBER(principalArn, string, 0),
	/* SharingStrategy */
	MEMBER(nvidiaMps, NvidiaMpsAllocation, 0),
	/* StartTaskRequest */
	MEMBER(tags, list_of_Tag_from_0_to_50, 0),
	MEMBER(group, string, 0),
	MEMBER(cluster, string, 0),
	MEMBER(overrides, TaskOverride, 0),
	MEMBER(startedBy, string_to_36, 0),
	MEMBER(referenceId, string, 0),
	MEMBER(propagateTags, PropagateTags, 0),
	MEMBER(taskDefinition, string, REQUIRED),
	MEMBER(containerInstances, list_of_string_to_10, REQUIRED),
	MEMBER(enableECSManagedTags, boolean, 0),
	MEMBER(enableExecuteCommand, boolean, 0),
	MEMBER(networkConfiguration, NetworkConfiguration, 0),
	MEMBER(volumeConfigurations, list_of_TaskVolumeConfiguration, 0),
	/* StartTaskResponse */
	MEMBER(tasks, list_of_Task, 0),
	MEMBER(failures, list_of_Failure, 0),
	/* StopServiceDeploymentRequest */
	MEMBER(stopType, StopServiceDeploymentStopType, 0),
	MEMBER(serviceDeploymentArn, string, REQUIRED),
	/* StopServiceDeploymentResponse */
	MEMBER(serviceDeploymentArn, string, 0),
	/* StopTaskRequest */
	MEMBER(task, string, REQUIRED),
	MEMBER(reason, string, 0),
	MEMBER(cluster, string, 0),
	/* StopTaskResponse */
	MEMBER(task, Task, 0),
	/* SubmitAttachmentStateChangesRequest */
	MEMBER(cluster, string, 0),
	MEMBER(attachments, list_of_AttachmentStateChange, REQUIRED),
	/* SubmitAttachmentStateChangesResponse */
	MEMBER(acknowledgment, string, 0),
	/* SubmitContainerStateChangeRequest */
	MEMBER(task, string, 0),
	MEMBER(reason, string, 0),
	MEMBER(status, string, 0),
	MEMBER(cluster, string, 0),
	MEMBER(exitCode, integer, 0),
	MEMBER(runtimeId, string, 0),
	MEMBER(containerName, string, 0),
	MEMBER(networkBindings, list_of_NetworkBinding, 0),
	/* SubmitContainerStateChangeResponse */
	MEMBER(acknowledgment, string, 0),
	/* SubmitTaskStateChangeRequest */
	MEMBER(task, string, 0),
	MEMBER(reason, string, 0),
	MEMBER(status, string, 0),
	MEMBER(cluster, string, 0),
	MEMBER(containers, list_of_ContainerStateChange, 0),
	MEMBER(attachments, list_of_AttachmentStateChange, 0),
	MEMBER(managedAgents, list_of_ManagedAgentStateChange, 0),
	MEMBER(pullStartedAt, timestamp, 0),
	MEMBER(pullStoppedAt, timestamp, 0),
	MEMBER(executionStoppedAt, timestamp, 0),
	/* SubmitTaskStateChangeResponse */
	MEMBER(acknowledgment, string, 0),
	/* SystemControl */
	MEMBER(value, string, 0),
	MEMBER(namespace, string, 0),
	/* Tag */
	MEMBER(key, string_from_1_to_128, 0),
	MEMBER(value, string_from_0_to_256, 0),
	/* TagResourceRequest */
	MEMBER(tags, list_of_Tag_from_0_to_50, REQUIRED),
	MEMBER(resourceArn, string, REQUIRED),
	/* TargetNotConnectedException */
	MEMBER(message, string, 0),
	/* TargetNotFoundException */
	MEMBER(message, string, 0),
	/* Task */
	MEMBER(cpu, string, 0),
	MEMBER(tags, list_of_Tag_from_0_to_50, 0),
	MEMBER(group, string, 0),
	MEMBER(memory, string, 0),
	MEMBER(taskArn, string, 0),
	MEMBER(version, long, 0),
	MEMBER(stopCode, TaskStopCode, 0),
	MEMBER(createdAt, timestamp, 0),
	MEMBER(overrides, TaskOverride, 0),
	MEMBER(startedAt, timestamp, 0),
	MEMBER(startedBy, string, 0),
	MEMBER(stoppedAt, timestamp, 0),
	MEMBER(attributes, list_of_Attribute, 0),
	MEMBER(clusterArn, string, 0),
	MEMBER(containers, list_of_Container, 0),
	MEMBER(lastStatus, string, 0),
	MEMBER(launchType, LaunchType, 0),
	MEMBER(stoppingAt, timestamp, 0),
	MEMBER(attachments, list_of_Attachment, 0),
	MEMBER(connectivity, Connectivity, 0),
	MEMBER(healthStatus, HealthStatus, 0),
	MEMBER(desiredStatus, string, 0),
	MEMBER(pullStartedAt, timestamp, 0),
	MEMBER(pullStoppedAt, timestamp, 0),
	MEMBER(stoppedReason, string, 0),
	MEMBER(connectivityAt, timestamp, 0),
	MEMBER(platformFamily, string, 0),
	MEMBER(platformVersion, string, 0),
	MEMBER(availabilityZone, string, 0),
	MEMBER(ephemeralStorage, EphemeralStorage, 0),
	MEMBER(taskDefinitionArn, string, 0),
	MEMBER(executionStoppedAt, timestamp, 0),
	MEMBER(capacityProviderName, string, 0),
	MEMBER(containerInstanceArn, string, 0),
	MEMBER(enableExecuteCommand, boolean, 0),
	MEMBER(inferenceAccelerators, list_of_InferenceAccelerator, 0),
	MEMBER(fargateEphemeralStorage, TaskEphemeralStorage, 0),
	/* TaskDefinition */
	MEMBER(cpu, string, 0),
	MEMBER(family, string, 0),
	MEMBER(memory, string, 0),
	MEMBER(status, TaskDefinitionStatus, 0),
	MEMBER(ipcMode, IpcMode, 0),
	MEMBER(pidMode, PidMode, 0),
	MEMBER(volumes, list_of_Volume, 0),
	MEMBER(revision, integer, 0),
	MEMBER(networkMode, NetworkMode, 0),
	MEMBER(taskRoleArn, string, 0),
	MEMBER(registeredAt, timestamp, 0),
	MEMBER(registeredBy, string, 0),
	MEMBER(deregisteredAt, timestamp, 0),
	MEMBER(compatibilities, list_of_Compatibility, 0),
	MEMBER(runtimePlatform, RuntimePlatform, 0),
	MEMBER(ephemeralStorage, EphemeralStorage, 0),
	MEMBER(executionRoleArn, string, 0),
	MEMBER(deleteRequestedAt, timestamp, 0),
	MEMBER(taskDefinitionArn, string, 0),
	MEMBER(proxyConfiguration, ProxyConfiguration, 0),
	MEMBER(requiresAttributes, list_of_Attribute, 0),
	MEMBER(containerDefinitions, list_of_ContainerDefinition, 0),
	MEMBER(enableFaultInjection, boolean, 0),
	MEMBER(placementConstraints, list_of_TaskDefinitionPlacementConstraint, 0),
	MEMBER(inferenceAccelerators, list_of_InferenceAccelerator, 0),
	MEMBER(requiresCompatibilities, list_of_Compatibility, 0),
	/* TaskDefinitionPlacementConstraint */
	MEMBER(type, TaskDefinitionPlacementConstraintType, 0),
	MEMBER(expression, string, 0),
	/* TaskEphemeralStorage */
	MEMBER(kmsKeyId, string, 0),
	MEMBER(sizeInGiB, integer_from_20_to_200, 0),
	/* TaskManagedEBSVolumeConfiguration */
	MEMBER(iops, integer, 0),
	MEMBER(roleArn, string, REQUIRED),
	MEMBER(kmsKeyId, string, 0),
	MEMBER(encrypted, boolean, 0),
	MEMBER(sizeInGiB, integer, 0),
	MEMBER(snapshotId, string, 0),
	MEMBER(throughput, integer, 0),
	MEMBER(volumeType, string, 0),
	MEMBER(filesystemType, TaskFilesystemType, 0),
	MEMBER(tagSpecifications, list_of_EBSTagSpecification, 0),
	MEMBER(terminationPolicy, TaskManagedEBSVolumeTerminationPolicy, 0),
	MEMBER(volumeInitializationRate, integer, 0),
	/* TaskManagedEBSVolumeTerminationPolicy */
	MEMBER(deleteOnTermination, boolean, REQUIRED),
	/* TaskOverride */
	MEMBER(cpu, string, 0),
	MEMBER(memory, string, 0),
	MEMBER(taskRoleArn, string, 0),
	MEMBER(ephemeralStorage, EphemeralStorage, 0),
	MEMBER(executionRoleArn, string, 0),
	MEMBER(containerOverrides, list_of_ContainerOverride, 0),
	MEMBER(inferenceAcceleratorOverrides, list_of_InferenceAcceleratorOverride, 0),
	/* TaskSet */
	MEMBER(id, string, 0),
	MEMBER(tags, list_of_Tag_from_0_to_50, 0),
	MEMBER(scale, Scale, 0),
	MEMBER(status, string, 0),
	MEMBER(createdAt, timestamp, 0),
	MEMBER(startedBy, string, 0),
	MEMBER(updatedAt, timestamp, 0),
	MEMBER(clusterArn, string, 0),
	MEMBER(externalId, string, 0),
	MEMBER(launchType, LaunchType, 0),
	MEMBER(serviceArn, string, 0),
	MEMBER(taskSetArn, string, 0),
	MEMBER(pendingCount, integer, 0),
	MEMBER(runningCount, integer, 0),
	MEMBER(loadBalancers, list_of_LoadBalancer, 0),
	MEMBER(platformFamily, string, 0),
	MEMBER(taskDefinition, string, 0),
	MEMBER(platformVersion, string, 0),
	MEMBER(stabilityStatus, StabilityStatus, 0),
	MEMBER(serviceRegistries, list_of_ServiceRegistry, 0),
	MEMBER(stabilityStatusAt, timestamp, 0),
	MEMBER(computedDesiredCount, integer, 0),
	MEMBER(networkConfiguration, NetworkConfiguration, 0),
	MEMBER(fargateEphemeralStorage, DeploymentEphemeralStorage, 0),
	MEMBER(capacityProviderStrategy, list_of_CapacityProviderStrategyItem, 0),
	/* TaskSetNotFoundException */
	MEMBER(message, string, 0),
	/* TaskVolumeConfiguration */
	MEMBER(name, string, REQUIRED),
	MEMBER(managedEBSVolume, TaskManagedEBSVolumeConfiguration, 0),
	/* ThresholdConfiguration */
	MEMBER(type, ThresholdType, REQUIRED),
	MEMBER(value, integer, REQUIRED),
	/* TimeoutConfiguration */
	MEMBER(idleTimeoutSeconds, integer_from_0_to_2147483647, 0),
	MEMBER(perRequestTimeoutSeconds, integer_from_0_to_2147483647, 0),
	/* Tmpfs */
	MEMBER(size, integer, REQUIRED),
	MEMBER(mountOptions, list_of_string, 0),
	MEMBER(containerPath, string, REQUIRED),
	/* TotalLocalStorageGBRequest */
	MEMBER(max, double, 0),
	MEMBER(min, double, 0),
	/* Ulimit */
	MEMBER(name, UlimitName, REQUIRED),
	MEMBER(hardLimit, integer, REQUIRED),
	MEMBER(softLimit, integer, REQUIRED),
	/* UnsupportedFeatureException */
	MEMBER(message, string, 0),
	/* UntagResourceRequest */
	MEMBER(tagKeys, list_of_string_from_1_to_128, REQUIRED),
	MEMBER(resourceArn, string, REQUIRED),
	/* UpdateCapacityProviderRequest */
	MEMBER(name, string, REQUIRED),
	MEMBER(cluster, string, 0),
	MEMBER(autoScalingGroupProvider, AutoScalingGroupProviderUpdate, 0),
	MEMBER(managedInstancesProvider, UpdateManagedInstancesProviderConfiguration, 0),
	/* UpdateCapacityProviderResponse */
	MEMBER(capacityProvider, CapacityProvider, 0),
	/* UpdateClusterRequest */
	MEMBER(cluster, string, REQUIRED),
	MEMBER(settings, list_of_ClusterSetting, 0),
	MEMBER(configuration, ClusterConfiguration, 0),
	MEMBER(serviceConnectDefaults, ClusterServiceConnectDefaultsRequest, 0),
	/* UpdateClusterResponse */
	MEMBER(cluster, Cluster, 0),
	/* UpdateClusterSettingsRequest */
	MEMBER(cluster, string, REQUIRED),
	MEMBER(settings, list_of_ClusterSetting, REQUIRED),
	/* UpdateClusterSettingsResponse */
	MEMBER(cluster, Cluster, 0),
	/* UpdateContainerAgentRequest */
	MEMBER(cluster, string, 0),
	MEMBER(containerInstance, string, REQUIRED),
	/* UpdateContainerAgentResponse */
	MEMBER(containerInstance, ContainerInstance, 0),
	/* UpdateContainerInstancesStateRequest */
	MEMBER(status, ContainerInstanceStatus, REQUIRED),
	MEMBER(cluster, string, 0),
	MEMBER(containerInstances, list_of_string_to_10, REQUIRED),
	/* UpdateContainerInstancesStateResponse */
	MEMBER(failures, list_of_Failure, 0),
	MEMBER(containerInstances, list_of_ContainerInstance, 0),
	/* UpdateDaemonRequest */
	MEMBER(critical, boolean, 0),
	MEMBER(daemonArn, string, REQUIRED),
	MEMBER(propagateTags, DaemonPropagateTags, 0),
	MEMBER(capacityProviderArns, list_of_string, REQUIRED),
	MEMBER(enableECSManagedTags, boolean, 0),
	MEMBER(enableExecuteCommand, boolean, 0),
	MEMBER(daemonTaskDefinitionArn, string, REQUIRED),
	MEMBER(deploymentConfiguration, DaemonDeploymentConfiguration, 0),
	/* UpdateDaemonResponse */
	MEMBER(status, DaemonStatus, 0),
	MEMBER(createdAt, timestamp, 0),
	MEMBER(daemonArn, string, 0),
	MEMBER(updatedAt, timestamp, 0),
	MEMBER(deploymentArn, string, 0),
	/* UpdateExpressGatewayServiceRequest */
	MEMBER(cpu, string, 0),
	MEMBER(memory, string, 0),
	MEMBER(serviceArn, string, REQUIRED),
	MEMBER(taskRoleArn, string, 0),
	MEMBER(scalingTarget, ExpressGatewayScalingTarget, 0),
	MEMBER(cpuArchitecture, ExpressCpuArchitecture, 0),
	MEMBER(healthCheckPath, string, 0),
	MEMBER(executionRoleArn, string, 0),
	MEMBER(primaryContainer, ExpressGatewayContainer, 0),
	MEMBER(taskDefinitionArn, string, 0),
	MEMBER(networkConfiguration, ExpressGatewayServiceNetworkConfiguration, 0),
	/* UpdateExpressGatewayServiceResponse */
	MEMBER(service, UpdatedExpressGatewayService, 0),
	/* UpdateGatewayAlbConfiguration */
	MEMBER(webACLArn, string, 0),
	MEMBER(accessLogs, GatewayElbAccessLogConfiguration, 0),
	MEMBER(httpDesync, GatewayAlbDesyncMitigationMode, 0),
	MEMBER(maxAlbCount, integer, 0),
	MEMBER(testTrafficRules, GatewayAlbTestTrafficRules, 0),
	MEMBER(networkConfiguration, UpdateGatewayNetworkConfiguration, 0),
	/* UpdateGatewayConfiguration */
	MEMBER(hostSharedAlb, UpdateGatewayAlbConfiguration, 0),
	/* UpdateGatewayNetworkConfiguration */
	MEMBER(inboundSecurityGroup, string, 0),
	/* UpdateGatewayRequest */
	MEMBER(gateway, string, REQUIRED),
	MEMBER(configuration, UpdateGatewayConfiguration, 0),
	MEMBER(propagateTags, PropagateGatewayTags, 0),
	MEMBER(deletionProtection, boolean, 0),
	MEMBER(infrastructureRoleArn, string, 0),
	/* UpdateGatewayResponse */
	MEMBER(name, string, 0),
	MEMBER(status, GatewayStatus, 0),
	MEMBER(gatewayArn, string, 0),
	/* UpdateInProgressException */
	MEMBER(message, string, 0),
	/* UpdateManagedInstancesProviderConfiguration */
	MEMBER(propagateTags, PropagateMITags, 0),
	MEMBER(infrastructureRoleArn, string, REQUIRED),
	MEMBER(instanceLaunchTemplate, InstanceLaunchTemplateUpdate, REQUIRED),
	MEMBER(autoRepairConfiguration, AutoRepairConfiguration, 0),
	MEMBER(infrastructureOptimization, InfrastructureOptimization, 0),
	/* UpdateServicePrimaryTaskSetRequest */
	MEMBER(cluster, string, REQUIRED),
	MEMBER(service, string, REQUIRED),
	MEMBER(primaryTaskSet, string, REQUIRED),
	/* UpdateServicePrimaryTaskSetResponse */
	MEMBER(taskSet, TaskSet, 0),
	/* UpdateServiceRequest */
	MEMBER(cluster, string, 0),
	MEMBER(service, string, REQUIRED),
	MEMBER(monitoring, MonitoringConfiguration, 0),
	MEMBER(desiredCount, integer_from_0, 0),
	MEMBER(loadBalancers, list_of_LoadBalancer, 0),
	MEMBER(propagateTags, PropagateTags, 0),
	MEMBER(taskDefinition, string, 0),
	MEMBER(platformVersion, string, 0),
	MEMBER(gatewayConnectors, list_of_GatewayConnector_to_1, 0),
	MEMBER(placementStrategy, list_of_PlacementStrategy_to_5, 0),
	MEMBER(serviceRegistries, list_of_ServiceRegistry, 0),
	MEMBER(forceNewDeployment, boolean, 0),
	MEMBER(deploymentController, DeploymentController, 0),
	MEMBER(enableECSManagedTags, boolean, 0),
	MEMBER(enableExecuteCommand, boolean, 0),
	MEMBER(networkConfiguration, NetworkConfiguration, 0),
	MEMBER(placementConstraints, list_of_PlacementConstraint_to_10, 0),
	MEMBER(volumeConfigurations, list_of_ServiceVolumeConfiguration, 0),
	MEMBER(deploymentConfiguration, DeploymentConfiguration, 0),
	MEMBER(capacityProviderStrategy, list_of_CapacityProviderStrategyItem, 0),
	MEMBER(vpcLatticeConfigurations, list_of_VpcLatticeConfiguration, 0),
	MEMBER(availabilityZoneRebalancing, AvailabilityZoneRebalancing, 0),
	MEMBER(serviceConnectConfiguration, ServiceConnectConfiguration, 0),
	MEMBER(healthCheckGracePeriodSeconds, integer_from_0_to_2147483647, 0),
	/* UpdateServiceResponse */
	MEMBER(service, Service, 0),
	/* UpdateTaskProtectionRequest */
	MEMBER(tasks, list_of_string_to_10, REQUIRED),
	MEMBER(cluster, string, REQUIRED),
	MEMBER(expiresInMinutes, integer_from_1_to_2880, 0),
	MEMBER(protectionEnabled, boolean, REQUIRED),
	/* UpdateTaskProtectionResponse */
	MEMBER(failures, list_of_Failure, 0),
	MEMBER(protectedTasks, list_of_ProtectedTask, 0),
	/* UpdateTaskSetRequest */
	MEMBER(scale, Scale, REQUIRED),
	MEMBER(cluster, string, REQUIRED),
	MEMBER(service, string, REQUIRED),
	MEMBER(taskSet, string, REQUIRED),
	/* UpdateTaskSetResponse */
	MEMBER(taskSet, TaskSet, 0),
	/* UpdatedExpressGatewayService */
	MEMBER(status, ExpressGatewayServiceStatus, 0),
	MEMBER(cluster, string, 0),
	MEMBER(createdAt, timestamp, 0),
	MEMBER(updatedAt, timestamp, 0),
	MEMBER(serviceArn, string, 0),
	MEMBER(serviceName, string, 0),
	MEMBER(targetConfiguration, ExpressGatewayServiceConfiguration, 0),
	/* VCpuCountRangeRequest */
	MEMBER(max, integer, 0),
	MEMBER(min, integer, REQUIRED),
	/* VersionInfo */
	MEMBER(agentHash, string, 0),
	MEMBER(agentVersion, string, 0),
	MEMBER(dockerVersion, string, 0),
	/* Volume */
	MEMBER(host, HostVolumeProperties, 0),
	MEMBER(name, string, 0),
	MEMBER(configuredAtLaunch, boolean, 0),
	MEMBER(efsVolumeConfiguration, EFSVolumeConfiguration, 0),
	MEMBER(dockerVolumeConfiguration, DockerVolumeConfiguration, 0),
	MEMBER(s3filesVolumeConfiguration, S3FilesVolumeConfiguration, 0),
	MEMBER(fsxWindowsFileServerVolumeConfiguration, FSxWindowsFileServerVolumeConfiguration, 0),
	/* VolumeFrom */
	MEMBER(readOnly, boolean, 0),
	MEMBER(sourceContainer, string, 0),
	/* VpcLatticeAdvancedConfiguration */
	MEMBER(testListenerRule, string, 0),
	MEMBER(productionListenerRule, string, 0),
	MEMBER(alternateTargetGroupArn, string, 0),
	/* VpcLatticeConfiguration */
	MEMBER(roleArn, string, REQUIRED),
	MEMBER(portName, string, REQUIRED),
	MEMBER(targetGroupArn, string, REQUIRED),
	MEMBER(advancedConfiguration, VpcLatticeAdvancedConfiguration, 0),
};

/* Where the values of an enum begin and end. */
enum {
	RANGE(E_AcceleratorManufacturer, 5),
	RANGE(E_AcceleratorName, 12),
	RANGE(E_AcceleratorType, 3),
	RANGE(E_AccessType, 2),
	RANGE(E_AgentUpdateStatus, 6),
	RANGE(E_ApplicationProtocol, 3),
	RANGE(E_AssignPublicIp, 2),
	RANGE(E_AutoRepairActionsStatus, 2),
	RANGE(E_AvailabilityZoneRebalancing, 2),
	RANGE(E_BareMetal, 3),
	RANGE(E_BurstablePerformance, 3),
	RANGE(E_CPUArchitecture, 2),
	RANGE(E_CapacityOptionType, 3),
	RANGE(E_CapacityProviderField, 1),
	RANGE(E_CapacityProviderStatus, 4),
	RANGE(E_CapacityProviderType, 4),
	RANGE(E_CapacityProviderUpdateStatus, 9),
	RANGE(E_CapacityReservationPreference, 3),
	RANGE(E_ClusterField, 5),
	RANGE(E_ClusterSettingName, 1),
	RANGE(E_Compatibility, 4),
	RANGE(E_Connectivity, 2),
	RANGE(E_ContainerCondition, 4),
	RANGE(E_ContainerInstanceField, 2),
	RANGE(E_ContainerInstanceStatus, 5),
	RANGE(E_CpuManufacturer, 3),
	RANGE(E_DaemonDeploymentRollbackMonitorsStatus, 4),
	RANGE(E_DaemonDeploymentStatus, 8),
	RANGE(E_DaemonIpcMode, 2),
	RANGE(E_DaemonPidMode, 2),
	RANGE(E_DaemonPropagateTags, 2),
	RANGE(E_DaemonStatus, 2),
	RANGE(E_DaemonTaskDefinitionRevisionFilter, 1),
	RANGE(E_DaemonTaskDefinitionStatus, 3),
	RANGE(E_DaemonTaskDefinitionStatusFilter, 3),
	RANGE(E_DeploymentControllerType, 3),
	RANGE(E_DeploymentLifecycleHookAction, 2),
	RANGE(E_DeploymentLifecycleHookStage, 8),
	RANGE(E_DeploymentLifecycleHookStatus, 5),
	RANGE(E_DeploymentLifecycleHookTargetType, 2),
	RANGE(E_DeploymentRolloutState, 3),
	RANGE(E_DeploymentStrategy, 4),
	RANGE(E_DesiredStatus, 3),
	RANGE(E_DeviceCgroupPermission, 3),
	RANGE(E_EBSResourceType, 1),
	RANGE(E_EFSAuthorizationConfigIAM, 2),
	RANGE(E_EFSTransitEncryption, 2),
	RANGE(E_EnvironmentFileType, 1),
	RANGE(E_ExecuteCommandLogging, 3),
	RANGE(E_ExpressCpuArchitecture, 2),
	RANGE(E_ExpressGatewayServiceInclude, 1),
	RANGE(E_ExpressGatewayServiceScalingMetric, 3),
	RANGE(E_ExpressGatewayServiceStatusCode, 3),
	RANGE(E_FirelensConfigurationType, 2),
	RANGE(E_GatewayAlbDesyncMitigationMode, 3),
	RANGE(E_GatewayAlbProtocol, 2),
	RANGE(E_GatewayClusterAssociationStatus, 3),
	RANGE(E_GatewayConnectorHealthCheckProtocol, 2),
	RANGE(E_GatewayElbIpAddressType, 3),
	RANGE(E_GatewayElbScheme, 2),
	RANGE(E_GatewayRouteStatus, 7),
	RANGE(E_GatewayStatus, 5),
	RANGE(E_GpuSharingMode, 3),
	RANGE(E_HealthStatus, 3),
	RANGE(E_InstanceGeneration, 2),
	RANGE(E_InstanceHealthCheckState, 4),
	RANGE(E_InstanceHealthCheckType, 4),
	RANGE(E_IpcMode, 3),
	RANGE(E_LaunchType, 4),
	RANGE(E_LocalStorage, 3),
	RANGE(E_LocalStorageType, 2),
	RANGE(E_LogDriver, 8),
	RANGE(E_ManagedAgentName, 1),
	RANGE(E_ManagedDraining, 2),
	RANGE(E_ManagedInstancesMonitoringOptions, 2),
	RANGE(E_ManagedResourceStatus, 5),
	RANGE(E_ManagedScalingStatus, 2),
	RANGE(E_ManagedTerminationProtection, 2),
	RANGE(E_NetworkMode, 4),
	RANGE(E_OSFamily, 10),
	RANGE(E_PidMode, 2),
	RANGE(E_PlacementConstraintType, 2),
	RANGE(E_PlacementStrategyType, 3),
	RANGE(E_PlatformDeviceType, 2),
	RANGE(E_PropagateGatewayTags, 2),
	RANGE(E_PropagateMITags, 2),
	RANGE(E_PropagateTags, 3),
	RANGE(E_ProxyConfigurationType, 1),
	RANGE(E_ResourceManagementType, 2),
	RANGE(E_ResourceType, 3),
	RANGE(E_ScaleUnit, 1),
	RANGE(E_SchedulingStrategy, 2),
	RANGE(E_Scope, 2),
	RANGE(E_ServiceConnectAccessLoggingFormat, 2),
	RANGE(E_ServiceConnectContainerLogLevel, 2),
	RANGE(E_ServiceConnectIncludeQueryParameters, 2),
	RANGE(E_ServiceDeploymentLifecycleStage, 10),
	RANGE(E_ServiceDeploymentRollbackMonitorsStatus, 4),
	RANGE(E_ServiceDeploymentStatus, 9),
	RANGE(E_ServiceField, 1),
	RANGE(E_ServiceRevisionCleanup, 2),
	RANGE(E_SettingName, 11),
	RANGE(E_SettingType, 2),
	RANGE(E_SortOrder, 2),
	RANGE(E_StabilityStatus, 2),
	RANGE(E_StopServiceDeploymentStopType, 2),
	RANGE(E_TargetType, 1),
	RANGE(E_TaskDefinitionFamilyStatus, 3),
	RANGE(E_TaskDefinitionField, 1),
	RANGE(E_TaskDefinitionPlacementConstraintType, 1),
	RANGE(E_TaskDefinitionStatus, 3),
	RANGE(E_TaskField, 1),
	RANGE(E_TaskFilesystemType, 4),
	RANGE(E_TaskSetField, 1),
	RANGE(E_TaskStopCode, 7),
	RANGE(E_ThresholdType, 3),
	RANGE(E_TransportProtocol, 2),
	RANGE(E_UlimitName, 15),
	RANGE(E_VersionConsistency, 2),
};

static const struct shape_name values[] = {
	/* AcceleratorManufacturer */
	NAME(amazon_web_services), NAME(amd), NAME(habana), NAME(nvidia), NAME(xilinx),
	/* AcceleratorName */
	NAME(a100), NAME(a10g), NAME(h100), NAME(inferentia), NAME(k520), NAME(k80), NAME(m60),
	NAME(radeon_pro_v520), NAME(t4), NAME(t4g), NAME(v100), NAME(vu9p),
	/* AcceleratorType */
	NAME(fpga), NAME(gpu), NAME(inference),
	/* AccessType */
	NAME(PRIVATE), NAME(PUBLIC),
	/* AgentUpdateStatus */
	NAME(FAILED), NAME(PENDING), NAME(STAGED), NAME(STAGING), NAME(UPDATED), NAME(UPDATING),
	/* ApplicationProtocol */
	NAME(grpc), NAME(http), NAME(http2),
	/* AssignPublicIp */
	NAME(DISABLED), NAME(ENABLED),
	/* AutoRepairActionsStatus */
	NAME(DISABLED), NAME(ENABLED),
	/* AvailabilityZoneRebalancing */
	NAME(DISABLED), NAME(ENABLED),
	/* BareMetal */
	NAME(excluded), NAME(included), NAME(required),
	/* BurstablePerformance */
	NAME(excluded), NAME(included), NAME(required),
	/* CPUArchitecture */
	NAME(ARM64), NAME(X86_64),
	/* CapacityOptionType */
	NAME(ON_DEMAND), NAME(RESERVED), NAME(SPOT),
	/* CapacityProviderField */
	NAME(TAGS),
	/* CapacityProviderStatus */
	NAME(ACTIVE), NAME(DEPROVISIONING), NAME(INACTIVE), NAME(PROVISIONING),
	/* CapacityProviderType */
	NAME(EC2_AUTOSCALING), NAME(FARGATE), NAME(FARGATE_SPOT), NAME(MANAGED_INSTANCES),
	/* CapacityProviderUpdateStatus */
	NAME(CREATE_COMPLETE), NAME(CREATE_FAILED), NAME(CREATE_IN_PROGRESS), NAME(DELETE_COMPLETE),
	NAME(DELETE_FAILED), NAME(DELETE_IN_PROGRESS), NAME(UPDATE_COMPLETE), NAME(UPDATE_FAILED),
	NAME(UPDATE_IN_PROGRESS),
	/* CapacityReservationPreference */
	NAME(RESERVATIONS_EXCLUDED), NAME(RESERVATIONS_FIRST), NAME(RESERVATIONS_ONLY),
	/* ClusterField */
	NAME(ATTACHMENTS), NAME(CONFIGURATIONS), NAME(SETTINGS), NAME(STATISTICS), NAME(TAGS),
	/* ClusterSettingName */
	NAME(containerInsights),
	/* Compatibility */
	NAME(EC2), NAME(EXTERNAL), NAME(FARGATE), NAME(MANAGED_INSTANCES),
	/* Connectivity */
	NAME(CONNECTED), NAME(DISCONNECTED),
	/* ContainerCondition */
	NAME(COMPLETE), NAME(HEALTHY), NAME(START), NAME(SUCCESS),
	/* ContainerInstanceField */
	NAME(CONTAINER_INSTANCE_HEALTH), NAME(TAGS),
	/* ContainerInstanceStatus */
	NAME(ACTIVE), NAME(DEREGISTERING), NAME(DRAINING), NAME(REGISTERING),
	NAME(REGISTRATION_FAILED),
	/* CpuManufacturer */
	NAME(amazon_web_services), NAME(amd), NAME(intel),
	/* DaemonDeploymentRollbackMonitorsStatus */
	NAME(DISABLED), NAME(MONITORING), NAME(MONITORING_COMPLETE), NAME(TRIGGERED),
	/* DaemonDeploymentStatus */
	NAME(IN_PROGRESS), NAME(PENDING), NAME(ROLLBACK_FAILED), NAME(ROLLBACK_IN_PROGRESS),
	NAME(ROLLBACK_SUCCESSFUL), NAME(STOPPED), NAME(STOP_REQUESTED), NAME(SUCCESSFUL),
	/* DaemonIpcMode */
	NAME(none), NAME(shared),
	/* DaemonPidMode */
	NAME(none), NAME(shared),
	/* DaemonPropagateTags */
	NAME(DAEMON), NAME(NONE),
	/* DaemonStatus */
	NAME(ACTIVE), NAME(DELETE_IN_PROGRESS),
	/* DaemonTaskDefinitionRevisionFilter */
	NAME(LAST_REGISTERED),
	/* DaemonTaskDefinitionStatus */
	NAME(ACTIVE), NAME(DELETED), NAME(DELETE_IN_PROGRESS),
	/* DaemonTaskDefinitionStatusFilter */
	NAME(ACTIVE), NAME(ALL), NAME(DELETE_IN_PROGRESS),
	/* DeploymentControllerType */
	NAME(CODE_DEPLOY), NAME(ECS), NAME(EXTERNAL),
	/* DeploymentLifecycleHookAction */
	NAME(CONTINUE), NAME(ROLLBACK),
	/* DeploymentLifecycleHookStage */
	NAME(POST_PRODUCTION_TRAFFIC_SHIFT), NAME(POST_SCALE_UP), NAME(POST_TEST_TRAFFIC_SHIFT),
	NAME(PRE_PRODUCTION_TRAFFIC_SHIFT), NAME(PRE_SCALE_UP), NAME(PRODUCTION_TRAFFIC_SHIFT),
	NAME(RECONCILE_SERVICE), NAME(TEST_TRAFFIC_SHIFT),
	/* DeploymentLifecycleHookStatus */
	NAME(AWAITING_ACTION), NAME(FAILED), NAME(IN_PROGRESS), NAME(SUCCEEDED), NAME(TIMED_OUT),
	/* DeploymentLifecycleHookTargetType */
	NAME(AWS_LAMBDA), NAME(PAUSE),
	/* DeploymentRolloutState */
	NAME(COMPLETED), NAME(FAILED), NAME(IN_PROGRESS),
	/* DeploymentStrategy */
	NAME(BLUE_GREEN), NAME(CANARY), NAME(LINEAR), NAME(ROLLING),
	/* DesiredStatus */
	NAME(PENDING), NAME(RUNNING), NAME(STOPPED),
	/* DeviceCgroupPermission */
	NAME(mknod), NAME(read), NAME(write),
	/* EBSResourceType */
	NAME(volume),
	/* EFSAuthorizationConfigIAM */
	NAME(DISABLED), NAME(ENABLED),
	/* EFSTransitEncryption */
	NAME(DISABLED), NAME(ENABLED),
	/* EnvironmentFileType */
	NAME(s3),
	/* ExecuteCommandLogging */
	NAME(DEFAULT), NAME(NONE), NAME(OVERRIDE),
	/* ExpressCpuArchitecture */
	NAME(ARM64), NAME(X86_64),
	/* ExpressGatewayServiceInclude */
	NAME(TAGS),
	/* ExpressGatewayServiceScalingMetric */
	NAME(AVERAGE_CPU), NAME(AVERAGE_MEMORY), NAME(REQUEST_COUNT_PER_TARGET),
	/* ExpressGatewayServiceStatusCode */
	NAME(ACTIVE), NAME(DRAINING), NAME(INACTIVE),
	/* FirelensConfigurationType */
	NAME(fluentbit), NAME(fluentd),
	/* GatewayAlbDesyncMitigationMode */
	NAME(defensive), NAME(monitor), NAME(strictest),
	/* GatewayAlbProtocol */
	NAME(HTTP), NAME(HTTPS),
	/* GatewayClusterAssociationStatus */
	NAME(ACTIVE), NAME(DISASSOCIATING), NAME(INACTIVE),
	/* GatewayConnectorHealthCheckProtocol */
	NAME(HTTP), NAME(HTTPS),
	/* GatewayElbIpAddressType */
	NAME(dualstack), NAME(dualstack_without_public_ipv4), NAME(ipv4),
	/* GatewayElbScheme */
	NAME(internal), NAME(internet_facing),
	/* GatewayRouteStatus */
	NAME(ACTIVE), NAME(CREATE_FAILED), NAME(CREATE_IN_PROGRESS), NAME(DELETE_FAILED),
	NAME(DELETE_IN_PROGRESS), NAME(UPDATE_FAILED), NAME(UPDATE_IN_PROGRESS),
	/* GatewayStatus */
	NAME(ACTIVE), NAME(DELETED), NAME(UPDATE_COMPLETE), NAME(UPDATE_FAILED),
	NAME(UPDATE_IN_PROGRESS),
	/* GpuSharingMode */
	NAME(DEDICATED), NAME(IDLE), NAME(NVIDIA_MPS),
	/* HealthStatus */
	NAME(HEALTHY), NAME(UNHEALTHY), NAME(UNKNOWN),
	/* InstanceGeneration */
	NAME(current), NAME(previous),
	/* InstanceHealthCheckState */
	NAME(IMPAIRED), NAME(INITIALIZING), NAME(INSUFFICIENT_DATA), NAME(OK),
	/* InstanceHealthCheckType */
	NAME(ACCELERATED_COMPUTE), NAME(AGENT_CONNECTIVITY), NAME(CONTAINER_RUNTIME), NAME(DAEMON),
	/* IpcMode */
	NAME(host), NAME(none), NAME(task),
	/* LaunchType */
	NAME(EC2), NAME(EXTERNAL), NAME(FARGATE), NAME(MANAGED_INSTANCES),
	/* LocalStorage */
	NAME(excluded), NAME(included), NAME(required),
	/* LocalStorageType */
	NAME(hdd), NAME(ssd),
	/* LogDriver */
	NAME(awsfirelens), NAME(awslogs), NAME(fluentd), NAME(gelf), NAME(journald),
	NAME(json_file), NAME(splunk), NAME(syslog),
	/* ManagedAgentName */
	NAME(ExecuteCommandAgent),
	/* ManagedDraining */
	NAME(DISABLED), NAME(ENABLED),
	/* ManagedInstancesMonitoringOptions */
	NAME(BASIC), NAME(DETAILED),
	/* ManagedResourceStatus */
	NAME(ACTIVE), NAME(DELETED), NAME(DEPROVISIONING), NAME(FAILED), NAME(PROVISIONING),
	/* ManagedScalingStatus */
	NAME(DISABLED), NAME(ENABLED),
	/* ManagedTerminationProtection */
	NAME(DISABLED), NAME(ENABLED),
	/* NetworkMode */
	NAME(awsvpc), NAME(bridge), NAME(host), NAME(none),
	/* OSFamily */
	NAME(LINUX), NAME(WINDOWS_SERVER_2004_CORE), NAME(WINDOWS_SERVER_2016_FULL),
	NAME(WINDOWS_SERVER_2019_CORE), NAME(WINDOWS_SERVER_2019_FULL),
	NAME(WINDOWS_SERVER_2022_CORE), NAME(WINDOWS_SERVER_2022_FULL),
	NAME(WINDOWS_SERVER_2025_CORE), NAME(WINDOWS_SERVER_2025_FULL),
	NAME(WINDOWS_SERVER_20H2_CORE),
	/* PidMode */
	NAME(host), NAME(task),
	/* PlacementConstraintType */
	NAME(distinctInstance), NAME(memberOf),
	/* PlacementStrategyType */
	NAME(binpack), NAME(random), NAME(spread),
	/* PlatformDeviceType */
	NAME(GPU), NAME(NEURON_DEVICE),
	/* PropagateGatewayTags */
	NAME(GATEWAY), NAME(NONE),
	/* PropagateMITags */
	NAME(CAPACITY_PROVIDER), NAME(NONE),
	/* PropagateTags */
	NAME(NONE), NAME(SERVICE), NAME(TASK_DEFINITION),
	/* ProxyConfigurationType */
	NAME(APPMESH),
	/* ResourceManagementType */
	NAME(CUSTOMER), NAME(ECS),
	/* ResourceType */
	NAME(GPU), NAME(InferenceAccelerator), NAME(NeuronDevice),
	/* ScaleUnit */
	NAME(PERCENT),
	/* SchedulingStrategy */
	NAME(DAEMON), NAME(REPLICA),
	/* Scope */
	NAME(shared), NAME(task),
	/* ServiceConnectAccessLoggingFormat */
	NAME(JSON), NAME(TEXT),
	/* ServiceConnectContainerLogLevel */
	NAME(debug), NAME(info),
	/* ServiceConnectIncludeQueryParameters */
	NAME(DISABLED), NAME(ENABLED),
	/* ServiceDeploymentLifecycleStage */
	NAME(BAKE_TIME), NAME(CLEAN_UP), NAME(POST_PRODUCTION_TRAFFIC_SHIFT), NAME(POST_SCALE_UP),
	NAME(POST_TEST_TRAFFIC_SHIFT), NAME(PRE_SCALE_UP), NAME(PRODUCTION_TRAFFIC_SHIFT),
	NAME(RECONCILE_SERVICE), NAME(SCALE_UP), NAME(TEST_TRAFFIC_SHIFT),
	/* ServiceDeploymentRollbackMonitorsStatus */
	NAME(DISABLED), NAME(MONITORING), NAME(MONITORING_COMPLETE), NAME(TRIGGERED),
	/* ServiceDeploymentStatus */
	NAME(IN_PROGRESS), NAME(PENDING), NAME(ROLLBACK_FAILED), NAME(ROLLBACK_IN_PROGRESS),
	NAME(ROLLBACK_REQUESTED), NAME(ROLLBACK_SUCCESSFUL), NAME(STOPPED), NAME(STOP_REQUESTED),
	NAME(SUCCESSFUL),
	/* ServiceField */
	NAME(TAGS),
	/* ServiceRevisionCleanup */
	NAME(BLOCKING), NAME(DEFERRED),
	/* SettingName */
	NAME(awsvpcTrunking), NAME(containerInsights), NAME(containerInstanceLongArnFormat),
	NAME(defaultLogDriverMode), NAME(fargateEventWindows), NAME(fargateFIPSMode),
	NAME(fargateTaskRetirementWaitPeriod), NAME(guardDutyActivate), NAME(serviceLongArnFormat),
	NAME(tagResourceAuthorization), NAME(taskLongArnFormat),
	/* SettingType */
	NAME(aws_managed), NAME(user),
	/* SortOrder */
	NAME(ASC), NAME(DESC),
	/* StabilityStatus */
	NAME(STABILIZING), NAME(STEADY_STATE),
	/* StopServiceDeploymentStopType */
	NAME(ABORT), NAME(ROLLBACK),
	/* TargetType */
	NAME(container_instance),
	/* TaskDefinitionFamilyStatus */
	NAME(ACTIVE), NAME(ALL), NAME(INACTIVE),
	/* TaskDefinitionField */
	NAME(TAGS),
	/* TaskDefinitionPlacementConstraintType */
	NAME(memberOf),
	/* TaskDefinitionStatus */
	NAME(ACTIVE), NAME(DELETE_IN_PROGRESS), NAME(INACTIVE),
	/* TaskField */
	NAME(TAGS),
	/* TaskFilesystemType */
	NAME(ext3), NAME(ext4), NAME(ntfs), NAME(xfs),
	/* TaskSetField */
	NAME(TAGS),
	/* TaskStopCode */
	NAME(EssentialContainerExited), NAME(InfrastructureHealth), NAME(ServiceSchedulerInitiated),
	NAME(SpotInterruption), NAME(TaskFailedToStart), NAME(TerminationNotice),
	NAME(UserInitiated),
	/* ThresholdType */
	NAME(BOUNDED_PERCENT), NAME(COUNT), NAME(UNBOUNDED_PERCENT),
	/* TransportProtocol */
	NAME(tcp), NAME(udp),
	/* UlimitName */
	NAME(core), NAME(cpu), NAME(data), NAME(fsize), NAME(locks), NAME(memlock), NAME(msgqueue),
	NAME(nice), NAME(nofile), NAME(nproc), NAME(rss), NAME(rtprio), NAME(rttime),
	NAME(sigpending), NAME(stack),
	/* VersionConsistency */
	NAME(disabled), NAME(enabled),
};

enum { L_none,
	L_any_to_1, L_any_to_5, L_any_to_10, L_any_to_20, L_any_to_36, L_any_to_50, L_any_to_64,
	L_any_to_100, L_any_to_128, L_any_to_2000, L_minus_1_to_3600, L_0_to_any, L_0_to_50,
	L_0_to_100, L_0_to_256, L_0_to_300, L_0_to_400, L_0_to_1000, L_0_to_10000, L_0_to_65535,
	L_0_to_100000, L_0_to_2147483647, L_1_to_any, L_1_to_10, L_1_to_30, L_1_to_100, L_1_to_128,
	L_1_to_2880, L_1_to_10000, L_1_to_20160, L_2_to_60, L_5_to_300, L_20_to_200, L_21_to_200,
	L_60_to_1800,
};

static const struct shape_limits limits[] = {
	[L_none] = {INT64_MIN, INT64_MAX},
	[L_any_to_1] = {INT64_MIN, 1},
	[L_any_to_5] = {INT64_MIN, 5},
	[L_any_to_10] = {INT64_MIN, 10},
	[L_any_to_20] = {INT64_MIN, 20},
	[L_any_to_36] = {INT64_MIN, 36},
	[L_any_to_50] = {INT64_MIN, 50},
	[L_any_to_64] = {INT64_MIN, 64},
	[L_any_to_100] = {INT64_MIN, 100},
	[L_any_to_128] = {INT64_MIN, 128},
	[L_any_to_2000] = {INT64_MIN, 2000},
	[L_minus_1_to_3600] = {-1, 3600},
	[L_0_to_any] = {0, INT64_MAX},
	[L_0_to_50] = {0, 50},
	[L_0_to_100] = {0, 100},
	[L_0_to_256] = {0, 256},
	[L_0_to_300] = {0, 300},
	[L_0_to_400] = {0, 400},
	[L_0_to_1000] = {0, 1000},
	[L_0_to_10000] = {0, 10000},
	[L_0_to_65535] = {0, 65535},
	[L_0_to_100000] = {0, 100000},
	[L_0_to_2147483647] = {0, 2147483647},
	[L_1_to_any] = {1, INT64_MAX},
	[L_1_to_10] = {1, 10},
	[L_1_to_30] = {1, 30},
	[L_1_to_100] = {1, 100},
	[L_1_to_128] = {1, 128},
	[L_1_to_2880] = {1, 2880},
	[L_1_to_10000] = {1, 10000},
	[L_1_to_20160] = {1, 20160},
	[L_2_to_60] = {2, 60},
	[L_5_to_300] = {5, 300},
	[L_20_to_200] = {20, 200},
	[L_21_to_200] = {21, 200},
	[L_60_to_1800] = {60, 1800},
};

static const struct shape shapes[] = {
	[S_AcceleratorCountRequest] = {STRUCTURE(AcceleratorCountRequest)},
	[S_AcceleratorManufacturer] = {ENUM(AcceleratorManufacturer)},
	[S_AcceleratorName] = {ENUM(AcceleratorName)},
	[S_AcceleratorTotalMemoryMiBRequest] = {STRUCTURE(AcceleratorTotalMemoryMiBRequest)},
	[S_AcceleratorType] = {ENUM(AcceleratorType)},
	[S_AccessDeniedException] = {STRUCTURE(AccessDeniedException), .status = 403, .flags = ERROR},
	[S_AccessType] = {ENUM(AccessType)},
	[S_AdvancedConfiguration] = {STRUCTURE(AdvancedConfiguration)},
	[S_AgentUpdateStatus] = {ENUM(AgentUpdateStatus)},
	[S_ApplicationProtocol] = {ENUM(ApplicationProtocol)},
	[S_AssignPublicIp] = {ENUM(AssignPublicIp)},
	[S_AssociateGatewayWithClusterRequest] = {STRUCTURE(AssociateGatewayWithClusterRequest), .required = 2},
	[S_AssociateGatewayWithClusterResponse] = {STRUCTURE(AssociateGatewayWithClusterResponse)},
	[S_Attachment] = {STRUCTURE(Attachment)},
	[S_AttachmentStateChange] = {STRUCTURE(AttachmentStateChange), .required = 2},
	[S_Attribute] = {STRUCTURE(Attribute), .required = 1},
	[S_AttributeLimitExceededException] = {STRUCTURE(AttributeLimitExceededException), .status = 400, .flags = ERROR},
	[S_AutoRepairActionsStatus] = {ENUM(AutoRepairActionsStatus)},
	[S_AutoRepairConfiguration] = {STRUCTURE(AutoRepairConfiguration)},
	[S_AutoScalingGroupProvider] = {STRUCTURE(AutoScalingGroupProvider), .required = 1},
	[S_AutoScalingGroupProviderUpdate] = {STRUCTURE(AutoScalingGroupProviderUpdate)},
	[S_AvailabilityZoneRebalancing] = {ENUM(AvailabilityZoneRebalancing)},
	[S_AwsVpcConfiguration] = {STRUCTURE(AwsVpcConfiguration), .required = 1},
	[S_BareMetal] = {ENUM(BareMetal)},
	[S_BaselineEbsBandwidthMbpsRequest] = {STRUCTURE(BaselineEbsBandwidthMbpsRequest)},
	[S_BlockedException] = {STRUCTURE(BlockedException), .status = 400, .flags = ERROR},
	[S_BurstablePerformance] = {ENUM(BurstablePerformance)},
	[S_CPUArchitecture] = {ENUM(CPUArchitecture)},
	[S_CanaryConfiguration] = {STRUCTURE(CanaryConfiguration)},
	[S_CapacityOptionType] = {ENUM(CapacityOptionType)},
	[S_CapacityProvider] = {STRUCTURE(CapacityProvider)},
	[S_CapacityProviderField] = {ENUM(CapacityProviderField)},
	[S_CapacityProviderStatus] = {ENUM(CapacityProviderStatus)},
	[S_CapacityProviderStrategyItem] = {STRUCTURE(CapacityProviderStrategyItem), .required = 1},
	[S_CapacityProviderType] = {ENUM(CapacityProviderType)},
	[S_CapacityProviderUpdateStatus] = {ENUM(CapacityProviderUpdateStatus)},
	[S_CapacityReservationPreference] = {ENUM(CapacityReservationPreference)},
	[S_CapacityReservationRequest] = {STRUCTURE(CapacityReservationRequest)},
	[S_ClientException] = {STRUCTURE(ClientException), .status = 400, .flags = ERROR},
	[S_Cluster] = {STRUCTURE(Cluster)},
	[S_ClusterConfiguration] = {STRUCTURE(ClusterConfiguration)},
	[S_ClusterContainsCapacityProviderException] = {STRUCTURE(ClusterContainsCapacityProviderException), .status = 400, .flags = ERROR},
	[S_ClusterContainsContainerInstancesException] = {STRUCTURE(ClusterContainsContainerInstancesException), .status = 400, .flags = ERROR},
	[S_ClusterContainsServicesException] = {STRUCTURE(ClusterContainsServicesException), .status = 400, .flags = ERROR},
	[S_ClusterContainsTasksException] = {STRUCTURE(ClusterContainsTasksException), .status = 400, .flags = ERROR},
	[S_ClusterField] = {ENUM(ClusterField)},
	[S_ClusterNotFoundException] = {STRUCTURE(ClusterNotFoundException), .status = 400, .flags = ERROR},
	[S_ClusterServiceConnectDefaults] = {STRUCTURE(ClusterServiceConnectDefaults)},
	[S_ClusterServiceConnectDefaultsRequest] = {STRUCTURE(ClusterServiceConnectDefaultsRequest), .required = 1},
	[S_ClusterSetting] = {STRUCTURE(ClusterSetting)},
	[S_ClusterSettingName] = {ENUM(ClusterSettingName)},
	[S_Compatibility] = {ENUM(Compatibility)},
	[S_ConflictException] = {STRUCTURE(ConflictException), .status = 400, .flags = ERROR},
	[S_Connectivity] = {ENUM(Connectivity)},
	[S_Container] = {STRUCTURE(Container)},
	[S_ContainerCondition] = {ENUM(ContainerCondition)},
	[S_ContainerDefinition] = {STRUCTURE(ContainerDefinition)},
	[S_ContainerDependency] = {STRUCTURE(ContainerDependency), .required = 2},
	[S_ContainerImage] = {STRUCTURE(ContainerImage)},
	[S_ContainerInstance] = {STRUCTURE(ContainerInstance)},
	[S_ContainerInstanceField] = {ENUM(ContainerInstanceField)},
	[S_ContainerInstanceHealthStatus] = {STRUCTURE(ContainerInstanceHealthStatus)},
	[S_ContainerInstanceStatus] = {ENUM(ContainerInstanceStatus)},
	[S_ContainerOverride] = {STRUCTURE(ContainerOverride)},
	[S_ContainerRestartPolicy] = {STRUCTURE(ContainerRestartPolicy), .required = 1},
	[S_ContainerStateChange] = {STRUCTURE(ContainerStateChange)},
	[S_ContinueServiceDeploymentRequest] = {STRUCTURE(ContinueServiceDeploymentRequest), .required = 2},
	[S_ContinueServiceDeploymentResponse] = {STRUCTURE(ContinueServiceDeploymentResponse)},
	[S_CpuManufacturer] = {ENUM(CpuManufacturer)},
	[S_CreateCapacityProviderRequest] = {STRUCTURE(CreateCapacityProviderRequest), .required = 1},
	[S_CreateCapacityProviderResponse] = {STRUCTURE(CreateCapacityProviderResponse)},
	[S_CreateClusterRequest] = {STRUCTURE(CreateClusterRequest)},
	[S_CreateClusterResponse] = {STRUCTURE(CreateClusterResponse)},
	[S_CreateDaemonRequest] = {STRUCTURE(CreateDaemonRequest), .required = 3},
	[S_CreateDaemonResponse] = {STRUCTURE(CreateDaemonResponse)},
	[S_CreateExpressGatewayServiceRequest] = {STRUCTURE(CreateExpressGatewayServiceRequest), .required = 1},
	[S_CreateExpressGatewayServiceResponse] = {STRUCTURE(CreateExpressGatewayServiceResponse)},
	[S_CreateGatewayRequest] = {STRUCTURE(CreateGatewayRequest), .required = 3},
	[S_CreateGatewayResponse] = {STRUCTURE(CreateGatewayResponse)},
	[S_CreateManagedInstancesProviderConfiguration] = {STRUCTURE(CreateManagedInstancesProviderConfiguration), .required = 2},
	[S_CreateServiceRequest] = {STRUCTURE(CreateServiceRequest), .required = 1},
	[S_CreateServiceResponse] = {STRUCTURE(CreateServiceResponse)},
	[S_CreateTaskSetRequest] = {STRUCTURE(CreateTaskSetRequest), .required = 3},
	[S_CreateTaskSetResponse] = {STRUCTURE(CreateTaskSetResponse)},
	[S_CreatedAt] = {STRUCTURE(CreatedAt)},
	[S_DaemonAlarmConfiguration] = {STRUCTURE(DaemonAlarmConfiguration)},
	[S_DaemonCapacityProvider] = {STRUCTURE(DaemonCapacityProvider)},
	[S_DaemonCircuitBreaker] = {STRUCTURE(DaemonCircuitBreaker)},
	[S_DaemonContainerDefinition] = {STRUCTURE(DaemonContainerDefinition), .required = 1},
	[S_DaemonContainerImage] = {STRUCTURE(DaemonContainerImage)},
	[S_DaemonDeployment] = {STRUCTURE(DaemonDeployment)},
	[S_DaemonDeploymentAlarms] = {STRUCTURE(DaemonDeploymentAlarms)},
	[S_DaemonDeploymentCapacityProvider] = {STRUCTURE(DaemonDeploymentCapacityProvider)},
	[S_DaemonDeploymentConfiguration] = {STRUCTURE(DaemonDeploymentConfiguration)},
	[S_DaemonDeploymentRevisionDetail] = {STRUCTURE(DaemonDeploymentRevisionDetail)},
	[S_DaemonDeploymentRollbackMonitorsStatus] = {ENUM(DaemonDeploymentRollbackMonitorsStatus)},
	[S_DaemonDeploymentStatus] = {ENUM(DaemonDeploymentStatus)},
	[S_DaemonDeploymentSummary] = {STRUCTURE(DaemonDeploymentSummary)},
	[S_DaemonDetail] = {STRUCTURE(DaemonDetail)},
	[S_DaemonIpcMode] = {ENUM(DaemonIpcMode)},
	[S_DaemonLinuxParameters] = {STRUCTURE(DaemonLinuxParameters)},
	[S_DaemonNotActiveException] = {STRUCTURE(DaemonNotActiveException), .status = 400, .flags = ERROR},
	[S_DaemonNotFoundException] = {STRUCTURE(DaemonNotFoundException), .status = 400, .flags = ERROR},
	[S_DaemonPidMode] = {ENUM(DaemonPidMode)},
	[S_DaemonPropagateTags] = {ENUM(DaemonPropagateTags)},
	[S_DaemonRevision] = {STRUCTURE(DaemonRevision)},
	[S_DaemonRevisionDetail] = {STRUCTURE(DaemonRevisionDetail)},
	[S_DaemonRollback] = {STRUCTURE(DaemonRollback)},
	[S_DaemonStatus] = {ENUM(DaemonStatus)},
	[S_DaemonSummary] = {STRUCTURE(DaemonSummary)},
	[S_DaemonTaskDefinition] = {STRUCTURE(DaemonTaskDefinition)},
	[S_DaemonTaskDefinitionRevisionFilter] = {ENUM(DaemonTaskDefinitionRevisionFilter)},
	[S_DaemonTaskDefinitionStatus] = {ENUM(DaemonTaskDefinitionStatus)},
	[S_DaemonTaskDefinitionStatusFilter] = {ENUM(DaemonTaskDefinitionStatusFilter)},
	[S_DaemonTaskDefinitionSummary] = {STRUCTURE(DaemonTaskDefinitionSummary)},
	[S_DaemonVolume] = {STRUCTURE(DaemonVolume)},
	[S_DeleteAccountSettingRequest] = {STRUCTURE(DeleteAccountSettingRequest), .required = 1},
	[S_DeleteAccountSettingResponse] = {STRUCTURE(DeleteAccountSettingResponse)},
	[S_DeleteAttributesRequest] = {STRUCTURE(DeleteAttributesRequest), .required = 1},
	[S_DeleteAttributesResponse] = {STRUCTURE(DeleteAttributesResponse)},
	[S_DeleteCapacityProviderRequest] = {STRUCTURE(DeleteCapacityProviderRequest), .required = 1},
	[S_DeleteCapacityProviderResponse] = {STRUCTURE(DeleteCapacityProviderResponse)},
	[S_DeleteClusterRequest] = {STRUCTURE(DeleteClusterRequest), .required = 1},
	[S_DeleteClusterResponse] = {STRUCTURE(DeleteClusterResponse)},
	[S_DeleteDaemonRequest] = {STRUCTURE(DeleteDaemonRequest), .required = 1},
	[S_DeleteDaemonResponse] = {STRUCTURE(DeleteDaemonResponse)},
	[S_DeleteDaemonTaskDefinitionRequest] = {STRUCTURE(DeleteDaemonTaskDefinitionRequest), .required = 1},
	[S_DeleteDaemonTaskDefinitionResponse] = {STRUCTURE(DeleteDaemonTaskDefinitionResponse)},
	[S_DeleteExpressGatewayServiceRequest] = {STRUCTURE(DeleteExpressGatewayServiceRequest), .required = 1},
	[S_DeleteExpressGatewayServiceResponse] = {STRUCTURE(DeleteExpressGatewayServiceResponse)},
	[S_DeleteGatewayRequest] = {STRUCTURE(DeleteGatewayRequest), .required = 1},
	[S_DeleteGatewayResponse] = {STRUCTURE(DeleteGatewayResponse)},
	[S_DeleteServiceRequest] = {STRUCTURE(DeleteServiceRequest), .required = 1},
	[S_DeleteServiceResponse] = {STRUCTURE(DeleteServiceResponse)},
	[S_DeleteTaskDefinitionsRequest] = {STRUCTURE(DeleteTaskDefinitionsRequest), .required = 1},
	[S_DeleteTaskDefinitionsResponse] = {STRUCTURE(DeleteTaskDefinitionsResponse)},
	[S_DeleteTaskSetRequest] = {STRUCTURE(DeleteTaskSetRequest), .required = 3},
	[S_DeleteTaskSetResponse] = {STRUCTURE(DeleteTaskSetResponse)},
	[S_Deployment] = {STRUCTURE(Deployment)},
	[S_DeploymentAlarms] = {STRUCTURE(DeploymentAlarms), .required = 3},
	[S_DeploymentCircuitBreaker] = {STRUCTURE(DeploymentCircuitBreaker), .required = 2},
	[S_DeploymentConfiguration] = {STRUCTURE(DeploymentConfiguration)},
	[S_DeploymentController] = {STRUCTURE(DeploymentController), .required = 1},
	[S_DeploymentControllerType] = {ENUM(DeploymentControllerType)},
	[S_DeploymentEarlySuccessCriteria] = {STRUCTURE(DeploymentEarlySuccessCriteria), .required = 1},
	[S_DeploymentEphemeralStorage] = {STRUCTURE(DeploymentEphemeralStorage)},
	[S_DeploymentLifecycleHook] = {STRUCTURE(DeploymentLifecycleHook)},
	[S_DeploymentLifecycleHookAction] = {ENUM(DeploymentLifecycleHookAction)},
	[S_DeploymentLifecycleHookDetail] = {STRUCTURE(DeploymentLifecycleHookDetail)},
	[S_DeploymentLifecycleHookStage] = {ENUM(DeploymentLifecycleHookStage)},
	[S_DeploymentLifecycleHookStatus] = {ENUM(DeploymentLifecycleHookStatus)},
	[S_DeploymentLifecycleHookTargetType] = {ENUM(DeploymentLifecycleHookTargetType)},
	[S_DeploymentLifecycleHookTimeoutConfiguration] = {STRUCTURE(DeploymentLifecycleHookTimeoutConfiguration)},
	[S_DeploymentRolloutState] = {ENUM(DeploymentRolloutState)},
	[S_DeploymentStrategy] = {ENUM(DeploymentStrategy)},
	[S_DeregisterContainerInstanceRequest] = {STRUCTURE(DeregisterContainerInstanceRequest), .required = 1},
	[S_DeregisterContainerInstanceResponse] = {STRUCTURE(DeregisterContainerInstanceResponse)},
	[S_DeregisterTaskDefinitionRequest] = {STRUCTURE(DeregisterTaskDefinitionRequest), .required = 1},
	[S_DeregisterTaskDefinitionResponse] = {STRUCTURE(DeregisterTaskDefinitionResponse)},
	[S_DescribeCapacityProvidersRequest] = {STRUCTURE(DescribeCapacityProvidersRequest)},
	[S_DescribeCapacityProvidersResponse] = {STRUCTURE(DescribeCapacityProvidersResponse)},
	[S_DescribeClustersRequest] = {STRUCTURE(DescribeClustersRequest)},
	[S_DescribeClustersResponse] = {STRUCTURE(DescribeClustersResponse)},
	[S_DescribeContainerInstancesRequest] = {STRUCTURE(DescribeContainerInstancesRequest), .required = 1},
	[S_DescribeContainerInstancesResponse] = {STRUCTURE(DescribeContainerInstancesResponse)},
	[S_DescribeDaemonDeploymentsRequest] = {STRUCTURE(DescribeDaemonDeploymentsRequest), .required = 1},
	[S_DescribeDaemonDeploymentsResponse] = {STRUCTURE(DescribeDaemonDeploymentsResponse)},
	[S_DescribeDaemonRequest] = {STRUCTURE(DescribeDaemonRequest), .required = 1},
	[S_DescribeDaemonResponse] = {STRUCTURE(DescribeDaemonResponse)},
	[S_DescribeDaemonRevisionsRequest] = {STRUCTURE(DescribeDaemonRevisionsRequest), .required = 1},
	[S_DescribeDaemonRevisionsResponse] = {STRUCTURE(DescribeDaemonRevisionsResponse)},
	[S_DescribeDaemonTaskDefinitionRequest] = {STRUCTURE(DescribeDaemonTaskDefinitionRequest), .required = 1},
	[S_DescribeDaemonTaskDefinitionResponse] = {STRUCTURE(DescribeDaemonTaskDefinitionResponse)},
	[S_DescribeExpressGatewayServiceRequest] = {STRUCTURE(DescribeExpressGatewayServiceRequest), .required = 1},
	[S_DescribeExpressGatewayServiceResponse] = {STRUCTURE(DescribeExpressGatewayServiceResponse)},
	[S_DescribeGatewayAlbConfiguration] = {STRUCTURE(DescribeGatewayAlbConfiguration)},
	[S_DescribeGatewayConfiguration] = {STRUCTURE(DescribeGatewayConfiguration), .flags = UNION},
	[S_DescribeGatewayRequest] = {STRUCTURE(DescribeGatewayRequest), .required = 1},
	[S_DescribeGatewayResourcesRequest] = {STRUCTURE(DescribeGatewayResourcesRequest), .required = 1},
	[S_DescribeGatewayResourcesResponse] = {STRUCTURE(DescribeGatewayResourcesResponse)},
	[S_DescribeGatewayResponse] = {STRUCTURE(DescribeGatewayResponse)},
	[S_DescribeGatewayRouteRequest] = {STRUCTURE(DescribeGatewayRouteRequest), .required = 1},
	[S_DescribeGatewayRouteResponse] = {STRUCTURE(DescribeGatewayRouteResponse)},
	[S_DescribeServiceDeploymentsRequest] = {STRUCTURE(DescribeServiceDeploymentsRequest), .required = 1},
	[S_DescribeServiceDeploymentsResponse] = {STRUCTURE(DescribeServiceDeploymentsResponse)},
	[S_DescribeServiceRevisionsRequest] = {STRUCTURE(DescribeServiceRevisionsRequest), .required = 1},
	[S_DescribeServiceRevisionsResponse] = {STRUCTURE(DescribeServiceRevisionsResponse)},
	[S_DescribeServicesRequest] = {STRUCTURE(DescribeServicesRequest), .required = 1},
	[S_DescribeServicesResponse] = {STRUCTURE(DescribeServicesResponse)},
	[S_DescribeTaskDefinitionRequest] = {STRUCTURE(DescribeTaskDefinitionRequest), .required = 1},
	[S_DescribeTaskDefinitionResponse] = {STRUCTURE(DescribeTaskDefinitionResponse)},
	[S_DescribeTaskSetsRequest] = {STRUCTURE(DescribeTaskSetsRequest), .required = 2},
	[S_DescribeTaskSetsResponse] = {STRUCTURE(DescribeTaskSetsResponse)},
	[S_DescribeTasksRequest] = {STRUCTURE(DescribeTasksRequest), .required = 1},
	[S_DescribeTasksResponse] = {STRUCTURE(DescribeTasksResponse)},
	[S_DesiredStatus] = {ENUM(DesiredStatus)},
	[S_Device] = {STRUCTURE(Device), .required = 1},
	[S_DeviceCgroupPermission] = {ENUM(DeviceCgroupPermission)},
	[S_DisassociateGatewayFromClusterRequest] = {STRUCTURE(DisassociateGatewayFromClusterRequest), .required = 2},
	[S_DisassociateGatewayFromClusterResponse] = {STRUCTURE(DisassociateGatewayFromClusterResponse)},
	[S_DiscoverPollEndpointRequest] = {STRUCTURE(DiscoverPollEndpointRequest)},
	[S_DiscoverPollEndpointResponse] = {STRUCTURE(DiscoverPollEndpointResponse)},
	[S_DockerVolumeConfiguration] = {STRUCTURE(DockerVolumeConfiguration)},
	[S_EBSResourceType] = {ENUM(EBSResourceType)},
	[S_EBSTagSpecification] = {STRUCTURE(EBSTagSpecification), .required = 1},
	[S_ECSExpressGatewayService] = {STRUCTURE(ECSExpressGatewayService)},
	[S_ECSManagedResources] = {STRUCTURE(ECSManagedResources)},
	[S_EFSAuthorizationConfig] = {STRUCTURE(EFSAuthorizationConfig)},
	[S_EFSAuthorizationConfigIAM] = {ENUM(EFSAuthorizationConfigIAM)},
	[S_EFSTransitEncryption] = {ENUM(EFSTransitEncryption)},
	[S_EFSVolumeConfiguration] = {STRUCTURE(EFSVolumeConfiguration), .required = 1},
	[S_ElbGatewayResources] = {STRUCTURE(ElbGatewayResources)},
	[S_EnvironmentFile] = {STRUCTURE(EnvironmentFile), .required = 2},
	[S_EnvironmentFileType] = {ENUM(EnvironmentFileType)},
	[S_EphemeralStorage] = {STRUCTURE(EphemeralStorage), .required = 1},
	[S_ExecuteCommandConfiguration] = {STRUCTURE(ExecuteCommandConfiguration)},
	[S_ExecuteCommandLogConfiguration] = {STRUCTURE(ExecuteCommandLogConfiguration)},
	[S_ExecuteCommandLogging] = {ENUM(ExecuteCommandLogging)},
	[S_ExecuteCommandRequest] = {STRUCTURE(ExecuteCommandRequest), .required = 3},
	[S_ExecuteCommandResponse] = {STRUCTURE(ExecuteCommandResponse)},
	[S_ExpressCpuArchitecture] = {ENUM(ExpressCpuArchitecture)},
	[S_ExpressGatewayContainer] = {STRUCTURE(ExpressGatewayContainer), .required = 1},
	[S_ExpressGatewayRepositoryCredentials] = {STRUCTURE(ExpressGatewayRepositoryCredentials)},
	[S_ExpressGatewayScalingTarget] = {STRUCTURE(ExpressGatewayScalingTarget)},
	[S_ExpressGatewayServiceAwsLogsConfiguration] = {STRUCTURE(ExpressGatewayServiceAwsLogsConfiguration), .required = 2},
	[S_ExpressGatewayServiceConfiguration] = {STRUCTURE(ExpressGatewayServiceConfiguration)},
	[S_ExpressGatewayServiceInclude] = {ENUM(ExpressGatewayServiceInclude)},
	[S_ExpressGatewayServiceNetworkConfiguration] = {STRUCTURE(ExpressGatewayServiceNetworkConfiguration)},
	[S_ExpressGatewayServiceScalingMetric] = {ENUM(ExpressGatewayServiceScalingMetric)},
	[S_ExpressGatewayServiceStatus] = {STRUCTURE(ExpressGatewayServiceStatus)},
	[S_ExpressGatewayServiceStatusCode] = {ENUM(ExpressGatewayServiceStatusCode)},
	[S_FSxWindowsFileServerAuthorizationConfig] = {STRUCTURE(FSxWindowsFileServerAuthorizationConfig), .required = 2},
	[S_FSxWindowsFileServerVolumeConfiguration] = {STRUCTURE(FSxWindowsFileServerVolumeConfiguration), .required = 3},
	[S_Failure] = {STRUCTURE(Failure)},
	[S_FirelensConfiguration] = {STRUCTURE(FirelensConfiguration), .required = 1},
	[S_FirelensConfigurationType] = {ENUM(FirelensConfigurationType)},
	[S_Gateway] = {STRUCTURE(Gateway)},
	[S_GatewayAlbDesyncMitigationMode] = {ENUM(GatewayAlbDesyncMitigationMode)},
	[S_GatewayAlbProtocol] = {ENUM(GatewayAlbProtocol)},
	[S_GatewayAlbTestTrafficRules] = {STRUCTURE(GatewayAlbTestTrafficRules)},
	[S_GatewayClusterAssociationStatus] = {ENUM(GatewayClusterAssociationStatus)},
	[S_GatewayClusterAssociationSummary] = {STRUCTURE(GatewayClusterAssociationSummary)},
	[S_GatewayConfiguration] = {STRUCTURE(GatewayConfiguration), .flags = UNION},
	[S_GatewayConnection] = {STRUCTURE(GatewayConnection)},
	[S_GatewayConnectionAlbResources] = {STRUCTURE(GatewayConnectionAlbResources)},
	[S_GatewayConnectionResources] = {STRUCTURE(GatewayConnectionResources), .flags = UNION},
	[S_GatewayConnector] = {STRUCTURE(GatewayConnector), .required = 1},
	[S_GatewayConnectorFilters] = {STRUCTURE(GatewayConnectorFilters)},
	[S_GatewayConnectorHealthCheck] = {STRUCTURE(GatewayConnectorHealthCheck)},
	[S_GatewayConnectorHealthCheckMatcher] = {STRUCTURE(GatewayConnectorHealthCheckMatcher)},
	[S_GatewayConnectorHealthCheckProtocol] = {ENUM(GatewayConnectorHealthCheckProtocol)},
	[S_GatewayElbAccessLogConfiguration] = {STRUCTURE(GatewayElbAccessLogConfiguration)},
	[S_GatewayElbAccessLogDestination] = {STRUCTURE(GatewayElbAccessLogDestination), .flags = UNION},
	[S_GatewayElbAccessLogS3Destination] = {STRUCTURE(GatewayElbAccessLogS3Destination), .required = 1},
	[S_GatewayElbIpAddressType] = {ENUM(GatewayElbIpAddressType)},
	[S_GatewayElbNetworkConfiguration] = {STRUCTURE(GatewayElbNetworkConfiguration)},
	[S_GatewayElbScheme] = {ENUM(GatewayElbScheme)},
	[S_GatewayInfrastructureResources] = {STRUCTURE(GatewayInfrastructureResources), .flags = UNION},
	[S_GatewayNotFoundException] = {STRUCTURE(GatewayNotFoundException), .status = 400, .flags = ERROR},
	[S_GatewayOperationError] = {STRUCTURE(GatewayOperationError)},
	[S_GatewayResourceFailure] = {STRUCTURE(GatewayResourceFailure)},
	[S_GatewayResources] = {STRUCTURE(GatewayResources)},
	[S_GatewayRoute] = {STRUCTURE(GatewayRoute)},
	[S_GatewayRouteAlbResources] = {STRUCTURE(GatewayRouteAlbResources)},
	[S_GatewayRouteLoadBalancerSecurityGroup] = {STRUCTURE(GatewayRouteLoadBalancerSecurityGroup)},
	[S_GatewayRouteResources] = {STRUCTURE(GatewayRouteResources), .flags = UNION},
	[S_GatewayRouteStatus] = {ENUM(GatewayRouteStatus)},
	[S_GatewayRouteSummary] = {STRUCTURE(GatewayRouteSummary)},
	[S_GatewayStatus] = {ENUM(GatewayStatus)},
	[S_GatewaySummary] = {STRUCTURE(GatewaySummary)},
	[S_GatewayTestTrafficHeader] = {STRUCTURE(GatewayTestTrafficHeader), .required = 2},
	[S_GetTaskProtectionRequest] = {STRUCTURE(GetTaskProtectionRequest), .required = 1},
	[S_GetTaskProtectionResponse] = {STRUCTURE(GetTaskProtectionResponse)},
	[S_GpuDevice] = {STRUCTURE(GpuDevice)},
	[S_GpuSharingMode] = {ENUM(GpuSharingMode)},
	[S_HealthCheck] = {STRUCTURE(HealthCheck), .required = 1},
	[S_HealthStatus] = {ENUM(HealthStatus)},
	[S_HostEntry] = {STRUCTURE(HostEntry), .required = 2},
	[S_HostSharedAlbConfiguration] = {STRUCTURE(HostSharedAlbConfiguration)},
	[S_HostVolumeProperties] = {STRUCTURE(HostVolumeProperties)},
	[S_InferenceAccelerator] = {STRUCTURE(InferenceAccelerator), .required = 2},
	[S_InferenceAcceleratorOverride] = {STRUCTURE(InferenceAcceleratorOverride)},
	[S_InfrastructureOptimization] = {STRUCTURE(InfrastructureOptimization)},
	[S_IngressPathSummary] = {STRUCTURE(IngressPathSummary), .required = 2},
	[S_InstanceGeneration] = {ENUM(InstanceGeneration)},
	[S_InstanceHealthCheckResult] = {STRUCTURE(InstanceHealthCheckResult)},
	[S_InstanceHealthCheckState] = {ENUM(InstanceHealthCheckState)},
	[S_InstanceHealthCheckType] = {ENUM(InstanceHealthCheckType)},
	[S_InstanceLaunchTemplate] = {STRUCTURE(InstanceLaunchTemplate), .required = 2},
	[S_InstanceLaunchTemplateUpdate] = {STRUCTURE(InstanceLaunchTemplateUpdate)},
	[S_InstanceRequirementsRequest] = {STRUCTURE(InstanceRequirementsRequest), .required = 2},
	[S_InvalidParameterException] = {STRUCTURE(InvalidParameterException), .status = 400, .flags = ERROR},
	[S_IpcMode] = {ENUM(IpcMode)},
	[S_KernelCapabilities] = {STRUCTURE(KernelCapabilities)},
	[S_KeyValuePair] = {STRUCTURE(KeyValuePair)},
	[S_LaunchType] = {ENUM(LaunchType)},
	[S_LimitExceededException] = {STRUCTURE(LimitExceededException), .status = 400, .flags = ERROR},
	[S_LinearConfiguration] = {STRUCTURE(LinearConfiguration)},
	[S_LinuxParameters] = {STRUCTURE(LinuxParameters)},
	[S_ListAccountSettingsRequest] = {STRUCTURE(ListAccountSettingsRequest)},
	[S_ListAccountSettingsResponse] = {STRUCTURE(ListAccountSettingsResponse)},
	[S_ListAttributesRequest] = {STRUCTURE(ListAttributesRequest), .required = 1},
	[S_ListAttributesResponse] = {STRUCTURE(ListAttributesResponse)},
	[S_ListClustersRequest] = {STRUCTURE(ListClustersRequest)},
	[S_ListClustersResponse] = {STRUCTURE(ListClustersResponse)},
	[S_ListContainerInstancesRequest] = {STRUCTURE(ListContainerInstancesRequest)},
	[S_ListContainerInstancesResponse] = {STRUCTURE(ListContainerInstancesResponse)},
	[S_ListDaemonDeploymentsRequest] = {STRUCTURE(ListDaemonDeploymentsRequest), .required = 1},
	[S_ListDaemonDeploymentsResponse] = {STRUCTURE(ListDaemonDeploymentsResponse)},
	[S_ListDaemonTaskDefinitionsRequest] = {STRUCTURE(ListDaemonTaskDefinitionsRequest)},
	[S_ListDaemonTaskDefinitionsResponse] = {STRUCTURE(ListDaemonTaskDefinitionsResponse)},
	[S_ListDaemonsRequest] = {STRUCTURE(ListDaemonsRequest)},
	[S_ListDaemonsResponse] = {STRUCTURE(ListDaemonsResponse)},
	[S_ListGatewayClusterAssociationsRequest] = {STRUCTURE(ListGatewayClusterAssociationsRequest)},
	[S_ListGatewayClusterAssociationsResponse] = {STRUCTURE(ListGatewayClusterAssociationsResponse)},
	[S_ListGatewayRoutesRequest] = {STRUCTURE(ListGatewayRoutesRequest)},
	[S_ListGatewayRoutesResponse] = {STRUCTURE(ListGatewayRoutesResponse)},
	[S_ListGatewaysRequest] = {STRUCTURE(ListGatewaysRequest)},
	[S_ListGatewaysResponse] = {STRUCTURE(ListGatewaysResponse)},
	[S_ListServiceDeploymentsRequest] = {STRUCTURE(ListServiceDeploymentsRequest), .required = 1},
	[S_ListServiceDeploymentsResponse] = {STRUCTURE(ListServiceDeploymentsResponse)},
	[S_ListServicesByNamespaceRequest] = {STRUCTURE(ListServicesByNamespaceRequest), .required = 1},
	[S_ListServicesByNamespaceResponse] = {STRUCTURE(ListServicesByNamespaceResponse)},
	[S_ListServicesRequest] = {STRUCTURE(ListServicesRequest)},
	[S_ListServicesResponse] = {STRUCTURE(ListServicesResponse)},
	[S_ListTagsForResourceRequest] = {STRUCTURE(ListTagsForResourceRequest), .required = 1},
	[S_ListTagsForResourceResponse] = {STRUCTURE(ListTagsForResourceResponse)},
	[S_ListTaskDefinitionFamiliesRequest] = {STRUCTURE(ListTaskDefinitionFamiliesRequest)},
	[S_ListTaskDefinitionFamiliesResponse] = {STRUCTURE(ListTaskDefinitionFamiliesResponse)},
	[S_ListTaskDefinitionsRequest] = {STRUCTURE(ListTaskDefinitionsRequest)},
	[S_ListTaskDefinitionsResponse] = {STRUCTURE(ListTaskDefinitionsResponse)},
	[S_ListTasksRequest] = {STRUCTURE(ListTasksRequest)},
	[S_ListTasksResponse] = {STRUCTURE(ListTasksResponse)},
	[S_LoadBalancer] = {STRUCTURE(LoadBalancer)},
	[S_LocalStorage] = {ENUM(LocalStorage)},
	[S_LocalStorageType] = {ENUM(LocalStorageType)},
	[S_LogConfiguration] = {STRUCTURE(LogConfiguration), .required = 1},
	[S_LogDriver] = {ENUM(LogDriver)},
	[S_ManagedAgent] = {STRUCTURE(ManagedAgent)},
	[S_ManagedAgentName] = {ENUM(ManagedAgentName)},
	[S_ManagedAgentStateChange] = {STRUCTURE(ManagedAgentStateChange), .required = 3},
	[S_ManagedApplicationAutoScalingPolicy] = {STRUCTURE(ManagedApplicationAutoScalingPolicy), .required = 5},
	[S_ManagedAutoScaling] = {STRUCTURE(ManagedAutoScaling)},
	[S_ManagedCertificate] = {STRUCTURE(ManagedCertificate), .required = 3},
	[S_ManagedDraining] = {ENUM(ManagedDraining)},
	[S_ManagedIngressPath] = {STRUCTURE(ManagedIngressPath), .required = 2},
	[S_ManagedInstancesLocalStorageConfiguration] = {STRUCTURE(ManagedInstancesLocalStorageConfiguration)},
	[S_ManagedInstancesMonitoringOptions] = {ENUM(ManagedInstancesMonitoringOptions)},
	[S_ManagedInstancesNetworkConfiguration] = {STRUCTURE(ManagedInstancesNetworkConfiguration)},
	[S_ManagedInstancesProvider] = {STRUCTURE(ManagedInstancesProvider)},
	[S_ManagedInstancesStorageConfiguration] = {STRUCTURE(ManagedInstancesStorageConfiguration)},
	[S_ManagedListener] = {STRUCTURE(ManagedListener), .required = 2},
	[S_ManagedListenerRule] = {STRUCTURE(ManagedListenerRule), .required = 2},
	[S_ManagedLoadBalancer] = {STRUCTURE(ManagedLoadBalancer), .required = 3},
	[S_ManagedLogGroup] = {STRUCTURE(ManagedLogGroup), .required = 3},
	[S_ManagedMetricAlarm] = {STRUCTURE(ManagedMetricAlarm), .required = 2},
	[S_ManagedResourceStatus] = {ENUM(ManagedResourceStatus)},
	[S_ManagedScalableTarget] = {STRUCTURE(ManagedScalableTarget), .required = 4},
	[S_ManagedScaling] = {STRUCTURE(ManagedScaling)},
	[S_ManagedScalingStatus] = {ENUM(ManagedScalingStatus)},
	[S_ManagedSecurityGroup] = {STRUCTURE(ManagedSecurityGroup), .required = 2},
	[S_ManagedStorageConfiguration] = {STRUCTURE(ManagedStorageConfiguration)},
	[S_ManagedTargetGroup] = {STRUCTURE(ManagedTargetGroup), .required = 5},
	[S_ManagedTerminationProtection] = {ENUM(ManagedTerminationProtection)},
	[S_MemoryGiBPerVCpuRequest] = {STRUCTURE(MemoryGiBPerVCpuRequest)},
	[S_MemoryMiBRequest] = {STRUCTURE(MemoryMiBRequest), .required = 1},
	[S_MetricConfiguration] = {STRUCTURE(MetricConfiguration), .required = 2},
	[S_MissingVersionException] = {STRUCTURE(MissingVersionException), .status = 400, .flags = ERROR},
	[S_MonitoringConfiguration] = {STRUCTURE(MonitoringConfiguration)},
	[S_MountPoint] = {STRUCTURE(MountPoint)},
	[S_NamespaceNotFoundException] = {STRUCTURE(NamespaceNotFoundException), .status = 400, .flags = ERROR},
	[S_NetworkBandwidthGbpsRequest] = {STRUCTURE(NetworkBandwidthGbpsRequest)},
	[S_NetworkBinding] = {STRUCTURE(NetworkBinding)},
	[S_NetworkConfiguration] = {STRUCTURE(NetworkConfiguration)},
	[S_NetworkInterface] = {STRUCTURE(NetworkInterface)},
	[S_NetworkInterfaceCountRequest] = {STRUCTURE(NetworkInterfaceCountRequest)},
	[S_NetworkMode] = {ENUM(NetworkMode)},
	[S_NoUpdateAvailableException] = {STRUCTURE(NoUpdateAvailableException), .status = 400, .flags = ERROR},
	[S_NvidiaMpsAllocation] = {STRUCTURE(NvidiaMpsAllocation), .required = 1},
	[S_OSFamily] = {ENUM(OSFamily)},
	[S_PidMode] = {ENUM(PidMode)},
	[S_PlacementConstraint] = {STRUCTURE(PlacementConstraint)},
	[S_PlacementConstraintType] = {ENUM(PlacementConstraintType)},
	[S_PlacementStrategy] = {STRUCTURE(PlacementStrategy)},
	[S_PlacementStrategyType] = {ENUM(PlacementStrategyType)},
	[S_PlatformDevice] = {STRUCTURE(PlatformDevice), .required = 2},
	[S_PlatformDeviceType] = {ENUM(PlatformDeviceType)},
	[S_PlatformTaskDefinitionIncompatibilityException] = {STRUCTURE(PlatformTaskDefinitionIncompatibilityException), .status = 400, .flags = ERROR},
	[S_PlatformUnknownException] = {STRUCTURE(PlatformUnknownException), .status = 400, .flags = ERROR},
	[S_PortMapping] = {STRUCTURE(PortMapping)},
	[S_PropagateGatewayTags] = {ENUM(PropagateGatewayTags)},
	[S_PropagateMITags] = {ENUM(PropagateMITags)},
	[S_PropagateTags] = {ENUM(PropagateTags)},
	[S_ProtectedTask] = {STRUCTURE(ProtectedTask)},
	[S_ProxyConfiguration] = {STRUCTURE(ProxyConfiguration), .required = 1},
	[S_ProxyConfigurationType] = {ENUM(ProxyConfigurationType)},
	[S_PutAccountSettingDefaultRequest] = {STRUCTURE(PutAccountSettingDefaultRequest), .required = 2},
	[S_PutAccountSettingDefaultResponse] = {STRUCTURE(PutAccountSettingDefaultResponse)},
	[S_PutAccountSettingRequest] = {STRUCTURE(PutAccountSettingRequest), .required = 2},
	[S_PutAccountSettingResponse] = {STRUCTURE(PutAccountSettingResponse)},
	[S_PutAttributesRequest] = {STRUCTURE(PutAttributesRequest), .required = 1},
	[S_PutAttributesResponse] = {STRUCTURE(PutAttributesResponse)},
	[S_PutClusterCapacityProvidersRequest] = {STRUCTURE(PutClusterCapacityProvidersRequest), .required = 3},
	[S_PutClusterCapacityProvidersResponse] = {STRUCTURE(PutClusterCapacityProvidersResponse)},
	[S_RegisterContainerInstanceRequest] = {STRUCTURE(RegisterContainerInstanceRequest)},
	[S_RegisterContainerInstanceResponse] = {STRUCTURE(RegisterContainerInstanceResponse)},
	[S_RegisterDaemonTaskDefinitionRequest] = {STRUCTURE(RegisterDaemonTaskDefinitionRequest), .required = 2},
	[S_RegisterDaemonTaskDefinitionResponse] = {STRUCTURE(RegisterDaemonTaskDefinitionResponse)},
	[S_RegisterTaskDefinitionRequest] = {STRUCTURE(RegisterTaskDefinitionRequest), .required = 2},
	[S_RegisterTaskDefinitionResponse] = {STRUCTURE(RegisterTaskDefinitionResponse)},
	[S_RepositoryCredentials] = {STRUCTURE(RepositoryCredentials), .required = 1, .flags = SENSITIVE},
	[S_ResolvedConfiguration] = {STRUCTURE(ResolvedConfiguration)},
	[S_Resource] = {STRUCTURE(Resource)},
	[S_ResourceInUseException] = {STRUCTURE(ResourceInUseException), .status = 400, .flags = ERROR},
	[S_ResourceManagementType] = {ENUM(ResourceManagementType)},
	[S_ResourceNotFoundException] = {STRUCTURE(ResourceNotFoundException), .status = 400, .flags = ERROR},
	[S_ResourceRequirement] = {STRUCTURE(ResourceRequirement), .required = 1},
	[S_ResourceType] = {ENUM(ResourceType)},
	[S_Rollback] = {STRUCTURE(Rollback)},
	[S_RunTaskRequest] = {STRUCTURE(RunTaskRequest), .required = 1},
	[S_RunTaskResponse] = {STRUCTURE(RunTaskResponse)},
	[S_RuntimePlatform] = {STRUCTURE(RuntimePlatform)},
	[S_RuntimePlatformOverride] = {STRUCTURE(RuntimePlatformOverride)},
	[S_S3FilesVolumeConfiguration] = {STRUCTURE(S3FilesVolumeConfiguration), .required = 1},
	[S_Scale] = {STRUCTURE(Scale)},
	[S_ScaleUnit] = {ENUM(ScaleUnit)},
	[S_SchedulingStrategy] = {ENUM(SchedulingStrategy)},
	[S_Scope] = {ENUM(Scope)},
	[S_Secret] = {STRUCTURE(Secret), .required = 2},
	[S_ServerException] = {STRUCTURE(ServerException), .status = 500, .flags = ERROR | SERVER_FAULT},
	[S_Service] = {STRUCTURE(Service)},
	[S_ServiceConnectAccessLogConfiguration] = {STRUCTURE(ServiceConnectAccessLogConfiguration), .required = 1},
	[S_ServiceConnectAccessLoggingFormat] = {ENUM(ServiceConnectAccessLoggingFormat)},
	[S_ServiceConnectClientAlias] = {STRUCTURE(ServiceConnectClientAlias), .required = 1},
	[S_ServiceConnectConfiguration] = {STRUCTURE(ServiceConnectConfiguration), .required = 1},
	[S_ServiceConnectContainerConfiguration] = {STRUCTURE(ServiceConnectContainerConfiguration), .flags = UNION},
	[S_ServiceConnectContainerLogLevel] = {ENUM(ServiceConnectContainerLogLevel)},
	[S_ServiceConnectIncludeQueryParameters] = {ENUM(ServiceConnectIncludeQueryParameters)},
	[S_ServiceConnectService] = {STRUCTURE(ServiceConnectService), .required = 1},
	[S_ServiceConnectServiceResource] = {STRUCTURE(ServiceConnectServiceResource)},
	[S_ServiceConnectTestTrafficHeaderMatchRules] = {STRUCTURE(ServiceConnectTestTrafficHeaderMatchRules), .required = 1},
	[S_ServiceConnectTestTrafficHeaderRules] = {STRUCTURE(ServiceConnectTestTrafficHeaderRules), .required = 1},
	[S_ServiceConnectTestTrafficRules] = {STRUCTURE(ServiceConnectTestTrafficRules), .required = 1},
	[S_ServiceConnectTlsCertificateAuthority] = {STRUCTURE(ServiceConnectTlsCertificateAuthority)},
	[S_ServiceConnectTlsConfiguration] = {STRUCTURE(ServiceConnectTlsConfiguration), .required = 1},
	[S_ServiceCurrentRevisionSummary] = {STRUCTURE(ServiceCurrentRevisionSummary)},
	[S_ServiceDeployment] = {STRUCTURE(ServiceDeployment)},
	[S_ServiceDeploymentAlarms] = {STRUCTURE(ServiceDeploymentAlarms)},
	[S_ServiceDeploymentBrief] = {STRUCTURE(ServiceDeploymentBrief)},
	[S_ServiceDeploymentCircuitBreaker] = {STRUCTURE(ServiceDeploymentCircuitBreaker)},
	[S_ServiceDeploymentLifecycleStage] = {ENUM(ServiceDeploymentLifecycleStage)},
	[S_ServiceDeploymentNotFoundException] = {STRUCTURE(ServiceDeploymentNotFoundException), .status = 400, .flags = ERROR},
	[S_ServiceDeploymentRollbackMonitorsStatus] = {ENUM(ServiceDeploymentRollbackMonitorsStatus)},
	[S_ServiceDeploymentStatus] = {ENUM(ServiceDeploymentStatus)},
	[S_ServiceEvent] = {STRUCTURE(ServiceEvent)},
	[S_ServiceField] = {ENUM(ServiceField)},
	[S_ServiceManagedEBSVolumeConfiguration] = {STRUCTURE(ServiceManagedEBSVolumeConfiguration), .required = 1},
	[S_ServiceNotActiveException] = {STRUCTURE(ServiceNotActiveException), .status = 400, .flags = ERROR},
	[S_ServiceNotFoundException] = {STRUCTURE(ServiceNotFoundException), .status = 400, .flags = ERROR},
	[S_ServiceRegistry] = {STRUCTURE(ServiceRegistry)},
	[S_ServiceRevision] = {STRUCTURE(ServiceRevision)},
	[S_ServiceRevisionCleanup] = {ENUM(ServiceRevisionCleanup)},
	[S_ServiceRevisionLoadBalancer] = {STRUCTURE(ServiceRevisionLoadBalancer)},
	[S_ServiceRevisionOverrides] = {STRUCTURE(ServiceRevisionOverrides)},
	[S_ServiceRevisionSummary] = {STRUCTURE(ServiceRevisionSummary)},
	[S_ServiceRevisionVpcLatticeConfiguration] = {STRUCTURE(ServiceRevisionVpcLatticeConfiguration)},
	[S_ServiceVolumeConfiguration] = {STRUCTURE(ServiceVolumeConfiguration), .required = 1},
	[S_Session] = {STRUCTURE(Session)},
	[S_Setting] = {STRUCTURE(Setting)},
	[S_SettingName] = {ENUM(SettingName)},
	[S_SettingType] = {ENUM(SettingType)},
	[S_SharingStrategy] = {STRUCTURE(SharingStrategy), .flags = UNION},
	[S_SortOrder] = {ENUM(SortOrder)},
	[S_StabilityStatus] = {ENUM(StabilityStatus)},
	[S_StartTaskRequest] = {STRUCTURE(StartTaskRequest), .required = 2},
	[S_StartTaskResponse] = {STRUCTURE(StartTaskResponse)},
	[S_StopServiceDeploymentRequest] = {STRUCTURE(StopServiceDeploymentRequest), .required = 1},
	[S_StopServiceDeploymentResponse] = {STRUCTURE(StopServiceDeploymentResponse)},
	[S_StopServiceDeploymentStopType] = {ENUM(StopServiceDeploymentStopType)},
	[S_StopTaskRequest] = {STRUCTURE(StopTaskRequest), .required = 1},
	[S_StopTaskResponse] = {STRUCTURE(StopTaskResponse)},
	[S_SubmitAttachmentStateChangesRequest] = {STRUCTURE(SubmitAttachmentStateChangesRequest), .required = 1},
	[S_SubmitAttachmentStateChangesResponse] = {STRUCTURE(SubmitAttachmentStateChangesResponse)},
	[S_SubmitContainerStateChangeRequest] = {STRUCTURE(SubmitContainerStateChangeRequest)},
	[S_SubmitContainerStateChangeResponse] = {STRUCTURE(SubmitContainerStateChangeResponse)},
	[S_SubmitTaskStateChangeRequest] = {STRUCTURE(SubmitTaskStateChangeRequest)},
	[S_SubmitTaskStateChangeResponse] = {STRUCTURE(SubmitTaskStateChangeResponse)},
	[S_SystemControl] = {STRUCTURE(SystemControl)},
	[S_Tag] = {STRUCTURE(Tag)},
	[S_TagResourceRequest] = {STRUCTURE(TagResourceRequest), .required = 2},
	[S_TagResourceResponse] = {STRUCTURE(TagResourceResponse)},
	[S_TargetNotConnectedException] = {STRUCTURE(TargetNotConnectedException), .status = 400, .flags = ERROR},
	[S_TargetNotFoundException] = {STRUCTURE(TargetNotFoundException), .status = 400, .flags = ERROR},
	[S_TargetType] = {ENUM(TargetType)},
	[S_Task] = {STRUCTURE(Task)},
	[S_TaskDefinition] = {STRUCTURE(TaskDefinition)},
	[S_TaskDefinitionFamilyStatus] = {ENUM(TaskDefinitionFamilyStatus)},
	[S_TaskDefinitionField] = {ENUM(TaskDefinitionField)},
	[S_TaskDefinitionPlacementConstraint] = {STRUCTURE(TaskDefinitionPlacementConstraint)},
	[S_TaskDefinitionPlacementConstraintType] = {ENUM(TaskDefinitionPlacementConstraintType)},
	[S_TaskDefinitionStatus] = {ENUM(TaskDefinitionStatus)},
	[S_TaskEphemeralStorage] = {STRUCTURE(TaskEphemeralStorage)},
	[S_TaskField] = {ENUM(TaskField)},
	[S_TaskFilesystemType] = {ENUM(TaskFilesystemType)},
	[S_TaskManagedEBSVolumeConfiguration] = {STRUCTURE(TaskManagedEBSVolumeConfiguration), .required = 1},
	[S_TaskManagedEBSVolumeTerminationPolicy] = {STRUCTURE(TaskManagedEBSVolumeTerminationPolicy), .required = 1},
	[S_TaskOverride] = {STRUCTURE(TaskOverride)},
	[S_TaskSet] = {STRUCTURE(TaskSet)},
	[S_TaskSetField] = {ENUM(TaskSetField)},
	[S_TaskSetNotFoundException] = {STRUCTURE(TaskSetNotFoundException), .status = 400, .flags = ERROR},
	[S_TaskStopCode] = {ENUM(TaskStopCode)},
	[S_TaskVolumeConfiguration] = {STRUCTURE(TaskVolumeConfiguration), .required = 1},
	[S_ThresholdConfiguration] = {STRUCTURE(ThresholdConfiguration), .required = 2},
	[S_ThresholdType] = {ENUM(ThresholdType)},
	[S_TimeoutConfiguration] = {STRUCTURE(TimeoutConfiguration)},
	[S_Tmpfs] = {STRUCTURE(Tmpfs), .required = 2},
	[S_TotalLocalStorageGBRequest] = {STRUCTURE(TotalLocalStorageGBRequest)},
	[S_TransportProtocol] = {ENUM(TransportProtocol)},
	[S_Ulimit] = {STRUCTURE(Ulimit), .required = 3},
	[S_UlimitName] = {ENUM(UlimitName)},
	[S_UnsupportedFeatureException] = {STRUCTURE(UnsupportedFeatureException), .status = 400, .flags = ERROR},
	[S_UntagResourceRequest] = {STRUCTURE(UntagResourceRequest), .required = 2},
	[S_UntagResourceResponse] = {STRUCTURE(UntagResourceResponse)},
	[S_UpdateCapacityProviderRequest] = {STRUCTURE(UpdateCapacityProviderRequest), .required = 1},
	[S_UpdateCapacityProviderResponse] = {STRUCTURE(UpdateCapacityProviderResponse)},
	[S_UpdateClusterRequest] = {STRUCTURE(UpdateClusterRequest), .required = 1},
	[S_UpdateClusterResponse] = {STRUCTURE(UpdateClusterResponse)},
	[S_UpdateClusterSettingsRequest] = {STRUCTURE(UpdateClusterSettingsRequest), .required = 2},
	[S_UpdateClusterSettingsResponse] = {STRUCTURE(UpdateClusterSettingsResponse)},
	[S_UpdateContainerAgentRequest] = {STRUCTURE(UpdateContainerAgentRequest), .required = 1},
	[S_UpdateContainerAgentResponse] = {STRUCTURE(UpdateContainerAgentResponse)},
	[S_UpdateContainerInstancesStateRequest] = {STRUCTURE(UpdateContainerInstancesStateRequest), .required = 2},
	[S_UpdateContainerInstancesStateResponse] = {STRUCTURE(UpdateContainerInstancesStateResponse)},
	[S_UpdateDaemonRequest] = {STRUCTURE(UpdateDaemonRequest), .required = 3},
	[S_UpdateDaemonResponse] = {STRUCTURE(UpdateDaemonResponse)},
	[S_UpdateExpressGatewayServiceRequest] = {STRUCTURE(UpdateExpressGatewayServiceRequest), .required = 1},
	[S_UpdateExpressGatewayServiceResponse] = {STRUCTURE(UpdateExpressGatewayServiceResponse)},
	[S_UpdateGatewayAlbConfiguration] = {STRUCTURE(UpdateGatewayAlbConfiguration)},
	[S_UpdateGatewayConfiguration] = {STRUCTURE(UpdateGatewayConfiguration), .flags = UNION},
	[S_UpdateGatewayNetworkConfiguration] = {STRUCTURE(UpdateGatewayNetworkConfiguration)},
	[S_UpdateGatewayRequest] = {STRUCTURE(UpdateGatewayRequest), .required = 1},
	[S_UpdateGatewayResponse] = {STRUCTURE(UpdateGatewayResponse)},
	[S_UpdateInProgressException] = {STRUCTURE(UpdateInProgressException), .status = 400, .flags = ERROR},
	[S_UpdateManagedInstancesProviderConfiguration] = {STRUCTURE(UpdateManagedInstancesProviderConfiguration), .required = 2},
	[S_UpdateServicePrimaryTaskSetRequest] = {STRUCTURE(UpdateServicePrimaryTaskSetRequest), .required = 3},
	[S_UpdateServicePrimaryTaskSetResponse] = {STRUCTURE(UpdateServicePrimaryTaskSetResponse)},
	[S_UpdateServiceRequest] = {STRUCTURE(UpdateServiceRequest), .required = 1},
	[S_UpdateServiceResponse] = {STRUCTURE(UpdateServiceResponse)},
	[S_UpdateTaskProtectionRequest] = {STRUCTURE(UpdateTaskProtectionRequest), .required = 3},
	[S_UpdateTaskProtectionResponse] = {STRUCTURE(UpdateTaskProtectionResponse)},
	[S_UpdateTaskSetRequest] = {STRUCTURE(UpdateTaskSetRequest), .required = 4},
	[S_UpdateTaskSetResponse] = {STRUCTURE(UpdateTaskSetResponse)},
	[S_UpdatedExpressGatewayService] = {STRUCTURE(UpdatedExpressGatewayService)},
	[S_VCpuCountRangeRequest] = {STRUCTURE(VCpuCountRangeRequest), .required = 1},
	[S_VersionConsistency] = {ENUM(VersionConsistency)},
	[S_VersionInfo] = {STRUCTURE(VersionInfo)},
	[S_Volume] = {STRUCTURE(Volume)},
	[S_VolumeFrom] = {STRUCTURE(VolumeFrom)},
	[S_VpcLatticeAdvancedConfiguration] = {STRUCTURE(VpcLatticeAdvancedConfiguration)},
	[S_VpcLatticeConfiguration] = {STRUCTURE(VpcLatticeConfiguration), .required = 3},
	[S_boolean] = {.type = SHAPE_BOOLEAN},
	[S_document] = {.type = SHAPE_DOCUMENT},
	[S_double] = {.type = SHAPE_DOUBLE},
	[S_double_from_0_to_100] = {.type = SHAPE_DOUBLE, .limits = L_0_to_100},
	[S_integer] = {.type = SHAPE_INTEGER},
	[S_integer_from_0] = {.type = SHAPE_INTEGER, .limits = L_0_to_any},
	[S_integer_from_0_to_100] = {.type = SHAPE_INTEGER, .limits = L_0_to_100},
	[S_integer_from_0_to_1000] = {.type = SHAPE_INTEGER, .limits = L_0_to_1000},
	[S_integer_from_0_to_10000] = {.type = SHAPE_INTEGER, .limits = L_0_to_10000},
	[S_integer_from_0_to_100000] = {.type = SHAPE_INTEGER, .limits = L_0_to_100000},
	[S_integer_from_0_to_2147483647] = {.type = SHAPE_INTEGER, .limits = L_0_to_2147483647},
	[S_integer_from_0_to_300] = {.type = SHAPE_INTEGER, .limits = L_0_to_300},
	[S_integer_from_0_to_65535] = {.type = SHAPE_INTEGER, .limits = L_0_to_65535},
	[S_integer_from_1] = {.type = SHAPE_INTEGER, .limits = L_1_to_any},
	[S_integer_from_1_to_10] = {.type = SHAPE_INTEGER, .limits = L_1_to_10},
	[S_integer_from_1_to_100] = {.type = SHAPE_INTEGER, .limits = L_1_to_100},
	[S_integer_from_1_to_10000] = {.type = SHAPE_INTEGER, .limits = L_1_to_10000},
	[S_integer_from_1_to_20160] = {.type = SHAPE_INTEGER, .limits = L_1_to_20160},
	[S_integer_from_1_to_2880] = {.type = SHAPE_INTEGER, .limits = L_1_to_2880},
	[S_integer_from_20_to_200] = {.type = SHAPE_INTEGER, .limits = L_20_to_200},
	[S_integer_from_21_to_200] = {.type = SHAPE_INTEGER, .limits = L_21_to_200},
	[S_integer_from_2_to_60] = {.type = SHAPE_INTEGER, .limits = L_2_to_60},
	[S_integer_from_5_to_300] = {.type = SHAPE_INTEGER, .limits = L_5_to_300},
	[S_integer_from_60_to_1800] = {.type = SHAPE_INTEGER, .limits = L_60_to_1800},
	[S_integer_from_minus_1_to_3600] = {.type = SHAPE_INTEGER, .limits = L_minus_1_to_3600},
	[S_list_of_AcceleratorManufacturer_as_item] = {.type = SHAPE_LIST, .element = S_AcceleratorManufacturer, .wire_name = NAME(item)},
	[S_list_of_AcceleratorName_as_item] = {.type = SHAPE_LIST, .element = S_AcceleratorName, .wire_name = NAME(item)},
	[S_list_of_AcceleratorType_as_item] = {.type = SHAPE_LIST, .element = S_AcceleratorType, .wire_name = NAME(item)},
	[S_list_of_AccessType] = {.type = SHAPE_LIST, .element = S_AccessType},
	[S_list_of_Attachment] = {.type = SHAPE_LIST, .element = S_Attachment},
	[S_list_of_AttachmentStateChange] = {.type = SHAPE_LIST, .element = S_AttachmentStateChange},
	[S_list_of_Attribute] = {.type = SHAPE_LIST, .element = S_Attribute},
	[S_list_of_Attribute_to_10] = {.type = SHAPE_LIST, .element = S_Attribute, .limits = L_any_to_10},
	[S_list_of_CapacityProvider] = {.type = SHAPE_LIST, .element = S_CapacityProvider},
	[S_list_of_CapacityProviderField] = {.type = SHAPE_LIST, .element = S_CapacityProviderField},
	[S_list_of_CapacityProviderStrategyItem] = {.type = SHAPE_LIST, .element = S_CapacityProviderStrategyItem},
	[S_list_of_Cluster] = {.type = SHAPE_LIST, .element = S_Cluster},
	[S_list_of_ClusterField] = {.type = SHAPE_LIST, .element = S_ClusterField},
	[S_list_of_ClusterSetting] = {.type = SHAPE_LIST, .element = S_ClusterSetting},
	[S_list_of_Compatibility] = {.type = SHAPE_LIST, .element = S_Compatibility},
	[S_list_of_Container] = {.type = SHAPE_LIST, .element = S_Container},
	[S_list_of_ContainerDefinition] = {.type = SHAPE_LIST, .element = S_ContainerDefinition},
	[S_list_of_ContainerDependency] = {.type = SHAPE_LIST, .element = S_ContainerDependency},
	[S_list_of_ContainerImage] = {.type = SHAPE_LIST, .element = S_ContainerImage},
	[S_list_of_ContainerInstance] = {.type = SHAPE_LIST, .element = S_ContainerInstance},
	[S_list_of_ContainerInstanceField] = {.type = SHAPE_LIST, .element = S_ContainerInstanceField},
	[S_list_of_ContainerOverride] = {.type = SHAPE_LIST, .element = S_ContainerOverride},
	[S_list_of_ContainerStateChange] = {.type = SHAPE_LIST, .element = S_ContainerStateChange},
	[S_list_of_CpuManufacturer_as_item] = {.type = SHAPE_LIST, .element = S_CpuManufacturer, .wire_name = NAME(item)},
	[S_list_of_DaemonCapacityProvider] = {.type = SHAPE_LIST, .element = S_DaemonCapacityProvider},
	[S_list_of_DaemonContainerDefinition] = {.type = SHAPE_LIST, .element = S_DaemonContainerDefinition},
	[S_list_of_DaemonContainerImage] = {.type = SHAPE_LIST, .element = S_DaemonContainerImage},
	[S_list_of_DaemonDeployment] = {.type = SHAPE_LIST, .element = S_DaemonDeployment},
	[S_list_of_DaemonDeploymentCapacityProvider] = {.type = SHAPE_LIST, .element = S_DaemonDeploymentCapacityProvider},
	[S_list_of_DaemonDeploymentRevisionDetail] = {.type = SHAPE_LIST, .element = S_DaemonDeploymentRevisionDetail},
	[S_list_of_DaemonDeploymentStatus] = {.type = SHAPE_LIST, .element = S_DaemonDeploymentStatus},
	[S_list_of_DaemonDeploymentSummary] = {.type = SHAPE_LIST, .element = S_DaemonDeploymentSummary},
	[S_list_of_DaemonRevision] = {.type = SHAPE_LIST, .element = S_DaemonRevision},
	[S_list_of_DaemonRevisionDetail] = {.type = SHAPE_LIST, .element = S_DaemonRevisionDetail},
	[S_list_of_DaemonSummary] = {.type = SHAPE_LIST, .element = S_DaemonSummary},
	[S_list_of_DaemonTaskDefinitionSummary] = {.type = SHAPE_LIST, .element = S_DaemonTaskDefinitionSummary},
	[S_list_of_DaemonVolume] = {.type = SHAPE_LIST, .element = S_DaemonVolume},
	[S_list_of_Deployment] = {.type = SHAPE_LIST, .element = S_Deployment},
	[S_list_of_DeploymentLifecycleHook] = {.type = SHAPE_LIST, .element = S_DeploymentLifecycleHook},
	[S_list_of_DeploymentLifecycleHookDetail] = {.type = SHAPE_LIST, .element = S_DeploymentLifecycleHookDetail},
	[S_list_of_DeploymentLifecycleHookStage] = {.type = SHAPE_LIST, .element = S_DeploymentLifecycleHookStage},
	[S_list_of_Device] = {.type = SHAPE_LIST, .element = S_Device},
	[S_list_of_DeviceCgroupPermission] = {.type = SHAPE_LIST, .element = S_DeviceCgroupPermission},
	[S_list_of_EBSTagSpecification] = {.type = SHAPE_LIST, .element = S_EBSTagSpecification},
	[S_list_of_ElbGatewayResources] = {.type = SHAPE_LIST, .element = S_ElbGatewayResources},
	[S_list_of_EnvironmentFile] = {.type = SHAPE_LIST, .element = S_EnvironmentFile},
	[S_list_of_EnvironmentFile_to_10] = {.type = SHAPE_LIST, .element = S_EnvironmentFile, .limits = L_any_to_10},
	[S_list_of_ExpressGatewayServiceConfiguration] = {.type = SHAPE_LIST, .element = S_ExpressGatewayServiceConfiguration},
	[S_list_of_ExpressGatewayServiceInclude] = {.type = SHAPE_LIST, .element = S_ExpressGatewayServiceInclude},
	[S_list_of_Failure] = {.type = SHAPE_LIST, .element = S_Failure},
	[S_list_of_GatewayClusterAssociationStatus] = {.type = SHAPE_LIST, .element = S_GatewayClusterAssociationStatus},
	[S_list_of_GatewayClusterAssociationSummary] = {.type = SHAPE_LIST, .element = S_GatewayClusterAssociationSummary},
	[S_list_of_GatewayConnection] = {.type = SHAPE_LIST, .element = S_GatewayConnection},
	[S_list_of_GatewayConnectionAlbResources] = {.type = SHAPE_LIST, .element = S_GatewayConnectionAlbResources},
	[S_list_of_GatewayConnector] = {.type = SHAPE_LIST, .element = S_GatewayConnector},
	[S_list_of_GatewayConnector_to_1] = {.type = SHAPE_LIST, .element = S_GatewayConnector, .limits = L_any_to_1},
	[S_list_of_GatewayOperationError] = {.type = SHAPE_LIST, .element = S_GatewayOperationError},
	[S_list_of_GatewayResourceFailure] = {.type = SHAPE_LIST, .element = S_GatewayResourceFailure},
	[S_list_of_GatewayRouteAlbResources] = {.type = SHAPE_LIST, .element = S_GatewayRouteAlbResources},
	[S_list_of_GatewayRouteLoadBalancerSecurityGroup] = {.type = SHAPE_LIST, .element = S_GatewayRouteLoadBalancerSecurityGroup},
	[S_list_of_GatewayRouteStatus] = {.type = SHAPE_LIST, .element = S_GatewayRouteStatus},
	[S_list_of_GatewayRouteSummary] = {.type = SHAPE_LIST, .element = S_GatewayRouteSummary},
	[S_list_of_GatewayStatus] = {.type = SHAPE_LIST, .element = S_GatewayStatus},
	[S_list_of_GatewaySummary] = {.type = SHAPE_LIST, .element = S_GatewaySummary},
	[S_list_of_GpuDevice] = {.type = SHAPE_LIST, .element = S_GpuDevice},
	[S_list_of_HostEntry] = {.type = SHAPE_LIST, .element = S_HostEntry},
	[S_list_of_InferenceAccelerator] = {.type = SHAPE_LIST, .element = S_InferenceAccelerator},
	[S_list_of_InferenceAcceleratorOverride] = {.type = SHAPE_LIST, .element = S_InferenceAcceleratorOverride},
	[S_list_of_IngressPathSummary] = {.type = SHAPE_LIST, .element = S_IngressPathSummary},
	[S_list_of_InstanceGeneration_as_item] = {.type = SHAPE_LIST, .element = S_InstanceGeneration, .wire_name = NAME(item)},
	[S_list_of_InstanceHealthCheckResult] = {.type = SHAPE_LIST, .element = S_InstanceHealthCheckResult},
	[S_list_of_KeyValuePair] = {.type = SHAPE_LIST, .element = S_KeyValuePair},
	[S_list_of_KeyValuePair_sensitive] = {.type = SHAPE_LIST, .element = S_KeyValuePair, .flags = SENSITIVE},
	[S_list_of_LoadBalancer] = {.type = SHAPE_LIST, .element = S_LoadBalancer},
	[S_list_of_LocalStorageType_as_item] = {.type = SHAPE_LIST, .element = S_LocalStorageType, .wire_name = NAME(item)},
	[S_list_of_ManagedAgent] = {.type = SHAPE_LIST, .element = S_ManagedAgent},
	[S_list_of_ManagedAgentStateChange] = {.type = SHAPE_LIST, .element = S_ManagedAgentStateChange},
	[S_list_of_ManagedApplicationAutoScalingPolicy] = {.type = SHAPE_LIST, .element = S_ManagedApplicationAutoScalingPolicy},
	[S_list_of_ManagedIngressPath] = {.type = SHAPE_LIST, .element = S_ManagedIngressPath},
	[S_list_of_ManagedLogGroup] = {.type = SHAPE_LIST, .element = S_ManagedLogGroup},
	[S_list_of_ManagedMetricAlarm] = {.type = SHAPE_LIST, .element = S_ManagedMetricAlarm},
	[S_list_of_ManagedSecurityGroup] = {.type = SHAPE_LIST, .element = S_ManagedSecurityGroup},
	[S_list_of_ManagedTargetGroup] = {.type = SHAPE_LIST, .element = S_ManagedTargetGroup},
	[S_list_of_MetricConfiguration] = {.type = SHAPE_LIST, .element = S_MetricConfiguration},
	[S_list_of_MountPoint] = {.type = SHAPE_LIST, .element = S_MountPoint},
	[S_list_of_NetworkBinding] = {.type = SHAPE_LIST, .element = S_NetworkBinding},
	[S_list_of_NetworkInterface] = {.type = SHAPE_LIST, .element = S_NetworkInterface},
	[S_list_of_PlacementConstraint] = {.type = SHAPE_LIST, .element = S_PlacementConstraint},
	[S_list_of_PlacementConstraint_to_10] = {.type = SHAPE_LIST, .element = S_PlacementConstraint, .limits = L_any_to_10},
	[S_list_of_PlacementStrategy] = {.type = SHAPE_LIST, .element = S_PlacementStrategy},
	[S_list_of_PlacementStrategy_to_5] = {.type = SHAPE_LIST, .element = S_PlacementStrategy, .limits = L_any_to_5},
	[S_list_of_PlatformDevice] = {.type = SHAPE_LIST, .element = S_PlatformDevice},
	[S_list_of_PortMapping] = {.type = SHAPE_LIST, .element = S_PortMapping},
	[S_list_of_ProtectedTask] = {.type = SHAPE_LIST, .element = S_ProtectedTask},
	[S_list_of_Resource] = {.type = SHAPE_LIST, .element = S_Resource},
	[S_list_of_ResourceRequirement] = {.type = SHAPE_LIST, .element = S_ResourceRequirement},
	[S_list_of_Secret] = {.type = SHAPE_LIST, .element = S_Secret},
	[S_list_of_Service] = {.type = SHAPE_LIST, .element = S_Service},
	[S_list_of_ServiceConnectClientAlias_to_1] = {.type = SHAPE_LIST, .element = S_ServiceConnectClientAlias, .limits = L_any_to_1},
	[S_list_of_ServiceConnectContainerConfiguration] = {.type = SHAPE_LIST, .element = S_ServiceConnectContainerConfiguration},
	[S_list_of_ServiceConnectService] = {.type = SHAPE_LIST, .element = S_ServiceConnectService},
	[S_list_of_ServiceConnectServiceResource] = {.type = SHAPE_LIST, .element = S_ServiceConnectServiceResource},
	[S_list_of_ServiceCurrentRevisionSummary] = {.type = SHAPE_LIST, .element = S_ServiceCurrentRevisionSummary},
	[S_list_of_ServiceDeployment] = {.type = SHAPE_LIST, .element = S_ServiceDeployment},
	[S_list_of_ServiceDeploymentBrief] = {.type = SHAPE_LIST, .element = S_ServiceDeploymentBrief},
	[S_list_of_ServiceDeploymentStatus] = {.type = SHAPE_LIST, .element = S_ServiceDeploymentStatus},
	[S_list_of_ServiceEvent] = {.type = SHAPE_LIST, .element = S_ServiceEvent},
	[S_list_of_ServiceField] = {.type = SHAPE_LIST, .element = S_ServiceField},
	[S_list_of_ServiceRegistry] = {.type = SHAPE_LIST, .element = S_ServiceRegistry},
	[S_list_of_ServiceRevision] = {.type = SHAPE_LIST, .element = S_ServiceRevision},
	[S_list_of_ServiceRevisionLoadBalancer] = {.type = SHAPE_LIST, .element = S_ServiceRevisionLoadBalancer},
	[S_list_of_ServiceRevisionSummary] = {.type = SHAPE_LIST, .element = S_ServiceRevisionSummary},
	[S_list_of_ServiceRevisionVpcLatticeConfiguration] = {.type = SHAPE_LIST, .element = S_ServiceRevisionVpcLatticeConfiguration},
	[S_list_of_ServiceVolumeConfiguration] = {.type = SHAPE_LIST, .element = S_ServiceVolumeConfiguration},
	[S_list_of_Setting] = {.type = SHAPE_LIST, .element = S_Setting},
	[S_list_of_SystemControl] = {.type = SHAPE_LIST, .element = S_SystemControl},
	[S_list_of_Tag_from_0_to_50] = {.type = SHAPE_LIST, .element = S_Tag, .limits = L_0_to_50},
	[S_list_of_Task] = {.type = SHAPE_LIST, .element = S_Task},
	[S_list_of_TaskDefinition] = {.type = SHAPE_LIST, .element = S_TaskDefinition},
	[S_list_of_TaskDefinitionField] = {.type = SHAPE_LIST, .element = S_TaskDefinitionField},
	[S_list_of_TaskDefinitionPlacementConstraint] = {.type = SHAPE_LIST, .element = S_TaskDefinitionPlacementConstraint},
	[S_list_of_TaskDefinitionPlacementConstraint_to_10] = {.type = SHAPE_LIST, .element = S_TaskDefinitionPlacementConstraint, .limits = L_any_to_10},
	[S_list_of_TaskField] = {.type = SHAPE_LIST, .element = S_TaskField},
	[S_list_of_TaskSet] = {.type = SHAPE_LIST, .element = S_TaskSet},
	[S_list_of_TaskSetField] = {.type = SHAPE_LIST, .element = S_TaskSetField},
	[S_list_of_TaskVolumeConfiguration] = {.type = SHAPE_LIST, .element = S_TaskVolumeConfiguration},
	[S_list_of_Tmpfs] = {.type = SHAPE_LIST, .element = S_Tmpfs},
	[S_list_of_Ulimit] = {.type = SHAPE_LIST, .element = S_Ulimit},
	[S_list_of_Volume] = {.type = SHAPE_LIST, .element = S_Volume},
	[S_list_of_VolumeFrom] = {.type = SHAPE_LIST, .element = S_VolumeFrom},
	[S_list_of_VpcLatticeConfiguration] = {.type = SHAPE_LIST, .element = S_VpcLatticeConfiguration},
	[S_list_of_integer_to_50] = {.type = SHAPE_LIST, .element = S_integer, .limits = L_any_to_50},
	[S_list_of_string] = {.type = SHAPE_LIST, .element = S_string},
	[S_list_of_string_from_1_to_128] = {.type = SHAPE_LIST, .element = S_string_from_1_to_128},
	[S_list_of_string_from_1_to_30_as_item_from_0_to_400] = {.type = SHAPE_LIST, .element = S_string_from_1_to_30, .wire_name = NAME(item), .limits = L_0_to_400},
	[S_list_of_string_to_10] = {.type = SHAPE_LIST, .element = S_string, .limits = L_any_to_10},
	[S_list_of_string_to_100] = {.type = SHAPE_LIST, .element = S_string, .limits = L_any_to_100},
	[S_list_of_string_to_20] = {.type = SHAPE_LIST, .element = S_string, .limits = L_any_to_20},
	[S_long] = {.type = SHAPE_LONG},
	[S_map_of_string] = {.type = SHAPE_MAP, .element = S_string, .key = S_string},
	[S_string] = {.type = SHAPE_STRING},
	[S_string_from_0_to_256] = {.type = SHAPE_STRING, .limits = L_0_to_256},
	[S_string_from_1_to_128] = {.type = SHAPE_STRING, .limits = L_1_to_128},
	[S_string_from_1_to_30] = {.type = SHAPE_STRING, .limits = L_1_to_30},
	[S_string_sensitive] = {.type = SHAPE_STRING, .flags = SENSITIVE},
	[S_string_to_128] = {.type = SHAPE_STRING, .limits = L_any_to_128},
	[S_string_to_2000] = {.type = SHAPE_STRING, .limits = L_any_to_2000},
	[S_string_to_36] = {.type = SHAPE_STRING, .limits = L_any_to_36},
	[S_string_to_64] = {.type = SHAPE_STRING, .limits = L_any_to_64},
	[S_timestamp] = {.type = SHAPE_TIMESTAMP},
};

/* Where the errors of an operation begin and end. */
enum {
	RANGE(X_AssociateGatewayWithCluster, 7),
	RANGE(X_ContinueServiceDeployment, 6),
	RANGE(X_CreateCapacityProvider, 8),
	RANGE(X_CreateCluster, 5),
	RANGE(X_CreateDaemon, 7),
	RANGE(X_CreateExpressGatewayService, 8),
	RANGE(X_CreateGateway, 5),
	RANGE(X_CreateService, 9),
	RANGE(X_CreateTaskSet, 12),
	RANGE(X_DeleteAccountSetting, 4),
	RANGE(X_DeleteAttributes, 6),
	RANGE(X_DeleteCapacityProvider, 7),
	RANGE(X_DeleteCluster, 10),
	RANGE(X_DeleteDaemon, 8),
	RANGE(X_DeleteDaemonTaskDefinition, 4),
	RANGE(X_DeleteExpressGatewayService, 8),
	RANGE(X_DeleteGateway, 6),
	RANGE(X_DeleteService, 6),
	RANGE(X_DeleteTaskDefinitions, 4),
	RANGE(X_DeleteTaskSet, 10),
	RANGE(X_DeregisterContainerInstance, 5),
	RANGE(X_DeregisterTaskDefinition, 4),
	RANGE(X_DescribeCapacityProviders, 6),
	RANGE(X_DescribeClusters, 4),
	RANGE(X_DescribeContainerInstances, 5),
	RANGE(X_DescribeDaemon, 7),
	RANGE(X_DescribeDaemonDeployments, 6),
	RANGE(X_DescribeDaemonRevisions, 6),
	RANGE(X_DescribeDaemonTaskDefinition, 4),
	RANGE(X_DescribeExpressGatewayService, 7),
	RANGE(X_DescribeGateway, 6),
	RANGE(X_DescribeGatewayResources, 6),
	RANGE(X_DescribeGatewayRoute, 6),
	RANGE(X_DescribeServiceDeployments, 7),
	RANGE(X_DescribeServiceRevisions, 7),
	RANGE(X_DescribeServices, 5),
	RANGE(X_DescribeTaskDefinition, 4),
	RANGE(X_DescribeTaskSets, 8),
	RANGE(X_DescribeTasks, 5),
	RANGE(X_DisassociateGatewayFromCluster, 8),
	RANGE(X_DiscoverPollEndpoint, 4),
	RANGE(X_ExecuteCommand, 6),
	RANGE(X_GetTaskProtection, 7),
	RANGE(X_ListAccountSettings, 4),
	RANGE(X_ListAttributes, 5),
	RANGE(X_ListClusters, 4),
	RANGE(X_ListContainerInstances, 5),
	RANGE(X_ListDaemonDeployments, 6),
	RANGE(X_ListDaemonTaskDefinitions, 4),
	RANGE(X_ListDaemons, 6),
	RANGE(X_ListGatewayClusterAssociations, 5),
	RANGE(X_ListGatewayRoutes, 6),
	RANGE(X_ListGateways, 5),
	RANGE(X_ListServiceDeployments, 7),
	RANGE(X_ListServices, 5),
	RANGE(X_ListServicesByNamespace, 5),
	RANGE(X_ListTagsForResource, 5),
	RANGE(X_ListTaskDefinitionFamilies, 4),
	RANGE(X_ListTaskDefinitions, 4),
	RANGE(X_ListTasks, 6),
	RANGE(X_PutAccountSetting, 4),
	RANGE(X_PutAccountSettingDefault, 4),
	RANGE(X_PutAttributes, 7),
	RANGE(X_PutClusterCapacityProviders, 7),
	RANGE(X_RegisterContainerInstance, 5),
	RANGE(X_RegisterDaemonTaskDefinition, 5),
	RANGE(X_RegisterTaskDefinition, 5),
	RANGE(X_RunTask, 10),
	RANGE(X_StartTask, 7),
	RANGE(X_StopServiceDeployment, 7),
	RANGE(X_StopTask, 5),
	RANGE(X_SubmitAttachmentStateChanges, 5),
	RANGE(X_SubmitContainerStateChange, 5),
	RANGE(X_SubmitTaskStateChange, 5),
	RANGE(X_TagResource, 7),
	RANGE(X_UntagResource, 6),
	RANGE(X_UpdateCapacityProvider, 6),
	RANGE(X_UpdateCluster, 6),
	RANGE(X_UpdateClusterSettings, 6),
	RANGE(X_UpdateContainerAgent, 8),
	RANGE(X_UpdateContainerInstancesState, 5),
	RANGE(X_UpdateDaemon, 9),
	RANGE(X_UpdateExpressGatewayService, 8),
	RANGE(X_UpdateGateway, 6),
	RANGE(X_UpdateService, 11),
	RANGE(X_UpdateServicePrimaryTaskSet, 9),
	RANGE(X_UpdateTaskProtection, 7),
	RANGE(X_UpdateTaskSet, 10),
};

static const uint16_t errors[] = {
	/* AssociateGatewayWithCluster */
	S_AccessDeniedException, S_ClientException, S_ClusterNotFoundException,
	S_GatewayNotFoundException, S_InvalidParameterException, S_ServerException,
	S_UnsupportedFeatureException,
	/* ContinueServiceDeployment */
	S_AccessDeniedException, S_ClientException, S_InvalidParameterException, S_ServerException,
	S_ServiceDeploymentNotFoundException, S_UnsupportedFeatureException,
	/* CreateCapacityProvider */
	S_AccessDeniedException, S_ClientException, S_ClusterNotFoundException,
	S_InvalidParameterException, S_LimitExceededException, S_ServerException,
	S_UnsupportedFeatureException, S_UpdateInProgressException,
	/* CreateCluster */
	S_AccessDeniedException, S_ClientException, S_InvalidParameterException,
	S_NamespaceNotFoundException, S_ServerException,
	/* CreateDaemon */
	S_AccessDeniedException, S_ClientException, S_ClusterNotFoundException,
	S_InvalidParameterException, S_PlatformUnknownException, S_ServerException,
	S_UnsupportedFeatureException,
	/* CreateExpressGatewayService */
	S_AccessDeniedException, S_ClientException, S_ClusterNotFoundException,
	S_InvalidParameterException, S_PlatformTaskDefinitionIncompatibilityException,
	S_PlatformUnknownException, S_ServerException, S_UnsupportedFeatureException,
	/* CreateGateway */
	S_AccessDeniedException, S_ClientException, S_InvalidParameterException, S_ServerException,
	S_UnsupportedFeatureException,
	/* CreateService */
	S_AccessDeniedException, S_ClientException, S_ClusterNotFoundException,
	S_InvalidParameterException, S_NamespaceNotFoundException,
	S_PlatformTaskDefinitionIncompatibilityException, S_PlatformUnknownException,
	S_ServerException, S_UnsupportedFeatureException,
	/* CreateTaskSet */
	S_AccessDeniedException, S_ClientException, S_ClusterNotFoundException,
	S_InvalidParameterException, S_LimitExceededException, S_NamespaceNotFoundException,
	S_PlatformTaskDefinitionIncompatibilityException, S_PlatformUnknownException,
	S_ServerException, S_ServiceNotActiveException, S_ServiceNotFoundException,
	S_UnsupportedFeatureException,
	/* DeleteAccountSetting */
	S_AccessDeniedException, S_ClientException, S_InvalidParameterException, S_ServerException,
	/* DeleteAttributes */
	S_AccessDeniedException, S_ClientException, S_ClusterNotFoundException,
	S_InvalidParameterException, S_ServerException, S_TargetNotFoundException,
	/* DeleteCapacityProvider */
	S_AccessDeniedException, S_ClientException, S_ClusterNotFoundException,
	S_InvalidParameterException, S_ServerException, S_UnsupportedFeatureException,
	S_UpdateInProgressException,
	/* DeleteCluster */
	S_AccessDeniedException, S_ClientException, S_ClusterContainsCapacityProviderException,
	S_ClusterContainsContainerInstancesException, S_ClusterContainsServicesException,
	S_ClusterContainsTasksException, S_ClusterNotFoundException, S_InvalidParameterException,
	S_ServerException, S_UpdateInProgressException,
	/* DeleteDaemon */
	S_AccessDeniedException, S_ClientException, S_ClusterNotFoundException,
	S_DaemonNotActiveException, S_DaemonNotFoundException, S_InvalidParameterException,
	S_ServerException, S_UnsupportedFeatureException,
	/* DeleteDaemonTaskDefinition */
	S_AccessDeniedException, S_ClientException, S_InvalidParameterException, S_ServerException,
	/* DeleteExpressGatewayService */
	S_AccessDeniedException, S_ClientException, S_ClusterNotFoundException,
	S_InvalidParameterException, S_ServerException, S_ServiceNotActiveException,
	S_ServiceNotFoundException, S_UnsupportedFeatureException,
	/* DeleteGateway */
	S_AccessDeniedException, S_ClientException, S_GatewayNotFoundException,
	S_InvalidParameterException, S_ServerException, S_UnsupportedFeatureException,
	/* DeleteService */
	S_AccessDeniedException, S_ClientException, S_ClusterNotFoundException,
	S_InvalidParameterException, S_ServerException, S_ServiceNotFoundException,
	/* DeleteTaskDefinitions */
	S_AccessDeniedException, S_ClientException, S_InvalidParameterException, S_ServerException,
	/* DeleteTaskSet */
	S_AccessDeniedException, S_ClientException, S_ClusterNotFoundException,
	S_InvalidParameterException, S_LimitExceededException, S_ServerException,
	S_ServiceNotActiveException, S_ServiceNotFoundException, S_TaskSetNotFoundException,
	S_UnsupportedFeatureException,
	/* DeregisterContainerInstance */
	S_AccessDeniedException, S_ClientException, S_ClusterNotFoundException,
	S_InvalidParameterException, S_ServerException,
	/* DeregisterTaskDefinition */
	S_AccessDeniedException, S_ClientException, S_InvalidParameterException, S_ServerException,
	/* DescribeCapacityProviders */
	S_AccessDeniedException, S_ClientException, S_ClusterNotFoundException,
	S_InvalidParameterException, S_ServerException, S_UnsupportedFeatureException,
	/* DescribeClusters */
	S_AccessDeniedException, S_ClientException, S_InvalidParameterException, S_ServerException,
	/* DescribeContainerInstances */
	S_AccessDeniedException, S_ClientException, S_ClusterNotFoundException,
	S_InvalidParameterException, S_ServerException,
	/* DescribeDaemon */
	S_AccessDeniedException, S_ClientException, S_ClusterNotFoundException,
	S_DaemonNotFoundException, S_InvalidParameterException, S_ServerException,
	S_UnsupportedFeatureException,
	/* DescribeDaemonDeployments */
	S_AccessDeniedException, S_ClientException, S_ClusterNotFoundException,
	S_InvalidParameterException, S_ServerException, S_UnsupportedFeatureException,
	/* DescribeDaemonRevisions */
	S_AccessDeniedException, S_ClientException, S_ClusterNotFoundException,
	S_InvalidParameterException, S_ServerException, S_UnsupportedFeatureException,
	/* DescribeDaemonTaskDefinition */
	S_AccessDeniedException, S_ClientException, S_InvalidParameterException, S_ServerException,
	/* DescribeExpressGatewayService */
	S_AccessDeniedException, S_ClientException, S_ClusterNotFoundException,
	S_InvalidParameterException, S_ResourceNotFoundException, S_ServerException,
	S_UnsupportedFeatureException,
	/* DescribeGateway */
	S_AccessDeniedException, S_ClientException, S_GatewayNotFoundException,
	S_InvalidParameterException, S_ServerException, S_UnsupportedFeatureException,
	/* DescribeGatewayResources */
	S_AccessDeniedException, S_ClientException, S_GatewayNotFoundException,
	S_InvalidParameterException, S_ServerException, S_UnsupportedFeatureException,
	/* DescribeGatewayRoute */
	S_AccessDeniedException, S_ClientException, S_InvalidParameterException,
	S_ResourceNotFoundException, S_ServerException, S_UnsupportedFeatureException,
	/* DescribeServiceDeployments */
	S_AccessDeniedException, S_ClientException, S_ClusterNotFoundException,
	S_InvalidParameterException, S_ServerException, S_ServiceNotFoundException,
	S_UnsupportedFeatureException,
	/* DescribeServiceRevisions */
	S_AccessDeniedException, S_ClientException, S_ClusterNotFoundException,
	S_InvalidParameterException, S_ServerException, S_ServiceNotFoundException,
	S_UnsupportedFeatureException,
	/* DescribeServices */
	S_AccessDeniedException, S_ClientException, S_ClusterNotFoundException,
	S_InvalidParameterException, S_ServerException,
	/* DescribeTaskDefinition */
	S_AccessDeniedException, S_ClientException, S_InvalidParameterException, S_ServerException,
	/* DescribeTaskSets */
	S_AccessDeniedException, S_ClientException, S_ClusterNotFoundException,
	S_InvalidParameterException, S_ServerException, S_ServiceNotActiveException,
	S_ServiceNotFoundException, S_UnsupportedFeatureException,
	/* DescribeTasks */
	S_AccessDeniedException, S_ClientException, S_ClusterNotFoundException,
	S_InvalidParameterException, S_ServerException,
	/* DisassociateGatewayFromCluster */
	S_AccessDeniedException, S_ClientException, S_ClusterNotFoundException,
	S_GatewayNotFoundException, S_InvalidParameterException, S_ResourceNotFoundException,
	S_ServerException, S_UnsupportedFeatureException,
	/* DiscoverPollEndpoint */
	S_AccessDeniedException, S_ClientException, S_InvalidParameterException, S_ServerException,
	/* ExecuteCommand */
	S_AccessDeniedException, S_ClientException, S_ClusterNotFoundException,
	S_InvalidParameterException, S_ServerException, S_TargetNotConnectedException,
	/* GetTaskProtection */
	S_AccessDeniedException, S_ClientException, S_ClusterNotFoundException,
	S_InvalidParameterException, S_ResourceNotFoundException, S_ServerException,
	S_UnsupportedFeatureException,
	/* ListAccountSettings */
	S_AccessDeniedException, S_ClientException, S_InvalidParameterException, S_ServerException,
	/* ListAttributes */
	S_AccessDeniedException, S_ClientException, S_ClusterNotFoundException,
	S_InvalidParameterException, S_ServerException,
	/* ListClusters */
	S_AccessDeniedException, S_ClientException, S_InvalidParameterException, S_ServerException,
	/* ListContainerInstances */
	S_AccessDeniedException, S_ClientException, S_ClusterNotFoundException,
	S_InvalidParameterException, S_ServerException,
	/* ListDaemonDeployments */
	S_AccessDeniedException, S_ClientException, S_ClusterNotFoundException,
	S_InvalidParameterException, S_ServerException, S_UnsupportedFeatureException,
	/* ListDaemonTaskDefinitions */
	S_AccessDeniedException, S_ClientException, S_InvalidParameterException, S_ServerException,
	/* ListDaemons */
	S_AccessDeniedException, S_ClientException, S_ClusterNotFoundException,
	S_InvalidParameterException, S_ServerException, S_UnsupportedFeatureException,
	/* ListGatewayClusterAssociations */
	S_AccessDeniedException, S_ClientException, S_InvalidParameterException, S_ServerException,
	S_UnsupportedFeatureException,
	/* ListGatewayRoutes */
	S_AccessDeniedException, S_ClientException, S_GatewayNotFoundException,
	S_InvalidParameterException, S_ServerException, S_UnsupportedFeatureException,
	/* ListGateways */
	S_AccessDeniedException, S_ClientException, S_InvalidParameterException, S_ServerException,
	S_UnsupportedFeatureException,
	/* ListServiceDeployments */
	S_AccessDeniedException, S_ClientException, S_ClusterNotFoundException,
	S_InvalidParameterException, S_ServerException, S_ServiceNotFoundException,
	S_UnsupportedFeatureException,
	/* ListServices */
	S_AccessDeniedException, S_ClientException, S_ClusterNotFoundException,
	S_InvalidParameterException, S_ServerException,
	/* ListServicesByNamespace */
	S_AccessDeniedException, S_ClientException, S_InvalidParameterException,
	S_NamespaceNotFoundException, S_ServerException,
	/* ListTagsForResource */
	S_AccessDeniedException, S_ClientException, S_ClusterNotFoundException,
	S_InvalidParameterException, S_ServerException,
	/* ListTaskDefinitionFamilies */
	S_AccessDeniedException, S_ClientException, S_InvalidParameterException, S_ServerException,
	/* ListTaskDefinitions */
	S_AccessDeniedException, S_ClientException, S_InvalidParameterException, S_ServerException,
	/* ListTasks */
	S_AccessDeniedException, S_ClientException, S_ClusterNotFoundException,
	S_InvalidParameterException, S_ServerException, S_ServiceNotFoundException,
	/* PutAccountSetting */
	S_AccessDeniedException, S_ClientException, S_InvalidParameterException, S_ServerException,
	/* PutAccountSettingDefault */
	S_AccessDeniedException, S_ClientException, S_InvalidParameterException, S_ServerException,
	/* PutAttributes */
	S_AccessDeniedException, S_AttributeLimitExceededException, S_ClientException,
	S_ClusterNotFoundException, S_InvalidParameterException, S_ServerException,
	S_TargetNotFoundException,
	/* PutClusterCapacityProviders */
	S_AccessDeniedException, S_ClientException, S_ClusterNotFoundException,
	S_InvalidParameterException, S_ResourceInUseException, S_ServerException,
	S_UpdateInProgressException,
	/* RegisterContainerInstance */
	S_AccessDeniedException, S_ClientException, S_ClusterNotFoundException,
	S_InvalidParameterException, S_ServerException,
	/* RegisterDaemonTaskDefinition */
	S_AccessDeniedException, S_ClientException, S_InvalidParameterException,
	S_LimitExceededException, S_ServerException,
	/* RegisterTaskDefinition */
	S_AccessDeniedException, S_ClientException, S_InvalidParameterException,
	S_LimitExceededException, S_ServerException,
	/* RunTask */
	S_AccessDeniedException, S_BlockedException, S_ClientException, S_ClusterNotFoundException,
	S_ConflictException, S_InvalidParameterException,
	S_PlatformTaskDefinitionIncompatibilityException, S_PlatformUnknownException,
	S_ServerException, S_UnsupportedFeatureException,
	/* StartTask */
	S_AccessDeniedException, S_ClientException, S_ClusterNotFoundException,
	S_InvalidParameterException, S_NamespaceNotFoundException, S_ServerException,
	S_UnsupportedFeatureException,
	/* StopServiceDeployment */
	S_AccessDeniedException, S_ClientException, S_ConflictException,
	S_InvalidParameterException, S_ServerException, S_ServiceDeploymentNotFoundException,
	S_UnsupportedFeatureException,
	/* StopTask */
	S_AccessDeniedException, S_ClientException, S_ClusterNotFoundException,
	S_InvalidParameterException, S_ServerException,
	/* SubmitAttachmentStateChanges */
	S_AccessDeniedException, S_ClientException, S_ClusterNotFoundException,
	S_InvalidParameterException, S_ServerException,
	/* SubmitContainerStateChange */
	S_AccessDeniedException, S_ClientException, S_ClusterNotFoundException,
	S_InvalidParameterException, S_ServerException,
	/* SubmitTaskStateChange */
	S_AccessDeniedException, S_ClientException, S_ClusterNotFoundException,
	S_InvalidParameterException, S_ServerException,
	/* TagResource */
	S_AccessDeniedException, S_ClientException, S_ClusterNotFoundException,
	S_InvalidParameterException, S_LimitExceededException, S_ResourceNotFoundException,
	S_ServerException,
	/* UntagResource */
	S_AccessDeniedException, S_ClientException, S_ClusterNotFoundException,
	S_InvalidParameterException, S_ResourceNotFoundException, S_ServerException,
	/* UpdateCapacityProvider */
	S_AccessDeniedException, S_ClientException, S_ClusterNotFoundException,
	S_InvalidParameterException, S_ServerException, S_UnsupportedFeatureException,
	/* UpdateCluster */
	S_AccessDeniedException, S_ClientException, S_ClusterNotFoundException,
	S_InvalidParameterException, S_NamespaceNotFoundException, S_ServerException,
	/* UpdateClusterSettings */
	S_AccessDeniedException, S_ClientException, S_ClusterNotFoundException,
	S_InvalidParameterException, S_ServerException, S_UpdateInProgressException,
	/* UpdateContainerAgent */
	S_AccessDeniedException, S_ClientException, S_ClusterNotFoundException,
	S_InvalidParameterException, S_MissingVersionException, S_NoUpdateAvailableException,
	S_ServerException, S_UpdateInProgressException,
	/* UpdateContainerInstancesState */
	S_AccessDeniedException, S_ClientException, S_ClusterNotFoundException,
	S_InvalidParameterException, S_ServerException,
	/* UpdateDaemon */
	S_AccessDeniedException, S_ClientException, S_ClusterNotFoundException,
	S_DaemonNotActiveException, S_DaemonNotFoundException, S_InvalidParameterException,
	S_PlatformUnknownException, S_ServerException, S_UnsupportedFeatureException,
	/* UpdateExpressGatewayService */
	S_AccessDeniedException, S_ClientException, S_ClusterNotFoundException,
	S_InvalidParameterException, S_ServerException, S_ServiceNotActiveException,
	S_ServiceNotFoundException, S_UnsupportedFeatureException,
	/* UpdateGateway */
	S_AccessDeniedException, S_ClientException, S_GatewayNotFoundException,
	S_InvalidParameterException, S_ServerException, S_UnsupportedFeatureException,
	/* UpdateService */
	S_AccessDeniedException, S_ClientException, S_ClusterNotFoundException,
	S_InvalidParameterException, S_NamespaceNotFoundException,
	S_PlatformTaskDefinitionIncompatibilityException, S_PlatformUnknownException,
	S_ServerException, S_ServiceNotActiveException, S_ServiceNotFoundException,
	S_UnsupportedFeatureException,
	/* UpdateServicePrimaryTaskSet */
	S_AccessDeniedException, S_ClientException, S_ClusterNotFoundException,
	S_InvalidParameterException, S_ServerException, S_ServiceNotActiveException,
	S_ServiceNotFoundException, S_TaskSetNotFoundException, S_UnsupportedFeatureException,
	/* UpdateTaskProtection */
	S_AccessDeniedException, S_ClientException, S_ClusterNotFoundException,
	S_InvalidParameterException, S_ResourceNotFoundException, S_ServerException,
	S_UnsupportedFeatureException,
	/* UpdateTaskSet */
	S_AccessDeniedException, S_ClientException, S_ClusterNotFoundException,
	S_InvalidParameterException, S_LimitExceededException, S_ServerException,
	S_ServiceNotActiveException, S_ServiceNotFoundException, S_TaskSetNotFoundException,
	S_UnsupportedFeatureException,
};

static const struct shape_operation operations[] = {
	OPERATION(AssociateGatewayWithCluster, AssociateGatewayWithClusterRequest, AssociateGatewayWithClusterResponse, InvalidParameterException),
	OPERATION(ContinueServiceDeployment, ContinueServiceDeploymentRequest, ContinueServiceDeploymentResponse, InvalidParameterException),
	OPERATION(CreateCapacityProvider, CreateCapacityProviderRequest, CreateCapacityProviderResponse, InvalidParameterException),
	OPERATION(CreateCluster, CreateClusterRequest, CreateClusterResponse, InvalidParameterException),
	OPERATION(CreateDaemon, CreateDaemonRequest, CreateDaemonResponse, InvalidParameterException),
	OPERATION(CreateExpressGatewayService, CreateExpressGatewayServiceRequest, CreateExpressGatewayServiceResponse, InvalidParameterException),
	OPERATION(CreateGateway, CreateGatewayRequest, CreateGatewayResponse, InvalidParameterException),
	OPERATION(CreateService, CreateServiceRequest, CreateServiceResponse, InvalidParameterException),
	OPERATION(CreateTaskSet, CreateTaskSetRequest, CreateTaskSetResponse, InvalidParameterException),
	OPERATION(DeleteAccountSetting, DeleteAccountSettingRequest, DeleteAccountSettingResponse, InvalidParameterException),
	OPERATION(DeleteAttributes, DeleteAttributesRequest, DeleteAttributesResponse, InvalidParameterException),
	OPERATION(DeleteCapacityProvider, DeleteCapacityProviderRequest, DeleteCapacityProviderResponse, InvalidParameterException),
	OPERATION(DeleteCluster, DeleteClusterRequest, DeleteClusterResponse, InvalidParameterException),
	OPERATION(DeleteDaemon, DeleteDaemonRequest, DeleteDaemonResponse, InvalidParameterException),
	OPERATION(DeleteDaemonTaskDefinition, DeleteDaemonTaskDefinitionRequest, DeleteDaemonTaskDefinitionResponse, InvalidParameterException),
	OPERATION(DeleteExpressGatewayService, DeleteExpressGatewayServiceRequest, DeleteExpressGatewayServiceResponse, InvalidParameterException),
	OPERATION(DeleteGateway, DeleteGatewayRequest, DeleteGatewayResponse, InvalidParameterException),
	OPERATION(DeleteService, DeleteServiceRequest, DeleteServiceResponse, InvalidParameterException),
	OPERATION(DeleteTaskDefinitions, DeleteTaskDefinitionsRequest, DeleteTaskDefinitionsResponse, InvalidParameterException),
	OPERATION(DeleteTaskSet, DeleteTaskSetRequest, DeleteTaskSetResponse, InvalidParameterException),
	OPERATION(DeregisterContainerInstance, DeregisterContainerInstanceRequest, DeregisterContainerInstanceResponse, InvalidParameterException),
	OPERATION(DeregisterTaskDefinition, DeregisterTaskDefinitionRequest, DeregisterTaskDefinitionResponse, InvalidParameterException),
	OPERATION(DescribeCapacityProviders, DescribeCapacityProvidersRequest, DescribeCapacityProvidersResponse, InvalidParameterException),
	OPERATION(DescribeClusters, DescribeClustersRequest, DescribeClustersResponse, InvalidParameterException),
	OPERATION(DescribeContainerInstances, DescribeContainerInstancesRequest, DescribeContainerInstancesResponse, InvalidParameterException),
	OPERATION(DescribeDaemon, DescribeDaemonRequest, DescribeDaemonResponse, InvalidParameterException),
	OPERATION(DescribeDaemonDeployments, DescribeDaemonDeploymentsRequest, DescribeDaemonDeploymentsResponse, InvalidParameterException),
	OPERATION(DescribeDaemonRevisions, DescribeDaemonRevisionsRequest, DescribeDaemonRevisionsResponse, InvalidParameterException),
	OPERATION(DescribeDaemonTaskDefinition, DescribeDaemonTaskDefinitionRequest, DescribeDaemonTaskDefinitionResponse, InvalidParameterException),
	OPERATION(DescribeExpressGatewayService, DescribeExpressGatewayServiceRequest, DescribeExpressGatewayServiceResponse, InvalidParameterException),
	OPERATION(DescribeGateway, DescribeGatewayRequest, DescribeGatewayResponse, InvalidParameterException),
	OPERATION(DescribeGatewayResources, DescribeGatewayResourcesRequest, DescribeGatewayResourcesResponse, InvalidParameterException),
	OPERATION(DescribeGatewayRoute, DescribeGatewayRouteRequest, DescribeGatewayRouteResponse, InvalidParameterException),
	OPERATION(DescribeServiceDeployments, DescribeServiceDeploymentsRequest, DescribeServiceDeploymentsResponse, InvalidParameterException),
	OPERATION(DescribeServiceRevisions, DescribeServiceRevisionsRequest, DescribeServiceRevisionsResponse, InvalidParameterException),
	OPERATION(DescribeServices, DescribeServicesRequest, DescribeServicesResponse, InvalidParameterException),
	OPERATION(DescribeTaskDefinition, DescribeTaskDefinitionRequest, DescribeTaskDefinitionResponse, InvalidParameterException),
	OPERATION(DescribeTaskSets, DescribeTaskSetsRequest, DescribeTaskSetsResponse, InvalidParameterException),
	OPERATION(DescribeTasks, DescribeTasksRequest, DescribeTasksResponse, InvalidParameterException),
	OPERATION(DisassociateGatewayFromCluster, DisassociateGatewayFromClusterRequest, DisassociateGatewayFromClusterResponse, InvalidParameterException),
	OPERATION(DiscoverPollEndpoint, DiscoverPollEndpointRequest, DiscoverPollEndpointResponse, InvalidParameterException),
	OPERATION(ExecuteCommand, ExecuteCommandRequest, ExecuteCommandResponse, InvalidParameterException),
	OPERATION(GetTaskProtection, GetTaskProtectionRequest, GetTaskProtectionResponse, InvalidParameterException),
	OPERATION(ListAccountSettings, ListAccountSettingsRequest, ListAccountSettingsResponse, InvalidParameterException),
	OPERATION(ListAttributes, ListAttributesRequest, ListAttributesResponse, InvalidParameterException),
	OPERATION(ListClusters, ListClustersRequest, ListClustersResponse, InvalidParameterException),
	OPERATION(ListContainerInstances, ListContainerInstancesRequest, ListContainerInstancesResponse, InvalidParameterException),
	OPERATION(ListDaemonDeployments, ListDaemonDeploymentsRequest, ListDaemonDeploymentsResponse, InvalidParameterException),
	OPERATION(ListDaemonTaskDefinitions, ListDaemonTaskDefinitionsRequest, ListDaemonTaskDefinitionsResponse, InvalidParameterException),
	OPERATION(ListDaemons, ListDaemonsRequest, ListDaemonsResponse, InvalidParameterException),
	OPERATION(ListGatewayClusterAssociations, ListGatewayClusterAssociationsRequest, ListGatewayClusterAssociationsResponse, InvalidParameterException),
	OPERATION(ListGatewayRoutes, ListGatewayRoutesRequest, ListGatewayRoutesResponse, InvalidParameterException),
	OPERATION(ListGateways, ListGatewaysRequest, ListGatewaysResponse, InvalidParameterException),
	OPERATION(ListServiceDeployments, ListServiceDeploymentsRequest, ListServiceDeploymentsResponse, InvalidParameterException),
	OPERATION(ListServices, ListServicesRequest, ListServicesResponse, InvalidParameterException),
	OPERATION(ListServicesByNamespace, ListServicesByNamespaceRequest, ListServicesByNamespaceResponse, InvalidParameterException),
	OPERATION(ListTagsForResource, ListTagsForResourceRequest, ListTagsForResourceResponse, InvalidParameterException),
	OPERATION(ListTaskDefinitionFamilies, ListTaskDefinitionFamiliesRequest, ListTaskDefinitionFamiliesResponse, InvalidParameterException),
	OPERATION(ListTaskDefinitions, ListTaskDefinitionsRequest, ListTaskDefinitionsResponse, InvalidParameterException),
	OPERATION(ListTasks, ListTasksRequest, ListTasksResponse, InvalidParameterException),
	OPERATION(PutAccountSetting, PutAccountSettingRequest, PutAccountSettingResponse, InvalidParameterException),
	OPERATION(PutAccountSettingDefault, PutAccountSettingDefaultRequest, PutAccountSettingDefaultResponse, InvalidParameterException),
	OPERATION(PutAttributes, PutAttributesRequest, PutAttributesResponse, InvalidParameterException),
	OPERATION(PutClusterCapacityProviders, PutClusterCapacityProvidersRequest, PutClusterCapacityProvidersResponse, InvalidParameterException),
	OPERATION(RegisterContainerInstance, RegisterContainerInstanceRequest, RegisterContainerInstanceResponse, InvalidParameterException),
	OPERATION(RegisterDaemonTaskDefinition, RegisterDaemonTaskDefinitionRequest, RegisterDaemonTaskDefinitionResponse, ClientException),
	OPERATION(RegisterTaskDefinition, RegisterTaskDefinitionRequest, RegisterTaskDefinitionResponse, ClientException),
	OPERATION(RunTask, RunTaskRequest, RunTaskResponse, InvalidParameterException),
	OPERATION(StartTask, StartTaskRequest, StartTaskResponse, InvalidParameterException),
	OPERATION(StopServiceDeployment, StopServiceDeploymentRequest, StopServiceDeploymentResponse, InvalidParameterException),
	OPERATION(StopTask, StopTaskRequest, StopTaskResponse, InvalidParameterException),
	OPERATION(SubmitAttachmentStateChanges, SubmitAttachmentStateChangesRequest, SubmitAttachmentStateChangesResponse, InvalidParameterException),
	OPERATION(SubmitContainerStateChange, SubmitContainerStateChangeRequest, SubmitContainerStateChangeResponse, InvalidParameterException),
	OPERATION(SubmitTaskStateChange, SubmitTaskStateChangeRequest, SubmitTaskStateChangeResponse, InvalidParameterException),
	OPERATION(TagResource, TagResourceRequest, TagResourceResponse, InvalidParameterException),
	OPERATION(UntagResource, UntagResourceRequest, UntagResourceResponse, InvalidParameterException),
	OPERATION(UpdateCapacityProvider, UpdateCapacityProviderRequest, UpdateCapacityProviderResponse, InvalidParameterException),
	OPERATION(UpdateCluster, UpdateClusterRequest, UpdateClusterResponse, InvalidParameterException),
	OPERATION(UpdateClusterSettings, UpdateClusterSettingsRequest, UpdateClusterSettingsResponse, InvalidParameterException),
	OPERATION(UpdateContainerAgent, UpdateContainerAgentRequest, UpdateContainerAgentResponse, InvalidParameterException),
	OPERATION(UpdateContainerInstancesState, UpdateContainerInstancesStateRequest, UpdateContainerInstancesStateResponse, InvalidParameterException),
	OPERATION(UpdateDaemon, UpdateDaemonRequest, UpdateDaemonResponse, InvalidParameterException),
	OPERATION(UpdateExpressGatewayService, UpdateExpressGatewayServiceRequest, UpdateExpressGatewayServiceResponse, InvalidParameterException),
	OPERATION(UpdateGateway, UpdateGatewayRequest, UpdateGatewayResponse, InvalidParameterException),
	OPERATION(UpdateService, UpdateServiceRequest, UpdateServiceResponse, InvalidParameterException),
	OPERATION(UpdateServicePrimaryTaskSet, UpdateServicePrimaryTaskSetRequest, UpdateServicePrimaryTaskSetResponse, InvalidParameterException),
	OPERATION(UpdateTaskProtection, UpdateTaskProtectionRequest, UpdateTaskProtectionResponse, InvalidParameterException),
	OPERATION(UpdateTaskSet, UpdateTaskSetRequest, UpdateTaskSetResponse, InvalidParameterException),
};

const struct shape_service shape_ecs = {
	.name = "ecs",
	.signing_name = "ecs",
	.protocol = "json",
	.version = "2014-11-13",
	.target_prefix = "AmazonEC2ContainerServiceV20141113",
	SHAPE_TABLES,
};
