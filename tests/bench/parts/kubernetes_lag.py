"""How long a change of a pod takes from the API server to DescribeTasks, and to a bare watch beside it.

Three processes, so that none waits for another's interpreter, on one clock: this one changes pods; one watches them as
any client of Kubernetes could, and does nothing but to note what comes; one asks DescribeTasks for those pods that were
changed and not seen yet, again and again. A change counts from when the API server has accepted it: its answer was
here, or the watch had it, whichever came first.
"""
import concurrent.futures
import http.client
import itertools
import json
import multiprocessing
import re
import statistics
import time
import urllib.parse

CHANGERS = 8
REST_SECONDS = 0.0005  # of the polling client, between two rounds
PATIENCE_SECONDS = 60
ADDRESS = re.compile(rb'"podIP":"([0-9.]+)"')


def watch(api, path, revision, pipe):
    """Notes when each address first appeared. Ends with the first bookmark or event after a message on the pipe."""
    seen = {}
    query = urllib.parse.urlencode({"watch": "1", "resourceVersion": revision})
    connection = api.connect()
    connection.request("GET", f"{path}?{query}", None, api.headers())
    response = connection.getresponse()
    pipe.send("ready")
    while not pipe.poll():
        line = response.readline()
        now = time.monotonic()
        found = ADDRESS.search(line)
        if found:
            seen.setdefault(found.group(1).decode(), now)
    pipe.send(seen)


class Looker:
    """Asks for what was announced until it is there."""

    def __init__(self, url, requests, pipe):
        self.connection = http.client.HTTPConnection(urllib.parse.urlsplit(url).netloc)
        self.requests = requests
        self.pipe = pipe
        self.wanted = {}  # name: addresses, oldest first
        self.looked = {}  # name: when
        self.seen = {}  # address: (when, how long after the look before)
        self.over = False

    def take_announced(self):
        while self.pipe.poll(0 if self.wanted or self.over else None):
            announced = self.pipe.recv()
            if announced is None:
                self.over = True
                return
            name, address = announced
            self.wanted.setdefault(name, []).append(address)
            self.looked.setdefault(name, time.monotonic())

    def look(self, name):
        headers, body = self.requests[name]
        self.connection.request("POST", "/", body, headers)
        text = self.connection.getresponse().read()
        now = time.monotonic()
        addresses = self.wanted[name]
        for i in reversed(range(len(addresses))):
            if f'"{addresses[i]}"'.encode() in text:
                for address in addresses[:i + 1]:
                    self.seen[address] = (now, now - self.looked[name])
                del addresses[:i + 1]
                break
        self.looked[name] = now
        if not addresses:
            del self.wanted[name], self.looked[name]

    def run(self):
        self.pipe.send("ready")
        while self.wanted or not self.over:
            self.take_announced()
            for name in list(self.wanted):
                self.look(name)
            time.sleep(REST_SECONDS)
        self.pipe.send(self.seen)


def look(url, requests, pipe):
    Looker(url, requests, pipe).run()


def change(pods, names, rate, seconds, announce):
    """Makes changes for so long; when the answer to each came, by address, and changes per second."""
    answered = {}
    pace = itertools.count()
    began = time.monotonic()

    def work(own):
        for name in itertools.cycle(own):
            if rate:
                time.sleep(max(0, began + next(pace) / rate - time.monotonic()))
            if time.monotonic() > began + seconds:
                return
            address = pods.new_address()
            announce(name, address)
            pods.set_address(name, address)
            answered[address] = time.monotonic()

    with concurrent.futures.ThreadPoolExecutor(CHANGERS) as pool:
        for done in [pool.submit(work, names[i::CHANGERS]) for i in range(CHANGERS)]:
            done.result()
    return answered, len(answered) / (time.monotonic() - began)


def start(function, *arguments):
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()
    process = context.Process(target=function, args=(*arguments, theirs), daemon=True)
    process.start()
    assert ours.recv() == "ready"
    return process, ours


def finish(process, pipe):
    if not pipe.poll(PATIENCE_SECONDS):
        raise SystemExit("not every change was seen within a minute")
    value = pipe.recv()
    process.join()
    return value


def percentile(values, part):
    return sorted(values)[min(len(values) - 1, int(len(values) * part))]


class Lag:
    """Of all changes of one run, in milliseconds: until ECS reports it, until the watch does, from the watch to ECS."""

    def __init__(self, answered, watched, seen, rate):
        accepted = {address: min(when, watched[address]) for address, when in answered.items()}
        self.rate = rate
        self.ecs = [(seen[a][0] - accepted[a]) * 1000 for a in answered]
        self.watch = [(watched[a] - accepted[a]) * 1000 for a in answered]
        self.own = [(seen[a][0] - watched[a]) * 1000 for a in answered]
        self.grain = [seen[a][1] * 1000 for a in answered]

    @staticmethod
    def summarize(values):
        return f"median {statistics.median(values):.1f}, 99 % {percentile(values, 0.99):.1f}"


def measure(pods, server, names, rate, seconds):
    requests = {name: server.sign("DescribeTasks", tasks=[pods.tokens[name]]) for name in names}
    _, revision = pods.api.list(pods.path())
    pods.api.close()  # a connection must not be shared with a process
    watcher, watch_pipe = start(watch, pods.api, pods.path(), revision)
    looker, look_pipe = start(look, server.url, requests)
    answered, rate_made = change(pods, names, rate, seconds,
                                 lambda name, address: look_pipe.send((name, address)))
    look_pipe.send(None)
    seen = finish(looker, look_pipe)
    time.sleep(0.5)
    watch_pipe.send("enough")
    pods.set_address(names[0], pods.new_address())
    return Lag(answered, finish(watcher, watch_pipe), seen, rate_made)
