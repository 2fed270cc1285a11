/* See object.h. The texts of all indexes are listed behind each other in one block, those of each index sorted,
 * and behind them how many each index has; they are only ever walked in order. */
#include "store/object.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/memory.h"

struct object {
	struct store_object public;
	_Atomic uint32_t references;
	uint32_t size;                    /* of both blocks */
	struct object_text **index_texts; /* NULL: no indexes */
	const uint16_t *index_counts;     /* how many of them each index has */
	max_align_t rest[];               /* facts, key text, api, private */
};

/* A text of an index, with all its users. */
struct object_text {
	_Atomic uint32_t references;
	struct tree_text text; /* last: its characters follow */
};

struct index_text {
	size_t offset; /* in the writer's buffer */
	size_t length;
};

struct store_index_writer {
	struct buffer texts;
	struct index_text *items;
	size_t count, capacity;
	const char *failure; /* the exceeded limit, or NULL */
};

struct object_maker {
	struct arena *scratch;
	struct store_index_writer writer;
	/* Of the object in work: */
	struct buffer texts;  /* struct object_text * */
	struct buffer counts; /* uint16_t */
	size_t built;         /* bytes of those texts that are not shared */
	struct object_text *recent[OBJECT_RECENT_TEXTS]; /* by hash */
};

static struct object *object_of(const struct store_object *object)
{
	return CONTAINER_OF(object, struct object, public);
}

const struct store_object *store_object_ref(const struct store_object *object)
{
	atomic_fetch_add_explicit(&object_of(object)->references, 1, memory_order_relaxed);
	return object;
}

/* ---- texts that are shared ---- */

static struct object_text *text_new(struct span text)
{
	struct object_text *built =
		memory_resize(NULL, offsetof(struct object_text, text.data) + text.length);
	uint32_t length = (uint32_t)text.length;

	atomic_init(&built->references, 1);
	built->text.length = length;
	memcpy(built->text.data, text.data, text.length);
	return built;
}

static struct object_text *text_ref(struct object_text *text)
{
	atomic_fetch_add_explicit(&text->references, 1, memory_order_relaxed);
	return text;
}

static void text_unref(struct object_text *text)
{
	if (text && atomic_fetch_sub_explicit(&text->references, 1, memory_order_acq_rel) == 1)
		free(text);
}

/* A reference to a text that was used lately, or to a new one. */
static struct object_text *text_take(struct object_maker *maker, struct span text)
{
	struct object_text **recent = &maker->recent[span_hash(text) % OBJECT_RECENT_TEXTS];

	if (*recent && span_equal(tree_text_span(&(*recent)->text), text))
		return text_ref(*recent);
	text_unref(*recent);
	*recent = text_new(text);
	maker->built += sizeof(**recent) + text.length;
	return text_ref(*recent);
}

static size_t text_count(const struct object *object)
{
	const struct store_kind *kind = object->public.kind;
	size_t count = 0;

	for (size_t i = 0; i < kind->index_count; i++)
		count += object->index_counts[i];
	return count;
}

/* ---- references ---- */

static void unref_texts(struct object *object)
{
	size_t count = object->index_texts ? text_count(object) : 0;

	for (size_t i = 0; i < count; i++)
		text_unref(object->index_texts[i]);
	free(object->index_texts);
}

void store_object_unref(const struct store_object *public)
{
	struct object *object;

	if (!public)
		return;
	object = object_of(public);
	if (atomic_fetch_sub_explicit(&object->references, 1, memory_order_acq_rel) != 1)
		return;
	unref_texts(object);
	free(object);
}

void store_object_unref_pointer(const struct store_object **object)
{
	store_object_unref(TAKE(*object));
}

size_t object_size(const struct store_object *object)
{
	return object_of(object)->size;
}

const struct tree_text *object_key_text(const struct store_object *object)
{
	return (const struct tree_text *)(object->key.data - offsetof(struct tree_text, data));
}

/* ---- index texts ---- */

void store_index_add(struct store_index_writer *writer, struct span text)
{
	if (text.length > OBJECT_INDEX_TEXT_MAX) {
		writer->failure = "an index text is too long";
		return;
	}
	if (writer->count == OBJECT_INDEX_TEXTS_MAX) {
		writer->failure = "too many index texts";
		return;
	}
	if (writer->count == writer->capacity) {
		writer->capacity = writer->capacity ? 2 * writer->capacity : 8;
		writer->items =
			memory_resize(writer->items, writer->capacity * sizeof(*writer->items));
	}
	writer->items[writer->count++] = (struct index_text){writer->texts.length, text.length};
	buffer_add_span(&writer->texts, text);
}

void store_index_add_format(struct store_index_writer *writer, const char *format, ...)
{
	char text[OBJECT_INDEX_TEXT_MAX + 1];
	va_list list;
	int length;

	va_start(list, format);
	length = vsnprintf(text, sizeof(text), format, list);
	va_end(list);
	if (length < 0 || (size_t)length >= sizeof(text)) {
		writer->failure = "an index text is too long";
		return;
	}
	store_index_add(writer, (struct span){text, (size_t)length});
}

static struct span writer_text(const struct store_index_writer *writer,
	const struct index_text *item)
{
	return (struct span){buffer_span(&writer->texts).data + item->offset, item->length};
}

static int compare_items(const void *left, const void *right, void *context)
{
	const struct store_index_writer *writer = context;

	return span_compare(writer_text(writer, left), writer_text(writer, right));
}

/* Adds what the writer collected for one index to the object in work: sorted, each text once. */
static void add_index(struct object_maker *maker)
{
	struct store_index_writer *writer = &maker->writer;
	uint16_t count = 0;

	if (writer->count > 1)
		qsort_r(writer->items, writer->count, sizeof(*writer->items), compare_items,
			writer);
	for (size_t i = 0; i < writer->count; i++) {
		struct span text = writer_text(writer, &writer->items[i]);
		struct object_text *shared;

		if (i > 0 && span_equal(text, writer_text(writer, &writer->items[i - 1])))
			continue;
		shared = text_take(maker, text);
		buffer_add(&maker->texts, &shared, sizeof(shared));
		count++;
	}
	buffer_add(&maker->counts, &count, sizeof(count));
}

/* The object has the references from here on. */
static void give_texts(struct object_maker *maker, struct object *object)
{
	size_t size = maker->texts.length + maker->counts.length;
	char *block = memory_resize(NULL, size);

	if (maker->texts.length > 0)
		memcpy(block, maker->texts.data, maker->texts.length);
	memcpy(block + maker->texts.length, maker->counts.data, maker->counts.length);
	object->index_texts = (struct object_text **)block;
	object->index_counts = (const uint16_t *)(block + maker->texts.length);
	object->size += (uint32_t)(size + maker->built);
}

static void drop_texts(struct object_maker *maker)
{
	struct object_text *const *texts = (const void *)maker->texts.data;

	for (size_t i = 0; i < maker->texts.length / sizeof(*texts); i++)
		text_unref(texts[i]);
}

static int object_write_indexes(struct object_maker *maker, struct object *object, struct err *err)
{
	const struct store_kind *kind = object->public.kind;
	struct store_index_writer *writer = &maker->writer;

	if (kind->index_count == 0)
		return 0;
	buffer_reset(&maker->texts);
	buffer_reset(&maker->counts);
	maker->built = 0;
	for (size_t i = 0; i < kind->index_count; i++) {
		buffer_reset(&writer->texts);
		writer->count = 0;
		writer->failure = NULL;
		kind->indexes[i].write(&object->public, writer);
		if (writer->failure) {
			drop_texts(maker);
			return err_set(err, -E2BIG, "%s '%.*s': index %s: %s", kind->name,
				SPAN_ARGS(object->public.key), kind->indexes[i].name,
				writer->failure);
		}
		add_index(maker);
	}
	give_texts(maker, object);
	return 0;
}

void object_walk_begin(struct object_walk *walk, const struct store_object *object)
{
	walk->at = object ? object_of(object)->index_texts : NULL;
	walk->counts = object ? object_of(object)->index_counts : NULL;
	walk->left = 0;
}

void object_walk_index(struct object_walk *walk)
{
	if (!walk->counts)
		return;
	walk->at += walk->left;
	walk->left = *walk->counts++;
}

const struct tree_text *object_walk_next(struct object_walk *walk)
{
	if (walk->left == 0)
		return NULL;
	walk->left--;
	return &(*walk->at++)->text;
}

/* ---- making ---- */

struct object_maker *object_maker_new(void)
{
	struct object_maker *maker = memory_allocate(sizeof(*maker));

	maker->scratch = arena_new(0);
	return maker;
}

void object_maker_free(struct object_maker *maker)
{
	if (!maker)
		return;
	arena_free(maker->scratch);
	buffer_clear(&maker->writer.texts);
	free(maker->writer.items);
	buffer_clear(&maker->texts);
	buffer_clear(&maker->counts);
	for (size_t i = 0; i < OBJECT_RECENT_TEXTS; i++)
		text_unref(maker->recent[i]);
	free(maker);
}

/* Copies text to *at and moves *at behind it. */
static struct span put_text(char **at, struct span text)
{
	struct span copy = {*at, text.length};

	if (text.length)
		memcpy(*at, text.data, text.length);
	*at += text.length;
	return copy;
}

static int check_limits(const struct store_kind *kind, struct span key, struct span api,
	struct span private_, struct err *err)
{
	if (key.length == 0)
		return err_set(err, -EINVAL, "%s: empty key", kind->name);
	if (key.length > STORE_KEY_MAX)
		return err_set(err, -E2BIG, "%s '%.64s…': key of %zu bytes, most is %d", kind->name,
			key.data, key.length, STORE_KEY_MAX);
	if (api.length > STORE_TEXT_MAX || private_.length > STORE_TEXT_MAX)
		return err_set(err, -E2BIG, "%s '%.*s': %s text of %zu bytes, most is %d",
			kind->name, SPAN_ARGS(key), api.length > STORE_TEXT_MAX ? "API" : "private",
			api.length > STORE_TEXT_MAX ? api.length : private_.length, STORE_TEXT_MAX);
	return 0;
}

int object_new(struct object_maker *maker, const struct store_kind *kind, struct span key,
	uint64_t revision, struct span api, struct span private_,
	const struct store_object **ret_object, struct err *err)
{
	const size_t facts_size = (kind->facts_size + 7) & ~(size_t)7;
	_object_ const struct store_object *built = NULL;
	struct object *object;
	uint32_t key_length = (uint32_t)key.length;
	size_t size;
	char *at;
	int code;

	code = check_limits(kind, key, api, private_, err);
	if (code < 0)
		return code;
	size = sizeof(*object) + facts_size + sizeof(struct tree_text) + key.length + api.length +
	       private_.length;
	object = memory_allocate(size);
	atomic_init(&object->references, 1);
	object->size = (uint32_t)size;
	built = &object->public;

	at = (char *)object->rest;
	object->public.kind = kind;
	object->public.revision = revision;
	object->public.facts = at;
	at += facts_size;
	memcpy(at, &key_length, sizeof(key_length));
	at += sizeof(key_length);
	object->public.key = put_text(&at, key);
	object->public.api = put_text(&at, api);
	object->public.private_ = put_text(&at, private_);

	if (kind->extract) {
		arena_reset(maker->scratch);
		code = kind->extract(&object->public, object->rest, maker->scratch, err);
		if (code < 0) {
			err_prefix(err, code, "%s '%.*s'", kind->name, SPAN_ARGS(key));
			if (err)
				err->code = -EINVAL; /* in place of the kind's own code */
			return -EINVAL;
		}
	}
	code = object_write_indexes(maker, object, err);
	if (code < 0)
		return code;
	*ret_object = TAKE(built);
	return 0;
}
