"""Models by name, as commands accept them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from vmmetrics.errors import SetupError
from vmmetrics.models.protocol import Form, Model
from vmmetrics.models.questions import Question
from vmmetrics.understanding.harness.choices import chosen_option
from vmmetrics.utils.endpoint.client import THREADS
from vmmetrics.utils.endpoint.messages import KEY_VARIABLE, TIMEOUT, EndpointSettings, further_fields

if TYPE_CHECKING:
    from vmmetrics.models.recorded import Released

TOKENS = 8192
"""Default limit of tokens per answer. A letter needs one and a caption a few hundred, but reasoning models write
thousands before; a reply cut off within its thought is asked for once more with four times the limit."""
TOKENS_A_SECOND = 20.0
"""Speed below which an endpoint counts as unreachable, tokens per second; a large model on a busy server has twice
that."""
SEED_DIGITS = 18
"""Most digits of ``random:SEED``."""
FORMS = (
    "endpoint:MODEL@URL, hf:FOLDER, hf:ORG/NAME, recorded:FILE, random, random:SEED, majority, frame-reader, perception"
)
"""Forms of model names; the frame reader is for the synthetic suite, perception for questions with a measure."""


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """Name and options of a model.

    Attributes:
        spec: Its name, as in :data:`FORMS`.
        form: How frames are handed over.
        times: True to state clip length, rate and frame times to a model that gets images.
        tokens: Tokens of an answer at most.
        temperature: Of an endpoint; None leaves it to the endpoint.
        seed: Of an endpoint's sampling; None sends none.
        per_minute: Requests to an endpoint a minute.
        prices: Prices of a million input tokens and of a million output tokens.
        max_cost: Most that may be spent.
        key_variable: Environment variable with the endpoint's key.
        threads: Questions at once to an endpoint; threads of torch for a local model, None for its own choice.
        effort: The word for an endpoint's ``reasoning_effort``.
        extra: JSON object of further fields of an endpoint's requests.
        batch_size: Questions that a local model is given at once.
        dtype: Of a local model's numbers, in torch's words; "auto" for that of its weights.
        device: Of a local model, in torch's words; "auto" spreads it over all GPUs; None takes the GPUs there are,
            or the CPU.

    Raises:
        ValueError: The name is invalid, or an option does not apply to the model.
    """

    spec: str
    form: Form = "auto"
    times: bool = True
    tokens: int = TOKENS
    temperature: float | None = 0.0
    seed: int | None = None
    per_minute: float | None = None
    prices: tuple[float, float] | None = None
    max_cost: float | None = None
    key_variable: str = KEY_VARIABLE
    threads: int | None = None
    effort: str | None = None
    extra: str | None = None
    batch_size: int = 1
    dtype: str = "auto"
    device: str | None = None

    def __post_init__(self) -> None:
        kind, rest = self.kind, self.rest
        seeded = rest.isdecimal() and len(rest) <= SEED_DIGITS
        valid = {"endpoint": "@http" in rest[1:], "hf": bool(rest), "recorded": bool(rest), "majority": not rest}
        valid |= {"frame-reader": not rest, "perception": not rest}
        if not (valid | {"random": not rest or seeded}).get(kind, False):
            raise ValueError(f"Expected a model ({FORMS}) but got {self.spec!r}")
        if self.form not in ("auto", "images", "video"):
            raise ValueError(f"Expected frames as auto, images or video but got {self.form!r}")
        if kind == "endpoint":
            self.endpoint()
        elif self.prices is not None or self.max_cost is not None:
            raise ValueError("Prices and a cost limit apply to endpoints only")
        elif self.effort is not None or self.extra is not None:
            raise ValueError("A reasoning effort and further request fields apply to endpoints only")
        if kind != "hf" and (self.batch_size, self.dtype, self.device) != (1, "auto", None):
            raise ValueError("A batch size, a dtype and a device apply to local models (hf:) only")

    @property
    def kind(self) -> str:
        """The part of the name before the colon."""
        return self.spec.partition(":")[0]

    @property
    def rest(self) -> str:
        """The part of the name after the colon."""
        return self.spec.partition(":")[2]

    def endpoint(self) -> EndpointSettings:
        """Settings of the endpoint.

        Raises:
            ValueError: It cannot be.
        """
        model, _, url = self.rest.rpartition("@http")
        input_price, output_price = self.prices or (None, None)
        return EndpointSettings(
            f"http{url}", model, tokens=self.tokens, temperature=self.temperature, seed=self.seed,
            per_minute=self.per_minute, input_price=input_price, output_price=output_price,
            key_variable=self.key_variable, timeout=max(TIMEOUT, self.tokens / TOKENS_A_SECOND),
            extra=further_fields(self.extra, self.effort),
        )  # fmt: skip


def open_model(
    settings: ModelSettings, questions: Sequence[Question], replies: Path, released: Released | None = None
) -> Model:
    """Open a model.

    Args:
        settings: Which.
        questions: The questions, whose key gives the majority letter.
        replies: Folder where replies of an endpoint are kept.
        released: How the benchmark reads recorded answers in its own released form; other forms are read by the general
            rules.

    Raises:
        SetupError: It cannot be loaded; the text says what to do.
    """
    kind, rest = settings.kind, settings.rest
    if kind == "endpoint":
        from vmmetrics.models.endpoint import EndpointModel

        threads = settings.threads or THREADS
        return EndpointModel(settings.endpoint(), replies, settings.form, settings.max_cost, threads, settings.times)
    if kind == "hf":
        from vmmetrics.models.local import LocalModel

        return LocalModel(
            rest, settings.tokens, settings.form, settings.threads, settings.times, settings.batch_size, settings.dtype,
            settings.device,
        )  # fmt: skip
    if kind == "recorded":
        from vmmetrics.models.recorded import RecordedModel, released_answers

        own = None if released is None else released_answers(released, Path(rest), questions)
        recorded = RecordedModel(Path(rest), own, chosen_option)
        recorded.check(questions)
        return recorded
    if kind == "frame-reader":
        from vmmetrics.understanding.synthetic.reader import FrameReader

        return FrameReader()
    if kind == "perception":
        from vmmetrics.understanding.harness.perception_model import PerceptionModel

        if questions and not any(isinstance(question.reference.get("measure"), Mapping) for question in questions):
            raise SetupError(
                f"perception decides questions with a measure, and none of the {len(questions):,} has one; of the "
                "shipped questions those about pairs have: 'vmmetrics prompts ask --prompts pairs'"
            )
        return PerceptionModel()
    from vmmetrics.models.guessing import MajorityModel, RandomModel

    return MajorityModel(questions) if kind == "majority" else RandomModel(int(rest or 0))
