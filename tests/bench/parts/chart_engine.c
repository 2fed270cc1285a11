/*
 * The template engine alone: parses the templates of a folder and renders them, again and again in
 * one process, and prints the best round. chart_engine.go does the same with Go's text/template.
 *
 * usage: chart_engine FOLDER VALUES.json OUTPUT MILLISECONDS
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/random.h"
#include "chart/run.h"

#define FILES_MAX 1000

struct source {
	struct span name, text;
};

static struct source sources[FILES_MAX];
static size_t source_count;

static void stop(const char *what, const struct err *err)
{
	fprintf(stderr, "chart_engine: %s: %s\n", what, err->message);
	exit(1);
}

static int compare_sources(const void *a, const void *b)
{
	return span_compare(((const struct source *)a)->name, ((const struct source *)b)->name);
}

static void read_sources(struct arena *arena, const char *folder)
{
	struct dirent *entry;
	DIR *directory = opendir(folder);
	struct err err;

	while (directory && (entry = readdir(directory)) && source_count < FILES_MAX) {
		_buffer_ struct buffer text = {0};
		struct span path;

		if (entry->d_name[0] == '.')
			continue;
		path = arena_format(arena, "%s/%s", folder, entry->d_name);
		if (file_read(path.data, TEMPLATE_TEXT_MAX, &text, &err) < 0)
			stop(path.data, &err);
		sources[source_count++] = (struct source){arena_format(arena, "%s", entry->d_name),
			arena_copy_span(arena, buffer_span(&text))};
	}
	if (directory)
		closedir(directory);
	qsort(sources, source_count, sizeof(*sources), compare_sources);
}

/* Parses all and renders those that are no partials. */
static void render(struct arena *arena, const struct json *values, struct buffer *out)
{
	struct template_set set = {0};
	struct run run = {.arena = arena,
		.set = &set,
		.clock = clock_system(),
		.random = random_system(),
		.out = BUFFER_WITH_CAP(RUN_OUTPUT_MAX)};
	struct value_map *top = value_map_new(arena, 1);
	struct err err;

	value_map_put(arena, top, "Values", value_from_json(arena, values));
	for (size_t i = 0; i < source_count; i++)
		if (template_parse(&set, arena, sources[i].name, sources[i].text, &err) < 0)
			stop("parse", &err);
	for (size_t i = 0; i < source_count; i++) {
		struct span text;

		if (sources[i].name.data[0] == '_')
			continue;
		if (run_to_text(&run, template_find(&set, sources[i].name), value_of_map(top),
			    &text) < 0)
			stop("render", &run.err);
		buffer_add_span(out, text);
	}
	buffer_clear(&run.notes);
	buffer_clear(&run.out);
	run_free_expressions(&run);
	template_set_clear(&set);
}

int main(int count, char **words)
{
	_arena_ struct arena *files = arena_new(0), *arena = arena_new(0);
	_buffer_ struct buffer text = {0}, out = {0};
	struct json *values;
	struct err err;
	int64_t begin, best = INT64_MAX, end;
	FILE *file;

	if (count != 5)
		return 2;
	read_sources(files, words[1]);
	if (file_read(words[2], TEMPLATE_TEXT_MAX, &text, &err) < 0 ||
		json_parse(buffer_span(&text), files, &values, &err) < 0)
		stop(words[2], &err);
	end = clock_steady_us(clock_system()) + atoll(words[4]) * 1000;
	do {
		int64_t taken;

		buffer_reset(&out);
		begin = clock_steady_us(clock_system());
		render(arena, values, &out);
		taken = clock_steady_us(clock_system()) - begin;
		best = taken < best ? taken : best;
		arena_reset(arena);
	} while (clock_steady_us(clock_system()) < end);
	file = fopen(words[3], "w");
	if (!file || fwrite(out.data, 1, out.length, file) != out.length || fclose(file) != 0)
		return 1;
	printf("%lld\n", (long long)best);
	return 0;
}
