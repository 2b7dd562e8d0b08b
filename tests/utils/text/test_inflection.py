from __future__ import annotations

import importlib.util

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vmmetrics.utils.text import inflection
from vmmetrics.utils.text.inflection import article, ing_form, participle, past, plural, third_person, verb_forms

# by hand, from a dictionary
PLURALS = """
heron/herons fox/foxes bus/buses church/churches brush/brushes stomach/stomachs butterfly/butterflies donkey/donkeys
wolf/wolves knife/knives roof/roofs reef/reefs cliff/cliffs giraffe/giraffes volcano/volcanoes piano/pianos photo/photos
flamingo/flamingos zoo/zoos kangaroo/kangaroos child/children snowman/snowmen firewoman/firewomen human/humans ox/oxen
foot/feet goose/geese mongoose/mongooses mouse/mice dormouse/dormice sheep/sheep salmon/salmon jellyfish/jellyfish
aircraft/aircraft octopus/octopuses cactus/cacti larva/larvae quarry/quarries axe/axes lens/lenses waltz/waltzes
werewolf/werewolves grandchild/grandchildren leaf/leaves cloverleaf/cloverleaves
"""
PHRASES = {
    "fire truck": "fire trucks",
    "flock of geese": "flocks of geese",
    "passer-by": "passers-by",
    "tea pourer": "tea pourers",
    "pot of tea": "pots of tea",
    "snow leopard": "snow leopards",
    "hunting knife": "hunting knives",
}
VERBS = """
pour/pours/pouring/poured splash/splashes/splashing/splashed carry/carries/carrying/carried
sway/sways/swaying/swayed fly/flies/flying/flew lie/lies/lying/lay tie/ties/tying/tied go/goes/going/went
echo/echoes/echoing/echoed hop/hops/hopping/hopped hope/hopes/hoping/hoped run/runs/running/ran
swim/swims/swimming/swam whip/whips/whipping/whipped squat/squats/squatting/squatted quit/quits/quitting/quitted
open/opens/opening/opened visit/visits/visiting/visited begin/begins/beginning/began
propel/propels/propelling/propelled travel/travels/travelling/travelled peel/peels/peeling/peeled
coil/coils/coiling/coiled unfurl/unfurls/unfurling/unfurled snow/snows/snowing/snowed row/rows/rowing/rowed
fix/fixes/fixing/fixed buzz/buzzes/buzzing/buzzed flee/flees/fleeing/fled hoe/hoes/hoeing/hoed dye/dyes/dyeing/dyed
singe/singes/singeing/singed mimic/mimics/mimicking/mimicked panic/panics/panicking/panicked arc/arcs/arcing/arced
sync/syncs/syncing/synced swing/swings/swinging/swung spin/spins/spinning/spun freeze/freezes/freezing/froze
shake/shakes/shaking/shook throw/throws/throwing/threw spread/spreads/spreading/spread
ricochet/ricochets/ricocheting/ricocheted gallop/gallops/galloping/galloped trot/trots/trotting/trotted
zigzag/zigzags/zigzagging/zigzagged somersault/somersaults/somersaulting/somersaulted
pirouette/pirouettes/pirouetting/pirouetted sidestep/sidesteps/sidestepping/sidestepped
unzip/unzips/unzipping/unzipped refuel/refuels/refuelling/refuelled
"""
ARTICLES = """
a:horse a:unicycle a:uniformed a:one-legged a:European a:ewe a:used a:U-shaped a:useful a:hawk a:yellow a:9-metre
a:utility a:ukulele an:owl an:hour an:heirloom an:umbrella an:uncoiled an:unlit an:uninhabited an:unimpressed
an:18-wheeler an:8-legged an:11-storey an:ice an:L-shaped an:X-ray an:S-bend an:orange an:undulating an:upright
"""


@pytest.mark.parametrize("pair", PLURALS.split())
def test_plurals(pair):
    noun, expected = pair.split("/")
    assert plural(noun) == expected


def test_plurals_of_names_of_several_words():
    assert {noun: plural(noun) for noun in PHRASES} == PHRASES


@pytest.mark.parametrize("forms", VERBS.split())
def test_verbs(forms):
    lemma, third, ing, before = forms.split("/")
    assert (third_person(lemma), ing_form(lemma), past(lemma)) == (third, ing, before)
    assert {lemma, third, ing, before} <= verb_forms(lemma)


@pytest.mark.parametrize("item", ARTICLES.split())
def test_articles(item):
    expected, word = item.split(":")
    assert article(f"{word} thing") == expected


def test_participles():
    found = [participle(lemma) for lemma in ("throw", "swim", "roll", "carry", "shear")]
    assert found == ["thrown", "swum", "rolled", "carried", "shorn"]


def test_both_spellings_of_a_doubled_l_are_forms():
    assert {"travelling", "traveling", "travelled", "traveled"} <= verb_forms("travel")


@given(st.text(alphabet="abcdefghijklmnopqrstuvwxyz", min_size=2, max_size=12))
def test_any_word_has_forms_that_begin_as_it_does(word):
    for form in (plural(word), third_person(word), ing_form(word)):
        assert form.isalpha() and len(form) >= 2
    assert third_person(word).endswith("s")
    assert ing_form(word).endswith("ing")
    assert word in verb_forms(word)


DIFFERENT = {"get", "knit", "lean", "lie", "light", "ski", "smell", "sting"}
"""Where lemminflect knows one of two forms (got, knitted, leaned), or has a wrong one (lied for lain, ski'd, sting)."""


@pytest.mark.skipif(importlib.util.find_spec("lemminflect") is None, reason="needs lemminflect")
def test_against_lemminflect():
    from lemminflect import getInflection

    from vmmetrics.utils.text import words

    lemmas = {verb for verb in words.VERBS if "-" not in verb} | set(inflection._IRREGULAR) | set(inflection._DOUBLING)
    wrong = []
    for lemma in sorted(lemmas - DIFFERENT):
        for tag, form in (("VBZ", third_person), ("VBG", ing_form), ("VBD", past), ("VBN", participle)):
            allowed = getInflection(lemma, tag, inflect_oov=False)
            if allowed and form(lemma) not in allowed:
                wrong.append((lemma, tag, form(lemma), allowed))
    assert wrong == []
