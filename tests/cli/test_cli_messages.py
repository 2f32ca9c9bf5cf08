"""`cutline messages`: conversations are counted and trimmed as in Python."""

import json
from pathlib import Path
from typing import Any

import pytest

from cutline import trim
from cutline.chat.by_name import chat_format_of
from tests.chat.conversations import Chat, agent, chat
from tests.cli.conftest import Invoke

FORMAT = chat_format_of("chatml", "o200k_base")
TOOLS = [{"type": "function", "function": {"name": "read", "description": "Liest. 读"}}]


@pytest.mark.parametrize("messages", [chat(4), agent(4), [], chat(1)[:1]])
@pytest.mark.parametrize("tools", [None, TOOLS])
def test_counts_are_those_of_the_format(invoke: Invoke, messages: Chat, tools: Any) -> None:
    given = messages if tools is None else {"messages": messages, "tools": tools, "model": "m"}
    result = invoke("messages", "--format", "json", stdin=json.dumps(given))
    assert result.exit_code == 0, result.stderr
    row = json.loads(result.stdout)
    assert row["token_count"] == FORMAT.count(messages, tools=tools or ())
    counts = [message["token_count"] for message in row["messages"]]
    assert counts == FORMAT.message_counts(messages)  # type: ignore[attr-defined]


def test_a_table_names_each_message(invoke: Invoke, tmp_path: Path) -> None:
    path = tmp_path / "chat.json"
    path.write_text(json.dumps({"messages": agent(1), "tools": TOOLS}, indent=1))
    lines = invoke("messages", path).stdout.splitlines()
    assert lines[0] == str(path)
    assert [line.split()[:2] for line in lines[1:5]] == [
        ["0", "system"], ["1", "user"], ["2", "assistant"], ["3", "tool"],
    ]  # fmt: skip
    assert lines[2].endswith("Mend the failing test.")
    assert lines[-2].split()[0] == "around"
    assert lines[-1].split() == ["in", "all", str(FORMAT.count(agent(1), tools=TOOLS))]
    assert sum(int(line.split()[2]) for line in lines[1:5]) + int(lines[-2].split()[1]) == int(
        lines[-1].split()[2]
    )


@pytest.mark.parametrize("indent", [None, 2])
def test_what_is_trimmed_keeps_its_form(invoke: Invoke, indent: int | None) -> None:
    messages = agent(30)
    arguments = ["-n", "900", "--reserve", "100", "--unit", "step", "--low-water", "0.5"]
    wanted = trim(messages, 900, FORMAT, reserve=100, unit="step", low_water=0.5, tools=TOOLS)
    given = {"model": "m", "messages": messages, "tools": TOOLS, "n": 1}
    result = invoke("messages", *arguments, "--report", stdin=json.dumps(given, indent=indent))
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout) == {**given, "messages": wanted.messages}
    assert list(json.loads(result.stdout)) == list(given)
    assert result.stderr.splitlines() == [f"-: {line}" for line in wanted.report().splitlines()]
    array = invoke("messages", "-n", "900", "--unit", "step", stdin=json.dumps(messages))
    assert json.loads(array.stdout) == trim(messages, 900, FORMAT, unit="step").messages


def test_json_lines_are_conversations(invoke: Invoke) -> None:
    conversations = [chat(9), {"messages": agent(1)}, []]
    stdin = "\n".join(map(json.dumps, conversations)) + "\n"
    counted = invoke("messages", "--chat", "plain", "--format", "json", stdin=stdin)
    plain = chat_format_of("plain", "o200k_base")
    rows = [json.loads(line) for line in counted.stdout.splitlines()]
    assert [row["index"] for row in rows] == [0, 1, 2]
    assert [row["token_count"] for row in rows] == [
        plain.count(chat(9)), plain.count(agent(1)), 0,
    ]  # fmt: skip
    written = invoke("messages", "-n", "200", stdin=stdin)
    lines = [json.loads(line) for line in written.stdout.splitlines()]
    assert lines == [trim(chat(9), 200, FORMAT).messages, conversations[1], []]


@pytest.mark.parametrize(
    ("stdin", "said"),
    [
        ("", "no JSON"),
        ("hello", "no JSON"),
        ("[\n{", "no JSON"),
        ("[]\nhello\n", "line 2: no JSON"),
        ("3", "a conversation is an array of messages"),
        ('{"role": "user", "content": "?"}', "a conversation is an array of messages"),
        ('[]\n{"messages": 3}', "line 2: a conversation is an array"),
        ('["hello"]', "message 0 must be a mapping"),
        ('[{"content": "hello"}]', "message 0 needs a 'role'"),
        ('[{"role": "tool", "content": "a"}]', "message 0 is a tool's result without a call"),
        ('[{"role": "user", "content": [{"type": "image"}]}]', "message 0 has a part that is no"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_what_is_no_conversation_is_named(invoke: Invoke, stdin: str, said: str) -> None:
    for arguments in ([], ["-n", "100"]):
        result = invoke("messages", *arguments, stdin=stdin)
        assert result.exit_code == 1
        assert said in result.stderr
        assert result.stdout == ""


def test_a_budget_that_no_cut_meets_fails_the_file(invoke: Invoke, tmp_path: Path) -> None:
    long, short = tmp_path / "long.json", tmp_path / "short.json"
    long.write_text(json.dumps(chat(9)))
    short.write_text("[]")
    result = invoke("messages", "-n", "20", long, short)
    assert (result.exit_code, result.stdout) == (1, "[]\n")
    assert "long.json: what must stay has" in result.stderr


def test_wrong_usage(invoke: Invoke) -> None:
    for arguments, said in [
        (["--chat", "nothing"], "no chat format 'nothing': there are chatml, plain"),
        (["--chat", "gpt-4o"], "no chat format 'gpt-4o': did you mean openai:gpt-4o? there are"),
        (["-n", "9", "--format", "table"], "--format is for counts"),
        (["--low-water", "1"], "low-water"),
    ]:
        result = invoke("messages", *arguments, stdin="[]")
        assert result.exit_code == 2
        assert said in result.stderr


def test_texts_of_any_kind_come_out_as_they_were(invoke: Invoke) -> None:
    texts = ["ä 中文 👍🏽", "a\u2028b\x00\x1b[31m", "\ud800 alone", '"\\']
    messages = [{"role": "user", "content": text} for text in texts]
    result = invoke("messages", "-n", "1000", stdin="\ufeff" + json.dumps(messages))
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout) == messages
    table = invoke("messages", stdin=json.dumps(messages)).stdout
    assert "\x1b" not in table
    assert len(table.split("\n")) == 1 + len(texts) + 2 + 1


def test_formats_of_models(invoke: Invoke, tmp_path: Path) -> None:
    template = tmp_path / "chat_template.jinja"
    template.write_text("{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}")
    given = json.dumps([{"role": "user", "content": "hello world"}])
    for name, total in (("harmony", 58), ("openai:gpt-4o", 9), (str(template), 5)):
        result = invoke("messages", "--chat", name, "--format", "json", stdin=given)
        assert result.exit_code == 0, result.stderr
        assert json.loads(result.stdout)["token_count"] == total, name
    wrong = invoke("messages", "--chat", "openai:nothing", stdin=given)
    assert wrong.exit_code == 2
    assert "nothing" in wrong.stderr


def test_formats_that_count_whole_requests_count_each_message(invoke: Invoke) -> None:
    from cutline import Conversation
    from cutline.chat import openai_estimate

    messages = chat(3)
    given = json.dumps({"messages": messages})
    result = invoke("messages", "--chat", "openai:gpt-4o", "--format", "json", stdin=given)
    row = json.loads(result.stdout)
    counts = [message["token_count"] for message in row["messages"]]
    assert counts == Conversation(openai_estimate("gpt-4o"), messages).message_counts()
    assert sum(counts) == row["token_count"]
    assert "around" not in invoke("messages", "--chat", "openai:gpt-4o", stdin=given).stdout


@pytest.mark.parametrize("option", [["--encoding", "gpt2"], ["--model", "gpt-4"]])
@pytest.mark.parametrize("name", ["harmony", "openai:gpt-4o"])
def test_a_format_with_an_encoding_of_its_own_takes_no_other(
    invoke: Invoke, name: str, option: list[str]
) -> None:
    result = invoke("messages", "--chat", name, *option, stdin="[]")
    assert result.exit_code == 2
    assert f"--chat {name} has an encoding of its own" in result.stderr
    assert invoke("messages", "--chat", "plain", *option, stdin="[]").exit_code == 0
