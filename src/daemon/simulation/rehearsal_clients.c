/*
 * What clients of the daemon simulation ask for, through the real API: environments that come, change, are rolled out,
 * stopped, rolled back and deleted, with definitions that work and others that do not; the same request twice.
 */
#include <stdio.h>

#include "base/memory.h"
#include "daemon/simulation/rehearsal.h"
#include "ecs/ecs.h"

/* One revision in so many is drawn from all, of which some are bad. A bad one crashes on hundreds of instances, for
 * hours. */
#define BAD_ONE_IN 3
#define BAD_ONE_IN_LARGE 12
#define TASK_MEMORY 96
#define FOREIGN_MEMORY 300 /* leaves no room for all */

/* So many environments have a client of their own. */
#define ENVIRONMENTS_EACH 30
/* Who shares a family of task definitions wants his own, or to be in another cluster, once in so many. */
#define SHARED_BUT_ONE_IN 4
#define SHARED_REVISIONS 2
#define BASE_ONE_IN 4 /* updates says which version it was made of */

#define ACCOUNT "123456789012"
#define OTHER_ACCOUNT "222222222222"

const struct rehearsal_cluster rehearsal_clusters[REHEARSAL_CLUSTERS] = {
	{ACCOUNT, "default"}, {ACCOUNT, "edge"}, {OTHER_ACCOUNT, "default"}};

static const struct rehearsal_environment models[REHEARSAL_ENVIRONMENTS] = {
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

void rehearsal_set_up_environments(struct rehearsal *rehearsal, unsigned count)
{
	size_t number = count > 0 ? count : REHEARSAL_ENVIRONMENTS;

	rehearsal->environment_count = number;
	rehearsal->environments = memory_allocate_array(number, sizeof(models[0]));
	rehearsal->crowd =
		(unsigned)((number + REHEARSAL_ENVIRONMENTS - 1) / REHEARSAL_ENVIRONMENTS);
	for (size_t i = 0; i < number; i++) {
		struct rehearsal_environment *row = &rehearsal->environments[i];
		const struct rehearsal_environment *model = &models[i % REHEARSAL_ENVIRONMENTS];

		*row = *model;
		if (i >= REHEARSAL_ENVIRONMENTS)
			snprintf(row->name, sizeof(row->name), "%.10s-%zu", model->name,
				i / REHEARSAL_ENVIRONMENTS);
		if (i >= REHEARSAL_ENVIRONMENTS && model->family[0])
			snprintf(row->family, sizeof(row->family), "%.10s-%zu", model->family,
				i / REHEARSAL_ENVIRONMENTS);
	}
}

struct span rehearsal_environment_key(const struct rehearsal *rehearsal, size_t environment,
	char out[REHEARSAL_TEXT_MAX])
{
	snprintf(out, REHEARSAL_TEXT_MAX, "%s/%s", rehearsal->environments[environment].account,
		rehearsal->environments[environment].name);
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

static const struct json *ask(struct rehearsal *rehearsal, struct aws_dispatcher *dispatcher,
	const struct aws_service *service, const char *account, struct arena *arena,
	const char *operation, struct span body)
{
	struct aws_caller caller = {.account = span_of(account),
		.user = SPAN("admin"),
		.access_key = SPAN(""),
		.region = SPAN(REHEARSAL_REGION)};
	struct exchange exchange = {.arena = arena};
	struct span message;

	for (size_t i = 0; i < body.length; i++)
		if (body.data[i] == '\'')
			((char *)body.data)[i] = '"';
	aws_dispatch(dispatcher, service, span_of(operation), &caller, body, arena, take_answer,
		&exchange);
	rehearsal->status = exchange.status;
	snprintf(rehearsal->error_type, sizeof(rehearsal->error_type), "%s", exchange.error_type);
	rehearsal->unknown_end = rehearsal->store_stopped;
	message = json_get_text(exchange.answer, "message");
	runner_trace(rehearsal->root, "%s %s %.*s: %d%s%.*s", account, operation, SPAN_ARGS(body),
		exchange.status, message.data ? " " : "",
		SPAN_ARGS(message.data ? message : SPAN("")));
	return exchange.status / 100 == 2 ? exchange.answer : NULL;
}

const struct json *rehearsal_operate(struct rehearsal *rehearsal, struct arena *arena,
	size_t cluster, const char *operation, const char *format, ...)
{
	struct span body;
	va_list list;

	va_start(list, format);
	body = arena_format_list(arena, format, list);
	va_end(list);
	return ask(rehearsal,
		rehearsal_is_far(rehearsal, cluster) ? rehearsal->far_operators
						     : rehearsal->operators,
		&ecs_service, rehearsal_clusters[cluster].account, arena, operation, body);
}

static const struct json *request_of(struct rehearsal *rehearsal, struct rehearsal_server *server,
	struct arena *arena, size_t environment, const char *operation, struct span body)
{
	const struct json *answer;

	rehearsal_before_request(rehearsal, environment);
	answer = ask(rehearsal, server->dispatcher, &rehearsal->service,
		rehearsal->environments[environment].account, arena, operation, body);
	rehearsal_after_request(rehearsal, environment, operation, answer);
	rehearsal->result.requests++;
	rehearsal->result.refused += !answer;
	return answer;
}

static const struct json *request_text(struct rehearsal *rehearsal, struct arena *arena,
	size_t environment, const char *operation, struct span body)
{
	struct rehearsal_server *server = rehearsal_some_server(rehearsal);

	rehearsal->status = 0;
	rehearsal->unknown_end = false;
	if (!server)
		return NULL; /* nobody answers */
	return request_of(rehearsal, server, arena, environment, operation, body);
}

const struct json *rehearsal_get_environment(struct rehearsal *rehearsal,
	struct rehearsal_server *server, struct arena *arena, size_t environment)
{
	return request_of(rehearsal, server, arena, environment, "GetEnvironment",
		arena_format(arena, "{'name':'%s'}", rehearsal->environments[environment].name));
}

const struct json *rehearsal_request(struct rehearsal *rehearsal, struct arena *arena,
	size_t environment, const char *operation, const char *format, ...)
{
	struct span body;
	va_list list;

	va_start(list, format);
	body = arena_format_list(arena, format, list);
	va_end(list);
	return request_text(rehearsal, arena, environment, operation, body);
}

static int define(struct rehearsal *rehearsal, size_t cluster, const char *family, unsigned memory,
	struct err *err)
{
	_arena_ struct arena *arena = arena_new(0);

	for (size_t i = 0; i < REHEARSAL_BEHAVIOURS; i++)
		if (!rehearsal_operate(rehearsal, arena, cluster, "RegisterTaskDefinition",
			    "{'family':'%s','containerDefinitions':[{'name':'app','image':"
			    "'%s','memory':%u%s}]}",
			    family, rehearsal_behaviours[i].name, memory,
			    rehearsal_behaviours[i].checked
				    ? ",'healthCheck':{'command':['CMD','true']}"
				    : ""))
			return err_set(err, -EIO, "a definition could not be registered");
	return 0;
}

static int define_wall(struct rehearsal *rehearsal, size_t cluster, struct err *err)
{
	_arena_ struct arena *arena = arena_new(0);

	if (!rehearsal_operate(rehearsal, arena, cluster, "RegisterTaskDefinition",
		    "{'family':'" REHEARSAL_WALL "','containerDefinitions':[{'name':'app',"
		    "'image':'wall','memory':%u}]}",
		    REHEARSAL_MEMORY * rehearsal->crowd - TASK_MEMORY / 2))
		return err_set(err, -EIO, "a definition could not be registered");
	return 0;
}

int rehearsal_define_all(struct rehearsal *rehearsal, struct err *err)
{
	static const size_t clusters[] = {0, 2}; /* one of each account */
	_arena_ struct arena *arena = arena_new(0);
	int code = 0;

	for (size_t i = 0; i < REHEARSAL_CLUSTERS; i++)
		if (!rehearsal_operate(rehearsal, arena, i, "CreateCluster", "{'clusterName':'%s'}",
			    rehearsal_clusters[i].name))
			return err_set(err, -EIO, "a cluster could not be created");
	for (size_t i = 0; code == 0 && i < rehearsal->environment_count; i++)
		code = define(rehearsal, rehearsal->environments[i].clusters[0],
			rehearsal->environments[i].name, TASK_MEMORY, err);
	for (size_t i = 0; code == 0 && i < LENGTH(clusters); i++) {
		code = define(rehearsal, clusters[i], REHEARSAL_FOREIGN,
			FOREIGN_MEMORY * rehearsal->crowd, err);
		if (code == 0)
			code = define_wall(rehearsal, clusters[i], err);
	}
	return code;
}

/* ---- what they draw ---- */

static struct truth_environment *known(struct rehearsal *rehearsal, size_t environment)
{
	char key[REHEARSAL_TEXT_MAX];

	return truth_environment(daemon_checker_truth(rehearsal->checker),
		rehearsal_environment_key(rehearsal, environment, key));
}

static unsigned draw_revision(struct rehearsal *rehearsal)
{
	bool good = rehearsal->only_good ||
		    !rehearsal_one_in(rehearsal, rehearsal->large ? BAD_ONE_IN_LARGE : BAD_ONE_IN);

	/* Of few, so that two often want the same. */
	if (rehearsal->shares && good)
		return 1 + (unsigned)rehearsal_draw(rehearsal, SHARED_REVISIONS);
	return 1 + (unsigned)rehearsal_draw(rehearsal,
			   good ? REHEARSAL_GOOD_BEHAVIOURS : REHEARSAL_BEHAVIOURS);
}

/* Whose task definition it wants: most often that of the pair's other one, so that both want the same. */
static const char *draw_family(struct rehearsal *rehearsal, size_t environment)
{
	const struct rehearsal_environment *row = &rehearsal->environments[environment];

	return rehearsal->shares && row->family[0] &&
			       !rehearsal_one_in(rehearsal, SHARED_BUT_ONE_IN)
		       ? row->family
		       : row->name;
}

/* One draw after the other: compilers differ in the order of arguments. */
static struct span draw_definition(struct rehearsal *rehearsal, struct arena *arena,
	size_t environment)
{
	unsigned revision = draw_revision(rehearsal);

	return arena_format(arena, "'taskDefinition':'%s:%u'", draw_family(rehearsal, environment),
		revision);
}

static struct span draw_group(struct rehearsal *rehearsal, struct arena *arena, size_t environment)
{
	const struct rehearsal_environment *row = &rehearsal->environments[environment];
	uint64_t which = rehearsal_draw(rehearsal, row->cluster_count);

	if (rehearsal->shares && !rehearsal_one_in(rehearsal, SHARED_BUT_ONE_IN))
		which = 0; /* where the other one is */
	return arena_format(arena, "'instanceGroup':{'cluster':'%s'%s}",
		rehearsal_clusters[row->clusters[which]].name,
		rehearsal_one_in(rehearsal, 2) ? ",'attributes':['stack=prod']" : "");
}

static struct span draw_configuration(struct rehearsal *rehearsal, struct arena *arena)
{
	static const int minimums[] = {0, 30, 50, 60, 75, 90};
	bool surge = rehearsal_one_in(rehearsal, 3);
	struct span text = SPAN("");

	if (rehearsal->strict)
		return arena_format(arena,
			"'deploymentConfiguration':{'timeoutSeconds':7200,'replaceThenTerminate':"
			"false,'minHealthyPercent':%u,'unreachableTimeoutSeconds':60}",
			rehearsal->minimum);
	/* What can be satisfied however few instances there are. */
	if (rehearsal->only_good)
		return surge ? SPAN("'deploymentConfiguration':{'timeoutSeconds':1500,"
				    "'replaceThenTerminate':true,'maxOverPercent':100,"
				    "'minHealthyPercent':100}")
			     : SPAN("'deploymentConfiguration':{'timeoutSeconds':1500,"
				    "'replaceThenTerminate':false,'minHealthyPercent':0}");
	/* Where many wait for a canary they can all go at once when it has proved itself. */
	if (rehearsal->crowded)
		return arena_format(arena,
			"'deploymentConfiguration':{'timeoutSeconds':200,'replaceThenTerminate':"
			"false,"
			"'minHealthyPercent':%u,'canary':{'instances':1,'bakeSeconds':3}}",
			40 + 10 * (unsigned)rehearsal_draw(rehearsal, 4));
	if (surge)
		text = arena_format(arena, ",'replaceThenTerminate':true,'maxOverPercent':%u",
			25 * (unsigned)rehearsal_draw(rehearsal, 5));
	else
		text = SPAN(",'replaceThenTerminate':false");
	if (!rehearsal_one_in(rehearsal, 4))
		text = arena_format(arena, "%.*s,'minHealthyPercent':%d", SPAN_ARGS(text),
			minimums[rehearsal_draw(rehearsal, LENGTH(minimums))]);
	if (rehearsal_one_in(rehearsal, 4))
		text = arena_format(arena, "%.*s,'warmUpSeconds':%u", SPAN_ARGS(text),
			1 + (unsigned)rehearsal_draw(rehearsal, 10));
	if (rehearsal_one_in(rehearsal, 5))
		text = arena_format(arena, "%.*s,'canary':{'instances':1,'bakeSeconds':%u}",
			SPAN_ARGS(text), (unsigned)rehearsal_draw(rehearsal, 10));
	if (rehearsal_one_in(rehearsal, 4))
		text = arena_format(arena, "%.*s,'onFailure':'rollback'", SPAN_ARGS(text));
	return arena_format(arena, "'deploymentConfiguration':{'timeoutSeconds':%u%.*s}",
		30 + (unsigned)rehearsal_draw(rehearsal, 200), SPAN_ARGS(text));
}

/* ---- tokens ---- */

/* ",'clientToken':'…'", or "". */
static struct span draw_token(struct rehearsal *rehearsal, struct arena *arena)
{
	char token[ID_HEX_SIZE];

	if (!rehearsal_one_in(rehearsal, 2))
		return SPAN("");
	id_hex(rehearsal->random, token);
	return arena_format(arena, ",'clientToken':'%s'", token);
}

static struct span made_by(const struct json *answer)
{
	struct span deployment = json_get_text(answer, "deploymentId");

	return deployment.data ? deployment : json_get_text(answer, "environmentVersion");
}

static void remember(struct rehearsal *rehearsal, size_t environment, const char *operation,
	struct span body, const struct json *answer)
{
	struct rehearsal_token *token = &rehearsal->token;

	if (!memmem(body.data, body.length, "clientToken", 11) ||
		body.length >= sizeof(token->body))
		return;
	*token = (struct rehearsal_token){.environment = environment};
	snprintf(token->operation, sizeof(token->operation), "%s", operation);
	snprintf(token->body, sizeof(token->body), "%.*s", SPAN_ARGS(body));
	if (answer)
		snprintf(token->answer, sizeof(token->answer), "%.*s", SPAN_ARGS(made_by(answer)));
}

/* The last request with a token once more: it has the same answer, or none. */
static void repeat(struct rehearsal *rehearsal)
{
	_arena_ struct arena *arena = arena_new(0);
	struct rehearsal_token *token = &rehearsal->token;
	const struct json *answer;

	if (!token->operation[0])
		return;
	rehearsal->result.repeats++;
	answer = request_text(rehearsal, arena, token->environment, token->operation,
		arena_copy_span(arena, span_of(token->body)));
	if (!answer)
		return;
	if (!token->answer[0]) { /* nobody heard what became of it before */
		snprintf(token->answer, sizeof(token->answer), "%.*s", SPAN_ARGS(made_by(answer)));
		return;
	}
	daemon_checker_count(rehearsal->checker, DAEMON_PROPERTY_S11);
	if (!span_is(made_by(answer), token->answer))
		daemon_checker_tell(rehearsal->checker, DAEMON_PROPERTY_S11,
			"%s with the same token made %s, and then %.*s", token->operation,
			token->answer, SPAN_ARGS(made_by(answer)));
}

/* ---- what they do ---- */

/* ",'target':'…'", or "". */
static const char *target_of(const struct rehearsal *rehearsal, size_t environment)
{
	return rehearsal_is_far(rehearsal, rehearsal->environments[environment].clusters[0])
		       ? ",'target':'" REHEARSAL_FAR "'"
		       : "";
}

static void create(struct rehearsal *rehearsal, size_t environment)
{
	const struct rehearsal_environment *row = &rehearsal->environments[environment];
	_arena_ struct arena *arena = arena_new(0);
	struct span group = draw_group(rehearsal, arena, environment);
	struct span configuration = draw_configuration(rehearsal, arena);
	struct span token = draw_token(rehearsal, arena);
	struct span definition = draw_definition(rehearsal, arena, environment);
	struct span body = arena_format(arena,
		"{'name':'%s','environmentType':'Daemon',%.*s,%.*s,%.*s%s%.*s}", row->name,
		SPAN_ARGS(definition), SPAN_ARGS(group), SPAN_ARGS(configuration),
		target_of(rehearsal, environment), SPAN_ARGS(token));
	const struct json *answer =
		request_text(rehearsal, arena, environment, "CreateEnvironment", body);

	remember(rehearsal, environment, "CreateEnvironment", body, answer);
}

static const struct truth_version *version_of(struct rehearsal *rehearsal, size_t environment,
	struct span id)
{
	char key[2 * REHEARSAL_TEXT_MAX];

	snprintf(key, sizeof(key), "%s/%.*s", known(rehearsal, environment)->key, SPAN_ARGS(id));
	return map_get(&daemon_checker_truth(rehearsal->checker)->versions, span_of(key));
}

/* What was not given is as it was. */
static void check_kept(struct rehearsal *rehearsal, const struct truth_version *before,
	const struct truth_version *after)
{
	if (!before || !after)
		return;
	daemon_checker_count(rehearsal->checker, DAEMON_PROPERTY_S8);
	if (strcmp(before->place, after->place) != 0 ||
		strcmp(before->attributes, after->attributes) != 0)
		daemon_checker_tell(rehearsal->checker, DAEMON_PROPERTY_S8,
			"an update that says nothing of instances changes '%s %s' to '%s %s'",
			before->place, before->attributes, after->place, after->attributes);
}

/* Which version the client says that it has changed: the one that is there, or what he read a while ago; "": he does not
 * say. */
static struct span draw_base(struct rehearsal *rehearsal, struct arena *arena, size_t environment)
{
	struct rehearsal_environment *row = &rehearsal->environments[environment];
	const char *latest = known(rehearsal, environment)->latest;
	struct span base = SPAN("");

	if (rehearsal->only_good || !rehearsal_one_in(rehearsal, BASE_ONE_IN))
		return base;
	if (row->read[0] && rehearsal_one_in(rehearsal, 2))
		base = arena_copy_span(arena, span_of(row->read));
	else
		base = arena_copy_span(arena, span_of(latest));
	/* Another one reads it, and comes back later. */
	snprintf(row->read, sizeof(row->read), "%s", latest);
	return base;
}

/* Of two who have changed the same version the second one would undo what the first one did. */
static void check_base(struct rehearsal *rehearsal, size_t environment, struct span base,
	struct span latest, const struct json *answer)
{
	if (base.length == 0 || span_equal(base, latest))
		return;
	daemon_checker_count(rehearsal->checker, DAEMON_PROPERTY_BASE);
	if (answer)
		daemon_checker_tell(rehearsal->checker, DAEMON_PROPERTY_BASE,
			"an update of version %.*s of environment %s is accepted, which another "
			"one has changed before",
			SPAN_ARGS(base), rehearsal->environments[environment].name);
}

static void update(struct rehearsal *rehearsal, size_t environment)
{
	const struct rehearsal_environment *row = &rehearsal->environments[environment];
	_arena_ struct arena *arena = arena_new(0);
	struct span group = draw_group(rehearsal, arena, environment);
	struct span configuration = draw_configuration(rehearsal, arena);
	struct span token = draw_token(rehearsal, arena), more = SPAN(""), body;
	struct span base = draw_base(rehearsal, arena, environment), definition, latest;
	const struct truth_version *before;
	const struct json *answer;

	if (!rehearsal->strict && rehearsal_one_in(rehearsal, 3))
		more = arena_format(arena, ",%.*s", SPAN_ARGS(group));
	if (rehearsal->only_good || rehearsal_one_in(rehearsal, 2))
		more = arena_format(arena, "%.*s,%.*s", SPAN_ARGS(more), SPAN_ARGS(configuration));
	if (base.length > 0)
		more = arena_format(arena, "%.*s,'baseVersion':'%.*s'", SPAN_ARGS(more),
			SPAN_ARGS(base));
	definition = draw_definition(rehearsal, arena, environment);
	body = arena_format(arena, "{'name':'%s',%.*s%.*s%.*s}", row->name, SPAN_ARGS(definition),
		SPAN_ARGS(more), SPAN_ARGS(token));
	latest = arena_copy_span(arena, span_of(known(rehearsal, environment)->latest));
	before = version_of(rehearsal, environment, latest);
	answer = request_text(rehearsal, arena, environment, "UpdateEnvironment", body);
	check_base(rehearsal, environment, base, latest, answer);
	remember(rehearsal, environment, "UpdateEnvironment", body, answer);
	if (answer && !memmem(body.data, body.length, "instanceGroup", 13))
		check_kept(rehearsal, before,
			version_of(rehearsal, environment,
				json_get_text(answer, "environmentVersion")));
}

static void deploy(struct rehearsal *rehearsal, size_t environment)
{
	_arena_ struct arena *arena = arena_new(0);
	struct span token = draw_token(rehearsal, arena);
	struct span body = arena_format(arena, "{'name':'%s','environmentVersion':'%s'%.*s}",
		rehearsal->environments[environment].name, known(rehearsal, environment)->latest,
		SPAN_ARGS(token));

	remember(rehearsal, environment, "StartDeployment", body,
		request_text(rehearsal, arena, environment, "StartDeployment", body));
}

/* One that it ever had; "": none. */
static struct span draw_version(struct rehearsal *rehearsal, struct arena *arena,
	size_t environment)
{
	struct span prefix = arena_format(arena, "%s/", known(rehearsal, environment)->key);
	struct span chosen = SPAN("");
	uint64_t seen = 0;

	MAP_EACH (&daemon_checker_truth(rehearsal->checker)->versions, entry)
		if (span_starts_with(entry->key, prefix) && rehearsal_draw(rehearsal, ++seen) == 0)
			chosen = (struct span){
				entry->key.data + prefix.length, entry->key.length - prefix.length};
	return chosen;
}

/* To what was there before, or to any version: of a predecessor of the same name it is refused. */
static void roll_back(struct rehearsal *rehearsal, size_t environment)
{
	_arena_ struct arena *arena = arena_new(0);
	struct span token = draw_token(rehearsal, arena), version = SPAN(""), body;

	if (rehearsal->shares && !rehearsal_one_in(rehearsal, 3))
		version = draw_version(rehearsal, arena, environment);
	if (version.length > 0)
		version = arena_format(arena, ",'environmentVersion':'%.*s'", SPAN_ARGS(version));
	body = arena_format(arena, "{'name':'%s'%.*s%.*s}",
		rehearsal->environments[environment].name, SPAN_ARGS(version), SPAN_ARGS(token));

	remember(rehearsal, environment, "RollbackDeployment", body,
		request_text(rehearsal, arena, environment, "RollbackDeployment", body));
}

static void stop(struct rehearsal *rehearsal, size_t environment)
{
	_arena_ struct arena *arena = arena_new(0);
	const struct truth_environment *now = known(rehearsal, environment);
	const char *id = now->in_progress[0] ? now->in_progress : now->pending;

	if (id[0])
		rehearsal_request(rehearsal, arena, environment, "StopDeployment",
			"{'name':'%s','deploymentId':'%s'}",
			rehearsal->environments[environment].name, id);
}

static void delete (struct rehearsal *rehearsal, size_t environment)
{
	_arena_ struct arena *arena = arena_new(0);

	rehearsal_request(rehearsal, arena, environment, "DeleteEnvironment",
		"{'name':'%s','terminateTasks':%s}", rehearsal->environments[environment].name,
		rehearsal_one_in(rehearsal, 2) ? "true" : "false");
	if (rehearsal->status / 100 == 2 || rehearsal->unknown_end)
		rehearsal->token.operation[0] = '\0';
}

static void set_active(struct rehearsal *rehearsal, size_t environment)
{
	_arena_ struct arena *arena = arena_new(0);

	rehearsal_request(rehearsal, arena, environment, "UpdateEnvironment",
		"{'name':'%s','status':'%s'}", rehearsal->environments[environment].name,
		rehearsal_one_in(rehearsal, 3) ? "inactive" : "active");
}

static void act(struct rehearsal *rehearsal)
{
	size_t environment = rehearsal_draw(rehearsal, rehearsal->environment_count);

	if (!known(rehearsal, environment)->exists) {
		create(rehearsal, environment);
		return;
	}
	/* Who shares often goes back to what another one may have taken meanwhile. */
	if (rehearsal->shares && rehearsal_one_in(rehearsal, 4)) {
		roll_back(rehearsal, environment);
		return;
	}
	switch (rehearsal_draw(rehearsal, 16)) {
	case 0: stop(rehearsal, environment); break;
	case 1: roll_back(rehearsal, environment); break;
	case 2: set_active(rehearsal, environment); break;
	case 3:
		if (rehearsal_one_in(rehearsal, 2))
			delete (rehearsal, environment);
		break;
	case 4: create(rehearsal, environment); break; /* there is one already */
	case 5:
	case 6: repeat(rehearsal); break;
	case 7:
	case 8:
	case 9:
	case 10:
		update(rehearsal, environment);
		if (rehearsal->shares)
			deploy(rehearsal, environment); /* sooner than the other one */
		break;
	default: deploy(rehearsal, environment); break;
	}
}

void rehearsal_act_client(struct rehearsal *rehearsal)
{
	size_t clients = 1 + rehearsal->environment_count / ENVIRONMENTS_EACH;

	/* Those who share have somebody to quarrel with. */
	for (size_t i = 0; i < (rehearsal->shares ? 2 : 1) * clients; i++)
		act(rehearsal);
}

/* ---- the last wishes ---- */

bool rehearsal_wish_well(struct rehearsal *rehearsal, size_t environment)
{
	struct truth_environment *now = known(rehearsal, environment);

	rehearsal->only_good = true;
	if (now->exists && now->status == ENVIRONMENT_deleting)
		return false; /* it ends by itself */
	if (!now->exists)
		create(rehearsal, environment);
	else
		update(rehearsal, environment);
	if (rehearsal->status / 100 != 2)
		return false;
	deploy(rehearsal, environment);
	return rehearsal->status / 100 == 2;
}
