"""A rater's way through a study: consent, training, trials, and a link that resumes; or withdrawal."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import numpy as np

from vmmetrics.errors import refusing
from vmmetrics.rating.designs import design_of
from vmmetrics.rating.flags import judge, preferences_of, used
from vmmetrics.rating.journal import PEOPLE, AnswerJournal, given_out
from vmmetrics.rating.study import append_private
from vmmetrics.rating.trials import Answer, Session, Trial
from vmmetrics.utils.schema import convert, plain
from vmmetrics.utils.statistics.bradley_terry import fit_strengths
from vmmetrics.utils.statistics.preferences import Preference
from vmmetrics.utils.storage.journal import Line, iterate_lines
from vmmetrics.utils.storage.provenance import now

PLATFORMS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "prolific": ("PROLIFIC_PID", ("STUDY_ID", "SESSION_ID")),
    "rapidata": ("rapidata_user", ("rapidata_session",)),
}
"""Platforms that send raters: the parameter of the link that names the rater, and the others that are kept."""
MAX_OPEN = 2000
"""Sessions that may be open at once; more raters are asked to come again."""
_UNJUDGED = 200  # sessions to one that is finished and may be taken for valid for a while: judging many takes long
_TOKEN = re.compile(r"[0-9a-f]{32}")
_LONGEST = 128  # characters of a parameter of a platform
_EARLY = 0.9  # of the clips' durations that must have passed since the trial before


class RefusedStepError(Exception):
    """A step that is not open to the rater now.

    Attributes:
        reason: A word for the page.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Consent:
    """What a browser sends to begin.

    Attributes:
        token: The rater's key, 32 hexadecimal digits, made by the browser: sent again it begins nothing new.
        consent: Version of the text that was agreed to.
        of_age: True if the rater confirmed the age.
        parameters: Parameters of the link.
    """

    token: str
    consent: str
    of_age: bool
    parameters: Mapping[str, str] = field(default_factory=dict)


class RaterSessions:
    """Raters' sessions over a journal. What a method returns is to be written before the browser is answered.

    Args:
        journal: The answers.
        clock: Seconds, for the time between two answers; None accepts answers however early they come.
        seed: Of what sessions show; None draws another one.
    """

    def __init__(
        self, journal: AnswerJournal, clock: Callable[[], float] | None = time.monotonic, seed: int | None = None
    ) -> None:
        self.journal, self.study, self.state = journal, journal.study, journal.state
        self.design = design_of(self.study)
        self._clock = clock
        self._rng = np.random.default_rng(seed)
        self._begun: dict[str, float] = {}  # when the trial that is open could begin, by session
        self._tokens = {session.token: session.rater for session in self.state.sessions.values()}
        self._people = {
            (str(line.get("platform")), str(line.get("participant"))): str(line.get("rater"))
            for line in iterate_lines(self.study.path / PEOPLE)
        }
        self._waiting = given_out(self.study, self.state) | self.state.sessions  # those that are not settled
        self._shown = Counter(t.media for s in self._waiting.values() for t in s.trials if t.is_vote)
        self._valid = Counter[str]()  # votes of each item that count
        self._counted: list[Session] | None = None  # those whose answers count, until another is settled
        self._fitted = (0, False)  # sessions that strengths were fitted to, and if they are known well enough

    def session(self, token: str) -> Session | None:
        """Return the latest session of the rater with this key; None where there is none."""
        rater = self._tokens.get(digest(token))
        return None if rater is None else self.state.of_rater(rater)[-1]

    def begin(self, asked: Consent) -> list[Line]:
        """Begin a rater's first session; nothing where it has begun.

        Raises:
            RefusedStepError: There is no consent to this text, the rater has another link, or no votes are wanted.
            SetupError: The participant cannot be written; the rater has not begun.
        """
        if not _TOKEN.fullmatch(asked.token):
            raise RefusedStepError("invalid")
        if self.session(asked.token) is not None:
            return []
        if asked.consent != self.study.consent or not asked.of_age:
            raise RefusedStepError("consent")
        platform, person = _participant(asked.parameters)
        rater = self._people.get((platform, person["participant"])) if person else None
        if rater is not None and self.state.of_rater(rater):
            raise RefusedStepError("has_link")
        rater = rater or secrets.token_hex(6)
        return self._open(rater, digest(asked.token), platform, person)

    def further(self, token: str) -> list[Line]:
        """Begin another session of a rater who has finished one; nothing where it has begun.

        Raises:
            RefusedStepError: The rater has had as many as the study lets, or no votes are wanted.
        """
        session = self._known(token)
        if not session.finished and not session.withdrawn:
            return []
        if not self._may_go_on(session):
            raise RefusedStepError("done")
        return self._open(session.rater, session.token, session.source)

    def answer(self, token: str, body: Mapping[str, Any], at: str = "") -> list[Line]:
        """Take an answer to the open trial, or another one to the trial before; one that was sent before is nothing.

        Args:
            token: The key.
            body: What the page sends.
            at: When it was given, UTC; "" for now.

        Raises:
            RefusedStepError: It is to another trial, early, or its clips were not played to their ends.
            ValueError: It is no answer.
        """
        session = self._known(token)
        answer = convert(Answer, {**body, "session": session.session, "at": at})
        check_id(answer)
        if self.state.ids.get(answer.id) is not None:
            if self.state.ids[answer.id] == (session.session, answer.trial):
                return []
            raise ValueError("id: it was used for another answer")
        is_new, is_last = answer.trial == session.next, answer.trial == session.next - 1 >= 0
        if session.withdrawn or not (is_last or (is_new and not session.finished)):
            raise RefusedStepError("not_open")
        trial = session.trials[answer.trial]
        self.design.check(trial, answer)
        if len(answer.clips) != len(trial.media) or not all(clip.ended for clip in answer.clips):
            raise RefusedStepError("not_watched")
        if self._clock is not None:
            moment, begun = self._clock(), self._begun.get(session.session)
            if is_new and begun is not None and moment - begun < _EARLY * self.design.seconds(trial.media):
                raise RefusedStepError("early")
            self._begun[session.session] = moment if is_new else begun or moment
        return [self.journal.take({"kind": "answer", **_fields(answer)})]

    def withdraw(self, token: str) -> list[Line]:
        """Withdraw a rater: the answers stay and count for nothing, until the owner removes them."""
        session = self._known(token)
        if session.withdrawn:
            return []
        self._counted = None
        return [self.journal.take({"kind": "withdrawal", "rater": session.rater})]

    def check_shown(self, token: str, shown: object) -> None:
        """Refuse what a page sends that shows another session than the rater's: another tab may have begun one.

        Raises:
            RefusedStepError: It is another.
        """
        session = self.session(token)
        if session is not None and session.session != shown:
            raise RefusedStepError("other_session")

    def view(self, token: str, parameters: Mapping[str, str] | None = None) -> dict[str, Any]:
        """Return what the page shows the rater with this key: no name of a clip, model or prompt, and no kind.

        Args:
            token: The key.
            parameters: Parameters of the link: those of another participant show the consent.
        """
        session = self.session(token)
        settings = self.study.settings
        platform, person = _participant(parameters or {})
        if person and session is not None and self._people.get((platform, person["participant"])) != session.rater:
            session = None
        if session is None:
            return {"step": "consent" if self._wanted() else "full", "consent": self.study.consent}
        if session.withdrawn:
            paid = any(one.finished for one in self.state.of_rater(session.rater))
            return {"step": "withdrawn", "url": settings.completion_url if paid else ""}
        if session.finished:
            more = self._may_go_on(session) and self._wanted()
            return {"step": "done", "session": session.session, "key": token, "further": more,
                    "url": settings.completion_url}  # fmt: skip
        if self._clock is not None:
            self._begun.setdefault(session.session, self._clock())
        return self.trial_view(session, session.next) | {"key": token}

    def trial_view(self, session: Session, at: int) -> dict[str, Any]:
        """Return what the page shows of a trial of a session, the key left out."""
        following = session.trials[at + 1 : at + 2]
        training = [self._shown_as(session, f"t{n}", trial) for n, trial in enumerate(session.training)]
        return {
            "step": "trial", "session": session.session, "number": at, "total": len(session.trials),
            "trial": self._shown_as(session, str(at), session.trials[at]),
            "following": [medium for n, trial in enumerate(following, at + 1)
                          for medium in self._shown_as(session, str(n), trial)["media"]],
            "training": training if at == 0 else [],
        }  # fmt: skip

    def clip(self, token: str, medium: str) -> str | None:
        """Return the id of the clip that a rater's page asks for by its name there; None for any other."""
        session = self.session(token)
        if session is None or session.withdrawn:
            return None
        near = range(max(0, session.next - 1), min(session.next + 2, len(session.trials)))
        return self.names(session, near).get(medium)

    def names(self, session: Session, near: range) -> dict[str, str]:
        """Return the clips of some trials of a session, and of its training, by their names on the page."""
        trials = {str(at): session.trials[at] for at in near} | {f"t{n}": t for n, t in enumerate(session.training)}
        return {
            self._name(session, at, slot): identity
            for at, trial in trials.items() for slot, identity in enumerate(trial.media)
        }  # fmt: skip

    def _open(self, rater: str, token: str, source: str, person: Mapping[str, str] | None = None) -> list[Line]:
        if not self._wanted():
            raise RefusedStepError("full")
        session = self.draw(rater, token, source)
        if person and (source, person["participant"]) not in self._people:
            with refusing("write", self.study.path / PEOPLE):
                append_private(self.study.path / PEOPLE, {"rater": rater, "platform": source, **person})
            self._people[source, person["participant"]] = rater
        lines = [*self.journal.start(), self.journal.take(line_of(session))]
        self._tokens[token] = rater
        self._waiting[session.session] = self.state.sessions[session.session]
        return lines

    def draw(self, rater: str, token: str, source: str) -> Session:
        """Return another session of a rater, which holds its items from now on.

        Raises:
            RefusedStepError: The rater has had every item.
        """
        own = self.state.of_rater(rater)
        seen = [trial.item for session in own for trial in session.trials if trial.is_vote]
        trials = self.design.session(self._votes(), seen, self._shown, self._rng, self._informative(seen))
        if not trials:
            raise RefusedStepError("done")
        training = () if own else self.design.training(self._rng, [trial.item for trial in trials])
        session = Session(secrets.token_hex(8), rater, token, self.study.consent, trials, training, source, now())
        self._waiting[session.session] = session
        self._shown.update(trial.media for trial in trials if trial.is_vote)
        return session

    def _informative(self, seen: list[str]) -> list[str]:
        """Return the items of a session that are chosen by the answers so far."""
        number = round(self.study.settings.items * self.study.settings.active)
        if not number:
            return []
        in_hand = {trial.item for one in self._in_hand() for trial in one.trials if trial.is_vote}
        return self.design.informative(self._preferences(), in_hand.union(seen), number, int(self._rng.integers(2**31)))

    def _preferences(self) -> list[Preference]:
        dimension = next(iter(self.study.settings.questions))
        return preferences_of(self.design, self._counted or (), dimension)

    def _known(self, token: str) -> Session:
        session = self.session(token)
        if session is None:
            raise RefusedStepError("unknown")
        return session

    def _votes(self, *, all_judged: bool = False) -> Counter[str]:
        """Return the votes of each item that count, as in the results, and those in hand.

        Args:
            all_judged: Judge every finished session, not all but the last few.
        """
        settled = [one for one in self._waiting.values() if one.finished or one.withdrawn]
        unjudged = 0 if all_judged else len(self.state.sessions) // _UNJUDGED
        if self._counted is None or len(settled) > unjudged:
            for one in settled:
                del self._waiting[one.session]
            settled = []
            self._counted = used(self.state, judge(self.design, self.state))
            self._valid = self.state.votes(self._counted)
        held = [*settled, *self._in_hand()]
        return self._valid + Counter(trial.item for one in held for trial in one.trials if trial.is_vote)

    def _in_hand(self) -> list[Session]:
        """Return the sessions under way."""
        moment, minutes = datetime.now(UTC), self.design.minutes
        return [session for session in self._waiting.values() if session.holds(moment, minutes)]

    def _wanted(self) -> bool:
        """Return True if votes are wanted, and another session may be open."""
        target, room = self.study.settings.votes, len(self._in_hand()) < MAX_OPEN
        lacking = any(
            votes[key] < target
            for votes in (self._votes(all_judged=every) for every in (False, True)) for key in self.design.items
        )  # fmt: skip
        return room and lacking and not self._stopped()

    def _stopped(self) -> bool:
        """Return True if the strengths are known as well as was wanted."""
        wanted, votes = self.study.settings.stop_error, self._preferences() if self.study.settings.stop_error else []
        if len(self._counted or ()) == self._fitted[0] or not any(vote.outcome for vote in votes):
            return self._fitted[1]
        errors = fit_strengths(votes, sorted({clip for one in self.design.items.values() for clip in one.clips})).error
        self._fitted = len(self._counted or ()), bool((errors <= wanted).all())  # none where a clip has no comparison
        return self._fitted[1]

    def _may_go_on(self, session: Session) -> bool:
        own = self.state.of_rater(session.rater)
        seen = {trial.item for one in own for trial in one.trials if trial.is_vote}
        within = len(own) < self.study.settings.sessions
        return within and session.finished and not session.withdrawn and seen < self.design.items.keys()

    def _name(self, session: Session, at: str, slot: int) -> str:
        """Return the name of a clip on a rater's page: another one in every trial, and never the clip's own."""
        text = f"{session.session}/{at}/{slot}".encode()
        return hmac.new(self.study.keys["secret"].encode(), text, hashlib.sha256).hexdigest()[:32]

    def _shown_as(self, session: Session, at: str, trial: Trial) -> dict[str, Any]:
        media = [self._name(session, at, slot) for slot in range(len(trial.media))]
        asked = trial.expected if trial.kind == "trap" else None
        told = {"expected": trial.expected} if at.startswith("t") else {}
        own = {"questions": self.design.asked(trial)} if self.design.facts else {}
        return {"at": at, "media": media, "asked": asked, **told, **own}


def check_id(answer: Answer) -> None:
    """Refuse an answer's id that no browser makes.

    Raises:
        ValueError: It is one.
    """
    if not re.fullmatch(r"[0-9a-f]{16,64}", answer.id):
        raise ValueError("id: expected hexadecimal digits")


def digest(token: str) -> str:
    """Return what stands for a key in the journal."""
    return hashlib.sha256(token.encode()).hexdigest()


def line_of(session: Session) -> Line:
    """Return the line of the journal of a session that begins."""
    made = {name: value for name, value in _fields(session).items() if name not in ("answers", "changes")}
    return {"kind": "session", **plain(made)}


def _fields(value: Session | Answer) -> dict[str, Any]:
    return {name: getattr(value, name) for name in value.__dataclass_fields__}


def _participant(parameters: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    """Return the platform that a link is of, and what is kept of it: the participant and the platform's own ids."""
    for platform, (name, others) in PLATFORMS.items():
        if person := parameters.get(name, "")[:_LONGEST]:
            return platform, {"participant": person} | {
                other: parameters[other][:_LONGEST] for other in others if other in parameters
            }
    return "", {}
