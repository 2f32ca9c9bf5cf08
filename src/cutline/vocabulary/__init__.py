"""What a tokenizer is: its tokens and ids, how they are stored, the packaged encodings."""

from cutline.vocabulary.models import (
    MODEL_PREFIX_TO_ENCODING,
    MODEL_TO_ENCODING,
    encoding_name_for_model,
)
from cutline.vocabulary.openai import (
    CL100K_PAT_STR,
    ENCODING_SPECS,
    O200K_PAT_STR,
    R50K_PAT_STR,
    RANK_FILE_SHA256,
    EncodingSpec,
    encoding_spec,
    is_packaged,
    list_encoding_names,
    load_spec_vocabulary,
)
from cutline.vocabulary.packed import pack, unpack
from cutline.vocabulary.tiktoken_file import read_tiktoken, write_tiktoken
from cutline.vocabulary.vocabulary import Vocabulary

__all__ = [
    "CL100K_PAT_STR",
    "ENCODING_SPECS",
    "MODEL_PREFIX_TO_ENCODING",
    "MODEL_TO_ENCODING",
    "O200K_PAT_STR",
    "R50K_PAT_STR",
    "RANK_FILE_SHA256",
    "EncodingSpec",
    "Vocabulary",
    "encoding_name_for_model",
    "encoding_spec",
    "is_packaged",
    "list_encoding_names",
    "load_spec_vocabulary",
    "pack",
    "read_tiktoken",
    "unpack",
    "write_tiktoken",
]
