/* Compiling a service's instances; see zone_answers.h. */
#include "cloudmap/zone_answers.h"

#include <arpa/inet.h>

#include "aws/sigv4_hash.h"

#define HASH_LABEL_BYTES 12 /* of the hash, two digits each */
#define HASH_LABEL_PREFIX "x-"

/* ---- names of hosts ---- */

static bool is_host_byte(char c, bool first)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || (c == '-' && !first);
}

static uint8_t lower(uint8_t byte)
{
	return byte >= 'A' && byte <= 'Z' ? (uint8_t)(byte | 0x20) : byte;
}

/* The labels of an id such as "i-1" or "10.0.0.1". 0: it is not made of labels, or too long. */
static size_t labels_of_id(struct span id, uint8_t labels[DNS_NAME_MAX])
{
	size_t at = 0, length = 1;

	if (id.length + 2 > DNS_NAME_MAX)
		return 0;
	for (size_t i = 0; i <= id.length; i++) {
		size_t label = length - at - 1;

		if (i == id.length || id.data[i] == '.') {
			if (label == 0 || label > DNS_LABEL_MAX)
				return 0;
			labels[at] = (uint8_t)label;
			at = length++;
		} else if (is_host_byte(id.data[i], label == 0)) {
			labels[length++] = (uint8_t)id.data[i];
		} else {
			return 0;
		}
	}
	return length - 1;
}

static size_t labels_of_hash(struct span id, uint8_t labels[DNS_NAME_MAX])
{
	_sigv4_hash_ struct sigv4_hash hash = {0};
	unsigned char digest[SIGV4_HASH_SIZE];
	char digits[SIGV4_HEX_SIZE];
	size_t prefix = strlen(HASH_LABEL_PREFIX);

	sigv4_hash_open(&hash);
	sigv4_hash_digest(&hash, id, digest);
	sigv4_hash_hex(digest, digits);
	labels[0] = (uint8_t)(prefix + 2 * (size_t)HASH_LABEL_BYTES);
	memcpy(labels + 1, HASH_LABEL_PREFIX, prefix);
	memcpy(labels + 1 + prefix, digits, 2 * (size_t)HASH_LABEL_BYTES);
	return 1 + (size_t)labels[0];
}

/* Takes the labels for the instance if they are free and the name is not too long. */
static bool take_host(struct zone_answers *answers, struct zone_instance *instance,
	const uint8_t *labels, size_t length)
{
	uint8_t key[DNS_NAME_MAX];

	if (length == 0 || length + answers->service.length > DNS_NAME_MAX)
		return false;
	for (size_t i = 0; i < length; i++)
		key[i] = lower(labels[i]);
	if (map_has(&answers->hosts, (struct span){(const char *)key, length}))
		return false;
	map_put(&answers->hosts, (struct span){(const char *)key, length}, instance);
	instance->host = memcpy(arena_allocate(answers->arena, length), labels, length);
	instance->host_length = (uint8_t)length;
	if (length > 1 + (size_t)labels[0])
		answers->dotted = true;
	return true;
}

static void name_host(struct zone_answers *answers, struct zone_instance *instance, struct span id)
{
	uint8_t labels[DNS_NAME_MAX];

	if (!take_host(answers, instance, labels, labels_of_id(id, labels)))
		take_host(answers, instance, labels, labels_of_hash(id, labels));
}

void zone_host_name(const struct zone_answers *answers, const struct zone_instance *instance,
	struct dns_name *ret_name)
{
	memcpy(ret_name->bytes, instance->host, instance->host_length);
	memcpy(ret_name->bytes + instance->host_length, answers->service.bytes,
		answers->service.length);
	ret_name->length = (uint8_t)(instance->host_length + answers->service.length);
}

const struct zone_instance *zone_answers_host(const struct zone_answers *answers,
	struct span labels)
{
	return map_get(&answers->hosts, labels);
}

static bool is_below(struct span name, struct span labels)
{
	while (name.length > labels.length) {
		size_t label = 1 + (size_t)(uint8_t)name.data[0];

		name = (struct span){name.data + label, name.length - label};
		if (span_equal(name, labels))
			return true;
	}
	return false;
}

bool zone_answers_has_below(const struct zone_answers *answers, struct span labels)
{
	if (!answers->dotted)
		return false;
	MAP_EACH (&answers->hosts, entry) {
		if (is_below(entry->key, labels))
			return true;
	}
	return false;
}

/* ---- instances by record ---- */

static void compile_instance(struct zone_answers *answers, struct zone_instance *instance,
	const struct cloudmap_instance_facts *facts, bool with_host)
{
	char text[INET6_ADDRSTRLEN];
	struct dns_name name;
	struct err err;

	if (facts->ipv4.length > 0 && facts->ipv4.length < sizeof(text)) {
		memcpy(text, facts->ipv4.data, facts->ipv4.length);
		text[facts->ipv4.length] = '\0';
		instance->has_ipv4 = inet_pton(AF_INET, text, instance->ipv4) == 1;
	}
	if (facts->ipv6.length > 0 && facts->ipv6.length < sizeof(text)) {
		memcpy(text, facts->ipv6.data, facts->ipv6.length);
		text[facts->ipv6.length] = '\0';
		instance->has_ipv6 = inet_pton(AF_INET6, text, instance->ipv6) == 1;
	}
	if (facts->cname.length > 0 && dns_name_from_text(facts->cname, &name, &err) == 0)
		instance->cname =
			memcpy(arena_allocate(answers->arena, sizeof(name)), &name, sizeof(name));
	instance->port = (uint16_t)facts->port;
	if (with_host)
		name_host(answers, instance, facts->id);
}

static bool has_record(const struct zone_instance *instance, enum zone_record record)
{
	switch (record) {
	case ZONE_A: return instance->has_ipv4;
	case ZONE_AAAA: return instance->has_ipv6;
	case ZONE_SRV: return instance->host_length > 0 && instance->port > 0;
	default: return instance->cname;
	}
}

/* Those to be given, of all that have the record. */
static void choose_eligible(struct zone_choice *choice)
{
	bool any_healthy = false, any_weight = false;

	for (size_t i = 0; i < choice->count; i++)
		any_healthy |= choice->candidates[i].healthy;
	for (size_t i = 0; i < choice->count; i++)
		any_weight |= (choice->candidates[i].healthy || !any_healthy) &&
			      choice->candidates[i].weight > 0;
	for (size_t i = 0; i < choice->count; i++)
		if ((choice->candidates[i].healthy || !any_healthy) &&
			(choice->candidates[i].weight > 0 || !any_weight))
			choice->eligible[choice->eligible_count++] = choice->instances[i];
}

static void compile_choice(struct zone_answers *answers, const struct dns_candidate *candidates,
	enum zone_record record)
{
	struct zone_choice *choice = &answers->choices[record];
	struct arena *arena = answers->arena;

	choice->instances = arena_allocate(arena, answers->count * sizeof(*choice->instances));
	choice->eligible = arena_allocate(arena, answers->count * sizeof(*choice->eligible));
	choice->candidates = arena_allocate(arena, answers->count * sizeof(*choice->candidates));
	for (size_t i = 0; i < answers->count; i++) {
		if (!has_record(&answers->instances[i], record))
			continue;
		choice->instances[choice->count] = (uint32_t)i;
		choice->candidates[choice->count++] = candidates[i];
	}
	choose_eligible(choice);
}

struct zone_answers *zone_answers_new(const struct store_view *view,
	const struct store_object *service, const struct dns_name *name, int64_t now_ms)
{
	static const int64_t bits[ZONE_RECORD_COUNT] = {[ZONE_A] = CLOUDMAP_RECORD_A,
		[ZONE_AAAA] = CLOUDMAP_RECORD_AAAA,
		[ZONE_SRV] = CLOUDMAP_RECORD_SRV,
		[ZONE_CNAME] = CLOUDMAP_RECORD_CNAME};
	const struct cloudmap_service_facts *facts = cloudmap_service_facts(service);
	struct arena *arena = arena_new(0);
	struct zone_answers *answers = arena_allocate(arena, sizeof(*answers));
	struct span prefix = arena_format(arena, "%.*s/", SPAN_ARGS(service->key));
	struct store_cursor cursor = {
		.view = view, .kind = &cloudmap_instance_kind, .index = -1, .prefix = prefix};
	struct dns_candidate *candidates;
	const struct store_object *object;
	size_t count = store_count(view, &cloudmap_instance_kind, -1, prefix, false);

	*answers = (struct zone_answers){.arena = arena, .until_ms = INT64_MAX};
	dns_name_copy(&answers->service, name);
	answers->instances = arena_allocate(arena, count * sizeof(*answers->instances));
	candidates = arena_allocate(arena, count * sizeof(*candidates));
	while (answers->count < count && (object = store_next(&cursor))) {
		const struct cloudmap_instance_facts *instance = cloudmap_instance_facts(object);
		bool healthy = cloudmap_instance_is_healthy(facts, instance, now_ms);

		answers->instances[answers->count] = (struct zone_instance){0};
		compile_instance(answers, &answers->instances[answers->count], instance,
			facts->records & CLOUDMAP_RECORD_SRV);
		candidates[answers->count++] = (struct dns_candidate){
			.weight = (uint16_t)instance->weight, .healthy = healthy};
		if (healthy && instance->unhealthy_ms > now_ms &&
			instance->unhealthy_ms < answers->until_ms)
			answers->until_ms = instance->unhealthy_ms;
	}
	for (int i = 0; i < ZONE_RECORD_COUNT; i++)
		if (facts->records & bits[i])
			compile_choice(answers, candidates, i);
	return answers;
}

void zone_answers_free(struct zone_answers *answers)
{
	if (!answers)
		return;
	map_clear(&answers->hosts);
	arena_free(answers->arena);
}
