/* Leases and claims between two servers with clocks that do not agree, mostly on virtual time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/lock.h"
#include "base/memory.h"
#include "control/claims.h"
#include "control/runner_simulated.h"
#include "control/write.h"

#define SECOND INT64_C(1000000)
#define LEASE (10 * SECOND)

static const struct store_kind note_kind = {.name = "note"};
static const struct store_kind *const kinds[] = {&note_kind, &server_kind, &claim_kind};

struct machine {
	struct runner *runner;
	struct claims *claims;
	struct lock lock;
	unsigned freed;
	char last_freed[64];
	unsigned reports;
	char report[256];
};

struct bench {
	struct runner *runner;
	struct store *store;
	struct store_faults faults;
	bool commits_fail;
	const char *fails; /* commits of this runner do; NULL */
	struct machine machines[3];
};

static int before_commit(void *context)
{
	struct bench *self = context;

	if (self->fails && strcmp(runner_simulated_running(self->runner), self->fails) == 0)
		return -EIO;
	return self->commits_fail ? -EIO : 0;
}

static void note_freed(void *context, struct span key)
{
	struct machine *machine = context;

	lock_take(&machine->lock);
	machine->freed++;
	snprintf(machine->last_freed, sizeof(machine->last_freed), "%.*s", SPAN_ARGS(key));
	lock_release(&machine->lock);
}

static void never_freed(void *context, struct span key)
{
	(void)context;
	fail_msg("'%.*s' is none of our business", SPAN_ARGS(key));
}

static void note_report(void *context, const char *message)
{
	struct machine *machine = context;

	lock_take(&machine->lock);
	machine->reports++;
	snprintf(machine->report, sizeof(machine->report), "%s", message);
	lock_release(&machine->lock);
}

static struct bench bench;

static void open_bench(struct runner *runner)
{
	struct store_config config = {
		.url = "memory:",
		.kinds = kinds,
		.kind_count = LENGTH(kinds),
		.clock = runner_clock(runner),
		.inline_writes = runner_is_simulated(runner),
		.faults = &bench.faults,
	};

	bench = (struct bench){.runner = runner};
	bench.faults = (struct store_faults){.before_commit = before_commit, .context = &bench};
	assert_int_equal(store_open(&config, &bench.store, NULL), 0);
}

static int set_up(void **state)
{
	(void)state;
	open_bench(runner_simulated_new(5));
	return 0;
}

static void crash(struct machine *machine)
{
	if (!machine->runner)
		return;
	runner_stop(machine->runner);
	claims_stop(TAKE(machine->claims));
	runner_join(machine->runner, NULL);
	runner_free(TAKE(machine->runner));
	lock_destroy(&machine->lock);
}

static int tear_down(void **state)
{
	(void)state;
	for (size_t i = 0; i < LENGTH(bench.machines); i++)
		crash(&bench.machines[i]);
	runner_stop(bench.runner);
	runner_join(bench.runner, NULL);
	store_close(bench.store);
	runner_free(bench.runner);
	return 0;
}

static int try_boot(size_t number, const char *name, const char *folder, int64_t lease_us,
	bool passive, struct err *err)
{
	struct machine *machine = &bench.machines[number];
	struct claims_config config = {
		.store = bench.store,
		.server = name,
		.lease_us = lease_us,
		.folder = folder,
		.passive = passive,
		.report = note_report,
		.report_context = machine,
	};

	*machine = (struct machine){.runner = runner_group_new(bench.runner, name)};
	lock_init(&machine->lock);
	if (runner_is_simulated(bench.runner))
		runner_simulated_shift_clocks(machine->runner,
			(int64_t)(number + 1) * 1234567 * SECOND, -(int64_t)number * 1000000);
	config.runner = machine->runner;
	return claims_start(&config, &machine->claims, err);
}

static struct machine *boot_with(size_t number, const char *name, int64_t lease_us)
{
	struct machine *machine = &bench.machines[number];

	assert_int_equal(try_boot(number, name, NULL, lease_us, false, NULL), 0);
	claims_subscribe(machine->claims, SPAN("toy/"), note_freed, machine);
	claims_subscribe(machine->claims, SPAN("other/"), never_freed, machine);
	return machine;
}

static struct machine *boot(size_t number, const char *name)
{
	return boot_with(number, name, LEASE);
}

static void pass_time(int64_t duration_us)
{
	assert_int_equal(runner_sleep_until(bench.runner,
				 runner_deadline_us(bench.runner, duration_us)),
		0);
}

static int acquire(struct machine *machine, struct claim *claim)
{
	return claims_acquire(machine->claims, SPAN("toy/web"), claim, NULL);
}

static int write_note(struct store_transaction *transaction, void *context, struct err *err)
{
	(void)context;
	return store_put(transaction, &note_kind, SPAN("note"), SPAN("text"), SPAN(""), STORE_ANY,
		err);
}

static int write_with(struct machine *machine, const struct claim *claim)
{
	return claims_write(machine->claims, claim, write_note, NULL, NULL, NULL);
}

static void test_one_owner(void **state)
{
	struct machine *a = boot(0, "a"), *b = boot(1, "b");
	struct claim claim, again, other;
	struct err err;
	int64_t until;

	(void)state;
	assert_int_equal(acquire(a, &claim), 0);
	assert_int_equal(claims_acquire(b->claims, SPAN("toy/web"), &other, &err), -EBUSY);
	assert_string_equal(err.message, "claim 'toy/web' is held by server 'a'");
	assert_int_equal(acquire(a, &again), 0);
	assert_int_equal(again.epoch, claim.epoch);
	assert_int_equal(claims_check(a->claims, &claim, SECOND, NULL), 0);
	/* Not longer than the lease lasts. */
	assert_int_equal(claims_check(a->claims, &claim, LEASE, NULL), -ESTALE);
	assert_int_equal(write_with(a, &claim), 0);
	assert_true(claims_has_lease(a->claims, &until));
	assert_true(until > runner_now_us(a->runner));
	assert_string_equal(claims_server(a->claims), "a");
	/* It stays so, and the claim is not written again. */
	pass_time(100 * LEASE);
	assert_int_equal(acquire(a, &again), 0);
	assert_int_equal(again.epoch, claim.epoch);
	assert_int_equal(acquire(b, &other), -EBUSY);
	assert_int_equal(claims_check(a->claims, &claim, SECOND, NULL), 0);
	assert_int_equal(a->reports + b->reports, 0);
	assert_int_equal(b->freed, 0);
}

static void test_a_dead_owner_is_replaced_after_its_lease(void **state)
{
	struct machine *a = boot(0, "a"), *b = boot(1, "b");
	struct claim claim, other;
	int64_t crashed_at;

	(void)state;
	assert_int_equal(acquire(a, &claim), 0);
	pass_time(7 * LEASE);
	crash(a);
	crashed_at = runner_now_us(bench.runner);
	while (acquire(b, &other) == -EBUSY)
		pass_time(SECOND / 10);
	/* A lease and its margin after the last renewal, which was a third of a lease ago at most. */
	assert_in_range(runner_now_us(bench.runner) - crashed_at, LEASE * 2 / 3, LEASE * 12 / 10);
	assert_true(other.epoch > claim.epoch);
	assert_int_equal(b->freed, 1);
	assert_string_equal(b->last_freed, "toy/web");
	assert_int_equal(b->reports, 1);
	assert_non_null(strstr(b->report, "server 'a' did not renew its lease"));
	assert_int_equal(write_with(b, &other), 0);
}

static void test_a_paused_owner_learns_it_before_it_acts(void **state)
{
	struct machine *a = boot(0, "a"), *b = boot(1, "b");
	struct claim claim, other, again;

	(void)state;
	assert_int_equal(acquire(a, &claim), 0);
	runner_simulated_pause(a->runner, 5 * LEASE);
	/* By its own clock the lease is over before another server acts. */
	while (acquire(b, &other) == -EBUSY) {
		assert_int_equal(claims_check(a->claims, &claim, 0, NULL),
			claims_has_lease(a->claims, NULL) ? 0 : -ESTALE);
		pass_time(SECOND / 10);
	}
	assert_false(claims_has_lease(a->claims, NULL));
	assert_int_equal(claims_check(a->claims, &claim, 0, NULL), -ESTALE);
	pass_time(5 * LEASE);
	/* It is back, with a new lease; what was its own is not any more. */
	assert_true(claims_has_lease(a->claims, NULL));
	assert_int_equal(claims_check(a->claims, &claim, 0, NULL), -ESTALE);
	assert_int_equal(write_with(a, &claim), -ESTALE);
	assert_int_equal(claims_release(a->claims, &claim, NULL), -ESTALE);
	assert_int_equal(acquire(a, &again), -EBUSY);
	assert_int_equal(write_with(b, &other), 0);
	assert_non_null(strstr(a->report, "the lease of 'a' was lost"));
}

/* No server is paused: only lease renewals fail. */
static void test_77_heartbeats_fail_and_the_owner_goes_on(void **state)
{
	struct machine *a = boot(0, "a"), *b = boot(1, "b");
	struct claim claim, other, again;
	unsigned written = 0;
	int64_t failed_at;
	bool checked;

	(void)state;
	assert_int_equal(acquire(a, &claim), 0);
	pass_time(3 * LEASE);
	bench.fails = "a/claims";
	failed_at = runner_now_us(bench.runner);
	while (acquire(b, &other) == -EBUSY) {
		/* Its writes succeed until another server has the claim; its check fails before. */
		checked = claims_check(a->claims, &claim, 0, NULL) == 0;
		assert_int_equal(checked, claims_has_lease(a->claims, NULL));
		assert_int_equal(write_with(a, &claim), 0);
		written++;
		if (runner_now_us(bench.runner) - failed_at < LEASE / 2)
			assert_true(claims_is_kept_by_another(b->claims, SPAN("toy/web")));
		pass_time(SECOND / 10);
	}
	assert_in_range(runner_now_us(bench.runner) - failed_at, LEASE * 2 / 3, LEASE * 12 / 10);
	assert_true(written > 50);
	/* From then on nothing of it takes effect, however often it tries. */
	for (int i = 0; i < 100; i++) {
		assert_int_equal(claims_check(a->claims, &claim, 0, NULL), -ESTALE);
		assert_int_equal(write_with(a, &claim), -ESTALE);
		assert_int_not_equal(acquire(a, &again), 0);
		assert_int_equal(write_with(b, &other), 0);
		pass_time(SECOND / 10);
	}
	assert_true(claims_is_kept_by_another(a->claims, SPAN("toy/web")));
	assert_false(claims_is_kept_by_another(b->claims, SPAN("toy/web")));
	bench.fails = NULL;
	pass_time(LEASE);
	assert_true(claims_has_lease(a->claims, NULL));
	assert_int_equal(write_with(a, &claim), -ESTALE);
	assert_int_equal(acquire(a, &again), -EBUSY);
	assert_int_equal(write_with(b, &other), 0);
}

/* An owner that no server can declare dead is still known not to renew. */
static void test_an_owner_that_is_silent(void **state)
{
	struct machine *a = boot(0, "a"), *b = boot(1, "b");
	struct claim claim;

	(void)state;
	assert_int_equal(acquire(a, &claim), 0);
	pass_time(3 * LEASE);
	assert_true(claims_is_kept_by_another(b->claims, SPAN("toy/web")));
	assert_false(claims_is_kept_by_another(b->claims, SPAN("toy/nobodys")));
	bench.commits_fail = true;
	pass_time(LEASE / 2);
	assert_true(claims_is_kept_by_another(b->claims, SPAN("toy/web")));
	pass_time(2 * LEASE);
	assert_false(claims_is_kept_by_another(b->claims, SPAN("toy/web")));
	pass_time(5 * LEASE);
	assert_false(claims_is_kept_by_another(b->claims, SPAN("toy/web")));
	bench.commits_fail = false;
	pass_time(LEASE);
	assert_true(claims_is_kept_by_another(b->claims, SPAN("toy/web")));
}

/* ---- clocks that do not agree ---- */

/* One server's clock is off by a fifth of a lease, or runs so much faster that it gains a fifth of a lease in one. */
struct skew {
	int64_t shift_us; /* how far it is ahead */
	int64_t pace;     /* percent */
};

static struct machine *boot_skewed(size_t number, const char *name, const struct skew *skew)
{
	struct machine *machine = &bench.machines[number];
	struct claims_config config = {.store = bench.store,
		.server = name,
		.lease_us = LEASE,
		.report = note_report,
		.report_context = machine};

	*machine = (struct machine){.runner = runner_group_new(bench.runner, name)};
	lock_init(&machine->lock);
	runner_simulated_shift_clocks(machine->runner, skew->shift_us, skew->shift_us / 1000);
	runner_simulated_set_pace(machine->runner, skew->pace);
	config.runner = machine->runner;
	assert_int_equal(claims_start(&config, &machine->claims, NULL), 0);
	return machine;
}

/* Another one each time that server a has renewed it; 0: it is gone. */
static uint64_t lease_revision(void)
{
	_view_ struct store_view *view = store_view_open(bench.store);
	const struct store_object *server = store_get(view, &server_kind, SPAN("a"));

	return server ? server->revision : 0;
}

/* How long after its last renewal a's claim was b's, in real time. */
static int64_t take_over(const struct skew *a_skew, const struct skew *b_skew, bool set_clocks)
{
	struct machine *a = boot_skewed(0, "a", a_skew), *b = boot_skewed(1, "b", b_skew);
	struct claim claim, other;
	int64_t renewed_us = 0, waited_us;
	uint64_t revision = 0;

	assert_int_equal(acquire(a, &claim), 0);
	/* As long as it renews, no other server takes it, whatever the clocks say. */
	for (int64_t passed = 0; passed < 20 * LEASE; passed += SECOND / 100) {
		if (lease_revision() != revision) {
			revision = lease_revision();
			renewed_us = runner_now_us(bench.runner);
		}
		pass_time(SECOND / 100);
	}
	assert_int_equal(acquire(b, &other), -EBUSY);
	assert_int_equal(claims_check(a->claims, &claim, 0, NULL), 0);
	/* As kill -9, but that it can be asked whether it would still act. */
	bench.fails = "a/claims";
	for (int step = 0; acquire(b, &other) == -EBUSY; step++) {
		if (set_clocks) {
			runner_simulated_set_wall(a->runner, (step % 3 - 1) * LEASE / 5000);
			runner_simulated_set_wall(b->runner, (step % 2 - 1) * LEASE / 5000);
		}
		if (lease_revision() != revision) {
			revision = lease_revision();
			renewed_us = runner_now_us(bench.runner);
		}
		pass_time(SECOND / 100);
	}
	waited_us = runner_now_us(bench.runner) - renewed_us;
	/* Never before: by its own clock the former owner has stopped acting. */
	assert_int_equal(claims_check(a->claims, &claim, 0, NULL), -ESTALE);
	assert_false(claims_has_lease(a->claims, NULL));
	assert_int_equal(write_with(a, &claim), -ESTALE);
	bench.fails = NULL;
	crash(a);
	crash(b);
	return waited_us;
}

static void test_76_taken_over_after_the_lease_and_never_before(void **state)
{
	static const int64_t shifts[] = {-LEASE / 5, 0, LEASE / 5};
	static const struct {
		int64_t a, b; /* percent */
	} paces[] = {{100, 100}, {100, 120}, {120, 100}, {100, 83}, {84, 100}, {90, 109}};
	unsigned count = 0;

	(void)state;
	tear_down(NULL);
	for (size_t i = 0; i < LENGTH(shifts); i++)
		for (size_t j = 0; j < LENGTH(shifts); j++)
			for (size_t k = 0; k < LENGTH(paces); k++) {
				const struct skew a = {LEASE + shifts[i], paces[k].a};
				const struct skew b = {LEASE + shifts[j], paces[k].b};
				/* A lease and a tenth by the new owner's clock, and some steps. */
				int64_t wanted = LEASE * 110 / b.pace, waited;

				open_bench(runner_simulated_new(76 + count));
				waited = take_over(&a, &b, count++ % 2);
				assert_in_range(waited, wanted - SECOND / 20, wanted + SECOND / 5);
				/* By clocks that run alike, that is after the lease. */
				if (b.pace <= 109)
					assert_true(waited >= LEASE);
				tear_down(NULL);
			}
	assert_int_equal(count, 54);
	set_up(NULL);
}

static void test_a_short_pause_loses_nothing(void **state)
{
	struct machine *a = boot(0, "a"), *b = boot(1, "b");
	struct claim claim, other;

	(void)state;
	assert_int_equal(acquire(a, &claim), 0);
	for (int i = 0; i < 20; i++) {
		runner_simulated_pause(a->runner, LEASE / 2);
		pass_time(LEASE);
	}
	assert_int_equal(acquire(b, &other), -EBUSY);
	assert_int_equal(claims_check(a->claims, &claim, SECOND, NULL), 0);
	assert_int_equal(a->reports + b->reports, 0);
}

static void test_resigning_frees_at_once(void **state)
{
	struct machine *a = boot(0, "a"), *b = boot(1, "b");
	struct claim claim, other;

	(void)state;
	assert_int_equal(acquire(a, &claim), 0);
	assert_int_equal(claims_resign(a->claims, NULL), 0);
	assert_int_equal(claims_check(a->claims, &claim, 0, NULL), -ESTALE);
	assert_int_equal(acquire(a, &other), -ESTALE);
	pass_time(SECOND / 100);
	assert_int_equal(b->freed, 1);
	assert_int_equal(acquire(b, &other), 0);
	assert_true(other.epoch > claim.epoch);
	assert_int_equal(write_with(a, &claim), -ESTALE);
	assert_int_equal(claims_resign(a->claims, NULL), 0);
	/* It does not come back. */
	pass_time(3 * LEASE);
	assert_false(claims_has_lease(a->claims, NULL));
}

static void test_releasing_one_claim(void **state)
{
	struct machine *a = boot(0, "a"), *b = boot(1, "b");
	struct claim claim, kept, other;

	(void)state;
	assert_int_equal(acquire(a, &claim), 0);
	assert_int_equal(claims_acquire(a->claims, SPAN("toy/kept"), &kept, NULL), 0);
	assert_int_equal(claims_release(a->claims, &claim, NULL), 0);
	pass_time(SECOND / 100);
	assert_int_equal(b->freed, 1);
	assert_int_equal(acquire(b, &other), 0);
	assert_true(other.epoch > claim.epoch);
	assert_int_equal(write_with(a, &claim), -ESTALE);
	assert_int_equal(write_with(a, &kept), 0);
}

static int write_forget(struct store_transaction *transaction, void *context, struct err *err)
{
	return claims_forget(bench.machines[0].claims, transaction, context, err);
}

static void test_a_forgotten_claim_never_has_an_old_epoch(void **state)
{
	struct machine *a = boot(0, "a");
	struct claim claim, again;

	(void)state;
	assert_int_equal(acquire(a, &claim), 0);
	assert_int_equal(control_write(bench.runner, bench.store, write_forget, &claim, NULL, NULL),
		0);
	assert_int_equal(write_with(a, &claim), -ESTALE);
	assert_int_equal(acquire(a, &again), 0);
	assert_true(again.epoch > claim.epoch);
	assert_int_equal(control_write(bench.runner, bench.store, write_forget, &claim, NULL, NULL),
		-ESTALE);
}

static void test_a_restart_takes_its_own_over_at_once(void **state)
{
	struct machine *a = boot(0, "a"), *b = boot(1, "b");
	struct claim claim, again;

	(void)state;
	assert_int_equal(acquire(a, &claim), 0);
	crash(a);
	a = boot(0, "a");
	pass_time(SECOND / 100);
	assert_int_equal(a->freed, 1);
	assert_int_equal(b->freed, 1);
	assert_int_equal(acquire(a, &again), 0);
	assert_true(again.epoch > claim.epoch);
}

static void test_a_replaced_server_stays_down(void **state)
{
	struct machine *old = boot(0, "a"), *new;
	struct claim claim, other;

	(void)state;
	assert_int_equal(acquire(old, &claim), 0);
	new = boot(1, "a");
	assert_int_equal(claims_check(old->claims, &claim, 0, NULL), -ESTALE);
	assert_int_equal(acquire(new, &other), 0);
	assert_int_equal(write_with(old, &claim), -ESTALE);
	pass_time(5 * LEASE);
	assert_int_equal(acquire(old, &claim), -ESTALE);
	assert_non_null(strstr(old->report, "another server took the name 'a'"));
	assert_int_equal(old->reports, 1);
	assert_true(claims_has_lease(new->claims, NULL));
	assert_int_equal(new->reports, 0);
	assert_int_equal(claims_resign(old->claims, NULL), 0);
	assert_true(claims_has_lease(new->claims, NULL));
}

/* A copied state folder has the name of a server that may be alive. */
static void test_a_name_belongs_to_the_folder_that_renews_it(void **state)
{
	int64_t before_us;
	struct err err = {0};

	(void)state;
	assert_int_equal(try_boot(0, "a", "here", LEASE, false, NULL), 0);
	before_us = runner_now_us(bench.runner);
	assert_int_equal(try_boot(1, "a", "there", LEASE, false, &err), -EBUSY);
	assert_non_null(strstr(err.message, "with another state folder has the name 'a'"));
	assert_true(runner_now_us(bench.runner) - before_us <=
		    LEASE / 2); /* the next renewal shows it */
	crash(&bench.machines[1]);
	assert_true(claims_has_lease(bench.machines[0].claims, NULL));
	assert_int_equal(claims_require_lease(bench.machines[0].claims, NULL), 0);
	assert_int_equal(bench.machines[0].reports, 0);
	/* The same folder is a restart: at once. */
	crash(&bench.machines[0]);
	before_us = runner_now_us(bench.runner);
	assert_int_equal(try_boot(0, "a", "here", LEASE, false, NULL), 0);
	assert_true(runner_now_us(bench.runner) - before_us < SECOND / 100);
	/* Another one has the name when the lease is over, not before. */
	crash(&bench.machines[0]);
	before_us = runner_now_us(bench.runner);
	assert_int_equal(try_boot(1, "a", "there", LEASE, false, NULL), 0);
	assert_true(runner_now_us(bench.runner) - before_us >= LEASE);
	assert_true(runner_now_us(bench.runner) - before_us < 2 * LEASE);
	assert_true(claims_has_lease(bench.machines[1].claims, NULL));
}

static void test_a_server_without_its_lease_must_not_act(void **state)
{
	struct machine *a = boot(0, "a");

	(void)state;
	assert_false(claims_lost_lease(a->claims));
	bench.commits_fail = true;
	pass_time(2 * LEASE);
	assert_true(claims_lost_lease(a->claims));
	assert_int_equal(claims_require_lease(a->claims, NULL), -EAGAIN);
	bench.commits_fail = false;
	pass_time(LEASE);
	assert_false(claims_lost_lease(a->claims));
	/* One that resigned ends by itself and may still stop what it runs. */
	assert_int_equal(claims_resign(a->claims, NULL), 0);
	assert_false(claims_lost_lease(a->claims));
}

static void test_a_passive_server_takes_nothing(void **state)
{
	struct claim claim;

	(void)state;
	assert_int_equal(try_boot(0, "a", NULL, LEASE, true, NULL), 0);
	assert_int_equal(acquire(&bench.machines[0], &claim), -ESTALE);
	pass_time(5 * LEASE);
	assert_false(claims_has_lease(bench.machines[0].claims, NULL));
	boot(1, "a");
	assert_int_equal(acquire(&bench.machines[1], &claim), 0);
}

static void test_an_outage_stops_no_server(void **state)
{
	struct machine *a = boot(0, "a"), *b = boot(1, "b"), *c = boot(2, "c");
	struct claim claim, other, again;

	(void)state;
	assert_int_equal(acquire(a, &claim), 0);
	assert_int_equal(claims_acquire(b->claims, SPAN("toy/b"), &other, NULL), 0);
	for (int i = 0; i < 10; i++) {
		bench.commits_fail = true;
		pass_time(7 * LEASE);
		assert_int_equal(claims_check(a->claims, &claim, 0, NULL), -ESTALE);
		assert_int_equal(acquire(a, &again), -EAGAIN);
		bench.commits_fail = false;
		pass_time(LEASE);
	}
	assert_int_equal(claims_check(a->claims, &claim, 0, NULL), 0);
	assert_int_equal(claims_check(b->claims, &other, 0, NULL), 0);
	assert_int_equal(a->reports + b->reports + c->reports, 0);
	assert_int_equal(acquire(a, &again), 0);
	assert_int_equal(again.epoch, claim.epoch);
}

static void test_a_lone_server_keeps_its_claims(void **state)
{
	struct machine *a = boot(0, "a");
	struct claim claim;

	(void)state;
	assert_int_equal(acquire(a, &claim), 0);
	runner_simulated_pause(a->runner, 50 * LEASE);
	pass_time(51 * LEASE);
	/* No server declared it dead, so nothing moved. */
	assert_int_equal(claims_check(a->claims, &claim, 0, NULL), 0);
	assert_int_equal(write_with(a, &claim), 0);
}

static void test_orphans_are_reported_at_the_start(void **state)
{
	struct machine *a = boot(0, "a"), *b;
	struct claim claim;

	(void)state;
	assert_int_equal(acquire(a, &claim), 0);
	assert_int_equal(claims_resign(a->claims, NULL), 0);
	crash(a);
	b = boot(1, "b");
	pass_time(SECOND / 100);
	assert_int_equal(b->freed, 1);
	assert_string_equal(b->last_freed, "toy/web");
}

static void test_subscribers(void **state)
{
	struct machine *a = boot(0, "a"), *b = boot(1, "b");
	struct claim claim;

	(void)state;
	assert_int_equal(acquire(a, &claim), 0);
	pass_time(SECOND);
	claims_unsubscribe(b->claims, b);
	assert_int_equal(claims_release(a->claims, &claim, NULL), 0);
	pass_time(SECOND);
	assert_int_equal(b->freed, 0);
	/* A late subscriber gets the claims that are already free. */
	claims_subscribe(b->claims, SPAN("toy/"), note_freed, b);
	pass_time(SECOND);
	assert_int_equal(b->freed, 1);
	assert_string_equal(b->last_freed, "toy/web");
}

static void test_bad_settings(void **state)
{
	static const char *const names[] = {"", "a b", "a/b", "a\"b", "a\\b", "\xc3\xa4", "a\n"};
	struct claims_config config = {.runner = bench.runner, .store = bench.store};
	struct claims *claims = NULL;
	char long_name[CLAIMS_NAME_MAX + 2];
	struct err err;

	(void)state;
	for (size_t i = 0; i < LENGTH(names); i++) {
		config.server = names[i];
		assert_int_equal(claims_start(&config, &claims, &err), -EINVAL);
		assert_non_null(strstr(err.message, "server name"));
	}
	memset(long_name, 'x', sizeof(long_name) - 1);
	long_name[sizeof(long_name) - 1] = '\0';
	config.server = long_name;
	assert_int_equal(claims_start(&config, &claims, &err), -EINVAL);
	config.server = "a";
	config.lease_us = 5;
	assert_int_equal(claims_start(&config, &claims, &err), -EINVAL);
	assert_non_null(strstr(err.message, "too short"));
	config.lease_us = LEASE;
	bench.commits_fail = true;
	assert_int_equal(claims_start(&config, &claims, &err), -EIO);
	assert_non_null(strstr(err.message, "register server 'a'"));
	assert_null(claims);
}

/* The same on threads, in real time. */
static void test_threads_take_over(void **state)
{
	struct machine *a, *b;
	struct claim claim, other;
	int64_t deadline;
	int code;

	(void)state;
	open_bench(runner_threads_new(clock_system(), random_system()));
	deadline = runner_deadline_us(bench.runner, 60 * SECOND);
	a = boot_with(0, "a", 2 * SECOND);
	b = boot_with(1, "b", 2 * SECOND);
	do {
		code = acquire(a, &claim);
	} while (code == -EAGAIN && runner_now_us(bench.runner) < deadline);
	assert_int_equal(code, 0);
	crash(a);
	/* A thread that is late for a whole lease loses it for a moment, and with it the right to write. */
	do {
		while ((code = acquire(b, &other)) != 0 && runner_now_us(bench.runner) < deadline)
			pass_time(SECOND / 100);
		assert_int_equal(code, 0);
		assert_true(other.epoch > claim.epoch);
		code = write_with(b, &other);
	} while (code == -ESTALE && runner_now_us(bench.runner) < deadline);
	assert_int_equal(code, 0);
	tear_down(NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_one_owner),
		TEST(test_a_dead_owner_is_replaced_after_its_lease),
		TEST(test_a_paused_owner_learns_it_before_it_acts),
		TEST(test_77_heartbeats_fail_and_the_owner_goes_on),
		TEST(test_an_owner_that_is_silent),
		TEST(test_76_taken_over_after_the_lease_and_never_before),
		TEST(test_a_short_pause_loses_nothing),
		TEST(test_resigning_frees_at_once),
		TEST(test_releasing_one_claim),
		TEST(test_a_forgotten_claim_never_has_an_old_epoch),
		TEST(test_a_restart_takes_its_own_over_at_once),
		TEST(test_a_replaced_server_stays_down),
		TEST(test_a_name_belongs_to_the_folder_that_renews_it),
		TEST(test_a_server_without_its_lease_must_not_act),
		TEST(test_a_passive_server_takes_nothing),
		TEST(test_an_outage_stops_no_server),
		TEST(test_a_lone_server_keeps_its_claims),
		TEST(test_orphans_are_reported_at_the_start),
		TEST(test_subscribers),
		TEST(test_bad_settings),
		cmocka_unit_test(test_threads_take_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
