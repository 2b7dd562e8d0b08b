"""Client for language models: caches replies, counts tokens, checks answers, runs questions in parallel."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Generic, TypeVar

from vmmetrics.errors import refusing
from vmmetrics.utils import web
from vmmetrics.utils.endpoint import messages
from vmmetrics.utils.endpoint.asking import Answer, converse, read_answer
from vmmetrics.utils.endpoint.messages import NoAnswerError, RejectedError, Reply, Turn
from vmmetrics.utils.endpoint.wire import FIRST_PAUSE, Endpoint
from vmmetrics.utils.schema import parse_json
from vmmetrics.utils.storage.atomic import write_json
from vmmetrics.utils.weights.folder import weights_home

# Replies on disk, each under the hash of everything it depends on.


def default_folder(name: str = "replies") -> Path:
    """Return the folder of cached replies, beside the folder of weights."""
    return weights_home().parent / name


def key_of(*dependencies: Any, turns: Sequence[Turn]) -> str:
    """Return the cache key of a conversation: a hash of it and of the settings its reply depends on.

    Args:
        dependencies: Ready for JSON: settings, shape, seed.
        turns: The conversation.
    """
    conversation = []
    for turn in turns:
        video = () if turn.video is None else (turn.video.kind.encode(), turn.video.data)
        before = [turn.before] if turn.before else []  # replies that were kept before there was any stay valid
        conversation.append(
            [turn.role, turn.text, *before, [hashlib.sha256(part).hexdigest() for part in (*turn.pictures, *video)]]
        )
    return hashlib.sha256(json.dumps([*dependencies, conversation], sort_keys=True).encode()).hexdigest()


class ReplyCache:
    """Cache of replies on disk, for several threads and processes; files are written atomically.

    Args:
        folder: Folder of the cache; made with the first reply.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._writing = threading.Lock()

    def get(self, key: str) -> Reply | None:
        """Return the cached reply of a key; None where there is none, or its file is damaged."""
        try:
            stored = parse_json((self.folder / f"{key}.json").read_bytes())
            counts = {name: messages.tokens(stored.get(name)) for name in ("input_tokens", "output_tokens")}
            return Reply(str(stored["text"]), bool(stored["refused"]), bool(stored["cut"]), **counts)
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None

    def put(self, key: str, reply: Reply) -> None:
        """Store a reply.

        Raises:
            SetupError: The folder cannot be written.
        """
        with self._writing, refusing("write", f"replies to {self.folder}"):  # the temporary name is one per process
            self.folder.mkdir(parents=True, exist_ok=True)
            write_json(self.folder / f"{key}.json", asdict(reply))


THREADS = 4
"""Questions in parallel: hosted endpoints allow at least this, and a local one batches them."""
LAST_SECONDS = 3.0
"""Seconds for which replies on their way are waited for where the caller stops early."""
GIVE_UP = 8
"""Questions in a row without any reply after which the endpoint is given up; each was tried for half a minute."""

Check = Callable[[dict[str, Any]], str | None]
T = TypeVar("T")
S = TypeVar("S")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class AskedQuestion(Generic[T]):
    """A question to a model.

    Attributes:
        about: The caller's key of the question; returned with the answer.
        turns: What is said.
        shape: JSON schema of the answer, an object at its root. Name it in the words too
            (:func:`vmmetrics.utils.endpoint.asking.in_words`): not every endpoint takes a schema.
        check: Returns the fault of an answer of that shape as text for the model, or None.
        seed: Instead of the settings' seed: another seed is another question.
        temperature: Instead of the settings' temperature.
    """

    about: T
    turns: tuple[Turn, ...]
    shape: Mapping[str, Any]
    check: Check | None = None
    seed: int | None = None
    temperature: float | None = None

    @property
    def options(self) -> dict[str, float]:
        """The options of its own."""
        options = {"seed": self.seed, "temperature": self.temperature}
        return {name: value for name, value in options.items() if value is not None}


class Client:
    """Asks a model behind an endpoint for JSON objects; nothing is asked, or paid for, twice. Safe for several threads.

    Args:
        settings: The endpoint and its model.
        folder: Folder of cached replies; None takes ``replies`` beside the folder of weights.
        max_cost: Limit of the cost, in the currency of the prices; None for none.
        first_pause: Seconds before the second try of a request that failed.

    Attributes:
        ledger: Tokens and money so far; replies from the disk cost nothing.

    Raises:
        SetupError: There is a cost limit without prices.
    """

    def __init__(
        self,
        settings: messages.EndpointSettings,
        folder: Path | None = None,
        max_cost: float | None = None,
        first_pause: float = FIRST_PAUSE,
    ) -> None:
        self.settings = settings
        self.ledger = messages.Ledger(settings, max_cost)
        self._endpoint = Endpoint(settings, first_pause)
        self._cache = ReplyCache(default_folder() if folder is None else folder)
        self._silent = 0  # questions in a row without any reply
        # by key, with how many hold it or wait: equal conversations wait for the first one's reply
        self._claims: dict[str, tuple[threading.Lock, int]] = {}
        self._claiming = threading.Lock()

    def ask(self, question: AskedQuestion[Any]) -> Answer:
        """Ask one question, again where the answer cannot be used.

        Returns:
            The answer, or the reason why there is none, such as an endpoint that cannot be reached.

        Raises:
            NoAnswerError: It is the :data:`GIVE_UP`-th in a row that could not be reached.
            SetupError: The endpoint takes no requests, or not from us, or not the :data:`GIVE_UP`-th in a row.
            CostLimitError: The next request could go over the bound.
        """
        try:
            answer = converse(
                lambda turns: self.say(turns, question),
                question.turns,
                lambda reply: read_answer(reply, question.shape, question.check),
            )
        except (RejectedError, NoAnswerError) as error:
            self._silent += 1
            if self._silent < GIVE_UP:
                return Answer(None, "unusable" if isinstance(error, RejectedError) else "unreachable", str(error))
            if isinstance(error, RejectedError):  # it is not this one question
                raise
            raise NoAnswerError(f"{self.settings.address} no longer answers: {error}") from error
        self._silent = 0
        return answer

    def say(self, turns: Sequence[Turn], question: AskedQuestion[Any] | None = None, limit: int | None = None) -> Reply:
        """Return the reply to a conversation, in free text unless a question is given; it is not checked.

        Args:
            turns: What is said.
            question: Question whose schema, seed and temperature are sent; None for free text.
            limit: Tokens of the answer instead of the settings'.

        Raises:
            NoAnswerError: The endpoint gave none.
            RejectedError: The endpoint does not take this request; ``TooLongError`` where it is too long.
            SetupError: The endpoint takes no requests, or not from us.
            CostLimitError: The request could go over the bound.
        """
        key = self._key(turns, question, limit)
        with self._claim(key):
            cached = self._cache.get(key)
            if cached is not None:
                return cached
            promised = self.ledger.promise(turns, limit)
            shape, options = (None, {}) if question is None else (question.shape, question.options)
            reply = None
            try:
                reply = self._endpoint.reply(turns, shape, options, limit)
            finally:
                self.ledger.settle(promised, turns, reply)
            self._cache.put(key, reply)
            return reply

    @contextmanager
    def _claim(self, key: str) -> Iterator[None]:
        """Hold a conversation for the block, alone; nothing is left of it once nobody waits."""
        with self._claiming:
            lock, users = self._claims.get(key, (threading.Lock(), 0))
            self._claims[key] = lock, users + 1
        try:
            with lock:
                yield
        finally:
            with self._claiming:
                _, users = self._claims.pop(key)
                if users > 1:
                    self._claims[key] = lock, users - 1

    def ask_all(self, questions: Iterable[AskedQuestion[T]], threads: int = THREADS) -> Iterator[tuple[T, Answer]]:
        """Ask many questions, several at once.

        Args:
            questions: Taken one by one as there is room.
            threads: How many at once.

        Yields:
            ``question.about`` and the answer, in the order in which answers come.

        Raises:
            VMMetricsError: As :meth:`ask`; answers that were on their way are yielded before.
        """
        with closing(self.work_through(self.ask, questions, threads)) as answers:
            for question, answer in answers:
                yield question.about, answer

    def work_through(
        self, work: Callable[[S], R], items: Iterable[S], threads: int = THREADS
    ) -> Generator[tuple[S, R]]:
        """Run a function on each item, several in parallel, for work that asks several questions in turn.

        Args:
            work: Asks by :meth:`ask`; called in threads of its own.
            items: Taken one by one as there is room.
            threads: How many at once.

        Yields:
            The item and what ``work`` returned, in the order in which they are done. Where the caller stops early,
            nothing new is begun, and replies that come within :data:`LAST_SECONDS` are kept.

        Raises:
            VMMetricsError: What ``work`` raised first; what else was on its way is yielded before.
        """
        with ThreadPoolExecutor(threads, thread_name_prefix="endpoint") as pool:
            flying: dict[Future[R], S] = {}
            try:
                yield from _drained(pool, work, iter(items), threads, flying)
            finally:
                self._endpoint.stopped.set()  # nobody waits for a turn or another try
                pool.shutdown(wait=False, cancel_futures=True)
                if wait(flying, LAST_SECONDS).not_done:
                    web.cut_off()
                pool.shutdown()
                self._endpoint.stopped.clear()

    def unanswered(self, questions: Iterable[AskedQuestion[T]]) -> Iterator[AskedQuestion[T]]:
        """Return the questions whose first reply is not cached yet."""
        return (question for question in questions if self._cache.get(self._key(question.turns, question)) is None)

    def estimate(self, questions: Iterable[AskedQuestion[Any]], expected: int) -> messages.CostEstimate:
        """Estimate the tokens and cost of questions; cached replies cost nothing.

        Args:
            questions: All of them.
            expected: Tokens of a usual answer.
        """
        return messages.estimate(self.settings, (question.turns for question in self.unanswered(questions)), expected)

    def _key(self, turns: Sequence[Turn], question: AskedQuestion[Any] | None, limit: int | None = None) -> str:
        part = self.settings.part() | ({} if limit is None else {"tokens": limit})
        if question is None:
            return key_of(part, None, turns=turns)
        return key_of(part | question.options, dict(question.shape), turns=turns)


def _drained(
    pool: ThreadPoolExecutor, work: Callable[[S], R], items: Iterator[S], threads: int, flying: dict[Future[R], S]
) -> Iterator[tuple[S, R]]:
    """Keep ``threads`` items in ``flying``; after a failure begin no more, hand over what still comes, and raise it."""
    failure: BaseException | None = None
    while True:
        if failure is None:
            flying |= {pool.submit(work, item): item for item in islice(items, threads - len(flying))}
        if not flying:
            break
        for future in wait(flying, return_when=FIRST_COMPLETED).done:
            item = flying.pop(future)
            error = future.exception()
            if error is None:
                yield item, future.result()
            failure = failure or error
    if failure is not None:
        raise failure
