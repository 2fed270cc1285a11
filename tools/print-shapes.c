/*
 * print-shapes SERVICE: the shape tables of a service as JSON, for tests/scenario/test_shapes.py,
 * which holds them against AWS's models.
 */
#include <stdio.h>

#include "aws/shape.h"

int main(int argc, char **argv)
{
	const struct shape_service *service =
		argc == 2 ? shape_find_service(span_of(argv[1])) : NULL;
	_buffer_ struct buffer out = {0};

	if (!service) {
		fprintf(stderr, "usage: print-shapes SERVICE, where SERVICE is one of: ecs, "
				"elasticloadbalancingv2, servicediscovery, slipway, sts\n");
		return 2;
	}
	shape_write_json(service, &out);
	if (fwrite(out.data, 1, out.length, stdout) != out.length || fflush(stdout) != 0) {
		perror("print-shapes: write");
		return 1;
	}
	return 0;
}
