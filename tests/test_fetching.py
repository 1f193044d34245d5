"""The speed of a line, from servers of this machine that are slow, cut off, away or elsewhere."""

from __future__ import annotations

import http.server
import itertools
import socket
import threading
from typing import TYPE_CHECKING

import pytest

from costplan.box import fetching
from costplan.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

BLOCK = b"x" * 65_536


class Handler(http.server.BaseHTTPRequestHandler):
    """What each path does is in its name."""

    def do_GET(self) -> None:
        if self.path.startswith("/moved"):
            self.send_response(302)
            self.send_header("Location", self.path.replace("/moved", ""))
            self.end_headers()
            return
        if self.path.startswith("/file-away"):
            self.send_response(302)
            self.send_header("Location", "file:///etc/hostname")
            self.end_headers()
            return
        if self.path.startswith("/missing"):
            self.send_error(404)
            return
        self.send_response(200)
        promised, sent = {"/cut": (4, 1), "/none": (0, 0), "/endless": (1_000, 1_000)}.get(
            self.path.partition("?")[0], (4, 4)
        )
        self.send_header("Content-Length", str(promised * len(BLOCK)))
        self.end_headers()
        try:
            for _ in range(sent):
                self.wfile.write(BLOCK)
        except OSError:  # the reader has had enough
            self.close_connection = True

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    made = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made.daemon_threads = True
    thread = threading.Thread(target=made.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{made.server_address[1]}"
    made.shutdown()
    made.server_close()


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "*")


@pytest.mark.parametrize("path", ["/whole", "/moved/whole"])
def test_bytes_are_counted_through_redirects(server: str, path: str) -> None:
    found = fetching.fetched(server + path)
    assert (found.host, found.problem) == ("127.0.0.1", None)
    assert found.received_bytes == found.expected_bytes == 4 * len(BLOCK)


def test_seconds_count_from_the_first_byte(server: str) -> None:
    ticks = itertools.count(100.0)  # a second between any two looks at the clock
    found = fetching.fetched(f"{server}/endless", most_s=3.0, clock=lambda: next(ticks))
    assert found.over_s == 3.0
    assert 0 < found.received_bytes < 1_000 * len(BLOCK)


def test_reading_ends_at_so_many_bytes(server: str) -> None:
    found = fetching.fetched(f"{server}/endless", most_bytes=len(BLOCK))
    assert len(BLOCK) <= found.received_bytes < 10 * len(BLOCK)
    assert found.problem is None


def test_a_server_that_ends_too_early_leaves_less_than_it_said(server: str) -> None:
    found = fetching.fetched(f"{server}/cut")
    assert found.received_bytes == len(BLOCK)
    assert found.expected_bytes == 4 * len(BLOCK)


def test_an_empty_file_tells_nothing(server: str) -> None:
    found = fetching.fetched(f"{server}/none")
    assert (found.received_bytes, found.over_s, found.problem) == (0, 0.0, None)


def test_a_missing_file_says_its_code_and_not_its_key(server: str) -> None:
    found = fetching.fetched(f"{server}/missing?key=sesame")
    assert found.problem == "127.0.0.1 answers 404"


def test_a_redirect_into_this_machine_is_not_followed(server: str) -> None:
    found = fetching.fetched(f"{server}/file-away?key=sesame")
    assert found.problem == "127.0.0.1 answers 302"
    assert found.received_bytes == 0


def test_a_refused_connection_says_so() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    found = fetching.fetched(f"http://127.0.0.1:{port}/x?key=sesame")
    assert found.problem == "127.0.0.1: Connection refused"


def test_a_server_that_never_answers_ends_in_time() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        found = fetching.fetched(f"http://127.0.0.1:{silent.getsockname()[1]}/x", connect_s=0.1)
    assert found.problem == "127.0.0.1: no answer in time"


def test_a_line_that_falls_silent_keeps_what_came() -> None:
    def serve(listening: socket.socket) -> None:
        one, _ = listening.accept()
        one.recv(4096)
        one.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
        done.wait(5)
        one.close()

    done = threading.Event()
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        thread = threading.Thread(target=serve, args=(listening,), daemon=True)
        thread.start()
        url = f"http://127.0.0.1:{listening.getsockname()[1]}/x"
        found = fetching.fetched(url, connect_s=0.2)
        done.set()
        thread.join(5)
    assert (found.received_bytes, found.problem) == (4, "no answer in time")


@pytest.mark.parametrize(
    "url",
    ["", "x", "file:///etc/passwd", "ftp://example.com/x", "http://", "http://[x", "//example.com"],
)
def test_what_is_no_address_of_the_web_is_asked_wrongly(url: str) -> None:
    with pytest.raises(InputError, match="--download: not an address"):
        fetching.fetched(url)


def test_an_address_that_cannot_be_sent_is_not_repeated() -> None:
    found = fetching.fetched("http://127.0.0.1:1/a b?key=sesame")
    assert found.problem is not None
    assert "sesame" not in found.problem


def test_only_the_host_of_an_address_is_kept() -> None:
    assert fetching.host_of("https://me:sesame@example.com:8443/f?X-Sig=sesame") == "example.com"
