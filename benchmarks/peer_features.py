"""What tokenizers can do, by doing it: `python -m benchmarks.peer_features`.

A cell of the table is "yes" where the peer has a call for it and the call, run on a small text,
gives what it should. An empty cell says that no call of the peer's was found, or that it failed.
docs/comparison.md shows the table; a test holds it against the peers that are installed.
"""

import pickle
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from importlib import metadata
from typing import Any, Final

import numpy as np

from benchmarks.chunk_peers import tiktoken_encoding
from benchmarks.peer_files import PeerFiles
from benchmarks.peers import SUBJECT

__all__ = ["FEATURES", "PEERS", "cell", "table"]

ENCODING: Final = "o200k_base"
TEXT: Final = "Measure twice, cut once. 古池や蛙飛びこむ水の音 🧑🏿\u200d🤝\u200d🧑🏻\n"
SPECIAL: Final = "hi<|endoftext|>"

Call = Callable[[Any], object]


def _cutline() -> Any:
    import cutline

    return cutline.get_encoding(ENCODING)


def _tokenizers() -> Any:
    from tokenizers import Tokenizer

    return Tokenizer.from_file(str(PeerFiles.in_temporary_folder().tokenizer_json(ENCODING)))


def _gigatoken() -> Any:
    import gigatoken

    return gigatoken.Tokenizer.from_tiktoken(PeerFiles.in_temporary_folder().rank_file(ENCODING))


def _quicktok() -> Any:
    import quicktok

    return quicktok.get_encoding(ENCODING)


def _rs_bpe() -> Any:
    from rs_bpe.bpe import openai

    return openai.o200k_base()


PEERS: Final[Mapping[str, Callable[[], Any]]] = {
    "cutline": _cutline,
    "tiktoken": partial(tiktoken_encoding, ENCODING),
    "tokenizers": _tokenizers,
    "gigatoken": _gigatoken,
    "quicktok-v1": _quicktok,
    "rs-bpe": _rs_bpe,
}
"""How each is loaded, by its distribution."""


def _is_array(result: object) -> bool:
    return isinstance(result, np.ndarray)


def _asks_for_special(encode: Callable[..., Any]) -> bool:
    """Tell whether special tokens are refused, made, and read as text, as one asks."""
    try:
        encode(SPECIAL)
    except ValueError:
        made = encode(SPECIAL, allowed_special="all")
        return len(made) == 2 < len(encode(SPECIAL, disallowed_special=()))
    return False


def _reads_json(path_reader: Callable[[Any], Any]) -> bool:
    """Tell whether a tokenizer.json gives the tokens that it should."""
    return len(path_reader(PeerFiles.in_temporary_folder().tokenizer_json(ENCODING))) == 2


def _cutline_json(enc: Any) -> bool:
    import cutline

    return _reads_json(lambda path: cutline.load(path).encode("hello world"))


def _cutline_trains(enc: Any) -> bool:
    import cutline

    return cutline.train(iter(["low low lower"]), 260).n_vocab > 256


def _tokenizers_trains(enc: Any) -> bool:
    from tokenizers import Tokenizer, models, trainers

    made = Tokenizer(models.BPE())
    made.train_from_iterator(["low low lower"], trainers.BpeTrainer(show_progress=False))
    return bool(made.get_vocab_size() > 0)


def _gigatoken_trains(enc: Any) -> bool:
    from gigatoken import train_bpe

    return len(train_bpe(b"low low lower", 260, [])[0]) > 256


def _gigatoken_json(enc: Any) -> bool:
    read = type(enc).from_json
    return _reads_json(lambda path: read(path.read_text(encoding="utf-8")).encode("hello world"))


def _own_pattern(make: Callable[..., Any]) -> bool:
    ranks = {bytes([byte]): byte for byte in range(256)} | {b"ab": 256}
    made = make("tiny", pat_str="a|.", mergeable_ranks=ranks, special_tokens={})
    return bool(made.encode("ab") == [97, 98])


def _tokenizers_pattern(enc: Any) -> bool:
    from tokenizers import Regex, pre_tokenizers

    pieces = pre_tokenizers.Split(Regex("a|."), "isolated").pre_tokenize_str("ab")
    return [piece for piece, _ in pieces] == ["a", "b"]


def _appends(enc: Any) -> bool:
    appender = enc.appender("hello")
    appender.append(" world")
    return bool(appender.count == 2)


def _limits(enc: Any) -> bool:
    return enc.count_till_limit(TEXT, 5) is None and enc.count_till_limit("hello", 5) == 1


def _counts(enc: Any) -> bool:
    return bool(enc.count("hello world") == 2)


FEATURES: Final[Mapping[str, Mapping[str, Call]]] = {
    "tokens into a numpy array": {
        "cutline": lambda enc: _is_array(enc.encode_to_numpy(TEXT)),
        "tiktoken": lambda enc: _is_array(enc.encode_to_numpy(TEXT)),
        "gigatoken": lambda enc: _is_array(enc.encode(TEXT)),
        "quicktok-v1": lambda enc: _is_array(enc.encode_batch([TEXT], 1)[0]),
    },
    "count, without a list of tokens": {
        "cutline": _counts,
        "quicktok-v1": _counts,
        "rs-bpe": _counts,
    },
    "count that stops at a limit": {"cutline": _limits, "rs-bpe": _limits},
    "longest prefix within a budget": {
        "cutline": lambda enc: enc.split_at(" informações e dados", 2) == 14,
    },
    "count of any slice after one pass": {
        "cutline": lambda enc: enc.intervals("one two three four").count(4, 13) == 2,
    },
    "count of a text that grows": {"cutline": _appends},
    "where each token lies in the text": {
        "cutline": lambda enc: enc.encode_with_offsets("hello world")[1][1, 0] == 5,
        "tiktoken": lambda enc: enc.decode_with_offsets(enc.encode("hello world"))[1] == [0, 5],
        "tokenizers": lambda enc: enc.encode("hello world").offsets[1][0] in (5, 6),
        "gigatoken": lambda enc: enc.as_tiktoken().decode_with_offsets([24912])[1] == [0],
    },
    "special tokens allowed, refused or text": {
        "cutline": lambda enc: _asks_for_special(enc.encode),
        "tiktoken": lambda enc: _asks_for_special(enc.encode),
        "gigatoken": lambda enc: _asks_for_special(enc.as_tiktoken().encode),
        "quicktok-v1": lambda enc: _asks_for_special(enc.encode),
    },
    "any split pattern": {
        "cutline": lambda enc: _own_pattern(type(enc)),
        "tiktoken": lambda enc: _own_pattern(type(enc)),
        "tokenizers": _tokenizers_pattern,
    },
    "reads a tokenizer.json": {
        "cutline": _cutline_json,
        "tokenizers": lambda enc: len(enc.encode("hello world").ids) == 2,
        "gigatoken": _gigatoken_json,
    },
    "trains": {
        "cutline": _cutline_trains,
        "tokenizers": _tokenizers_trains,
        "gigatoken": _gigatoken_trains,
    },
    "pickles": dict.fromkeys(PEERS, lambda enc: pickle.loads(pickle.dumps(enc)) is not None),
}
"""What is asked of each peer that has a call for it."""


def cell(feature: str, peer: str, loaded: object) -> str:
    """Say "yes" if a peer has a feature, and nothing if it has not.

    Args:
        feature: of `FEATURES`.
        peer: of `PEERS`.
        loaded: what it loads.
    """
    call = FEATURES[feature].get(peer)
    try:
        return "yes" if call is not None and call(loaded) else ""
    except (NotImplementedError, TypeError):
        return ""


def table() -> Iterator[str]:
    """Yield the lines of the table; columns of peers that can't be imported have question marks."""
    loaded: dict[str, object] = {}
    titles = []
    for peer, load in PEERS.items():
        try:
            loaded[peer] = load()
            titles.append("Cutline" if peer == SUBJECT else f"{peer} {metadata.version(peer)}")
        except ImportError:
            titles.append(peer)
    yield f"| {' | '.join(['', *titles])} |"
    yield f"|---|{':---:|' * len(PEERS)}"
    for feature in FEATURES:
        cells = [cell(feature, peer, loaded[peer]) if peer in loaded else "?" for peer in PEERS]
        yield f"| {' | '.join([feature, *cells])} |"


def main() -> None:
    """Print the table."""
    lines = list(table())  # gigatoken's trainer prints, too
    print(*lines, sep="\n")


if __name__ == "__main__":
    main()
