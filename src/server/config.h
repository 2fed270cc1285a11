/*
 * Configuration: one table of keys defines the file slipway.yaml, the flags of `slipway up`,
 * their checks, and docs/configuration.md. A flag wins over the file, the file over the
 * default. A key that is not in the table is rejected, with file, line and the nearest known name.
 */
#ifndef SERVER_CONFIG_H
#define SERVER_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "base/err.h"
#include "delivery/notice.h"
#include "pipeline/settings.h"

#define SERVER_REGION_MAX 32

struct aws_target_settings;

struct server_config {
	const char *listen;
	const char *state;
	const char *store;
	const char *account;
	const char *auth;
	bool ephemeral;
	bool adopt;
	const char *runtime;
	const char *docker_socket;
	const char *cluster;
	const char *region;
	int64_t instances;
	const char *kubernetes_kubeconfig;
	const char *kubernetes_context;
	const char *kubernetes_helper_image; /* NULL: slipway's own */
	const char *kubernetes_pull_policy;
	const char *kubernetes_pod_security;
	int64_t kubernetes_qps;
	int64_t kubernetes_burst;
	bool releases_enabled;
	const char *releases_proxy_image;
	const char *releases_namespace;       /* NULL: all */
	const char *releases_lease_namespace; /* NULL: the context's, or our pod's */
	int64_t releases_lease_ms;
	bool sync_enabled;
	int64_t sync_workers;
	int64_t sync_resync_ms;
	int64_t sync_batch_size;
	int64_t sync_batch_delay_ms;
	int64_t sync_qps;
	int64_t sync_burst;
	const char *sync_service_status;
	const char *sync_task_status;
	const char *secrets;
	int64_t task_processes_max;
	bool stop_tasks_on_exit;
	int64_t drain_seconds;
	const char *dns_listen; /* NULL after the check: off */
	const char *dns_domain;
	const char *dns_forward;
	int64_t dns_threads;
	const char *balancers_addresses;
	const char *balancers_certificates;
	int64_t balancers_workers;
	const char *audit_file;
	bool audit_reads;
	int64_t http_threads;
	int64_t http_body_max;
	int64_t http_connections_max;
	int64_t http_connections_per_address;
	const char *http_hosts; /* see request_origin.h */
	const char *http_origins;
	const char *metrics_access;
	const char *metrics_token_file; /* NULL: none */
	int64_t limits_reads_per_second;
	int64_t limits_writes_per_second;
	int64_t limits_environments;
	int64_t limits_environment_reads_per_second;
	int64_t limits_environment_writes_per_second;
	const char *log_level;
	const char *log_format;
	const char *tls_certificate;
	const char *tls_key;
	/* Remote ECS; see config_targets.h. */
	const struct aws_target_settings *targets;
	size_t target_count;
	struct webhook_set webhooks;        /* see config_webhooks.h */
	struct pipeline_settings pipelines; /* see config_metrics.h */
};

/* Defaults; the strings are literals. */
void server_config_init(struct server_config *config);
/* Reads slipway.yaml over existing values. Messages begin "FILE:LINE: ". Strings: in the arena. */
int server_config_read(struct server_config *config, const char *path, struct arena *arena,
	struct err *err);
/* Sets a key by the name of its flag without the dashes ("listen"). -ENOENT: no such flag. value NULL:
 * the flag came alone, which only true/false keys allow. */
int server_config_set_flag(struct server_config *config, const char *flag, const char *value,
	struct arena *arena, struct err *err);
/* Does the flag stand alone (true/false)? False too for flags that do not exist. */
bool server_config_flag_is_bool(const char *flag);
/* Checks that need the whole configuration: a key without certificate, auth none on a public
 * address, … Fills in the state folder when none is given. */
int server_config_check(struct server_config *config, struct arena *arena, struct err *err);

/* "ADDR:PORT" or "[ADDR]:PORT" taken apart. key: what messages call it ("listen"). */
int server_config_split_address(const char *key, const char *text, struct arena *arena,
	const char **ret_address, uint16_t *ret_port, struct err *err);
int server_config_split_listen(const char *listen, struct arena *arena, const char **ret_address,
	uint16_t *ret_port, struct err *err);
/* Regions become parts of keys and ARNs, so only what regions are made of may pass. */
bool server_region_is_valid(struct span region);

/* For people: the flags as help text, and every key as a documented slipway.yaml and as Markdown. */
void server_config_write_flags(struct buffer *out);
void server_config_write_yaml(struct buffer *out);
void server_config_write_markdown(struct buffer *out);

#endif
