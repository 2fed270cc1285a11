"""What newcomers meet in their first hour: identity, regions, keys, mistakes, and what slipway reports about them."""
import pytest
from botocore.exceptions import ClientError

from test_identity import make_key, policy_file


# ---- identity ----

def test_sts_reports_the_caller(slipway):
    identity = slipway.aws("sts", "get-caller-identity").json
    assert identity["Account"] == slipway.key["account"]
    assert identity["Arn"] == f"arn:aws:iam::{slipway.key['account']}:user/admin"
    assert len(identity["UserId"]) == 21 and identity["UserId"].startswith("AIDA")
    again = slipway.boto("sts", region="eu-west-1").get_caller_identity()
    assert again["UserId"] == identity["UserId"]


def test_sts_needs_no_permission(slipway, tmp_path):
    """As at AWS, where a policy cannot deny GetCallerIdentity."""
    path = policy_file(tmp_path, {"Effect": "Deny", "Action": "*", "Resource": "*"})
    key = make_key(slipway, "--user", "limited", "--policy", path)
    assert slipway.boto("sts", key=key).get_caller_identity()["Arn"].endswith(":user/limited")
    with pytest.raises(ClientError) as refused:
        slipway.boto("sts").assume_role(RoleArn="arn:aws:iam::123456789012:role/x", RoleSessionName="x1")
    assert refused.value.response["Error"]["Code"] == "UnsupportedOperation"


@pytest.mark.parametrize("service, arguments", [
    ("logs", ["describe-log-groups"]),
    ("sqs", ["list-queues"]),
    ("iam", ["list-users"]),
    ("ec2", ["describe-instances"]),
    ("lambda", ["list-functions"]),
    ("s3api", ["list-buckets"]),
    ("dynamodb", ["list-tables"]),
])
def test_services_that_slipway_does_not_offer_are_named(slipway, service, arguments):
    refused = slipway.aws(service, *arguments, check=False)
    assert refused.returncode != 0
    name = service.removesuffix("api")
    assert f"slipway does not offer '{name}'" in refused.stderr
    assert "it offers ecs, elasticloadbalancing, servicediscovery and sts" in refused.stderr
