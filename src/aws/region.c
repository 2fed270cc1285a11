/* Names of regions; see region.h. */
#include "aws/region.h"

#include "base/memory.h"

static bool is_among(struct span text, const char *const *names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (span_is(text, names[i]))
			return true;
	return false;
}

/* Cuts the part behind the last hyphen off; false if there is no hyphen. */
static bool cut_last(struct span *text, struct span *ret_part)
{
	for (size_t i = text->length; i > 0; i--) {
		if (text->data[i - 1] != '-')
			continue;
		*ret_part = (struct span){text->data + i, text->length - i};
		text->length = i - 1;
		return true;
	}
	return false;
}

bool aws_region_is_known(struct span name)
{
	static const char *const areas[] = {"af", "ap", "ca", "cn", "eu", "eu-isoe", "eusc-de",
		"il", "me", "mx", "sa", "us", "us-gov", "us-iso", "us-isob", "us-isof"};
	static const char *const directions[] = {"central", "east", "north", "northeast",
		"northwest", "south", "southeast", "southwest", "west"};
	struct span area = name, direction, number;

	return cut_last(&area, &number) && cut_last(&area, &direction) && number.length == 1 &&
	       number.data[0] >= '1' && number.data[0] <= '9' &&
	       is_among(direction, directions, LENGTH(directions)) &&
	       is_among(area, areas, LENGTH(areas));
}
