"""Training data: pairs, batches, hard negatives and network inputs."""
