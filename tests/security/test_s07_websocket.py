"""S7: a page of another site opens no WebSocket here. More in tests/server/test_websocket.py."""

import aiohttp
import pytest

from streamflow.testing import Answer, Stall, Text
from tests.server.serving import serving

FOREIGN = [
    "http://evil.example",
    "null",
    "file://",
    "http://127.0.0.1",
    "http://localhost.evil.example",
    "https://app.example.evil.example",
    "http://app.example",
    "chrome-extension://abc",
    "http://[::1",
    "",
]


@pytest.mark.parametrize("origin", FOREIGN)
async def test_s07_other_origins_are_refused(origin):
    async with serving(Answer(Text("Hello "), Stall()), origins=["https://app.example"]) as served:
        flow_id = await served.begin("go on")
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            await served.session.ws_connect(f"{served.root}/flows/{flow_id}/ws", headers={"origin": origin})
        assert refused.value.status == 403
        assert served.service.readers == 0


async def test_s07_a_token_in_the_address_counts_nothing():
    async with serving(Answer(Text("Hello "), Stall()), tokens={"token-of-ada": "ada"}) as served:
        served.headers = {"authorization": "Bearer token-of-ada"}
        flow_id = await served.begin("go on")
        for query in ("token=token-of-ada", "access_token=token-of-ada", "authorization=Bearer%20token-of-ada"):
            with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
                await served.session.ws_connect(f"{served.root}/flows/{flow_id}/ws?{query}")
            assert refused.value.status == 401
