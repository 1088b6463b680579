"""docs/settings.md from conf.py: `python docs/settings_table.py > docs/settings.md`."""

from __future__ import annotations

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

[A], [B] and [C] name the source that fixes a number. This page is made from `conf.py` by
`python docs/settings_table.py > docs/settings.md`.
"""

SECTIONS = {
    "CONTRIB_AI_MEMORY": conf.Settings,
    'CONTRIB_AI_MEMORY["VECTOR_STORE"]': conf.VectorStoreSettings,
    'CONTRIB_AI_MEMORY["EMBEDDING"]': conf.EmbeddingSettings,
    'CONTRIB_AI_MEMORY["LLM"]': conf.LLMSettings,
    'CONTRIB_AI_MEMORY["LLM_NIGHT"]': conf.NightLLMSettings,
}


def page() -> str:
    """The whole page as Markdown."""
    parts = [HEAD]
    for title, section in SECTIONS.items():
        about = "" if section is conf.Settings else f"{section.__doc__}\n\n"
        parts.append(f"## `{title}`\n\n{about}{_table(section)}")
    return "\n".join(parts)


def _table(section: type) -> str:
    rows = ["| key | default | what it is |", "|---|---|---|"]
    properties = section.model_json_schema()["properties"]
    for name, field in section.model_fields.items():
        default = field.get_default(call_default_factory=True)
        shown = "required" if field.is_required() else f"`{_plain(default)!r}`"
        about = "; ".join(filter(None, [field.description, _bounds(properties[name])]))
        rows.append(f"| `{name}` | {shown} | {about} |")
    return "\n".join(rows) + "\n"


def _plain(default: Any) -> Any:
    if isinstance(default, conf.NightLLMSettings):
        return {}
    return redaction.plain(default.model_dump() if hasattr(default, "model_dump") else default)


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
