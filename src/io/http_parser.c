#include "io/http_parser.h"

#include <assert.h>

#include "base/memory.h"

#define BLANK_LINES_MAX 2    /* before a request: old clients send one behind a body */
#define REQUEST_LINE_MORE 32 /* than its target: method, version, spaces, CR LF */
#define TRAILER_MAX ((size_t)8 * 1024)
/* Framing of a chunked body may take this much, and this many times the body itself: room for chunks
 * of one byte, none for endless extensions, leading zeros or trailers. */
#define FRAMING_MAX ((uint64_t)16 * 1024)
#define FRAMING_PER_BYTE 8
#define BODY_RESERVE_MAX                                                                           \
	((size_t)64 * 1024)          /* believed of a Content-Length before the bytes come */
#define KEPT_MAX ((size_t)64 * 1024) /* memory that a message keeps for the next request */

void http_limits_fill_defaults(struct http_limits *limits)
{
#define DEFAULT(field, value) limits->field = limits->field ? limits->field : (value)
	DEFAULT(head_max, HTTP_HEAD_MAX);
	DEFAULT(target_max, HTTP_TARGET_MAX);
	DEFAULT(header_count_max, HTTP_HEADER_COUNT_MAX);
	DEFAULT(body_max, HTTP_BODY_MAX);
	DEFAULT(connections_max, HTTP_CONNECTIONS_MAX);
	DEFAULT(connections_per_address, HTTP_CONNECTIONS_PER_ADDRESS);
	DEFAULT(pipelined_max, HTTP_PIPELINED_MAX);
	DEFAULT(stream_queue_max, HTTP_STREAM_QUEUE_MAX);
	DEFAULT(idle_ms, HTTP_IDLE_MS);
	DEFAULT(head_ms, HTTP_HEAD_MS);
	DEFAULT(body_ms, HTTP_BODY_MS);
	DEFAULT(body_rate, HTTP_BODY_RATE);
	DEFAULT(write_stall_ms, HTTP_WRITE_STALL_MS);
	DEFAULT(linger_ms, HTTP_LINGER_MS);
#undef DEFAULT
}

void http_message_init(struct http_message *message)
{
	*message = (struct http_message){.arena = arena_new(0)};
}

void http_message_reset(struct http_message *message)
{
	struct buffer *buffers[] = {&message->head, &message->body};

	for (size_t i = 0; i < LENGTH(buffers); i++) {
		if (buffers[i]->capacity > KEPT_MAX)
			buffer_clear(buffers[i]);
		else
			buffer_reset(buffers[i]);
	}
	arena_reset(message->arena);
	message->request = (struct http_request){0};
}

void http_message_clear(struct http_message *message)
{
	buffer_clear(&message->head);
	buffer_clear(&message->body);
	arena_free(message->arena);
	message->arena = NULL;
}

struct span http_request_header(const struct http_request *request, struct span name)
{
	for (size_t i = 0; i < request->header_count; i++) {
		if (span_equal(request->headers[i].name, name))
			return request->headers[i].value;
	}
	return SPAN_NONE;
}

/* ---- classes of characters ---- */

static bool is_alphanumeric(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* The characters of a header's name, in lower case; 0 for invalid ones. */
static const char token_lower[256] = {
	['!'] = '!',
	['#'] = '#',
	['$'] = '$',
	['%'] = '%',
	['&'] = '&',
	['\''] = '\'',
	['*'] = '*',
	['+'] = '+',
	['-'] = '-',
	['.'] = '.',
	['^'] = '^',
	['_'] = '_',
	['`'] = '`',
	['|'] = '|',
	['~'] = '~',
	['0'] = '0',
	['1'] = '1',
	['2'] = '2',
	['3'] = '3',
	['4'] = '4',
	['5'] = '5',
	['6'] = '6',
	['7'] = '7',
	['8'] = '8',
	['9'] = '9',
	['a'] = 'a',
	['b'] = 'b',
	['c'] = 'c',
	['d'] = 'd',
	['e'] = 'e',
	['f'] = 'f',
	['g'] = 'g',
	['h'] = 'h',
	['i'] = 'i',
	['j'] = 'j',
	['k'] = 'k',
	['l'] = 'l',
	['m'] = 'm',
	['n'] = 'n',
	['o'] = 'o',
	['p'] = 'p',
	['q'] = 'q',
	['r'] = 'r',
	['s'] = 's',
	['t'] = 't',
	['u'] = 'u',
	['v'] = 'v',
	['w'] = 'w',
	['x'] = 'x',
	['y'] = 'y',
	['z'] = 'z',
	['A'] = 'a',
	['B'] = 'b',
	['C'] = 'c',
	['D'] = 'd',
	['E'] = 'e',
	['F'] = 'f',
	['G'] = 'g',
	['H'] = 'h',
	['I'] = 'i',
	['J'] = 'j',
	['K'] = 'k',
	['L'] = 'l',
	['M'] = 'm',
	['N'] = 'n',
	['O'] = 'o',
	['P'] = 'p',
	['Q'] = 'q',
	['R'] = 'r',
	['S'] = 's',
	['T'] = 't',
	['U'] = 'u',
	['V'] = 'v',
	['W'] = 'w',
	['X'] = 'x',
	['Y'] = 'y',
	['Z'] = 'z',
};

static bool is_value_character(char c)
{
	return ((unsigned char)c >= ' ' && c != 0x7F) || c == '\t';
}

/* Eight bytes at a time, since this sees every byte of every head; a hit is looked at again. */
static bool is_value(struct span text)
{
	const uint64_t ones = UINT64_C(0x0101010101010101);
	const uint64_t highs = ones << 7;
	size_t at = 0;

	for (; at + sizeof(uint64_t) <= text.length; at += sizeof(uint64_t)) {
		uint64_t word, deleted, suspicious;

		memcpy(&word, text.data + at, sizeof(word));
		deleted = word ^ (ones * 0x7F);
		/* Both terms may hit too much (a borrow from the byte below), never too little. */
		suspicious = ((word - ones * ' ') & ~word) | ((deleted - ones) & ~deleted);
		if (!(suspicious & highs))
			continue;
		for (size_t i = 0; i < sizeof(word); i++) {
			if (!is_value_character(text.data[at + i]))
				return false;
		}
	}
	for (; at < text.length; at++) {
		if (!is_value_character(text.data[at]))
			return false;
	}
	return true;
}

/* ---- refusing ---- */

static enum http_parser_result refuse(struct http_parser *parser, int status, const char *reason)
{
	parser->phase = HTTP_PHASE_REFUSED;
	parser->refusal_status = status;
	parser->refusal_reason = reason;
	return HTTP_PARSER_REFUSED;
}

static const struct {
	enum llhttp_errno number;
	int status;
	const char *reason;
} llhttp_refusals[] = {
	{HPE_INVALID_METHOD, 501, "unknown method"},
	{HPE_INVALID_VERSION, 505, "unknown HTTP version"},
	{HPE_PAUSED_H2_UPGRADE, 505, "HTTP/2 is not spoken here"},
	{HPE_INVALID_URL, 400, "invalid request target"},
	{HPE_INVALID_HEADER_TOKEN, 400, "invalid character in a header"},
	{HPE_INVALID_CONTENT_LENGTH, 400, "invalid Content-Length"},
	{HPE_UNEXPECTED_CONTENT_LENGTH, 400, "conflicting Content-Length"},
	{HPE_INVALID_TRANSFER_ENCODING, 400, "invalid Transfer-Encoding"},
	{HPE_INVALID_CHUNK_SIZE, 400, "invalid chunk size"},
	{HPE_CR_EXPECTED, 400, "a line does not end in CR LF"},
	{HPE_LF_EXPECTED, 400, "a line does not end in CR LF"},
};

static enum http_parser_result refuse_as_llhttp(struct http_parser *parser, llhttp_errno_t number)
{
	if (parser->phase == HTTP_PHASE_REFUSED) /* a callback of ours said why */
		return HTTP_PARSER_REFUSED;
	for (size_t i = 0; i < LENGTH(llhttp_refusals); i++) {
		if (llhttp_refusals[i].number == number)
			return refuse(parser, llhttp_refusals[i].status, llhttp_refusals[i].reason);
	}
	return refuse(parser, 400, "malformed request");
}

/* ---- callbacks of llhttp ---- */

static int on_headers_complete(llhttp_t *llhttp)
{
	struct http_parser *parser = llhttp->data;

	parser->keep_alive = llhttp_should_keep_alive(llhttp);
	/* An offer to upgrade is declined by answering as if it was not there. */
	llhttp->upgrade = 0;
	return 0;
}

static int on_chunk_header(llhttp_t *llhttp)
{
	struct http_parser *parser = llhttp->data;

	if (llhttp->content_length > parser->limits->body_max - parser->message->body.length) {
		refuse(parser, 413, "the body is too large");
		return HPE_USER;
	}
	return 0;
}

static int on_body(llhttp_t *llhttp, const char *data, size_t length)
{
	struct http_parser *parser = llhttp->data;

	if (length > parser->limits->body_max - parser->message->body.length) {
		refuse(parser, 413, "the body is too large");
		return HPE_USER;
	}
	buffer_add(&parser->message->body, data, length);
	return 0;
}

/* Trailers are counted and dropped: they follow the body and have no effect. */
static int on_header_part(llhttp_t *llhttp, const char *data, size_t length)
{
	struct http_parser *parser = llhttp->data;

	(void)data;
	if (parser->phase != HTTP_PHASE_BODY)
		return 0;
	parser->trailer_bytes += length;
	if (parser->trailer_bytes > TRAILER_MAX) {
		refuse(parser, 400, "the trailers are too large");
		return HPE_USER;
	}
	return 0;
}

static int on_message_complete(llhttp_t *llhttp)
{
	struct http_parser *parser = llhttp->data;

	parser->message_complete = true;
	return HPE_PAUSED;
}

static const llhttp_settings_t llhttp_settings = {
	.on_header_field = on_header_part,
	.on_header_value = on_header_part,
	.on_headers_complete = on_headers_complete,
	.on_body = on_body,
	.on_message_complete = on_message_complete,
	.on_chunk_header = on_chunk_header,
};

void http_parser_init(struct http_parser *parser, const struct http_limits *limits)
{
	*parser = (struct http_parser){.limits = limits};
	llhttp_init(&parser->llhttp, HTTP_REQUEST, &llhttp_settings);
	parser->llhttp.data = parser;
}

/* ---- the head: line structure ---- */

enum head_scan { SCAN_MORE, SCAN_COMPLETE, SCAN_REFUSED };

/* Looks at the part of a line in [data, data + length), of which the last byte is LF if `ends`. */
static const char *check_line_part(struct http_parser *parser, const char *data, size_t length,
	bool ends)
{
	const char *carriage_return;

	if (parser->line_length == 0 && (data[0] == ' ' || data[0] == '\t'))
		return parser->line_count ? "a header continues in the next line"
					  : "the request begins with a space";
	if (parser->line_has_return)
		return length == 1 && ends ? NULL : "CR without LF";
	carriage_return = memchr(data, '\r', length);
	if (!ends) {
		parser->line_has_return = carriage_return != NULL;
		return carriage_return && carriage_return != data + length - 1 ? "CR without LF"
									       : NULL;
	}
	if (!carriage_return)
		return "LF without CR";
	return carriage_return == data + length - 2 ? NULL : "CR without LF";
}

/* Finds the empty line that ends the head; *ret_length gets how many bytes belong to the head. */
static enum head_scan scan_head(struct http_parser *parser, const char *data, size_t length,
	size_t *ret_length)
{
	size_t at = 0;

	while (at < length) {
		const char *newline = memchr(data + at, '\n', length - at);
		size_t part = newline ? (size_t)(newline - (data + at)) + 1 : length - at;
		const char *fault = check_line_part(parser, data + at, part, newline);

		if (fault) {
			refuse(parser, 400, fault);
			return SCAN_REFUSED;
		}
		parser->line_length += part;
		at += part;
		if (parser->line_count == 0 &&
			parser->line_length > parser->limits->target_max + REQUEST_LINE_MORE) {
			refuse(parser, 414, "the request target is too long");
			return SCAN_REFUSED;
		}
		if (!newline)
			break;
		if (parser->line_length == 2) {
			parser->line_has_return = false;
			*ret_length = at;
			return SCAN_COMPLETE;
		}
		parser->line_length = 0;
		parser->line_has_return = false;
		parser->line_count++;
		/* One line is the request's own. */
		if (parser->line_count > parser->limits->header_count_max + 1) {
			refuse(parser, 431, "too many headers");
			return SCAN_REFUSED;
		}
	}
	*ret_length = at;
	return SCAN_MORE;
}

/* ---- the head: meaning ---- */

static bool is_host(struct span host)
{
	for (size_t i = 0; i < host.length; i++) {
		if (!is_alphanumeric(host.data[i]) && !strchr(".-_:[]%~", host.data[i]))
			return false;
		if (host.data[i] == '\0')
			return false;
	}
	return true;
}

static bool set_path_and_query(struct http_request *request, struct span path)
{
	if (path.length == 0) {
		request->path = SPAN("/");
		return true;
	}
	if (!span_split(path, '?', &request->path, &request->query)) {
		request->path = path;
		request->query = SPAN_NONE;
	}
	if (request->path.length == 0) /* "http://host?query" */
		request->path = SPAN("/");
	return request->path.data[0] == '/';
}

/* Origin form, absolute form, or "*" for OPTIONS. */
static bool read_target(struct http_request *request)
{
	struct span target = request->target;
	struct span rest;
	size_t host = 0;

	for (size_t i = 0; i < target.length; i++) {
		unsigned char c = (unsigned char)target.data[i];

		if (c <= ' ' || c >= 0x7F || c == '#')
			return false;
	}
	if (target.length > 0 && target.data[0] == '/')
		return set_path_and_query(request, target);
	if (span_is(target, "*")) {
		request->path = target;
		request->query = SPAN_NONE;
		return span_is(request->method, "OPTIONS");
	}
	if (target.length >= 7 &&
		span_equal_ignoring_case((struct span){target.data, 7}, SPAN("http://")))
		rest = (struct span){target.data + 7, target.length - 7};
	else if (target.length >= 8 &&
		 span_equal_ignoring_case((struct span){target.data, 8}, SPAN("https://")))
		rest = (struct span){target.data + 8, target.length - 8};
	else
		return false;
	while (host < rest.length && rest.data[host] != '/' && rest.data[host] != '?')
		host++;
	request->host = (struct span){rest.data, host};
	if (host == 0 || !is_host(request->host))
		return false;
	return set_path_and_query(request, (struct span){rest.data + host, rest.length - host});
}

static enum http_parser_result read_request_line(struct http_parser *parser, struct span line)
{
	struct http_request *request = &parser->message->request;
	struct span version;

	if (!span_split(line, ' ', &request->method, &line) ||
		!span_split(line, ' ', &request->target, &version))
		return refuse(parser, 400, "malformed request line");
	if (request->target.length > parser->limits->target_max)
		return refuse(parser, 414, "the request target is too long");
	if (span_is(version, "HTTP/1.1"))
		request->version_minor = 1;
	else if (span_is(version, "HTTP/1.0"))
		request->version_minor = 0;
	else if (span_starts_with(version, SPAN("HTTP/")) && version.length == 8)
		return refuse(parser, 505, "unknown HTTP version");
	else
		return refuse(parser, 400, "malformed request line");
	if (span_is(request->method, "CONNECT"))
		return refuse(parser, 501, "this is not a proxy");
	if (!read_target(request))
		return refuse(parser, 400, "invalid request target");
	return HTTP_PARSER_COMPLETE;
}

/* Lowers the name in place: the head is ours, and llhttp has seen it already. */
static bool read_header(char *line, size_t length, struct http_header *header)
{
	size_t name = 0;
	char lowered;

	while (name < length && (lowered = token_lower[(unsigned char)line[name]]) != 0)
		line[name++] = lowered;
	if (name == 0 || name == length || line[name] != ':')
		return false;
	header->name = (struct span){line, name};
	header->value = span_trim((struct span){line + name + 1, length - name - 1});
	return is_value(header->value);
}

/* The headers' facts about connection and body, as far as we read them ourselves. */
struct head_facts {
	struct span host, length, encoding, expect;
	unsigned hosts, lengths, encodings, expects;
};

static void note_fact(struct head_facts *facts, const struct http_header *header)
{
	const struct {
		struct span name;
		struct span *value;
		unsigned *count;
	} known[] = {
		{SPAN("host"), &facts->host, &facts->hosts},
		{SPAN("content-length"), &facts->length, &facts->lengths},
		{SPAN("transfer-encoding"), &facts->encoding, &facts->encodings},
		{SPAN("expect"), &facts->expect, &facts->expects},
	};

	for (size_t i = 0; i < LENGTH(known); i++) {
		if (!span_equal(header->name, known[i].name))
			continue;
		*known[i].value = header->value;
		++*known[i].count;
		return;
	}
}

static enum http_parser_result read_headers(struct http_parser *parser, char *data, size_t length,
	struct head_facts *facts)
{
	struct http_request *request = &parser->message->request;
	struct http_header *headers = arena_allocate_array(parser->message->arena,
		parser->line_count, sizeof(struct http_header));
	size_t count = 0;

	while (length > 2) { /* the empty line */
		size_t line = (size_t)((char *)memchr(data, '\n', length) - data) + 1;

		if (!read_header(data, line - 2, &headers[count]))
			return refuse(parser, 400, "malformed header");
		note_fact(facts, &headers[count]);
		count++;
		data += line;
		length -= line;
	}
	request->headers = headers;
	request->header_count = count;
	return HTTP_PARSER_COMPLETE;
}

/* Having seen the head, llhttp is at the end of the request or before the body we expect. */
static bool llhttp_agrees(const struct http_parser *parser, bool chunked, uint64_t length)
{
	if (!chunked && length == 0)
		return parser->message_complete;
	if (parser->message_complete)
		return false;
	if (chunked)
		return parser->llhttp.flags & F_CHUNKED;
	return !(parser->llhttp.flags & F_CHUNKED) && parser->llhttp.content_length == length;
}

/* Without the port that the scheme of an absolute target has by default. */
static struct span without_default_port(struct span host, bool secure)
{
	struct span port = secure ? SPAN(":443") : SPAN(":80");

	if (span_ends_with(host, port))
		host.length -= port.length;
	return host;
}

/* A proxy in front of us may go by either of them, so they must name the same host. */
static bool host_agrees(const struct http_request *request, struct span host)
{
	bool secure = request->target.data[4] == 's' || request->target.data[4] == 'S';

	return span_equal_ignoring_case(without_default_port(request->host, secure),
		without_default_port(host, secure));
}

static enum http_parser_result check_facts(struct http_parser *parser,
	const struct head_facts *facts, bool *ret_has_body)
{
	struct http_request *request = &parser->message->request;
	bool chunked = facts->encodings > 0;
	uint64_t length = 0;

	if (facts->hosts > 1 || (facts->hosts == 0 && request->version_minor >= 1))
		return refuse(parser, 400, "exactly one Host header is needed");
	if (!is_host(facts->host))
		return refuse(parser, 400, "invalid Host");
	if (request->host.data && facts->hosts > 0 && !host_agrees(request, facts->host))
		return refuse(parser, 400, "the request target and Host name different hosts");
	if (facts->lengths > 1 || (facts->lengths > 0 && chunked))
		return refuse(parser, 400, "conflicting Content-Length");
	if (facts->lengths > 0 && !span_to_unsigned(facts->length, UINT64_MAX, &length))
		return refuse(parser, 400, "invalid Content-Length");
	if (facts->encodings > 1 ||
		(chunked && (request->version_minor == 0 || facts->encoding.length == 0)))
		return refuse(parser, 400, "invalid Transfer-Encoding");
	if (chunked && !span_equal_ignoring_case(facts->encoding, SPAN("chunked")))
		return refuse(parser, 501, "the only known Transfer-Encoding is chunked");
	if (!llhttp_agrees(parser, chunked, length))
		return refuse(parser, 400, "the length of the body is not clear");
	if (length > parser->limits->body_max)
		return refuse(parser, 413, "the body is too large");
	if (facts->expects > 0 && request->version_minor >= 1 &&
		(facts->expects > 1 ||
			!span_equal_ignoring_case(facts->expect, SPAN("100-continue"))))
		return refuse(parser, 417, "the only known Expect is 100-continue");
	if (!request->host.data && facts->hosts > 0)
		request->host = facts->host;
	*ret_has_body = chunked || length > 0;
	if (length > 0)
		buffer_reserve(&parser->message->body,
			length < BODY_RESERVE_MAX ? (size_t)length : BODY_RESERVE_MAX);
	return HTTP_PARSER_COMPLETE;
}

static enum http_parser_result complete(struct http_parser *parser)
{
	parser->message->request.body = buffer_span(&parser->message->body);
	parser->message->request.arena = parser->message->arena;
	parser->phase = HTTP_PHASE_IDLE;
	return HTTP_PARSER_COMPLETE;
}

/* The head is gathered: believes it or refuses it. MORE: a body follows. */
static enum http_parser_result read_head(struct http_parser *parser)
{
	struct buffer *head = &parser->message->head;
	struct head_facts facts = {.host = SPAN("")};
	enum http_parser_result result;
	bool has_body = false;
	size_t request_line;
	llhttp_errno_t number;

	if (parser->line_count == 0)
		return refuse(parser, 400, "malformed request line");
	request_line = (size_t)((char *)memchr(head->data, '\n', head->length) - head->data) + 1;
	result = read_request_line(parser, (struct span){head->data, request_line - 2});
	if (result == HTTP_PARSER_REFUSED)
		return result;

	parser->message_complete = false;
	parser->trailer_bytes = 0;
	parser->body_bytes = 0;
	llhttp_reset(&parser->llhttp);
	number = llhttp_execute(&parser->llhttp, head->data, head->length);
	if (number != HPE_OK && !(number == HPE_PAUSED && parser->message_complete))
		return refuse_as_llhttp(parser, number);

	result = read_headers(parser, head->data + request_line, head->length - request_line,
		&facts);
	if (result == HTTP_PARSER_REFUSED)
		return result;
	result = check_facts(parser, &facts, &has_body);
	if (result == HTTP_PARSER_REFUSED)
		return result;
	if (!has_body)
		return complete(parser);
	parser->phase = HTTP_PHASE_BODY;
	return facts.expects > 0 && parser->message->request.version_minor >= 1
		       ? HTTP_PARSER_CONTINUE
		       : HTTP_PARSER_MORE;
}

/* Skips empty lines before a request. Returns how many bytes they took, or length + 1 to refuse. */
static size_t skip_blank_lines(struct http_parser *parser, const char *data, size_t length)
{
	size_t at = 0;

	while (at < length) {
		if (parser->line_has_return) {
			if (data[at] != '\n' || ++parser->blank_lines > BLANK_LINES_MAX)
				return length + 1;
			parser->line_has_return = false;
		} else if (data[at] == '\r') {
			parser->line_has_return = true;
		} else {
			break;
		}
		at++;
	}
	return at;
}

static enum http_parser_result feed_head(struct http_parser *parser, const char *data,
	size_t length, size_t *ret_taken)
{
	struct buffer *head = &parser->message->head;
	/* One byte over the limit is enough to know. */
	size_t room = parser->limits->head_max - head->length + 1;
	size_t taken = 0;
	enum head_scan scan = scan_head(parser, data, length < room ? length : room, &taken);

	if (scan == SCAN_REFUSED)
		return HTTP_PARSER_REFUSED;
	if (head->length + taken > parser->limits->head_max)
		return refuse(parser, 431, "the headers are too large");
	buffer_add(head, data, taken);
	*ret_taken += taken;
	return scan == SCAN_COMPLETE ? read_head(parser) : HTTP_PARSER_MORE;
}

static enum http_parser_result feed_body(struct http_parser *parser, const char *data,
	size_t length, size_t *ret_taken)
{
	llhttp_errno_t number = llhttp_execute(&parser->llhttp, data, length);
	size_t taken = length;

	if (number == HPE_PAUSED && parser->message_complete)
		taken = (size_t)(llhttp_get_error_pos(&parser->llhttp) - data);
	else if (number != HPE_OK)
		return refuse_as_llhttp(parser, number);
	assert(taken <= length);
	parser->body_bytes += taken;
	if (parser->body_bytes >
		FRAMING_MAX + (FRAMING_PER_BYTE + 1) * parser->message->body.length)
		return refuse(parser, 400, "the chunks of the body are mostly framing");
	*ret_taken += taken;
	return parser->message_complete ? complete(parser) : HTTP_PARSER_MORE;
}

enum http_parser_result http_parser_feed(struct http_parser *parser, struct http_message *message,
	const char *data, size_t length, size_t *ret_taken)
{
	enum http_parser_result result = HTTP_PARSER_MORE;

	*ret_taken = 0;
	parser->message = message;
	if (parser->phase == HTTP_PHASE_REFUSED)
		return HTTP_PARSER_REFUSED;
	if (parser->phase == HTTP_PHASE_IDLE) {
		size_t blank = skip_blank_lines(parser, data, length);

		if (blank > length)
			return refuse(parser, 400, "the request begins with empty lines");
		*ret_taken = blank;
		if (blank == length)
			return HTTP_PARSER_MORE;
		parser->phase = HTTP_PHASE_HEAD;
		parser->blank_lines = 0;
		parser->line_length = 0;
		parser->line_count = 0;
	}
	if (parser->phase == HTTP_PHASE_HEAD)
		result = feed_head(parser, data + *ret_taken, length - *ret_taken, ret_taken);
	if (parser->phase == HTTP_PHASE_BODY && result == HTTP_PARSER_MORE && *ret_taken < length)
		result = feed_body(parser, data + *ret_taken, length - *ret_taken, ret_taken);
	return result;
}
