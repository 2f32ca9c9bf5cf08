"""`Vocabulary`: a tokenizer's mergeable tokens; and the packaged encodings."""

from cutline.vocabulary.models import MODEL_PREFIX_TO_ENCODING, MODEL_TO_ENCODING
from cutline.vocabulary.names import encoding_name_for_model, packaged_encoding
from cutline.vocabulary.openai import (
    CL100K_PAT_STR,
    CONTENT_SHA256,
    O200K_PAT_STR,
    PACKAGED_ENCODINGS,
    R50K_PAT_STR,
    RANK_FILE_SHA256,
    PackagedEncoding,
    list_encoding_names,
)
from cutline.vocabulary.packed import pack, unpack
from cutline.vocabulary.vocabulary import Vocabulary

__all__ = [
    "CL100K_PAT_STR",
    "CONTENT_SHA256",
    "MODEL_PREFIX_TO_ENCODING",
    "MODEL_TO_ENCODING",
    "O200K_PAT_STR",
    "PACKAGED_ENCODINGS",
    "R50K_PAT_STR",
    "RANK_FILE_SHA256",
    "PackagedEncoding",
    "Vocabulary",
    "encoding_name_for_model",
    "list_encoding_names",
    "pack",
    "packaged_encoding",
    "unpack",
]
