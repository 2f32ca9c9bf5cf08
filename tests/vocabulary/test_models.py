import pytest
import tiktoken.model as published

from cutline.errors import UnknownModelError
from cutline.vocabulary import (
    MODEL_PREFIX_TO_ENCODING,
    MODEL_TO_ENCODING,
    encoding_name_for_model,
)

DATED_MODELS = [
    *(prefix + "2030-01-01" for prefix in MODEL_PREFIX_TO_ENCODING),
    "gpt-4o-mini",
    "gpt-4-32k-0314",
    "gpt-5.1",
    "gpt-oss-120b",
    "ft:gpt-4o-mini:organisation::id",
]


def test_tables_are_those_of_tiktoken_in_their_order() -> None:
    assert list(MODEL_TO_ENCODING.items()) == list(published.MODEL_TO_ENCODING.items())
    prefixes = list(MODEL_PREFIX_TO_ENCODING.items())
    assert prefixes == list(published.MODEL_PREFIX_TO_ENCODING.items())


@pytest.mark.parametrize("model", [*MODEL_TO_ENCODING, *DATED_MODELS])
def test_model_has_the_encoding_that_tiktoken_gives_it(model: str) -> None:
    assert encoding_name_for_model(model) == published.encoding_name_for_model(model)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (
            "gpt4o",
            "no encoding is known for model 'gpt4o'; did you mean 'gpt-4o' or 'gpt-4' or 'gpt2'? "
            "otherwise an encoding can also be chosen by its name, as 'o200k_base'",
        ),
        (
            "zzz",
            "no encoding is known for model 'zzz'; "
            "an encoding can also be chosen by its name, as 'o200k_base'; cutline.from_pretrained "
            "loads models of the Hugging Face Hub",
        ),
        (
            "o200k_base",
            "no encoding is known for model 'o200k_base'; that is a packaged encoding: "
            "cutline.get_encoding('o200k_base') returns it",
        ),
        (
            "BAAI/bge-m3",
            "no encoding is known for model 'BAAI/bge-m3'; a model of the Hugging Face Hub is "
            "loaded by cutline.from_pretrained('BAAI/bge-m3')",
        ),
        (None, "a model name is a str, got None"),
    ],
)
def test_an_unknown_model_gets_a_way_out(model: str, message: str) -> None:
    with pytest.raises(UnknownModelError) as caught:
        encoding_name_for_model(model)
    assert str(caught.value) == message
    assert isinstance(caught.value, KeyError)


def test_arguments_have_the_names_that_tiktoken_gives_them() -> None:
    assert encoding_name_for_model(model_name="gpt-4o") == "o200k_base"
