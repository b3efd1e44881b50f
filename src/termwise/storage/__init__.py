"""How files and folders of termwise are written, named, checked and replaced on disk."""
