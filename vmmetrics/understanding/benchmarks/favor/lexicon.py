"""Small word lists of our own: verbs of what can be seen, and words that say nothing by themselves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from vmmetrics.utils.text.inflection import verb_forms


def word_set(text: str) -> frozenset[str]:
    """The words of a text.

    >>> sorted(word_set("to and fro"))
    ['and', 'fro', 'to']
    """
    return frozenset(text.split())


FUNCTION_WORDS: Final = word_set(
    """
    a about above after again against all am an and any are as at be because been before being below between
    both but by can did do does doing down during each few for from further had has have having he her here hers
    herself him himself his how i if in into is it its itself just me more most my myself no nor not now of off
    on once only or other our ours out over own same she should so some such than that the their theirs them
    themselves then there these they this those through to too under until up very was we were what when where
    which while who whom why will with you your
    """
)
"""Words that do not count when words are compared."""

VERBS: Final = word_set(
    """
    accelerate accompany acknowledge adjust admire advance aim alight align amble appear applaud apply approach
    arch argue arrange arrive ascend ask assemble assist attach attack attempt back balance bang bark bash bat
    bathe battle beat beckon begin bend bike bite blast bleed blend blink block blow board bob boil bounce bow
    bowl box brace brake break breathe bring browse brush buckle build bump burn burst bury button call caress
    carry carve cast catch change chant charge chase chat check cheer chew chop circle clap clasp clean clear
    clench click climb cling clip close clutch coil collapse collect comb come comfort compete connect consume
    continue cook cough count cover crack crash crawl crease cross crouch crumple crush cry curl curve cut cycle
    dance dangle dart dash deal decelerate defend deliver demonstrate depart deploy descend dig dip direct
    disappear discard dismount display dive dodge drag drain draw dress dribble drift drink drip drive drop drum
    dry duck dump dunk dust eat embrace emerge empty enter erase examine exchange exhale exit expand explain
    explode explore extend extract face fall fan fasten feed feel fetch fidget fight fill film fish fix flap
    flash flatten flee flex flick fling flip float flow flutter fly focus fold follow forage form frown fry
    gallop gather gaze gesture get giggle glance glide gnaw go grab grasp grate greet grin grind grip groom grow
    guide gulp hammer hand hang hide hit hoist hold hop hover hug hurl hurry ignite illuminate inflate inhale
    insert inspect interact iron jab jerk jog join juggle jump keep kick kiss knead kneel knit knock land laugh
    lay lead lean leap learn leave let lick lie lift light listen load lock look loosen lower lunge make march
    massage measure melt merge mimic mix moan mount mouth move mow navigate nibble nod nudge observe offer open
    operate orbit organize overlap overtake pace pack paddle paint pant park pass paste pat patrol pause peck
    pedal peek peel peer perch perform pet photograph pick pin pinch pitch pivot place plant play plug plunge
    point poke polish pop pose position pounce pound pour practice press pretend proceed propel prune pull pump
    punch purse push put race raise rally ramble read rear recede recline reel regard release remove repair
    repeat replace reposition rest restrain retract retreat retrieve return reverse ride ring rinse rip rise
    roar rock roll rotate row rub run rush sail salute sand saw say scamper scan scatter scoop scrape scratch
    scream screw scroll scrub seal search season seat see seize separate serve set sew shake share sharpen shave
    shift shine shoot shout shovel show shower shrink shrug shuffle shut sigh sing sink sip sit skate sketch ski
    skid skip slam slap slash sleep slice slide slip slither slow smash smear smell smile smoke smooth snap
    snatch sneeze sniff soar soothe sort spar speak speed spill spin spit splash splatter split spray spread
    spring sprinkle sprint squat squeeze squint stack stagger stamp stand stare start steady steam steer step
    stick stir stitch stomp stop straddle straighten strap stretch stride strike stroke stroll struggle strum
    stumble suck support surf surface surge surround swallow sway sweep swim swing swipe switch swivel swoop
    talk tap taste tear tease tend text thrash throw thrust tickle tie tighten tilt tip toss touch tow trail
    transfer transform traverse tread tremble trim trip trot trudge tuck tug tumble turn twirl twist type
    unbutton unfold unload unlock unpack unroll untie unwrap unzip use vacuum vanish vault veer vibrate view
    wade wag wait wake walk wander wash watch water wave weave weigh whip whisk whisper widen wiggle wink wipe
    withdraw wobble work wrap wrestle wring write yawn yell zip take bring cover secure unscrew blush bloom beat
    crochet dial dismantle disassemble detach fiddle flush grill inflate install kiss leaf loop munch nap nurse
    pedal place pluck prod prop quiver rearrange reassemble rehearse rummage scrunch skip slouch snuggle spread
    squish stab stash stretch tackle tape thread tick tidy trace transport unhook unplug unscrew untangle usher
    wail weld whistle wipe accept catch check climb converse drag engage enjoy experience hug intend jostle
    lower notice pan pedal pry react reach realize reflect remain remark reveal scold shiver slump squirm stow
    stare strain strum struggle submerge swish taxi trace track try wield yank zoom fade transition
    """
)
"""Base forms of what can be seen to be done. States (be, have, wear, seem) are no actions."""

STATES: Final = word_set(
    """
    be have wear seem appear feature contain belong need want like show display depict include
    """
)
"""Verbs that say how things are; with them a clause is no action, unless a participle follows."""

_NOUN_LIKE: Final = word_set("left saw ground found wound felt lit rose bit lay fell stuck shot set")
"""Forms that are more often something else than the verb's past."""

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
"""Every form to its base; a form that is a base itself is its own."""


def verb_lemma(word: str) -> str | None:
    """Base form of a known verb, of any of its forms; None for other words.

    >>> verb_lemma("Running"), verb_lemma("table")
    ('run', None)
    """
    return FORMS.get(word.lower())
