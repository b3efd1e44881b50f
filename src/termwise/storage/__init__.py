"""Files and folders on disk: manifests, atomic writes, safe reads and ownership of work folders."""
