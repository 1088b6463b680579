"""The documentation says what is so."""

import re
import subprocess
import sys
import tomllib
from dataclasses import fields
from importlib import import_module
from pathlib import Path

from contrib_ai_memory import offload
from contrib_ai_memory.recall.rank import Weights
from contrib_ai_memory.records import Percept

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "contrib_ai_memory"


def test_the_settings_page_is_that_of_conf():
    made = subprocess.run(
        [sys.executable, str(ROOT / "docs" / "settings_table.py")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert made.stdout == (ROOT / "docs" / "settings.md").read_text()


def test_every_licence_of_what_is_installed_was_looked_at():
    subprocess.run(
        [sys.executable, str(ROOT / "docs" / "licences_table.py")],
        stdout=subprocess.DEVNULL,
        check=True,
    )
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    direct = [*project["dependencies"], *extras["local"], *extras["qdrant"], *extras["pgvector"]]
    listed = (ROOT / "docs" / "licences.md").read_text()
    for requirement in direct:
        name = re.match(r"[\w-]+", requirement)[0]
        assert re.search(rf"^\| {name} \|", listed, re.MULTILINE), f"{name}: make licences"


def test_every_file_that_the_readme_names_is_there():
    links = re.findall(r"\]\((?!http)([^)#]+)", (ROOT / "README.md").read_text())
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_the_installation_is_a_settings_block_a_mixin_a_cmdset_line_and_the_pages():
    readme = (ROOT / "README.md").read_text()
    installation = readme.split("## Installation")[1].split("## Usage")[0]
    assert len(re.findall(r"```python", installation)) == 4


def test_the_walk_of_one_line_names_functions_that_exist():
    page = (ROOT / "docs" / "architecture.md").read_text()
    walk = page.split("## One line of talk")[1].split("\n## ")[0]
    named = re.findall(r"`((?:\w+\.)+\w+)`", walk)
    assert len(named) > 15
    for name in named:
        room, *path = name.split(".")
        found = import_module(f"contrib_ai_memory.{room}")
        for part in path:
            if (PACKAGE / room / f"{part}.py").exists() and found.__name__.endswith(room):
                found = import_module(f"{found.__name__}.{part}")
            else:
                found = getattr(found, part)


def blocks(page: str) -> list[str]:
    """The indented blocks of a page, without their indentation."""
    found = re.findall(r"(?:^    .*\n)+", (ROOT / "docs" / page).read_text(), re.MULTILINE)
    return [re.sub(r"^    ", "", block, flags=re.MULTILINE).strip() for block in found]


def test_the_page_on_scores_shows_what_the_search_says(mara, alice, bram, builder):
    talk, question, shown, *_ = blocks("how_a_score_came_about.md")
    speakers = {npc.key: mara.get_memory_identity(npc) for npc in (alice, bram)}
    mara.memory.id = "5f1f3c1e-8a0b-4c57-9d0e-6a1c2b3d4e5f"  # short ids come of it
    for line in talk.splitlines():
        day, hour, speaker, text = re.fullmatch(r"(\S+) (\S+) (\w+): (.*)", line).groups()
        mara.memory.perceive(
            Percept(
                content=text,
                kind="say",
                seen_as=speaker,
                source=speakers[speaker],
                witnesses=tuple(speakers.values()),
                location="#1",
                timestamp=f"{day}T{hour}+00:00",
            )
        )
    mara.memory.clock = lambda: "2026-03-10T20:00:00+00:00"
    while not offload.wait(mara.memory.work_through()):
        pass
    assert builder(question) == shown


def test_the_page_on_scores_names_every_clue_with_its_weight():
    page = (ROOT / "docs" / "how_a_score_came_about.md").read_text()
    for clue in fields(Weights):
        weight = f"{clue.default:.2f}".replace("-", "−")
        assert re.search(rf"^\| `{clue.name}` \|.*\| {weight} \|$", page, re.MULTILINE), clue.name
