"""Signatures over the wire: what botocore signs is accepted however the request is written, and every
way of getting it wrong has AWS's own answer."""
import datetime
import hashlib
import http.client
import json
import random
import urllib.parse

import botocore.auth
import botocore.awsrequest
import botocore.credentials
import pytest

from conftest import DEADLINE

SERVER_ARGUMENTS = ["--runtime", "none"]

pytestmark = pytest.mark.sanitized

TARGET = "AmazonEC2ContainerServiceV20141113.ListClusters"


class Signed:
    """A request that botocore has signed; tests change it before it is sent."""

    def __init__(self, server, body=b"{}", path="/", headers=(), region="us-east-1", service="ecs",
                 key=None):
        key = key or server.key
        self.server = server
        self.body = body
        self.path = path
        request = botocore.awsrequest.AWSRequest(
            method="POST", url=server.url + path, data=body,
            headers={"X-Amz-Target": TARGET, "Content-Type": "application/x-amz-json-1.1"})
        for name, value in headers:
            request.headers[name] = value
        credentials = botocore.credentials.Credentials(
            key["accessKeyId"], key["secretAccessKey"], key.get("sessionToken"))
        botocore.auth.SigV4Auth(credentials, service, region).add_auth(request)
        self.headers = dict(request.headers.items())

    def change(self, name, old, new):
        assert old in self.headers[name]
        self.headers[name] = self.headers[name].replace(old, new)
        return self

    def send(self):
        """(status, type of the error or None, message)."""
        connection = http.client.HTTPConnection(self.server.url.split("//")[1], timeout=DEADLINE)
        try:
            connection.putrequest("POST", self.path, skip_accept_encoding=True)
            for name, value in self.headers.items():
                connection.putheader(name, value)
            connection.putheader("Content-Length", str(len(self.body)))
            connection.endheaders(self.body)
            answer = connection.getresponse()
            body = json.loads(answer.read())
            return answer.status, body.get("__type"), body.get("message")
        finally:
            connection.close()


def assert_accepted(signed):
    status, error, message = signed.send()
    assert (status, error) == (200, None), message


def assert_refused(signed, error, message):
    status, got, said = signed.send()
    assert (status, got) == (400, error), said
    assert said.startswith(message), said


def random_text(chance, alphabet, longest):
    return "".join(chance.choice(alphabet) for _ in range(chance.randrange(longest)))


def random_query(chance):
    """Names and values of any characters, names repeated, in any order."""
    alphabet = "ab AB01~-._/?&=+%*@:;,\"'<>#[]{}|\\^`!$()\u00e9\u1234"
    names = [random_text(chance, alphabet, 6) or "x" for _ in range(4)]
    return "&".join(
        urllib.parse.quote(chance.choice(names), safe="-_.~") + "=" +
        urllib.parse.quote(random_text(chance, alphabet, 8), safe="-_.~")
        for _ in range(chance.randrange(1, 8)))


def test_what_botocore_signs_is_accepted(slipway):
    chance = random.Random(4)
    for _ in range(60):
        headers = {}
        for _ in range(chance.randrange(5)):
            name = "X-" + (random_text(chance, "abcXYZ019-_.", 9) or "a")
            headers[name.title()] = random_text(chance, "ab  c \t,;=\"/", 20).strip() or "v"
        path = "/?" + random_query(chance) if chance.randrange(3) else "/"
        body = b'{"maxResults":%d}' % chance.randrange(1, 101)
        signed = Signed(slipway, body, path, headers.items(),
                        region=chance.choice(["us-east-1", "eu-west-1", "cn-north-1"]))
        status, error, message = signed.send()
        assert (status, error) == (200, None), (path, headers, message)


def test_what_is_not_signed_may_change(slipway):
    signed = Signed(slipway)
    signed.headers["User-Agent"] = "testuser/1.0"
    signed.headers["X-Forwarded-For"] = "192.0.2.1"
    assert_accepted(signed)


def test_the_hash_of_the_body_may_be_announced(slipway):
    body = b'{"maxResults":3}'
    right = hashlib.sha256(body).hexdigest()
    assert_accepted(Signed(slipway, body, headers=[("X-Amz-Content-SHA256", right)]))
    for wrong in "UNSIGNED-PAYLOAD", hashlib.sha256(b"").hexdigest():
        assert_refused(Signed(slipway, body, headers=[("X-Amz-Content-SHA256", wrong)]),
                       "InvalidSignatureException",
                       "The value of the 'x-amz-content-sha256' header must be")


MISMATCH = ("The request signature we calculated does not match the signature you provided. Check "
            "your AWS Secret Access Key and signing method. Consult the service documentation for "
            "details.")


def test_any_change_of_what_is_signed_is_refused(slipway):
    changed = Signed(slipway)
    changed.body = b"{ }"
    assert_refused(changed, "InvalidSignatureException", MISMATCH)
    changed = Signed(slipway, path="/?a=1")
    changed.path = "/?a=2"
    assert_refused(changed, "InvalidSignatureException", MISMATCH)
    assert_refused(Signed(slipway).change("X-Amz-Target", "ListClusters", "CreateCluster"),
                   "InvalidSignatureException", MISMATCH)
    assert_refused(Signed(slipway).change("Content-Type", "1.1", "1.0"),
                   "InvalidSignatureException", MISMATCH)
    assert_refused(Signed(slipway).change("Authorization", "us-east-1", "us-east-2"),
                   "InvalidSignatureException", MISMATCH)


def test_a_meaningful_header_must_be_signed(slipway):
    signed = Signed(slipway)
    signed.headers["X-Amz-Something"] = "1"
    assert_refused(signed, "InvalidSignatureException",
                   "'x-amz-something' must be a 'SignedHeader' in the AWS Authorization.")
    assert_refused(Signed(slipway).change("Authorization", "host;", ""),
                   "InvalidSignatureException",
                   "'Host' or ':authority' must be a 'SignedHeader' in the AWS Authorization.")


def test_headers_that_are_incomplete_are_refused(slipway):
    signed = Signed(slipway)
    del signed.headers["Authorization"]
    assert_refused(signed, "MissingAuthenticationTokenException", "Missing Authentication Token")
    signed = Signed(slipway)
    signed.headers["Authorization"] = "Bearer abc"
    assert_refused(signed, "IncompleteSignatureException", "Unsupported AWS 'algorithm': 'Bearer'.")
    signed = Signed(slipway)
    signed.headers["Authorization"] = signed.headers["Authorization"].split(", Signature=")[0]
    assert_refused(signed, "IncompleteSignatureException",
                   "Authorization header requires 'Signature' parameter. Authorization=")
    signed = Signed(slipway)
    del signed.headers["X-Amz-Date"]
    assert_refused(signed, "IncompleteSignatureException",
                   "Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' "
                   "header. Authorization=")
    assert_refused(Signed(slipway).change("Authorization", "/aws4_request", ""),
                   "IncompleteSignatureException",
                   "Credential must have exactly 5 slash-delimited elements")
    assert_refused(Signed(slipway).change("Authorization", "aws4_request", "aws5_request"),
                   "InvalidSignatureException",
                   "Credential should be scoped with a valid terminator: 'aws4_request', not "
                   "'aws5_request'.")


def test_dates_must_agree(slipway):
    signed = Signed(slipway)
    day = signed.headers["X-Amz-Date"][:8]
    before = (datetime.datetime.strptime(day, "%Y%m%d") -
              datetime.timedelta(days=1)).strftime("%Y%m%d")
    assert_refused(signed.change("Authorization", f"/{day}/", f"/{before}/"),
                   "InvalidSignatureException",
                   "Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date "
                   f"from HTTP: '{before}' != '{day}', from '{signed.headers['X-Amz-Date']}'.")
    signed = Signed(slipway)
    signed.headers["X-Amz-Date"] = "2015-08-30 12:36"
    assert_refused(signed, "IncompleteSignatureException",
                   "Date must be in ISO-8601 'basic format'. Got '2015-08-30 12:36'.")
    old = Signed(slipway)
    day = old.headers["X-Amz-Date"][:8]
    old.headers["X-Amz-Date"] = "20150830T123600Z"
    assert_refused(old.change("Authorization", f"/{day}/", "/20150830/"),
                   "InvalidSignatureException",
                   "Signature expired: 20150830T123600Z is now earlier than ")
    young = Signed(slipway)
    day = young.headers["X-Amz-Date"][:8]
    young.headers["X-Amz-Date"] = "20990830T123600Z"
    assert_refused(young.change("Authorization", f"/{day}/", "/20990830/"),
                   "InvalidSignatureException",
                   "Signature not yet current: 20990830T123600Z is still later than ")


def test_an_unknown_key_has_the_same_answer_signed_or_not(slipway):
    unknown = dict(slipway.key, accessKeyId="AKIA0000000000000000")
    message = "The security token included in the request is invalid."
    assert_refused(Signed(slipway, key=unknown), "UnrecognizedClientException", message)
    assert_refused(Signed(slipway, key=dict(unknown, secretAccessKey="x")),
                   "UnrecognizedClientException", message)
    assert_refused(Signed(slipway, key=dict(slipway.key, sessionToken="abc")),
                   "UnrecognizedClientException", message)
