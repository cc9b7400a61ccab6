"""A JupyterLab of its own: in an empty folder, without a network, without anybody's settings."""

import os
import secrets
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell, new_notebook

ROOT = Path(__file__).resolve().parents[2]


def write_notebook(path: Path, *cells: str) -> None:
    """A notebook of these cells."""
    metadata = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    nbformat.write(new_notebook(cells=[new_code_cell(cell) for cell in cells], metadata=metadata), path)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _settings(folder: Path) -> Path:
    """Settings of a user who wants no news: the question would lie over the figures."""
    file = folder / "@jupyterlab" / "apputils-extension" / "notification.jupyterlab-settings"
    file.parent.mkdir(parents=True)
    file.write_text('{"fetchNews": "false", "checkForUpdates": false}')
    return folder


@contextmanager
def jupyterlab(folder: Path) -> Iterator[str]:
    """The address of a server over this folder; its token is in it."""
    token, port = secrets.token_hex(16), _free_port()
    own = {f"JUPYTER_{name}_DIR": str(folder / ".jupyter" / name.lower()) for name in ("CONFIG", "DATA", "RUNTIME")}
    own["IPYTHONDIR"] = str(folder / ".ipython")
    own["JUPYTERLAB_SETTINGS_DIR"] = str(_settings(folder / ".jupyter" / "settings"))
    command = [
        *(sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--expose-app-in-browser"),
        *(f"--ServerApp.root_dir={folder}", f"--IdentityProvider.token={token}", "--ServerApp.ip=127.0.0.1"),
        *(f"--ServerApp.port={port}", "--ServerApp.port_retries=0", "--LabApp.news_url=None"),
        "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
        # Should the tests be killed, the server ends by itself.
        *("--MappingKernelManager.cull_idle_timeout=120", "--MappingKernelManager.cull_interval=30"),
        *("--MappingKernelManager.cull_connected=True", "--ServerApp.shutdown_no_activity_timeout=180"),
    ]
    process = subprocess.Popen(
        command,
        env={**os.environ, **own, "PYTHONPATH": str(ROOT), "NO_PROXY": "*"},
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    said: list[str] = []
    ready = threading.Event()

    def listen() -> None:
        assert process.stderr is not None
        for line in process.stderr:
            said.append(line)
            if f"127.0.0.1:{port}/lab" in line:
                ready.set()
        ready.set()

    listener = threading.Thread(target=listen, daemon=True)
    listener.start()
    try:
        assert ready.wait(120), f"JupyterLab is not there after two minutes: {''.join(said[-20:])}"
        assert process.poll() is None, "".join(said[-20:])
        yield f"http://127.0.0.1:{port}/lab/tree/{{name}}?token={token}"
    finally:
        process.terminate()
        try:
            process.wait(30)  # it ends its kernels first
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        listener.join(5)
        if process.stderr is not None:
            process.stderr.close()
