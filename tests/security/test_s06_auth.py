"""S6: a stream belongs to its owner; nobody else reads, resumes or stops it. More in tests/server/test_access.py."""

import inspect

import pytest

from streamflow.server import access
from streamflow.testing import Answer, Stall, Text
from tests.server.serving import serving

TOKENS = {"token-of-ada": "ada", "token-of-bob": "bob"}
ADA, BOB = {"authorization": "Bearer token-of-ada"}, {"authorization": "Bearer token-of-bob"}
CHAT = {"id": "chat-1", "messages": [{"id": "1", "role": "user", "parts": [{"type": "text", "text": "hi"}]}]}
ASKS = [
    ("POST", "/flows", {"messages": ["hi"]}),
    ("POST", "/v1/chat/completions", {"model": "m", "messages": [{"role": "user", "content": "hi"}]}),
    ("POST", "/v1/messages", {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}),
    ("POST", "/api/chat", CHAT),
    ("POST", "/agui", {"threadId": "t", "runId": "r", "messages": [{"id": "1", "role": "user", "content": "hi"}]}),
    ("GET", "/v1/models", None),
    ("GET", "/metrics", None),
    ("GET", "/api/chat/chat-1/stream", None),
    ("DELETE", "/api/chat/chat-1", None),
]


@pytest.mark.parametrize(("method", "path", "body"), ASKS)
async def test_s06_every_route_wants_a_token(method, path, body):
    async with serving(Answer("Hello."), tokens=TOKENS) as served:
        url = served.root + path
        for headers in ({}, {"authorization": "Bearer token-of-eve"}, {"cookie": "token=token-of-ada"}):
            async with served.session.request(method, url, json=body, headers=headers) as response:
                assert response.status == 401
        async with served.session.request(method, url + "?token=token-of-ada", json=body) as response:
            assert response.status == 401
        assert not served.fake.requests
        async with served.session.request(method, url, json=body, headers=ADA) as response:
            assert response.status in (200, 201, 204)
            await response.read()


@pytest.mark.parametrize("action", ["show", "events", "resume", "stop", "chat resume", "chat stop"])
async def test_s06_the_matrix_of_users(action):
    async with serving(Answer(Text("Hello "), Stall()), tokens=TOKENS) as served:
        served.headers = ADA
        flow_id = await served.begin("go on")
        place = (await served.events(flow_id, limit=1))[0][0]
        reading = served.session.post(served.root + "/api/chat", json=CHAT, headers=ADA)
        async with reading as chat:
            await chat.content.readany()
            method, path, headers = {
                "show": ("GET", f"/flows/{flow_id}", {}),
                "events": ("GET", f"/flows/{flow_id}/events", {}),
                "resume": ("GET", f"/flows/{flow_id}/events", {"last-event-id": place}),
                "stop": ("DELETE", f"/flows/{flow_id}", {}),
                "chat resume": ("GET", "/api/chat/chat-1/stream", {}),
                "chat stop": ("DELETE", "/api/chat/chat-1", {}),
            }[action]
            async with served.session.request(method, served.root + path, headers={**BOB, **headers}) as response:
                # To another owner it looks as if it had never been.
                assert response.status == (204 if action.startswith("chat") else 404)
            assert await served.service.store.live() == 2
            async with served.session.request(method, served.root + path, headers={**ADA, **headers}) as response:
                assert response.status in (200, 202, 204)
                if action == "chat resume":
                    assert response.status == 200


async def test_s06_ids_cannot_be_guessed():
    async with serving() as served:
        ids = [await served.begin("hello") for _ in range(20)]
    assert len({len(id) for id in ids}) == 1
    assert len(ids[0]) * 6 >= 128
    assert all(len({id[place] for id in ids}) > 3 for place in range(20))


def test_s06_tokens_are_compared_in_constant_time():
    source = inspect.getsource(access.Access._owner_of)
    assert "compare_digest" in source
    assert "==" not in source
