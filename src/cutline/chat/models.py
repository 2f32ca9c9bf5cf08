"""Formats by name: ChatML, estimates for OpenAI's models, and what is known of a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from json import dumps
from typing import TYPE_CHECKING, Any, Final, TypeGuard

from cutline.chat.additive import AdditiveFormat
from cutline.chat.harmony import Harmony
from cutline.chat.image_size import size_of_data
from cutline.chat.images import Tiles, image_rule
from cutline.chat.messages import calls_of
from cutline.chat.protocols import ChatFormat, Tool
from cutline.chat.template import ChatTemplate
from cutline.errors import ChatError, UnknownModelError, shown
from cutline.registry import encoding_for_model, encoding_of
from cutline.vocabulary.models import encoding_of_model

if TYPE_CHECKING:
    from cutline.encoding import Encoding

__all__ = ["OpenAIEstimate", "chatml", "format_for_model", "openai_estimate"]

_CHATML: Final = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def chatml(encoding: Encoding | str) -> ChatTemplate:
    r"""Return the format ChatML.

    Args:
        encoding: with ChatML's two special tokens, or its name.

    Raises:
        ChatError: (a ValueError) the encoding lacks one of them.
        ImportError: jinja2 is not installed: pip install 'cutline[chat]'.

    >>> import cutline
    >>> base = cutline.get_encoding("gpt2")
    >>> tokens = {"<|im_start|>": 50257, "<|im_end|>": 50258}
    >>> enc = cutline.Encoding(
    ...     "chat", pat_str=base._pat_str, mergeable_ranks=base._mergeable_ranks,
    ...     special_tokens=tokens)
    >>> chatml(enc).render([{"role": "user", "content": "Hi"}])
    '<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n'
    """
    encoding = encoding_of(encoding)
    missing = {"<|im_start|>", "<|im_end|>"} - encoding.special_tokens_set
    if missing:
        raise ChatError(
            f"{encoding.name!r} has no special token {min(missing)!r}, which ChatML is written "
            "with: pass the encoding of a model that uses ChatML"
        )
    return ChatTemplate(_CHATML, encoding)


def openai_estimate(model: str) -> OpenAIEstimate:
    """Return an estimate for requests to one of OpenAI's models behind its API.

    Args:
        model: such as "gpt-4o".

    Raises:
        UnknownModelError: (a KeyError) no encoding is known for this model.

    >>> openai_estimate("gpt-4o").count([{"role": "user", "content": "hello world"}])
    9
    """
    return OpenAIEstimate(model)


class OpenAIEstimate(AdditiveFormat):
    """An estimate of the tokens of a request to OpenAI's API; what is really sent is not public.

    - Messages: 3 tokens each, 1 more for a name, and 3 for what begins the answer, as OpenAI's
      cookbook counts them (github.com/openai/openai-cookbook, "How to count tokens with
      tiktoken", compared on 2026-11-24), which says itself that this may change.
    - Tools: for each function 7 (gpt-3.5 and gpt-4: 10), for the first parameter 3 and for each 3,
      for each choice of an enum 3 and -3 for all, 12 at the end, and the texts, as there.
    - Calls of tools: their names and arguments, and 3 for each, by analogy.
    - Images: by the rules of OpenAI's guide (platform.openai.com/docs/guides/images-vision, as
      others' counters quote it on 2026-11-24): a base and tiles of 512 pixels, or patches of 32
      pixels. The size is read from the data of a data URL; an image elsewhere says it as "width"
      and "height" in "image_url", or else only "detail": "low" can be counted, of tiles.

    Args:
        model: such as "gpt-4o".

    Raises:
        UnknownModelError: (a KeyError) no encoding is known for this model.
    """

    def __init__(self, model: str) -> None:
        self.model = model
        self.encoding = encoding_for_model(model)
        self._image_rule = image_rule(model)

    def __repr__(self) -> str:
        return f"<OpenAIEstimate for {self.model!r}>"

    def _count_message(self, message: dict[str, Any], index: int) -> int:
        count = self.encoding.count
        total = 3 + count(message["role"])
        if (name := message.get("name")) is not None:
            total += 1 + count(str(name))
        content = message.get("content", "")
        if isinstance(content, str):
            total += count(content)
        elif isinstance(content, list):
            total += sum(self._count_part(part, index, at) for at, part in enumerate(content))
        else:
            raise ChatError(f"message {index} has a 'content' that is no text: {content!r}")
        for place, call in enumerate(calls_of(message, index)):
            function = call.get("function") if isinstance(call, dict) else None
            if not isinstance(function, dict):
                raise ChatError(f"message {index} has no function in tool_calls[{place}]")
            total += 3 + count(str(function.get("name", "")))
            total += count(_text(function.get("arguments", "")))
        return total

    def _count_part(self, part: Any, index: int, place: int) -> int:
        where = f"message {index}, content[{place}]"
        kind = part.get("type") if isinstance(part, dict) else None
        if kind in ("text", "input_text", "output_text", "refusal"):
            return self.encoding.count(str(part.get("text", part.get("refusal", ""))))
        if kind not in ("image_url", "input_image"):
            raise ChatError(f"{where} is no text or image: {kind!r} has no published rule")
        image = part.get("image_url")
        image = {**part, **(image if isinstance(image, dict) else {"url": image})}
        detail = image.get("detail", "auto")
        if self._image_rule is None:
            raise ChatError(f"{where} is an image, and no rule is known for {self.model!r}")
        size = image.get("width"), image.get("height")
        if not _is_size(size):
            size = size_of_data(image.get("url")) or (0, 0)
        if not _is_size(size):
            if detail == "low" and isinstance(self._image_rule, Tiles):
                return self._image_rule.base
            raise ChatError(
                f"{where} is an image of unknown size: add its 'width' and 'height' in pixels to "
                "'image_url', or pass a data URL of a PNG, JPEG, GIF or WebP"
            )
        return self._image_rule.tokens(*size, detail)

    def _count_around(self, tools: Sequence[Tool], add_generation_prompt: bool) -> int:
        total = 3 if add_generation_prompt else 0
        for place, tool in enumerate(tools):
            total += self._count_tool(tool, place)
        return total + (12 if tools else 0)

    def _count_tool(self, tool: Mapping[str, Any], place: int) -> int:
        function = tool.get("function", tool)
        if not isinstance(function, dict) or "name" not in function:
            raise ChatError(f"tool {place} is no function with a name: {tool!r}")
        count = self.encoding.count
        said = str(function.get("description") or "").removesuffix(".")
        is_old = self.model.startswith(("gpt-3.5", "gpt-4")) and self.encoding.name == "cl100k_base"
        total = (10 if is_old else 7) + count(f"{function['name']}:{said}")
        parameters = function.get("parameters") or {}
        if not isinstance(parameters, dict):
            raise ChatError(f"tool {place} has 'parameters' that are no schema: {parameters!r}")
        properties = parameters.get("properties")
        if not isinstance(properties, dict) or not properties:
            return total
        total += 3
        for name, schema in properties.items():
            schema = schema if isinstance(schema, dict) else {}
            said = str(schema.get("description") or "").removesuffix(".")
            total += 3 + count(f"{name}:{_text(schema.get('type', ''))}:{said}")
            if isinstance(choices := schema.get("enum"), list):
                total += sum(3 + count(_text(choice)) for choice in choices) - 3
        return total


def _is_size(sides: tuple[Any, Any]) -> TypeGuard[tuple[int, int]]:
    """Return whether these are pixels, no more than PNG can say."""
    return all(type(side) is int and 0 < side < 1 << 31 for side in sides)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else dumps(value, ensure_ascii=False)


_NOT_PUBLIC: Final[Mapping[str, str]] = {
    "claude": "Anthropic's",
    "anthropic": "Anthropic's",
    "gemini": "Google's",
}


def format_for_model(model: str) -> ChatFormat:
    """Return the format of a model's requests.

    A name with a slash is that of a model on the Hugging Face Hub, whose template is fetched;
    "gpt-oss" is harmony; for other models of OpenAI there is an estimate.

    Args:
        model: its name.

    Raises:
        ChatError: (a ValueError) the model's tokens cannot be counted offline.
        UnknownModelError: (a KeyError) nothing is known of this model.
        UnknownEncodingError, HubError: as `ChatTemplate.from_pretrained`.

    >>> format_for_model("gpt-oss-20b")
    <Harmony, reasoning effort medium>
    """
    if not isinstance(model, str):
        raise UnknownModelError(f"a model name is a str, got {shown(model)}")
    name = model.rpartition("/")[2].lower()
    for start, whose in _NOT_PUBLIC.items():
        if name.startswith(start) or model.lower().startswith(start):
            raise ChatError(
                f"{model!r} cannot be counted offline, as {whose} tokenizer is not public: pass a "
                "function that asks the provider's API, CustomFormat(count=...)"
            )
    if name.startswith("gpt-oss"):
        return Harmony()
    if "/" in model:
        return ChatTemplate.from_pretrained(model)
    if encoding_of_model(model) is None:
        raise UnknownModelError(
            f"no chat format is known for model {model!r}: one on the Hugging Face Hub has a "
            "slash in its name, such as 'Qwen/Qwen3-8B'; ChatTemplate and chatml take an encoding"
        )
    return openai_estimate(model)
