"""`cutline eval`: compares chunkers and sizes on documents, and on questions about them."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from cutline.cli.chunkers import Chunkers
from cutline.cli.commands import command, run
from cutline.cli.cutting import Cutting, grid_options
from cutline.cli.decoding import TextReader, reads_text
from cutline.cli.failure import Failure, message_of
from cutline.cli.finding import Selection, finds_files
from cutline.cli.inputs import shown_name
from cutline.cli.options import PATH, encoding_choice, input_output
from cutline.cli.output import open_output
from cutline.errors import CutlineError

if TYPE_CHECKING:
    from cutline import Encoding
    from cutline.chunking import Chunker
    from cutline.evaluation import Comparison, Evaluation, Question
    from cutline.evaluation.corpus import Corpus
    from cutline.evaluation.evaluating import Reading


@command(
    "cutline eval --by markdown,text --chunk-size 128,256,512 docs",
    "cutline eval --questions questions.jsonl --max-tokens 2000 --plot sizes.svg docs",
    "cutline eval --questions questions.jsonl -k 3 --overlap 0,32 --format csv docs > figures.csv",
    "cutline eval --sample --by markdown,text,token",
    name="eval",
)
@grid_options
@click.option(
    "--questions",
    "source",
    metavar="FILE",
    type=PATH,
    help="JSON Lines: question, references (texts or [start, end]) and document (the FILE).",
)
@click.option("--sample", is_flag=True, help="Use the documents and questions in the package.")
@click.option(
    "-k",
    metavar="CHUNKS",
    type=click.IntRange(min=1),
    help="How many chunks a question reads at most.  [default: 5, or what --max-tokens allows]",
)
@click.option(
    "--max-tokens",
    metavar="TOKENS",
    type=click.IntRange(min=1),
    help="How many tokens a question reads at most, so that sizes compare fairly.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "markdown", "csv", "json"]),
    default="text",
    help="Of the table.",
)
@click.option("--plot", metavar="FILE", type=PATH, help="Draw the scores by size, to an SVG file.")
@encoding_choice
@finds_files
@reads_text
@input_output
def evaluate(
    files: tuple[str, ...],
    output: str,
    reader: TextReader,
    selection: Selection,
    encoding: "Encoding",
    cuttings: list[Cutting],
    source: str | None,
    sample: bool,
    k: int | None,
    max_tokens: int | None,
    form: str,
    plot: str | None,
) -> None:
    """Compare chunkers and sizes: how well chunks are found, and what they tear apart.

    A row for each --by, --overlap and --chunk-size: the number of chunks, tokens to
    embed, how full chunks are, and which shares of tables, code, list items and
    sentences are whole in one chunk, of those that fit. With --questions, BM25 finds
    chunks for each; means are shown of the tokens read, and of recall, precision and
    IoU, in tokens, against the references; omega is the best precision that these
    chunks allow.
    """
    if sample and (files or selection.names is not None or source is not None):
        raise click.UsageError("--sample has its own documents and questions: leave out others")
    every = [(cutting, Chunkers(encoding, cutting)) for cutting in cuttings]

    def write(results: Iterable[tuple[str, str]]) -> Iterator[str]:
        from cutline.evaluation.evaluating import Reading

        documents = {shown_name(name): text for name, text in results}
        try:
            corpus = _corpus(documents, source, sample, encoding)
            found = _compare(corpus, every, Reading.of("bm25", k, max_tokens))
            if plot is not None:
                with open_output(plot) as sink:
                    sink.write(found.chart().encode())
        except (ImportError, ValueError, CutlineError) as error:
            raise Failure("; ".join([str(error), *getattr(error, "__notes__", ())])) from error
        yield found.table(form)  # type: ignore[arg-type]

    if sample:
        from cutline.evaluation import sample_documents

        with open_output(output) as sink:
            for part in write(sample_documents().items()):
                sink.write(part.encode())
        return

    # As all chunkers cut the same texts: a notebook as Markdown, as with --by auto.
    texts = Chunkers(encoding, replace(cuttings[0], by="auto", language=None))

    def work(name: str, content: bytes) -> str:
        return texts.text_of(name, content, reader)

    run(files, output, work=work, write=write, selection=selection, reader=reader)


def _corpus(
    documents: dict[str, str], source: str | None, sample: bool, encoding: "Encoding"
) -> "Corpus":
    from cutline.evaluation import read_questions, sample_questions
    from cutline.evaluation.corpus import Corpus

    questions: list[Question] = []
    if sample:
        questions = sample_questions()
    elif source is not None:
        try:
            questions = read_questions(source, documents)
        except OSError as error:
            raise Failure(f"{click.format_filename(source)}: {message_of(error)}") from error
    return Corpus(documents, questions, encoding)


def _compare(
    corpus: "Corpus", every: list[tuple[Cutting, Chunkers]], reading: "Reading"
) -> "Comparison":
    """Evaluate every chunker; those that differ in nothing but the size have one name."""
    from cutline.evaluation import Comparison
    from cutline.evaluation.evaluating import evaluate_on

    def evaluated(cutting: Cutting, chunkers: Chunkers) -> "Evaluation":
        overlap = f", overlap {cutting.overlap}" if cutting.overlap else ""
        of_files = {name: _chunker_of(chunkers, name) for name in corpus.documents}
        size = chunkers.chunk_size
        return evaluate_on(
            corpus, of_files, reading, chunk_size=size, name=f"{cutting.by}{overlap}"
        )

    return Comparison(tuple(evaluated(*one) for one in every))


def _chunker_of(chunkers: Chunkers, name: str) -> "Chunker":
    try:
        return chunkers.chunker_of(name)
    except CutlineError as error:
        raise Failure(f"{name}: {error}") from error
