"""The OpenAI-compatible endpoint of drafts, against a scripted one on this machine: every trouble in plain words, the
key in the header alone."""

from __future__ import annotations

import threading
import time

import pytest
from ferrotile_server.drafting.destination import Destination, Key, NoDestination, destination_of
from ferrotile_server.drafting.endpoint import Endpoint, wait_of
from ferrotile_server.drafting.model import Answer, Message, ModelError, Question, Role, Trouble, Usage
from scripted_endpoint import KEY, Turn, breaks, drips, endpoint, garbage, hangs, refuses, says

QUESTION = Question((Message(Role.SYSTEM, "port"), Message(Role.USER, "this")), 1000, 10.0)


def asked(turn: Turn, question: Question = QUESTION, silence: float = 5.0, key: str = KEY) -> Answer:
    with endpoint(turn) as server:
        model = Endpoint(Destination(server.url, "scripted", Key(key)), silence)
        return model(question, threading.Event(), lambda _: None)


def trouble(turn: Turn, question: Question = QUESTION, silence: float = 5.0) -> ModelError:
    with pytest.raises(ModelError) as raised:
        asked(turn, question, silence)
    assert KEY not in str(raised.value)
    return raised.value


def test_an_answer_with_its_usage() -> None:
    assert asked(says("a text of several pieces " * 9, 1234, 56)) == Answer(
        "a text of several pieces " * 9, Usage(1234, 56)
    )


def test_what_is_sent() -> None:
    with endpoint(says("yes")) as server:
        Endpoint(Destination(server.url, "scripted", Key(KEY)))(QUESTION, threading.Event(), lambda _: None)
    (request,) = server.requests
    assert request.path == "/v1/chat/completions"
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert not [name for name in request.headers if name.startswith(("x-", "openai"))]
    assert request.body == {
        "model": "scripted",
        "messages": [{"role": "system", "content": "port"}, {"role": "user", "content": "this"}],
        "stream": True,
        "max_tokens": 1000,
        "stream_options": {"include_usage": True},
    }


def test_no_key_no_header(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-another")
    monkeypatch.setenv("OPENAI_ORG_ID", "org-another")
    with endpoint(says("yes")) as server:
        Endpoint(Destination(server.url, "scripted", Key("")))(QUESTION, threading.Event(), lambda _: None)
    assert "authorization" not in server.requests[0].headers
    assert "another" not in str(server.requests[0].headers)


def test_a_rate_limit_says_how_long_to_wait() -> None:
    found = trouble(refuses(429, "slow down", retry_after="7"))
    assert (found.trouble, found.wait, found.passing) == (Trouble.RATE, 7.0, True)


@pytest.mark.parametrize(
    ("given", "seconds"),
    [
        ("7", 7.0),
        ("0.5", 0.5),
        ("-3", 0.0),
        ("", None),
        ("soon", None),
        ("nan", None),
        ("inf", None),
        ("Thu, 01 Jan 1970 00:01:40 GMT", 40.0),
        ("Thu, 01 Jan 1970 00:00:10 GMT", 0.0),
    ],
)
def test_retry_after_is_a_number_or_a_date(given: str, seconds: float | None) -> None:
    assert wait_of({"retry-after": given}, 60.0) == seconds


def test_silence_is_a_time_out() -> None:
    assert trouble(hangs, silence=0.3).trouble is Trouble.TIMEOUT


def test_a_question_takes_no_longer_than_it_may() -> None:
    start = time.monotonic()
    found = trouble(drips, Question(QUESTION.messages, 100_000, 0.5))
    assert found.trouble is Trouble.TIMEOUT
    assert "within" in found.message
    assert found.usage.answer > 0
    assert found.usage.estimated
    assert time.monotonic() - start < 5


def test_cancel_ends_it() -> None:
    cancel = threading.Event()
    threading.Timer(0.2, cancel.set).start()
    with endpoint(hangs) as server, pytest.raises(ModelError) as raised:
        Endpoint(Destination(server.url, "m", Key("")))(QUESTION, cancel, lambda _: None)
    assert raised.value.trouble is Trouble.CANCELLED


def test_a_stream_that_breaks() -> None:
    found = trouble(breaks("half of"))
    assert (found.trouble, found.passing) == (Trouble.BROKEN, True)
    assert "broke off after 7 characters" in found.message


def test_malformed_events() -> None:
    found = trouble(garbage)
    assert (found.trouble, found.passing) == (Trouble.MALFORMED, True)


def test_no_stream_at_all() -> None:
    assert trouble(lambda h: h.plain(200, "<html>hello</html>", content_type="text/html")).trouble in (
        Trouble.BROKEN,
        Trouble.MALFORMED,
    )


def test_a_fault_of_the_endpoint_passes() -> None:
    found = trouble(refuses(503, "overloaded"))
    assert (found.trouble, found.passing) == (Trouble.SERVER, True)


def test_a_wrong_key_is_final_and_not_repeated() -> None:
    found = trouble(refuses(401, f"Incorrect API key provided: {KEY}"))
    assert (found.trouble, found.passing) == (Trouble.REFUSED, False)
    assert "***" in found.message


def test_redirects_are_not_followed() -> None:
    with endpoint(says("stolen")) as elsewhere:
        found = trouble(refuses(307, location=f"{elsewhere.url}/chat/completions"))
        assert elsewhere.requests == []
    assert found.trouble is Trouble.REFUSED
    assert "nothing is sent there" in found.message


def test_a_key_in_an_answer_is_taken_out() -> None:
    assert asked(says(f"your key is {KEY}.")).text == "your key is ***."


def test_nobody_listens() -> None:
    with endpoint(says("yes")) as server:
        url = server.url
    model = Endpoint(Destination(url, "m", Key("")))
    with pytest.raises(ModelError) as raised:
        model(QUESTION, threading.Event(), lambda _: None)
    assert raised.value.trouble is Trouble.BROKEN


def test_parameters_that_an_endpoint_does_not_know_are_renamed_once() -> None:
    unknown = refuses(400, "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.")
    with endpoint(unknown, says("yes"), says("again")) as server:
        model = Endpoint(Destination(server.url, "m", Key("")))
        first = model(QUESTION, threading.Event(), lambda _: None)
        second = model(QUESTION, threading.Event(), lambda _: None)
    assert (first.text, second.text) == ("yes", "again")
    assert ["max_tokens" in r.body for r in server.requests] == [True, False, False]
    assert server.requests[1].body["max_completion_tokens"] == 1000


def test_an_endpoint_that_finds_the_limit_too_large_gets_none_and_the_answer_is_cut_here() -> None:
    large = refuses(400, "max_tokens is too large: 32000. This model supports at most 16384 completion tokens.")
    other = refuses(400, "max_completion_tokens is too large")
    with endpoint(large, other, drips) as server:
        model = Endpoint(Destination(server.url, "m", Key("")))
        answer = model(Question(QUESTION.messages, 20, 10.0), threading.Event(), lambda _: None)
    assert answer.cut
    assert 60 < len(answer.text) < 90
    assert [sorted(k for k in r.body if k.startswith("max")) for r in server.requests] == [
        ["max_tokens"],
        ["max_completion_tokens"],
        [],
    ]


def test_an_endpoint_that_counts_nothing() -> None:
    unknown = refuses(400, "Unrecognized request argument supplied: stream_options")
    with endpoint(unknown, says("yes")) as server:
        model = Endpoint(Destination(server.url, "m", Key("")))
        assert model(QUESTION, threading.Event(), lambda _: None).text == "yes"
    assert ["stream_options" in r.body for r in server.requests] == [True, False]


def test_an_answer_beyond_its_limit_is_cut() -> None:
    answer = asked(drips, Question(QUESTION.messages, 5, 10.0))
    assert answer.cut
    assert 40 < len(answer.text) < 200


def test_the_end_at_the_limit_of_tokens_is_known() -> None:
    assert asked(says("half", finish="length")).cut


ENVIRONMENT = {"FERROTILE_BASE_URL": "https://models.example/v1", "FERROTILE_MODEL": "m", "FERROTILE_API_KEY": "k1"}


def test_a_destination_of_the_environment() -> None:
    found = destination_of("", "", ENVIRONMENT)
    assert (found.base_url, found.model, found.key.text) == ("https://models.example/v1", "m", "k1")
    assert "k1" not in repr(found)
    assert destination_of("http://localhost:1/v1/", "other", ENVIRONMENT).base_url == "http://localhost:1/v1"


@pytest.mark.parametrize(
    "environment", [{}, {"OPENAI_API_KEY": "k"}, {"FERROTILE_MODEL": "m"}, {"OPENAI_BASE_URL": "u"}]
)
def test_without_a_destination_nothing_is_sent(environment: dict[str, str]) -> None:
    with pytest.raises(NoDestination, match="nothing is sent anywhere"):
        destination_of("", "", environment)


def test_the_key_of_one_endpoint_is_not_sent_to_another() -> None:
    environment = {"OPENAI_API_KEY": "theirs"}
    assert destination_of("https://models.example/v1", "m", environment).key.text == ""
    assert destination_of("https://api.openai.com/v1", "m", environment).key.text == "theirs"
    paired = {**environment, "OPENAI_BASE_URL": "https://proxy.example/v1"}
    assert destination_of("", "m", paired).key.text == "theirs"
    assert destination_of("https://api.openai.com/v1", "m", paired).key.text == ""


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("http://models.example/v1", "unencrypted"),
        ("https://user:secret@models.example/v1", "holds a password"),
        ("file:///etc/passwd", "must be like"),
        ("models.example", "must be like"),
        ("https://models.example/v1?key=secret", "must be like"),
        ("https://[models/v1", "no URL"),
    ],
)
def test_urls_that_are_not_used(url: str, message: str) -> None:
    with pytest.raises(NoDestination, match=message):
        destination_of(url, "m", ENVIRONMENT)
