/*
 * The shapes of Elastic Load Balancing.
 * Written by tools/generate-shapes; change that, or tools/shapes-elasticloadbalancingv2.json, and write it
 * again.
 */
/* clang-format off */
#include "aws/shape_table.h"

/* Every text of the table once; TEXT_ is for those that are no C identifier. */
#define NAMES(WORD_, TEXT_) \
	WORD_(ACTIVE) WORD_(ALPNPolicyNotFound) WORD_(ALPNPolicyNotSupportedException) \
	WORD_(Action) WORD_(ActionTypeEnum) WORD_(Actions) WORD_(AddListenerCertificates) \
	WORD_(AddListenerCertificatesInput) WORD_(AddListenerCertificatesOutput) WORD_(AddTags) \
	WORD_(AddTagsInput) WORD_(AddTagsOutput) WORD_(AddTrustStoreRevocations) \
	WORD_(AddTrustStoreRevocationsInput) WORD_(AddTrustStoreRevocationsOutput) \
	WORD_(AdditionalClaims) WORD_(AdministrativeOverride) \
	TEXT_(AdministrativeOverride_NoOverride, "AdministrativeOverride.NoOverride") \
	TEXT_(AdministrativeOverride_Unknown, "AdministrativeOverride.Unknown") \
	TEXT_(AdministrativeOverride_ZonalShiftActive, "AdministrativeOverride.ZonalShiftActive") \
	TEXT_(AdministrativeOverride_ZonalShiftDelegatedToDns, "AdministrativeOverride.ZonalShiftDelegatedToDns") \
	WORD_(AdvertiseTrustStoreCaNames) WORD_(AdvertiseTrustStoreCaNamesEnum) WORD_(All) \
	WORD_(AllocationId) WORD_(AllocationIdNotFound) WORD_(AllocationIdNotFoundException) \
	WORD_(AlpnPolicy) WORD_(AnomalyDetection) WORD_(AnomalyResultEnum) \
	WORD_(AssociationNotFound) WORD_(Attributes) \
	WORD_(AuthenticateCognitoActionConditionalBehaviorEnum) \
	WORD_(AuthenticateCognitoActionConfig) WORD_(AuthenticateCognitoConfig) \
	WORD_(AuthenticateOidcActionConditionalBehaviorEnum) WORD_(AuthenticateOidcActionConfig) \
	WORD_(AuthenticateOidcConfig) WORD_(AuthenticationRequestExtraParams) \
	WORD_(AuthorizationEndpoint) WORD_(AvailabilityZone) WORD_(AvailabilityZoneNotSupported) \
	WORD_(AvailabilityZoneNotSupportedException) WORD_(AvailabilityZones) WORD_(CREATING) \
	WORD_(CRL) WORD_(CaCertificatesBundleNotFound) \
	WORD_(CaCertificatesBundleNotFoundException) WORD_(CaCertificatesBundleS3Bucket) \
	WORD_(CaCertificatesBundleS3Key) WORD_(CaCertificatesBundleS3ObjectVersion) \
	WORD_(CanonicalHostedZoneId) WORD_(CapacityDecreaseRequestLimitExceeded) \
	WORD_(CapacityDecreaseRequestsLimitExceededException) WORD_(CapacityReservationPending) \
	WORD_(CapacityReservationPendingException) WORD_(CapacityReservationState) \
	WORD_(CapacityReservationStateEnum) WORD_(CapacityReservationStatus) WORD_(CapacityUnits) \
	WORD_(CapacityUnitsLimitExceeded) WORD_(CapacityUnitsLimitExceededException) \
	WORD_(Certificate) WORD_(CertificateArn) WORD_(CertificateNotFound) \
	WORD_(CertificateNotFoundException) WORD_(Certificates) WORD_(Cipher) WORD_(Ciphers) \
	WORD_(ClientId) WORD_(ClientSecret) WORD_(Code) WORD_(Conditions) WORD_(ContentType) \
	WORD_(CreateListener) WORD_(CreateListenerInput) WORD_(CreateListenerOutput) \
	WORD_(CreateLoadBalancer) WORD_(CreateLoadBalancerInput) WORD_(CreateLoadBalancerOutput) \
	WORD_(CreateRule) WORD_(CreateRuleInput) WORD_(CreateRuleOutput) WORD_(CreateTargetGroup) \
	WORD_(CreateTargetGroupInput) WORD_(CreateTargetGroupOutput) WORD_(CreateTrustStore) \
	WORD_(CreateTrustStoreInput) WORD_(CreateTrustStoreOutput) WORD_(CreatedTime) \
	WORD_(CustomerOwnedIpv4Pool) WORD_(DNSName) WORD_(DecreaseRequestsRemaining) \
	WORD_(DefaultActions) WORD_(DeleteAssociationSameAccount) \
	WORD_(DeleteAssociationSameAccountException) WORD_(DeleteListener) \
	WORD_(DeleteListenerInput) WORD_(DeleteListenerOutput) WORD_(DeleteLoadBalancer) \
	WORD_(DeleteLoadBalancerInput) WORD_(DeleteLoadBalancerOutput) WORD_(DeleteRule) \
	WORD_(DeleteRuleInput) WORD_(DeleteRuleOutput) WORD_(DeleteSharedTrustStoreAssociation) \
	WORD_(DeleteSharedTrustStoreAssociationInput) \
	WORD_(DeleteSharedTrustStoreAssociationOutput) WORD_(DeleteTargetGroup) \
	WORD_(DeleteTargetGroupInput) WORD_(DeleteTargetGroupOutput) WORD_(DeleteTrustStore) \
	WORD_(DeleteTrustStoreInput) WORD_(DeleteTrustStoreOutput) WORD_(DeregisterTargets) \
	WORD_(DeregisterTargetsInput) WORD_(DeregisterTargetsOutput) WORD_(DescribeAccountLimits) \
	WORD_(DescribeAccountLimitsInput) WORD_(DescribeAccountLimitsOutput) \
	WORD_(DescribeCapacityReservation) WORD_(DescribeCapacityReservationInput) \
	WORD_(DescribeCapacityReservationOutput) WORD_(DescribeListenerAttributes) \
	WORD_(DescribeListenerAttributesInput) WORD_(DescribeListenerAttributesOutput) \
	WORD_(DescribeListenerCertificates) WORD_(DescribeListenerCertificatesInput) \
	WORD_(DescribeListenerCertificatesOutput) WORD_(DescribeListeners) \
	WORD_(DescribeListenersInput) WORD_(DescribeListenersOutput) \
	WORD_(DescribeLoadBalancerAttributes) WORD_(DescribeLoadBalancerAttributesInput) \
	WORD_(DescribeLoadBalancerAttributesOutput) WORD_(DescribeLoadBalancers) \
	WORD_(DescribeLoadBalancersInput) WORD_(DescribeLoadBalancersOutput) WORD_(DescribeRules) \
	WORD_(DescribeRulesInput) WORD_(DescribeRulesOutput) WORD_(DescribeSSLPolicies) \
	WORD_(DescribeSSLPoliciesInput) WORD_(DescribeSSLPoliciesOutput) WORD_(DescribeTags) \
	WORD_(DescribeTagsInput) WORD_(DescribeTagsOutput) WORD_(DescribeTargetGroupAttributes) \
	WORD_(DescribeTargetGroupAttributesInput) WORD_(DescribeTargetGroupAttributesOutput) \
	WORD_(DescribeTargetGroups) WORD_(DescribeTargetGroupsInput) \
	WORD_(DescribeTargetGroupsOutput) WORD_(DescribeTargetHealth) \
	WORD_(DescribeTargetHealthInput) WORD_(DescribeTargetHealthInputIncludeEnum) \
	WORD_(DescribeTargetHealthOutput) WORD_(DescribeTrustStoreAssociations) \
	WORD_(DescribeTrustStoreAssociationsInput) WORD_(DescribeTrustStoreAssociationsOutput) \
	WORD_(DescribeTrustStoreRevocation) WORD_(DescribeTrustStoreRevocations) \
	WORD_(DescribeTrustStoreRevocationsInput) WORD_(DescribeTrustStoreRevocationsOutput) \
	WORD_(DescribeTrustStores) WORD_(DescribeTrustStoresInput) \
	WORD_(DescribeTrustStoresOutput) WORD_(Description) WORD_(DuplicateListener) \
	WORD_(DuplicateListenerException) WORD_(DuplicateLoadBalancerName) \
	WORD_(DuplicateLoadBalancerNameException) WORD_(DuplicateTagKeys) \
	WORD_(DuplicateTagKeysException) WORD_(DuplicateTargetGroupName) \
	WORD_(DuplicateTargetGroupNameException) WORD_(DuplicateTrustStoreName) \
	WORD_(DuplicateTrustStoreNameException) WORD_(DurationSeconds) \
	WORD_(EffectiveCapacityUnits) \
	TEXT_(Elb_InitialHealthChecking, "Elb.InitialHealthChecking") \
	TEXT_(Elb_InternalError, "Elb.InternalError") \
	TEXT_(Elb_RegistrationInProgress, "Elb.RegistrationInProgress") \
	WORD_(EnablePrefixForIpv6SourceNat) WORD_(EnablePrefixForIpv6SourceNatEnum) WORD_(Enabled) \
	WORD_(EnforceSecurityGroupInboundRulesOnPrivateLinkTraffic) \
	WORD_(EnforceSecurityGroupInboundRulesOnPrivateLinkTrafficEnum) WORD_(Field) \
	WORD_(FixedResponseActionConfig) WORD_(FixedResponseConfig) WORD_(Format) \
	WORD_(ForwardActionConfig) WORD_(ForwardConfig) WORD_(GENEVE) WORD_(GetResourcePolicy) \
	WORD_(GetResourcePolicyInput) WORD_(GetResourcePolicyOutput) \
	WORD_(GetTrustStoreCaCertificatesBundle) WORD_(GetTrustStoreCaCertificatesBundleInput) \
	WORD_(GetTrustStoreCaCertificatesBundleOutput) WORD_(GetTrustStoreRevocationContent) \
	WORD_(GetTrustStoreRevocationContentInput) WORD_(GetTrustStoreRevocationContentOutput) \
	WORD_(GrpcCode) WORD_(HTTP) WORD_(HTTPS) WORD_(HTTP_301) WORD_(HTTP_302) \
	WORD_(HealthCheckEnabled) WORD_(HealthCheckIntervalSeconds) WORD_(HealthCheckPath) \
	WORD_(HealthCheckPort) WORD_(HealthCheckProtocol) WORD_(HealthCheckTimeoutSeconds) \
	WORD_(HealthUnavailable) WORD_(HealthUnavailableException) WORD_(HealthyThresholdCount) \
	WORD_(Host) WORD_(HostHeaderConditionConfig) WORD_(HostHeaderConfig) \
	WORD_(HostHeaderRewriteConfig) WORD_(HttpCode) WORD_(HttpHeaderConditionConfig) \
	WORD_(HttpHeaderConfig) WORD_(HttpHeaderName) WORD_(HttpRequestMethodConditionConfig) \
	WORD_(HttpRequestMethodConfig) WORD_(IPv6Address) WORD_(Id) \
	WORD_(IgnoreClientCertificateExpiry) WORD_(Include) WORD_(IncompatibleProtocols) \
	WORD_(IncompatibleProtocolsException) WORD_(InsufficientCapacity) \
	WORD_(InsufficientCapacityException) WORD_(InvalidCaCertificatesBundle) \
	WORD_(InvalidCaCertificatesBundleException) WORD_(InvalidConfigurationRequest) \
	WORD_(InvalidConfigurationRequestException) WORD_(InvalidLoadBalancerAction) \
	WORD_(InvalidLoadBalancerActionException) WORD_(InvalidRevocationContent) \
	WORD_(InvalidRevocationContentException) WORD_(InvalidScheme) \
	WORD_(InvalidSchemeException) WORD_(InvalidSecurityGroup) \
	WORD_(InvalidSecurityGroupException) WORD_(InvalidSubnet) WORD_(InvalidSubnetException) \
	WORD_(InvalidTarget) WORD_(InvalidTargetException) WORD_(IpAddress) WORD_(IpAddressType) \
	WORD_(IpamPools) WORD_(Ipv4IpamPoolId) WORD_(IsDefault) WORD_(Issuer) WORD_(JwksEndpoint) \
	WORD_(JwtValidationActionAdditionalClaim) \
	WORD_(JwtValidationActionAdditionalClaimFormatEnum) WORD_(JwtValidationActionConfig) \
	WORD_(JwtValidationConfig) WORD_(Key) WORD_(LastModifiedTime) WORD_(Limit) WORD_(Limits) \
	WORD_(Listener) WORD_(ListenerArn) WORD_(ListenerArns) WORD_(ListenerAttribute) \
	WORD_(ListenerNotFound) WORD_(ListenerNotFoundException) WORD_(Listeners) \
	WORD_(LoadBalancer) WORD_(LoadBalancerAddress) WORD_(LoadBalancerAddresses) \
	WORD_(LoadBalancerArn) WORD_(LoadBalancerArns) WORD_(LoadBalancerAttribute) \
	WORD_(LoadBalancerName) WORD_(LoadBalancerNotFound) WORD_(LoadBalancerNotFoundException) \
	WORD_(LoadBalancerSchemeEnum) WORD_(LoadBalancerState) WORD_(LoadBalancerStateEnum) \
	WORD_(LoadBalancerType) WORD_(LoadBalancerTypeEnum) WORD_(LoadBalancers) WORD_(Location) \
	WORD_(Marker) WORD_(Matcher) WORD_(Max) WORD_(Message) WORD_(MessageBody) \
	WORD_(MinimumLoadBalancerCapacity) WORD_(MitigationInEffect) WORD_(MitigationInEffectEnum) \
	WORD_(Mode) WORD_(ModifyCapacityReservation) WORD_(ModifyCapacityReservationInput) \
	WORD_(ModifyCapacityReservationOutput) WORD_(ModifyIpPools) WORD_(ModifyIpPoolsInput) \
	WORD_(ModifyIpPoolsOutput) WORD_(ModifyListener) WORD_(ModifyListenerAttributes) \
	WORD_(ModifyListenerAttributesInput) WORD_(ModifyListenerAttributesOutput) \
	WORD_(ModifyListenerInput) WORD_(ModifyListenerOutput) WORD_(ModifyLoadBalancerAttributes) \
	WORD_(ModifyLoadBalancerAttributesInput) WORD_(ModifyLoadBalancerAttributesOutput) \
	WORD_(ModifyRule) WORD_(ModifyRuleInput) WORD_(ModifyRuleOutput) WORD_(ModifyTargetGroup) \
	WORD_(ModifyTargetGroupAttributes) WORD_(ModifyTargetGroupAttributesInput) \
	WORD_(ModifyTargetGroupAttributesOutput) WORD_(ModifyTargetGroupInput) \
	WORD_(ModifyTargetGroupOutput) WORD_(ModifyTrustStore) WORD_(ModifyTrustStoreInput) \
	WORD_(ModifyTrustStoreOutput) WORD_(MutualAuthentication) \
	WORD_(MutualAuthenticationAttributes) WORD_(Name) WORD_(Names) WORD_(NextMarker) \
	WORD_(NumberOfCaCertificates) WORD_(NumberOfRevokedEntries) \
	WORD_(OnUnauthenticatedRequest) WORD_(OperationNotPermitted) \
	WORD_(OperationNotPermittedException) WORD_(Order) WORD_(OutpostId) WORD_(PageSize) \
	WORD_(Path) WORD_(PathPatternConditionConfig) WORD_(PathPatternConfig) WORD_(Policy) \
	WORD_(Port) WORD_(PriorRequestNotComplete) WORD_(PriorRequestNotCompleteException) \
	WORD_(Priority) WORD_(PriorityInUse) WORD_(PriorityInUseException) \
	WORD_(PrivateIPv4Address) WORD_(Protocol) WORD_(ProtocolEnum) WORD_(ProtocolVersion) \
	WORD_(QUIC) WORD_(Query) WORD_(QueryStringConditionConfig) WORD_(QueryStringConfig) \
	WORD_(QueryStringKeyValuePair) WORD_(QuicServerId) WORD_(Reason) \
	WORD_(RedirectActionConfig) WORD_(RedirectActionStatusCodeEnum) WORD_(RedirectConfig) \
	WORD_(Regex) WORD_(RegexValues) WORD_(RegisterTargets) WORD_(RegisterTargetsInput) \
	WORD_(RegisterTargetsOutput) WORD_(RemoveIpamPoolEnum) WORD_(RemoveIpamPools) \
	WORD_(RemoveListenerCertificates) WORD_(RemoveListenerCertificatesInput) \
	WORD_(RemoveListenerCertificatesOutput) WORD_(RemoveTags) WORD_(RemoveTagsInput) \
	WORD_(RemoveTagsOutput) WORD_(RemoveTrustStoreRevocations) \
	WORD_(RemoveTrustStoreRevocationsInput) WORD_(RemoveTrustStoreRevocationsOutput) \
	WORD_(Replace) WORD_(ResetCapacityReservation) WORD_(ResetTransforms) WORD_(ResourceArn) \
	WORD_(ResourceArns) WORD_(ResourceInUse) WORD_(ResourceInUseException) \
	WORD_(ResourceNotFound) WORD_(ResourceNotFoundException) WORD_(Result) \
	WORD_(RevocationContent) WORD_(RevocationContentNotFound) \
	WORD_(RevocationContentNotFoundException) WORD_(RevocationContents) WORD_(RevocationId) \
	WORD_(RevocationIdNotFound) WORD_(RevocationIdNotFoundException) WORD_(RevocationIds) \
	WORD_(RevocationType) WORD_(RewriteConfig) WORD_(Rewrites) WORD_(Rule) WORD_(RuleArn) \
	WORD_(RuleArns) WORD_(RuleCondition) WORD_(RuleNotFound) WORD_(RuleNotFoundException) \
	WORD_(RulePriorities) WORD_(RulePriorityPair) WORD_(RuleTransform) WORD_(Rules) \
	WORD_(S3Bucket) WORD_(S3Key) WORD_(S3ObjectVersion) WORD_(SSLPolicyNotFound) \
	WORD_(SSLPolicyNotFoundException) WORD_(Scheme) WORD_(Scope) WORD_(SecurityGroupIds) \
	WORD_(SecurityGroups) WORD_(SessionCookieName) WORD_(SessionTimeout) \
	WORD_(SetIpAddressType) WORD_(SetIpAddressTypeInput) WORD_(SetIpAddressTypeOutput) \
	WORD_(SetRulePriorities) WORD_(SetRulePrioritiesInput) WORD_(SetRulePrioritiesOutput) \
	WORD_(SetSecurityGroups) WORD_(SetSecurityGroupsInput) WORD_(SetSecurityGroupsOutput) \
	WORD_(SetSubnets) WORD_(SetSubnetsInput) WORD_(SetSubnetsOutput) \
	WORD_(SourceIpAddressTypeEnum) WORD_(SourceIpConditionConfig) WORD_(SourceIpConfig) \
	WORD_(SourceNatIpv6Prefix) WORD_(SourceNatIpv6Prefixes) WORD_(SslPolicies) \
	WORD_(SslPolicy) WORD_(SslProtocols) WORD_(State) WORD_(Status) WORD_(StatusCode) \
	WORD_(SubnetId) WORD_(SubnetMapping) WORD_(SubnetMappings) WORD_(SubnetNotFound) \
	WORD_(SubnetNotFoundException) WORD_(Subnets) WORD_(SupportedLoadBalancerTypes) WORD_(TCP) \
	WORD_(TCP_QUIC) WORD_(TCP_UDP) WORD_(TLS) WORD_(Tag) WORD_(TagDescription) \
	WORD_(TagDescriptions) WORD_(TagKeys) WORD_(Tags) WORD_(Target) \
	TEXT_(Target_DeregistrationInProgress, "Target.DeregistrationInProgress") \
	TEXT_(Target_FailedHealthChecks, "Target.FailedHealthChecks") \
	TEXT_(Target_HealthCheckDisabled, "Target.HealthCheckDisabled") \
	TEXT_(Target_InvalidState, "Target.InvalidState") \
	TEXT_(Target_IpUnusable, "Target.IpUnusable") TEXT_(Target_NotInUse, "Target.NotInUse") \
	TEXT_(Target_NotRegistered, "Target.NotRegistered") \
	TEXT_(Target_ResponseCodeMismatch, "Target.ResponseCodeMismatch") \
	TEXT_(Target_Timeout, "Target.Timeout") WORD_(TargetAdministrativeOverrideReasonEnum) \
	WORD_(TargetAdministrativeOverrideStateEnum) WORD_(TargetControlPort) \
	WORD_(TargetDescription) WORD_(TargetGroup) WORD_(TargetGroupArn) WORD_(TargetGroupArns) \
	WORD_(TargetGroupAssociationLimit) WORD_(TargetGroupAssociationLimitException) \
	WORD_(TargetGroupAttribute) WORD_(TargetGroupIpAddressTypeEnum) WORD_(TargetGroupName) \
	WORD_(TargetGroupNotFound) WORD_(TargetGroupNotFoundException) \
	WORD_(TargetGroupStickinessConfig) WORD_(TargetGroupTuple) WORD_(TargetGroups) \
	WORD_(TargetHealth) WORD_(TargetHealthDescription) WORD_(TargetHealthDescriptions) \
	WORD_(TargetHealthReasonEnum) WORD_(TargetHealthStateEnum) WORD_(TargetType) \
	WORD_(TargetTypeEnum) WORD_(Targets) WORD_(TokenEndpoint) WORD_(TooManyActions) \
	WORD_(TooManyActionsException) WORD_(TooManyCertificates) \
	WORD_(TooManyCertificatesException) WORD_(TooManyListeners) \
	WORD_(TooManyListenersException) WORD_(TooManyLoadBalancers) \
	WORD_(TooManyLoadBalancersException) WORD_(TooManyRegistrationsForTargetId) \
	WORD_(TooManyRegistrationsForTargetIdException) WORD_(TooManyRules) \
	WORD_(TooManyRulesException) WORD_(TooManyTags) WORD_(TooManyTagsException) \
	WORD_(TooManyTargetGroups) WORD_(TooManyTargetGroupsException) WORD_(TooManyTargets) \
	WORD_(TooManyTargetsException) WORD_(TooManyTrustStoreRevocationEntries) \
	WORD_(TooManyTrustStoreRevocationEntriesException) WORD_(TooManyTrustStores) \
	WORD_(TooManyTrustStoresException) WORD_(TooManyUniqueTargetGroupsPerLoadBalancer) \
	WORD_(TooManyUniqueTargetGroupsPerLoadBalancerException) WORD_(TotalRevokedEntries) \
	WORD_(TransformTypeEnum) WORD_(Transforms) WORD_(TrustStore) WORD_(TrustStoreArn) \
	WORD_(TrustStoreArns) WORD_(TrustStoreAssociation) \
	WORD_(TrustStoreAssociationNotFoundException) WORD_(TrustStoreAssociationStatus) \
	WORD_(TrustStoreAssociationStatusEnum) WORD_(TrustStoreAssociations) \
	WORD_(TrustStoreInUse) WORD_(TrustStoreInUseException) WORD_(TrustStoreNotFound) \
	WORD_(TrustStoreNotFoundException) WORD_(TrustStoreNotReady) \
	WORD_(TrustStoreNotReadyException) WORD_(TrustStoreRevocation) \
	WORD_(TrustStoreRevocations) WORD_(TrustStoreStatus) WORD_(TrustStores) WORD_(Type) \
	WORD_(UDP) WORD_(UnhealthyThresholdCount) WORD_(UnsupportedProtocol) \
	WORD_(UnsupportedProtocolException) WORD_(UrlRewriteConfig) WORD_(UseExistingClientSecret) \
	WORD_(UserInfoEndpoint) WORD_(UserPoolArn) WORD_(UserPoolClientId) WORD_(UserPoolDomain) \
	WORD_(ValidationError) WORD_(Value) WORD_(Values) WORD_(VpcId) WORD_(Weight) \
	WORD_(ZonalCapacityReservationState) WORD_(ZoneName) WORD_(active) WORD_(active_impaired) \
	WORD_(alb) WORD_(allow) WORD_(anomalous) WORD_(application) WORD_(authenticate) \
	TEXT_(authenticate_cognito, "authenticate-cognito") \
	TEXT_(authenticate_oidc, "authenticate-oidc") WORD_(deny) WORD_(draining) WORD_(dualstack) \
	TEXT_(dualstack_without_public_ipv4, "dualstack-without-public-ipv4") WORD_(failed) \
	TEXT_(fixed_response, "fixed-response") WORD_(forward) WORD_(gateway) WORD_(healthy) \
	TEXT_(host_header_rewrite, "host-header-rewrite") WORD_(initial) WORD_(instance) \
	WORD_(internal) TEXT_(internet_facing, "internet-facing") WORD_(ip) WORD_(ipv4) \
	WORD_(ipv6) TEXT_(jwt_validation, "jwt-validation") WORD_(lambda) WORD_(network) WORD_(no) \
	WORD_(no_override) WORD_(normal) WORD_(off) WORD_(on) WORD_(pending) WORD_(provisioned) \
	WORD_(provisioning) WORD_(rebalancing) WORD_(redirect) WORD_(removed) \
	TEXT_(single_string, "single-string") \
	TEXT_(space_separated_values, "space-separated-values") \
	TEXT_(string_array, "string-array") WORD_(unavailable) WORD_(unhealthy) \
	TEXT_(unhealthy_draining, "unhealthy.draining") WORD_(unknown) WORD_(unused) \
	TEXT_(url_rewrite, "url-rewrite") WORD_(yes) WORD_(zonal_shift_active) \
	WORD_(zonal_shift_delegated_to_dns)

SHAPE_NAMES(NAMES);

enum {
	S_ALPNPolicyNotSupportedException, S_Action, S_ActionTypeEnum,
	S_AddListenerCertificatesInput, S_AddListenerCertificatesOutput, S_AddTagsInput,
	S_AddTagsOutput, S_AddTrustStoreRevocationsInput, S_AddTrustStoreRevocationsOutput,
	S_AdministrativeOverride, S_AdvertiseTrustStoreCaNamesEnum, S_AllocationIdNotFoundException,
	S_AnomalyDetection, S_AnomalyResultEnum, S_AuthenticateCognitoActionConditionalBehaviorEnum,
	S_AuthenticateCognitoActionConfig, S_AuthenticateOidcActionConditionalBehaviorEnum,
	S_AuthenticateOidcActionConfig, S_AvailabilityZone, S_AvailabilityZoneNotSupportedException,
	S_CaCertificatesBundleNotFoundException, S_CapacityDecreaseRequestsLimitExceededException,
	S_CapacityReservationPendingException, S_CapacityReservationStateEnum,
	S_CapacityReservationStatus, S_CapacityUnitsLimitExceededException, S_Certificate,
	S_CertificateNotFoundException, S_Cipher, S_CreateListenerInput, S_CreateListenerOutput,
	S_CreateLoadBalancerInput, S_CreateLoadBalancerOutput, S_CreateRuleInput,
	S_CreateRuleOutput, S_CreateTargetGroupInput, S_CreateTargetGroupOutput,
	S_CreateTrustStoreInput, S_CreateTrustStoreOutput, S_DeleteAssociationSameAccountException,
	S_DeleteListenerInput, S_DeleteListenerOutput, S_DeleteLoadBalancerInput,
	S_DeleteLoadBalancerOutput, S_DeleteRuleInput, S_DeleteRuleOutput,
	S_DeleteSharedTrustStoreAssociationInput, S_DeleteSharedTrustStoreAssociationOutput,
	S_DeleteTargetGroupInput, S_DeleteTargetGroupOutput, S_DeleteTrustStoreInput,
	S_DeleteTrustStoreOutput, S_DeregisterTargetsInput, S_DeregisterTargetsOutput,
	S_DescribeAccountLimitsInput, S_DescribeAccountLimitsOutput,
	S_DescribeCapacityReservationInput, S_DescribeCapacityReservationOutput,
	S_DescribeListenerAttributesInput, S_DescribeListenerAttributesOutput,
	S_DescribeListenerCertificatesInput, S_DescribeListenerCertificatesOutput,
	S_DescribeListenersInput, S_DescribeListenersOutput, S_DescribeLoadBalancerAttributesInput,
	S_DescribeLoadBalancerAttributesOutput, S_DescribeLoadBalancersInput,
	S_DescribeLoadBalancersOutput, S_DescribeRulesInput, S_DescribeRulesOutput,
	S_DescribeSSLPoliciesInput, S_DescribeSSLPoliciesOutput, S_DescribeTagsInput,
	S_DescribeTagsOutput, S_DescribeTargetGroupAttributesInput,
	S_DescribeTargetGroupAttributesOutput, S_DescribeTargetGroupsInput,
	S_DescribeTargetGroupsOutput, S_DescribeTargetHealthInput,
	S_DescribeTargetHealthInputIncludeEnum, S_DescribeTargetHealthOutput,
	S_DescribeTrustStoreAssociationsInput, S_DescribeTrustStoreAssociationsOutput,
	S_DescribeTrustStoreRevocation, S_DescribeTrustStoreRevocationsInput,
	S_DescribeTrustStoreRevocationsOutput, S_DescribeTrustStoresInput,
	S_DescribeTrustStoresOutput, S_DuplicateListenerException,
	S_DuplicateLoadBalancerNameException, S_DuplicateTagKeysException,
	S_DuplicateTargetGroupNameException, S_DuplicateTrustStoreNameException,
	S_EnablePrefixForIpv6SourceNatEnum,
	S_EnforceSecurityGroupInboundRulesOnPrivateLinkTrafficEnum, S_FixedResponseActionConfig,
	S_ForwardActionConfig, S_GetResourcePolicyInput, S_GetResourcePolicyOutput,
	S_GetTrustStoreCaCertificatesBundleInput, S_GetTrustStoreCaCertificatesBundleOutput,
	S_GetTrustStoreRevocationContentInput, S_GetTrustStoreRevocationContentOutput,
	S_HealthUnavailableException, S_HostHeaderConditionConfig, S_HostHeaderRewriteConfig,
	S_HttpHeaderConditionConfig, S_HttpRequestMethodConditionConfig,
	S_IncompatibleProtocolsException, S_InsufficientCapacityException,
	S_InvalidCaCertificatesBundleException, S_InvalidConfigurationRequestException,
	S_InvalidLoadBalancerActionException, S_InvalidRevocationContentException,
	S_InvalidSchemeException, S_InvalidSecurityGroupException, S_InvalidSubnetException,
	S_InvalidTargetException, S_IpAddressType, S_IpamPools,
	S_JwtValidationActionAdditionalClaim, S_JwtValidationActionAdditionalClaimFormatEnum,
	S_JwtValidationActionConfig, S_Limit, S_Listener, S_ListenerAttribute,
	S_ListenerNotFoundException, S_LoadBalancer, S_LoadBalancerAddress, S_LoadBalancerAttribute,
	S_LoadBalancerNotFoundException, S_LoadBalancerSchemeEnum, S_LoadBalancerState,
	S_LoadBalancerStateEnum, S_LoadBalancerTypeEnum, S_Matcher, S_MinimumLoadBalancerCapacity,
	S_MitigationInEffectEnum, S_ModifyCapacityReservationInput,
	S_ModifyCapacityReservationOutput, S_ModifyIpPoolsInput, S_ModifyIpPoolsOutput,
	S_ModifyListenerAttributesInput, S_ModifyListenerAttributesOutput, S_ModifyListenerInput,
	S_ModifyListenerOutput, S_ModifyLoadBalancerAttributesInput,
	S_ModifyLoadBalancerAttributesOutput, S_ModifyRuleInput, S_ModifyRuleOutput,
	S_ModifyTargetGroupAttributesInput, S_ModifyTargetGroupAttributesOutput,
	S_ModifyTargetGroupInput, S_ModifyTargetGroupOutput, S_ModifyTrustStoreInput,
	S_ModifyTrustStoreOutput, S_MutualAuthenticationAttributes,
	S_OperationNotPermittedException, S_PathPatternConditionConfig,
	S_PriorRequestNotCompleteException, S_PriorityInUseException, S_ProtocolEnum,
	S_QueryStringConditionConfig, S_QueryStringKeyValuePair, S_RedirectActionConfig,
	S_RedirectActionStatusCodeEnum, S_RegisterTargetsInput, S_RegisterTargetsOutput,
	S_RemoveIpamPoolEnum, S_RemoveListenerCertificatesInput, S_RemoveListenerCertificatesOutput,
	S_RemoveTagsInput, S_RemoveTagsOutput, S_RemoveTrustStoreRevocationsInput,
	S_RemoveTrustStoreRevocationsOutput, S_ResourceInUseException, S_ResourceNotFoundException,
	S_RevocationContent, S_RevocationContentNotFoundException, S_RevocationIdNotFoundException,
	S_RevocationType, S_RewriteConfig, S_Rule, S_RuleCondition, S_RuleNotFoundException,
	S_RulePriorityPair, S_RuleTransform, S_SSLPolicyNotFoundException, S_SetIpAddressTypeInput,
	S_SetIpAddressTypeOutput, S_SetRulePrioritiesInput, S_SetRulePrioritiesOutput,
	S_SetSecurityGroupsInput, S_SetSecurityGroupsOutput, S_SetSubnetsInput, S_SetSubnetsOutput,
	S_SourceIpAddressTypeEnum, S_SourceIpConditionConfig, S_SslPolicy, S_SubnetMapping,
	S_SubnetNotFoundException, S_Tag, S_TagDescription,
	S_TargetAdministrativeOverrideReasonEnum, S_TargetAdministrativeOverrideStateEnum,
	S_TargetDescription, S_TargetGroup, S_TargetGroupAssociationLimitException,
	S_TargetGroupAttribute, S_TargetGroupIpAddressTypeEnum, S_TargetGroupNotFoundException,
	S_TargetGroupStickinessConfig, S_TargetGroupTuple, S_TargetHealth,
	S_TargetHealthDescription, S_TargetHealthReasonEnum, S_TargetHealthStateEnum,
	S_TargetTypeEnum, S_TooManyActionsException, S_TooManyCertificatesException,
	S_TooManyListenersException, S_TooManyLoadBalancersException,
	S_TooManyRegistrationsForTargetIdException, S_TooManyRulesException, S_TooManyTagsException,
	S_TooManyTargetGroupsException, S_TooManyTargetsException,
	S_TooManyTrustStoreRevocationEntriesException, S_TooManyTrustStoresException,
	S_TooManyUniqueTargetGroupsPerLoadBalancerException, S_TransformTypeEnum, S_TrustStore,
	S_TrustStoreAssociation, S_TrustStoreAssociationNotFoundException,
	S_TrustStoreAssociationStatusEnum, S_TrustStoreInUseException,
	S_TrustStoreNotFoundException, S_TrustStoreNotReadyException, S_TrustStoreRevocation,
	S_TrustStoreStatus, S_UnsupportedProtocolException, S_UrlRewriteConfig,
	S_ZonalCapacityReservationState, S_boolean, S_double, S_integer, S_integer_from_0_to_999,
	S_integer_from_1_to_400, S_integer_from_1_to_50000, S_integer_from_1_to_604800,
	S_integer_from_1_to_65535, S_integer_from_2_to_10, S_integer_from_2_to_120,
	S_integer_from_5_to_300, S_list_of_Action, S_list_of_AvailabilityZone,
	S_list_of_Certificate, S_list_of_Cipher, S_list_of_DescribeTargetHealthInputIncludeEnum,
	S_list_of_DescribeTrustStoreRevocation, S_list_of_JwtValidationActionAdditionalClaim,
	S_list_of_Limit, S_list_of_Listener, S_list_of_ListenerAttribute, S_list_of_LoadBalancer,
	S_list_of_LoadBalancerAddress, S_list_of_LoadBalancerAttribute_to_20,
	S_list_of_QueryStringKeyValuePair, S_list_of_RemoveIpamPoolEnum,
	S_list_of_RevocationContent, S_list_of_RewriteConfig, S_list_of_Rule,
	S_list_of_RuleCondition, S_list_of_RulePriorityPair, S_list_of_RuleTransform,
	S_list_of_SslPolicy, S_list_of_SubnetMapping, S_list_of_TagDescription,
	S_list_of_Tag_from_1, S_list_of_TargetDescription, S_list_of_TargetGroup,
	S_list_of_TargetGroupAttribute, S_list_of_TargetGroupTuple,
	S_list_of_TargetHealthDescription, S_list_of_TrustStore, S_list_of_TrustStoreAssociation,
	S_list_of_TrustStoreRevocation, S_list_of_ZonalCapacityReservationState, S_list_of_long,
	S_list_of_string, S_list_of_string_from_1_to_128, S_long, S_map_of_string, S_string,
	S_string_from_0_to_1024, S_string_from_0_to_128, S_string_from_0_to_256,
	S_string_from_0_to_32, S_string_from_1_to_1024, S_string_from_1_to_128, S_string_to_1024,
	S_string_to_256, S_string_to_64, S_timestamp,
};

/* Where the members of a structure begin and end. */
enum {
	RANGE(M_ALPNPolicyNotSupportedException, 1),
	RANGE(M_Action, 9),
	RANGE(M_AddListenerCertificatesInput, 2),
	RANGE(M_AddListenerCertificatesOutput, 1),
	RANGE(M_AddTagsInput, 2),
	RANGE(M_AddTagsOutput, 0),
	RANGE(M_AddTrustStoreRevocationsInput, 2),
	RANGE(M_AddTrustStoreRevocationsOutput, 1),
	RANGE(M_AdministrativeOverride, 3),
	RANGE(M_AllocationIdNotFoundException, 1),
	RANGE(M_AnomalyDetection, 2),
	RANGE(M_AuthenticateCognitoActionConfig, 8),
	RANGE(M_AuthenticateOidcActionConfig, 12),
	RANGE(M_AvailabilityZone, 5),
	RANGE(M_AvailabilityZoneNotSupportedException, 1),
	RANGE(M_CaCertificatesBundleNotFoundException, 1),
	RANGE(M_CapacityDecreaseRequestsLimitExceededException, 1),
	RANGE(M_CapacityReservationPendingException, 1),
	RANGE(M_CapacityReservationStatus, 2),
	RANGE(M_CapacityUnitsLimitExceededException, 1),
	RANGE(M_Certificate, 2),
	RANGE(M_CertificateNotFoundException, 1),
	RANGE(M_Cipher, 2),
	RANGE(M_CreateListenerInput, 9),
	RANGE(M_CreateListenerOutput, 1),
	RANGE(M_CreateLoadBalancerInput, 11),
	RANGE(M_CreateLoadBalancerOutput, 1),
	RANGE(M_CreateRuleInput, 6),
	RANGE(M_CreateRuleOutput, 1),
	RANGE(M_CreateTargetGroupInput, 18),
	RANGE(M_CreateTargetGroupOutput, 1),
	RANGE(M_CreateTrustStoreInput, 5),
	RANGE(M_CreateTrustStoreOutput, 1),
	RANGE(M_DeleteAssociationSameAccountException, 1),
	RANGE(M_DeleteListenerInput, 1),
	RANGE(M_DeleteListenerOutput, 0),
	RANGE(M_DeleteLoadBalancerInput, 1),
	RANGE(M_DeleteLoadBalancerOutput, 0),
	RANGE(M_DeleteRuleInput, 1),
	RANGE(M_DeleteRuleOutput, 0),
	RANGE(M_DeleteSharedTrustStoreAssociationInput, 2),
	RANGE(M_DeleteSharedTrustStoreAssociationOutput, 0),
	RANGE(M_DeleteTargetGroupInput, 1),
	RANGE(M_DeleteTargetGroupOutput, 0),
	RANGE(M_DeleteTrustStoreInput, 1),
	RANGE(M_DeleteTrustStoreOutput, 0),
	RANGE(M_DeregisterTargetsInput, 2),
	RANGE(M_DeregisterTargetsOutput, 0),
	RANGE(M_DescribeAccountLimitsInput, 2),
	RANGE(M_DescribeAccountLimitsOutput, 2),
	RANGE(M_DescribeCapacityReservationInput, 1),
	RANGE(M_DescribeCapacityReservationOutput, 4),
	RANGE(M_DescribeListenerAttributesInput, 1),
	RANGE(M_DescribeListenerAttributesOutput, 1),
	RANGE(M_DescribeListenerCertificatesInput, 3),
	RANGE(M_DescribeListenerCertificatesOutput, 2),
	RANGE(M_DescribeListenersInput, 4),
	RANGE(M_DescribeListenersOutput, 2),
	RANGE(M_DescribeLoadBalancerAttributesInput, 1),
	RANGE(M_DescribeLoadBalancerAttributesOutput, 1),
	RANGE(M_DescribeLoadBalancersInput, 4),
	RANGE(M_DescribeLoadBalancersOutput, 2),
	RANGE(M_DescribeRulesInput, 4),
	RANGE(M_DescribeRulesOutput, 2),
	RANGE(M_DescribeSSLPoliciesInput, 4),
	RANGE(M_DescribeSSLPoliciesOutput, 2),
	RANGE(M_DescribeTagsInput, 1),
	RANGE(M_DescribeTagsOutput, 1),
	RANGE(M_DescribeTargetGroupAttributesInput, 1),
	RANGE(M_DescribeTargetGroupAttributesOutput, 1),
	RANGE(M_DescribeTargetGroupsInput, 5),
	RANGE(M_DescribeTargetGroupsOutput, 2),
	RANGE(M_DescribeTargetHealthInput, 3),
	RANGE(M_DescribeTargetHealthOutput, 1),
	RANGE(M_DescribeTrustStoreAssociationsInput, 3),
	RANGE(M_DescribeTrustStoreAssociationsOutput, 2),
	RANGE(M_DescribeTrustStoreRevocation, 4),
	RANGE(M_DescribeTrustStoreRevocationsInput, 4),
	RANGE(M_DescribeTrustStoreRevocationsOutput, 2),
	RANGE(M_DescribeTrustStoresInput, 4),
	RANGE(M_DescribeTrustStoresOutput, 2),
	RANGE(M_DuplicateListenerException, 1),
	RANGE(M_DuplicateLoadBalancerNameException, 1),
	RANGE(M_DuplicateTagKeysException, 1),
	RANGE(M_DuplicateTargetGroupNameException, 1),
	RANGE(M_DuplicateTrustStoreNameException, 1),
	RANGE(M_FixedResponseActionConfig, 3),
	RANGE(M_ForwardActionConfig, 2),
	RANGE(M_GetResourcePolicyInput, 1),
	RANGE(M_GetResourcePolicyOutput, 1),
	RANGE(M_GetTrustStoreCaCertificatesBundleInput, 1),
	RANGE(M_GetTrustStoreCaCertificatesBundleOutput, 1),
	RANGE(M_GetTrustStoreRevocationContentInput, 2),
	RANGE(M_GetTrustStoreRevocationContentOutput, 1),
	RANGE(M_HealthUnavailableException, 1),
	RANGE(M_HostHeaderConditionConfig, 2),
	RANGE(M_HostHeaderRewriteConfig, 1),
	RANGE(M_HttpHeaderConditionConfig, 3),
	RANGE(M_HttpRequestMethodConditionConfig, 1),
	RANGE(M_IncompatibleProtocolsException, 1),
	RANGE(M_InsufficientCapacityException, 1),
	RANGE(M_InvalidCaCertificatesBundleException, 1),
	RANGE(M_InvalidConfigurationRequestException, 1),
	RANGE(M_InvalidLoadBalancerActionException, 1),
	RANGE(M_InvalidRevocationContentException, 1),
	RANGE(M_InvalidSchemeException, 1),
	RANGE(M_InvalidSecurityGroupException, 1),
	RANGE(M_InvalidSubnetException, 1),
	RANGE(M_InvalidTargetException, 1),
	RANGE(M_IpamPools, 1),
	RANGE(M_JwtValidationActionAdditionalClaim, 3),
	RANGE(M_JwtValidationActionConfig, 3),
	RANGE(M_Limit, 2),
	RANGE(M_Listener, 9),
	RANGE(M_ListenerAttribute, 2),
	RANGE(M_ListenerNotFoundException, 1),
	RANGE(M_LoadBalancer, 16),
	RANGE(M_LoadBalancerAddress, 4),
	RANGE(M_LoadBalancerAttribute, 2),
	RANGE(M_LoadBalancerNotFoundException, 1),
	RANGE(M_LoadBalancerState, 2),
	RANGE(M_Matcher, 2),
	RANGE(M_MinimumLoadBalancerCapacity, 1),
	RANGE(M_ModifyCapacityReservationInput, 3),
	RANGE(M_ModifyCapacityReservationOutput, 4),
	RANGE(M_ModifyIpPoolsInput, 3),
	RANGE(M_ModifyIpPoolsOutput, 1),
	RANGE(M_ModifyListenerAttributesInput, 2),
	RANGE(M_ModifyListenerAttributesOutput, 1),
	RANGE(M_ModifyListenerInput, 8),
	RANGE(M_ModifyListenerOutput, 1),
	RANGE(M_ModifyLoadBalancerAttributesInput, 2),
	RANGE(M_ModifyLoadBalancerAttributesOutput, 1),
	RANGE(M_ModifyRuleInput, 5),
	RANGE(M_ModifyRuleOutput, 1),
	RANGE(M_ModifyTargetGroupAttributesInput, 2),
	RANGE(M_ModifyTargetGroupAttributesOutput, 1),
	RANGE(M_ModifyTargetGroupInput, 10),
	RANGE(M_ModifyTargetGroupOutput, 1),
	RANGE(M_ModifyTrustStoreInput, 4),
	RANGE(M_ModifyTrustStoreOutput, 1),
	RANGE(M_MutualAuthenticationAttributes, 5),
	RANGE(M_OperationNotPermittedException, 1),
	RANGE(M_PathPatternConditionConfig, 2),
	RANGE(M_PriorRequestNotCompleteException, 1),
	RANGE(M_PriorityInUseException, 1),
	RANGE(M_QueryStringConditionConfig, 1),
	RANGE(M_QueryStringKeyValuePair, 2),
	RANGE(M_RedirectActionConfig, 6),
	RANGE(M_RegisterTargetsInput, 2),
	RANGE(M_RegisterTargetsOutput, 0),
	RANGE(M_RemoveListenerCertificatesInput, 2),
	RANGE(M_RemoveListenerCertificatesOutput, 0),
	RANGE(M_RemoveTagsInput, 2),
	RANGE(M_RemoveTagsOutput, 0),
	RANGE(M_RemoveTrustStoreRevocationsInput, 2),
	RANGE(M_RemoveTrustStoreRevocationsOutput, 0),
	RANGE(M_ResourceInUseException, 1),
	RANGE(M_ResourceNotFoundException, 1),
	RANGE(M_RevocationContent, 4),
	RANGE(M_RevocationContentNotFoundException, 1),
	RANGE(M_RevocationIdNotFoundException, 1),
	RANGE(M_RewriteConfig, 2),
	RANGE(M_Rule, 6),
	RANGE(M_RuleCondition, 9),
	RANGE(M_RuleNotFoundException, 1),
	RANGE(M_RulePriorityPair, 2),
	RANGE(M_RuleTransform, 3),
	RANGE(M_SSLPolicyNotFoundException, 1),
	RANGE(M_SetIpAddressTypeInput, 2),
	RANGE(M_SetIpAddressTypeOutput, 1),
	RANGE(M_SetRulePrioritiesInput, 1),
	RANGE(M_SetRulePrioritiesOutput, 1),
	RANGE(M_SetSecurityGroupsInput, 3),
	RANGE(M_SetSecurityGroupsOutput, 2),
	RANGE(M_SetSubnetsInput, 5),
	RANGE(M_SetSubnetsOutput, 3),
	RANGE(M_SourceIpConditionConfig, 2),
	RANGE(M_SslPolicy, 4),
	RANGE(M_SubnetMapping, 5),
	RANGE(M_SubnetNotFoundException, 1),
	RANGE(M_Tag, 2),
	RANGE(M_TagDescription, 2),
	RANGE(M_TargetDescription, 4),
	RANGE(M_TargetGroup, 19),
	RANGE(M_TargetGroupAssociationLimitException, 1),
	RANGE(M_TargetGroupAttribute, 2),
	RANGE(M_TargetGroupNotFoundException, 1),
	RANGE(M_TargetGroupStickinessConfig, 2),
	RANGE(M_TargetGroupTuple, 2),
	RANGE(M_TargetHealth, 3),
	RANGE(M_TargetHealthDescription, 5),
	RANGE(M_TooManyActionsException, 1),
	RANGE(M_TooManyCertificatesException, 1),
	RANGE(M_TooManyListenersException, 1),
	RANGE(M_TooManyLoadBalancersException, 1),
	RANGE(M_TooManyRegistrationsForTargetIdException, 1),
	RANGE(M_TooManyRulesException, 1),
	RANGE(M_TooManyTagsException, 1),
	RANGE(M_TooManyTargetGroupsException, 1),
	RANGE(M_TooManyTargetsException, 1),
	RANGE(M_TooManyTrustStoreRevocationEntriesException, 1),
	RANGE(M_TooManyTrustStoresException, 1),
	RANGE(M_TooManyUniqueTargetGroupsPerLoadBalancerException, 1),
	RANGE(M_TrustStore, 5),
	RANGE(M_TrustStoreAssociation, 1),
	RANGE(M_TrustStoreAssociationNotFoundException, 1),
	RANGE(M_TrustStoreInUseException, 1),
	RANGE(M_TrustStoreNotFoundException, 1),
	RANGE(M_TrustStoreNotReadyException, 1),
	RANGE(M_TrustStoreRevocation, 4),
	RANGE(M_UnsupportedProtocolException, 1),
	RANGE(M_UrlRewriteConfig, 1),
	RANGE(M_ZonalCapacityReservationState, 3),
};

static const struct shape_member members[] = {
	/* ALPNPolicyNotSupportedException */
	MEMBER(Message, string, 0),
	/* Action */
	MEMBER(Type, ActionTypeEnum, REQUIRED),
	MEMBER(Order, integer_from_1_to_50000, 0),
	MEMBER(ForwardConfig, ForwardActionConfig, 0),
	MEMBER(RedirectConfig, RedirectActionConfig, 0),
	MEMBER(TargetGroupArn, string, 0),
	MEMBER(FixedResponseConfig, FixedResponseActionConfig, 0),
	MEMBER(JwtValidationConfig, JwtValidationActionConfig, 0),
	MEMBER(AuthenticateOidcConfig, AuthenticateOidcActionConfig, 0),
	MEMBER(AuthenticateCognitoConfig, AuthenticateCognitoActionConfig, 0),
	/* AddListenerCertificatesInput */
	MEMBER(ListenerArn, string, REQUIRED),
	MEMBER(Certificates, list_of_Certificate, REQUIRED),
	/* AddListenerCertificatesOutput */
	MEMBER(Certificates, list_of_Certificate, 0),
	/* AddTagsInput */
	MEMBER(Tags, list_of_Tag_from_1, REQUIRED),
	MEMBER(ResourceArns, list_of_string, REQUIRED),
	/* AddTrustStoreRevocationsInput */
	MEMBER(TrustStoreArn, string, REQUIRED),
	MEMBER(RevocationContents, list_of_RevocationContent, 0),
	/* AddTrustStoreRevocationsOutput */
	MEMBER(TrustStoreRevocations, list_of_TrustStoreRevocation, 0),
	/* AdministrativeOverride */
	MEMBER(State, TargetAdministrativeOverrideStateEnum, 0),
	MEMBER(Reason, TargetAdministrativeOverrideReasonEnum, 0),
	MEMBER(Description, string, 0),
	/* AllocationIdNotFoundException */
	MEMBER(Message, string, 0),
	/* AnomalyDetection */
	MEMBER(Result, AnomalyResultEnum, 0),
	MEMBER(MitigationInEffect, MitigationInEffectEnum, 0),
	/* AuthenticateCognitoActionConfig */
	MEMBER(Scope, string, 0),
	MEMBER(UserPoolArn, string, REQUIRED),
	MEMBER(SessionTimeout, long, 0),
	MEMBER(UserPoolDomain, string, REQUIRED),
	MEMBER(UserPoolClientId, string, REQUIRED),
	MEMBER(SessionCookieName, string, 0),
	MEMBER(OnUnauthenticatedRequest, AuthenticateCognitoActionConditionalBehaviorEnum, 0),
	MEMBER(AuthenticationRequestExtraParams, map_of_string, 0),
	/* AuthenticateOidcActionConfig */
	MEMBER(Scope, string, 0),
	MEMBER(Issuer, string, REQUIRED),
	MEMBER(ClientId, string, REQUIRED),
	MEMBER(ClientSecret, string, 0),
	MEMBER(TokenEndpoint, string, REQUIRED),
	MEMBER(SessionTimeout, long, 0),
	MEMBER(UserInfoEndpoint, string, REQUIRED),
	MEMBER(SessionCookieName, string, 0),
	MEMBER(AuthorizationEndpoint, string, REQUIRED),
	MEMBER(UseExistingClientSecret, boolean, 0),
	MEMBER(OnUnauthenticatedRequest, AuthenticateOidcActionConditionalBehaviorEnum, 0),
	MEMBER(AuthenticationRequestExtraParams, map_of_string, 0),
	/* AvailabilityZone */
	MEMBER(SubnetId, string, 0),
	MEMBER(ZoneName, string, 0),
	MEMBER(OutpostId, string, 0),
	MEMBER(LoadBalancerAddresses, list_of_LoadBalancerAddress, 0),
	MEMBER(SourceNatIpv6Prefixes, list_of_string, 0),
	/* AvailabilityZoneNotSupportedException */
	MEMBER(Message, string, 0),
	/* CaCertificatesBundleNotFoundException */
	MEMBER(Message, string, 0),
	/* CapacityDecreaseRequestsLimitExceededException */
	MEMBER(Message, string, 0),
	/* CapacityReservationPendingException */
	MEMBER(Message, string, 0),
	/* CapacityReservationStatus */
	MEMBER(Code, CapacityReservationStateEnum, 0),
	MEMBER(Reason, string, 0),
	/* CapacityUnitsLimitExceededException */
	MEMBER(Message, string, 0),
	/* Certificate */
	MEMBER(IsDefault, boolean, 0),
	MEMBER(CertificateArn, string, 0),
	/* CertificateNotFoundException */
	MEMBER(Message, string, 0),
	/* Cipher */
	MEMBER(Name, string, 0),
	MEMBER(Priority, integer, 0),
	/* CreateListenerInput */
	MEMBER(Port, integer_from_1_to_65535, 0),
	MEMBER(Tags, list_of_Tag_from_1, 0),
	MEMBER(Protocol, ProtocolEnum, 0),
	MEMBER(SslPolicy, string, 0),
	MEMBER(AlpnPolicy, list_of_string, 0),
	MEMBER(Certificates, list_of_Certificate, 0),
	MEMBER(DefaultActions, list_of_Action, REQUIRED),
	MEMBER(LoadBalancerArn, string, REQUIRED),
	MEMBER(MutualAuthentication, MutualAuthenticationAttributes, 0),
	/* CreateListenerOutput */
	MEMBER(Listeners, list_of_Listener, 0),
	/* CreateLoadBalancerInput */
	MEMBER(Name, string, REQUIRED),
	MEMBER(Tags, list_of_Tag_from_1, 0),
	MEMBER(Type, LoadBalancerTypeEnum, 0),
	MEMBER(Scheme, LoadBalancerSchemeEnum, 0),
	MEMBER(Subnets, list_of_string, 0),
	MEMBER(IpamPools, IpamPools, 0),
	MEMBER(IpAddressType, IpAddressType, 0),
	MEMBER(SecurityGroups, list_of_string, 0),
	MEMBER(SubnetMappings, list_of_SubnetMapping, 0),
	MEMBER(CustomerOwnedIpv4Pool, string_to_256, 0),
	MEMBER(EnablePrefixForIpv6SourceNat, EnablePrefixForIpv6SourceNatEnum, 0),
	/* CreateLoadBalancerOutput */
	MEMBER(LoadBalancers, list_of_LoadBalancer, 0),
	/* CreateRuleInput */
	MEMBER(Tags, list_of_Tag_from_1, 0),
	MEMBER(Actions, list_of_Action, REQUIRED),
	MEMBER(Priority, integer_from_1_to_50000, REQUIRED),
	MEMBER(Conditions, list_of_RuleCondition, REQUIRED),
	MEMBER(Transforms, list_of_RuleTransform, 0),
	MEMBER(ListenerArn, string, REQUIRED),
	/* CreateRuleOutput */
	MEMBER(Rules, list_of_Rule, 0),
	/* CreateTargetGroupInput */
	MEMBER(Name, string, REQUIRED),
	MEMBER(Port, integer_from_1_to_65535, 0),
	MEMBER(Tags, list_of_Tag_from_1, 0),
	MEMBER(VpcId, string, 0),
	MEMBER(Matcher, Matcher, 0),
	MEMBER(Protocol, ProtocolEnum, 0),
	MEMBER(TargetType, TargetTypeEnum, 0),
	MEMBER(IpAddressType, TargetGroupIpAddressTypeEnum, 0),
	MEMBER(HealthCheckPath, string_from_1_to_1024, 0),
	MEMBER(HealthCheckPort, string, 0),
	MEMBER(ProtocolVersion, string, 0),
	MEMBER(TargetControlPort, integer_from_1_to_65535, 0),
	MEMBER(HealthCheckEnabled, boolean, 0),
	MEMBER(HealthCheckProtocol, ProtocolEnum, 0),
	MEMBER(HealthyThresholdCount, integer_from_2_to_10, 0),
	MEMBER(UnhealthyThresholdCount, integer_from_2_to_10, 0),
	MEMBER(HealthCheckTimeoutSeconds, integer_from_2_to_120, 0),
	MEMBER(HealthCheckIntervalSeconds, integer_from_5_to_300, 0),
	/* CreateTargetGroupOutput */
	MEMBER(TargetGroups, list_of_TargetGroup, 0),
	/* CreateTrustStoreInput */
	MEMBER(Name, string, REQUIRED),
	MEMBER(Tags, list_of_Tag_from_1, 0),
	MEMBER(CaCertificatesBundleS3Key, string, REQUIRED),
	MEMBER(CaCertificatesBundleS3Bucket, string, REQUIRED),
	MEMBER(CaCertificatesBundleS3ObjectVersion, string, 0),
	/* CreateTrustStoreOutput */
	MEMBER(TrustStores, list_of_TrustStore, 0),
	/* DeleteAssociationSameAccountException */
	MEMBER(Message, string, 0),
	/* DeleteListenerInput */
	MEMBER(ListenerArn, string, REQUIRED),
	/* DeleteLoadBalancerInput */
	MEMBER(LoadBalancerArn, string, REQUIRED),
	/* DeleteRuleInput */
	MEMBER(RuleArn, string, REQUIRED),
	/* DeleteSharedTrustStoreAssociationInput */
	MEMBER(ResourceArn, string, REQUIRED),
	MEMBER(TrustStoreArn, string, REQUIRED),
	/* DeleteTargetGroupInput */
	MEMBER(TargetGroupArn, string, REQUIRED),
	/* DeleteTrustStoreInput */
	MEMBER(TrustStoreArn, string, REQUIRED),
	/* DeregisterTargetsInput */
	MEMBER(Targets, list_of_TargetDescription, REQUIRED),
	MEMBER(TargetGroupArn, string, REQUIRED),
	/* DescribeAccountLimitsInput */
	MEMBER(Marker, string, 0),
	MEMBER(PageSize, integer_from_1_to_400, 0),
	/* DescribeAccountLimitsOutput */
	MEMBER(Limits, list_of_Limit, 0),
	MEMBER(NextMarker, string, 0),
	/* DescribeCapacityReservationInput */
	MEMBER(LoadBalancerArn, string, REQUIRED),
	/* DescribeCapacityReservationOutput */
	MEMBER(LastModifiedTime, timestamp, 0),
	MEMBER(CapacityReservationState, list_of_ZonalCapacityReservationState, 0),
	MEMBER(DecreaseRequestsRemaining, integer, 0),
	MEMBER(MinimumLoadBalancerCapacity, MinimumLoadBalancerCapacity, 0),
	/* DescribeListenerAttributesInput */
	MEMBER(ListenerArn, string, REQUIRED),
	/* DescribeListenerAttributesOutput */
	MEMBER(Attributes, list_of_ListenerAttribute, 0),
	/* DescribeListenerCertificatesInput */
	MEMBER(Marker, string, 0),
	MEMBER(PageSize, integer_from_1_to_400, 0),
	MEMBER(ListenerArn, string, REQUIRED),
	/* DescribeListenerCertificatesOutput */
	MEMBER(NextMarker, string, 0),
	MEMBER(Certificates, list_of_Certificate, 0),
	/* DescribeListenersInput */
	MEMBER(Marker, string, 0),
	MEMBER(PageSize, integer_from_1_to_400, 0),
	MEMBER(ListenerArns, list_of_string, 0),
	MEMBER(LoadBalancerArn, string, 0),
	/* DescribeListenersOutput */
	MEMBER(Listeners, list_of_Listener, 0),
	MEMBER(NextMarker, string, 0),
	/* DescribeLoadBalancerAttributesInput */
	MEMBER(LoadBalancerArn, string, REQUIRED),
	/* DescribeLoadBalancerAttributesOutput */
	MEMBER(Attributes, list_of_LoadBalancerAttribute_to_20, 0),
	/* DescribeLoadBalancersInput */
	MEMBER(Names, list_of_string, 0),
	MEMBER(Marker, string, 0),
	MEMBER(PageSize, integer_from_1_to_400, 0),
	MEMBER(LoadBalancerArns, list_of_string, 0),
	/* DescribeLoadBalancersOutput */
	MEMBER(NextMarker, string, 0),
	MEMBER(LoadBalancers, list_of_LoadBalancer, 0),
	/* DescribeRulesInput */
	MEMBER(Marker, string, 0),
	MEMBER(PageSize, integer_from_1_to_400, 0),
	MEMBER(RuleArns, list_of_string, 0),
	MEMBER(ListenerArn, string, 0),
	/* DescribeRulesOutput */
	MEMBER(Rules, list_of_Rule, 0),
	MEMBER(NextMarker, string, 0),
	/* DescribeSSLPoliciesInput */
	MEMBER(Names, list_of_string, 0),
	MEMBER(Marker, string, 0),
	MEMBER(PageSize, integer_from_1_to_400, 0),
	MEMBER(LoadBalancerType, LoadBalancerTypeEnum, 0),
	/* DescribeSSLPoliciesOutput */
	MEMBER(NextMarker, string, 0),
	MEMBER(SslPolicies, list_of_SslPolicy, 0),
	/* DescribeTagsInput */
	MEMBER(ResourceArns, list_of_string, REQUIRED),
	/* DescribeTagsOutput */
	MEMBER(TagDescriptions, list_of_TagDescription, 0),
	/* DescribeTargetGroupAttributesInput */
	MEMBER(TargetGroupArn, string, REQUIRED),
	/* DescribeTargetGroupAttributesOutput */
	MEMBER(Attributes, list_of_TargetGroupAttribute, 0),
	/* DescribeTargetGroupsInput */
	MEMBER(Names, list_of_string, 0),
	MEMBER(Marker, string, 0),
	MEMBER(PageSize, integer_from_1_to_400, 0),
	MEMBER(LoadBalancerArn, string, 0),
	MEMBER(TargetGroupArns, list_of_string, 0),
	/* DescribeTargetGroupsOutput */
	MEMBER(NextMarker, string, 0),
	MEMBER(TargetGroups, list_of_TargetGroup, 0),
	/* DescribeTargetHealthInput */
	MEMBER(Include, list_of_DescribeTargetHealthInputIncludeEnum, 0),
	MEMBER(Targets, list_of_TargetDescription, 0),
	MEMBER(TargetGroupArn, string, REQUIRED),
	/* DescribeTargetHealthOutput */
	MEMBER(TargetHealthDescriptions, list_of_TargetHealthDescription, 0),
	/* DescribeTrustStoreAssociationsInput */
	MEMBER(Marker, string, 0),
	MEMBER(PageSize, integer_from_1_to_400, 0),
	MEMBER(TrustStoreArn, string, REQUIRED),
	/* DescribeTrustStoreAssociationsOutput */
	MEMBER(NextMarker, string, 0),
	MEMBER(TrustStoreAssociations, list_of_TrustStoreAssociation, 0),
	/* DescribeTrustStoreRevocation */
	MEMBER(RevocationId, long, 0),
	MEMBER(TrustStoreArn, string, 0),
	MEMBER(RevocationType, RevocationType, 0),
	MEMBER(NumberOfRevokedEntries, long, 0),
	/* DescribeTrustStoreRevocationsInput */
	MEMBER(Marker, string, 0),
	MEMBER(PageSize, integer_from_1_to_400, 0),
	MEMBER(RevocationIds, list_of_long, 0),
	MEMBER(TrustStoreArn, string, REQUIRED),
	/* DescribeTrustStoreRevocationsOutput */
	MEMBER(NextMarker, string, 0),
	MEMBER(TrustStoreRevocations, list_of_DescribeTrustStoreRevocation, 0),
	/* DescribeTrustStoresInput */
	MEMBER(Names, list_of_string, 0),
	MEMBER(Marker, string, 0),
	MEMBER(PageSize, integer_from_1_to_400, 0),
	MEMBER(TrustStoreArns, list_of_string, 0),
	/* DescribeTrustStoresOutput */
	MEMBER(NextMarker, string, 0),
	MEMBER(TrustStores, list_of_TrustStore, 0),
	/* DuplicateListenerException */
	MEMBER(Message, string, 0),
	/* DuplicateLoadBalancerNameException */
	MEMBER(Message, string, 0),
	/* DuplicateTagKeysException */
	MEMBER(Message, string, 0),
	/* DuplicateTargetGroupNameException */
	MEMBER(Message, string, 0),
	/* DuplicateTrustStoreNameException */
	MEMBER(Message, string, 0),
	/* FixedResponseActionConfig */
	MEMBER(StatusCode, string, REQUIRED),
	MEMBER(ContentType, string_from_0_to_32, 0),
	MEMBER(MessageBody, string_from_0_to_1024, 0),
	/* ForwardActionConfig */
	MEMBER(TargetGroups, list_of_TargetGroupTuple, 0),
	MEMBER(TargetGroupStickinessConfig, TargetGroupStickinessConfig, 0),
	/* GetResourcePolicyInput */
	MEMBER(ResourceArn, string, REQUIRED),
	/* GetResourcePolicyOutput */
	MEMBER(Policy, string, 0),
	/* GetTrustStoreCaCertificatesBundleInput */
	MEMBER(TrustStoreArn, string, REQUIRED),
	/* GetTrustStoreCaCertificatesBundleOutput */
	MEMBER(Location, string, 0),
	/* GetTrustStoreRevocationContentInput */
	MEMBER(RevocationId, long, REQUIRED),
	MEMBER(TrustStoreArn, string, REQUIRED),
	/* GetTrustStoreRevocationContentOutput */
	MEMBER(Location, string, 0),
	/* HealthUnavailableException */
	MEMBER(Message, string, 0),
	/* HostHeaderConditionConfig */
	MEMBER(Values, list_of_string, 0),
	MEMBER(RegexValues, list_of_string, 0),
	/* HostHeaderRewriteConfig */
	MEMBER(Rewrites, list_of_RewriteConfig, 0),
	/* HttpHeaderConditionConfig */
	MEMBER(Values, list_of_string, 0),
	MEMBER(RegexValues, list_of_string, 0),
	MEMBER(HttpHeaderName, string, 0),
	/* HttpRequestMethodConditionConfig */
	MEMBER(Values, list_of_string, 0),
	/* IncompatibleProtocolsException */
	MEMBER(Message, string, 0),
	/* InsufficientCapacityException */
	MEMBER(Message, string, 0),
	/* InvalidCaCertificatesBundleException */
	MEMBER(Message, string, 0),
	/* InvalidConfigurationRequestException */
	MEMBER(Message, string, 0),
	/* InvalidLoadBalancerActionException */
	MEMBER(Message, string, 0),
	/* InvalidRevocationContentException */
	MEMBER(Message, string, 0),
	/* InvalidSchemeException */
	MEMBER(Message, string, 0),
	/* InvalidSecurityGroupException */
	MEMBER(Message, string, 0),
	/* InvalidSubnetException */
	MEMBER(Message, string, 0),
	/* InvalidTargetException */
	MEMBER(Message, string, 0),
	/* IpamPools */
	MEMBER(Ipv4IpamPoolId, string, 0),
	/* JwtValidationActionAdditionalClaim */
	MEMBER(Name, string, REQUIRED),
	MEMBER(Format, JwtValidationActionAdditionalClaimFormatEnum, REQUIRED),
	MEMBER(Values, list_of_string, REQUIRED),
	/* JwtValidationActionConfig */
	MEMBER(Issuer, string, REQUIRED),
	MEMBER(JwksEndpoint, string, REQUIRED),
	MEMBER(AdditionalClaims, list_of_JwtValidationActionAdditionalClaim, 0),
	/* Limit */
	MEMBER(Max, string, 0),
	MEMBER(Name, string, 0),
	/* Listener */
	MEMBER(Port, integer_from_1_to_65535, 0),
	MEMBER(Protocol, ProtocolEnum, 0),
	MEMBER(SslPolicy, string, 0),
	MEMBER(AlpnPolicy, list_of_string, 0),
	MEMBER(ListenerArn, string, 0),
	MEMBER(Certificates, list_of_Certificate, 0),
	MEMBER(DefaultActions, list_of_Action, 0),
	MEMBER(LoadBalancerArn, string, 0),
	MEMBER(MutualAuthentication, MutualAuthenticationAttributes, 0),
	/* ListenerAttribute */
	MEMBER(Key, string, 0),
	MEMBER(Value, string, 0),
	/* ListenerNotFoundException */
	MEMBER(Message, string, 0),
	/* LoadBalancer */
	MEMBER(Type, LoadBalancerTypeEnum, 0),
	MEMBER(State, LoadBalancerState, 0),
	MEMBER(VpcId, string, 0),
	MEMBER(Scheme, LoadBalancerSchemeEnum, 0),
	MEMBER(DNSName, string, 0),
	MEMBER(IpamPools, IpamPools, 0),
	MEMBER(CreatedTime, timestamp, 0),
	MEMBER(IpAddressType, IpAddressType, 0),
	MEMBER(SecurityGroups, list_of_string, 0),
	MEMBER(LoadBalancerArn, string, 0),
	MEMBER(LoadBalancerName, string, 0),
	MEMBER(AvailabilityZones, list_of_AvailabilityZone, 0),
	MEMBER(CanonicalHostedZoneId, string, 0),
	MEMBER(CustomerOwnedIpv4Pool, string_to_256, 0),
	MEMBER(EnablePrefixForIpv6SourceNat, EnablePrefixForIpv6SourceNatEnum, 0),
	MEMBER(EnforceSecurityGroupInboundRulesOnPrivateLinkTraffic, string, 0),
	/* LoadBalancerAddress */
	MEMBER(IpAddress, string, 0),
	MEMBER(IPv6Address, string, 0),
	MEMBER(AllocationId, string, 0),
	MEMBER(PrivateIPv4Address, string, 0),
	/* LoadBalancerAttribute */
	MEMBER(Key, string_to_256, 0),
	MEMBER(Value, string_to_1024, 0),
	/* LoadBalancerNotFoundException */
	MEMBER(Message, string, 0),
	/* LoadBalancerState */
	MEMBER(Code, LoadBalancerStateEnum, 0),
	MEMBER(Reason, string, 0),
	/* Matcher */
	MEMBER(GrpcCode, string, 0),
	MEMBER(HttpCode, string, 0),
	/* MinimumLoadBalancerCapacity */
	MEMBER(CapacityUnits, integer, 0),
	/* ModifyCapacityReservationInput */
	MEMBER(LoadBalancerArn, string, REQUIRED),
	MEMBER(ResetCapacityReservation, boolean, 0),
	MEMBER(MinimumLoadBalancerCapacity, MinimumLoadBalancerCapacity, 0),
	/* ModifyCapacityReservationOutput */
	MEMBER(LastModifiedTime, timestamp, 0),
	MEMBER(CapacityReservationState, list_of_ZonalCapacityReservationState, 0),
	MEMBER(DecreaseRequestsRemaining, integer, 0),
	MEMBER(MinimumLoadBalancerCapacity, MinimumLoadBalancerCapacity, 0),
	/* ModifyIpPoolsInput */
	MEMBER(IpamPools, IpamPools, 0),
	MEMBER(LoadBalancerArn, string, REQUIRED),
	MEMBER(RemoveIpamPools, list_of_RemoveIpamPoolEnum, 0),
	/* ModifyIpPoolsOutput */
	MEMBER(IpamPools, IpamPools, 0),
	/* ModifyListenerAttributesInput */
	MEMBER(Attributes, list_of_ListenerAttribute, REQUIRED),
	MEMBER(ListenerArn, string, REQUIRED),
	/* ModifyListenerAttributesOutput */
	MEMBER(Attributes, list_of_ListenerAttribute, 0),
	/* ModifyListenerInput */
	MEMBER(Port, integer_from_1_to_65535, 0),
	MEMBER(Protocol, ProtocolEnum, 0),
	MEMBER(SslPolicy, string, 0),
	MEMBER(AlpnPolicy, list_of_string, 0),
	MEMBER(ListenerArn, string, REQUIRED),
	MEMBER(Certificates, list_of_Certificate, 0),
	MEMBER(DefaultActions, list_of_Action, 0),
	MEMBER(MutualAuthentication, MutualAuthenticationAttributes, 0),
	/* ModifyListenerOutput */
	MEMBER(Listeners, list_of_Listener, 0),
	/* ModifyLoadBalancerAttributesInput */
	MEMBER(Attributes, list_of_LoadBalancerAttribute_to_20, REQUIRED),
	MEMBER(LoadBalancerArn, string, REQUIRED),
	/* ModifyLoadBalancerAttributesOutput */
	MEMBER(Attributes, list_of_LoadBalancerAttribute_to_20, 0),
	/* ModifyRuleInput */
	MEMBER(Actions, list_of_Action, 0),
	MEMBER(RuleArn, string, REQUIRED),
	MEMBER(Conditions, list_of_RuleCondition, 0),
	MEMBER(Transforms, list_of_RuleTransform, 0),
	MEMBER(ResetTransforms, boolean, 0),
	/* ModifyRuleOutput */
	MEMBER(Rules, list_of_Rule, 0),
	/* ModifyTargetGroupAttributesInput */
	MEMBER(Attributes, list_of_TargetGroupAttribute, REQUIRED),
	MEMBER(TargetGroupArn, string, REQUIRED),
	/* ModifyTargetGroupAttributesOutput */
	MEMBER(Attributes, list_of_TargetGroupAttribute, 0),
	/* ModifyTargetGroupInput */
	MEMBER(Matcher, Matcher, 0),
	MEMBER(TargetGroupArn, string, REQUIRED),
	MEMBER(HealthCheckPath, string_from_1_to_1024, 0),
	MEMBER(HealthCheckPort, string, 0),
	MEMBER(HealthCheckEnabled, boolean, 0),
	MEMBER(HealthCheckProtocol, ProtocolEnum, 0),
	MEMBER(HealthyThresholdCount, integer_from_2_to_10, 0),
	MEMBER(UnhealthyThresholdCount, integer_from_2_to_10, 0),
	MEMBER(HealthCheckTimeoutSeconds, integer_from_2_to_120, 0),
	MEMBER(HealthCheckIntervalSeconds, integer_from_5_to_300, 0),
	/* ModifyTargetGroupOutput */
	MEMBER(TargetGroups, list_of_TargetGroup, 0),
	/* ModifyTrustStoreInput */
	MEMBER(TrustStoreArn, string, REQUIRED),
	MEMBER(CaCertificatesBundleS3Key, string, REQUIRED),
	MEMBER(CaCertificatesBundleS3Bucket, string, REQUIRED),
	MEMBER(CaCertificatesBundleS3ObjectVersion, string, 0),
	/* ModifyTrustStoreOutput */
	MEMBER(TrustStores, list_of_TrustStore, 0),
	/* MutualAuthenticationAttributes */
	MEMBER(Mode, string, 0),
	MEMBER(TrustStoreArn, string, 0),
	MEMBER(AdvertiseTrustStoreCaNames, AdvertiseTrustStoreCaNamesEnum, 0),
	MEMBER(TrustStoreAssociationStatus, TrustStoreAssociationStatusEnum, 0),
	MEMBER(IgnoreClientCertificateExpiry, boolean, 0),
	/* OperationNotPermittedException */
	MEMBER(Message, string, 0),
	/* PathPatternConditionConfig */
	MEMBER(Values, list_of_string, 0),
	MEMBER(RegexValues, list_of_string, 0),
	/* PriorRequestNotCompleteException */
	MEMBER(Message, string, 0),
	/* PriorityInUseException */
	MEMBER(Message, string, 0),
	/* QueryStringConditionConfig */
	MEMBER(Values, list_of_QueryStringKeyValuePair, 0),
	/* QueryStringKeyValuePair */
	MEMBER(Key, string, 0),
	MEMBER(Value, string, 0),
	/* RedirectActionConfig */
	MEMBER(Host, string_from_1_to_128, 0),
	MEMBER(Path, string_from_1_to_128, 0),
	MEMBER(Port, string, 0),
	MEMBER(Query, string_from_0_to_128, 0),
	MEMBER(Protocol, string, 0),
	MEMBER(StatusCode, RedirectActionStatusCodeEnum, REQUIRED),
	/* RegisterTargetsInput */
	MEMBER(Targets, list_of_TargetDescription, REQUIRED),
	MEMBER(TargetGroupArn, string, REQUIRED),
	/* RemoveListenerCertificatesInput */
	MEMBER(ListenerArn, string, REQUIRED),
	MEMBER(Certificates, list_of_Certificate, REQUIRED),
	/* RemoveTagsInput */
	MEMBER(TagKeys, list_of_string_from_1_to_128, REQUIRED),
	MEMBER(ResourceArns, list_of_string, REQUIRED),
	/* RemoveTrustStoreRevocationsInput */
	MEMBER(RevocationIds, list_of_long, REQUIRED),
	MEMBER(TrustStoreArn, string, REQUIRED),
	/* ResourceInUseException */
	MEMBER(Message, string, 0),
	/* ResourceNotFoundException */
	MEMBER(Message, string, 0),
	/* RevocationContent */
	MEMBER(S3Key, string, 0),
	MEMBER(S3Bucket, string, 0),
	MEMBER(RevocationType, RevocationType, 0),
	MEMBER(S3ObjectVersion, string, 0),
	/* RevocationContentNotFoundException */
	MEMBER(Message, string, 0),
	/* RevocationIdNotFoundException */
	MEMBER(Message, string, 0),
	/* RewriteConfig */
	MEMBER(Regex, string, REQUIRED),
	MEMBER(Replace, string, REQUIRED),
	/* Rule */
	MEMBER(Actions, list_of_Action, 0),
	MEMBER(RuleArn, string, 0),
	MEMBER(Priority, string, 0),
	MEMBER(IsDefault, boolean, 0),
	MEMBER(Conditions, list_of_RuleCondition, 0),
	MEMBER(Transforms, list_of_RuleTransform, 0),
	/* RuleCondition */
	MEMBER(Field, string_to_64, 0),
	MEMBER(Values, list_of_string, 0),
	MEMBER(RegexValues, list_of_string, 0),
	MEMBER(SourceIpConfig, SourceIpConditionConfig, 0),
	MEMBER(HostHeaderConfig, HostHeaderConditionConfig, 0),
	MEMBER(HttpHeaderConfig, HttpHeaderConditionConfig, 0),
	MEMBER(PathPatternConfig, PathPatternConditionConfig, 0),
	MEMBER(QueryStringConfig, QueryStringConditionConfig, 0),
	MEMBER(HttpRequestMethodConfig, HttpRequestMethodConditionConfig, 0),
	/* RuleNotFoundException */
	MEMBER(Message, string, 0),
	/* RulePriorityPair */
	MEMBER(RuleArn, string, 0),
	MEMBER(Priority, integer_from_1_to_50000, 0),
	/* RuleTransform */
	MEMBER(Type, TransformTypeEnum, REQUIRED),
	MEMBER(UrlRewriteConfig, UrlRewriteConfig, 0),
	MEMBER(HostHeaderRewriteConfig, HostHeaderRewriteConfig, 0),
	/* SSLPolicyNotFoundException */
	MEMBER(Message, string, 0),
	/* SetIpAddressTypeInput */
	MEMBER(IpAddressType, IpAddressType, REQUIRED),
	MEMBER(LoadBalancerArn, string, REQUIRED),
	/* SetIpAddressTypeOutput */
	MEMBER(IpAddressType, IpAddressType, 0),
	/* SetRulePrioritiesInput */
	MEMBER(RulePriorities, list_of_RulePriorityPair, REQUIRED),
	/* SetRulePrioritiesOutput */
	MEMBER(Rules, list_of_Rule, 0),
	/* SetSecurityGroupsInput */
	MEMBER(SecurityGroups, list_of_string, REQUIRED),
	MEMBER(LoadBalancerArn, string, REQUIRED),
	MEMBER(EnforceSecurityGroupInboundRulesOnPrivateLinkTraffic, EnforceSecurityGroupInboundRulesOnPrivateLinkTrafficEnum, 0),
	/* SetSecurityGroupsOutput */
	MEMBER(SecurityGroupIds, list_of_string, 0),
	MEMBER(EnforceSecurityGroupInboundRulesOnPrivateLinkTraffic, EnforceSecurityGroupInboundRulesOnPrivateLinkTrafficEnum, 0),
	/* SetSubnetsInput */
	MEMBER(Subnets, list_of_string, 0),
	MEMBER(IpAddressType, IpAddressType, 0),
	MEMBER(SubnetMappings, list_of_SubnetMapping, 0),
	MEMBER(LoadBalancerArn, string, REQUIRED),
	MEMBER(EnablePrefixForIpv6SourceNat, EnablePrefixForIpv6SourceNatEnum, 0),
	/* SetSubnetsOutput */
	MEMBER(IpAddressType, IpAddressType, 0),
	MEMBER(AvailabilityZones, list_of_AvailabilityZone, 0),
	MEMBER(EnablePrefixForIpv6SourceNat, EnablePrefixForIpv6SourceNatEnum, 0),
	/* SourceIpConditionConfig */
	MEMBER(Values, list_of_string, 0),
	MEMBER(IpAddressType, SourceIpAddressTypeEnum, 0),
	/* SslPolicy */
	MEMBER(Name, string, 0),
	MEMBER(Ciphers, list_of_Cipher, 0),
	MEMBER(SslProtocols, list_of_string, 0),
	MEMBER(SupportedLoadBalancerTypes, list_of_string, 0),
	/* SubnetMapping */
	MEMBER(SubnetId, string, 0),
	MEMBER(IPv6Address, string, 0),
	MEMBER(AllocationId, string, 0),
	MEMBER(PrivateIPv4Address, string, 0),
	MEMBER(SourceNatIpv6Prefix, string, 0),
	/* SubnetNotFoundException */
	MEMBER(Message, string, 0),
	/* Tag */
	MEMBER(Key, string_from_1_to_128, REQUIRED),
	MEMBER(Value, string_from_0_to_256, 0),
	/* TagDescription */
	MEMBER(Tags, list_of_Tag_from_1, 0),
	MEMBER(ResourceArn, string, 0),
	/* TargetDescription */
	MEMBER(Id, string, REQUIRED),
	MEMBER(Port, integer_from_1_to_65535, 0),
	MEMBER(QuicServerId, string, 0),
	MEMBER(AvailabilityZone, string, 0),
	/* TargetGroup */
	MEMBER(Port, integer_from_1_to_65535, 0),
	MEMBER(VpcId, string, 0),
	MEMBER(Matcher, Matcher, 0),
	MEMBER(Protocol, ProtocolEnum, 0),
	MEMBER(TargetType, TargetTypeEnum, 0),
	MEMBER(IpAddressType, TargetGroupIpAddressTypeEnum, 0),
	MEMBER(TargetGroupArn, string, 0),
	MEMBER(HealthCheckPath, string_from_1_to_1024, 0),
	MEMBER(HealthCheckPort, string, 0),
	MEMBER(ProtocolVersion, string, 0),
	MEMBER(TargetGroupName, string, 0),
	MEMBER(LoadBalancerArns, list_of_string, 0),
	MEMBER(TargetControlPort, integer, 0),
	MEMBER(HealthCheckEnabled, boolean, 0),
	MEMBER(HealthCheckProtocol, ProtocolEnum, 0),
	MEMBER(HealthyThresholdCount, integer_from_2_to_10, 0),
	MEMBER(UnhealthyThresholdCount, integer_from_2_to_10, 0),
	MEMBER(HealthCheckTimeoutSeconds, integer_from_2_to_120, 0),
	MEMBER(HealthCheckIntervalSeconds, integer_from_5_to_300, 0),
	/* TargetGroupAssociationLimitException */
	MEMBER(Message, string, 0),
	/* TargetGroupAttribute */
	MEMBER(Key, string_to_256, 0),
	MEMBER(Value, string, 0),
	/* TargetGroupNotFoundException */
	MEMBER(Message, string, 0),
	/* TargetGroupStickinessConfig */
	MEMBER(Enabled, boolean, 0),
	MEMBER(DurationSeconds, integer_from_1_to_604800, 0),
	/* TargetGroupTuple */
	MEMBER(Weight, integer_from_0_to_999, 0),
	MEMBER(TargetGroupArn, string, 0),
	/* TargetHealth */
	MEMBER(State, TargetHealthStateEnum, 0),
	MEMBER(Reason, TargetHealthReasonEnum, 0),
	MEMBER(Description, string, 0),
	/* TargetHealthDescription */
	MEMBER(Target, TargetDescription, 0),
	MEMBER(TargetHealth, TargetHealth, 0),
	MEMBER(HealthCheckPort, string, 0),
	MEMBER(AnomalyDetection, AnomalyDetection, 0),
	MEMBER(AdministrativeOverride, AdministrativeOverride, 0),
	/* TooManyActionsException */
	MEMBER(Message, string, 0),
	/* TooManyCertificatesException */
	MEMBER(Message, string, 0),
	/* TooManyListenersException */
	MEMBER(Message, string, 0),
	/* TooManyLoadBalancersException */
	MEMBER(Message, string, 0),
	/* TooManyRegistrationsForTargetIdException */
	MEMBER(Message, string, 0),
	/* TooManyRulesException */
	MEMBER(Message, string, 0),
	/* TooManyTagsException */
	MEMBER(Message, string, 0),
	/* TooManyTargetGroupsException */
	MEMBER(Message, string, 0),
	/* TooManyTargetsException */
	MEMBER(Message, string, 0),
	/* TooManyTrustStoreRevocationEntriesException */
	MEMBER(Message, string, 0),
	/* TooManyTrustStoresException */
	MEMBER(Message, string, 0),
	/* TooManyUniqueTargetGroupsPerLoadBalancerException */
	MEMBER(Message, string, 0),
	/* TrustStore */
	MEMBER(Name, string, 0),
	MEMBER(Status, TrustStoreStatus, 0),
	MEMBER(TrustStoreArn, string, 0),
	MEMBER(TotalRevokedEntries, long, 0),
	MEMBER(NumberOfCaCertificates, integer, 0),
	/* TrustStoreAssociation */
	MEMBER(ResourceArn, string, 0),
	/* TrustStoreAssociationNotFoundException */
	MEMBER(Message, string, 0),
	/* TrustStoreInUseException */
	MEMBER(Message, string, 0),
	/* TrustStoreNotFoundException */
	MEMBER(Message, string, 0),
	/* TrustStoreNotReadyException */
	MEMBER(Message, string, 0),
	/* TrustStoreRevocation */
	MEMBER(RevocationId, long, 0),
	MEMBER(TrustStoreArn, string, 0),
	MEMBER(RevocationType, RevocationType, 0),
	MEMBER(NumberOfRevokedEntries, long, 0),
	/* UnsupportedProtocolException */
	MEMBER(Message, string, 0),
	/* UrlRewriteConfig */
	MEMBER(Rewrites, list_of_RewriteConfig, 0),
	/* ZonalCapacityReservationState */
	MEMBER(State, CapacityReservationStatus, 0),
	MEMBER(AvailabilityZone, string, 0),
	MEMBER(EffectiveCapacityUnits, double, 0),
};

/* Where the values of an enum begin and end. */
enum {
	RANGE(E_ActionTypeEnum, 6),
	RANGE(E_AdvertiseTrustStoreCaNamesEnum, 2),
	RANGE(E_AnomalyResultEnum, 2),
	RANGE(E_AuthenticateCognitoActionConditionalBehaviorEnum, 3),
	RANGE(E_AuthenticateOidcActionConditionalBehaviorEnum, 3),
	RANGE(E_CapacityReservationStateEnum, 4),
	RANGE(E_DescribeTargetHealthInputIncludeEnum, 2),
	RANGE(E_EnablePrefixForIpv6SourceNatEnum, 2),
	RANGE(E_EnforceSecurityGroupInboundRulesOnPrivateLinkTrafficEnum, 2),
	RANGE(E_IpAddressType, 3),
	RANGE(E_JwtValidationActionAdditionalClaimFormatEnum, 3),
	RANGE(E_LoadBalancerSchemeEnum, 2),
	RANGE(E_LoadBalancerStateEnum, 4),
	RANGE(E_LoadBalancerTypeEnum, 3),
	RANGE(E_MitigationInEffectEnum, 2),
	RANGE(E_ProtocolEnum, 9),
	RANGE(E_RedirectActionStatusCodeEnum, 2),
	RANGE(E_RemoveIpamPoolEnum, 1),
	RANGE(E_RevocationType, 1),
	RANGE(E_SourceIpAddressTypeEnum, 2),
	RANGE(E_TargetAdministrativeOverrideReasonEnum, 4),
	RANGE(E_TargetAdministrativeOverrideStateEnum, 4),
	RANGE(E_TargetGroupIpAddressTypeEnum, 2),
	RANGE(E_TargetHealthReasonEnum, 12),
	RANGE(E_TargetHealthStateEnum, 7),
	RANGE(E_TargetTypeEnum, 4),
	RANGE(E_TransformTypeEnum, 2),
	RANGE(E_TrustStoreAssociationStatusEnum, 2),
	RANGE(E_TrustStoreStatus, 2),
};

static const struct shape_name values[] = {
	/* ActionTypeEnum */
	NAME(authenticate_cognito), NAME(authenticate_oidc), NAME(fixed_response), NAME(forward),
	NAME(jwt_validation), NAME(redirect),
	/* AdvertiseTrustStoreCaNamesEnum */
	NAME(off), NAME(on),
	/* AnomalyResultEnum */
	NAME(anomalous), NAME(normal),
	/* AuthenticateCognitoActionConditionalBehaviorEnum */
	NAME(allow), NAME(authenticate), NAME(deny),
	/* AuthenticateOidcActionConditionalBehaviorEnum */
	NAME(allow), NAME(authenticate), NAME(deny),
	/* CapacityReservationStateEnum */
	NAME(failed), NAME(pending), NAME(provisioned), NAME(rebalancing),
	/* DescribeTargetHealthInputIncludeEnum */
	NAME(All), NAME(AnomalyDetection),
	/* EnablePrefixForIpv6SourceNatEnum */
	NAME(off), NAME(on),
	/* EnforceSecurityGroupInboundRulesOnPrivateLinkTrafficEnum */
	NAME(off), NAME(on),
	/* IpAddressType */
	NAME(dualstack), NAME(dualstack_without_public_ipv4), NAME(ipv4),
	/* JwtValidationActionAdditionalClaimFormatEnum */
	NAME(single_string), NAME(space_separated_values), NAME(string_array),
	/* LoadBalancerSchemeEnum */
	NAME(internal), NAME(internet_facing),
	/* LoadBalancerStateEnum */
	NAME(active), NAME(active_impaired), NAME(failed), NAME(provisioning),
	/* LoadBalancerTypeEnum */
	NAME(application), NAME(gateway), NAME(network),
	/* MitigationInEffectEnum */
	NAME(no), NAME(yes),
	/* ProtocolEnum */
	NAME(GENEVE), NAME(HTTP), NAME(HTTPS), NAME(QUIC), NAME(TCP), NAME(TCP_QUIC), NAME(TCP_UDP),
	NAME(TLS), NAME(UDP),
	/* RedirectActionStatusCodeEnum */
	NAME(HTTP_301), NAME(HTTP_302),
	/* RemoveIpamPoolEnum */
	NAME(ipv4),
	/* RevocationType */
	NAME(CRL),
	/* SourceIpAddressTypeEnum */
	NAME(ipv4), NAME(ipv6),
	/* TargetAdministrativeOverrideReasonEnum */
	NAME(AdministrativeOverride_Unknown), NAME(AdministrativeOverride_NoOverride),
	NAME(AdministrativeOverride_ZonalShiftDelegatedToDns),
	NAME(AdministrativeOverride_ZonalShiftActive),
	/* TargetAdministrativeOverrideStateEnum */
	NAME(no_override), NAME(unknown), NAME(zonal_shift_active),
	NAME(zonal_shift_delegated_to_dns),
	/* TargetGroupIpAddressTypeEnum */
	NAME(ipv4), NAME(ipv6),
	/* TargetHealthReasonEnum */
	NAME(Target_DeregistrationInProgress), NAME(Target_FailedHealthChecks),
	NAME(Target_HealthCheckDisabled), NAME(Elb_InitialHealthChecking), NAME(Elb_InternalError),
	NAME(Target_InvalidState), NAME(Target_IpUnusable), NAME(Target_NotInUse),
	NAME(Target_NotRegistered), NAME(Elb_RegistrationInProgress),
	NAME(Target_ResponseCodeMismatch), NAME(Target_Timeout),
	/* TargetHealthStateEnum */
	NAME(draining), NAME(healthy), NAME(initial), NAME(unavailable), NAME(unhealthy),
	NAME(unhealthy_draining), NAME(unused),
	/* TargetTypeEnum */
	NAME(alb), NAME(instance), NAME(ip), NAME(lambda),
	/* TransformTypeEnum */
	NAME(host_header_rewrite), NAME(url_rewrite),
	/* TrustStoreAssociationStatusEnum */
	NAME(active), NAME(removed),
	/* TrustStoreStatus */
	NAME(ACTIVE), NAME(CREATING),
};

enum { L_none,
	L_any_to_20, L_any_to_64, L_any_to_256, L_any_to_1024, L_0_to_32, L_0_to_128, L_0_to_256,
	L_0_to_999, L_0_to_1024, L_1_to_any, L_1_to_128, L_1_to_400, L_1_to_1024, L_1_to_50000,
	L_1_to_65535, L_1_to_604800, L_2_to_10, L_2_to_120, L_5_to_300,
};

static const struct shape_limits limits[] = {
	[L_none] = {INT64_MIN, INT64_MAX},
	[L_any_to_20] = {INT64_MIN, 20},
	[L_any_to_64] = {INT64_MIN, 64},
	[L_any_to_256] = {INT64_MIN, 256},
	[L_any_to_1024] = {INT64_MIN, 1024},
	[L_0_to_32] = {0, 32},
	[L_0_to_128] = {0, 128},
	[L_0_to_256] = {0, 256},
	[L_0_to_999] = {0, 999},
	[L_0_to_1024] = {0, 1024},
	[L_1_to_any] = {1, INT64_MAX},
	[L_1_to_128] = {1, 128},
	[L_1_to_400] = {1, 400},
	[L_1_to_1024] = {1, 1024},
	[L_1_to_50000] = {1, 50000},
	[L_1_to_65535] = {1, 65535},
	[L_1_to_604800] = {1, 604800},
	[L_2_to_10] = {2, 10},
	[L_2_to_120] = {2, 120},
	[L_5_to_300] = {5, 300},
};

static const struct shape shapes[] = {
	[S_ALPNPolicyNotSupportedException] = {STRUCTURE(ALPNPolicyNotSupportedException), .status = 400, .wire_name = NAME(ALPNPolicyNotFound), .flags = ERROR},
	[S_Action] = {STRUCTURE(Action), .required = 1},
	[S_ActionTypeEnum] = {ENUM(ActionTypeEnum)},
	[S_AddListenerCertificatesInput] = {STRUCTURE(AddListenerCertificatesInput), .required = 2},
	[S_AddListenerCertificatesOutput] = {STRUCTURE(AddListenerCertificatesOutput)},
	[S_AddTagsInput] = {STRUCTURE(AddTagsInput), .required = 2},
	[S_AddTagsOutput] = {STRUCTURE(AddTagsOutput)},
	[S_AddTrustStoreRevocationsInput] = {STRUCTURE(AddTrustStoreRevocationsInput), .required = 1},
	[S_AddTrustStoreRevocationsOutput] = {STRUCTURE(AddTrustStoreRevocationsOutput)},
	[S_AdministrativeOverride] = {STRUCTURE(AdministrativeOverride)},
	[S_AdvertiseTrustStoreCaNamesEnum] = {ENUM(AdvertiseTrustStoreCaNamesEnum)},
	[S_AllocationIdNotFoundException] = {STRUCTURE(AllocationIdNotFoundException), .status = 400, .wire_name = NAME(AllocationIdNotFound), .flags = ERROR},
	[S_AnomalyDetection] = {STRUCTURE(AnomalyDetection)},
	[S_AnomalyResultEnum] = {ENUM(AnomalyResultEnum)},
	[S_AuthenticateCognitoActionConditionalBehaviorEnum] = {ENUM(AuthenticateCognitoActionConditionalBehaviorEnum)},
	[S_AuthenticateCognitoActionConfig] = {STRUCTURE(AuthenticateCognitoActionConfig), .required = 3},
	[S_AuthenticateOidcActionConditionalBehaviorEnum] = {ENUM(AuthenticateOidcActionConditionalBehaviorEnum)},
	[S_AuthenticateOidcActionConfig] = {STRUCTURE(AuthenticateOidcActionConfig), .required = 5},
	[S_AvailabilityZone] = {STRUCTURE(AvailabilityZone)},
	[S_AvailabilityZoneNotSupportedException] = {STRUCTURE(AvailabilityZoneNotSupportedException), .status = 400, .wire_name = NAME(AvailabilityZoneNotSupported), .flags = ERROR},
	[S_CaCertificatesBundleNotFoundException] = {STRUCTURE(CaCertificatesBundleNotFoundException), .status = 400, .wire_name = NAME(CaCertificatesBundleNotFound), .flags = ERROR},
	[S_CapacityDecreaseRequestsLimitExceededException] = {STRUCTURE(CapacityDecreaseRequestsLimitExceededException), .status = 400, .wire_name = NAME(CapacityDecreaseRequestLimitExceeded), .flags = ERROR},
	[S_CapacityReservationPendingException] = {STRUCTURE(CapacityReservationPendingException), .status = 400, .wire_name = NAME(CapacityReservationPending), .flags = ERROR},
	[S_CapacityReservationStateEnum] = {ENUM(CapacityReservationStateEnum)},
	[S_CapacityReservationStatus] = {STRUCTURE(CapacityReservationStatus)},
	[S_CapacityUnitsLimitExceededException] = {STRUCTURE(CapacityUnitsLimitExceededException), .status = 400, .wire_name = NAME(CapacityUnitsLimitExceeded), .flags = ERROR},
	[S_Certificate] = {STRUCTURE(Certificate)},
	[S_CertificateNotFoundException] = {STRUCTURE(CertificateNotFoundException), .status = 400, .wire_name = NAME(CertificateNotFound), .flags = ERROR},
	[S_Cipher] = {STRUCTURE(Cipher)},
	[S_CreateListenerInput] = {STRUCTURE(CreateListenerInput), .required = 2},
	[S_CreateListenerOutput] = {STRUCTURE(CreateListenerOutput)},
	[S_CreateLoadBalancerInput] = {STRUCTURE(CreateLoadBalancerInput), .required = 1},
	[S_CreateLoadBalancerOutput] = {STRUCTURE(CreateLoadBalancerOutput)},
	[S_CreateRuleInput] = {STRUCTURE(CreateRuleInput), .required = 4},
	[S_CreateRuleOutput] = {STRUCTURE(CreateRuleOutput)},
	[S_CreateTargetGroupInput] = {STRUCTURE(CreateTargetGroupInput), .required = 1},
	[S_CreateTargetGroupOutput] = {STRUCTURE(CreateTargetGroupOutput)},
	[S_CreateTrustStoreInput] = {STRUCTURE(CreateTrustStoreInput), .required = 3},
	[S_CreateTrustStoreOutput] = {STRUCTURE(CreateTrustStoreOutput)},
	[S_DeleteAssociationSameAccountException] = {STRUCTURE(DeleteAssociationSameAccountException), .status = 400, .wire_name = NAME(DeleteAssociationSameAccount), .flags = ERROR},
	[S_DeleteListenerInput] = {STRUCTURE(DeleteListenerInput), .required = 1},
	[S_DeleteListenerOutput] = {STRUCTURE(DeleteListenerOutput)},
	[S_DeleteLoadBalancerInput] = {STRUCTURE(DeleteLoadBalancerInput), .required = 1},
	[S_DeleteLoadBalancerOutput] = {STRUCTURE(DeleteLoadBalancerOutput)},
	[S_DeleteRuleInput] = {STRUCTURE(DeleteRuleInput), .required = 1},
	[S_DeleteRuleOutput] = {STRUCTURE(DeleteRuleOutput)},
	[S_DeleteSharedTrustStoreAssociationInput] = {STRUCTURE(DeleteSharedTrustStoreAssociationInput), .required = 2},
	[S_DeleteSharedTrustStoreAssociationOutput] = {STRUCTURE(DeleteSharedTrustStoreAssociationOutput)},
	[S_DeleteTargetGroupInput] = {STRUCTURE(DeleteTargetGroupInput), .required = 1},
	[S_DeleteTargetGroupOutput] = {STRUCTURE(DeleteTargetGroupOutput)},
	[S_DeleteTrustStoreInput] = {STRUCTURE(DeleteTrustStoreInput), .required = 1},
	[S_DeleteTrustStoreOutput] = {STRUCTURE(DeleteTrustStoreOutput)},
	[S_DeregisterTargetsInput] = {STRUCTURE(DeregisterTargetsInput), .required = 2},
	[S_DeregisterTargetsOutput] = {STRUCTURE(DeregisterTargetsOutput)},
	[S_DescribeAccountLimitsInput] = {STRUCTURE(DescribeAccountLimitsInput)},
	[S_DescribeAccountLimitsOutput] = {STRUCTURE(DescribeAccountLimitsOutput)},
	[S_DescribeCapacityReservationInput] = {STRUCTURE(DescribeCapacityReservationInput), .required = 1},
	[S_DescribeCapacityReservationOutput] = {STRUCTURE(DescribeCapacityReservationOutput)},
	[S_DescribeListenerAttributesInput] = {STRUCTURE(DescribeListenerAttributesInput), .required = 1},
	[S_DescribeListenerAttributesOutput] = {STRUCTURE(DescribeListenerAttributesOutput)},
	[S_DescribeListenerCertificatesInput] = {STRUCTURE(DescribeListenerCertificatesInput), .required = 1},
	[S_DescribeListenerCertificatesOutput] = {STRUCTURE(DescribeListenerCertificatesOutput)},
	[S_DescribeListenersInput] = {STRUCTURE(DescribeListenersInput)},
	[S_DescribeListenersOutput] = {STRUCTURE(DescribeListenersOutput)},
	[S_DescribeLoadBalancerAttributesInput] = {STRUCTURE(DescribeLoadBalancerAttributesInput), .required = 1},
	[S_DescribeLoadBalancerAttributesOutput] = {STRUCTURE(DescribeLoadBalancerAttributesOutput)},
	[S_DescribeLoadBalancersInput] = {STRUCTURE(DescribeLoadBalancersInput)},
	[S_DescribeLoadBalancersOutput] = {STRUCTURE(DescribeLoadBalancersOutput)},
	[S_DescribeRulesInput] = {STRUCTURE(DescribeRulesInput)},
	[S_DescribeRulesOutput] = {STRUCTURE(DescribeRulesOutput)},
	[S_DescribeSSLPoliciesInput] = {STRUCTURE(DescribeSSLPoliciesInput)},
	[S_DescribeSSLPoliciesOutput] = {STRUCTURE(DescribeSSLPoliciesOutput)},
	[S_DescribeTagsInput] = {STRUCTURE(DescribeTagsInput), .required = 1},
	[S_DescribeTagsOutput] = {STRUCTURE(DescribeTagsOutput)},
	[S_DescribeTargetGroupAttributesInput] = {STRUCTURE(DescribeTargetGroupAttributesInput), .required = 1},
	[S_DescribeTargetGroupAttributesOutput] = {STRUCTURE(DescribeTargetGroupAttributesOutput)},
	[S_DescribeTargetGroupsInput] = {STRUCTURE(DescribeTargetGroupsInput)},
	[S_DescribeTargetGroupsOutput] = {STRUCTURE(DescribeTargetGroupsOutput)},
	[S_DescribeTargetHealthInput] = {STRUCTURE(DescribeTargetHealthInput), .required = 1},
	[S_DescribeTargetHealthInputIncludeEnum] = {ENUM(DescribeTargetHealthInputIncludeEnum)},
	[S_DescribeTargetHealthOutput] = {STRUCTURE(DescribeTargetHealthOutput)},
	[S_DescribeTrustStoreAssociationsInput] = {STRUCTURE(DescribeTrustStoreAssociationsInput), .required = 1},
	[S_DescribeTrustStoreAssociationsOutput] = {STRUCTURE(DescribeTrustStoreAssociationsOutput)},
	[S_DescribeTrustStoreRevocation] = {STRUCTURE(DescribeTrustStoreRevocation)},
	[S_DescribeTrustStoreRevocationsInput] = {STRUCTURE(DescribeTrustStoreRevocationsInput), .required = 1},
	[S_DescribeTrustStoreRevocationsOutput] = {STRUCTURE(DescribeTrustStoreRevocationsOutput)},
	[S_DescribeTrustStoresInput] = {STRUCTURE(DescribeTrustStoresInput)},
	[S_DescribeTrustStoresOutput] = {STRUCTURE(DescribeTrustStoresOutput)},
	[S_DuplicateListenerException] = {STRUCTURE(DuplicateListenerException), .status = 400, .wire_name = NAME(DuplicateListener), .flags = ERROR},
	[S_DuplicateLoadBalancerNameException] = {STRUCTURE(DuplicateLoadBalancerNameException), .status = 400, .wire_name = NAME(DuplicateLoadBalancerName), .flags = ERROR},
	[S_DuplicateTagKeysException] = {STRUCTURE(DuplicateTagKeysException), .status = 400, .wire_name = NAME(DuplicateTagKeys), .flags = ERROR},
	[S_DuplicateTargetGroupNameException] = {STRUCTURE(DuplicateTargetGroupNameException), .status = 400, .wire_name = NAME(DuplicateTargetGroupName), .flags = ERROR},
	[S_DuplicateTrustStoreNameException] = {STRUCTURE(DuplicateTrustStoreNameException), .status = 400, .wire_name = NAME(DuplicateTrustStoreName), .flags = ERROR},
	[S_EnablePrefixForIpv6SourceNatEnum] = {ENUM(EnablePrefixForIpv6SourceNatEnum)},
	[S_EnforceSecurityGroupInboundRulesOnPrivateLinkTrafficEnum] = {ENUM(EnforceSecurityGroupInboundRulesOnPrivateLinkTrafficEnum)},
	[S_FixedResponseActionConfig] = {STRUCTURE(FixedResponseActionConfig), .required = 1},
	[S_ForwardActionConfig] = {STRUCTURE(ForwardActionConfig)},
	[S_GetResourcePolicyInput] = {STRUCTURE(GetResourcePolicyInput), .required = 1},
	[S_GetResourcePolicyOutput] = {STRUCTURE(GetResourcePolicyOutput)},
	[S_GetTrustStoreCaCertificatesBundleInput] = {STRUCTURE(GetTrustStoreCaCertificatesBundleInput), .required = 1},
	[S_GetTrustStoreCaCertificatesBundleOutput] = {STRUCTURE(GetTrustStoreCaCertificatesBundleOutput)},
	[S_GetTrustStoreRevocationContentInput] = {STRUCTURE(GetTrustStoreRevocationContentInput), .required = 2},
	[S_GetTrustStoreRevocationContentOutput] = {STRUCTURE(GetTrustStoreRevocationContentOutput)},
	[S_HealthUnavailableException] = {STRUCTURE(HealthUnavailableException), .status = 500, .wire_name = NAME(HealthUnavailable), .flags = ERROR | SERVER_FAULT},
	[S_HostHeaderConditionConfig] = {STRUCTURE(HostHeaderConditionConfig)},
	[S_HostHeaderRewriteConfig] = {STRUCTURE(HostHeaderRewriteConfig)},
	[S_HttpHeaderConditionConfig] = {STRUCTURE(HttpHeaderConditionConfig)},
	[S_HttpRequestMethodConditionConfig] = {STRUCTURE(HttpRequestMethodConditionConfig)},
	[S_IncompatibleProtocolsException] = {STRUCTURE(IncompatibleProtocolsException), .status = 400, .wire_name = NAME(IncompatibleProtocols), .flags = ERROR},
	[S_InsufficientCapacityException] = {STRUCTURE(InsufficientCapacityException), .status = 500, .wire_name = NAME(InsufficientCapacity), .flags = ERROR | SERVER_FAULT},
	[S_InvalidCaCertificatesBundleException] = {STRUCTURE(InvalidCaCertificatesBundleException), .status = 400, .wire_name = NAME(InvalidCaCertificatesBundle), .flags = ERROR},
	[S_InvalidConfigurationRequestException] = {STRUCTURE(InvalidConfigurationRequestException), .status = 400, .wire_name = NAME(InvalidConfigurationRequest), .flags = ERROR},
	[S_InvalidLoadBalancerActionException] = {STRUCTURE(InvalidLoadBalancerActionException), .status = 400, .wire_name = NAME(InvalidLoadBalancerAction), .flags = ERROR},
	[S_InvalidRevocationContentException] = {STRUCTURE(InvalidRevocationContentException), .status = 400, .wire_name = NAME(InvalidRevocationContent), .flags = ERROR},
	[S_InvalidSchemeException] = {STRUCTURE(InvalidSchemeException), .status = 400, .wire_name = NAME(InvalidScheme), .flags = ERROR},
	[S_InvalidSecurityGroupException] = {STRUCTURE(InvalidSecurityGroupException), .status = 400, .wire_name = NAME(InvalidSecurityGroup), .flags = ERROR},
	[S_InvalidSubnetException] = {STRUCTURE(InvalidSubnetException), .status = 400, .wire_name = NAME(InvalidSubnet), .flags = ERROR},
	[S_InvalidTargetException] = {STRUCTURE(InvalidTargetException), .status = 400, .wire_name = NAME(InvalidTarget), .flags = ERROR},
	[S_IpAddressType] = {ENUM(IpAddressType)},
	[S_IpamPools] = {STRUCTURE(IpamPools)},
	[S_JwtValidationActionAdditionalClaim] = {STRUCTURE(JwtValidationActionAdditionalClaim), .required = 3},
	[S_JwtValidationActionAdditionalClaimFormatEnum] = {ENUM(JwtValidationActionAdditionalClaimFormatEnum)},
	[S_JwtValidationActionConfig] = {STRUCTURE(JwtValidationActionConfig), .required = 2},
	[S_Limit] = {STRUCTURE(Limit)},
	[S_Listener] = {STRUCTURE(Listener)},
	[S_ListenerAttribute] = {STRUCTURE(ListenerAttribute)},
	[S_ListenerNotFoundException] = {STRUCTURE(ListenerNotFoundException), .status = 400, .wire_name = NAME(ListenerNotFound), .flags = ERROR},
	[S_LoadBalancer] = {STRUCTURE(LoadBalancer)},
	[S_LoadBalancerAddress] = {STRUCTURE(LoadBalancerAddress)},
	[S_LoadBalancerAttribute] = {STRUCTURE(LoadBalancerAttribute)},
	[S_LoadBalancerNotFoundException] = {STRUCTURE(LoadBalancerNotFoundException), .status = 400, .wire_name = NAME(LoadBalancerNotFound), .flags = ERROR},
	[S_LoadBalancerSchemeEnum] = {ENUM(LoadBalancerSchemeEnum)},
	[S_LoadBalancerState] = {STRUCTURE(LoadBalancerState)},
	[S_LoadBalancerStateEnum] = {ENUM(LoadBalancerStateEnum)},
	[S_LoadBalancerTypeEnum] = {ENUM(LoadBalancerTypeEnum)},
	[S_Matcher] = {STRUCTURE(Matcher)},
	[S_MinimumLoadBalancerCapacity] = {STRUCTURE(MinimumLoadBalancerCapacity)},
	[S_MitigationInEffectEnum] = {ENUM(MitigationInEffectEnum)},
	[S_ModifyCapacityReservationInput] = {STRUCTURE(ModifyCapacityReservationInput), .required = 1},
	[S_ModifyCapacityReservationOutput] = {STRUCTURE(ModifyCapacityReservationOutput)},
	[S_ModifyIpPoolsInput] = {STRUCTURE(ModifyIpPoolsInput), .required = 1},
	[S_ModifyIpPoolsOutput] = {STRUCTURE(ModifyIpPoolsOutput)},
	[S_ModifyListenerAttributesInput] = {STRUCTURE(ModifyListenerAttributesInput), .required = 2},
	[S_ModifyListenerAttributesOutput] = {STRUCTURE(ModifyListenerAttributesOutput)},
	[S_ModifyListenerInput] = {STRUCTURE(ModifyListenerInput), .required = 1},
	[S_ModifyListenerOutput] = {STRUCTURE(ModifyListenerOutput)},
	[S_ModifyLoadBalancerAttributesInput] = {STRUCTURE(ModifyLoadBalancerAttributesInput), .required = 2},
	[S_ModifyLoadBalancerAttributesOutput] = {STRUCTURE(ModifyLoadBalancerAttributesOutput)},
	[S_ModifyRuleInput] = {STRUCTURE(ModifyRuleInput), .required = 1},
	[S_ModifyRuleOutput] = {STRUCTURE(ModifyRuleOutput)},
	[S_ModifyTargetGroupAttributesInput] = {STRUCTURE(ModifyTargetGroupAttributesInput), .required = 2},
	[S_ModifyTargetGroupAttributesOutput] = {STRUCTURE(ModifyTargetGroupAttributesOutput)},
	[S_ModifyTargetGroupInput] = {STRUCTURE(ModifyTargetGroupInput), .required = 1},
	[S_ModifyTargetGroupOutput] = {STRUCTURE(ModifyTargetGroupOutput)},
	[S_ModifyTrustStoreInput] = {STRUCTURE(ModifyTrustStoreInput), .required = 3},
	[S_ModifyTrustStoreOutput] = {STRUCTURE(ModifyTrustStoreOutput)},
	[S_MutualAuthenticationAttributes] = {STRUCTURE(MutualAuthenticationAttributes)},
	[S_OperationNotPermittedException] = {STRUCTURE(OperationNotPermittedException), .status = 400, .wire_name = NAME(OperationNotPermitted), .flags = ERROR},
	[S_PathPatternConditionConfig] = {STRUCTURE(PathPatternConditionConfig)},
	[S_PriorRequestNotCompleteException] = {STRUCTURE(PriorRequestNotCompleteException), .status = 429, .wire_name = NAME(PriorRequestNotComplete), .flags = ERROR},
	[S_PriorityInUseException] = {STRUCTURE(PriorityInUseException), .status = 400, .wire_name = NAME(PriorityInUse), .flags = ERROR},
	[S_ProtocolEnum] = {ENUM(ProtocolEnum)},
	[S_QueryStringConditionConfig] = {STRUCTURE(QueryStringConditionConfig)},
	[S_QueryStringKeyValuePair] = {STRUCTURE(QueryStringKeyValuePair)},
	[S_RedirectActionConfig] = {STRUCTURE(RedirectActionConfig), .required = 1},
	[S_RedirectActionStatusCodeEnum] = {ENUM(RedirectActionStatusCodeEnum)},
	[S_RegisterTargetsInput] = {STRUCTURE(RegisterTargetsInput), .required = 2},
	[S_RegisterTargetsOutput] = {STRUCTURE(RegisterTargetsOutput)},
	[S_RemoveIpamPoolEnum] = {ENUM(RemoveIpamPoolEnum)},
	[S_RemoveListenerCertificatesInput] = {STRUCTURE(RemoveListenerCertificatesInput), .required = 2},
	[S_RemoveListenerCertificatesOutput] = {STRUCTURE(RemoveListenerCertificatesOutput)},
	[S_RemoveTagsInput] = {STRUCTURE(RemoveTagsInput), .required = 2},
	[S_RemoveTagsOutput] = {STRUCTURE(RemoveTagsOutput)},
	[S_RemoveTrustStoreRevocationsInput] = {STRUCTURE(RemoveTrustStoreRevocationsInput), .required = 2},
	[S_RemoveTrustStoreRevocationsOutput] = {STRUCTURE(RemoveTrustStoreRevocationsOutput)},
	[S_ResourceInUseException] = {STRUCTURE(ResourceInUseException), .status = 400, .wire_name = NAME(ResourceInUse), .flags = ERROR},
	[S_ResourceNotFoundException] = {STRUCTURE(ResourceNotFoundException), .status = 400, .wire_name = NAME(ResourceNotFound), .flags = ERROR},
	[S_RevocationContent] = {STRUCTURE(RevocationContent)},
	[S_RevocationContentNotFoundException] = {STRUCTURE(RevocationContentNotFoundException), .status = 400, .wire_name = NAME(RevocationContentNotFound), .flags = ERROR},
	[S_RevocationIdNotFoundException] = {STRUCTURE(RevocationIdNotFoundException), .status = 400, .wire_name = NAME(RevocationIdNotFound), .flags = ERROR},
	[S_RevocationType] = {ENUM(RevocationType)},
	[S_RewriteConfig] = {STRUCTURE(RewriteConfig), .required = 2},
	[S_Rule] = {STRUCTURE(Rule)},
	[S_RuleCondition] = {STRUCTURE(RuleCondition)},
	[S_RuleNotFoundException] = {STRUCTURE(RuleNotFoundException), .status = 400, .wire_name = NAME(RuleNotFound), .flags = ERROR},
	[S_RulePriorityPair] = {STRUCTURE(RulePriorityPair)},
	[S_RuleTransform] = {STRUCTURE(RuleTransform), .required = 1},
	[S_SSLPolicyNotFoundException] = {STRUCTURE(SSLPolicyNotFoundException), .status = 400, .wire_name = NAME(SSLPolicyNotFound), .flags = ERROR},
	[S_SetIpAddressTypeInput] = {STRUCTURE(SetIpAddressTypeInput), .required = 2},
	[S_SetIpAddressTypeOutput] = {STRUCTURE(SetIpAddressTypeOutput)},
	[S_SetRulePrioritiesInput] = {STRUCTURE(SetRulePrioritiesInput), .required = 1},
	[S_SetRulePrioritiesOutput] = {STRUCTURE(SetRulePrioritiesOutput)},
	[S_SetSecurityGroupsInput] = {STRUCTURE(SetSecurityGroupsInput), .required = 2},
	[S_SetSecurityGroupsOutput] = {STRUCTURE(SetSecurityGroupsOutput)},
	[S_SetSubnetsInput] = {STRUCTURE(SetSubnetsInput), .required = 1},
	[S_SetSubnetsOutput] = {STRUCTURE(SetSubnetsOutput)},
	[S_SourceIpAddressTypeEnum] = {ENUM(SourceIpAddressTypeEnum)},
	[S_SourceIpConditionConfig] = {STRUCTURE(SourceIpConditionConfig)},
	[S_SslPolicy] = {STRUCTURE(SslPolicy)},
	[S_SubnetMapping] = {STRUCTURE(SubnetMapping)},
	[S_SubnetNotFoundException] = {STRUCTURE(SubnetNotFoundException), .status = 400, .wire_name = NAME(SubnetNotFound), .flags = ERROR},
	[S_Tag] = {STRUCTURE(Tag), .required = 1},
	[S_TagDescription] = {STRUCTURE(TagDescription)},
	[S_TargetAdministrativeOverrideReasonEnum] = {ENUM(TargetAdministrativeOverrideReasonEnum)},
	[S_TargetAdministrativeOverrideStateEnum] = {ENUM(TargetAdministrativeOverrideStateEnum)},
	[S_TargetDescription] = {STRUCTURE(TargetDescription), .required = 1},
	[S_TargetGroup] = {STRUCTURE(TargetGroup)},
	[S_TargetGroupAssociationLimitException] = {STRUCTURE(TargetGroupAssociationLimitException), .status = 400, .wire_name = NAME(TargetGroupAssociationLimit), .flags = ERROR},
	[S_TargetGroupAttribute] = {STRUCTURE(TargetGroupAttribute)},
	[S_TargetGroupIpAddressTypeEnum] = {ENUM(TargetGroupIpAddressTypeEnum)},
	[S_TargetGroupNotFoundException] = {STRUCTURE(TargetGroupNotFoundException), .status = 400, .wire_name = NAME(TargetGroupNotFound), .flags = ERROR},
	[S_TargetGroupStickinessConfig] = {STRUCTURE(TargetGroupStickinessConfig)},
	[S_TargetGroupTuple] = {STRUCTURE(TargetGroupTuple)},
	[S_TargetHealth] = {STRUCTURE(TargetHealth)},
	[S_TargetHealthDescription] = {STRUCTURE(TargetHealthDescription)},
	[S_TargetHealthReasonEnum] = {ENUM(TargetHealthReasonEnum)},
	[S_TargetHealthStateEnum] = {ENUM(TargetHealthStateEnum)},
	[S_TargetTypeEnum] = {ENUM(TargetTypeEnum)},
	[S_TooManyActionsException] = {STRUCTURE(TooManyActionsException), .status = 400, .wire_name = NAME(TooManyActions), .flags = ERROR},
	[S_TooManyCertificatesException] = {STRUCTURE(TooManyCertificatesException), .status = 400, .wire_name = NAME(TooManyCertificates), .flags = ERROR},
	[S_TooManyListenersException] = {STRUCTURE(TooManyListenersException), .status = 400, .wire_name = NAME(TooManyListeners), .flags = ERROR},
	[S_TooManyLoadBalancersException] = {STRUCTURE(TooManyLoadBalancersException), .status = 400, .wire_name = NAME(TooManyLoadBalancers), .flags = ERROR},
	[S_TooManyRegistrationsForTargetIdException] = {STRUCTURE(TooManyRegistrationsForTargetIdException), .status = 400, .wire_name = NAME(TooManyRegistrationsForTargetId), .flags = ERROR},
	[S_TooManyRulesException] = {STRUCTURE(TooManyRulesException), .status = 400, .wire_name = NAME(TooManyRules), .flags = ERROR},
	[S_TooManyTagsException] = {STRUCTURE(TooManyTagsException), .status = 400, .wire_name = NAME(TooManyTags), .flags = ERROR},
	[S_TooManyTargetGroupsException] = {STRUCTURE(TooManyTargetGroupsException), .status = 400, .wire_name = NAME(TooManyTargetGroups), .flags = ERROR},
	[S_TooManyTargetsException] = {STRUCTURE(TooManyTargetsException), .status = 400, .wire_name = NAME(TooManyTargets), .flags = ERROR},
	[S_TooManyTrustStoreRevocationEntriesException] = {STRUCTURE(TooManyTrustStoreRevocationEntriesException), .status = 400, .wire_name = NAME(TooManyTrustStoreRevocationEntries), .flags = ERROR},
	[S_TooManyTrustStoresException] = {STRUCTURE(TooManyTrustStoresException), .status = 400, .wire_name = NAME(TooManyTrustStores), .flags = ERROR},
	[S_TooManyUniqueTargetGroupsPerLoadBalancerException] = {STRUCTURE(TooManyUniqueTargetGroupsPerLoadBalancerException), .status = 400, .wire_name = NAME(TooManyUniqueTargetGroupsPerLoadBalancer), .flags = ERROR},
	[S_TransformTypeEnum] = {ENUM(TransformTypeEnum)},
	[S_TrustStore] = {STRUCTURE(TrustStore)},
	[S_TrustStoreAssociation] = {STRUCTURE(TrustStoreAssociation)},
	[S_TrustStoreAssociationNotFoundException] = {STRUCTURE(TrustStoreAssociationNotFoundException), .status = 400, .wire_name = NAME(AssociationNotFound), .flags = ERROR},
	[S_TrustStoreAssociationStatusEnum] = {ENUM(TrustStoreAssociationStatusEnum)},
	[S_TrustStoreInUseException] = {STRUCTURE(TrustStoreInUseException), .status = 400, .wire_name = NAME(TrustStoreInUse), .flags = ERROR},
	[S_TrustStoreNotFoundException] = {STRUCTURE(TrustStoreNotFoundException), .status = 400, .wire_name = NAME(TrustStoreNotFound), .flags = ERROR},
	[S_TrustStoreNotReadyException] = {STRUCTURE(TrustStoreNotReadyException), .status = 400, .wire_name = NAME(TrustStoreNotReady), .flags = ERROR},
	[S_TrustStoreRevocation] = {STRUCTURE(TrustStoreRevocation)},
	[S_TrustStoreStatus] = {ENUM(TrustStoreStatus)},
	[S_UnsupportedProtocolException] = {STRUCTURE(UnsupportedProtocolException), .status = 400, .wire_name = NAME(UnsupportedProtocol), .flags = ERROR},
	[S_UrlRewriteConfig] = {STRUCTURE(UrlRewriteConfig)},
	[S_ZonalCapacityReservationState] = {STRUCTURE(ZonalCapacityReservationState)},
	[S_boolean] = {.type = SHAPE_BOOLEAN},
	[S_double] = {.type = SHAPE_DOUBLE},
	[S_integer] = {.type = SHAPE_INTEGER},
	[S_integer_from_0_to_999] = {.type = SHAPE_INTEGER, .limits = L_0_to_999},
	[S_integer_from_1_to_400] = {.type = SHAPE_INTEGER, .limits = L_1_to_400},
	[S_integer_from_1_to_50000] = {.type = SHAPE_INTEGER, .limits = L_1_to_50000},
	[S_integer_from_1_to_604800] = {.type = SHAPE_INTEGER, .limits = L_1_to_604800},
	[S_integer_from_1_to_65535] = {.type = SHAPE_INTEGER, .limits = L_1_to_65535},
	[S_integer_from_2_to_10] = {.type = SHAPE_INTEGER, .limits = L_2_to_10},
	[S_integer_from_2_to_120] = {.type = SHAPE_INTEGER, .limits = L_2_to_120},
	[S_integer_from_5_to_300] = {.type = SHAPE_INTEGER, .limits = L_5_to_300},
	[S_list_of_Action] = {.type = SHAPE_LIST, .element = S_Action},
	[S_list_of_AvailabilityZone] = {.type = SHAPE_LIST, .element = S_AvailabilityZone},
	[S_list_of_Certificate] = {.type = SHAPE_LIST, .element = S_Certificate},
	[S_list_of_Cipher] = {.type = SHAPE_LIST, .element = S_Cipher},
	[S_list_of_DescribeTargetHealthInputIncludeEnum] = {.type = SHAPE_LIST, .element = S_DescribeTargetHealthInputIncludeEnum},
	[S_list_of_DescribeTrustStoreRevocation] = {.type = SHAPE_LIST, .element = S_DescribeTrustStoreRevocation},
	[S_list_of_JwtValidationActionAdditionalClaim] = {.type = SHAPE_LIST, .element = S_JwtValidationActionAdditionalClaim},
	[S_list_of_Limit] = {.type = SHAPE_LIST, .element = S_Limit},
	[S_list_of_Listener] = {.type = SHAPE_LIST, .element = S_Listener},
	[S_list_of_ListenerAttribute] = {.type = SHAPE_LIST, .element = S_ListenerAttribute},
	[S_list_of_LoadBalancer] = {.type = SHAPE_LIST, .element = S_LoadBalancer},
	[S_list_of_LoadBalancerAddress] = {.type = SHAPE_LIST, .element = S_LoadBalancerAddress},
	[S_list_of_LoadBalancerAttribute_to_20] = {.type = SHAPE_LIST, .element = S_LoadBalancerAttribute, .limits = L_any_to_20},
	[S_list_of_QueryStringKeyValuePair] = {.type = SHAPE_LIST, .element = S_QueryStringKeyValuePair},
	[S_list_of_RemoveIpamPoolEnum] = {.type = SHAPE_LIST, .element = S_RemoveIpamPoolEnum},
	[S_list_of_RevocationContent] = {.type = SHAPE_LIST, .element = S_RevocationContent},
	[S_list_of_RewriteConfig] = {.type = SHAPE_LIST, .element = S_RewriteConfig},
	[S_list_of_Rule] = {.type = SHAPE_LIST, .element = S_Rule},
	[S_list_of_RuleCondition] = {.type = SHAPE_LIST, .element = S_RuleCondition},
	[S_list_of_RulePriorityPair] = {.type = SHAPE_LIST, .element = S_RulePriorityPair},
	[S_list_of_RuleTransform] = {.type = SHAPE_LIST, .element = S_RuleTransform},
	[S_list_of_SslPolicy] = {.type = SHAPE_LIST, .element = S_SslPolicy},
	[S_list_of_SubnetMapping] = {.type = SHAPE_LIST, .element = S_SubnetMapping},
	[S_list_of_TagDescription] = {.type = SHAPE_LIST, .element = S_TagDescription},
	[S_list_of_Tag_from_1] = {.type = SHAPE_LIST, .element = S_Tag, .limits = L_1_to_any},
	[S_list_of_TargetDescription] = {.type = SHAPE_LIST, .element = S_TargetDescription},
	[S_list_of_TargetGroup] = {.type = SHAPE_LIST, .element = S_TargetGroup},
	[S_list_of_TargetGroupAttribute] = {.type = SHAPE_LIST, .element = S_TargetGroupAttribute},
	[S_list_of_TargetGroupTuple] = {.type = SHAPE_LIST, .element = S_TargetGroupTuple},
	[S_list_of_TargetHealthDescription] = {.type = SHAPE_LIST, .element = S_TargetHealthDescription},
	[S_list_of_TrustStore] = {.type = SHAPE_LIST, .element = S_TrustStore},
	[S_list_of_TrustStoreAssociation] = {.type = SHAPE_LIST, .element = S_TrustStoreAssociation},
	[S_list_of_TrustStoreRevocation] = {.type = SHAPE_LIST, .element = S_TrustStoreRevocation},
	[S_list_of_ZonalCapacityReservationState] = {.type = SHAPE_LIST, .element = S_ZonalCapacityReservationState},
	[S_list_of_long] = {.type = SHAPE_LIST, .element = S_long},
	[S_list_of_string] = {.type = SHAPE_LIST, .element = S_string},
	[S_list_of_string_from_1_to_128] = {.type = SHAPE_LIST, .element = S_string_from_1_to_128},
	[S_long] = {.type = SHAPE_LONG},
	[S_map_of_string] = {.type = SHAPE_MAP, .element = S_string, .key = S_string},
	[S_string] = {.type = SHAPE_STRING},
	[S_string_from_0_to_1024] = {.type = SHAPE_STRING, .limits = L_0_to_1024},
	[S_string_from_0_to_128] = {.type = SHAPE_STRING, .limits = L_0_to_128},
	[S_string_from_0_to_256] = {.type = SHAPE_STRING, .limits = L_0_to_256},
	[S_string_from_0_to_32] = {.type = SHAPE_STRING, .limits = L_0_to_32},
	[S_string_from_1_to_1024] = {.type = SHAPE_STRING, .limits = L_1_to_1024},
	[S_string_from_1_to_128] = {.type = SHAPE_STRING, .limits = L_1_to_128},
	[S_string_to_1024] = {.type = SHAPE_STRING, .limits = L_any_to_1024},
	[S_string_to_256] = {.type = SHAPE_STRING, .limits = L_any_to_256},
	[S_string_to_64] = {.type = SHAPE_STRING, .limits = L_any_to_64},
	[S_timestamp] = {.type = SHAPE_TIMESTAMP},
};

/* Where the errors of an operation begin and end. */
enum {
	RANGE(X_AddListenerCertificates, 3),
	RANGE(X_AddTags, 7),
	RANGE(X_AddTrustStoreRevocations, 4),
	RANGE(X_CreateListener, 20),
	RANGE(X_CreateLoadBalancer, 13),
	RANGE(X_CreateRule, 15),
	RANGE(X_CreateTargetGroup, 4),
	RANGE(X_CreateTrustStore, 6),
	RANGE(X_DeleteListener, 2),
	RANGE(X_DeleteLoadBalancer, 3),
	RANGE(X_DeleteRule, 2),
	RANGE(X_DeleteSharedTrustStoreAssociation, 3),
	RANGE(X_DeleteTargetGroup, 1),
	RANGE(X_DeleteTrustStore, 2),
	RANGE(X_DeregisterTargets, 2),
	RANGE(X_DescribeAccountLimits, 0),
	RANGE(X_DescribeCapacityReservation, 1),
	RANGE(X_DescribeListenerAttributes, 1),
	RANGE(X_DescribeListenerCertificates, 1),
	RANGE(X_DescribeListeners, 3),
	RANGE(X_DescribeLoadBalancerAttributes, 1),
	RANGE(X_DescribeLoadBalancers, 1),
	RANGE(X_DescribeRules, 3),
	RANGE(X_DescribeSSLPolicies, 1),
	RANGE(X_DescribeTags, 5),
	RANGE(X_DescribeTargetGroupAttributes, 1),
	RANGE(X_DescribeTargetGroups, 2),
	RANGE(X_DescribeTargetHealth, 3),
	RANGE(X_DescribeTrustStoreAssociations, 1),
	RANGE(X_DescribeTrustStoreRevocations, 2),
	RANGE(X_DescribeTrustStores, 1),
	RANGE(X_GetResourcePolicy, 1),
	RANGE(X_GetTrustStoreCaCertificatesBundle, 1),
	RANGE(X_GetTrustStoreRevocationContent, 2),
	RANGE(X_ModifyCapacityReservation, 8),
	RANGE(X_ModifyIpPools, 1),
	RANGE(X_ModifyListener, 19),
	RANGE(X_ModifyListenerAttributes, 2),
	RANGE(X_ModifyLoadBalancerAttributes, 2),
	RANGE(X_ModifyRule, 11),
	RANGE(X_ModifyTargetGroup, 2),
	RANGE(X_ModifyTargetGroupAttributes, 2),
	RANGE(X_ModifyTrustStore, 3),
	RANGE(X_RegisterTargets, 4),
	RANGE(X_RemoveListenerCertificates, 2),
	RANGE(X_RemoveTags, 6),
	RANGE(X_RemoveTrustStoreRevocations, 2),
	RANGE(X_SetIpAddressType, 3),
	RANGE(X_SetRulePriorities, 3),
	RANGE(X_SetSecurityGroups, 3),
	RANGE(X_SetSubnets, 7),
};

static const uint16_t errors[] = {
	/* AddListenerCertificates */
	S_CertificateNotFoundException, S_ListenerNotFoundException, S_TooManyCertificatesException,
	/* AddTags */
	S_DuplicateTagKeysException, S_ListenerNotFoundException, S_LoadBalancerNotFoundException,
	S_RuleNotFoundException, S_TargetGroupNotFoundException, S_TooManyTagsException,
	S_TrustStoreNotFoundException,
	/* AddTrustStoreRevocations */
	S_InvalidRevocationContentException, S_RevocationContentNotFoundException,
	S_TooManyTrustStoreRevocationEntriesException, S_TrustStoreNotFoundException,
	/* CreateListener */
	S_ALPNPolicyNotSupportedException, S_CertificateNotFoundException,
	S_DuplicateListenerException, S_IncompatibleProtocolsException,
	S_InvalidConfigurationRequestException, S_InvalidLoadBalancerActionException,
	S_LoadBalancerNotFoundException, S_SSLPolicyNotFoundException,
	S_TargetGroupAssociationLimitException, S_TargetGroupNotFoundException,
	S_TooManyActionsException, S_TooManyCertificatesException, S_TooManyListenersException,
	S_TooManyRegistrationsForTargetIdException, S_TooManyTagsException,
	S_TooManyTargetsException, S_TooManyUniqueTargetGroupsPerLoadBalancerException,
	S_TrustStoreNotFoundException, S_TrustStoreNotReadyException,
	S_UnsupportedProtocolException,
	/* CreateLoadBalancer */
	S_AllocationIdNotFoundException, S_AvailabilityZoneNotSupportedException,
	S_DuplicateLoadBalancerNameException, S_DuplicateTagKeysException,
	S_InvalidConfigurationRequestException, S_InvalidSchemeException,
	S_InvalidSecurityGroupException, S_InvalidSubnetException, S_OperationNotPermittedException,
	S_ResourceInUseException, S_SubnetNotFoundException, S_TooManyLoadBalancersException,
	S_TooManyTagsException,
	/* CreateRule */
	S_IncompatibleProtocolsException, S_InvalidConfigurationRequestException,
	S_InvalidLoadBalancerActionException, S_ListenerNotFoundException, S_PriorityInUseException,
	S_TargetGroupAssociationLimitException, S_TargetGroupNotFoundException,
	S_TooManyActionsException, S_TooManyRegistrationsForTargetIdException,
	S_TooManyRulesException, S_TooManyTagsException, S_TooManyTargetGroupsException,
	S_TooManyTargetsException, S_TooManyUniqueTargetGroupsPerLoadBalancerException,
	S_UnsupportedProtocolException,
	/* CreateTargetGroup */
	S_DuplicateTargetGroupNameException, S_InvalidConfigurationRequestException,
	S_TooManyTagsException, S_TooManyTargetGroupsException,
	/* CreateTrustStore */
	S_CaCertificatesBundleNotFoundException, S_DuplicateTagKeysException,
	S_DuplicateTrustStoreNameException, S_InvalidCaCertificatesBundleException,
	S_TooManyTagsException, S_TooManyTrustStoresException,
	/* DeleteListener */
	S_ListenerNotFoundException, S_ResourceInUseException,
	/* DeleteLoadBalancer */
	S_LoadBalancerNotFoundException, S_OperationNotPermittedException, S_ResourceInUseException,
	/* DeleteRule */
	S_OperationNotPermittedException, S_RuleNotFoundException,
	/* DeleteSharedTrustStoreAssociation */
	S_DeleteAssociationSameAccountException, S_TrustStoreAssociationNotFoundException,
	S_TrustStoreNotFoundException,
	/* DeleteTargetGroup */
	S_ResourceInUseException,
	/* DeleteTrustStore */
	S_TrustStoreInUseException, S_TrustStoreNotFoundException,
	/* DeregisterTargets */
	S_InvalidTargetException, S_TargetGroupNotFoundException,
	/* DescribeCapacityReservation */
	S_LoadBalancerNotFoundException,
	/* DescribeListenerAttributes */
	S_ListenerNotFoundException,
	/* DescribeListenerCertificates */
	S_ListenerNotFoundException,
	/* DescribeListeners */
	S_ListenerNotFoundException, S_LoadBalancerNotFoundException,
	S_UnsupportedProtocolException,
	/* DescribeLoadBalancerAttributes */
	S_LoadBalancerNotFoundException,
	/* DescribeLoadBalancers */
	S_LoadBalancerNotFoundException,
	/* DescribeRules */
	S_ListenerNotFoundException, S_RuleNotFoundException, S_UnsupportedProtocolException,
	/* DescribeSSLPolicies */
	S_SSLPolicyNotFoundException,
	/* DescribeTags */
	S_ListenerNotFoundException, S_LoadBalancerNotFoundException, S_RuleNotFoundException,
	S_TargetGroupNotFoundException, S_TrustStoreNotFoundException,
	/* DescribeTargetGroupAttributes */
	S_TargetGroupNotFoundException,
	/* DescribeTargetGroups */
	S_LoadBalancerNotFoundException, S_TargetGroupNotFoundException,
	/* DescribeTargetHealth */
	S_HealthUnavailableException, S_InvalidTargetException, S_TargetGroupNotFoundException,
	/* DescribeTrustStoreAssociations */
	S_TrustStoreNotFoundException,
	/* DescribeTrustStoreRevocations */
	S_RevocationIdNotFoundException, S_TrustStoreNotFoundException,
	/* DescribeTrustStores */
	S_TrustStoreNotFoundException,
	/* GetResourcePolicy */
	S_ResourceNotFoundException,
	/* GetTrustStoreCaCertificatesBundle */
	S_TrustStoreNotFoundException,
	/* GetTrustStoreRevocationContent */
	S_RevocationIdNotFoundException, S_TrustStoreNotFoundException,
	/* ModifyCapacityReservation */
	S_CapacityDecreaseRequestsLimitExceededException, S_CapacityReservationPendingException,
	S_CapacityUnitsLimitExceededException, S_InsufficientCapacityException,
	S_InvalidConfigurationRequestException, S_LoadBalancerNotFoundException,
	S_OperationNotPermittedException, S_PriorRequestNotCompleteException,
	/* ModifyIpPools */
	S_LoadBalancerNotFoundException,
	/* ModifyListener */
	S_ALPNPolicyNotSupportedException, S_CertificateNotFoundException,
	S_DuplicateListenerException, S_IncompatibleProtocolsException,
	S_InvalidConfigurationRequestException, S_InvalidLoadBalancerActionException,
	S_ListenerNotFoundException, S_SSLPolicyNotFoundException,
	S_TargetGroupAssociationLimitException, S_TargetGroupNotFoundException,
	S_TooManyActionsException, S_TooManyCertificatesException, S_TooManyListenersException,
	S_TooManyRegistrationsForTargetIdException, S_TooManyTargetsException,
	S_TooManyUniqueTargetGroupsPerLoadBalancerException, S_TrustStoreNotFoundException,
	S_TrustStoreNotReadyException, S_UnsupportedProtocolException,
	/* ModifyListenerAttributes */
	S_InvalidConfigurationRequestException, S_ListenerNotFoundException,
	/* ModifyLoadBalancerAttributes */
	S_InvalidConfigurationRequestException, S_LoadBalancerNotFoundException,
	/* ModifyRule */
	S_IncompatibleProtocolsException, S_InvalidLoadBalancerActionException,
	S_OperationNotPermittedException, S_RuleNotFoundException,
	S_TargetGroupAssociationLimitException, S_TargetGroupNotFoundException,
	S_TooManyActionsException, S_TooManyRegistrationsForTargetIdException,
	S_TooManyTargetsException, S_TooManyUniqueTargetGroupsPerLoadBalancerException,
	S_UnsupportedProtocolException,
	/* ModifyTargetGroup */
	S_InvalidConfigurationRequestException, S_TargetGroupNotFoundException,
	/* ModifyTargetGroupAttributes */
	S_InvalidConfigurationRequestException, S_TargetGroupNotFoundException,
	/* ModifyTrustStore */
	S_CaCertificatesBundleNotFoundException, S_InvalidCaCertificatesBundleException,
	S_TrustStoreNotFoundException,
	/* RegisterTargets */
	S_InvalidTargetException, S_TargetGroupNotFoundException,
	S_TooManyRegistrationsForTargetIdException, S_TooManyTargetsException,
	/* RemoveListenerCertificates */
	S_ListenerNotFoundException, S_OperationNotPermittedException,
	/* RemoveTags */
	S_ListenerNotFoundException, S_LoadBalancerNotFoundException, S_RuleNotFoundException,
	S_TargetGroupNotFoundException, S_TooManyTagsException, S_TrustStoreNotFoundException,
	/* RemoveTrustStoreRevocations */
	S_RevocationIdNotFoundException, S_TrustStoreNotFoundException,
	/* SetIpAddressType */
	S_InvalidConfigurationRequestException, S_InvalidSubnetException,
	S_LoadBalancerNotFoundException,
	/* SetRulePriorities */
	S_OperationNotPermittedException, S_PriorityInUseException, S_RuleNotFoundException,
	/* SetSecurityGroups */
	S_InvalidConfigurationRequestException, S_InvalidSecurityGroupException,
	S_LoadBalancerNotFoundException,
	/* SetSubnets */
	S_AllocationIdNotFoundException, S_AvailabilityZoneNotSupportedException,
	S_CapacityReservationPendingException, S_InvalidConfigurationRequestException,
	S_InvalidSubnetException, S_LoadBalancerNotFoundException, S_SubnetNotFoundException,
};

static const struct shape_operation operations[] = {
	OPERATION(AddListenerCertificates, AddListenerCertificatesInput, AddListenerCertificatesOutput, ValidationError),
	OPERATION(AddTags, AddTagsInput, AddTagsOutput, ValidationError),
	OPERATION(AddTrustStoreRevocations, AddTrustStoreRevocationsInput, AddTrustStoreRevocationsOutput, ValidationError),
	OPERATION(CreateListener, CreateListenerInput, CreateListenerOutput, ValidationError),
	OPERATION(CreateLoadBalancer, CreateLoadBalancerInput, CreateLoadBalancerOutput, ValidationError),
	OPERATION(CreateRule, CreateRuleInput, CreateRuleOutput, ValidationError),
	OPERATION(CreateTargetGroup, CreateTargetGroupInput, CreateTargetGroupOutput, ValidationError),
	OPERATION(CreateTrustStore, CreateTrustStoreInput, CreateTrustStoreOutput, ValidationError),
	OPERATION(DeleteListener, DeleteListenerInput, DeleteListenerOutput, ValidationError),
	OPERATION(DeleteLoadBalancer, DeleteLoadBalancerInput, DeleteLoadBalancerOutput, ValidationError),
	OPERATION(DeleteRule, DeleteRuleInput, DeleteRuleOutput, ValidationError),
	OPERATION(DeleteSharedTrustStoreAssociation, DeleteSharedTrustStoreAssociationInput, DeleteSharedTrustStoreAssociationOutput, ValidationError),
	OPERATION(DeleteTargetGroup, DeleteTargetGroupInput, DeleteTargetGroupOutput, ValidationError),
	OPERATION(DeleteTrustStore, DeleteTrustStoreInput, DeleteTrustStoreOutput, ValidationError),
	OPERATION(DeregisterTargets, DeregisterTargetsInput, DeregisterTargetsOutput, ValidationError),
	OPERATION(DescribeAccountLimits, DescribeAccountLimitsInput, DescribeAccountLimitsOutput, ValidationError),
	OPERATION(DescribeCapacityReservation, DescribeCapacityReservationInput, DescribeCapacityReservationOutput, ValidationError),
	OPERATION(DescribeListenerAttributes, DescribeListenerAttributesInput, DescribeListenerAttributesOutput, ValidationError),
	OPERATION(DescribeListenerCertificates, DescribeListenerCertificatesInput, DescribeListenerCertificatesOutput, ValidationError),
	OPERATION(DescribeListeners, DescribeListenersInput, DescribeListenersOutput, ValidationError),
	OPERATION(DescribeLoadBalancerAttributes, DescribeLoadBalancerAttributesInput, DescribeLoadBalancerAttributesOutput, ValidationError),
	OPERATION(DescribeLoadBalancers, DescribeLoadBalancersInput, DescribeLoadBalancersOutput, ValidationError),
	OPERATION(DescribeRules, DescribeRulesInput, DescribeRulesOutput, ValidationError),
	OPERATION(DescribeSSLPolicies, DescribeSSLPoliciesInput, DescribeSSLPoliciesOutput, ValidationError),
	OPERATION(DescribeTags, DescribeTagsInput, DescribeTagsOutput, ValidationError),
	OPERATION(DescribeTargetGroupAttributes, DescribeTargetGroupAttributesInput, DescribeTargetGroupAttributesOutput, ValidationError),
	OPERATION(DescribeTargetGroups, DescribeTargetGroupsInput, DescribeTargetGroupsOutput, ValidationError),
	OPERATION(DescribeTargetHealth, DescribeTargetHealthInput, DescribeTargetHealthOutput, ValidationError),
	OPERATION(DescribeTrustStoreAssociations, DescribeTrustStoreAssociationsInput, DescribeTrustStoreAssociationsOutput, ValidationError),
	OPERATION(DescribeTrustStoreRevocations, DescribeTrustStoreRevocationsInput, DescribeTrustStoreRevocationsOutput, ValidationError),
	OPERATION(DescribeTrustStores, DescribeTrustStoresInput, DescribeTrustStoresOutput, ValidationError),
	OPERATION(GetResourcePolicy, GetResourcePolicyInput, GetResourcePolicyOutput, ValidationError),
	OPERATION(GetTrustStoreCaCertificatesBundle, GetTrustStoreCaCertificatesBundleInput, GetTrustStoreCaCertificatesBundleOutput, ValidationError),
	OPERATION(GetTrustStoreRevocationContent, GetTrustStoreRevocationContentInput, GetTrustStoreRevocationContentOutput, ValidationError),
	OPERATION(ModifyCapacityReservation, ModifyCapacityReservationInput, ModifyCapacityReservationOutput, ValidationError),
	OPERATION(ModifyIpPools, ModifyIpPoolsInput, ModifyIpPoolsOutput, ValidationError),
	OPERATION(ModifyListener, ModifyListenerInput, ModifyListenerOutput, ValidationError),
	OPERATION(ModifyListenerAttributes, ModifyListenerAttributesInput, ModifyListenerAttributesOutput, ValidationError),
	OPERATION(ModifyLoadBalancerAttributes, ModifyLoadBalancerAttributesInput, ModifyLoadBalancerAttributesOutput, ValidationError),
	OPERATION(ModifyRule, ModifyRuleInput, ModifyRuleOutput, ValidationError),
	OPERATION(ModifyTargetGroup, ModifyTargetGroupInput, ModifyTargetGroupOutput, ValidationError),
	OPERATION(ModifyTargetGroupAttributes, ModifyTargetGroupAttributesInput, ModifyTargetGroupAttributesOutput, ValidationError),
	OPERATION(ModifyTrustStore, ModifyTrustStoreInput, ModifyTrustStoreOutput, ValidationError),
	OPERATION(RegisterTargets, RegisterTargetsInput, RegisterTargetsOutput, ValidationError),
	OPERATION(RemoveListenerCertificates, RemoveListenerCertificatesInput, RemoveListenerCertificatesOutput, ValidationError),
	OPERATION(RemoveTags, RemoveTagsInput, RemoveTagsOutput, ValidationError),
	OPERATION(RemoveTrustStoreRevocations, RemoveTrustStoreRevocationsInput, RemoveTrustStoreRevocationsOutput, ValidationError),
	OPERATION(SetIpAddressType, SetIpAddressTypeInput, SetIpAddressTypeOutput, ValidationError),
	OPERATION(SetRulePriorities, SetRulePrioritiesInput, SetRulePrioritiesOutput, ValidationError),
	OPERATION(SetSecurityGroups, SetSecurityGroupsInput, SetSecurityGroupsOutput, ValidationError),
	OPERATION(SetSubnets, SetSubnetsInput, SetSubnetsOutput, ValidationError),
};

const struct shape_service shape_elasticloadbalancingv2 = {
	.name = "elasticloadbalancingv2",
	.signing_name = "elasticloadbalancing",
	.protocol = "query",
	.version = "2015-12-01",
	.target_prefix = "",
	.xml_namespace = "http://elasticloadbalancing.amazonaws.com/doc/2015-12-01/",
	SHAPE_TABLES,
};
