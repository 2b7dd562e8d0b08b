"""English inflection: plurals, verb forms, and the indefinite article.

Rules first, exceptions in short lists. The spelling is British where there is a choice (travelling); only what prompts
say of things that move has to be right, so rare and learned forms are left out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from vmmetrics.utils.text.words import words_of

_VOWELS = frozenset("aeiou")


_PLURALS: Mapping[str, str] = {
    "child": "children", "foot": "feet", "goose": "geese", "louse": "lice", "mouse": "mice", "muskox": "muskoxen",
    "ox": "oxen", "person": "people", "tooth": "teeth", "die": "dice", "cactus": "cacti", "fungus": "fungi",
    "nucleus": "nuclei", "larva": "larvae", "antenna": "antennae", "medusa": "medusae", "alga": "algae",
    "bacterium": "bacteria", "axis": "axes", "oasis": "oases", "thesis": "theses", "phenomenon": "phenomena",
    "passer-by": "passers-by", "passerby": "passersby", "quiz": "quizzes",
}  # fmt: skip
_REGULAR = words_of("stomach human german roman talisman caiman shaman ottoman monarch eunuch loch")
"""Nouns in -man and -ch that take an s."""
_UNCHANGED = words_of(
    "sheep deer moose bison elk reindeer swine salmon trout cod tuna squid plankton shrimp krill aircraft spacecraft "
    "hovercraft watercraft series species offspring livestock people police cattle scissors pliers tongs"
)
_TAILS: Mapping[str, str] = {
    "child": "children", "man": "men", "dormouse": "dormice", "fish": "fish",
    **{f"{word}f": f"{word}ves" for word in ("cal", "el", "hal", "hoo", "lea", "loa", "scar", "shea", "shel", "thie")},
    **{f"{word}fe": f"{word}ves" for word in ("kni", "li", "wi")}, "wolf": "wolves", "wharf": "wharves",
}  # fmt: skip
"""Ends of words that keep their own plural in compounds (snowman, werewolf, pocketknife, pufferfish)."""
_OES = words_of("buffalo dingo domino echo embargo hero mango mosquito potato tomato tornado torpedo volcano")

_IRREGULAR_VERBS = """
arise/arose/arisen bear/bore/borne beat/beat/beaten become/became/become begin/began/begun bend/bent/bent
bet/bet/bet bind/bound/bound bite/bit/bitten bleed/bled/bled blow/blew/blown break/broke/broken breed/bred/bred
bring/brought/brought build/built/built burst/burst/burst buy/bought/bought cast/cast/cast catch/caught/caught
choose/chose/chosen cling/clung/clung come/came/come creep/crept/crept cut/cut/cut dig/dug/dug dive/dived/dived
do/did/done draw/drew/drawn drink/drank/drunk drive/drove/driven eat/ate/eaten fall/fell/fallen feed/fed/fed
feel/felt/felt fight/fought/fought find/found/found flee/fled/fled fling/flung/flung fly/flew/flown
forget/forgot/forgotten freeze/froze/frozen get/got/got give/gave/given go/went/gone grind/ground/ground
grow/grew/grown hang/hung/hung have/had/had hear/heard/heard hide/hid/hidden hit/hit/hit hold/held/held
input/input/input keep/kept/kept kneel/knelt/knelt knit/knitted/knitted know/knew/known lay/laid/laid lead/led/led
leap/leapt/leapt leave/left/left lend/lent/lent let/let/let lie/lay/lain light/lit/lit lose/lost/lost make/made/made
meet/met/met offset/offset/offset outrun/outran/outrun overrun/overran/overrun overtake/overtook/overtaken
pay/paid/paid put/put/put read/read/read rebuild/rebuilt/rebuilt rerun/reran/rerun reset/reset/reset
ride/rode/ridden ring/rang/rung rise/rose/risen run/ran/run saw/sawed/sawn say/said/said see/saw/seen
seek/sought/sought sell/sold/sold send/sent/sent set/set/set sew/sewed/sewn shake/shook/shaken shear/sheared/shorn
shed/shed/shed shine/shone/shone shoot/shot/shot show/showed/shown shrink/shrank/shrunk shut/shut/shut
sing/sang/sung sink/sank/sunk sit/sat/sat slay/slew/slain sleep/slept/slept slide/slid/slid sling/slung/slung
slink/slunk/slunk slit/slit/slit sow/sowed/sown speak/spoke/spoken speed/sped/sped spin/spun/spun spit/spat/spat
split/split/split spread/spread/spread spring/sprang/sprung stand/stood/stood steal/stole/stolen stick/stuck/stuck
sting/stung/stung stride/strode/stridden strike/struck/struck string/strung/strung strive/strove/striven
sweep/swept/swept swell/swelled/swollen swim/swam/swum swing/swung/swung take/took/taken teach/taught/taught
tear/tore/torn tell/told/told think/thought/thought throw/threw/thrown thrust/thrust/thrust tread/trod/trodden
understand/understood/understood undo/undid/undone unwind/unwound/unwound upset/upset/upset wake/woke/woken
wear/wore/worn weave/wove/woven weep/wept/wept win/won/won wind/wound/wound wring/wrung/wrung write/wrote/written
"""
"""Base, past and participle."""
_IRREGULAR: Mapping[str, tuple[str, str]] = {
    base: (before, done) for base, before, done in (entry.split("/") for entry in _IRREGULAR_VERBS.split())
}
_THIRD: Mapping[str, str] = {"be": "is", "have": "has", "quiz": "quizzes"}
_ING: Mapping[str, str] = {
    "be": "being", "singe": "singeing", "tinge": "tingeing", "dye": "dyeing", "eye": "eyeing", "binge": "bingeing",
    "swinge": "swingeing", "quiz": "quizzing", "bus": "bussing",
}  # fmt: skip
_DOUBLING = words_of(
    "abut admit allot backflip begin commit compel concur confer control defer deter dispel emit equip excel expel "
    "forget format handicap impel incur infer input kidnap leapfrog occur offset omit outfit outrun outwit overlap "
    "overrun patrol permit prefer propel rappel rebel rebut recur refer refit regret remit repel rerun reset sidestep "
    "submit transfer transmit unclip unclog unfit unknot unpeg unpin unplug unsnap unstrap unwrap unzip upset worship "
    "zigzag"
)
"""Verbs of several syllables that double their last consonant: the stress lies on the last, or they are said as if."""
_NOT_DOUBLED_L = words_of("parallel appeal conceal congeal peel reveal")

_SOUND_A = re.compile(
    r"(?:uni(?!n|m(?!og)|d)|unanim|use|usu|usa|util|ut(?:e|o)p|ura|uro|uri|euro|eu|ewe|one\b|one-|once|ukulele|u-|ubiq)",
    re.I,
)
"""Words that begin with a vowel letter and a consonant sound."""
_SOUND_AN = re.compile(r"(?:hour|honest|honou?r|heir|8|11\b|11-|18\b|18-|[fhlmnrsx]-|mri\b|led\b|suv\b|x-)", re.I)
"""Words that begin with a consonant letter, or a digit, and a vowel sound."""


def plural(noun: str) -> str:
    """Return the plural of a noun; of a name of several words, that of its head.

    >>> [plural(noun) for noun in ("heron", "fox", "fire truck", "flock of geese", "butterfly", "wolf", "snowman")]
    ['herons', 'foxes', 'fire trucks', 'flocks of geese', 'butterflies', 'wolves', 'snowmen']
    """
    head, of, rest = noun.partition(" of ")
    before, space, last = head.rpartition(" ")
    return before + space + _plural_word(last) + of + rest


def _plural_word(word: str) -> str:
    if word in _UNCHANGED:
        return word
    if word in _REGULAR:
        return word + "s"
    if word in _PLURALS:
        return _PLURALS[word]
    tail = next((tail for tail in _TAILS if word.endswith(tail)), None)
    return word.removesuffix(tail) + _TAILS[tail] if tail is not None else _with_s(word, word in _OES)


def _with_s(word: str, hissing: bool) -> str:
    """Return the word with s: es after a hiss, or where it is written so, and ies for a y after a consonant."""
    if hissing or word.endswith(("s", "x", "z", "ch", "sh")):
        return word + "es"
    return word[:-1] + "ies" if _consonant_y(word) else word + "s"


def third_person(lemma: str) -> str:
    """Return the third person singular of the present.

    >>> [third_person(lemma) for lemma in ("pour", "splash", "carry", "go", "buzz", "sway")]
    ['pours', 'splashes', 'carries', 'goes', 'buzzes', 'sways']
    """
    return _THIRD.get(lemma) or _with_s(lemma, lemma.endswith("o") and lemma[-2:-1] not in _VOWELS)


def ing_form(lemma: str) -> str:
    """Return the present participle.

    >>> [ing_form(lemma) for lemma in ("pour", "glide", "spin", "lie", "flee", "picnic", "travel", "open", "squat")]
    ['pouring', 'gliding', 'spinning', 'lying', 'fleeing', 'picnicking', 'travelling', 'opening', 'squatting']
    """
    if lemma in _ING:
        return _ING[lemma]
    if lemma.endswith("ie"):
        return lemma[:-2] + "ying"
    if lemma.endswith("e") and not lemma.endswith(("ee", "oe", "ye")):
        return lemma[:-1] + "ing"
    return _lengthened(lemma) + "ing"


def past(lemma: str) -> str:
    """Return the past tense.

    >>> [past(lemma) for lemma in ("pour", "glide", "spin", "carry", "stop")]
    ['poured', 'glided', 'spun', 'carried', 'stopped']
    """
    return _IRREGULAR[lemma][0] if lemma in _IRREGULAR else _regular_past(lemma)


def participle(lemma: str) -> str:
    """Return the past participle.

    >>> participle("throw"), participle("roll")
    ('thrown', 'rolled')
    """
    return _IRREGULAR[lemma][1] if lemma in _IRREGULAR else _regular_past(lemma)


def verb_forms(lemma: str) -> frozenset[str]:
    """Return every form of a verb: base, -s, -ing, past and participle, with the other spelling of a doubled l.

    >>> sorted(verb_forms("spin"))
    ['spin', 'spinning', 'spins', 'spun']
    """
    forms = {lemma, third_person(lemma), ing_form(lemma), past(lemma), participle(lemma)}
    if lemma.endswith("l"):
        forms |= {lemma + "ing", lemma + "ed"}
    return frozenset(forms)


def article(phrase: str) -> str:
    """Return the indefinite article that a phrase takes, by the sound of its first word.

    >>> [article(phrase) for phrase in ("owl", "unicycle", "hourglass", "18-wheeler", "one-wheeled cart", "umbrella")]
    ['an', 'a', 'an', 'an', 'a', 'an']
    """
    word = phrase.lstrip()
    if _SOUND_AN.match(word):
        return "an"
    return "an" if word[:1].lower() in _VOWELS and not _SOUND_A.match(word) else "a"


def _regular_past(lemma: str) -> str:
    if lemma.endswith("e"):
        return lemma + "d"
    return lemma[:-1] + "ied" if _consonant_y(lemma) else _lengthened(lemma) + "ed"


def _consonant_y(word: str) -> bool:
    return word.endswith("y") and (word[-2:-1] not in _VOWELS or word.endswith("quy"))


def _lengthened(lemma: str) -> str:
    """Return the stem before -ing and -ed: its last consonant doubled (stop), a k added (mimic), or as it is (open)."""
    if lemma.endswith("c") and len(lemma) > 3 and lemma[-2] == "i":
        return lemma + "k"
    last = lemma.rpartition("-")[2]
    sounded = last.replace("qu", "q")  # the u of squat is no vowel of its own
    if last in ("fuel", "refuel"):
        return lemma + "l"
    closed = re.fullmatch(r".*[^aeiou]?[aeiouy][^aeiouwxy]", sounded) and not re.fullmatch(r".*[aeiou]{2}.", sounded)
    if not closed:
        return lemma
    syllables = len(re.findall(r"[aeiouy]+", sounded))
    if syllables == 1 or last in _DOUBLING or (last.endswith("l") and last not in _NOT_DOUBLED_L):
        return lemma + lemma[-1]
    return lemma
