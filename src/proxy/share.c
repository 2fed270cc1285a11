#include "proxy/share.h"

#define NUMBER_BITS 48
#define NUMBER_MASK ((UINT64_C(1) << NUMBER_BITS) - 1)
#define GENERATION_MASK 0xffffu
#define GENERATION_BEING_WRITTEN UINT32_MAX

static uint32_t read_relaxed(const _Atomic uint32_t *word)
{
	return atomic_load_explicit(word, memory_order_relaxed);
}

static void write_relaxed(_Atomic uint32_t *word, uint32_t value)
{
	atomic_store_explicit(word, value, memory_order_relaxed);
}

static struct share_table *table_of(struct share *share, uint32_t generation)
{
	return &share->tables[generation % SHARE_TABLES];
}

/* How often a level was picked before number n, and what is left over. */
static uint64_t steps(uint64_t n, uint32_t weight, uint32_t phase, uint32_t sum,
	uint32_t *ret_remainder)
{
	if (n <= UINT64_MAX >> 22) { /* n * weight + phase fits */
		uint64_t value = n * weight + phase;

		*ret_remainder = (uint32_t)(value % sum);
		return value / sum;
	} else {
		unsigned __int128 value = (unsigned __int128)n * weight + phase;

		*ret_remainder = (uint32_t)(value % sum);
		return (uint64_t)(value / sum);
	}
}

static uint32_t route_of_number(const struct share_table *table, uint64_t n)
{
	uint32_t count = read_relaxed(&table->count);

	for (uint32_t i = 0; i < count && i < SHARE_ROUTES_MAX; i++) {
		const struct share_level *level = &table->levels[i];
		uint32_t weight = read_relaxed(&level->weight);
		uint32_t sum = read_relaxed(&level->sum);
		uint32_t remainder;

		if (weight == 0 || sum == 0)
			continue;
		if (weight == sum)
			return read_relaxed(&level->key);
		n -= steps(n, weight, read_relaxed(&level->phase), sum, &remainder);
		if (remainder >= sum - weight) /* the next number steps over */
			return read_relaxed(&level->key);
	}
	return SHARE_NONE;
}

uint32_t share_draw(struct share *share)
{
	for (;;) {
		uint64_t ticket =
			atomic_fetch_add_explicit(&share->ticket, 1, memory_order_acquire);
		uint32_t generation = (uint32_t)(ticket >> NUMBER_BITS);
		struct share_table *table = table_of(share, generation);
		uint32_t key = route_of_number(table, ticket & NUMBER_MASK);

		atomic_thread_fence(memory_order_acquire);
		if (read_relaxed(&table->generation) == generation)
			return key;
	}
}

/* A copy of the table that is in force. */
static uint32_t read_table(struct share *share, struct share_table *out)
{
	for (;;) {
		uint64_t ticket = atomic_load_explicit(&share->ticket, memory_order_acquire);
		uint32_t generation = (uint32_t)(ticket >> NUMBER_BITS);
		struct share_table *table = table_of(share, generation);

		write_relaxed(&out->count, read_relaxed(&table->count));
		for (size_t i = 0; i < SHARE_ROUTES_MAX; i++) {
			write_relaxed(&out->levels[i].key, read_relaxed(&table->levels[i].key));
			write_relaxed(&out->levels[i].weight,
				read_relaxed(&table->levels[i].weight));
			write_relaxed(&out->levels[i].sum, read_relaxed(&table->levels[i].sum));
		}
		atomic_thread_fence(memory_order_acquire);
		if (read_relaxed(&table->generation) == generation &&
			read_relaxed(&out->count) <= SHARE_ROUTES_MAX)
			return generation;
	}
}

size_t share_get(struct share *share, struct share_route out[SHARE_ROUTES_MAX])
{
	struct share_table table;
	size_t count;

	read_table(share, &table);
	count = read_relaxed(&table.count);
	for (size_t i = 0; i < count; i++) {
		out[i].key = read_relaxed(&table.levels[i].key);
		out[i].weight = read_relaxed(&table.levels[i].weight);
	}
	return count;
}

uint32_t share_of_hash(struct share *share, uint64_t hash)
{
	struct share_route routes[SHARE_ROUTES_MAX];
	size_t count = share_get(share, routes);
	uint64_t sum = 0, point;

	for (size_t i = 0; i < count; i++)
		sum += routes[i].weight;
	if (sum == 0)
		return SHARE_NONE;
	point = (uint64_t)(((unsigned __int128)hash * sum) >> 64);
	for (size_t i = 0; i < count; i++) {
		if (point < routes[i].weight)
			return routes[i].key;
		point -= routes[i].weight;
	}
	return SHARE_NONE;
}

/* The remainder of a key's level after `number` draws, as a fraction of 2^32. */
static bool part_in_hand(const struct share_table *table, uint64_t number, uint32_t key,
	uint64_t *ret_part)
{
	uint32_t count = read_relaxed(&table->count);

	for (uint32_t i = 0; i < count; i++) {
		const struct share_level *level = &table->levels[i];
		uint32_t sum = read_relaxed(&level->sum), phase = read_relaxed(&level->phase);
		uint32_t remainder = phase;
		uint64_t picked;

		if (sum > 0) {
			picked =
				steps(number, read_relaxed(&level->weight), phase, sum, &remainder);
			number -= picked;
		}
		if (read_relaxed(&level->key) != key)
			continue;
		if (sum == 0)
			return false;
		*ret_part = ((uint64_t)remainder << 32) / sum;
		return true;
	}
	return false;
}

void share_set(struct share *share, const struct share_route *routes, size_t count)
{
	struct share_route now[SHARE_ROUTES_MAX];
	uint64_t ticket, next_ticket;
	bool same = share_get(share, now) == count;

	for (size_t i = 0; same && i < count; i++)
		same = now[i].key == routes[i].key && now[i].weight == routes[i].weight;
	if (same)
		return;
	/* The phases depend on the number of draws at the moment of the change, so they are
	 * computed again when a draw happens meanwhile. The next table is not read before that. */
	ticket = atomic_load(&share->ticket);
	do {
		uint32_t generation = (uint32_t)(ticket >> NUMBER_BITS);
		uint32_t next = (generation + 1) & GENERATION_MASK;
		const struct share_table *old = table_of(share, generation);
		struct share_table *table = table_of(share, next);
		uint32_t sum = 0;

		write_relaxed(&table->generation, GENERATION_BEING_WRITTEN);
		atomic_thread_fence(memory_order_release);
		write_relaxed(&table->count, (uint32_t)count);
		for (size_t i = count; i-- > 0;) {
			struct share_level *level = &table->levels[i];
			uint64_t part, phase;

			sum += routes[i].weight;
			/* The larger share goes first. */
			phase = sum > 0 ? sum - 1 : 0;
			if (sum > 0 &&
				part_in_hand(old, ticket & NUMBER_MASK, routes[i].key, &part)) {
				phase = (part * sum + (UINT64_C(1) << 31)) >> 32;
				if (phase >= sum)
					phase = sum - 1;
			}
			write_relaxed(&level->key, routes[i].key);
			write_relaxed(&level->weight, routes[i].weight);
			write_relaxed(&level->sum, sum);
			write_relaxed(&level->phase, (uint32_t)phase);
		}
		atomic_store_explicit(&table->generation, next, memory_order_release);
		next_ticket = (uint64_t)next << NUMBER_BITS;
	} while (!atomic_compare_exchange_weak(&share->ticket, &ticket, next_ticket));
}
