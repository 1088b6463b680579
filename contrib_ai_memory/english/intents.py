"""Intents: recognise lines that memory cannot answer, such as who is here or what time it is.

Greetings and partings too, and small talk by its form. Rules on whole short clauses: in doubt a
line has no intent, and what it asks is looked for in memory. Case and punctuation at the ends are
ignored.
"""

from __future__ import annotations

import re

from ..language import Intent
from .questions import asks, sentences_of

READ = 160  # characters; whoever writes more has more to say than this


_WHAT = r"(?:what|wat|whit|wot)"
_BE = r"(?:['’]?s|['’]?re| is| are| was| were)"
_WHEN = (
    r"(?:yesterday(?: (?:morning|afternoon|evening|night))?|today|tonight|earlier|before(?: me)?"
    r"|lately|recently|last (?:night|week|time)|since (?:i left|yesterday|this morning|last night)"
    r"|(?:while|when) i(?: was|['’]?ve been) (?:away|gone|out|off|asleep)"
    r"|this (?:morning|afternoon|evening|week)|(?:on )?(?:mon|tues|wednes|thurs|fri|satur|sun)day)"
)
_HERE = (
    r"(?:here|in here|in (?:the|this) (?:room|place|house)|in|around|about|by|there"
    r"|with (?:us|you|me))"
)
_WORD_LEFT = r"(?:messages?|word|letters?|notes?)"
_TALE = r"(?:\w+ )?(?:stor(?:y|ies)|tales?|jokes?|songs?|poems?|riddles?)"

# the first that fits a whole line decides
_PATTERNS: tuple[tuple[Intent, str], ...] = (
    (
        Intent.WELLBEING,
        r"(?:and )?how(?:(?:['’]?s| is) (?:it goin['’g]?|life|things|tricks|business|trade"
        r"|everything|(?:the|your|ur) (?:day|night|evening|morning))"
        r"| (?:are|r) (?:you|ye|u|things)| (?:do|have) (?:you|u) (?:fare|been)| goes it"
        r"| fares? (?:you|thou))(?: .{0,20})?"
        r"|did (?:you|u|ye) sleep (?:well|ok|good|alright)"
        rf"|{_WHAT}(?:['’]?s| is) up(?: with (?:you|u))?|(?:are|r) (?:you|u|ye) (?:well|ok|okay)",
    ),
    (
        Intent.NAME,
        r"(?:and )?(?:who (?:(?:are|r) (?:you|u|ye)|(?:might|would) (?:you|u|ye) be)"
        rf"(?: again| then)?|{_WHAT}{_BE} (?:your|ur|yer)"
        rf" name(?: again)?|{_WHAT} (?:do|should|may) (?:i|they|we|people) call (?:you|u|ye)"
        r"|(?:tell me|say) your name)",
    ),
    (
        Intent.ROLE,
        rf"{_WHAT} (?:do|are) (?:you|u|ye)(?: do)?(?: (?:a?round )?here| for a living| then)?"
        rf"|{_WHAT}{_BE} (?:your|ur|yer) (?:job|trade|work|craft|role|business|calling"
        r"|line of work)(?: here| then)?"
        r"|(?:tell me|say something|talk) (?:about|of) yourself"
        rf"|{_WHAT} (?:sort|kind|manner) of (?:person|man|woman|one) (?:are|r) (?:you|u|ye)"
        r"|(?:and |so )?(?:you(?:['’]?d| would|['’]?ll| must) be|you['’]?re)\W* the"
        r" (?:(?:inn|bar|shop|gate|tavern)[ -]?keep(?:er)?|keeper|bar(?:man|maid)|land(?:lord|lady)"
        r"|owner|host(?:ess)?|smith|blacksmith|guard|captain|healer|priest|cook|baker|miller|boss"
        r"|merchant|trader|librarian|clerk)(?: (?:here|then|of this place))?",
    ),
    (
        Intent.PLACE,
        r"(?:and )?where (?:are|r) (?:we|you|u)(?: now)?|where am i(?: now)?"
        rf"|(?:remind me,? )?(?:{_WHAT}|which) (?:place|room|town|village|inn|tavern|street)"
        r" (?:am i|are we) in"
        rf"|{_WHAT}{_BE} (?:this|that) (?:place|room|house|street)(?: called)?"
        rf"|(?:{_WHAT}|which) (?:place|room|town|village|inn|tavern|street) is (?:this|that)",
    ),
    (
        Intent.TIME,
        rf"{_WHAT}(?:['’]?s| is) the (?:time|hour|date|day)(?: now| today| please)?"
        rf"|(?:{_WHAT}|which) (?:time|hour|day|date)(?: of the week)? (?:is it|is this|do we have"
        r"|are we)(?: now| today)?"
        r"|is (?:it|today)(?: still| already)? (?:mon|tues|wednes|thurs|fri|satur|sun)day"
        r"(?: already| today| yet)?"
        r"|(?:do you have|have you got) the time"
        r"|is it (?:so )?(?:late|early|morning|evening|night|noon|midnight)(?: already| yet)?",
    ),
    (
        Intent.PRESENT,
        rf"who(?: else|['’]?s| is| all| else is| all is|(?: all)? are)* (?:also )?{_HERE}"
        r"(?: (?:now|right now|with us|at the moment|tonight))?|are we alone(?: here)?"
        rf"|(?:is )?any(?:one|body) else {_HERE}"
        rf"|is it (?:just|only) (?:us|you and me|.{{2,30}} and (?:me|i)) {_HERE}"
        r"|who(?:m)? am i (?:sitting|drinking|standing|talking|speaking|stuck) (?:here )?with",
    ),
    (
        Intent.VISITORS,
        rf"who(?: else| all)?(?: was| were| came| has been|['’]?s been| dropped| stopped| popped"
        r"| visited)+"
        rf"(?: {_HERE})*(?: {_WHEN})?"
        rf"|(?:did|has|was) any(?:one|body) (?:come|been|came|call|visit|drop|here|in)(?: {_HERE})*"
        rf"(?: {_WHEN})?",
    ),
    (
        Intent.LAST_SEEN,
        r"(?:is|['’]s) (?P<still>(?!(?:any|some|every)(?:one|body)?\b|there\b)[\w-]+(?: [\w-]+)??)"
        r" (?:still )?(?:here|in here|around|about)"
        r"|(?:was|were) (?P<present>(?!(?:any|some|every)(?:one|body)?\b|there\b)[\w-]+"
        rf"(?: [\w-]+)??) {_HERE} {_WHEN}"
        r"|when did (?P<left>[\w-]+(?: [\w-]+)?) (?:leave|go|head off|go off)(?: here| just now)?"
        r"|(?:when|(?:on )?(?:what|which) day) was (?P<oneself>i)"
        r" (?:last|here|in)(?: (?:in )?(?:here|in|around))?(?: last)?"
        r"|(?:where|which way)(?: did| has| is|['’]?s) (?P<gone>.{2,40}?)"
        r" (?:go|gone|went|head(?:ed)?|off to"
        r"|got to|get to|run off)(?: to| off)*(?: now| just now)?"
        r"|(?:when|where) (?:did (?:you|u|ye) (?:last )?see|was)"
        r" (?!.*\b(?:found|born|headed|going|buried|hidden|when|that)\b)(?P<whom>.{2,40}?)"
        r"(?: last)?(?: (?:here|in|around|about|by|round|seen))?(?: last)?"
        r"|have (?:you|u|ye) seen (?!me\b|us\b)(?P<seen>.{2,40}?)(?: around| lately| today| yet)?"
        r"|how long (?:ago (?:did|has|was) (?P<ago>[\w-]+(?: [\w-]+)??)"
        r" (?:go|gone|leave|left|here|in)"
        r"|has (?P<since>[\w-]+(?: [\w-]+)??) been gone)(?: here)?"
        rf"|when(?:['’]?s| is| was) the last time (?P<last>.{{2,40}}?) (?:was|came|called|stopped)"
        rf"(?: {_HERE})*"
        rf"|(?:has|was|did) (?P<been>.{{2,40}}?) (?:been|come|came|drop(?:ped)?|stop(?:ped)?)"
        rf" {_HERE}(?: {_WHEN})?",
    ),
    (
        Intent.KNOWN,
        r"(?:(?:do|did|have|will|would) )?(?:(?:you|u|ye) )?(?:still |even )?"
        r"(?:remember(?:ed)?|recogni[sz]e|know|miss(?:ed)?) (?:me|who i am)"
        r"(?: (?:at all|still|then|again))?",
    ),
    (
        Intent.SECRECY,
        r"(?:can|could|will|would) (?:you|u|ye) keep (?:an? |my |our )?secrets?(?: for me)?",
    ),
    (
        Intent.TALE,
        r"(?:(?:please|hey|so|and|then|can|could|would|will|you|u),? )*"
        r"(?:(?:tell|sing|read|play)(?: (?:me|us))? (?:an?|another|your|some|one)"
        rf" {_TALE}\b.{{0,30}}"
        r"|(?:do |have )?(?:you |u )?(?:know|got|have|heard) (?:an?|any|some|another)"
        rf" {_TALE}(?: (?:to tell|for (?:me|us)|left|tonight))?)",
    ),
    (
        Intent.OPINION,
        rf"{_WHAT} (?:(?:do|did) (?:you|u|ye)|d['’]?(?:you|ya|ye)) (?:think|make|reckon)"
        r" (?:of|to|about) (?P<whom>.{2,40})"
        rf"|{_WHAT}(?:['’]?s| is) (?:your|ur|yer) opinion (?:of|on|about) (?P<opinion>.{{2,40}})"
        rf"|{_WHAT}(?:['’]?s| is) (?P<like>(?!it\b|that\b|this\b|the\b|your\b|life\b)[\w-]+) like"
        r"|(?:is|['’]s) (?P<sort>[\w-]+) (?:an? )?(?:really |quite )?(?:decent|good|nice|honest|bad"
        r"|kind|trustworthy|reliable|dangerous)(?: (?:man|woman|fellow|fella|person|people|lad|lass"
        r"|sort|bloke|soul|one|egg))?(?:,? (?:d['’]?you|do you|you) (?:reckon|think))?"
        r"|(?:can|should|could) (?:i|we) trust (?P<trusted>.{2,40})"
        r"|(?:do|can) (?:you|u|ye) (?:like|trust|hate|love|know)"
        r" (?!(?:if|whether|what|who|whose|where|when|why|how|my|the)\b)(?P<liked>.{2,40})"
        r"|are we (?:friends|good|still friends)|how do you feel about (?P<felt>.{2,40})",
    ),
    (
        Intent.TALK,
        rf"{_WHAT} (?:did|have|were) (?:we|you and i) (?:been )?(?:talk|talked|talking|spoke|speak"
        r"|spoken|chat|chatted|chatting|discuss|discussed|discussing|say)(?: about| of)?"
        rf"(?: {_WHEN})?"
        rf"|{_WHAT} (?:did|have) i (?:tell|told|said to|say to) (?:you|u|ye) {_WHEN}"
        r"|where (?:did we leave|were we)(?: off)?|remind me (?:of|about) our (?:talk|last talk)",
    ),
    (
        Intent.NEWS,
        r"(?:(?:have you |you |you got |you heard |heard |got |is there )?"
        r"any(?:thing)? (?:news|gossip|rumou?rs|new|interesting)"
        rf"|{_WHAT}(?:['’]?s| is) (?:the |all the )?"
        r"(?:news|new|gossip|latest|word|going on|happening|the talk)|heard anything"
        rf"|{_WHAT} (?:did|have) i miss(?:ed)?(?: while i was (?:away|gone))?)"
        rf"(?: (?:{_HERE}|round here|in town|then|with you|today|tonight|lately|recently))*"
        r"|(?:tell me (?:something(?: (?:new|interesting))?|(?:the|some|your) (?:news|gossip)))",
    ),
    (
        Intent.MESSAGES,
        r"(?:(?:have |is there |have you |you )?(?:got )?)?anything (?:here )?for me(?: today)?|"
        rf"(?:(?:have|do) (?:you|u|ye) (?:have |got )?|(?:are|is) there |(?:you )?got )?"
        rf"(?:any|an?|some) {_WORD_LEFT}(?: left)? for me(?: (?:from|by) .{{2,40}})?"
        r"|any messages?"
        r"|(?:did|has) .{2,40}? (?:leave|left) (?:me|us|behind) "
        rf"(?:anything|something|owt|summat|(?:any|an?|some) {_WORD_LEFT})"
        rf"|(?:(?:(?:did|has) )?any(?:one|body)|(?:did|has) .{{2,40}}?) (?:leave|left)"
        rf"(?: me(?: any| an?| some)? {_WORD_LEFT}"
        rf"|(?: any| an?| some)? {_WORD_LEFT}(?: (?:for me|with (?:you|u|ye)))+)",
    ),
    (
        Intent.TELLER,
        r"(?:and )?(?:who (?:told|tells) (?:you|u|ye)(?: (?:that|this|it|so))?|(?:who )?says who"
        r"|who (?:said|says) (?:that|this|it|so)|how (?:do|would|did) (?:you|u|ye) (?:know|hear)"
        r"(?: (?:that|this|it))?|who did (?:you|u|ye) (?:hear|get|have) (?:that|this|it) from)",
    ),
    (
        Intent.WHISPERED,
        rf"{_WHAT} (?:did|has|does) (?P<whispered>.{{2,40}}?) (?:whisper(?:ed)?|confided?)"
        r"(?: (?:to|in) (?:you|u|ye|your ear))?(?: .{0,30})?",
    ),
    (
        Intent.GIVEN,
        rf"{_WHAT} (?:did|have|has|was it(?: that)?)"
        r" (?:i|(?!(?:he|she|they|we|it|you|u|ye|ya|that|this|no|any|every|some)"
        r"(?:body|one|thing)?\b)"
        r"(?P<giver>[\w'’-]+)) (?:just |ever |last )?"
        r"(?:give|gave|given|hand(?:ed)?|pass(?:ed)?|slip(?:ped)?|bring|brought)"
        rf" (?:to )?(?:you|u|ye)(?: (?:just now|before|{_WHEN}))?",
    ),
    (Intent.ONESELF, r"(?:and )?who am i(?: again| to (?:you|u|ye)| then)?"),
    (
        Intent.SURE,
        r"(?:(?:are|r) )?(?:you|u|ye) (?:quite |really |absolutely |so |very )?"
        r"(?:sure|certain|positive)(?: (?:about|of) (?:that|it|this))?",
    ),
    (
        Intent.SERVICE,
        r"(?:(?:please|hey|so|and|then),? )?"
        r"(?:(?:can|could|may|might) (?:i|we) (?:please )?(?:have|get|order|buy|rent|borrow|try)"
        r" (?:an?|some|the|another|one|two|three|more|something|anything)\b.{0,60}"
        r"|i(?:['’]?ll have|['’]d like| would like|['’]?ll take)"
        r" (?:an?|some|the|another|one|two|three)\b.{0,60}"
        r"|(?:can|could|would|will) (?:you|u|ya|ye) (?:please )?(?:lend|spare) (?:me|us)"
        r" (?:an?|some|one|two) (?!ear\b|hand\b|moment\b|minute\b|thought\b|word\b|smile\b).{1,60}"
        r"|(?:give|bring|pour|get|fetch|sell|hand|pass) (?:me|us)"
        r" (?:an?|some|the|another|one|two) (?!(?:\w+ )?(?:lowdown|skinny|headlines|tunes?"
        r"|shant(?:y|ies)|yarns?|songs?|story|tales?|hint|clue|moment|minute|break|hand|chance|time"
        r"|reason|news|gossip|truth|date|day)\b).{1,60}"
        r"|(?:have you |you |do you have |have you got |you got )?(?:got )?any"
        r" (?!news|word|idea|plans?|secrets?|family|kin|children|friends|questions?|thing|one|body"
        r"|(?:\w+ )?(?:rumou?rs?|gossip|scandal)\b|tidings|info\b|sign\b|other\b|messages?\b"
        r"|more to)"
        r"[\w'’]+(?: [\w'’]+){0,2}(?: left| tonight| today| please)?"
        r"|(?:an?|some|another|one|two|three) .{2,40},? (?:please|pls|plz)"
        r"|(?:an?|one|two|three|another|one more|the next)"
        r" (?:rounds?|pints?|mugs?|cups?|bowls?|bottles?|ales?|beers?|ciders?|meads?)\b.{0,30})",
    ),
)
_COMPILED = tuple(
    (intent, re.compile(rf"(?:{pattern})", re.IGNORECASE)) for intent, pattern in _PATTERNS
)
_GREETS = re.compile(
    r"^\W*(?:h?[aeu]llo+|hi+(?:ya)?|hey+[ao]?|wotcha|alright(?=,|\W*$)"
    r"|yo|ey ?up|hail|howdy|greetings|well met|evenin['’]?g?"
    r"|mornin['’]?g?|good (?:morning|day|evening|afternoon|morrow)|salut\w*|welcome back)\b",
    re.IGNORECASE,
)
_GREETED_FIRST = re.compile(rf"{_GREETS.pattern}(?: [\w'’-]+){{0,2}}[.!,]+\s+(?=\w)", re.IGNORECASE)
_PARTS = re.compile(
    r"\b(?:(?<!said )(?<!says )(?:good ?)?bye+|farewell|good ?night"
    r"|(?:(?<!\w )|(?<=night ))ni(?:ght|te)(?=(?: then| all| folks)?(?: x+)?\W*$)"
    r"|(?:see|c|cu) ?(?:you|ya|u)|cya|cu"
    r"|laters?(?=\W*$)|ttyl|brb|g[2t]g|(?:got to|gotta|have to|must) (?:go|run|dash)"
    r"|(?:sleep tight|ta[ -]ra|ta[ -]ta)(?=\W*$)|(?<!\w )cheerio"
    r"|(?:(?<!\w )|(?<=right )|(?<=ok ))i(?:['’]?m| am)"
    r" (?:(?:away|off) (?:home|to (?:my )?bed)"
    r"|off(?=\W*$|[\s,.!]+(?:ta|thanks?|thx|cheers|bye|see|good|night|then|all)\b))"
    r"|until (?:next time|tomorrow)|i(?:['’]ll| will| must| have to|['’]ve got to| should)?"
    r" (?:be going|be off|get going|take my leave|go now)|so long|safe (?:travels|journey)"
    r"|take care)\b",
    re.IGNORECASE,
)
_THANKS = re.compile(
    r"\b(?:(?<!says )(?<!said )(?:thanks?|thank you)"
    r"(?! to (?!you\b|u\b|ye\b|all\b|everyone\b)\w)|thx|cheers|much obliged|ta)\b",
    re.IGNORECASE,
)
_REQUESTS = re.compile(
    r"\b(?:please|pls|plz|(?:could|can|may|might|would|will|do|have) (?:i|you|u|ye) (?!not\b)"
    r"|i(?:[’']?ll have|[’']?d like| would like| want| need)|give me|gimme"
    r"|(?:is|are) there|any)\b",
    re.IGNORECASE,
)
# with a question mark alone: "slept well?", "busy night?"
_HOW_WAS_IT = re.compile(
    r"(?:(?:are )?(?:you|u|ye) )?(?:alright|all right|ok|okay)"
    r"|sle(?:ep|pt) (?:well|ok|good|alright)"
    r"|(?:had a |a )?(?:busy|quiet|long|slow) (?:day|night|evening|morning"
    r"|week)",
    re.IGNORECASE,
)
# around a question: "and where am I exactly, if I may ask?"
_BEFORE = re.compile(
    r"^(?:(?:and|so|but|well|now|oh|er|um|excuse me|pardon(?: me)?|sorry|please|say|also|then"
    r"|tell me|i(?:['’]m| am) back)\b[,.!: ]+)+",
    re.IGNORECASE,
)
_BEHIND = re.compile(
    r"(?:[,.]? (?:if (?:i|you|u) (?:may|might|can|do not|don['’]?t)(?: (?:ask|tell|say|mind))?"
    r"(?: (?:me )?asking)?|may i ask|exactly|precisely|please|pls"
    r"|(?:do (?:you|u|ye)|d['’]?(?:you|ya|ye)) (?:know|recall|remember|reckon)"
    r"|by the way|btw|anyway|right now|love|luv)|, (?:my )?(?:dear|friend|mate|pal))+$",
    re.IGNORECASE,
)
_OF_ONESELF = re.compile(r"\s*i(?:['’]?m|['’]?ve)?\b", re.IGNORECASE)  # "…, i'm all turned round"
_DRESSING = " \t\n.,!?;:…\"'”’()-–—~*"


def intent_of(text: str) -> tuple[Intent, str] | None:
    """Return the intent of a line and whom it names, "" for nobody; None without an intent.

    Args:
        text: A line without the name of whom it is addressed to.

    >>> intent_of("who else is here?")
    (<Intent.PRESENT: 'who is here'>, '')
    >>> intent_of("Have you seen Old Tom lately?")
    (<Intent.LAST_SEEN: 'when somebody was last here'>, 'Old Tom')
    """
    line = _GREETED_FIRST.sub("", text).strip(_DRESSING)[:READ]
    only = [each for each in sentences_of(line) if asks(each)]
    for said in (line, *(only if len(only) == 1 else ())):
        plain = said.strip(_DRESSING)
        if " " in (shorter := _BEHIND.sub("", plain)):
            plain = shorter
        if "?" in text and _HOW_WAS_IT.fullmatch(plain):
            return Intent.WELLBEING, ""
        bare = (plain, _BEFORE.sub("", plain), _GREETS.sub("", plain).lstrip(_DRESSING))
        if found := next(filter(None, map(_intent_of, bare)), None):
            return found
    clause, _, rest = line.partition(",")
    found = _intent_of(clause) if _OF_ONESELF.match(rest) else None
    return found if found and found[0] in (Intent.PLACE, Intent.TIME) else None


def without_greeting(text: str) -> str:
    """Return a line without a greeting before what it wants: "evening! anyone about?"."""
    return _GREETED_FIRST.sub("", text)


def _intent_of(said: str) -> tuple[Intent, str] | None:
    for intent, pattern in _COMPILED:
        if found := pattern.fullmatch(said):
            return intent, next((whom for whom in found.groups() if whom), "").strip(_DRESSING)
    return None


_CHATTER = re.compile(
    r"\W*(?:lol|lmao|rofl|(?:ha)+h?|(?:he)+h?|h+m+|ok(?:ay)?|sure|nice|cool|wow|o+h+|ah+|right|indeed"
    r"|really|well|haha\w*|yes|no|nope|yeah|yep|aye|nay)(?:[\s,.!?]+(?:lol|ok(?:ay)?|then|sure|right))?"
    r"\W*",
    re.IGNORECASE,
)


def is_chatter(text: str) -> bool:
    """Return whether a line says nothing: a laugh, "ok", "hm"."""
    return _CHATTER.fullmatch(text) is not None


def courtesy_of(text: str) -> Intent | None:
    """Return whether a line greets, thanks or parts; what else it says does not count."""
    if _PARTS.search(text):
        return Intent.PARTING
    if _THANKS.search(text):
        return Intent.THANKS
    return Intent.GREETING if _GREETS.search(text) else None


def requests(text: str) -> bool:
    """Return whether a line asks to be served or helped: "any sherry", "could you mend it".

    >>> [requests(said) for said in ("any sherry", "Soup, please.", "I sell horses.")]
    [True, True, False]
    """
    return bool(_REQUESTS.search(text))


# what is said about the NPC's own last words; the first that is found decides
_FORMS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (kind, re.compile(form, re.IGNORECASE))
    for kind, form in (
        (
            "misheard",
            r"^\W*(?:that|this)(?:['’]?s| is| was)(?: not|n['’]?t) what i"
            r" (?:asked|said|meant|wanted)|^\W*i did(?: not|n['’]?t) ask (?:that|about that)",
        ),
        (
            "dropped",
            r"^\W*(?:never ?mind|nm|nvm|forget it|it does(?:n['’]?t| not) matter)\W*$",
        ),
        (
            "no more",
            r"^\W*(?:(?:oh|aw+|ah) )?(?:go on|come on|pretty please|please|pls)"
            r"(?:[, ]+(?:then|please|pls|tell me))*\W*$",
        ),
    )
)


def small_talk_in(said: str) -> str:
    """Return the kind of phrase that answers a line about the NPC's own last words, "" for none.

    >>> [small_talk_in(said) for said in ("never mind", "that's not what I asked", "I sell eels")]
    ['dropped', 'misheard', '']
    """
    return next((kind for kind, form in _FORMS if form.search(said)), "")
