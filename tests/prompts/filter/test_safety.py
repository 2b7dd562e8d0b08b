from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vmmetrics.prompts.filter.safety import find_unsafe

HARMLESS = """
A guard shoots a basketball from the corner and it drops through the hoop.
A striker shoots at the goalkeeper, who tips the ball over the bar.
Steam shoots past a man as the valve opens.
Green shoots push through black soil beside a sleeping dog.
A shooting star crosses the sky above two children.
A photographer shoots a portrait of a laughing girl.
A shot-putter launches the shot from the back of the circle.
The driver kills the engine and the boat glides to the jetty.
Killer whales herd fish against the surface.
A swimmer on her breast stroke lap breaks the surface.
A robin puffs its red breast on a snowy branch.
A cook slices a chicken breast into even strips.
A naked flame bends in the draught.
Naked mole-rats dig through sand.
A carpenter drives staples with a nail gun and wipes it with his glove.
Hot glue leaves the tip of a glue gun in a thread.
A starter fires the pistol and eight runners leave the blocks.
A blood moon rises over the dunes.
A mechanic bleeds the brakes and fluid pulses through the hose.
A cook beats two eggs until they foam.
A woman beats a rug on a line.
A blacksmith hits the glowing bar with a hammer.
A boxer punches a heavy bag.
Two boxers trade blows, and one punches his opponent on the glove.
A judoka throws her opponent over her hip onto the mat.
A cat attacks a ball of wool.
A cook whips cream in a copper bowl.
A farm hand whips the dust from a man's coat.
A father hangs his child's coat on a hook.
A trader hangs a lantern over the door.
A wick burns down and wax runs.
A machinist strips wire with wire strippers.
A bullet train leaves the tunnel.
Dead leaves whirl round a bench.
A weightlifter finishes a dead lift.
A rope is wound around the bollard.
A great tit pecks at a nut.
A rooster stretches its neck; the cock crows.
A joiner presses a joint together and clamps it.
A gardener pulls up a weed with its roots.
A boy does a cannonball into the pool.
Wind combs a field of yellow rape.
A skater executes a double axel.
Ice cracks under a sledge hammer.
A donkey, a grey ass with long ears, trots uphill.
A chef cuts himself a thick slice of bread.
A heron stabs at the shallows and lifts a fish.
A painter paints herself in a mirror.
A firefighter sprays foam on a burning hut.
A rugby player tackles his opponent at the line.
A girl shoots her friend with a water pistol across the garden pool.
A dog fights the waves and shakes itself on the beach.
Light falls through a chink in the barn wall.
A cat terrorises a ball of wool.
A strimmer decapitates daisies along the verge.
Blue dye bleeds from the wet cloth into the basin.
A smoking pot of stew is lifted off the fire.
A topless jeep bounces over the dunes.
A gymnast hangs himself upside down from the bar by his knees.
A stuntman shoots himself out of a cannon into a net.
A clerk trims posters with a paper guillotine.
A corpse flower opens its frill.
A crew shoots a woman on a horse with a camera on a crane.
A butcher hangs a string of sausages in the window.
Rapids toss a grape crate past a heroine in a canoe from Sussex.
A cannon fires at noon over the crowd.
A girl points at a boy and waves.
A porter hangs two coats hiding them behind a door.
A horse kicks up dust as two men lean on the fence.
A rocket lifts off and a bird crosses the frame.
""".strip().splitlines()

HARMFUL = {
    "A man in a mask shoots a fleeing guard in the back.": "violence",
    "A sniper with a rifle shoots at the soldiers on the bridge.": "violence",
    "She stabs her sleeping husband repeatedly.": "violence",
    "A photographer stabs a guard with a tripod.": "violence",
    "Two men are stabbed in an alley.": "violence",
    "A prisoner is brutally tortured in a cell.": "violence",
    "A young woman was shot beside the car.": "violence",
    "A robber aims a pistol at the cashier and holds a gun to her head.": "violence",
    "A lorry runs over a pedestrian on the crossing.": "violence",
    "A teenager hangs himself from a beam.": "self-harm",
    "A raider stabs him and leaves.": "violence",
    "A child shoots a gun at his sister.": "violence",
    "A man is set on fire.": "violence",
    "Soldiers fire at civilians from a roof.": "violence",
    "A swordsman decapitates a prisoner.": "violence",
    "A prisoner is hanged at dawn.": "violence",
    "A nude couple walks on the beach.": "sexual",
    "A naked woman dances.": "sexual",
    "A girl in a pornographic pose turns.": "sexual, with a minor",
    "A schoolgirl in lingerie turns.": "sexual, with a minor",
    "Blood pours from an open wound.": "gore",
    "A severed hand falls from the table.": "gore",
    "Dead bodies float down the river.": "gore",
    "Soldiers raise a swastika over the square.": "hate",
    "Masked terrorists lead hostages out.": "terror and massacre",
    "A man snorts cocaine from a mirror.": "drugs",
    "A crowd cheers at a cock fight.": "cruelty to animals",
}

LOOKED_AT = {
    "A hunter lowers his rifle and walks on.": "weapon",
    "Two biplanes turn in a dogfight.": "cruelty to animals",
    "A naked chick stretches in the nest.": "nakedness",
    "A cowboy swings a noose.": "killing",
    "A marksman points his rifle at a paper target.": "weapon",
    "A lion kills a zebra at the waterhole.": "violence",
    "A boy kicks his brother under the table.": "violence",
    "A sculptor crushes a man.": "violence",
    "A nurse holds a bag of blood to the light.": "gore",
}


@pytest.mark.parametrize("text", HARMLESS)
def test_words_in_harmless_senses_pass(text: str) -> None:
    assert find_unsafe(text) == []


@pytest.mark.parametrize("text", HARMFUL)
def test_harm_is_found(text: str) -> None:
    found = [finding.kind for finding in find_unsafe(text) if finding.certain]
    assert HARMFUL[text] in found


@pytest.mark.parametrize("text", LOOKED_AT)
def test_what_may_be_harmless_is_marked(text: str) -> None:
    found = find_unsafe(text)
    assert [(finding.kind, finding.certain) for finding in found] == [(LOOKED_AT[text], False)]


def test_case_and_spacing_do_not_matter() -> None:
    assert find_unsafe("A  MAN Shoots\nA Guard.") == find_unsafe("a man shoots a guard.")
    assert find_unsafe("A man shoots a guard.")[0].words == "shoots a guard"


def test_harmless_phrase_hides_nothing_beside_it() -> None:
    found = find_unsafe("A killer whale surfaces while a man stabs a guard.")
    assert [(f.kind, f.certain) for f in found] == [("violence", True)]


def test_slurs_are_known_without_being_written() -> None:
    slur = bytes.fromhex("6b696b65").decode()
    assert [f.kind for f in find_unsafe(f"Two {slur}s walk.")] == ["hate"]


@given(st.text(max_size=80))
def test_any_text_can_be_looked_at(text: str) -> None:
    found = find_unsafe(text)
    assert len(found) == len(set(found))
    assert [finding.certain for finding in found] == sorted((finding.certain for finding in found), reverse=True)
