/* See the header. Counts are kept from the differences that changes make, not by counting again. */
#include "sim/service/service_checker.h"

#include <stdio.h>

#include "base/map.h"
#include "base/memory.h"
#include "cloudmap/cloudmap.h"
#include "ecs/record/container_instance.h"
#include "elb/elb.h"
#include "rollout/rollout.h"

#define CHANGES_AT_ONCE 64
#define WRITES_A_SECOND_MAX 50 /* of one service: more is a controller that goes round in circles */

/* A service as the changes so far have it. */
struct watched {
	char name[64];
	bool bounded; /* REPLICA with deployments: the percentages hold for all of its tasks */
	bool daemon;  /* both only where no client starts or stops its tasks */
	bool stopped_healthy; /* a daemon's task, where it is to run */
	int64_t minimum;      /* percent */
	unsigned upper, lower;
	int64_t live, healthy;
	int64_t ceiling; /* so many programs may run */
	int64_t second;  /* of virtual time, and how often it was written in it */
	unsigned writes;
	int64_t running;
};

/* A token that the runtime has reported. */
struct program {
	struct watched *service; /* NULL: a task of its own */
	char instance[64];
	char group[128], version[64]; /* "" for a task of its own */
	bool runs;
	bool late; /* its task had been given up before it began */
	bool ended;
	enum runtime_stop stop;
	bool stop_decided;
	int64_t forgotten_ms; /* its name was taken out; when clients have forgotten it */
	int64_t floor; /* programs that must be left when it ends, if its service decided that */
};

struct service_checker {
	struct service_checker_config config;
	struct store *store;
	struct store_feed *feed;
	struct map services; /* by key */
	struct map programs; /* by token */
	unsigned late;
	bool inspection;
	bool behind; /* changes were lost */
};

static void take_changes(void *context);

void service_checker_report(struct service_checker *checker, const char *format, ...)
{
	char rule[ERR_MESSAGE_MAX];
	va_list list;

	va_start(list, format);
	vsnprintf(rule, sizeof(rule), format, list);
	va_end(list);
	checker->config.broken(checker->config.context, rule);
}

/* ---- services ---- */

static struct watched *service_of(struct service_checker *checker, struct span key)
{
	struct watched *service = map_get(&checker->services, key);

	if (!service) {
		service = memory_allocate(sizeof(*service));
		map_put(&checker->services, key, service);
	}
	return service;
}

static struct watched *service_of_task(struct service_checker *checker,
	const struct store_object *task)
{
	char key[STORE_KEY_MAX];

	if (task_facts(task)->service.length == 0)
		return NULL;
	snprintf(key, sizeof(key), "%.*s/%.*s", SPAN_ARGS(task_cluster_key(task->key)),
		SPAN_ARGS(task_facts(task)->service));
	return service_of(checker, span_of(key));
}

static int64_t larger(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* When fewer tasks are allowed than before, those above the limit may run until they have stopped. */
static void lower_ceiling(struct watched *service)
{
	if (service->ceiling > service->live)
		service->ceiling = service->live;
	service->ceiling = larger(service->ceiling, service->upper);
}

/* A stop that was decided when more had to stay is measured by what has to stay now. */
static void lower_floors(struct service_checker *checker, const struct watched *service)
{
	MAP_EACH (&checker->programs, entry) {
		struct program *program = entry->value;

		if (program->service == service && program->floor > service->lower)
			program->floor = service->lower;
	}
}

static void count_write(struct service_checker *checker, struct watched *service)
{
	int64_t second = runner_now_us(checker->config.runner) / 1000000;

	service->writes = second == service->second ? service->writes + 1 : 0;
	service->second = second;
	if (service->writes == WRITES_A_SECOND_MAX)
		service_checker_report(checker, "service %s is written again and again",
			service->name);
}

static void service_changed(struct service_checker *checker, const struct store_object *object)
{
	const struct service_facts *facts = service_facts(object);
	struct watched *service = service_of(checker, object->key);
	unsigned desired = (unsigned)facts->desired;

	snprintf(service->name, sizeof(service->name), "%.*s", SPAN_ARGS(facts->name));
	service->daemon = facts->strategy == SERVICE_DAEMON && !checker->config.groups;
	service->bounded = !service->daemon && !checker->config.groups &&
			   facts->controller == SERVICE_CONTROLLED_BY_ECS;
	service->minimum = facts->status == SERVICE_ACTIVE ? facts->minimum_healthy : 0;
	service->upper = rollout_percent_down(desired, (unsigned)facts->maximum);
	service->lower = rollout_percent_up(desired, (unsigned)facts->minimum_healthy);
	if (service->upper < desired || facts->status != SERVICE_ACTIVE)
		service->upper = desired;
	if (service->lower > desired)
		service->lower = desired;
	if (facts->status != SERVICE_ACTIVE)
		service->lower = 0;
	service->ceiling = larger(service->upper, larger(service->live, service->ceiling));
	lower_ceiling(service);
	lower_floors(checker, service);
	count_write(checker, service);
}

/* ---- tasks ---- */

static bool is_live(const struct store_object *task)
{
	return task && task_facts(task)->last < TASK_STOPPED;
}

static bool is_healthy(const struct store_object *task)
{
	return is_live(task) && task_class_of(task_facts(task)) == TASK_CLASS_HEALTHY;
}

static struct program *program_of(struct service_checker *checker, struct span token)
{
	struct program *program = map_get(&checker->programs, token);

	if (!program) {
		program = memory_allocate(sizeof(*program));
		map_put(&checker->programs, token, program);
	}
	return program;
}

static bool api_has(const struct store_object *task, const char *words)
{
	return memmem(task->api.data, task->api.length, words, strlen(words)) != NULL;
}

/* Is the instance of the task to have tasks? */
static bool is_active(struct service_checker *checker, const struct store_object *task)
{
	_view_ struct store_view *view = store_view_open(checker->store);
	char key[STORE_KEY_MAX];
	const struct store_object *instance;

	snprintf(key, sizeof(key), "%.*s/%.*s", SPAN_ARGS(task_cluster_key(task->key)),
		SPAN_ARGS(task_facts(task)->instance));
	instance = store_get(view, &container_instance_kind, span_of(key));
	return instance && container_instance_facts(instance)->status == CONTAINER_INSTANCE_ACTIVE;
}

/* Whether a healthy task of the daemon is on the instance. */
static bool has_daemon(const struct store_view *view, const struct store_object *instance,
	const struct watched *service)
{
	char prefix[STORE_KEY_MAX];
	struct store_cursor cursor = {
		.view = view, .kind = &task_kind, .index = TASK_BY_INSTANCE, .exact = true};
	const struct store_object *task;

	snprintf(prefix, sizeof(prefix), "%.*s/live/%s", SPAN_ARGS(instance->key), service->name);
	cursor.prefix = span_of(prefix);
	while ((task = store_next(&cursor)))
		if (is_healthy(task))
			return true;
	return false;
}

/* After a commit that stopped a healthy task of a daemon: are there enough? */
static void check_daemon(struct service_checker *checker, struct watched *service)
{
	_view_ struct store_view *view = store_view_open(checker->store);
	struct store_cursor cursor = {.view = view, .kind = &container_instance_kind, .index = -1};
	const struct store_object *instance;
	unsigned wanted = 0, healthy = 0;

	service->stopped_healthy = false;
	while ((instance = store_next(&cursor)))
		if (container_instance_facts(instance)->status == CONTAINER_INSTANCE_ACTIVE) {
			wanted++;
			healthy += has_daemon(view, instance, service);
		}
	if (healthy < rollout_percent_up(wanted, (unsigned)service->minimum))
		service_checker_report(checker,
			"daemon %s stops a healthy task and has %u left on %u instances",
			service->name, healthy, wanted);
}

static void check_stop(struct service_checker *checker, const struct store_change *change,
	struct watched *service)
{
	struct span id = task_facts(change->after)->id;
	struct program *program = program_of(checker, id);
	bool by_service = api_has(change->after, "ServiceSchedulerInitiated");

	program->stop_decided = true;
	if (service && service->daemon && by_service && is_healthy(change->before))
		service->stopped_healthy |= is_active(checker, change->after);
	/* One that is not known to run may be stopped at any time. */
	if (!service || !service->bounded || !by_service || !is_healthy(change->before))
		return;
	program->floor = service->lower;
	if (service->healthy < service->lower)
		service_checker_report(checker,
			"service %s stops the healthy task %.*s and has %lld healthy ones left of "
			"the "
			"%u that must stay",
			service->name, SPAN_ARGS(id), (long long)service->healthy, service->lower);
}

static void check_life(struct service_checker *checker, const struct store_change *change)
{
	const struct task_facts *facts = task_facts(change->after);
	enum task_status was =
		change->before ? task_facts(change->before)->last : TASK_PROVISIONING;
	const struct program *program = map_get(&checker->programs, facts->id);

	if (facts->last < was)
		service_checker_report(checker, "task %.*s went back from %s to %s",
			SPAN_ARGS(facts->id), task_status_name(was), task_status_name(facts->last));
	if (facts->last == TASK_RUNNING && was < TASK_RUNNING &&
		!(program && (program->runs || program->ended)))
		service_checker_report(checker,
			"task %.*s is RUNNING and its program was never started",
			SPAN_ARGS(facts->id));
	if (facts->last == TASK_STOPPED && was < TASK_STOPPED && program && program->runs)
		service_checker_report(checker, "task %.*s is STOPPED and its program runs",
			SPAN_ARGS(facts->id));
}

static void task_changed(struct service_checker *checker, const struct store_change *change)
{
	struct watched *service =
		service_of_task(checker, change->after ? change->after : change->before);
	bool stops = change->before && change->after &&
		     task_facts(change->before)->desired == TASK_RUNNING &&
		     task_facts(change->after)->desired == TASK_STOPPED;

	if (change->after && (!change->before ||
				     task_class_of(task_facts(change->before)) !=
					     task_class_of(task_facts(change->after)) ||
				     is_live(change->before) != is_live(change->after)))
		runner_trace(checker->config.runner, "task %.*s of %s is %s%s",
			SPAN_ARGS(task_facts(change->after)->id), service ? service->name : "none",
			task_status_name(task_facts(change->after)->last),
			task_facts(change->after)->desired == TASK_STOPPED ? ", shall stop" : "");
	if (service) {
		service->live += is_live(change->after) - is_live(change->before);
		service->healthy += is_healthy(change->after) - is_healthy(change->before);
		if (!change->before && service->bounded && service->live > service->upper)
			service_checker_report(checker,
				"service %s has %lld tasks where %u are allowed", service->name,
				(long long)service->live, service->upper);
		lower_ceiling(service);
	}
	if (stops)
		check_stop(checker, change, service);
	else if (change->after && !is_live(change->after))
		program_of(checker, task_facts(change->after)->id)->stop_decided = true;
	if (change->after)
		check_life(checker, change);
}

/* ---- traffic ---- */

static const struct store_object *find_task(const struct store_view *view, struct span token)
{
	struct store_cursor cursor = {.view = view,
		.kind = &task_kind,
		.index = TASK_BY_ID,
		.prefix = token,
		.exact = true};

	return store_next(&cursor);
}

/* Something has just begun to send traffic to the task of this token, whose key is known or "". */
static void check_registered(struct service_checker *checker, struct span token)
{
	_view_ struct store_view *view = store_view_open(checker->store);
	const struct program *program = map_get(&checker->programs, token);
	const struct store_object *task = find_task(view, token);

	if (!program || !(program->runs || program->ended))
		service_checker_report(checker,
			"task %.*s is registered and its program was never started",
			SPAN_ARGS(token));
	else if (task && task_facts(task)->checked &&
		 task_facts(task)->health != TASK_HEALTH_HEALTHY &&
		 task_facts(task)->last < TASK_DEACTIVATING)
		service_checker_report(checker, "task %.*s is registered and not healthy",
			SPAN_ARGS(token));
}

static void target_changed(struct service_checker *checker, const struct store_change *change)
{
	struct span owner = change->after ? elb_target_facts(change->after)->owner : SPAN("");
	size_t cluster = task_cluster_key(owner).length;

	if (!change->before && owner.length > cluster)
		check_registered(checker,
			(struct span){owner.data + cluster + 1, owner.length - cluster - 1});
}

static void name_changed(struct service_checker *checker, const struct store_change *change)
{
	_view_ struct store_view *view = store_view_open(checker->store);
	const struct store_object *object = change->after ? change->after : change->before;
	const struct cloudmap_instance_facts *facts = cloudmap_instance_facts(object);
	struct span key = service_key_of_component(object->key);
	const struct store_object *service = store_get(view, &cloudmap_service_kind, key);

	if (!change->before)
		check_registered(checker, facts->id);
	else if (!change->after && service)
		program_of(checker, facts->id)->forgotten_ms =
			runner_wall_ms(checker->config.runner) +
			1000 * cloudmap_service_facts(service)->ttl_srv;
}

/* A program was asked to end, and did. No client may have been connecting to it. */
static void check_left(struct service_checker *checker, const struct program *program,
	struct span token)
{
	_view_ struct store_view *view = store_view_open(checker->store);
	const struct store_object *task = find_task(view, token);
	struct store_cursor targets = {.view = view,
		.kind = &elb_target_kind,
		.index = ELB_TARGET_BY_OWNER,
		.exact = true};

	/* One that was given up is ended whenever it is found. */
	if (!task || task_facts(task)->last >= TASK_STOPPED)
		return;
	targets.prefix = task->key;
	if (store_next(&targets))
		service_checker_report(checker, "program %.*s was stopped while it had a target",
			SPAN_ARGS(token));
	if (program->forgotten_ms > runner_wall_ms(checker->config.runner))
		service_checker_report(checker,
			"program %.*s was stopped while its name was remembered", SPAN_ARGS(token));
	if (task_facts(task)->traffic == TASK_TRAFFIC_REGISTERED)
		service_checker_report(checker, "program %.*s was stopped while it was registered",
			SPAN_ARGS(token));
}

/* ---- following ---- */

static void learn(struct service_checker *checker)
{
	_view_ struct store_view *view = store_view_open(checker->store);
	struct store_cursor services = {.view = view, .kind = &service_kind, .index = -1};
	struct store_cursor tasks = {.view = view, .kind = &task_kind, .index = -1};
	const struct store_object *object;

	MAP_EACH (&checker->services, entry) {
		struct watched *service = entry->value;

		service->live = service->healthy = 0;
	}
	while ((object = store_next(&tasks))) {
		struct watched *service = service_of_task(checker, object);

		if (service) {
			service->live += is_live(object);
			service->healthy += is_healthy(object);
		}
		if (task_facts(object)->desired == TASK_STOPPED)
			program_of(checker, task_facts(object)->id)->stop_decided = true;
	}
	while ((object = store_next(&services)))
		service_changed(checker, object);
}

int service_checker_follow(struct service_checker *checker, struct store *store, struct err *err)
{
	_view_ struct store_view *view = store_view_open(store);

	checker->store = store;
	learn(checker);
	return store_feed_open(store, store_view_revision(view), take_changes, checker,
		&checker->feed, err);
}

void service_checker_unfollow(struct service_checker *checker)
{
	if (!checker->feed)
		return;
	service_checker_check(checker);
	store_feed_close(TAKE(checker->feed));
	checker->store = NULL;
}

/* Called with every commit, so that each is looked at by itself. */
static void take_changes(void *context)
{
	struct service_checker *checker = context;
	struct store_change changes[CHANGES_AT_ONCE];
	int count;

	if (!checker->feed || checker->inspection)
		return;
	checker->inspection = true;
	while ((count = store_feed_next(checker->feed, changes, LENGTH(changes))) > 0)
		for (int i = 0; i < count; i++) {
			if (changes[i].kind == &service_kind && changes[i].after)
				service_changed(checker, changes[i].after);
			else if (changes[i].kind == &task_kind)
				task_changed(checker, &changes[i]);
			else if (changes[i].kind == &elb_target_kind)
				target_changed(checker, &changes[i]);
			else if (changes[i].kind == &cloudmap_instance_kind)
				name_changed(checker, &changes[i]);
			store_change_release(&changes[i]);
		}
	MAP_EACH (&checker->services, entry)
		if (((struct watched *)entry->value)->stopped_healthy)
			check_daemon(checker, entry->value);
	checker->behind |= count == -EOVERFLOW;
	checker->inspection = false;
}

void service_checker_check(struct service_checker *checker)
{
	struct store *store = checker->store;

	take_changes(checker);
	if (!checker->behind)
		return;
	/* One commit was larger than the feed: it is not checked. */
	checker->behind = false;
	store_feed_close(TAKE(checker->feed));
	service_checker_follow(checker, store, NULL);
}

/* ---- the world ---- */

/* Programs of the service on the instance, of tasks that are not given up. */
static unsigned count_on_instance(struct service_checker *checker, const struct store_view *view,
	const struct watched *service, const char *instance)
{
	unsigned count = 0;

	MAP_EACH (&checker->programs, entry) {
		const struct program *program = entry->value;

		if (program->runs && program->service == service &&
			strcmp(program->instance, instance) == 0)
			count += is_live(find_task(view, entry->key));
	}
	return count;
}

static void note_program(struct service_checker *checker, struct program *program,
	const struct simulated_program *reported)
{
	if (program->runs || program->ended)
		service_checker_report(checker, "program %.*s was started twice",
			SPAN_ARGS(reported->token));
	program->runs = true;
	snprintf(program->instance, sizeof(program->instance), "%.*s",
		SPAN_ARGS(reported->instance));
	snprintf(program->group, sizeof(program->group), "%.*s", SPAN_ARGS(reported->group));
	snprintf(program->version, sizeof(program->version), "%.*s", SPAN_ARGS(reported->version));
}

static void check_bounds(struct service_checker *checker, const struct store_view *view,
	const struct program *program)
{
	const struct watched *service = program->service;

	if (service->bounded && service->running > service->ceiling)
		service_checker_report(checker,
			"service %s runs %lld programs where %lld are allowed", service->name,
			(long long)service->running, (long long)service->ceiling);
	if (service->daemon && count_on_instance(checker, view, service, program->instance) >
				       1 + (service->upper > service->lower))
		service_checker_report(checker, "daemon %s runs too often on %s", service->name,
			program->instance);
}

static void program_started(void *context, const struct simulated_program *reported)
{
	struct service_checker *checker = context;
	_view_ struct store_view *view = NULL;
	const struct store_object *task;
	struct program *program;

	/* One of a group is written down when it is found. */
	if (reported->group.length > 0)
		note_program(checker, program_of(checker, reported->token), reported);
	if (!checker->store || reported->group.length > 0)
		return; /* it is being restarted; what was under way arrives */
	service_checker_check(checker);
	view = store_view_open(checker->store);
	task = find_task(view, reported->token);
	program = program_of(checker, reported->token);
	if (!task)
		service_checker_report(checker,
			"program %.*s was started and there is no such task",
			SPAN_ARGS(reported->token));
	note_program(checker, program, reported);
	if (!task)
		return;
	program->service = service_of_task(checker, task);
	if (!is_live(task)) {
		program->late = true;
		checker->late++;
		return;
	}
	if (!program->service)
		return;
	program->service->running++;
	check_bounds(checker, view, program);
}

static void program_ended(void *context, const struct simulated_program *reported,
	enum runtime_stop stop)
{
	struct service_checker *checker = context;
	struct program *program;

	service_checker_check(checker);
	program = map_get(&checker->programs, reported->token);
	if (!program || !program->runs)
		return;
	program->runs = false;
	program->ended = true;
	program->stop = stop;
	if (program->group[0])
		return; /* requests are checked when they are made */
	if (stop == RUNTIME_STOP_REQUESTED && !program->stop_decided && checker->store)
		service_checker_report(checker, "program %.*s was stopped without a decision",
			SPAN_ARGS(reported->token));
	if (stop == RUNTIME_STOP_REQUESTED && !program->late && checker->store)
		check_left(checker, program, reported->token);
	if (!program->service || program->late)
		return;
	program->service->running--;
	if (checker->config.nothing_dies && stop == RUNTIME_STOP_REQUESTED &&
		program->service->running < program->floor)
		service_checker_report(checker,
			"service %s runs %lld programs where %lld must stay",
			program->service->name, (long long)program->service->running,
			(long long)program->floor);
}

static void rule_broken(void *context, const char *rule)
{
	struct service_checker *checker = context;

	service_checker_report(checker, "the world: %s", rule);
}

struct simulated_observer service_checker_observer(struct service_checker *checker)
{
	return (struct simulated_observer){.started = program_started,
		.ended = program_ended,
		.broken = rule_broken,
		.context = checker};
}

unsigned service_checker_late_programs(const struct service_checker *checker)
{
	return checker->late;
}

bool service_checker_runs(const struct service_checker *checker, struct span token)
{
	const struct program *program = map_get(&checker->programs, token);

	return program && program->runs;
}

void service_checker_check_exits(struct service_checker *checker)
{
	_view_ struct store_view *view = store_view_open(checker->store);

	MAP_EACH (&checker->programs, entry) {
		const struct program *program = entry->value;
		const struct store_object *task = find_task(view, entry->key);

		if (program->stop == RUNTIME_STOP_ESSENTIAL && !program->late && task &&
			task_facts(task)->last == TASK_STOPPED && !api_has(task, "\"exitCode\""))
			service_checker_report(checker, "the exit code of task %.*s is lost",
				SPAN_ARGS(entry->key));
	}
}

/* ---- for the checks of calls ---- */

struct store *service_checker_store(const struct service_checker *checker)
{
	return checker->store;
}

int64_t service_checker_forgotten_ms(const struct service_checker *checker, struct span token)
{
	const struct program *program = map_get(&checker->programs, token);

	return program ? program->forgotten_ms : 0;
}

void service_checker_find_group(const struct service_checker *checker, struct span token,
	struct span *ret_group, struct span *ret_version)
{
	const struct program *program = map_get(&checker->programs, token);

	*ret_group = program ? span_of(program->group) : SPAN("");
	*ret_version = program ? span_of(program->version) : SPAN("");
}

/* ---- life ---- */

struct service_checker *service_checker_new(const struct service_checker_config *config)
{
	struct service_checker *checker = memory_allocate(sizeof(*checker));

	checker->config = *config;
	return checker;
}

void service_checker_free(struct service_checker *checker)
{
	if (!checker)
		return;
	store_feed_close(checker->feed);
	MAP_EACH (&checker->services, entry)
		free(entry->value);
	MAP_EACH (&checker->programs, entry)
		free(entry->value);
	map_clear(&checker->services);
	map_clear(&checker->programs);
	free(checker);
}
