"""Fetches files of models from the Hugging Face Hub, through its package and into its cache."""

import re
from collections.abc import Sequence
from contextlib import suppress
from os import PathLike
from os.path import exists
from pathlib import Path
from time import sleep
from typing import Any, Final, NamedTuple

from cutline.errors import HubError, UnknownEncodingError, shown
from cutline.extras import need
from cutline.pretrained import FILE_ENDINGS
from cutline.pretrained.side_files import (
    MODULES,
    ModelFacts,
    first_module,
    places_of_side_files,
    read_facts,
)
from cutline.version import __version__

__all__ = ["TO_CONVERT", "Snapshot", "convert_hint", "fetch", "fetch_files", "local_path"]

TO_CONVERT: Final = ("spiece.model", "sentencepiece.bpe.model")
"""Files of sentencepiece whose ids are not always the model's own, so they are not loaded."""

_WAIT_SECONDS: Final = 1  # for an answer that did not come the first time
_COMMIT: Final = re.compile(r"[0-9a-f]{40}")


def local_path(name: str | PathLike[str]) -> Path | None:
    """Return the path of a tokenizer; None if the name is that of a model on the Hub.

    Raises:
        TypeError: it is neither a name nor a path.
    """
    if isinstance(name, PathLike):
        return Path(name)
    if not isinstance(name, str):
        raise TypeError(f"name must be a str or a path, got {type(name).__name__}")
    # Not `Path.exists`, which raises an error for a name that is too long for a file.
    is_path = name.startswith("~") or name.endswith(FILE_ENDINGS) or exists(name)  # noqa: PTH110
    return Path(name) if is_path else None


class Snapshot(NamedTuple):
    """The files of one commit.

    Attributes:
        folder: the folder in the cache, or that of the module with the tokenizer in it; it may
            have further files, of other programs.
        commit: the commit's hash.
        facts: what its side files say; nothing if one of them may be missing, as after another
            program filled the cache.
    """

    folder: Path
    commit: str
    facts: ModelFacts


def fetch(
    name: str,
    groups: Sequence[Sequence[str]],
    *,
    revision: str | None = None,
    token: str | bool | None = None,
    local_files_only: bool = False,
) -> Snapshot:
    """Fetch a model's tokenizer and its side files, all of one commit.

    Args:
        name: such as "BAAI/bge-m3".
        groups: files that contain a tokenizer together; of the first group whose first file
            the model has, all are fetched; if it has none, of the first that the first module of
            sentence-transformers has. The first file may be a pattern, such as "*.tiktoken",
            which is looked for last.
        revision: as for `cutline.from_pretrained`.
        token: as for `cutline.from_pretrained`.
        local_files_only: as for `cutline.from_pretrained`.

    Raises:
        UnknownEncodingError: (a ValueError) there is no such model or revision, or it has none
            of the files.
        HubError: (an OSError) the files cannot be fetched.
        VocabularyError: (a ValueError) a side file is damaged.
        ImportError: huggingface_hub is not installed.

    Cost: one request if the files are in the cache, none if `revision` is a commit besides.
    """
    model = _Model(name, revision or "main", token, local_files_only)
    named = [group for group in groups if "*" not in group[0]]
    found = _fetch_first(model, named) or _fetch_from_module(model, named)
    found = found or _fetch_first(model, [group for group in groups if group not in named])
    if found is not None:
        return found
    hint = next((convert_hint(one, name) for one in TO_CONVERT if model.has(one)), "")
    raise UnknownEncodingError(
        f"the model {name!r} has no tokenizer: none of the files "
        f"{', '.join(group[0] for group in groups)}{hint}"
    )


def _fetch_first(
    model: "_Model", groups: Sequence[Sequence[str]], module: str = ""
) -> Snapshot | None:
    """Fetch the first group that a model has, from the folder of a module; None: it has none."""
    within = f"{module}/" if module else ""
    for first, *others in groups:
        place = within + first
        file = model.first_of(place) if "*" in first else model.file(place)
        if file is not None:
            inner = file.parent
            folder = inner.parents[len(Path(module).parts) - 1] if module else inner
            # From here on, nothing is mixed with files of a newer commit.
            model.revision = folder.name
            for other in others:
                model.file(within + other)
            knows = _has_side_files(model, module)
            facts = read_facts(folder, module) if knows else ModelFacts()
            return Snapshot(inner, model.revision, facts)
    return None


def _fetch_from_module(model: "_Model", groups: Sequence[Sequence[str]]) -> Snapshot | None:
    """Fetch the first group that a model's first module has; None: it has no modules, or none."""
    try:
        listed = model.file(MODULES)
    except NotCachedError:  # as where an earlier version fetched what matches a pattern
        return None
    if listed is None or not (module := first_module(listed.parent)):
        return None
    model.revision = listed.parent.name
    return _fetch_first(model, groups, module)


def convert_hint(file: str, model: str) -> str:
    """Return what to do about a model whose tokenizer is in a file of sentencepiece's alone."""
    return (
        f"; of its {file} transformers makes a tokenizer.json: "
        f"AutoTokenizer.from_pretrained({model!r}).save_pretrained(folder)"
    )


def fetch_files(
    name: str,
    files: Sequence[str],
    *,
    revision: str,
    token: str | bool | None = None,
    local_files_only: bool = False,
) -> Path:
    """Fetch further files of a commit, those that the model has; return their folder.

    Args:
        name: such as "BAAI/bge-m3".
        files: their names; those of a pattern, such as "*.jinja", all.
        revision: a commit's hash.
        token: as for `cutline.from_pretrained`.
        local_files_only: as for `cutline.from_pretrained`.

    Raises:
        UnknownEncodingError, HubError: as `fetch`.
    """
    model = _Model(name, revision, token, local_files_only)
    folders = []
    for file in files:
        if "*" in file:
            model.first_of(file)
        elif (path := model.file(file)) is not None:
            folders.append(path.parent)
    if not folders:
        raise UnknownEncodingError(f"the model {name!r} has none of {', '.join(files)}")
    return folders[0]


def _has_side_files(model: "_Model", module: str) -> bool:
    """Fetch the side files. Returns whether each is there, or known not to exist."""
    try:
        for place in places_of_side_files(module):
            model.file(place)
    except NotCachedError:
        return False
    return True


class NotCachedError(HubError):
    """A file is not in the cache, and the Hub is not asked or cannot be reached."""


class _Model:
    """A model on the Hub, at a revision."""

    def __init__(
        self, name: str, revision: str, token: str | bool | None, local_files_only: bool
    ) -> None:
        what = f"the model {name!r}"
        self._hub: Any = need("huggingface_hub", what, "hub")
        self._constants: Any = need("huggingface_hub.constants", what, "hub")
        _check_name(name, need("huggingface_hub.utils", what, "hub"))
        self._name = name
        self.revision = revision
        self._token = token
        self._is_offline = local_files_only or bool(self._constants.HF_HUB_OFFLINE)
        self._has_answered = False
        self._why_offline = "downloads are turned off (local_files_only, HF_HUB_OFFLINE)"

    def file(self, name: str) -> Path | None:
        """Return a file's path in the cache; None if the model has no such file.

        Raises:
            UnknownEncodingError, HubError: as `fetch`.
        """
        if _COMMIT.fullmatch(self.revision) and self._is_noted_missing(name):
            return None
        self._find_out_whether_it_answers(name)
        try:
            return self._call(self._hub.hf_hub_download, name, filename=name)
        except NotCachedError:
            # Without the note the model may have this file, and another one that is in the cache
            # may be of a different tokenizer.
            if self._is_noted_missing(name):
                return None
            raise

    def has(self, name: str) -> bool:
        """Ask whether the model has a file, for a hint: False also if that is not known."""
        if self._is_offline:
            return False
        with suppress(Exception):  # each version has those of another HTTP library, too
            return bool(
                self._hub.file_exists(self._name, name, revision=self.revision, token=self._token)
            )
        return False

    def first_of(self, pattern: str) -> Path | None:
        """Return the first file that matches a pattern; None if there is none."""
        folder = self._call(self._hub.snapshot_download, pattern, allow_patterns=pattern)
        return None if folder is None else min(folder.glob(pattern), default=None)

    def _find_out_whether_it_answers(self, name: str) -> None:
        """Ask for a file that is not in the cache: without an answer there is no download.

        `hf_hub_download` finds that out in 20 seconds, or in minutes where nothing comes back.
        """
        if self._is_offline or self._has_answered or self._is_cached(name):
            return
        url = self._hub.hf_hub_url(self._name, name, revision=self.revision)
        error = self._no_answer(url)
        if error is not None:
            sleep(_WAIT_SECONDS)
            error = self._no_answer(url)
        if error is not None:
            self._take_for_offline(error)
        self._has_answered = error is None

    def _no_answer(self, url: str) -> Exception | None:
        """Ask about a file. Returns the error if there was no answer, None after any answer."""
        from huggingface_hub import errors

        try:
            self._hub.get_hf_file_metadata(url, token=self._token)
        except errors.HfHubHTTPError:
            return None
        except Exception as error:
            return error if _is_of_network(error) else None  # the download says what it is
        return None

    def _take_for_offline(self, error: BaseException) -> None:
        self._is_offline = True
        self._why_offline = f"{self._constants.ENDPOINT} did not send it: {_said(error)}"

    def _is_cached(self, name: str) -> bool:
        found = self._hub.try_to_load_from_cache(self._name, name, revision=self.revision)
        return isinstance(found, str)

    def _is_noted_missing(self, name: str) -> bool:
        """Return whether the cache has a note that there is no such file."""
        found = self._hub.try_to_load_from_cache(self._name, name, revision=self.revision)
        return found is self._hub._CACHED_NO_EXIST

    def _call(self, download: Any, needed: str, **what: str) -> Path | None:
        """Call a function of the package. Returns a path; None if there is no such file."""
        from huggingface_hub import errors

        try:
            path = download(
                self._name,
                **what,
                revision=self.revision,
                token=self._token,
                local_files_only=self._is_offline,
                library_name="cutline",
                library_version=__version__,
            )
        except errors.LocalEntryNotFoundError as error:
            raise self._not_cached(needed, error) from error
        except errors.EntryNotFoundError:
            return None
        except Exception as error:  # each version has those of another HTTP library, too
            raise self._refusal(needed, error) from error
        return Path(path)

    def _refusal(self, needed: str, error: Exception) -> HubError | UnknownEncodingError:
        """Build the error for one of the package's."""
        from huggingface_hub import errors

        if isinstance(error, errors.GatedRepoError):  # the next one is its base class
            return HubError(
                f"access to the model {self._name!r} must be granted first: ask for it on "
                f"{self._constants.ENDPOINT}/{self._name}, then log in with `hf auth login`, set "
                "HF_TOKEN or pass token="
            )
        if isinstance(error, errors.RepositoryNotFoundError):
            return UnknownEncodingError(
                f"there is no model {self._name!r} on {self._constants.ENDPOINT}, nor a "
                "folder of this name here; "
                + (
                    near_folder(self._name)
                    or "if the model is private, set HF_TOKEN or pass token="
                )
            )
        if isinstance(error, errors.RevisionNotFoundError):
            return UnknownEncodingError(
                f"the model {self._name!r} has no revision {self.revision!r}: pass a branch, a "
                "tag or a commit's hash"
            )
        return HubError(f"{needed} of {self._name!r} cannot be fetched: {_said(error)}")

    def _not_cached(self, needed: str, error: Exception) -> NotCachedError:
        if not self._is_offline:
            # The other files are not waited for.
            self._take_for_offline(error.__cause__ or error)
        return NotCachedError(
            f"there is no folder {self._name!r} here, and "
            f"{needed} of {self._name!r} (revision {self.revision!r}) is not in the cache "
            f"{self._constants.HF_HUB_CACHE}, and {self._why_offline}; "
            + (
                near_folder(self._name)
                or "fetch it once where there is a connection: cutline.from_pretrained does"
            )
        )


def _check_name(name: str, utils: Any) -> None:
    """Refuse what cannot be the name of a model."""
    try:
        utils.validate_repo_id(name)
    except utils.HFValidationError as error:
        raise UnknownEncodingError(
            f"there is no folder {shown(name)}, and it is no name of a model on the Hub, such as "
            f"'BAAI/bge-m3'{f'; {hint}' if (hint := near_folder(name)) else ''}"
        ) from error


def near_folder(name: str) -> str | None:
    """Return a hint with what is here and spelled most like a path; None: there is nothing."""
    from difflib import get_close_matches  # rarely needed

    path = Path(name)
    try:
        beside = [one.name for one in path.parent.iterdir()]
    except (OSError, ValueError):  # no folder, or no name of one
        return None
    near = get_close_matches(path.name, beside, 1)
    return f"did you mean {str(path.parent / near[0])!r}?" if near else None


def _is_of_network(error: Exception) -> bool:
    """Return whether a request had no answer; HTTP libraries have errors of their own for it."""
    names = {kind.__name__ for kind in type(error).__mro__}
    return isinstance(error, OSError) or "TransportError" in names


def _said(error: BaseException) -> str:
    """Return the first line of an error's message, or else its name."""
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
