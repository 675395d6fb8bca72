"""How the dashboard looks: one sheet, light and dark, from a phone to a wall."""

from __future__ import annotations

from penstock.drawing.topology import STYLE as DRAWING

SHEET = (
    """
:root, body { --fg: #1b1f24; --bg: #f6f8fa; --card: #ffffff; --soft: #57606a; --line: #d8dee4;
  --box: #f3f5f7; --good: #1a7f37; --warn: #9a6700; --bad: #cf222e; --k0: #0969da; --k1: #cf5b00;
  --k2: #1a7f37; --k3: #8250df; --k4: #b35900; --k5: #cf222e; }
body.body--dark { --fg: #e6edf3; --bg: #0d1117; --card: #161b22; --soft: #9198a1; --line: #30363d;
  --box: #1b2129; --good: #3fb950; --warn: #d29922; --bad: #ff7b72; --k0: #58a6ff; --k1: #ffa657;
  --k2: #3fb950; --k3: #bc8cff; --k4: #d29922; --k5: #ff7b72; }
html { overflow-x: hidden; }
body { background: var(--bg) !important; color: var(--fg); font: 15px/1.5 system-ui, sans-serif; }
.nicegui-content { --nicegui-default-padding: 0; --nicegui-default-gap: 0; padding: 0; gap: 0;
  width: 100%; max-width: 100%; align-items: stretch; }
.skip { position: absolute; left: -9999px; } .skip:focus { left: 8px; top: 8px; z-index: 10;
  background: var(--card); padding: 8px 12px; border-radius: 6px; }
a { color: var(--k0); }
:focus-visible { outline: 2px solid var(--k0) !important; outline-offset: 2px; }
.top.q-header { background: var(--card) !important; color: var(--fg) !important; padding: 0;
  border-bottom: 1px solid var(--line); display: block; --nicegui-default-padding: 0; }
.bar { display: flex; flex-wrap: wrap; align-items: center; gap: 6px 16px;
  padding: 8px 20px 4px; max-width: 1440px; margin: 0 auto; width: 100%; box-sizing: border-box; }
.brand { font-weight: 700; font-size: 17px; letter-spacing: -.01em; color: var(--fg);
  text-decoration: none; display: flex; align-items: center; gap: 8px; }
.brand svg { width: 22px; height: 22px; }
.bar .grow { flex: 1 1 auto; }
.bar label { font-size: 12px; color: var(--soft); display: flex; align-items: center; gap: 6px; }
.bar select, .bar button, .form button { font: inherit; font-size: 14px;
  color: var(--fg); background: var(--bg); border: 1px solid var(--line); border-radius: 6px;
  padding: 4px 8px; max-width: 60vw; }
.bar button { cursor: pointer; }
.state { display: inline-flex; align-items: center; gap: 6px; font-size: 13px; font-weight: 600; }
.state::before { content: ""; width: 9px; height: 9px; border-radius: 50%;
  background: currentColor; }
.good { color: var(--good); } .warn { color: var(--warn); } .bad { color: var(--bad); }
.soft { color: var(--soft); }
.pages { display: flex; gap: 2px; overflow-x: auto; padding: 0 14px; max-width: 1440px;
  margin: 0 auto; scrollbar-width: thin; box-sizing: border-box; width: 100%; }
.pages a { padding: 8px 10px; color: var(--soft); text-decoration: none; white-space: nowrap;
  border-bottom: 2px solid transparent; font-size: 14px; }
.pages a:hover { color: var(--fg); }
.pages a[aria-current] { color: var(--fg); border-bottom-color: var(--k0); font-weight: 600; }
.page { max-width: 1440px; margin: 0 auto; padding: 16px 20px 48px; width: 100%;
  box-sizing: border-box; overflow-wrap: anywhere; }
.page h1 { font-size: 20px; line-height: 1.3; margin: 0 0 4px; font-weight: 650;
  letter-spacing: -.01em; }
.sections { display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 14px;
  width: 100%; margin-top: 12px; }
.section { position: relative; min-width: 0; background: var(--card); border: 1px solid var(--line);
  border-radius: 10px; padding: 14px 16px; box-sizing: border-box; }
.section.bare { background: none; border: none; padding: 0; }
.section.full { grid-column: 1 / -1; }
.section:has([data-waits])::after { content: "Not renewed while text here is marked.";
  position: absolute; top: 10px; right: 12px; padding: 2px 8px; border-radius: 6px;
  background: var(--box); color: var(--soft); font-size: 12px; }
.section h2 { font-size: 15px; line-height: 1.4; margin: 0 0 2px; font-weight: 600; }
.about { color: var(--soft); font-size: 13px; margin: 0 0 6px; overflow-wrap: anywhere; }
.tiles { display: grid; grid-template-columns: repeat(4, minmax(0, 1fr)); gap: 12px; margin: 0; }
.tiles.by-three { grid-template-columns: repeat(6, minmax(0, 1fr)); }
@media (max-width: 1100px) { .tiles.by-three { grid-template-columns: repeat(3, minmax(0, 1fr)); } }
.tile { background: var(--card); border: 1px solid var(--line); border-radius: 10px;
  padding: 10px 14px; min-width: 0; }
.tile dt { font-size: 12.5px; color: var(--soft); }
.tile dd { margin: 0; overflow-wrap: anywhere; }
.tile .value { font-size: 21px; font-weight: 600; line-height: 1.35;
  font-variant-numeric: tabular-nums; }
.tile .about { font-size: 12px; margin: 2px 0 0; }
.wide { overflow-x: auto; max-width: 100%; }
table { border-collapse: collapse; width: 100%; font-size: 13.5px;
  font-variant-numeric: tabular-nums; }
caption { text-align: left; color: var(--soft); font-size: 12.5px; padding: 0 0 4px; }
th { font-weight: 600; font-size: 12.5px; color: var(--soft); }
th, td { padding: 5px 14px 5px 0; border-bottom: 1px solid var(--line); vertical-align: top; }
tbody:last-child tr:last-child td { border-bottom: none; }
.more { display: none; }
.words { text-align: left; overflow-wrap: anywhere; min-width: 6.5em; }
.number { text-align: right; white-space: nowrap; } .moment { white-space: nowrap !important; }
.chip { display: inline-block; font-size: 11.5px; border: 1px solid var(--line);
  border-radius: 10px; padding: 0 8px; margin-left: 2px; color: var(--soft);
  overflow-wrap: anywhere; text-align: left; }
.notice { border: 1px solid var(--line); border-left: 4px solid var(--k0); border-radius: 8px;
  background: var(--card); padding: 10px 14px; overflow-wrap: anywhere; color: var(--fg); }
.notice.warn { border-left-color: var(--warn); } .notice.bad { border-left-color: var(--bad); }
.empty { color: var(--soft); margin: 4px 0; }
.form { display: flex; flex-wrap: wrap; gap: 10px 18px; align-items: end; margin-top: 8px; }
.form .q-field { width: 8.5em; } .form .q-checkbox { min-height: 40px; }
.form .q-field__label, .form .q-field__native { color: var(--fg) !important; }
.form button { cursor: pointer; padding: 6px 14px; min-height: 40px; }
.form button.main { background: var(--k0); color: #fff; border-color: var(--k0); }
body.body--dark .form button.main { color: #0d1117; }
@media (max-width: 800px) {
  .sections { grid-template-columns: minmax(0, 1fr); }
  .bar { padding: 8px 12px 4px; } .pages { padding: 0 6px; } .page { padding: 12px 12px 40px; }
  .tiles, .tiles.by-three { grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 8px; }
  .tile .value { font-size: 18px; } .section { padding: 12px; }
}
/* On a phone a row of a table is a small list of its own: nothing is cut off or scrolled for. */
@media (max-width: 640px) {
  thead { position: absolute; width: 1px; height: 1px; overflow: hidden;
    clip-path: inset(50%); }
  tbody, tbody tr, tbody td, caption { display: block; }
  tbody tr { padding: 8px 0; border-bottom: 1px solid var(--line); }
  tbody:last-child tr:last-child { border-bottom: none; }
  .more { display: block; } .wide:has(+ .more:not([open])) .rest { display: none; }
  .more summary { padding: 10px 0; color: var(--k0); cursor: pointer; }
  tbody td { display: flex; gap: 12px; justify-content: space-between; border: none;
    padding: 2px 0; text-align: right; white-space: normal; overflow-wrap: anywhere; }
  tbody td::before { content: attr(data-label); color: var(--soft); flex: 0 0 38%;
    text-align: left; }
  tbody td.words { text-align: right; } tbody td:first-child { font-weight: 600; }
  tbody td.words[data-label=""] { justify-content: start; text-align: left; }
  tbody td[data-label=""]::before { display: none; }
}
@media (prefers-reduced-motion: reduce) { * { transition: none !important; } }
"""
    + DRAWING
    + ".drawing svg text { font-size: 11px; } .drawing svg .name, .drawing svg .title "
    + "{ font-size: 12px; } .drawing svg { max-width: 100%; min-width: var(--least, 0); "
    + "height: auto; }"
)

GATE = (
    '<svg viewBox="0 0 24 24" aria-hidden="true"><path fill="none" stroke="var(--k0)" '
    'stroke-width="2.4" stroke-linecap="round" d="M3 7c3-3 6 3 9 0s6 3 9 0M3 13c3-3 6 3 9 0s6 3 9 0'
    'M3 19c3-3 6 3 9 0s6 3 9 0"/></svg>'
)
FAVICON = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24"><path fill="none" '
    'stroke="#2f81f7" stroke-width="2.6" stroke-linecap="round" d="M3 7c3-3 6 3 9 0s6 3 9 0M3 13'
    'c3-3 6 3 9 0s6 3 9 0M3 19c3-3 6 3 9 0s6 3 9 0"/></svg>'
)
