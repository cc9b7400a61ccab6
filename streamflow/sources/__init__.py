"""Where streams come from: providers over the network."""
