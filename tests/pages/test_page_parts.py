"""Masking, packaged files, style sheet, and the guide for admins."""

from __future__ import annotations

import re
from pathlib import Path

from page_visits import logged_in, main_of, url

from contrib_ai_memory.text import redaction
from contrib_ai_memory.web import game_pages

ROOT = Path(__file__).resolve().parents[2]


def test_secrets_in_settings_are_masked_at_any_depth():
    def shown(config):
        return game_pages.text_of(redaction.sealed(config))

    masked = shown({"a": [{"api_key": "x1"}], "b": "redis://:x2@h/0?x=x3"})
    assert not re.search(r"x[123]", masked)
    deep = {
        "headers": {"X-Tenant": "x1", "many": [{"a": ("x2", b"x3")}]},
        "password": 1234,
        "pin": {"secret": 5678.5},
        "tokens": {9012},
        "port": 6333,
    }
    masked = shown(deep)
    assert not re.search(r"x[123]|X-Tenant|1234|5678|9012", masked)
    assert "port: 6333" in masked


def test_the_package_ships_its_templates_and_its_static_files():
    import tomllib

    package = ROOT / "contrib_ai_memory"
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    globs = settings["tool"]["setuptools"]["package-data"]["contrib_ai_memory"]
    shipped = {path for pattern in globs for path in package.glob(pattern)}
    needed = {
        path
        for folder in ("templates", "static")
        for path in (package / folder).rglob("*")
        if path.is_file()
    }
    assert needed and needed <= shipped


def test_the_pages_load_nothing_from_other_servers():
    folder = ROOT / "contrib_ai_memory"
    for path in [*folder.glob("templates/**/*.html"), *folder.glob("static/ai_memory/*.*")]:
        assert not re.search(
            r"(?:src|href)=[\"']?(?:https?:)?//|@import|url\(", path.read_text()
        ), path


def test_the_code_in_the_guide_is_that_of_the_example_game():
    guide = (ROOT / "docs" / "guides" / "admins.md").read_text()
    menu = (
        ROOT / "server_conf_example" / "web" / "templates" / "website" / "_menu.html"
    ).read_text()
    shown = re.search(r"```html\n(.*?)```", guide, re.S)[1]
    assert [line for line in shown.splitlines() if line not in menu.splitlines()] == []
    python = re.search(r"```python\n(.*?)```", guide, re.S)[1]
    made: dict = {}
    exec(python, made)
    include = [each for each in made["urlpatterns"] if "contrib_ai_memory" in str(each)]
    assert len(include) == 1
    assert (
        'include("contrib_ai_memory.web.urls")'
        in (ROOT / "server_conf_example" / "web" / "urls.py").read_text()
    )


def test_the_locks_in_the_guide_work_as_described(mara, alice, client):
    guide = (ROOT / "docs" / "guides" / "admins.md").read_text()
    look, edit = re.findall(r"^    @lock Mara = (.*)$", guide, re.M)
    alice.permissions.add("Admin")
    logged_in(client, "Somebody", builder=True)
    alice.execute_cmd(f"@lock Mara = {edit}")
    assert client.get(url("journal", mara)).status_code == 200
    assert client.post(url("do", mara, "pause")).status_code == 403
    alice.execute_cmd(f"@lock Mara = {look}")
    assert client.get(url("journal", mara)).status_code == 404


def test_the_guide_names_every_tab_of_the_pages(keeper, mara):
    guide = (ROOT / "docs" / "guides" / "admins.md").read_text()
    tabs = re.search(
        r'<ul class="tabs">(.*?)</ul>', main_of(keeper.get(url("overview", mara))), re.S
    )
    for name in re.findall(r">(\w+)</a>", tabs[1]):
        assert f"**{name}**" in guide, name


def test_the_style_sheet_yields_to_the_games_own(keeper, mara):
    """On a phone the menu opens by a button that Bootstrap shows without saying so."""
    sheet = (ROOT / "contrib_ai_memory" / "static" / "ai_memory" / "memory.css").read_text()
    hidden = re.findall(r"([^{}]*)\{[^{}]*display: none[^{}]*\}", sheet)
    assert hidden and not any("navbar-toggler" in selector for selector in hidden)
    outside = re.findall(r"^([^\s@/}][^{]*)\{", re.sub(r"/\*.*?\*/", "", sheet, flags=re.S), re.M)
    loud = [each for each in outside if not each.startswith((":where", ".aim", ".alert"))]
    assert loud == [], "outside of .aim every rule yields to the game's own look"
