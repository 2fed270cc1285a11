"""Clients of slipway's own REST API: boto3 with the model of api/, and requests signed by hand."""
import os
import shutil

import boto3
import botocore.auth
import botocore.awsrequest
import botocore.config
import botocore.credentials
import botocore.session

from conftest import DEADLINE, REGION, SOURCE

MODEL = os.path.join(SOURCE, "api/slipway.json")


def rest_client(server, key=None, **config):
    """A boto3 client of service slipway, with the admin key or another one of the same form."""
    key = key or server.key
    folder = os.path.join(server.home, "models")
    os.makedirs(os.path.join(folder, "slipway/2026-11-17"), exist_ok=True)
    shutil.copy(MODEL, os.path.join(folder, "slipway/2026-11-17/service-2.json"))
    session = botocore.session.Session()
    session.set_config_variable("data_path", folder)
    settings = {"retries": {"total_max_attempts": 1}, "connect_timeout": DEADLINE,
                "read_timeout": DEADLINE, **config}
    return boto3.session.Session(
        aws_access_key_id=key["accessKeyId"], aws_secret_access_key=key["secretAccessKey"],
        region_name=REGION, botocore_session=session,
    ).client("slipway", endpoint_url=server.url, config=botocore.config.Config(**settings))


def signed(server, method, path, body=b"", key=None, service="slipway"):
    """The headers of a signed request."""
    key = key or server.key
    request = botocore.awsrequest.AWSRequest(
        method=method, url=server.url + path, data=body,
        headers={"Content-Type": "application/json"})
    credentials = botocore.credentials.Credentials(key["accessKeyId"], key["secretAccessKey"])
    botocore.auth.SigV4Auth(credentials, service, REGION).add_auth(request)
    return dict(request.headers.items())


def ask(server, method, path, body=b"", key=None, service="slipway"):
    """One signed request, as sent: the path is not touched."""
    return server.request(method, path, body, signed(server, method, path, body, key, service))
