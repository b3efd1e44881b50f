"""The page of the service: search, comparisons, documents, indexes and the description of the API, as plain HTML."""
