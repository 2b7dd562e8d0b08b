"""Offline pages of a study (``vmmetrics rate pack``): an HTML file per rater, which gives a file of answers back.

The page is the served one; ``pack.js`` answers it in the place of the server, out of what is written here. What is
asked stays in the study: the file has names of clips that say nothing, and a key that the study alone can make.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
import secrets
from collections.abc import Callable, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from vmmetrics.errors import SetupError, refusing
from vmmetrics.rating.journal import PACKS, AnswerJournal
from vmmetrics.rating.page import study_page
from vmmetrics.rating.sessions import RaterSessions, RefusedStepError, digest, line_of
from vmmetrics.rating.study import Study
from vmmetrics.rating.trials import PACK, Session
from vmmetrics.utils.display.bundle import bundle, modules
from vmmetrics.utils.display.bundle import digest as source_of
from vmmetrics.utils.storage.atomic import making, writing
from vmmetrics.utils.storage.job_folder import check_new
from vmmetrics.utils.storage.journal import Journal, Line

FORMAT = 1
"""Version of the files that pages give back."""
MOST_BYTES = 200_000_000
"""Size of a page: browsers hold it as a whole, and larger ones do not load everywhere."""
_STYLE = re.compile(r'<link rel="stylesheet" href="/app/([\w./-]+)">\n')
_SCRIPT = re.compile(r'<script type="module" src="/app/([\w./-]+)"></script>\n')


def write_packs(study: Study, out: Path, raters: int, progress: Callable[[str], None] = lambda _: None) -> int:
    """Draw a session for each of some raters and write its page.

    Until the answers are merged, for two weeks at most, the sessions hold their items.

    Args:
        study: The study.
        out: Folder of the pages; absent or empty.
        raters: Number of raters.
        progress: Called with the name of each page when it is written.

    Returns:
        Bytes of the largest page.

    Raises:
        SetupError: The folder has files or cannot be written, the study is being served, or a page is too large.
    """
    check_new(out)
    with AnswerJournal(study) as journal, refusing("write", out), making(out) as folder:
        sessions, largest, lines = RaterSessions(journal, clock=None), 0, list[Line]()
        for number in range(1, raters + 1):
            try:
                session = sessions.draw(secrets.token_hex(6), "", PACK)
            except RefusedStepError as refused:
                raise SetupError(f"{study.path} has no items for a session") from refused
            key = key_of(study, line_of(session))
            session.token = digest(key)
            path = folder / f"rater-{number:0{len(str(raters))}d}.html"
            _write_page(path, sessions, session, key)
            largest = max(largest, path.stat().st_size)
            lines.append(line_of(session))
            progress(path.name)
        journal.write(journal.start())
        Journal(study.path / PACKS).append(lines)
    return largest


def key_of(study: Study, line: Mapping[str, Any]) -> str:
    """Return the key of a session that is given out, of 32 hexadecimal digits, by its line in the study.

    Whoever gives it back was given this session, and the session is as it was drawn.
    """
    drawn = json.dumps({name: value for name, value in line.items() if name != "token"}, sort_keys=True)
    return hmac.new(study.keys["secret"].encode(), drawn.encode(), hashlib.sha256).hexdigest()[:32]


def _write_page(path: Path, sessions: RaterSessions, session: Session, key: str) -> None:
    study, trials = sessions.study, range(len(session.trials))
    names = sessions.names(session, trials)
    clips = list(dict.fromkeys(identity for _, identity in sorted(names.items())))  # in an order that says nothing
    given = {"format": FORMAT, "session": session.session, "rater": session.rater, "key": key,
             "consent": session.consent}  # fmt: skip
    pack = {
        "given": given, "study": study_page(sessions.design, offline=True),
        "views": [sessions.trial_view(session, at) for at in trials],
        "media": {name: clips.index(identity) for name, identity in names.items()},
    }  # fmt: skip
    before, after = _page()
    size = sum(4 * study.media(identity).stat().st_size // 3 for identity in clips)
    if size > MOST_BYTES:
        raise SetupError(
            f"a page would have {size / 1e6:.0f} MB, more than {MOST_BYTES / 1e6:.0f}: make the study of shorter or "
            "smaller clips, or with fewer --items in a session"
        )
    with writing(path) as file:
        file.write(before.encode())
        file.write(_block("pack", "application/json", json.dumps(pack).replace("<", "\\u003c").encode()))
        for number, identity in enumerate(clips):
            data = base64.b64encode(study.media(identity).read_bytes())
            file.write(_block(f"clip-{number}", "text/plain", data))
        file.write(after.encode())


def _block(name: str, kind: str, data: bytes) -> bytes:
    return f'<script type="{kind}" id="{name}">'.encode() + data + b"</script>\n"


def _page() -> tuple[str, str]:
    """Return the raters' page with its styles and program inside, before and after what is of the rater."""
    page = _asset("rating/page/rate.html")
    styles = "".join(map(_asset, _STYLE.findall(page)))
    (entry,) = _SCRIPT.findall(page)
    program = bundle(modules(entry, _offline).values())
    policy = (
        f"default-src 'none'; script-src {source_of(program)}; style-src {source_of(styles)}; img-src data:; "
        "media-src blob:; base-uri 'none'; form-action 'none'"
    )
    page = _STYLE.sub("", page).replace("</head>\n", f"<style>{styles}</style>\n</head>\n")
    meta = f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
    page = page.replace("<title>", f"{meta}<title>")
    before, _, after = _SCRIPT.sub("\0", page).partition("\0")
    return before, f"<script>{program}</script>\n{after}"


def _offline(name: str) -> str:
    return _asset(name.replace("transport.js", "pack.js"))


def _asset(name: str) -> str:
    return files("vmmetrics").joinpath(*name.split("/")).read_text("utf-8")
