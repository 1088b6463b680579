"""The documentation says what is so."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def test_the_settings_page_is_that_of_conf():
    made = subprocess.run(
        [sys.executable, str(ROOT / "docs" / "settings_table.py")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert made.stdout == (ROOT / "docs" / "settings.md").read_text()


def test_every_file_that_the_readme_names_is_there():
    links = re.findall(r"\]\((?!http)([^)#]+)", (ROOT / "README.md").read_text())
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_the_installation_is_a_settings_block_a_mixin_and_a_cmdset_line():
    readme = (ROOT / "README.md").read_text()
    installation = readme.split("## Installation")[1].split("## Usage")[0]
    assert len(re.findall(r"```python", installation)) == 3
