"""Compiled kernels: arrays in, arrays out, without the GIL.

Which kernel reads what, room by room; a room reads only rooms above it::

    base/
      common.pxd      types, constants, statuses, the hash of a piece
      signals.pxd     Ctrl-C inside long work
      characters.pxd  the characters of a str, and their UTF-8
      new_bytes.pxd   bytes whose number is known when they are written
      utf8            str -> UTF-8
      chunks          text + cuts -> objects of them
      json_text       UTF-8 -> a string of JSON
      json_model      a tokenizer.json -> its tokens and merges, as arrays
      text_table      texts -> which of them others are
      find            text + string -> where it first occurs
      spelling        text + a set of characters -> the others spelled by stand-ins
      pairs           text + pairs of classes -> the places between their characters
      known_pairs     text + places                    -> those between characters that are apart
      alignment       what a text became -> which of its characters that comes from
      text_ends       texts -> where each ends
      addresses       memory -> where it lies
      team            parts of a job, for several threads
      memory          memory for tables, in large pages
    scan/
      automaton.pxd   what an entry of the automaton's table says
      lane_table      automaton tables                 -> the table that lanes step through
      scan            text + automaton tables          -> pieces
      lanes           long text + lane_table + scan    -> pieces, by six scans at once
    bpe/
      bpe             one piece + vocabulary tables    -> tokens by merging; the pair check
      build           arena, offsets, ranks            -> the tables that bpe reads
      matches         one long piece + bpe             -> which tokens begin, or end, at a place
      backtracking    one long piece + matches         -> its tokens
      merge_windows   one long piece + bpe             -> its tokens
      prefixes        one long piece                   -> tokens of all its prefixes, or suffixes
      token_tree      one long piece + prefixes        -> its token tree
    encode/
      decode          token ids + arena                -> bytes; ids -> list of int
      caches.pxd      pieces                           -> what encoding them gave
      runs            text + caches                    -> the counts of what lies between blanks
      batches         pieces + bpe + caches            -> tokens, a batch at a time
      counted_pieces  batches of pieces                -> their ends, with the tokens before
      few_starts.pxd  few places of a text, with the tokens before them
      run_counts      text + runs + batches            -> counts; what becomes of a text
      blocks          long text, not ASCII + batches   -> tokens, a block of UTF-8 at a time
      encoder         text + scan + batches            -> lists, arrays, counts
      known_parts     text + safe split points         -> its count, by parts met before
      known_slices    known_parts                      -> counts of slices
      distinct_parts  text + parts                     -> which of them differ
      among_added     text + added tokens + encoder    -> its count, its tokens
    train/
      piece_table     pieces                           -> the table of distinct ones, with counts
      piece_sort      tables of pieces                 -> the pieces, sorted; or in groups
      piece_counter   text + scan + piece_table        -> counts of pieces
      pair_heap       pairs of tokens                  -> how often, where, which is first
      beside          a pair's neighbours              -> how often each, in parts of a merge
      trainer         counts of pieces + pair_heap     -> merges
    cut/
      longest_fit     text + batches + prefixes        -> the longest prefix within a budget
      overlap         text + longest_fit               -> how far back the next chunk may start
      whole_text      text + lanes + longest_fit       -> one prefix after another
      windows         text + whole_text + overlap      -> cuts
    index/
      bitmaps.pxd     rank bitmaps: how many bits are set before a place
      text_index.pxd  the bitmaps of a text: characters, boundaries, tokens
      build_bitmaps   text + scan + batches            -> its bitmaps
      subpieces       a part of a piece (+ token_tree) -> its tokens
      slices          a slice + text_index + subpieces -> its tokens
      interval        text + slices                    -> counts of slices
      first_words     a slice + encoder                -> the tokens that a prefix changes
      live_scans      text that grows + prefixes       -> the state of its live scans
      append          text + live_scans                -> counts of a text that grows at its end
      prepend         text + scan + prefixes           -> counts of one that grows at its beginning
    words/
      trie            tokens                           -> a trie of them
      double_array    trie                             -> its steps, one look into memory each
      model.pxd       the tables of a model that encodes words
      classes         text + ranges of characters      -> the first in them; text with them changed
      splitting       text + scan of several patterns  -> pieces, split again and again; their ends
      images          normalized characters            -> their images: bytes, and where words end
      char_map        characters + images              -> the images of all, made when needed
      image_search    texts + char_map                 -> where they are in what becomes of a text
      run_images      text + char_map                  -> what becomes of its runs, for BPE
      reader          text + char_map                  -> words
      separators.pxd  images of blanks                 -> what lies between runs
      wordpiece       one word + trie                  -> its tokens, the longest first
      unigram         one word + trie, scores          -> its tokens, those of the best path
      singles         many words + double_array        -> how many tokens each has
      word_state      what one call works with: caches, buffers
      segments        one long word + unigram + caches -> its tokens, from blank to blank
      segment_prefixes
                      one long word + segments         -> the tokens of its prefixes
      unsure_parts    parts of a word + unigram        -> those whose tokens rounding may change
      segment_joints  one long word + segments, unsure_parts
                                                       -> where it can be cut
      stretches       text + reader + wordpiece, unigram, segments + caches
                                                       -> ids, counts, spans
      run_counts      text + runs + singles, stretches -> its count
      encoder         texts + run_counts, stretches    -> ids, counts, spans
      growing         text that grows + encoder        -> its count, and what decides about more
      starts.pxd      bitmaps: where a text can be cut, and the tokens before
      text_starts     text + encoder                   -> its starts
      slice_counts    a slice + text_starts            -> its tokens
      longest_end     a place + slice_counts           -> the longest slice within a budget
      intervals       text + longest_end               -> counts of slices, cuts
      token_intervals
                      intervals + added tokens         -> the same among these
    breaks/
      line_ends       text                             -> where line ends are
      wrapping        line_ends + the lines around     -> which ones only wrap the text
      lines           wrapping                         -> where paragraphs and lines end
      text_properties, graphemes, words, abbreviations, sentences, phrases
                      text + tables of Unicode         -> where these end
      breaks          lines + graphemes ... sentences  -> where it pauses
      stable          breaks + the text around them    -> which of them it chooses
      overlaps        breaks + counts of slices        -> where a chunk starts that shares text
      best_break      breaks + interval, a budget      -> cuts at the best breaks within it
      text_blocks     texts + what cuts them           -> their chunks
      indexed_texts   texts + best_break               -> cuts there
      counted_breaks  breaks + counts of slices        -> the best breaks within a budget
      word_breaks     the same, by words' intervals    -> cuts there
      spelled_breaks  the same, by those of a spelling -> cuts there
      few_breaks      the same, few slices of a text   -> cuts there
      run_breaks      few_breaks, by counts of runs    -> cuts there
      point_breaks    few_breaks, known_parts          -> cuts there
      added_breaks    point_breaks, among added tokens -> cuts there
      piece_breaks    counted_breaks, by pieces        -> cuts there
      outlined        text + its structure + interval  -> cuts at the best places within a budget
      sections        headings                         -> sections, the path of titles in each
      markdown        text + events of its parser      -> its blocks
      markdown_levels
                      markdown + sections              -> where these may be cut
      json_elements   JSON                             -> its elements
      html_tags       HTML                             -> its tags and comments
      html_blocks     HTML + html_tags                 -> its blocks
      syntax_rows     text + its syntax tree           -> rows where it may be cut

Kernels import only each other; tests/kernels/test_rooms.py has the order. They trust their
arrays; `cutline.tables` checks them once, when it builds or loads them.
"""
