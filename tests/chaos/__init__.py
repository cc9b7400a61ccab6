"""Real processes, real kill -9: what the journal on Redis promises while producers, readers and brokers die."""
