"""Export of an index to other search engines, and the check that they return the same results."""
