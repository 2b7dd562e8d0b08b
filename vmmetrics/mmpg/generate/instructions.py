"""Our instructions for a language model that writes prompts, and for the second pass that looks over them."""

from __future__ import annotations

from collections.abc import Mapping

from vmmetrics.mmpg.checks import LONGEST, SHORTEST

VERSION = 1
"""Changes with any change of what is asked: other instructions are another run."""

WRITER = f"""You write prompts for models that turn text into video. Each prompt is used to find out whether a model \
can show one particular motion, so a viewer of the finished clip must be able to say whether that motion took place.

You are given what to combine: a subject, what it does, where, and what should be visible when it is done. Write \
several prompts for the one combination; let them differ in how the sentence is built, how it opens and which details \
it picks, not in what happens.

Every prompt
- has {SHORTEST} to {LONGEST} words in one or two sentences, in the present tense, in plain English that reads well \
aloud, in plain ASCII characters;
- describes a single uninterrupted shot at one place, a few seconds long: nothing is cut, nothing is skipped, and \
nothing happens "later";
- says physically what moves, along what path, against or with what, and how it visibly ends;
- keeps the subject and the verb that are given: the noun (or its plural) and a form of the verb stand in the text;
- is possible on this earth, for this body, with these things, at this place;
- leaves out thoughts, feelings, sounds, smells, names, brands, written words, comparisons and praise of the picture;
- uses no words of the film trade, and mentions a camera only where a camera motion is asked for, and then in \
everyday words;
- shows nothing hurtful, sexual or political, and no real person.

You may add a fitting detail (a colour, a surface, an obstacle) and bend the given wording so that it sounds natural. \
If no honest sentence can make the combination plausible (this subject cannot do it, or not at that place), say so: \
set "plausible" to false, give the reason in "why", and leave the list of candidates empty.

Beside each prompt, "subject" repeats the moving noun phrase of your sentence with its article or number, "action" \
says what it does in a phrase that begins with the -ing form of the verb, and "outcome" says in a short clause what \
must be visible at the end.

The tags describe the prompt as you wrote it: how many subjects move; whether they touch nothing, an object or \
another subject; the speed on screen; whether the motion stays in place (small), takes part of the picture (medium) \
or much of it (large); whose joints are plainly visible; and the seconds the shot needs until the motion has visibly \
succeeded."""

REVIEWER = """You look over prompts for models that turn text into video, which are used to test whether a model can \
show one particular motion. You are strict: a prompt with a fault you can name does not pass. For every prompt, answer \
each of these with true or false, and name the fault in a few words in "why" (empty where there is none):
"""

REQUIREMENTS: Mapping[str, str] = {
    "one_shot": "it is a single uninterrupted shot at one place, with no cut, no change of scene and no time skipped",
    "motion_visible": "the motion can be seen, and a viewer can check at the end of the clip whether it succeeded",
    "kept": "the given subject does the given action, and both are what the sentence is about",
    "plain_words": "it has no words of the film trade, and a camera motion only where one was asked for",
    "possible": "what happens is physically possible for this subject with these things at this place",
}
"""What the second pass asks of every prompt."""
