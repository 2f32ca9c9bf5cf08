"""Loading a tokenizer with its own package: from a file, a folder or by a model's name."""

from errno import ENOENT
from os import PathLike
from pathlib import Path
from typing import Any, Final, NamedTuple

from cutline.errors import VocabularyError
from cutline.pretrained.added_tokens import FLAGS, with_tokens_beside
from cutline.pretrained.hub import TO_CONVERT, convert_hint, fetch, local_path
from cutline.pretrained.side_files import CONFIG_NAME, ModelFacts, module_of_tokenizer, read_facts
from cutline.vocabulary.names import need_hub_name
from cutline.wrapping.processor import Processor
from cutline.wrapping.versions import document_of

__all__ = ["Opened", "open_tokenizer"]

_JSON: Final = "tokenizer.json"
_MODEL: Final = "tokenizer.model"
_FILES: Final = (_JSON, _MODEL)
_VOCAB: Final = "vocab.txt"
_MODEL_SUFFIX: Final = ".model"


class Opened(NamedTuple):
    """A tokenizer, its name, and what is known of its model."""

    tokenizer: Any
    name: str
    facts: ModelFacts


def open_tokenizer(name: str | PathLike[str]) -> Opened:
    """Load a tokenizer; see `cutline.wrap`.

    Raises:
        FileNotFoundError: there is no such file, or none that is read in the folder.
        VocabularyError: its package cannot read it.
        UnknownEncodingError, HubError: as `cutline.from_pretrained`.
        ImportError: a package is not installed.
    """
    path = local_path(name)
    if path is None:
        need_hub_name(str(name))
        found = fetch(str(name), [(_JSON, CONFIG_NAME), (_MODEL,)])
        return Opened(_read_folder(found.folder), str(name), found.facts)
    if path.is_dir():
        module = module_of_tokenizer(path, _FILES)
        tokenizer = _read_folder(path / module)
        return Opened(tokenizer, path.absolute().name, read_facts(path, module))
    return Opened(_read(path), path.stem, ModelFacts())


def _read_folder(folder: Path) -> Any:
    file = _file_in(folder)
    tokenizer = _read(file)
    if file.name == _JSON:
        _add_tokens_beside(tokenizer, file)
    return tokenizer


def _add_tokens_beside(tokenizer: Any, file: Path) -> None:
    """Add the tokens that the configuration beside a tokenizer.json adds, as `load` does."""
    document = document_of(tokenizer) or {}
    own = document.get("added_tokens") or []
    tokens = [one for one in with_tokens_beside(document, file)["added_tokens"] if one not in own]
    if not tokens:
        return
    if not hasattr(tokenizer, "add_tokens"):
        raise VocabularyError(
            f"{CONFIG_NAME} beside {file} has the token {tokens[0]['content']!r}, which is not so "
            "in the file, and tokenizers 1 adds none: cutline.load reads both, or install "
            "tokenizers<1, or wrap the file"
        )
    from tokenizers import AddedToken

    for token in tokens:
        flags = {flag: token[flag] for flag in FLAGS}
        tokenizer.add_tokens([AddedToken(token["content"], **flags)])


def _file_in(folder: Path) -> Path:
    """Find the file of a folder that contains its tokenizer: the most complete."""
    for name in _FILES:
        if (folder / name).exists():
            return folder / name
    hint = f"; cutline.load reads its {_VOCAB}" if (folder / _VOCAB).exists() else ""
    if models := [name for name in TO_CONVERT if (folder / name).exists()]:
        hint = f"{convert_hint(models[0], str(folder))}; or wrap the path of {models[0]}"
    raise FileNotFoundError(ENOENT, f"a folder without {' and '.join(_FILES)}{hint}", str(folder))


def _read(file: Path) -> Any:
    return _read_model(file) if file.suffix == _MODEL_SUFFIX else _read_json(file)


def _read_model(file: Path) -> Processor:
    model = file.read_bytes()
    try:
        return Processor(model)
    except ImportError as error:
        raise ImportError(
            f"to wrap {file} needs the package sentencepiece: pip install sentencepiece"
        ) from error
    except Exception as error:  # of classes that depend on its version
        raise VocabularyError(f"{file} cannot be read by sentencepiece: {error}") from error


def _read_json(file: Path) -> Any:
    try:
        from tokenizers import Tokenizer
    except ImportError as error:
        raise ImportError(
            f"to wrap {file} needs the package tokenizers: pip install tokenizers"
        ) from error
    file.stat()  # its own error for a missing file says little
    try:
        return Tokenizer.from_file(str(file))
    except Exception as error:  # it raises no other class
        raise VocabularyError(f"{file} cannot be read by tokenizers: {error}") from error
