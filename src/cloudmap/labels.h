/* Labels: tags of namespaces and services, and the attributes of services; see kinds.h. */
#ifndef CLOUDMAP_LABELS_H
#define CLOUDMAP_LABELS_H

#include "cloudmap/kinds.h"

/* Checks tags of a request: TooManyTagsException, InvalidInput. */
int cloudmap_labels_check_tags(struct aws_request *request, const struct json *tags);
/* Puts the labels of a new namespace or service; none is fine. */
int cloudmap_labels_put_tags(struct aws_request *request, struct span key, const struct json *tags);
/* Forgets them with it. */
int cloudmap_labels_delete(struct aws_request *request, struct span key);

int cloudmap_service_attributes_get(struct aws_request *request);
int cloudmap_service_attributes_update(struct aws_request *request);
int cloudmap_service_attributes_delete(struct aws_request *request);
int cloudmap_tags_tag(struct aws_request *request);
int cloudmap_tags_untag(struct aws_request *request);
int cloudmap_tags_list(struct aws_request *request);
/* Of the three operations on tags. */
void cloudmap_tags_resources(struct aws_request *request, struct aws_resources *resources);

#endif
