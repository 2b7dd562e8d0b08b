"""Local video language models: any image-text-to-text model of transformers."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np

from vmmetrics.errors import SetupError
from vmmetrics.models import protocol
from vmmetrics.models.frames import Frames
from vmmetrics.models.loading import LESS, is_memory, load
from vmmetrics.models.protocol import Form, ModelAnswer, R, S
from vmmetrics.models.questions import Question, Shown
from vmmetrics.utils.endpoint.messages import RejectedError, Reply, Turn

_TICKS = 1000  # of a second: the clock in which the model is told the times of frames
_GREEDY = {"do_sample": False, "temperature": None, "top_p": None, "top_k": None}


@dataclass(frozen=True, slots=True)
class _Request:
    """A question with its conversation and frames.

    Attributes:
        question: It.
        turns: The conversation, without frames.
        frames: Frames shown before the last turn.
        kind: How: "video", "images" or "none".
        times_text: Frame times as text.
    """

    question: Question
    turns: Sequence[Turn]
    frames: Frames
    kind: str
    times_text: str | None


class LocalModel:
    """Local model with greedy, reproducible decoding; it answers several questions in a batch.

    Args:
        source: Folder, or name on the Hub, of a model that ``AutoModelForImageTextToText`` loads, with its processor.
        tokens: Most tokens of an answer; one cut off before its end is written anew with more, once.
        form: How frames are handed over; "auto" is a video where the processor takes videos. One frame is a picture.
        threads: For torch on the CPU.
        times: True to state frame times as text where the model does not get them with the video.
        batch_size: Questions at once.
        dtype: See :func:`~vmmetrics.models.loading.load`.
        device: torch device.

    Raises:
        SetupError: A package or the model is missing.
    """

    sees = True

    def __init__(
        self, source: str | Path, tokens: int, form: Form = "auto", threads: int | None = None, times: bool = True,
        batch_size: int = 1, dtype: str = "auto", device: str | None = None,
    ) -> None:  # fmt: skip
        loaded = load(str(source), dtype, device)
        self._model, self._processor, self.name = loaded.model, loaded.processor, loaded.name
        self._processor.tokenizer.padding_side = "left"  # what is written follows what was said
        videos = getattr(self._processor, "video_processor", None) is not None
        if form == "video" and not videos:
            raise SetupError(f"The processor of {source} does not accept videos; choose --video-format images")
        self._video = videos and form != "images"
        self._tokens, self._threads, self._times = tokens, threads, times
        self._in_video = self._video and self._reads_times()
        timing = "by the processor" if self._in_video else protocol.TIMES_AS_TEXT if times else protocol.NO_TIMES
        asked = {"tokens": tokens, "form": "video" if self._video else "images", "times": timing}
        self.identity: Mapping[str, Any] = {**loaded.identity, **asked}
        self._batcher: Batcher[_Request, ModelAnswer] = Batcher(self._answers, batch_size)

    def answer(self, question: Question, turns: Sequence[Turn], frames: Frames) -> ModelAnswer:
        """Generate an answer; see :class:`~vmmetrics.models.protocol.Model`.

        Raises:
            RejectedError: These frames or words are too many for the model or the memory, or not to its taste.
        """
        return self._batcher.ask(self._request(question, turns, frames))

    def _request(self, question: Question, turns: Sequence[Turn], frames: Frames) -> _Request:
        count = len(frames.pictures)
        kind = "none" if not count else "video" if self._video and count > 1 else "images"
        tells = self._times and count and not (kind == "video" and self._in_video)
        return _Request(question, turns, frames, kind, frames.words() if tells else None)

    def work_through(self, work: Callable[[S], R], items: Iterable[S]) -> Generator[tuple[S, R]]:
        """Run as many items at once as fit in a batch."""
        return self._batcher.work_through(work, items)

    def _reads_times(self) -> bool:
        """Return True if the processor's output for a video depends on its frame times."""
        inputs = []
        for seconds in (0.5, 4.0):
            stated = tuple(seconds * index for index in range(4))
            frames = Frames(np.zeros((4, 64, 64, 3), np.uint8), Shown(stated, "none"), stated, 1 / seconds)
            blank = _Request(Question("", "", "?"), (Turn("user", "?"),), frames, "video", None)
            try:
                inputs.append(self._inputs([blank]))
            except Exception:  # not such frames: it is not known
                return False
        return any(not _same(inputs[0][name], inputs[1].get(name)) for name in inputs[0])

    def _answers(self, requests: Sequence[_Request]) -> list[ModelAnswer | Exception]:
        """Return the model's answer to each request, or the error."""
        first = self._replies(requests, self._tokens)
        again = [
            index
            for index, (reply, request) in enumerate(zip(first, requests, strict=True))
            if isinstance(reply, Reply) and protocol.unfinished(reply, request.question)
        ]
        second = dict(
            zip(again, self._replies([requests[index] for index in again], protocol.MORE * self._tokens), strict=True)
        )
        answers: list[ModelAnswer | Exception] = []
        for index, (reply, request) in enumerate(zip(first, requests, strict=True)):
            more = second.get(index)
            if isinstance(reply, Reply):
                whole = protocol.together(reply, more) if isinstance(more, Reply) else reply
                answers.append(
                    protocol.model_answer(whole, times_text=request.times_text, again=isinstance(more, Reply))
                )
            else:
                answers.append(reply)
        return answers

    def _replies(self, requests: Sequence[_Request], tokens: int) -> list[Reply | RejectedError]:
        """Generate a reply to each request, batched by kind of input: video, images or none."""
        replies: dict[int, Reply | RejectedError] = {}
        for kind in ("video", "images", "none"):
            indices = [index for index, request in enumerate(requests) if request.kind == kind]
            if indices:
                written = self._halving([requests[index] for index in indices], tokens)
                replies |= dict(zip(indices, written, strict=True))
        return [replies[index] for index in range(len(requests))]

    def _halving(self, requests: Sequence[_Request], tokens: int) -> list[Reply | RejectedError]:
        """Generate a reply to each request; split a batch that fails (memory, or one bad request) in halves."""
        try:
            return [*self._written(requests, tokens)]
        except (ValueError, RuntimeError, IndexError, MemoryError) as error:
            if len(requests) == 1:
                reason = str(error).strip().partition("\n")[0]
                if is_memory(error):
                    return [RejectedError(f"{self.name} ran out of memory ({reason or 'MemoryError'}); {LESS}")]
                return [RejectedError(f"{self.name} rejects the input: {reason}")]
        middle = len(requests) // 2  # out of the except clause: what the error holds of the memory is free
        return self._halving(requests[:middle], tokens) + self._halving(requests[middle:], tokens)

    def _written(self, requests: Sequence[_Request], tokens: int) -> list[Reply]:
        """Generate replies to several conversations in one batch."""
        import torch

        if self._threads is not None:  # of each thread its own
            torch.set_num_threads(self._threads)
        inputs = self._inputs(requests).to(self._model.device, dtype=self._model.dtype)
        prompt_length = inputs["input_ids"].shape[1]
        with torch.inference_mode():
            rows = self._model.generate(**inputs, max_new_tokens=tokens, **_GREEDY)[:, prompt_length:].tolist()
        ends = self._model.generation_config.eos_token_id
        ends = set(ends if isinstance(ends, list) else [ends])
        replies = []
        for row, mask in zip(rows, inputs["attention_mask"], strict=True):
            length = next((index + 1 for index, token in enumerate(row) if token in ends), None)
            text = self._processor.decode(row[:length], skip_special_tokens=True)
            count = len(row) if length is None else length
            cut = length is None and count >= tokens
            replies.append(Reply(text.strip(), cut=cut, input_tokens=int(mask.sum()), output_tokens=count))
        return replies

    def _inputs(self, requests: Sequence[_Request]) -> Any:
        """Return the model's inputs: text through its chat template, frames through its processor."""
        import torch

        texts = [self._text(request) for request in requests]
        options: dict[str, Any] = {"text": texts, "return_tensors": "pt", "padding": len(texts) > 1}
        kind = requests[0].kind
        pictures = [torch.from_numpy(request.frames.pictures).permute(0, 3, 1, 2) for request in requests]
        if kind == "video":
            times = [_times(request.frames) for request in requests]
            options |= {"videos": pictures, "video_metadata": times, "do_sample_frames": False}
        elif kind == "images":
            options["images"] = [list(shown) for shown in pictures] if len(pictures) > 1 else list(pictures[0])
        begins = getattr(self._processor.tokenizer, "bos_token", None)
        if begins and texts[0].startswith(begins):
            options["add_special_tokens"] = False  # the template put it there
        return self._processor(**options)

    def _text(self, request: _Request) -> Any:
        """Return the conversation in the model's chat template, with placeholders for images or the video."""
        *before, last = request.turns
        parts = [{"type": "text", "text": request.times_text}] if request.times_text else []
        parts += [{"type": "video"}] if request.kind == "video" else [{"type": "image"}] * len(request.frames.pictures)
        messages = [{"role": turn.role, "content": [{"type": "text", "text": turn.text}]} for turn in before]
        messages.append({"role": last.role, "content": [*parts, {"type": "text", "text": last.text}]})
        return self._processor.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)


def _same(first: Any, second: Any) -> bool:
    """Return True if two inputs of one name are equal: tensors, or lists of numbers."""
    one, other = np.asarray(first), np.asarray(second)
    return one.shape == other.shape and bool((one == other).all())


def _times(frames: Frames) -> Mapping[str, Any]:
    """Return the frame times as transformers' video metadata: frame indices on a clock of 1,000 a second."""
    return {
        "fps": float(_TICKS),
        "frames_indices": [round(time * _TICKS) for time in frames.times],
        "total_num_frames": max(1, round(len(frames.times) * _TICKS / frames.fps)),
        "duration": len(frames.times) / frames.fps,
    }


Asked = TypeVar("Asked")
Got = TypeVar("Got")


class Batcher(Generic[Asked, Got]):
    """Runs work on several items at once and answers their requests in batches, once each item waits or is done.

    Which items make a batch depends on their order alone, so that a run is reproducible.

    Args:
        answer: Answers several requests; returns one answer or error for each, in their order.
        size: Items at once.
    """

    def __init__(self, answer: Callable[[Sequence[Asked]], Sequence[Got | Exception]], size: int) -> None:
        self._answer = answer
        self._size = size
        self._lock = threading.Lock()
        self._waiting: list[tuple[Asked, Future[Got]]] = []
        self._working = 0

    def ask(self, request: Asked) -> Got:
        """Return the answer to a request, or raise its error; outside :meth:`work_through` it is a batch of one."""
        future: Future[Got] = Future()
        with self._lock:
            self._waiting.append((request, future))
            self._answer_if_all_wait()
        return future.result()

    def work_through(self, work: Callable[[S], R], items: Iterable[S]) -> Generator[tuple[S, R]]:
        """Run work that asks, over each item.

        Yields:
            The item and what ``work`` returned, in the order of the items.
        """
        waiting = iter(items)
        if self._size == 1:  # in this thread, where it can be interrupted
            for item in waiting:
                yield item, work(item)
            return
        with ThreadPoolExecutor(self._size, thread_name_prefix="batch") as pool:
            while batch := list(islice(waiting, self._size)):
                self._working = len(batch)
                futures = [pool.submit(self._done, work, item) for item in batch]
                for item, future in zip(batch, futures, strict=True):
                    yield item, future.result()

    def _done(self, work: Callable[[S], R], item: S) -> R:
        try:
            return work(item)
        finally:
            with self._lock:
                self._working -= 1
                self._answer_if_all_wait()

    def _answer_if_all_wait(self) -> None:
        """Answer the pending requests once no running item can add one; the caller holds the lock."""
        if not self._waiting or len(self._waiting) < self._working:
            return
        requests, futures = zip(*self._waiting, strict=True)
        self._waiting = []
        answers: Sequence[Got | BaseException]
        try:
            answers = self._answer(requests)
        except BaseException as error:  # each thread that asked has to hear of it
            answers = [error] * len(futures)
        for future, answer in zip(futures, answers, strict=True):
            if isinstance(answer, BaseException):
                future.set_exception(answer)
            else:
                future.set_result(answer)
