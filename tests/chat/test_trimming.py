"""`trim`: never over budget, no half of a call, the oldest first, and a beginning that lasts."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cutline import BudgetError, ChatError, Trimmed, trim
from cutline.chat.removals import first_that_fits
from tests.chat.conversations import SYSTEM, Chat, agent, chat, conversations, step, turn
from tests.chat.formats import FORMATS, ChatML, Counting, Random, Strict, assert_valid

TOOLS = [{"type": "function", "function": {"name": "read", "description": "Read a file."}}]
OPTIONS = st.fixed_dictionaries(
    {"unit": st.sampled_from(["turn", "step"])},
    optional={
        "reserve": st.integers(0, 40),
        "low_water": st.sampled_from([0.0, 0.3, 0.9]),
        "tools": st.just(TOOLS),
    },
)


def check(messages: Chat, trimmed: Trimmed, chat_format: Any, tools: Any = ()) -> None:
    """What holds for every result."""
    budget = trimmed.max_tokens - trimmed.reserve
    assert trimmed.token_count == chat_format.count(trimmed.messages, tools=tools) <= budget
    kept = [m for i, m in enumerate(messages) if i not in trimmed.removed]
    assert [*map(id, trimmed.messages)] == [*map(id, kept)]
    assert len(trimmed.reasons) == len(trimmed.removed)
    assert [*trimmed.removed] == sorted({*trimmed.removed})


@pytest.mark.parametrize("name", FORMATS)
@settings(max_examples=40)
@given(messages=conversations(), budget=st.integers(0, 400), options=OPTIONS)
def test_never_over_budget_and_nothing_is_torn(
    name: str, messages: Chat, budget: int, options: dict[str, Any]
) -> None:
    chat_format = FORMATS[name]()
    tools = options.get("tools", ())
    try:
        trimmed = trim(messages, budget, chat_format, **options)
    except BudgetError:
        least = least_of(messages, options["unit"])
        assert chat_format.count(least, tools=tools) > budget - options.get("reserve", 0)
        return
    check(messages, trimmed, chat_format, tools)
    assert_valid(trimmed.messages)
    assert trimmed.messages[-1:] == messages[-1:]
    if chat_format.count(messages, tools=tools) <= budget - options.get("reserve", 0):
        assert not trimmed.removed
    if options["unit"] == "turn":
        starts = [i for i, m in enumerate(messages) if m["role"] == "user"]
        for turn_of in map(range, starts, [*starts[1:], len(messages)]):
            assert len({i in trimmed.removed for i in turn_of}) == 1


def least_of(messages: Chat, unit: str) -> Chat:
    """What must stay: instructions, and the last turn or the ends of it."""
    first = [m for m in messages[:1] if m["role"] == "system"]
    starts = [i for i, m in enumerate(messages) if m["role"] == "user"]
    last = messages[starts[-1] :] if starts else []
    if unit == "step" and len(last) > 1:
        tail = max(i for i, m in enumerate(last) if m["role"] == "assistant")
        last = [last[0], *last[tail:]]
    return first + last


@settings(max_examples=25)
@given(messages=conversations(), unit=st.sampled_from(["turn", "step"]))
def test_a_larger_budget_removes_nothing_else(messages: Chat, unit: Any) -> None:
    chat_format = ChatML()
    before: set[int] | None = None
    for budget in range(0, 500, 13):
        try:
            removed = {*trim(messages, budget, chat_format, unit=unit).removed}
        except BudgetError:
            assert before is None
            continue
        assert before is None or removed <= before
        before = removed


@settings(max_examples=60)
@given(messages=conversations(), budget=st.integers(0, 300))
def test_no_fewer_could_have_gone(messages: Chat, budget: int) -> None:
    """By the definition: drop the turns one after another until the rest fits."""
    chat_format = ChatML()
    starts = [i for i, m in enumerate(messages) if m["role"] == "user"]
    wanted = next(
        (
            {*range(starts[0], start)}
            for start in starts
            if chat_format.count(messages[: starts[0]] + messages[start:]) <= budget
        ),
        None,
    )
    if starts and wanted is None:
        with pytest.raises(BudgetError):
            trim(messages, budget, chat_format)
    elif starts:
        assert {*trim(messages, budget, chat_format).removed} == wanted


@settings(max_examples=60)
@given(messages=conversations(), budget=st.integers(0, 100), options=OPTIONS)
def test_counts_that_follow_no_rule_are_never_over_budget(
    messages: Chat, budget: int, options: dict[str, Any]
) -> None:
    try:
        trimmed = trim(messages, budget, Random(), **options)
    except BudgetError:
        return
    check(messages, trimmed, Random(), options.get("tools", ()))


@settings(max_examples=60)
@given(messages=conversations(), budget=st.integers(0, 300), data=st.data())
def test_pins_and_priorities(messages: Chat, budget: int, data: st.DataObject) -> None:
    indices = st.integers(0, max(len(messages) - 1, 0))
    pinned = data.draw(st.sets(indices, max_size=2)) if messages else set()
    priority = data.draw(st.dictionaries(indices, st.integers(-2, 2))) if messages else {}
    unit: Any = data.draw(st.sampled_from(["turn", "step"]))
    try:
        trimmed = trim(messages, budget, Strict(), unit=unit, pinned=pinned, priority=priority)
    except BudgetError:
        return
    check(messages, trimmed, ChatML())
    assert not pinned.intersection(trimmed.removed)
    assert_valid(trimmed.messages)


def test_turns_of_low_priority_go_first() -> None:
    messages = [m for i in range(6) for m in turn(f"Question {i}?", step(i, says="word " * 40))]
    messages += turn("And now?")
    whole = ChatML().count(messages)
    priority = {0: 1, 3: 1, 5: -1}  # turns 0 and 1 more, turn 2 less
    order = [trim(messages, whole - 50 * n, ChatML(), priority=priority) for n in (1, 2, 3, 4, 5)]
    removed = [{i // 2 for i in trimmed.removed} for trimmed in order]
    assert removed == [{2}, {2, 3}, {2, 3, 4}, {2, 3, 4, 5}, {0, 2, 3, 4, 5}]
    assert order[1].report().splitlines()[:2] == [
        "messages 4 to 5: removed, priority -1",
        "messages 6 to 7: removed, priority 0",
    ]


def test_steps_go_and_the_task_stays() -> None:
    messages = agent(200)
    trimmed = trim(messages, 2000, ChatML(), unit="step")
    check(messages, trimmed, ChatML())
    assert trimmed.messages[:2] == messages[:2]
    assert trimmed.removed == (*range(2, 2 + len(trimmed.removed)),)
    assert trimmed.messages[2]["role"] == "assistant"
    with pytest.raises(BudgetError, match="unit='step'"):
        trim(messages, 2000, ChatML())


def test_a_users_message_goes_with_the_last_step_of_its_turn() -> None:
    messages = [
        SYSTEM,
        *turn("One?", step(1, "a " * 50), step(2, "b " * 50), step(3, says="Done.")),
    ]
    messages += turn("Two?", step(4, "c " * 50), step(5, says="Done."))
    removed = set()
    for budget in range(ChatML().count(messages), 40, -1):
        try:
            removed.add(trim(messages, budget, ChatML(), unit="step").removed)
        except BudgetError:
            break
    steps = [(), (2, 3), (2, 3, 4, 5), (1, 2, 3, 4, 5, 6), (1, 2, 3, 4, 5, 6, 8, 9)]
    assert sorted(removed, key=len) == steps


@pytest.mark.parametrize("make", [Counting, ChatML])
def test_few_requests_are_counted(make: Any) -> None:
    messages = agent(2000)
    for budget in (500, 5_000, 50_000):
        chat_format = make()
        trim(messages, budget, chat_format, unit="step")
        assert chat_format.calls <= (4 if make is Counting else 14)
    chat_format = make()
    trim(messages, 20_000, chat_format, unit="step", low_water=0.5)
    # Each message is counted a few times, whatever is cut.
    assert chat_format.counted_messages < (3 if make is Counting else 14) * len(messages)


@pytest.mark.parametrize("make", [Counting, ChatML, Strict])
@pytest.mark.parametrize(("messages", "unit"), [(agent(80), "step"), (chat(60), "turn")])
def test_a_cut_lasts_until_the_request_is_over_budget(make: Any, messages: Chat, unit: Any) -> None:
    chat_format, budget = make(), 1500
    ends = [i for i, m in enumerate(messages, 1) if m["role"] in ("user", "tool")]
    results = [trim(messages[:end], budget, chat_format, unit=unit, low_water=0.5) for end in ends]
    moved = 0
    for (end, after), before in zip([*zip(ends, results, strict=True)][1:], results, strict=False):
        if after.removed != before.removed:
            kept = [m for i, m in enumerate(messages[:end]) if i not in before.removed]
            assert chat_format.count(kept) > budget
            assert after.token_count < 0.75 * budget
            moved += 1
    whole = results[-1].tokens_before
    assert 1 <= moved <= whole / (budget / 2)
    plain = [trim(messages[:end], budget, chat_format, unit=unit) for end in ends]
    assert sum(a.removed != b.removed for a, b in pairwise(plain)) > 3 * moved


@settings(max_examples=40)
@given(
    messages=conversations(),
    unit=st.sampled_from(["turn", "step"]),
    low_water=st.sampled_from([0.0, 0.5, 0.8]),
    budget=st.integers(100, 300),
)
def test_no_cut_moves_back_and_none_without_need(
    messages: Chat, unit: Any, low_water: float, budget: int
) -> None:
    chat_format, before, was_large = ChatML(), (), False
    for end in range(1, len(messages) + 1):
        if messages[end - 1]["role"] == "assistant":
            continue
        tools_follow = messages[end:] and messages[end]["role"] == "tool"
        if tools_follow:
            continue
        options: Any = {"unit": unit, "low_water": low_water}
        try:
            removed = trim(messages[:end], budget, chat_format, **options).removed
        except BudgetError:
            return
        assert {*before} <= {*removed}
        if removed != before and not was_large:
            kept = [m for i, m in enumerate(messages[:end]) if i not in before]
            assert chat_format.count(kept) > budget
        before = removed
        # What was sent is over the mark, since the last turn or step had to stay: cut once more.
        sent = [m for i, m in enumerate(messages[:end]) if i not in removed]
        was_large = bool(removed) and chat_format.count(sent) > low_water * budget


def test_a_summary_stands_where_the_first_removed_message_stood() -> None:
    messages, seen = chat(20), []

    def summarize(removed: list[Mapping[str, Any]]) -> str:
        seen.append(removed)
        return f"{len(removed)} messages about questions."

    trimmed = trim(messages, 600, ChatML(), summarize=summarize, summary_tokens=40)
    (removed,) = seen
    assert removed == [messages[i] for i in trimmed.removed]
    assert trimmed.messages[0] == SYSTEM
    assert trimmed.messages[1] == trimmed.summary
    assert trimmed.summary == {
        "role": "user",
        "content": f"{len(removed)} messages about questions.",
    }
    assert trimmed.token_count == ChatML().count(trimmed.messages) <= 600
    assert "a summary stands for them" in trimmed.report()

    steps = trim(agent(50), 900, ChatML(), unit="step", summary_tokens=40,
                 summarize=lambda _: {"role": "assistant", "content": "Read some."})  # fmt: skip
    assert [m["content"] for m in steps.messages[1:3]] == ["Mend the failing test.", "Read some."]

    nothing = trim(messages, 10**6, ChatML(), summarize=summarize, summary_tokens=40)
    assert (nothing.summary, nothing.removed, len(seen)) == (None, (), 1)


def test_a_summary_that_does_not_fit_is_left_out_and_reported() -> None:
    long = "much " * 700
    messages = chat(20)
    trimmed = trim(messages, 600, ChatML(), summarize=lambda _: long, summary_tokens=40)
    assert trimmed.summary is None
    assert trimmed.too_long is not None
    assert trimmed.too_long > 600
    check(messages, trimmed, ChatML())
    assert f"the summary was left out: with it, {trimmed.too_long} tokens" in trimmed.report()


def test_what_stands_before_the_first_users_message_goes_first() -> None:
    greeting = {"role": "assistant", "content": "How can I help?"}
    messages = [SYSTEM, greeting, *chat(5)[1:]]
    whole = ChatML().count(messages)
    trimmed = trim(messages, whole - 1, ChatML(), priority={1: 9})
    assert trimmed.removed == (1,)
    assert trimmed.reasons == ("before the first user's message",)
    assert trim(messages, whole, ChatML()).removed == ()
    assert trim(messages, whole - 1, ChatML(), pinned=[1]).messages[1] == greeting
    steps = [SYSTEM, *step(1, "a " * 20), *step(2, "b " * 20)]  # no user at all
    assert trim(steps, 110, ChatML(), unit="step").removed == (1, 2)
    with pytest.raises(BudgetError):
        trim(steps, 110, ChatML())


def test_few_messages() -> None:
    empty = trim([], 100, ChatML(), tools=TOOLS)
    assert (empty.messages, empty.removed) == ([], ())
    assert empty.token_count == ChatML().count([], tools=TOOLS)
    assert trim([SYSTEM], 100, ChatML()).messages == [SYSTEM]
    for messages in ([], [SYSTEM], chat(3), agent(3)):
        for unit in ("turn", "step"):
            with pytest.raises(BudgetError, match="there is room for 0"):
                trim(messages, 0, ChatML(), unit=unit)  # type: ignore[arg-type]


def test_numbers_of_an_error() -> None:
    least = ChatML().count([SYSTEM, {"role": "user", "content": "And now?"}])
    said = (
        f"what must stay has {least} tokens, and there is room for {least - 1} "
        rf"\(max_tokens={least + 4} less reserve=5\)"
    )
    with pytest.raises(BudgetError, match=said):
        trim(chat(9), least + 4, ChatML(), reserve=5)
    assert trim(chat(9), least + 5, ChatML(), reserve=5).token_count == least


def test_developers_messages_and_several_instructions_stay() -> None:
    developer = {"role": "developer", "content": "Use tabs."}
    trimmed = trim([SYSTEM, developer, *chat(9)[1:]], 60, ChatML())
    assert trimmed.messages[:2] == [SYSTEM, developer]
    reminder = {"role": "system", "content": "Mind the tests."}  # amid a turn: part of its step
    messages = [*agent(5), reminder, *agent(5)[2:]]
    assert len(trim(messages, 300, ChatML(), unit="step").messages) < len(messages)


@pytest.mark.parametrize(
    ("messages", "said"),
    [
        ([*turn("?"), *step(1, "a")[1:]], "message 1 is a tool's result without a call"),
        ([*turn("?", step(1, "a")), *step(1, "a")[1:]], "message 2 is a tool's result without"),
        ([*turn("?", step(1, "a", "b")[:-1]), *turn("?")], "message 1 calls 2 tools, and only 1"),
        ([step(1, "a")[0], *turn("?"), step(1, "a")[1]], "message 0 calls 1 tools, and only 0"),
        ([*turn("?", step(1, "a")), {"role": "tool", "content": "b"}], "message 3 is a tool's"),
        ([{"content": "?"}], "message 0 needs a 'role'"),
        ([{"role": None}], "message 0 needs a 'role'"),
    ],
)
def test_halves_of_calls_are_refused(messages: Chat, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        trim(messages, 10**6, ChatML())


def test_calls_of_the_last_step_may_wait() -> None:
    messages = [*agent(9), *step(9, "a", "b")[:2]]
    assert trim(messages, 300, ChatML(), unit="step").messages[-2:] == messages[-2:]


@pytest.mark.parametrize("calls", [[{"function": {"name": "read"}}], None])
def test_calls_without_ids_are_compared_by_number(calls: Any) -> None:
    """As templates of Hugging Face have them, and OpenAI's functions of 2023."""
    call = {"tool_calls": calls} if calls else {"function_call": {"name": "read"}}
    asks = {"role": "assistant", "content": None, **call}
    result = {"role": "tool" if calls else "function", "content": "a " * 30}
    messages = turn("?", [asks, result] * 9)
    assert len(trim(messages, 200, ChatML(), unit="step").removed) % 2 == 0
    with pytest.raises(ValueError, match="without a call"):
        trim([*messages, result], 200, ChatML())


def test_parts_of_contents_are_the_formats_matter() -> None:
    parts = [{"type": "text", "text": "Look."}, {"type": "image_url", "image_url": {"url": "x"}}]
    messages = [*chat(5), {"role": "assistant"}, {"role": "user", "content": parts}]
    trimmed = trim(messages, 70, ChatML())
    assert trimmed.messages[-1] is messages[-1]


@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        ({"max_tokens": -1}, ValueError, "max_tokens must be 0 or more, got -1"),
        ({"reserve": -1}, ValueError, "reserve must be 0 or more"),
        ({"reserve": 200}, BudgetError, "there is room for -100"),
        ({"unit": "word"}, ValueError, "unit must be one of"),
        ({"low_water": 1}, ValueError, "low_water must be"),
        ({"low_water": 0.5, "priority": {1: 1}}, ValueError, "exclude each other"),
        ({"pinned": [99]}, IndexError, "pinned names message 99, and there are"),
        ({"priority": {-99: 1}}, IndexError, "priority names message -99"),
        ({"summarize": str}, ValueError, "summary_tokens=0 with summarize"),
        ({"summary_tokens": 9}, ValueError, "summary_tokens=9 without summarize"),
        ({"messages": ["hello"]}, TypeError, "message 0 must be a mapping"),
    ],
)
def test_options_out_of_range(options: dict[str, Any], error: Any, said: str) -> None:
    given: Any = {"messages": chat(9), "max_tokens": 100, "chat_format": ChatML(), **options}
    with pytest.raises(error, match=said):
        trim(**given)


@settings(max_examples=200)
@given(n=st.integers(0, 60), first=st.integers(1, 70), guess=st.integers(-3, 80))
def test_the_first_that_fits_is_found(n: int, first: int, guess: int) -> None:
    calls = []
    found = first_that_fits(lambda k: calls.append(k) or k >= first, n, guess)
    assert found == (first if first <= n else None)
    assert all(1 <= call <= n for call in calls)
    distance = abs(min(max(guess, 1), max(n, 1)) - min(first, n + 1))
    assert len(calls) <= 2 + 2 * max(distance, 1).bit_length()


@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        ({"low_water": "0.5"}, TypeError, "low_water must be a number, got '0.5'"),
        ({"priority": {1: "high"}}, TypeError, "priority must be a number, got 'high'"),
        ({"priority": {1: float("nan")}}, ValueError, "priority must be a number .* got nan"),
        ({"priority": [1]}, TypeError, "priority must be a mapping from indices .*, got \\[1\\]"),
        ({"pinned": [1.0]}, TypeError, "an index in pinned must be an integer, got 1.0"),
        ({"pinned": [True]}, TypeError, "an index in pinned must be an integer, got True"),
        ({"pinned": "1"}, TypeError, "an index in pinned must be an integer, got '1'"),
        ({"tools": {"name": "saw"}}, TypeError, "tools must be a list of schemas, got dict"),
    ],
)
def test_options_of_a_wrong_type_are_named(
    options: dict[str, Any], error: type[Exception], said: str
) -> None:
    chat = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]
    with pytest.raises(error, match=f"^{said}"):
        trim(chat, 100, ChatML(), **options)


def test_what_are_no_messages_or_calls_is_named() -> None:
    for wrong in None, {"role": "user"}, "Hi":
        with pytest.raises(TypeError, match="messages must be a list of mappings, got"):
            trim(wrong, 100, ChatML())  # type: ignore[arg-type]
    chat = [{"role": "user", "content": "Hi"}, {"role": "assistant", "tool_calls": {"id": "1"}}]
    with pytest.raises(ChatError, match="message 1 has 'tool_calls' that are no list"):
        trim(chat, 100, ChatML())


@pytest.mark.parametrize(
    ("summary", "error", "said"),
    [
        (5, TypeError, "must be a mapping"),
        (None, TypeError, "must be a mapping"),
        ({"content": "x"}, ValueError, "needs a 'role'"),
        ({"role": "tool", "content": "x"}, ValueError, "without a call"),
        ({"role": "assistant", "tool_calls": [{"id": "1"}]}, ValueError, "add a result for each"),
        ({"role": "assistant", "tool_calls": 5}, ChatError, "are no list"),
    ],
)
def test_what_is_no_summary_is_named(summary: Any, error: type[Exception], said: str) -> None:
    messages = [{"role": role, "content": "x" * 50} for role in ("user", "assistant", "user")]
    budget = ChatML().count(messages) - 1
    with pytest.raises(error, match=f"^what summarize returned is no message to send: .*{said}"):
        trim(messages, budget, ChatML(), summarize=lambda _: summary, summary_tokens=5)
