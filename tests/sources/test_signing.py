"""Bedrock: signatures with botocore, or a bearer token without it."""

import re
import sys

import pytest

import streamflow as sf
from streamflow.requests.request import Request
from streamflow.sources.signing import AwsSigner
from streamflow.testing import Answer, FakeProvider, HttpError

AWS = {"AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMI-canary"}
EMPTY = {"AWS_EC2_METADATA_DISABLED": "true", "AWS_CONFIG_FILE": "/nonexistent", "AWS_SHARED_CREDENTIALS_FILE": "/none"}


@pytest.fixture
def aws(monkeypatch):
    for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_BEARER_TOKEN_BEDROCK", "AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {**AWS, **EMPTY}.items():
        monkeypatch.setenv(name, value)


def connected(fake: FakeProvider, **options):
    return sf.connect("bedrock", model="vendor.model-v1:0", base_url=fake.base_url("bedrock"), **options)


async def test_a_request_is_signed_and_answered(aws):
    async with FakeProvider(Answer("Hello")) as fake, connected(fake, region="eu-west-1") as llm:
        assert (await llm.collect("hi")).text == "Hello"
    said = fake.requests[0].headers["authorization"]
    assert re.match(r"AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/\d{8}/eu-west-1/bedrock/aws4_request, ", said)
    assert "canary" not in said
    assert "host" in said
    assert "x-amz-date" in fake.requests[0].headers


async def test_each_attempt_is_signed(aws):
    busy = HttpError(503, headers={"retry-after-ms": "1"})
    async with FakeProvider(busy, Answer("Hello")) as fake, connected(fake) as llm:
        await llm.collect("hi")
    assert all("Signature=" in request.headers["authorization"] for request in fake.requests)


def test_the_signature_is_the_one_that_aws_computes(aws):
    from botocore.auth import SigV4Auth
    from botocore.awsrequest import AWSRequest
    from botocore.credentials import Credentials

    request = Request("POST", "http://127.0.0.1:9/model/a%3A0/converse", {"content-type": "application/json"}, b"{}")
    signed = AwsSigner("us-east-1").sign(request)
    again = AWSRequest("POST", request.url, {**request.headers, "X-Amz-Date": signed.headers["x-amz-date"]}, b"{}")
    auth = SigV4Auth(Credentials(*AWS.values()), "bedrock", "us-east-1")
    again.context["timestamp"] = signed.headers["x-amz-date"]
    signature = auth.signature(auth.string_to_sign(again, auth.canonical_request(again)), again)
    assert signed.headers["authorization"].endswith(signature)
    assert signed.body == request.body
    assert "canary" not in repr(signed) + repr(AwsSigner("us-east-1"))


async def test_a_bearer_token_needs_no_botocore(aws, monkeypatch):
    monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", "token-canary")
    monkeypatch.setitem(sys.modules, "botocore.session", None)
    async with FakeProvider(Answer("Hello")) as fake, connected(fake) as llm:
        await llm.collect("hi")
    assert fake.requests[0].headers["authorization"] == "Bearer token-canary"


def test_without_botocore_the_extra_is_named(aws, monkeypatch):
    monkeypatch.setitem(sys.modules, "botocore.session", None)
    with pytest.raises(sf.UsageError, match=r"streamflow-rx\[bedrock\]"):
        sf.connect("bedrock", model="m")


async def test_without_credentials_the_variables_are_named(aws, monkeypatch):
    for name in AWS:
        monkeypatch.delenv(name)
    async with FakeProvider(Answer("Hello")) as fake, connected(fake) as llm:
        with pytest.raises(sf.UsageError, match="AWS_ACCESS_KEY_ID"):
            await llm.collect("hi")
        assert fake.requests == []
