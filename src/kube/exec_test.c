/* Commands in pods: WebSocket frames, and a server that speaks them well or badly. */
#include "kube/exec.h"

#include <netinet/tcp.h>
#include <poll.h>

#include "kube/test_server.h"
#include "kube/websocket.h"

/* ---- frames ---- */

static void test_handshake(void **state)
{
	struct random_seeded seeded;
	char key[WEBSOCKET_KEY_SIZE], accept[WEBSOCKET_ACCEPT_SIZE];

	(void)state;
	random_seeded_init(&seeded, 1);
	websocket_make_key(&seeded.random, key);
	assert_int_equal(strlen(key), 24);
	/* RFC 6455, 1.3 */
	websocket_accept("dGhlIHNhbXBsZSBub25jZQ==", accept);
	assert_string_equal(accept, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
}

static int note_message(void *context, enum websocket_type type, struct span payload,
	struct err *err)
{
	struct buffer *out = context;

	buffer_format(out, "%d:%.*s ", (int)type, SPAN_ARGS(payload));
	if (span_is(payload, "stop"))
		return err_set(err, -EBUSY, "stop");
	return 0;
}

#define TEXT(literal)                                                                              \
	{                                                                                          \
		literal, sizeof(literal) - 1                                                       \
	}

static const struct {
	struct span bytes;
	int code;
	const char *messages;
} frames[] = {
	{TEXT(""), 0, ""},
	{TEXT("\x82\x01z"), 0, "2:z "},
	{TEXT("\x81\x00"), 0, "1: "},
	{TEXT("\x82\x7e\x00\x02zy\x82\x01x"), 0, "2:zy 2:x "},
	{TEXT("\x82\x7f\0\0\0\0\0\0\0\x01z"), 0, "2:z "},
	{TEXT("\x02\x01z\x89\x02hi\x00\x01y\x80\x01x"), 0, "9:hi 2:zyx "},
	{TEXT("\x88\x02\x03\xe8"), 0, "8:\x03\xe8 "},
	{TEXT("\x82\x04stop\x82\x01x"), -EBUSY, "2:stop "},
	{TEXT("\x82\x81"), -EPROTO, ""},           /* masked */
	{TEXT("\xc2\x01z"), -EPROTO, ""},          /* an extension's bit */
	{TEXT("\x83\x01z"), -EPROTO, ""},          /* no such type */
	{TEXT("\x80\x01z"), -EPROTO, ""},          /* nothing to continue */
	{TEXT("\x02\x01z\x82\x01y"), -EPROTO, ""}, /* the other one has not ended */
	{TEXT("\x09\x01z"), -EPROTO, ""},          /* a ping in parts */
	{TEXT("\x89\x7e\x00\x7e"), -EPROTO, ""},   /* a long ping */
	{TEXT("\x82\x7f\0\0\0\0\0\x20\0\0"), -EFBIG, ""},
	{TEXT("\x82\x7f\xff\xff\xff\xff\xff\xff\xff\xff"), -EFBIG, ""},
};

static void test_frames(void **state)
{
	(void)state;
	for (size_t i = 0; i < LENGTH(frames); i++) {
		for (size_t chunk = 1; chunk <= frames[i].bytes.length + 1; chunk++) {
			_buffer_ struct buffer out = {0};
			struct websocket_reader reader = {.message = note_message, .context = &out};
			struct span rest = frames[i].bytes;
			int code = 0;

			while (code == 0 && rest.length > 0) {
				size_t length = rest.length < chunk ? rest.length : chunk;

				code = websocket_read(&reader, (struct span){rest.data, length},
					NULL);
				rest.data += length;
				rest.length -= length;
			}
			websocket_reader_clear(&reader);
			if (code != frames[i].code ||
				strcmp(out.data ? out.data : "", frames[i].messages) != 0)
				fail_msg("row %zu, chunk %zu: %d, %s", i, chunk, code, out.data);
		}
	}
}

static void test_a_message_in_too_many_parts(void **state)
{
	_buffer_ struct buffer out = {0}, part = {0};
	struct websocket_reader reader = {.message = note_message, .context = &out};
	int code = 0;

	(void)state;
	buffer_add(&part, "\x02\x7e\xff\xff", 4);
	for (int i = 0; i < 65535; i++)
		buffer_add_char(&part, 'x');
	for (int i = 0; code == 0; i++) {
		assert_true(i < 20);
		code = websocket_read(&reader, buffer_span(&part), NULL);
		part.data[0] = '\0';
	}
	assert_int_equal(code, -EFBIG);
	assert_int_equal(out.length, 0);
	websocket_reader_clear(&reader);
}

/* A client's frame, unmasked, equals the original message. */
static void test_writing(void **state)
{
	static const size_t lengths[] = {0, 1, 125, 126, 127, 65535, 65536, 100000};
	struct random_seeded seeded;

	(void)state;
	random_seeded_init(&seeded, 7);
	for (size_t i = 0; i < LENGTH(lengths); i++) {
		_buffer_ struct buffer out = {0}, text = {0};
		size_t header = lengths[i] < 126 ? 2 : lengths[i] < 65536 ? 4 : 10;

		for (size_t at = 0; at < lengths[i]; at++)
			buffer_add_char(&text, (char)(at % 251));
		websocket_write(&out, WEBSOCKET_BINARY, buffer_span(&text), &seeded.random);
		assert_int_equal(out.length, header + 4 + lengths[i]);
		assert_int_equal((unsigned char)out.data[0], 0x82);
		assert_true(out.data[1] & 0x80);
		for (size_t at = 0; at < lengths[i]; at++)
			assert_int_equal((char)(out.data[header + 4 + at] ^
						 out.data[header + at % 4]),
				text.data[at]);
	}
}

/* ---- a server ---- */

struct partner {
	struct test_world world;
	int listener;
	_Atomic int connection;
	pthread_t thread;
	void (*play)(struct partner *partner);
	const char *protocol;
	char head[4096];
	struct buffer in; /* frames that came */
	char complaint[128];
};

static void complain(struct partner *partner, const char *what)
{
	if (!partner->complaint[0])
		snprintf(partner->complaint, sizeof(partner->complaint), "%.100s", what);
}

static void say(struct partner *partner, int type, int channel, const char *data, size_t length)
{
	_buffer_ struct buffer out = {0};
	size_t all = length + (channel >= 0 ? 1 : 0);

	buffer_add_char(&out, (char)(0x80 | type));
	if (all < 126) {
		buffer_add_char(&out, (char)all);
	} else {
		buffer_add_char(&out, 126);
		buffer_add_char(&out, (char)(all >> 8));
		buffer_add_char(&out, (char)(all & 0xff));
	}
	if (channel >= 0)
		buffer_add_char(&out, (char)channel);
	buffer_add(&out, data, length);
	if (!test_write(partner->connection, out.data, out.length))
		complain(partner, "could not say it");
}

static void say_text(struct partner *partner, int channel, const char *text)
{
	say(partner, 2, channel, text, strlen(text));
}

/* The next message of the client, unmasked: its type, and its bytes in `out`. -1: it has ended. */
static int hear(struct partner *partner, struct buffer *out)
{
	char data[4096];

	for (;;) {
		const unsigned char *byte = (const unsigned char *)partner->in.data;
		size_t have = partner->in.length, header = 6,
		       length = have >= 2 ? byte[1] & 0x7f : 0;
		ssize_t n;

		if (length == 126 && have >= 4) {
			header = 8;
			length = (size_t)byte[2] << 8 | byte[3];
		}
		if (have >= header && have >= header + length) {
			int type = byte[0] & 0x0f;

			buffer_reset(out);
			for (size_t i = 0; i < length; i++)
				buffer_add_char(out,
					(char)(byte[header + i] ^ byte[header - 4 + i % 4]));
			buffer_consume(&partner->in, header + length);
			return type;
		}
		n = recv(partner->connection, data, sizeof(data), 0);
		if (n <= 0)
			return -1;
		buffer_add(&partner->in, data, (size_t)n);
	}
}

static void expect(struct partner *partner, int type, struct span message)
{
	_buffer_ struct buffer got = {0};

	if (hear(partner, &got) != type || !span_equal(buffer_span(&got), message))
		complain(partner, got.data ? got.data : "the client says something else");
}

static void read_head(struct partner *partner)
{
	size_t length = 0;

	memset(partner->head, 0, sizeof(partner->head));
	while (!strstr(partner->head, "\r\n\r\n")) {
		ssize_t n = recv(partner->connection, partner->head + length,
			sizeof(partner->head) - 1 - length, 0);

		if (n <= 0)
			return;
		length += (size_t)n;
	}
}

static void agree(struct partner *partner)
{
	char key[64] = "", accept[WEBSOCKET_ACCEPT_SIZE], answer[512];
	const char *found = strstr(partner->head, "Sec-WebSocket-Key: ");

	if (found)
		sscanf(found + 19, "%63s", key);
	websocket_accept(key, accept);
	snprintf(answer, sizeof(answer),
		"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: "
		"Upgrade\r\nSec-WebSocket-Accept: %s\r\nSec-WebSocket-Protocol: %s\r\n\r\n",
		accept, partner->protocol ? partner->protocol : "v5.channel.k8s.io");
	test_write(partner->connection, answer, strlen(answer));
}

static void *run_partner(void *context)
{
	struct partner *partner = context;
	int one = 1;

	partner->connection = accept4(partner->listener, NULL, NULL, SOCK_CLOEXEC);
	if (partner->connection < 0)
		return NULL;
	setsockopt(partner->connection, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	read_head(partner);
	partner->play(partner);
	shutdown(partner->connection, SHUT_RDWR);
	return NULL;
}

static void begin(struct partner *partner, void (*play)(struct partner *partner),
	const char *protocol)
{
	struct sockaddr_in any = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t length = sizeof(any);
	struct kube_client_config config = {0};

	*partner = (struct partner){.play = play, .protocol = protocol, .connection = -1};
	test_world_begin(&partner->world, NULL, 0);
	partner->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(partner->listener, (struct sockaddr *)&any, sizeof(any)), 0);
	assert_int_equal(listen(partner->listener, 10), 0);
	getsockname(partner->listener, (struct sockaddr *)&any, &length);
	partner->world.access.server =
		arena_format(partner->world.arena, "http://127.0.0.1:%d", ntohs(any.sin_port));
	config.http = partner->world.http;
	config.runner = partner->world.runner;
	config.access = &partner->world.access;
	kube_client_free(partner->world.client);
	assert_int_equal(kube_client_new(&config, &partner->world.client, NULL), 0);
	pthread_create(&partner->thread, NULL, run_partner, partner);
}

static void end(struct partner *partner)
{
	shutdown(partner->listener, SHUT_RDWR);
	if (partner->connection >= 0)
		shutdown(partner->connection, SHUT_RDWR);
	pthread_join(partner->thread, NULL);
	close(partner->listener);
	close(partner->connection);
	buffer_clear(&partner->in);
	test_world_end(&partner->world);
	if (partner->complaint[0])
		fail_msg("%s", partner->complaint);
}

static const struct span command[] = {SPAN("sh"), SPAN("-c"), SPAN("a b&c")};

static const struct kube_exec_request plain = {
	.namespace = SPAN("default"),
	.pod = SPAN("p"),
	.container = SPAN("c"),
	.command = command,
	.command_count = LENGTH(command),
	.input = true,
};

static struct kube_exec *start(struct partner *partner, const struct kube_exec_request *request,
	int descriptors[3])
{
	struct kube_exec *exec = NULL;
	struct err err;

	if (kube_exec_start(partner->world.client, request, &exec, &err) < 0)
		fail_msg("%s", err.message);
	kube_exec_take_descriptors(exec, &descriptors[0], &descriptors[1], &descriptors[2]);
	return exec;
}

static void read_all(int descriptor, struct buffer *out)
{
	char data[4096];
	ssize_t n;

	while ((n = read(descriptor, data, sizeof(data))) > 0)
		buffer_add(out, data, (size_t)n);
}

static void close_all(int descriptors[3])
{
	if (descriptors[0] == descriptors[1])
		descriptors[0] = -1;
	for (int i = 0; i < 3; i++)
		memory_close_descriptor(&descriptors[i]);
}

/* ---- good servers ---- */

static void play_echo(struct partner *partner)
{
	_buffer_ struct buffer got = {0};

	if (!strstr(partner->head, "GET /api/v1/namespaces/default/pods/p/"
				   "exec?container=c&command=sh&command=-c&command=a%20b%26c&stdin="
				   "true&stdout=true&"
				   "stderr=true&tty=false HTTP/1.1\r\n") ||
		!strstr(partner->head, "\r\nUpgrade: websocket\r\n") ||
		!strstr(partner->head, "\r\nConnection: Upgrade\r\n") ||
		!strstr(partner->head, "\r\nAuthorization: Bearer secret\r\n") ||
		!strstr(partner->head,
			"\r\nSec-WebSocket-Protocol: v5.channel.k8s.io, v4.channel.k8s.io\r\n"))
		complain(partner, partner->head);
	agree(partner);
	/* Channels are announced by empty messages. */
	say_text(partner, 1, "");
	say_text(partner, 2, "");
	say_text(partner, 3, "");
	expect(partner, 2, (struct span)TEXT("\0hello"));
	say_text(partner, 1, "out");
	say(partner, 9, -1, "are you there", 13);
	expect(partner, 10, SPAN("are you there"));
	/* The end of the input, which comes when the client has seen this. */
	say_text(partner, 2, "err");
	expect(partner, 2, (struct span)TEXT("\xff\0"));
	say_text(partner, 3,
		"{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":\"NonZeroExitCode\","
		"\"details\":"
		"{\"causes\":[{\"reason\":\"ExitCode\",\"message\":\"7\"}]}}");
	say(partner, 8, -1, "\x03\xe8", 2);
	expect(partner, 8, SPAN("\x03\xe8"));
	if (hear(partner, &got) != -1)
		complain(partner, "it continues");
}

static void test_streams(void **state)
{
	_buffer_ struct buffer output = {0}, error = {0};
	struct partner partner;
	struct kube_exec *exec;
	int descriptors[3], code = -1;

	(void)state;
	begin(&partner, play_echo, NULL);
	exec = start(&partner, &plain, descriptors);
	assert_true(kube_exec_can_close_input(exec));
	assert_int_equal(write(descriptors[0], "hello", 5), 5);
	/* The answer arrives before the end of the input is sent. */
	assert_int_equal(poll(&(struct pollfd){descriptors[2], POLLIN, 0}, 1, 60000), 1);
	memory_close_descriptor(&descriptors[0]);
	read_all(descriptors[1], &output);
	read_all(descriptors[2], &error);
	assert_int_equal(kube_exec_wait(exec, &code, NULL), 0);
	assert_int_equal(code, 7);
	assert_string_equal(output.data, "out");
	assert_string_equal(error.data, "err");
	kube_exec_free(exec);
	close_all(descriptors);
	end(&partner);
}

static void play_terminal(struct partner *partner)
{
	if (!strstr(partner->head, "&stderr=false&tty=true HTTP"))
		complain(partner, partner->head);
	agree(partner);
	expect(partner, 2, SPAN("\x04{\"Width\":80,\"Height\":24}"));
	expect(partner, 2, (struct span)TEXT("\0ls\n"));
	say_text(partner, 1, "files");
	say_text(partner, 3, "{\"status\":\"Success\"}");
	say(partner, 8, -1, "", 0);
}

static void test_terminal(void **state)
{
	_buffer_ struct buffer output = {0};
	struct kube_exec_request request = plain;
	struct partner partner;
	struct kube_exec *exec;
	int descriptors[3], code = -1;

	(void)state;
	begin(&partner, play_terminal, "v4.channel.k8s.io");
	request.terminal = true;
	exec = start(&partner, &request, descriptors);
	assert_false(kube_exec_can_close_input(exec));
	assert_int_equal(descriptors[0], descriptors[1]);
	assert_int_equal(descriptors[2], -1);
	kube_exec_resize(exec, 24, 80);
	assert_int_equal(write(descriptors[0], "ls\n", 3), 3);
	read_all(descriptors[1], &output);
	assert_int_equal(kube_exec_wait(exec, &code, NULL), 0);
	assert_int_equal(code, 0);
	assert_string_equal(output.data, "files");
	kube_exec_free(exec);
	close_all(descriptors);
	end(&partner);
}

/* With v5, whose message for the end of the input ends the output of a terminal. */
static void play_terminal_end(struct partner *partner)
{
	agree(partner);
	expect(partner, 2, (struct span)TEXT("\0cat\n"));
	expect(partner, 2, (struct span)TEXT("\0\x04"));
	say_text(partner, 1, "the end");
	say_text(partner, 3, "{\"status\":\"Success\"}");
	say(partner, 8, -1, "", 0);
}

static void test_the_end_of_a_terminals_input(void **state)
{
	_buffer_ struct buffer output = {0};
	struct kube_exec_request request = plain;
	struct partner partner;
	struct kube_exec *exec;
	int descriptors[3], code = -1;

	(void)state;
	begin(&partner, play_terminal_end, NULL);
	request.terminal = true;
	exec = start(&partner, &request, descriptors);
	assert_int_equal(write(descriptors[0], "cat\n", 4), 4);
	assert_int_equal(shutdown(descriptors[0], SHUT_WR), 0);
	read_all(descriptors[1], &output);
	assert_int_equal(kube_exec_wait(exec, &code, NULL), 0);
	assert_int_equal(code, 0);
	assert_string_equal(output.data, "the end");
	kube_exec_free(exec);
	close_all(descriptors);
	end(&partner);
}

enum { MUCH = 200, PIECE_BYTES = 50000 };

static void play_much(struct partner *partner)
{
	_free_ char *piece = memory_allocate(PIECE_BYTES);

	agree(partner);
	for (int i = 0; i < MUCH; i++) {
		memset(piece, 'a' + i % 26, PIECE_BYTES);
		say(partner, 2, 1, piece, PIECE_BYTES);
	}
	say_text(partner, 3, "{\"status\":\"Success\"}");
	say(partner, 8, -1, "", 0);
}

/* Without a reader at first, the server is blocked and no byte is lost. */
static void test_a_slow_reader(void **state)
{
	_buffer_ struct buffer output = {0};
	struct partner partner;
	struct kube_exec *exec;
	int descriptors[3], code = -1;

	(void)state;
	begin(&partner, play_much, NULL);
	exec = start(&partner, &plain, descriptors);
	runner_sleep_until(partner.world.runner, runner_deadline_us(partner.world.runner, 300000));
	read_all(descriptors[1], &output);
	assert_int_equal(kube_exec_wait(exec, &code, NULL), 0);
	assert_int_equal(output.length, MUCH * PIECE_BYTES);
	for (int i = 0; i < MUCH; i++) {
		assert_int_equal(output.data[i * PIECE_BYTES], 'a' + i % 26);
		assert_int_equal(output.data[(i + 1) * PIECE_BYTES - 1], 'a' + i % 26);
	}
	kube_exec_free(exec);
	close_all(descriptors);
	end(&partner);
}

/* A reader that closes the output does not stop the command. */
static void test_a_reader_that_goes(void **state)
{
	struct partner partner;
	struct kube_exec *exec;
	int descriptors[3], code = -1;

	(void)state;
	begin(&partner, play_much, NULL);
	exec = start(&partner, &plain, descriptors);
	memory_close_descriptor(&descriptors[1]);
	assert_int_equal(kube_exec_wait(exec, &code, NULL), 0);
	assert_int_equal(code, 0);
	kube_exec_free(exec);
	close_all(descriptors);
	end(&partner);
}

/* ---- bad ones ---- */

static void play_cut(struct partner *partner)
{
	agree(partner);
	say_text(partner, 1, "half");
}

static void play_rubbish(struct partner *partner)
{
	agree(partner);
	test_write(partner->connection, "\x83\x01z", 3);
	recv(partner->connection, (char[1]){0}, 1, 0);
}

static void play_close(struct partner *partner)
{
	agree(partner);
	say(partner, 8, -1, "", 0);
}

static void play_failure(struct partner *partner)
{
	agree(partner);
	say_text(partner, 3,
		"{\"kind\":\"Status\",\"status\":\"Failure\",\"message\":\"no such "
		"program\",\"code\":500}");
	say(partner, 8, -1, "", 0);
}

static void play_no_status(struct partner *partner)
{
	agree(partner);
	say_text(partner, 3, "it went wrong");
	say(partner, 8, -1, "", 0);
}

/* A command that does not read its input: the connection is reset behind the last words. */
static void play_unread(struct partner *partner)
{
	char some[1];

	agree(partner);
	if (recv(partner->connection, some, 1, 0) != 1)
		complain(partner, "no input came");
	say_text(partner, 1, "enough");
	say_text(partner, 3,
		"{\"status\":\"Failure\",\"details\":{\"causes\":"
		"[{\"reason\":\"ExitCode\",\"message\":\"7\"}]}}");
	close(partner->connection);
	partner->connection = -1;
}

static void *write_much(void *context)
{
	char data[4096] = "";

	while (test_write(*(int *)context, data, sizeof(data)))
		continue;
	return NULL;
}

static void test_input_that_is_not_read(void **state)
{
	(void)state;
	for (int i = 0; i < 50; i++) {
		_buffer_ struct buffer output = {0};
		struct partner partner;
		struct kube_exec *exec;
		int descriptors[3], code = -1;
		struct err err = {0};
		pthread_t writer;

		begin(&partner, play_unread, NULL);
		exec = start(&partner, &plain, descriptors);
		pthread_create(&writer, NULL, write_much, &descriptors[0]);
		read_all(descriptors[1], &output);
		if (kube_exec_wait(exec, &code, &err) < 0)
			fail_msg("turn %d: %s", i, err.message);
		assert_int_equal(code, 7);
		assert_true(span_is(buffer_span(&output), "enough"));
		kube_exec_free(exec);
		pthread_join(writer, NULL);
		close_all(descriptors);
		end(&partner);
	}
}

static void test_bad_ends(void **state)
{
	static const struct {
		void (*play)(struct partner *partner);
		int code;
		const char *message;
	} rows[] = {
		{play_cut, -ECONNRESET, "the connection ended before the command did"},
		{play_rubbish, -EPROTO, "a WebSocket frame of type 3 out of place"},
		{play_close, -ECONNRESET, "the connection ended before the command did"},
		{play_failure, -EIO, "exec: no such program"},
		{play_no_status, -EPROTO, "exec: it went wrong"},
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++) {
		_buffer_ struct buffer output = {0};
		struct partner partner;
		struct kube_exec *exec;
		struct err err = {0};
		int descriptors[3], exit_code = -1, code;

		begin(&partner, rows[i].play, NULL);
		exec = start(&partner, &plain, descriptors);
		read_all(descriptors[1], &output);
		code = kube_exec_wait(exec, &exit_code, &err);
		if (code != rows[i].code || !strstr(err.message, rows[i].message))
			fail_msg("row %zu: %d %s", i, code, err.message);
		if (i == 0)
			assert_string_equal(output.data, "half");
		kube_exec_free(exec);
		close_all(descriptors);
		end(&partner);
	}
}

static void play_hang(struct partner *partner)
{
	_buffer_ struct buffer got = {0};

	agree(partner);
	while (hear(partner, &got) >= 0)
		;
}

static void test_killing(void **state)
{
	_buffer_ struct buffer output = {0};
	struct partner partner;
	struct kube_exec *exec;
	int descriptors[3], code;

	(void)state;
	begin(&partner, play_hang, NULL);
	exec = start(&partner, &plain, descriptors);
	kube_exec_kill(exec);
	read_all(descriptors[1], &output);
	assert_int_equal(kube_exec_wait(exec, &code, NULL), -ECANCELED);
	kube_exec_free(exec);
	close_all(descriptors);
	end(&partner);
	/* Freed while it runs, descriptors not taken. */
	begin(&partner, play_hang, NULL);
	assert_int_equal(kube_exec_start(partner.world.client, &plain, &exec, NULL), 0);
	kube_exec_free(exec);
	end(&partner);
}

static void refuse(struct partner *partner, const char *answer)
{
	test_write(partner->connection, answer, strlen(answer));
	recv(partner->connection, (char[1]){0}, 1, 0);
}

static void play_missing(struct partner *partner)
{
	refuse(partner,
		"HTTP/1.1 404 Not Found\r\nContent-Length: "
		"67\r\n\r\n{\"kind\":\"Status\",\"reason\":\"NotFound\",\"message\":\"pods p not "
		"found\"}   ");
}

static void play_chunked(struct partner *partner)
{
	refuse(partner,
		"HTTP/1.1 400 Bad Request\r\nTransfer-Encoding: chunked\r\n\r\n"
		"10\r\n{\"kind\":\"Status\"\r\n17\r\n,\"message\":\"no such c\"}\r\n0\r\n\r\n");
}

static void play_not_websocket(struct partner *partner)
{
	refuse(partner, "HTTP/1.1 101 Switching\r\nSec-WebSocket-Accept: x\r\n\r\n");
}

static void play_other_protocol(struct partner *partner)
{
	partner->protocol = "other";
	agree(partner);
	recv(partner->connection, (char[1]){0}, 1, 0);
}

static void play_not_http(struct partner *partner)
{
	refuse(partner, "220 mail.example ESMTP\r\n\r\n");
}

static void play_nothing(struct partner *partner)
{
	(void)partner;
}

static void test_refusals(void **state)
{
	static const struct {
		void (*play)(struct partner *partner);
		int code;
		const char *message;
	} rows[] = {
		{play_missing, -ENOENT, "pods/p/exec: pods p not found"},
		{play_chunked, -EINVAL, "pods/p/exec: no such c"},
		{play_not_websocket, -EPROTO, "the server does not speak WebSocket"},
		{play_other_protocol, -EPROTO, "the server speaks the protocol 'other'"},
		{play_not_http, -EPROTO, "the answer is not HTTP"},
		{play_nothing, -ECONNRESET, "the connection ended without an answer"},
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++) {
		struct partner partner;
		struct kube_exec *exec = NULL;
		struct err err = {0};
		int code;

		begin(&partner, rows[i].play, NULL);
		code = kube_exec_start(partner.world.client, &plain, &exec, &err);
		if (code != rows[i].code || !strstr(err.message, rows[i].message))
			fail_msg("row %zu: %d %s", i, code, err.message);
		assert_null(exec);
		end(&partner);
	}
}

static void play_silence(struct partner *partner)
{
	recv(partner->connection, (char[1]){0}, 1, 0);
}

static void *cancel_soon(void *context)
{
	struct partner *partner = context;

	poll(NULL, 0, 50);
	kube_client_cancel(partner->world.client);
	return NULL;
}

static void test_no_answer(void **state)
{
	struct kube_exec_request wrong = plain;
	struct partner partner;
	struct kube_exec *exec;
	pthread_t thread;

	(void)state;
	begin(&partner, play_silence, NULL);
	pthread_create(&thread, NULL, cancel_soon, &partner);
	assert_int_equal(kube_exec_start(partner.world.client, &plain, &exec, NULL), -ECANCELED);
	pthread_join(thread, NULL);
	end(&partner);
	begin(&partner, play_silence, NULL);
	wrong.command_count = 0;
	assert_int_equal(kube_exec_start(partner.world.client, &wrong, &exec, NULL), -EINVAL);
	wrong = plain;
	wrong.pod = SPAN("../x");
	assert_int_equal(kube_exec_start(partner.world.client, &wrong, &exec, NULL), -EINVAL);
	end(&partner);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_handshake),
		cmocka_unit_test(test_frames),
		cmocka_unit_test(test_a_message_in_too_many_parts),
		cmocka_unit_test(test_writing),
		cmocka_unit_test(test_streams),
		cmocka_unit_test(test_terminal),
		cmocka_unit_test(test_the_end_of_a_terminals_input),
		cmocka_unit_test(test_a_slow_reader),
		cmocka_unit_test(test_a_reader_that_goes),
		cmocka_unit_test(test_input_that_is_not_read),
		cmocka_unit_test(test_bad_ends),
		cmocka_unit_test(test_killing),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_no_answer),
	};

	signal(SIGPIPE, SIG_IGN); /* as the program does */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
