"""A topology as people see it."""

from __future__ import annotations

import re

import pytest
from hypothesis import given

from penstock.errors import ConfigurationError
from penstock.topology.dag import Topology
from penstock.topology.explain import explain
from penstock.topology.operators import Operator, Source
from topology.builders import (
    dead_letters,
    filter_,
    map_,
    select,
    sink,
    source,
    union,
)
from topology.strategies import topologies


def small() -> Topology:
    # clicks --> parse --> check --> good --> out
    #            parse, check ..failed..> letters --> bad
    return Topology(
        [
            source("clicks"),
            map_("parse", "clicks", "dead_letter"),
            map_("check", "parse"),
            filter_("good", "check", "x > 3"),
            dead_letters("letters", "parse"),
            sink("out", "good", "parquet(out)"),
            sink("bad", "letters", "json(bad)"),
        ]
    )


def test_text() -> None:
    columns = "[x int, ts timestamp]"
    assert explain(small()).splitlines() == [
        "Topology",
        f"  clicks: source (time ts, watermark 10 s behind the newest row)  {columns}",
        f"  parse: map (work, bad rows set aside) <- clicks  {columns}",
        f"  check: map (work, bad rows stop the query) <- parse  {columns}",
        "  letters: dead_letters <- parse  [operator string, row string]",
        f"  good: filter (x > 3) <- check  {columns}",
        "  bad: sink (json(bad)) <- letters",
        "  out: sink (parquet(out)) <- good",
        "",
        "Components (one Spark stage each; the plan sets the tasks of those with Python)",
        "  clicks: JVM(clicks) -> Python(parse + check) -> JVM(good)",
        "",
        "Kept once per micro-batch for several readers: check",
    ]


def test_mermaid() -> None:
    assert explain(small(), "mermaid").splitlines() == [
        "flowchart LR",
        '  subgraph component_clicks["clicks"]',
        '    op_clicks[/"clicks<br/>source"/]',
        '    op_parse["parse<br/>map"]',
        '    op_check["check<br/>map"]',
        '    op_good["good<br/>filter"]',
        "  end",
        '  op_letters["letters<br/>dead_letters"]',
        '  op_bad[("bad<br/>sink")]',
        '  op_out[("out<br/>sink")]',
        "  op_clicks --> op_parse",
        "  op_parse --> op_check",
        "  op_parse -. failed rows .-> op_letters",
        "  op_check --> op_good",
        "  op_letters --> op_bad",
        "  op_good --> op_out",
        "  classDef python fill:#fde68a,stroke:#92400e,color:#111",
        "  class op_parse,op_check python",
    ]


def test_nothing_kept_and_no_python_are_not_mentioned() -> None:
    topology = Topology([source("a"), sink("out", "a")])
    assert "Kept" not in explain(topology)
    assert "python" not in explain(topology, "mermaid")


def test_a_union_names_all_it_reads() -> None:
    topology = Topology([source("a"), source("b"), union("u", "a", "b"), sink("out", "u")])
    text = explain(topology)
    assert "  u: union <- a, b  [" in text
    assert text.endswith("Kept once per micro-batch for several readers: all sources")


def test_an_unknown_format_is_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"no format 'dot'.*format='mermaid'"):
        explain(small(), "dot")  # type: ignore[arg-type]


def test_sql_over_several_lines_stays_on_one() -> None:
    topology = Topology([source("a"), select("s", "a", "x +\n   1 AS y", "ts"), sink("out", "s")])
    assert "  s: select (x + 1 AS y, ts) <- a  [x int, ts timestamp]" in explain(topology)


@pytest.mark.parametrize("nasty", ['"', "]", "[(", "-->", 'x = "a]"', "end\nend"])
def test_what_operators_and_sinks_say_cannot_break_the_drawing(nasty: str) -> None:
    def drawn(text: str) -> str:
        operators = [source("a"), filter_("f", "a", text), sink("out", "f", text)]
        return explain(Topology(operators), "mermaid")

    assert drawn(nasty) == drawn("harmless")


@pytest.mark.parametrize("word", ["end", "click", "style", "graph", "subgraph", "o", "x", "größe"])
def test_the_words_of_mermaid_are_good_names(word: str) -> None:
    topology = Topology([source(word), sink("component_" + word, word)])
    check_drawing(topology, explain(topology, "mermaid"))


@given(topologies())
def test_every_operator_has_one_line_of_text(topology: Topology) -> None:
    top = explain(topology).split("\n\n")[0].splitlines()[1:]
    assert [re.match(r"  (\w+): ", line)[1] for line in top] == [op.name for op in topology]  # type: ignore[index]


@given(topologies())
def test_every_drawing_is_well_formed(topology: Topology) -> None:
    check_drawing(topology, explain(topology, "mermaid"))


NODE = re.compile(r'\s+(op_\w+)(\[/"[^"]*"/\]|\[\("[^"]*"\)\]|\["[^"]*"\])')
EDGE = re.compile(r"  (op_\w+) (-->|-\. failed rows \.->) (op_\w+)")
GROUP = re.compile(r'  subgraph (component_\w+)\["\w+"\]')


def check_drawing(topology: Topology, drawing: str) -> None:
    """Read the drawing with a grammar of its own: nodes once, edges as they are, groups closed."""
    first, *lines = drawing.splitlines()
    assert first == "flowchart LR"
    nodes = [found[1] for line in lines if (found := NODE.fullmatch(line))]
    edges = [(found[1], found[3]) for line in lines if (found := EDGE.fullmatch(line))]
    groups = [found[1] for line in lines if (found := GROUP.fullmatch(line))]
    assert sorted(nodes) == sorted(f"op_{op.name}" for op in topology)
    assert edges == [(f"op_{name}", f"op_{op.name}") for op in topology for name in op.inputs]
    assert not set(groups) & set(nodes)
    rest = [line for line in lines if not any(p.fullmatch(line) for p in (NODE, EDGE, GROUP))]
    assert rest[: len(groups)] == ["  end"] * len(groups)
    assert [line.split()[0] for line in rest[len(groups) :]] in ([], ["classDef", "class"])


def test_sources_without_time_say_so() -> None:
    timeless: Operator = source("a", time=None)
    assert isinstance(timeless, Source)
    assert "a: source (no event time)" in explain(Topology([timeless, sink("out", "a")]))
