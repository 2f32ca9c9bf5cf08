"""The page in a real browser: what it shows is what the chunker said."""

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import cutline
from cutline import Chunk
from cutline.chunking import TextChunker
from cutline.cli import main
from cutline.view import html_page
from cutline.view.tokens import Tokenizer
from tests.pipeline.families import build
from tests.view.samples import TEXTS, encoding, overlapping, stripped
from tests.wrapping.made import made, wrapped

webdriver = pytest.importorskip("selenium.webdriver", reason="needs the package selenium")
from selenium.webdriver.chrome.service import Service  # noqa: E402 (after the skip)
from selenium.webdriver.common.action_chains import ActionChains  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402
from selenium.webdriver.support.ui import WebDriverWait  # noqa: E402

CHROMIUM = next(filter(None, map(shutil.which, ["chromium", "chromium-browser", "chrome"])), None)
DRIVER = shutil.which("chromedriver")
if not (CHROMIUM and DRIVER):
    pytest.skip("needs chromium and chromedriver", allow_module_level=True)

# Small, so that a change of many tokens at once is seen.
CHUNK_SIZE = 16
FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-sync "
    "--disable-background-networking --disable-component-update --window-size=1280,900"
)
# Points at every token, and says what the page then tells of it.
READ_ALL = """
for (const box of document.querySelectorAll(".part")) drawTokens(box);
const texts = (root, query) => [...root.querySelectorAll(query)].map((found) => found.textContent);
return [...document.querySelectorAll(".chunk")].map((article) => ({
  text: article.querySelector(".text").textContent,
  label: article.getAttribute("aria-label"),
  about: texts(article, ".about p"),
  shared: texts(article, ".shared").join(""),
  cells: [...article.querySelectorAll(".t")].map((span) => {
    span.dispatchEvent(new PointerEvent("pointerover", { bubbles: true }));
    const tip = document.getElementById("tip");
    return { text: span.textContent, isHidden: tip.hidden, ids: texts(tip, ".id"),
             bytes: texts(tip, ".bytes"), span: texts(tip, ".span")[0] };
  }),
}));
"""

Show = Callable[..., None]


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in [*FLAGS.split(), f"--user-data-dir={tmp_path_factory.mktemp('profile')}"]:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    try:
        yield driver
    finally:
        driver.quit()


@pytest.fixture
def show(browser: Any, tmp_path: Path) -> Iterator[Show]:
    """Open a page; in the end, see that nothing was fetched and nothing complained."""
    page = tmp_path / "page.html"
    browser.get("about:blank")
    browser.get_log("performance")

    def open_page(
        text: str,
        chunks: list[Any],
        chunk_size: int | None = CHUNK_SIZE,
        tokenizer: Tokenizer | None = None,
        template: cutline.Template | None = None,
    ) -> None:
        with_tokens = tokenizer or encoding()
        content = html_page(
            text, chunks, with_tokens, title="a & b", chunk_size=chunk_size, template=template
        )
        page.write_text(content, encoding="utf-8", newline="")
        browser.get(page.as_uri())
        if chunks:  # tokens are drawn once the browser says what is in view
            WebDriverWait(browser, 20).until(lambda page: page.find_elements(By.CLASS_NAME, "t"))

    yield open_page
    assert browser.get_log("browser") == []
    messages = [json.loads(row["message"])["message"] for row in browser.get_log("performance")]
    fetched = {
        message["params"]["request"]["url"]
        for message in messages
        if message["method"] == "Network.requestWillBeSent"
    }
    assert fetched - {"data:,"} <= {page.as_uri()}


READ_AROUND = """
const texts = (root, query) => [...root.querySelectorAll(query)].map((found) => found.textContent);
return [texts(document, ".parent"), [...document.querySelectorAll(".chunk")].map((article) => [
  texts(article, ".frame, .text").join("|"), texts(article, ".sent")[0]])];
"""


def test_page_shows_parents_and_what_is_sent(browser: Any, show: Show) -> None:
    text = "# `<b>` Fish\n\nOne fish, two fish.\n\n## Red\n\nA red fish swims. It eats.\n" * 3
    template = cutline.Template("{headings}: {text} <end>", special_tokens=2)
    chunker = cutline.MarkdownChunker(encoding(), template=template)
    levels = cutline.HierarchicalChunker(chunker, sizes=(64, 40, 24))(text)
    show(text, levels, chunk_size=24, template=template)
    parents, articles = browser.execute_script(READ_AROUND)
    chunks = [node.chunk for node in levels[-1]]
    assert len(parents) == len(levels[0]) + len(levels[1])
    expected = []
    for chunk in chunks:
        frame = template.frame_of(chunk)
        whole = "|".join(filter(None, (frame.before, chunk.text, frame.after)))
        expected.append([whole, f"{chunk.metadata['sent_tokens']} of 24 tokens sent"])
    assert articles == expected
    first = levels[0][0].chunk
    assert parents[0] == (
        f"#0 · {first.token_count} tokens · characters 0–{first.end_index} · <b> Fish"
    )


@pytest.mark.parametrize("cut", [overlapping, stripped])
@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_page_shows_what_the_chunker_said(
    browser: Any, show: Show, text: str, cut: Callable[[str], list[Chunk]]
) -> None:
    chunks = cut(text)
    show(text, chunks)
    shown = browser.execute_script(READ_ALL)
    assert [article["text"] for article in shown] == [chunk.text for chunk in chunks]
    reached = 0
    for place, (chunk, article) in enumerate(zip(chunks, shown, strict=True)):
        assert article["label"].startswith(
            f"Chunk {chunk.index}, {chunk.token_count} of {CHUNK_SIZE} tokens"
        )
        expected = [f"#{chunk.index}{chunk.token_count} of {CHUNK_SIZE} tokens"]
        expected += [" › ".join(chunk.headings)] if chunk.headings else []
        expected += [f"cut at {chunk.metadata['boundary']}"] if "boundary" in chunk.metadata else []
        expected += [f"characters {chunk.start_index:,}–{chunk.end_index:,}"]
        repeated = max(0, reached - chunk.start_index)
        expected += [f"{repeated} repeated"] if repeated else []
        expected += ['table: {"rows": 3}'] if "table" in chunk.metadata else []
        assert article["about"] == expected
        next_start = chunks[place + 1].start_index if place + 1 < len(chunks) else chunk.end_index
        head = text[chunk.start_index : max(chunk.start_index, reached)]
        tail = text[max(next_start, chunk.start_index + len(head)) : chunk.end_index]
        assert article["shared"] == head + tail
        check_tokens(chunk, article["cells"])
        reached = chunk.end_index


def check_tokens(chunk: Chunk, cells: list[dict[str, Any]]) -> None:
    enc = encoding()
    tokens = enc.encode_ordinary(chunk.text)
    assert not any(cell["isHidden"] for cell in cells)
    assert [int(token) for cell in cells for token in cell["ids"]] == tokens
    assert [bytes.fromhex(written) for cell in cells for written in cell["bytes"]] == [
        enc.decode_single_token_bytes(token) for token in tokens
    ]
    assert "".join(cell["text"] for cell in cells) == chunk.text
    place = chunk.start_index
    for cell in cells:
        end = place + len(cell["text"])
        assert cell["span"] == f"{place:,}–{end:,}"
        place = end


def tokens_shown(text: str, cells: list[dict[str, Any]]) -> list[int]:
    """See that cells show all of the text, none of them hidden; returns the ids in them."""
    assert "".join(cell["text"] for cell in cells) == text
    place = 0
    for cell in cells:
        assert not cell["isHidden"]
        assert cell["span"] == f"{place:,}–{place + len(cell['text']):,}"
        place += len(cell["text"])
    return [int(token) for cell in cells for token in cell["ids"]]


@pytest.mark.parametrize("kind", ["bert", "unigram_of_t5", "sentence_piece"])
@pytest.mark.parametrize("text", [TEXTS["nasty"], TEXTS["scripts"]], ids=["nasty", "scripts"])
def test_page_shows_chunks_of_a_wrapped_tokenizer(
    browser: Any, show: Show, kind: str, text: str
) -> None:
    tokenizer = wrapped(kind)
    show(text, [text], None, tokenizer)
    [article] = browser.execute_script(READ_ALL)
    assert article["text"] == text
    assert tokens_shown(text, article["cells"]) == tokenizer.encode(text)


@pytest.mark.parametrize("text", [TEXTS["nasty"], TEXTS["scripts"]], ids=["nasty", "scripts"])
def test_page_shows_chunks_of_texts_that_are_changed(browser: Any, show: Show, text: str) -> None:
    tokenizer = cutline.Encoding.from_tokenizers(build("compatible, decomposed"))
    show(text, [text], None, tokenizer)
    [article] = browser.execute_script(READ_ALL)
    assert tokens_shown(text, article["cells"]) == tokenizer.encode_ordinary(text)


def test_tokens_without_a_place_are_shown_as_one(browser: Any, show: Show) -> None:
    tokenizer = cutline.wrap(made("bert"))
    tokenizer._has_offsets = False  # as of `tokenizers` 1
    text = "unaffable words " * 20
    show(text, [text], None, tokenizer)
    [article] = browser.execute_script(READ_ALL)
    assert tokens_shown(text, article["cells"]) == tokenizer.encode(text)[:32]


def test_page_of_the_command_shows_the_chunks_of_a_document(
    browser: Any, show: Show, tmp_path: Path
) -> None:
    document = Path(__file__).resolve().parents[2] / "docs" / "command-line.md"
    text = document.read_text(encoding="utf-8")
    options = ["--by", "text", "--chunk-size", "64", "--overlap", "8"]
    page = tmp_path / "page.html"
    result = CliRunner().invoke(main, ["view", *options, "-o", str(page), str(document)])
    assert (result.exit_code, result.stderr) == (0, "")
    browser.get(page.as_uri())
    shown = browser.execute_script(READ_ALL)
    chunks = TextChunker("o200k_base", 64, 8).chunk(text)
    assert [article["text"] for article in shown] == [chunk.text for chunk in chunks]
    for chunk, article in zip(chunks, shown, strict=True):
        assert article["about"][0] == f"#{chunk.index}{chunk.token_count} of 64 tokens"
        assert article["about"][1] == f"cut at {chunk.metadata['boundary']}"
        check_tokens(chunk, article["cells"])


def test_totals_are_on_the_page(browser: Any, show: Show) -> None:
    text = " one two three " * 20
    chunks = stripped(text)
    show(text, chunks)
    rows = browser.find_elements(By.CSS_SELECTOR, "[data-total]")
    totals = {row.get_attribute("data-total"): row.text for row in rows}
    lost = len(text) - sum(len(chunk.text) for chunk in chunks)
    assert (totals["chunks"], totals["lost"]) == (str(len(chunks)), str(lost))
    notes = browser.find_elements(By.CSS_SELECTOR, ".lost")
    assert sum(int(note.text.split()[0]) for note in notes) == lost > 0
    assert browser.title == "a & b"


def keys(browser: Any, *pressed: str) -> None:
    for key in pressed:
        ActionChains(browser).send_keys(key).perform()


def focused(browser: Any) -> str:
    active = browser.switch_to.active_element
    return str(active.get_attribute("id") or active.get_attribute("class"))


def tip_ids(browser: Any) -> list[int]:
    return [int(found.text) for found in browser.find_elements(By.CSS_SELECTOR, "#tip .id")]


def test_keys_walk_through_chunks_and_tokens(browser: Any, show: Show) -> None:
    text = "one two three four five six\n" * 30
    chunks = overlapping(text)
    show(text, chunks)
    keys(browser, Keys.TAB)
    assert focused(browser) == "skip"
    keys(browser, Keys.ENTER)
    assert focused(browser) == "chunks"
    keys(browser, "j")
    assert focused(browser) == "chunk-0"
    keys(browser, "j", "j", "k")
    assert focused(browser) == "chunk-1"
    tokens = encoding().encode_ordinary(chunks[1].text)
    for token in tokens[:3]:
        keys(browser, Keys.ARROW_RIGHT)
        assert tip_ids(browser) == [token]
    keys(browser, Keys.ARROW_LEFT)
    assert tip_ids(browser) == [tokens[1]]
    keys(browser, Keys.END)
    assert tip_ids(browser) == [tokens[-1]]
    keys(browser, Keys.HOME)
    assert tip_ids(browser) == [tokens[0]]
    keys(browser, Keys.ESCAPE)
    assert focused(browser) == "chunk-1"
    assert not browser.find_element(By.ID, "tip").is_displayed()


def test_tab_goes_from_skip_link_over_bars_and_buttons_to_one_chunk(
    browser: Any, show: Show
) -> None:
    show("one two three " * 40, overlapping("one two three " * 40))
    order = []
    for _ in range(6):
        keys(browser, Keys.TAB)
        order.append(focused(browser))
    assert order == ["skip", "strip", "edges", "white", "theme", "chunk-0"]


def test_bars_are_as_high_as_chunks_are_full_and_lead_to_them(browser: Any, show: Show) -> None:
    text = "one two three four five six seven\n" * 200
    chunks = overlapping(text)
    show(text, chunks)
    path = browser.find_element(By.CSS_SELECTOR, ".strip path").get_attribute("d")
    heights = [float(part.split("v-")[1].split("h")[0]) for part in path.split("M")[1:]]
    assert heights == pytest.approx([c.token_count / CHUNK_SIZE for c in chunks], abs=0.001)
    strip = browser.find_element(By.ID, "strip")
    wanted = len(chunks) * 2 // 3
    offset = (wanted + 0.5) / len(chunks) * strip.size["width"] - strip.size["width"] / 2
    ActionChains(browser).move_to_element_with_offset(strip, round(offset), 0).click().perform()
    assert strip.get_attribute("aria-valuenow") == str(wanted)
    article = browser.find_element(By.ID, f"chunk-{wanted}")
    top = browser.execute_script("return arguments[0].getBoundingClientRect().top", article)
    assert 0 <= top < browser.execute_script("return innerHeight")
    keys(browser, Keys.ARROW_RIGHT, Keys.ENTER)
    assert focused(browser) == f"chunk-{wanted + 1}"


def test_pointer_shows_a_token_and_leaving_hides_it(browser: Any, show: Show) -> None:
    show("one two 🦙 three", overlapping("one two 🦙 three"))
    tokens = encoding().encode_ordinary("one two 🦙 three")
    [llama] = browser.find_elements(By.CSS_SELECTOR, ".t.parts")
    ActionChains(browser).move_to_element(llama).perform()
    assert tip_ids(browser) == tokens[2:-1]
    assert len(tip_ids(browser)) > 1
    ActionChains(browser).move_to_element(browser.find_element(By.TAG_NAME, "h1")).perform()
    hidden = (
        "const f = arguments[0]; setTimeout(() => f(document.getElementById('tip').hidden), 400)"
    )
    assert browser.execute_async_script(hidden)


def test_buttons_say_whether_they_are_on(browser: Any, show: Show) -> None:
    show("one two", overlapping("one two"))
    for name, states in (("edges", ["true", "false"]), ("white", ["false", "true"])):
        button = browser.find_element(By.ID, name)
        seen = [button.get_attribute("aria-pressed")]
        button.click()
        assert [*seen, button.get_attribute("aria-pressed")] == states
    theme = browser.find_element(By.ID, "theme")
    grounds = set()
    for name in ("light", "dark", "auto"):
        theme.click()
        assert theme.text == f"Theme: {name}"
        grounds.add(
            browser.find_element(By.TAG_NAME, "body").value_of_css_property("background-color")
        )
    assert len(grounds) == 2


@pytest.mark.parametrize("text", ["x" * 100_000, " " * 100_000, TEXTS["scripts"]])
def test_nothing_is_wider_than_a_narrow_window(browser: Any, show: Show, text: str) -> None:
    size = {"width": 360, "height": 700, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        show(text, encoding().split(text, 512), 512)
        assert browser.execute_script("return document.documentElement.scrollWidth") <= 360
        widest = (
            "const rights = [...document.querySelectorAll('.t')]"
            ".map((token) => token.getBoundingClientRect().right);"
            "return Math.max(...rights)"
        )
        assert 0 < browser.execute_script(widest) <= 360
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_elements_do_not_grow_with_the_text(browser: Any, show: Show) -> None:
    text = "".join(f"line {number} of a text\n" for number in range(8_000))
    show(text, encoding().split(text, 128), 128)
    seen = [count_tokens_while_at(browser, share) for share in (0, 0.5, 1, 0)]
    assert 0 < max(seen) < 20_000 < encoding().count(text)
    assert seen[-1] <= 2 * seen[0]


def count_tokens_while_at(browser: Any, share: float) -> int:
    script = """
    const [share, done] = arguments;
    scrollTo(0, share * document.documentElement.scrollHeight);
    setTimeout(() => done(document.querySelectorAll(".t").length), 400);
    """
    return int(browser.execute_async_script(script, share))
