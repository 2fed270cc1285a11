/* See the header. */
#include "runtime/kubernetes/names.h"

#include <openssl/sha.h>
#include <stdio.h>

#include "aws/arn.h"
#include "base/memory.h"

#define CLUSTER_PART_MAX 32 /* of a namespace's name; the rest is for region and hash */
#define REGION_PART_MAX 19
#define DRAINED ".slipway.dev/drained"

void kubernetes_hash(const struct span *parts, size_t count, char ret_hash[KUBERNETES_HASH_SIZE])
{
	unsigned char digest[SHA256_DIGEST_LENGTH];
	_buffer_ struct buffer text = {0};

	for (size_t i = 0; i < count; i++) {
		buffer_add_unsigned(&text, parts[i].length);
		buffer_add_char(&text, ':');
		buffer_add_span(&text, parts[i]);
	}
	SHA256((const unsigned char *)buffer_span(&text).data, text.length, digest);
	buffer_reset(&text);
	buffer_add_hex(&text, digest, KUBERNETES_HASH_DIGITS / 2);
	memcpy(ret_hash, text.data, KUBERNETES_HASH_SIZE);
}

static bool is_lower(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

static char to_lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* Lower case letters, digits and single dashes, a letter or digit at both ends; at most `max`
 * bytes. "" if no character is left. */
static struct span kubernetes_readable(struct arena *arena, struct span text, size_t max)
{
	char *built = arena_allocate(arena, max + 1);
	size_t length = 0;

	for (size_t i = 0; i < text.length && length < max; i++) {
		char c = to_lower(text.data[i]);

		if (is_lower(c))
			built[length++] = c;
		else if (length > 0 && built[length - 1] != '-')
			built[length++] = '-';
	}
	while (length > 0 && built[length - 1] == '-')
		length--;
	built[length] = '\0';
	return (struct span){built, length};
}

/* "readable-hash", the hash alone if no character is readable. */
static struct span with_hash(struct arena *arena, struct span text, size_t max,
	const struct span *parts, size_t count)
{
	struct span shown = kubernetes_readable(arena, text, max - KUBERNETES_HASH_SIZE);
	char hash[KUBERNETES_HASH_SIZE];

	kubernetes_hash(parts, count, hash);
	/* A DNS label may begin with a digit, the name of a Service may not. */
	if (shown.length == 0)
		return arena_format(arena, "x%s", hash);
	return arena_format(arena, "%.*s-%s", SPAN_ARGS(shown), hash);
}

struct span kubernetes_label_name(struct arena *arena, struct span text, size_t max)
{
	bool fits = text.length > 0 && text.length <= max && is_lower(text.data[0]) &&
		    is_lower(text.data[text.length - 1]);

	for (size_t i = 0; fits && i < text.length; i++)
		fits = is_lower(text.data[i]) || text.data[i] == '-';
	return fits ? arena_copy_span(arena, text) : with_hash(arena, text, max, &text, 1);
}

struct span kubernetes_label_value(struct arena *arena, struct span text)
{
	bool fits = text.length > 0 && text.length <= KUBERNETES_LABEL_MAX &&
		    is_lower(to_lower(text.data[0])) &&
		    is_lower(to_lower(text.data[text.length - 1]));

	for (size_t i = 0; fits && i < text.length; i++)
		fits = is_lower(to_lower(text.data[i])) || strchr("-_.", text.data[i]);
	return fits ? arena_copy_span(arena, text)
		    : with_hash(arena, text, KUBERNETES_LABEL_MAX, &text, 1);
}

int kubernetes_namespace_name(struct arena *arena, struct span cluster_arn, struct span *ret_name,
	struct err *err)
{
	struct span type, name, parts[3];
	struct aws_arn arn;
	char hash[KUBERNETES_HASH_SIZE];

	if (!aws_arn_parse(cluster_arn, &arn) || !span_split(arn.resource, '/', &type, &name) ||
		!span_is(type, "cluster") || name.length == 0)
		return err_set(err, -EINVAL, "'%.*s' is not the ARN of a cluster",
			SPAN_ARGS(cluster_arn));
	parts[0] = arn.account;
	parts[1] = arn.region;
	parts[2] = name;
	kubernetes_hash(parts, LENGTH(parts), hash);
	name = kubernetes_readable(arena, name, CLUSTER_PART_MAX);
	arn.region = kubernetes_readable(arena, arn.region, REGION_PART_MAX);
	*ret_name = arena_format(arena, "%.*s%s%.*s%s%s", SPAN_ARGS(name), name.length ? "-" : "",
		SPAN_ARGS(arn.region), arn.region.length ? "-" : "", hash);
	return 0;
}

struct span kubernetes_drained_label(struct arena *arena, struct span namespace)
{
	return arena_format(arena, "%.*s" DRAINED, SPAN_ARGS(namespace));
}

bool kubernetes_is_drained_label(struct span label)
{
	return span_ends_with(label, SPAN(DRAINED));
}

struct span kubernetes_group_name(struct arena *arena, struct span id, struct span shown)
{
	struct span kind, name;

	if (!shown.data || !span_split(shown, ':', &kind, &name))
		name = shown.data ? shown : SPAN("");
	return with_hash(arena, name, KUBERNETES_GROUP_NAME_MAX, &id, 1);
}

static bool is_plain_token(struct span token)
{
	if (token.length != KUBERNETES_TOKEN_DIGITS)
		return false;
	for (size_t i = 0; i < token.length; i++)
		if (!strchr("0123456789abcdef", token.data[i]) || token.data[i] == '\0')
			return false;
	return true;
}

struct span kubernetes_pod_name(struct arena *arena, struct span token, struct span family)
{
	struct span shown = kubernetes_readable(arena, family.data ? family : SPAN(""),
		KUBERNETES_LABEL_MAX - KUBERNETES_TOKEN_DIGITS - 1);

	if (!is_plain_token(token))
		return with_hash(arena, shown, KUBERNETES_LABEL_MAX, &token, 1);
	if (shown.length == 0)
		shown = SPAN("task");
	return arena_format(arena, "%.*s-%.*s", SPAN_ARGS(shown), SPAN_ARGS(token));
}

struct span kubernetes_secret_name(struct arena *arena, struct span owner, struct span version)
{
	char hash[KUBERNETES_HASH_SIZE];

	if (version.length == 0)
		return arena_copy_span(arena, owner);
	kubernetes_hash(&version, 1, hash);
	return arena_format(arena, "%.*s-%s", SPAN_ARGS(owner), hash);
}

struct span kubernetes_group_label(struct arena *arena, struct span id)
{
	char hash[KUBERNETES_HASH_SIZE];

	kubernetes_hash(&id, 1, hash);
	return arena_format(arena, "%s", hash);
}

struct json *kubernetes_labels(struct arena *arena, struct span host)
{
	struct json *labels = json_new_object(arena);

	json_set_string(arena, labels, KUBERNETES_LABEL_MANAGED, SPAN(KUBERNETES_MANAGER));
	json_set_string(arena, labels, KUBERNETES_LABEL_OWNER, kubernetes_label_value(arena, host));
	return labels;
}

struct span kubernetes_selector(struct arena *arena, struct span host)
{
	return arena_format(arena,
		KUBERNETES_LABEL_MANAGED "=" KUBERNETES_MANAGER "," KUBERNETES_LABEL_OWNER "=%.*s",
		SPAN_ARGS(kubernetes_label_value(arena, host)));
}

enum kubernetes_claim kubernetes_claim(const struct json *object, struct span host)
{
	const struct json *metadata = json_get(object, "metadata");
	struct span manager = json_get_text(json_get(metadata, "labels"), KUBERNETES_LABEL_MANAGED);
	struct span owner = json_get_text(json_get(metadata, "annotations"), KUBERNETES_HOST);

	if (!manager.data || !span_is(manager, KUBERNETES_MANAGER))
		return KUBERNETES_FOREIGN;
	if (!owner.data)
		return KUBERNETES_UNCLAIMED;
	return span_equal(owner, host) ? KUBERNETES_OURS : KUBERNETES_FOREIGN;
}

uint64_t kubernetes_owner(const struct json *object)
{
	JSON_EACH_ITEM (json_path(object, "metadata.ownerReferences"), reference)
		if (json_get_bool(reference, "controller", false))
			return span_hash(json_get_text(reference, "uid"));
	return 0;
}
