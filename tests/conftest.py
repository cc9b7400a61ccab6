"""What all tests need."""

import signal

# A shell that runs the tests in the background ignores Ctrl-C for them, and every program that they start inherits it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
