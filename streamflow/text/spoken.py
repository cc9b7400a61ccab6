"""What a voice should say, piece by piece, and where in the raw text each piece comes from."""

import msgspec


class Spoken(msgspec.Struct, frozen=True, gc=False, tag=True):
    """Text for the voice, and the half-open span [start, end) of the raw text that it came from.

    A verbatim piece is as long as its span. A replacement (an entity, "code omitted.") stands as a whole for its
    span. An inserted pause has an empty span.

    >>> Spoken("bold", 2, 6).end
    6
    """

    text: str
    start: int
    end: int

    def at(self, offset: int) -> int:
        """The raw offset of the place before ``text[offset]``.

        >>> Spoken("bold", 2, 6).at(3), Spoken("&", 10, 15).at(0), Spoken("&", 10, 15).at(1)
        (5, 10, 15)
        """
        if self.end - self.start == len(self.text):
            return self.start + offset
        return self.end if offset >= len(self.text) else self.start
