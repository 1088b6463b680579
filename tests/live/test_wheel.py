"""The package as it is published: its wheel in a game that is as new as `evennia --init` makes it.

The libraries are those of the test environment, so that nothing is downloaded; the contrib itself
is there as a wheel only. The game is changed as README's "Installation" says, block by block.
"""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import venv
import zipfile
from email import message_from_bytes
from importlib.metadata import entry_points
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import HTTPCookieProcessor, build_opener

import pytest

from world.game import SUPERUSER, Game
from world.story import Story

pytestmark = pytest.mark.live

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "contrib_ai_memory"
FIRST_PORTS = 30 + 40 * int(os.environ.get("PYTEST_XDIST_WORKER", "gw0")[2:])
PROGRAMS = ("evennia", "twistd")
OFFLINE = os.environ | {"PIP_CONFIG_FILE": os.devnull, "PIP_FIND_LINKS": "", "PIP_NO_INDEX": "1"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT)
    [found] = folder.glob("*.whl")
    return found


def run(*words: object, cwd: Path = ROOT) -> str:
    done = subprocess.run(
        [*map(str, words)], cwd=cwd, env=OFFLINE, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_wheel_has_every_file_of_the_package_and_nothing_else(wheel):
    here = {
        str(file.relative_to(ROOT))
        for file in PACKAGE.rglob("*")
        if file.is_file() and file.suffix != ".pyc"
    }
    there = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert there == here
    assert {Path(name).suffix for name in here} >= {".html", ".css", ".js", ".npz", ".json"}


def test_the_description_reads_on_a_page_outside_the_repository(wheel):
    files = zipfile.ZipFile(wheel)
    [metadata] = [name for name in files.namelist() if name.endswith(".dist-info/METADATA")]
    text = message_from_bytes(files.read(metadata)).get_payload(decode=True).decode()
    assert "## Installation" in text
    assert re.findall(r"\]\((?!http)[^)]*\)", text) == []
    for file in re.findall(r"`(docs/[^`]+|CHANGELOG\.md)`", text):
        assert (ROOT / file).exists(), file


@pytest.fixture
def environment(wheel, tmp_path) -> Path:
    """The interpreter of a virtual environment that has the wheel, as pip installs it."""
    folder = tmp_path / "venv"
    venv.create(folder, symlinks=True)
    python = folder / "bin" / "python"
    libraries = [path for path in sys.path if path.endswith(("site-packages", "dist-packages"))]
    [packages] = folder.glob("lib/python*/site-packages")
    (packages / "libraries.pth").write_text("\n".join(libraries))
    for program in entry_points(group="console_scripts"):
        if program.name in PROGRAMS:  # as pip writes them
            script = python.with_name(program.name)
            script.write_text(
                f"#!{python}\nimport sys\nfrom {program.module} import {program.attr}\n"
                f"sys.exit({program.attr}())\n"
            )
            script.chmod(0o755)
    pip = [sys.executable, "-m", "pip", "--python", python, "install"]
    run(*pip, "--no-deps", "--force-reinstall", wheel)
    satisfied = run(
        *pip, "contrib-ai-memory[local,pgvector,qdrant]"
    )  # offline: what is missing is an error
    assert f"{packages}" in satisfied, "the libraries' own copy was looked at"
    return python


def installation_blocks() -> list[str]:
    text = (ROOT / "README.md").read_text().partition("## Installation\n")[2]
    blocks = re.findall(r"```python\n(.*?)```", text.partition("\n## ")[0], re.DOTALL)
    return [re.sub(r"^   ", "", block, flags=re.MULTILINE).strip("\n") for block in blocks]


def put(file: Path, block: str, *, before: str = "") -> None:
    """Put a block of README into a file: at its end, or its last line before another one.

    What stands above that last line is imports, which go to the top.
    """
    text = file.read_text()
    if before:
        above, _, line = block.rpartition("\n")
        assert before in text
        text = f"{above.strip()}\n{text}".replace(before, f"{line}\n{before}", 1)
    else:
        text += f"\n\n{block}\n"
    ast.parse(text)
    file.write_text(text)


def install(game: Game) -> None:
    settings, npcs, commands, web = installation_blocks()
    put(game.folder / "typeclasses" / "characters.py", npcs)
    cmdsets = game.folder / "commands" / "default_cmdsets.py"
    put(cmdsets, commands, before="\n\nclass AccountCmdSet")
    put(game.folder / "web" / "urls.py", web, before="    # website\n")
    conf = game.folder / "server" / "conf" / "settings.py"
    conf.write_text(conf.read_text().replace("\ntry:\n", f"\n{settings}\n\ntry:\n", 1))


def test_readmes_installation_works_in_a_new_game(environment, tmp_path):
    game = Game(tmp_path / "game", python=environment)
    game.init()
    install(game)
    game.write_secret_settings(FIRST_PORTS)
    where = run(
        environment, "-c", "import contrib_ai_memory as c; print(c.__file__)", cwd=game.folder
    )
    assert Path(where.strip()).is_relative_to(environment.parent.parent), "not from the wheel"

    game.migrate()
    try:
        game.start()
        play(game)
        look_at_the_pages(game)
    finally:
        game.stop()
    status = game.evennia("ai_memory", "status")
    assert re.search(r"^Mara +#\d+ ", status, re.M), status
    assert "No problems found." in game.evennia("ai_memory", "doctor")


def play(game: Game) -> None:
    """Make an NPC by README's line, tell it something, let it sleep, and ask."""
    made = re.search(r"^    (@create/drop Mara:.+)$", (ROOT / "README.md").read_text(), re.M)
    with Story(game).log_in(SUPERUSER, game.password) as keeper:
        keeper.send(made[1])
        keeper.expect("You create a new")
        keeper.send("say I keep the ferry at Millbrook.")
        keeper.expect("Mara says, ", timeout=60)
        keeper.send("@sleep/now Mara")
        assert "wakes up rested" in keeper.expect("wakes up rested", "went wrong", timeout=120)
        keeper.send("say What do I keep at Millbrook?")
        assert "ferry" in keeper.expect("Mara says, ", timeout=60)


def look_at_the_pages(game: Game) -> None:
    """Log in on the website and see a page, its style and its script."""
    site = f"http://127.0.0.1:{game.ports.web}"
    browser = build_opener(HTTPCookieProcessor())
    form = browser.open(f"{site}/auth/login/", timeout=60).read().decode()
    token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', form)[1]
    fields = {"username": SUPERUSER, "password": game.password, "csrfmiddlewaretoken": token}
    browser.open(f"{site}/auth/login/", urlencode(fields).encode(), timeout=60).close()
    page = browser.open(f"{site}/memory/", timeout=60).read().decode()
    assert "Mara" in page
    for name in ("memory.css", "graph.js", "vendor/force-graph.min.js"):
        try:
            browser.open(f"{site}/static/ai_memory/{name}", timeout=60).close()
        except HTTPError as error:
            pytest.fail(f"{name}: {error}")
