"""The query protocol at the server's door: signed POSTs and GETs, refusals in XML."""
import json
import xml.etree.ElementTree

import botocore.auth
import botocore.awsrequest
import botocore.credentials

from conftest import REGION

SERVER_ARGUMENTS = ["--runtime", "none"]
SPACE = "{http://elasticloadbalancing.amazonaws.com/doc/2015-12-01/}"
FORM = "Action=DescribeLoadBalancers&Version=2015-12-01"


def signed(server, method, path="/", body="", secret=None, service="elasticloadbalancing"):
    """The answer to a signed request."""
    key = server.key
    request = botocore.awsrequest.AWSRequest(method, server.url + path, data=body)
    if body:
        request.headers["content-type"] = "application/x-www-form-urlencoded; charset=utf-8"
    credentials = botocore.credentials.Credentials(
        key["accessKeyId"], secret or key["secretAccessKey"])
    botocore.auth.SigV4Auth(credentials, service, REGION).add_auth(request)
    return server.request(method, path, body=body, headers=dict(request.headers))


def error_of(answer):
    assert answer.headers["content-type"] == "text/xml"
    root = xml.etree.ElementTree.fromstring(answer.body)
    assert root.tag.endswith("ErrorResponse"), answer.text
    found = {element.tag.split("}")[-1]: element.text for element in root.iter()}
    assert found["RequestId"] == answer.headers["x-amzn-requestid"]
    return answer.status, found["Code"], found["Message"]


def test_posts_and_gets_are_answered_in_xml(slipway):
    for answer in (signed(slipway, "POST", body=FORM), signed(slipway, "GET", "/?" + FORM)):
        assert answer.status == 200, answer.text
        assert answer.headers["content-type"] == "text/xml"
        root = xml.etree.ElementTree.fromstring(answer.body)
        assert root.tag == SPACE + "DescribeLoadBalancersResponse"
        assert root.find(f"{SPACE}DescribeLoadBalancersResult/{SPACE}LoadBalancers") is not None


def test_failed_authentication_is_refused_in_xml(slipway):
    unsigned = slipway.request("POST", "/", body=FORM, headers={
        "content-type": "application/x-www-form-urlencoded"})
    assert error_of(unsigned)[:2] == (403, "MissingAuthenticationToken")
    assert error_of(signed(slipway, "POST", body=FORM, secret="x" * 40))[:2] == (
        403, "SignatureDoesNotMatch")
    # A signature for one service is not good for another.
    status, code, message = error_of(signed(slipway, "POST", body=FORM, service="ecs"))
    assert status == 403 and "elasticloadbalancing" in message, (code, message)


def test_unknown_actions_and_versions(slipway):
    status, code, message = error_of(signed(
        slipway, "POST", body="Action=MakeTea&Version=2015-12-01"))
    assert (status, code) == (400, "InvalidAction") and "MakeTea" in message
    status, code, message = error_of(signed(
        slipway, "POST", body="Action=DescribeLoadBalancers&Version=1999-01-01"))
    assert status == 400 and "1999-01-01" in message, (code, message)
    status, code, message = error_of(signed(slipway, "POST", body="Version=2015-12-01"))
    assert status == 400 and "Action" in message, (code, message)


def test_a_get_without_an_action_is_not_for_this_path(slipway):
    assert slipway.request("GET", "/").status == 405


def test_requests_are_audited(slipway):
    signed(slipway, "POST", body="Action=CreateTargetGroup&Version=2015-12-01")
    with open(f"{slipway.state}/audit.log", encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    assert [line["result"] for line in lines
            if line["operation"] == "elasticloadbalancing:CreateTargetGroup"] == ["ValidationError"]
