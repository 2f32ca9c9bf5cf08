"""Compiled kernels: arrays in, arrays out, without the GIL.

Which kernel reads what::

    common.pxd   types, constants, the hash of a piece
    scan         text + automaton tables          -> pieces
    bpe          one piece + vocabulary tables    -> tokens by merging; the pair check
    build        arena, offsets, ranks            -> the tables that bpe reads
    matches      one long piece + bpe             -> which tokens begin, or end, at a place
    backtracking one long piece + matches         -> its tokens
    encode       pieces + bpe, with caches        -> tokens, a batch at a time
    encoder      text + scan + encode             -> lists, arrays, counts
    prefix       one long piece                   -> tokens of all its prefixes, or suffixes
    greatest     text + encode + prefix, a budget -> the greatest cut
    cut          text + greatest                  -> cuts
    chunks       text + cuts                      -> objects of them
    mark         text + scan + encode             -> the marks of a text (boundaries, tokens)
    slice, part  a slice + marks (+ tree)         -> its tokens; of a part of a piece
    tree         one long piece + prefix          -> its token tree
    lines        text                             -> where its paragraphs and lines end
    text_properties, graphemes, words, sentences
                 text + tables of Unicode         -> where these end
    breaks       lines + graphemes ... sentences  -> where it pauses
    greedy       breaks + marks, a budget         -> the best break within it
    interval     text + mark + slice + greedy     -> counts of slices, and cuts at breaks
    growth       text that grows + prefix         -> the state of its live scans
    append       text + growth                    -> counts of a text that grows at its end
    prepend      text + scan + prefix             -> counts of one that grows at its beginning
    pieces       pieces                           -> the table of distinct ones, with counts
    tally        text + scan + pieces             -> counts of pieces
    pairs        pairs of tokens                  -> how often, where, which is first
    merging      counts of pieces + pairs         -> merges
    decode       token ids + arena                -> bytes; ids -> list of int

Kernels import only each other. They trust their arrays; `cutline.tables` checks
them once, when it builds or loads them.
"""
