"""Every operator has a page, made from its docstring, with its marble drawn."""

import importlib.util
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from streamflow import operators

ROOT = Path(__file__).resolve().parents[2]
HOOKS = ROOT / "docs" / "_hooks"
pytest.importorskip("mkdocs")


@pytest.fixture(scope="module")
def pages():
    sys.path.insert(0, str(HOOKS))
    try:
        spec = importlib.util.spec_from_file_location("operator_pages", HOOKS / "operator_pages.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        yield module
    finally:
        sys.path.remove(str(HOOKS))


@pytest.fixture(scope="module")
def drawing(pages):
    return sys.modules["marble_drawing"]


def test_the_overview_lists_every_operator_once(pages):
    listed = [name for family in pages.families((ROOT / "docs" / "operators.md").read_text()) for name in family]
    assert sorted(listed) == operators.__all__


@pytest.mark.parametrize("name", operators.__all__)
def test_an_operator_has_a_page_with_a_drawing_and_an_example(pages, name):
    page = pages.operator_page(name)
    assert page.startswith(f"# {name}\n")
    assert "```pycon\n>>> " in page
    svg = ElementTree.fromstring(page[page.index("<svg") : page.index("</svg>") + 6].replace("&#160;", " "))
    boxes = [element for element in svg.iter() if "item" in element.get("class", "").split()]
    assert len(boxes) >= 2


def test_a_marble_is_read_as_it_stands(drawing):
    lanes = drawing.read_marble('text  --"k-12"--34 ok--X\nout       --a--|     (a remark)\nfile  0   5')
    assert [(lane.name, [item.text for item in lane.items], lane.end) for lane in lanes] == [
        ("text", ['"k-12"', "34 ok"], "X"),
        ("out", ["a"], "|"),
        ("file", ["0", "5"], ""),
    ]
    assert lanes[1].remark == "(a remark)"
    assert lanes[1].start == 4


def test_items_never_overlap(pages, drawing):
    for name in operators.__all__:
        marble = pages._MARBLE.search(getattr(operators, name).__doc__.replace("\n    ", "\n"))[1]
        for lane in drawing.read_marble(marble):
            ends = [item.at + len(item.text) for item in lane.items]
            assert all(end < item.at for end, item in zip(ends, lane.items[1:], strict=False)), name


def test_what_is_no_marble_is_refused(drawing):
    with pytest.raises(ValueError, match="no marble"):
        drawing.read_marble("nothing")
