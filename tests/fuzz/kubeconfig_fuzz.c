/*
 * kubeconfig files: whatever is in them, they are refused with a message that names the file, or give an
 * access whose parts may go into URLs, headers and command lines as they are. One 0xff byte cuts the input
 * into two files.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "kube/kubeconfig.h"

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);            \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_text(struct span text)
{
	CHECK(!text.data || strlen(text.data) == text.length);
}

static void check_material(const struct kube_material *material)
{
	CHECK(!material->text.data || !material->path.data);
	check_text(material->path);
	CHECK(!material->text.data || material->text.data[material->text.length] == '\0');
}

static void check_plugin(const struct kube_exec_plugin *plugin)
{
	CHECK(plugin->command.length > 0);
	check_text(plugin->command);
	check_text(plugin->api_version);
	CHECK(plugin->word_count <= KUBECONFIG_EXEC_WORDS_MAX);
	CHECK(plugin->environment_count <= KUBECONFIG_EXEC_WORDS_MAX);
	for (size_t i = 0; i < plugin->word_count; i++)
		check_text(plugin->words[i]);
	for (size_t i = 0; i < plugin->environment_count; i++) {
		check_text(plugin->environment[i]);
		CHECK(strchr(plugin->environment[i].data, '='));
	}
}

static void check_access(const struct kube_access *access)
{
	CHECK(span_starts_with(access->server, SPAN("http://")) ||
		span_starts_with(access->server, SPAN("https://")));
	CHECK(access->server.data[access->server.length - 1] != '/');
	for (size_t i = 0; i < access->server.length; i++)
		CHECK(access->server.data[i] > 0x20 && access->server.data[i] < 0x7f);
	for (size_t i = 0; i < access->token.text.length; i++)
		CHECK(access->token.text.data[i] > 0x20);
	check_text(access->server);
	check_text(access->tls_server_name);
	check_text(access->default_namespace);
	check_text(access->username);
	check_material(&access->authorities);
	check_material(&access->certificate);
	check_material(&access->key);
	check_material(&access->token);
	CHECK(!access->insecure || !access->authorities.path.data);
	if (access->plugin)
		check_plugin(access->plugin);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_arena_ struct arena *arena = arena_new(0);
	struct kubeconfig_file files[2] = {
		{"/first/config", {(const char *)data, size}}, {"second", SPAN("")}};
	size_t count = 1;
	struct kube_access *access = NULL;
	struct err err = {0};
	int code;

	if (span_split(files[0].text, '\xff', &files[0].text, &files[1].text))
		count = 2;
	code = kubeconfig_read(files, count, SPAN_NONE, arena, &access, &err);
	CHECK(code == 0 || (err.code == code && strncmp(err.message, "kubeconfig ", 11) == 0));
	if (code == 0)
		check_access(access);
	return 0;
}
