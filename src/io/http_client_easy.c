#include "io/http_client_easy.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <sys/socket.h>

#include "base/memory.h"

int http_client_easy_fail(const struct http_client_request *request, int code, const char *reason,
	struct err *err)
{
	const char *url = request->url ? request->url : "";

	return err_set(err, code, "%s %.*s: %s", request->method ? request->method : "GET",
		(int)strcspn(url, "?#"), url, reason);
}

int http_client_easy_code(CURLcode result)
{
	static const struct {
		CURLcode result;
		int code;
	} codes[] = {
		{CURLE_URL_MALFORMAT, -EINVAL},
		{CURLE_LOGIN_DENIED, -EINVAL}, /* a user in the URL */
		{CURLE_SSL_CERTPROBLEM, -EINVAL},
		{CURLE_SSL_CACERT_BADFILE, -EINVAL},
		{CURLE_COULDNT_RESOLVE_HOST, -EHOSTUNREACH},
		{CURLE_COULDNT_CONNECT, -ECONNREFUSED},
		{CURLE_OPERATION_TIMEDOUT, -ETIMEDOUT},
		{CURLE_GOT_NOTHING, -ECONNRESET},
		{CURLE_SEND_ERROR, -ECONNRESET},
		{CURLE_RECV_ERROR, -ECONNRESET},
		{CURLE_PARTIAL_FILE, -ECONNRESET},
		{CURLE_SSL_CONNECT_ERROR, -EPROTO},
		{CURLE_WEIRD_SERVER_REPLY, -EPROTO},
		{CURLE_UNSUPPORTED_PROTOCOL, -EPROTO}, /* an answer without a head */
		{CURLE_BAD_CONTENT_ENCODING, -EPROTO},
		{CURLE_PEER_FAILED_VERIFICATION, -EACCES},
		{CURLE_FILESIZE_EXCEEDED, -EFBIG},
		{CURLE_OUT_OF_MEMORY, -ENOMEM},
	};

	for (size_t i = 0; i < LENGTH(codes); i++) {
		if (codes[i].result == result)
			return codes[i].code;
	}
	return -EIO;
}

/* Children of this process must not inherit connections. */
static curl_socket_t open_socket(void *context, curlsocktype purpose, struct curl_sockaddr *address)
{
	(void)context;
	(void)purpose;
	return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

static bool is_token(struct span text)
{
	static const char others[] = "!#$%&'*+-.^_`|~";

	for (size_t i = 0; i < text.length; i++) {
		if (!isalnum((unsigned char)text.data[i]) &&
			(text.data[i] == '\0' || !strchr(others, text.data[i])))
			return false;
	}
	return text.length > 0;
}

/* Without the characters that would begin another line or end the text. */
static bool is_one_line(struct span text)
{
	for (size_t i = 0; i < text.length; i++) {
		unsigned char c = (unsigned char)text.data[i];

		if ((c < 0x20 && c != '\t') || c == 0x7f)
			return false;
	}
	return true;
}

static bool is_url(const char *url)
{
	if (!span_starts_with(span_of(url), SPAN("http://")) &&
		!span_starts_with(span_of(url), SPAN("https://")))
		return false;
	for (; *url; url++) {
		if ((unsigned char)*url <= 0x20 || (unsigned char)*url == 0x7f)
			return false;
	}
	return true;
}

static int check_request(const struct http_client_request *request, struct err *err)
{
	if (!request->url || !is_url(request->url))
		return http_client_easy_fail(request, -EINVAL, "not an http or https URL", err);
	if (request->method && !is_token(span_of(request->method)))
		return err_set(err, -EINVAL, "not an HTTP method");
	if (request->header_count > HTTP_CLIENT_HEADERS_MAX)
		return http_client_easy_fail(request, -EINVAL, "too many headers", err);
	for (size_t i = 0; i < request->header_count; i++) {
		if (!is_token(request->headers[i].name) || !is_one_line(request->headers[i].value))
			return http_client_easy_fail(request, -EINVAL, "not an HTTP header", err);
	}
	return 0;
}

static void add_header(struct curl_slist **headers, const char *line)
{
	struct curl_slist *longer = curl_slist_append(*headers, line);

	if (!longer)
		abort(); /* out of memory: as memory_allocate() does */
	*headers = longer;
}

static struct curl_slist *make_headers(const struct http_client_request *request)
{
	struct curl_slist *headers = NULL;
	_buffer_ struct buffer line = {0};
	bool has_type = false;

	for (size_t i = 0; i < request->header_count; i++) {
		const struct http_header *header = &request->headers[i];

		buffer_reset(&line);
		buffer_add_span(&line, header->name);
		/* ";" is libcurl's way to send a header without a value. */
		buffer_add_string(&line, header->value.length > 0 ? ": " : ";");
		buffer_add_span(&line, header->value);
		add_header(&headers, line.data);
		has_type |= span_equal_ignoring_case(header->name, SPAN("content-type"));
	}
	/* Headers that libcurl would add itself. */
	if (!has_type)
		add_header(&headers, "Content-Type:");
	add_header(&headers, "Expect:");
	return headers;
}

static void set_method(CURL *easy, const struct http_client_request *request)
{
	const char *method = request->method ? request->method : "GET";
	bool has_body = request->body.data != NULL;

	if (!has_body)
		has_body = strcmp(method, "POST") == 0 || strcmp(method, "PUT") == 0 ||
			   strcmp(method, "PATCH") == 0;
	if (has_body) {
		curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE,
			(curl_off_t)request->body.length);
		curl_easy_setopt(easy, CURLOPT_POSTFIELDS,
			request->body.data ? request->body.data : "");
	}
	if (strcmp(method, "HEAD") == 0)
		curl_easy_setopt(easy, CURLOPT_NOBODY, 1L);
	else
		curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, method);
}

static void set_blob(CURL *easy, CURLoption option, struct span text)
{
	struct curl_blob blob = {(void *)text.data, text.length, CURL_BLOB_NOCOPY};

	if (text.data)
		curl_easy_setopt(easy, option, &blob);
}

static void set_tls(CURL *easy, const struct http_client_tls *tls)
{
	curl_easy_setopt(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	if (tls->insecure) {
		curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 0L);
		curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 0L);
	}
	if (tls->authorities.data) {
		curl_easy_setopt(easy, CURLOPT_CAINFO, NULL);
		curl_easy_setopt(easy, CURLOPT_CAPATH, NULL);
		set_blob(easy, CURLOPT_CAINFO_BLOB, tls->authorities);
	}
	set_blob(easy, CURLOPT_SSLCERT_BLOB, tls->certificate);
	set_blob(easy, CURLOPT_SSLKEY_BLOB, tls->key);
}

/* 0 stands for the default, less than that for none, which libcurl writes as `none`. */
static void set_timeout(CURL *easy, CURLoption option, int64_t requested, int64_t otherwise,
	long none)
{
	int64_t milliseconds = requested == 0 ? otherwise : requested;

	if (milliseconds < 0)
		curl_easy_setopt(easy, option, none);
	else
		curl_easy_setopt(easy, option,
			milliseconds > INT_MAX ? (long)INT_MAX : (long)milliseconds);
}

void http_client_easy_lists_clear(struct http_client_easy_lists *lists)
{
	curl_slist_free_all(lists->headers);
	curl_slist_free_all(lists->connect_to);
	*lists = (struct http_client_easy_lists){0};
}

/* libcurl's "HOST1:PORT1:HOST2:PORT2", where nothing stands for any. */
static struct curl_slist *make_connect_to(const char *host_and_port)
{
	struct curl_slist *list = NULL;
	_free_ char *line = memory_format("::%s", host_and_port);

	add_header(&list, line);
	return list;
}

int http_client_easy_set(CURL *easy, const struct http_client_request *request, bool streaming,
	struct http_client_easy_lists *ret_lists, struct err *err)
{
	int code;

	code = check_request(request, err);
	if (code < 0)
		return code;
	curl_easy_setopt(easy, CURLOPT_URL, request->url);
	curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L); /* a signature covers it as it is */
	curl_easy_setopt(easy, CURLOPT_DISALLOW_USERNAME_IN_URL, 1L);
	curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
	curl_easy_setopt(easy, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
	curl_easy_setopt(easy, CURLOPT_PROXY, "");
	curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	/* A call that ends during the lookup of its host's name does not wait for it, which
	 * would block the loop for all calls. The lookup's thread ends by itself. */
	curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
	curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
	curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, open_socket);
	curl_easy_setopt(easy, CURLOPT_USERAGENT, "slipway/" SLIPWAY_VERSION);
	if (request->unix_socket)
		curl_easy_setopt(easy, CURLOPT_UNIX_SOCKET_PATH, request->unix_socket);
	if (request->fresh) {
		curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, 1L);
		curl_easy_setopt(easy, CURLOPT_FORBID_REUSE, 1L);
	}
	set_method(easy, request);
	set_tls(easy, &request->tls);
	set_timeout(easy, CURLOPT_CONNECTTIMEOUT_MS, request->connect_timeout_ms,
		HTTP_CLIENT_CONNECT_TIMEOUT_MS, INT_MAX);
	set_timeout(easy, CURLOPT_TIMEOUT_MS, request->total_timeout_ms,
		streaming ? -1 : HTTP_CLIENT_TOTAL_TIMEOUT_MS, 0);
	ret_lists->headers = make_headers(request);
	curl_easy_setopt(easy, CURLOPT_HTTPHEADER, ret_lists->headers);
	if (request->connect_to) {
		ret_lists->connect_to = make_connect_to(request->connect_to);
		curl_easy_setopt(easy, CURLOPT_CONNECT_TO, ret_lists->connect_to);
	}
	return 0;
}

static struct span trim(struct span text)
{
	while (text.length > 0 && strchr(" \t\r\n", text.data[text.length - 1]))
		text.length--;
	while (text.length > 0 && (text.data[0] == ' ' || text.data[0] == '\t')) {
		text.data++;
		text.length--;
	}
	return text;
}

static void read_header(struct span line, struct http_client_response *response)
{
	struct http_header *header = &response->headers[response->header_count];

	if (!span_split(line, ':', &header->name, &header->value))
		return;
	/* The text is the response's own copy. */
	for (char *c = (char *)header->name.data; c < header->name.data + header->name.length; c++)
		*c = (char)tolower((unsigned char)*c);
	header->value = trim(header->value);
	response->header_count++;
}

int http_client_easy_read_head(struct span head, struct arena *arena,
	struct http_client_response **ret_response)
{
	struct http_client_response *response;
	struct span line;
	size_t lines = 0;
	char *text;

	response = arena_allocate_capped(arena, sizeof(*response));
	text = arena_allocate_capped(arena, head.length + 1);
	if (!response || !text)
		return -E2BIG;
	memcpy(text, head.data, head.length);
	head.data = text;
	for (size_t i = 0; i < head.length; i++)
		lines += head.data[i] == '\n';
	response->headers = arena_allocate_capped(arena, (lines + 1) * sizeof(struct http_header));
	if (!response->headers)
		return -E2BIG;
	response->body = SPAN("");
	while (span_split(head, '\n', &line, &head)) {
		if (span_starts_with(line, SPAN("HTTP/")))
			response->header_count = 0;
		else
			read_header(line, response);
	}
	*ret_response = response;
	return 0;
}

struct span http_client_header(const struct http_client_response *response, const char *name)
{
	for (size_t i = 0; i < response->header_count; i++) {
		if (span_is(response->headers[i].name, name))
			return response->headers[i].value;
	}
	return SPAN_NONE;
}
