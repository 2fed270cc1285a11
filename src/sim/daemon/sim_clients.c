/*
 * Requests of the clients of the daemon simulation, through the real API: environments are created, changed, rolled out,
 * stopped, rolled back and deleted, with definitions that work and others that do not; the same request twice.
 */
#include <stdio.h>

#include "base/memory.h"
#include "ecs/ecs.h"
#include "sim/daemon/sim_world.h"

/* One revision in so many is drawn from all, of which some are bad. A bad one crashes on hundreds of instances, for
 * hours. */
#define BAD_ONE_IN 3
#define BAD_ONE_IN_LARGE 12
#define TASK_MEMORY 96
#define FOREIGN_MEMORY 300 /* leaves no room for all */

/* So many environments have a client of their own. */
#define ENVIRONMENTS_EACH 30
/* A client that shares a family of task definitions uses its own, or another cluster, once in so many. */
#define SHARED_BUT_ONE_IN 4
#define SHARED_REVISIONS 2
#define BASE_ONE_IN 4 /* updates says which version it was made of */

#define ACCOUNT "123456789012"
#define OTHER_ACCOUNT "222222222222"

const struct sim_cluster sim_clusters[SIM_CLUSTERS] = {
	{ACCOUNT, "default"}, {ACCOUNT, "edge"}, {OTHER_ACCOUNT, "default"}};

static const struct sim_environment models[SIM_ENVIRONMENTS] = {
	[ENVIRONMENT_LOG] = {.account = ACCOUNT,
		.name = "log",
		.clusters = {0, 1},
		.cluster_count = 2},
	[ENVIRONMENT_MONITOR] = {.account = ACCOUNT,
		.name = "monitor",
		.clusters = {0},
		.cluster_count = 1,
		.family = "log"},
	[ENVIRONMENT_OTHERS_LOG] = {.account = OTHER_ACCOUNT,
		.name = "log",
		.clusters = {2},
		.cluster_count = 1},
};

void sim_set_up_environments(struct sim *sim, unsigned count)
{
	size_t number = count > 0 ? count : SIM_ENVIRONMENTS;

	sim->environment_count = number;
	sim->environments = memory_allocate_array(number, sizeof(models[0]));
	sim->crowd = (unsigned)((number + SIM_ENVIRONMENTS - 1) / SIM_ENVIRONMENTS);
	for (size_t i = 0; i < number; i++) {
		struct sim_environment *row = &sim->environments[i];
		const struct sim_environment *model = &models[i % SIM_ENVIRONMENTS];

		*row = *model;
		if (i >= SIM_ENVIRONMENTS)
			snprintf(row->name, sizeof(row->name), "%.10s-%zu", model->name,
				i / SIM_ENVIRONMENTS);
		if (i >= SIM_ENVIRONMENTS && model->family[0])
			snprintf(row->family, sizeof(row->family), "%.10s-%zu", model->family,
				i / SIM_ENVIRONMENTS);
	}
}

struct span sim_environment_key(const struct sim *sim, size_t environment, char out[SIM_TEXT_MAX])
{
	snprintf(out, SIM_TEXT_MAX, "%s/%s", sim->environments[environment].account,
		sim->environments[environment].name);
	return span_of(out);
}

/* ---- requests ---- */

struct exchange {
	struct arena *arena;
	struct json *answer;
	int status;
	char error_type[64];
};

static void take_answer(void *context, const struct aws_answer *answer)
{
	struct exchange *exchange = context;
	struct span body = arena_copy_span(exchange->arena, answer->body);

	exchange->status = answer->status;
	if (answer->error_type)
		snprintf(exchange->error_type, sizeof(exchange->error_type), "%s",
			answer->error_type);
	if (json_parse(body, exchange->arena, &exchange->answer, NULL) < 0)
		exchange->answer = NULL;
}

static const struct json *ask(struct sim *sim, struct aws_dispatcher *dispatcher,
	const struct aws_service *service, const char *account, struct arena *arena,
	const char *operation, struct span body)
{
	struct aws_caller caller = {.account = span_of(account),
		.user = SPAN("admin"),
		.access_key = SPAN(""),
		.region = SPAN(SIM_REGION)};
	struct exchange exchange = {.arena = arena};
	struct span message;

	for (size_t i = 0; i < body.length; i++)
		if (body.data[i] == '\'')
			((char *)body.data)[i] = '"';
	aws_dispatch(dispatcher, service, span_of(operation), &caller, body, arena, take_answer,
		&exchange);
	sim->status = exchange.status;
	snprintf(sim->error_type, sizeof(sim->error_type), "%s", exchange.error_type);
	sim->unknown_end = sim->store_stopped;
	message = json_get_text(exchange.answer, "message");
	runner_trace(sim->root, "%s %s %.*s: %d%s%.*s", account, operation, SPAN_ARGS(body),
		exchange.status, message.data ? " " : "",
		SPAN_ARGS(message.data ? message : SPAN("")));
	return exchange.status / 100 == 2 ? exchange.answer : NULL;
}

const struct json *sim_operate(struct sim *sim, struct arena *arena, size_t cluster,
	const char *operation, const char *format, ...)
{
	struct span body;
	va_list list;

	va_start(list, format);
	body = arena_format_list(arena, format, list);
	va_end(list);
	return ask(sim, sim_is_remote(sim, cluster) ? sim->remote_operators : sim->operators,
		&ecs_service, sim_clusters[cluster].account, arena, operation, body);
}

static const struct json *request_of(struct sim *sim, struct sim_server *server,
	struct arena *arena, size_t environment, const char *operation, struct span body)
{
	const struct json *answer;

	sim_before_request(sim, environment);
	answer = ask(sim, server->dispatcher, &sim->service, sim->environments[environment].account,
		arena, operation, body);
	sim_after_request(sim, environment, operation, answer);
	sim->result.requests++;
	sim->result.refused += !answer;
	return answer;
}

static const struct json *request_text(struct sim *sim, struct arena *arena, size_t environment,
	const char *operation, struct span body)
{
	struct sim_server *server = sim_some_server(sim);

	sim->status = 0;
	sim->unknown_end = false;
	if (!server)
		return NULL; /* no server is up */
	return request_of(sim, server, arena, environment, operation, body);
}

const struct json *sim_get_environment(struct sim *sim, struct sim_server *server,
	struct arena *arena, size_t environment)
{
	return request_of(sim, server, arena, environment, "GetEnvironment",
		arena_format(arena, "{'name':'%s'}", sim->environments[environment].name));
}

const struct json *sim_request(struct sim *sim, struct arena *arena, size_t environment,
	const char *operation, const char *format, ...)
{
	struct span body;
	va_list list;

	va_start(list, format);
	body = arena_format_list(arena, format, list);
	va_end(list);
	return request_text(sim, arena, environment, operation, body);
}

static int define(struct sim *sim, size_t cluster, const char *family, unsigned memory,
	struct err *err)
{
	_arena_ struct arena *arena = arena_new(0);

	for (size_t i = 0; i < SIM_BEHAVIOURS; i++)
		if (!sim_operate(sim, arena, cluster, "RegisterTaskDefinition",
			    "{'family':'%s','containerDefinitions':[{'name':'app','image':"
			    "'%s','memory':%u%s}]}",
			    family, sim_behaviours[i].name, memory,
			    sim_behaviours[i].checked ? ",'healthCheck':{'command':['CMD','true']}"
						      : ""))
			return err_set(err, -EIO, "a definition could not be registered");
	return 0;
}

static int define_wall(struct sim *sim, size_t cluster, struct err *err)
{
	_arena_ struct arena *arena = arena_new(0);

	if (!sim_operate(sim, arena, cluster, "RegisterTaskDefinition",
		    "{'family':'" SIM_WALL "','containerDefinitions':[{'name':'app',"
		    "'image':'wall','memory':%u}]}",
		    SIM_MEMORY * sim->crowd - TASK_MEMORY / 2))
		return err_set(err, -EIO, "a definition could not be registered");
	return 0;
}

int sim_define_all(struct sim *sim, struct err *err)
{
	static const size_t clusters[] = {0, 2}; /* one of each account */
	_arena_ struct arena *arena = arena_new(0);
	int code = 0;

	for (size_t i = 0; i < SIM_CLUSTERS; i++)
		if (!sim_operate(sim, arena, i, "CreateCluster", "{'clusterName':'%s'}",
			    sim_clusters[i].name))
			return err_set(err, -EIO, "a cluster could not be created");
	for (size_t i = 0; code == 0 && i < sim->environment_count; i++)
		code = define(sim, sim->environments[i].clusters[0], sim->environments[i].name,
			TASK_MEMORY, err);
	for (size_t i = 0; code == 0 && i < LENGTH(clusters); i++) {
		code = define(sim, clusters[i], SIM_FOREIGN, FOREIGN_MEMORY * sim->crowd, err);
		if (code == 0)
			code = define_wall(sim, clusters[i], err);
	}
	return code;
}

/* ---- random choices ---- */

static struct actual_environment *known(struct sim *sim, size_t environment)
{
	char key[SIM_TEXT_MAX];

	return actual_environment(daemon_checker_actual(sim->checker),
		sim_environment_key(sim, environment, key));
}

static unsigned draw_revision(struct sim *sim)
{
	bool good = sim->only_good || !sim_one_in(sim, sim->large ? BAD_ONE_IN_LARGE : BAD_ONE_IN);

	/* Of few, so that two often want the same. */
	if (sim->shares && good)
		return 1 + (unsigned)sim_draw(sim, SHARED_REVISIONS);
	return 1 + (unsigned)sim_draw(sim, good ? SIM_GOOD_BEHAVIOURS : SIM_BEHAVIOURS);
}

/* The family that it wants: most often that of the pair's other environment, so that both want the same. */
static const char *draw_family(struct sim *sim, size_t environment)
{
	const struct sim_environment *row = &sim->environments[environment];

	return sim->shares && row->family[0] && !sim_one_in(sim, SHARED_BUT_ONE_IN) ? row->family
										    : row->name;
}

/* One draw after the other: compilers differ in the order of arguments. */
static struct span draw_definition(struct sim *sim, struct arena *arena, size_t environment)
{
	unsigned revision = draw_revision(sim);

	return arena_format(arena, "'taskDefinition':'%s:%u'", draw_family(sim, environment),
		revision);
}

static struct span draw_group(struct sim *sim, struct arena *arena, size_t environment)
{
	const struct sim_environment *row = &sim->environments[environment];
	uint64_t which = sim_draw(sim, row->cluster_count);

	if (sim->shares && !sim_one_in(sim, SHARED_BUT_ONE_IN))
		which = 0; /* where the other one is */
	return arena_format(arena, "'instanceGroup':{'cluster':'%s'%s}",
		sim_clusters[row->clusters[which]].name,
		sim_one_in(sim, 2) ? ",'attributes':['stack=prod']" : "");
}

static struct span draw_configuration(struct sim *sim, struct arena *arena)
{
	static const int minimums[] = {0, 30, 50, 60, 75, 90};
	bool surge = sim_one_in(sim, 3);
	struct span text = SPAN("");

	if (sim->strict)
		return arena_format(arena,
			"'deploymentConfiguration':{'timeoutSeconds':7200,'replaceThenTerminate':"
			"false,'minHealthyPercent':%u,'unreachableTimeoutSeconds':60}",
			sim->minimum);
	/* Rules that can be satisfied however few instances there are. */
	if (sim->only_good)
		return surge ? SPAN("'deploymentConfiguration':{'timeoutSeconds':1500,"
				    "'replaceThenTerminate':true,'maxOverPercent':100,"
				    "'minHealthyPercent':100}")
			     : SPAN("'deploymentConfiguration':{'timeoutSeconds':1500,"
				    "'replaceThenTerminate':false,'minHealthyPercent':0}");
	/* Where many wait for a canary they can all go at once when it has proved itself. */
	if (sim->crowded)
		return arena_format(arena,
			"'deploymentConfiguration':{'timeoutSeconds':200,'replaceThenTerminate':"
			"false,"
			"'minHealthyPercent':%u,'canary':{'instances':1,'bakeSeconds':3}}",
			40 + 10 * (unsigned)sim_draw(sim, 4));
	if (surge)
		text = arena_format(arena, ",'replaceThenTerminate':true,'maxOverPercent':%u",
			25 * (unsigned)sim_draw(sim, 5));
	else
		text = SPAN(",'replaceThenTerminate':false");
	if (!sim_one_in(sim, 4))
		text = arena_format(arena, "%.*s,'minHealthyPercent':%d", SPAN_ARGS(text),
			minimums[sim_draw(sim, LENGTH(minimums))]);
	if (sim_one_in(sim, 4))
		text = arena_format(arena, "%.*s,'warmUpSeconds':%u", SPAN_ARGS(text),
			1 + (unsigned)sim_draw(sim, 10));
	if (sim_one_in(sim, 5))
		text = arena_format(arena, "%.*s,'canary':{'instances':1,'bakeSeconds':%u}",
			SPAN_ARGS(text), (unsigned)sim_draw(sim, 10));
	if (sim_one_in(sim, 4))
		text = arena_format(arena, "%.*s,'onFailure':'rollback'", SPAN_ARGS(text));
	return arena_format(arena, "'deploymentConfiguration':{'timeoutSeconds':%u%.*s}",
		30 + (unsigned)sim_draw(sim, 200), SPAN_ARGS(text));
}

/* ---- tokens ---- */

/* ",'clientToken':'…'", or "". */
static struct span draw_token(struct sim *sim, struct arena *arena)
{
	char token[ID_HEX_SIZE];

	if (!sim_one_in(sim, 2))
		return SPAN("");
	id_hex(sim->random, token);
	return arena_format(arena, ",'clientToken':'%s'", token);
}

static struct span created_by(const struct json *answer)
{
	struct span deployment = json_get_text(answer, "deploymentId");

	return deployment.data ? deployment : json_get_text(answer, "environmentVersion");
}

static void remember(struct sim *sim, size_t environment, const char *operation, struct span body,
	const struct json *answer)
{
	struct sim_token *token = &sim->token;

	if (!memmem(body.data, body.length, "clientToken", 11) ||
		body.length >= sizeof(token->body))
		return;
	*token = (struct sim_token){.environment = environment};
	snprintf(token->operation, sizeof(token->operation), "%s", operation);
	snprintf(token->body, sizeof(token->body), "%.*s", SPAN_ARGS(body));
	if (answer)
		snprintf(token->answer, sizeof(token->answer), "%.*s",
			SPAN_ARGS(created_by(answer)));
}

/* The last request with a token once more: it has the same answer, or none. */
static void repeat(struct sim *sim)
{
	_arena_ struct arena *arena = arena_new(0);
	struct sim_token *token = &sim->token;
	const struct json *answer;

	if (!token->operation[0])
		return;
	sim->result.repeats++;
	answer = request_text(sim, arena, token->environment, token->operation,
		arena_copy_span(arena, span_of(token->body)));
	if (!answer)
		return;
	if (!token->answer[0]) { /* the first answer was lost */
		snprintf(token->answer, sizeof(token->answer), "%.*s",
			SPAN_ARGS(created_by(answer)));
		return;
	}
	daemon_checker_count(sim->checker, DAEMON_PROPERTY_S11);
	if (!span_is(created_by(answer), token->answer))
		daemon_checker_report(sim->checker, DAEMON_PROPERTY_S11,
			"%s with the same token made %s, and then %.*s", token->operation,
			token->answer, SPAN_ARGS(created_by(answer)));
}

/* ---- actions ---- */

/* ",'target':'…'", or "". */
static const char *target_of(const struct sim *sim, size_t environment)
{
	return sim_is_remote(sim, sim->environments[environment].clusters[0])
		       ? ",'target':'" SIM_REMOTE "'"
		       : "";
}

static void create(struct sim *sim, size_t environment)
{
	const struct sim_environment *row = &sim->environments[environment];
	_arena_ struct arena *arena = arena_new(0);
	struct span group = draw_group(sim, arena, environment);
	struct span configuration = draw_configuration(sim, arena);
	struct span token = draw_token(sim, arena);
	struct span definition = draw_definition(sim, arena, environment);
	struct span body =
		arena_format(arena, "{'name':'%s','environmentType':'Daemon',%.*s,%.*s,%.*s%s%.*s}",
			row->name, SPAN_ARGS(definition), SPAN_ARGS(group),
			SPAN_ARGS(configuration), target_of(sim, environment), SPAN_ARGS(token));
	const struct json *answer =
		request_text(sim, arena, environment, "CreateEnvironment", body);

	remember(sim, environment, "CreateEnvironment", body, answer);
}

static const struct actual_version *version_of(struct sim *sim, size_t environment, struct span id)
{
	char key[2 * SIM_TEXT_MAX];

	snprintf(key, sizeof(key), "%s/%.*s", known(sim, environment)->key, SPAN_ARGS(id));
	return map_get(&daemon_checker_actual(sim->checker)->versions, span_of(key));
}

/* Omitted members keep their value. */
static void check_kept(struct sim *sim, const struct actual_version *before,
	const struct actual_version *after)
{
	if (!before || !after)
		return;
	daemon_checker_count(sim->checker, DAEMON_PROPERTY_S8);
	if (strcmp(before->cluster_ref, after->cluster_ref) != 0 ||
		strcmp(before->attributes, after->attributes) != 0)
		daemon_checker_report(sim->checker, DAEMON_PROPERTY_S8,
			"an update that says nothing of instances changes '%s %s' to '%s %s'",
			before->cluster_ref, before->attributes, after->cluster_ref,
			after->attributes);
}

/* Which version the client says that it has changed: the one that is there, or what he read a while ago; "": he does not
 * say. */
static struct span draw_base(struct sim *sim, struct arena *arena, size_t environment)
{
	struct sim_environment *row = &sim->environments[environment];
	const char *latest = known(sim, environment)->latest;
	struct span base = SPAN("");

	if (sim->only_good || !sim_one_in(sim, BASE_ONE_IN))
		return base;
	if (row->read[0] && sim_one_in(sim, 2))
		base = arena_copy_span(arena, span_of(row->read));
	else
		base = arena_copy_span(arena, span_of(latest));
	/* Another one reads it, and comes back later. */
	snprintf(row->read, sizeof(row->read), "%s", latest);
	return base;
}

/* Of two clients that change the same version the second one would undo the change of the first one. */
static void check_base(struct sim *sim, size_t environment, struct span base, struct span latest,
	const struct json *answer)
{
	if (base.length == 0 || span_equal(base, latest))
		return;
	daemon_checker_count(sim->checker, DAEMON_PROPERTY_BASE);
	if (answer)
		daemon_checker_report(sim->checker, DAEMON_PROPERTY_BASE,
			"an update of version %.*s of environment %s is accepted, which another "
			"one has changed before",
			SPAN_ARGS(base), sim->environments[environment].name);
}

static void update(struct sim *sim, size_t environment)
{
	const struct sim_environment *row = &sim->environments[environment];
	_arena_ struct arena *arena = arena_new(0);
	struct span group = draw_group(sim, arena, environment);
	struct span configuration = draw_configuration(sim, arena);
	struct span token = draw_token(sim, arena), more = SPAN(""), body;
	struct span base = draw_base(sim, arena, environment), definition, latest;
	const struct actual_version *before;
	const struct json *answer;

	if (!sim->strict && sim_one_in(sim, 3))
		more = arena_format(arena, ",%.*s", SPAN_ARGS(group));
	if (sim->only_good || sim_one_in(sim, 2))
		more = arena_format(arena, "%.*s,%.*s", SPAN_ARGS(more), SPAN_ARGS(configuration));
	if (base.length > 0)
		more = arena_format(arena, "%.*s,'baseVersion':'%.*s'", SPAN_ARGS(more),
			SPAN_ARGS(base));
	definition = draw_definition(sim, arena, environment);
	body = arena_format(arena, "{'name':'%s',%.*s%.*s%.*s}", row->name, SPAN_ARGS(definition),
		SPAN_ARGS(more), SPAN_ARGS(token));
	latest = arena_copy_span(arena, span_of(known(sim, environment)->latest));
	before = version_of(sim, environment, latest);
	answer = request_text(sim, arena, environment, "UpdateEnvironment", body);
	check_base(sim, environment, base, latest, answer);
	remember(sim, environment, "UpdateEnvironment", body, answer);
	if (answer && !memmem(body.data, body.length, "instanceGroup", 13))
		check_kept(sim, before,
			version_of(sim, environment, json_get_text(answer, "environmentVersion")));
}

static void deploy(struct sim *sim, size_t environment)
{
	_arena_ struct arena *arena = arena_new(0);
	struct span token = draw_token(sim, arena);
	struct span body = arena_format(arena, "{'name':'%s','environmentVersion':'%s'%.*s}",
		sim->environments[environment].name, known(sim, environment)->latest,
		SPAN_ARGS(token));

	remember(sim, environment, "StartDeployment", body,
		request_text(sim, arena, environment, "StartDeployment", body));
}

/* One that it ever had; "": none. */
static struct span draw_version(struct sim *sim, struct arena *arena, size_t environment)
{
	struct span prefix = arena_format(arena, "%s/", known(sim, environment)->key);
	struct span chosen = SPAN("");
	uint64_t seen = 0;

	MAP_EACH (&daemon_checker_actual(sim->checker)->versions, entry)
		if (span_starts_with(entry->key, prefix) && sim_draw(sim, ++seen) == 0)
			chosen = (struct span){
				entry->key.data + prefix.length, entry->key.length - prefix.length};
	return chosen;
}

/* To the version before, or to any: one of a predecessor of the same name is refused. */
static void roll_back(struct sim *sim, size_t environment)
{
	_arena_ struct arena *arena = arena_new(0);
	struct span token = draw_token(sim, arena), version = SPAN(""), body;

	if (sim->shares && !sim_one_in(sim, 3))
		version = draw_version(sim, arena, environment);
	if (version.length > 0)
		version = arena_format(arena, ",'environmentVersion':'%.*s'", SPAN_ARGS(version));
	body = arena_format(arena, "{'name':'%s'%.*s%.*s}", sim->environments[environment].name,
		SPAN_ARGS(version), SPAN_ARGS(token));

	remember(sim, environment, "RollbackDeployment", body,
		request_text(sim, arena, environment, "RollbackDeployment", body));
}

static void stop(struct sim *sim, size_t environment)
{
	_arena_ struct arena *arena = arena_new(0);
	const struct actual_environment *now = known(sim, environment);
	const char *id = now->in_progress[0] ? now->in_progress : now->pending;

	if (id[0])
		sim_request(sim, arena, environment, "StopDeployment",
			"{'name':'%s','deploymentId':'%s'}", sim->environments[environment].name,
			id);
}

static void delete (struct sim *sim, size_t environment)
{
	_arena_ struct arena *arena = arena_new(0);

	sim_request(sim, arena, environment, "DeleteEnvironment",
		"{'name':'%s','terminateTasks':%s}", sim->environments[environment].name,
		sim_one_in(sim, 2) ? "true" : "false");
	if (sim->status / 100 == 2 || sim->unknown_end)
		sim->token.operation[0] = '\0';
}

static void set_active(struct sim *sim, size_t environment)
{
	_arena_ struct arena *arena = arena_new(0);

	sim_request(sim, arena, environment, "UpdateEnvironment", "{'name':'%s','status':'%s'}",
		sim->environments[environment].name, sim_one_in(sim, 3) ? "inactive" : "active");
}

static void act(struct sim *sim)
{
	size_t environment = sim_draw(sim, sim->environment_count);

	if (!known(sim, environment)->exists) {
		create(sim, environment);
		return;
	}
	/* A client that shares often rolls back to a definition that another one may have taken meanwhile. */
	if (sim->shares && sim_one_in(sim, 4)) {
		roll_back(sim, environment);
		return;
	}
	switch (sim_draw(sim, 16)) {
	case 0: stop(sim, environment); break;
	case 1: roll_back(sim, environment); break;
	case 2: set_active(sim, environment); break;
	case 3:
		if (sim_one_in(sim, 2))
			delete (sim, environment);
		break;
	case 4: create(sim, environment); break; /* there is one already */
	case 5:
	case 6: repeat(sim); break;
	case 7:
	case 8:
	case 9:
	case 10:
		update(sim, environment);
		if (sim->shares)
			deploy(sim, environment); /* sooner than the other one */
		break;
	default: deploy(sim, environment); break;
	}
}

void sim_act_client(struct sim *sim)
{
	size_t clients = 1 + sim->environment_count / ENVIRONMENTS_EACH;

	/* Twice as many requests where clients share, so that they collide. */
	for (size_t i = 0; i < (sim->shares ? 2 : 1) * clients; i++)
		act(sim);
}

/* ---- the last requests ---- */

bool sim_make_healthy(struct sim *sim, size_t environment)
{
	struct actual_environment *now = known(sim, environment);

	sim->only_good = true;
	if (now->exists && now->status == ENVIRONMENT_deleting)
		return false; /* it ends by itself */
	if (!now->exists)
		create(sim, environment);
	else
		update(sim, environment);
	if (sim->status / 100 != 2)
		return false;
	deploy(sim, environment);
	return sim->status / 100 == 2;
}
