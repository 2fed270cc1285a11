#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/memory.h"
#include "ecs/definition/task_size.h"

struct size {
	const char *text;
	int64_t value; /* -1: refused */
};

static void reads_cpu(void **state)
{
	static const struct size sizes[] = {
		{"256", 256},
		{"0", 0},
		{"1024", 1024},
		{"0.25 vCPU", 256},
		{".5vcpu", 512},
		{"1 vCPU", 1024},
		{"1.5 VCPU", 1536},
		{"16 vCPU", 16384},
		{"0.125vCPU", 128},
		{"1. vCPU", 1024},
		{"1   vCPU", 1024},
		{"2.500 vCPU", 2560},
		{"", -1},
		{" 256", -1},
		{"256 ", -1},
		{"-256", -1},
		{"+1", -1},
		{"1.5", -1},
		{".", -1},
		{"vCPU", -1},
		{". vCPU", -1},
		{"1 GB", -1},
		{"1 vCPUs", -1},
		{"1e3", -1},
		{"0x10", -1},
		{"9999999999", -1},
		{"9999999999 vCPU", -1},
		{"0.0001 vCPU", -1},
		{"1,5 vCPU", -1},
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(sizes); i++) {
		int64_t value = -1;
		bool read = task_size_read_cpu(span_of(sizes[i].text), &value);

		if (read != (sizes[i].value >= 0) || value != sizes[i].value)
			fail_msg("'%s': %lld", sizes[i].text, (long long)value);
	}
	assert_false(task_size_read_cpu(SPAN_NONE, &(int64_t){0}));
}

static void reads_memory(void **state)
{
	static const struct size sizes[] = {
		{"512", 512},
		{"0.5GB", 512},
		{"2 GB", 2048},
		{"30 gb", 30720},
		{".25 GB", 256},
		{"1 vCPU", -1},
		{"1 MB", -1},
		{"1 GiB", -1},
		{"GB", -1},
		{"1GB2", -1},
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(sizes); i++) {
		int64_t value = -1;
		bool read = task_size_read_memory(span_of(sizes[i].text), &value);

		if (read != (sizes[i].value >= 0) || value != sizes[i].value)
			fail_msg("'%s': %lld", sizes[i].text, (long long)value);
	}
}

/* All that there are, counted: whatever is not in this table is not a size of Fargate. */
static void knows_the_sizes_of_fargate(void **state)
{
	static const struct {
		int64_t cpu, least, most, step;
		int count;
	} rows[] = {
		{256, 512, 2048, 512, 3},
		{512, 1024, 4096, 1024, 4},
		{1024, 2048, 8192, 1024, 7},
		{2048, 4096, 16384, 1024, 13},
		{4096, 8192, 30720, 1024, 23},
		{8192, 16384, 61440, 4096, 12},
		{16384, 32768, 122880, 8192, 12},
	};
	int all = 0;

	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++) {
		int found = 0;

		for (int64_t memory = 0; memory <= 131072; memory++) {
			bool is = task_size_is_fargate(rows[i].cpu, memory);

			found += is;
			assert_false(is && (memory < rows[i].least || memory > rows[i].most ||
						   memory % rows[i].step != 0));
		}
		assert_int_equal(found, rows[i].count);
		assert_true(task_size_is_fargate(rows[i].cpu, rows[i].least));
		assert_true(task_size_is_fargate(rows[i].cpu, rows[i].most));
		all += rows[i].count;
	}
	for (int64_t cpu = 0; cpu <= 32768; cpu += 64)
		for (int64_t memory = 0; memory <= 131072; memory += 256)
			all -= task_size_is_fargate(cpu, memory);
	assert_int_equal(all, 0);
	assert_false(task_size_is_fargate(256, 1536));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_cpu),
		cmocka_unit_test(reads_memory),
		cmocka_unit_test(knows_the_sizes_of_fargate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
