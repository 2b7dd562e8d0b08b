"""What every rater's page is sent of a study, by a server or in a file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from vmmetrics.rating.designs import Design
from vmmetrics.rating.flashes import LIMIT
from vmmetrics.rating.sessions import PLATFORMS
from vmmetrics.rating.study import default_texts


def study_page(design: Design, *, offline: bool = False) -> dict[str, Any]:
    """Return what every rater sees: texts, questions, scale; nothing of a clip."""
    study, settings = design.study, design.settings
    filled = {
        "contact": settings.contact, "minutes": str(max(1, round(design.minutes))), "age": str(settings.min_age),
        "ethics": settings.ethics, "licence": settings.licence, "pay": f"{settings.pay:g} {settings.currency}".strip(),
    }  # fmt: skip
    texts = {name: _filled(text, filled) for name, text in {**default_texts(), **settings.texts}.items()}
    texts |= {name: texts[f"pack_{name}"] for name in ("link", "done", "withdrawn") if offline}
    without = ["other"] if offline else ["consent_pack"]
    if not any(clip.flashes > LIMIT for clip in study.clips.values()):
        without.append("consent_flashing")
    texts |= dict.fromkeys(without, "")
    return {
        "texts": texts, "consent": study.consent, **design.page(texts),
        "parameters": [name for person, others in PLATFORMS.values() for name in (person, *others) if not offline],
    }  # fmt: skip


def _filled(text: str, values: Mapping[str, str]) -> str:
    return re.sub(r"\{(\w+)\}", lambda match: values.get(match[1], match[0]), text).strip()
