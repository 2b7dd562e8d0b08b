"""Safety check of prompts: a lexicon of our own that minds the sense of words.

It finds plain words for sex, gore, self-harm, hate, terror, drugs and cruelty, and violence done *to someone* ("stabs
a guard", "is shot"), while "shoots a basketball", "kills the engine" and "breast stroke" pass. Weapons and blood by
themselves, and possible sport or nature, are noted for a person to review.

Limits: English only, words without meanings. It misses innuendo, misspellings, code words, real persons, private
details, trade marks, and harm in harmless words. It is a cheap first check before a model's verdict and people's
review, and no substitute for either.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from itertools import takewhile
from typing import Final

from vmmetrics.utils.text.inflection import ing_form, plural, third_person, verb_forms
from vmmetrics.utils.text.words import words_of


def _either(parts: Iterable[str]) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w'-])(?:{'|'.join(parts)})(?![\w'-])")


def _with_plurals(nouns: str) -> frozenset[str]:
    return frozenset(form for noun in nouns.split() for form in (noun, plural(noun)))


def _forms(verbs: Iterable[str], grave: bool) -> dict[tuple[str, str], bool]:
    split = [verb.partition(" ") for verb in verbs]
    return {(form, particle): grave for verb, _, particle in split for form in verb_forms(verb)}


# Words of the safety check: what is never wanted, what is harmless in certain company, and who can be a victim.
#
# Parts of regular expressions, in small letters, without word boundaries. Slurs stand as hashes, so that nobody has to
# read them here.

_HARMLESS: Final = _either((
    # shooting and killing without a victim
    r"shooting stars?", r"shot[- ]?put(?:s|ters?|ting)?", r"shot glass(?:es)?", r"killer whales?", r"bullet trains?",
    r"kill(?:s|ed|ing)? (?:the|its|his|her|their) (?:engines?|motors?|lights?|power|ignition|throttle|speed|time)",
    r"kill switch(?:es)?", r"killing time", r"dead(?: |-)?(?:lift\w*|calm|ends?|heat|cent(?:er|re)|stop|weight|wood"
    r"|lea(?:f|ves)|trees?|branch(?:es)?|grass|ball|drop|sea|straight|level|still|ringer|bolts?|reckoning|slow)",
    # tools and toys named after weapons
    r"(?:nail|glue|heat|spray|water|staple|grease|caulk(?:ing)?|squirt|toy|massage|tattoo|air|rivet|paint|foam|hot-air"
    r"|sealant|confetti|t-shirt|bubble|price|radar|speed|silicone|soldering|tagging|nerf|laser|upholstery|blow|snow"
    r"|laser[- ]tag|starter's|starting|start|cap|light|mortar) (?:guns?|pistols?)",
    r"gun ?metal", r"gun dogs?", r"gunwales?",
    r"starter(?:'s)? (?:fires|raises|lowers)[^.]{0,20}? (?:gun|pistol)", r"bath bombs?", r"(?:seed|cherry) bombs?",
    r"(?:dive|belly|photo|water)[- ]?bomb\w*", r"bomb cyclones?", r"(?:smoke|flour) bombs?", r"bomb shelters?",
    r"(?:aerial|biplane|mock|jet) dog ?fights?",
    # bodies of animals, plants, food and minerals
    r"corpse (?:flowers?|plants?)", r"paper guillotines?", r"smoking pots?",
    r"blood(?: |-)(?:oranges?|moons?|red|worms?|hounds?|pressure|cells?|vessels?|donors?|donations?|lilies|lily|stone)",
    r"bleeding[- ]hearts?",
    r"bleed(?:s|ing)? (?:the |air |off |out of )*(?:air|brakes?|brake lines?|radiators?|valves?)",
    r"breast ?strok\w*", r"breast[- ]?(?:plates?|pockets?|bones?|feathers?)", r"(?:chicken|turkey|duck) breasts?",
    r"naked (?:eyes?|flames?|mole[- ]rats?|branch(?:es)?|trees?|twigs?|bulbs?|rock|lady|stems?)",
    r"nude (?:lipstick|colou?r\w*|shade|tone)",
    r"(?:rape|rape-?seed)(?= (?:fields?|blossoms?|flowers?|oil|seeds?|plants?))",
    r"(?:fields?|crops?|rows?) of (?:\w+ )?rape", r"(?:wire|paint|cable|varnish|bark|wallpaper) strippers?",
))  # fmt: skip
"""Harmless phrases, removed before the search."""

NEVER: Final[Mapping[str, re.Pattern[str]]] = {
    "sexual": _either((
        r"porn\w*", r"erotic\w*", r"nudes?", r"nudity", r"nakedness", r"orgasm\w*", r"masturbat\w*",
        r"genital\w*", r"penis(?:es)?", r"vagina\w*", r"(?:have|has|having) sex",
        r"topless (?:[\w-]+ )?(?:wom[ae]n|girls?|dancers?|models?|sunbath\w*)",
        r"(?:stark|half-|completely|fully) ?naked",
        r"naked (?:[\w-]+ ){0,2}?(?:m[ae]n|wom[ae]n|girls?|boys?|child(?:ren)?|people|persons?|bod(?:y|ies)|couples?"
        r"|dancers?|swimmers?|models?|figures?|torsos?)",
        r"(?:he|she|they|m[ae]n|wom[ae]n|girls?|boys?|people|couples?|dancers?|swimmers?) (?:[\w-]+ )?naked",
        r"sex (?:acts?|scenes?|toys?|workers?)", r"sexual\w*", r"sexy", r"sexily", r"making love", r"fetish\w*",
        r"bdsm", r"hentai", r"nsfw", r"strippers?", r"strip ?teas\w*", r"strip clubs?", r"prostitut\w*",
        r"(?:her|woman's|bare|naked|exposed) breasts?",
        r"boobs?", r"(?:his|erect) cock", r"(?:her|his|bare|big|naked) ass", r"molest\w*", r"rap(?:e|es|ed|ing|ists?)",
    )),
    "gore": _either((
        r"gore", r"gory", r"corpses?",
        r"(?:decapitated|beheaded|dismembered|mutilated|disembowelled) (?:[\w-]+ )?(?:bod(?:y|ies)|m[ae]n|wom[ae]n)",
        r"severed (?:heads?|limbs?|arms?|hands?|legs?|fingers?|foot|feet)", r"entrails",
        r"(?:pool|pools|trail) of blood", r"blood(?:ied|y|-soaked|-stained|bath|shed)",
        r"blood (?:\w+ )?(?:pour|gush|spurt|spatter|splatter|drip|spray|ooz|run)\w*",
        r"(?:bullet|stab|gunshot|knife|gaping|open|bleeding|fatal|mortal) wounds?",
        r"dead (?:bod(?:y|ies)|m[ae]n|wom[ae]n|child(?:ren)?|soldiers?|girl|boy|person|people|baby|dogs?|cats?)",
        r"bleed(?:s|ing)? (?:to death|from (?:his|her|their))",
    )),
    "self-harm": _either((
        r"suicid\w*", r"self-harm\w*", r"slit(?:s|ting)? (?:his|her|their|its) (?:own )?(?:wrists?|throats?)",
        r"(?:cut|cuts|cutting) (?:his|her|their) (?:own )?wrists?",
        r"(?:jump|leap|fall|plunge)\w* to (?:his|her|their) deaths?",
    )),
    "hate": _either((
        r"nazis?", r"neo-nazis?", r"swastikas?", r"ku klux klan", r"kkk", r"white (?:power|suprema\w+)",
        r"ethnic cleansing",
        r"genocid\w*", r"lynch(?:es|ed|ing|ings|mob)?", r"hitler", r"racial slurs?", r"blackface",
    )),
    "violence": _either((
        r"(?:m[ae]n|wom[ae]n|child(?:ren)?|people|person) (?:is|are|was|were) set (?:on fire|alight|ablaze)",
        r"throats? (?:is |was )?(?:cut|slit|slashed)", r"(?:is|are|was|were|being) (?:[\w-]+ )?hanged",
    )),
    "terror and massacre": _either((
        r"terroris(?:ts?|m)", r"hostages?", r"massacr\w*", r"(?:mass|school) shoot\w*",
        r"(?:car|suicide|pipe|nail) bomb\w*",
        r"(?:firing|death) squads?", r"executioners?", r"torture chambers?",
    )),
    "drugs": _either((
        r"cocaine", r"heroin", r"meth(?:amphetamine)?s?", r"fentanyl", r"lsd", r"crack (?:pipes?|cocaine)",
        r"snort(?:s|ing)? (?:a line|lines|powder|coke)", r"inject(?:s|ing)? (?:drugs?|himself|herself)",
        r"smok(?:e|es|ing) (?:weed|crack|marijuana|cannabis|a joint|a bong|opium)", r"smokes? pot",
    )),
    "cruelty to animals": _either((r"cock ?fight\w*", r"dog[- ]?fighting", r"bear[- ]baiting")),
}  # fmt: skip
"""Patterns by kind that always drop a prompt."""

LOOK: Final[Mapping[str, re.Pattern[str]]] = {
    "weapon": _either((
        r"guns?", r"pistols?", r"rifles?", r"revolvers?", r"handguns?", r"shotguns?", r"machine[- ]guns?", r"grenades?",
        r"bombs?", r"missiles?", r"machetes?", r"snipers?", r"gunfire", r"gunmen|gunman", r"ammunition", r"landmines?",
    )),
    "sexual": _either((r"lingerie", r"seductive\w*", r"undress\w*", r"(?:her|deep|ample) cleavage", r"provocative\w*")),
    "gore": _either((r"blood", r"mutilat\w*", r"carcass(?:es)?", r"wounded")),
    "cruelty to animals": _either((r"bull ?fight\w*", r"dogfights?", r"in a dog fight")),
    "nakedness": _either((r"naked",)),
    "killing": _either((r"nooses?", r"guillotin\w*", r"beheading\w*", r"decapitation\w*")),
}  # fmt: skip
"""Patterns by kind that may be harmless and are noted for a person to review."""

GRAVE: Final = (
    "shoot", "stab", "kill", "murder", "strangle", "torture", "slaughter", "impale", "drown", "poison", "suffocate",
    "smother", "execute", "hang", "burn", "electrocute", "slash", "crucify", "assault", "kidnap", "run over",
    "decapitate", "behead", "dismember", "disembowel", "mutilate", "shoot at", "fire at",
)  # fmt: skip
"""Verbs that are unsafe when done to someone."""
ROUGH: Final = (
    "punch", "kick", "beat", "slap", "whip", "choke", "attack", "hit", "crush", "maul", "trample", "bite", "tackle",
    "run down", "strike", "butcher", "gut", "skin",
)  # fmt: skip
"""Verbs that may be sport, play or nature when done to someone; noted for a person to review."""
_NEED_ARMS: Final = _forms(("aim at", "point at"), grave=True)
"""Verbs that are unsafe when done to someone with a weapon."""
_PLAYED: Final = frozenset[str]().union(*map(verb_forms, ("shoot", "aim", "point", "fire")))
"""Unsafe verbs that are harmless in the context of sport and pictures."""
_HURT: Final = ("kill", "hang", "shoot", "stab", "drown", "poison", "strangle", "slash")
_TO_ONESELF: Final = frozenset[str]().union(*map(verb_forms, _HURT))
"""Verbs that are self-harm when done to oneself; "cut" and "burn" may be accidents."""

_PERSONS: Final = _with_plurals(
    "man woman person human child kid baby toddler boy girl teenager teen victim soldier prisoner hostage crowd "
    "policeman officer student teacher pedestrian civilian passerby passer-by stranger enemy protester opponent "
    "neighbour neighbor wife husband mother father brother sister friend guard thief intruder worker driver him them "
    "someone somebody police"
)
"""Nouns for persons."""
_ANIMALS: Final = _with_plurals(
    "dog puppy cat kitten horse foal deer cow cattle bull calf pig lamb sheep goat rabbit elephant lion bear wolf fox "
    "monkey bird duck goose animal whale seal zebra antelope gazelle mouse rat donkey camel"
)
_MINORS: Final = _with_plurals(
    "child kid baby toddler boy girl teen teenager schoolgirl schoolboy minor adolescent infant underage teenage"
)
_SPORT: Final = _with_plurals(
    "basketball football soccer ball puck hoop goal goalkeeper goalie ring boxer boxing karate karateka judo judoka "
    "wrestler wrestling fencer fencing sparring taekwondo martial rugby glove dojo mat pillow snowball photo "
    "photograph portrait cameraman tripod film video camera photographer paintball arcade tag tennis badminton chess "
    "race hockey lacrosse water-polo padded"
)
"""Words of sport, play and pictures, in whose context people are shot at, hit or tackled harmlessly."""

_TOYS: Final = _either((
    r"(?:water|squirt|toy|nerf|laser[- ]tag|confetti|bubble|foam) (?:guns?|pistols?|blasters?)", r"garden hoses?",
))  # fmt: skip
"""Toy weapons, as regular expressions; their context is harmless too."""

SLURS: Final = words_of(
    "120f6e5b4ea32f65 08a841e996781e9e c3de533e9b7fe63b 8f5083e3e5c7dc89 16ea09fc78ca83ca eef3bd091670c344 "
    "22fc75e65a0e9d34 cc02032349c833ac 3b1e0d7c5dd45583"
)
"""SHA-256 of slurs in the singular, shortened to 16 digits."""


VIOLENCE: Final = "violence"


@dataclass(frozen=True, slots=True)
class SafetyFinding:
    """An unsafe or doubtful wording in a prompt.

    Attributes:
        kind: Of what ("gore").
        words: Where it was found, in small letters.
        certain: True if it drops the prompt; otherwise a person should review it.
    """

    kind: str
    words: str
    certain: bool


def find_unsafe(text: str) -> list[SafetyFinding]:
    """Return all findings in a text, certain ones first, each wording once.

    >>> find_unsafe("A player shoots a basketball past two men.")
    []
    >>> find_unsafe("A man in black shoots a fleeing guard.")
    [SafetyFinding(kind='violence', words='shoots a fleeing guard', certain=True)]
    """
    lowered = " ".join(text.lower().replace("’", "'").split())
    masked = _HARMLESS.sub(lambda match: " ".join("~" * match[0].count(" ")) + "~", lowered)
    tokens = _TOKEN.findall(masked)
    findings = [
        *(SafetyFinding(kind, match[0], True) for kind, words in NEVER.items() for match in words.finditer(masked)),
        *(
            SafetyFinding("hate", "a slur", True)
            for token in tokens
            for form in (token, token.removesuffix("s"))
            if sha256(form.encode()).hexdigest()[:16] in SLURS
        ),
        *_violence(tokens, playing=not _SPORT.isdisjoint(tokens) or _TOYS.search(lowered) is not None),
        *(SafetyFinding(kind, match[0], False) for kind, words in LOOK.items() for match in words.finditer(masked)),
    ]
    if any(finding.kind == "sexual" for finding in findings) and _MINORS.intersection(tokens):
        findings.insert(0, SafetyFinding("sexual, with a minor", "sexual words beside those for a minor", True))
    return sorted(dict.fromkeys(findings), key=lambda finding: not finding.certain)


def _violence(tokens: list[str], playing: bool) -> Iterator[SafetyFinding]:
    armed = any(LOOK["weapon"].fullmatch(token) for token in tokens)
    for index, token in enumerate(tokens):
        rest = tokens[index + 1 : index + 1 + _LONGEST_AIM + _LONGEST_PHRASE]
        if token in _TO_ONESELF and rest and rest[0] in _ONESELF and not _BENEFIT.intersection(rest[1:2]):
            yield SafetyFinding("self-harm", f"{token} {rest[0]}", True)
        for (form, particle), grave in _VERBS.items():
            if token != form:
                continue
            behind = _behind(rest, particle, armed, (token, particle) in _NEED_ARMS)[:_LONGEST_PHRASE]
            words = list(takewhile(lambda token: token not in _BREAKS and token[0].isalnum(), behind))
            if _head_of(words) in _VICTIMS and not (playing and (not grave or token in _PLAYED)):
                shown = " ".join([token, *([particle] if particle else []), *words])
                yield SafetyFinding(VIOLENCE, shown, grave and _head_of(words) in _PERSONS)
        if token in _SUFFERED and not (playing and (not _SUFFERED[token] or token in _PLAYED)):
            before = [word for word in tokens[max(0, index - _LONGEST_PHRASE) : index] if not word.endswith("ly")]
            subject = next((word for word in reversed(before) if word not in _PASSIVE), "")
            if subject in _VICTIMS and before[-1] in _PASSIVE:
                yield SafetyFinding(VIOLENCE, f"{subject} … {token}", _SUFFERED[token] and subject in _PERSONS)
    for match in _WEAPON_AT_BODY.finditer(" ".join(tokens)):
        yield SafetyFinding(VIOLENCE, match[0], True)


def _behind(rest: list[str], particle: str, armed: bool, needs_arms: bool) -> list[str]:
    """Return the words after a verb and its particle, which a weapon may separate: "shoots a gun at him"."""
    if not particle:
        return rest
    near = rest[:_LONGEST_AIM] if armed and particle == "at" else rest[:1]
    if particle not in near or (needs_arms and not armed):
        return []
    return rest[near.index(particle) + 1 :]


def _head_of(words: list[str]) -> str:
    """Return the head noun of an object, its last word except adverbs; a pronoun only if it stands alone."""
    head = next((word for word in reversed(words) if not word.endswith("ly")), "")
    return head if head not in _PRONOUNS or words[0] == head else ""


def _participles(verbs: Iterable[str], grave: bool) -> dict[str, bool]:
    """Return the possible participles of verbs: all forms except -s and -ing."""
    single = [verb for verb in verbs if " " not in verb]
    return {form: grave for verb in single for form in verb_forms(verb) - {ing_form(verb), third_person(verb)}}


_TOKEN = re.compile(r"[\w~]+(?:['-][\w~]+)*|[^\w\s]")
_WEAPON_AT_BODY = re.compile(
    r"\b(?:knife|dagger|machete|gun|pistol|rifle|razor) (?:to|at|against|into|through) (?:[\w']+ ){0,2}?"
    r"(?:throat|neck|head|temple|face|back|stomach)\b"
)
_VERBS = {**_forms(ROUGH, grave=False), **_forms(GRAVE, grave=True), **_NEED_ARMS}
_SUFFERED = {**_participles(ROUGH, grave=False), **_participles(GRAVE, grave=True)}
_ONESELF = words_of("himself herself themselves themself oneself")
_PRONOUNS = words_of("him them someone somebody")
_BENEFIT = words_of("a an some another two free loose upside out into through over off up onto")
"""Words that follow an action done for oneself, not to oneself: "cuts himself a slice"."""
_VICTIMS = _PERSONS | _ANIMALS
_PASSIVE = words_of("is are was were gets get being been lies lie")
_BREAKS = words_of(
    "up out off down past over across into onto toward towards through from with for to in on around away at of near "
    "beside behind between above below under along against and or but while as when before after like until then that "
    "who which is are"
)
"""Words that end a verb's object."""
_LONGEST_AIM = 5
"""Most words from a verb to its "at" with a weapon between them."""
_LONGEST_PHRASE = 6
"""Most words of an object: article, number, three adjectives, noun."""
