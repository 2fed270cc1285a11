/* See the header. */
#include "server/config_webhooks.h"

#include <errno.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "environment/model/kinds.h"
#include "pipeline/notices.h"

#define SECRET_MAX 4096
#define ACCOUNTS_MAX 100

static const struct config_member members[] = {
#define OFFSET(member) offsetof(struct webhook, member)
	{"name", CONFIG_NAME, true, OFFSET(name), 0, 0, WEBHOOK_NAME_MAX, "chat",
		"Lower-case letters, digits and hyphens."},
	{"url", CONFIG_URL, true, OFFSET(url), 0, 0, 0, "https://chat.example.com/hooks/slipway",
		"Where changes are posted. No redirect is followed."},
	/* The file's name until read_secret() has put the secret there. */
	{"secretFile", CONFIG_TEXT, false, OFFSET(secret), 0, 0, 0, "/etc/slipway/chat.secret",
		"A file with the secret of the signature and nothing else. Read when slipway "
		"starts."},
	{"events", CONFIG_TEXTS, false, OFFSET(events), OFFSET(event_count), 0, WEBHOOK_EVENTS_MAX,
		"[deployment.completed, deployment.timed-out, health]",
		"Which ones: `deployment`, `health`, `application`, or one status of them. Without "
		"it: all."},
	{"accounts", CONFIG_ACCOUNTS, false, OFFSET(accounts), OFFSET(account_count), 0,
		ACCOUNTS_MAX, "[\"123456789012\"]", "Of these only. Without it: of all."},
#undef OFFSET
};

#define X(name, text) "deployment." text,
#define EVENT(name) name,
static const char *const event_names[] = {ENVIRONMENT_DEPLOYMENT_STATUSES(X)
						  APPLICATION_EVENTS(EVENT) "deployment",
	"health", "health.healthy", "health.unhealthy", "application"};
#undef EVENT
#undef X

static int check_events(const struct config_list_reading *reading, const struct webhook *webhook)
{
	for (size_t i = 0; i < webhook->event_count; i++) {
		bool found = false;

		for (size_t j = 0; j < LENGTH(event_names); j++)
			found |= strcmp(webhook->events[i], event_names[j]) == 0;
		if (!found)
			return config_list_refuse(reading, reading->object, "events",
				"there is no event '%s'", webhook->events[i]);
	}
	return 0;
}

static int read_secret(const struct config_list_reading *reading, struct webhook *webhook)
{
	_buffer_ struct buffer text = {0};
	const char *file = webhook->secret;
	struct span secret;
	struct err err = {0};

	if (!file)
		return 0;
	if (file_read(file, SECRET_MAX, &text, &err) < 0)
		return config_list_refuse(reading, reading->object, "secretFile", "%s",
			err.message);
	secret = buffer_span(&text);
	while (secret.length > 0 &&
		(secret.data[secret.length - 1] == '\n' || secret.data[secret.length - 1] == '\r'))
		secret.length--;
	if (secret.length == 0)
		return config_list_refuse(reading, reading->object, "secretFile", "'%s' is empty",
			file);
	webhook->secret = arena_copy(reading->arena, secret.data, secret.length);
	return 0;
}

static int check_webhook(const struct config_list_reading *reading, void *item)
{
	struct webhook *webhook = item;

	if (check_events(reading, webhook) < 0)
		return -EINVAL;
	return read_secret(reading, webhook);
}

static const struct webhook defaults;

const struct config_list config_webhooks = {.name = "webhooks",
	.help = "URLs that get notices of environment changes",
	.most = WEBHOOKS_MAX,
	.size = sizeof(struct webhook),
	.members = members,
	.member_count = LENGTH(members),
	.defaults = &defaults,
	.check = check_webhook};

int config_webhooks_read(struct server_config *config, const struct json *block, const char *path,
	struct arena *arena, struct err *err)
{
	void *items;
	int code = config_list_read(&config_webhooks, block, path, arena, &items,
		&config->webhooks.count, err);

	config->webhooks.items = items;
	return code;
}
