"""Reads a model's limit and its prompts from the small files beside its tokenizer.

docs/models.md, "The limit", says which file decides.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, Final, NamedTuple

from cutline.errors import VocabularyError, shown

__all__ = [
    "CONFIG_NAME",
    "MODULES",
    "ROLES",
    "SIDE_FILES",
    "ModelFacts",
    "SideFile",
    "first_module",
    "module_of_tokenizer",
    "places_of_side_files",
    "read_facts",
]

_SENTENCES: Final = "sentence_bert_config.json"
_PROMPTS: Final = "config_sentence_transformers.json"
CONFIG_NAME: Final = "tokenizer_config.json"
_MODEL: Final = "config.json"

SIDE_FILES: Final = (_SENTENCES, _PROMPTS, CONFIG_NAME, _MODEL)

MODULES: Final = "modules.json"
"""sentence-transformers' list of a model's modules, each in a folder; "" is the model's own."""

ROLES: Final = tuple(f"{role}_token" for role in ("bos", "eos", "unk", "sep", "pad", "cls", "mask"))
"""Special tokens that transformers has names for, in the order in which they get ids."""

_UNLIMITED: Final = 10**20
"""transformers writes 1e30 for "no limit", and takes every number above this one so."""

# Their positions are counted from the padding token's id plus 1, so that as many places of the
# table are never used (`create_position_ids_from_input_ids` in transformers 5.23).
_PADDED_POSITIONS: Final = frozenset(
    {
        *("camembert", "data2vec-text", "ibert", "layoutlmv3", "lilt", "longformer", "luke"),
        *("markuplm", "mpnet", "roberta", "roberta-prelayernorm", "xlm-roberta"),
        *("xlm-roberta-xl", "xmod"),
    }
)
_USUAL_PADDING: Final = 1


class ModelFacts(NamedTuple):
    """What a model's side files say.

    Attributes:
        max_tokens: the most tokens that it reads, special tokens included; None: not known.
        prompts: the texts that are put before a text, by what it is.
    """

    max_tokens: int | None = None
    prompts: Mapping[str, str] = {}  # nobody changes a mapping


def first_module(folder: Path) -> str:
    """Return the folder of the module that reads a text, in that of its model; "": none is named.

    Raises:
        OSError: the list of modules cannot be read.
    """
    path = folder / MODULES
    if not path.is_file():
        return ""
    try:
        modules = json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        return ""  # nothing else needs it
    match modules:
        case [{"path": str() as module}, *_] if _is_inside(PurePosixPath(module)):
            return module
    return ""


def _is_inside(path: PurePosixPath) -> bool:
    return bool(path.parts) and not path.is_absolute() and ".." not in path.parts


def module_of_tokenizer(folder: Path, patterns: Sequence[str]) -> str:
    """Return the folder of a model's first module if only that has a tokenizer, or else "".

    Args:
        folder: the model's.
        patterns: names of files that have a tokenizer.
    """
    if _has_any(folder, patterns):
        return ""
    module = first_module(folder)
    return module if _has_any(folder / module, patterns) else ""


def _has_any(folder: Path, patterns: Sequence[str]) -> bool:
    return any(any(folder.glob(pattern)) for pattern in patterns)


def places_of_side_files(module: str = "") -> list[str]:
    """List the side files, in the order of `SIDE_FILES`: prompts are beside the modules."""
    return [name if name == _PROMPTS or not module else f"{module}/{name}" for name in SIDE_FILES]


def read_facts(folder: Path, module: str = "") -> ModelFacts:
    """Read the side files that a model has.

    Args:
        folder: the model's.
        module: the folder in it that has the tokenizer.

    Raises:
        VocabularyError: one is damaged; names it and the key.
        OSError: one cannot be read.
    """
    places = places_of_side_files(module)
    sentences, prompts, tokenizer, model = (SideFile(folder / place) for place in places)
    truncated_at = sentences.number("max_seq_length")
    if truncated_at is None:
        truncated_at = tokenizer.number("model_max_length")
    known = [limit for limit in (truncated_at, _positions(model)) if limit is not None]
    return ModelFacts(min(known, default=None), prompts.texts("prompts"))


def _positions(model: "SideFile") -> int | None:
    """Return the most tokens that a model has positions for; None if it does not say so."""
    positions = model.number("max_position_embeddings")
    kind = model.values.get("model_type")
    if positions is None or not isinstance(kind, str) or kind not in _PADDED_POSITIONS:
        return positions
    padding = model.number("pad_token_id", least=0)
    usable = positions - (_USUAL_PADDING if padding is None else padding) - 1
    if usable < 1:
        raise model.damaged("max_position_embeddings", positions, "more than pad_token_id + 1")
    return usable


class SideFile:
    """The values of a JSON file; none if there is no such file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.values: Mapping[str, Any] = {}
        if not path.is_file():
            return
        try:
            self.values = json.loads(path.read_bytes())
        except (ValueError, RecursionError) as error:
            raise VocabularyError(f"{path} contains no JSON: {error}") from None
        if not isinstance(self.values, dict):
            raise VocabularyError(f"{path} contains no object but {type(self.values).__name__}")

    def number(self, key: str, least: int = 1) -> int | None:
        """Return a whole number; None if there is none, or one that means "unlimited"."""
        match self.values.get(key):
            case None:
                return None
            case bool() as other:
                raise self.damaged(key, other, "a whole number")
            case int() | float() as number if not least <= number <= _UNLIMITED:
                return None
            case int() | float() as number if number == int(number):
                return int(number)
            case other:
                raise self.damaged(key, other, "a whole number")

    def texts(self, key: str) -> dict[str, str]:
        """Return texts by name."""
        texts = self.values.get(key)
        if texts is None:
            return {}
        if not isinstance(texts, dict) or not all(isinstance(t, str) for t in texts.values()):
            raise self.damaged(key, texts, "texts by name")
        return texts

    def damaged(self, key: str, got: Any, expected: str) -> VocabularyError:
        """Build the error for a value."""
        return VocabularyError(f"{self._path}: {key} is {shown(got)} instead of {expected}")
