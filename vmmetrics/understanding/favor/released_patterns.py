"""What FAVOR-Bench's released first step looks for in sentences, beside the words of its lists."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from vmmetrics.understanding.benchmarks.favor.lexicon import word_set

_I: Final = re.IGNORECASE
_REST: Final = r"\s+([^.,;:]+)"
"""What follows, up to a mark."""


def _camera() -> Iterator[str]:
    """Beginnings of camera motions, in the order in which they are looked for: that is the order they come out in."""
    lead = "[Tt]he camera "
    slow, keeps, seems = "(?:slowly|quickly|gradually)", "(?:remains|stays)", "(?:is|appears to be)"
    for verb in ("then pans", "shifts", "follows", "pans", "then shifts"):
        yield lead + verb
    yield "[Tt]he scene transitions"
    for verb in (slow, "moves", keeps, seems, "continues", "zooms", "tracks"):
        yield lead + verb
    yield "[Aa] (?:tracking|panning|zoom|dolly) shot"
    for verb in ("transitions", "changes"):
        yield f"[Tt]he (?:shot|frame|video|scene) {verb}"
    yield "[Tt]he (?:focus|angle|perspective) shifts"
    for verb in ("video starts with", "video begins with", "video shows", "scene begins with", "scene starts with"):
        yield f"[Tt]he {verb}"
    yield "[Cc]amera (?:then )?cuts to"
    yield from ("[Tt]he static shot", "[Ss]tationary shot", "[Ss]tatic (?:shot|camera)", "[Cc]apturing the.*from")
    yield from ("[Oo]verhead (?:shot|view)", "[Ff]irst-person perspective")
    bare = r"(?:the\s+)?camera\s+"
    for forms in ("pan|pans|panned|panning", "zoom|zooms|zoomed|zooming", "follow|follows|followed|following",
                  "shift|shifts|shifted|shifting", "tilt|tilts|tilted|tilting", "track|tracks|tracked|tracking",
                  "shake|shakes|shook|shaking"):  # fmt: skip
        yield f"{bare}(?:{forms})"
    yield bare + r"(?:remain|remains|remained|keep|keeps|kept)\s+(?:static|stationary|fixed|steady)"
    yield bare + "(?:move|moves|moved|moving)"
    yield bare + r"(?:is|was)\s+(?:positioned|placed|located)"
    for forms in ("capture|captures|captured|capturing", "focus|focuses|focused|focusing"):
        yield f"{bare}(?:{forms})"
    for kinds in ("static|stationary|moving|panning|tracking|zoom", "close-up|medium|wide|aerial|overhead"):
        yield rf"(?:a|the)\s+(?:{kinds})\s+shot"
    yield from ("[Tt]he scene (?:remains|stays) static", "[Tt]he scene (?:is|appears) static")
    yield from ("stationary (?:throughout|camera)", "no significant camera movement", "no camera movement")
    yield from ("steady camera", "stable camera", "fixed camera")


def _all(*patterns: str, flags: int = _I) -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(pattern, flags) for pattern in patterns)


CAMERA: Final = _all(*_camera(), flags=0)
CAMERA_ENDS: Final = _all(
    r"\b(?:a|the)\s+(?:man|woman|person|boy|girl)", r"\b(?:he|she|they)\b", r"\b(?:showing|displaying|revealing)\b",
    r"\b(?:as|while)\b",
)  # fmt: skip
DESCRIPTIVE: Final = _all(
    r"^(?:is|are|was|were)\s+(?:visible|present|shown|displayed)", r"^(?:seems|seemed|appears|appeared)\s+to\s+be",
    r"^(?:looks|looked)\s+(?:like|similar)", r"^(?:suggesting|indicating|showing|depicting)", r"^can\s+be\s+seen",
    r"^(?:wearing|carrying|holding)\b", r"^(?:stands|standing|seated|sitting|lying)\s+in\s", "(?:appears|seems) to be",
)  # fmt: skip
IS: Final = re.compile(r"^(?:is|are|was|were)\s+(\w+)")
SCENE: Final = _all(
    r"^the\s+(?:scene|background|setting|video|clip|room|area|space|environment)\s+",
    r"^in\s+the\s+(?:background|foreground|scene|setting)\s+", r"\b(?:appears|looks\s+like)\b",
    r"\b(?:suggesting|indicating|depicting)\b",
)  # fmt: skip
SOMEBODY: Final = re.compile(r"\b(?:the|an?)\s+(?:\w+\s+)*(?:man|woman|person|boy|girl|child|player|individual)", _I)
PASSIVE: Final = _all(
    r"(?:is|was|are|were)\s+\w+e[dn]", r"(?:is|was)\s+being\s+\w+ed", r"(?:has|have|had)\s+been\s+\w+ed"
)
STATES: Final = tuple(
    (re.compile(pattern, _I), said)
    for pattern, said in (
        (rf"expression\s+changes?\s+from{_REST}\s+to{_REST}", "expression changes from {} to {}"),
        (rf"expression\s+changes?\s+to{_REST}", "expression changes to {}"),
        (rf"(?:indicating|suggesting)\s+(?:he|she|they)\s+is{_REST}", "is {}"),
        (rf"appears\s+to\s+be{_REST}", "appears to be {}"), (rf"seems\s+to\s+be{_REST}", "seems to be {}"),
        (rf"continues\s+to{_REST}", "continues to {}"), (rf"remains{_REST}", "remains {}"),
        (rf"reacting\s+to{_REST}", "reacting to {}"), (rf"responding\s+to{_REST}", "responding to {}"),
        (rf"engaged\s+with{_REST}", "engaged with {}"),
        (rf"looks?\s+(?:at|towards|to){_REST}\s+with\s+interest", "looks at {} with interest"),
    )
)  # fmt: skip
"""States and reactions, and how they are written down."""
PRONOUN_STATES: Final = _all(
    r"(?:expression|face|mood|emotion)\s+(?:changes|changed)", rf"appears\s+to\s+be{_REST}", rf"seems\s+to\s+be{_REST}",
    rf"looks\s+(?:at|to|towards){_REST}\s+with\s+interest", rf"engaged\s+with{_REST}",
)  # fmt: skip
_SEEN: Final = (
    "searching through|searching for|looking through|looking for|walks to|walking to|runs to|running to|moves to|"
    "moving to|looks (?:at|to|towards)|looking (?:at|to|towards)|bends down *|picks up|puts (?:down|away|on|in)|"
    "reacting to|speaking (?:to|with)|ensures|adjusts|handles|examines|interacts with|gestures (?:to|towards|at)|"
    "engaged in|reaches (?:for|out to|towards)|hands over|passes|continues to"
)
ACTIONS: Final = _all(
    *(
        rf"{part.removesuffix(' *')}\s+[^.,;:]{'*' if part.endswith(' *') else '+'}".replace(" ", r"\s+", 1)
        for part in re.split(r"\|(?![^(]*\))", _SEEN)
    )
)
"""Actions that are taken first, whatever else there is."""
INDICATORS: Final = tuple(
    (word, re.compile(rf"\b{word}{to}{_REST}", _I))
    for words, to in (
        ("ensures moves adjusts observes watches", ""),
        ("continues begins starts tries attempts", r"\s+to"),
    )
    for word in words.split()
)
ASSURING: Final = _all(
    r"\bensuring\s+[^.,;:]+", r"\badjusting\s+[^.,;:]+", r"\bmaking\s+sure\s+[^.,;:]+", r"\bensures\s+that\s+[^.,;:]+",
    r"\bensures\s+the\s+[^.,;:]+",
)  # fmt: skip
ADVERB_ING: Final = re.compile(r"\b(\w+ly\s+\w+ing[^.,;:]*)")
CLEAR_VERBS: Final = word_set(
    """
    walk run jump pick grab take put place throw push pull lift turn twist open close hold shake wave point raise lower
    enter exit stand sit move serve toss hit strike swing prepare position adjust touch reach carry bring approach step
    pass deliver focus concentrate aim play perform dance spin bend stretch lean bite eat drink sip swallow search
    interact
    """
)
ATTRIBUTE_ACTIONS: Final = re.compile(
    r"\b(?:walks|runs|jumps|sits|stands|moves|turns|looks|stares|gazes|speaks|talks|says|reaches|grabs|takes|puts|"
    r"places|throws|gestures|smiles|frowns|laughs|cries)\b"
)
ATTRIBUTE_ING: Final = word_set(
    "walking running jumping sitting standing looking speaking talking reaching grabbing taking putting placing "
    "gesturing smiling frowning laughing crying"
)
ATTRIBUTES: Final = tuple(
    (re.compile(pattern, _I), lead)
    for pattern, lead in (
        (r"wearing\s+([^.,;:?!]+)", "wearing "), (r"dressed\s+in\s+([^.,;:?!]+)", "dressed in "),
        (r"holding\s+([^.,;:?!]+)", "holding "), (r"carrying\s+([^.,;:?!]+)", "carrying "),
        (r"with\s+([^.,;:?!]+)", "with "),
        (r"in\s+([^.,;:?!]+(?:shirt|dress|jacket|uniform|clothing|clothes|outfit))", "in "),
        (r"in\s+([^.,;:?!]+)", "in "),
        (r",\s+([^.,;:?!]*(?:wearing|dressed|holding|carrying|with)[^.,;:?!]*)", ""),
    )
)  # fmt: skip
MARKERS: Final = _all(
    *(
        rf"^\s*\b{marker}\b\s+"
        for marker in ("with", "in", "wearing", "holding", "carrying", r"who\s+is", r"dressed\s+in", "having",
                       r"clad\s+in", r"equipped\s+with", "featuring", "displaying")
    ),
    flags=0,
)  # fmt: skip
CONNECTORS: Final = _all(*(rf"\b{word}\b" for word in ("and", "while", "then", "as", "but", "or")))
SCENE_PHRASES: Final = (
    "video sequence begins with", "video shows", "video begins with", "the scene shows", "in the scene", "in the video",
    "in the frame", "appears to be", "what appears to be",
)  # fmt: skip
_COMPOUNDS: Final = {
    "cutting": "board", "serving": "plate dish tray spoon size style method motion technique position line",
    "cooking": "pot pan utensil oil spray water wine show class lesson skill technique time temperature",
    "baking": "dish sheet pan powder", "rolling": "pin", "shopping": "cart bag basket", "running": "water track shoes",
    "drinking": "water", "bottled": "water", "sparkling": "water", "cleaning": "solution agent", "packing": "material",
    "wrapping": "paper", "writing": "paper", "dining": "room table area chair", "living": "room area space",
    "waiting": "room", "meeting": "room point", "dressing": "room", "training": "session ground", "opening": "ceremony",
    "closing": "ceremony", "sporting": "event", "swimming": "pool suit", "diving": "board", "starting": "position line",
    "ending": "position", "turning": "point mechanism", "breaking": "point", "resting": "place", "operating": "system",
    "finishing": "line", "measuring": "device", "counting": "machine", "playing": "field court", "scoring": "position",
    "bowling": "alley", "racing": "track", "jumping": "obstacle", "putting": "green", "shooting": "range",
    "batting": "cage",
}  # fmt: skip
COMPOUNDS: Final = tuple(f"{first} {word}" for first, words in _COMPOUNDS.items() for word in words.split())
NOMINAL: Final = _all(
    r"\b(?:the|a|an|this|that|these|those|my|your|his|her|their|our)\s+(\w+ing)\s+(\w+)\b",
    r"\b(?:on|in|at|by|with|from|to|through|about|after|before)\s+(?:the\s+)?(\w+ing)\b",
    r"\b(?:his|her|their|its|one's)\s+(\w+ing)\b",
    r"\b(\w+ing)\s+(?:room|table|board|surface|line|position|style|technique|machine|device|system|method|process|"
    r"approach)\b",
    flags=0,
)
PROGRESSIVE: Final = re.compile(r"\b(?:is|was)\s+\w+ing\b")
PROCESSES: Final = re.compile(
    r"\b(?:the|a|an|this|that|some|any|all)\s+(?:cook|bak|fry|boil|wash|clean|swimm|runn|jump|serv|rid|play|train|"
    r"learn|teach|writ|read|speak|work|travel|study|think|comput|measur)ing\b"
)
