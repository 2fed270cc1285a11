/*
 * The shapes of slipway.
 * Written by tools/generate-shapes; change that, or tools/shapes-slipway.json, and write it
 * again.
 */
/* clang-format off */
#include "aws/shape_table.h"

/* Every text of the table once; TEXT_ is for those that are no C identifier. */
#define NAMES(WORD_, TEXT_) \
	WORD_(AUTOMATIC) WORD_(AccessDeniedException) WORD_(AddApplication) \
	WORD_(AddApplicationRequest) WORD_(AddRepository) WORD_(AddRepositoryRequest) \
	WORD_(Application) WORD_(ApplicationApproval) WORD_(ApplicationChange) \
	WORD_(ApplicationConfigState) WORD_(ApplicationDeployment) \
	WORD_(ApplicationDeploymentState) WORD_(ApplicationDifference) WORD_(ApplicationFile) \
	WORD_(ApplicationLiveService) WORD_(ApplicationLiveState) WORD_(ApplicationLiveTask) \
	WORD_(ApplicationLiveTaskSet) WORD_(ApplicationLogLine) WORD_(ApplicationRepository) \
	WORD_(ApplicationStage) WORD_(ApplicationStageState) WORD_(ApplicationSwitch) \
	WORD_(ApplicationSwitchRequest) WORD_(ApproveApplicationStage) \
	WORD_(ApproveApplicationStageRequest) WORD_(ApproveFlowNode) WORD_(ApproveFlowNodeRequest) \
	WORD_(AssignPublicIp) WORD_(Attribute) WORD_(AwsVpcConfiguration) WORD_(BLOCKED) \
	WORD_(CANCELLED) WORD_(Canary) WORD_(CanaryProgress) WORD_(CanaryStatus) \
	WORD_(CancelApplicationDeployment) WORD_(CancelApplicationDeploymentRequest) \
	WORD_(CancelFlow) WORD_(CancelFlowRequest) WORD_(Counts) WORD_(CreateEnvironment) \
	WORD_(CreateEnvironmentRequest) WORD_(CreateEnvironmentResponse) WORD_(CreateKey) \
	WORD_(CreateKeyRequest) WORD_(CreateKeyResponse) WORD_(Cron) WORD_(DISABLED) WORD_(Daemon) \
	WORD_(DeleteApplication) WORD_(DeleteApplicationRequest) WORD_(DeleteApplicationResponse) \
	WORD_(DeleteEnvironment) WORD_(DeleteEnvironmentRequest) WORD_(DeleteEnvironmentResponse) \
	WORD_(DeleteKey) WORD_(DeleteKeyRequest) WORD_(DeleteKeyResponse) WORD_(DeleteRepository) \
	WORD_(DeleteRepositoryRequest) WORD_(DeleteRepositoryResponse) WORD_(Deployment) \
	WORD_(DeploymentConfiguration) WORD_(DeploymentStatus) WORD_(DeploymentSummary) \
	WORD_(DeploymentType) WORD_(DescribeDns) WORD_(DescribeDnsRequest) \
	WORD_(DescribeDnsResponse) WORD_(DescribeTraffic) WORD_(DescribeTrafficRequest) \
	WORD_(DescribeTrafficResponse) WORD_(DiffChange) WORD_(DiffCounts) WORD_(DiffEnvironment) \
	WORD_(DiffEnvironmentRequest) WORD_(DiffEnvironmentResponse) WORD_(DiffItem) \
	WORD_(ENABLED) WORD_(EcsEventFailure) WORD_(EndCommandInput) WORD_(EndCommandInputRequest) \
	WORD_(EndCommandInputResponse) WORD_(EntityVersionTooOldException) WORD_(Environment) \
	WORD_(EnvironmentHealth) WORD_(EnvironmentStatus) WORD_(EnvironmentSummary) \
	WORD_(EnvironmentType) WORD_(EnvironmentVersion) WORD_(ExecuteCommand) \
	WORD_(ExecuteCommandRequest) WORD_(FAILURE) WORD_(FailedInstance) WORD_(Flow) \
	WORD_(FlowApplication) WORD_(FlowApproval) WORD_(FlowDescription) WORD_(FlowNode) \
	WORD_(FlowNodeState) WORD_(FlowPlan) WORD_(FlowState) WORD_(GetApplication) \
	WORD_(GetApplicationDeployment) WORD_(GetApplicationDeploymentLog) \
	WORD_(GetApplicationDeploymentLogRequest) WORD_(GetApplicationDeploymentLogResponse) \
	WORD_(GetApplicationDeploymentRequest) WORD_(GetApplicationRequest) \
	WORD_(GetApplicationState) WORD_(GetApplicationStateRequest) WORD_(GetApplicationSwitch) \
	WORD_(GetDeployment) WORD_(GetDeploymentRequest) WORD_(GetEnvironment) \
	WORD_(GetEnvironmentRequest) WORD_(GetEnvironmentVersion) \
	WORD_(GetEnvironmentVersionRequest) WORD_(GetFlow) WORD_(GetFlowRequest) \
	WORD_(GetInstance) WORD_(GetInstanceRequest) WORD_(GetTaskLogs) WORD_(GetTaskLogsRequest) \
	WORD_(INVALID_CONFIG) WORD_(Instance) WORD_(InstanceGroup) WORD_(InternalServiceException) \
	WORD_(InvalidParameterException) WORD_(Key) WORD_(LimitExceededException) \
	WORD_(ListApplicationDeployments) WORD_(ListApplicationDeploymentsRequest) \
	WORD_(ListApplicationDeploymentsResponse) WORD_(ListApplications) \
	WORD_(ListApplicationsRequest) WORD_(ListApplicationsResponse) WORD_(ListDeployments) \
	WORD_(ListDeploymentsByStatus) WORD_(ListDeploymentsByStatusRequest) \
	WORD_(ListDeploymentsByStatusResponse) WORD_(ListDeploymentsRequest) \
	WORD_(ListDeploymentsResponse) WORD_(ListEnvironmentVersions) \
	WORD_(ListEnvironmentVersionsRequest) WORD_(ListEnvironmentVersionsResponse) \
	WORD_(ListEnvironments) WORD_(ListEnvironmentsRequest) WORD_(ListEnvironmentsResponse) \
	WORD_(ListFlows) WORD_(ListFlowsRequest) WORD_(ListFlowsResponse) WORD_(ListInstances) \
	WORD_(ListInstancesRequest) WORD_(ListInstancesResponse) WORD_(ListKeys) \
	WORD_(ListKeysRequest) WORD_(ListKeysResponse) WORD_(ListRepositories) \
	WORD_(ListRepositoriesRequest) WORD_(ListRepositoriesResponse) WORD_(ListTasks) \
	WORD_(ListTasksRequest) WORD_(ListTasksResponse) WORD_(LoadBalancer) WORD_(MISSING) \
	WORD_(NOT_STARTED) WORD_(NetworkConfiguration) WORD_(OnFailure) WORD_(PENDING) \
	WORD_(PIPELINE) WORD_(PlanStrategy) WORD_(PollRepository) WORD_(PollRepositoryRequest) \
	WORD_(PostEcsEvents) WORD_(PostEcsEventsRequest) WORD_(PostEcsEventsResponse) \
	WORD_(QUEUED) WORD_(QUICK_SYNC) WORD_(ROLLING_BACK) WORD_(RUNNING) \
	WORD_(RejectApplicationStage) WORD_(RejectFlowNode) WORD_(Repository) \
	WORD_(RepositoryProblem) WORD_(RequestedStatus) WORD_(ResizeCommandTerminal) \
	WORD_(ResizeCommandTerminalRequest) WORD_(ResizeCommandTerminalResponse) \
	WORD_(ResourceExistsException) WORD_(ResourceInUseException) \
	WORD_(ResourceNotFoundException) WORD_(ResumeApplications) WORD_(RetryApplicationRollback) \
	WORD_(RetryApplicationRollbackRequest) WORD_(RetryFlow) WORD_(RetryFlowRequest) \
	WORD_(RollBackApplicationDeployment) WORD_(RollbackDeployment) \
	WORD_(RollbackDeploymentRequest) WORD_(RollbackDeploymentResponse) WORD_(Run) \
	WORD_(RunStatus) WORD_(SKIPPED) WORD_(SUCCESS) WORD_(ScheduleState) \
	WORD_(SendCommandInput) WORD_(SendCommandInputRequest) WORD_(SendCommandInputResponse) \
	WORD_(Service) WORD_(ServiceUnavailableException) WORD_(SkipApplicationStage) \
	WORD_(SkipApplicationStageRequest) WORD_(StartDeployment) WORD_(StartDeploymentRequest) \
	WORD_(StartDeploymentResponse) WORD_(StopApplications) WORD_(StopApplicationsRequest) \
	WORD_(StopDeployment) WORD_(StopDeploymentRequest) WORD_(StopDeploymentResponse) \
	WORD_(StreamDeployments) WORD_(StreamDeploymentsRequest) WORD_(StreamFlowNodes) \
	WORD_(StreamFlowNodesRequest) WORD_(StreamFlows) WORD_(StreamFlowsRequest) \
	WORD_(StreamInstances) WORD_(StreamInstancesRequest) WORD_(StreamResponse) \
	WORD_(StreamTasks) WORD_(StreamTasksRequest) WORD_(SyncApplication) \
	WORD_(SyncApplicationRequest) WORD_(SyncApplicationResponse) WORD_(Task) \
	WORD_(TaskDefinitionState) WORD_(TaskHealth) WORD_(TaskNotReachableException) \
	WORD_(ThrottlingException) WORD_(TrafficCounters) WORD_(TrafficGroup) \
	WORD_(TrafficListener) WORD_(TrafficRoute) WORD_(TrafficTarget) WORD_(UNDEPLOYABLE) \
	WORD_(UNKNOWN) WORD_(UnsupportedFeatureException) WORD_(UpdateEnvironment) \
	WORD_(UpdateEnvironmentRequest) WORD_(UpdateEnvironmentResponse) WORD_(VALID) \
	WORD_(VersionConflictException) WORD_(WAITING_APPROVAL) WORD_(accepted) WORD_(accessKeyId) \
	WORD_(account) WORD_(active) WORD_(activeCount) WORD_(activeDeployment) \
	WORD_(activeVersion) WORD_(address) WORD_(after) WORD_(agentConnected) WORD_(all) \
	WORD_(application) WORD_(applicationFile) WORD_(applications) WORD_(approval) \
	WORD_(approvedBy) WORD_(approvers) WORD_(approves) WORD_(assignPublicIp) WORD_(at) \
	WORD_(attempts) WORD_(attribute) WORD_(attributes) WORD_(autoscaling) \
	WORD_(awsvpcConfiguration) WORD_(bakeSeconds) WORD_(bakesUntil) WORD_(baking) \
	WORD_(baseVersion) WORD_(before) WORD_(blocked) WORD_(body) WORD_(branch) WORD_(bytesIn) \
	WORD_(bytesOut) WORD_(canary) WORD_(cancelRequested) WORD_(canceled) WORD_(cause) \
	WORD_(changes) WORD_(clientToken) WORD_(cluster) WORD_(code) WORD_(columns) WORD_(command) \
	WORD_(comment) WORD_(commit) WORD_(commitSource) WORD_(completed) WORD_(connectFailures) \
	WORD_(connections) WORD_(container) WORD_(containerName) WORD_(containerPort) \
	WORD_(content) WORD_(count) WORD_(counters) WORD_(counts) WORD_(createdAt) \
	WORD_(createdBy) WORD_(current) WORD_(currentState) WORD_(cut) WORD_(datagramsIn) \
	WORD_(datagramsOut) WORD_(deadline) WORD_(deadlineAt) WORD_(deleting) WORD_(depends) \
	WORD_(deployment) WORD_(deploymentConfiguration) WORD_(deploymentId) WORD_(deploymentType) \
	WORD_(deployments) WORD_(description) WORD_(desired) WORD_(desiredCount) \
	WORD_(desiredStatus) WORD_(detail) WORD_(details) WORD_(differences) WORD_(digest) \
	WORD_(domain) WORD_(drainTimeoutSeconds) WORD_(dueAt) WORD_(endedAt) WORD_(entityVersion) \
	WORD_(environment) WORD_(environmentName) WORD_(environmentType) WORD_(environmentVersion) \
	WORD_(environments) WORD_(error) WORD_(events) WORD_(evictions) WORD_(exitCode) \
	WORD_(expected) WORD_(failed) WORD_(failedCount) WORD_(failedInstances) WORD_(failures) \
	WORD_(file) WORD_(files) WORD_(flow) WORD_(flowApplications) WORD_(flows) WORD_(follow) \
	WORD_(found) WORD_(group) WORD_(groups) WORD_(head) WORD_(health) \
	TEXT_(health_repair, "health-repair") WORD_(healthy) WORD_(hidden) WORD_(id) \
	WORD_(idleEnds) WORD_(ignored) TEXT_(in_progress, "in-progress") \
	WORD_(inProgressDeployment) WORD_(inactive) WORD_(index) WORD_(input) WORD_(instance) \
	WORD_(instanceArn) WORD_(instanceGroup) WORD_(instances) WORD_(intended) WORD_(keep) \
	WORD_(keys) WORD_(kind) WORD_(labels) WORD_(lastCompletedVersion) WORD_(lastDueAt) \
	WORD_(lastMissedAt) WORD_(lastMissedReason) WORD_(lastRunAt) WORD_(lastStatus) \
	WORD_(lastTask) WORD_(latest) WORD_(latestVersion) WORD_(launching) WORD_(lines) \
	WORD_(listeners) WORD_(loadBalancer) WORD_(maxActivePercent) WORD_(maxDown) \
	WORD_(maxOverPercent) WORD_(maxResults) WORD_(member) WORD_(message) \
	WORD_(minHealthyPercent) WORD_(minimum) WORD_(missed) WORD_(missedRuns) WORD_(missing) \
	WORD_(name) WORD_(namePrefix) WORD_(networkConfiguration) WORD_(nextAttemptAt) \
	WORD_(nextRunAt) WORD_(nextToken) WORD_(node) WORD_(nodeCount) WORD_(nodes) WORD_(note) \
	WORD_(number) WORD_(observedAt) WORD_(oldTasksKeptUntil) WORD_(onFailure) WORD_(outdated) \
	WORD_(path) WORD_(pending) WORD_(pendingDeployment) WORD_(pendingTasks) WORD_(phase) \
	WORD_(plan) WORD_(planOnly) WORD_(planned) WORD_(policy) WORD_(polledAt) \
	WORD_(previousVersion) WORD_(priority) WORD_(problem) WORD_(problems) WORD_(processes) \
	WORD_(protocol) WORD_(proved) WORD_(reason) WORD_(refused) WORD_(refusesRequester) \
	WORD_(region) WORD_(registered) WORD_(replace) WORD_(replaceThenTerminate) \
	WORD_(repositories) WORD_(repository) WORD_(requestId) WORD_(requester) \
	WORD_(requiresApproval) WORD_(resets) WORD_(resourceId) WORD_(resourceType) \
	WORD_(responseMilliseconds) WORD_(responses1xx) WORD_(responses2xx) WORD_(responses3xx) \
	WORD_(responses4xx) WORD_(responses5xx) WORD_(retries) WORD_(role) WORD_(rollback) \
	WORD_(routes) WORD_(rows) WORD_(run) WORD_(running) WORD_(runningTasks) WORD_(runs) \
	WORD_(scale) WORD_(schedule) WORD_(scheduleState) WORD_(secretAccessKey) \
	WORD_(securityGroups) WORD_(service) WORD_(serviceArn) WORD_(session) WORD_(settled) \
	WORD_(since) WORD_(sinceSeconds) WORD_(sinceTime) WORD_(skipped) WORD_(soakSeconds) \
	WORD_(stage) WORD_(stages) WORD_(stale) WORD_(start) WORD_(started) WORD_(startedAt) \
	WORD_(startedBy) WORD_(startsFlow) WORD_(state) WORD_(status) WORD_(statusReason) \
	WORD_(stop) WORD_(stopped) WORD_(stoppedAt) WORD_(stoppedBy) WORD_(stoppedReason) \
	WORD_(strategy) WORD_(subject) WORD_(subnets) WORD_(succeeded) WORD_(summary) WORD_(sync) \
	WORD_(tail) WORD_(target) WORD_(targetGroupArn) WORD_(targets) WORD_(task) WORD_(taskArn) \
	WORD_(taskCount) WORD_(taskDefinition) WORD_(taskId) WORD_(taskSets) WORD_(tasks) \
	WORD_(terminal) WORD_(terminateTasks) WORD_(text) WORD_(time) \
	TEXT_(timed_out, "timed-out") WORD_(timeoutSeconds) WORD_(timestamps) \
	TEXT_(to_be_stopped, "to-be-stopped") WORD_(total) WORD_(traffic) WORD_(trigger) \
	WORD_(truncated) WORD_(type) WORD_(unhealthy) WORD_(unreachable) \
	WORD_(unreachableTimeoutSeconds) WORD_(updatedAt) WORD_(url) WORD_(user) WORD_(value) \
	WORD_(version) WORD_(versions) WORD_(votes) WORD_(warmUpSeconds) WORD_(warnings) \
	WORD_(weight) WORD_(zones)

SHAPE_NAMES(NAMES);

enum {
	S_AccessDeniedException, S_AddApplicationRequest, S_AddRepositoryRequest, S_Application,
	S_ApplicationApproval, S_ApplicationChange, S_ApplicationConfigState,
	S_ApplicationDeployment, S_ApplicationDeploymentState, S_ApplicationDifference,
	S_ApplicationFile, S_ApplicationLiveService, S_ApplicationLiveState, S_ApplicationLiveTask,
	S_ApplicationLiveTaskSet, S_ApplicationLogLine, S_ApplicationRepository, S_ApplicationStage,
	S_ApplicationStageState, S_ApplicationSwitch, S_ApplicationSwitchRequest,
	S_ApproveApplicationStageRequest, S_ApproveFlowNodeRequest, S_AssignPublicIp, S_Attribute,
	S_AwsVpcConfiguration, S_Canary, S_CanaryProgress, S_CanaryStatus,
	S_CancelApplicationDeploymentRequest, S_CancelFlowRequest, S_Counts,
	S_CreateEnvironmentRequest, S_CreateEnvironmentResponse, S_CreateKeyRequest,
	S_CreateKeyResponse, S_DeleteApplicationRequest, S_DeleteApplicationResponse,
	S_DeleteEnvironmentRequest, S_DeleteEnvironmentResponse, S_DeleteKeyRequest,
	S_DeleteKeyResponse, S_DeleteRepositoryRequest, S_DeleteRepositoryResponse, S_Deployment,
	S_DeploymentConfiguration, S_DeploymentStatus, S_DeploymentSummary, S_DeploymentType,
	S_DescribeDnsRequest, S_DescribeDnsResponse, S_DescribeTrafficRequest,
	S_DescribeTrafficResponse, S_DiffChange, S_DiffCounts, S_DiffEnvironmentRequest,
	S_DiffEnvironmentResponse, S_DiffItem, S_EcsEventFailure, S_EndCommandInputRequest,
	S_EndCommandInputResponse, S_EntityVersionTooOldException, S_Environment,
	S_EnvironmentHealth, S_EnvironmentStatus, S_EnvironmentSummary, S_EnvironmentType,
	S_EnvironmentVersion, S_ExecuteCommandRequest, S_FailedInstance, S_Flow, S_FlowApplication,
	S_FlowApproval, S_FlowDescription, S_FlowNode, S_FlowNodeState, S_FlowPlan, S_FlowState,
	S_GetApplicationDeploymentLogRequest, S_GetApplicationDeploymentLogResponse,
	S_GetApplicationDeploymentRequest, S_GetApplicationRequest, S_GetApplicationStateRequest,
	S_GetDeploymentRequest, S_GetEnvironmentRequest, S_GetEnvironmentVersionRequest,
	S_GetFlowRequest, S_GetInstanceRequest, S_GetTaskLogsRequest, S_Instance, S_InstanceGroup,
	S_InternalServiceException, S_InvalidParameterException, S_Key, S_LimitExceededException,
	S_ListApplicationDeploymentsRequest, S_ListApplicationDeploymentsResponse,
	S_ListApplicationsRequest, S_ListApplicationsResponse, S_ListDeploymentsByStatusRequest,
	S_ListDeploymentsByStatusResponse, S_ListDeploymentsRequest, S_ListDeploymentsResponse,
	S_ListEnvironmentVersionsRequest, S_ListEnvironmentVersionsResponse,
	S_ListEnvironmentsRequest, S_ListEnvironmentsResponse, S_ListFlowsRequest,
	S_ListFlowsResponse, S_ListInstancesRequest, S_ListInstancesResponse, S_ListKeysRequest,
	S_ListKeysResponse, S_ListRepositoriesRequest, S_ListRepositoriesResponse,
	S_ListTasksRequest, S_ListTasksResponse, S_LoadBalancer, S_NetworkConfiguration,
	S_OnFailure, S_PlanStrategy, S_PollRepositoryRequest, S_PostEcsEventsRequest,
	S_PostEcsEventsResponse, S_Repository, S_RepositoryProblem, S_RequestedStatus,
	S_ResizeCommandTerminalRequest, S_ResizeCommandTerminalResponse, S_ResourceExistsException,
	S_ResourceInUseException, S_ResourceNotFoundException, S_RetryApplicationRollbackRequest,
	S_RetryFlowRequest, S_RollbackDeploymentRequest, S_RollbackDeploymentResponse, S_Run,
	S_RunStatus, S_ScheduleState, S_SendCommandInputRequest, S_SendCommandInputResponse,
	S_ServiceUnavailableException, S_SkipApplicationStageRequest, S_StartDeploymentRequest,
	S_StartDeploymentResponse, S_StopApplicationsRequest, S_StopDeploymentRequest,
	S_StopDeploymentResponse, S_StreamDeploymentsRequest, S_StreamFlowNodesRequest,
	S_StreamFlowsRequest, S_StreamInstancesRequest, S_StreamResponse, S_StreamTasksRequest,
	S_SyncApplicationRequest, S_SyncApplicationResponse, S_Task, S_TaskDefinitionState,
	S_TaskHealth, S_TaskNotReachableException, S_ThrottlingException, S_TrafficCounters,
	S_TrafficGroup, S_TrafficListener, S_TrafficRoute, S_TrafficTarget,
	S_UnsupportedFeatureException, S_UpdateEnvironmentRequest, S_UpdateEnvironmentResponse,
	S_VersionConflictException, S_boolean, S_document, S_double, S_integer,
	S_integer_from_0_to_100, S_integer_from_0_to_1000, S_integer_from_0_to_100000,
	S_integer_from_0_to_1000000, S_integer_from_0_to_2592000, S_integer_from_0_to_65535,
	S_integer_from_100_to_1000, S_integer_from_1_to_1000, S_integer_from_1_to_1000000,
	S_integer_from_1_to_2592000, S_integer_from_1_to_315360000, S_list_of_Application,
	S_list_of_ApplicationApproval, S_list_of_ApplicationChange, S_list_of_ApplicationDeployment,
	S_list_of_ApplicationDifference, S_list_of_ApplicationFile_to_64,
	S_list_of_ApplicationLiveTask, S_list_of_ApplicationLiveTaskSet,
	S_list_of_ApplicationLogLine, S_list_of_ApplicationStage, S_list_of_Attribute,
	S_list_of_DeploymentSummary, S_list_of_DiffChange, S_list_of_DiffItem,
	S_list_of_EcsEventFailure, S_list_of_EnvironmentSummary, S_list_of_EnvironmentVersion,
	S_list_of_FailedInstance, S_list_of_Flow, S_list_of_FlowApplication_to_10000,
	S_list_of_FlowNode, S_list_of_Instance, S_list_of_Key, S_list_of_Repository,
	S_list_of_RepositoryProblem, S_list_of_Run, S_list_of_Task, S_list_of_TaskDefinitionState,
	S_list_of_TrafficGroup, S_list_of_TrafficListener, S_list_of_TrafficRoute,
	S_list_of_TrafficTarget, S_list_of_document_from_1_to_1000, S_list_of_document_to_32,
	S_list_of_string, S_list_of_string_from_1_to_1000, S_list_of_string_from_1_to_1024_to_32,
	S_list_of_string_from_1_to_128_to_16, S_list_of_string_from_1_to_64_to_16, S_long,
	S_long_from_0, S_map_of_string, S_string, S_string_from_1_to_100, S_string_from_1_to_1024,
	S_string_from_1_to_128, S_string_from_1_to_2048, S_string_from_1_to_255,
	S_string_from_1_to_30, S_string_from_1_to_4096, S_string_from_1_to_512,
	S_string_from_1_to_64, S_string_from_6_to_256, S_string_to_1000, S_string_to_10000,
	S_string_to_255, S_string_to_4096, S_string_to_943718, S_timestamp,
};

/* Where the members of a structure begin and end. */
enum {
	RANGE(M_AccessDeniedException, 3),
	RANGE(M_AddApplicationRequest, 8),
	RANGE(M_AddRepositoryRequest, 6),
	RANGE(M_Application, 16),
	RANGE(M_ApplicationApproval, 4),
	RANGE(M_ApplicationChange, 3),
	RANGE(M_ApplicationDeployment, 25),
	RANGE(M_ApplicationDifference, 3),
	RANGE(M_ApplicationFile, 2),
	RANGE(M_ApplicationLiveService, 6),
	RANGE(M_ApplicationLiveState, 8),
	RANGE(M_ApplicationLiveTask, 7),
	RANGE(M_ApplicationLiveTaskSet, 12),
	RANGE(M_ApplicationLogLine, 3),
	RANGE(M_ApplicationRepository, 6),
	RANGE(M_ApplicationStage, 11),
	RANGE(M_ApplicationSwitch, 4),
	RANGE(M_ApplicationSwitchRequest, 0),
	RANGE(M_ApproveApplicationStageRequest, 4),
	RANGE(M_ApproveFlowNodeRequest, 4),
	RANGE(M_Attribute, 2),
	RANGE(M_AwsVpcConfiguration, 3),
	RANGE(M_Canary, 2),
	RANGE(M_CanaryProgress, 3),
	RANGE(M_CancelApplicationDeploymentRequest, 3),
	RANGE(M_CancelFlowRequest, 2),
	RANGE(M_Counts, 8),
	RANGE(M_CreateEnvironmentRequest, 10),
	RANGE(M_CreateEnvironmentResponse, 2),
	RANGE(M_CreateKeyRequest, 3),
	RANGE(M_CreateKeyResponse, 4),
	RANGE(M_DeleteApplicationRequest, 1),
	RANGE(M_DeleteApplicationResponse, 1),
	RANGE(M_DeleteEnvironmentRequest, 2),
	RANGE(M_DeleteEnvironmentResponse, 2),
	RANGE(M_DeleteKeyRequest, 1),
	RANGE(M_DeleteKeyResponse, 0),
	RANGE(M_DeleteRepositoryRequest, 1),
	RANGE(M_DeleteRepositoryResponse, 1),
	RANGE(M_Deployment, 19),
	RANGE(M_DeploymentConfiguration, 13),
	RANGE(M_DeploymentSummary, 19),
	RANGE(M_DescribeDnsRequest, 0),
	RANGE(M_DescribeDnsResponse, 3),
	RANGE(M_DescribeTrafficRequest, 0),
	RANGE(M_DescribeTrafficResponse, 4),
	RANGE(M_DiffChange, 3),
	RANGE(M_DiffCounts, 5),
	RANGE(M_DiffEnvironmentRequest, 3),
	RANGE(M_DiffEnvironmentResponse, 12),
	RANGE(M_DiffItem, 6),
	RANGE(M_EcsEventFailure, 2),
	RANGE(M_EndCommandInputRequest, 1),
	RANGE(M_EndCommandInputResponse, 0),
	RANGE(M_EntityVersionTooOldException, 3),
	RANGE(M_Environment, 28),
	RANGE(M_EnvironmentSummary, 15),
	RANGE(M_EnvironmentVersion, 12),
	RANGE(M_ExecuteCommandRequest, 6),
	RANGE(M_FailedInstance, 6),
	RANGE(M_Flow, 12),
	RANGE(M_FlowApplication, 3),
	RANGE(M_FlowApproval, 8),
	RANGE(M_FlowDescription, 15),
	RANGE(M_FlowNode, 23),
	RANGE(M_FlowPlan, 5),
	RANGE(M_GetApplicationDeploymentLogRequest, 3),
	RANGE(M_GetApplicationDeploymentLogResponse, 2),
	RANGE(M_GetApplicationDeploymentRequest, 2),
	RANGE(M_GetApplicationRequest, 1),
	RANGE(M_GetApplicationStateRequest, 1),
	RANGE(M_GetDeploymentRequest, 2),
	RANGE(M_GetEnvironmentRequest, 3),
	RANGE(M_GetEnvironmentVersionRequest, 2),
	RANGE(M_GetFlowRequest, 2),
	RANGE(M_GetInstanceRequest, 3),
	RANGE(M_GetTaskLogsRequest, 7),
	RANGE(M_Instance, 13),
	RANGE(M_InstanceGroup, 2),
	RANGE(M_InternalServiceException, 3),
	RANGE(M_InvalidParameterException, 3),
	RANGE(M_Key, 5),
	RANGE(M_LimitExceededException, 5),
	RANGE(M_ListApplicationDeploymentsRequest, 3),
	RANGE(M_ListApplicationDeploymentsResponse, 2),
	RANGE(M_ListApplicationsRequest, 2),
	RANGE(M_ListApplicationsResponse, 2),
	RANGE(M_ListDeploymentsByStatusRequest, 3),
	RANGE(M_ListDeploymentsByStatusResponse, 2),
	RANGE(M_ListDeploymentsRequest, 4),
	RANGE(M_ListDeploymentsResponse, 2),
	RANGE(M_ListEnvironmentVersionsRequest, 3),
	RANGE(M_ListEnvironmentVersionsResponse, 2),
	RANGE(M_ListEnvironmentsRequest, 9),
	RANGE(M_ListEnvironmentsResponse, 2),
	RANGE(M_ListFlowsRequest, 3),
	RANGE(M_ListFlowsResponse, 2),
	RANGE(M_ListInstancesRequest, 6),
	RANGE(M_ListInstancesResponse, 2),
	RANGE(M_ListKeysRequest, 0),
	RANGE(M_ListKeysResponse, 1),
	RANGE(M_ListRepositoriesRequest, 2),
	RANGE(M_ListRepositoriesResponse, 2),
	RANGE(M_ListTasksRequest, 7),
	RANGE(M_ListTasksResponse, 2),
	RANGE(M_LoadBalancer, 3),
	RANGE(M_NetworkConfiguration, 1),
	RANGE(M_PollRepositoryRequest, 1),
	RANGE(M_PostEcsEventsRequest, 2),
	RANGE(M_PostEcsEventsResponse, 3),
	RANGE(M_Repository, 13),
	RANGE(M_RepositoryProblem, 2),
	RANGE(M_ResizeCommandTerminalRequest, 3),
	RANGE(M_ResizeCommandTerminalResponse, 0),
	RANGE(M_ResourceExistsException, 5),
	RANGE(M_ResourceInUseException, 5),
	RANGE(M_ResourceNotFoundException, 5),
	RANGE(M_RetryApplicationRollbackRequest, 2),
	RANGE(M_RetryFlowRequest, 1),
	RANGE(M_RollbackDeploymentRequest, 3),
	RANGE(M_RollbackDeploymentResponse, 3),
	RANGE(M_Run, 10),
	RANGE(M_ScheduleState, 7),
	RANGE(M_SendCommandInputRequest, 2),
	RANGE(M_SendCommandInputResponse, 0),
	RANGE(M_ServiceUnavailableException, 3),
	RANGE(M_SkipApplicationStageRequest, 2),
	RANGE(M_StartDeploymentRequest, 3),
	RANGE(M_StartDeploymentResponse, 3),
	RANGE(M_StopApplicationsRequest, 1),
	RANGE(M_StopDeploymentRequest, 2),
	RANGE(M_StopDeploymentResponse, 2),
	RANGE(M_StreamDeploymentsRequest, 2),
	RANGE(M_StreamFlowNodesRequest, 2),
	RANGE(M_StreamFlowsRequest, 1),
	RANGE(M_StreamInstancesRequest, 3),
	RANGE(M_StreamResponse, 1),
	RANGE(M_StreamTasksRequest, 4),
	RANGE(M_SyncApplicationRequest, 13),
	RANGE(M_SyncApplicationResponse, 4),
	RANGE(M_Task, 21),
	RANGE(M_TaskDefinitionState, 5),
	RANGE(M_TaskNotReachableException, 3),
	RANGE(M_ThrottlingException, 3),
	RANGE(M_TrafficCounters, 20),
	RANGE(M_TrafficGroup, 3),
	RANGE(M_TrafficListener, 5),
	RANGE(M_TrafficRoute, 3),
	RANGE(M_TrafficTarget, 3),
	RANGE(M_UnsupportedFeatureException, 3),
	RANGE(M_UpdateEnvironmentRequest, 11),
	RANGE(M_UpdateEnvironmentResponse, 2),
	RANGE(M_VersionConflictException, 5),
};

static const struct shape_member members[] = {
	/* AccessDeniedException */
	MEMBER(code, string, 0),
	MEMBER(message, string, 0),
	MEMBER(requestId, string, 0),
	/* AddApplicationRequest */
	MEMBER(url, string_from_1_to_2048, REQUIRED),
	MEMBER(file, string_to_4096, 0),
	MEMBER(name, string_from_1_to_100, REQUIRED),
	MEMBER(path, string_to_4096, 0),
	MEMBER(role, string_from_1_to_512, 0),
	MEMBER(branch, string_from_1_to_255, 0),
	MEMBER(region, string, 0),
	MEMBER(target, string_from_1_to_128, 0),
	/* AddRepositoryRequest */
	MEMBER(url, string_from_1_to_2048, REQUIRED),
	MEMBER(path, string_to_4096, 0),
	MEMBER(role, string_from_1_to_512, 0),
	MEMBER(branch, string_from_1_to_255, 0),
	MEMBER(region, string, 0),
	MEMBER(target, string_from_1_to_128, 0),
	/* Application */
	MEMBER(kind, string, 0),
	MEMBER(name, string_from_1_to_100, REQUIRED),
	MEMBER(sync, string, REQUIRED),
	MEMBER(state, ApplicationConfigState, 0),
	MEMBER(commit, string, 0),
	MEMBER(labels, map_of_string, 0),
	MEMBER(latest, ApplicationDeployment, 0),
	MEMBER(target, string_from_1_to_128, 0),
	MEMBER(current, string, 0),
	MEMBER(problem, string, 0),
	MEMBER(createdAt, timestamp, REQUIRED),
	MEMBER(succeeded, string, 0),
	MEMBER(updatedAt, timestamp, REQUIRED),
	MEMBER(repository, ApplicationRepository, 0),
	MEMBER(deployments, long, REQUIRED),
	MEMBER(description, string, 0),
	/* ApplicationApproval */
	MEMBER(at, long, REQUIRED),
	MEMBER(user, string, REQUIRED),
	MEMBER(comment, string, 0),
	MEMBER(approves, boolean, REQUIRED),
	/* ApplicationChange */
	MEMBER(path, string, REQUIRED),
	MEMBER(after, string, 0),
	MEMBER(before, string, 0),
	/* ApplicationDeployment */
	MEMBER(flow, string, 0),
	MEMBER(state, ApplicationDeploymentState, REQUIRED),
	MEMBER(commit, string, 0),
	MEMBER(number, long, REQUIRED),
	MEMBER(reason, string, 0),
	MEMBER(region, string, 0),
	MEMBER(stages, list_of_ApplicationStage, REQUIRED),
	MEMBER(target, string, 0),
	MEMBER(changes, list_of_ApplicationChange, 0),
	MEMBER(endedAt, timestamp, 0),
	MEMBER(message, string, 0),
	MEMBER(planned, boolean, 0),
	MEMBER(summary, string, 0),
	MEMBER(trigger, string, REQUIRED),
	MEMBER(strategy, PlanStrategy, REQUIRED),
	MEMBER(warnings, list_of_string, 0),
	MEMBER(createdAt, timestamp, REQUIRED),
	MEMBER(createdBy, string, 0),
	MEMBER(startedAt, timestamp, 0),
	MEMBER(approvedBy, string, 0),
	MEMBER(startsFlow, string, 0),
	MEMBER(application, string_from_1_to_100, REQUIRED),
	MEMBER(deploymentId, string_from_1_to_64, REQUIRED),
	MEMBER(cancelRequested, boolean, 0),
	MEMBER(oldTasksKeptUntil, timestamp, 0),
	/* ApplicationDifference */
	MEMBER(path, string, REQUIRED),
	MEMBER(found, string, 0),
	MEMBER(expected, string, 0),
	/* ApplicationFile */
	MEMBER(path, string_from_1_to_512, REQUIRED),
	MEMBER(content, string_to_943718, REQUIRED),
	/* ApplicationLiveService */
	MEMBER(name, string, REQUIRED),
	MEMBER(status, string, REQUIRED),
	MEMBER(cluster, string, 0),
	MEMBER(desired, long, REQUIRED),
	MEMBER(running, long, REQUIRED),
	MEMBER(taskSets, list_of_ApplicationLiveTaskSet, REQUIRED),
	/* ApplicationLiveState */
	MEMBER(name, string_from_1_to_100, REQUIRED),
	MEMBER(sync, string, REQUIRED),
	MEMBER(error, string, 0),
	MEMBER(commit, string, 0),
	MEMBER(health, string, 0),
	MEMBER(service, ApplicationLiveService, 0),
	MEMBER(observedAt, timestamp, 0),
	MEMBER(differences, list_of_ApplicationDifference, 0),
	/* ApplicationLiveTask */
	MEMBER(health, string, 0),
	MEMBER(status, string, REQUIRED),
	MEMBER(target, string, 0),
	MEMBER(taskId, string, REQUIRED),
	MEMBER(weight, string, 0),
	MEMBER(healthy, boolean, REQUIRED),
	MEMBER(registered, boolean, 0),
	/* ApplicationLiveTaskSet */
	MEMBER(id, string, REQUIRED),
	MEMBER(role, string, REQUIRED),
	MEMBER(scale, double, REQUIRED),
	MEMBER(tasks, list_of_ApplicationLiveTask, REQUIRED),
	MEMBER(commit, string, 0),
	MEMBER(status, string, REQUIRED),
	MEMBER(desired, long, REQUIRED),
	MEMBER(running, long, REQUIRED),
	MEMBER(traffic, double, 0),
	MEMBER(deployment, long, 0),
	MEMBER(registered, long, REQUIRED),
	MEMBER(taskDefinition, string, 0),
	/* ApplicationLogLine */
	MEMBER(text, string, REQUIRED),
	MEMBER(time, timestamp, REQUIRED),
	MEMBER(stage, string, 0),
	/* ApplicationRepository */
	MEMBER(id, string_from_1_to_64, REQUIRED),
	MEMBER(url, string_from_1_to_2048, 0),
	MEMBER(file, string_to_4096, 0),
	MEMBER(path, string_to_4096, REQUIRED),
	MEMBER(branch, string_from_1_to_255, 0),
	MEMBER(commit, string, 0),
	/* ApplicationStage */
	MEMBER(id, string, REQUIRED),
	MEMBER(kind, string, REQUIRED),
	MEMBER(note, string, 0),
	MEMBER(state, ApplicationStageState, REQUIRED),
	MEMBER(hidden, boolean, 0),
	MEMBER(reason, string, 0),
	MEMBER(details, document, 0),
	MEMBER(endedAt, timestamp, 0),
	MEMBER(startedAt, timestamp, 0),
	MEMBER(deadlineAt, timestamp, 0),
	MEMBER(description, string, 0),
	/* ApplicationSwitch */
	MEMBER(comment, string, 0),
	MEMBER(stopped, boolean, REQUIRED),
	MEMBER(stoppedAt, timestamp, 0),
	MEMBER(stoppedBy, string, 0),
	/* ApproveApplicationStageRequest */
	MEMBER(id, string_from_1_to_64, REQUIRED),
	MEMBER(name, string_from_1_to_100, REQUIRED),
	MEMBER(digest, string, 0),
	MEMBER(comment, string_to_1000, 0),
	/* ApproveFlowNodeRequest */
	MEMBER(id, string_from_1_to_100, REQUIRED),
	MEMBER(node, string_from_1_to_100, REQUIRED),
	MEMBER(digest, string, 0),
	MEMBER(comment, string_to_1000, 0),
	/* Attribute */
	MEMBER(name, string, REQUIRED),
	MEMBER(value, string, 0),
	/* AwsVpcConfiguration */
	MEMBER(subnets, list_of_string_from_1_to_128_to_16, REQUIRED),
	MEMBER(assignPublicIp, AssignPublicIp, 0),
	MEMBER(securityGroups, list_of_string_from_1_to_128_to_16, 0),
	/* Canary */
	MEMBER(instances, integer_from_1_to_1000000, REQUIRED),
	MEMBER(bakeSeconds, integer_from_0_to_2592000, 0),
	/* CanaryProgress */
	MEMBER(status, CanaryStatus, 0),
	MEMBER(instances, integer, 0),
	MEMBER(bakesUntil, timestamp, 0),
	/* CancelApplicationDeploymentRequest */
	MEMBER(id, string_from_1_to_64, REQUIRED),
	MEMBER(name, string_from_1_to_100, REQUIRED),
	MEMBER(rollback, boolean, 0),
	/* CancelFlowRequest */
	MEMBER(id, string_from_1_to_100, REQUIRED),
	MEMBER(rollback, boolean, 0),
	/* Counts */
	MEMBER(total, integer, REQUIRED),
	MEMBER(active, integer, REQUIRED),
	MEMBER(desired, integer, REQUIRED),
	MEMBER(missing, integer, REQUIRED),
	MEMBER(outdated, integer, REQUIRED),
	MEMBER(launching, integer, REQUIRED),
	MEMBER(unhealthy, integer, REQUIRED),
	MEMBER(unreachable, integer, 0),
	/* CreateEnvironmentRequest */
	MEMBER(name, string_from_1_to_30, REQUIRED),
	MEMBER(role, string_from_1_to_512, 0),
	MEMBER(target, string_from_1_to_128, 0),
	MEMBER(priority, integer_from_0_to_1000, 0),
	MEMBER(clientToken, string_from_1_to_128, TOKEN),
	MEMBER(instanceGroup, InstanceGroup, REQUIRED),
	MEMBER(taskDefinition, string_from_1_to_512, REQUIRED),
	MEMBER(environmentType, EnvironmentType, 0),
	MEMBER(networkConfiguration, NetworkConfiguration, 0),
	MEMBER(deploymentConfiguration, DeploymentConfiguration, 0),
	/* CreateEnvironmentResponse */
	MEMBER(name, string_from_1_to_30, REQUIRED),
	MEMBER(environmentVersion, string_from_1_to_64, REQUIRED),
	/* CreateKeyRequest */
	MEMBER(user, string, 0),
	MEMBER(policy, document, 0),
	MEMBER(account, string, 0),
	/* CreateKeyResponse */
	MEMBER(user, string, REQUIRED),
	MEMBER(account, string, REQUIRED),
	MEMBER(accessKeyId, string_from_1_to_128, REQUIRED),
	MEMBER(secretAccessKey, string, REQUIRED),
	/* DeleteApplicationRequest */
	MEMBER(name, string_from_1_to_100, REQUIRED),
	/* DeleteApplicationResponse */
	MEMBER(name, string_from_1_to_100, REQUIRED),
	/* DeleteEnvironmentRequest */
	MEMBER(name, string_from_1_to_30, REQUIRED),
	MEMBER(terminateTasks, boolean, 0),
	/* DeleteEnvironmentResponse */
	MEMBER(name, string_from_1_to_30, REQUIRED),
	MEMBER(status, EnvironmentStatus, REQUIRED),
	/* DeleteKeyRequest */
	MEMBER(accessKeyId, string_from_1_to_128, REQUIRED),
	/* DeleteRepositoryRequest */
	MEMBER(id, string_from_1_to_64, REQUIRED),
	/* DeleteRepositoryResponse */
	MEMBER(id, string_from_1_to_64, REQUIRED),
	/* Deployment */
	MEMBER(total, integer, 0),
	MEMBER(canary, CanaryProgress, 0),
	MEMBER(counts, Counts, 0),
	MEMBER(status, DeploymentStatus, REQUIRED),
	MEMBER(endedAt, timestamp, 0),
	MEMBER(rollback, boolean, 0),
	MEMBER(completed, integer, 0),
	MEMBER(createdAt, timestamp, REQUIRED),
	MEMBER(createdBy, string, 0),
	MEMBER(startedAt, timestamp, 0),
	MEMBER(failedCount, integer, 0),
	MEMBER(deploymentId, string_from_1_to_64, REQUIRED),
	MEMBER(statusReason, string, 0),
	MEMBER(deploymentType, DeploymentType, REQUIRED),
	MEMBER(taskDefinition, string, 0),
	MEMBER(environmentName, string_from_1_to_30, REQUIRED),
	MEMBER(failedInstances, list_of_FailedInstance, 0),
	MEMBER(previousVersion, string_from_1_to_64, 0),
	MEMBER(environmentVersion, string_from_1_to_64, REQUIRED),
	/* DeploymentConfiguration */
	MEMBER(canary, Canary, 0),
	MEMBER(schedule, string_from_6_to_256, 0),
	MEMBER(onFailure, OnFailure, 0),
	MEMBER(desiredCount, integer_from_0_to_1000000, 0),
	MEMBER(loadBalancer, LoadBalancer, 0),
	MEMBER(warmUpSeconds, integer_from_0_to_2592000, 0),
	MEMBER(maxOverPercent, integer_from_0_to_100, 0),
	MEMBER(timeoutSeconds, integer_from_1_to_2592000, 0),
	MEMBER(maxActivePercent, integer_from_100_to_1000, 0),
	MEMBER(minHealthyPercent, integer_from_0_to_100, 0),
	MEMBER(drainTimeoutSeconds, integer_from_0_to_2592000, 0),
	MEMBER(replaceThenTerminate, boolean, 0),
	MEMBER(unreachableTimeoutSeconds, integer_from_0_to_2592000, 0),
	/* DeploymentSummary */
	MEMBER(total, integer, 0),
	MEMBER(canary, CanaryProgress, 0),
	MEMBER(counts, Counts, 0),
	MEMBER(status, DeploymentStatus, REQUIRED),
	MEMBER(endedAt, timestamp, 0),
	MEMBER(rollback, boolean, 0),
	MEMBER(completed, integer, 0),
	MEMBER(createdAt, timestamp, REQUIRED),
	MEMBER(createdBy, string, 0),
	MEMBER(startedAt, timestamp, 0),
	MEMBER(failedCount, integer, 0),
	MEMBER(deploymentId, string_from_1_to_64, REQUIRED),
	MEMBER(statusReason, string, 0),
	MEMBER(deploymentType, DeploymentType, REQUIRED),
	MEMBER(taskDefinition, string, 0),
	MEMBER(environmentName, string_from_1_to_30, REQUIRED),
	MEMBER(failedInstances, list_of_FailedInstance, 0),
	MEMBER(previousVersion, string_from_1_to_64, 0),
	MEMBER(environmentVersion, string_from_1_to_64, REQUIRED),
	/* DescribeDnsResponse */
	MEMBER(zones, list_of_string, REQUIRED),
	MEMBER(domain, string, REQUIRED),
	MEMBER(address, string, 0),
	/* DescribeTrafficResponse */
	MEMBER(groups, list_of_TrafficGroup, REQUIRED),
	MEMBER(settled, boolean, REQUIRED),
	MEMBER(listeners, list_of_TrafficListener, REQUIRED),
	MEMBER(processes, long, REQUIRED),
	/* DiffChange */
	MEMBER(after, document, 0),
	MEMBER(before, document, 0),
	MEMBER(member, string, REQUIRED),
	/* DiffCounts */
	MEMBER(keep, integer, REQUIRED),
	MEMBER(stop, integer, REQUIRED),
	MEMBER(start, integer, REQUIRED),
	MEMBER(replace, integer, REQUIRED),
	MEMBER(unreachable, integer, REQUIRED),
	/* DiffEnvironmentRequest */
	MEMBER(name, string_from_1_to_30, REQUIRED),
	MEMBER(maxResults, integer_from_1_to_1000, 0),
	MEMBER_AS(environmentVersion, string_from_1_to_64, 0, version),
	/* DiffEnvironmentResponse */
	MEMBER(keep, list_of_DiffItem, REQUIRED),
	MEMBER(stop, list_of_DiffItem, REQUIRED),
	MEMBER(stale, boolean, 0),
	MEMBER(start, list_of_DiffItem, REQUIRED),
	MEMBER(counts, DiffCounts, REQUIRED),
	MEMBER(changes, list_of_DiffChange, 0),
	MEMBER(maxDown, integer, 0),
	MEMBER(replace, list_of_DiffItem, REQUIRED),
	MEMBER(truncated, boolean, 0),
	MEMBER(unreachable, list_of_DiffItem, 0),
	MEMBER(activeVersion, string_from_1_to_64, 0),
	MEMBER(environmentVersion, string_from_1_to_64, REQUIRED),
	/* DiffItem */
	MEMBER(task, string, 0),
	MEMBER(reason, string, 0),
	MEMBER(cluster, string, REQUIRED),
	MEMBER(instance, string, REQUIRED),
	MEMBER(taskDefinition, string, 0),
	MEMBER(environmentVersion, string_from_1_to_64, 0),
	/* EcsEventFailure */
	MEMBER(index, integer, REQUIRED),
	MEMBER(reason, string, REQUIRED),
	/* EndCommandInputRequest */
	MEMBER(session, string_from_1_to_64, REQUIRED),
	/* EntityVersionTooOldException */
	MEMBER(code, string, 0),
	MEMBER(message, string, 0),
	MEMBER(requestId, string, 0),
	/* Environment */
	MEMBER(name, string_from_1_to_30, REQUIRED),
	MEMBER(role, string_from_1_to_512, 0),
	MEMBER(stale, boolean, 0),
	MEMBER(counts, Counts, REQUIRED),
	MEMBER(health, EnvironmentHealth, REQUIRED),
	MEMBER(status, EnvironmentStatus, REQUIRED),
	MEMBER(target, string_from_1_to_128, 0),
	MEMBER(cluster, string, 0),
	MEMBER(priority, integer_from_0_to_1000, 0),
	MEMBER(createdAt, timestamp, REQUIRED),
	MEMBER(nextToken, string_from_1_to_4096, 0),
	MEMBER(updatedAt, timestamp, REQUIRED),
	MEMBER(serviceArn, string, 0),
	MEMBER(currentState, list_of_TaskDefinitionState, 0),
	MEMBER(statusReason, string, 0),
	MEMBER(activeVersion, string_from_1_to_64, 0),
	MEMBER(instanceGroup, InstanceGroup, 0),
	MEMBER(latestVersion, string_from_1_to_64, REQUIRED),
	MEMBER(scheduleState, ScheduleState, 0),
	MEMBER(taskDefinition, string_from_1_to_512, 0),
	MEMBER(environmentType, EnvironmentType, REQUIRED),
	MEMBER(failedInstances, list_of_FailedInstance, 0),
	MEMBER(activeDeployment, DeploymentSummary, 0),
	MEMBER(pendingDeployment, DeploymentSummary, 0),
	MEMBER(inProgressDeployment, DeploymentSummary, 0),
	MEMBER(lastCompletedVersion, string_from_1_to_64, 0),
	MEMBER(networkConfiguration, NetworkConfiguration, 0),
	MEMBER(deploymentConfiguration, DeploymentConfiguration, 0),
	/* EnvironmentSummary */
	MEMBER(name, string_from_1_to_30, REQUIRED),
	MEMBER(stale, boolean, 0),
	MEMBER(counts, Counts, REQUIRED),
	MEMBER(health, EnvironmentHealth, REQUIRED),
	MEMBER(status, EnvironmentStatus, REQUIRED),
	MEMBER(cluster, string, 0),
	MEMBER(createdAt, timestamp, REQUIRED),
	MEMBER(updatedAt, timestamp, REQUIRED),
	MEMBER(statusReason, string, 0),
	MEMBER(activeVersion, string_from_1_to_64, 0),
	MEMBER(latestVersion, string_from_1_to_64, REQUIRED),
	MEMBER(taskDefinition, string_from_1_to_512, 0),
	MEMBER(environmentType, EnvironmentType, REQUIRED),
	MEMBER(activeDeployment, DeploymentSummary, 0),
	MEMBER(lastCompletedVersion, string_from_1_to_64, 0),
	/* EnvironmentVersion */
	MEMBER(role, string_from_1_to_512, 0),
	MEMBER(number, integer, REQUIRED),
	MEMBER(target, string_from_1_to_128, 0),
	MEMBER(priority, integer_from_0_to_1000, 0),
	MEMBER(createdAt, timestamp, REQUIRED),
	MEMBER(createdBy, string, 0),
	MEMBER(instanceGroup, InstanceGroup, 0),
	MEMBER(taskDefinition, string_from_1_to_512, 0),
	MEMBER(environmentName, string_from_1_to_30, 0),
	MEMBER(environmentVersion, string_from_1_to_64, REQUIRED),
	MEMBER(networkConfiguration, NetworkConfiguration, 0),
	MEMBER(deploymentConfiguration, DeploymentConfiguration, 0),
	/* ExecuteCommandRequest */
	MEMBER(rows, integer_from_0_to_1000, 0),
	MEMBER(task, string_from_1_to_2048, REQUIRED),
	MEMBER(columns, integer_from_0_to_1000, 0),
	MEMBER(command, list_of_string_from_1_to_1000, REQUIRED),
	MEMBER(terminal, boolean, 0),
	MEMBER(container, string, 0),
	/* FailedInstance */
	MEMBER(task, string, 0),
	MEMBER(reason, string, REQUIRED),
	MEMBER(cluster, string, 0),
	MEMBER(attempts, integer, 0),
	MEMBER(instance, string, REQUIRED),
	MEMBER(nextAttemptAt, timestamp, 0),
	/* Flow */
	MEMBER(id, string_from_1_to_100, REQUIRED),
	MEMBER(head, string_from_1_to_100, REQUIRED),
	MEMBER(state, FlowState, REQUIRED),
	MEMBER(commit, string, 0),
	MEMBER(reason, string, 0),
	MEMBER(endedAt, timestamp, 0),
	MEMBER(trigger, string, REQUIRED),
	MEMBER(createdAt, timestamp, REQUIRED),
	MEMBER(createdBy, string, 0),
	MEMBER(nodeCount, long, REQUIRED),
	MEMBER(startedAt, timestamp, 0),
	MEMBER(deployment, long, REQUIRED),
	/* FlowApplication */
	MEMBER(name, string_from_1_to_100, REQUIRED),
	MEMBER(files, list_of_ApplicationFile_to_64, REQUIRED),
	MEMBER(applicationFile, string_from_1_to_512, REQUIRED),
	/* FlowApproval */
	MEMBER(votes, list_of_ApplicationApproval, 0),
	MEMBER(digest, string, 0),
	MEMBER(minimum, long, 0),
	MEMBER(subject, string, 0),
	MEMBER(deadline, long, 0),
	MEMBER(approvers, list_of_string, 0),
	MEMBER(requester, string, 0),
	MEMBER(refusesRequester, boolean, 0),
	/* FlowDescription */
	MEMBER(id, string_from_1_to_100, REQUIRED),
	MEMBER(head, string_from_1_to_100, REQUIRED),
	MEMBER(nodes, list_of_FlowNode, REQUIRED),
	MEMBER(state, FlowState, REQUIRED),
	MEMBER(commit, string, 0),
	MEMBER(reason, string, 0),
	MEMBER(endedAt, timestamp, 0),
	MEMBER(trigger, string, REQUIRED),
	MEMBER(createdAt, timestamp, REQUIRED),
	MEMBER(createdBy, string, 0),
	MEMBER(nextToken, string_from_1_to_4096, 0),
	MEMBER(nodeCount, long, REQUIRED),
	MEMBER(onFailure, string, REQUIRED),
	MEMBER(startedAt, timestamp, 0),
	MEMBER(deployment, long, REQUIRED),
	/* FlowNode */
	MEMBER(run, long, 0),
	MEMBER(node, long, REQUIRED),
	MEMBER(plan, FlowPlan, 0),
	MEMBER(cause, string, 0),
	MEMBER(phase, string, 0),
	MEMBER(since, timestamp, 0),
	MEMBER(state, FlowNodeState, REQUIRED),
	MEMBER(branch, string, 0),
	MEMBER(commit, string, 0),
	MEMBER(detail, string, 0),
	MEMBER(digest, string, 0),
	MEMBER(reason, string, 0),
	MEMBER(depends, list_of_string, REQUIRED),
	MEMBER(endedAt, timestamp, 0),
	MEMBER(approval, FlowApproval, 0),
	MEMBER(startedAt, timestamp, 0),
	MEMBER(deadlineAt, timestamp, 0),
	MEMBER(repository, string, 0),
	MEMBER(application, string_from_1_to_100, REQUIRED),
	MEMBER(soakSeconds, long, 0),
	MEMBER(commitSource, string, 0),
	MEMBER(deploymentId, string, 0),
	MEMBER(requiresApproval, boolean, 0),
	/* FlowPlan */
	MEMBER(stages, list_of_ApplicationStage, 0),
	MEMBER(changes, list_of_ApplicationChange, 0),
	MEMBER(summary, string, 0),
	MEMBER(strategy, PlanStrategy, 0),
	MEMBER(warnings, list_of_string, 0),
	/* GetApplicationDeploymentLogRequest */
	MEMBER(id, string_from_1_to_64, REQUIRED),
	MEMBER(name, string_from_1_to_100, REQUIRED),
	MEMBER(nextToken, string_from_1_to_4096, 0),
	/* GetApplicationDeploymentLogResponse */
	MEMBER(lines, list_of_ApplicationLogLine, REQUIRED),
	MEMBER(nextToken, string_from_1_to_4096, 0),
	/* GetApplicationDeploymentRequest */
	MEMBER(id, string_from_1_to_64, REQUIRED),
	MEMBER(name, string_from_1_to_100, REQUIRED),
	/* GetApplicationRequest */
	MEMBER(name, string_from_1_to_100, REQUIRED),
	/* GetApplicationStateRequest */
	MEMBER(name, string_from_1_to_100, REQUIRED),
	/* GetDeploymentRequest */
	MEMBER(name, string_from_1_to_30, REQUIRED),
	MEMBER_AS(deploymentId, string_from_1_to_64, REQUIRED, id),
	/* GetEnvironmentRequest */
	MEMBER(name, string_from_1_to_30, REQUIRED),
	MEMBER(nextToken, string_from_1_to_4096, 0),
	MEMBER(maxResults, integer_from_1_to_1000, 0),
	/* GetEnvironmentVersionRequest */
	MEMBER(name, string_from_1_to_30, REQUIRED),
	MEMBER_AS(environmentVersion, string_from_1_to_64, REQUIRED, version),
	/* GetFlowRequest */
	MEMBER(id, string_from_1_to_100, REQUIRED),
	MEMBER(nextToken, string_from_1_to_4096, 0),
	/* GetInstanceRequest */
	MEMBER(target, string_from_1_to_128, 0),
	MEMBER(cluster, string_from_1_to_512, REQUIRED),
	MEMBER_AS(instance, string_from_1_to_512, REQUIRED, id),
	/* GetTaskLogsRequest */
	MEMBER(tail, integer_from_0_to_100000, 0),
	MEMBER(task, string_from_1_to_2048, REQUIRED),
	MEMBER(follow, boolean, 0),
	MEMBER(container, string, 0),
	MEMBER(sinceTime, timestamp, 0),
	MEMBER(timestamps, boolean, 0),
	MEMBER(sinceSeconds, integer_from_1_to_315360000, 0),
	/* Instance */
	MEMBER(stale, boolean, 0),
	MEMBER(status, string, REQUIRED),
	MEMBER(target, string_from_1_to_128, 0),
	MEMBER(cluster, string, REQUIRED),
	MEMBER(version, long, 0),
	MEMBER(instance, string, REQUIRED),
	MEMBER(attributes, list_of_Attribute, 0),
	MEMBER(observedAt, timestamp, 0),
	MEMBER(instanceArn, string, 0),
	MEMBER(environments, list_of_string, 0),
	MEMBER(pendingTasks, integer, 0),
	MEMBER(runningTasks, integer, 0),
	MEMBER(agentConnected, boolean, 0),
	/* InstanceGroup */
	MEMBER(cluster, string_from_1_to_512, REQUIRED),
	MEMBER(attributes, list_of_document_to_32, 0),
	/* InternalServiceException */
	MEMBER(code, string, 0),
	MEMBER(message, string, 0),
	MEMBER(requestId, string, 0),
	/* InvalidParameterException */
	MEMBER(code, string, 0),
	MEMBER(message, string, 0),
	MEMBER(requestId, string, 0),
	/* Key */
	MEMBER(user, string, REQUIRED),
	MEMBER(policy, document, 0),
	MEMBER(account, string, REQUIRED),
	MEMBER(createdAt, string, REQUIRED),
	MEMBER(accessKeyId, string_from_1_to_128, REQUIRED),
	/* LimitExceededException */
	MEMBER(code, string, 0),
	MEMBER(message, string, 0),
	MEMBER(requestId, string, 0),
	MEMBER(resourceId, string, 0),
	MEMBER(resourceType, string, 0),
	/* ListApplicationDeploymentsRequest */
	MEMBER(name, string_from_1_to_100, REQUIRED),
	MEMBER(nextToken, string_from_1_to_4096, 0),
	MEMBER(maxResults, integer_from_1_to_1000, 0),
	/* ListApplicationDeploymentsResponse */
	MEMBER(nextToken, string_from_1_to_4096, 0),
	MEMBER(deployments, list_of_ApplicationDeployment, REQUIRED),
	/* ListApplicationsRequest */
	MEMBER(nextToken, string_from_1_to_4096, 0),
	MEMBER(maxResults, integer_from_1_to_1000, 0),
	/* ListApplicationsResponse */
	MEMBER(nextToken, string_from_1_to_4096, 0),
	MEMBER(applications, list_of_Application, REQUIRED),
	/* ListDeploymentsByStatusRequest */
	MEMBER(status, DeploymentStatus, REQUIRED),
	MEMBER(nextToken, string_from_1_to_4096, 0),
	MEMBER(maxResults, integer_from_1_to_1000, 0),
	/* ListDeploymentsByStatusResponse */
	MEMBER(nextToken, string_from_1_to_4096, 0),
	MEMBER(deployments, list_of_DeploymentSummary, REQUIRED),
	/* ListDeploymentsRequest */
	MEMBER(name, string_from_1_to_30, REQUIRED),
	MEMBER(status, DeploymentStatus, 0),
	MEMBER(nextToken, string_from_1_to_4096, 0),
	MEMBER(maxResults, integer_from_1_to_1000, 0),
	/* ListDeploymentsResponse */
	MEMBER(nextToken, string_from_1_to_4096, 0),
	MEMBER(deployments, list_of_DeploymentSummary, REQUIRED),
	/* ListEnvironmentVersionsRequest */
	MEMBER(name, string_from_1_to_30, REQUIRED),
	MEMBER(nextToken, string_from_1_to_4096, 0),
	MEMBER(maxResults, integer_from_1_to_1000, 0),
	/* ListEnvironmentVersionsResponse */
	MEMBER(versions, list_of_EnvironmentVersion, REQUIRED),
	MEMBER(nextToken, string_from_1_to_4096, 0),
	/* ListEnvironmentsRequest */
	MEMBER(type, EnvironmentType, 0),
	MEMBER(health, EnvironmentHealth, 0),
	MEMBER(status, EnvironmentStatus, 0),
	MEMBER(target, string_from_1_to_128, 0),
	MEMBER(cluster, string_from_1_to_512, 0),
	MEMBER(nextToken, string_from_1_to_4096, 0),
	MEMBER_AS(attributes, list_of_string_from_1_to_1024_to_32, 0, attribute),
	MEMBER(maxResults, integer_from_1_to_1000, 0),
	MEMBER(namePrefix, string_from_1_to_30, 0),
	/* ListEnvironmentsResponse */
	MEMBER(nextToken, string_from_1_to_4096, 0),
	MEMBER(environments, list_of_EnvironmentSummary, REQUIRED),
	/* ListFlowsRequest */
	MEMBER(head, string_from_1_to_100, 0),
	MEMBER(nextToken, string_from_1_to_4096, 0),
	MEMBER(maxResults, integer_from_1_to_1000, 0),
	/* ListFlowsResponse */
	MEMBER(flows, list_of_Flow, REQUIRED),
	MEMBER(nextToken, string_from_1_to_4096, 0),
	/* ListInstancesRequest */
	MEMBER(status, list_of_string_from_1_to_64_to_16, 0),
	MEMBER(target, string_from_1_to_128, 0),
	MEMBER(cluster, string_from_1_to_512, 0),
	MEMBER(nextToken, string_from_1_to_4096, 0),
	MEMBER_AS(attributes, list_of_string_from_1_to_1024_to_32, 0, attribute),
	MEMBER(maxResults, integer_from_1_to_1000, 0),
	/* ListInstancesResponse */
	MEMBER(instances, list_of_Instance, REQUIRED),
	MEMBER(nextToken, string_from_1_to_4096, 0),
	/* ListKeysResponse */
	MEMBER(keys, list_of_Key, REQUIRED),
	/* ListRepositoriesRequest */
	MEMBER(nextToken, string_from_1_to_4096, 0),
	MEMBER(maxResults, integer_from_1_to_1000, 0),
	/* ListRepositoriesResponse */
	MEMBER(nextToken, string_from_1_to_4096, 0),
	MEMBER(repositories, list_of_Repository, REQUIRED),
	/* ListTasksRequest */
	MEMBER(status, list_of_string_from_1_to_64_to_16, 0),
	MEMBER(target, string_from_1_to_128, 0),
	MEMBER(cluster, string_from_1_to_512, 0),
	MEMBER(nextToken, string_from_1_to_4096, 0),
	MEMBER(startedBy, string_from_1_to_128, 0),
	MEMBER(maxResults, integer_from_1_to_1000, 0),
	MEMBER(environment, string_from_1_to_30, 0),
	/* ListTasksResponse */
	MEMBER(tasks, list_of_Task, REQUIRED),
	MEMBER(nextToken, string_from_1_to_4096, 0),
	/* LoadBalancer */
	MEMBER(containerName, string, 0),
	MEMBER(containerPort, integer_from_0_to_65535, 0),
	MEMBER(targetGroupArn, string, REQUIRED),
	/* NetworkConfiguration */
	MEMBER(awsvpcConfiguration, AwsVpcConfiguration, 0),
	/* PollRepositoryRequest */
	MEMBER(id, string_from_1_to_64, REQUIRED),
	/* PostEcsEventsRequest */
	MEMBER(events, list_of_document_from_1_to_1000, REQUIRED),
	MEMBER(target, string_from_1_to_128, 0),
	/* PostEcsEventsResponse */
	MEMBER(ignored, integer, REQUIRED),
	MEMBER(accepted, integer, REQUIRED),
	MEMBER(failures, list_of_EcsEventFailure, 0),
	/* Repository */
	MEMBER(id, string_from_1_to_64, REQUIRED),
	MEMBER(all, boolean, REQUIRED),
	MEMBER(url, string_from_1_to_2048, REQUIRED),
	MEMBER(path, string_to_4096, 0),
	MEMBER(role, string_from_1_to_512, 0),
	MEMBER(error, string, 0),
	MEMBER(branch, string_from_1_to_255, REQUIRED),
	MEMBER(commit, string, 0),
	MEMBER(target, string_from_1_to_128, 0),
	MEMBER(polledAt, timestamp, 0),
	MEMBER(problems, list_of_RepositoryProblem, 0),
	MEMBER(createdAt, timestamp, REQUIRED),
	MEMBER(applications, long, REQUIRED),
	/* RepositoryProblem */
	MEMBER(file, string_to_4096, REQUIRED),
	MEMBER(message, string, REQUIRED),
	/* ResizeCommandTerminalRequest */
	MEMBER(rows, integer_from_0_to_1000, REQUIRED),
	MEMBER(columns, integer_from_0_to_1000, REQUIRED),
	MEMBER(session, string_from_1_to_64, REQUIRED),
	/* ResourceExistsException */
	MEMBER(code, string, 0),
	MEMBER(message, string, 0),
	MEMBER(requestId, string, 0),
	MEMBER(resourceId, string, 0),
	MEMBER(resourceType, string, 0),
	/* ResourceInUseException */
	MEMBER(code, string, 0),
	MEMBER(message, string, 0),
	MEMBER(requestId, string, 0),
	MEMBER(resourceId, string, 0),
	MEMBER(resourceType, string, 0),
	/* ResourceNotFoundException */
	MEMBER(code, string, 0),
	MEMBER(message, string, 0),
	MEMBER(requestId, string, 0),
	MEMBER(resourceId, string, 0),
	MEMBER(resourceType, string, 0),
	/* RetryApplicationRollbackRequest */
	MEMBER(id, string_from_1_to_64, REQUIRED),
	MEMBER(name, string_from_1_to_100, REQUIRED),
	/* RetryFlowRequest */
	MEMBER(id, string_from_1_to_100, REQUIRED),
	/* RollbackDeploymentRequest */
	MEMBER(name, string_from_1_to_30, REQUIRED),
	MEMBER(clientToken, string_from_1_to_128, TOKEN),
	MEMBER(environmentVersion, string_from_1_to_64, 0),
	/* RollbackDeploymentResponse */
	MEMBER(status, DeploymentStatus, REQUIRED),
	MEMBER(deploymentId, string_from_1_to_64, REQUIRED),
	MEMBER(environmentVersion, string_from_1_to_64, 0),
	/* Run */
	MEMBER(count, integer, 0),
	MEMBER(dueAt, timestamp, REQUIRED),
	MEMBER(tasks, list_of_string, 0),
	MEMBER(reason, string, 0),
	MEMBER(status, RunStatus, REQUIRED),
	MEMBER(endedAt, timestamp, 0),
	MEMBER(exitCode, integer, 0),
	MEMBER(lastDueAt, timestamp, 0),
	MEMBER(startedAt, timestamp, 0),
	MEMBER(environmentVersion, string_from_1_to_64, 0),
	/* ScheduleState */
	MEMBER(runs, list_of_Run, 0),
	MEMBER(lastTask, string, 0),
	MEMBER(lastRunAt, timestamp, 0),
	MEMBER(nextRunAt, timestamp, 0),
	MEMBER(missedRuns, integer, 0),
	MEMBER(lastMissedAt, timestamp, 0),
	MEMBER(lastMissedReason, string, 0),
	/* SendCommandInputRequest */
	MEMBER(input, document, 0),
	MEMBER(session, string_from_1_to_64, REQUIRED),
	/* ServiceUnavailableException */
	MEMBER(code, string, 0),
	MEMBER(message, string, 0),
	MEMBER(requestId, string, 0),
	/* SkipApplicationStageRequest */
	MEMBER(id, string_from_1_to_64, REQUIRED),
	MEMBER(name, string_from_1_to_100, REQUIRED),
	/* StartDeploymentRequest */
	MEMBER(name, string_from_1_to_30, REQUIRED),
	MEMBER(clientToken, string_from_1_to_128, TOKEN),
	MEMBER(environmentVersion, string_from_1_to_64, REQUIRED),
	/* StartDeploymentResponse */
	MEMBER(status, DeploymentStatus, REQUIRED),
	MEMBER(deploymentId, string_from_1_to_64, REQUIRED),
	MEMBER(environmentVersion, string_from_1_to_64, 0),
	/* StopApplicationsRequest */
	MEMBER(comment, string_to_1000, 0),
	/* StopDeploymentRequest */
	MEMBER(name, string_from_1_to_30, REQUIRED),
	MEMBER_AS(deploymentId, string_from_1_to_64, REQUIRED, id),
	/* StopDeploymentResponse */
	MEMBER(status, DeploymentStatus, REQUIRED),
	MEMBER(deploymentId, string_from_1_to_64, REQUIRED),
	/* StreamDeploymentsRequest */
	MEMBER(application, string_from_1_to_100, 0),
	MEMBER(entityVersion, long_from_0, 0),
	/* StreamFlowNodesRequest */
	MEMBER(id, string_from_1_to_100, REQUIRED),
	MEMBER(entityVersion, long_from_0, 0),
	/* StreamFlowsRequest */
	MEMBER(entityVersion, long_from_0, 0),
	/* StreamInstancesRequest */
	MEMBER(target, string_from_1_to_128, 0),
	MEMBER(cluster, string_from_1_to_512, 0),
	MEMBER(entityVersion, long_from_0, 0),
	/* StreamResponse */
	MEMBER(body, document, REQUIRED),
	/* StreamTasksRequest */
	MEMBER(target, string_from_1_to_128, 0),
	MEMBER(cluster, string_from_1_to_512, 0),
	MEMBER(environment, string_from_1_to_30, 0),
	MEMBER(entityVersion, long_from_0, 0),
	/* SyncApplicationRequest */
	MEMBER(flow, boolean, 0),
	MEMBER(name, string_from_1_to_100, REQUIRED),
	MEMBER(role, string_from_1_to_512, 0),
	MEMBER(files, list_of_ApplicationFile_to_64, 0),
	MEMBER(commit, string_to_255, 0),
	MEMBER(region, string, 0),
	MEMBER(target, string_from_1_to_128, 0),
	MEMBER(message, string_to_10000, 0),
	MEMBER(planOnly, boolean, 0),
	MEMBER(strategy, PlanStrategy, 0),
	MEMBER(clientToken, string_from_1_to_128, TOKEN),
	MEMBER(applicationFile, string_from_1_to_512, 0),
	MEMBER(flowApplications, list_of_FlowApplication_to_10000, 0),
	/* SyncApplicationResponse */
	MEMBER(state, ApplicationDeploymentState, REQUIRED),
	MEMBER(number, long, REQUIRED),
	MEMBER(application, string_from_1_to_100, REQUIRED),
	MEMBER(deploymentId, string_from_1_to_64, REQUIRED),
	/* Task */
	MEMBER(task, string, REQUIRED),
	MEMBER(group, string, 0),
	MEMBER(stale, boolean, 0),
	MEMBER(failed, boolean, 0),
	MEMBER(health, TaskHealth, 0),
	MEMBER(target, string_from_1_to_128, 0),
	MEMBER(cluster, string, REQUIRED),
	MEMBER(taskArn, string, 0),
	MEMBER(version, long, 0),
	MEMBER(instance, string, 0),
	MEMBER(createdAt, timestamp, 0),
	MEMBER(startedAt, timestamp, 0),
	MEMBER(startedBy, string, 0),
	MEMBER(stoppedAt, timestamp, 0),
	MEMBER(lastStatus, string, REQUIRED),
	MEMBER(observedAt, timestamp, 0),
	MEMBER(environment, string_from_1_to_30, 0),
	MEMBER(desiredStatus, string, 0),
	MEMBER(stoppedReason, string, 0),
	MEMBER(taskDefinition, string, 0),
	MEMBER(environmentVersion, string_from_1_to_64, 0),
	/* TaskDefinitionState */
	MEMBER(tasks, list_of_Task, 0),
	MEMBER(taskCount, integer, REQUIRED),
	MEMBER(activeCount, integer, REQUIRED),
	MEMBER(taskDefinition, string, REQUIRED),
	MEMBER(environmentVersion, string_from_1_to_64, 0),
	/* TaskNotReachableException */
	MEMBER(code, string, 0),
	MEMBER(message, string, 0),
	MEMBER(requestId, string, 0),
	/* ThrottlingException */
	MEMBER(code, string, 0),
	MEMBER(message, string, 0),
	MEMBER(requestId, string, 0),
	/* TrafficCounters */
	MEMBER(cut, long, REQUIRED),
	MEMBER(active, long, REQUIRED),
	MEMBER(failed, long, REQUIRED),
	MEMBER(resets, long, REQUIRED),
	MEMBER(bytesIn, long, REQUIRED),
	MEMBER(refused, long, REQUIRED),
	MEMBER(retries, long, REQUIRED),
	MEMBER(bytesOut, long, REQUIRED),
	MEMBER(idleEnds, long, REQUIRED),
	MEMBER(evictions, long, REQUIRED),
	MEMBER(connections, long, REQUIRED),
	MEMBER(datagramsIn, long, REQUIRED),
	MEMBER(datagramsOut, long, REQUIRED),
	MEMBER(responses1xx, long, 0),
	MEMBER(responses2xx, long, 0),
	MEMBER(responses3xx, long, 0),
	MEMBER(responses4xx, long, 0),
	MEMBER(responses5xx, long, 0),
	MEMBER(connectFailures, long, REQUIRED),
	MEMBER(responseMilliseconds, long, 0),
	/* TrafficGroup */
	MEMBER(name, string, REQUIRED),
	MEMBER(targets, list_of_TrafficTarget, REQUIRED),
	MEMBER(counters, TrafficCounters, REQUIRED),
	/* TrafficListener */
	MEMBER(name, string, REQUIRED),
	MEMBER(routes, list_of_TrafficRoute, REQUIRED),
	MEMBER(address, string, REQUIRED),
	MEMBER(counters, TrafficCounters, REQUIRED),
	MEMBER(protocol, string, REQUIRED),
	/* TrafficRoute */
	MEMBER(group, string, REQUIRED),
	MEMBER(weight, integer, REQUIRED),
	MEMBER(counters, TrafficCounters, REQUIRED),
	/* TrafficTarget */
	MEMBER(state, string, REQUIRED),
	MEMBER(address, string, REQUIRED),
	MEMBER(counters, TrafficCounters, REQUIRED),
	/* UnsupportedFeatureException */
	MEMBER(code, string, 0),
	MEMBER(message, string, 0),
	MEMBER(requestId, string, 0),
	/* UpdateEnvironmentRequest */
	MEMBER(name, string_from_1_to_30, REQUIRED),
	MEMBER(role, string_from_1_to_512, 0),
	MEMBER(status, RequestedStatus, 0),
	MEMBER(target, string_from_1_to_128, 0),
	MEMBER(priority, integer_from_0_to_1000, 0),
	MEMBER(baseVersion, string_from_1_to_64, 0),
	MEMBER(clientToken, string_from_1_to_128, TOKEN),
	MEMBER(instanceGroup, InstanceGroup, 0),
	MEMBER(taskDefinition, string_from_1_to_512, 0),
	MEMBER(networkConfiguration, NetworkConfiguration, 0),
	MEMBER(deploymentConfiguration, DeploymentConfiguration, 0),
	/* UpdateEnvironmentResponse */
	MEMBER(name, string_from_1_to_30, REQUIRED),
	MEMBER(environmentVersion, string_from_1_to_64, REQUIRED),
	/* VersionConflictException */
	MEMBER(code, string, 0),
	MEMBER(message, string, 0),
	MEMBER(requestId, string, 0),
	MEMBER(resourceId, string, 0),
	MEMBER(resourceType, string, 0),
};

/* Where the values of an enum begin and end. */
enum {
	RANGE(E_ApplicationConfigState, 5),
	RANGE(E_ApplicationDeploymentState, 6),
	RANGE(E_ApplicationStageState, 6),
	RANGE(E_AssignPublicIp, 2),
	RANGE(E_CanaryStatus, 3),
	RANGE(E_DeploymentStatus, 9),
	RANGE(E_DeploymentType, 3),
	RANGE(E_EnvironmentHealth, 2),
	RANGE(E_EnvironmentStatus, 3),
	RANGE(E_EnvironmentType, 3),
	RANGE(E_FlowNodeState, 11),
	RANGE(E_FlowState, 6),
	RANGE(E_OnFailure, 2),
	RANGE(E_PlanStrategy, 3),
	RANGE(E_RequestedStatus, 2),
	RANGE(E_RunStatus, 6),
	RANGE(E_TaskHealth, 4),
};

static const struct shape_name values[] = {
	/* ApplicationConfigState */
	NAME(UNKNOWN), NAME(VALID), NAME(INVALID_CONFIG), NAME(UNDEPLOYABLE), NAME(MISSING),
	/* ApplicationDeploymentState */
	NAME(PENDING), NAME(RUNNING), NAME(ROLLING_BACK), NAME(SUCCESS), NAME(FAILURE),
	NAME(CANCELLED),
	/* ApplicationStageState */
	NAME(NOT_STARTED), NAME(RUNNING), NAME(SUCCESS), NAME(FAILURE), NAME(CANCELLED),
	NAME(SKIPPED),
	/* AssignPublicIp */
	NAME(ENABLED), NAME(DISABLED),
	/* CanaryStatus */
	NAME(launching), NAME(baking), NAME(proved),
	/* DeploymentStatus */
	NAME(pending), NAME(in_progress), NAME(completed), NAME(unhealthy), NAME(blocked),
	NAME(to_be_stopped), NAME(stopped), NAME(canceled), NAME(timed_out),
	/* DeploymentType */
	NAME(user), NAME(autoscaling), NAME(health_repair),
	/* EnvironmentHealth */
	NAME(healthy), NAME(unhealthy),
	/* EnvironmentStatus */
	NAME(inactive), NAME(active), NAME(deleting),
	/* EnvironmentType */
	NAME(Daemon), NAME(Service), NAME(Cron),
	/* FlowNodeState */
	NAME(PENDING), NAME(WAITING_APPROVAL), NAME(QUEUED), NAME(RUNNING), NAME(ROLLING_BACK),
	NAME(SUCCESS), NAME(FAILURE), NAME(CANCELLED), NAME(SKIPPED), NAME(DISABLED), NAME(BLOCKED),
	/* FlowState */
	NAME(PENDING), NAME(RUNNING), NAME(ROLLING_BACK), NAME(SUCCESS), NAME(FAILURE),
	NAME(CANCELLED),
	/* OnFailure */
	NAME(stop), NAME(rollback),
	/* PlanStrategy */
	NAME(AUTOMATIC), NAME(QUICK_SYNC), NAME(PIPELINE),
	/* RequestedStatus */
	NAME(active), NAME(inactive),
	/* RunStatus */
	NAME(intended), NAME(started), NAME(succeeded), NAME(failed), NAME(skipped), NAME(missed),
	/* TaskHealth */
	NAME(launching), NAME(active), NAME(unhealthy), NAME(stopped),
};

enum { L_none,
	L_any_to_16, L_any_to_32, L_any_to_64, L_any_to_255, L_any_to_1000, L_any_to_4096,
	L_any_to_10000, L_any_to_943718, L_0_to_any, L_0_to_100, L_0_to_1000, L_0_to_65535,
	L_0_to_100000, L_0_to_1000000, L_0_to_2592000, L_1_to_30, L_1_to_64, L_1_to_100, L_1_to_128,
	L_1_to_255, L_1_to_512, L_1_to_1000, L_1_to_1024, L_1_to_2048, L_1_to_4096, L_1_to_1000000,
	L_1_to_2592000, L_1_to_315360000, L_6_to_256, L_100_to_1000,
};

static const struct shape_limits limits[] = {
	[L_none] = {INT64_MIN, INT64_MAX},
	[L_any_to_16] = {INT64_MIN, 16},
	[L_any_to_32] = {INT64_MIN, 32},
	[L_any_to_64] = {INT64_MIN, 64},
	[L_any_to_255] = {INT64_MIN, 255},
	[L_any_to_1000] = {INT64_MIN, 1000},
	[L_any_to_4096] = {INT64_MIN, 4096},
	[L_any_to_10000] = {INT64_MIN, 10000},
	[L_any_to_943718] = {INT64_MIN, 943718},
	[L_0_to_any] = {0, INT64_MAX},
	[L_0_to_100] = {0, 100},
	[L_0_to_1000] = {0, 1000},
	[L_0_to_65535] = {0, 65535},
	[L_0_to_100000] = {0, 100000},
	[L_0_to_1000000] = {0, 1000000},
	[L_0_to_2592000] = {0, 2592000},
	[L_1_to_30] = {1, 30},
	[L_1_to_64] = {1, 64},
	[L_1_to_100] = {1, 100},
	[L_1_to_128] = {1, 128},
	[L_1_to_255] = {1, 255},
	[L_1_to_512] = {1, 512},
	[L_1_to_1000] = {1, 1000},
	[L_1_to_1024] = {1, 1024},
	[L_1_to_2048] = {1, 2048},
	[L_1_to_4096] = {1, 4096},
	[L_1_to_1000000] = {1, 1000000},
	[L_1_to_2592000] = {1, 2592000},
	[L_1_to_315360000] = {1, 315360000},
	[L_6_to_256] = {6, 256},
	[L_100_to_1000] = {100, 1000},
};

static const struct shape shapes[] = {
	[S_AccessDeniedException] = {STRUCTURE(AccessDeniedException), .status = 403, .flags = ERROR},
	[S_AddApplicationRequest] = {STRUCTURE(AddApplicationRequest), .required = 2},
	[S_AddRepositoryRequest] = {STRUCTURE(AddRepositoryRequest), .required = 1},
	[S_Application] = {STRUCTURE(Application), .required = 5},
	[S_ApplicationApproval] = {STRUCTURE(ApplicationApproval), .required = 3},
	[S_ApplicationChange] = {STRUCTURE(ApplicationChange), .required = 1},
	[S_ApplicationConfigState] = {ENUM(ApplicationConfigState)},
	[S_ApplicationDeployment] = {STRUCTURE(ApplicationDeployment), .required = 8},
	[S_ApplicationDeploymentState] = {ENUM(ApplicationDeploymentState)},
	[S_ApplicationDifference] = {STRUCTURE(ApplicationDifference), .required = 1},
	[S_ApplicationFile] = {STRUCTURE(ApplicationFile), .required = 2},
	[S_ApplicationLiveService] = {STRUCTURE(ApplicationLiveService), .required = 5},
	[S_ApplicationLiveState] = {STRUCTURE(ApplicationLiveState), .required = 2},
	[S_ApplicationLiveTask] = {STRUCTURE(ApplicationLiveTask), .required = 3},
	[S_ApplicationLiveTaskSet] = {STRUCTURE(ApplicationLiveTaskSet), .required = 8},
	[S_ApplicationLogLine] = {STRUCTURE(ApplicationLogLine), .required = 2},
	[S_ApplicationRepository] = {STRUCTURE(ApplicationRepository), .required = 2},
	[S_ApplicationStage] = {STRUCTURE(ApplicationStage), .required = 3},
	[S_ApplicationStageState] = {ENUM(ApplicationStageState)},
	[S_ApplicationSwitch] = {STRUCTURE(ApplicationSwitch), .required = 1},
	[S_ApplicationSwitchRequest] = {STRUCTURE(ApplicationSwitchRequest)},
	[S_ApproveApplicationStageRequest] = {STRUCTURE(ApproveApplicationStageRequest), .required = 2},
	[S_ApproveFlowNodeRequest] = {STRUCTURE(ApproveFlowNodeRequest), .required = 2},
	[S_AssignPublicIp] = {ENUM(AssignPublicIp)},
	[S_Attribute] = {STRUCTURE(Attribute), .required = 1},
	[S_AwsVpcConfiguration] = {STRUCTURE(AwsVpcConfiguration), .required = 1},
	[S_Canary] = {STRUCTURE(Canary), .required = 1},
	[S_CanaryProgress] = {STRUCTURE(CanaryProgress)},
	[S_CanaryStatus] = {ENUM(CanaryStatus)},
	[S_CancelApplicationDeploymentRequest] = {STRUCTURE(CancelApplicationDeploymentRequest), .required = 2},
	[S_CancelFlowRequest] = {STRUCTURE(CancelFlowRequest), .required = 1},
	[S_Counts] = {STRUCTURE(Counts), .required = 7},
	[S_CreateEnvironmentRequest] = {STRUCTURE(CreateEnvironmentRequest), .required = 3},
	[S_CreateEnvironmentResponse] = {STRUCTURE(CreateEnvironmentResponse), .required = 2},
	[S_CreateKeyRequest] = {STRUCTURE(CreateKeyRequest)},
	[S_CreateKeyResponse] = {STRUCTURE(CreateKeyResponse), .required = 4},
	[S_DeleteApplicationRequest] = {STRUCTURE(DeleteApplicationRequest), .required = 1},
	[S_DeleteApplicationResponse] = {STRUCTURE(DeleteApplicationResponse), .required = 1},
	[S_DeleteEnvironmentRequest] = {STRUCTURE(DeleteEnvironmentRequest), .required = 1},
	[S_DeleteEnvironmentResponse] = {STRUCTURE(DeleteEnvironmentResponse), .required = 2},
	[S_DeleteKeyRequest] = {STRUCTURE(DeleteKeyRequest), .required = 1},
	[S_DeleteKeyResponse] = {STRUCTURE(DeleteKeyResponse)},
	[S_DeleteRepositoryRequest] = {STRUCTURE(DeleteRepositoryRequest), .required = 1},
	[S_DeleteRepositoryResponse] = {STRUCTURE(DeleteRepositoryResponse), .required = 1},
	[S_Deployment] = {STRUCTURE(Deployment), .required = 6},
	[S_DeploymentConfiguration] = {STRUCTURE(DeploymentConfiguration)},
	[S_DeploymentStatus] = {ENUM(DeploymentStatus)},
	[S_DeploymentSummary] = {STRUCTURE(DeploymentSummary), .required = 6},
	[S_DeploymentType] = {ENUM(DeploymentType)},
	[S_DescribeDnsRequest] = {STRUCTURE(DescribeDnsRequest)},
	[S_DescribeDnsResponse] = {STRUCTURE(DescribeDnsResponse), .required = 2},
	[S_DescribeTrafficRequest] = {STRUCTURE(DescribeTrafficRequest)},
	[S_DescribeTrafficResponse] = {STRUCTURE(DescribeTrafficResponse), .required = 4},
	[S_DiffChange] = {STRUCTURE(DiffChange), .required = 1},
	[S_DiffCounts] = {STRUCTURE(DiffCounts), .required = 5},
	[S_DiffEnvironmentRequest] = {STRUCTURE(DiffEnvironmentRequest), .required = 1},
	[S_DiffEnvironmentResponse] = {STRUCTURE(DiffEnvironmentResponse), .required = 6},
	[S_DiffItem] = {STRUCTURE(DiffItem), .required = 2},
	[S_EcsEventFailure] = {STRUCTURE(EcsEventFailure), .required = 2},
	[S_EndCommandInputRequest] = {STRUCTURE(EndCommandInputRequest), .required = 1},
	[S_EndCommandInputResponse] = {STRUCTURE(EndCommandInputResponse)},
	[S_EntityVersionTooOldException] = {STRUCTURE(EntityVersionTooOldException), .status = 410, .flags = ERROR},
	[S_Environment] = {STRUCTURE(Environment), .required = 8},
	[S_EnvironmentHealth] = {ENUM(EnvironmentHealth)},
	[S_EnvironmentStatus] = {ENUM(EnvironmentStatus)},
	[S_EnvironmentSummary] = {STRUCTURE(EnvironmentSummary), .required = 8},
	[S_EnvironmentType] = {ENUM(EnvironmentType)},
	[S_EnvironmentVersion] = {STRUCTURE(EnvironmentVersion), .required = 3},
	[S_ExecuteCommandRequest] = {STRUCTURE(ExecuteCommandRequest), .required = 2},
	[S_FailedInstance] = {STRUCTURE(FailedInstance), .required = 2},
	[S_Flow] = {STRUCTURE(Flow), .required = 7},
	[S_FlowApplication] = {STRUCTURE(FlowApplication), .required = 3},
	[S_FlowApproval] = {STRUCTURE(FlowApproval)},
	[S_FlowDescription] = {STRUCTURE(FlowDescription), .required = 9},
	[S_FlowNode] = {STRUCTURE(FlowNode), .required = 4},
	[S_FlowNodeState] = {ENUM(FlowNodeState)},
	[S_FlowPlan] = {STRUCTURE(FlowPlan)},
	[S_FlowState] = {ENUM(FlowState)},
	[S_GetApplicationDeploymentLogRequest] = {STRUCTURE(GetApplicationDeploymentLogRequest), .required = 2},
	[S_GetApplicationDeploymentLogResponse] = {STRUCTURE(GetApplicationDeploymentLogResponse), .required = 1},
	[S_GetApplicationDeploymentRequest] = {STRUCTURE(GetApplicationDeploymentRequest), .required = 2},
	[S_GetApplicationRequest] = {STRUCTURE(GetApplicationRequest), .required = 1},
	[S_GetApplicationStateRequest] = {STRUCTURE(GetApplicationStateRequest), .required = 1},
	[S_GetDeploymentRequest] = {STRUCTURE(GetDeploymentRequest), .required = 2},
	[S_GetEnvironmentRequest] = {STRUCTURE(GetEnvironmentRequest), .required = 1},
	[S_GetEnvironmentVersionRequest] = {STRUCTURE(GetEnvironmentVersionRequest), .required = 2},
	[S_GetFlowRequest] = {STRUCTURE(GetFlowRequest), .required = 1},
	[S_GetInstanceRequest] = {STRUCTURE(GetInstanceRequest), .required = 2},
	[S_GetTaskLogsRequest] = {STRUCTURE(GetTaskLogsRequest), .required = 1},
	[S_Instance] = {STRUCTURE(Instance), .required = 3},
	[S_InstanceGroup] = {STRUCTURE(InstanceGroup), .required = 1},
	[S_InternalServiceException] = {STRUCTURE(InternalServiceException), .status = 500, .flags = ERROR | SERVER_FAULT},
	[S_InvalidParameterException] = {STRUCTURE(InvalidParameterException), .status = 400, .flags = ERROR},
	[S_Key] = {STRUCTURE(Key), .required = 4},
	[S_LimitExceededException] = {STRUCTURE(LimitExceededException), .status = 400, .flags = ERROR},
	[S_ListApplicationDeploymentsRequest] = {STRUCTURE(ListApplicationDeploymentsRequest), .required = 1},
	[S_ListApplicationDeploymentsResponse] = {STRUCTURE(ListApplicationDeploymentsResponse), .required = 1},
	[S_ListApplicationsRequest] = {STRUCTURE(ListApplicationsRequest)},
	[S_ListApplicationsResponse] = {STRUCTURE(ListApplicationsResponse), .required = 1},
	[S_ListDeploymentsByStatusRequest] = {STRUCTURE(ListDeploymentsByStatusRequest), .required = 1},
	[S_ListDeploymentsByStatusResponse] = {STRUCTURE(ListDeploymentsByStatusResponse), .required = 1},
	[S_ListDeploymentsRequest] = {STRUCTURE(ListDeploymentsRequest), .required = 1},
	[S_ListDeploymentsResponse] = {STRUCTURE(ListDeploymentsResponse), .required = 1},
	[S_ListEnvironmentVersionsRequest] = {STRUCTURE(ListEnvironmentVersionsRequest), .required = 1},
	[S_ListEnvironmentVersionsResponse] = {STRUCTURE(ListEnvironmentVersionsResponse), .required = 1},
	[S_ListEnvironmentsRequest] = {STRUCTURE(ListEnvironmentsRequest)},
	[S_ListEnvironmentsResponse] = {STRUCTURE(ListEnvironmentsResponse), .required = 1},
	[S_ListFlowsRequest] = {STRUCTURE(ListFlowsRequest)},
	[S_ListFlowsResponse] = {STRUCTURE(ListFlowsResponse), .required = 1},
	[S_ListInstancesRequest] = {STRUCTURE(ListInstancesRequest)},
	[S_ListInstancesResponse] = {STRUCTURE(ListInstancesResponse), .required = 1},
	[S_ListKeysRequest] = {STRUCTURE(ListKeysRequest)},
	[S_ListKeysResponse] = {STRUCTURE(ListKeysResponse), .required = 1},
	[S_ListRepositoriesRequest] = {STRUCTURE(ListRepositoriesRequest)},
	[S_ListRepositoriesResponse] = {STRUCTURE(ListRepositoriesResponse), .required = 1},
	[S_ListTasksRequest] = {STRUCTURE(ListTasksRequest)},
	[S_ListTasksResponse] = {STRUCTURE(ListTasksResponse), .required = 1},
	[S_LoadBalancer] = {STRUCTURE(LoadBalancer), .required = 1},
	[S_NetworkConfiguration] = {STRUCTURE(NetworkConfiguration)},
	[S_OnFailure] = {ENUM(OnFailure)},
	[S_PlanStrategy] = {ENUM(PlanStrategy)},
	[S_PollRepositoryRequest] = {STRUCTURE(PollRepositoryRequest), .required = 1},
	[S_PostEcsEventsRequest] = {STRUCTURE(PostEcsEventsRequest), .required = 1},
	[S_PostEcsEventsResponse] = {STRUCTURE(PostEcsEventsResponse), .required = 2},
	[S_Repository] = {STRUCTURE(Repository), .required = 6},
	[S_RepositoryProblem] = {STRUCTURE(RepositoryProblem), .required = 2},
	[S_RequestedStatus] = {ENUM(RequestedStatus)},
	[S_ResizeCommandTerminalRequest] = {STRUCTURE(ResizeCommandTerminalRequest), .required = 3},
	[S_ResizeCommandTerminalResponse] = {STRUCTURE(ResizeCommandTerminalResponse)},
	[S_ResourceExistsException] = {STRUCTURE(ResourceExistsException), .status = 409, .flags = ERROR},
	[S_ResourceInUseException] = {STRUCTURE(ResourceInUseException), .status = 409, .flags = ERROR},
	[S_ResourceNotFoundException] = {STRUCTURE(ResourceNotFoundException), .status = 404, .flags = ERROR},
	[S_RetryApplicationRollbackRequest] = {STRUCTURE(RetryApplicationRollbackRequest), .required = 2},
	[S_RetryFlowRequest] = {STRUCTURE(RetryFlowRequest), .required = 1},
	[S_RollbackDeploymentRequest] = {STRUCTURE(RollbackDeploymentRequest), .required = 1},
	[S_RollbackDeploymentResponse] = {STRUCTURE(RollbackDeploymentResponse), .required = 2},
	[S_Run] = {STRUCTURE(Run), .required = 2},
	[S_RunStatus] = {ENUM(RunStatus)},
	[S_ScheduleState] = {STRUCTURE(ScheduleState)},
	[S_SendCommandInputRequest] = {STRUCTURE(SendCommandInputRequest), .required = 1},
	[S_SendCommandInputResponse] = {STRUCTURE(SendCommandInputResponse)},
	[S_ServiceUnavailableException] = {STRUCTURE(ServiceUnavailableException), .status = 503, .flags = ERROR | SERVER_FAULT},
	[S_SkipApplicationStageRequest] = {STRUCTURE(SkipApplicationStageRequest), .required = 2},
	[S_StartDeploymentRequest] = {STRUCTURE(StartDeploymentRequest), .required = 2},
	[S_StartDeploymentResponse] = {STRUCTURE(StartDeploymentResponse), .required = 2},
	[S_StopApplicationsRequest] = {STRUCTURE(StopApplicationsRequest)},
	[S_StopDeploymentRequest] = {STRUCTURE(StopDeploymentRequest), .required = 2},
	[S_StopDeploymentResponse] = {STRUCTURE(StopDeploymentResponse), .required = 2},
	[S_StreamDeploymentsRequest] = {STRUCTURE(StreamDeploymentsRequest)},
	[S_StreamFlowNodesRequest] = {STRUCTURE(StreamFlowNodesRequest), .required = 1},
	[S_StreamFlowsRequest] = {STRUCTURE(StreamFlowsRequest)},
	[S_StreamInstancesRequest] = {STRUCTURE(StreamInstancesRequest)},
	[S_StreamResponse] = {STRUCTURE(StreamResponse), .required = 1},
	[S_StreamTasksRequest] = {STRUCTURE(StreamTasksRequest)},
	[S_SyncApplicationRequest] = {STRUCTURE(SyncApplicationRequest), .required = 1},
	[S_SyncApplicationResponse] = {STRUCTURE(SyncApplicationResponse), .required = 4},
	[S_Task] = {STRUCTURE(Task), .required = 3},
	[S_TaskDefinitionState] = {STRUCTURE(TaskDefinitionState), .required = 3},
	[S_TaskHealth] = {ENUM(TaskHealth)},
	[S_TaskNotReachableException] = {STRUCTURE(TaskNotReachableException), .status = 409, .flags = ERROR},
	[S_ThrottlingException] = {STRUCTURE(ThrottlingException), .status = 429, .flags = ERROR},
	[S_TrafficCounters] = {STRUCTURE(TrafficCounters), .required = 14},
	[S_TrafficGroup] = {STRUCTURE(TrafficGroup), .required = 3},
	[S_TrafficListener] = {STRUCTURE(TrafficListener), .required = 5},
	[S_TrafficRoute] = {STRUCTURE(TrafficRoute), .required = 3},
	[S_TrafficTarget] = {STRUCTURE(TrafficTarget), .required = 3},
	[S_UnsupportedFeatureException] = {STRUCTURE(UnsupportedFeatureException), .status = 400, .flags = ERROR},
	[S_UpdateEnvironmentRequest] = {STRUCTURE(UpdateEnvironmentRequest), .required = 1},
	[S_UpdateEnvironmentResponse] = {STRUCTURE(UpdateEnvironmentResponse), .required = 2},
	[S_VersionConflictException] = {STRUCTURE(VersionConflictException), .status = 409, .flags = ERROR},
	[S_boolean] = {.type = SHAPE_BOOLEAN},
	[S_document] = {.type = SHAPE_DOCUMENT},
	[S_double] = {.type = SHAPE_DOUBLE},
	[S_integer] = {.type = SHAPE_INTEGER},
	[S_integer_from_0_to_100] = {.type = SHAPE_INTEGER, .limits = L_0_to_100},
	[S_integer_from_0_to_1000] = {.type = SHAPE_INTEGER, .limits = L_0_to_1000},
	[S_integer_from_0_to_100000] = {.type = SHAPE_INTEGER, .limits = L_0_to_100000},
	[S_integer_from_0_to_1000000] = {.type = SHAPE_INTEGER, .limits = L_0_to_1000000},
	[S_integer_from_0_to_2592000] = {.type = SHAPE_INTEGER, .limits = L_0_to_2592000},
	[S_integer_from_0_to_65535] = {.type = SHAPE_INTEGER, .limits = L_0_to_65535},
	[S_integer_from_100_to_1000] = {.type = SHAPE_INTEGER, .limits = L_100_to_1000},
	[S_integer_from_1_to_1000] = {.type = SHAPE_INTEGER, .limits = L_1_to_1000},
	[S_integer_from_1_to_1000000] = {.type = SHAPE_INTEGER, .limits = L_1_to_1000000},
	[S_integer_from_1_to_2592000] = {.type = SHAPE_INTEGER, .limits = L_1_to_2592000},
	[S_integer_from_1_to_315360000] = {.type = SHAPE_INTEGER, .limits = L_1_to_315360000},
	[S_list_of_Application] = {.type = SHAPE_LIST, .element = S_Application},
	[S_list_of_ApplicationApproval] = {.type = SHAPE_LIST, .element = S_ApplicationApproval},
	[S_list_of_ApplicationChange] = {.type = SHAPE_LIST, .element = S_ApplicationChange},
	[S_list_of_ApplicationDeployment] = {.type = SHAPE_LIST, .element = S_ApplicationDeployment},
	[S_list_of_ApplicationDifference] = {.type = SHAPE_LIST, .element = S_ApplicationDifference},
	[S_list_of_ApplicationFile_to_64] = {.type = SHAPE_LIST, .element = S_ApplicationFile, .limits = L_any_to_64},
	[S_list_of_ApplicationLiveTask] = {.type = SHAPE_LIST, .element = S_ApplicationLiveTask},
	[S_list_of_ApplicationLiveTaskSet] = {.type = SHAPE_LIST, .element = S_ApplicationLiveTaskSet},
	[S_list_of_ApplicationLogLine] = {.type = SHAPE_LIST, .element = S_ApplicationLogLine},
	[S_list_of_ApplicationStage] = {.type = SHAPE_LIST, .element = S_ApplicationStage},
	[S_list_of_Attribute] = {.type = SHAPE_LIST, .element = S_Attribute},
	[S_list_of_DeploymentSummary] = {.type = SHAPE_LIST, .element = S_DeploymentSummary},
	[S_list_of_DiffChange] = {.type = SHAPE_LIST, .element = S_DiffChange},
	[S_list_of_DiffItem] = {.type = SHAPE_LIST, .element = S_DiffItem},
	[S_list_of_EcsEventFailure] = {.type = SHAPE_LIST, .element = S_EcsEventFailure},
	[S_list_of_EnvironmentSummary] = {.type = SHAPE_LIST, .element = S_EnvironmentSummary},
	[S_list_of_EnvironmentVersion] = {.type = SHAPE_LIST, .element = S_EnvironmentVersion},
	[S_list_of_FailedInstance] = {.type = SHAPE_LIST, .element = S_FailedInstance},
	[S_list_of_Flow] = {.type = SHAPE_LIST, .element = S_Flow},
	[S_list_of_FlowApplication_to_10000] = {.type = SHAPE_LIST, .element = S_FlowApplication, .limits = L_any_to_10000},
	[S_list_of_FlowNode] = {.type = SHAPE_LIST, .element = S_FlowNode},
	[S_list_of_Instance] = {.type = SHAPE_LIST, .element = S_Instance},
	[S_list_of_Key] = {.type = SHAPE_LIST, .element = S_Key},
	[S_list_of_Repository] = {.type = SHAPE_LIST, .element = S_Repository},
	[S_list_of_RepositoryProblem] = {.type = SHAPE_LIST, .element = S_RepositoryProblem},
	[S_list_of_Run] = {.type = SHAPE_LIST, .element = S_Run},
	[S_list_of_Task] = {.type = SHAPE_LIST, .element = S_Task},
	[S_list_of_TaskDefinitionState] = {.type = SHAPE_LIST, .element = S_TaskDefinitionState},
	[S_list_of_TrafficGroup] = {.type = SHAPE_LIST, .element = S_TrafficGroup},
	[S_list_of_TrafficListener] = {.type = SHAPE_LIST, .element = S_TrafficListener},
	[S_list_of_TrafficRoute] = {.type = SHAPE_LIST, .element = S_TrafficRoute},
	[S_list_of_TrafficTarget] = {.type = SHAPE_LIST, .element = S_TrafficTarget},
	[S_list_of_document_from_1_to_1000] = {.type = SHAPE_LIST, .element = S_document, .limits = L_1_to_1000},
	[S_list_of_document_to_32] = {.type = SHAPE_LIST, .element = S_document, .limits = L_any_to_32},
	[S_list_of_string] = {.type = SHAPE_LIST, .element = S_string},
	[S_list_of_string_from_1_to_1000] = {.type = SHAPE_LIST, .element = S_string, .limits = L_1_to_1000},
	[S_list_of_string_from_1_to_1024_to_32] = {.type = SHAPE_LIST, .element = S_string_from_1_to_1024, .limits = L_any_to_32},
	[S_list_of_string_from_1_to_128_to_16] = {.type = SHAPE_LIST, .element = S_string_from_1_to_128, .limits = L_any_to_16},
	[S_list_of_string_from_1_to_64_to_16] = {.type = SHAPE_LIST, .element = S_string_from_1_to_64, .limits = L_any_to_16},
	[S_long] = {.type = SHAPE_LONG},
	[S_long_from_0] = {.type = SHAPE_LONG, .limits = L_0_to_any},
	[S_map_of_string] = {.type = SHAPE_MAP, .element = S_string, .key = S_string},
	[S_string] = {.type = SHAPE_STRING},
	[S_string_from_1_to_100] = {.type = SHAPE_STRING, .limits = L_1_to_100},
	[S_string_from_1_to_1024] = {.type = SHAPE_STRING, .limits = L_1_to_1024},
	[S_string_from_1_to_128] = {.type = SHAPE_STRING, .limits = L_1_to_128},
	[S_string_from_1_to_2048] = {.type = SHAPE_STRING, .limits = L_1_to_2048},
	[S_string_from_1_to_255] = {.type = SHAPE_STRING, .limits = L_1_to_255},
	[S_string_from_1_to_30] = {.type = SHAPE_STRING, .limits = L_1_to_30},
	[S_string_from_1_to_4096] = {.type = SHAPE_STRING, .limits = L_1_to_4096},
	[S_string_from_1_to_512] = {.type = SHAPE_STRING, .limits = L_1_to_512},
	[S_string_from_1_to_64] = {.type = SHAPE_STRING, .limits = L_1_to_64},
	[S_string_from_6_to_256] = {.type = SHAPE_STRING, .limits = L_6_to_256},
	[S_string_to_1000] = {.type = SHAPE_STRING, .limits = L_any_to_1000},
	[S_string_to_10000] = {.type = SHAPE_STRING, .limits = L_any_to_10000},
	[S_string_to_255] = {.type = SHAPE_STRING, .limits = L_any_to_255},
	[S_string_to_4096] = {.type = SHAPE_STRING, .limits = L_any_to_4096},
	[S_string_to_943718] = {.type = SHAPE_STRING, .limits = L_any_to_943718},
	[S_timestamp] = {.type = SHAPE_TIMESTAMP},
};

/* Where the errors of an operation begin and end. */
enum {
	RANGE(X_AddApplication, 8),
	RANGE(X_AddRepository, 7),
	RANGE(X_ApproveApplicationStage, 8),
	RANGE(X_ApproveFlowNode, 8),
	RANGE(X_CancelApplicationDeployment, 8),
	RANGE(X_CancelFlow, 8),
	RANGE(X_CreateEnvironment, 10),
	RANGE(X_CreateKey, 6),
	RANGE(X_DeleteApplication, 8),
	RANGE(X_DeleteEnvironment, 8),
	RANGE(X_DeleteKey, 8),
	RANGE(X_DeleteRepository, 7),
	RANGE(X_DescribeDns, 6),
	RANGE(X_DescribeTraffic, 6),
	RANGE(X_DiffEnvironment, 7),
	RANGE(X_EndCommandInput, 7),
	RANGE(X_ExecuteCommand, 8),
	RANGE(X_GetApplication, 7),
	RANGE(X_GetApplicationDeployment, 7),
	RANGE(X_GetApplicationDeploymentLog, 7),
	RANGE(X_GetApplicationState, 7),
	RANGE(X_GetApplicationSwitch, 6),
	RANGE(X_GetDeployment, 7),
	RANGE(X_GetEnvironment, 7),
	RANGE(X_GetEnvironmentVersion, 7),
	RANGE(X_GetFlow, 7),
	RANGE(X_GetInstance, 7),
	RANGE(X_GetTaskLogs, 8),
	RANGE(X_ListApplicationDeployments, 7),
	RANGE(X_ListApplications, 6),
	RANGE(X_ListDeployments, 7),
	RANGE(X_ListDeploymentsByStatus, 6),
	RANGE(X_ListEnvironmentVersions, 7),
	RANGE(X_ListEnvironments, 6),
	RANGE(X_ListFlows, 7),
	RANGE(X_ListInstances, 7),
	RANGE(X_ListKeys, 6),
	RANGE(X_ListRepositories, 6),
	RANGE(X_ListTasks, 7),
	RANGE(X_PollRepository, 7),
	RANGE(X_PostEcsEvents, 6),
	RANGE(X_RejectApplicationStage, 8),
	RANGE(X_RejectFlowNode, 8),
	RANGE(X_ResizeCommandTerminal, 7),
	RANGE(X_ResumeApplications, 6),
	RANGE(X_RetryApplicationRollback, 8),
	RANGE(X_RetryFlow, 8),
	RANGE(X_RollBackApplicationDeployment, 8),
	RANGE(X_RollbackDeployment, 10),
	RANGE(X_SendCommandInput, 7),
	RANGE(X_SkipApplicationStage, 8),
	RANGE(X_StartDeployment, 10),
	RANGE(X_StopApplications, 6),
	RANGE(X_StopDeployment, 8),
	RANGE(X_StreamDeployments, 7),
	RANGE(X_StreamFlowNodes, 8),
	RANGE(X_StreamFlows, 8),
	RANGE(X_StreamInstances, 8),
	RANGE(X_StreamTasks, 8),
	RANGE(X_SyncApplication, 9),
	RANGE(X_UpdateEnvironment, 10),
};

static const uint16_t errors[] = {
	/* AddApplication */
	S_AccessDeniedException, S_InternalServiceException, S_InvalidParameterException,
	S_LimitExceededException, S_ResourceInUseException, S_ServiceUnavailableException,
	S_ThrottlingException, S_UnsupportedFeatureException,
	/* AddRepository */
	S_AccessDeniedException, S_InternalServiceException, S_InvalidParameterException,
	S_LimitExceededException, S_ServiceUnavailableException, S_ThrottlingException,
	S_UnsupportedFeatureException,
	/* ApproveApplicationStage */
	S_AccessDeniedException, S_InternalServiceException, S_InvalidParameterException,
	S_ResourceInUseException, S_ResourceNotFoundException, S_ServiceUnavailableException,
	S_ThrottlingException, S_UnsupportedFeatureException,
	/* ApproveFlowNode */
	S_AccessDeniedException, S_InternalServiceException, S_InvalidParameterException,
	S_ResourceInUseException, S_ResourceNotFoundException, S_ServiceUnavailableException,
	S_ThrottlingException, S_UnsupportedFeatureException,
	/* CancelApplicationDeployment */
	S_AccessDeniedException, S_InternalServiceException, S_InvalidParameterException,
	S_ResourceInUseException, S_ResourceNotFoundException, S_ServiceUnavailableException,
	S_ThrottlingException, S_UnsupportedFeatureException,
	/* CancelFlow */
	S_AccessDeniedException, S_InternalServiceException, S_InvalidParameterException,
	S_ResourceInUseException, S_ResourceNotFoundException, S_ServiceUnavailableException,
	S_ThrottlingException, S_UnsupportedFeatureException,
	/* CreateEnvironment */
	S_AccessDeniedException, S_InternalServiceException, S_InvalidParameterException,
	S_LimitExceededException, S_ResourceExistsException, S_ResourceInUseException,
	S_ResourceNotFoundException, S_ServiceUnavailableException, S_ThrottlingException,
	S_UnsupportedFeatureException,
	/* CreateKey */
	S_AccessDeniedException, S_InternalServiceException, S_InvalidParameterException,
	S_ServiceUnavailableException, S_ThrottlingException, S_UnsupportedFeatureException,
	/* DeleteApplication */
	S_AccessDeniedException, S_InternalServiceException, S_InvalidParameterException,
	S_ResourceInUseException, S_ResourceNotFoundException, S_ServiceUnavailableException,
	S_ThrottlingException, S_UnsupportedFeatureException,
	/* DeleteEnvironment */
	S_AccessDeniedException, S_InternalServiceException, S_InvalidParameterException,
	S_ResourceInUseException, S_ResourceNotFoundException, S_ServiceUnavailableException,
	S_ThrottlingException, S_UnsupportedFeatureException,
	/* DeleteKey */
	S_AccessDeniedException, S_InternalServiceException, S_InvalidParameterException,
	S_ResourceInUseException, S_ResourceNotFoundException, S_ServiceUnavailableException,
	S_ThrottlingException, S_UnsupportedFeatureException,
	/* DeleteRepository */
	S_AccessDeniedException, S_InternalServiceException, S_InvalidParameterException,
	S_ResourceNotFoundException, S_ServiceUnavailableException, S_ThrottlingException,
	S_UnsupportedFeatureException,
	/* DescribeDns */
	S_AccessDeniedException, S_InternalServiceException, S_InvalidParameterException,
	S_ServiceUnavailableException, S_ThrottlingException, S_UnsupportedFeatureException,
	/* DescribeTraffic */
	S_AccessDeniedException, S_InternalServiceException, S_InvalidParameterException,
	S_ServiceUnavailableException, S_ThrottlingException, S_UnsupportedFeatureException,
	/* DiffEnvironment */
	S_AccessDeniedException, S_InternalServiceException, S_InvalidParameterException,
	S_ResourceNotFoundException, S_ServiceUnavailableException, S_ThrottlingException,
	S_UnsupportedFeatureException,
	/* EndCommandInput */
	S_AccessDeniedException, S_InternalServiceException, S_InvalidParameterException,
	S_ResourceNotFoundException, S_ServiceUnavailableException, S_ThrottlingException,
	S_UnsupportedFeatureException,
	/* ExecuteCommand */
	S_AccessDeniedException, S_InternalServiceException, S_InvalidParameterException,
	S_ResourceNotFoundException, S_ServiceUnavailableException, S_TaskNotReachableException,
	S_ThrottlingException, S_UnsupportedFeatureException,
	/* GetApplication */
	S_AccessDeniedException, S_InternalServiceException, S_InvalidParameterException,
	S_ResourceNotFoundException, S_ServiceUnavailableException, S_ThrottlingException,
	S_UnsupportedFeatureException,
	/* GetApplicationDeployment */
	S_AccessDeniedException, S_InternalServiceException, S_InvalidParameterException,
	S_ResourceNotFoundException, S_ServiceUnavailableException, S_ThrottlingException,
	S_UnsupportedFeatureException,
	/* GetApplicationDeploymentLog */
	S_AccessDeniedException, S_InternalServiceException, S_InvalidParameterException,
	S_ResourceNotFoundException, S_ServiceUnavailableException, S_ThrottlingException,
	S_UnsupportedFeatureException,
	/* GetApplicationState */
	S_AccessDeniedException, S_InternalServiceException, S_InvalidParameterException,
	S_ResourceNotFoundException, S_ServiceUnavailableException, S_ThrottlingException,
	S_UnsupportedFeatureException,
	/* GetApplicationSwitch */
	S_AccessDeniedException, S_InternalServiceException, S_InvalidParameterException,
	S_ServiceUnavailableException, S_ThrottlingException, S_UnsupportedFeatureException,
	/* GetDeployment */
	S_AccessDeniedException, S_InternalServiceException, S_InvalidParameterException,
	S_ResourceNotFoundException, S_ServiceUnavailableException, S_ThrottlingException,
	S_UnsupportedFeatureException,
	/* GetEnvironment */
	S_AccessDeniedException, S_InternalServiceException, S_InvalidParameterException,
	S_ResourceNotFoundException, S_ServiceUnavailableException, S_ThrottlingException,
	S_UnsupportedFeatureException,
	/* GetEnvironmentVersion */
	S_AccessDeniedException, S_InternalServiceException, S_InvalidParameterException,
	S_ResourceNotFoundException, S_ServiceUnavailableException, S_ThrottlingException,
	S_UnsupportedFeatureException,
	/* GetFlow */
	S_AccessDeniedException, S_InternalServiceException, S_InvalidParameterException,
	S_ResourceNotFoundException, S_ServiceUnavailableException, S_ThrottlingException,
	S_UnsupportedFeatureException,
	/* GetInstance */
	S_AccessDeniedException, S_InternalServiceException, S_InvalidParameterException,
	S_ResourceNotFoundException, S_ServiceUnavailableException, S_ThrottlingException,
	S_UnsupportedFeatureException,
	/* GetTaskLogs */
	S_AccessDeniedException, S_InternalServiceException, S_InvalidParameterException,
	S_ResourceNotFoundException, S_ServiceUnavailableException, S_TaskNotReachableException,
	S_ThrottlingException, S_UnsupportedFeatureException,
	/* ListApplicationDeployments */
	S_AccessDeniedException, S_InternalServiceException, S_InvalidParameterException,
	S_ResourceNotFoundException, S_ServiceUnavailableException, S_ThrottlingException,
	S_UnsupportedFeatureException,
	/* ListApplications */
	S_AccessDeniedException, S_InternalServiceException, S_InvalidParameterException,
	S_ServiceUnavailableException, S_ThrottlingException, S_UnsupportedFeatureException,
	/* ListDeployments */
	S_AccessDeniedException, S_InternalServiceException, S_InvalidParameterException,
	S_ResourceNotFoundException, S_ServiceUnavailableException, S_ThrottlingException,
	S_UnsupportedFeatureException,
	/* ListDeploymentsByStatus */
	S_AccessDeniedException, S_InternalServiceException, S_InvalidParameterException,
	S_ServiceUnavailableException, S_ThrottlingException, S_UnsupportedFeatureException,
	/* ListEnvironmentVersions */
	S_AccessDeniedException, S_InternalServiceException, S_InvalidParameterException,
	S_ResourceNotFoundException, S_ServiceUnavailableException, S_ThrottlingException,
	S_UnsupportedFeatureException,
	/* ListEnvironments */
	S_AccessDeniedException, S_InternalServiceException, S_InvalidParameterException,
	S_ServiceUnavailableException, S_ThrottlingException, S_UnsupportedFeatureException,
	/* ListFlows */
	S_AccessDeniedException, S_InternalServiceException, S_InvalidParameterException,
	S_ResourceNotFoundException, S_ServiceUnavailableException, S_ThrottlingException,
	S_UnsupportedFeatureException,
	/* ListInstances */
	S_AccessDeniedException, S_InternalServiceException, S_InvalidParameterException,
	S_ResourceNotFoundException, S_ServiceUnavailableException, S_ThrottlingException,
	S_UnsupportedFeatureException,
	/* ListKeys */
	S_AccessDeniedException, S_InternalServiceException, S_InvalidParameterException,
	S_ServiceUnavailableException, S_ThrottlingException, S_UnsupportedFeatureException,
	/* ListRepositories */
	S_AccessDeniedException, S_InternalServiceException, S_InvalidParameterException,
	S_ServiceUnavailableException, S_ThrottlingException, S_UnsupportedFeatureException,
	/* ListTasks */
	S_AccessDeniedException, S_InternalServiceException, S_InvalidParameterException,
	S_ResourceNotFoundException, S_ServiceUnavailableException, S_ThrottlingException,
	S_UnsupportedFeatureException,
	/* PollRepository */
	S_AccessDeniedException, S_InternalServiceException, S_InvalidParameterException,
	S_ResourceNotFoundException, S_ServiceUnavailableException, S_ThrottlingException,
	S_UnsupportedFeatureException,
	/* PostEcsEvents */
	S_AccessDeniedException, S_InternalServiceException, S_InvalidParameterException,
	S_ServiceUnavailableException, S_ThrottlingException, S_UnsupportedFeatureException,
	/* RejectApplicationStage */
	S_AccessDeniedException, S_InternalServiceException, S_InvalidParameterException,
	S_ResourceInUseException, S_ResourceNotFoundException, S_ServiceUnavailableException,
	S_ThrottlingException, S_UnsupportedFeatureException,
	/* RejectFlowNode */
	S_AccessDeniedException, S_InternalServiceException, S_InvalidParameterException,
	S_ResourceInUseException, S_ResourceNotFoundException, S_ServiceUnavailableException,
	S_ThrottlingException, S_UnsupportedFeatureException,
	/* ResizeCommandTerminal */
	S_AccessDeniedException, S_InternalServiceException, S_InvalidParameterException,
	S_ResourceNotFoundException, S_ServiceUnavailableException, S_ThrottlingException,
	S_UnsupportedFeatureException,
	/* ResumeApplications */
	S_AccessDeniedException, S_InternalServiceException, S_InvalidParameterException,
	S_ServiceUnavailableException, S_ThrottlingException, S_UnsupportedFeatureException,
	/* RetryApplicationRollback */
	S_AccessDeniedException, S_InternalServiceException, S_InvalidParameterException,
	S_ResourceInUseException, S_ResourceNotFoundException, S_ServiceUnavailableException,
	S_ThrottlingException, S_UnsupportedFeatureException,
	/* RetryFlow */
	S_AccessDeniedException, S_InternalServiceException, S_InvalidParameterException,
	S_ResourceInUseException, S_ResourceNotFoundException, S_ServiceUnavailableException,
	S_ThrottlingException, S_UnsupportedFeatureException,
	/* RollBackApplicationDeployment */
	S_AccessDeniedException, S_InternalServiceException, S_InvalidParameterException,
	S_ResourceInUseException, S_ResourceNotFoundException, S_ServiceUnavailableException,
	S_ThrottlingException, S_UnsupportedFeatureException,
	/* RollbackDeployment */
	S_AccessDeniedException, S_InternalServiceException, S_InvalidParameterException,
	S_ResourceExistsException, S_ResourceInUseException, S_ResourceNotFoundException,
	S_ServiceUnavailableException, S_ThrottlingException, S_UnsupportedFeatureException,
	S_VersionConflictException,
	/* SendCommandInput */
	S_AccessDeniedException, S_InternalServiceException, S_InvalidParameterException,
	S_ResourceNotFoundException, S_ServiceUnavailableException, S_ThrottlingException,
	S_UnsupportedFeatureException,
	/* SkipApplicationStage */
	S_AccessDeniedException, S_InternalServiceException, S_InvalidParameterException,
	S_ResourceInUseException, S_ResourceNotFoundException, S_ServiceUnavailableException,
	S_ThrottlingException, S_UnsupportedFeatureException,
	/* StartDeployment */
	S_AccessDeniedException, S_InternalServiceException, S_InvalidParameterException,
	S_ResourceExistsException, S_ResourceInUseException, S_ResourceNotFoundException,
	S_ServiceUnavailableException, S_ThrottlingException, S_UnsupportedFeatureException,
	S_VersionConflictException,
	/* StopApplications */
	S_AccessDeniedException, S_InternalServiceException, S_InvalidParameterException,
	S_ServiceUnavailableException, S_ThrottlingException, S_UnsupportedFeatureException,
	/* StopDeployment */
	S_AccessDeniedException, S_InternalServiceException, S_InvalidParameterException,
	S_ResourceInUseException, S_ResourceNotFoundException, S_ServiceUnavailableException,
	S_ThrottlingException, S_UnsupportedFeatureException,
	/* StreamDeployments */
	S_AccessDeniedException, S_EntityVersionTooOldException, S_InternalServiceException,
	S_InvalidParameterException, S_ServiceUnavailableException, S_ThrottlingException,
	S_UnsupportedFeatureException,
	/* StreamFlowNodes */
	S_AccessDeniedException, S_EntityVersionTooOldException, S_InternalServiceException,
	S_InvalidParameterException, S_ResourceNotFoundException, S_ServiceUnavailableException,
	S_ThrottlingException, S_UnsupportedFeatureException,
	/* StreamFlows */
	S_AccessDeniedException, S_EntityVersionTooOldException, S_InternalServiceException,
	S_InvalidParameterException, S_ResourceNotFoundException, S_ServiceUnavailableException,
	S_ThrottlingException, S_UnsupportedFeatureException,
	/* StreamInstances */
	S_AccessDeniedException, S_EntityVersionTooOldException, S_InternalServiceException,
	S_InvalidParameterException, S_ResourceNotFoundException, S_ServiceUnavailableException,
	S_ThrottlingException, S_UnsupportedFeatureException,
	/* StreamTasks */
	S_AccessDeniedException, S_EntityVersionTooOldException, S_InternalServiceException,
	S_InvalidParameterException, S_ResourceNotFoundException, S_ServiceUnavailableException,
	S_ThrottlingException, S_UnsupportedFeatureException,
	/* SyncApplication */
	S_AccessDeniedException, S_InternalServiceException, S_InvalidParameterException,
	S_LimitExceededException, S_ResourceInUseException, S_ResourceNotFoundException,
	S_ServiceUnavailableException, S_ThrottlingException, S_UnsupportedFeatureException,
	/* UpdateEnvironment */
	S_AccessDeniedException, S_InternalServiceException, S_InvalidParameterException,
	S_ResourceExistsException, S_ResourceInUseException, S_ResourceNotFoundException,
	S_ServiceUnavailableException, S_ThrottlingException, S_UnsupportedFeatureException,
	S_VersionConflictException,
};

static const struct shape_operation operations[] = {
	OPERATION(AddApplication, AddApplicationRequest, Application, InvalidParameterException),
	OPERATION(AddRepository, AddRepositoryRequest, Repository, InvalidParameterException),
	OPERATION(ApproveApplicationStage, ApproveApplicationStageRequest, ApplicationDeployment, InvalidParameterException),
	OPERATION(ApproveFlowNode, ApproveFlowNodeRequest, Flow, InvalidParameterException),
	OPERATION(CancelApplicationDeployment, CancelApplicationDeploymentRequest, ApplicationDeployment, InvalidParameterException),
	OPERATION(CancelFlow, CancelFlowRequest, Flow, InvalidParameterException),
	OPERATION(CreateEnvironment, CreateEnvironmentRequest, CreateEnvironmentResponse, InvalidParameterException),
	OPERATION(CreateKey, CreateKeyRequest, CreateKeyResponse, InvalidParameterException),
	OPERATION(DeleteApplication, DeleteApplicationRequest, DeleteApplicationResponse, InvalidParameterException),
	OPERATION(DeleteEnvironment, DeleteEnvironmentRequest, DeleteEnvironmentResponse, InvalidParameterException),
	OPERATION(DeleteKey, DeleteKeyRequest, DeleteKeyResponse, InvalidParameterException),
	OPERATION(DeleteRepository, DeleteRepositoryRequest, DeleteRepositoryResponse, InvalidParameterException),
	OPERATION(DescribeDns, DescribeDnsRequest, DescribeDnsResponse, InvalidParameterException),
	OPERATION(DescribeTraffic, DescribeTrafficRequest, DescribeTrafficResponse, InvalidParameterException),
	OPERATION(DiffEnvironment, DiffEnvironmentRequest, DiffEnvironmentResponse, InvalidParameterException),
	OPERATION(EndCommandInput, EndCommandInputRequest, EndCommandInputResponse, InvalidParameterException),
	OPERATION(ExecuteCommand, ExecuteCommandRequest, StreamResponse, InvalidParameterException),
	OPERATION(GetApplication, GetApplicationRequest, Application, InvalidParameterException),
	OPERATION(GetApplicationDeployment, GetApplicationDeploymentRequest, ApplicationDeployment, InvalidParameterException),
	OPERATION(GetApplicationDeploymentLog, GetApplicationDeploymentLogRequest, GetApplicationDeploymentLogResponse, InvalidParameterException),
	OPERATION(GetApplicationState, GetApplicationStateRequest, ApplicationLiveState, InvalidParameterException),
	OPERATION(GetApplicationSwitch, ApplicationSwitchRequest, ApplicationSwitch, InvalidParameterException),
	OPERATION(GetDeployment, GetDeploymentRequest, Deployment, InvalidParameterException),
	OPERATION(GetEnvironment, GetEnvironmentRequest, Environment, InvalidParameterException),
	OPERATION(GetEnvironmentVersion, GetEnvironmentVersionRequest, EnvironmentVersion, InvalidParameterException),
	OPERATION(GetFlow, GetFlowRequest, FlowDescription, InvalidParameterException),
	OPERATION(GetInstance, GetInstanceRequest, Instance, InvalidParameterException),
	OPERATION(GetTaskLogs, GetTaskLogsRequest, StreamResponse, InvalidParameterException),
	OPERATION(ListApplicationDeployments, ListApplicationDeploymentsRequest, ListApplicationDeploymentsResponse, InvalidParameterException),
	OPERATION(ListApplications, ListApplicationsRequest, ListApplicationsResponse, InvalidParameterException),
	OPERATION(ListDeployments, ListDeploymentsRequest, ListDeploymentsResponse, InvalidParameterException),
	OPERATION(ListDeploymentsByStatus, ListDeploymentsByStatusRequest, ListDeploymentsByStatusResponse, InvalidParameterException),
	OPERATION(ListEnvironmentVersions, ListEnvironmentVersionsRequest, ListEnvironmentVersionsResponse, InvalidParameterException),
	OPERATION(ListEnvironments, ListEnvironmentsRequest, ListEnvironmentsResponse, InvalidParameterException),
	OPERATION(ListFlows, ListFlowsRequest, ListFlowsResponse, InvalidParameterException),
	OPERATION(ListInstances, ListInstancesRequest, ListInstancesResponse, InvalidParameterException),
	OPERATION(ListKeys, ListKeysRequest, ListKeysResponse, InvalidParameterException),
	OPERATION(ListRepositories, ListRepositoriesRequest, ListRepositoriesResponse, InvalidParameterException),
	OPERATION(ListTasks, ListTasksRequest, ListTasksResponse, InvalidParameterException),
	OPERATION(PollRepository, PollRepositoryRequest, Repository, InvalidParameterException),
	OPERATION(PostEcsEvents, PostEcsEventsRequest, PostEcsEventsResponse, InvalidParameterException),
	OPERATION(RejectApplicationStage, ApproveApplicationStageRequest, ApplicationDeployment, InvalidParameterException),
	OPERATION(RejectFlowNode, ApproveFlowNodeRequest, Flow, InvalidParameterException),
	OPERATION(ResizeCommandTerminal, ResizeCommandTerminalRequest, ResizeCommandTerminalResponse, InvalidParameterException),
	OPERATION(ResumeApplications, ApplicationSwitchRequest, ApplicationSwitch, InvalidParameterException),
	OPERATION(RetryApplicationRollback, RetryApplicationRollbackRequest, ApplicationDeployment, InvalidParameterException),
	OPERATION(RetryFlow, RetryFlowRequest, Flow, InvalidParameterException),
	OPERATION(RollBackApplicationDeployment, RetryApplicationRollbackRequest, ApplicationDeployment, InvalidParameterException),
	OPERATION(RollbackDeployment, RollbackDeploymentRequest, RollbackDeploymentResponse, InvalidParameterException),
	OPERATION(SendCommandInput, SendCommandInputRequest, SendCommandInputResponse, InvalidParameterException),
	OPERATION(SkipApplicationStage, SkipApplicationStageRequest, ApplicationDeployment, InvalidParameterException),
	OPERATION(StartDeployment, StartDeploymentRequest, StartDeploymentResponse, InvalidParameterException),
	OPERATION(StopApplications, StopApplicationsRequest, ApplicationSwitch, InvalidParameterException),
	OPERATION(StopDeployment, StopDeploymentRequest, StopDeploymentResponse, InvalidParameterException),
	OPERATION(StreamDeployments, StreamDeploymentsRequest, StreamResponse, InvalidParameterException),
	OPERATION(StreamFlowNodes, StreamFlowNodesRequest, StreamResponse, InvalidParameterException),
	OPERATION(StreamFlows, StreamFlowsRequest, StreamResponse, InvalidParameterException),
	OPERATION(StreamInstances, StreamInstancesRequest, StreamResponse, InvalidParameterException),
	OPERATION(StreamTasks, StreamTasksRequest, StreamResponse, InvalidParameterException),
	OPERATION(SyncApplication, SyncApplicationRequest, SyncApplicationResponse, InvalidParameterException),
	OPERATION(UpdateEnvironment, UpdateEnvironmentRequest, UpdateEnvironmentResponse, InvalidParameterException),
};

const struct shape_service shape_slipway = {
	.name = "slipway",
	.signing_name = "slipway",
	.protocol = "rest-json",
	.version = "2026-11-17",
	.target_prefix = "",
	SHAPE_TABLES,
};
