/*
 * Support for a remote runtime, beside the controllers: batches of observations, and metrics of
 * synchronization.
 */
#include <stdio.h>

#include "control/write_batch.h"
#include "ecs/task/sync_statistics.h"
#include "server/components.h"

#define MICROSECONDS 1000

int sync_open(struct server *server, struct err *err)
{
	struct write_batch_config config = {.runner = server->runner,
		.store = server->store,
		.size = (size_t)server->config->sync_batch_size,
		.delay_us = server->config->sync_batch_delay_ms * MICROSECONDS};

	return write_batch_new(&config, &server->batch, err);
}

void sync_close(struct server *server)
{
	write_batch_free(server->batch);
}

static void write_durations(const struct sync_statistics *statistics, struct buffer *out)
{
	metric_type(out, "sync_duration_seconds", "histogram",
		"Time taken to bring an object in line with the runtime");
	for (size_t i = 0; i < SYNC_RESOURCE_COUNT; i++) {
		const char *name = sync_resource_names[i];
		unsigned long long count = 0;

		for (size_t bucket = 0; bucket <= SYNC_BUCKETS; bucket++) {
			char bound[32] = "+Inf";

			if (bucket < SYNC_BUCKETS)
				snprintf(bound, sizeof(bound), "%g",
					(double)sync_bucket_us[bucket] / 1e6);
			count += atomic_load(&statistics->resources[i].buckets[bucket]);
			buffer_format(out,
				"slipway_sync_duration_seconds_bucket{resource_type=\"%s\",le=\"%"
				"s\"} "
				"%llu\n",
				name, bound, count);
		}
		buffer_format(out,
			"slipway_sync_duration_seconds_sum{resource_type=\"%s\"} %.6f\n"
			"slipway_sync_duration_seconds_count{resource_type=\"%s\"} %llu\n",
			name, (double)atomic_load(&statistics->resources[i].sum_us) / 1e6, name,
			count);
	}
}

static void write_errors(const struct sync_statistics *statistics, struct buffer *out)
{
	metric_head(out, "sync_errors_total", true,
		"Failures of that, by kind; each is tried again");
	for (size_t i = 0; i < SYNC_RESOURCE_COUNT; i++)
		for (size_t error = 0; error < SYNC_ERROR_COUNT; error++)
			buffer_format(out,
				"slipway_sync_errors_total{resource_type=\"%s\",error_type=\"%s\"} "
				"%llu\n",
				sync_resource_names[i], sync_error_names[error],
				(unsigned long long)
					atomic_load(&statistics->resources[i].errors[error]));
}

static void write_queues(struct server *server, struct buffer *out)
{
	struct {
		const char *name;
		struct controller *controller;
	} queues[] = {
		{"task", task_controller_controller(server->task_controller)},
		{"service", group_controller_controller(server->group_controller)},
	};
	struct controller_statistics statistics[LENGTH(queues)] = {0};

	for (size_t i = 0; i < LENGTH(queues); i++)
		if (queues[i].controller)
			controller_statistics(queues[i].controller, &statistics[i]);
	metric_head(out, "sync_queue_depth", false, "Objects that wait to be looked at");
	for (size_t i = 0; i < LENGTH(queues); i++)
		buffer_format(out, "slipway_sync_queue_depth{resource_type=\"%s\"} %zu\n",
			queues[i].name, statistics[i].queue.depth);
	metric_head(out, "sync_lag_seconds", false, "How long the oldest of them has waited");
	for (size_t i = 0; i < LENGTH(queues); i++)
		buffer_format(out, "slipway_sync_lag_seconds{resource_type=\"%s\"} %.6f\n",
			queues[i].name, (double)statistics[i].queue.oldest_wait_us / 1e6);
}

static void write_batches(struct server *server, struct buffer *out)
{
	struct write_batch_statistics batch;

	write_batch_statistics(server->batch, &batch);
	metric(out, "sync_batches_total", true, "Batches that were stored or tried", batch.batches);
	metric(out, "sync_batched_changes_total", true, "Changes in them", batch.writes);
	metric(out, "sync_batches_failed_total", true, "Batches that the store failed",
		batch.failed);
	metric(out, "sync_changes_late_total", true,
		"Changes that waited longer than sync.batchDelay to be stored", batch.late);
	metric(out, "sync_breaker_open", false,
		"1 if the store failed so often that nothing is sent to it for a while",
		batch.open);
}

void sync_write_metrics(struct server *server, struct buffer *out)
{
	if (!server->batch || !server->maintainer_runs)
		return;
	write_durations(&server->sync, out);
	write_errors(&server->sync, out);
	write_queues(server, out);
	write_batches(server, out);
}
