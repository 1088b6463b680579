"""The tools that a speaking NPC may call (DESIGN §7): their schemas, and the calls as messages.

Models write the calls, partly from what players said: everything in them is validated, sanitised
and bounded here. An error message tells the model what is wrong with a call.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BeforeValidator, Field, ValidationError
from pydantic_core import from_json

from .. import conf
from ..embedding.emotions import LABELS
from . import schemas
from .model_server_info import mapping
from .prompts import Messages
from .schemas import Plain, lowered
from .spoken import EMOTE_LENGTH, NO_VOICE, SILENCE, Voice, is_silence, utterance

CALLS_A_ROUND = 8  # further calls are not carried out
ARGUMENTS_LENGTH = 4000  # characters of the arguments of one call

_ID = re.compile(r"[\w-]{1,64}", re.ASCII)
_NOT_IN_A_NAME = re.compile(r"[^\w-]", re.ASCII)

Tool = dict[str, Any]  # as Chat Completions has it


class BadCall(ValueError):
    """An invalid tool call. The message is returned to the model."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call of a tool."""

    id: str
    name: str
    arguments: str  # JSON text as the model wrote it, of bounded length


@dataclass(frozen=True, slots=True)
class Turn:
    """A model's text, or the tools that it calls before it says more."""

    text: str
    calls: tuple[ToolCall, ...] = ()
    whispered: bool = False  # the text was marked as a secret
    seen: str = ""  # what is done meanwhile, "ladles broth"


# --- the tools ------------------------------------------------------------------------------------


if TYPE_CHECKING:
    _Label = str
else:
    _Label = Literal[LABELS]

Emotion = Annotated[_Label, BeforeValidator(lowered)]
Emotions = Annotated[list[Emotion], Field(max_length=3, description="1-3: joy, fear, trust ...")]
Name = Annotated[str, Field(min_length=1, max_length=80)]
Spoken = Annotated[str, Field(min_length=1, max_length=1000)]


class Arguments(Plain):
    """The arguments of the tool of that name; each docstring is its description for the model."""


class Memorize(Arguments):
    """Remember for good"""

    essence: str = Field(min_length=1, max_length=600)
    lesson: str = Field("", max_length=400)
    emotions: Emotions = []
    weight: float = Field(conf.CONSCIOUS_WEIGHT, ge=0, le=1)


class Recall(Arguments):
    """Search memory when unsure"""

    query: str = Field(min_length=1, max_length=400)


class RecallEmotion(Arguments):
    """Remember when you felt so"""

    emotions: Emotions


class NoteAbout(Arguments):
    """Note of a person"""

    name: Name
    text: str = Field(min_length=1, max_length=500)


class GoToSleep(Arguments):
    """Fall asleep"""


class Say(Arguments):
    """Speak before your answer"""

    text: Spoken


class Whisper(Arguments):
    """Whisper to one"""

    name: Name
    text: Spoken


class Emote(Arguments):
    """Act visibly: pours tea"""

    text: Annotated[str, Field(min_length=1, max_length=EMOTE_LENGTH)]


REMEMBERING: tuple[type[Arguments], ...] = (Memorize, Recall, RecallEmotion, NoteAbout)
ACTING: tuple[type[Arguments], ...] = (GoToSleep, Say, Whisper, Emote)
LOOKING_UP: tuple[type[Arguments], ...] = (Recall, RecallEmotion)  # whose results are needed
# what an answer does without a call: its words are said, *acts* are emotes; what was felt comes
# with what `recall` finds
NEEDLESS: tuple[type[Arguments], ...] = (RecallEmotion, Say, Emote)


def name_of(kind: type[Arguments]) -> str:
    """Return the name of a tool: "note_about" for `NoteAbout`."""
    return re.sub(r"\B([A-Z])", r"_\1", kind.__name__).lower()


_BY_NAME = {name_of(each): each for each in (*REMEMBERING, *ACTING)}


def offered(
    kinds: Sequence[type[Arguments]] = (*REMEMBERING, *ACTING), *, whole: bool = False
) -> list[Tool]:
    """Return tools as a request has them, with optional arguments if they are to be `whole`.

    Every request carries them, so that they are short: bounds are checked in `read`.
    """
    return [
        {
            "type": "function",
            "function": {
                "name": name_of(kind),
                "description": kind.__doc__,
                "parameters": _parameters(kind, whole),
            },
        }
        for kind in kinds
    ]


@cache
def _parameters(kind: type[Arguments], whole: bool) -> Mapping[str, Any]:
    """Return the JSON Schema of a tool's arguments, made once: that takes the reactor thread ms."""
    schema = kind.model_json_schema()
    required = schema.get("required", [])
    properties: dict[str, Any] = {}
    for name in schema.get("properties", ()) if whole else required:
        full = schema["properties"][name]
        told = {"type": full["type"]}
        if "items" in full:
            told["items"] = {"type": full["items"]["type"]}
        if "description" in full:
            told["description"] = full["description"]
        properties[name] = told
    parameters = {"type": "object", "properties": properties}
    return parameters | ({"required": required} if len(required) > 1 else {})


def read(call: ToolCall) -> Arguments:
    """Validate and sanitise the arguments of a call; a `BadCall` says what is wrong with it."""
    kind = _BY_NAME.get(call.name)
    if kind is None:
        raise BadCall(f"there is no tool {call.name}; there are {', '.join(_BY_NAME)}")
    try:
        return kind.model_validate(_parsed(call.arguments))
    except ValidationError as error:
        problem = error.errors(include_input=False, include_url=False)[0]
        where = ".".join(map(str, problem["loc"])) or "the arguments"
        raise BadCall(f"{where}: {problem['msg']}") from None


def _parsed(arguments: str) -> dict[str, Any]:
    if len(arguments) > ARGUMENTS_LENGTH:
        raise BadCall(f"the arguments have more than {ARGUMENTS_LENGTH} characters")
    try:
        data = from_json(arguments or "{}")
    except ValueError:
        raise BadCall("the arguments are not JSON") from None
    if not isinstance(data, dict):
        raise BadCall("the arguments are no JSON object")
    return data


# --- calls as messages ----------------------------------------------------------------------------


def turn_in(
    answer: schemas.Completion, offered: Sequence[Tool], voice: Voice = NO_VOICE, *, after: bool
) -> Turn:
    """Read what is spoken of a server's response, and its tool calls if tools were offered.

    `after` calls of tools, the actions in the text may be these, and are not shown again.
    """
    if is_silence(answer.text) and not answer.tool_calls:
        return Turn(SILENCE)
    told = utterance(answer.text, voice, whole=not answer.cut_off)
    calls = _calls_in(answer.tool_calls[:CALLS_A_ROUND] if offered else [])
    return Turn(told.text, calls, told.whispered, "" if after else told.seen(voice))


def _calls_in(raw: Sequence[Any]) -> tuple[ToolCall, ...]:
    """Read calls as a server sent them, which may be anything; each gets a unique id."""
    calls: list[ToolCall] = []
    for number, each in enumerate(raw):
        each = mapping(each)
        function = mapping(each.get("function"))
        arguments = function.get("arguments") or ""
        if not isinstance(arguments, str):
            arguments = json.dumps(arguments)  # some servers send the object itself
        name = _NOT_IN_A_NAME.sub("_", str(function.get("name")))[:64] or "nothing"
        arguments = arguments.encode("utf-8", "ignore").decode()[: ARGUMENTS_LENGTH + 1]
        known = str(each.get("id"))
        if not _ID.fullmatch(known) or known in [other.id for other in calls]:
            known = f"call_{number}"
        calls.append(ToolCall(known, name, arguments))
    return tuple(calls)


def emote(text: str) -> ToolCall:
    """Return the call that what stood between asterisks is."""
    return ToolCall("", name_of(Emote), json.dumps({"text": text}))


def needs_result(turn: Turn) -> bool:
    """Whether the model is to be asked again after the calls of a turn: it said nothing, or looks
    something up."""
    return not turn.text or any(_BY_NAME.get(call.name) in LOOKING_UP for call in turn.calls)


def as_message(turn: Turn) -> dict[str, Any]:
    """Make an assistant message of a turn; servers parse arguments, so invalid JSON becomes {}."""
    calls = []
    for call in turn.calls:
        try:
            _parsed(call.arguments)
            arguments = call.arguments or "{}"
        except BadCall:
            arguments = "{}"
        function = {"name": call.name, "arguments": arguments}
        calls.append({"id": call.id, "type": "function", "function": function})
    return {"role": "assistant", "content": turn.text or None, "tool_calls": calls}


def result(call: ToolCall, text: str) -> dict[str, Any]:
    """Make the message with the result of a call."""
    return {"role": "tool", "tool_call_id": call.id, "content": text}


def paired(messages: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Drop calls that lack a result, and results without their call directly before them."""
    kept: list[dict[str, Any]] = []
    place = 0
    while place < len(messages):
        message = messages[place]
        wanted = [call["id"] for call in message.get("tool_calls") or ()]
        end = place + 1
        while end < len(messages) and messages[end].get("role") == "tool":
            end += 1
        results = messages[place + 1 : end]
        if message.get("role") != "tool" and not wanted:
            kept.append(message)
        elif wanted and [each.get("tool_call_id") for each in results] == wanted:
            kept += [message, *results]
        place = end
    return kept


def without_tools(messages: Messages) -> Messages:
    """Rewrite messages for a server without tools: results become text, calls are left out."""
    plain = []
    for message in messages:
        if message["role"] == "tool":
            plain.append({"role": "user", "content": f"(What came of it: {message['content']})"})
        elif not message.get("tool_calls"):
            plain.append(message)
        elif message["content"]:
            plain.append({"role": message["role"], "content": message["content"]})
    return plain
