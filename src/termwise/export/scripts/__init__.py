"""Programs that an export brings: each runs without termwise, and is copied as it is into the folder of the export."""
