/* The data plane of a server, between the files that have to do with it. */
#ifndef SERVER_TRAFFIC_H
#define SERVER_TRAFFIC_H

#include "elb/plane.h"
#include "server/components.h"

struct traffic {
	struct proxy *proxy;
	struct proxy_driver *l4, *haproxy; /* of the proxy */
	struct elb_plane *plane;
	struct runner *runner; /* of the watcher of the certificate folder */
	char *folder;          /* of HAProxy's files */
	bool folder_is_temporary;
};

#endif
