"""Where a stream ends up outside of the process: voices and loudspeakers."""
