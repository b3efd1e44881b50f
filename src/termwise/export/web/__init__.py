"""Search box without a server: an index as static files, and the script that searches them in a browser.

::

    termwise-search.js     the element; pages include it
    search.json            names of the other files; replaced last
    worker-HASH.js         analyzers, and the search, which runs in a worker
    index-HASH.bin         what there is: parts, files, filters; groups of the documents; rows of frequent query terms
    analyzers-HASH.bin     descriptions of the analyzers, with their word pieces
    terms-HASH.bin         entries of neighbouring terms: postings, and rows of the query table
    bias-HASH.bin          biases of the documents (models with a background)
    words-HASH.bin         words of the texts with their terms, for typos and unfinished words
    documents-HASH.bin     titles, addresses and texts of the documents of a group, and their vectors
    filter-HASH.bin        values of an attribute

A ``.bin`` file is a gzip stream, whatever the server does. It has JSON, or a shard: the length of a header in 4 bytes
(little-endian), the header as JSON, and numbers.

A query of an index of term weights reads ``search.json``, the scripts, ``index``, the analyzers, one shard of entries
for each term, and the groups of the results. Scores are those of termwise: sums of whole numbers, times the same unit.
Documents with equal scores are in the order of the index.

A mixture is scored by its linear form, see `termwise.export.linear_form`, over candidates. For *k* results, these are
the documents in the groups of the 2 *k* documents that are estimated best: by the scores of the other parts, plus the
product of the query with the principal coordinates of the document. The scores of candidates are exact.
"""

from termwise.export.web.write import WebSearch, check_source, write_web

__all__ = ["WebSearch", "check_source", "write_web"]
