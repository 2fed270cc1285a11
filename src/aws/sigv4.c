/* Reading, verifying and making signatures; canonical forms and keys have files of their own. */
#include "aws/sigv4.h"

#include <openssl/crypto.h>
#include <stdarg.h>
#include <stdio.h>

#include "aws/sigv4_canonical.h"
#include "aws/sigv4_hash.h"
#include "aws/sigv4_key.h"
#include "base/clock.h"

#define ALGORITHM "AWS4-HMAC-SHA256"
#define TERMINATOR "aws4_request"
#define INCOMPLETE "IncompleteSignatureException"
#define INVALID "InvalidSignatureException"
#define DATE_LENGTH 8                                /* YYYYMMDD */
#define TO_SIGN_MAX (64 + SIGV4_CREDENTIAL_MAX + 64) /* algorithm, date, scope, hash */

int sigv4_refuse(struct sigv4_failure *failure, const char *type, const char *format, ...)
{
	va_list list;

	failure->type = type;
	failure->status = 400;
	va_start(list, format);
	vsnprintf(failure->message, sizeof(failure->message), format, list);
	va_end(list);
	/* Messages repeat what the client sent, which may be no text at all. */
	for (char *c = failure->message; *c; c++) {
		if (*c < ' ' || *c > '~')
			*c = '?';
	}
	return -EACCES;
}

static int refuse_mismatch(struct sigv4_failure *failure)
{
	return sigv4_refuse(failure, INVALID,
		"The request signature we calculated does not match the signature you provided. "
		"Check your AWS Secret Access Key and signing method. Consult the service "
		"documentation for details.");
}

/* ---- reading ---- */

/* How often the header is there; the first value in *ret_value. */
static size_t find_header(const struct sigv4_request *request, struct span name,
	struct span *ret_value)
{
	size_t found = 0;

	for (size_t i = 0; i < request->header_count; i++) {
		if (!span_equal_ignoring_case(request->headers[i].name, name))
			continue;
		if (found++ == 0)
			*ret_value = span_trim(request->headers[i].value);
	}
	return found;
}

/* "Credential=…, SignedHeaders=…, Signature=…", in any order. */
static int read_parameters(struct span authorization, struct span parameters,
	struct span *ret_credential, struct sigv4_claim *claim, struct sigv4_failure *failure)
{
	struct {
		const char *name;
		struct span *value;
	} known[] = {
		{"Credential", ret_credential},
		{"Signature", &claim->signature},
		{"SignedHeaders", &claim->signed_headers},
	};
	struct span rest = parameters;
	char missing[256] = "";

	while (rest.length > 0) {
		struct span item = rest, name, value;
		size_t k = 0;

		if (!span_split(rest, ',', &item, &rest))
			rest.length = 0;
		item = span_trim(item);
		if (!span_split(item, '=', &name, &value))
			return sigv4_refuse(failure, INCOMPLETE,
				"'%.*s' not a valid key=value pair (missing equal-sign) in "
				"Authorization header: '%.*s'.",
				SPAN_ARGS(item), SPAN_ARGS(authorization));
		while (k < LENGTH(known) && !span_is(name, known[k].name))
			k++;
		if (k == LENGTH(known) || known[k].value->data)
			return sigv4_refuse(failure, INCOMPLETE,
				"Authorization header has %s parameter '%.*s'. Authorization=%.*s",
				k == LENGTH(known) ? "an unknown" : "a repeated", SPAN_ARGS(name),
				SPAN_ARGS(authorization));
		*known[k].value = value;
	}
	for (size_t k = 0; k < LENGTH(known); k++) {
		size_t length = strlen(missing);

		if (!known[k].value->data || known[k].value->length == 0)
			snprintf(missing + length, sizeof(missing) - length,
				"Authorization header requires '%s' parameter. ", known[k].name);
	}
	if (missing[0])
		return sigv4_refuse(failure, INCOMPLETE, "%sAuthorization=%.*s", missing,
			SPAN_ARGS(authorization));
	return 0;
}

static bool is_printable(struct span text)
{
	for (size_t i = 0; i < text.length; i++) {
		if (text.data[i] <= ' ' || text.data[i] > '~')
			return false;
	}
	return text.length > 0;
}

static int read_credential(struct span credential, struct sigv4_claim *claim,
	struct sigv4_failure *failure)
{
	struct span *parts[] = {&claim->access_key, &claim->date, &claim->region, &claim->service};
	struct span rest = credential, more;
	bool complete = credential.length <= SIGV4_CREDENTIAL_MAX;

	for (size_t i = 0; i < LENGTH(parts) && complete; i++)
		complete = span_split(rest, '/', parts[i], &rest) && is_printable(*parts[i]);
	if (!complete || span_split(rest, '/', &more, &more))
		return sigv4_refuse(failure, INCOMPLETE,
			"Credential must have exactly 5 slash-delimited elements, e.g. "
			"keyid/date/region/service/term, got '%.*s'",
			SPAN_ARGS(credential));
	if (!span_is(rest, TERMINATOR))
		return sigv4_refuse(failure, INVALID,
			"Credential should be scoped with a valid terminator: '" TERMINATOR
			"', not '%.*s'.",
			SPAN_ARGS(rest));
	return 0;
}

static int read_date(const struct sigv4_request *request, struct span authorization,
	struct sigv4_claim *claim, struct sigv4_failure *failure)
{
	size_t found = find_header(request, SPAN("x-amz-date"), &claim->amz_date);

	if (found == 0)
		found = find_header(request, SPAN("date"), &claim->amz_date);
	if (found == 0)
		return sigv4_refuse(failure, INCOMPLETE,
			"Authorization header requires existence of either a 'X-Amz-Date' or a "
			"'Date' header. Authorization=%.*s",
			SPAN_ARGS(authorization));
	if (found > 1 || clock_parse_basic(claim->amz_date.data, claim->amz_date.length) < 0)
		return sigv4_refuse(failure, INCOMPLETE,
			"Date must be in ISO-8601 'basic format'. Got '%.*s'. See "
			"http://en.wikipedia.org/wiki/ISO_8601",
			SPAN_ARGS(claim->amz_date));
	if (!span_equal(claim->date, (struct span){claim->amz_date.data, DATE_LENGTH}))
		return sigv4_refuse(failure, INVALID,
			"Date in Credential scope does not match YYYYMMDD from ISO-8601 version of "
			"date from HTTP: '%.*s' != '%.*s', from '%.*s'.",
			SPAN_ARGS(claim->date), DATE_LENGTH, claim->amz_date.data,
			SPAN_ARGS(claim->amz_date));
	return 0;
}

static bool is_header_character(char c)
{
	return c > ' ' && c <= '~' && !(c >= 'A' && c <= 'Z') && c != ':' && c != ',';
}

static bool is_signed(struct span signed_headers, struct span header)
{
	struct span rest = signed_headers;

	while (rest.length > 0) {
		struct span name = rest;

		if (!span_split(rest, ';', &name, &rest))
			rest.length = 0;
		if (span_equal_ignoring_case(name, header))
			return true;
	}
	return false;
}

/* A header that is not signed can be changed on the way: the host of a request, and every header
 * that affects its meaning, must be signed. */
static int check_signed_headers(const struct sigv4_request *request,
	const struct sigv4_claim *claim, struct sigv4_failure *failure)
{
	size_t names = 1;

	for (size_t i = 0; i < claim->signed_headers.length; i++) {
		char c = claim->signed_headers.data[i];

		names += c == ';';
		if (!is_header_character(c))
			return sigv4_refuse(failure, INCOMPLETE,
				"SignedHeaders must be names in lower case, separated by ';', got "
				"'%.*s'",
				SPAN_ARGS(claim->signed_headers));
	}
	if (names > SIGV4_SIGNED_HEADERS_MAX)
		return sigv4_refuse(failure, INCOMPLETE,
			"SignedHeaders has %zu names, the limit is %d", names,
			SIGV4_SIGNED_HEADERS_MAX);
	if (!is_signed(claim->signed_headers, SPAN("host")))
		return sigv4_refuse(failure, INVALID,
			"'Host' or ':authority' must be a 'SignedHeader' in the AWS "
			"Authorization.");
	for (size_t i = 0; i < request->header_count; i++) {
		struct span name = request->headers[i].name;

		if (name.length < 6 ||
			!span_equal_ignoring_case((struct span){name.data, 6}, SPAN("x-amz-")))
			continue;
		if (!is_signed(claim->signed_headers, name))
			return sigv4_refuse(failure, INVALID,
				"'%.*s' must be a 'SignedHeader' in the AWS Authorization.",
				SPAN_ARGS(name));
	}
	return 0;
}

int sigv4_read(const struct sigv4_request *request, struct sigv4_claim *ret_claim,
	struct sigv4_failure *failure)
{
	struct sigv4_claim claim = {0};
	struct span authorization, algorithm, parameters = SPAN(""), credential = SPAN_NONE;
	size_t found = find_header(request, SPAN("authorization"), &authorization);

	if (found == 0 || authorization.length == 0)
		return sigv4_refuse(failure, "MissingAuthenticationTokenException",
			"Missing Authentication Token");
	if (found > 1)
		return sigv4_refuse(failure, INCOMPLETE,
			"There is more than one Authorization header.");
	algorithm = authorization;
	span_split(authorization, ' ', &algorithm, &parameters);
	if (!span_is(algorithm, ALGORITHM))
		return sigv4_refuse(failure, INCOMPLETE, "Unsupported AWS 'algorithm': '%.*s'.",
			SPAN_ARGS(algorithm));
	if (read_parameters(authorization, parameters, &credential, &claim, failure) < 0 ||
		read_credential(credential, &claim, failure) < 0 ||
		read_date(request, authorization, &claim, failure) < 0 ||
		check_signed_headers(request, &claim, failure) < 0)
		return -EACCES;
	if (find_header(request, SPAN("x-amz-security-token"), &claim.session_token) > 1)
		return sigv4_refuse(failure, INCOMPLETE,
			"There is more than one X-Amz-Security-Token header.");
	*ret_claim = claim;
	return 0;
}

int sigv4_check_service(const struct sigv4_claim *claim, const char *service,
	struct sigv4_failure *failure)
{
	if (span_is(claim->service, service))
		return 0;
	return sigv4_refuse(failure, INVALID,
		"Credential should be scoped to correct service: '%s'. ", service);
}

/* ---- verifying ---- */

static int check_time(struct span amz_date, int64_t now_ms, struct sigv4_failure *failure)
{
	int64_t then_ms = clock_parse_basic(amz_date.data, amz_date.length);
	char now[CLOCK_ISO_SIZE], limit[CLOCK_ISO_SIZE];
	bool early = then_ms > now_ms + SIGV4_SKEW_MS;

	/* The date has no fractions: neither has the limit, or the last second would be cut short. */
	if (!early && then_ms >= (now_ms - SIGV4_SKEW_MS) / 1000 * 1000)
		return 0;
	clock_format_basic(now_ms, now);
	clock_format_basic(early ? now_ms + SIGV4_SKEW_MS : now_ms - SIGV4_SKEW_MS, limit);
	if (early)
		return sigv4_refuse(failure, INVALID,
			"Signature not yet current: %.*s is still later than %s (%s + %d min.)",
			SPAN_ARGS(amz_date), limit, now, SIGV4_SKEW_MS / 60000);
	return sigv4_refuse(failure, INVALID,
		"Signature expired: %.*s is now earlier than %s (%s - %d min.)",
		SPAN_ARGS(amz_date), limit, now, SIGV4_SKEW_MS / 60000);
}

/* A client that announces a hash of the body must mean this body; one that announces none has not
 * signed it, and an intermediary could replace the body. */
static int check_announced_hash(const struct sigv4_request *request, struct span payload_hash,
	struct sigv4_failure *failure)
{
	struct span announced;
	size_t found = find_header(request, SPAN("x-amz-content-sha256"), &announced);

	if (found == 0 || (found == 1 && span_equal(announced, payload_hash)))
		return 0;
	return sigv4_refuse(failure, INVALID,
		"The value of the 'x-amz-content-sha256' header must be the SHA-256 of the body; "
		"unsigned and streamed payloads are not accepted. Got '%.*s'.",
		SPAN_ARGS(announced));
}

/* The string to sign. Returns its length. */
static size_t write_to_sign(struct span amz_date, const struct sigv4_scope *scope,
	const unsigned char request_hash[SIGV4_HASH_SIZE], char out[TO_SIGN_MAX])
{
	struct span parts[] = {SPAN(ALGORITHM "\n"), amz_date, SPAN("\n"), scope->date, SPAN("/"),
		scope->region, SPAN("/"), scope->service, SPAN("/" TERMINATOR "\n")};
	size_t length = 0;

	for (size_t i = 0; i < LENGTH(parts); i++) {
		if (parts[i].length > TO_SIGN_MAX - SIGV4_HEX_SIZE - length)
			return 0;
		memcpy(out + length, parts[i].data, parts[i].length);
		length += parts[i].length;
	}
	sigv4_hash_hex(request_hash, out + length);
	return length + SIGV4_HEX_SIZE;
}

static struct sigv4_scope scope_of(const struct sigv4_claim *claim)
{
	return (struct sigv4_scope){.access_key = claim->access_key,
		.date = claim->date,
		.region = claim->region,
		.service = claim->service};
}

int sigv4_verify(const struct sigv4_request *request, const struct sigv4_claim *claim,
	struct span secret, int64_t now_ms, struct sigv4_cache *cache,
	struct sigv4_failure *failure)
{
	_buffer_ struct buffer canonical = BUFFER_WITH_CAP(SIGV4_CANONICAL_MAX);
	_sigv4_hash_ struct sigv4_hash hash = {0};
	struct sigv4_scope scope = scope_of(claim);
	unsigned char digest[SIGV4_HASH_SIZE], key[SIGV4_HASH_SIZE];
	char payload[SIGV4_HEX_SIZE], expected[SIGV4_HEX_SIZE], to_sign[TO_SIGN_MAX];
	struct span payload_hash = {payload, SIGV4_HEX_SIZE};
	size_t length;
	bool cached;

	if (check_time(claim->amz_date, now_ms, failure) < 0)
		return -EACCES;
	sigv4_hash_open(&hash);
	sigv4_hash_digest(&hash, request->body, digest);
	sigv4_hash_hex(digest, payload);
	if (check_announced_hash(request, payload_hash, failure) < 0)
		return -EACCES;
	if (sigv4_canonical_write(request, claim->signed_headers, payload_hash, SIGV4_PATH_NORMAL,
		    &canonical) < 0)
		return sigv4_refuse(failure, INVALID,
			"The query or the headers are too long to be signed.");
	sigv4_hash_digest(&hash, buffer_span(&canonical), digest);
	length = write_to_sign(claim->amz_date, &scope, digest, to_sign);
	if (length == 0)
		return refuse_mismatch(failure);
	cached = cache && sigv4_cache_get(cache, secret, &scope, key);
	if (!cached)
		sigv4_key_derive(&hash, secret, &scope, key);
	sigv4_hash_hmac(&hash, key, SIGV4_HASH_SIZE, (struct span){to_sign, length}, digest);
	sigv4_hash_hex(digest, expected);
	if (claim->signature.length != SIGV4_HEX_SIZE ||
		CRYPTO_memcmp(expected, claim->signature.data, SIGV4_HEX_SIZE) != 0) {
		OPENSSL_cleanse(key, sizeof(key));
		return refuse_mismatch(failure);
	}
	if (cache && !cached)
		sigv4_cache_put(cache, secret, &scope, key);
	OPENSSL_cleanse(key, sizeof(key));
	return 0;
}

/* ---- signing ---- */

size_t sigv4_sign(const struct sigv4_request *request, const struct sigv4_credentials *credentials,
	struct span region, struct span service, int64_t now_ms, struct arena *arena,
	struct sigv4_header ret_headers[4])
{
	_buffer_ struct buffer canonical = {0};
	_sigv4_hash_ struct sigv4_hash hash = {0};
	bool s3 = span_is(service, "s3");
	struct sigv4_request whole = *request;
	struct sigv4_header *headers =
		arena_allocate_array(arena, request->header_count + 3, sizeof(*headers));
	unsigned char digest[SIGV4_HASH_SIZE], key[SIGV4_HASH_SIZE];
	char date[CLOCK_ISO_SIZE], payload[SIGV4_HEX_SIZE], signature[SIGV4_HEX_SIZE];
	struct sigv4_scope scope;
	struct span names, to_sign;
	size_t count = 0;

	sigv4_hash_open(&hash);
	sigv4_hash_digest(&hash, request->body, digest);
	sigv4_hash_hex(digest, payload);
	clock_format_basic(now_ms, date);

	ret_headers[count++] =
		(struct sigv4_header){SPAN("X-Amz-Date"), arena_copy_span(arena, span_of(date))};
	if (s3)
		ret_headers[count++] = (struct sigv4_header){SPAN("X-Amz-Content-Sha256"),
			arena_copy_span(arena, (struct span){payload, SIGV4_HEX_SIZE})};
	if (credentials->session_token.data)
		ret_headers[count++] = (struct sigv4_header){
			SPAN("X-Amz-Security-Token"), credentials->session_token};
	if (request->header_count > 0)
		memcpy(headers, request->headers, request->header_count * sizeof(*headers));
	memcpy(headers + request->header_count, ret_headers, count * sizeof(*headers));
	whole.headers = headers;
	whole.header_count = request->header_count + count;

	names = sigv4_canonical_names(whole.headers, whole.header_count, arena);
	/* No cap, and the query is our own: it cannot fail but for too many parameters. */
	if (sigv4_canonical_write(&whole, names, (struct span){payload, SIGV4_HEX_SIZE},
		    s3 ? SIGV4_PATH_S3 : SIGV4_PATH_NORMAL, &canonical) < 0)
		buffer_reset(&canonical);
	sigv4_hash_digest(&hash, buffer_span(&canonical), digest);
	scope = (struct sigv4_scope){.access_key = credentials->access_key,
		.date = {date, DATE_LENGTH},
		.region = region,
		.service = service};
	sigv4_hash_hex(digest, signature);
	to_sign = arena_format(arena, ALGORITHM "\n%s\n%.*s/%.*s/%.*s/" TERMINATOR "\n%.*s", date,
		SPAN_ARGS(scope.date), SPAN_ARGS(region), SPAN_ARGS(service), SIGV4_HEX_SIZE,
		signature);
	sigv4_key_derive(&hash, credentials->secret, &scope, key);
	sigv4_hash_hmac(&hash, key, SIGV4_HASH_SIZE, to_sign, digest);
	sigv4_hash_hex(digest, signature);
	OPENSSL_cleanse(key, sizeof(key));
	ret_headers[count++] = (struct sigv4_header){SPAN("Authorization"),
		arena_format(arena,
			ALGORITHM " Credential=%.*s/%.*s/%.*s/%.*s/" TERMINATOR
				  ", SignedHeaders=%.*s, Signature=%.*s",
			SPAN_ARGS(credentials->access_key), SPAN_ARGS(scope.date),
			SPAN_ARGS(region), SPAN_ARGS(service), SPAN_ARGS(names), SIGV4_HEX_SIZE,
			signature)};
	return count;
}
