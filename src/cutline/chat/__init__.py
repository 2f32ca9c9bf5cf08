"""Chat requests: counted as a model sees them, trimmed to a budget, growing message by message.

    protocols.py     `Message`, `Tool` and `ChatFormat`
    messages.py      plain, checked copies of messages
    template.py      `ChatTemplate`, Hugging Face's chat templates
    compiling.py     templates compiled, and rendered whole
    sandbox.py       what they run in, and its limits
    metering.py      what a rendering may use, and who pays
    prices.py        what filters, tests and methods cost
    looking_back.py  loops that look for the last message of a kind stop there
    plan.py          how a template is cut in two, so that a message more renders little more
    rendering.py     `GrowingRequest`, a template's request that grows
    growing.py       `GrowingCount`, the tokens of a text with special tokens that grows
    conversation.py  `Conversation`
    additive.py      `CustomFormat`, and the base of formats that count message by message
    harmony.py       `Harmony`, for gpt-oss
    typescript.py    schemas of tools as harmony writes them
    models.py        `chatml`, `openai_estimate` and `format_for_model`
    images.py        images by OpenAI's rules
    turns.py         what of a conversation stays together
    removals.py      the order in which turns go
    trimming.py      `trim` and `Trimmed`
    by_name.py       formats by the names that the command line takes

docs/chat.md says which formats there are, what is exact, and what is an estimate.
"""

from cutline.chat.additive import CustomFormat
from cutline.chat.conversation import Conversation
from cutline.chat.harmony import Harmony
from cutline.chat.models import OpenAIEstimate, chatml, format_for_model, openai_estimate
from cutline.chat.protocols import ChatFormat, Message, Tool
from cutline.chat.template import ChatTemplate

__all__ = [
    "ChatFormat",
    "ChatTemplate",
    "Conversation",
    "CustomFormat",
    "Harmony",
    "Message",
    "OpenAIEstimate",
    "Tool",
    "chatml",
    "format_for_model",
    "openai_estimate",
]
