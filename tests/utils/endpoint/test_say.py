"""Free text, and videos sent whole."""

from __future__ import annotations

import base64

import pytest

from vmmetrics.utils.endpoint.client import key_of
from vmmetrics.utils.endpoint.messages import RejectedError, Turn, Video, estimated_tokens


def test_free_text_is_asked_without_a_schema_and_kept(served, server):
    client, script = served(
        server.completion("B, I think.", usage={"prompt_tokens": 10, "completion_tokens": 4}),
        input_price=1.0,
        output_price=1.0,
    )
    turns = [Turn("user", "Which?", (b"\xff\xd8jpeg",))]
    replies = [client.say(turns) for _ in range(3)]
    assert [reply.text for reply in replies] == ["B, I think."] * 3
    assert len(script.requests) == 1
    body = script.requests[0][1]
    assert "response_format" not in body
    assert [part["type"] for part in body["messages"][0]["content"]] == ["image_url", "text"]
    assert client.ledger.cost == pytest.approx(14e-6)


def test_a_video_is_sent_as_one_part_and_is_another_question(served, server):
    client, script = served(server.completion("A"))
    one, other = (Turn("user", "Which?", video=Video(data, 8)) for data in (b"first", b"second"))
    client.say([one])
    client.say([one])
    client.say([other])
    assert len(script.requests) == 2
    video, text = script.requests[0][1]["messages"][0]["content"]
    assert video["type"] == "video_url"
    kind, _, data = video["video_url"]["url"].partition(";base64,")
    assert (kind, base64.b64decode(data), text["text"]) == ("data:video/mp4", b"first", "Which?")
    assert estimated_tokens([one]) > 8 * 500


def test_keys_of_conversations_without_a_video_stay_what_they_were(served):
    # worked out by the former code; kept replies must be found again
    assert key_of({"model": "m"}, None, turns=[Turn("user", "hi", (b"p",))]) == KEPT


def test_a_request_that_is_not_taken_is_about_itself(served, server):
    client, _ = served((400, {}, b'{"error": "too many images"}'), server.completion("A"))
    with pytest.raises(RejectedError, match="too many images"):
        client.say([Turn("user", "Which?")])
    assert client.say([Turn("user", "Which?")]).text == "A"


KEPT = "ccd5a46a0c45e5236694d72bca26e41c01d976970f422c653f29da07a0233db6"
