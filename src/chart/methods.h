/* Methods of Go types that are maps and lists: common.Values, engine.files, common.VersionSet. */
#ifndef CHART_METHODS_H
#define CHART_METHODS_H

#include "chart/run.h"
#include "chart/value.h"

/* 1: the type has no method of that name. */
int method_call(struct run *run, struct value receiver, struct span name,
	const struct value *arguments, size_t count, struct value *ret_value);

#endif
