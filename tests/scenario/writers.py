"""Clients that write all the time and remember what they were promised.

Each writer registers task definitions into families of its own and creates clusters, on one
connection at a time, without retries. What was answered is promised; what was sent when the server
went away is not: it may be there, whole, or not at all.
"""
import http.client
import json
import threading

from conftest import DEADLINE, wait_until

PREFIX = "AmazonEC2ContainerServiceV20141113."


class Refused(Exception):
    """The server answered with an error."""

    def __init__(self, status, body):
        super().__init__(f"{status} {body}")
        self.status = status
        self.body = body


def call(connection, operation, **members):
    """One unsigned operation (servers with auth none)."""
    connection.request("POST", "/", json.dumps(members), {
        "X-Amz-Target": PREFIX + operation, "Content-Type": "application/x-amz-json-1.1"})
    answer = connection.getresponse()
    body = json.loads(answer.read())
    if answer.status != 200:
        raise Refused(answer.status, body)
    return body


def connect(server):
    return http.client.HTTPConnection(server.url.split("//")[1], timeout=DEADLINE)


class Writers:
    """`count` threads that write to whatever server is current."""

    def __init__(self, count):
        self.server = None
        self.stopping = False
        self.refusals = []
        self.unexpected = []
        self.lock = threading.Lock()
        self.promised = {}  # (family, revision): value of its variable
        self.sent = {}      # family: values that were ever sent
        self.clusters = set()
        self.threads = [threading.Thread(target=self.run, args=(number,)) for number in range(count)]

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.stopping = True
        for thread in self.threads:
            thread.join()

    @property
    def answered(self):
        return len(self.promised) + len(self.clusters)

    def write(self, connection, worker, number):
        family, value = f"family-{worker}", f"{worker}-{number}"
        self.sent.setdefault(family, set()).add(value)
        answer = call(connection, "RegisterTaskDefinition", family=family, containerDefinitions=[
            {"name": "app", "image": "host", "memory": 16,
             "environment": [{"name": "VALUE", "value": value}]}])
        with self.lock:
            self.promised[family, answer["taskDefinition"]["revision"]] = value
        call(connection, "CreateCluster", clusterName=f"cluster-{value}")
        with self.lock:
            self.clusters.add(f"cluster-{value}")

    def run(self, worker):
        number, connection, used = 0, None, None
        pause = threading.Event()
        while not self.stopping:
            server = self.server
            if server is None:
                pause.wait(0.005)
                continue
            try:
                if used is not server:
                    connection, used = connect(server), server
                number += 1
                self.write(connection, worker, number)
            except Refused as refused:
                self.refusals.append(refused)
                pause.wait(0.02)
            except (OSError, http.client.HTTPException):
                # The server went away; wait for the next one.
                connection.close()
                used = None
                pause.wait(0.005)
            except Exception as problem:  # pylint: disable=broad-except
                self.unexpected.append(problem)
                return

    def wait_for_answers(self, count, what):
        target = self.answered + count
        wait_until(lambda: self.answered >= target or self.unexpected, what)

    def check(self, server):
        """Everything promised is there, everything there was sent, nothing is half there."""
        assert not self.unexpected, self.unexpected[0]
        connection = connect(server)
        with self.lock:
            promised, clusters = dict(self.promised), set(self.clusters)
        highest = {}
        for family, revision in promised:
            highest[family] = max(revision, highest.get(family, 0))
        for family, last in highest.items():
            arns, token = [], None
            while True:
                page = call(connection, "ListTaskDefinitions", familyPrefix=family,
                            **({"nextToken": token} if token else {}))
                arns += page["taskDefinitionArns"]
                token = page.get("nextToken")
                if not token:
                    break
            revisions = [int(arn.rsplit(":", 1)[1]) for arn in arns]
            # Numbers without gaps: neither the definition nor the counter was written alone.
            assert revisions == list(range(1, len(revisions) + 1))
            assert len(revisions) >= last
        for (family, revision), value in promised.items():
            found = call(connection, "DescribeTaskDefinition", taskDefinition=f"{family}:{revision}")
            environment = found["taskDefinition"]["containerDefinitions"][0]["environment"]
            assert environment == [{"name": "VALUE", "value": value}]
            assert value in self.sent[family]
        known, token = set(), None
        while True:
            page = call(connection, "ListClusters", **({"nextToken": token} if token else {}))
            known |= {arn.rsplit("/", 1)[1] for arn in page["clusterArns"]}
            token = page.get("nextToken")
            if not token:
                break
        assert clusters <= known
        connection.close()
