from __future__ import annotations

from dataclasses import replace

import pytest

from vmmetrics.prompts import checks
from vmmetrics.prompts.checks import CHECKS, faults
from vmmetrics.prompts.entry import PromptEntry, Tags

GOOD = PromptEntry(
    index="0001",
    prompt="A chestnut horse gathers itself, jumps a low stone wall and lands without touching it, then canters on.",
    subject="a chestnut horse",
    subject_noun="horse",
    place="meadow",
    action="jumping a wall",
    action_lemma="jump",
    pattern="biological motion",
    tags=Tags(),
)


def test_a_good_prompt_passes():
    assert faults(GOOD) == []
    assert faults(replace(GOOD, tags=None, subject_noun="", action_lemma="")) == []


@pytest.mark.parametrize(
    ("name", "prompt", "said"),
    [
        ("length", "A horse jumps a wall.", "5 words"),
        ("length", "A horse jumps " + "and jumps " * 20 + "again.", "44 words"),
        ("form", "a horse jumps a low wall and lands on the soft grass behind it.", "capital"),
        ("form", "A horse jumps a low wall and lands on the soft grass behind it", "full stop"),
        ("form", "A horse runs. It jumps a low wall. It lands on the soft grass.", "3 sentences"),
        ("plain text", "A horse jumps a low wall — it lands on the soft grass behind it.", "'—'"),
        ("plain text", "A **horse** jumps a low wall and lands on the soft grass behind.", "'*'"),
        ("articles", "An horse jumps a low wall and lands on the soft grass behind it.", "'a horse'"),
        ("repeats", "A horse jumps over the the low wall and lands on soft grass there.", "'the'"),
        ("one shot", "A horse jumps a wall. Hours later it lands on the soft grass again.", "Hours later"),
        ("one shot", "The scene changes to a meadow where a horse jumps a low stone wall.", "scene changes"),
        ("camera", "A tracking shot of a horse that jumps a low wall and lands on grass.", "tracking shot"),
        ("camera", "In slow motion, a horse jumps a low wall and lands on the soft grass.", "slow motion"),
        ("camera", "A horse jumps a low wall while the camera pans along beside it slowly.", "the camera"),
        ("padding", "A majestic horse jumps a low wall, creating a mesmerizing display there.", "majestic"),
        ("noun", "A grey pony jumps a low wall and lands on the soft grass behind it.", "'horse'"),
        ("verb", "A horse climbs a low wall and lands on the soft grass behind it.", "'jump'"),
    ],
)
def test_each_check_finds_its_fault_and_only_that(name, prompt, said):
    found = {check: reason for check, test in CHECKS.items() if (reason := test(replace(GOOD, prompt=prompt)))}
    assert set(found) == {name}
    assert said in found[name]


@pytest.mark.parametrize(
    "prompt",
    [
        "A photographer's shot put rolls off the window frame and the horse jumps clear of it, unhurt and calm.",
        "Horses jump, one after another, over a 2.5-metre ditch at the edge of a field without a stumble.",
        "The horse had had its oats; now it jumps the gate at J. Miller's yard and trots off down the lane.",
        "Jumping from bank to bank, an older horse clears the stream of a flooded meadow with room to spare.",
    ],
)
def test_what_only_looks_like_a_fault(prompt):
    assert faults(replace(GOOD, prompt=prompt)) == []


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"subject": "a grey pony"}, "'a grey pony' is not of 'horse'"),
        ({"action": "jumps a wall"}, "is not a phrase of 'jumping'"),
        ({"action": "leaping a wall"}, "is not a phrase of 'jumping'"),
    ],
)
def test_fields_must_agree_with_each_other(changed, said):
    (found,) = faults(replace(GOOD, **changed))
    assert said in found


def test_fields_that_are_not_known_are_not_held_against_an_entry():
    assert faults(replace(GOOD, action="", subject="")) == []


def test_an_action_may_have_two_verbs():
    assert faults(replace(GOOD, action="gathering itself, jumping a wall and landing")) == []


def test_a_camera_motion_that_is_asked_for_must_be_in_the_words():
    pan = replace(GOOD, tags=Tags(camera="pan"))
    assert faults(pan) == ["the requested camera motion is not mentioned: pan"]
    plain = replace(pan, prompt=GOOD.prompt.removesuffix(".") + " as the camera pans along with it.")
    assert faults(plain) == []
    jargon = replace(pan, prompt=GOOD.prompt.removesuffix(".") + " in a cinematic close-up from the camera.")
    assert "camera jargon" in faults(jargon)[0]


@pytest.mark.parametrize(
    ("text", "noun", "kept"),
    [
        ("Three fire trucks back out.", "fire truck", True),
        ("A truck backs out.", "fire truck", True),  # its head will do
        ("Firetruckers wave.", "truck", False),
        ("Two wolves howl.", "wolf", True),
        ("A flock turns.", "flock of starlings", True),
        ("A carthorse pulls.", "horse", False),
    ],
)
def test_the_noun_is_a_word_of_its_own(text, noun, kept):
    assert (checks.missing_noun(text, noun) is None) is kept


def test_an_irregular_plural_may_be_given():
    assert checks.missing_noun("Dice tumble.", "cube", "dice") is None


@pytest.mark.parametrize("text", ["It spun.", "Spinning, it falls.", "It spins."])
def test_a_verb_counts_in_every_form(text):
    assert checks.missing_verb(text, "spin") is None
    assert checks.missing_verb(text.replace("sp", "p").replace("Sp", "P"), "spin") is not None
