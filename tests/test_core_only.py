"""The package with its five dependencies and nothing else: it imports, it works, and it names what is missing."""

import os
import subprocess
import sys
import tomllib
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
CORE = {"reactivex", "aiohttp", "pydantic", "orjson", "msgspec"}


def closure(requirements: list[str]) -> set[str]:
    """The names of what is installed for these requirements."""
    found: set[str] = set()
    waiting = [Requirement(text) for text in requirements]
    while waiting:
        wanted = waiting.pop()
        if wanted.name in found or (wanted.marker is not None and not wanted.marker.evaluate({"extra": ""})):
            continue
        found.add(wanted.name)
        waiting += [Requirement(text) for text in distribution(wanted.name).requires or ()]
    return found


@pytest.fixture(scope="module")
def python(tmp_path_factory) -> list[str]:
    """A Python that sees this package, what it requires, and nothing else that is installed here."""
    folder = tmp_path_factory.mktemp("core")
    (folder / "streamflow").symlink_to(ROOT / "streamflow")
    for name in closure(PROJECT["dependencies"]):
        for file in distribution(name).files or ():
            top = file.parts[0]
            if top != ".." and top != "__pycache__" and not (folder / top).exists():
                (folder / top).symlink_to(Path(str(distribution(name).locate_file(top))).resolve())
    return [sys.executable, "-I", "-S", "-W", "error", "-c", f"import sys; sys.path.append({str(folder)!r})\n"]


def run(python: list[str], code: str) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "STREAMFLOW_"))}
    return subprocess.run([*python[:-1], python[-1] + code], capture_output=True, text=True, env=clean)


def test_there_are_five_dependencies():
    assert {Requirement(text).name for text in PROJECT["dependencies"]} == CORE


def test_all_public_names_are_there(python):
    code = """
import streamflow as sf
for name in sf.__all__:
    try:
        getattr(sf, name)
    except sf.UsageError as error:
        print(name, error)
"""
    done = run(python, code)
    assert done.stderr == ""
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["RedisJournal"]
    assert "pip install 'streamflow-rx[redis]'" in done.stdout


def test_it_streams(python):
    code = """
import asyncio
import streamflow as sf
from streamflow.testing import Answer, FakeProvider

async def main():
    async with FakeProvider(Answer("<think>hm</think>Hello.")) as fake:
        llm = sf.connect("openai", model="m", api_key="k", base_url=fake.base_url("openai"), environ={})
        async with llm:
            response = await llm.stream("hi").pipe(sf.operators.xml_block_split()).collect()
            print(response.text, response.thinking)

asyncio.run(main())
"""
    done = run(python, code)
    assert (done.stdout, done.stderr) == ("Hello. hm\n", "")


# What needs an extra, and the extra that its error names.
MISSING = {
    "cli": "import streamflow.cli; streamflow.cli.main()",
    "server": "import sys; sys.argv[1:] = ['serve']; import streamflow.cli; streamflow.cli.main()",
    "bedrock": "import streamflow as sf; sf.connect('bedrock', model='m', region='eu-west-1')",
    "redis": "import streamflow as sf; sf.RedisJournal",
    "notebook": """
import streamflow as sf
from streamflow.notebook import Marbles
watched = sf.probe(sf.operators.xml_block_split())
sf.run(["Yes."], *watched.operators)
Marbles(watched).live()
""",
    "otel": "import streamflow as sf; sf.telemetry()",
    "vcr": """
import pathlib, tempfile
from streamflow.recordings import load_recording
with tempfile.TemporaryDirectory() as folder:
    cassette = pathlib.Path(folder, "cassette.yaml")
    cassette.write_text("interactions:\\n- request: {}\\n")
    load_recording(cassette)
""",
}
# Without these everything works: the one makes it faster, with the other a client checks what the server says.
NOT_NEEDED = {
    "fast": "import streamflow.sources.loops as loops\nasync def main(): pass\nloops.run_async(main())",
    "agui": "import streamflow.server.agui as agui; agui.RunEvents('t', 'r')",
}
GROUPS = {"all", "test", "docs", "bench", "peers"}


def test_every_extra_has_its_line():
    assert set(MISSING) | set(NOT_NEEDED) | GROUPS == set(PROJECT["optional-dependencies"])


@pytest.mark.parametrize("extra", MISSING)
def test_a_missing_extra_is_one_error_that_names_it(python, extra):
    done = run(python, MISSING[extra])
    last = done.stderr.strip().splitlines()[-1]
    named = "cli" if extra == "server" else extra
    assert done.returncode == 1
    assert f"pip install 'streamflow-rx[{named}]'" in last
    assert last.startswith("streamflow: " if named == "cli" else "streamflow.errors.UsageError: ")
    assert "During handling of the above exception" not in done.stderr


@pytest.mark.parametrize("extra", NOT_NEEDED)
def test_what_only_helps_may_be_absent(python, extra):
    done = run(python, NOT_NEEDED[extra])
    assert (done.returncode, done.stderr) == (0, "")
