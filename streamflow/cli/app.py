"""The application that all verbs hang on, and how it ends: exit codes, no tracebacks."""

import sys

import typer

from streamflow.cli.bench import bench
from streamflow.cli.chat import chat
from streamflow.cli.decode import decode
from streamflow.cli.demo import demo
from streamflow.cli.doctor import doctor
from streamflow.cli.inspect import inspect
from streamflow.cli.record import record, replay
from streamflow.cli.serve import serve
from streamflow.cli.simulate import simulate
from streamflow.cli.speak import speak
from streamflow.errors import StreamflowError, UsageError

app = typer.Typer(
    name="streamflow",
    help="Streams of language models as one clean event stream.\n\n"
    "Examples:\n\n"
    "  streamflow demo\n\n"
    "  curl -N https://api.example/v1/chat/completions ... | streamflow decode openai\n\n"
    "  streamflow inspect answer.jsonl",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


@app.callback()
def _root() -> None:
    """Streams of language models as one clean event stream."""


app.command()(bench)
app.command()(chat)
app.command()(decode)
app.command()(demo)
app.command()(doctor)
app.command()(inspect)
app.command()(record)
app.command()(replay)
app.command()(serve)
app.command()(simulate)
app.command()(speak)

EXIT_USAGE = 2
EXIT_FAILED = 3


def run_app() -> None:
    """Run; wrong usage exits with 2, a failed stream with 3, a closed pipe and Ctrl-C quietly."""
    try:
        app()
    except UsageError as error:
        print(f"streamflow: {error.message}", file=sys.stderr)
        sys.exit(EXIT_USAGE)
    except StreamflowError as error:
        print(f"streamflow: {error.message}", file=sys.stderr)
        sys.exit(EXIT_FAILED)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(0)
    except KeyboardInterrupt:
        sys.exit(130)
