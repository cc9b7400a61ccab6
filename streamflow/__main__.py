"""``python -m streamflow``."""

from streamflow.cli import main

if __name__ == "__main__":
    main()
