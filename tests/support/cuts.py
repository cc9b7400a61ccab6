"""Ways to cut an input; they are public, see `streamflow.testing.cuts`."""

from streamflow.testing.cuts import at_random, every_way, merged, single, two_way, whole, without_notices

__all__ = ["at_random", "every_way", "merged", "single", "two_way", "whole", "without_notices"]
