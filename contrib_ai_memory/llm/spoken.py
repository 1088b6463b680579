"""What an NPC can speak of a model's text: no reasoning, template tokens, calls, stage directions.

Models write more than the spoken words: their reasoning, the tokens of their chat template, tool
calls as text, the NPC's name and quotation marks, actions, turns of others. `utterance` takes that
off. Pure functions of text, which never raise.

What may as well be spoken stays: an emphasised word loses its asterisks alone, and a name before
a colon is a speaker's only where a turn begins. What is left is spoken only if the NPC can say it
to its listener (`_is_fit`): it is not the line that it answers or the text that describes the NPC,
and speaks neither to the NPC nor of the listener as somebody absent.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from .. import language
from ..language import Named
from ..records import ReplyRequest
from ..text.names import folded, forms
from ..text.segmentation import WORD, sentence_ends

LONGEST = 12_000  # characters that are looked at, without the reasoning
REPLY_LENGTH = 2000  # characters that an NPC says at once
EMOTE_LENGTH = 300  # characters of what it is seen doing at once
TALE = 3  # so many times as long may an answer be that tells a tale

SILENCE = "..."  # a reply of a model that says nothing
WHISPERS = "*whispers*"  # in front of the words of a model that tell a secret
_WHISPERS = re.compile(r"whisper|lower(?:s|ing) \w+ voice", re.IGNORECASE)
_SILENT = re.compile(r"[\s.…]*|[(*\[]\W*(?:\w+\W+){0,3}(?:silen\w+|nothing)\W*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Voice:
    """Who speaks, to whom, and how much."""

    names: tuple[str, ...] = ()  # what the speaker is called
    others: tuple[str, ...] = ()  # what the others in the talk are called
    sentences: int = 0  # the most of one reply; 0 for any number
    listener: str = ""  # what the one who is answered is called
    heard: str = ""  # the line that is answered
    described: str = ""  # what the model was told of the NPC and of its task
    said: tuple[str, ...] = ()  # its own lines of late, which small talk does not say again


NO_VOICE = Voice()


def voice_of(request: ReplyRequest, described: str) -> Voice:
    """Return who speaks in an answer, to whom, and who else takes part in the talk."""
    others = (
        request.speaker,
        *(turn.name for turn in request.conversation if turn.role == "user"),
        *request.situation.present,
    )
    return Voice(
        (request.npc_name, *request.npc_names),
        tuple(dict.fromkeys(others)),
        request.sentences * (1 if request.plain else TALE),
        request.speaker,
        request.utterance,
        described,
        request.said_lately if request.plain else (),
    )


@dataclass(frozen=True, slots=True)
class Utterance:
    """The parts of a model's text."""

    text: str  # the spoken words; empty if there are none
    actions: tuple[str, ...] = ()  # what it was to be seen doing: "smiles"
    ended: bool = False  # more was written after the words that are spoken

    def seen(self, voice: Voice) -> str:
        """What others see of the actions, as an emote without the name in front; "" for nothing."""
        names = "|".join(map(re.escape, ("she", "he", "they", *voice.names)))
        acts = (
            re.sub(rf"^(?:{names})\s+", "", each, flags=re.IGNORECASE)
            for each in self.actions
            if not (_WHISPERS.search(each) or _ASIDE.match(each) or each.isupper())
        )
        done = " and ".join(each.rstrip(".,;: ") for each in acts if _is_deed(each))
        return f"{done[: EMOTE_LENGTH - 1]}." if done else ""

    @property
    def whispered(self) -> bool:
        """Whether the words are marked as a secret."""
        return any(map(_WHISPERS.search, self.actions))


def utterance(text: str, voice: Voice = NO_VOICE, *, whole: bool = True) -> Utterance:
    """Read a model's text; unless it is `whole`, a sentence that breaks off is left out."""
    text = without_thinking(text)[:LONGEST]
    call = _CALL.search(text)
    text, next_turn = _first_turn(text[: call.start()] if call else text)
    text, others_turn, whispers = _own_lines(_untagged(text), voice)
    text, actions = _without_actions(_unmarked(text), voice)
    text = " ".join(_unquoted(text, voice).split())
    text, more = _sentences(_plain(text), voice.sentences, whole=whole)
    if not WORD.search(text) and not any(map(str.isdigit, text)):
        text = ""
    elif not _is_fit(text, voice):
        text, actions = "", ()
    elif whispers:
        actions = (*actions, "whispers")
    return Utterance(text, actions, ended=next_turn or others_turn or more)


# --- reasoning ------------------------------------------------------------------------------------

_TAGS = r"(?:seed:)?think(?:ing)?|thoughts?|reasoning|reflection|scratchpad|analysis"
_OPEN = rf"<(?:{_TAGS})\s*>|\[THINK\]|◁think▷|<\|begin_of_thought\|>"
_CLOSE = rf"</(?:{_TAGS})\s*>|\[/THINK\]|◁/think▷|<\|end_of_thought\|>"
_THOUGHT = re.compile(rf"(?:{_OPEN}).*?(?:{_CLOSE}|\Z)", re.IGNORECASE | re.DOTALL)
_UNOPENED = re.compile(rf".*(?:{_CLOSE})", re.IGNORECASE | re.DOTALL)  # the template had opened it
# of gpt-oss, where a server does not read its channels or drops their tokens: all but the last
_CHANNELS = re.compile(
    r"(?:\A\s*analysis(?=[A-Z\"'])|<\|channel\|>).*?(?:assistantfinal|final\s*(?:<\|constrain\|>\w*\s*)?<\|message\|>|\Z)",
    re.DOTALL,
)


def without_thinking(text: str) -> str:
    """Strip the reasoning before or within an answer, whole or cut off."""
    text = _THOUGHT.sub("", _CHANNELS.sub("", text))
    unopened = _UNOPENED.match(text)
    return text[unopened.end() :] if unopened else text


def closes_unopened(text: str) -> bool:
    """Whether a text ends reasoning that it did not begin, which the model's template opens."""
    return _UNOPENED.match(_THOUGHT.sub("", text)) is not None


# --- calls ----------------------------------------------------------------------------------------

# how a call or any JSON begins, in the forms of the models' templates; nothing behind it is spoken
_CALL = re.compile(
    r"\{\s*(?:[\"'}]|\Z)|<[|｜]?(?:tool|function|invoke|python_tag)|\[TOOL_CALLS\]"
    r"|\b(?:functions|default_api)\.\w|^[ \t]*Action(?: Input)?:[ \t]*[\w{\[\"]"
    r"|^[ \t`*\[-]{0,8}[a-z][a-z_]{1,40}\((?=\s*(?:\)|[\"'{]|\w+\s*[=(]))",
    re.MULTILINE,
)


# --- template tokens ------------------------------------------------------------------------------

_START = (
    r"(?:<\|(?:im_start|start_header_id|start|start_of_role)\|>|<start_of_turn>"
    r"|(?:^|\n)#{2,4}(?=[ \t]*\w+[ \t]*:))\s*"
)
_OWN = (
    rf"{_START}(?:assistant|model|ai|response)\b\s*:?"
    r"|<\|assistant\|>|\[/INST\]|<</SYS>>|<｜Assistant｜>|</(?:scene|memory)>"
)
_OTHER = (
    rf"{_START}(?:user|human|system|tool|developer|instruction|input|ipython)\b"
    r"|<\|(?:user|system|human|tool|observation)\|>|\[INST\]|<<SYS>>|<｜User｜>"
    r"|<(?:scene|memory)>|\[(?:EPISODIC|SEMANTIC|PROCEDURAL|WORKING)\]"
    r"|(?:Known since )?[A-Z][a-z]+day \d{4}-\d\d-\d\d:"
)
# what stands between the turns of the model: ends of turns, and whole turns of others
_TURNS = re.compile(
    r"<\|(?:im_end|eot_id|eom_id|end|return|call|endoftext|end_of_text|end_of_turn|eot)\|>"
    r"|</s>|<eos>|<end_of_turn>|<end_of_utterance>|<｜end▁of▁sentence｜>"
    rf"|{_OWN}|(?:{_OTHER}).*?(?={_OWN}|\Z)",
    re.IGNORECASE | re.DOTALL,
)
_TOKEN = re.compile(
    r"<\|[^<>|\n]{0,40}\|?>|<｜[^<>｜\n]{0,40}｜>|</?s>|<</?SYS>>|<0x[0-9A-F]{2}>"
    r"|\[/?(?:INST|TOOL_CALLS|TOOL_RESULTS|AVAILABLE_TOOLS|ARGS|SYSTEM_PROMPT|THINK)\]"
    r"|</?[A-Za-z][^<>\n]{0,80}>|◁/?\w{0,20}▷",
)
_BROKEN_TOKEN = re.compile(r"(?:<[|｜/]?[\w|｜▁]{0,40}|\[/?[A-Z_]{2,20})\Z")


def _first_turn(text: str) -> tuple[str, bool]:
    """Return the first turn that is the model's own, and whether another follows it."""
    turns = _TURNS.split(text)
    for number, turn in enumerate(turns, start=1):
        if WORD.search(_TOKEN.sub("", turn)):
            return turn, number < len(turns)
    return "", False


def _untagged(text: str) -> str:
    """Remove template tokens and tags; `_plain` removes what is made of their sides."""
    text = _TOKEN.sub(" ", _BROKEN_TOKEN.sub("", text))
    return text.replace("▁", " ").replace("Ġ", " ")


# --- turns of others ------------------------------------------------------------------------------

_SAYS = (
    "(?:says?|said|repl(?:ies|ied)|asks?|asked|answers?|answered|responds?|responded|whispers?|"
    "whispered|murmurs?|mutters?|exclaims?|adds?|continues?)"
)
_TELLS = "(?:says?|whispers?|murmurs?|mutters?|replies|answers?|exclaims?)"
_SAID = re.compile(rf"\b{_SAYS}\b", re.IGNORECASE)
# who speaks where no name is: `whispers to Alice: "`, `I say: "`; or as the prompt has it of
# anybody: `Amera says to you: `
_OWN_LABELS = rf"assistant|ai|npc|bot|model|response|reply|answer|output|(?:I[ \t]+)?{_TELLS}"
_OTHER_LABELS = (
    rf"user|human|player|system|narrator|you(?:[ \t]+{_TELLS})?"
    rf"|\w+[ \t]+{_TELLS}(?=[*_)\]]{{0,4}}[ \t]+to[ \t]+you\b)"
)
# a role in the middle of a line
_INLINE = re.compile(r"(?<=[.!?…\"”*)]) +(?=(?:User|Human|Assistant|System): +[A-Z\"“])")


def _label(names: Iterable[str], labels: str) -> re.Pattern[str]:
    """Match who speaks before a line: `Mara: `, `**Mara:**`, `[Mara] says, "`."""
    known = {name.strip() for name in names if name.strip()}
    who = "|".join([*map(re.escape, sorted(known, key=len, reverse=True)), labels])
    return re.compile(
        rf"[\s*_\[<(\"“]{{0,4}}(?:{who})(?:[ \t]+and[ \t]+(?:{who}))?[\]>*_)”\"]{{0,4}}[ \t]*"
        rf"(?:[(\[*][^()\[\]*\n]{{1,60}}[)\]*])?[ \t]*{_SAYS}?[*_)\]]{{0,4}}(?:[ \t]+\w+ly)?"
        r"(?:[ \t]*to[ \t]+[^:,\n]{1,40})?[ \t]*(?:[:：]|,(?=[ \t]*[\"“]))[*_]{0,3}[ \t]*",
        re.IGNORECASE,
    )


def _own_lines(text: str, voice: Voice) -> tuple[str, bool, bool]:
    """Return the speaker's own lines, whether a turn of another follows, and whether a label says
    that it whispers."""
    mine = {name.lower() for name in voice.names}
    own = _label(voice.names, _OWN_LABELS)
    other = _label((name for name in voice.others if name.lower() not in mine), _OTHER_LABELS)
    taken: list[str] = []
    whispers = False
    for line in _INLINE.sub("\n", text).split("\n"):
        if _turn(other, line):
            if taken:
                return "\n".join(taken), True, whispers
            continue
        if label := _turn(own, line):
            line = line[label.end() :]
            whispers = whispers or bool(_WHISPERS.search(label[0]))
        if line.strip() or taken:
            taken.append(line)
    return "\n".join(taken), False, whispers


def _turn(labels: re.Pattern[str], line: str) -> re.Match[str] | None:
    """Return the label of a line with which a turn begins: "Mara: the name of my boat" has none."""
    label = labels.match(line)
    if label is None:
        return None
    rest = line[label.end() :]
    marked = label[0].lstrip()[:1] in ("*", "[", "<") or rest[:1] in ("*", "(")
    begins = marked or _SAID.search(label[0]) or not rest.lstrip("_\"'“‘«")[:1].islower()
    return label if begins else None


# --- markup and actions ---------------------------------------------------------------------------

_LINE_MARK = re.compile(
    r"^[ \t]*(?:#{1,6}[ \t]+|[-*•][ \t]+|>[ \t]*|(?:[-*_][ \t]*){3,}$)", re.MULTILINE
)
_FENCED = re.compile(r"```[\w+-]{0,15}(.*?)(?:```|\Z)", re.DOTALL)
_STARRED = re.compile(
    r"(?<![\w*])(?P<mark>\*{1,3})(?=[^\s*])(?P<inner>[^*\n]{1,400})(?<=\S)\*{1,3}(?![\w*])"
)
_UNDERLINED = re.compile(r"(?<!\w)_{1,2}(?=\S)(?P<inner>[^_\n]{1,400})(?<=\S)_{1,2}(?!\w)")
_BRACKETED = re.compile(r"[(\[](?P<inner>[^()\[\]\n]{1,300})[)\]]")
_OPEN_STAR = re.compile(r"(?:^|(?<=\s))\*(?P<inner>[^*\n]*)\Z")
_ASIDE = re.compile(r"(?:ooc|out of character|note|author'?s note|a/n)\b", re.IGNORECASE)
_APART = re.compile(r"(?:^|[.!?…:\"”’)\]*\n])\s*\Z")  # what stands before words of their own

_GESTURES = frozenset(
    "nods smiles grins sighs chuckles laughs leans pauses shrugs winks frowns glances bows "
    "gestures points looks turns wipes pours sets places raises lowers tilts shakes scratches "
    "rubs clears crosses folds waves beckons steps walks sits stands kneels stares gazes peers "
    "squints blinks snorts scoffs smirks beams blushes gasps groans growls grunts hums whistles "
    "yawns coughs sniffs winces flinches hesitates thinks ponders considers whispers mutters "
    "murmurs taps drums slides pushes pulls reaches picks hands offers takes holds grips claps "
    "cackles giggles snickers rolls narrows softens straightens adjusts polishes stirs".split()
)
_SUBJECTS = frozenset("she he they i it her his their my the a".split())


def _unmarked(text: str) -> str:
    """Remove Markdown: fences (and what is in them, beside other text), headings, bullets."""
    if "```" in text:
        outside = _FENCED.sub("\n", text)
        text = outside if WORD.search(outside) else _FENCED.sub(r"\n\1\n", text)
    return _LINE_MARK.sub("", text.replace("`", ""))


def _without_actions(text: str, voice: Voice) -> tuple[str, tuple[str, ...]]:
    """Drop stage directions; emphasis loses its marks alone."""
    actions: list[str] = []
    for spans, is_bracket in ((_STARRED, False), (_UNDERLINED, False), (_BRACKETED, True)):
        parts, place = list[str](), 0
        for span in spans.finditer(text):
            inner = span["inner"].strip()
            apart = bool(_APART.search(text[: span.start()][-40:]))
            parts.append(text[place : span.start()])
            place = span.end()
            if _is_action(inner, voice, apart=apart, bracket=is_bracket):
                actions.append(inner)
            elif is_bracket and span[0].startswith("("):
                parts.append(span[0])
            else:
                parts.append(span["inner"])
        text = "".join(parts) + text[place:]
    if (cut := _OPEN_STAR.search(text)) and _has_verb(cut["inner"], voice):
        text = text[: cut.start()]
    text = re.sub(r"(?<!\w)[*_]{1,3}|[*_]{1,3}(?!\w)", "", text)
    text = text.replace("**", "").replace("[", "").replace("]", "")
    return re.sub(r"^[\s,;:—–-]+(?=\S)|\s+(?=[,.!?;](?:\s|$))", "", text), tuple(actions)


def _is_action(inner: str, voice: Voice, *, apart: bool, bracket: bool) -> bool:
    """Whether words between marks are done rather than spoken.

    One word within a sentence is mostly stressed, and what stands in brackets is mostly said.
    """
    words = WORD.findall(inner)
    if not words:
        return not any(map(str.isdigit, inner))
    if _ASIDE.match(inner):
        return True
    if bracket or (len(words) == 1 and not apart):
        return _gesture(inner, voice)
    if inner.endswith(("!", "?")):
        return False  # it is said with force
    return _has_verb(inner, voice) or (apart and inner[0].islower() and words[0] in _SUBJECTS)


def _lead(inner: str, voice: Voice) -> tuple[str, bool]:
    """Return the word that would be the verb, and whether a subject stands before it."""
    names = {part for name in voice.names for part in name.lower().split()}
    words = [word.lower() for word in WORD.findall(inner)]
    subject = False
    for number, word in enumerate(words):
        article = number and words[number - 1] in ("the", "a", "her", "his", "their", "my")
        if word in names or word in _SUBJECTS or article:
            subject = True
        elif not word.endswith("ly"):
            return word, subject
    return "", subject


def _gesture(inner: str, voice: Voice) -> bool:
    lead, subject = _lead(inner, voice)
    return lead in _GESTURES or (subject and lead in language.get().third_person)


def _is_deed(text: str) -> bool:
    """Whether words begin with what somebody does: "ladles broth", not "smiling" or "a pause"."""
    lead, subject = _lead(text, NO_VOICE)
    return bool(lead) and not subject and not lead.endswith("ing")


def _has_verb(inner: str, voice: Voice) -> bool:
    """Whether words between marks, apart from a sentence, are a stage direction."""
    lead, subject = _lead(inner, voice)
    if not lead:
        return not subject
    if _gesture(inner, voice) or lead in language.get().third_person:
        return True
    if len(lead) < 4 or lead.endswith(("ss", "thing")):
        return False
    return lead.endswith("ing") or (lead.endswith("s") and (subject or inner[:1].islower()))


# --- quotation marks and sentences ----------------------------------------------------------------

_QUOTED = re.compile(r"\"([^\"]*)\"|“([^”]*)”|«([^»]*)»|「([^」]*)」|„([^“”]*)[“”]")
_SPEECH_END = (".", "!", "?", "…", ",", "—", "-")
_ENDED = re.compile(r"[.!?…。！？][\"'”’)»」]*\Z")
_WIDE_END = re.compile(r"[。！？]+[」』”]?")
_MARKER = re.compile(
    r"<\||\|>|<｜|｜>|</?[A-Za-z][^<>]{0,80}>|\[/?[A-Z_]{3,20}\]|```|\*\*|◁|▷|<<|>>"
)


def _unquoted(text: str, voice: Voice) -> str:
    """Take the quotation marks off speech, and a tale around it: `"Well met," Mara says.`"""
    text = text.strip()
    spans = list(_QUOTED.finditer(text))
    quoted = ["".join(filter(None, span.groups())).strip() for span in spans]
    outside = _QUOTED.sub(" ", text)
    if quoted and (not WORD.search(outside) or _is_narrative(outside, quoted, voice)):
        return " ".join(
            re.sub(r",\Z", ".", each) if after[:1].isupper() else each
            for each, after in zip(quoted, [*quoted[1:], ""], strict=True)
        )
    if text.count('"') % 2:
        return text[1:] if text.startswith('"') else text.removesuffix('"')
    if text.startswith("“") and "”" not in text:
        return text[1:]
    single = re.fullmatch(r"'(.+)'|‘(.+)’", text, re.DOTALL)
    return single[1] or single[2] if single and not re.search(r"\W'|'\W", text[1:-1]) else text


def _is_narrative(outside: str, quoted: Sequence[str], voice: Voice) -> bool:
    """Whether the words around quotations tell of the speaker."""
    if not all(each[:1].isupper() and each.endswith(_SPEECH_END) for each in quoted):
        return False
    if any(name.lower() in outside.lower() for name in voice.names if name):
        return True
    subject, *verb = [word.lower() for word in WORD.findall(outside)][:2]
    return subject in ("she", "he", "they") and "".join(verb).endswith("s")


def _sentences(text: str, most: int, *, whole: bool) -> tuple[str, bool]:
    """Return the first sentences within the bounds, and whether there are more."""
    more = False
    if most or not whole or len(text) > REPLY_LENGTH:
        ends = sorted({*sentence_ends(text), *(end.end() for end in _WIDE_END.finditer(text))})
        ends = [end for end in ends if end < len(text)]
        if most and len(ends) >= most:
            text, more = text[: ends[most - 1]].rstrip(), True
        elif not whole and ends and not _ENDED.search(text):
            text = text[: ends[-1]].rstrip()
        if len(text) > REPLY_LENGTH:
            within = [end for end in ends if end <= REPLY_LENGTH]
            text = text[: within[-1] if within else REPLY_LENGTH].rstrip()
            more = True
    return text, more


def _plain(text: str) -> str:
    """Leave no marker, whatever the parts of a text made of each other."""
    text = text.encode("utf-8", "ignore").decode()
    while _MARKER.search(text):
        shorter = _MARKER.sub(" ", text)
        if len(shorter) >= len(text):
            shorter = text.translate({ord(sign): None for sign in "<>[]`◁▷"})
        text = shorter
    return " ".join(text.split())


# --- whether it can be said -----------------------------------------------------------------------

COPIED_FROM = 4  # words of a sentence that stands in what the model was given
LOOP_FROM = 40  # words of a text that may go round in circles
# before one's own name: "it is me, Mara"
_IS_ONESELF = re.compile(r"\b(?:i['’]?m|i am|me|name is)(?: (?:the|your|an?) \w+)?\W*$")
_OF_ANOTHER = re.compile(r"\b(?:she|he|they|her|his|their|him|them)\b")
_BE = frozenset("am is are".split())
_SENTENCE_END = re.compile(r"(?<=[.!?…])[\s\"”’)]+")


def _is_fit(text: str, voice: Voice) -> bool:
    """Whether words can be those of the speaker to the listener."""
    words = _bare(text).split()
    if len(words) >= LOOP_FROM and len(set(words)) * 3 < len(words):
        return False  # it repeats itself
    own, listener = _proper(voice.names), _proper([voice.listener])
    spoken = language.get()
    said = _cut(spoken.without_address(text, (*own, *listener)))
    if _is_echo(said, _bare(spoken.without_address(voice.heard, (*own, *listener)))):
        return False
    described = _bare(voice.described)
    if any(_is_recited(each, described, own) for each in said):
        return False
    before = {_bare(each) for line in voice.said for each in _cut(line)}
    if any(len(each.split()) >= COPIED_FROM and each in before for each in map(_bare, _cut(text))):
        return False
    aloud = _QUOTED.sub(" ", text)
    others = _proper(name for name in voice.others if name != voice.listener)
    to_listener = not others or spoken.named(aloud, others) is not Named.CALLED
    return not any(
        (_calls_itself(each, own) and not set(own) & set(listener))
        or (to_listener and _tells_of(each, listener))
        for each in _cut(aloud)
    )


def _proper(names: Iterable[str]) -> tuple[str, ...]:
    """Return the forms of proper names; "captain" may be anybody."""
    return forms(name for name in names if name[:1].isupper())


def _cut(text: str) -> list[str]:
    """Cut a text into sentences, within quotations too."""
    return _SENTENCE_END.split(text)


def _bare(text: str) -> str:
    """Return the words alone, so that "I'm" and "I am" are the same."""
    words = (re.split("['’]", word)[0] for word in WORD.findall(text.lower()))
    return " ".join(word for word in words if word not in _BE)


def _is_echo(said: Sequence[str], heard: str) -> bool:
    """Whether an answer is the line that it answers, or half of its words are. "A stone in the
    hoof. Good for her." takes up what was said, and so does a question."""
    words = list(map(_bare, said))
    whole = " ".join(words).strip()
    if whole == heard:
        return len(heard.split()) >= COPIED_FROM
    again = (
        len(each.split())
        for each, sentence in zip(words, said, strict=True)
        if f" {each} " in f" {heard} " and not sentence.endswith("?")
    )
    return 2 * sum(count for count in again if count > COPIED_FROM) >= max(1, len(whole.split()))


def _is_recited(sentence: str, described: str, own: tuple[str, ...]) -> bool:
    """Whether a sentence recites how the model was told of the speaker."""
    words = _bare(sentence)
    if len(words.split()) < COPIED_FROM or f" {words} " not in f" {described} ":
        return False
    return bool(_OF_ANOTHER.search(words)) or language.get().named(sentence, own) is not Named.NOT


def _calls_itself(sentence: str, own: tuple[str, ...]) -> bool:
    """Whether a sentence calls the speaker; "Mara, at your service" and "I am Mara" do not."""
    said = folded(sentence)
    if language.get().named(sentence, own) is not Named.CALLED or said.lstrip("\"'(“*").startswith(
        own
    ):
        return False
    found = re.finditer(rf"\b(?:{'|'.join(map(re.escape, own))})\b", said)
    return any(not _IS_ONESELF.search(said[: each.start()]) for each in found)


def _tells_of(sentence: str, listener: tuple[str, ...]) -> bool:
    """Whether a sentence tells of the listener as of somebody absent: "Alice nods"."""
    if language.get().named(sentence, listener) is Named.TOLD_OF:
        return True
    words, verbs = WORD.findall(folded(sentence)), language.get().third_person
    return any(
        one in listener and (verb in verbs or (place == 0 and verb.endswith("s")))
        for place, (one, verb) in enumerate(pairwise(words))
    )


def is_silence(text: str) -> bool:
    """Return whether a model's reply says that the NPC says nothing."""
    return bool(text) and _SILENT.fullmatch(text) is not None
