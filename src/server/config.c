/* The table of keys and everything that is read off it; see config.h. */
#include "server/config.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "aws/caller.h"
#include "aws/region.h"
#include "base/file.h"
#include "base/yaml.h"
#include "ecs/record/name.h"
#include "io/dns_message.h"
#include "proxy/l4/l4.h"
#include "runtime/docker/docker.h"
#include "server/config_metrics.h"
#include "server/config_targets.h"
#include "server/config_value.h"
#include "server/config_webhooks.h"
#include "server/request_origin.h"

#define INSTANCES_MAX 1000 /* that share a machine */
#define FLAG_COLUMN 27     /* where the text of a flag begins in help */
#define FLAG_WIDTH 80
#define CONFIG_FILE_MAX ((size_t)1024 * 1024)

enum value_type { VALUE_TEXT, VALUE_BOOL, VALUE_INTEGER, VALUE_CHOICE, VALUE_DURATION };

static const struct key {
	const char *path; /* "tls.certificate" */
	const char *flag; /* of `slipway up`, NULL: only in the file */
	enum value_type type;
	size_t offset;
	const char *choices;   /* of VALUE_CHOICE: "a|b" */
	int64_t least, most;   /* of VALUE_INTEGER, and of VALUE_DURATION in milliseconds */
	const char *otherwise; /* the default, as one would write it; "": none */
	const char *argument;  /* in help */
	const char *help;
} keys[] = {
#define OFFSET(member) offsetof(struct server_config, member)
	{"listen", "listen", VALUE_TEXT, OFFSET(listen), NULL, 0, 0, "127.0.0.1:4780", "ADDR:PORT",
		"Address and port of the API. Port 0 takes a free one."},
	{"state", "state", VALUE_TEXT, OFFSET(state), NULL, 0, 0, "", "DIR",
		"Folder for the embedded store, the keys and the audit log. Without it: "
		"/var/lib/slipway for "
		"root, $XDG_STATE_HOME/slipway or ~/.local/state/slipway for others."},
	{"store", "store", VALUE_TEXT, OFFSET(store), NULL, 0, 0, "", "URL",
		"Where objects are kept: sqlite:PATH, postgresql://... or memory:. Without it: the "
		"file "
		"slipway.db in the state folder."},
	{"account", "account", VALUE_TEXT, OFFSET(account), NULL, 0, 0, AWS_ACCOUNT_DEFAULT,
		"ACCOUNT",
		"Account (twelve digits) of the admin key, and of every request with auth none."},
	{"auth", "auth", VALUE_CHOICE, OFFSET(auth), "signature|none", 0, 0, "signature", "HOW",
		"signature: requests must be signed (AWS Signature Version 4) with a key that "
		"slipway knows. "
		"none: everybody may do everything; refused on addresses other than loopback."},
	{"ephemeral", "ephemeral", VALUE_BOOL, OFFSET(ephemeral), NULL, 0, 0, "false", NULL,
		"Keep everything in memory, forget it at the end, and answer POST /_slipway/reset. "
		"For test "
		"suites."},
	{"adopt", "adopt", VALUE_BOOL, OFFSET(adopt), NULL, 0, 0, "false", NULL,
		"Take over the tasks of a state folder that was copied, or moved from another "
		"machine "
		"or path. For one start; without it such a folder's tasks are left alone."},
	{"runtime", "runtime", VALUE_CHOICE, OFFSET(runtime),
		"process|docker|kubernetes|simulated|none", 0, 0, "process", "NAME",
		"What tasks run in. process: programs of this machine (image \"host\"), which go "
		"on "
		"when slipway ends. docker: containers of a Docker Engine, which do, too. "
		"kubernetes: pods of a Kubernetes cluster; its nodes are the "
		"container instances. simulated: nothing really runs; for trying things out. none: "
		"only instances with agents of their own."},
	{"docker.socket", "docker-socket", VALUE_TEXT, OFFSET(docker_socket), NULL, 0, 0,
		RUNTIME_DOCKER_SOCKET, "PATH",
		"Unix socket of the Docker Engine, or of Podman, for the runtime docker."},
	{"cluster", "cluster", VALUE_TEXT, OFFSET(cluster), NULL, 0, 0, "default", "NAME",
		"Cluster that this machine joins as a container instance; made when missing."},
	{"region", "region", VALUE_TEXT, OFFSET(region), NULL, 0, 0, AWS_REGION_DEFAULT, "REGION",
		"Region of that cluster. Requests see the region that they are signed for."},
	{"instances", "instances", VALUE_INTEGER, OFFSET(instances), NULL, 1, 100000, "1", "N",
		"Container instances that share this machine's resources evenly, at most 1000; "
		"simulated ones 100000."},
	{"kubernetes.kubeconfig", "kubeconfig", VALUE_TEXT, OFFSET(kubernetes_kubeconfig), NULL, 0,
		0, "", "FILE",
		"How to reach the Kubernetes cluster. Without it: $KUBECONFIG, then "
		"~/.kube/config, "
		"then the service account of the pod that slipway runs in."},
	{"kubernetes.context", "context", VALUE_TEXT, OFFSET(kubernetes_context), NULL, 0, 0, "",
		"NAME",
		"Context of the kubeconfig to use. Without it: the one that it calls current."},
	{"kubernetes.helperImage", NULL, VALUE_TEXT, OFFSET(kubernetes_helper_image), NULL, 0, 0,
		"", NULL,
		"Image with slipway-pod, which an init container brings into pods that wait for "
		"each other's health or are held while traffic leaves. Without it: "
		"slipway:VERSION."},
	{"kubernetes.imagePullPolicy", NULL, VALUE_CHOICE, OFFSET(kubernetes_pull_policy),
		"IfNotPresent|Always|Never", 0, 0, "IfNotPresent", NULL,
		"When nodes pull the images of containers."},
	{"kubernetes.podSecurity", NULL, VALUE_CHOICE, OFFSET(kubernetes_pod_security),
		"none|restricted", 0, 0, "none", NULL,
		"restricted: pods fit the Pod Security Standard of that name, and tasks that "
		"cannot are "
		"rejected."},
	{"kubernetes.rateLimit.qps", NULL, VALUE_INTEGER, OFFSET(kubernetes_qps), NULL, 1, 10000,
		"500", NULL, "Calls per second to the API server of Kubernetes."},
	{"kubernetes.rateLimit.burst", NULL, VALUE_INTEGER, OFFSET(kubernetes_burst), NULL, 1,
		10000, "1000", NULL, "How many of those may come at once."},
	{"releases.enabled", "releases", VALUE_BOOL, OFFSET(releases_enabled), NULL, 0, 0, "false",
		NULL,
		"Run the controllers of Releases and CanaryReleases on that Kubernetes cluster, "
		"with "
		"any runtime. "
		"'slipway canary install' installs the resource definitions first."},
	{"releases.proxyImage", NULL, VALUE_TEXT, OFFSET(releases_proxy_image), NULL, 0, 0, "",
		NULL,
		"Image of the proxies of CanaryReleases: slipway's own. Without it: "
		"slipway:VERSION."},
	{"releases.namespace", NULL, VALUE_TEXT, OFFSET(releases_namespace), NULL, 0, 0, "", NULL,
		"Only Releases of this Kubernetes namespace. Without it: of all."},
	{"releases.leaseDuration", NULL, VALUE_DURATION, OFFSET(releases_lease_ms), NULL, 2000,
		300000, "15s", NULL,
		"When another server takes the Lease slipway-releases of one that does not renew "
		"it: "
		"15s, 1m."},
	{"releases.leaseNamespace", NULL, VALUE_TEXT, OFFSET(releases_lease_namespace), NULL, 0, 0,
		"", NULL,
		"Namespace of the Lease slipway-releases, by which one of several servers runs "
		"these "
		"controllers. Without it: that of the kubeconfig's context, or of the pod that "
		"slipway "
		"runs in."},
	{"sync.enabled", NULL, VALUE_BOOL, OFFSET(sync_enabled), NULL, 0, 0, "true", NULL,
		"Follow every change of the Kubernetes cluster. false: compare with it every "
		"resyncPeriod only."},
	{"sync.workers", NULL, VALUE_INTEGER, OFFSET(sync_workers), NULL, 1, 64, "4", NULL,
		"Threads that bring ECS objects in line with the Kubernetes cluster."},
	{"sync.resyncPeriod", NULL, VALUE_DURATION, OFFSET(sync_resync_ms), NULL, 1000, 86400000,
		"5m", NULL,
		"How often everything is compared, in case a notice was lost: 30s, 5m, 1h."},
	{"sync.batchSize", NULL, VALUE_INTEGER, OFFSET(sync_batch_size), NULL, 1, 1000, "100", NULL,
		"Most changes that are stored together."},
	{"sync.batchDelay", NULL, VALUE_DURATION, OFFSET(sync_batch_delay_ms), NULL, 0, 60000, "2s",
		NULL,
		"Longest time that a change should wait to be stored with others; nothing waits "
		"while the store is idle. Later ones are counted "
		"(slipway_sync_changes_late_total). "
		"0s: none is."},
	{"sync.rateLimit.qps", NULL, VALUE_INTEGER, OFFSET(sync_qps), NULL, 1, 10000, "10", NULL,
		"Changes per second that are tried again after a failure."},
	{"sync.rateLimit.burst", NULL, VALUE_INTEGER, OFFSET(sync_burst), NULL, 1, 10000, "20",
		NULL, "How many of those may come at once."},
	{"sync.serviceStatus", NULL, VALUE_CHOICE, OFFSET(sync_service_status), "ecs|kubernetes", 0,
		0, "ecs", NULL,
		"ecs: services on Kubernetes are ACTIVE, DRAINING or INACTIVE, as those of AWS. "
		"kubernetes: their status says how far the Deployment is (PROVISIONING, UPDATING, "
		"FAILED, …), which waiters of AWS clients do not understand."},
	{"sync.taskStatus", NULL, VALUE_CHOICE, OFFSET(sync_task_status), "ecs|kubernetes", 0, 0,
		"ecs", NULL,
		"ecs: a task is STOPPED when that is known, and its times are when that happened. "
		"kubernetes: a task on a node that is lost is STOPPED, one that is not ready is "
		"ACTIVATING again, it started when its pod was made, and stopped at the time that "
		"its "
		"deletion has."},
	{"secrets", "secrets", VALUE_TEXT, OFFSET(secrets), NULL, 0, 0, "", "DIR",
		"Folder with one file for each secret that task definitions name in valueFrom."},
	{"pipelines.scripts", "pipeline-scripts", VALUE_BOOL, OFFSET(pipelines.allows_scripts),
		NULL, 0, 0, "false", NULL,
		"Run the commands of applications on this machine, as the user of slipway: "
		"SCRIPT_RUN stages, and commands of ANALYSIS stages. Every user that may sync an "
		"application may then run commands."},
	{"pipelines.repositories", "repositories", VALUE_TEXT, OFFSET(pipelines.repositories), NULL,
		0, 0, "", "URL,...",
		"Repositories that applications may come from: beginnings of URLs, separated by "
		"commas (https://git.example.com/team, git@git.example.com:team, /srv/git). "
		"Without it: any, but no local paths."},
	{"pipelines.gitConfiguration", NULL, VALUE_TEXT, OFFSET(pipelines.git_configuration), NULL,
		0, 0, "", NULL,
		"A file with configuration for git: credential helpers, proxies, authorities. git "
		"reads no other one. ssh uses the keys and known hosts of the user that slipway "
		"runs as."},
	{"pipelines.pollInterval", "poll-interval", VALUE_DURATION, OFFSET(pipelines.poll_ms), NULL,
		100, 86400000, "30s", "DURATION",
		"How often the branches of repositories are polled."},
	{"tasks.processesMax", NULL, VALUE_INTEGER, OFFSET(task_processes_max), NULL, 0, 4194304,
		"4096", NULL,
		"Processes and threads that a task of the process runtime may have. 0: no limit."},
	{"stopTasksOnExit", "stop-tasks-on-exit", VALUE_BOOL, OFFSET(stop_tasks_on_exit), NULL, 0,
		0, "false", NULL,
		"Stop all tasks of this machine when slipway ends. Always so with ephemeral."},
	{"drainSeconds", NULL, VALUE_INTEGER, OFFSET(drain_seconds), NULL, 0, 3600, "10", NULL,
		"How long requests in flight may take after SIGTERM."},
	{"dns.listen", "dns", VALUE_TEXT, OFFSET(dns_listen), NULL, 0, 0, "127.0.0.1:4753",
		"ADDR:PORT",
		"Address and port of the DNS server (UDP and TCP). Port 0 takes a free one; off: "
		"there is none."},
	{"dns.domain", "dns-domain", VALUE_TEXT, OFFSET(dns_domain), NULL, 0, 0, "slipway.internal",
		"NAME",
		"Domain of slipway's own names: api.DOMAIN is this server, load balancers are "
		"below elb.DOMAIN."},
	{"dns.forward", "dns-forward", VALUE_TEXT, OFFSET(dns_forward), NULL, 0, 0, "", "ADDR,...",
		"Up to four resolvers (ADDR or ADDR:PORT), separated by commas, that are asked for "
		"names that are not slipway's, for clients with private addresses. Without it: "
		"other names are refused."},
	{"dns.threads", NULL, VALUE_INTEGER, OFFSET(dns_threads), NULL, 0, 64, "0", NULL,
		"Threads that answer DNS queries. 0: half as many as there are processors, at "
		"least one."},
	{"balancers.addresses", "balancers", VALUE_TEXT, OFFSET(balancers_addresses), NULL, 0, 0,
		"127.192.0.0/16", "CIDR|ADDR",
		"Where load balancers get their addresses from: of an IPv4 network (/8 to /32) "
		"each "
		"one its own; a single address is shared by all, and their ports must differ."},
	{"balancers.certificates", "certificates", VALUE_TEXT, OFFSET(balancers_certificates), NULL,
		0, 0, "", "DIR",
		"Folder of certificates for HTTPS and TLS listeners: NAME.pem is certificate/NAME. "
		"Read again when a file changes."},
	{"balancers.workers", NULL, VALUE_INTEGER, OFFSET(balancers_workers), NULL, 0,
		L4_WORKERS_MAX, "0", NULL,
		"Processes that carry TCP and UDP. 0: half as many as there are processors, at "
		"least one."},
	{"audit.file", NULL, VALUE_TEXT, OFFSET(audit_file), NULL, 0, 0, "", NULL,
		"The audit log, one JSON object a line. Without it: audit.log in the state folder; "
		"none with "
		"ephemeral."},
	{"audit.reads", NULL, VALUE_BOOL, OFFSET(audit_reads), NULL, 0, 0, "false", NULL,
		"Record successful reads too. Writes and refusals are always recorded."},
	{"http.threads", NULL, VALUE_INTEGER, OFFSET(http_threads), NULL, 0, 64, "0", NULL,
		"Threads that serve connections. 0: half as many as there are processors, at least "
		"one."},
	{"http.bodyMax", NULL, VALUE_INTEGER, OFFSET(http_body_max), NULL, 1024, 67108864,
		"8388608", NULL, "Largest request body, in bytes."},
	{"http.connectionsMax", NULL, VALUE_INTEGER, OFFSET(http_connections_max), NULL, 1, 1000000,
		"10000", NULL, "Connections open at once."},
	{"http.connectionsPerAddress", NULL, VALUE_INTEGER, OFFSET(http_connections_per_address),
		NULL, 1, 1000000, "1000", NULL,
		"Connections open at once from one address; loopback is exempt."},
	{"http.hosts", "hosts", VALUE_TEXT, OFFSET(http_hosts), NULL, 0, 0, "", "NAME,...",
		"Names by which clients call this server without a signature (auth none, metrics), "
		"besides its addresses, localhost, this machine's name and the names of "
		"dns.domain: NAME, *.DOMAIN for those below it, or * for all, which gives up the "
		"protection from web pages by DNS rebinding."},
	{"http.origins", NULL, VALUE_TEXT, OFFSET(http_origins), NULL, 0, 0, "", NULL,
		"Origins of web pages that may send requests, besides the server's own, separated "
		"by commas: https://console.example.com, where a proxy changes the Host."},
	{"metrics.access", NULL, VALUE_CHOICE, OFFSET(metrics_access), "any|loopback|none", 0, 0,
		"any", NULL, "From where /metrics may be read."},
	{"metrics.tokenFile", NULL, VALUE_TEXT, OFFSET(metrics_token_file), NULL, 0, 0, "", NULL,
		"File with a token that readers of /metrics must send (Authorization: Bearer "
		"TOKEN). Read at every request."},
	{"limits.readsPerSecond", NULL, VALUE_INTEGER, OFFSET(limits_reads_per_second), NULL, 0,
		1000000000, "0", NULL,
		"Reads an account may make per second before it is throttled. 0: no limit."},
	{"limits.writesPerSecond", NULL, VALUE_INTEGER, OFFSET(limits_writes_per_second), NULL, 0,
		1000000000, "0", NULL,
		"Writes an account may make per second before it is throttled. 0: no limit."},
	{"limits.environments", NULL, VALUE_INTEGER, OFFSET(limits_environments), NULL, 1, 1000000,
		"1000", NULL, "Environments that an account may have."},
	{"limits.environmentReadsPerSecond", NULL, VALUE_INTEGER,
		OFFSET(limits_environment_reads_per_second), NULL, 0, 1000000000, "1000", NULL,
		"Reads of environments, deployments and their state that an account may make per "
		"second. 0: no limit."},
	{"limits.environmentWritesPerSecond", NULL, VALUE_INTEGER,
		OFFSET(limits_environment_writes_per_second), NULL, 0, 1000000000, "200", NULL,
		"Changes of environments and deployments that an account may ask for per second. "
		"0: no limit."},
	{"log.level", "log-level", VALUE_CHOICE, OFFSET(log_level), "debug|info|warning|error", 0,
		0, "info", "LEVEL", "Least severe messages that are logged (on standard error)."},
	{"log.format", "log-format", VALUE_CHOICE, OFFSET(log_format), "auto|json|text", 0, 0,
		"auto", "FORMAT",
		"json: one object a line. text: for people. auto: text on a terminal, else json."},
	{"tls.certificate", NULL, VALUE_TEXT, OFFSET(tls_certificate), NULL, 0, 0, "", NULL,
		"PEM file of the certificate and its chain; with it the API speaks HTTPS. Read "
		"again on "
		"SIGHUP."},
	{"tls.key", NULL, VALUE_TEXT, OFFSET(tls_key), NULL, 0, 0, "", NULL,
		"PEM file of the private key. Without it the key is looked for in "
		"tls.certificate."},
#undef OFFSET
};

/* Older names that files may still have, of keys and of choices. */
static const struct {
	const char *old, *path;
} old_names[] = {
	{"stop_tasks_on_exit", "stopTasksOnExit"},
	{"drain_seconds", "drainSeconds"},
	{"http.body_max", "http.bodyMax"},
	{"http.connections_max", "http.connectionsMax"},
	{"http.connections_per_address", "http.connectionsPerAddress"},
	{"limits.reads_per_second", "limits.readsPerSecond"},
	{"limits.writes_per_second", "limits.writesPerSecond"},
	{"limits.environment_reads_per_second", "limits.environmentReadsPerSecond"},
	{"limits.environment_writes_per_second", "limits.environmentWritesPerSecond"},
};
static const struct {
	const char *path, *old, *choice;
} old_choices[] = {
	{"sync.serviceStatus", "seed", "kubernetes"},
	{"sync.taskStatus", "seed", "kubernetes"},
};

static void *field(struct server_config *config, const struct key *key)
{
	return (char *)config + key->offset;
}

static bool is_choice(const struct key *key, struct span value)
{
	struct span rest = span_of(key->choices), choice;

	while (span_split(rest, '|', &choice, &rest))
		if (span_equal(choice, value))
			return true;
	return span_equal(rest, value);
}

static bool read_integer(struct span text, int64_t *ret_value)
{
	uint64_t value;

	if (!span_to_unsigned(text, INT64_MAX, &value))
		return false;
	*ret_value = (int64_t)value;
	return true;
}

bool config_read_duration(struct span text, int64_t *ret_ms)
{
	static const struct {
		const char *unit;
		int64_t ms;
	} units[] = {{"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}};

	for (size_t i = 0; i < LENGTH(units); i++) {
		struct span unit = span_of(units[i].unit);
		uint64_t value;

		if (text.length > unit.length && span_ends_with(text, unit) &&
			span_to_unsigned((struct span){text.data, text.length - unit.length},
				INT32_MAX, &value)) {
			*ret_ms = (int64_t)value * units[i].ms;
			return true;
		}
	}
	return false;
}

/* Sets a key from text. `name` is what the user knows it by: the key's path, or a flag. */
static int set_text(struct server_config *config, const struct key *key, const char *name,
	struct span value, struct arena *arena, struct err *err)
{
	int64_t number;

	switch (key->type) {
	case VALUE_CHOICE:
		for (size_t i = 0; i < LENGTH(old_choices); i++)
			if (strcmp(key->path, old_choices[i].path) == 0 &&
				span_is(value, old_choices[i].old))
				value = span_of(old_choices[i].choice);
		if (!is_choice(key, value))
			return err_set(err, -EINVAL, "%s: '%.*s' is not one of %s", name,
				SPAN_ARGS(value), key->choices);
		/* fall through */
	case VALUE_TEXT:
		if (value.length == 0)
			return err_set(err, -EINVAL, "%s: must not be empty", name);
		if (memchr(value.data, '\0', value.length))
			return err_set(err, -EINVAL, "%s: must not hold a NUL character", name);
		*(const char **)field(config, key) = arena_copy(arena, value.data, value.length);
		return 0;
	case VALUE_BOOL:
		if (!span_is(value, "true") && !span_is(value, "false"))
			return err_set(err, -EINVAL, "%s: must be true or false", name);
		*(bool *)field(config, key) = span_is(value, "true");
		return 0;
	case VALUE_INTEGER:
		if (!read_integer(value, &number) || number < key->least || number > key->most)
			return err_set(err, -EINVAL, "%s: must be a number from %lld to %lld", name,
				(long long)key->least, (long long)key->most);
		*(int64_t *)field(config, key) = number;
		return 0;
	case VALUE_DURATION:
		if (!config_read_duration(value, &number) || number < key->least ||
			number > key->most)
			return err_set(err, -EINVAL,
				"%s: must be a time from %lldms to %llds, for example 500ms, 30s, "
				"5m",
				name, (long long)key->least, (long long)key->most / 1000);
		*(int64_t *)field(config, key) = number;
		return 0;
	}
	return err_set(err, -EINVAL, "%s: has no type", name);
}

void server_config_init(struct server_config *config)
{
	*config = (struct server_config){0};
	for (size_t i = 0; i < LENGTH(keys); i++) {
		const struct key *key = &keys[i];

		if (key->type == VALUE_BOOL)
			*(bool *)field(config, key) = strcmp(key->otherwise, "true") == 0;
		else if (key->type == VALUE_INTEGER)
			*(int64_t *)field(config, key) = strtoll(key->otherwise, NULL, 10);
		else if (key->type == VALUE_DURATION)
			config_read_duration(span_of(key->otherwise), field(config, key));
		else if (key->otherwise[0])
			*(const char **)field(config, key) = key->otherwise;
	}
}

/* ---- the file ---- */

struct reading {
	struct server_config *config;
	const char *path;
	struct arena *arena;
	struct err *err;
	bool is_set[LENGTH(keys)]; /* in this file */
};

static int unknown_key(struct reading *reading, struct span name, unsigned line)
{
	struct span known[LENGTH(keys) + 4] = {SPAN("targets"), SPAN("webhooks"),
		SPAN("metricsProviders"), SPAN("platformProviders")};
	struct span nearest;

	for (size_t i = 0; i < LENGTH(keys); i++)
		known[i + 4] = span_of(keys[i].path);
	nearest = span_nearest(name, known, LENGTH(known));
	if (nearest.data)
		return err_set(reading->err, -EINVAL,
			"%s:%u: unknown key '%.*s'; did you mean '%.*s'?", reading->path, line,
			SPAN_ARGS(name), SPAN_ARGS(nearest));
	return err_set(reading->err, -EINVAL, "%s:%u: unknown key '%.*s'", reading->path, line,
		SPAN_ARGS(name));
}

static bool is_section(struct span name)
{
	for (size_t i = 0; i < LENGTH(keys); i++) {
		struct span path = span_of(keys[i].path);

		if (path.length > name.length && path.data[name.length] == '.' &&
			span_starts_with(path, name))
			return true;
	}
	return false;
}

static int read_value(struct reading *reading, const struct key *key, const char *name,
	const struct json *value)
{
	static const enum json_type expected[] = {[VALUE_TEXT] = JSON_STRING,
		[VALUE_CHOICE] = JSON_STRING,
		[VALUE_DURATION] = JSON_STRING,
		[VALUE_INTEGER] = JSON_NUMBER};
	struct span text;
	bool fits = key->type == VALUE_BOOL
			    ? json_is(value, JSON_TRUE) || json_is(value, JSON_FALSE)
			    : json_is(value, expected[key->type]);
	int code;

	/* To YAML, digits are a number, and leading zeros are lost: only quotes make a text of them. */
	if (!fits)
		return err_set(reading->err, -EINVAL, "%s:%u: %s: must be %s, not %s%s",
			reading->path, value->line, name,
			key->type == VALUE_BOOL ? "true or false"
						: json_type_name(expected[key->type]),
			json_type_name(value->type),
			key->type == VALUE_TEXT && json_is(value, JSON_NUMBER)
				? "; write it in quotes"
				: "");
	if (key->type == VALUE_BOOL)
		text = json_is_true(value) ? SPAN("true") : SPAN("false");
	else
		text = value->text;
	code = set_text(reading->config, key, name, text, reading->arena, reading->err);
	if (code < 0)
		return err_prefix(reading->err, code, "%s:%u", reading->path, value->line);
	return 0;
}

static const struct key *find_key(struct span path)
{
	for (size_t i = 0; i < LENGTH(old_names); i++)
		if (span_is(path, old_names[i].old))
			path = span_of(old_names[i].path);
	for (size_t i = 0; i < LENGTH(keys); i++)
		if (span_is(path, keys[i].path))
			return &keys[i];
	return NULL;
}

static int read_key(struct reading *reading, const struct key *key, struct span path,
	const struct json *value)
{
	bool *is_set = &reading->is_set[key - keys];

	if (json_is_absent(value))
		return 0;
	if (*is_set)
		return err_set(reading->err, -EINVAL,
			"%s:%u: %.*s is set twice, also by an older name", reading->path,
			value->line, SPAN_ARGS(path));
	*is_set = true;
	return read_value(reading, key, arena_copy(reading->arena, path.data, path.length), value);
}

static int read_section(struct reading *reading, const struct json *section, struct span prefix)
{
	for (size_t i = 0; i < section->object.count; i++) {
		const struct json_member *member = &section->object.members[i];
		struct span path = prefix.length > 0
					   ? arena_format(reading->arena, "%.*s.%.*s",
						     SPAN_ARGS(prefix), SPAN_ARGS(member->name))
					   : member->name;
		const struct key *key = find_key(path);
		int code;

		if (span_is(path, "targets"))
			code = config_targets_read(reading->config, member->value, reading->path,
				reading->arena, reading->err);
		else if (span_is(path, "platformProviders"))
			code = config_platform_providers_read(reading->config, member->value,
				reading->path, reading->arena, reading->err);
		else if (span_is(path, "webhooks"))
			code = config_webhooks_read(reading->config, member->value, reading->path,
				reading->arena, reading->err);
		else if (span_is(path, "metricsProviders"))
			code = config_metrics_read(reading->config, member->value, reading->path,
				reading->arena, reading->err);
		else if (key)
			code = read_key(reading, key, path, member->value);
		else if (is_section(path) && json_is(member->value, JSON_OBJECT))
			code = read_section(reading, member->value, path);
		else if (is_section(path))
			code = json_is_absent(member->value)
				       ? 0
				       : err_set(reading->err, -EINVAL,
						 "%s:%u: '%.*s' must have keys below it",
						 reading->path, member->value->line,
						 SPAN_ARGS(path));
		else
			code = unknown_key(reading, path, member->value->line);
		if (code < 0)
			return code;
	}
	return 0;
}

int server_config_read(struct server_config *config, const char *path, struct arena *arena,
	struct err *err)
{
	struct reading reading = {config, path, arena, err, {0}};
	_buffer_ struct buffer text = {0};
	struct json *document;
	int code = file_read(path, CONFIG_FILE_MAX, &text, err);

	if (code < 0)
		return code;
	code = yaml_parse(arena_copy_span(arena, buffer_span(&text)), arena, &document, err);
	if (code < 0)
		return err_prefix(err, code, "%s", path);
	if (json_is_absent(document))
		return 0;
	if (!json_is(document, JSON_OBJECT))
		return err_set(err, -EINVAL, "%s:%u: must have keys, like 'listen: 127.0.0.1:4780'",
			path, document->line);
	return read_section(&reading, document, SPAN(""));
}

/* ---- flags ---- */

static const struct key *find_flag(const char *flag)
{
	for (size_t i = 0; i < LENGTH(keys); i++)
		if (keys[i].flag && strcmp(keys[i].flag, flag) == 0)
			return &keys[i];
	return NULL;
}

bool server_config_flag_is_bool(const char *flag)
{
	const struct key *key = find_flag(flag);

	return key && key->type == VALUE_BOOL;
}

static int unknown_flag(const char *flag, struct err *err)
{
	struct span known[LENGTH(keys) + 1] = {SPAN("config")}, nearest;
	size_t count = 1;

	for (size_t i = 0; i < LENGTH(keys); i++)
		if (keys[i].flag)
			known[count++] = span_of(keys[i].flag);
	nearest = span_nearest(span_of(flag), known, count);
	if (nearest.data)
		return err_set(err, -ENOENT, "there is no flag --%s; did you mean --%.*s?", flag,
			SPAN_ARGS(nearest));
	return err_set(err, -ENOENT, "there is no flag --%s", flag);
}

int server_config_set_flag(struct server_config *config, const char *flag, const char *value,
	struct arena *arena, struct err *err)
{
	const struct key *key = find_flag(flag);

	if (!key)
		return unknown_flag(flag, err);
	if (!value && key->type != VALUE_BOOL)
		return err_set(err, -EINVAL, "--%s needs a value: --%s %s", flag, flag,
			key->argument);
	return set_text(config, key, arena_format(arena, "--%s", flag).data,
		value ? span_of(value) : SPAN("true"), arena, err);
}

/* ---- the whole ---- */

static bool server_address_is_loopback(const char *address)
{
	struct in_addr four;
	struct in6_addr six;

	if (strcmp(address, "localhost") == 0)
		return true;
	if (inet_pton(AF_INET, address, &four) == 1)
		return (ntohl(four.s_addr) >> 24) == 127;
	return inet_pton(AF_INET6, address, &six) == 1 && IN6_IS_ADDR_LOOPBACK(&six);
}

int server_config_split_address(const char *key, const char *text, struct arena *arena,
	const char **ret_address, uint16_t *ret_port, struct err *err)
{
	const char *colon = strrchr(text, ':');
	const char *address = text;
	size_t length;
	uint64_t port;

	if (!colon || !span_to_unsigned(span_of(colon + 1), 65535, &port))
		return err_set(err, -EINVAL,
			"%s: '%s' is not ADDR:PORT, for example 127.0.0.1:4780", key, text);
	length = (size_t)(colon - address);
	if (length >= 2 && address[0] == '[' && address[length - 1] == ']') {
		address++;
		length -= 2;
	} else if (memchr(address, ':', length)) {
		return err_set(err, -EINVAL, "%s: write an IPv6 address in brackets: [%.*s]:%s",
			key, (int)length, address, colon + 1);
	}
	*ret_address = length > 0 ? arena_copy(arena, address, length) : "0.0.0.0";
	*ret_port = (uint16_t)port;
	return 0;
}

int server_config_split_listen(const char *listen, struct arena *arena, const char **ret_address,
	uint16_t *ret_port, struct err *err)
{
	return server_config_split_address("listen", listen, arena, ret_address, ret_port, err);
}

static int find_state(struct arena *arena, const char **ret_state, struct err *err)
{
	const char *home = getenv("HOME");
	const char *folder = getenv("XDG_STATE_HOME");

	if (geteuid() == 0)
		*ret_state = "/var/lib/slipway";
	else if (folder && folder[0] == '/')
		*ret_state = arena_format(arena, "%s/slipway", folder).data;
	else if (home && home[0] == '/')
		*ret_state = arena_format(arena, "%s/.local/state/slipway", home).data;
	else
		return err_set(err, -EINVAL,
			"state: there is no $HOME; say where with --state DIR");
	return 0;
}

bool server_region_is_valid(struct span region)
{
	if (region.length == 0 || region.length > SERVER_REGION_MAX)
		return false;
	for (size_t i = 0; i < region.length; i++) {
		char c = region.data[i];

		if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'))
			return false;
	}
	return true;
}

static int check_dns(struct server_config *config, struct arena *arena, struct err *err)
{
	struct dns_name name;
	const char *address;
	uint16_t port;
	int code = dns_name_from_text(span_of(config->dns_domain), &name, err);

	if (code < 0)
		return err_prefix(err, code, "dns.domain");
	if (name.length == 1)
		return err_set(err, -EINVAL, "dns.domain: must not be the root of all names");
	if (!config->dns_listen || strcmp(config->dns_listen, "off") == 0) {
		config->dns_listen = NULL;
		return 0;
	}
	return server_config_split_address("dns.listen", config->dns_listen, arena, &address, &port,
		err);
}

/* An address, or an IPv4 network that begins where it says. */
static int check_balancers(struct server_config *config, struct arena *arena, struct err *err)
{
	struct span text = span_of(config->balancers_addresses), host = text, bits;
	bool network = span_split(text, '/', &host, &bits);
	const char *address = arena_copy(arena, host.data, host.length);
	struct in6_addr six;
	struct in_addr four;
	uint64_t length = 32;

	if (!network && inet_pton(AF_INET6, address, &six) == 1)
		return 0;
	if (inet_pton(AF_INET, address, &four) != 1 ||
		(network && (!span_to_unsigned(bits, 32, &length) || length < 8)))
		return err_set(err, -EINVAL,
			"balancers.addresses: '%s' is neither an address nor an IPv4 network from "
			"/8 "
			"to /32, for example 127.192.0.0/16",
			config->balancers_addresses);
	if (ntohl(four.s_addr) & (UINT32_MAX >> 1 >> (length - 1)))
		return err_set(err, -EINVAL,
			"balancers.addresses: '%s' does not begin at the network's first address",
			config->balancers_addresses);
	return 0;
}

int server_config_check(struct server_config *config, struct arena *arena, struct err *err)
{
	struct request_origin_rules rules;
	const char *address;
	uint16_t port;
	uint64_t digits;
	int code = server_config_split_listen(config->listen, arena, &address, &port, err);

	if (code < 0)
		return code;
	if (strcmp(config->auth, "none") == 0 && !server_address_is_loopback(address))
		return err_set(err, -EINVAL,
			"auth: none is allowed on loopback addresses only, not on %s", address);
	if (strlen(config->account) != 12 ||
		!span_to_unsigned(span_of(config->account), UINT64_C(999999999999), &digits))
		return err_set(err, -EINVAL, "account: '%s' is not twelve digits", config->account);
	if (!ecs_is_name(span_of(config->cluster)))
		return err_set(err, -EINVAL,
			"cluster: '%s' is not 1 to 255 letters, digits, hyphens and underscores",
			config->cluster);
	if (!aws_region_is_known(span_of(config->region)))
		return err_set(err, -EINVAL,
			"region: '%s' is not a region of AWS, for example us-east-1",
			config->region);
	if (config->instances > INSTANCES_MAX && strcmp(config->runtime, "simulated") != 0)
		return err_set(err, -EINVAL, "instances: at most %d of runtime %s", INSTANCES_MAX,
			config->runtime);
	code = check_dns(config, arena, err);
	if (code == 0)
		code = check_balancers(config, arena, err);
	if (code < 0)
		return code;
	code = request_origin_read(config, &rules, err);
	if (code < 0)
		return code;
	if (config->tls_key && !config->tls_certificate)
		return err_set(err, -EINVAL, "tls.key: needs tls.certificate");
	if (config->store && strcmp(config->store, ":memory:") == 0) /* as SQLite calls it */
		config->store = "memory:";
	if (config->ephemeral && config->store && strcmp(config->store, "memory:") != 0)
		return err_set(err, -EINVAL,
			"ephemeral: keeps everything in memory; leave store out");
	if (config->ephemeral)
		config->store = "memory:";
	if (!config->state && !config->ephemeral)
		code = find_state(arena, &config->state, err);
	if (code < 0)
		return code;
	if (!config->store)
		config->store = arena_format(arena, "sqlite:%s/slipway.db", config->state).data;
	if (!config->audit_file && config->state)
		config->audit_file = arena_format(arena, "%s/audit.log", config->state).data;
	config_targets_settle(config, arena);
	return 0;
}

/* ---- for people ---- */

/* A flag's line in help: the text is wrapped, and begins in its column. */
static void write_flag(struct buffer *out, const char *flag, struct span text)
{
	struct span rest = text, word;
	size_t column = FLAG_COLUMN;
	bool more = true;

	buffer_format(out, "  %-*s", FLAG_COLUMN - 2, flag);
	if (strlen(flag) > FLAG_COLUMN - 4)
		column = FLAG_WIDTH; /* the text begins in the next line */
	while (more) {
		more = span_split(rest, ' ', &word, &rest);
		if (!more)
			word = rest;
		if (column > FLAG_COLUMN && column + 1 + word.length > FLAG_WIDTH) {
			buffer_format(out, "\n%*s", FLAG_COLUMN, "");
			column = FLAG_COLUMN;
		} else if (column > FLAG_COLUMN) {
			buffer_add_char(out, ' ');
			column++;
		}
		buffer_add_span(out, word);
		column += word.length;
	}
	buffer_add_char(out, '\n');
}

void server_config_write_flags(struct buffer *out)
{
	write_flag(out, "--config FILE",
		SPAN("Read slipway.yaml; docs/configuration.md lists its keys."));
	for (size_t i = 0; i < LENGTH(keys); i++) {
		_buffer_ struct buffer text = {0};
		const struct key *key = &keys[i];
		char flag[64];

		if (!key->flag)
			continue;
		snprintf(flag, sizeof(flag), "--%s%s%s", key->flag, key->argument ? " " : "",
			key->argument ? key->argument : "");
		buffer_add_string(&text, key->help);
		if (key->otherwise[0] && key->type != VALUE_BOOL)
			buffer_format(&text, " Default: %s.", key->otherwise);
		write_flag(out, flag, buffer_span(&text));
	}
}

/* All but the last part of a path; "" if there is only one. */
static struct span section_of(const struct key *key)
{
	const char *dot = strrchr(key->path, '.');

	return dot ? (struct span){key->path, (size_t)(dot - key->path)} : SPAN("");
}

static void write_comment(struct buffer *out, const char *text, const char *indent)
{
	size_t column = 0;

	while (*text) {
		size_t word = strcspn(text, " ");

		if (column == 0 || column + 1 + word > 92) {
			buffer_format(out, "%s%s#", column ? "\n" : "", indent);
			column = 1;
		}
		buffer_format(out, " %.*s", (int)word, text);
		column += 1 + word;
		text += word;
		while (*text == ' ')
			text++;
	}
	buffer_add_char(out, '\n');
}

/* The heads of the sections that begin here, each indented in the one before. */
static void write_sections(struct buffer *out, struct span section, struct span last)
{
	struct span rest = section, part;
	size_t begin = 0, depth = 0;

	if (section.length == 0)
		return;
	for (bool more = true; more; depth++) {
		struct span whole;

		more = span_split(rest, '.', &part, &rest);
		if (!more)
			part = rest;
		whole = (struct span){section.data, begin + part.length};
		begin = whole.length + 1;
		if (!(span_starts_with(last, whole) &&
			    (last.length == whole.length || last.data[whole.length] == '.')))
			buffer_format(out, "%*s%.*s:\n", (int)(2 * depth), "", SPAN_ARGS(part));
	}
}

static size_t depth_of(struct span section)
{
	size_t depth = section.length > 0;

	for (size_t i = 0; i < section.length; i++)
		depth += section.data[i] == '.';
	return depth;
}

void server_config_write_yaml(struct buffer *out)
{
	static const char spaces[] = "      ";
	struct span last = SPAN("");

	for (size_t i = 0; i < LENGTH(keys); i++) {
		const struct key *key = &keys[i];
		struct span section = section_of(key);
		const char *indent = spaces + sizeof(spaces) - 1 - 2 * depth_of(section);
		const char *name = section.length > 0 ? key->path + section.length + 1 : key->path;

		if (i > 0)
			buffer_add_char(out, '\n');
		write_sections(out, section, last);
		last = section;
		write_comment(out, key->help, indent);
		buffer_format(out, "%s%s%s: %s%s%s\n", indent, key->otherwise[0] ? "" : "# ", name,
			strcmp(key->path, "account") == 0 ? "\"" : "", key->otherwise,
			strcmp(key->path, "account") == 0 ? "\"" : "");
	}
	config_list_write_yaml(&config_targets, out);
	config_list_write_yaml(&config_webhooks, out);
	config_list_write_yaml(&config_metrics, out);
}

void server_config_write_markdown(struct buffer *out)
{
	buffer_add_string(out, "| key | flag | default | meaning |\n|---|---|---|---|\n");
	for (size_t i = 0; i < LENGTH(keys); i++) {
		const struct key *key = &keys[i];

		buffer_format(out, "| `%s` | ", key->path);
		if (key->flag)
			buffer_format(out, "`--%s`", key->flag);
		buffer_add_string(out, " | ");
		if (key->otherwise[0])
			buffer_format(out, "`%s`", key->otherwise);
		buffer_format(out, " | %s |\n", key->help);
	}
	config_list_write_markdown(&config_targets, out);
	config_list_write_markdown(&config_webhooks, out);
	config_list_write_markdown(&config_metrics, out);
}
