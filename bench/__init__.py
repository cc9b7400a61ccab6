"""Speed beside the peers: ``make bench``."""
