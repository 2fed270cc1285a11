/* See the header. */
#include "ecs/record/reservation.h"

#include "store/fact_table.h"

static const struct fact_row rows[] = {
	FACT(FACT_TEXT, reservation_facts, family, "family"),
	FACT(FACT_NUMBER, reservation_facts, revision, "revision"),
	FACT(FACT_TEXT, reservation_facts, attributes, "attributes"),
	FACT(FACT_NUMBER, reservation_facts, since_ms, "since"),
	FACT(FACT_NUMBER, reservation_facts, priority, "priority"),
};

static int extract(const struct store_object *object, void *facts, struct arena *scratch,
	struct err *err)
{
	struct reservation_facts *reservation = facts;
	struct json *private_;
	size_t slashes = 0;
	int code;

	for (size_t i = 0; i < object->key.length && slashes < 3; i++) {
		if (object->key.data[i] != '/' || ++slashes < 3)
			continue;
		reservation->cluster = (struct span){object->key.data, i};
		reservation->group =
			(struct span){object->key.data + i + 1, object->key.length - i - 1};
	}
	if (slashes < 3)
		return err_set(err, -EINVAL, "'%.*s' is not the key of a reservation",
			SPAN_ARGS(object->key));
	code = json_parse(object->private_, scratch, &private_, err);
	return code < 0 ? code : fact_table_read(rows, LENGTH(rows), private_, facts, err);
}

const struct store_kind reservation_kind = {
	.name = "ecs.reservation",
	.facts_size = sizeof(struct reservation_facts),
	.extract = extract,
};

struct span reservation_key(struct arena *arena, struct span cluster_key, struct span group)
{
	return arena_format(arena, "%.*s/%.*s", SPAN_ARGS(cluster_key), SPAN_ARGS(group));
}

int reservation_put(struct store_transaction *transaction, struct span key,
	const struct reservation_facts *facts, struct err *err)
{
	struct arena *arena = store_transaction_arena(transaction);
	struct json *private_ = json_new_object(arena);

	fact_table_write(rows, LENGTH(rows), facts, arena, private_);
	return store_put(transaction, &reservation_kind, key, SPAN("{}"),
		json_to_text(private_, arena), STORE_ANY, err);
}
