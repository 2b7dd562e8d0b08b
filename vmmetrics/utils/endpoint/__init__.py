"""Language models behind any OpenAI-compatible endpoint, asked for JSON objects: the only client for them.

Pure standard library. One request or thousands: retries, pace, cost, a cache that survives ``kill -9``, answers
checked against a JSON schema and asked for again with what was wrong::

    from vmmetrics.utils.endpoint.asking import in_words
    from vmmetrics.utils.endpoint.client import AskedQuestion, Client
    from vmmetrics.utils.endpoint.messages import EndpointSettings, Turn

    shape = {
        "type": "object",
        "properties": {"verdict": {"type": "string", "enum": ["keep", "drop"]}, "why": {"type": "string"}},
        "required": ["verdict", "why"],
        "additionalProperties": False,
    }
    settings = EndpointSettings("http://localhost:8000/v1", "some-model", tokens=300)
    client = Client(settings, folder=out / "replies")  # where replies are kept
    told = Turn("system", "You review prompts. " + in_words(shape))
    questions = [AskedQuestion(entry.index, (told, Turn("user", entry.prompt)), shape) for entry in entries]
    print(client.estimate(questions, expected=80))  # before anything is sent: "120 requests, about 25,000 tokens ..."
    for index, answer in client.ask_all(questions):  # several at once, as answers come
        if answer.kind == "answered":
            verdicts[index] = answer.value["verdict"]
        else:  # "refused", "unusable" (answer.why says how), "unreachable" (try again another time)
            ...
    client.ledger.cost, client.ledger.input_tokens  # what it took; kept replies take nothing

``Client.ask(question)`` asks one; ``Client.say(turns)`` has free text answered. ``Question.check`` takes what a schema
cannot say (a function from the object to what is wrong with it, or None). ``Turn.pictures`` takes JPEG bytes,
``Turn.video`` a video for endpoints that take one. :class:`Endpoint` is the bare wire: no cache, no checks.

What stops everything, :class:`~vmmetrics.errors.SetupError` (401, 404, a redirect: it would carry the key away),
:class:`CostLimitError` and, from ``ask_all``, :class:`NoAnswerError` when the endpoint is gone, are
:class:`~vmmetrics.errors.VMMetricsError`, whose text is for the user. The key is read from the environment variable
that ``EndpointSettings.key_variable`` names, and written nowhere.
"""
