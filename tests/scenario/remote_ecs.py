"""A proxy between a slipway and a remote ECS: it forwards calls to another slipway unchanged, signature
included, unless a test injects a fault; and STS, whose sessions the proxy accepts.

    with RemoteProxy(remote.url) as proxy:
        proxy.fault("StartTask", "throttle", times=5)
        ...
        assert proxy.count("StartTask") == 6

Whatever is signed with a session that this STS gave is checked here with botocore's own SigV4, and signed anew with a key
that the other slipway knows; everything else is checked by the other slipway itself.
"""
import http.client
import http.server
import json
import threading
import time
import urllib.parse

import botocore.auth
import botocore.awsrequest
import botocore.credentials

from conftest import DEADLINE, REGION

THROTTLED = (400, {"__type": "ThrottlingException", "message": "Rate exceeded"})
FAILED = (500, {"__type": "ServerException", "message": "Something went wrong"})
UNKNOWN = (400, {"__type": "UnrecognizedClientException", "message": "The security token is invalid"})
XML = "https://sts.amazonaws.com/doc/2011-06-15/"
HOP_BY_HOP = {"connection", "content-length", "transfer-encoding"}


class Call:
    """One request that came, and what was done to it."""

    def __init__(self, operation, body):
        self.operation = operation
        self.body = body
        self.at = time.monotonic()
        self.answered_at = None
        self.forwarded = False
        self.status = None


class Fault:
    """A fault of calls, instead of forwarding them.

    throttle, error     an answer that says so; nothing is forwarded
    cut                 the connection is closed
    lost                nothing is forwarded, and no answer comes
    silent              it is forwarded, and no answer comes
    late                the same, but forwarded only after so many seconds
    slow                forwarded and answered after so many seconds
    gateway             forwarded; the answer is 504
    """

    def __init__(self, operation, kind, times, seconds):
        self.operation = operation
        self.kind = kind
        self.times = times
        self.seconds = seconds


class Sts:
    """Gives out sessions of roles to permitted callers."""

    def __init__(self):
        self.roles = set()
        self.sessions = {}  # access key: (secret, token)
        self.asked = []     # forms
        self.lasts = 3600


def claim_of(headers):
    """{Credential, SignedHeaders, Signature} of an Authorization header."""
    rest = headers.get("Authorization", "").partition(" ")[2]
    return dict(part.strip().split("=", 1) for part in rest.split(",") if "=" in part)


def is_signed(handler, body, service, secret, token=None):
    """Whether the signature of a request is the one that botocore would make with this secret."""
    claim = claim_of(handler.headers)
    key, _, region, named, _ = claim["Credential"].split("/")
    auth = botocore.auth.SigV4Auth(botocore.credentials.Credentials(key, secret, token), service,
                                   region)
    names = claim["SignedHeaders"].split(";")
    if named != service or {"host", "x-amz-date"} - set(names):
        return False
    request = botocore.awsrequest.AWSRequest(
        method=handler.command, url=f"http://{handler.headers['Host']}{handler.path}", data=body,
        headers={name: handler.headers[name] for name in names if name != "host"})
    request.context["timestamp"] = handler.headers["X-Amz-Date"]
    wanted = auth.signature(auth.string_to_sign(request, auth.canonical_request(request)), request)
    return wanted == claim["Signature"]


class RemoteProxy:
    """The proxy, on a port of its own."""

    def __init__(self, url=None, key=None):
        self.url = url
        self.key = key  # of the other slipway, for what came with a session
        self.keys = {}  # that STS believes
        self.skew = 0.0  # seconds by which the remote clock is ahead, as its timestamps show
        self.faults = []
        self.calls = []
        self.connections = 0  # that are open: a caller that has gone may have left calls in them
        self.sts = Sts()
        self.ended = threading.Event()
        self.lock = threading.Lock()
        proxy = self

        class Handler(http.server.BaseHTTPRequestHandler):
            """One connection."""
            protocol_version = "HTTP/1.1"
            timeout = DEADLINE

            def setup(self):
                with proxy.lock:
                    proxy.connections += 1
                super().setup()

            def finish(self):
                try:
                    super().finish()
                finally:
                    with proxy.lock:
                        proxy.connections -= 1

            def do_POST(self):
                proxy.handle(self)

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            """Clients that disconnect are not reported."""
            daemon_threads = True
            request_queue_size = 64

            def handle_error(self, *_):
                pass

        self.server = Server(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()

    @property
    def endpoint(self):
        return f"http://127.0.0.1:{self.server.server_address[1]}"

    # ---- for tests ----

    def fault(self, operation, kind, times=None, seconds=0.0):
        """operation None: any. times None: until it is healed."""
        with self.lock:
            self.faults.append(Fault(operation, kind, times, seconds))

    def heal(self):
        with self.lock:
            self.faults.clear()

    def called(self, operation=None):
        with self.lock:
            return [call for call in self.calls if operation in (None, call.operation)]

    def count(self, operation=None, forwarded=None):
        return len([call for call in self.called(operation)
                    if forwarded is None or call.forwarded == forwarded])

    # ---- calls ----

    def handle(self, handler):
        body = handler.rfile.read(int(handler.headers.get("Content-Length") or 0))
        if handler.path == "/sts":
            self.assume(handler, body)
            return
        operation = handler.headers.get("X-Amz-Target", "").rpartition(".")[2]
        # Elastic Load Balancing is asked with forms.
        form = {} if operation else dict(urllib.parse.parse_qsl(body.decode()))
        operation = operation or form.get("Action", "")
        call = Call(operation, form or json.loads(body or b"{}"))
        with self.lock:
            self.calls.append(call)
            fault = next((one for one in self.faults if one.operation in (None, operation)), None)
            if fault and fault.times is not None:
                fault.times -= 1
                if fault.times == 0:
                    self.faults.remove(fault)
        kind = fault.kind if fault else "forward"
        getattr(self, "do_" + kind)(handler, call, body, fault)

    def answer(self, handler, call, status, document):
        call.status = status
        self.send(handler, status, json.dumps(document).encode(), "application/x-amz-json-1.1")

    @staticmethod
    def send(handler, status, body, kind):
        handler.send_response(status)
        handler.send_header("Content-Type", kind)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    def do_throttle(self, handler, call, _body, _fault):
        self.answer(handler, call, *THROTTLED)

    def do_error(self, handler, call, _body, _fault):
        self.answer(handler, call, *FAILED)

    @staticmethod
    def do_cut(handler, _call, _body, _fault):
        handler.close_connection = True

    def hold(self, handler):
        """Until the client has gone, or the test is over."""
        handler.close_connection = True
        handler.connection.settimeout(0.05)
        while not self.ended.is_set():
            try:
                if not handler.connection.recv(1):
                    return
            except TimeoutError:
                continue
            except OSError:
                return

    def do_lost(self, handler, _call, _body, _fault):
        self.hold(handler)

    def do_silent(self, handler, call, body, _fault):
        self.forward(handler, call, body)
        self.hold(handler)

    def do_late(self, handler, call, body, fault):
        self.ended.wait(fault.seconds)
        self.forward(handler, call, body)
        handler.close_connection = True

    def do_gateway(self, handler, call, body, _fault):
        self.forward(handler, call, body)
        self.send(handler, 504, b"", "text/html")

    def do_slow(self, handler, call, body, fault):
        self.ended.wait(fault.seconds)
        self.do_forward(handler, call, body, fault)

    def do_forward(self, handler, call, body, _fault):
        answer = self.forward(handler, call, body)
        if answer is None:
            self.answer(handler, call, *UNKNOWN)
            return
        status, headers, text = answer
        call.status = status
        if self.skew:
            text = json.dumps(self.skewed(json.loads(text))).encode()
        call.answered_at = time.monotonic()  # before anybody can act upon it
        self.send(handler, status, text, dict(headers).get("content-type", "text/plain"))

    def skewed(self, value):
        """The value with every timestamp moved."""
        if isinstance(value, list):
            return [self.skewed(item) for item in value]
        if not isinstance(value, dict):
            return value
        return {name: item + self.skew if name.endswith("At") and isinstance(item, (int, float))
                else self.skewed(item) for name, item in value.items()}

    def headers_of(self, handler, body):
        """As they came, or of a request that is signed anew; None: they are not to be believed."""
        session = self.sts.sessions.get(claim_of(handler.headers).get("Credential", "").split("/")[0])
        if not session:
            return {name: value for name, value in handler.headers.items()
                    if name.lower() not in HOP_BY_HOP}
        if handler.headers["X-Amz-Security-Token"] != session[1] or not is_signed(
                handler, body, "ecs", *session):
            return None
        request = botocore.awsrequest.AWSRequest(
            method="POST", url=self.url + "/", data=body,
            headers={name: handler.headers[name] for name in ("Content-Type", "X-Amz-Target")})
        botocore.auth.SigV4Auth(botocore.credentials.Credentials(
            self.key["accessKeyId"], self.key["secretAccessKey"]), "ecs", REGION).add_auth(request)
        return {"Host": self.url.split("//")[1], **dict(request.headers.items())}

    def forward(self, handler, call, body):
        headers = self.headers_of(handler, body)
        if headers is None:
            return None
        call.forwarded = True
        connection = http.client.HTTPConnection(self.url.split("//")[1], timeout=DEADLINE)
        try:
            connection.putrequest("POST", "/", skip_host=True, skip_accept_encoding=True)
            for name, value in headers.items():
                connection.putheader(name, value)
            connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body)
            response = connection.getresponse()
            return (response.status,
                    [(name.lower(), value) for name, value in response.getheaders()],
                    response.read())
        finally:
            connection.close()

    # ---- STS ----

    def assume(self, handler, body):
        form = dict(urllib.parse.parse_qsl(body.decode()))
        key = claim_of(handler.headers).get("Credential", "").split("/")[0]
        secret, token = self.sts.sessions.get(key, (self.keys.get(key), None))
        with self.lock:
            self.sts.asked.append(form)
        if not secret or not is_signed(handler, body, "sts", secret, token):
            self.refuse(handler, "InvalidClientTokenId", "The security token is invalid.")
        elif form.get("Action") != "AssumeRole" or form.get("RoleArn") not in self.sts.roles:
            self.refuse(handler, "AccessDenied",
                        f"User is not authorized to perform: sts:AssumeRole on {form.get('RoleArn')}")
        else:
            number = len(self.sts.sessions) + 1
            made = (f"ASIASESSION{number}", f"secret{number}", f"token/{number}==")
            self.sts.sessions[made[0]] = made[1:]
            ends = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + self.sts.lasts))
            self.send(handler, 200, (
                f'<AssumeRoleResponse xmlns="{XML}"><AssumeRoleResult><Credentials>'
                f"<AccessKeyId>{made[0]}</AccessKeyId><SecretAccessKey>{made[1]}"
                f"</SecretAccessKey><SessionToken>{made[2]}</SessionToken><Expiration>{ends}"
                "</Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>").encode(),
                "text/xml")

    def refuse(self, handler, code, message):
        self.send(handler, 403, (
            f'<ErrorResponse xmlns="{XML}"><Error><Type>Sender</Type><Code>{code}</Code>'
            f"<Message>{message}</Message></Error></ErrorResponse>").encode(), "text/xml")
