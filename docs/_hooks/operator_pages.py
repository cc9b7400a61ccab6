"""The pages of the operators, made from their docstrings while mkdocs builds; nothing of it is a file in `docs`.

`docs/operators.md` lists the operators by family in fences called ``operators``. Each fence becomes a table, each name
in it a page `operators/NAME.md` with the signature, the marble as a drawing, the explanation and the example.
"""

import inspect
import re
from pathlib import Path
from typing import Any

from marble_drawing import draw_marble
from mkdocs.structure.files import File

from streamflow import operators

ROOT = Path(__file__).resolve().parents[2]
OVERVIEW = "operators.md"
_CAPTION = "time goes from left to right; a box is an item"
_FENCE = re.compile(r"^```operators\n(.*?)^```$", re.M | re.S)
_MARBLE = re.compile(r"^```\n(.*?)^```$", re.M | re.S)
_EXAMPLE = re.compile(r"^>>> .*?(?:\n\n|\Z)", re.M | re.S)
_SINGLE = re.compile(r"(?<!`)`([A-Za-z_.]+)`(?!`)")


def families(overview: str) -> list[list[str]]:
    """The names in each fence of the overview."""
    return [found.split() for found in _FENCE.findall(overview)]


def summary(name: str) -> str:
    """The first sentence of an operator's docstring."""
    return _prose(_doc(name).partition("\n\n")[0].replace("\n", " "))


def operator_page(name: str) -> str:
    """The page of an operator, as markdown."""
    doc = _doc(name)
    marble = _MARBLE.search(doc)
    example = _EXAMPLE.search(doc)
    if marble is None or example is None:
        raise ValueError(f"{name}: its docstring has no marble, or no example")
    prose = _EXAMPLE.sub("", _MARBLE.sub("", doc))
    first, _, rest = prose.strip().partition("\n\n")
    drawing = draw_marble(marble[1], f"marble of {name}")
    rest = re.sub(r"\n{3,}", "\n\n", rest.strip())
    return "\n\n".join(
        [
            f"# {name}",
            _prose(first),
            f'<figure class="marbles">{drawing}<figcaption>{_CAPTION}</figcaption></figure>',
            "```python\n" + _signature(name) + "\n```",
            _prose(rest),
            "## Example",
            "```pycon\n" + example[0].strip() + "\n```",
            f"The code: `streamflow/operators/_{name}.py`. All operators: [overview](../{OVERVIEW}).",
        ]
    )


def _doc(name: str) -> str:
    return inspect.getdoc(getattr(operators, name)) or ""


def _prose(text: str) -> str:
    """Docstrings write code in two backticks, and names of ours in one: those that are operators become links."""
    linked = _SINGLE.sub(_link, text)
    return linked.replace("<", "&lt;") if "``" not in linked else linked


def _link(name: re.Match[str]) -> str:
    return f"[`{name[1]}`]({name[1]}.md)" if name[1] in operators.__all__ else name[0]


def _signature(name: str) -> str:
    signature = inspect.signature(getattr(operators, name))
    parts = []
    for parameter in signature.parameters.values():
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY and "*" not in parts:
            parts.append("*")
        parts.append(_parameter(parameter))
    joined = f"{name}({', '.join(parts)})"
    return joined if len(joined) <= 88 else f"{name}(\n    " + ",\n    ".join(parts) + ",\n)"


def _parameter(parameter: inspect.Parameter) -> str:
    annotation = parameter.annotation
    kind = "" if annotation is inspect.Parameter.empty else f": {_type(annotation)}"
    if parameter.default is inspect.Parameter.empty:
        return f"{parameter.name}{kind}"
    default = parameter.default
    shown = getattr(default, "__name__", None) or repr(default)
    return f"{parameter.name}{kind} = {shown}"


def _type(annotation: Any) -> str:
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    return re.sub(r"\b(?:[a-z_]+\.)+(?=[A-Za-z])", "", text)


# -- what mkdocs calls

_ORDER = (
    ("Learn", ("index", "start", "concepts", "cookbook")),
    ("Use", ("operators", "providers", "blocks", "segments", "conversation", "flow", "tools", "voice")),
    ("See", ("notebook", "notebooks", "inspector", "probing")),
    ("Run", ("server", "scaling", "reliability", "performance", "security", "testing")),
    ("Contribute", ("architecture",)),
)


def on_config(config: Any) -> Any:
    """The navigation: pages in their order; one that nobody placed stands at the end, so that none is lost."""
    there = sorted([*(path.stem for path in Path(config["docs_dir"]).glob("*.md")), "security"])
    placed = {name for _, names in _ORDER for name in names}
    nav: list[Any] = [
        {title: [f"{name}.md" for name in names if name in there]} for title, names in _ORDER if set(names) & set(there)
    ]
    if rest := [f"{name}.md" for name in there if name not in placed]:
        nav.append({"More": rest})
    overview = (Path(config["docs_dir"]) / OVERVIEW).read_text()
    pages = [f"operators/{name}.md" for name in sorted(name for family in families(overview) for name in family)]
    config["nav"] = [*nav, {"Operators": pages}]
    return config


def on_files(files: Any, *, config: Any) -> Any:
    """Add a page for each operator that the overview lists."""
    overview = (Path(config["docs_dir"]) / OVERVIEW).read_text()
    for name in (name for family in families(overview) for name in family):
        files.append(File.generated(config, f"operators/{name}.md", content=operator_page(name)))
    # It stands beside the README, where people look for it; the site shows it too.
    security = (ROOT / "SECURITY.md").read_text().replace("](docs/", "](")
    files.append(File.generated(config, "security.md", content=security))
    return files


def on_page_markdown(markdown: str, *, page: Any, config: Any, files: Any) -> str:
    """Turn the fences of the overview into tables."""
    if page.file.src_uri != OVERVIEW:
        return markdown
    return _FENCE.sub(lambda found: _table(found[1].split()), markdown)


def _table(names: list[str]) -> str:
    rows = [f"| [`{name}`](operators/{name}.md) | {_for_cell(summary(name))} |" for name in names]
    return "\n".join(["| operator | what it does |", "|---|---|", *rows])


def _for_cell(text: str) -> str:
    return text.replace("|", "\\|").replace("](", "](operators/")
