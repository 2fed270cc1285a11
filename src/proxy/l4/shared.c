#include "proxy/l4/shared.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/memory.h"

static int map(int descriptor, struct l4_shared **ret_shared, struct err *err)
{
	void *memory = mmap(NULL, sizeof(struct l4_shared), PROT_READ | PROT_WRITE, MAP_SHARED,
		descriptor, 0);

	if (memory == MAP_FAILED)
		return err_errno(err, "map the memory of the data plane");
	*ret_shared = memory;
	return 0;
}

int l4_shared_create(int *ret_descriptor, struct l4_shared **ret_shared, struct err *err)
{
	_close_ int descriptor = memfd_create("slipway-proxy", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	struct l4_shared *shared;
	int code;

	if (descriptor < 0)
		return err_errno(err, "make the memory of the data plane");
	if (ftruncate(descriptor, sizeof(struct l4_shared)) < 0)
		return err_errno(err, "size the memory of the data plane");
	/* No process can shrink it and make the others fault. */
	if (fcntl(descriptor, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) < 0)
		return err_errno(err, "seal the memory of the data plane");
	code = map(descriptor, &shared, err);
	if (code < 0)
		return code;
	shared->format = L4_SHARED_FORMAT;
	shared->size_check = (uint32_t)sizeof(*shared);
	*ret_descriptor = TAKE_FD(descriptor);
	*ret_shared = shared;
	return 0;
}

int l4_shared_map(int descriptor, struct l4_shared **ret_shared, struct err *err)
{
	struct stat status;
	struct l4_shared *shared;
	int code;

	if (fstat(descriptor, &status) < 0)
		return err_errno(err, "look at the memory of the data plane");
	if (status.st_size != (off_t)sizeof(struct l4_shared))
		return err_set(err, -EPROTO, "the memory of the data plane has %lld bytes, not %zu",
			(long long)status.st_size, sizeof(struct l4_shared));
	code = map(descriptor, &shared, err);
	if (code < 0)
		return code;
	if (shared->format != L4_SHARED_FORMAT || shared->size_check != (uint32_t)sizeof(*shared)) {
		l4_shared_unmap(shared);
		return err_set(err, -EPROTO, "the memory of the data plane has another format");
	}
	*ret_shared = shared;
	return 0;
}

void l4_shared_unmap(struct l4_shared *shared)
{
	if (shared)
		munmap(shared, sizeof(*shared));
}

uint64_t l4_active(const struct l4_counters *counters)
{
	uint64_t active = 0;

	for (size_t i = 0; i < L4_WORKER_SLOTS; i++)
		active += atomic_load_explicit(&counters->active[i], memory_order_relaxed);
	return active;
}

void l4_forget_worker(struct l4_shared *shared, unsigned worker_slot)
{
	for (size_t i = 0; i < atomic_load(&shared->listeners_used); i++) {
		struct l4_listener *listener = &shared->listeners[i];

		atomic_store(&listener->counters.active[worker_slot], 0);
		for (size_t k = 0; k < L4_ROUTE_SLOTS; k++)
			atomic_store(&listener->routes[k].counters.active[worker_slot], 0);
	}
	for (size_t i = 0; i < atomic_load(&shared->groups_used); i++)
		atomic_store(&shared->groups[i].counters.active[worker_slot], 0);
	for (size_t i = 0; i < atomic_load(&shared->targets_used); i++)
		atomic_store(&shared->targets[i].counters.active[worker_slot], 0);
}

/* ---- the active targets of a group ---- */

/* The active targets of a group: how many, and the one at an index (L4_NO_SLOT beyond). */
static uint32_t l4_group_count(const struct l4_group *group)
{
	uint32_t version = atomic_load_explicit(&group->version, memory_order_acquire);

	return atomic_load_explicit(&group->lists[version & 1].count, memory_order_relaxed);
}

static uint32_t l4_group_at(const struct l4_group *group, uint32_t index)
{
	for (;;) {
		uint32_t version = atomic_load_explicit(&group->version, memory_order_acquire);
		uint32_t count = atomic_load_explicit(&group->lists[version & 1].count,
			memory_order_relaxed);
		uint32_t slot = L4_NO_SLOT;

		if (index < count && index < PROXY_GROUP_TARGETS_MAX)
			slot = atomic_load_explicit(&group->lists[version & 1].targets[index],
				memory_order_relaxed);
		atomic_thread_fence(memory_order_acquire);
		if (atomic_load_explicit(&group->version, memory_order_relaxed) == version)
			return slot < PROXY_TARGETS_MAX ? slot : L4_NO_SLOT;
	}
}

static bool was_tried(uint32_t slot, const struct l4_turn *turn)
{
	for (size_t i = 0; i < turn->tried_count; i++) {
		if (turn->tried[i] == slot)
			return true;
	}
	return false;
}

static uint64_t mix(uint64_t value)
{
	value ^= value >> 30;
	value *= UINT64_C(0xbf58476d1ce4e5b9);
	value ^= value >> 27;
	value *= UINT64_C(0x94d049bb133111eb);
	return value ^ (value >> 31);
}

static bool is_warm(const struct l4_group *group, int64_t now_us)
{
	return now_us >= atomic_load_explicit(&group->warm_at_us, memory_order_relaxed);
}

#define FULL_PART 65536u

/* The current fraction of a target's full share. */
static uint32_t warm_part(const struct l4_group *group, const struct l4_target *target,
	int64_t now_us)
{
	int64_t from = atomic_load_explicit(&target->warm_from_us, memory_order_relaxed);
	int64_t length =
		(int64_t)atomic_load_explicit(&group->slow_start_ms, memory_order_relaxed) * 1000;

	if (from == 0 || now_us - from >= length)
		return FULL_PART;
	return now_us <= from ? 0 : (uint32_t)((now_us - from) * FULL_PART / length);
}

/* Whether it takes this turn. Fractions of turns add up, so it is exact at any rate. */
static bool takes_turn(const struct l4_group *group, struct l4_target *target, int64_t now_us)
{
	uint32_t part = warm_part(group, target, now_us);
	uint32_t credit;

	if (part == FULL_PART)
		return true;
	credit = atomic_fetch_add_explicit(&target->warm_credit, part, memory_order_relaxed);
	return (credit & (FULL_PART - 1)) + part >= FULL_PART;
}

static uint32_t next_in_turn(struct l4_shared *shared, struct l4_group *group, uint32_t count,
	const struct l4_turn *turn)
{
	/* Only first attempts take turns: if retries did, each client could start with a dead
	 * target. */
	bool first_try = turn->tried_count == 0;
	bool warm = is_warm(group, turn->now_us);
	uint32_t at = atomic_load_explicit(&group->cursor, memory_order_relaxed);
	uint32_t last = L4_NO_SLOT;

	/* One more than was tried is enough to find an untried one, if none passes its turn on; a
	 * target that does leaves it to the next turn, so that all others gain alike. */
	for (uint32_t i = 0; i < count && (!warm || i <= turn->tried_count); i++) {
		uint32_t slot;

		if (first_try)
			at = atomic_fetch_add_explicit(&group->cursor, 1, memory_order_relaxed);
		slot = l4_group_at(group, (first_try ? at : at + i) % count);
		if (slot == L4_NO_SLOT || was_tried(slot, turn))
			continue;
		if (warm || takes_turn(group, &shared->targets[slot], turn->now_us))
			return slot;
		last = slot;
	}
	return last;
}

/* The highest hash wins, so an added or removed target moves only its own clients; and a rising
 * target gets more and more of its future clients. */
static uint32_t next_of_hash(struct l4_shared *shared, struct l4_group *group, uint32_t count,
	const struct l4_turn *turn)
{
	bool warm = is_warm(group, turn->now_us);
	uint32_t best = L4_NO_SLOT;
	uint64_t best_number = 0;
	bool best_takes = false;

	for (uint32_t i = 0; i < count; i++) {
		uint32_t slot = l4_group_at(group, i);
		uint64_t number = mix(turn->hash ^ mix(slot + UINT64_C(1)));
		bool takes;

		if (slot == L4_NO_SLOT || was_tried(slot, turn))
			continue;
		takes = warm || mix(number) % FULL_PART <
					warm_part(group, &shared->targets[slot], turn->now_us);
		if (best == L4_NO_SLOT || takes > best_takes ||
			(takes == best_takes && number > best_number)) {
			best = slot;
			best_number = number;
			best_takes = takes;
		}
	}
	return best;
}

uint32_t l4_group_next(struct l4_shared *shared, struct l4_group *group, const struct l4_turn *turn)
{
	for (;;) {
		uint32_t version = atomic_load_explicit(&group->version, memory_order_acquire);
		uint32_t count = l4_group_count(group);
		uint32_t slot = L4_NO_SLOT;

		if (count > 0)
			slot = turn->hash ? next_of_hash(shared, group, count, turn)
					  : next_in_turn(shared, group, count, turn);
		/* A list that got shorter meanwhile has another target here. */
		if (slot != L4_NO_SLOT ||
			atomic_load_explicit(&group->version, memory_order_acquire) == version)
			return slot;
	}
}

void l4_group_publish(struct l4_group *group, const uint32_t *targets, uint32_t count)
{
	uint32_t version = atomic_load(&group->version);
	uint32_t next = (version + 1) & 1;
	bool same = atomic_load(&group->lists[version & 1].count) == count;

	for (uint32_t i = 0; same && i < count; i++)
		same = atomic_load(&group->lists[version & 1].targets[i]) == targets[i];
	if (same)
		return;
	atomic_thread_fence(memory_order_release);
	for (uint32_t i = 0; i < count; i++)
		atomic_store_explicit(&group->lists[next].targets[i], targets[i],
			memory_order_relaxed);
	atomic_store_explicit(&group->lists[next].count, count, memory_order_relaxed);
	atomic_store_explicit(&group->version, version + 1, memory_order_release);
}
