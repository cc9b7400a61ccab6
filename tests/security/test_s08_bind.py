"""S8: a server listens on this machine only, unless it has a token."""

import inspect
import os
import subprocess
import sys

import pytest

from streamflow.cli.serve import serve
from streamflow.cli.simulate import simulate
from streamflow.errors import UsageError
from streamflow.server.access import check_bind

NAKED = ["0.0.0.0", "::", "192.0.2.1", "::ffff:192.0.2.1", "example.org", "", "0", "localhost.evil.example"]


@pytest.mark.parametrize("host", NAKED)
def test_s08_other_machines_need_a_token(host):
    with pytest.raises(UsageError, match="token"):
        check_bind(host, [])


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost", "127.8.8.8"])
def test_s08_this_machine_needs_none(host):
    check_bind(host, [])


@pytest.mark.parametrize("verb", [serve, simulate])
def test_s08_the_default_is_this_machine(verb):
    assert inspect.signature(verb).parameters["host"].default == "127.0.0.1"


def test_s08_the_command_line_refuses_and_says_what_to_do():
    command = [sys.executable, "-m", "streamflow", "serve", "--simulate", "--port", "0", "--host", "0.0.0.0"]
    environ = {name: value for name, value in os.environ.items() if not name.startswith("STREAMFLOW_")}
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=environ)
    assert (done.returncode, "--token" in done.stderr, "Traceback" in done.stderr) == (2, True, False)
