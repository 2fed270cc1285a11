#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdio.h>

#include "aws/sigv4.h"
#include "aws/sigv4_canonical.h"
#include "aws/sigv4_hash.h"
#include "base/clock.h"
#include "base/memory.h"

/* The credentials, scope and signatures of AWS's published test suite for Signature Version 4. */
#define KEY_ID "AKIDEXAMPLE"
#define SECRET "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
#define DATE "20150830T123600Z"
#define SCOPE "20150830/us-east-1/service/aws4_request"
#define HOST "example.amazonaws.com"
#define TOKEN                                                                                      \
	"AQoDYXdzEPT//////////wEXAMPLEtc764bNrC9SAPBSM22wDOk4x4HIZ8j4FZTwdQWLWsKWHGBuFqwAeMicRXm"  \
	"xfpSPfIeoIYRqTflfKD8YUuwthAx7mSEI/qkPpKPi/kMcGdQrmGdeehM4IC1NtBmUpp2wUE8phUZampKsburEDy"  \
	"0KPkyQDYwT7WZ0wq5VSXDvp75YU9HFvlRd8Tx6q6fE8YQcHNVXAkiY9q6d+"                              \
	"xo0rKwT38xVqr7ZD0u0iPPkUL64lIZ"                                                           \
	"bqBAz+scqKmlzm8FDrypNC9Yjc8fPOLn9FX9KSYvKTr4rvx3iSIlTJabIQwj2ICCR/oLxBA=="
#define VANILLA "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"
#define POST_VANILLA "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"
#define LETTERS "-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

static int64_t now(void)
{
	return clock_parse_basic(DATE, strlen(DATE));
}

struct vector {
	const char *name, *method, *path, *query, *body;
	const char *headers[6][2]; /* besides Host and X-Amz-Date */
	const char *signed_headers, *signature;
};

static const struct vector vectors[] = {
	{"get-vanilla", "GET", "/", "", "", {{0}}, "host;x-amz-date", VANILLA},
	{"get-header-key-duplicate", "GET", "/", "", "",
		{{"My-Header1", "value2"}, {"My-Header1", "value2"}, {"My-Header1", "value1"}},
		"host;my-header1;x-amz-date",
		"c9d5ea9f3f72853aea855b47ea873832890dbdd183b4468f858259531a5138ea"},
	{"get-header-value-multiline", "GET", "/", "", "",
		{{"My-Header1", "value1"}, {"My-Header1", "  value2"},
			{"My-Header1", "     value3"}},
		"host;my-header1;x-amz-date",
		"ba17b383a53190154eb5fa66a1b836cc297cc0a3d70a5d00705980573d8ff790"},
	{"get-header-value-order", "GET", "/", "", "",
		{{"My-Header1", "value4"}, {"My-Header1", "value1"}, {"My-Header1", "value3"},
			{"My-Header1", "value2"}},
		"host;my-header1;x-amz-date",
		"08c7e5a9acfcfeb3ab6b2185e75ce8b1deb5e634ec47601a50643f830c755c01"},
	{"get-header-value-trim", "GET", "/", "", "",
		{{"My-Header1", "  value1  "}, {"My-Header2", " \"a   b   c\" "}},
		"host;my-header1;my-header2;x-amz-date",
		"acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736"},
	{"get-unreserved", "GET", "/" LETTERS, "", "", {{0}}, "host;x-amz-date",
		"07ef7494c76fa4850883e2b006601f940f8a34d404d0cfa977f52a65bbf5f24f"},
	{"get-utf8", "GET", "/\u1234", "", "", {{0}}, "host;x-amz-date",
		"8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85"},
	{"get-space", "GET", "/example space/", "", "", {{0}}, "host;x-amz-date",
		"652487583200325589f1fba4c7e578f72c47cb61beeca81406b39ddec1366741"},
	{"get-relative", "GET", "/example/..", "", "", {{0}}, "host;x-amz-date", VANILLA},
	{"get-relative-relative", "GET", "/example1/example2/../..", "", "", {{0}},
		"host;x-amz-date", VANILLA},
	{"get-slash", "GET", "//", "", "", {{0}}, "host;x-amz-date", VANILLA},
	{"get-slash-dot-slash", "GET", "/./", "", "", {{0}}, "host;x-amz-date", VANILLA},
	{"get-slash-pointless-dot", "GET", "/./example", "", "", {{0}}, "host;x-amz-date",
		"ef75d96142cf21edca26f06005da7988e4f8dc83a165a80865db7089db637ec5"},
	{"get-slashes", "GET", "//example//", "", "", {{0}}, "host;x-amz-date",
		"9a624bd73a37c9a373b5312afbebe7a714a789de108f0bdfe846570885f57e84"},
	{"get-vanilla-empty-query-key", "GET", "/", "Param1=value1", "", {{0}}, "host;x-amz-date",
		"a67d582fa61cc504c4bae71f336f98b97f1ea3c7a6bfe1b6e45aec72011b9aeb"},
	{"get-vanilla-query-order-key-case", "GET", "/", "Param2=value2&Param1=value1", "", {{0}},
		"host;x-amz-date",
		"b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"},
	{"get-vanilla-query-unreserved", "GET", "/", LETTERS "=" LETTERS, "", {{0}},
		"host;x-amz-date",
		"9c3e54bfcdf0b19771a7f523ee5669cdf59bc7cc0884027167c21bb143a40197"},
	{"get-vanilla-utf8-query", "GET", "/", "\u1234=bar", "", {{0}}, "host;x-amz-date",
		"2cdec8eed098649ff3a119c94853b13c643bcf08f8b0a1d91e12c9027818dd04"},
	{"post-vanilla", "POST", "/", "", "", {{0}}, "host;x-amz-date", POST_VANILLA},
	{"post-header-key-sort", "POST", "/", "", "", {{"My-Header1", "value1"}},
		"host;my-header1;x-amz-date",
		"c5410059b04c1ee005303aed430f6e6645f61f4dc9e1461ec8f8916fdf18852c"},
	{"post-header-value-case", "POST", "/", "", "", {{"My-Header1", "VALUE1"}},
		"host;my-header1;x-amz-date",
		"cdbc9802e29d2942e5e10b5bccfdd67c5f22c7c4e8ae67b53629efa58b974b7d"},
	{"post-sts-header-before", "POST", "/", "", "", {{"X-Amz-Security-Token", TOKEN}},
		"host;x-amz-date;x-amz-security-token",
		"85d96828115b5dc0cfc3bd16ad9e210dd772bbebba041836c64533a82be05ead"},
	{"post-vanilla-query", "POST", "/", "Param1=value1", "", {{0}}, "host;x-amz-date",
		"28038455d6de14eafc1f9222cf5aa6f1a96197d7deb8263271d420d138af7f11"},
	{"post-vanilla-query-nonunreserved", "POST", "/",
		"%40%23%24%25%5E=&%2B=%2F%2C%3F%3E%3C%60%22%3B%3A%5C%7C%5D%5B%7B%7D", "", {{0}},
		"host;x-amz-date",
		"66c82657c86e26fb25238d0e69f011edc4c6df5ae71119d7cb98ed9b87393c1e"},
	{"post-vanilla-query-space", "POST", "/", "p=", "", {{0}}, "host;x-amz-date",
		"e71688addb58a26418614085fb730ba3faa623b461c17f48f2fbdb9361b94a9b"},
	{"post-x-www-form-urlencoded", "POST", "/", "", "Param1=value1",
		{{"Content-Type", "application/x-www-form-urlencoded"}},
		"content-type;host;x-amz-date",
		"ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a"},
	{"post-x-www-form-urlencoded-parameters", "POST", "/", "", "Param1=value1",
		{{"Content-Type", "application/x-www-form-urlencoded; charset=utf8"}},
		"content-type;host;x-amz-date",
		"1a72ec8f64bd914b0e42e42607c7fbce7fb2c7465f63e3092b3b0d39fa77a6fe"},
};

/* A request whose parts a test can change before it is verified. */
struct fixture {
	struct sigv4_header headers[16];
	char authorization[2048];
	struct sigv4_request request;
};

static struct sigv4_header *add_header(struct fixture *fixture, const char *name, const char *value)
{
	struct sigv4_header *header = &fixture->headers[fixture->request.header_count++];

	*header = (struct sigv4_header){span_of(name), span_of(value)};
	fixture->request.headers = fixture->headers;
	return header;
}

static void set_authorization(struct fixture *fixture, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
static void set_authorization(struct fixture *fixture, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	vsnprintf(fixture->authorization, sizeof(fixture->authorization), format, list);
	va_end(list);
	fixture->headers[0] =
		(struct sigv4_header){SPAN("Authorization"), span_of(fixture->authorization)};
}

static void use_vector(struct fixture *fixture, const struct vector *vector)
{
	*fixture = (struct fixture){.request = {
					    .method = span_of(vector->method),
					    .path = span_of(vector->path),
					    .query = span_of(vector->query),
					    .body = span_of(vector->body),
				    }};
	add_header(fixture, "Authorization", "");
	add_header(fixture, "Host", HOST);
	for (size_t i = 0; vector->headers[i][0]; i++)
		add_header(fixture, vector->headers[i][0], vector->headers[i][1]);
	add_header(fixture, "X-Amz-Date", DATE);
	set_authorization(fixture,
		"AWS4-HMAC-SHA256 Credential=" KEY_ID "/" SCOPE ", SignedHeaders=%s, Signature=%s",
		vector->signed_headers, vector->signature);
}

static int check(struct fixture *fixture, int64_t now_ms, struct sigv4_cache *cache,
	struct sigv4_failure *failure)
{
	struct sigv4_claim claim;

	*failure = (struct sigv4_failure){0};
	if (sigv4_read(&fixture->request, &claim, failure) < 0)
		return -EACCES;
	return sigv4_verify(&fixture->request, &claim, SPAN(SECRET), now_ms, cache, failure);
}

static void hmac_is_the_one_of_rfc_4231(void **state)
{
	static const struct {
		const char *key, *text, *digest;
	} cases[] = {
		{"Jefe", "what do ya want for nothing?",
			"5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"},
		{"\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b",
			"Hi There",
			"b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"},
	};
	_sigv4_hash_ struct sigv4_hash hash = {0};
	unsigned char digest[SIGV4_HASH_SIZE], key[131];
	char hex[SIGV4_HEX_SIZE];

	(void)state;
	sigv4_hash_open(&hash);
	for (size_t i = 0; i < LENGTH(cases); i++) {
		sigv4_hash_hmac(&hash, cases[i].key, strlen(cases[i].key), span_of(cases[i].text),
			digest);
		sigv4_hash_hex(digest, hex);
		assert_memory_equal(hex, cases[i].digest, sizeof(hex));
	}
	/* A key longer than a block is hashed first. */
	memset(key, 0xaa, sizeof(key));
	sigv4_hash_hmac(&hash, key, sizeof(key),
		SPAN("Test Using Larger Than Block-Size Key - Hash Key First"), digest);
	sigv4_hash_hex(digest, hex);
	assert_memory_equal(hex, "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
		sizeof(hex));
}

static void verifies_the_published_vectors(void **state)
{
	struct sigv4_cache *cache = sigv4_cache_new(16);
	struct sigv4_failure failure;

	(void)state;
	for (size_t i = 0; i < LENGTH(vectors); i++) {
		struct fixture fixture;

		use_vector(&fixture, &vectors[i]);
		if (check(&fixture, now(), i % 2 ? cache : NULL, &failure) < 0)
			fail_msg("%s: %s", vectors[i].name, failure.message);
	}
	sigv4_cache_free(cache);
}

static void signs_the_published_vectors(void **state)
{
	(void)state;
	for (size_t i = 0; i < LENGTH(vectors); i++) {
		_arena_ struct arena *arena = arena_new(0);
		struct fixture fixture;
		struct sigv4_credentials credentials = {
			.access_key = SPAN(KEY_ID), .secret = SPAN(SECRET)};
		struct sigv4_header headers[4];
		struct sigv4_request request;
		size_t count;

		use_vector(&fixture, &vectors[i]);
		request = fixture.request;
		request.headers++; /* without Authorization and, at the end, X-Amz-Date */
		request.header_count -= 2;
		if (strcmp(vectors[i].name, "post-sts-header-before") == 0) {
			credentials.session_token = SPAN(TOKEN);
			request.header_count--;
		}
		count = sigv4_sign(&request, &credentials, SPAN("us-east-1"), SPAN("service"),
			now(), arena, headers);
		assert_int_equal(count, credentials.session_token.data ? 3 : 2);
		assert_memory_equal(headers[count - 1].name.data, "Authorization", 13);
		if (!span_is(headers[count - 1].value, fixture.authorization))
			fail_msg("%s: %s", vectors[i].name, headers[count - 1].value.data);
	}
}

/* The examples of S3's documentation: other rules for the path, and the hash as a header. */
static void signs_for_s3(void **state)
{
	_arena_ struct arena *arena = arena_new(0);
	struct sigv4_header requested[] = {
		{SPAN("Host"), SPAN("examplebucket.s3.amazonaws.com")},
		{SPAN("Range"), SPAN("bytes=0-9")},
	};
	struct sigv4_request request = {.method = SPAN("GET"),
		.path = SPAN("/test.txt"),
		.query = SPAN(""),
		.headers = requested,
		.header_count = 2,
		.body = SPAN("")};
	struct sigv4_credentials credentials = {.access_key = SPAN("AKIAIOSFODNN7EXAMPLE"),
		.secret = SPAN("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY")};
	struct sigv4_header headers[4];
	size_t count = sigv4_sign(&request, &credentials, SPAN("us-east-1"), SPAN("s3"),
		clock_parse_basic("20130524T000000Z", 16), arena, headers);

	(void)state;
	assert_int_equal(count, 3);
	assert_true(span_ends_with(headers[2].value,
		SPAN("SignedHeaders=host;range;x-amz-content-sha256;x-amz-date, Signature="
		     "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41")));
}

static void canonical_form_is_aws_s(void **state)
{
	static const struct {
		const char *path, *query, *canonical_path, *canonical_query;
	} cases[] = {
		{"", "", "/", ""},
		{"/a/b/../c", "", "/a/c", ""},
		{"/../../a", "", "/a", ""},
		{"/a/../..//b/./c/", "", "/b/c/", ""},
		{"/...", "", "/...", ""},
		{"/a%20b/%7Ec", "", "/a%2520b/%257Ec", ""}, /* encoded again */
		{"/a:b@c", "", "/a%3Ab%40c", ""},
		{"/", "b=2&a=1&a=0&B=3", "/", "B=3&a=0&a=1&b=2"},
		{"/", "a", "/", "a="},
		{"/", "&&a=1&", "/", "a=1"},
		{"/", "a=b=c", "/", "a=b%3Dc"},
		{"/", "a=b+c%2bd%2F~%7e", "/", "a=b%20c%2Bd%2F~~"},
		{"/", "a=%&b=%2&c=%zz", "/", "a=%25&b=%252&c=%25zz"},
		/* By the encoded bytes: '%' comes before letters. */
		{"/", "a=1&%C3%A9=2", "/", "%C3%A9=2&a=1"},
		{"/", "ab=1&a=2", "/", "a=2&ab=1"},
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(cases); i++) {
		_buffer_ struct buffer out = {0};
		struct sigv4_request request = {.method = SPAN("GET"),
			.path = span_of(cases[i].path),
			.query = span_of(cases[i].query)};
		char expected[512];

		snprintf(expected, sizeof(expected), "GET\n%s\n%s\nhost:\n\nhost\nHASH",
			cases[i].canonical_path, cases[i].canonical_query);
		assert_int_equal(sigv4_canonical_write(&request, SPAN("host"), SPAN("HASH"),
					 SIGV4_PATH_NORMAL, &out),
			0);
		assert_string_equal(out.data, expected);
	}
}

static void canonical_form_has_limits(void **state)
{
	_buffer_ struct buffer query = {0};
	_buffer_ struct buffer out = BUFFER_WITH_CAP(SIGV4_CANONICAL_MAX);
	struct sigv4_request request = {.method = SPAN("GET"), .path = SPAN("/")};

	(void)state;
	for (int i = 0; i < SIGV4_QUERY_PAIRS_MAX; i++)
		buffer_add_string(&query, "a=1&");
	request.query = buffer_span(&query);
	assert_int_equal(sigv4_canonical_write(&request, SPAN("host"), SPAN(""), SIGV4_PATH_NORMAL,
				 &out),
		0);
	buffer_add_string(&query, "a=1");
	request.query = buffer_span(&query);
	assert_int_equal(sigv4_canonical_write(&request, SPAN("host"), SPAN(""), SIGV4_PATH_NORMAL,
				 &out),
		-E2BIG);
	buffer_reset(&query);
	while (query.length < SIGV4_CANONICAL_MAX / 2)
		buffer_add_string(&query, "////;;;;////;;;;");
	request.query = buffer_span(&query);
	assert_int_equal(sigv4_canonical_write(&request, SPAN("host"), SPAN(""), SIGV4_PATH_NORMAL,
				 &out),
		-E2BIG);
}

#define MISMATCH                                                                                   \
	"The request signature we calculated does not match the signature you provided. Check "    \
	"your AWS Secret Access Key and signing method. Consult the service documentation for "    \
	"details."
#define CREDENTIAL "Credential=" KEY_ID "/" SCOPE
#define SIGNED "SignedHeaders=host;x-amz-date"

static void refuses_bad_headers_in_aws_s_words(void **state)
{
	static const struct {
		const char *authorization, *date, *type, *message;
	} cases[] = {
		{NULL, DATE, "MissingAuthenticationTokenException", "Missing Authentication Token"},
		{"", DATE, "MissingAuthenticationTokenException", "Missing Authentication Token"},
		{"Basic YWRtaW46YWRtaW4=", DATE, "IncompleteSignatureException",
			"Unsupported AWS 'algorithm': 'Basic'."},
		{"AWS4-HMAC-SHA256", DATE, "IncompleteSignatureException",
			"Authorization header requires 'Credential' parameter. Authorization "
			"header "
			"requires 'Signature' parameter. Authorization header requires "
			"'SignedHeaders' parameter. Authorization=AWS4-HMAC-SHA256"},
		{"AWS4-HMAC-SHA256 " CREDENTIAL ", " SIGNED, DATE, "IncompleteSignatureException",
			"Authorization header requires 'Signature' parameter. Authorization="
			"AWS4-HMAC-SHA256 " CREDENTIAL ", " SIGNED},
		{"AWS4-HMAC-SHA256 " CREDENTIAL ", " SIGNED ", Signature=", DATE,
			"IncompleteSignatureException",
			"Authorization header requires 'Signature' parameter. Authorization="
			"AWS4-HMAC-SHA256 " CREDENTIAL ", " SIGNED ", Signature="},
		{"AWS4-HMAC-SHA256 " CREDENTIAL ", what, Signature=1", DATE,
			"IncompleteSignatureException",
			"'what' not a valid key=value pair (missing equal-sign) in Authorization "
			"header: 'AWS4-HMAC-SHA256 " CREDENTIAL ", what, Signature=1'."},
		{"AWS4-HMAC-SHA256 " CREDENTIAL ", " CREDENTIAL ", " SIGNED ", Signature=1", DATE,
			"IncompleteSignatureException",
			"Authorization header has a repeated parameter 'Credential'."},
		{"AWS4-HMAC-SHA256 " CREDENTIAL ", Other=1, " SIGNED ", Signature=1", DATE,
			"IncompleteSignatureException",
			"Authorization header has an unknown parameter 'Other'."},
		{"AWS4-HMAC-SHA256 Credential=" KEY_ID ", " SIGNED ", Signature=1", DATE,
			"IncompleteSignatureException",
			"Credential must have exactly 5 slash-delimited elements, e.g. "
			"keyid/date/region/service/term, got '" KEY_ID "'"},
		{"AWS4-HMAC-SHA256 Credential=" KEY_ID "/" SCOPE "/x, " SIGNED ", Signature=1",
			DATE, "IncompleteSignatureException",
			"Credential must have exactly 5 slash-delimited elements"},
		{"AWS4-HMAC-SHA256 Credential=" KEY_ID "/20150830//service/aws4_request, " SIGNED
		 ", Signature=1",
			DATE, "IncompleteSignatureException",
			"Credential must have exactly 5 slash-delimited elements"},
		{"AWS4-HMAC-SHA256 Credential=" KEY_ID "/20150830/us-east-1/service/aws5, " SIGNED
		 ", Signature=1",
			DATE, "InvalidSignatureException",
			"Credential should be scoped with a valid terminator: 'aws4_request', not "
			"'aws5'."},
		{"AWS4-HMAC-SHA256 " CREDENTIAL ", " SIGNED ", Signature=1", NULL,
			"IncompleteSignatureException",
			"Authorization header requires existence of either a 'X-Amz-Date' or a "
			"'Date' header. Authorization="},
		{"AWS4-HMAC-SHA256 " CREDENTIAL ", " SIGNED ", Signature=1", "Sun, 30 Aug 2015",
			"IncompleteSignatureException",
			"Date must be in ISO-8601 'basic format'. Got 'Sun, 30 Aug 2015'."},
		{"AWS4-HMAC-SHA256 " CREDENTIAL ", " SIGNED ", Signature=1", "20150831T123600Z",
			"InvalidSignatureException",
			"Date in Credential scope does not match YYYYMMDD from ISO-8601 version of "
			"date from HTTP: '20150830' != '20150831', from '20150831T123600Z'."},
		{"AWS4-HMAC-SHA256 " CREDENTIAL ", SignedHeaders=x-amz-date, Signature=1", DATE,
			"InvalidSignatureException",
			"'Host' or ':authority' must be a 'SignedHeader' in the AWS "
			"Authorization."},
		{"AWS4-HMAC-SHA256 " CREDENTIAL ", SignedHeaders=host, Signature=1", DATE,
			"InvalidSignatureException",
			"'X-Amz-Date' must be a 'SignedHeader' in the AWS Authorization."},
		{"AWS4-HMAC-SHA256 " CREDENTIAL ", SignedHeaders=Host;x-amz-date, Signature=1",
			DATE, "IncompleteSignatureException",
			"SignedHeaders must be names in lower case, separated by ';', got "
			"'Host;x-amz-date'"},
		{"AWS4-HMAC-SHA256 " CREDENTIAL ", " SIGNED ", Signature=1", DATE,
			"InvalidSignatureException", MISMATCH},
		{"AWS4-HMAC-SHA256 " CREDENTIAL ", " SIGNED
		 ", Signature=5FA00FA31553B73EBF1942676E86291E8372FF2A2260956D9B8AAE1D763FBF31",
			DATE, "InvalidSignatureException", MISMATCH},
		{"AWS4-HMAC-SHA256 Credential=" KEY_ID
		 "/20150830/us-east-2/service/aws4_request, " SIGNED ", Signature=" VANILLA,
			DATE, "InvalidSignatureException", MISMATCH},
		/* Bytes that are not text are replaced in the message. */
		{"\xff\x01\xc3", DATE, "IncompleteSignatureException",
			"Unsupported AWS 'algorithm': '?\?\?'."},
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(cases); i++) {
		struct fixture fixture;
		struct sigv4_failure failure;

		use_vector(&fixture, &vectors[0]);
		if (cases[i].authorization)
			set_authorization(&fixture, "%s", cases[i].authorization);
		else
			fixture.headers[0].name = SPAN("X-Other");
		if (cases[i].date)
			fixture.headers[2].value = span_of(cases[i].date);
		else
			fixture.request.header_count--;
		assert_int_equal(check(&fixture, now(), NULL, &failure), -EACCES);
		assert_string_equal(failure.type, cases[i].type);
		assert_int_equal(failure.status, 400);
		if (strncmp(failure.message, cases[i].message, strlen(cases[i].message)) != 0)
			fail_msg("case %zu: %s", i, failure.message);
	}
}

static void takes_freedoms_of_the_header(void **state)
{
	static const char *const texts[] = {
		"AWS4-HMAC-SHA256 " CREDENTIAL "," SIGNED ",Signature=" VANILLA,
		"AWS4-HMAC-SHA256  Signature=" VANILLA ",   " CREDENTIAL ",\t" SIGNED " ",
	};
	struct fixture fixture;
	struct sigv4_failure failure;

	(void)state;
	for (size_t i = 0; i < LENGTH(texts); i++) {
		use_vector(&fixture, &vectors[0]);
		set_authorization(&fixture, "%s", texts[i]);
		assert_int_equal(check(&fixture, now(), NULL, &failure), 0);
	}
	/* Headers that are not signed may come and go. */
	add_header(&fixture, "User-Agent", "aws-cli/2");
	assert_int_equal(check(&fixture, now(), NULL, &failure), 0);
	/* But not those that mean something. */
	add_header(&fixture, "x-amz-target", "AmazonEC2ContainerServiceV20141113.DeleteCluster");
	assert_int_equal(check(&fixture, now(), NULL, &failure), -EACCES);
	assert_string_equal(failure.message,
		"'x-amz-target' must be a 'SignedHeader' in the AWS Authorization.");
}

static void repeated_headers_are_refused(void **state)
{
	static const char *const names[] = {"AUTHORIZATION", "x-AMZ-date", "x-amz-security-token"};
	struct sigv4_failure failure;

	(void)state;
	for (size_t i = 0; i < LENGTH(names); i++) {
		struct fixture fixture;

		use_vector(&fixture, &vectors[21]); /* the one with a session token */
		assert_int_equal(check(&fixture, now(), NULL, &failure), 0);
		add_header(&fixture, names[i], DATE);
		assert_int_equal(check(&fixture, now(), NULL, &failure), -EACCES);
	}
}

static void every_signed_part_counts(void **state)
{
	const struct vector *form = &vectors[LENGTH(vectors) - 1];
	struct fixture fixture;
	struct sigv4_failure failure;

	(void)state;
	for (int part = 0; part < 6; part++) {
		use_vector(&fixture, form);
		switch (part) {
		case 0: fixture.request.method = SPAN("PUT"); break;
		case 1: fixture.request.path = SPAN("/x"); break;
		case 2: fixture.request.query = SPAN("x"); break;
		case 3: fixture.request.body = SPAN("Param1=value2"); break;
		case 4: fixture.headers[1].value = SPAN("example.com"); break;
		case 5: add_header(&fixture, "Content-Type", "text/plain"); break;
		}
		assert_int_equal(check(&fixture, now(), NULL, &failure), -EACCES);
		assert_string_equal(failure.type, "InvalidSignatureException");
		assert_string_equal(failure.message, MISMATCH);
	}
}

static void the_clock_may_differ_by_five_minutes(void **state)
{
	struct fixture fixture;
	struct sigv4_failure failure;

	(void)state;
	use_vector(&fixture, &vectors[0]);
	assert_int_equal(check(&fixture, now() + SIGV4_SKEW_MS, NULL, &failure), 0);
	assert_int_equal(check(&fixture, now() + SIGV4_SKEW_MS + 999, NULL, &failure), 0);
	assert_int_equal(check(&fixture, now() - SIGV4_SKEW_MS, NULL, &failure), 0);
	assert_int_equal(check(&fixture, now() + SIGV4_SKEW_MS + 1000, NULL, &failure), -EACCES);
	assert_string_equal(failure.type, "InvalidSignatureException");
	assert_string_equal(failure.message,
		"Signature expired: 20150830T123600Z is now earlier than 20150830T123601Z "
		"(20150830T124101Z - 5 min.)");
	assert_int_equal(check(&fixture, now() - SIGV4_SKEW_MS - 1, NULL, &failure), -EACCES);
	assert_string_equal(failure.message,
		"Signature not yet current: 20150830T123600Z is still later than 20150830T123559Z "
		"(20150830T123059Z + 5 min.)");
}

static size_t sign_fixture(struct fixture *fixture, struct arena *arena)
{
	struct sigv4_credentials credentials = {.access_key = SPAN(KEY_ID), .secret = SPAN(SECRET)};
	struct sigv4_header headers[4];
	size_t count = sigv4_sign(&fixture->request, &credentials, SPAN("us-east-1"), SPAN("ecs"),
		now(), arena, headers);

	memcpy(fixture->headers + fixture->request.header_count, headers, count * sizeof(*headers));
	fixture->request.header_count += count;
	return count;
}

static void an_announced_hash_must_be_the_body_s(void **state)
{
	static const char *const texts[] = {"UNSIGNED-PAYLOAD",
		"STREAMING-AWS4-HMAC-SHA256-PAYLOAD", "",
		"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
		/* of "{}" */
		"44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"};

	(void)state;
	for (size_t i = 0; i < LENGTH(texts); i++) {
		_arena_ struct arena *arena = arena_new(0);
		struct fixture fixture = {.request = {.method = SPAN("POST"),
						  .path = SPAN("/"),
						  .query = SPAN(""),
						  .body = SPAN("{}")}};
		struct sigv4_failure failure;

		add_header(&fixture, "Host", HOST);
		add_header(&fixture, "X-Amz-Content-Sha256", texts[i]);
		sign_fixture(&fixture, arena);
		if (i == LENGTH(texts) - 1) {
			assert_int_equal(check(&fixture, now(), NULL, &failure), 0);
			continue;
		}
		assert_int_equal(check(&fixture, now(), NULL, &failure), -EACCES);
		assert_string_equal(failure.type, "InvalidSignatureException");
		assert_memory_equal(failure.message, "The value of the 'x-amz-content-sha256'", 39);
	}
}

static void the_service_must_be_the_one_asked(void **state)
{
	struct sigv4_claim claim = {.service = SPAN("ecs")};
	struct sigv4_failure failure;

	(void)state;
	assert_int_equal(sigv4_check_service(&claim, "ecs", &failure), 0);
	assert_int_equal(sigv4_check_service(&claim, "slipway", &failure), -EACCES);
	assert_string_equal(failure.type, "InvalidSignatureException");
	assert_string_equal(failure.message,
		"Credential should be scoped to correct service: 'slipway'. ");
}

static void too_many_signed_headers_are_refused(void **state)
{
	char names[1024] = "host;x-amz-date";
	struct fixture fixture;
	struct sigv4_failure failure;

	(void)state;
	for (int i = 2; i <= SIGV4_SIGNED_HEADERS_MAX; i++)
		strcat(names, ";x");
	use_vector(&fixture, &vectors[0]);
	set_authorization(&fixture,
		"AWS4-HMAC-SHA256 " CREDENTIAL ", SignedHeaders=%s, Signature=" VANILLA, names);
	assert_int_equal(check(&fixture, now(), NULL, &failure), -EACCES);
	assert_string_equal(failure.message, "SignedHeaders has 65 names, the limit is 64");
}

/* One key id with a new secret each time: the cache must never answer for the old one. */
static void the_cache_follows_the_secret(void **state)
{
	struct sigv4_cache *cache = sigv4_cache_new(4);
	struct fixture fixture;
	struct sigv4_claim claim;
	struct sigv4_failure failure;

	(void)state;
	use_vector(&fixture, &vectors[0]);
	assert_int_equal(sigv4_read(&fixture.request, &claim, &failure), 0);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(sigv4_verify(&fixture.request, &claim, SPAN(SECRET), now(), cache,
					 &failure),
			0);
		assert_int_equal(sigv4_verify(&fixture.request, &claim, SPAN("another"), now(),
					 cache, &failure),
			-EACCES);
	}
	sigv4_cache_free(cache);
	sigv4_cache_free(NULL);
}

struct sharing {
	struct sigv4_cache *cache;
	int failed;
};

static void *verify_often(void *context)
{
	struct sharing *sharing = context;

	for (int round = 0; round < 300; round++) {
		const struct vector *vector = &vectors[round % LENGTH(vectors)];
		struct fixture fixture;
		struct sigv4_failure failure;

		use_vector(&fixture, vector);
		if (check(&fixture, now(), sharing->cache, &failure) < 0)
			sharing->failed++;
	}
	return NULL;
}

static void the_cache_is_shared_by_threads(void **state)
{
	struct sigv4_cache *cache = sigv4_cache_new(1);
	struct sharing sharing[4];
	pthread_t threads[4];

	(void)state;
	for (size_t i = 0; i < LENGTH(threads); i++) {
		sharing[i] = (struct sharing){.cache = cache};
		assert_int_equal(pthread_create(&threads[i], NULL, verify_often, &sharing[i]), 0);
	}
	for (size_t i = 0; i < LENGTH(threads); i++) {
		pthread_join(threads[i], NULL);
		assert_int_equal(sharing[i].failed, 0);
	}
	sigv4_cache_free(cache);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hmac_is_the_one_of_rfc_4231),
		cmocka_unit_test(verifies_the_published_vectors),
		cmocka_unit_test(signs_the_published_vectors),
		cmocka_unit_test(signs_for_s3),
		cmocka_unit_test(canonical_form_is_aws_s),
		cmocka_unit_test(canonical_form_has_limits),
		cmocka_unit_test(refuses_bad_headers_in_aws_s_words),
		cmocka_unit_test(takes_freedoms_of_the_header),
		cmocka_unit_test(repeated_headers_are_refused),
		cmocka_unit_test(every_signed_part_counts),
		cmocka_unit_test(the_clock_may_differ_by_five_minutes),
		cmocka_unit_test(an_announced_hash_must_be_the_body_s),
		cmocka_unit_test(the_service_must_be_the_one_asked),
		cmocka_unit_test(too_many_signed_headers_are_refused),
		cmocka_unit_test(the_cache_follows_the_secret),
		cmocka_unit_test(the_cache_is_shared_by_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
