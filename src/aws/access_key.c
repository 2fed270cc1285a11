/*
 * The private text is lines "name value", then an empty line and the policy as it was given, so that
 * every fact is a piece of it: nothing is decoded, and facts may point into texts only. No value can
 * hold a line break; access_key_make sees to it and extract checks again.
 */
#include "aws/access_key.h"

#include <openssl/crypto.h>

#include "aws/policy.h"
#include "base/id.h"
#include "base/json.h"
#include "base/lock.h"
#include "base/map.h"
#include "base/memory.h"

#define ID_RANDOM_LENGTH 16
#define SECRET_LENGTH 40
#define ACCOUNT_LENGTH 12
#define SIGNING_KEYS 1024    /* that are kept */
#define KNOWN_KEYS_MAX 65536 /* keys with policies of which we remember which one */

/* ---- the kind ---- */

/* Cuts "name value\n" off the beginning of *text. False if it is not there. */
static bool take_line(struct span *text, const char *name, struct span *ret_value)
{
	struct span line, rest, word, value;

	if (!span_split(*text, '\n', &line, &rest) || !span_split(line, ' ', &word, &value) ||
		!span_is(word, name))
		return false;
	*ret_value = value;
	*text = rest;
	return true;
}

static bool take_time(struct span *text, const char *name, int64_t *ret_ms)
{
	struct span value;
	uint64_t number;

	if (!take_line(text, name, &value) || !span_to_unsigned(value, INT64_MAX, &number))
		return false;
	*ret_ms = (int64_t)number;
	return true;
}

static int extract(const struct store_object *object, void *facts, struct arena *scratch,
	struct err *err)
{
	struct access_key_facts *key = facts;
	struct span text = object->private_;
	const struct aws_policy *policy;
	int code;

	if (!take_line(&text, "account", &key->account) || !take_line(&text, "user", &key->user) ||
		!take_line(&text, "secret", &key->secret) ||
		!take_time(&text, "created", &key->created_ms) ||
		!take_time(&text, "expires", &key->expires_ms))
		return err_set(err, -EINVAL, "access key '%.*s': its record is incomplete",
			SPAN_ARGS(object->key));
	take_line(&text, "session-token", &key->session_token);
	if (text.length == 0)
		return 0;
	if (text.data[0] != '\n')
		return err_set(err, -EINVAL, "access key '%.*s': its record has a line too many",
			SPAN_ARGS(object->key));
	key->policy = (struct span){text.data + 1, text.length - 1};
	code = aws_policy_parse(key->policy, scratch, &policy, err);
	if (code < 0)
		return err_prefix(err, code, "access key '%.*s'", SPAN_ARGS(object->key));
	return 0;
}

static void write_by_user(const struct store_object *object, struct store_index_writer *writer)
{
	const struct access_key_facts *key = object->facts;

	store_index_add_format(writer, "%.*s/%.*s", SPAN_ARGS(key->account), SPAN_ARGS(key->user));
}

static const struct store_index indexes[] = {
	[ACCESS_KEY_BY_USER] = {.name = "by_user", .write = write_by_user},
};

const struct store_kind access_key_kind = {
	.name = "access_key",
	.facts_size = sizeof(struct access_key_facts),
	.extract = extract,
	.indexes = indexes,
	.index_count = LENGTH(indexes),
};

/* ---- making and keeping ---- */

static bool all_of(struct span text, const char *set)
{
	for (size_t i = 0; i < text.length; i++) {
		if (!text.data[i] || !strchr(set, text.data[i]))
			return false;
	}
	return true;
}

#define DIGITS "0123456789"
#define LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

int access_key_make(struct access_key_new *key, struct random *random, struct err *err)
{
	_arena_ struct arena *scratch = arena_new(0);
	const struct aws_policy *policy;
	int code;

	if (key->account.length != ACCOUNT_LENGTH || !all_of(key->account, DIGITS))
		return err_set(err, -EINVAL, "account '%.*s': must be %d digits",
			SPAN_ARGS(key->account), ACCOUNT_LENGTH);
	if (key->user.length == 0 || key->user.length > ACCESS_KEY_USER_MAX ||
		!all_of(key->user, DIGITS LETTERS "_+=,.@-"))
		return err_set(err, -EINVAL,
			"user '%.*s': must be 1 to %d letters, digits and characters of _+=,.@-",
			SPAN_ARGS(key->user), ACCESS_KEY_USER_MAX);
	if (key->session_token.data && (key->session_token.length == 0 ||
					       key->session_token.length > ACCESS_KEY_TOKEN_MAX ||
					       !all_of(key->session_token, DIGITS LETTERS "+/=_-")))
		return err_set(err, -EINVAL, "session token: must be 1 to %d characters of base64",
			ACCESS_KEY_TOKEN_MAX);
	if (key->expires_ms < 0)
		return err_set(err, -EINVAL, "expiry: must not be before 1970");
	if (key->policy.data) {
		code = aws_policy_parse(key->policy, scratch, &policy, err);
		if (code < 0)
			return code;
	}
	memcpy(key->id, key->session_token.data ? "ASIA" : "AKIA", 4);
	id_from_alphabet(random, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", ID_RANDOM_LENGTH, key->id + 4);
	id_from_alphabet(random, DIGITS LETTERS "+/", SECRET_LENGTH, key->secret);
	return 0;
}

int access_key_put(struct store_transaction *transaction, const struct access_key_new *key,
	int64_t now_ms, struct err *err)
{
	_buffer_ struct buffer api = {0};
	_buffer_ struct buffer private_ = {0};
	struct arena *arena = store_transaction_arena(transaction);
	struct json *shown = json_new_object(arena);
	int code;

	json_set_string(arena, shown, "accessKeyId", span_of(key->id));
	json_set_string(arena, shown, "account", key->account);
	json_set_string(arena, shown, "user", key->user);
	json_set_time(arena, shown, "createdAt", now_ms);
	if (key->expires_ms)
		json_set_time(arena, shown, "expiresAt", key->expires_ms);
	if (key->policy.data) {
		struct json *policy;

		code = json_parse(key->policy, arena, &policy, err);
		if (code < 0)
			return err_prefix(err, code, "policy");
		json_set(arena, shown, "policy", policy);
	}
	json_write(shown, &api);

	buffer_format(&private_, "account %.*s\nuser %.*s\nsecret %s\ncreated %lld\nexpires %lld\n",
		SPAN_ARGS(key->account), SPAN_ARGS(key->user), key->secret, (long long)now_ms,
		(long long)key->expires_ms);
	if (key->session_token.data)
		buffer_format(&private_, "session-token %.*s\n", SPAN_ARGS(key->session_token));
	if (key->policy.data) {
		buffer_add_char(&private_, '\n');
		buffer_add_span(&private_, key->policy);
	}
	code = store_put(transaction, &access_key_kind, span_of(key->id), buffer_span(&api),
		buffer_span(&private_), STORE_ABSENT, err);
	OPENSSL_cleanse(private_.data, private_.length);
	return code;
}

int access_key_delete(struct store_transaction *transaction, struct span account, struct span id,
	struct err *err)
{
	const struct store_object *object =
		store_get(store_head(transaction), &access_key_kind, id);
	const struct access_key_facts *key = object ? object->facts : NULL;

	if (!key || !span_equal(key->account, account))
		return err_set(err, -ENOENT, "account %.*s has no access key '%.*s'",
			SPAN_ARGS(account), SPAN_ARGS(id));
	return store_delete(transaction, &access_key_kind, id, object->revision, err);
}

/* ---- the ring ---- */

/* A policy that was parsed once; kept for all keys that have the same text. */
struct parsed {
	struct arena *arena;
	const struct aws_policy *policy;
};

/* Which policy a key had at which revision. */
struct known {
	uint64_t revision;
	const struct aws_policy *policy;
};

struct access_key_ring {
	struct store *store;
	struct clock *clock;
	struct sigv4_cache *cache;
	char none[SECRET_LENGTH + 1]; /* the secret of keys that do not exist */
	struct lock lock;
	struct map policies; /* text -> struct parsed */
	struct map keys;     /* id -> struct known */
};

struct access_key_ring *access_key_ring_new(struct store *store, struct clock *clock)
{
	struct access_key_ring *ring = memory_allocate(sizeof(*ring));

	ring->store = store;
	ring->clock = clock;
	ring->cache = sigv4_cache_new(SIGNING_KEYS);
	id_from_alphabet(random_system(), DIGITS LETTERS, SECRET_LENGTH, ring->none);
	lock_init(&ring->lock);
	return ring;
}

static void forget_keys(struct access_key_ring *ring)
{
	MAP_EACH (&ring->keys, entry)
		free(entry->value);
	map_clear(&ring->keys);
}

void access_key_ring_free(struct access_key_ring *ring)
{
	if (!ring)
		return;
	forget_keys(ring);
	MAP_EACH (&ring->policies, entry) {
		arena_free(((struct parsed *)entry->value)->arena);
		free(entry->value);
	}
	map_clear(&ring->policies);
	lock_destroy(&ring->lock);
	sigv4_cache_free(ring->cache);
	OPENSSL_cleanse(ring->none, sizeof(ring->none));
	free(ring);
}

/* With the lock held. NULL if the text is no policy, which extract has ruled out. */
static const struct aws_policy *parse_once(struct access_key_ring *ring, struct span text)
{
	struct parsed *parsed = map_get(&ring->policies, text);

	if (parsed)
		return parsed->policy;
	parsed = memory_allocate(sizeof(*parsed));
	parsed->arena = arena_new(0);
	if (aws_policy_parse(text, parsed->arena, &parsed->policy, NULL) < 0) {
		arena_free(parsed->arena);
		free(parsed);
		return NULL;
	}
	map_put(&ring->policies, text, parsed);
	return parsed->policy;
}

static const struct aws_policy *policy_of(struct access_key_ring *ring,
	const struct store_object *object, struct span text)
{
	struct known *known;
	const struct aws_policy *policy;

	lock_take(&ring->lock);
	known = map_get(&ring->keys, object->key);
	if (!known) {
		if (ring->keys.count >= KNOWN_KEYS_MAX)
			forget_keys(ring);
		known = memory_allocate(sizeof(*known));
		map_put(&ring->keys, object->key, known);
	}
	/* By revision, so that a policy of some kilobytes need not be compared at every request. */
	if (known->revision != object->revision || !known->policy)
		*known = (struct known){object->revision, parse_once(ring, text)};
	policy = known->policy;
	lock_release(&ring->lock);
	return policy;
}

static bool tokens_match(struct span wanted, struct span requested)
{
	if (!wanted.data || !requested.data)
		return !wanted.data && !requested.data;
	return wanted.length == requested.length &&
	       CRYPTO_memcmp(wanted.data, requested.data, wanted.length) == 0;
}

/*
 * An unknown key, and a key with a wrong session token, take the same path as any other: the
 * signature is checked, with a secret that no client has. Only the name of the error differs, as it
 * does with AWS.
 */
static int authenticate(struct access_key_ring *ring, const struct sigv4_request *request,
	const struct sigv4_claim *claim, const struct store_object *object, struct arena *arena,
	struct aws_caller *ret_caller, struct sigv4_failure *failure)
{
	static const struct access_key_facts nothing = {0};
	const struct access_key_facts *key = object ? object->facts : &nothing;
	bool known = object && tokens_match(key->session_token, claim->session_token);
	int64_t now_ms = clock_wall_ms(ring->clock);
	const struct aws_policy *policy = NULL;
	int code = sigv4_verify(request, claim, known ? key->secret : span_of(ring->none), now_ms,
		ring->cache, failure);

	if (!known)
		return sigv4_refuse(failure, "UnrecognizedClientException",
			"The security token included in the request is invalid.");
	if (code < 0)
		return code;
	if (key->expires_ms && now_ms >= key->expires_ms)
		return sigv4_refuse(failure, "ExpiredTokenException",
			"The security token included in the request is expired");
	if (key->policy.data) {
		policy = policy_of(ring, object, key->policy);
		if (!policy) {
			sigv4_refuse(failure, "ServerException",
				"The policy of this access key cannot be read.");
			failure->status = 500;
			return -EACCES;
		}
	}
	*ret_caller = (struct aws_caller){
		.account = arena_copy_span(arena, key->account),
		.user = arena_copy_span(arena, key->user),
		.access_key = arena_copy_span(arena, object->key),
		.region = arena_copy_span(arena, claim->region),
		.policy = policy,
	};
	return 0;
}

int access_key_authenticate(struct access_key_ring *ring, const struct sigv4_request *request,
	struct arena *arena, struct sigv4_claim *ret_claim, struct aws_caller *ret_caller,
	struct sigv4_failure *failure)
{
	struct sigv4_claim claim;
	struct store_view *view;
	int code = sigv4_read(request, &claim, failure);

	if (code < 0)
		return code;
	view = store_view_open(ring->store);
	code = authenticate(ring, request, &claim,
		store_get(view, &access_key_kind, claim.access_key), arena, ret_caller, failure);
	store_view_close(view);
	if (code == 0)
		*ret_claim = claim;
	return code;
}

static const struct store_object *find_newest(const struct store_view *view, struct span account,
	struct span user, int64_t now_ms)
{
	_arena_ struct arena *arena = arena_new(0);
	struct store_cursor cursor = {.view = view,
		.kind = &access_key_kind,
		.index = ACCESS_KEY_BY_USER,
		.prefix = arena_format(arena, "%.*s/%.*s", SPAN_ARGS(account), SPAN_ARGS(user)),
		.exact = true};
	const struct store_object *object, *newest = NULL;

	while ((object = store_next(&cursor))) {
		const struct access_key_facts *key = object->facts,
					      *best = newest ? newest->facts : NULL;

		if ((!key->expires_ms || now_ms < key->expires_ms) &&
			(!best || key->created_ms >= best->created_ms))
			newest = object;
	}
	return newest;
}

int access_key_find_policy(struct access_key_ring *ring, struct span account, struct span user,
	const struct aws_policy **ret_policy, struct err *err)
{
	_view_ struct store_view *view = store_view_open(ring->store);
	const struct store_object *object =
		find_newest(view, account, user, clock_wall_ms(ring->clock));
	const struct access_key_facts *key = object ? object->facts : NULL;
	const struct aws_policy *policy = NULL;

	if (!key)
		return err_set(err, -ENOENT, "there is no user '%.*s' with a key in account %.*s",
			SPAN_ARGS(user), SPAN_ARGS(account));
	if (key->policy.data) {
		policy = policy_of(ring, object, key->policy);
		if (!policy)
			return err_set(err, -EINVAL, "the policy of user '%.*s' cannot be read",
				SPAN_ARGS(user));
	}
	*ret_policy = policy;
	return 0;
}
