"""Keys and addresses from arguments and environment."""

import pytest
from pydantic import SecretStr

import streamflow as sf
from streamflow.requests.endpoints import ENDPOINTS, endpoint
from streamflow.sources.credentials import check_url, find_base_url, find_key, find_places


@pytest.mark.parametrize("name", [name for name, row in ENDPOINTS.items() if row.key_required])
def test_a_missing_key_is_named_for_every_provider(name):
    with pytest.raises(sf.UsageError) as caught:
        find_key(endpoint(name), None, {})
    assert all(variable in str(caught.value) for variable in endpoint(name).key_env)


@pytest.mark.parametrize("name", [name for name, row in ENDPOINTS.items() if row.key_env])
def test_every_variable_is_read(name):
    for variable in endpoint(name).key_env:
        assert find_key(endpoint(name), None, {variable: "k-123"}).reveal() == "k-123"


def test_what_is_given_goes_first_and_a_secret_may_be_wrapped():
    row = endpoint("openai")
    assert find_key(row, "given", {"OPENAI_API_KEY": "set"}).reveal() == "given"
    assert find_key(row, SecretStr("given"), {}).reveal() == "given"
    assert find_key(row, None, {"OPENAI_API_KEY": " padded\n"}).reveal() == "padded"


@pytest.mark.parametrize("key", ["a\nb", "a b", "schlüssel", "a\x00b"])
def test_a_key_that_cannot_be_one_is_refused_without_showing_it(key):
    with pytest.raises(sf.UsageError) as caught:
        find_key(endpoint("openai"), key, {})
    assert key not in str(caught.value)


def test_a_local_server_needs_no_key():
    assert find_key(endpoint("ollama"), None, {}).reveal() is None


def test_addresses_come_from_the_environment():
    row = endpoint("openai")
    assert find_base_url(row, None, {}) is None
    assert find_base_url(row, None, {"OPENAI_BASE_URL": "http://set/v1"}) == "http://set/v1"
    assert find_base_url(row, "http://given/v1", {"OPENAI_BASE_URL": "http://set/v1"}) == "http://given/v1"
    assert find_base_url(endpoint("ollama"), None, {"OLLAMA_HOST": "box:11434"}) == "http://box:11434"


def test_places_come_from_the_environment():
    assert find_places(endpoint("bedrock"), {"AWS_DEFAULT_REGION": "eu-west-3"}) == {"region": "eu-west-3"}
    assert find_places(endpoint("openai"), {"AWS_REGION": "eu-west-3"}) == {}


@pytest.mark.parametrize(
    "address", ["", "http://", "https:///v1", "http://a b", "ws://x", "http://x:port", "http://u:p@x", "http://[::1"]
)
def test_addresses_that_are_none(address):
    with pytest.raises(sf.UsageError, match="base_url"):
        check_url(address, "openai")
