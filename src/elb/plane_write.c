/* Writes the state that the plane observed into the store, in batches. */
#include "control/write.h"
#include "elb/plane_components.h"

static struct plane_write *note(struct elb_plane *plane, enum plane_write_kind kind,
	const struct store_object *object)
{
	struct plane_write *write;

	if (plane->write_count == plane->write_capacity) {
		plane->write_capacity = plane->write_capacity ? plane->write_capacity * 2 : 64;
		plane->writes = memory_resize(plane->writes,
			plane->write_capacity * sizeof(*plane->writes));
	}
	write = &plane->writes[plane->write_count++];
	*write = (struct plane_write){.kind = kind, .object = store_object_ref(object)};
	return write;
}

void plane_note_state(struct elb_plane *plane, const struct plane_target *target)
{
	struct plane_write *write = note(plane, PLANE_WRITE_STATE, target->object);

	write->state = target->state;
	write->reason = target->reason;
	write->code = target->code;
}

void plane_note_drained(struct elb_plane *plane, const struct store_object *target)
{
	note(plane, PLANE_WRITE_DRAINED, target);
}

void plane_note_balancer(struct elb_plane *plane, const struct store_object *balancer,
	enum elb_load_balancer_state state, const char *reason)
{
	struct plane_write *write = note(plane, PLANE_WRITE_BALANCER, balancer);

	write->balancer_state = state;
	write->balancer_reason = memory_copy_string(reason);
}

void plane_writes_clear(struct elb_plane *plane)
{
	for (size_t i = 0; i < plane->write_count; i++) {
		store_object_unref(plane->writes[i].object);
		free(plane->writes[i].balancer_reason);
	}
	plane->write_count = 0;
}

struct batch {
	const struct plane_write *writes;
	size_t count;
	int64_t now_ms;
};

static int write_one(struct store_transaction *transaction, const struct plane_write *write,
	int64_t now_ms, struct err *err)
{
	const struct store_object *known = write->object;
	const struct store_object *object =
		store_get(store_head(transaction), known->kind, known->key);
	struct arena *arena = store_transaction_arena(transaction);

	if (!object || object->revision != known->revision)
		return 0;
	switch (write->kind) {
	case PLANE_WRITE_STATE:
		return elb_target_set_state(transaction, object, write->state, write->reason,
			write->code, now_ms, arena, err);
	case PLANE_WRITE_DRAINED:
		return store_delete(transaction, object->kind, object->key, object->revision, err);
	case PLANE_WRITE_BALANCER:
		return elb_load_balancer_set_state(transaction, object, write->balancer_state,
			span_of(write->balancer_reason), arena, err);
	}
	return 0;
}

static int write_batch(struct store_transaction *transaction, void *context, struct err *err)
{
	const struct batch *batch = context;
	int code = 0;

	for (size_t i = 0; code == 0 && i < batch->count; i++)
		code = write_one(transaction, &batch->writes[i], batch->now_ms, err);
	return code;
}

int plane_write_all(struct elb_plane *plane, struct err *err)
{
	int code = 0;

	for (size_t i = 0; code == 0 && i < plane->write_count; i += PLANE_WRITES_AT_ONCE) {
		struct batch batch = {.writes = &plane->writes[i],
			.count = plane->write_count - i,
			.now_ms = runner_wall_ms(plane->runner)};

		if (batch.count > PLANE_WRITES_AT_ONCE)
			batch.count = PLANE_WRITES_AT_ONCE;
		code = control_write(plane->runner, plane->config.store, write_batch, &batch, NULL,
			err);
	}
	plane_writes_clear(plane);
	return code;
}
