"""The command line. ``streamflow --help`` teaches it."""

import sys


def main() -> None:
    """Entry point; says what to install when the extra is missing."""
    try:
        import rich  # noqa: F401
        import typer  # noqa: F401
    except ModuleNotFoundError as error:
        sys.exit(f"streamflow: the command line needs {error.name}: pip install 'streamflow-rx[cli]'")
    from streamflow.cli.app import run_app

    run_app()
