/* Semantic versions in templates. */
#include "chart/function.h"
#include "chart/semver.h"

/* *semver.Version */
struct version_object {
	struct object object;
	struct semver version;
};

static const struct object_class version_class;

static struct span version_text(struct arena *arena, const struct semver *version)
{
	return arena_format(arena, "%llu.%llu.%llu%s%.*s%s%.*s", (unsigned long long)version->major,
		(unsigned long long)version->minor, (unsigned long long)version->patch,
		version->prerelease.length ? "-" : "", SPAN_ARGS(version->prerelease),
		version->metadata.length ? "+" : "", SPAN_ARGS(version->metadata));
}

static struct value version_value(struct run *run, const struct semver *version)
{
	struct version_object *object = arena_allocate(run->arena, sizeof(*object));

	object->object.class = &version_class;
	object->version = *version;
	return value_of_object(&object->object);
}

static int compare_method(struct run *run, const struct semver *version, struct span name,
	const struct value *arguments, size_t count, struct value *ret_value)
{
	int order;

	if (count != 1 || arguments[0].kind != VALUE_OBJECT ||
		arguments[0].object->class != &version_class)
		return run_fail(run, "%.*s: expected a version", SPAN_ARGS(name));
	order = semver_compare(version,
		&((const struct version_object *)arguments[0].object)->version);
	if (span_is(name, "Compare"))
		*ret_value = value_int(order);
	else
		*ret_value = value_bool(span_is(name, "Equal")              ? order == 0
					: span_is(name, "GreaterThan")      ? order > 0
					: span_is(name, "GreaterThanEqual") ? order >= 0
					: span_is(name, "LessThanEqual")    ? order <= 0
									    : order < 0);
	return 0;
}

/* IncMajor, IncMinor, IncPatch */
static struct value increased(struct run *run, const struct semver *version, struct span name)
{
	struct semver next = *version;

	if (span_is(name, "IncMajor")) {
		next.major++;
		next.minor = next.patch = 0;
	} else if (span_is(name, "IncMinor")) {
		next.minor++;
		next.patch = 0;
	} else if (!version->prerelease.length) {
		next.patch++;
	}
	next.prerelease = next.metadata = SPAN("");
	next.original = version_text(run->arena, &next);
	return version_value(run, &next);
}

static int version_get(struct run *run, struct object *object, struct span name,
	const struct value *arguments, size_t count, struct value *ret_value)
{
	const struct semver *version = &((const struct version_object *)object)->version;

	if (span_is(name, "Major"))
		*ret_value = value_integer(TYPE_UINT64, (int64_t)version->major);
	else if (span_is(name, "Minor"))
		*ret_value = value_integer(TYPE_UINT64, (int64_t)version->minor);
	else if (span_is(name, "Patch"))
		*ret_value = value_integer(TYPE_UINT64, (int64_t)version->patch);
	else if (span_is(name, "Prerelease"))
		*ret_value = value_string(version->prerelease);
	else if (span_is(name, "Metadata"))
		*ret_value = value_string(version->metadata);
	else if (span_is(name, "Original"))
		*ret_value = value_string(version->original);
	else if (span_is(name, "String"))
		*ret_value = value_string(version_text(run->arena, version));
	else if (span_starts_with(name, SPAN("Inc")))
		*ret_value = increased(run, version, name);
	else if (span_is(name, "Compare") || span_is(name, "Equal") || span_is(name, "LessThan") ||
		 span_is(name, "GreaterThan") || span_is(name, "LessThanEqual") ||
		 span_is(name, "GreaterThanEqual"))
		return compare_method(run, version, name, arguments, count, ret_value);
	else
		return 1;
	return count ? run_fail(run, "%.*s takes no arguments", SPAN_ARGS(name)) : 0;
}

static void version_print(const struct object *object, struct buffer *out)
{
	_arena_ struct arena *arena = arena_new(0);

	buffer_add_span(out,
		version_text(arena, &((const struct version_object *)object)->version));
}

static struct value version_plain(struct arena *arena, const struct object *object)
{
	return value_string(version_text(arena, &((const struct version_object *)object)->version));
}

static const struct object_class version_class = {
	"*semver.Version", "ptr", version_get, version_print, version_plain, false, NULL, NULL};

static int semver_semver(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	struct semver version;

	(void)count;
	if (!semver_parse(arguments[0].text, &version))
		return run_fail(run, "semver: invalid semantic version \"%.*s\"",
			SPAN_ARGS(arguments[0].text));
	*ret_value = version_value(run, &version);
	return 0;
}

static int semver_compare_function(struct run *run, const struct value *arguments, size_t count,
	struct value *ret_value)
{
	struct semver version;
	int met;

	(void)count;
	met = semver_check(arguments[0].text,
		&(struct semver){.prerelease = SPAN(""), .metadata = SPAN("")});
	if (met < 0)
		return run_fail(run, "semverCompare: improper constraint \"%.*s\"",
			SPAN_ARGS(arguments[0].text));
	if (!semver_parse(arguments[1].text, &version))
		return run_fail(run, "semverCompare: invalid semantic version \"%.*s\"",
			SPAN_ARGS(arguments[1].text));
	*ret_value = value_bool(semver_check(arguments[0].text, &version) == 1);
	return 0;
}

static const struct function rows[] = {
	{"semver", "s", semver_semver, false},
	{"semverCompare", "ss", semver_compare_function, false},
};

const struct function_table functions_semver = {rows, LENGTH(rows)};
