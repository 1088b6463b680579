"""docs/settings.md from conf.py: `python docs/settings_table.py > docs/settings.md`."""

from __future__ import annotations

import inspect
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from contrib_ai_memory import conf
from contrib_ai_memory.text import redaction

HEAD = """\
# Settings

`settings.CONTRIB_AI_MEMORY` is a dict; what is left out has its default. A key that is not listed
here is refused, and so is a value that is not allowed: the game does not start, and says why.
What was a setting in an older version and is a constant now is ignored, with a sentence at the
start.

Settings marked **npc** can also be set for a typeclass, a prototype or one NPC
([kinds of NPCs](guides/builders.md#kinds-of-npcs)).

[A], [B] and [C] name the source that fixes a number. This page is made from `conf.py` by
`python docs/settings_table.py > docs/settings.md`.
"""


def page() -> str:
    """The whole page as Markdown."""
    parts = [f"{HEAD}\n## `CONTRIB_AI_MEMORY`\n\n{_table(conf.Settings)}"]
    for name, section in conf.SECTIONS.items():
        about = inspect.cleandoc(section.__doc__)
        parts.append(f'## `CONTRIB_AI_MEMORY["{name}"]`\n\n{about}\n\n{_table(section)}')
    return "\n".join(parts)


def _table(section: type) -> str:
    rows = ["| key | default | what it is |", "|---|---|---|"]
    properties = section.model_json_schema()["properties"]
    for name, field in section.model_fields.items():
        default = field.get_default(call_default_factory=True)
        shown = "required" if field.is_required() else f"`{_plain(default)!r}`"
        about = " ".join((field.description or "see below").split())
        about = "; ".join(filter(None, [about, _bounds(properties[name])]))
        mark = "**npc** " if _of_npc(section, name) else ""
        rows.append(f"| `{name}` | {shown} | {mark}{about} |")
    return "\n".join(rows) + "\n"


def _of_npc(section: type, name: str) -> bool:
    if section is conf.LLMSettings:
        return name in conf.LLM_OF_NPC
    return section is conf.Settings and name not in conf.GAME_ONLY


def _plain(default: Any) -> Any:
    return {} if hasattr(default, "model_dump") else redaction.plain(default)


def _bounds(schema: dict[str, Any]) -> str:
    schema = next((s for s in schema.get("anyOf", []) if s.get("type") != "null"), schema)
    low = schema.get("minimum", schema.get("exclusiveMinimum"))
    high = schema.get("maximum")
    if low is None or high is None:
        return ""
    sign = "more than " if "exclusiveMinimum" in schema else ""
    return f"{sign}{low:g} to {high:g}"


if __name__ == "__main__":
    sys.stdout.write(page())
