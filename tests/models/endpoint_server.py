"""An endpoint that does as it is told: a real HTTP server on a thread, and a script for it.

Each request takes the next item of the script; when there is none left, it is answered as a good
endpoint answers::

    with serving(status(429, retry_after="0"), chat("hello")) as server:
        ...
        assert [request.path for request in server.requests] == ["/v1/chat/completions"] * 2
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import blake2b
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

__all__ = [
    "Answer",
    "Request",
    "Server",
    "chat",
    "embeddings",
    "half",
    "raw",
    "serving",
    "status",
    "stuck",
]

DIMENSIONS = 8


@dataclass
class Request:
    """What came in."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]


@dataclass
class Answer:
    """What goes out."""

    status: int = 200
    body: bytes = b"{}"
    headers: dict[str, str] = field(default_factory=dict)
    sent: int | None = None
    """After so many bytes of the body the connection is closed."""
    stuck: bool = False
    """Nothing is sent until the server is told to end."""


Item = Answer | Callable[[Request], Answer]


def raw(body: str, code: int = 200, **headers: str) -> Answer:
    """A body as it is."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer(code, body.encode(), {"content-type": "application/json", **named})


def chat(
    text: str | None,
    *,
    finish: str = "stop",
    tokens: tuple[int, int, int] | None = (11, 7, 3),
    logprobs: Sequence[tuple[str, float, dict[str, float]]] = (),
    **message: Any,
) -> Answer:
    """A completion; `tokens` are those in, out and cached."""
    choice: dict[str, Any] = {
        "index": 0,
        "finish_reason": finish,
        "message": {"role": "assistant", "content": text, **message},
    }
    if logprobs:
        choice["logprobs"] = {
            "content": [
                {
                    "token": token,
                    "logprob": value,
                    "bytes": None,
                    "top_logprobs": [
                        {"token": other, "logprob": its, "bytes": None}
                        for other, its in others.items()
                    ],
                }
                for token, value, others in logprobs
            ]
        }
    body: dict[str, Any] = {
        "id": "c1",
        "object": "chat.completion",
        "created": 1,
        "model": "scripted",
        "choices": [choice],
    }
    if tokens is not None:
        read, written, cached = tokens
        body["usage"] = {
            "prompt_tokens": read,
            "completion_tokens": written,
            "total_tokens": read + written,
            "prompt_tokens_details": {"cached_tokens": cached},
        }
    return raw(json.dumps(body))


def status(code: int, message: str = "not now", *, retry_after: str | None = None) -> Answer:
    """An error as OpenAI's endpoint words it."""
    headers = {} if retry_after is None else {"retry_after": retry_after}
    return raw(json.dumps({"error": {"message": message, "type": "error"}}), code, **headers)


def half(answer: Answer) -> Answer:
    """The same, broken off in the middle of its body."""
    answer.sent = len(answer.body) // 2
    return answer


def stuck() -> Answer:
    """No answer at all."""
    return Answer(stuck=True)


def vector(text: str) -> list[float]:
    """A direction of its own for each text, and a length that is not 1."""
    digest = blake2b(text.encode("utf-8", "replace"), digest_size=DIMENSIONS).digest()
    return [byte - 127.5 for byte in digest]


def embeddings(request: Request) -> Answer:
    """Vectors for what was asked, out of order, as the protocol allows."""
    texts: list[str] = request.body["input"]
    data = [{"index": i, "embedding": vector(text)} for i, text in enumerate(texts)]
    used = sum(len(text.split()) for text in texts)
    usage = {"prompt_tokens": used, "total_tokens": used}
    return raw(json.dumps({"object": "list", "data": data[::-1], "usage": usage}))


class Server:
    """What runs, and what it was asked."""

    def __init__(self, script: Sequence[Item], models: Sequence[str]) -> None:
        self.script = list(script)
        self.models = list(models)
        self.requests: list[Request] = []
        """All but the questions for models."""
        self.most = 0
        """How many were answered at the same time at most."""
        self.url = ""
        self.lock = threading.Lock()
        self.ended = threading.Event()
        self._now = 0

    def answer(self, request: Request) -> Answer:
        if request.path.endswith("/models"):
            offered = [{"id": name, "object": "model"} for name in self.models]
            return raw(json.dumps({"object": "list", "data": offered}))
        with self.lock:
            self.requests.append(request)
            item = self.script.pop(0) if self.script else _good(request)
        return item if isinstance(item, Answer) else item(request)

    @contextmanager
    def counted(self) -> Generator[None]:
        with self.lock:
            self._now += 1
            self.most = max(self.most, self._now)
        try:
            yield
        finally:
            with self.lock:
                self._now -= 1

    @property
    def calls(self) -> int:
        """How often it was asked."""
        return len(self.requests)


def _good(request: Request) -> Answer:
    return embeddings(request) if request.path.endswith("/embeddings") else chat("well")


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    scripted: Server

    def do_GET(self) -> None:
        self._serve(b"")

    def do_POST(self) -> None:
        self._serve(self.rfile.read(int(self.headers.get("content-length", "0"))))

    def _serve(self, body: bytes) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = Request(self.path, headers, json.loads(body or b"{}"))
        with self.scripted.counted():
            answer = self.scripted.answer(request)
            if answer.stuck:
                self.scripted.ended.wait()
                self.close_connection = True
                return
            self.send_response(answer.status)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(answer.body)))
            self.end_headers()
            self.wfile.write(answer.body[: answer.sent])
        if answer.sent is not None:
            self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:
        pass


@contextmanager
def serving(*script: Item, models: Sequence[str] = ("scripted",)) -> Generator[Server]:
    """A server at an address of its own, with this script, as long as the block runs."""
    scripted = Server(script, models)
    handler = type("Handler", (_Handler,), {"scripted": scripted})
    http = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    http.daemon_threads = True
    scripted.url = f"http://127.0.0.1:{http.server_address[1]}/v1"
    thread = threading.Thread(target=http.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield scripted
    finally:
        scripted.ended.set()
        http.shutdown()
        http.server_close()
        thread.join()
