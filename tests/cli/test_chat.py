"""``streamflow chat``: by pipe, and in a terminal with Ctrl-C."""

import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from contextlib import suppress

import pytest

from streamflow.cli.conversation import provider_with_key
from streamflow.errors import UsageError
from streamflow.testing.simulator import CANNED, CLOSING

COMMAND = [sys.executable, "-W", "error", "-m", "streamflow", "chat"]
NO_KEYS = {name: value for name, value in os.environ.items() if not name.endswith(("_KEY", "_TOKEN", "_PAT"))}


def _chat(lines, *options, environ=NO_KEYS):
    done = subprocess.run(
        [*COMMAND, *options], input="\n".join(lines), capture_output=True, text=True, timeout=30, env=environ
    )
    assert "Traceback" not in done.stderr
    return done


def test_a_conversation():
    done = _chat(["hello", "", "sim:think Let me see | Done"], "--simulated")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"{CANNED}\nLet me see\nDone\n"


def test_thinking_can_be_left_out():
    assert _chat(["sim:think Let me see | Done"], "--simulated", "--no-thinking").stdout == "Done\n"


@pytest.mark.parametrize("provider", ["openai", "anthropic", "gemini", "ollama", "openai-responses"])
def test_the_user_plays_the_tool(provider):
    done = _chat(['sim:tool weather {"city": "Rome"}', "rain", "sim:text ok"], provider, "--simulated")
    assert done.stdout == f'-> weather {{"city":"Rome"}}\n{CLOSING}\nok\n'


def test_an_error_does_not_end_the_conversation_but_shows_in_the_exit_code():
    done = _chat(["sim:error 400", "sim:error-event", "sim:text still here"], "--simulated")
    assert done.returncode == 3
    assert "A simulated error with status 400." in done.stderr
    assert done.stdout.endswith("still here\n")


def test_wrong_use():
    assert "no API key is set" in _chat([], "--model", "m").stderr
    assert "pass --model" in _chat([], "openai").stderr
    assert "OPENAI_API_KEY" in _chat([], "openai", "--model", "m").stderr
    assert _chat([], "openai", "--model", "m").returncode == 2
    with pytest.raises(UsageError):
        provider_with_key({})


class _Terminal:
    """A program in a terminal of its own. Not `pty.fork`: that warns where other threads run."""

    def __init__(self, *command):
        self._file, inside = pty.openpty()
        environ = {**NO_KEYS, "TERM": "xterm"}
        self.process = subprocess.Popen(
            command, stdin=inside, stdout=inside, stderr=inside, env=environ, start_new_session=True
        )
        os.close(inside)
        self.seen = ""

    def until(self, text, timeout_s=20):
        deadline = time.monotonic() + timeout_s
        while text not in self.plain:
            ready, _, _ = select.select([self._file], [], [], max(0, deadline - time.monotonic()))
            assert ready, f"no {text!r} in {self.plain!r}"
            self.seen += os.read(self._file, 65536).decode()

    @property
    def plain(self):
        return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", self.seen).replace("\r", "")

    def type(self, text):
        os.write(self._file, text.encode())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self._file)


def test_ctrl_c_stops_the_answer_only():
    with _Terminal(*COMMAND, "--simulated") as terminal:
        terminal.until("you> ")
        terminal.type("sim:long 100000 20\n")
        terminal.until("three2")
        terminal.process.send_signal(signal.SIGINT)
        terminal.until("(cancelled)")
        terminal.type("sim:think Hm | Still here\n")
        terminal.until("Hm\nStill here\n")
        assert "\x1b[2;3mHm" in terminal.seen
        terminal.type("\x04")
        assert terminal.process.wait(timeout=20) == 0


def test_ctrl_c_at_the_prompt_ends_the_conversation():
    with _Terminal(*COMMAND, "--simulated") as terminal:
        terminal.until("you> ")
        # Python's line editor does not notice a signal that comes between its prompt and its first wait.
        for _ in range(20):
            terminal.process.send_signal(signal.SIGINT)
            with suppress(subprocess.TimeoutExpired):
                terminal.process.wait(timeout=2)
                break
        assert terminal.process.returncode == 130
        assert "Traceback" not in terminal.plain
