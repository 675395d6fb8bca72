import os
from importlib.resources import files
from math import ceil
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.errors import ConfigurationError
from penstock.simulation.laws import ByKey, Constant, Exponential, LogNormal, Uniform
from penstock.simulation.topology_file import MOST_BYTES, read_topology, shipped_topologies
from penstock.simulation.topology_text import MOST_OPERATORS, topology_of_text
from penstock.simulation.workloads.named import workload_named
from penstock.sources.keys import UniformKeys, ZipfKeys

WHOLE = """
name: shop
about: all that can be written
sources:
  orders: {share: 0.75, keys: {zipf: {n: 100, s: 1.5}}}
  visits: {share: 1/4, keys: {uniform: {n: 7}}}
operators:
  parse: {inputs: [orders, visits], seconds: 1e-3, selectivity: 2}
  look_up: {inputs: {parse: 0.4, visits: 1}, seconds: {uniform: {low: 0.001, high: 0.003}}}
  score: {inputs: look_up, seconds: {lognormal: {mean: 0.01, variation: 0.5}}}
  wait: {inputs: score, seconds: {exponential: {mean: 0.02}}}
  judge: {inputs: wait, seconds: {by_key: {low: 0.001, high: 0.064, values: 32, seed: 3}}}
  store: {inputs: judge, seconds: {constant: {seconds: 0.005}}}
"""


@pytest.fixture
def written(tmp_path: Path):
    def write(text: str, name: str = "mine.yaml") -> str:
        path = tmp_path / name
        path.write_text(text)
        return str(path)

    return write


def test_everything_a_topology_has_can_be_written(written) -> None:
    topology = read_topology(written(WHOLE))
    assert (topology.name, topology.about) == ("shop", "all that can be written")
    assert [(each.share, each.keys) for each in topology.sources] == [
        (0.75, ZipfKeys(100, 1.5)),
        (0.25, UniformKeys(7)),
    ]
    assert [each.law for each in topology.operators] == [
        Constant(0.001),
        Uniform(0.001, 0.003),
        LogNormal(0.01, 0.5),
        Exponential(0.02),
        ByKey(0.001, 0.064, 32, 3),
        Constant(0.005),
    ]
    assert topology.operators[1].inputs == {"parse": 0.4, "visits": 1.0}
    assert topology.operators[0].selectivity == 2.0


def test_sources_share_the_load_evenly_and_the_file_gives_the_name(written) -> None:
    text = "sources: {a: , b: }\noperators: {both: {inputs: [a, b], seconds: 0.1}}"
    topology = read_topology(written(text, "pair.yml"))
    assert topology.name == "pair"
    assert [each.share for each in topology.sources] == [0.5, 0.5]


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("selectivity: 2", "selectivty: 2", r"operator 'parse'.*'selectivty'. Did you.*'select"),
        ("seconds: 1e-3", "seconds: fast", r"operator 'parse': seconds: seconds is 'fast'; write"),
        ("seconds: 1e-3", "seconds: -1", r"operator 'parse': seconds: Constant: seconds is -1"),
        ("seconds: 1e-3", "seconds: true", r"operator 'parse': seconds: .* is True; write a num"),
        ("seconds: 1e-3", "seconds: 1/0", r"seconds is '1/0'; write a number"),
        (", seconds: 1e-3", "", r"operator 'parse': 'seconds' is missing; write seconds: 0.001"),
        ("inputs: look_up", "inputs: lookup", r"'score' reads 'lookup'.*There are: orders,"),
        ("inputs: look_up", "inputs: judge", r"score.*judge|judge.*score"),
        ("{parse: 0.4, visits: 1}", "{parse: 4}", r"takes the share 4.0 of 'parse'"),
        ("{exponential: {mean", "{exponentail: {mean", r"'exponentail'. Did you mean 'exponenti"),
        ("{exponential: {mean", "{exponential: {men", r"operator 'wait'.*no 'men'. .*'mean'"),
        ("{exponential: {mean: 0.02}}", "{exponential: }", r"seconds: exponential is missing"),
        ("low: 0.001, high: 0.003", "low: 0.001", r"'look_up'.*'high' is missing; write {high"),
        ("low: 0.001, high: 0.003", "low: 3, high: 1", r"'look_up': .*low 3.0 is above high 1.0"),
        ("values: 32", "values: 3.5", r"operator 'judge': .*values is 3.5; write a whole number"),
        ("share: 0.75", "share: 0.7", r"shares \[0.7, 0.25\].*add up to 1"),
        ("n: 100", "n: 0", r"source 'orders': keys: zipf: ZipfKeys: the number of keys n is 0"),
        ("share: 0.75", "shares: 0.75", r"source 'orders': there is no 'shares'. Did you"),
        ("sources:", "source:", r"there is no 'source'. Did you mean 'sources'"),
        ("score: {", "parse: {", r"line 10: 'parse' is there twice"),
        ("score: {", "yes: {", r"an operator is called True; write a text, in quotation marks"),
        ("name: shop", "name: [shop", r"line \d+: "),
        ("name: shop", "name: 2020-99-99", r"this is no YAML text \(month must be in"),
        ("name: shop", "name: " + "[" * 1000, r"this is no YAML text \(maximum recursion"),
        ("name: shop", "name: &a [*a]", r"line 2: '\*a' stands for something else; write it out"),
        ("selectivity: 2", "<<: {selectivity: 2}", r"line 8: '<<' takes in another mapping"),
        ("selectivity: 2", "selectivity: 1.0e+12", r"'parse'.*e.*; write .* from 0 to 1,000,000"),
        ("seconds: 1e-3", "seconds: 1" + ":59" * 30_000, r"line 8: a number of 90,001 digits"),
        ("seconds: 1e-3", "seconds: 1" + ":59" * 999 + ".5", r"line 8: a number of 3,000 digits"),
        ("seconds: 1e-3", "seconds: " + "1" * 9_999, r"line 8: a number of 9,999 digits"),
        ("seconds: 1e-3", 'seconds: !!int ""', r"this is no YAML text"),
        ("values: 32", "values: 1e30", r"operator 'judge': .*ByKey: \d+ values .* can't be"),
        ("name: shop", "name: !!python/object/apply:os.getcwd []", r"line 2: "),
    ],
)
def test_a_mistake_is_told_with_its_file_and_operator(written, old, new, complaint) -> None:
    assert old in WHOLE
    file = written(WHOLE.replace(old, new, 1))
    with pytest.raises(ConfigurationError, match=complaint) as told:
        read_topology(file)
    assert str(told.value).startswith(file)


def test_a_text_that_doubles_with_each_line_is_refused_at_its_first_alias(written) -> None:
    doubling = "".join(f"m{i + 1}: &m{i + 1} {{<<: [*m{i}, *m{i}]}}\n" for i in range(60))
    with pytest.raises(ConfigurationError, match=r"line 2: '\*m0' stands for something else"):
        read_topology(written(f"m0: &m0 {{k: 1}}\n{doubling}{WHOLE}"))


def test_there_are_bounds_to_files_operators_and_rows(written) -> None:
    with pytest.raises(ConfigurationError, match=r"is longer than 250,000 bytes; give"):
        read_topology(written(f"{WHOLE}#{'x' * MOST_BYTES}"))
    many = "".join(f"  o{n}: {{inputs: a, seconds: 0.1}}\n" for n in range(MOST_OPERATORS))
    with pytest.raises(ConfigurationError, match=r"has 1,001 sources and operators; write 1,000"):
        read_topology(written(f"sources: {{a: }}\noperators:\n{many}"))
    growing = "".join(
        f"  o{n + 1}: {{inputs: o{n}, seconds: 0.1, selectivity: 1000000}}\n" for n in range(300)
    )
    with pytest.raises(ConfigurationError, match=r"takes in inf rows per row of the load"):
        read_topology(written(f"sources: {{o0: }}\noperators:\n{growing}"))


@settings(max_examples=150, deadline=None)
@given(
    st.integers(0, len(WHOLE)),
    st.integers(0, 30),
    st.sampled_from(["", " ", "\n", ":", "{", "}", "[", "-1", "null", "&a", "*a", "#", "'", "9e9"]),
)
def test_a_file_that_was_tampered_with_is_a_topology_or_refused(
    start: int, length: int, instead: str
) -> None:
    text = WHOLE[:start] + instead + WHOLE[start + length :]
    told = "mine.yaml: it is one"
    try:
        topology_of_text(text, "mine.yaml", "mine").seconds_per_row()
    except ConfigurationError as error:
        told = str(error)
    assert told.startswith("mine.yaml")


@pytest.mark.parametrize("text", ["", "just words", "[a, b]", "sources: {a: }", "operators: {}"])
def test_what_is_no_topology_is_refused_with_an_example(written, text) -> None:
    # In one line: the command line shows no more.
    with pytest.raises(ConfigurationError, match=r"^.*write .*tweets.*$") as told:
        read_topology(written(text))
    assert "\n" not in str(told.value)


def test_a_file_that_is_not_there_or_not_text(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"gone\.yaml cannot be read: No such file"):
        read_topology(tmp_path / "gone.yaml")
    (tmp_path / "bytes.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigurationError, match="it is not text"):
        read_topology(tmp_path / "bytes.yaml")


MODULE = """
from penstock.simulation.laws import Constant
from penstock.simulation.topology import SimulatedOperator, SimulatedSource, SimulatedTopology

def topology(seconds=0.1):
    parse = SimulatedOperator("parse", {"rows": 1.0}, Constant(seconds))
    return SimulatedTopology("coded", (SimulatedSource("rows"),), (parse,))

slow = topology(2.0)
number = 3

def broken():
    return 1 / 0
"""


def test_a_python_module_gives_an_object_or_a_function(written) -> None:
    file = written(MODULE, "coded.py")
    assert read_topology(file).seconds_per_row() == pytest.approx(0.1)
    assert read_topology(f"{file}:slow").seconds_per_row() == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("fast", r"coded\.py has no 'fast'"),
        ("number", r"'number' in .*coded\.py is of type int\. Write a SimulatedTopology"),
        ("broken", r"coded\.py line 13: ZeroDivisionError"),
    ],
)
def test_a_python_module_without_a_topology(written, name, complaint) -> None:
    with pytest.raises(ConfigurationError, match=complaint):
        read_topology(f"{written(MODULE, 'coded.py')}:{name}")
    with pytest.raises(ConfigurationError, match=r"there is no file .*gone\.py"):
        read_topology("gone.py")


def test_a_name_that_is_nearly_right() -> None:
    with pytest.raises(ConfigurationError, match=r"no topology 'twets'. Did you mean 'tweets'"):
        read_topology("twets")


@pytest.mark.parametrize("name", shipped_topologies())
def test_the_papers_topologies_come_with_the_package(name: str) -> None:
    text = (files("penstock.simulation") / "topologies" / f"{name}.yaml").read_text()
    assert text.startswith("# "), "where its numbers come from"
    topology = read_topology(name)
    assert topology.name == name
    assert topology.about


def test_the_tweets_take_what_the_paper_measured() -> None:
    tweets = read_topology("tweets")
    assert len(tweets.operators) == 4
    # One replica of each operator did 0.3319 of the rows in 1,301 s.
    rows_per_second = 1 / tweets.operators[0].law.mean_seconds()
    assert rows_per_second == pytest.approx(0.3319 * 2_982_840 / 1301, rel=1e-3)


def test_both_simple_topologies_load_a_stream_alike() -> None:
    sensitive, insensitive = read_topology("sensitive"), read_topology("insensitive")
    assert sensitive.seconds_per_row() == pytest.approx(insensitive.seconds_per_row(), rel=0.01)


def test_the_complex_tweets_take_two_ways() -> None:
    rows = read_topology("complex_tweets").rows_per_row()
    assert (rows["news_author"], rows["opinion_author"], rows["store"]) == (0.5, 0.5, 1.0)
    assert len(read_topology("complex_tweets").operators) == 8


DATA = Path(os.environ.get("PENSTOCK_DATA", Path(__file__).parents[3] / "shared/data"), "rates")


@pytest.mark.skipif(not DATA.is_dir(), reason="the traces are not here")
@pytest.mark.parametrize(
    ("name", "most", "saved"), [("tweets", 32, 0.5617), ("complex_tweets", 40, 0.745)]
)
def test_times_make_equation_1_save_what_the_paper_prints(
    name: str, most: int, saved: float
) -> None:
    # The replicas of an operator are its rows of a second times their seconds, rounded up.
    topology = read_topology(name)
    rows = topology.rows_per_row()
    load = workload_named(str(DATA / "psps_main.csv"))
    replicas = [
        max(1, ceil(count * rows[each.name] * each.law.mean_seconds() - 1e-9))
        for count in load.trace.counts
        for each in topology.operators
    ]
    mean = sum(replicas) / len(load.trace.counts)
    assert 1 - mean / most == pytest.approx(saved, abs=0.001)
