"""A complete agent loop: recall, ask a model, remember.

    python examples/agent_loop.py --url memory.db --user ana

Type, and end with an empty line. With `OPENAI_BASE_URL` (and `OPENAI_API_KEY`, `OPENAI_MODEL`) set
to any OpenAI-compatible endpoint, such as a local one, a model answers. Without, a stand-in shows
what a model would have been given.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import urllib.request
from collections.abc import Callable
from datetime import UTC, datetime

import memstrata

Turn = dict[str, str]
Reply = Callable[[list[Turn]], str]

INSTRUCTIONS = "You are a helpful assistant. What you remember of the user stands in <memory>."


def answer(memory: memstrata.Memory, said: str, history: list[Turn], reply: Reply, day: str) -> str:
    """One turn: what is remembered goes before the model, and what is said is remembered."""
    history.append({"role": "user", "content": said})
    recalled = memory.context(history, max_tokens=1500)
    prompt = [{"role": "system", "content": f"{INSTRUCTIONS}\n\n{recalled}"}, *history]
    history.append({"role": "assistant", "content": reply(prompt)})
    memory.add(history[-2:], session_id=day)
    return history[-1]["content"]


def stand_in(prompt: list[Turn]) -> str:
    """In place of a model: shows what it would have been given."""
    print(prompt[0]["content"])
    return "(There is no model yet; it would have been given the text above.)"


def endpoint(base_url: str) -> Reply:
    """A model behind an OpenAI-compatible endpoint."""
    key, model = os.environ.get("OPENAI_API_KEY", ""), os.environ.get("OPENAI_MODEL", "default")

    def reply(prompt: list[Turn]) -> str:
        request = urllib.request.Request(
            f"{base_url.rstrip('/')}/chat/completions",
            data=json.dumps({"model": model, "messages": prompt}).encode(),
            headers={"Content-Type": "application/json", "Authorization": f"Bearer {key}"},
        )
        with urllib.request.urlopen(request, timeout=120) as response:
            return json.load(response)["choices"][0]["message"]["content"]

    return reply


def main() -> None:
    """Talk until an empty line."""
    parser = argparse.ArgumentParser(description="Chat with a memory.")
    parser.add_argument("--url", help="the store; default: the user's own")
    parser.add_argument("--user", default="me", help="whose memory it is")
    given = parser.parse_args()
    base_url = os.environ.get("OPENAI_BASE_URL")
    reply = endpoint(base_url) if base_url else stand_in
    history: list[Turn] = []
    day = f"{datetime.now(UTC):%Y-%m-%d %H:%M}"
    with memstrata.open(given.url) as store:
        memory = store.scoped(user_id=given.user)
        while said := read():
            print(answer(memory, said, history, reply, day), end="\n\n", flush=True)


def read() -> str:
    """The next line, without its end."""
    if sys.stdin.isatty():
        print("> ", end="", flush=True)
    return sys.stdin.readline().strip()


if __name__ == "__main__":
    main()
