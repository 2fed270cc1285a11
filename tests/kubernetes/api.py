"""A small client of the Kubernetes API for tests: JSON in, JSON out, one kept connection a thread.

    api = Api("https://127.0.0.1:12345", ca="ca.crt", token="…")
    api.post("/api/v1/namespaces", {"metadata": {"name": "a"}})
    for event in api.watch("/api/v1/pods"): …

It knows nothing of slipway, and so can bear witness.
"""
import http.client
import json
import ssl
import threading
import urllib.parse

SECONDS = 60  # for one answer
PAGE = 500
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"


class ApiError(Exception):
    """An answer that is no success: .status, .reason (as "NotFound"), .body."""

    def __init__(self, method, path, status, body):
        try:
            self.body = json.loads(body)
        except ValueError:
            self.body = {"message": body.decode(errors="replace")[:500]}
        self.status = status
        self.reason = self.body.get("reason", "")
        super().__init__(f"{method} {path}: {status} {self.body.get('message', '')}")


class Api:
    """The API of one server, as one user."""

    def __init__(self, server, ca, token=None, certificate=None):
        self.server = server
        self.token = token
        self.context = ssl.create_default_context(cafile=ca)
        if certificate:
            self.context.load_cert_chain(*certificate)
        self.kept = threading.local()

    def connect(self, timeout=SECONDS):
        return http.client.HTTPSConnection(urllib.parse.urlsplit(self.server).netloc,
                                           context=self.context, timeout=timeout)

    def headers(self, content_type=None):
        headers = {"Accept": "application/json"}
        if self.token:
            headers["Authorization"] = "Bearer " + self.token
        if content_type:
            headers["Content-Type"] = content_type
        return headers

    def exchange(self, method, path, data, headers):
        """One request over the kept connection; a new one where the server has closed it. Only a
        request that never reached the server is sent again."""
        for fresh in (False, True):
            connection = getattr(self.kept, "connection", None)
            if connection is None:
                connection, fresh = self.connect(), True
                self.kept.connection = connection
            try:
                connection.request(method, path, data, headers)
                response = connection.getresponse()
                kind = response.getheader("Content-Type", "")
                return response.status, response.read(), "json" in kind
            except (http.client.RemoteDisconnected, ConnectionResetError, BrokenPipeError):
                self.close()
                if fresh:
                    raise
            except (OSError, http.client.HTTPException):
                self.close()
                raise
        raise AssertionError("not reached")

    def close(self):
        connection = getattr(self.kept, "connection", None)
        if connection:
            connection.close()
        self.kept.connection = None

    def request(self, method, path, body=None, content_type="application/json", **query):
        if query:
            path += ("&" if "?" in path else "?") + urllib.parse.urlencode(query)
        data = None if body is None else json.dumps(body)
        status, answer, is_json = self.exchange(
            method, path, data, self.headers(content_type if body is not None else None))
        if status >= 300:
            raise ApiError(method, path, status, answer)
        return json.loads(answer) if is_json else answer.decode(errors="replace")

    def get(self, path, **query):
        return self.request("GET", path, **query)

    def find(self, path, **query):
        """The object, or None where there is none."""
        try:
            return self.get(path, **query)
        except ApiError as error:
            if error.status != 404:
                raise
            return None

    def post(self, path, body, **query):
        return self.request("POST", path, body, **query)

    def put(self, path, body, **query):
        return self.request("PUT", path, body, **query)

    def patch(self, path, body, content_type=MERGE, **query):
        return self.request("PATCH", path, body, content_type, **query)

    def delete(self, path, body=None, **query):
        return self.request("DELETE", path, body, **query)

    def list(self, path, **query):
        """All items, read in pages, and the revision of the list."""
        items, more = [], {}
        while True:
            page = self.get(path, limit=PAGE, **more, **query)
            items += page["items"]
            if not page["metadata"].get("continue"):
                return items, page["metadata"]["resourceVersion"]
            more = {"continue": page["metadata"]["continue"]}

    def watch(self, path, revision, timeout=None, **query):
        """Yield (type, object) from a revision on, until the server ends the watch."""
        query = urllib.parse.urlencode({"watch": "1", "allowWatchBookmarks": "true",
                                        "resourceVersion": revision, **query})
        connection = self.connect(timeout)
        try:
            connection.request("GET", f"{path}?{query}", None, self.headers())
            response = connection.getresponse()
            if response.status != 200:
                raise ApiError("GET", path, response.status, response.read())
            for line in response:
                event = json.loads(line)
                yield event["type"], event["object"]
        finally:
            connection.close()
