"""A topology as people see it: the text, and the Mermaid drawing."""

from __future__ import annotations

import html
import re
from dataclasses import replace

import pytest
from hypothesis import given

from penstock.errors import ConfigurationError
from penstock.topology.components import Components
from penstock.topology.dag import Topology
from penstock.topology.explain import Format
from penstock.topology.explain import explain as explain_components
from penstock.topology.operators import Operator, Source
from penstock.topology.schema import Column, Schema
from topology.builders import (
    by_key,
    dead_letters,
    filter_,
    loans,
    map_,
    rate,
    select,
    sink,
    source,
    union,
    windows,
)
from topology.strategies import topologies


def explain(topology: Topology, format: Format = "text") -> str:
    """Show a topology as automatic fusion groups it."""
    return explain_components(Components(topology), format)


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
        "  clicks: JVM(clicks)",
        "    flexible and stateless; any rows anywhere; rows come as they come",
        "  parse: Python(parse + check) -> JVM(good)",
        "    flexible and stateless; any rows anywhere; rows are placed by the placement",
        "",
        "Why (what keeps components apart that read each other)",
        "  clicks -> parse: the rows of 'clicks' come as they come, "
        "and 'parse' has tasks of its own",
        "",
        "Kept once per micro-batch for several readers: check",
    ]


def lending() -> Topology:
    """Enorm's Fig. 1: two keyed operators in one component, and a global one after each."""
    # loans --> score --> by_area --> total --> out
    #           score --> by_user --> sink
    return Topology(
        [
            loans("loans", area=50),
            rate("score", "loans", "area", "user"),
            *windows("by_area", "score", "area"),
            *windows("by_user", "score", "user", "area"),
            *windows("total", "by_area"),
            sink("out", "total"),
            sink("users", "by_user"),
        ]
    )


def test_the_text_of_enorms_figure_1() -> None:
    _, *parts = explain(lending()).split("\n\n")
    shared = "panes of 10 minutes, shared by windows of 10 minutes and 1 hour"
    complete = "complete: all rows of a key are where its partials are made"
    assert [part.splitlines() for part in parts] == [
        [
            "Components (one Spark stage each; the plan sets the tasks of those with Python)",
            "  loans: JVM(loans)",
            "    flexible and stateless; any rows anywhere; rows come as they come",
            "  score: Python(score) -> JVM(by_area_partials) -> JVM(by_user_partials) -> "
            "JVM(by_area) -> JVM(by_user)",
            "    rigid and stateful; partitioned on area, over at most 50 tasks; "
            "rows are exchanged on area",
            "  total_partials: JVM(total_partials) -> JVM(total)",
            "    rigid and stateful; partitioned on pane; "
            "rows are exchanged by Spark's own aggregate",
        ],
        [
            "Why (what keeps components apart that read each other)",
            "  loans -> score: the rows of 'loans' come as they come, "
            "and 'score' has tasks of its own",
            "  score -> total_partials: the windows of 'by_area' come out wherever they are formed",
        ],
        [
            "Windows (every row becomes part of a pane once, for all windows)",
            f"  by_area: {shared}",
            f"    {complete}",
            f"  by_user: {shared}",
            f"    {complete}",
            f"  total: {shared}",
            "    combined: partials of one key are brought together first",
        ],
        ["Kept once per micro-batch for several readers: score"],
    ]


def test_mermaid() -> None:
    assert explain(small(), "mermaid").splitlines() == [
        "flowchart LR",
        '  subgraph component_clicks["clicks"]',
        '    op_clicks[/"clicks<br/>source"/]',
        "  end",
        '  subgraph component_parse["parse"]',
        '    op_parse["parse<br/>map"]',
        '    op_check["check<br/>map"]',
        '    op_good["good<br/>filter"]',
        "  end",
        '  op_letters["letters<br/>dead_letters"]',
        '  op_bad[("bad<br/>sink")]',
        '  op_out[("out<br/>sink")]',
        '  op_clicks ==>|"placed"| op_parse',
        "  op_parse --> op_check",
        "  op_parse -. failed rows .-> op_letters",
        "  op_check --> op_good",
        "  op_letters --> op_bad",
        "  op_good --> op_out",
        "  classDef python fill:#fde68a,stroke:#92400e,color:#111",
        "  class op_parse,op_check python",
    ]


def test_what_is_not_there_is_not_mentioned() -> None:
    topology = Topology([source("a"), sink("out", "a")])
    for absent in ("Kept", "Why", "Windows"):
        assert absent not in explain(topology)
    assert "python" not in explain(topology, "mermaid")


def test_edges_of_the_drawing_say_what_moves_rows() -> None:
    topology = Topology(
        [
            loans("loans"),
            *windows("best", "loans", "area", moves_rows=True),
            rate("score", "loans", "area"),
            *windows("w", "score", "area", "user"),
            by_key("account", "loans", "user", "area"),
            sink("one", "best"),
            sink("two", "w"),
            sink("three", "account"),
        ]
    )
    drawing = explain(topology, "mermaid")
    for line in (
        '  op_loans ==>|"by pane"| op_best_partials',
        '  op_loans ==>|"on area"| op_score',
        '  op_loans ==>|"key groups of area, user"| op_account',
        "  op_score --> op_w_partials",
        "  op_w --> op_two",
        "  class op_best_partials,op_score,op_account python",
    ):
        assert line in drawing.splitlines()
    check_drawing(topology, drawing)


@pytest.mark.parametrize("nasty", ['a"b', "a|b", "a<b>", "a#b;", "a\nb"])
def test_columns_cannot_break_the_drawing(nasty: str) -> None:
    topology = keyed_on(nasty)
    check_drawing(topology, explain(topology, "mermaid"))
    shown = re.search(r'==>\|"key groups of (.*)"\| op_p', explain(topology, "mermaid"))
    assert shown is not None
    assert not set(shown[1]) & set('"|<>\n')


def keyed_on(column: str) -> Topology:
    schema = Schema((Column(column, "string"),))
    start = replace(source("a", time=None), schema=schema)
    keyed = replace(by_key("p", "a", column), schema=schema, time=None)
    return Topology([start, keyed, sink("out", "p")])


def test_a_union_names_all_it_reads() -> None:
    topology = Topology([source("a"), source("b"), union("u", "a", "b"), sink("out", "u")])
    text = explain(topology)
    assert "  u: union <- a, b  [" in text
    assert text.endswith("Kept once per micro-batch for several readers: all sources")


def test_an_unknown_format_is_refused() -> None:
    named = r"no format 'dot'.*format='text'.*format='mermaid'.*format='html'"
    with pytest.raises(ConfigurationError, match=named):
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
def test_every_component_has_two_lines_and_every_border_a_reason(topology: Topology) -> None:
    components = Components(topology)
    text = explain_components(components)
    assert all(len(line) <= 160 for line in text.splitlines())
    told = text.split("\n\n")[1].splitlines()[1:]
    assert [line.split(":")[0] for line in told[::2]] == [f"  {each.name}" for each in components]
    assert all(line.startswith("    ") for line in told[1::2])
    homes = components.grouping.homes
    crossed = {
        (homes[name], homes[op.name])
        for op in topology
        for name in op.inputs
        if name in homes and op.name in homes and homes[name] != homes[op.name]
    }
    why = re.findall(r"^  (\w+) -> (\w+): .", text, re.MULTILINE)
    assert len(why) == len(set(why))
    assert set(why) == crossed


@given(topologies())
def test_every_drawing_is_well_formed(topology: Topology) -> None:
    check_drawing(topology, explain(topology, "mermaid"))


NODE = re.compile(r'\s+(op_\w+)(\[/"[^"]*"/\]|\[\("[^"]*"\)\]|\["[^"]*"\])')
EDGE = re.compile(r'  (op_\w+) (-->|==>\|"[^"|]+"\||-\. failed rows \.->) (op_\w+)')
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


def test_a_plan_that_can_not_run_is_told() -> None:
    operators = [
        loans("loans"),
        rate("m", "loans", component="both"),
        rate("n", "loans", component="both"),
        sink("one", "m"),
        sink("other", "n"),
    ]
    topology = Topology(operators)
    said = "This plan can't run: m, n can't be one component: 'n' does not read what 'm' leads to."
    assert explain(topology).startswith(f"{said}\n\nTopology\n")
    assert said in html.unescape(explain(topology, "html"))
    assert "can't run" not in explain(lending()) + explain(lending(), "html")
