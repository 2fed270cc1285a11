/* See the header. */
#include "environment/decide/cron_step.h"

#include <inttypes.h>

#include "base/memory.h"
#include "delivery/backoff.h"

#define TOKEN_MS INT64_C(600000) /* a client token is valid for at least this long */
#define SETTLE_MS INT64_C(60000) /* a call without an answer may take effect until then */
#define ARRIVAL_MS                                                                                 \
	INT64_C(5000) /* the last call of a run to a remote ECS has ended so long after it was late */
#define UNANSWERED_MS INT64_C(2000) /* before the same call is repeated */
#define RETRY_FIRST_MS INT64_C(1000)
#define DEPLOYMENTS_SCAN_MAX 1000

struct span cron_run_text(struct arena *arena, struct span reason, int64_t exit_code, bool exited)
{
	struct json *created = json_new_object(arena);

	if (reason.length > 0)
		json_set_string(arena, created, "reason", reason);
	if (exited)
		json_set_integer(arena, created, "exitCode", exit_code);
	return json_count(created) > 0 ? json_to_text(created, arena) : SPAN("");
}

/* ---- the run in progress ---- */

enum cron_open_step cron_decide_open(const struct cron_input *input)
{
	const struct environment_run_facts *run = environment_run_facts(input->open);
	const struct environment_facts *facts = environment_facts(input->observed->environment);
	int64_t now_ms = input->observed->now_ms, left_ms = run->until_ms - now_ms;

	if (run->status == ENVIRONMENT_RUN_started)
		return CRON_OPEN_FOLLOW;
	if (facts->status != ENVIRONMENT_active || run->intended_ms + TOKEN_MS <= now_ms ||
		run->due_ms + CRON_LATE_MS < now_ms)
		return CRON_OPEN_RESOLVE;
	/* A longer wait than any that is recorded means that the clock was set back. */
	return left_ms > 0 && left_ms <= CRON_RETRY_MOST_MS ? CRON_OPEN_WAIT : CRON_OPEN_LAUNCH;
}

void cron_refuse(struct environment_run_facts *run, int64_t now_ms)
{
	static const struct backoff backoff = {RETRY_FIRST_MS, CRON_RETRY_MOST_MS};

	run->attempt++;
	run->until_ms = now_ms + backoff_ms(backoff, run->attempt);
	if (run->until_ms <= run->due_ms + CRON_LATE_MS)
		return;
	run->status = ENVIRONMENT_RUN_failed;
	run->ended_ms = now_ms;
}

int64_t cron_repeat_ms(const struct environment_run_facts *run, int64_t now_ms)
{
	int64_t delay_ms = (now_ms - run->intended_ms) / 2;

	if (delay_ms < UNANSWERED_MS)
		delay_ms = UNANSWERED_MS;
	return now_ms + (delay_ms < CRON_RETRY_MOST_MS ? delay_ms : CRON_RETRY_MOST_MS);
}

bool cron_is_settled(const struct environment_run_facts *run, bool is_remote, int64_t known_ms,
	int64_t *ret_settled_ms)
{
	*ret_settled_ms = is_remote ? run->due_ms + CRON_LATE_MS + ARRIVAL_MS + SETTLE_MS
				    : run->intended_ms + SETTLE_MS;
	return known_ms >= *ret_settled_ms;
}

/* ---- due times ---- */

/* The deployment that rolled the target version out. */
static struct span find_deployment(const struct reconcile_input *observed)
{
	const struct environment_facts *facts = environment_facts(observed->environment);
	struct store_cursor cursor = {.view = observed->view,
		.kind = &environment_deployment_kind,
		.index = ENVIRONMENT_DEPLOYMENT_BY_NUMBER,
		.prefix = arena_format(observed->arena, "%.*s/",
			SPAN_ARGS(observed->environment->key)),
		.descending = true};
	const struct store_object *object;

	for (size_t i = 0; i < DEPLOYMENTS_SCAN_MAX && (object = store_next(&cursor)); i++) {
		const struct environment_deployment_facts *deployment =
			environment_deployment_facts(object);

		if (deployment->started_ms > 0 && span_equal(deployment->version, facts->target))
			return deployment->id;
	}
	return facts->target; /* it became active without a deployment */
}

/* One record for all due times that are too late by now. */
static void record_missed(const struct cron_input *input, const struct schedule *schedule,
	struct cron_due *due)
{
	int64_t anchor_ms = environment_facts(input->observed->environment)->active_ms,
		next = due->run.due_ms;

	due->run.status = ENVIRONMENT_RUN_missed;
	do {
		due->run.last_ms = next;
		due->run.count++;
		next = schedule_next(schedule, next, anchor_ms);
	} while (next >= 0 && next + CRON_LATE_MS < input->observed->now_ms &&
		 due->run.count < CRON_MISSED_MAX);
	due->api = cron_run_text(input->observed->arena, SPAN("NOT_RUNNING: no server was running"),
		0, false);
}

static void record_skipped(const struct cron_input *input, struct cron_due *due)
{
	const struct environment_run_facts *open = environment_run_facts(input->open);
	struct arena *arena = input->observed->arena;

	due->run.status = ENVIRONMENT_RUN_skipped;
	due->api = cron_run_text(arena,
		arena_format(arena, "%s %" PRId64,
			open->status == ENVIRONMENT_RUN_started
				? "STILL_RUNNING: the run of"
				: "NOT_KNOWN: what came of the run of",
			open->due_ms / 1000),
		0, false);
}

int cron_decide_due(const struct cron_input *input, struct cron_due *ret_due, struct err *err)
{
	const struct reconcile_input *observed = input->observed;
	const struct environment_facts *facts = environment_facts(observed->environment);
	struct json *document = NULL;
	struct cron_due due = {.api = SPAN("")};
	struct schedule schedule;
	int64_t due_ms;
	int code;

	*ret_due = due;
	if (facts->status != ENVIRONMENT_active || facts->target.length == 0)
		return 0;
	if (json_parse(observed->target->api, observed->arena, &document, NULL) < 0)
		document = NULL;
	code = cron_schedule(document, &schedule, err);
	if (code < 0)
		return code;
	due_ms = schedule_next(&schedule,
		cron_cursor(observed->view, observed->arena, observed->environment),
		facts->active_ms);
	due.next_ms = due_ms;
	due.is_due = due_ms >= 0 && due_ms <= observed->now_ms;
	if (due.is_due)
		due.run = (struct environment_run_facts){.due_ms = due_ms,
			.version = facts->target,
			.deployment = find_deployment(observed),
			.cluster_ref = environment_version_facts(observed->target)->cluster_ref,
			.tasks = SPAN(""),
			.epoch = input->epoch};
	if (due.is_due && due_ms + CRON_LATE_MS < observed->now_ms) {
		record_missed(input, &schedule, &due);
	} else if (due.is_due && input->open) {
		record_skipped(input, &due);
	} else if (due.is_due) {
		due.run.intended_ms = observed->now_ms;
		due.run.count = json_get_integer(json_get(document, "deploymentConfiguration"),
			"desiredCount", 1);
	}
	*ret_due = due;
	return 0;
}
