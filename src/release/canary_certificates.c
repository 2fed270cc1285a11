/* See canary_certificates.h. */
#include "release/canary_certificates.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"
#include "base/map.h"
#include "base/memory.h"
#include "proxy/haproxy/haproxy.h"

#define FILE_MAX ((size_t)PROXY_CERTIFICATE_TEXT_MAX / 2)

struct entry {
	char *pem; /* in use; NULL: none yet */
	char problem[ERR_MESSAGE_MAX];
};

struct canary_certificates {
	char *folder;
	struct map entries; /* by Secret */
};

struct canary_certificates *canary_certificates_new(const char *folder)
{
	struct canary_certificates *certificates = memory_allocate(sizeof(*certificates));

	certificates->folder = memory_copy_string(folder);
	return certificates;
}

void canary_certificates_free(struct canary_certificates *certificates)
{
	if (!certificates)
		return;
	MAP_EACH (&certificates->entries, each) {
		struct entry *entry = each->value;

		free(entry->pem);
		free(entry);
	}
	map_clear(&certificates->entries);
	free(certificates->folder);
	free(certificates);
}

static int read_files(const struct canary_certificates *certificates, struct span secret,
	struct buffer *pem, struct err *err)
{
	static const char *const files[] = {"tls.crt", "tls.key"};
	struct proxy_certificate certificate = {.name = ""};

	for (size_t i = 0; i < LENGTH(files); i++) {
		_buffer_ struct buffer path = {0};
		int code;

		buffer_format(&path, "%s/%.*s/%s", certificates->folder, SPAN_ARGS(secret),
			files[i]);
		code = file_read(path.data, FILE_MAX, pem, err);
		if (code == -ENOENT)
			return err_set(err, code, "%s not found", files[i]);
		if (code < 0)
			return code;
		buffer_add_char(pem, '\n');
	}
	certificate.pem = pem->data;
	return haproxy_check_certificate(&certificate, err);
}

static void read_one(struct canary_certificates *certificates, struct span secret)
{
	_buffer_ struct buffer pem = {0};
	struct entry *entry = map_get(&certificates->entries, secret);
	struct err err;

	if (!entry) {
		entry = memory_allocate(sizeof(*entry));
		map_put(&certificates->entries, secret, entry);
	}
	entry->problem[0] = '\0';
	if (read_files(certificates, secret, &pem, &err) < 0) {
		snprintf(entry->problem, sizeof(entry->problem), "%s", err.message);
		return;
	}
	free(entry->pem);
	entry->pem = buffer_take(&pem, NULL);
}

bool canary_certificates_read(struct canary_certificates *certificates, const struct canary *canary)
{
	struct span secrets[CANARY_SECRETS_MAX];
	size_t count = canary_secrets(canary, secrets);

	for (size_t i = 0; i < count; i++)
		read_one(certificates, secrets[i]);
	return count > 0;
}

const char *canary_certificates_find(const struct canary_certificates *certificates,
	struct span secret, struct span *ret_problem)
{
	const struct entry *entry = certificates ? map_get(&certificates->entries, secret) : NULL;

	*ret_problem = entry ? span_of(entry->problem) : SPAN("not read");
	return entry ? entry->pem : NULL;
}
