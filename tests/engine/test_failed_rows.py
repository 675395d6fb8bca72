"""What the journal is told of rows that failed."""

from __future__ import annotations

from penstock.engine.failed_rows import EXAMPLE_LETTERS, MOST_EXAMPLES, rows_failed
from penstock.engine.python_step import Tally
from penstock.secrets import keep_secret


def tally(error: str, messages: list[str]) -> Tally:
    made = Tally()
    made.count_failures([{"error": error, "message": each} for each in messages])
    return made


def test_an_error_comes_with_the_newest_of_its_messages() -> None:
    values = [f"sensor {n} reads {n / 7}, above full scale" for n in range(83)]
    told = rows_failed(7, "parse", 84, [tally("KeyError", ["'id'"]), tally("ValueError", values)])
    assert told.reasons == {"KeyError": 1, "ValueError": 83}
    assert told.examples == {"KeyError": "'id'", "ValueError": values[-1]}


def test_however_many_types_of_errors_there_are_few_messages_are_told() -> None:
    tallies = [tally(f"Error{n}", ["why"] * (n + 1)) for n in range(50)]
    told = rows_failed(7, "parse", 1_275, tallies)
    assert len(told.reasons) == 50
    assert set(told.examples) == {f"Error{n}" for n in range(49, 49 - MOST_EXAMPLES, -1)}


def test_a_message_is_cut_after_its_secrets_are_hidden() -> None:
    secret = "correct-horse-battery-of-this-test"
    keep_secret(secret)
    # Cut first, half of it would stand there.
    text = "x" * (EXAMPLE_LETTERS - 10) + secret + "y" * 500
    (example,) = rows_failed(7, "parse", 1, [tally("OSError", [text])]).examples.values()
    assert len(example) == EXAMPLE_LETTERS
    assert "correct" not in example
    assert "***" in example


def test_an_error_without_words_has_no_example() -> None:
    told = rows_failed(7, "parse", 1, [tally("ValueError", [""])])
    assert (told.reasons, told.examples) == ({"ValueError": 1}, {})
