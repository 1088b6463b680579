"""A model server that keeps every request and gives stock answers that fit what is asked.

Facts repeat the lines that they are drawn from, about as many and
as long as a real model's; nothing is the same, changed or outdated. It serves to count what is
sent, not to judge it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .chat_server import ChatServer, Message, said

MODEL = "stock"
FACT_WORDS = 8  # a line with as many words, and without a question mark, holds a fact
CALLS_A_TOOL_EVERY = 4  # replies

REPLIES = (
    "Good to see you again. Sit down, and tell me how the road was.",
    "That is news to me, I must say.",
    "I remember it well. You asked me to keep an eye on it, and so I did.",
    "Not to my knowledge, no. You had better ask at the gate.",
    "Three, if I counted right. Come back tomorrow and I will know for certain.",
    "So I was told. I would not swear to it.",
)
FIRST_KNOWN = 101  # numbers of known facts begin with it; lines are below
_NUMBERED = re.compile(r"^(\d+) (.*)$", re.MULTILINE)
LESSON = "Ask after it when they come back."

Lines = list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Asked:
    """One request with the answer that it got.

    Attributes:
        purpose: The name of the form that is asked for, without "Answer"; else "Reply".
        tools: The tools in it as text, "" without any.
        schema: The JSON Schema in it as text, "" without one.
        answer: The answer as text.
    """

    purpose: str
    messages: list[dict[str, Any]]
    tools: str
    schema: str
    answer: str

    @property
    def talk(self) -> str:
        """All that the model reads of the messages, in order."""
        return "".join(f"\n[{each['role']}] {words_of(each)}" for each in self.messages)


def words_of(message: dict[str, Any]) -> str:
    """Return what the model reads of one message, its tool calls included."""
    calls = (call["function"] for call in message.get("tool_calls") or ())
    called = "".join(f"\n{call['name']} {call['arguments']}" for call in calls)
    return (message.get("content") or "") + called


class StockServer(ChatServer):
    """The server; `asked` are its requests in order."""

    def __init__(self) -> None:
        super().__init__(MODEL, self._answered)
        self.asked: list[Asked] = []
        self._replies = 0

    def _answered(self, body: dict[str, Any]) -> Message:
        form = body.get("response_format", {}).get("json_schema", {})
        if form:
            message = said(_structured(form["name"], form["schema"], body["messages"]))
        else:
            message = self._spoken(body)
        self.asked.append(
            Asked(
                form["name"].removesuffix("Answer") if form else "Reply",
                body["messages"],
                json.dumps(body["tools"]) if body.get("tools") else "",
                json.dumps(form["schema"]) if form else "",
                words_of(message),
            )
        )
        return message

    def _spoken(self, body: dict[str, Any]) -> Message:
        """Say something; before every fourth reply a tool is called."""
        called = body["messages"][-1]["role"] == "tool"
        self._replies += not called
        number = self._replies
        if body.get("tools") and not called and number % CALLS_A_TOOL_EVERY == 0:
            call = {"name": "recall", "arguments": json.dumps({"query": "what was promised"})}
            made = {"id": f"call_{number}", "type": "function", "function": call}
            return {"role": "assistant", "content": None, "tool_calls": [made]}
        return said(REPLIES[number % len(REPLIES)])


# --- answers in a form ----------------------------------------------------------------------------


def _structured(name: str, schema: dict[str, Any], messages: list[dict[str, Any]]) -> Any:
    """Answer in the form that is asked for; one that is unknown gets the least that fits."""
    if name == "DigestAnswer":
        return _digest(messages[1]["content"])
    asked = messages[-1]["content"]
    lines = [json.loads(line) for line in asked.splitlines() if line[:1] == "{"]
    lines += [
        {"id": int(number), "text": text}
        for number, text in _NUMBERED.findall(asked)
        if int(number) < FIRST_KNOWN
    ]
    stock = STOCK.get(name)
    return stock(lines) if stock else least(schema, schema)


def _digest(asked: str) -> dict[str, Any]:
    """Answer a look at numbered lines: all of one importance, a fact from each that holds one."""
    new = {int(number): text for number, text in _NUMBERED.findall(asked)}
    lines = {number: text for number, text in new.items() if number < FIRST_KNOWN}
    worth = _worth([{"id": number, "text": text} for number, text in lines.items()])
    blank = {"kind": "event", "about": "", "to": "", "date": "", "same_as": 0, "ends": []}
    return {
        "importance": [{"line": number, "importance": 5} for number in lines],
        "facts": [{"text": each["text"][:300], "lines": [each["id"]], **blank} for each in worth],
        "experiences": [
            {
                "text": " ".join(each["text"] for each in worth)[:300],
                "lines": [each["id"] for each in worth],
                "emotions": ["trust", "interest", "serenity"],
                "weight": 0.5,
                "lesson": LESSON,
            }
        ],
    }


def _attributes(lines: Lines) -> dict[str, Any]:
    found = [
        {"type": "fact", "value": each["text"][:80], "evidence": [each["id"]], "confidence": 0.5}
        for each in _worth(lines)
    ]
    return {"attributes": found}


def _insights(lines: Lines) -> dict[str, Any]:
    numbers = [each["id"] for each in lines if "id" in each][:2]
    told = {"insight": "They keep coming back to the same matter.", "because_of": numbers}
    return {"insights": [told] if numbers else []}


def _worth(lines: Lines) -> Lines:
    known = (each for each in lines if "text" in each and "id" in each)
    return [e for e in known if len(e["text"].split()) >= FACT_WORDS and "?" not in e["text"]]


STOCK: dict[str, Callable[[Lines], Any]] = {
    "SummaryAnswer": lambda lines: {"summary": lines[0]["line"] if lines else "They talked."},
    "AttributesAnswer": _attributes,
    "QuestionsAnswer": lambda _lines: {"questions": ["Who owes what?", "Who is sick?", "Why?"]},
    "InsightsAnswer": _insights,
    "ComparisonAnswer": lambda _lines: {"relations": []},
}


def least(schema: dict[str, Any], whole: dict[str, Any]) -> Any:
    """Make the smallest value that fits a JSON Schema; `whole` holds what it refers to."""
    if reference := schema.get("$ref"):
        return least(whole["$defs"][reference.rpartition("/")[2]], whole)
    for choices in ("anyOf", "oneOf", "allOf"):
        if choices in schema:
            return least(schema[choices][0], whole)
    if "enum" in schema:
        return schema["enum"][0]
    if "const" in schema:
        return schema["const"]
    kind = schema.get("type", "object")
    if kind == "object":
        properties = schema.get("properties", {})
        return {name: least(properties[name], whole) for name in schema.get("required", ())}
    if kind == "array":
        return [least(schema["items"], whole)] * schema.get("minItems", 0)
    if kind == "string":
        return "Nothing."
    if kind in ("integer", "number"):
        return schema.get("minimum", 0)
    return False
