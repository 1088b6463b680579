"""English verbs as far as rules need them: which words are verbs, and in which form.

Word lists, not a grammar: a word that is a verb and something else as well ("watch", "rose") is
taken for what it is most often where it stands.
"""

from __future__ import annotations

import re

# past → base
IRREGULAR = dict(
    pair.split(":")
    for pair in (
        "became:become began:begin bent:bend bit:bite bled:bleed blew:blow bought:buy bound:bind "
        "bred:breed broke:break brought:bring built:build burnt:burn came:come caught:catch "
        "chose:choose clung:cling crept:creep dealt:deal drank:drink dreamt:dream drew:draw "
        "drove:drive dug:dig ate:eat fed:feed fell:fall felt:feel fled:flee flew:fly fought:fight "
        "forbade:forbid forgave:forgive forgot:forget found:find froze:freeze gave:give got:get "
        "grew:grow heard:hear held:hold hid:hide kept:keep knelt:kneel knew:know laid:lay "
        "learnt:learn led:lead left:leave lent:lend lit:light lost:lose made:make meant:mean "
        "met:meet overheard:overhear paid:pay ran:run rang:ring rode:ride rose:rise said:say "
        "sang:sing sank:sink sat:sit saw:see sent:send shone:shine shook:shake shot:shoot "
        "slept:sleep slid:slide slung:sling sold:sell sought:seek spat:spit spent:spend "
        "spilt:spill spoke:speak sprang:spring stank:stink stole:steal stood:stand struck:strike "
        "stuck:stick stung:sting swam:swim swept:sweep swore:swear swung:swing taught:teach "
        "thought:think threw:throw told:tell took:take tore:tear trod:tread understood:understand "
        "went:go wept:weep woke:wake won:win wore:wear wound:wind wove:weave wrote:write "
        "drowned:drown broken:break stolen:steal fallen:fall given:give taken:take gone:go"
    ).split()
)
# one form for both
SAME_IN_THE_PAST = frozenset(
    "beat burst cast cost cut hit hurt let put quit read set shed shut slit split spread".split()
)
AUXILIARIES = frozenset(
    "am is are was were be been being have has had do does did can could will would shall should "
    "may might must ought cannot gonna wanna used".split()
)
BASES = (
    frozenset(IRREGULAR.values())
    | SAME_IN_THE_PAST
    | frozenset(
        "accept act add admire adopt adore agree answer appear apply appreciate arrive ask attack "
        "attend avoid bake be beg believe belong bet bless borrow brew bring burn bury call camp "
        "care carry cast celebrate chase check cherish claim clean climb close collect come "
        "compete complain cook cough count cover craft create cross cry curse cut dance decide "
        "defend deliver depend despise destroy die dislike do doubt dread drop dye earn end enjoy "
        "enter escape expect explain explore express farm fear feel fetch fight fill finish fish "
        "fix focus follow forge gather get give go grab greet grieve guard guess guide handle "
        "hang happen harvest hate haul have head heal help hike hire hope host hunt imagine "
        "inspire intend invent invite join joke jump keep kick kill kiss knit knock lack land "
        "laugh lead learn leave lie like listen live load loathe look love make manage mark "
        "marry mend mention mine miss mourn move need notice observe offer open order organize "
        "own owe pack paint pass pay perform pick plan plant play plot point pour practice "
        "practise praise pray prefer prepare preserve promise protect prove pull push put rage "
        "raise read realize receive record refill refuse regret remain remember remind rent "
        "repair rescue rest return ride rob roll rule run sail save say seem serve share shout "
        "show sign smell smile smoke sneak sound speak spend stab start stay stop study suffer "
        "support swear take talk taste teach tend test thank tie touch trade train travel treat "
        "trust try turn use visit volunteer wait walk want warn wash waste watch wave wear weave "
        "wish wonder work worry worship write".split()
    )
)

_WILL = re.compile(r"\b(?:will|shall|won['’]t|gonna|going to)\b|['’]ll\b", re.IGNORECASE)
_MODAL = re.compile(
    r"\b(?P<modal>can|could|would|may|might|must|should|ought|used to)(?:n?['’]?t|not)?\b"
    r"|(?P<d>['’]d)\b",
    re.IGNORECASE,
)
_IF = re.compile(r"\b(?:if|unless|whether)\b", re.IGNORECASE)
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_PREFIX = re.compile(r"^(?:re|over|under|out|mis|un|up)(?=[a-z]{3})")
_IN_ED_BASES = frozenset(
    "need feed seed heed speed bleed breed weed succeed proceed exceed".split()
)
_IN_ED = frozenset("bed red shed sled wed hundred sacred wicked naked".split()) | _IN_ED_BASES


def is_past(verb: str) -> bool:
    """Whether a word is a verb in the past, as far as its form shows it."""
    lower = verb.lower()
    regular = lower.endswith("ed") and len(lower) > 3 and lower not in _IN_ED
    return regular or lower in IRREGULAR or _PREFIX.sub("", lower) in IRREGULAR


def base(word: str) -> str:
    """An irregular verb of the past in its base form; any other word as it is."""
    return IRREGULAR.get(word, word)


def is_participle(word: str) -> bool:
    """Whether it stands after "had": been, gone, sold, lived."""
    return word in ("been", "had", "done", "gone", "seen", "known", "grown") or is_past(word)


def third(verb: str) -> str:
    """The third person of a verb in the present.

    >>> [third(verb) for verb in ("go", "carry", "keep", "watch")]
    ['goes', 'carries', 'keeps', 'watches']
    """
    lower = verb.lower()
    if lower in ("have", "do", "go"):
        return {"have": "has", "do": "does", "go": "goes"}[lower]
    if re.search(r"(?:s|x|z|ch|sh|o)$", lower):
        return verb + "es"
    if re.search(r"[^aeiou]y$", lower):
        return verb[:-1] + "ies"
    return verb + "s"


THIRD = frozenset(map(third, BASES))


def mood_of(text: str) -> tuple[bool, frozenset[str], bool, bool]:
    """What is said of it: that it will be, that it can or should be, that it was, if it were."""
    modals = {(found["modal"] or "would").lower() for found in _MODAL.finditer(text)}
    words = [word.lower() for word in _WORD.findall(text)]
    past = any(word in ("was", "were", "had", "did") or is_past(word) for word in words)
    past = past or bool(re.search(r"\b(?:was|were|had|did)n['’]t\b", text, re.IGNORECASE))
    return bool(_WILL.search(text)), frozenset(modals), past, bool(_IF.search(text))
