"""The description of the package: README.md, fit for a page outside the repository.

All else is in pyproject.toml. Links to files of the repository lead nowhere on a package index:
here they become the files' names, and pictures are left out.
"""

import re
from pathlib import Path

from setuptools import setup

IMAGE = re.compile(r"^!\[[^\]]*\]\((?!http)[^)]+\)\n\n?", re.MULTILINE)
LINK = re.compile(r"\[([^\]]+)\]\((?!http)([^)#]+)(?:#[^)]*)?\)")


def _named(link: re.Match[str]) -> str:
    words, file = link.groups()
    return f"`{file}`" if words == file else f"{words} (`{file}`)"


def description() -> str:
    text = Path("README.md").read_text(encoding="utf-8")
    return LINK.sub(_named, IMAGE.sub("", text))


setup(long_description=description(), long_description_content_type="text/markdown")
