"""Word lists of our own: verbs of visible actions, and function words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from vmmetrics.utils.text.inflection import verb_forms


def word_set(text: str) -> frozenset[str]:
    """Return the set of words of a text.

    >>> sorted(word_set("to and fro"))
    ['and', 'fro', 'to']
    """
    return frozenset(text.split())


FUNCTION_WORDS: Final = word_set(
    """
    a about above after again against all am an and any are as at be because been before being below between both but by
    can did do does doing down during each few for from further had has have having he her here hers herself him himself
    his how i if in into is it its itself just me more most my myself no nor not now of off on once only or other our
    ours out over own same she should so some such than that the their theirs them themselves then there these they this
    those through to too under until up very was we were what when where which while who whom why will with you your
    """
)
"""Words ignored when texts are compared."""

VERBS: Final = word_set(
    """
    accelerate accept accompany acknowledge adjust admire advance aim alight align amble appear applaud apply approach
    arch argue arrange arrive ascend ask assemble assist attach attack attempt back balance bang bark bash bat bathe
    battle beat beckon begin bend bike bite blast bleed blend blink block bloom blow blush board bob boil bounce bow
    bowl box brace brake break breathe bring browse brush buckle build bump burn burst bury button call caress carry
    carve cast catch change chant charge chase chat check cheer chew chop circle clap clasp clean clear clench click
    climb cling clip close clutch coil collapse collect comb come comfort compete connect consume continue converse cook
    cough count cover crack crash crawl crease crochet cross crouch crumple crush cry curl curve cut cycle dance dangle
    dart dash deal decelerate defend deliver demonstrate depart deploy descend detach dial dig dip direct disappear
    disassemble discard dismantle dismount display dive dodge drag drain draw dress dribble drift drink drip drive drop
    drum dry duck dump dunk dust eat embrace emerge empty engage enjoy enter erase examine exchange exhale exit expand
    experience explain explode explore extend extract face fade fall fan fasten feed feel fetch fiddle fidget fight fill
    film fish fix flap flash flatten flee flex flick fling flip float flow flush flutter fly focus fold follow forage
    form frown fry gallop gather gaze gesture get giggle glance glide gnaw go grab grasp grate greet grill grin grind
    grip groom grow guide gulp hammer hand hang hide hit hoist hold hop hover hug hurl hurry ignite illuminate inflate
    inhale insert inspect install intend interact iron jab jerk jog join jostle juggle jump keep kick kiss knead kneel
    knit knock land laugh lay lead leaf lean leap learn leave let lick lie lift light listen load lock look loop loosen
    lower lunge make march massage measure melt merge mimic mix moan mount mouth move mow munch nap navigate nibble nod
    notice nudge nurse observe offer open operate orbit organize overlap overtake pace pack paddle paint pan pant park
    pass paste pat patrol pause peck pedal peek peel peer perch perform pet photograph pick pin pinch pitch pivot place
    plant play pluck plug plunge point poke polish pop pose position pounce pound pour practice press pretend proceed
    prod prop propel prune pry pull pump punch purse push put quiver race raise rally ramble reach react read realize
    rear rearrange reassemble recede recline reel reflect regard rehearse release remain remark remove repair repeat
    replace reposition rest restrain retract retreat retrieve return reveal reverse ride ring rinse rip rise roar rock
    roll rotate row rub rummage run rush sail salute sand saw say scamper scan scatter scold scoop scrape scratch scream
    screw scroll scrub scrunch seal search season seat secure see seize separate serve set sew shake share sharpen shave
    shift shine shiver shoot shout shovel show shower shrink shrug shuffle shut sigh sing sink sip sit skate sketch ski
    skid skip slam slap slash sleep slice slide slip slither slouch slow slump smash smear smell smile smoke smooth snap
    snatch sneeze sniff snuggle soar soothe sort spar speak speed spill spin spit splash splatter split spray spread
    spring sprinkle sprint squat squeeze squint squirm squish stab stack stagger stamp stand stare start stash steady
    steam steer step stick stir stitch stomp stop stow straddle straighten strain strap stretch stride strike stroke
    stroll struggle strum stumble submerge suck support surf surface surge surround swallow sway sweep swim swing swipe
    swish switch swivel swoop tackle take talk tap tape taste taxi tear tease tend text thrash thread throw thrust tick
    tickle tidy tie tighten tilt tip toss touch tow trace track trail transfer transform transition transport traverse
    tread tremble trim trip trot trudge try tuck tug tumble turn twirl twist type unbutton unfold unhook unload unlock
    unpack unplug unroll unscrew untangle untie unwrap unzip use usher vacuum vanish vault veer vibrate view wade wag
    wail wait wake walk wander wash watch water wave weave weigh weld whip whisk whisper whistle widen wield wiggle wink
    wipe withdraw wobble work wrap wrestle wring write yank yawn yell zip zoom
    """
)
"""Base forms of verbs of visible actions; states (be, have, wear, seem) are none."""

STATES: Final = word_set("be have wear seem appear feature contain belong need want like show display depict include")
"""Stative verbs; a clause with one is no action unless a participle follows."""

_NOUN_LIKE: Final = word_set("left saw ground found wound felt lit rose bit lay fell stuck shot set")
"""Past forms that are more often another word."""

FORMS: Final[Mapping[str, str]] = (
    {
        form: lemma
        for lemma in sorted(VERBS | STATES)
        for form in sorted(verb_forms(lemma), key=lambda form, lemma=lemma: form != lemma)  # type: ignore[misc]
        if form == lemma or form not in _NOUN_LIKE
    }
    | {lemma: lemma for lemma in sorted(VERBS)}
    | dict.fromkeys(("am", "are", "were", "been"), "be")
)
"""Base form of every verb form; a form that is a base maps to itself."""


def verb_lemma(word: str) -> str | None:
    """Return the base form of a listed verb, from any form; None for other words.

    >>> verb_lemma("Running"), verb_lemma("table")
    ('run', None)
    """
    return FORMS.get(word.lower())
