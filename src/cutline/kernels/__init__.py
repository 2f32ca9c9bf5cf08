"""Compiled kernels: arrays in, arrays out, without the GIL.

Which kernel reads what::

    common.pxd   types, constants, the hash of a piece
    scan         text + automaton tables          -> pieces
    bpe          one piece + vocabulary tables    -> tokens (merge, backtracking, pair check)
    build        arena, offsets, ranks            -> the tables that bpe reads
    encode       pieces + bpe, with caches        -> tokens, a batch at a time
    encoder      text + scan + encode             -> lists, arrays, counts
    prefix       one long piece                   -> tokens of all its prefixes, or suffixes
    greatest     text + encode + prefix, a budget -> the greatest cut
    cut          text + greatest                  -> chunks
    decode       token ids + arena                -> bytes; ids -> list of int

Kernels import only each other. They trust their arrays; `cutline.tables` checks
them once, when it builds or loads them.
"""
