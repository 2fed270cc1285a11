/* DescribeAccountLimits; see account_limits.h. Names are those of Elastic Load Balancing. */
#include "elb/account_limits.h"

#include "aws/page.h"
#include "base/memory.h"
#include "elb/action.h"
#include "elb/condition.h"
#include "elb/listener.h"
#include "elb/load_balancer.h"
#include "elb/target.h"
#include "elb/target_group.h"

static const struct limit {
	const char *name;
	int max;
} limits[] = {
	{"application-load-balancers", ELB_LOAD_BALANCERS_MAX},
	{"certificates-per-application-load-balancer", ELB_LISTENER_CERTIFICATES_MAX},
	{"certificates-per-network-load-balancer", ELB_LISTENER_CERTIFICATES_MAX},
	{"condition-values-per-alb-rule", ELB_CONDITION_VALUES_MAX},
	{"condition-wildcards-per-alb-rule", ELB_CONDITION_WILDCARDS_MAX},
	{"listeners-per-application-load-balancer", ELB_LISTENERS_MAX},
	{"listeners-per-network-load-balancer", ELB_LISTENERS_MAX},
	{"network-load-balancers", ELB_LOAD_BALANCERS_MAX},
	{"rules-per-application-load-balancer", ELB_RULES_MAX},
	{"target-groups", ELB_TARGET_GROUPS_MAX},
	{"target-groups-per-action-on-application-load-balancer", ELB_ACTION_GROUPS_MAX},
	{"target-groups-per-action-on-network-load-balancer", ELB_ACTION_GROUPS_MAX},
	{"target-groups-per-application-load-balancer", ELB_BALANCER_GROUPS_MAX},
	{"targets-per-application-load-balancer", ELB_APPLICATION_TARGETS_MAX},
	{"targets-per-network-load-balancer", ELB_NETWORK_TARGETS_MAX},
	{"targets-per-target-group", ELB_TARGETS_MAX},
};

/* There are few: a page token has the position of the last one given. */
int elb_account_limits_describe(struct aws_request *request)
{
	struct json *answer = json_new_object(request->arena);
	struct json *list = json_new_array(request->arena);
	struct span last = SPAN_NONE;
	struct aws_page page;
	bool more = false;

	if (aws_page_read(request, ELB_PAGE_MAX, ELB_PAGE_MAX, SPAN(""), &page) < 0)
		return -EPERM;
	for (size_t i = 0; i < LENGTH(limits) && !more; i++) {
		struct span name = span_of(limits[i].name);
		struct json *limit;

		if (page.after_key.data && span_compare(name, page.after_key) <= 0)
			continue;
		more = json_count(list) == page.most;
		if (more)
			break;
		limit = json_new_object(request->arena);
		json_set_string(request->arena, limit, "Name", name);
		json_set(request->arena, limit, "Max",
			json_new_format(request->arena, "%d", limits[i].max));
		json_append(request->arena, list, limit);
		last = name;
	}
	json_set(request->arena, answer, "Limits", list);
	if (more)
		json_set_string(request->arena, answer, "NextMarker",
			aws_page_token(request, SPAN(""), SPAN(""), last));
	json_write(answer, request->out);
	return 0;
}
