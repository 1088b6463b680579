"""English verbs: which words are verbs, and in which form.

Word lists, not a grammar: a word that is also a noun ("watch", "rose") counts as a verb here, and
the rules that use these lists look at its neighbours.
"""

from __future__ import annotations

import re

# past tense or participle → base form
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
# verbs whose past tense is their base form
SAME_IN_THE_PAST = frozenset(
    "beat burst cast cost cut hit hurt let put quit read set shed shut slit split spread".split()
)
BE = frozenset("am is are was were".split())
DO = frozenset("do does did".split())
HAVE = frozenset("have has had".split())
MODALS = frozenset("can could will would shall should may might must".split())
AUXILIARIES = (
    BE | DO | HAVE | MODALS | frozenset("be been being ought cannot gonna wanna used".split())
)
# words that often follow a verb, and tell it from a noun
AFTER_A_VERB = frozenset(
    "a an the my your his her its our their this that these those it him them me us in on at to "
    "for from with up down out off over about away back any all some here there home again alone "
    "now today tomorrow tonight".split()
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

_PREFIX = re.compile(r"^(?:re|over|under|out|mis|un|up)(?=[a-z]{3})")
_IN_ED_BASES = frozenset(
    "need feed seed heed speed bleed breed weed succeed proceed exceed".split()
)
_IN_ED = frozenset("bed red shed sled wed hundred sacred wicked naked".split()) | _IN_ED_BASES


def is_past(verb: str) -> bool:
    """Whether the form of a word is that of a past tense."""
    lower = verb.lower()
    regular = lower.endswith("ed") and len(lower) > 3 and lower not in _IN_ED
    return regular or lower in IRREGULAR or _PREFIX.sub("", lower) in IRREGULAR


def base(word: str) -> str:
    """The base form of an irregular past tense; any other word unchanged."""
    return IRREGULAR.get(word, word)


def is_participle(word: str) -> bool:
    """Whether a word can follow "had": been, gone, sold, lived."""
    return word in ("been", "had", "done", "gone", "seen", "known", "grown") or is_past(word)


def third(verb: str) -> str:
    """The third person singular of a verb in the present tense.

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
