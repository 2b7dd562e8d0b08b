"""Instructions to writers, readers and reviewers. Any change of wording needs a new :data:`VERSION`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

VERSION: Final = 1

_COMMON: Final = """\
- One answer is right, and what you were given settles it without doubt. The {wrong} wrong ones are plausible but \
ruled out: nobody who saw the video could defend one.
- All answers are of one kind, of about one length, and clearly different from each other; none contains another, none \
is about the others ("all of the above"), none carries a letter.
- Somebody who reads only the answers must not be able to tell the right one: no part of it may be in more answers \
than any part of a wrong one, and it must not repeat words of the question that the wrong ones do not.
- Write as somebody who watches the video. Never mention a text, a description, a caption or an annotation.
- Call people and things by what can be seen of them ("the man in the red coat"), never by a number ("subject 1") and \
never more exactly than eyes can tell.
- Do not ask when something happens, and name no seconds.
- No opinions and no guesses: nothing is graceful, and nothing seems.
"""

MOTIONBENCH: Final = (
    """\
You write multiple-choice questions that find out whether a model sees what moves in a video, and how. You are given a \
text that a careful person wrote about the video. Whoever answers sees the video and not the text.

Write {count} questions. Each joins one thing it is about (content) with one thing it asks (logic):
- content: human action, human interaction, human emotion, human position, object trajectory, object state, animal \
action, animal position, camera, appearance (of people, objects or surroundings)
- logic: occurrence (does it happen, which of them happens), count, order, appearance (how it looks)
Use no pair twice. At least {dynamic} questions are about something other than appearance.
- Ask about what changes or moves and about nothing else, and only about what stands out: no \
trifles, nothing in a corner.
- Ask for an order only where there is no doubt what came first; never of things that overlap in time.
- Do not ask why anything happens, what it is for or what it leads to.
"""
    + _COMMON
    + """\
Give each question its task: MR (which motion, recognised), LM (where something moves or is when it moves), CM (camera \
motion), MO (which object or person takes part in a motion), AO (order of actions), RC (how often something is \
repeated).
"""
)

FAVOR: Final = (
    """\
You write multiple-choice questions about fine-grained motion in a video. You are given what people annotated: how the \
subjects look, what each does and in which seconds, how the camera moves, and a text about all of it. Whoever answers \
sees the video and nothing else.

Write up to {count} questions of one task. Fewer, or none, where the annotation does not carry more.
Task: {task}
- Ask about what is typical of the video. The questions differ in what they are about.
- Wrong answers may be things that are not in the annotation at all.
- A question must not be answerable from its own words, or from any single frame.
- Do not ask why anything happens.
"""
    + _COMMON
)
FAVOR_TASKS: Final[Mapping[str, str]] = {
    "AS": "action sequence. Ask for the order of things in time: what a subject does right after or before something "
    "else, or how several actions follow one another. Do not ask for the whole sequence of a subject.",
    "HAC": "holistic action. Ask what a subject mainly does over most of the video. The question must not be about a "
    "part of the video: no first, then, finally, beginning, end.",
    "SAD": "single action detail. Ask how one subject or object does one thing at one moment: direction, body part, "
    "manner, object used.",
    "MAD": "multiple action details. Ask for a comparison of details between different moments: what changes from one "
    "to the other, what is the same. If somebody handles several things one after another, one question is about them.",
    "CM": "camera motion. Ask how the camera moves, its direction and what follows what. {focus}",
    "NSM": "motion that is not a subject's. Ask how things or people in the background move. If nothing in the "
    "background moves, write none.",
}
FOCUS: Final = {
    True: "You may also ask what the camera focuses on or follows.",
    False: "Do not ask what the camera focuses on or follows: nobody annotated it.",
}

CONTRADICTIONS: Final = """\
The pictures are {frames} frames of one video, evenly spaced and in order. Below them is a text about the video that a \
careful person wrote; it is right. Look at the frames by yourself, and list where what you see differs from the text: \
for each, what the text says and what you see instead. These are the places where the video is easily misread. Leave \
out what the text merely does not mention. An empty list is fine.
"""

TUNA: Final = (
    """\
You write hard multiple-choice questions about what happens in a video over time. You are given a text that a careful \
person wrote about the video, and places where another model misread it: what it saw differs from the text, and the \
text is right. Whoever answers sees the video and nothing else.

Write {count} questions, spread over the events of the video, most of them about the places that were misread (what \
the other model saw is a good wrong answer).
- Each needs several moments of the video: neither one frame nor one event alone settles it.
- The text must be enough to answer it.
- For an order of three or more things the answers are the things joined by " \u2192 ", the same things in every answer.
"""
    + _COMMON
    + """\
Give each question one of these tasks: {tasks}.
"""
)

LANGUAGE: Final = """\
You proofread questions of a multiple-choice test about videos; you do not see the videos. Judge three things, each by \
itself:
- clear: the question can be understood in one way, says whom and what it is about, and asks one thing
- options: each fits the question grammatically, is of the same kind, and excludes the others
- language: correct, natural English throughout
For whatever is not so, say briefly what is wrong.
"""
