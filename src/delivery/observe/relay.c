/*
 * Events of ECS for the other servers that share the store. An event is posted to one of them, and the environment
 * that it concerns may be another one's: without this, that one would know with its next listing. So what is posted
 * is also written down, for the others to take from the change feed by the same rules as if it had been posted to
 * them; they do not write it again, and the server that wrote it ignores it.
 *
 * It is an acceleration and nothing else: what is too much, too large or cannot be written is dropped, as if
 * EventBridge had lost it. Records of a target are a ring of RING keys that are written over, so there is nothing to
 * clean up; they hold only the members that are read here, not the environment variables of tasks.
 * A server that is alone writes nothing.
 */
#include "base/id.h"
#include "base/json.h"
#include "base/memory.h"
#include "control/claims.h"
#include "control/write.h"
#include "delivery/observe/observe_internal.h"

/* TARGET:SLOT. It has no facts: each server parses a record once. */
const struct store_kind observe_event_kind = {.name = "daemon.event"};

#define RING 32
#define EVENT_MAX 16384              /* bytes of one, without members that are not read */
#define WAITING_MAX ((size_t)262144) /* bytes of a target: one record */
#define TARGETS_MAX 64               /* of which something waits */
#define PAUSE_US INT64_C(20000)      /* between two writes */

struct relay {
	struct observer *service;
	char *server;
	char writer[ID_HEX_SIZE]; /* this server in records */
	struct runner_event *posted;
	struct lock lock;
	struct map waiting; /* guarded by the lock: by target, a struct buffer of "EVENT,EVENT" */
};

/* ---- the content of a relayed event ---- */

static const char *const event_members[] = {"detail-type", "time", "resources"};
/* Those that source_event.c and document.c read. */
static const char *const detail_members[] = {"clusterArn", "version", "taskArn",
	"taskDefinitionArn", "containerInstanceArn", "group", "startedBy", "lastStatus",
	"desiredStatus", "healthStatus", "stopCode", "stoppedReason", "createdAt", "startedAt",
	"stoppedAt", "status", "agentConnected", "ec2InstanceId", "attributes"};

static struct json *with_members(const struct json *requested, const char *const *members,
	size_t count, struct arena *arena)
{
	struct json *created = json_new_object(arena);

	for (size_t i = 0; i < count; i++)
		if (json_get(requested, members[i]))
			json_set(arena, created, members[i], json_get(requested, members[i]));
	return created;
}

static struct span text_of(const struct json *event, struct arena *arena)
{
	struct json *created = with_members(event, event_members, LENGTH(event_members), arena);

	json_set(arena, created, "detail",
		with_members(json_get(event, "detail"), detail_members, LENGTH(detail_members),
			arena));
	return json_to_text(created, arena);
}

/* ---- posting ---- */

static bool is_alone(const struct relay *relay)
{
	_view_ struct store_view *view = store_view_open(relay->service->config.store);
	struct store_cursor cursor = {.view = view, .kind = &server_kind, .index = -1};
	const struct store_object *server;

	while ((server = store_next(&cursor)))
		if (!span_is(server->key, relay->server))
			return false;
	return true;
}

/* Under the lock. */
static bool add(struct relay *relay, struct span target, struct span event)
{
	struct buffer *waiting = map_get(&relay->waiting, target);

	if (!waiting && relay->waiting.count >= TARGETS_MAX)
		return false;
	if (!waiting) {
		waiting = memory_allocate(sizeof(*waiting));
		map_put(&relay->waiting, target, waiting);
	}
	/* Posted several times in a row, an event is passed on once. */
	if (span_ends_with(buffer_span(waiting), event) ||
		waiting->length + event.length + 1 > WAITING_MAX)
		return false;
	if (waiting->length > 0)
		buffer_add_char(waiting, ',');
	buffer_add_span(waiting, event);
	return true;
}

void relay_post(struct relay *relay, struct span target, const struct json *event)
{
	_arena_ struct arena *arena = NULL;
	struct span text;
	bool added;

	if (!relay || is_alone(relay))
		return;
	arena = arena_new(0);
	text = text_of(event, arena);
	if (text.length > EVENT_MAX)
		return;
	lock_take(&relay->lock);
	added = add(relay, target, text);
	lock_release(&relay->lock);
	if (added)
		runner_signal(relay->posted);
}

/* ---- writing ---- */

struct writing {
	const struct relay *relay;
	const struct map *waiting;
};

static struct span record_of(const struct relay *relay, struct span target, struct span events,
	struct arena *arena)
{
	_buffer_ struct buffer out = {0};

	buffer_format(&out, "{\"writer\":\"%s\",\"target\":", relay->writer);
	json_write_string(target, &out);
	buffer_format(&out, ",\"events\":[%.*s]}", SPAN_ARGS(events));
	return arena_copy_span(arena, buffer_span(&out));
}

static int write_record(struct store_transaction *transaction, struct span target,
	struct span record, struct err *err)
{
	struct arena *arena = store_transaction_arena(transaction);
	uint64_t first = store_next_revision(transaction);
	int code = -EBADMSG;

	/* A quarantined record stays where it is: another one is taken. */
	for (uint64_t i = 0; i < RING && code == -EBADMSG; i++)
		code = store_put(transaction, &observe_event_kind,
			arena_format(arena, "%.*s:%02u", SPAN_ARGS(target),
				(unsigned)((first + i) % RING)),
			SPAN(""), record, STORE_ANY, err);
	return code;
}

static int write_waiting(struct store_transaction *transaction, void *context, struct err *err)
{
	const struct writing *writing = context;
	struct arena *arena = store_transaction_arena(transaction);
	int code = 0;

	MAP_EACH (writing->waiting, entry) {
		struct span record =
			record_of(writing->relay, entry->key, buffer_span(entry->value), arena);

		if (code == 0)
			code = write_record(transaction, entry->key, record, err);
		if (code == -EBADMSG)
			code = 0; /* none is left; of other targets there are */
	}
	return code;
}

static void clear(struct map *waiting)
{
	MAP_EACH (waiting, entry) {
		buffer_clear(entry->value);
		free(entry->value);
	}
	map_clear(waiting);
}

/* Writes what waits now. -ECANCELED when the runner was stopped; what could not be written is dropped. */
static int write_some(struct relay *relay)
{
	struct runner *runner = relay->service->runner;
	struct map waiting;
	struct writing writing = {relay, &waiting};
	int code = 0;

	lock_take(&relay->lock);
	waiting = relay->waiting;
	relay->waiting = (struct map){0};
	lock_release(&relay->lock);
	if (waiting.count > 0)
		code = control_write(runner, relay->service->config.store, write_waiting, &writing,
			NULL, NULL);
	clear(&waiting);
	return code == -ECANCELED ? code : 0;
}

static void write_all(void *context)
{
	struct relay *relay = context;
	struct runner *runner = relay->service->runner;

	for (;;) {
		uint64_t seen = runner_event_count(relay->posted);

		if (write_some(relay) < 0 ||
			runner_sleep_until(runner, runner_deadline_us(runner, PAUSE_US)) < 0 ||
			runner_wait(runner, relay->posted, seen, RUNNER_FOREVER) < 0)
			return;
	}
}

/* ---- taking ---- */

void relay_take(struct observer *service, const struct store_object *record)
{
	_arena_ struct arena *arena = arena_new(0);
	struct span writer, target;
	struct json *document;

	if (json_parse(record->private_, arena, &document, NULL) < 0)
		return;
	writer = json_get_text(document, "writer");
	target = json_get_text(document, "target");
	if (target.length == 0 || (service->relay && span_is(writer, service->relay->writer)))
		return;
	JSON_EACH_ITEM (json_get(document, "events"), event)
		source_event_take(service, target, event, NULL);
}

/* ---- beginning and end ---- */

int relay_new(struct observer *service, const char *server, struct relay **ret_relay,
	struct err *err)
{
	struct relay *relay = memory_allocate(sizeof(*relay));
	int code;

	relay->service = service;
	relay->server = memory_copy_string(server);
	id_hex(runner_random(service->runner), relay->writer);
	relay->posted = runner_event_new(service->runner, "events");
	lock_init(&relay->lock);
	code = runner_spawn(service->runner, "events for others", write_all, relay, err);
	if (code < 0) {
		relay_free(relay);
		return code;
	}
	*ret_relay = relay;
	return 0;
}

void relay_free(struct relay *relay)
{
	if (!relay)
		return;
	clear(&relay->waiting);
	runner_event_free(relay->posted);
	lock_destroy(&relay->lock);
	free(relay->server);
	free(relay);
}
