"""The training loop: steps, checkpoints, validation and resumption."""
