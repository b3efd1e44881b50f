"""Search box without a server: an index as static files, and the script that searches them in a browser.

::

    termwise-search.js     the element; pages include it
    search.json            names of the other files; replaced last
    worker-HASH.js         the search, which runs in a worker
    kit-HASH.js            analyzers
    index-HASH.bin         what there is: parts, files, filters
    analyzer-HASH.bin      description of an analyzer
    terms-HASH.bin         postings of neighbouring terms (parts with term weights)
    bias-HASH.bin          biases of the documents (models with a background)
    words-HASH.bin         words of the texts with their terms, for typos and unfinished words
    pieces-HASH.bin        neighbouring word pieces (analyzers that split words into pieces)
    table-HASH.bin         rows of neighbouring query terms (parts with vectors)
    centres-HASH.bin       group of each document, and centres of the groups
    vectors-HASH.bin       vectors of the documents of a group
    texts-HASH.bin         titles, addresses and texts of neighbouring documents
    filter-HASH.bin        values of an attribute

A ``.bin`` file is a gzip stream, whatever the server does. It has JSON, or a shard: the length of a header in 4 bytes
(little-endian), the header as JSON, and numbers.

A query of an index of term weights reads ``search.json``, the scripts, ``index``, the analyzer, one shard of postings
for each term, and the texts of the results. Scores are those of termwise: sums of whole numbers, times the same unit.
Documents with equal scores are in the order of the index.

A mixture is scored by its linear form, see `termwise.export.linear_form`, over candidates. If the collection has at
most `MOST_READ` groups of vectors, all documents are candidates. Otherwise these are the documents of `MOST_READ`
groups: those whose best document is estimated best, by the product of the query with the centre of the group and its
neighbours, plus the best score of its documents in the other parts. The scores of candidates are exact.
"""

from termwise.export.web.write import WebSearch, check_source, write_web

__all__ = ["WebSearch", "check_source", "write_web"]
