"""The pins in constraints.txt: complete, exact, and within what the package declares.

This needs no network, so it knows nothing about published faults of the pinned versions; SECURITY.md says how to ask.
"""

import re
import tomllib
from importlib import metadata

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from tests.test_architecture import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
NAME = canonicalize_name(PROJECT["name"])
APART = {"peers"}  # what the bench compares us with has an environment of its own
LINES = (ROOT / "constraints.txt").read_text().splitlines()


def pins() -> dict[str, Version]:
    lines = [line.partition(";")[0].strip() for line in LINES if line.strip() and not line.startswith("#")]
    parts = [line.partition("==") for line in lines]
    return {canonicalize_name(name): Version(version) for name, _, version in parts}


def direct() -> list[Requirement]:
    extras = PROJECT["optional-dependencies"]
    groups = [PROJECT["dependencies"], *(extras[name] for name in extras if name not in APART)]
    found = [Requirement(line) for group in groups for line in group]
    return [requirement for requirement in found if canonicalize_name(requirement.name) != NAME]


def installed_closure() -> dict[str, Version]:
    """What our requirements need, and what those need, as far as it is installed here."""
    found: dict[str, Version] = {}
    waiting = [(requirement, "") for requirement in direct()]
    seen: set[tuple[str, str]] = set()
    while waiting:
        requirement, extra = waiting.pop()
        name = canonicalize_name(requirement.name)
        if requirement.marker and not requirement.marker.evaluate({"extra": extra}):
            continue
        try:
            distribution = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            continue
        found[name] = Version(distribution.version)
        for wanted in {"", *requirement.extras}:
            if (name, wanted) not in seen:
                seen.add((name, wanted))
                waiting += [(Requirement(line), wanted) for line in distribution.requires or ()]
    return found


def test_every_line_is_one_exact_version():
    for line in LINES:
        if line.strip() and not line.startswith("#"):
            assert re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.!+]+( *;.*)?", line), line
    names = [canonicalize_name(line.partition("==")[0]) for line in LINES if "==" in line]
    assert len(names) == len(set(names))


def test_every_direct_dependency_is_pinned_within_its_bounds():
    pinned = pins()
    for requirement in direct():
        name = canonicalize_name(requirement.name)
        assert name in pinned, f"{name} is required but not pinned"
        assert pinned[name] in requirement.specifier, f"{name}=={pinned[name]} is outside of {requirement.specifier}"
        assert any(bound.operator in (">=", "==", "~=") for bound in requirement.specifier), f"{name} has no minimum"


def test_everything_that_is_needed_is_pinned():
    found = installed_closure()
    assert len(found) > 5
    assert sorted(set(found) - set(pins())) == []


def test_nothing_comes_from_elsewhere_than_the_index():
    for line in [*LINES, *map(str, direct())]:
        assert "@" not in line
        assert "://" not in line
