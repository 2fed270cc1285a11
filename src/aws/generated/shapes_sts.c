/*
 * The shapes of AWS Security Token Service.
 * Written by tools/generate-shapes; change that, or tools/shapes-sts.json, and write it
 * again.
 */
/* clang-format off */
#include "aws/shape_table.h"

/* Every text of the table once; TEXT_ is for those that are no C identifier. */
#define NAMES(WORD_, TEXT_) \
	WORD_(AccessKeyId) WORD_(Account) WORD_(Arn) WORD_(AssumeRole) WORD_(AssumeRoleRequest) \
	WORD_(AssumeRoleResponse) WORD_(AssumeRoleWithSAML) WORD_(AssumeRoleWithSAMLRequest) \
	WORD_(AssumeRoleWithSAMLResponse) WORD_(AssumeRoleWithWebIdentity) \
	WORD_(AssumeRoleWithWebIdentityRequest) WORD_(AssumeRoleWithWebIdentityResponse) \
	WORD_(AssumedRoleId) WORD_(AssumedRoleUser) WORD_(Audience) WORD_(Credentials) \
	WORD_(DecodeAuthorizationMessage) WORD_(DecodeAuthorizationMessageRequest) \
	WORD_(DecodeAuthorizationMessageResponse) WORD_(DecodedMessage) WORD_(DurationSeconds) \
	WORD_(EncodedMessage) WORD_(Expiration) WORD_(ExpiredTokenException) WORD_(ExternalId) \
	WORD_(FederatedUser) WORD_(FederatedUserId) WORD_(GetAccessKeyInfo) \
	WORD_(GetAccessKeyInfoRequest) WORD_(GetAccessKeyInfoResponse) WORD_(GetCallerIdentity) \
	WORD_(GetCallerIdentityRequest) WORD_(GetCallerIdentityResponse) WORD_(GetFederationToken) \
	WORD_(GetFederationTokenRequest) WORD_(GetFederationTokenResponse) WORD_(GetSessionToken) \
	WORD_(GetSessionTokenRequest) WORD_(GetSessionTokenResponse) WORD_(IDPCommunicationError) \
	WORD_(IDPCommunicationErrorException) WORD_(IDPRejectedClaim) \
	WORD_(IDPRejectedClaimException) WORD_(InvalidAuthorizationMessageException) \
	WORD_(InvalidIdentityToken) WORD_(InvalidIdentityTokenException) WORD_(Issuer) WORD_(Key) \
	WORD_(MalformedPolicyDocument) WORD_(MalformedPolicyDocumentException) WORD_(Name) \
	WORD_(NameQualifier) WORD_(PackedPolicySize) WORD_(PackedPolicyTooLarge) \
	WORD_(PackedPolicyTooLargeException) WORD_(Policy) WORD_(PolicyArns) \
	WORD_(PolicyDescriptorType) WORD_(PrincipalArn) WORD_(Provider) WORD_(ProviderId) \
	WORD_(RegionDisabledException) WORD_(RoleArn) WORD_(RoleSessionName) WORD_(SAMLAssertion) \
	WORD_(SecretAccessKey) WORD_(SerialNumber) WORD_(SessionToken) WORD_(SourceIdentity) \
	WORD_(Subject) WORD_(SubjectFromWebIdentityToken) WORD_(SubjectType) WORD_(Tag) \
	WORD_(Tags) WORD_(TokenCode) WORD_(TransitiveTagKeys) WORD_(UserId) WORD_(ValidationError) \
	WORD_(Value) WORD_(WebIdentityToken) WORD_(arn) WORD_(message)

SHAPE_NAMES(NAMES);

enum {
	S_AssumeRoleRequest, S_AssumeRoleResponse, S_AssumeRoleWithSAMLRequest,
	S_AssumeRoleWithSAMLResponse, S_AssumeRoleWithWebIdentityRequest,
	S_AssumeRoleWithWebIdentityResponse, S_AssumedRoleUser, S_Credentials,
	S_DecodeAuthorizationMessageRequest, S_DecodeAuthorizationMessageResponse,
	S_ExpiredTokenException, S_FederatedUser, S_GetAccessKeyInfoRequest,
	S_GetAccessKeyInfoResponse, S_GetCallerIdentityRequest, S_GetCallerIdentityResponse,
	S_GetFederationTokenRequest, S_GetFederationTokenResponse, S_GetSessionTokenRequest,
	S_GetSessionTokenResponse, S_IDPCommunicationErrorException, S_IDPRejectedClaimException,
	S_InvalidAuthorizationMessageException, S_InvalidIdentityTokenException,
	S_MalformedPolicyDocumentException, S_PackedPolicyTooLargeException, S_PolicyDescriptorType,
	S_RegionDisabledException, S_Tag, S_integer_from_0, S_integer_from_900_to_129600,
	S_integer_from_900_to_43200, S_list_of_PolicyDescriptorType, S_list_of_Tag_to_50,
	S_list_of_string_from_1_to_128_to_50, S_string, S_string_from_0_to_256,
	S_string_from_16_to_128, S_string_from_1_to_10240, S_string_from_1_to_128,
	S_string_from_1_to_2048, S_string_from_20_to_2048, S_string_from_2_to_1224,
	S_string_from_2_to_193, S_string_from_2_to_32, S_string_from_2_to_64,
	S_string_from_4_to_100000, S_string_from_4_to_20000, S_string_from_4_to_2048,
	S_string_from_6_to_255, S_string_from_6_to_6, S_string_from_9_to_256, S_timestamp,
};

/* Where the members of a structure begin and end. */
enum {
	RANGE(M_AssumeRoleRequest, 11),
	RANGE(M_AssumeRoleResponse, 4),
	RANGE(M_AssumeRoleWithSAMLRequest, 6),
	RANGE(M_AssumeRoleWithSAMLResponse, 9),
	RANGE(M_AssumeRoleWithWebIdentityRequest, 7),
	RANGE(M_AssumeRoleWithWebIdentityResponse, 7),
	RANGE(M_AssumedRoleUser, 2),
	RANGE(M_Credentials, 4),
	RANGE(M_DecodeAuthorizationMessageRequest, 1),
	RANGE(M_DecodeAuthorizationMessageResponse, 1),
	RANGE(M_ExpiredTokenException, 1),
	RANGE(M_FederatedUser, 2),
	RANGE(M_GetAccessKeyInfoRequest, 1),
	RANGE(M_GetAccessKeyInfoResponse, 1),
	RANGE(M_GetCallerIdentityRequest, 0),
	RANGE(M_GetCallerIdentityResponse, 3),
	RANGE(M_GetFederationTokenRequest, 5),
	RANGE(M_GetFederationTokenResponse, 3),
	RANGE(M_GetSessionTokenRequest, 3),
	RANGE(M_GetSessionTokenResponse, 1),
	RANGE(M_IDPCommunicationErrorException, 1),
	RANGE(M_IDPRejectedClaimException, 1),
	RANGE(M_InvalidAuthorizationMessageException, 1),
	RANGE(M_InvalidIdentityTokenException, 1),
	RANGE(M_MalformedPolicyDocumentException, 1),
	RANGE(M_PackedPolicyTooLargeException, 1),
	RANGE(M_PolicyDescriptorType, 1),
	RANGE(M_RegionDisabledException, 1),
	RANGE(M_Tag, 2),
};

static const struct shape_member members[] = {
	/* AssumeRoleRequest */
	MEMBER(Tags, list_of_Tag_to_50, 0),
	MEMBER(Policy, string_from_1_to_2048, 0),
	MEMBER(RoleArn, string_from_20_to_2048, REQUIRED),
	MEMBER(TokenCode, string_from_6_to_6, 0),
	MEMBER(ExternalId, string_from_2_to_1224, 0),
	MEMBER(PolicyArns, list_of_PolicyDescriptorType, 0),
	MEMBER(SerialNumber, string_from_9_to_256, 0),
	MEMBER(SourceIdentity, string_from_2_to_64, 0),
	MEMBER(DurationSeconds, integer_from_900_to_43200, 0),
	MEMBER(RoleSessionName, string_from_2_to_64, REQUIRED),
	MEMBER(TransitiveTagKeys, list_of_string_from_1_to_128_to_50, 0),
	/* AssumeRoleResponse */
	MEMBER(Credentials, Credentials, 0),
	MEMBER(SourceIdentity, string_from_2_to_64, 0),
	MEMBER(AssumedRoleUser, AssumedRoleUser, 0),
	MEMBER(PackedPolicySize, integer_from_0, 0),
	/* AssumeRoleWithSAMLRequest */
	MEMBER(Policy, string_from_1_to_2048, 0),
	MEMBER(RoleArn, string_from_20_to_2048, REQUIRED),
	MEMBER(PolicyArns, list_of_PolicyDescriptorType, 0),
	MEMBER(PrincipalArn, string_from_20_to_2048, REQUIRED),
	MEMBER(SAMLAssertion, string_from_4_to_100000, REQUIRED),
	MEMBER(DurationSeconds, integer_from_900_to_43200, 0),
	/* AssumeRoleWithSAMLResponse */
	MEMBER(Issuer, string, 0),
	MEMBER(Subject, string, 0),
	MEMBER(Audience, string, 0),
	MEMBER(Credentials, Credentials, 0),
	MEMBER(SubjectType, string, 0),
	MEMBER(NameQualifier, string, 0),
	MEMBER(SourceIdentity, string_from_2_to_64, 0),
	MEMBER(AssumedRoleUser, AssumedRoleUser, 0),
	MEMBER(PackedPolicySize, integer_from_0, 0),
	/* AssumeRoleWithWebIdentityRequest */
	MEMBER(Policy, string_from_1_to_2048, 0),
	MEMBER(RoleArn, string_from_20_to_2048, REQUIRED),
	MEMBER(PolicyArns, list_of_PolicyDescriptorType, 0),
	MEMBER(ProviderId, string_from_4_to_2048, 0),
	MEMBER(DurationSeconds, integer_from_900_to_43200, 0),
	MEMBER(RoleSessionName, string_from_2_to_64, REQUIRED),
	MEMBER(WebIdentityToken, string_from_4_to_20000, REQUIRED),
	/* AssumeRoleWithWebIdentityResponse */
	MEMBER(Audience, string, 0),
	MEMBER(Provider, string, 0),
	MEMBER(Credentials, Credentials, 0),
	MEMBER(SourceIdentity, string_from_2_to_64, 0),
	MEMBER(AssumedRoleUser, AssumedRoleUser, 0),
	MEMBER(PackedPolicySize, integer_from_0, 0),
	MEMBER(SubjectFromWebIdentityToken, string_from_6_to_255, 0),
	/* AssumedRoleUser */
	MEMBER(Arn, string_from_20_to_2048, REQUIRED),
	MEMBER(AssumedRoleId, string_from_2_to_193, REQUIRED),
	/* Credentials */
	MEMBER(Expiration, timestamp, REQUIRED),
	MEMBER(AccessKeyId, string_from_16_to_128, REQUIRED),
	MEMBER(SessionToken, string, REQUIRED),
	MEMBER(SecretAccessKey, string, REQUIRED),
	/* DecodeAuthorizationMessageRequest */
	MEMBER(EncodedMessage, string_from_1_to_10240, REQUIRED),
	/* DecodeAuthorizationMessageResponse */
	MEMBER(DecodedMessage, string, 0),
	/* ExpiredTokenException */
	MEMBER(message, string, 0),
	/* FederatedUser */
	MEMBER(Arn, string_from_20_to_2048, REQUIRED),
	MEMBER(FederatedUserId, string_from_2_to_193, REQUIRED),
	/* GetAccessKeyInfoRequest */
	MEMBER(AccessKeyId, string_from_16_to_128, REQUIRED),
	/* GetAccessKeyInfoResponse */
	MEMBER(Account, string, 0),
	/* GetCallerIdentityResponse */
	MEMBER(Arn, string_from_20_to_2048, 0),
	MEMBER(UserId, string, 0),
	MEMBER(Account, string, 0),
	/* GetFederationTokenRequest */
	MEMBER(Name, string_from_2_to_32, REQUIRED),
	MEMBER(Tags, list_of_Tag_to_50, 0),
	MEMBER(Policy, string_from_1_to_2048, 0),
	MEMBER(PolicyArns, list_of_PolicyDescriptorType, 0),
	MEMBER(DurationSeconds, integer_from_900_to_129600, 0),
	/* GetFederationTokenResponse */
	MEMBER(Credentials, Credentials, 0),
	MEMBER(FederatedUser, FederatedUser, 0),
	MEMBER(PackedPolicySize, integer_from_0, 0),
	/* GetSessionTokenRequest */
	MEMBER(TokenCode, string_from_6_to_6, 0),
	MEMBER(SerialNumber, string_from_9_to_256, 0),
	MEMBER(DurationSeconds, integer_from_900_to_129600, 0),
	/* GetSessionTokenResponse */
	MEMBER(Credentials, Credentials, 0),
	/* IDPCommunicationErrorException */
	MEMBER(message, string, 0),
	/* IDPRejectedClaimException */
	MEMBER(message, string, 0),
	/* InvalidAuthorizationMessageException */
	MEMBER(message, string, 0),
	/* InvalidIdentityTokenException */
	MEMBER(message, string, 0),
	/* MalformedPolicyDocumentException */
	MEMBER(message, string, 0),
	/* PackedPolicyTooLargeException */
	MEMBER(message, string, 0),
	/* PolicyDescriptorType */
	MEMBER(arn, string_from_20_to_2048, 0),
	/* RegionDisabledException */
	MEMBER(message, string, 0),
	/* Tag */
	MEMBER(Key, string_from_1_to_128, REQUIRED),
	MEMBER(Value, string_from_0_to_256, REQUIRED),
};

static const struct shape_name values[] = {
	NAME(AccessKeyId),
};

enum { L_none,
	L_any_to_50, L_0_to_any, L_0_to_256, L_1_to_128, L_1_to_2048, L_1_to_10240, L_2_to_32,
	L_2_to_64, L_2_to_193, L_2_to_1224, L_4_to_2048, L_4_to_20000, L_4_to_100000, L_6_to_6,
	L_6_to_255, L_9_to_256, L_16_to_128, L_20_to_2048, L_900_to_43200, L_900_to_129600,
};

static const struct shape_limits limits[] = {
	[L_none] = {INT64_MIN, INT64_MAX},
	[L_any_to_50] = {INT64_MIN, 50},
	[L_0_to_any] = {0, INT64_MAX},
	[L_0_to_256] = {0, 256},
	[L_1_to_128] = {1, 128},
	[L_1_to_2048] = {1, 2048},
	[L_1_to_10240] = {1, 10240},
	[L_2_to_32] = {2, 32},
	[L_2_to_64] = {2, 64},
	[L_2_to_193] = {2, 193},
	[L_2_to_1224] = {2, 1224},
	[L_4_to_2048] = {4, 2048},
	[L_4_to_20000] = {4, 20000},
	[L_4_to_100000] = {4, 100000},
	[L_6_to_6] = {6, 6},
	[L_6_to_255] = {6, 255},
	[L_9_to_256] = {9, 256},
	[L_16_to_128] = {16, 128},
	[L_20_to_2048] = {20, 2048},
	[L_900_to_43200] = {900, 43200},
	[L_900_to_129600] = {900, 129600},
};

static const struct shape shapes[] = {
	[S_AssumeRoleRequest] = {STRUCTURE(AssumeRoleRequest), .required = 2},
	[S_AssumeRoleResponse] = {STRUCTURE(AssumeRoleResponse)},
	[S_AssumeRoleWithSAMLRequest] = {STRUCTURE(AssumeRoleWithSAMLRequest), .required = 3},
	[S_AssumeRoleWithSAMLResponse] = {STRUCTURE(AssumeRoleWithSAMLResponse)},
	[S_AssumeRoleWithWebIdentityRequest] = {STRUCTURE(AssumeRoleWithWebIdentityRequest), .required = 3},
	[S_AssumeRoleWithWebIdentityResponse] = {STRUCTURE(AssumeRoleWithWebIdentityResponse)},
	[S_AssumedRoleUser] = {STRUCTURE(AssumedRoleUser), .required = 2},
	[S_Credentials] = {STRUCTURE(Credentials), .required = 4},
	[S_DecodeAuthorizationMessageRequest] = {STRUCTURE(DecodeAuthorizationMessageRequest), .required = 1},
	[S_DecodeAuthorizationMessageResponse] = {STRUCTURE(DecodeAuthorizationMessageResponse)},
	[S_ExpiredTokenException] = {STRUCTURE(ExpiredTokenException), .status = 400, .flags = ERROR},
	[S_FederatedUser] = {STRUCTURE(FederatedUser), .required = 2},
	[S_GetAccessKeyInfoRequest] = {STRUCTURE(GetAccessKeyInfoRequest), .required = 1},
	[S_GetAccessKeyInfoResponse] = {STRUCTURE(GetAccessKeyInfoResponse)},
	[S_GetCallerIdentityRequest] = {STRUCTURE(GetCallerIdentityRequest)},
	[S_GetCallerIdentityResponse] = {STRUCTURE(GetCallerIdentityResponse)},
	[S_GetFederationTokenRequest] = {STRUCTURE(GetFederationTokenRequest), .required = 1},
	[S_GetFederationTokenResponse] = {STRUCTURE(GetFederationTokenResponse)},
	[S_GetSessionTokenRequest] = {STRUCTURE(GetSessionTokenRequest)},
	[S_GetSessionTokenResponse] = {STRUCTURE(GetSessionTokenResponse)},
	[S_IDPCommunicationErrorException] = {STRUCTURE(IDPCommunicationErrorException), .status = 400, .wire_name = NAME(IDPCommunicationError), .flags = ERROR},
	[S_IDPRejectedClaimException] = {STRUCTURE(IDPRejectedClaimException), .status = 403, .wire_name = NAME(IDPRejectedClaim), .flags = ERROR},
	[S_InvalidAuthorizationMessageException] = {STRUCTURE(InvalidAuthorizationMessageException), .status = 400, .flags = ERROR},
	[S_InvalidIdentityTokenException] = {STRUCTURE(InvalidIdentityTokenException), .status = 400, .wire_name = NAME(InvalidIdentityToken), .flags = ERROR},
	[S_MalformedPolicyDocumentException] = {STRUCTURE(MalformedPolicyDocumentException), .status = 400, .wire_name = NAME(MalformedPolicyDocument), .flags = ERROR},
	[S_PackedPolicyTooLargeException] = {STRUCTURE(PackedPolicyTooLargeException), .status = 400, .wire_name = NAME(PackedPolicyTooLarge), .flags = ERROR},
	[S_PolicyDescriptorType] = {STRUCTURE(PolicyDescriptorType)},
	[S_RegionDisabledException] = {STRUCTURE(RegionDisabledException), .status = 403, .flags = ERROR},
	[S_Tag] = {STRUCTURE(Tag), .required = 2},
	[S_integer_from_0] = {.type = SHAPE_INTEGER, .limits = L_0_to_any},
	[S_integer_from_900_to_129600] = {.type = SHAPE_INTEGER, .limits = L_900_to_129600},
	[S_integer_from_900_to_43200] = {.type = SHAPE_INTEGER, .limits = L_900_to_43200},
	[S_list_of_PolicyDescriptorType] = {.type = SHAPE_LIST, .element = S_PolicyDescriptorType},
	[S_list_of_Tag_to_50] = {.type = SHAPE_LIST, .element = S_Tag, .limits = L_any_to_50},
	[S_list_of_string_from_1_to_128_to_50] = {.type = SHAPE_LIST, .element = S_string_from_1_to_128, .limits = L_any_to_50},
	[S_string] = {.type = SHAPE_STRING},
	[S_string_from_0_to_256] = {.type = SHAPE_STRING, .limits = L_0_to_256},
	[S_string_from_16_to_128] = {.type = SHAPE_STRING, .limits = L_16_to_128},
	[S_string_from_1_to_10240] = {.type = SHAPE_STRING, .limits = L_1_to_10240},
	[S_string_from_1_to_128] = {.type = SHAPE_STRING, .limits = L_1_to_128},
	[S_string_from_1_to_2048] = {.type = SHAPE_STRING, .limits = L_1_to_2048},
	[S_string_from_20_to_2048] = {.type = SHAPE_STRING, .limits = L_20_to_2048},
	[S_string_from_2_to_1224] = {.type = SHAPE_STRING, .limits = L_2_to_1224},
	[S_string_from_2_to_193] = {.type = SHAPE_STRING, .limits = L_2_to_193},
	[S_string_from_2_to_32] = {.type = SHAPE_STRING, .limits = L_2_to_32},
	[S_string_from_2_to_64] = {.type = SHAPE_STRING, .limits = L_2_to_64},
	[S_string_from_4_to_100000] = {.type = SHAPE_STRING, .limits = L_4_to_100000},
	[S_string_from_4_to_20000] = {.type = SHAPE_STRING, .limits = L_4_to_20000},
	[S_string_from_4_to_2048] = {.type = SHAPE_STRING, .limits = L_4_to_2048},
	[S_string_from_6_to_255] = {.type = SHAPE_STRING, .limits = L_6_to_255},
	[S_string_from_6_to_6] = {.type = SHAPE_STRING, .limits = L_6_to_6},
	[S_string_from_9_to_256] = {.type = SHAPE_STRING, .limits = L_9_to_256},
	[S_timestamp] = {.type = SHAPE_TIMESTAMP},
};

/* Where the errors of an operation begin and end. */
enum {
	RANGE(X_AssumeRole, 4),
	RANGE(X_AssumeRoleWithSAML, 6),
	RANGE(X_AssumeRoleWithWebIdentity, 7),
	RANGE(X_DecodeAuthorizationMessage, 1),
	RANGE(X_GetAccessKeyInfo, 0),
	RANGE(X_GetCallerIdentity, 0),
	RANGE(X_GetFederationToken, 3),
	RANGE(X_GetSessionToken, 1),
};

static const uint16_t errors[] = {
	/* AssumeRole */
	S_ExpiredTokenException, S_MalformedPolicyDocumentException,
	S_PackedPolicyTooLargeException, S_RegionDisabledException,
	/* AssumeRoleWithSAML */
	S_ExpiredTokenException, S_IDPRejectedClaimException, S_InvalidIdentityTokenException,
	S_MalformedPolicyDocumentException, S_PackedPolicyTooLargeException,
	S_RegionDisabledException,
	/* AssumeRoleWithWebIdentity */
	S_ExpiredTokenException, S_IDPCommunicationErrorException, S_IDPRejectedClaimException,
	S_InvalidIdentityTokenException, S_MalformedPolicyDocumentException,
	S_PackedPolicyTooLargeException, S_RegionDisabledException,
	/* DecodeAuthorizationMessage */
	S_InvalidAuthorizationMessageException,
	/* GetFederationToken */
	S_MalformedPolicyDocumentException, S_PackedPolicyTooLargeException,
	S_RegionDisabledException,
	/* GetSessionToken */
	S_RegionDisabledException,
};

static const struct shape_operation operations[] = {
	OPERATION(AssumeRole, AssumeRoleRequest, AssumeRoleResponse, ValidationError),
	OPERATION(AssumeRoleWithSAML, AssumeRoleWithSAMLRequest, AssumeRoleWithSAMLResponse, ValidationError),
	OPERATION(AssumeRoleWithWebIdentity, AssumeRoleWithWebIdentityRequest, AssumeRoleWithWebIdentityResponse, ValidationError),
	OPERATION(DecodeAuthorizationMessage, DecodeAuthorizationMessageRequest, DecodeAuthorizationMessageResponse, ValidationError),
	OPERATION(GetAccessKeyInfo, GetAccessKeyInfoRequest, GetAccessKeyInfoResponse, ValidationError),
	OPERATION(GetCallerIdentity, GetCallerIdentityRequest, GetCallerIdentityResponse, ValidationError),
	OPERATION(GetFederationToken, GetFederationTokenRequest, GetFederationTokenResponse, ValidationError),
	OPERATION(GetSessionToken, GetSessionTokenRequest, GetSessionTokenResponse, ValidationError),
};

const struct shape_service shape_sts = {
	.name = "sts",
	.signing_name = "sts",
	.protocol = "query",
	.version = "2011-06-15",
	.target_prefix = "",
	.xml_namespace = "https://sts.amazonaws.com/doc/2011-06-15/",
	SHAPE_TABLES,
};
