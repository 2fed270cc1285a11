/*
 * Asking the directory; see zone.h.
 *
 * Queries read directory and answers under a shared lock. The store's feed only raises a flag; the next
 * query takes the lock for itself and applies what has changed. The flag is raised before the write is
 * answered, so no query that comes behind that answer can miss it.
 */
#include "cloudmap/zone.h"

#include <arpa/inet.h>
#include <pthread.h>

#include "cloudmap/zone_directory.h"

#define OWN_TTL 60          /* of names below the domain */
#define OWN_NEGATIVE_TTL 15 /* a load balancer may be made any time */
#define FEED_BATCH 64

/* As Route 53 has them. The TTL of a namespace's SOA is what counts for negative answers. */
#define SOA_SERIAL 1
#define SOA_REFRESH 7200
#define SOA_RETRY 900
#define SOA_EXPIRE 1209600
#define SOA_MINIMUM 86400

struct zone_address {
	bool is_ipv6;
	uint8_t bytes[16];
};

struct zone {
	struct store *store;
	struct runner *runner;
	bool has_domain;
	struct dns_name domain;
	size_t domain_labels;
	struct dns_soa soa;
	struct zone_address api, dns;
	zone_names names;
	void *names_context;

	pthread_rwlock_t lock; /* of the directory */
	struct zone_directory directory;
	struct store_feed *feed;
	_Atomic bool stale; /* the feed has something */
	/* When the first of the compiled answers is to be made anew. */
	_Atomic int64_t expires_ms;
};

/* ---- keeping current ---- */

static void on_change(void *context)
{
	struct zone *zone = context;

	atomic_store(&zone->stale, true);
}

static int load(struct zone *zone, struct err *err)
{
	static const struct store_kind *const kinds[] = {
		&cloudmap_namespace_kind, &cloudmap_service_kind, &cloudmap_instance_kind};
	_view_ struct store_view *view = store_view_open(zone->store);
	int code;

	if (zone->feed)
		store_feed_close(TAKE(zone->feed));
	zone_directory_clear(&zone->directory);
	code = store_feed_open(zone->store, store_view_revision(view), on_change, zone, &zone->feed,
		err);
	if (code < 0)
		return code;
	store_feed_narrow(zone->feed, kinds, LENGTH(kinds));
	zone_directory_load(&zone->directory, view);
	return 0;
}

static int catch_up(struct zone *zone, struct err *err)
{
	struct store_change changes[FEED_BATCH];
	int count = zone->feed ? 0 : -EOVERFLOW;

	while (count >= 0) {
		count = store_feed_next(zone->feed, changes, LENGTH(changes));
		if (count == 0)
			return 0;
		for (int i = 0; i < count; i++) {
			zone_directory_apply(&zone->directory, &changes[i]);
			store_change_release(&changes[i]);
		}
	}
	return load(zone, err);
}

static void drop_expired(struct zone *zone, int64_t now_ms)
{
	int64_t next = INT64_MAX;

	MAP_EACH (&zone->directory.services, entry) {
		struct zone_service *service = entry->value;
		const struct zone_answers *answers = atomic_load(&service->answers);

		if (answers && answers->until_ms <= now_ms)
			zone_service_drop_answers(service);
		else if (answers && answers->until_ms < next)
			next = answers->until_ms;
	}
	atomic_store(&zone->expires_ms, next);
}

static bool has_expired(struct zone *zone)
{
	int64_t expires_ms = atomic_load_explicit(&zone->expires_ms, memory_order_relaxed);

	return expires_ms != INT64_MAX && runner_wall_ms(zone->runner) >= expires_ms;
}

/* False: the store cannot be read. */
static bool refresh(struct zone *zone)
{
	struct err err;
	int code = 0;

	if (!atomic_load(&zone->stale) && !has_expired(zone))
		return true;
	pthread_rwlock_wrlock(&zone->lock);
	if (atomic_exchange(&zone->stale, false))
		code = catch_up(zone, &err);
	if (code < 0)
		atomic_store(&zone->stale, true);
	if (has_expired(zone))
		drop_expired(zone, runner_wall_ms(zone->runner));
	pthread_rwlock_unlock(&zone->lock);
	return code == 0;
}

/* ---- answers of services ---- */

static void expire_at(struct zone *zone, int64_t until_ms)
{
	int64_t expires_ms = atomic_load(&zone->expires_ms);

	while (until_ms < expires_ms &&
		!atomic_compare_exchange_weak(&zone->expires_ms, &expires_ms, until_ms))
		;
}

/* NULL: the service is no more. Lives as long as the shared lock is held. */
static struct zone_answers *answers_of(struct zone *zone, struct zone_service *service)
{
	struct zone_answers *answers = atomic_load(&service->answers);
	const struct store_object *object;

	if (answers)
		return answers;
	lock_take(&service->lock);
	answers = atomic_load(&service->answers);
	if (!answers) {
		/* Opened behind the refresh, so at least as new. */
		_view_ struct store_view *view = store_view_open(zone->store);

		object = store_get(view, &cloudmap_service_kind, service->key);
		if (object) {
			answers = zone_answers_new(view, object, &service->name,
				runner_wall_ms(zone->runner));
			expire_at(zone, answers->until_ms);
			atomic_store(&service->answers, answers);
		}
	}
	lock_release(&service->lock);
	return answers;
}

static size_t draw_weighted(struct zone_service *service, const struct zone_choice *choice,
	uint16_t type, struct random *random, size_t chosen[DNS_MULTIVALUE_MAX])
{
	enum zone_question question = type == DNS_TYPE_A      ? ZONE_QUERIED_A
				      : type == DNS_TYPE_AAAA ? ZONE_QUERIED_AAAA
							      : ZONE_QUERIED_OTHER;
	size_t drawn;

	lock_take(&service->lock);
	if (!service->drawing[question])
		dns_weighted_set(&service->draws[question], choice->candidates, choice->count);
	service->drawing[question] = true;
	drawn = dns_weighted_next(&service->draws[question], random);
	lock_release(&service->lock);
	if (drawn == DNS_CHOICE_NONE)
		return 0;
	chosen[0] = choice->instances[drawn];
	return 1;
}

/* Instances for one answer. */
static size_t draw(struct zone_service *service, const struct zone_answers *answers,
	enum zone_record record, uint16_t type, struct random *random,
	size_t chosen[DNS_MULTIVALUE_MAX])
{
	const struct zone_choice *choice = &answers->choices[record];
	size_t count;

	if (service->weighted)
		return draw_weighted(service, choice, type, random, chosen);
	count = dns_draw_multivalue(random, choice->eligible_count, chosen);
	for (size_t i = 0; i < count; i++)
		chosen[i] = choice->eligible[chosen[i]];
	return count;
}

static void add_addresses(const struct zone_instance *instance, enum dns_section section,
	const struct dns_name *owner, uint32_t ttl, uint16_t type, struct dns_answer *answer)
{
	if (instance->has_ipv4 && (type == DNS_TYPE_A || type == DNS_TYPE_ANY))
		dns_answer_add_a(answer, section, owner, ttl, instance->ipv4);
	if (instance->has_ipv6 && (type == DNS_TYPE_AAAA || type == DNS_TYPE_ANY))
		dns_answer_add_aaaa(answer, section, owner, ttl, instance->ipv6);
}

static void add_service(const struct zone_answers *answers, const struct zone_instance *instance,
	uint32_t ttl, struct dns_answer *answer)
{
	struct dns_name host;

	zone_host_name(answers, instance, &host);
	dns_answer_add_srv(answer, DNS_SECTION_ANSWER, NULL, ttl, 1, 1, instance->port, &host);
	add_addresses(instance, DNS_SECTION_ADDITIONAL, &host, ttl, DNS_TYPE_ANY, answer);
}

/* Which records of a service a question of this type is answered with; -1: none. A name with a CNAME has
 * nothing else. */
static int record_for(const struct zone_service *service, uint16_t type)
{
	if (service->records & CLOUDMAP_RECORD_CNAME)
		return ZONE_CNAME;
	if (type == DNS_TYPE_A && service->records & CLOUDMAP_RECORD_A)
		return ZONE_A;
	if (type == DNS_TYPE_AAAA && service->records & CLOUDMAP_RECORD_AAAA)
		return ZONE_AAAA;
	if (type == DNS_TYPE_SRV && service->records & CLOUDMAP_RECORD_SRV)
		return ZONE_SRV;
	return -1;
}

static void answer_service(struct zone *zone, struct zone_service *service, uint16_t type,
	struct dns_answer *answer)
{
	const struct zone_answers *answers;
	size_t chosen[DNS_MULTIVALUE_MAX];
	int record = record_for(service, type);
	size_t count;

	if (record < 0)
		return;
	answers = answers_of(zone, service);
	if (!answers)
		return;
	count = draw(service, answers, record, type, answer->random, chosen);
	if (record == ZONE_CNAME && count > 1)
		count = 1; /* a name is an alias of one other only */
	for (size_t i = 0; i < count; i++) {
		const struct zone_instance *instance = &answers->instances[chosen[i]];
		uint32_t ttl = service->ttls[record];

		if (record == ZONE_CNAME)
			dns_answer_add_name(answer, DNS_SECTION_ANSWER, NULL, DNS_TYPE_CNAME, ttl,
				instance->cname);
		else if (record == ZONE_SRV)
			add_service(answers, instance, ttl, answer);
		else
			add_addresses(instance, DNS_SECTION_ANSWER, NULL, ttl, type, answer);
	}
}

/* ---- namespaces ---- */

/* INSTANCE.SERVICE: an id may have dots, so the service may begin at any label but the first. */
static bool answer_host(struct zone *zone, const struct zone_namespace *namespace_,
	const struct zone_labels *labels, size_t apex, uint16_t type, struct dns_answer *answer)
{
	for (size_t first = 1; first < apex; first++) {
		const struct zone_node *node =
			zone_namespace_node(namespace_, zone_labels_span(labels, first, apex));
		struct span host = zone_labels_span(labels, 0, first);
		const struct zone_answers *answers;
		const struct zone_instance *instance;

		if (!node || !node->service || !(node->service->records & CLOUDMAP_RECORD_SRV))
			continue;
		answers = answers_of(zone, node->service);
		instance = answers ? zone_answers_host(answers, host) : NULL;
		if (instance)
			add_addresses(instance, DNS_SECTION_ANSWER, NULL,
				node->service->ttls[ZONE_SRV], type, answer);
		if (instance || (answers && zone_answers_has_below(answers, host)))
			return true;
	}
	return false;
}

static void answer_apex(const struct zone *zone, uint16_t type, uint32_t soa_ttl,
	struct dns_answer *answer)
{
	if (type == DNS_TYPE_SOA)
		dns_answer_add_soa(answer, NULL, soa_ttl, &zone->soa);
	else if (type == DNS_TYPE_NS)
		dns_answer_add_name(answer, DNS_SECTION_ANSWER, NULL, DNS_TYPE_NS, OWN_TTL,
			&zone->soa.primary);
}

static enum dns_outcome answer_namespace(struct zone *zone, const struct zone_namespace *namespace_,
	const struct zone_labels *labels, size_t apex, uint16_t type, struct dns_answer *answer)
{
	const struct zone_node *node = NULL;
	size_t records = answer->record_count;
	bool exists = apex == 0;

	if (apex == 0) {
		answer_apex(zone, type, namespace_->soa_ttl, answer);
	} else {
		node = zone_namespace_node(namespace_, zone_labels_span(labels, 0, apex));
		exists = node && node->instances > 0;
	}
	if (exists && node && node->service)
		answer_service(zone, node->service, type, answer);
	if (apex > 1 && answer->record_count == records)
		exists |= answer_host(zone, namespace_, labels, apex, type, answer);
	if (answer->record_count == records)
		dns_answer_set_soa(answer, &namespace_->spelt, namespace_->soa_ttl, &zone->soa);
	return exists ? DNS_FOUND : DNS_NO_SUCH_NAME;
}

/* ---- slipway's own domain ---- */

static void add_own_address(const struct zone_address *address, uint16_t type,
	struct dns_answer *answer)
{
	if (address->is_ipv6 && (type == DNS_TYPE_AAAA || type == DNS_TYPE_ANY))
		dns_answer_add_aaaa(answer, DNS_SECTION_ANSWER, NULL, OWN_TTL, address->bytes);
	if (!address->is_ipv6 && (type == DNS_TYPE_A || type == DNS_TYPE_ANY))
		dns_answer_add_a(answer, DNS_SECTION_ANSWER, NULL, OWN_TTL, address->bytes);
}

static enum dns_outcome answer_other(struct zone *zone, const struct zone_labels *labels,
	size_t apex, uint16_t type, struct dns_answer *answer)
{
	_view_ struct store_view *view = NULL;
	char text[DNS_NAME_TEXT_MAX];
	struct dns_name relative;
	struct span below = zone_labels_span(labels, 0, apex);

	if (!zone->names)
		return DNS_NO_SUCH_NAME;
	memcpy(relative.bytes, below.data, below.length);
	relative.bytes[below.length] = 0;
	relative.length = (uint8_t)(below.length + 1);
	dns_name_to_text(&relative, text);
	view = store_view_open(zone->store);
	return zone->names(zone->names_context, view, span_of(text), type, answer);
}

static enum dns_outcome answer_own(struct zone *zone, const struct zone_labels *labels, size_t apex,
	uint16_t type, struct dns_answer *answer)
{
	const struct {
		struct span label;
		const struct zone_address *address;
	} rows[] = {
		{SPAN("\3api"), &zone->api},
		{SPAN("\10data-api"), &zone->api},
		{SPAN("\2ns"), &zone->dns},
	};
	struct span below = zone_labels_span(labels, 0, apex);
	size_t records = answer->record_count;
	enum dns_outcome outcome = DNS_FOUND;
	bool known = apex == 0;

	if (apex == 0)
		answer_apex(zone, type, OWN_NEGATIVE_TTL, answer);
	for (size_t i = 0; i < LENGTH(rows) && !known; i++) {
		known = span_equal(rows[i].label, below);
		if (known)
			add_own_address(rows[i].address, type, answer);
	}
	if (!known)
		outcome = answer_other(zone, labels, apex, type, answer);
	if (answer->record_count == records)
		dns_answer_set_soa(answer, &zone->domain, OWN_NEGATIVE_TTL, &zone->soa);
	return outcome;
}

enum dns_outcome zone_lookup(void *context, const struct dns_name *name, uint16_t type,
	struct dns_answer *answer)
{
	struct zone *zone = context;
	const struct zone_namespace *namespace_;
	enum dns_outcome outcome = DNS_NOT_OURS;
	struct zone_labels labels;
	size_t apex = SIZE_MAX, own = SIZE_MAX;

	if (!refresh(zone))
		return DNS_FAILED;
	zone_labels_of(name, &labels);
	pthread_rwlock_rdlock(&zone->lock);
	namespace_ = zone_directory_find(&zone->directory, &labels, &apex);
	if (zone->has_domain && dns_name_is_below(name, &zone->domain))
		own = labels.count - zone->domain_labels;
	/* A namespace may have the domain's own name: then it has what is not ours. */
	if (own <= apex && own != SIZE_MAX)
		outcome = answer_own(zone, &labels, own, type, answer);
	if (namespace_ && (own > apex || (own == apex && outcome == DNS_NO_SUCH_NAME))) {
		answer->has_soa = false; /* of the domain */
		outcome = answer_namespace(zone, namespace_, &labels, apex, type, answer);
	}
	pthread_rwlock_unlock(&zone->lock);
	return outcome;
}

/* ---- opening ---- */

static int read_address(struct span text, struct zone_address *ret_address, struct err *err)
{
	char copy[INET6_ADDRSTRLEN] = "";

	if (text.length < sizeof(copy))
		memcpy(copy, text.data, text.length);
	ret_address->is_ipv6 = strchr(copy, ':') != NULL;
	if (inet_pton(ret_address->is_ipv6 ? AF_INET6 : AF_INET, copy, ret_address->bytes) != 1)
		return err_set(err, -EINVAL, "'%.*s' is not an IP address", SPAN_ARGS(text));
	return 0;
}

static int configure(struct zone *zone, const struct zone_config *config, struct err *err)
{
	struct span domain = config->domain.length > 0 ? config->domain : SPAN("localhost");
	char *primary = memory_format("ns.%.*s", SPAN_ARGS(domain));
	char *mailbox = memory_format("hostmaster.%.*s", SPAN_ARGS(domain));
	struct zone_labels labels;
	struct dns_name name;
	int code = dns_name_from_text(domain, &name, err);

	if (code == 0)
		code = dns_name_from_text(span_of(primary), &zone->soa.primary, err);
	if (code == 0)
		code = dns_name_from_text(span_of(mailbox), &zone->soa.mailbox, err);
	free(primary);
	free(mailbox);
	if (code < 0)
		return err_prefix(err, code, "the domain for names");
	dns_name_copy_lower(&zone->domain, &name);
	zone_labels_of(&zone->domain, &labels);
	zone->domain_labels = labels.count;
	zone->has_domain = config->domain.length > 0;
	zone->soa.serial = SOA_SERIAL;
	zone->soa.refresh = SOA_REFRESH;
	zone->soa.retry = SOA_RETRY;
	zone->soa.expire = SOA_EXPIRE;
	zone->soa.minimum = SOA_MINIMUM;
	if (!zone->has_domain)
		return 0;
	code = read_address(config->api_address, &zone->api, err);
	if (code == 0)
		code = read_address(config->dns_address.length > 0 ? config->dns_address
								   : config->api_address,
			&zone->dns, err);
	return code;
}

int zone_open(const struct zone_config *config, struct zone **ret_zone, struct err *err)
{
	struct zone *zone = memory_allocate(sizeof(*zone));
	int code;

	zone->store = config->store;
	zone->runner = config->runner;
	zone->names = config->names;
	zone->names_context = config->names_context;
	atomic_store(&zone->expires_ms, INT64_MAX);
	pthread_rwlock_init(&zone->lock, NULL);
	code = configure(zone, config, err);
	if (code == 0)
		code = load(zone, err);
	if (code < 0) {
		zone_close(zone);
		return code;
	}
	/* Covers changes between the view and the start of the feed. */
	atomic_store(&zone->stale, true);
	*ret_zone = zone;
	return 0;
}

void zone_close(struct zone *zone)
{
	if (!zone)
		return;
	if (zone->feed)
		store_feed_close(zone->feed);
	zone_directory_clear(&zone->directory);
	pthread_rwlock_destroy(&zone->lock);
	free(zone);
}
