"""Every Python block of the README and the docs runs, page by page."""

import ast
import re
import shlex
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.M | re.S)
LINK = re.compile(r"\]\((?!https?:)([^)#]+)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_code_of_a_page_runs(page, capsys):
    text = page.read_text()
    for match in BLOCK.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        exec(compile("\n" * line + match[1], str(page.relative_to(ROOT)), "exec"), {"__name__": "docs"})


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_links_of_a_page_lead_somewhere(page):
    for target in LINK.findall(page.read_text()):
        assert (page.parent / target).exists(), target


def test_the_readme_names_commands_that_exist():
    made = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.M))
    readme = PAGES[0].read_text()
    named = {shlex.split(line, comments=True)[1] for line in re.findall(r"^make .*$", readme, re.M)}
    assert {"demo", "test"} <= named <= made


def test_the_readme_programs_print_what_they_say(capsys):
    flow, bytes_of_anybody = BLOCK.findall(PAGES[0].read_text())
    exec(flow, {})
    lines = capsys.readouterr().out.splitlines()
    shown = "".join(ast.literal_eval(line.removeprefix("show ")) for line in lines if line.startswith("show "))
    said = [line for line in lines if line.startswith("say ")]
    assert shown == "It is sunny. Take a hat!"
    assert said == ["say  'It is sunny. '", "say  'Take a hat!'"]
    assert lines[-1] == "kept hm end_turn"
    exec(bytes_of_anybody, {})
    assert capsys.readouterr().out == "Helloend_turn\n"
