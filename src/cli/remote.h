/* Commands that talk to a running server: where it is, with which key, signed requests to its REST API. */
#ifndef CLI_REMOTE_H
#define CLI_REMOTE_H

#include "base/arena.h"
#include "base/json.h"
#include "base/memory.h"
#include "server/admin_key.h"

#define REMOTE_DEFAULT_SERVER "http://127.0.0.1:4780"

struct remote_options {
	const char *server;      /* NULL: $SLIPWAY_SERVER, else the default address */
	const char *state;       /* NULL: the environment's key, else the default state folder */
	const char *authorities; /* PEM file; NULL: those of the system */
};

/* In the help of every command that has them. */
#define REMOTE_OPTIONS_HELP                                                                        \
	"  --server URL   The server. Default: $SLIPWAY_SERVER or http://127.0.0.1:4780.\n"        \
	"  --state DIR    State folder of the server, for its admin key. Without it the key "      \
	"comes from\n"                                                                             \
	"                 AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, if they are set, else "     \
	"from the\n"                                                                               \
	"                 default state folder.\n"                                                 \
	"  --ca FILE      PEM file of the authorities to trust, for https. Default: the "          \
	"system's.\n"

/* A server that requests can be sent to, from any thread. */
struct remote;
int remote_open(const struct remote_options *options, struct remote **ret_remote, struct err *err);
void remote_close(struct remote *remote); /* NULL is fine */
void remote_close_pointer(struct remote **remote);
#define _remote_ CLEANUP(remote_close_pointer)

/* One signed request with a body of any kind. The answer is parsed. A refusal is an error with the server's
 * own words: -EREMOTEIO, or -EAGAIN when it is to be tried again (HTTP 429), -EBUSY when the server is not ready (502 to
 * 504), -ENOENT when there is no such thing. */
int remote_send(struct remote *remote, const char *method, const char *path, struct span body,
	struct arena *arena, struct json **ret_answer, struct err *err);
/* A signed POST whose answer is read as it comes; `chunk` returns 0, or a code that ends it. */
int remote_stream(struct remote *remote, const char *path, const struct json *body,
	int (*chunk)(void *context, struct span data), void *context, struct err *err);

/* Opens, sends once, closes; a body of NULL sends none. */
int remote_call(const struct remote_options *options, const char *method, const char *path,
	const struct json *body, struct arena *arena, struct json **ret_answer, struct err *err);

/* The admin key of the state folder that the options name; admin_key_clear() it. */
int remote_read_admin_key(const struct remote_options *options, struct arena *arena,
	struct admin_key *ret_key, struct err *err);
/* The server's URL without slashes at its end; to be freed. */
char *remote_url(const struct remote_options *options);

#endif
