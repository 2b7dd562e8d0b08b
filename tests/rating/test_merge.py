"""Files of offline raters and studies of other sites: what they give, that nothing is doubled, and what is refused."""

from __future__ import annotations

import json
import os
import random
import re
import secrets
import shutil
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.rating.made import body, filled, rightly, study
from vmmetrics.cli.rate_sites import merge as merge_by_command
from vmmetrics.errors import SetupError
from vmmetrics.rating import DESIGNS
from vmmetrics.rating import copies as copies_module
from vmmetrics.rating.copies import COPIES
from vmmetrics.rating.designs import design_of
from vmmetrics.rating.export import export
from vmmetrics.rating.forgetting import forget
from vmmetrics.rating.journal import AnswerJournal, read_packs, read_state
from vmmetrics.rating.merge import merge
from vmmetrics.rating.pack import write_packs
from vmmetrics.rating.results import Results
from vmmetrics.rating.sessions import Consent, RaterSessions
from vmmetrics.rating.simulation import SimulatedRater, body_of, qualities
from vmmetrics.rating.study import Study, read_study
from vmmetrics.rating.trials import PACK_DAYS, Session
from vmmetrics.utils.schema import convert

JOURNAL = "answers.jsonl"


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Study:
    """Return a study that gave four pages out; tests take copies of it."""
    folder = tmp_path_factory.mktemp("packed")
    made = study(folder, prompts=2, items=4, gold=1, traps=1, repeats=1, votes=9, pay=2.0)
    write_packs(made, folder / "pages", 4)
    return made


@pytest.fixture
def made(packed: Study, tmp_path: Path) -> Study:
    return read_study(Path(shutil.copytree(packed.path, tmp_path / "study")))


def page_of(made: Study, number: int = 1) -> dict[str, Any]:
    """Return what a page embeds."""
    text = (made.path.parent / "pages" / f"rater-{number}.html").read_text()
    match = re.search(r'id="pack">(.*?)</script>', text)
    assert match
    return dict(json.loads(match[1]))


def given_back(
    packed: Study, number: int = 1, upto: int = 99, *, seed: int = 0, withdrawn: bool = False
) -> dict[str, Any]:
    """Return the file that a page gives back after some answers; another seed is another browser."""
    pack = page_of(packed, number)
    session = convert(Session, read_packs(packed)[pack["given"]["session"]])
    rng = random.Random(f"{seed}/{number}")
    moment = datetime.now(UTC) + timedelta(seconds=1)
    answers = [
        body(session, at, rightly(design_of(packed), session, at), id=f"{rng.getrandbits(128):032x}")
        | {"at": (moment + timedelta(milliseconds=at)).isoformat()}
        for at in range(min(upto, len(pack["views"])))
    ]
    return {**pack["given"], "begun": moment.isoformat(), "answers": answers, "withdrawn": withdrawn}


def written(folder: Path, content: Any, name: str = "back.json") -> Path:
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def exported(made: Study) -> dict[str, Any]:
    """Return the tables of an export without times."""
    out = made.path / "export"
    export(made, out)
    files = {path.name: path.read_text() for path in out.iterdir() if path.suffix == ".csv"}
    summary = json.loads((out / "summary.json").read_text())
    files["payments"] = (made.path / "payments.csv").read_text()
    timeless = {name: re.sub(r"\d{4}-\d\d-\d\dT[\d:]+\+00:00,[\d.]*", "", text) for name, text in files.items()}
    return {name: re.sub(r"\d{4}-\d\d-\d\dT[\d:]+\+00:00", "", text) for name, text in timeless.items()} | {
        "summary": {name: value for name, value in summary.items() if name != "minutes"}
    }


def test_a_page_says_nothing_of_what_it_asks(packed: Study) -> None:
    text = (packed.path.parent / "pages" / "rater-1.html").read_text()
    data = page_of(packed)
    seen = json.dumps({name: data[name] for name in ("views", "media", "given")})
    assert not re.search(r"c0000|m[0-2]/|square|gold|broken|item|repeat|kind", seen)
    names = [name for view in data["views"] for name in view["trial"]["media"]]
    assert len(set(names)) == len(names)  # one of a trial alone, also where a clip is shown again
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)
    assert policy and "unsafe" not in policy[1] and "http" not in policy[1] and "connect" not in policy[1]
    for clip in packed.clips.values():
        assert clip.clip not in text and clip.sha256 not in text
    assert packed.keys["secret"] not in text and packed.keys["raters"] not in text


def test_a_file_gives_what_the_same_answers_give_online(packed: Study, made: Study, tmp_path: Path) -> None:
    online = read_study(Path(shutil.copytree(made.path, tmp_path / "online")))
    with AnswerJournal(online) as journal:
        for number in (1, 2):
            back = given_back(packed, number, withdrawn=number == 2)
            (line,) = (one for name, one in read_packs(online).items() if name == back["session"])
            lines = [*journal.start(), journal.take(line)]
            sessions = RaterSessions(journal, clock=None)
            for answer in back["answers"]:
                lines += sessions.answer(back["key"], answer)
            journal.write(lines + (sessions.withdraw(back["key"]) if back["withdrawn"] else []))
            merged = merge(made, written(tmp_path, back, f"{number}.json"))
            assert merged[:3] == (1, len(back["answers"]), 0)
    assert exported(made) == exported(online)
    results = Results.of(made, read_state(made))
    assert len(results.counted) == 1 and results.state.sessions[results.counted[0].session].source == "pack"


versions = st.lists(
    st.tuples(st.integers(1, 2), st.sampled_from((0, 1, 2, 5, 99)), st.integers(0, 2), st.booleans()), max_size=8
)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(versions)
def test_versions_in_any_order_give_each_raters_longest(packed: Study, tmp_path: Path, merged: list[Any]) -> None:
    folder = Path(shutil.copytree(packed.path, tmp_path / secrets.token_hex(4), ignore=shutil.ignore_patterns("media")))
    made = read_study(folder)
    files = [
        written(
            tmp_path, given_back(packed, number, upto, seed=seed, withdrawn=gone), f"{number}-{upto}-{seed}-{gone}.json"
        )
        for number, upto, seed, gone in merged
    ]
    for path in files:
        merge(made, path)
        before = (made.path / JOURNAL).read_bytes()
        merge(made, path)  # the same again
        assert (made.path / JOURNAL).read_bytes() == before
    before = (made.path / JOURNAL).read_bytes() if merged else b""
    for path in files[::-1]:
        merge(made, path)
    assert not merged or (made.path / JOURNAL).read_bytes() == before
    state = read_state(made)
    for number in {one[0] for one in merged}:
        own = [one for one in merged if one[0] == number]
        session = state.sessions[page_of(packed, number)["given"]["session"]]
        longest = max(min(one[1], len(session.trials)) for one in own)
        assert len(session.answers) == session.next == longest and session.changes == 0
        assert session.withdrawn == any(one[3] for one in own)
        ids = {answer.id for answer in session.answers.values()}
        of_one = [
            {answer["id"] for answer in given_back(packed, number, longest, seed=seed)["answers"]} for seed in range(3)
        ]
        assert ids in of_one  # of one version, not of two


def test_killed_at_any_byte_a_merge_is_done_again(packed: Study, made: Study, tmp_path: Path) -> None:
    merge(made, written(tmp_path, given_back(packed, 1, 2)))
    path, before = made.path / JOURNAL, (made.path / JOURNAL).read_bytes()
    longer = written(tmp_path, given_back(packed, 1, seed=1))
    merge(made, longer)
    whole = path.read_bytes()
    for cut in sorted({len(before), *range(len(before) + 1, len(whole), 499), len(whole) - 1}):
        path.write_bytes(whole[:cut])
        (session,) = read_state(made).sessions.values()
        assert len(session.answers) == 2  # the version before, whole
        merge(made, longer)
        (session,) = read_state(made).sessions.values()
        assert session.finished and session.changes == 0 and len(session.answers) == len(session.trials)


def test_killed_at_random_nothing_is_lost_or_doubled(packed: Study, made: Study, tmp_path: Path) -> None:
    files = [
        written(tmp_path, given_back(packed, number, upto, seed=seed), f"{number}-{upto}-{seed}.json")
        for number in range(1, 5) for upto, seed in ((3, 0), (5, 1), (99, 2))
    ]  # fmt: skip
    rng, kills = random.Random(0), 0
    undisturbed = read_study(Path(shutil.copytree(made.path, tmp_path / "undisturbed")))
    for path in files:
        merge(undisturbed, path)
    whole = (undisturbed.path / JOURNAL).stat().st_size
    for _ in range(20):
        if (child := os.fork()) == 0:
            for path in files:
                merge(made, path)
            os._exit(0)
        until, (ended, _) = rng.uniform(0, whole), (0, 0)
        while not ended and not ((path := made.path / JOURNAL).exists() and path.stat().st_size > until):
            ended, _ = os.waitpid(child, os.WNOHANG)
        if not ended:
            os.kill(child, signal.SIGKILL)
            kills += os.WIFSIGNALED(os.waitpid(child, 0)[1])
        sessions = read_state(made).sessions.values()
        assert all(len(one.answers) in (3, 5, len(one.trials)) and one.changes == 0 for one in sessions)
        if sum(one.finished for one in sessions) == 4:
            (made.path / JOURNAL).unlink()
    for path in files:
        merge(made, path)
    assert kills > 3
    ids = [set(read_state(one).ids) for one in (made, undisturbed)]
    assert ids[0] == ids[1] and len(ids[0]) == sum(len(view) for view in [page_of(packed)["views"]] * 4)


def _change(name: str, value: Any) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda back: back | {name: value}


def _answer(**more: Any) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda back: back | {"answers": [back["answers"][0] | more, *back["answers"][1:]]}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (_change("key", "0" * 32), "altered"),
        (_change("key", "ä\ud800"), "altered"),
        (_change("rater", "\ud800"), "altered"),
        (_change("session", "0" * 16), "no page"),
        (_change("session", "../../keys.json"), "no page"),
        (_change("rater", "0" * 12), "altered"),
        (_change("consent", "0" * 12), "altered"),
        (_change("format", 2), "another version"),
        (_change("answers", {}), "no file of answers"),
        (_change("answers", [1]), "no file of answers"),
        (_change("withdrawn", "no"), "no file of answers"),
        (_change("begun", "yesterday"), "page does not give"),
        (_change("begun", "2026-01-01T00:00:00"), "its zone"),
        (_answer(at=None), "page does not give"),
        (_answer(id="../x"), "hexadecimal"),
        (_answer(trial=1), "not_open"),
        (_answer(trial=10**30), "trial"),
        (_answer(values={"motion": 6}), "values"),
        (_answer(values={"motion": 3, "../more": 1}), "values"),
        (_answer(clips=[{"ended": False}]), "not_watched"),
        (_answer(seconds="1"), "seconds"),
        (lambda back: back | {"answers": back["answers"] * 2}, "has two"),
        (lambda back: back | {"answers": [*back["answers"], back["answers"][-1] | {"id": "f" * 32}]}, "has two"),
        (
            lambda back: back | {"answers": [*back["answers"], back["answers"][-1] | {"id": "f" * 32, "trial": 7}]},
            "open",
        ),
        (lambda back: json.dumps(back).replace("1.0", "NaN"), "no file of answers"),
        (lambda back: "[" * 100_000, "no file of answers"),
        (lambda back: "null", "no file of answers"),
        (lambda back: json.dumps(back) + " " * (1 << 24), "Larger than"),
    ],
)
def test_hostile_files_change_nothing(
    change: Callable[[dict[str, Any]], Any], said: str, packed: Study, made: Study, tmp_path: Path
) -> None:
    before = {path: path.read_bytes() for path in made.path.rglob("*") if path.is_file() and path.suffix != ".mp4"}
    changed = change(given_back(packed))
    with pytest.raises(SetupError, match=said):
        merge(made, written(tmp_path, changed))
    after = {path: path.read_bytes() for path in made.path.rglob("*") if path.is_file() and path.suffix != ".mp4"}
    assert after == before
    assert merge(made, written(tmp_path, given_back(packed))).sessions == 1


@pytest.mark.parametrize("name", ["rater", "trials", "consent", "at"])
def test_a_session_that_is_not_as_it_was_drawn_is_refused(
    name: str, packed: Study, made: Study, tmp_path: Path
) -> None:
    path, back = made.path / "packs.jsonl", given_back(packed)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    (own,) = (line for line in lines if line["session"] == back["session"])
    own[name] = own[name].replace("+00:00", "+01:00") if name == "at" else own[name][::-1]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    back = {**back, **{one: own[one] for one in ("rater", "consent")}}
    with pytest.raises(SetupError, match="altered"):
        merge(made, written(tmp_path, back))


def test_a_page_of_another_study_is_refused(packed: Study, tmp_path: Path) -> None:
    other = study(tmp_path, prompts=2, items=4)
    with pytest.raises(SetupError, match="no page"):
        merge(other, written(tmp_path, given_back(packed)))


def test_clocks_that_go_wrong_stay_within_reason(packed: Study, made: Study, tmp_path: Path) -> None:
    back = given_back(packed)
    times = ["1970-01-01T00:00:00Z", "2100-01-01T00:00:00+14:00", *(one["at"] for one in back["answers"][2:])]
    back["answers"] = [{**one, "at": at} for one, at in zip(back["answers"], times, strict=True)]
    merge(made, written(tmp_path, back | {"begun": "2100-01-01T00:00:00Z"}))
    (session,) = read_state(made).sessions.values()
    moments = [session.at, *(answer.at for answer in session.answers.values())]
    assert moments == sorted(moments) and moments[-1] <= datetime.now(UTC).isoformat(timespec="seconds")
    assert 0 <= session.minutes < 1


def test_pages_hold_their_items_for_two_weeks(packed: Study, made: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    def votes(after: timedelta) -> list[int]:
        class Later(datetime):
            @classmethod
            def now(cls, tz: Any = None) -> datetime:  # type: ignore[override]
                return datetime.now(tz) + after

        monkeypatch.setattr("vmmetrics.rating.sessions.datetime", Later)
        with AnswerJournal(made) as journal:
            sessions = RaterSessions(journal, clock=None)
            counts = sessions._votes()
            return [counts[key] for key in sessions.design.items]

    held = votes(timedelta(days=PACK_DAYS - 0.1))
    assert Results.of(made, read_state(made)).open_sessions == 4
    assert sum(held) == 16 and max(held) - min(held) <= 1  # four pages of four items, drawn in balance
    assert sum(votes(timedelta(days=PACK_DAYS + 0.1))) == 0


@pytest.mark.parametrize("most", [0, 10**9])
def test_pages_have_a_size_and_a_folder_of_their_own(
    most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = study(tmp_path, "pair", prompts=2, items=4)
    monkeypatch.setattr("vmmetrics.rating.pack.MOST_BYTES", most)
    if not most:
        with pytest.raises(SetupError, match="fewer --items"):
            write_packs(made, tmp_path / "pages", 2)
        assert not (tmp_path / "pages").exists() and not read_packs(made)
        return
    largest = write_packs(made, tmp_path / "pages", 10)
    assert [path.name for path in sorted((tmp_path / "pages").iterdir())][::9] == ["rater-01.html", "rater-10.html"]
    assert largest == max(path.stat().st_size for path in (tmp_path / "pages").iterdir())
    with pytest.raises(SetupError, match="other files"):
        write_packs(made, tmp_path / "pages", 1)


# Studies of several sites.


def simulate(made: Study, raters: int, seed: int = 0) -> None:
    with AnswerJournal(made) as journal:
        sessions = RaterSessions(journal, clock=None, seed=seed)
        rng = np.random.default_rng(seed)
        quality = qualities(sessions.design, rng)
        for _ in range(raters):
            rater, token = SimulatedRater("honest", quality, sessions.design, rng), secrets.token_hex(16)
            lines = sessions.begin(Consent(token, made.consent, True))
            session = sessions.session(token)
            assert session is not None
            for at in range(len(session.trials)):
                lines += sessions.answer(token, body_of(session, at, rater, 0.9))
            journal.write(lines)


def split(whole: Study, site: Study, other: Study, kept: int) -> None:
    """Give the first sessions of a study to a site, and the others to another one in that one's ids."""
    by_name = {clip.clip: clip.id for clip in other.clips.values()}
    ids = {clip.id: by_name[clip.clip] for clip in whole.clips.values()}
    keys = {frozenset(item.clips): key for key, item in design_of(other).items.items()}
    first = list(read_state(whole).sessions)[:kept]
    mine, theirs = list[str](), list[str]()
    for text in (whole.path / JOURNAL).read_text().splitlines()[1:]:
        line = json.loads(text)
        if line["session"] in first:
            mine.append(text)
            continue
        for trial in (*line.get("trials", ()), *line.get("training", ())):
            named = [ids[clip] for clip in trial["item"].split("|")]
            trial["item"] = keys[frozenset(named)] if len(named) > 1 else named[0]
            trial["media"] = [re.sub(r"c\d+", lambda match: ids[match[0]], clip) for clip in trial["media"]]
        theirs.append(json.dumps(line))
    for made, lines in ((site, mine), (other, theirs)):
        with AnswerJournal(made) as journal:
            journal.write(journal.start())
        with (made.path / JOURNAL).open("a") as file:
            file.write("".join(f"{line}\n" for line in lines))


@pytest.mark.parametrize("design", list(DESIGNS))
def test_two_sites_have_the_figures_of_one_study_with_all_answers(design: str, tmp_path: Path) -> None:
    given = {"prompts": 3, "items": 6, "votes": 9, "pay": 2.0}
    whole = study(tmp_path / "w", design, **given)
    site = read_study(Path(shutil.copytree(whole.path, tmp_path / "site")))
    other = study(tmp_path / "o", design, **given | {"pay": 3.0, "votes": 4}, seed=5, ethics="IRB 7")
    assert {clip.id: clip.clip for clip in whole.clips.values()} != {
        clip.id: clip.clip for clip in other.clips.values()
    }
    simulate(whole, 6)
    split(whole, site, other, 3)
    assert merge(site, other.path).sessions == 3
    before = (site.path / JOURNAL).read_bytes()
    assert merge(site, other.path)[:3] == (0, 0, 0) and (site.path / JOURNAL).read_bytes() == before
    ours, all_ = exported(site), exported(whole)
    assert ours.pop("payments").count("\n") == 4 and all_.pop("payments").count("\n") == 7  # each site pays its own
    assert ours == all_
    assert all(one["α (ordinal)"]["value"] is not None for one in all_["summary"]["agreement"].values())
    simulate(other, 1, seed=9)
    assert merge(site, other.path).sessions == 1  # what came since
    assert merge(other, site.path).sessions == 3 and merge(site, other.path).sessions == 0  # there and back
    assert len(read_state(site).sessions) == len(read_state(other).sessions) == 7


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"levels": 9}, r"settings\.levels: 5 \(this study\), 9 \(the other\)"),
        ({"models": 2}, r"clips\.m2/0\.npy"),
        ({"design": "pair"}, r"settings\.design"),
        ({"texts": {"acr_question": "How was it?"}}, r"settings\.texts\.acr_question"),
        ({"texts": {"language": "de", "acr_question": "Wie gut ist die Bewegung?"}}, ""),
        ({"texts": {"consent_data": "Our ethics board asks us to say more."}}, ""),
    ],
)
def test_other_clips_and_settings_are_no_other_site(change: dict[str, Any], said: str, tmp_path: Path) -> None:
    made = study(tmp_path / "a", prompts=2)
    other = study(tmp_path / "b", **{"prompts": 2, **change})
    if said:
        with pytest.raises(SetupError, match=said):
            merge(made, other.path)
        assert not (other.path / COPIES).exists()
    else:
        assert merge(made, other.path)[:3] == (0, 0, 0)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"values":{"motion":', '"values":{"motion":7'),
        ('"values":{"motion":', '"values":{"more":'),
        ('"clips":[{', '"clips":[{"ended":true},{'),
        ('"media":["c', '"media":["../c'),
        ('"media":["c', '"media":["c00001","c'),
        ('"item":"c', '"item":"x'),
        ('"at":"2', '"at":"x2'),
        ('"session":"', '"session":"x'),
        ('"rater":"', '"rater":"x'),
        ('"token":"', '"token":"x'),
        ('"id":"', '"id":"x'),
        ('"],"expected"', '-x"],"expected"'),
        ('"kind":"gold","item"', '"kind":"item","item"'),
        ('"kind":"answer"', '"kind":"merged"'),
        ('"kind":"answer"', '"kind":"merged","lines":[]'),
        ('"kind":"answer"', '"kind":"merged","lines":[{"kind":"study"},7]'),
    ],
)
def test_a_hostile_study_changes_nothing(old: str, new: str, made: Study, tmp_path: Path) -> None:
    other = filled(study(tmp_path / "other", prompts=2, items=4, gold=1, traps=1, repeats=1), 1)
    text = (other.path / JOURNAL).read_text()
    assert old in text
    (other.path / JOURNAL).write_text(text.replace(old, new))
    before = (made.path / JOURNAL).read_bytes()
    with pytest.raises(SetupError):
        merge(made, other.path)
    assert (made.path / JOURNAL).read_bytes() == before
    (other.path / JOURNAL).write_text(text)
    assert merge(made, other.path).sessions == 1


def site(made: Study, folder: Path, raters: int = 1) -> Study:
    """Return a study of the same clips in another place, with some raters."""
    shutil.copytree(made.path, folder)
    (folder / "packs.jsonl").unlink(missing_ok=True)
    keys = json.loads((folder / "keys.json").read_text())
    (folder / "keys.json").write_text(json.dumps(keys | {"secret": folder.name}))
    return filled(read_study(folder), raters) if raters else read_study(folder)


@pytest.mark.parametrize("name", ["rater", "token", "session", "id"])
def test_another_study_takes_no_id_of_ours(name: str, made: Study, tmp_path: Path) -> None:
    other = site(made, tmp_path / "other")
    filled(made, 1)
    ours, theirs = (
        {
            key: value
            for line in (one.path / JOURNAL).read_text().splitlines()[1:]
            for key, value in json.loads(line).items()
        }
        for one in (made, other)
    )
    text, before = (other.path / JOURNAL).read_text(), (made.path / JOURNAL).read_bytes()
    (other.path / JOURNAL).write_text(text.replace(theirs[name], ours[name]))
    with pytest.raises(SetupError, match="is of another"):
        merge(made, other.path)
    assert (made.path / JOURNAL).read_bytes() == before
    (other.path / JOURNAL).write_text(text)
    assert merge(made, other.path).sessions == 1


def test_an_id_that_another_rater_used_is_refused_in_a_file(packed: Study, made: Study, tmp_path: Path) -> None:
    first, second = given_back(packed, 1), given_back(packed, 2)
    merge(made, written(tmp_path, first))
    taken = [one | {"id": of["id"]} for one, of in zip(second["answers"], first["answers"], strict=True)]
    with pytest.raises(SetupError, match="used for another"):
        merge(made, written(tmp_path, second | {"answers": taken}))
    assert merge(made, written(tmp_path, second)).answers == len(second["answers"])


@pytest.mark.parametrize(
    "time", ["0001-01-01T00:00:00+14:00", "2999-01-01T00:00:00+00:00", "9999-12-31T23:59:59-14:00"]
)
def test_clocks_of_another_study_stay_within_reason(time: str, made: Study, tmp_path: Path) -> None:
    other = site(made, tmp_path / "other")
    text = (other.path / JOURNAL).read_text()
    (other.path / JOURNAL).write_text(re.sub(r'"at":"[^"]*"', f'"at":"{time}"', text))
    assert merge(made, other.path).sessions == 1
    (session,) = read_state(made).sessions.values()
    assert "2020" <= session.at <= session.last <= datetime.now(UTC).isoformat(timespec="seconds")


def test_no_study_and_the_study_itself_are_refused(made: Study, tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="the study itself"):
        merge(made, made.path)
    with pytest.raises(SetupError, match="is no study"):
        merge(made, tmp_path)


# Forgetting.


def traces(folder: Path, rater: str, session: str) -> list[str]:
    return [
        str(path.relative_to(folder)) for path in folder.rglob("*")
        if path.is_file() and any(one.encode() in path.read_bytes() for one in (rater, session))
    ]  # fmt: skip


def test_a_rater_is_forgotten_in_every_copy_that_is_known(packed: Study, made: Study, tmp_path: Path) -> None:
    second = read_study(Path(shutil.copytree(packed.path, tmp_path / "second")))
    third = read_study(Path(shutil.copytree(packed.path, tmp_path / "third")))
    for one in (second, third):  # sites of their own
        (one.path / "packs.jsonl").unlink()
        keys = json.loads((one.path / "keys.json").read_text())
        (one.path / "keys.json").write_text(json.dumps(keys | {"secret": one.path.name}))
    second, third = read_study(second.path), read_study(third.path)
    back = given_back(packed)
    old = json.dumps(back)
    merge(made, written(tmp_path, back))
    for into, of in ((second, made), (third, second)):
        assert merge(into, of.path).sessions == 1
        export(into, into.path / "export")
    backup = Path(shutil.copytree(made.path, tmp_path.parent / f"{tmp_path.name}-backup"))
    answers, lost, _ = forget(third, f"file:///x.html#r={back['key']}")
    assert (answers, lost) == (len(back["answers"]), [])
    assert traces(tmp_path, back["rater"], back["session"]) == [] and not (tmp_path / "back.json").exists()
    for one in (made, second, third):
        state = read_state(one)
        assert not state.sessions and [number for _, number in state.forgotten] == [len(back["answers"])]
    assert json.loads((third.path / "export" / "summary.json").read_text())["withdrawn"] == 1
    before = (made.path / JOURNAL).read_bytes()
    assert merge(made, written(tmp_path, old))[:3] == (0, 0, 1)
    assert (made.path / JOURNAL).read_bytes() == before and not read_state(made).sessions
    assert merge(second, backup)[:3] == (0, 0, 1)  # a copy from before
    assert merge(second, made.path)[:3] == (0, 0, 0)
    assert [number for _, number in read_state(second).forgotten] == [len(back["answers"])]  # once


@pytest.mark.parametrize("is_own", [False, True])
def test_who_was_forgotten_at_another_site_is_forgotten_by_merging_again(
    is_own: bool, made: Study, tmp_path: Path
) -> None:
    other = site(filled(made, 2), tmp_path / "other")
    (other.path / JOURNAL).unlink()
    gone = next(iter(read_state(made).sessions.values()))
    if is_own:  # what is ours goes by our own mark alone: another study may make its own of anybody
        shutil.copy(made.path / JOURNAL, other.path / JOURNAL)
    else:
        merge(other, made.path)
    export(other, other.path / "export")
    other = read_study(other.path.rename(tmp_path / "moved"))
    forget(made, gone.rater)
    merged = merge(other, made.path)
    assert [one.answers for one in merged.removed] == [len(gone.answers)] * (not is_own)
    assert len(read_state(other).sessions) == (2 if is_own else 1)
    assert (traces(other.path, gone.rater, gone.session) == []) is not is_own
    before = (other.path / JOURNAL).read_bytes()
    assert merge(other, made.path)[:3] == (0, 0, 0)
    assert (other.path / JOURNAL).read_bytes() == before
    assert [number for _, number in read_state(other).forgotten] == [len(gone.answers)]


def test_a_file_of_a_forgotten_rater_is_named(packed: Study, made: Study, tmp_path: Path, capsys: Any) -> None:
    back = given_back(packed)
    merge(made, written(tmp_path, back))
    forget(made, back["rater"])
    merge_by_command(made.path, [written(tmp_path, back, "again.json")])
    assert "again.json still has answers of forgotten raters: remove it" in capsys.readouterr().err.replace("\n", "")


def test_two_who_note_copies_at_once_note_both(made: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = copies_module.read_copies

    def slow(of: Study) -> Any:
        copies = real(of)
        time.sleep(0.3)
        return copies

    monkeypatch.setattr(copies_module, "read_copies", slow)
    children = []
    for name in ("a", "b"):
        if (child := os.fork()) == 0:
            with suppress(BaseException):
                copies_module.note(made, answers={name: name})
            os._exit(0)
        children.append(child)
    for child in children:
        os.waitpid(child, 0)
    assert {*real(made).answers} == {"a", "b"}


def test_copies_that_were_moved_are_named(packed: Study, made: Study, tmp_path: Path) -> None:
    back = given_back(packed)
    merge(made, written(tmp_path, back))
    second = study(tmp_path / "b", prompts=2, items=4, gold=1, traps=1, repeats=1)
    merge(second, made.path)
    export(made, tmp_path / "export")
    for name in ("export", "back.json", "b"):
        (tmp_path / name).rename(tmp_path / f"moved-{name}")
    answers, lost, _ = forget(made, back["rater"])
    assert answers == len(back["answers"])
    assert {path.name for path in lost} == {"export", "back.json", "study"}
    assert traces(made.path, back["rater"], back["session"]) == []


def test_a_study_from_elsewhere_makes_forget_touch_no_other_file(packed: Study, made: Study, tmp_path: Path) -> None:
    back = given_back(packed)
    merge(made, written(tmp_path, back))
    other = study(tmp_path / "b", prompts=2, items=4, gold=1, traps=1, repeats=1)
    merge(other, made.path)
    kept = filled(study(tmp_path / "kept", prompts=2), 1)
    export(kept, kept.path / "export")  # and this path is that of an export on the other's machine
    (other.path / "exports.json").write_text(json.dumps([str(kept.path / "export")]))
    copies = json.loads((other.path / COPIES).read_text())
    mentions = written(tmp_path, json.dumps({"rater": back["rater"]}), "mentions.json")
    copies["answers"] = {str(path): back["rater"] for path in (mentions, made.path / "keys.json", tmp_path / "gone")}
    (other.path / COPIES).write_text(json.dumps(copies))
    before = {path: path.read_bytes() for path in (*kept.path.rglob("*.csv"), mentions, made.path / "keys.json")}
    lost = forget(made, back["rater"]).lost
    assert {path: path.read_bytes() for path in before} == before
    assert {path.name for path in lost} == {"export", "mentions.json", "keys.json", "gone"}


def test_files_given_back_into_the_study_move_with_it(packed: Study, made: Study, tmp_path: Path) -> None:
    back = given_back(packed)
    merge(made, written(made.path, back))
    made.path.rename(tmp_path / "moved")
    assert forget(read_study(tmp_path / "moved"), back["rater"]).lost == []
    assert traces(tmp_path / "moved", back["rater"], back["session"]) == []


def test_forgetting_waits_for_no_study_that_is_being_served(packed: Study, made: Study, tmp_path: Path) -> None:
    second = study(tmp_path / "b", prompts=2, items=4, gold=1, traps=1, repeats=1)
    back = given_back(packed)
    merge(made, written(tmp_path, back))
    merge(second, made.path)
    if (child := os.fork()) == 0:
        journal = AnswerJournal(second)
        (tmp_path / "open").touch()
        time.sleep(60)
        journal.close()
        os._exit(0)
    try:
        while not (tmp_path / "open").exists():
            time.sleep(0.01)
        with pytest.raises(SetupError, match="by another process"):
            forget(made, back["rater"])
        assert len(read_state(made).sessions) == 1
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    assert forget(made, back["rater"]).answers == len(back["answers"])
    assert not read_state(second).sessions


def test_who_has_given_nothing_back_yet_is_forgotten_as_well(packed: Study, made: Study, tmp_path: Path) -> None:
    back = given_back(packed)
    assert forget(made, back["rater"]).answers == 0
    assert merge(made, written(tmp_path, back))[:3] == (0, 0, 1)
    assert traces(made.path, back["rater"], back["session"]) == []


def test_pages_are_not_written_onto_a_file(made: Study, tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="is a file"):
        write_packs(made, written(tmp_path, ""), 1)


def test_a_study_without_pages_merges_none(tmp_path: Path, packed: Study) -> None:
    made = filled(study(tmp_path, prompts=2, items=4), 1)
    with pytest.raises(SetupError, match="no page"):
        merge(made, written(tmp_path, given_back(packed)))
