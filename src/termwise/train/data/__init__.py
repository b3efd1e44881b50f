"""Training data: sampled pairs, batches, hard negatives and network inputs."""
