"""Training the encoders: the one part of the project, besides re-rankers, that needs torch.

``pip install 'termwise[train]'`` brings what it imports. Nothing else in the package imports this folder but the
command line, and that only when training is asked for.
"""
