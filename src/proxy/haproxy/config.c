/*
 * The files of a process that starts: the whole applied state, so that its first request is served
 * correctly. Their names are the same as in later commands.
 */
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "proxy/haproxy/supervisor.h"

#define DEFAULT_IDLE_TIMEOUT_MS 350000
#define MAXREWRITE 1024
#define TABLE_SIZE "500k"

/* The policies of elb/ssl_policy.c for listeners: forward secrecy and authenticated encryption
 * only. */
#define CIPHERS_1_2                                                                                \
	"ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:"                               \
	"ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-RSA-AES256-GCM-SHA384"
#define CIPHERS_1_3 "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256"

/* HAProxy knows fields by lower case names. These are passed on in their usual spelling, for
 * recipients that require it. */
static const char *const field_names[] = {"Accept", "Accept-Charset", "Accept-Encoding",
	"Accept-Language", "Accept-Ranges", "Access-Control-Allow-Credentials",
	"Access-Control-Allow-Headers", "Access-Control-Allow-Methods",
	"Access-Control-Allow-Origin", "Access-Control-Expose-Headers", "Access-Control-Max-Age",
	"Access-Control-Request-Headers", "Access-Control-Request-Method", "Age", "Allow",
	"Alt-Svc", "Authorization", "Cache-Control", "Clear-Site-Data", "Connection",
	"Content-Disposition", "Content-Encoding", "Content-Language", "Content-Length",
	"Content-Location", "Content-Range", "Content-Security-Policy", "Content-Type", "Cookie",
	"DNT", "Date", "ETag", "Early-Data", "Expect", "Expires", "Forwarded", "From", "Host",
	"If-Match", "If-Modified-Since", "If-None-Match", "If-Range", "If-Unmodified-Since",
	"Keep-Alive", "Last-Modified", "Link", "Location", "Max-Forwards", "Origin",
	"Permissions-Policy", "Pragma", "Proxy-Authenticate", "Proxy-Authorization",
	"Proxy-Connection", "Range", "Referer", "Referrer-Policy", "Retry-After", "Sec-Fetch-Dest",
	"Sec-Fetch-Mode", "Sec-Fetch-Site", "Sec-Fetch-User", "Sec-WebSocket-Accept",
	"Sec-WebSocket-Extensions", "Sec-WebSocket-Key", "Sec-WebSocket-Protocol",
	"Sec-WebSocket-Version", "Server", "Server-Timing", "Set-Cookie",
	"Strict-Transport-Security", "TE", "Trailer", "Transfer-Encoding", "Upgrade",
	"Upgrade-Insecure-Requests", "User-Agent", "Vary", "Via", "WWW-Authenticate", "Warning",
	"X-Amzn-Trace-Id", "X-Content-Type-Options", "X-Forwarded-For", "X-Forwarded-Host",
	"X-Forwarded-Port", "X-Forwarded-Proto", "X-Frame-Options", "X-Powered-By", "X-Real-IP",
	"X-Request-ID", "X-Requested-With", "X-XSS-Protection"};

/* ---- files ---- */

static int write_file(struct haproxy *haproxy, const char *name, const char *text, struct err *err)
{
	size_t left = strlen(text);
	_close_ int descriptor = -1;

	unlinkat(haproxy->folder, name, 0);
	descriptor = openat(haproxy->folder, name,
		O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (descriptor < 0)
		return err_errno(err, "write '%s/%s'", haproxy->folder_path, name);
	if (haproxy->drop_privileges && fchown(descriptor, haproxy->user, haproxy->group) < 0)
		return err_errno(err, "give '%s/%s' to HAProxy", haproxy->folder_path, name);
	while (left > 0) {
		ssize_t written = write(descriptor, text, left);

		if (written < 0)
			return err_errno(err, "write '%s/%s'", haproxy->folder_path, name);
		text += written;
		left -= (size_t)written;
	}
	return 0;
}

static int write_tables(struct haproxy *haproxy, struct err *err)
{
	_buffer_ struct buffer text = {0};
	int code = 0;

	for (size_t i = 0; i < TABLE_COUNT && code == 0; i++) {
		buffer_reset(&text);
		buffer_add_string(&text, "");
		MAP_EACH (&haproxy->tables[i].rows, entry) {
			const struct row *row = entry->value;

			if (row->wanted)
				buffer_format(&text, "%s %s\n", entry->key.data, row->value);
		}
		code = write_file(haproxy, table_files[i], text.data ? text.data : "", err);
	}
	return code;
}

static int write_front(struct haproxy *haproxy, const struct front *front, struct err *err)
{
	_buffer_ struct buffer list = {0};
	char name[KEY_SIZE];
	int code;

	snprintf(name, sizeof(name), "l%u.map", front->number);
	code = write_file(haproxy, name, front->rules, err);
	for (size_t i = 0; i < front->certificate_count && code == 0; i++) {
		snprintf(name, sizeof(name), "l%u-%zu.pem", front->number, i);
		buffer_format(&list, "%s\n", name);
		code = write_file(haproxy, name, front->certificates[i], err);
	}
	if (code < 0 || front->certificate_count == 0)
		return code;
	snprintf(name, sizeof(name), "l%u.list", front->number);
	return write_file(haproxy, name, list.data, err);
}

static void add_field_names(struct buffer *out)
{
	for (size_t i = 0; i < LENGTH(field_names); i++) {
		buffer_add_string(out, "\th1-case-adjust ");
		for (const char *at = field_names[i]; *at; at++)
			buffer_add_char(out, (char)tolower((unsigned char)*at));
		buffer_format(out, " %s\n", field_names[i]);
	}
}

int config_write(struct haproxy *haproxy, int control, struct err *err)
{
	_buffer_ struct buffer text = {0};
	int code = write_file(haproxy, "answer.lua", lua_script, err);

	if (code == 0)
		code = write_tables(haproxy, err);
	buffer_format(&text,
		"global\n"
		"\tnbthread %u\n"
		"\tmaxconn %u\n"
		"\thard-stop-after %ums\n"
		"\tstats socket fd@%d level admin\n"
		"\tstats timeout 7d\n"
		"\ttune.bufsize %u\n"
		"\ttune.maxrewrite %d\n"
		"\ttune.ssl.default-dh-param 2048\n"
		"\tssl-default-bind-ciphers " CIPHERS_1_2 "\n"
		"\tssl-default-bind-ciphersuites " CIPHERS_1_3 "\n"
		"\tlua-load answer.lua\n",
		haproxy->threads, haproxy->max_connections, haproxy->end_after_ms, control,
		haproxy->header_bytes + MAXREWRITE, MAXREWRITE);
	add_field_names(&text);
	buffer_format(&text,
		"defaults\n"
		"\ttimeout connect 5s\n"
		"\ttimeout client %dms\n"
		"\ttimeout server %dms\n"
		"\ttimeout queue 5s\n"
		"\toption redispatch 1\n"
		"backend counters\n"
		"\tstick-table type string len 16 size " TABLE_SIZE " store gpc0\n"
		"backend routes\n"
		"\tstick-table type string len 31 size " TABLE_SIZE
		" store conn_cnt,conn_cur,sess_cnt,http_req_cnt,http_fail_cnt,bytes_in_cnt,"
		"bytes_out_cnt\n",
		DEFAULT_IDLE_TIMEOUT_MS, DEFAULT_IDLE_TIMEOUT_MS);
	/* Only maps that are referenced exist, and later commands need all of them. */
	buffer_add_string(&text, "backend maps\n\tmode http\n");
	for (size_t i = 0; i < TABLE_COUNT; i++)
		buffer_format(&text, "\thttp-request set-var(txn.none) str(none),%s(%s)\n",
			i == TABLE_APPLICATION ? "map_reg" : "map_str", table_files[i]);
	for (size_t i = 0; i < haproxy->backend_count; i++)
		section_add_backend(haproxy, haproxy->backends[i], &text);
	MAP_EACH (&haproxy->listeners, entry) {
		const struct front *front = entry->value;

		buffer_add_string(&text, front->text);
		if (code == 0)
			code = write_front(haproxy, front, err);
	}
	if (code == 0)
		code = write_file(haproxy, CONFIG_FILE, text.data, err);
	return code;
}

/* ---- removing ---- */

static bool is_ours(const char *name)
{
	static const char *const ends[] = {".pem", ".map", ".list", ".cfg", ".lua"};
	size_t length = strlen(name);

	for (size_t i = 0; i < LENGTH(ends); i++) {
		if (length > strlen(ends[i]) &&
			strcmp(name + length - strlen(ends[i]), ends[i]) == 0)
			return true;
	}
	return strncmp(name, "control-", strlen("control-")) == 0;
}

void config_remove(struct haproxy *haproxy, bool only_keys)
{
	int descriptor = openat(haproxy->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *folder = descriptor >= 0 ? fdopendir(descriptor) : NULL;
	const struct dirent *entry;

	if (!folder && descriptor >= 0)
		close(descriptor);
	while (folder && (entry = readdir(folder))) {
		size_t length = strlen(entry->d_name);
		bool key = length > 4 && strcmp(entry->d_name + length - 4, ".pem") == 0;

		if (only_keys ? key : is_ours(entry->d_name))
			unlinkat(haproxy->folder, entry->d_name, 0);
	}
	if (folder)
		closedir(folder);
}
