/* Results of checks and their effects: matchers, reasons, thresholds. */
#include "proxy/probe.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"

#define CODE_LEAST 200
#define CODE_MOST 599

#define ROW_(name, code, description) {code, description},
static const struct {
	const char *code, *description;
} reasons[] = {PROBE_REASONS(ROW_)};
#undef ROW_

const char *probe_reason_code(enum probe_reason reason)
{
	return (unsigned)reason < PROBE_REASON_COUNT ? reasons[reason].code : "";
}

void probe_describe(enum probe_reason reason, int code, char out[PROBE_DESCRIPTION_SIZE])
{
	if (reason == PROBE_REASON_MISMATCH)
		snprintf(out, PROBE_DESCRIPTION_SIZE, "Health checks failed with these codes: [%d]",
			code);
	else
		snprintf(out, PROBE_DESCRIPTION_SIZE, "%s",
			(unsigned)reason < PROBE_REASON_COUNT ? reasons[reason].description : "");
}

/* ---- matchers ---- */

static bool parse_code(struct span text, uint64_t *ret_code)
{
	return text.length == 3 && span_to_unsigned(text, CODE_MOST, ret_code) &&
	       *ret_code >= CODE_LEAST;
}

int probe_matcher_parse(struct span text, struct probe_matcher *ret_matcher, struct err *err)
{
	struct probe_matcher matcher = {0};
	struct span rest = text;
	bool more = true;

	while (more) {
		struct span part, least_text, most_text;
		uint64_t least, most;

		more = span_split(rest, ',', &part, &rest);
		if (!more)
			part = rest;
		if (!span_split(part, '-', &least_text, &most_text))
			least_text = most_text = part;
		if (!parse_code(least_text, &least) || !parse_code(most_text, &most) ||
			least > most)
			return err_set(err, -EINVAL,
				"matcher '%.*s': '%.*s' is no code or range of codes from %d to %d",
				(int)(text.length > 64 ? 64 : text.length), text.data,
				(int)(part.length > 16 ? 16 : part.length), part.data, CODE_LEAST,
				CODE_MOST);
		for (; least <= most; least++)
			matcher.codes[least / 64] |= UINT64_C(1) << (least % 64);
	}
	*ret_matcher = matcher;
	return 0;
}

bool probe_matcher_has(const struct probe_matcher *matcher, int code)
{
	return code >= CODE_LEAST && code <= CODE_MOST &&
	       (matcher->codes[code / 64] >> (code % 64) & 1);
}

/* ---- health ---- */

void probe_health_init(struct probe_health *health)
{
	*health = (struct probe_health){.reason = PROBE_REASON_INITIAL};
}

bool probe_health_note(struct probe_health *health, const struct probe_settings *settings,
	const struct probe_outcome *outcome)
{
	struct probe_health before = *health;
	bool passed = outcome->reason == PROBE_REASON_NONE;

	health->passed = passed ? before.passed + 1 : 0;
	health->failed = passed ? 0 : before.failed + 1;
	if (passed) {
		if (before.state == PROBE_INITIAL ||
			health->passed >= settings->healthy_threshold) {
			health->state = PROBE_HEALTHY;
			health->reason = PROBE_REASON_NONE;
			health->code = 0;
		}
	} else if (before.state == PROBE_UNHEALTHY ||
		   health->failed >= settings->unhealthy_threshold) {
		health->state = PROBE_UNHEALTHY;
		health->reason = outcome->reason;
		health->code = outcome->code;
	}
	return health->state != before.state || health->reason != before.reason ||
	       health->code != before.code;
}

int probe_status_of(struct span text)
{
	static const char pattern[] = "HTTP/1.d ddd";
	int status = 0;

	for (size_t i = 0; i < sizeof(pattern) - 1; i++) {
		bool digit;

		if (i == text.length)
			return 0;
		digit = text.data[i] >= '0' && text.data[i] <= '9';
		if (pattern[i] == 'd' ? !digit : text.data[i] != pattern[i])
			return -1;
		if (i >= sizeof(pattern) - 4)
			status = status * 10 + (text.data[i] - '0');
	}
	if (text.length < sizeof(pattern))
		return 0;
	if (!memchr(" \r\n", text.data[sizeof(pattern) - 1], 3) || status < 100)
		return -1;
	return status;
}
