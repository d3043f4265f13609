"""The stream of bytes, cut wherever the system likes to cut it."""

from __future__ import annotations

import pytest
from ferrotile_server.lsp.transport import MAX_HEADER, MAX_MESSAGE, Frames, FramingError
from hypothesis import given
from hypothesis import strategies as st

HEADERS = st.sampled_from(
    (b"Content-Length: %d\r\n\r\n", b"content-length:%d\n\n", b"Content-Type: x\r\nCONTENT-LENGTH : %d \r\n\r\n")
)


@given(st.lists(st.tuples(HEADERS, st.binary(max_size=40)), max_size=6), st.lists(st.integers(1, 30), max_size=40))
def test_messages_are_whole_however_they_arrive(messages: list[tuple[bytes, bytes]], cuts: list[int]) -> None:
    stream = b"".join(head % len(body) + body for head, body in messages)
    frames, found, at = Frames(), [], 0
    for length in (*cuts, len(stream)):
        found += frames.feed(stream[at : at + length])
        at += length
    assert found == [body for _, body in messages]


@pytest.mark.parametrize(
    "stream",
    [
        b"Content-Length: x\r\n\r\n",
        b"Content-Length: -1\r\n\r\n",
        b"Content-Length: %d\r\n\r\n" % (MAX_MESSAGE + 1),
        b"X: " + b"y" * MAX_HEADER,
        b"\r\n" * MAX_HEADER,
    ],
)
def test_what_cannot_be_followed_is_an_error_after_the_good_messages(stream: bytes) -> None:
    found = []
    with pytest.raises(FramingError):
        for body in Frames().feed(b"Content-Length: 2\r\n\r\n{}" + stream):
            found.append(body)
    assert found == [b"{}"]
