"""A reader with a fault behind three doors, for the test of the engine."""


def planted(data: bytes) -> None:
    """Fails on ``{...<think...[DONE]`` only; blind changes would take a very long time to get there."""
    if data.startswith(b"{"):
        at = data.find(b"<think")
        if at > 0:
            rest = data[at:]
            if b"[DONE]" in rest:
                raise KeyError("behind three doors")


def reads_in_pieces(data: bytes) -> None:
    """Never fails."""
    for piece in data.split(b"\n"):
        if piece:
            len(piece)
