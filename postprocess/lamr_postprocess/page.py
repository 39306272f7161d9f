"""One HTML page that shows what a threshold keeps, and why: shaded by score, coloured by reason, with a slider.

The page is self-contained: it uses no network, no fonts and no libraries, and its content security policy allows none.
The slider is exact, because what repair adds is computed here for each of its steps.
"""

import html
import json
import re

import numpy as np
from lamr_base.errors import visible
from numpy.typing import ArrayLike, NDArray

from lamr_postprocess.document import Document, analyse
from lamr_postprocess.languages import language_named
from lamr_postprocess.prune import MOST_OUTCOMES
from lamr_postprocess.repair import CUT, DEPENDENCY, REASONS, SELECTED, adding
from lamr_postprocess.selection import highest_thresholds
from lamr_postprocess.source_file import SourceFile

TEMPLATE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy"
  content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'">
<title>@TITLE@</title>
<style>
:root { color-scheme:light dark; --ink:#1c2128; --paper:#fff; --bar:#f7f8fa; --quiet:#68717d; --line:#dde2e8;
  --semantic:#c2570c; --dependency:#1f6feb; --repair:#0f8a5f; --keep:#8250df; --outcome:#cf222e; --pruned:#8c959f;
  --strength:27% }
@media (prefers-color-scheme: dark) {
  :root { --ink:#e3e8ef; --paper:#12151a; --bar:#191d24; --quiet:#8d96a3; --line:#2d333c;
    --semantic:#f0973c; --dependency:#6cabff; --repair:#43c992; --keep:#bda0ff; --outcome:#ff7b72; --pruned:#6b7480;
    --strength:38% } }
* { box-sizing:border-box }
body { margin:0; color:var(--ink); background:var(--paper); font:14px/1.5 system-ui,"Segoe UI",sans-serif }
header { position:sticky; top:0; z-index:1; padding:14px 24px 12px; background:var(--bar);
  border-bottom:1px solid var(--line) }
h1 { margin:0; font-size:16px; font-weight:600 }
p { margin:2px 0; color:var(--quiet) } p:empty { display:none }
p.query { color:var(--ink); font-size:15px }
.tools { display:flex; flex-wrap:wrap; gap:8px 20px; align-items:center; margin-top:10px }
.tools label { display:flex; align-items:center; gap:8px; color:var(--quiet) }
input[type=range] { width:min(230px,50vw); accent-color:var(--semantic) }
output { font-variant-numeric:tabular-nums } output b { font-size:16px }
.legend { display:flex; flex-wrap:wrap; gap:4px 14px; margin-left:auto; color:var(--quiet);
  font-size:13px; font-variant-numeric:tabular-nums }
.legend b { display:inline-block; width:11px; height:11px; border-radius:3px; margin-right:6px; vertical-align:-1px;
  background:currentColor }
.semantic { --why:var(--semantic) } .dependency { --why:var(--dependency) } .repair { --why:var(--repair) }
.keep { --why:var(--keep) } .outcome { --why:var(--outcome) } .pruned { --why:var(--pruned) }
ol { list-style:none; margin:0; padding:10px 34px 40vh 0; tab-size:4;
  font:13px/1.55 ui-monospace,"SF Mono",Menlo,Consolas,"DejaVu Sans Mono",monospace }
li { display:grid; grid-template-columns:7ch 11ch minmax(0,1fr); gap:1.5ch;
  border-left:5px solid var(--why,transparent) }
li::before { content:attr(value); text-align:right; color:var(--quiet); user-select:none }
li::after { content:attr(data-why); grid-column:2; grid-row:1; color:var(--why); font-size:11px; line-height:1.85;
  user-select:none; white-space:nowrap; overflow:hidden; text-overflow:ellipsis }
code { grid-column:3; padding:0 10px; white-space:pre-wrap; overflow-wrap:anywhere; font:inherit;
  background:color-mix(in srgb, var(--why,transparent) calc(4% + var(--h) * var(--strength)), transparent) }
li.pruned { border-color:transparent } li.pruned code { color:var(--quiet); opacity:.62 }
li.pruned code { background:color-mix(in srgb, var(--pruned) calc(var(--h) * 20%), transparent) }
li:hover::before { color:var(--ink) } li:hover code { outline:1px solid var(--line) }
.compact li.pruned:not(.first, .open) { display:none }
.compact li.first:not(.open) { cursor:pointer; margin:3px 0 }
.compact li.first:not(.open)::before { content:"\\22ef" }
.compact li.first:not(.open) code { font-size:0; background:none; opacity:1 }
.compact li.first:not(.open) code::before { content:attr(data-cut); font-size:12px; color:var(--quiet) }
#map { position:fixed; right:0; bottom:0; width:22px; cursor:pointer; border-left:1px solid var(--line) }
@media print { header { position:static } #map { display:none } ol { padding-bottom:0 } }
</style>
</head>
<body>
<header>
<h1>@TITLE@</h1>
<p class="query">@QUERY@</p>
<p>@NOTE@</p>
<div class="tools">
<label>threshold <input id="threshold" type="range" min="0" step="1" title="arrow keys move it step by step"></label>
<output id="shown" for="threshold"></output>
<label><input id="compact" type="checkbox"> fold what is pruned</label>
<div class="legend" id="legend"></div>
</div>
</header>
<ol id="lines">
@ROWS@
</ol>
<canvas id="map" title="the whole file; click to go there"></canvas>
<script type="application/json" id="data">@DATA@</script>
<script>
const data = JSON.parse(document.getElementById('data').textContent);
const byId = (id) => document.getElementById(id);
const lines = byId('lines').children;
const shades = [...lines].map((line) => Number(line.style.getPropertyValue('--h')));
const slider = byId('threshold'), map = byId('map');
const names = ['semantic', 'dependency', 'repair', 'keep', 'outcome', 'pruned'];
slider.max = data.steps.length - 1;
slider.value = data.start;

function element(tag, text, style) {
  const made = document.createElement(tag);
  made.textContent = text;
  made.style.color = style || '';
  return made;
}

function show() {
  const step = Number(slider.value);
  const kinds = data.fates.map((fate) => data.reasons[fate[step]].split(':')[0]);
  const counts = Object.fromEntries(names.map((name) => [name, 0]));
  let first = -1;
  kinds.forEach((kind, i) => {
    const line = lines[i];
    counts[kind] += 1;
    line.className = kind;
    line.dataset.why = kind === 'pruned' ? '' : data.reasons[data.fates[i][step]].replace('repair:', '+ ');
    if (kind !== 'pruned') { first = -1; return; }
    if (first < 0) { first = i; line.classList.add('first'); }
    const from = lines[first].getAttribute('value'), to = line.getAttribute('value');
    lines[first].lastElementChild.dataset.cut =
      (from === to ? from : from + '-' + to) + ' pruned';
  });
  const total = kinds.length, kept = total - counts.pruned;
  byId('shown').replaceChildren(data.steps[step].toFixed(3) + ' keeps ', element('b', kept),
    ' of ' + total + ' lines, ' + (total ? Math.round(100 * kept / total) : 0) + ' %');
  byId('legend').replaceChildren(...names.map((name) => {
    const item = document.createElement('span');
    item.append(element('b', '', 'var(--' + name + ')'), name + ' ' + counts[name]);
    return item;
  }));
  draw(kinds);
}

function draw(kinds) {
  const top = document.querySelector('header').offsetHeight;
  map.style.top = top + 'px';
  map.width = 22;
  map.height = innerHeight - top;
  const pen = map.getContext('2d'), style = getComputedStyle(document.documentElement);
  const tall = Math.max(1, map.height / kinds.length);
  kinds.forEach((kind, i) => {
    pen.fillStyle = style.getPropertyValue('--' + kind);
    pen.globalAlpha = kind === 'pruned' ? .3 * shades[i] : .45 + .55 * shades[i];
    pen.fillRect(3, i * map.height / kinds.length, 16, tall);
  });
}

slider.addEventListener('input', show);
addEventListener('resize', show);
byId('compact').addEventListener('change', (event) => document.body.classList.toggle('compact', event.target.checked));
map.addEventListener('click', (event) => {
  if (lines.length) lines[Math.floor(event.offsetY / map.height * lines.length)].scrollIntoView({ block: 'center' });
});
byId('lines').addEventListener('click', (event) => {
  let line = event.target.closest('li.first');
  while (line && document.body.classList.contains('compact') && line.classList.contains('pruned')) {
    line.classList.add('open');
    line = line.nextElementSibling;
  }
});
show();
</script>
</body>
</html>
"""


_STEPS = 41
_CODES = "abcdefghijklmnopqrstuvwxyz"  # one letter a reason, in the order of REASONS


def render_html(  # noqa: PLR0913  # one keyword an option is what callers of a function want
    code: str,
    line_scores: ArrayLike,
    *,
    path: str | None = None,
    language: str | None = None,
    listed: bool = True,
    threshold: float = 0.4,
    query: str = "",
    dependency: ArrayLike | None = None,
) -> str:
    """A page for a file of L lines.

    Args:
        code: the file's text.
        line_scores: float [L], one score a line.
        path: the file's path, which tells the language and is the page's title.
        language: the language's name, instead of the path.
        listed: see `prune_lines`.
        threshold: where the slider stands at first.
        query: the query, which stands above the code.
        dependency: bool [L], lines whose own reason is `dependency`.

    Raises:
        ValueError: the language is unknown, or there is another number of scores.
    """
    given = None if language is None else language_named(language)
    source = SourceFile(code, path or "", given, listed)
    document = analyse(source)
    scores = np.asarray(line_scores, dtype=np.float64)
    lines = document.spans.shape[0]
    if scores.shape != (lines,):
        raise ValueError(
            f"line_scores has shape {scores.shape} but the code has {lines} lines; give one value a line"
        )
    highest = highest_thresholds(document, scores)
    steps = _steps(highest, threshold)
    fates = _fates(document, highest, steps, dependency)
    data = {
        "steps": [float(step) for step in steps],
        "start": int(np.argmin(np.abs(steps - threshold))),
        "reasons": {letter: reason or "pruned" for letter, reason in zip(_CODES, REASONS, strict=False)},
        "fates": fates,
    }
    parts = {
        "TITLE": html.escape(visible(path or "pruned code", lines=True)),
        "QUERY": html.escape(visible(query, lines=True)),
        "NOTE": html.escape(document.note or ""),
        "DATA": json.dumps(data).replace("<", "\\u003c"),
        "ROWS": _rows(source.lines, scores, document),
    }
    return re.sub("@([A-Z]+)@", lambda match: parts[match[1]], TEMPLATE)


def _steps(highest: NDArray[np.float64], threshold: float) -> NDArray[np.float64]:
    """The thresholds that the slider offers: the given one, and others between which about equally many lines lie."""
    if not highest.size:
        return np.array([threshold])
    evenly = np.quantile(highest, np.linspace(0, 1, _STEPS), method="lower")
    nothing = float(highest.max()) + 1e-3  # the last step keeps no line
    steps: NDArray[np.float64] = np.unique(np.floor(np.append(evenly, [nothing, threshold]) * 1e6) / 1e6)
    return steps


def _fates(
    document: Document, highest: NDArray[np.float64], steps: NDArray[np.float64], dependency: ArrayLike | None
) -> list[str]:
    """A string for each line, with a letter for each step: why the line is kept there, `a` where it is cut."""
    table = np.full((steps.shape[0], highest.shape[0]), CUT, dtype=np.int8)
    always = document.outcome.order[:MOST_OUTCOMES]
    nothing = np.zeros(len(highest), np.bool_)
    for row, step in enumerate(steps):
        table[row] = adding(document.rules, document.repair(nothing, highest >= step), always)
    if dependency is not None:
        table[(table == SELECTED) & np.asarray(dependency, dtype=np.bool_)[None, :]] = DEPENDENCY
    letters = np.array(list(_CODES))[table.T]
    return ["".join(line) for line in letters]


def _rows(lines: list[str], scores: NDArray[np.float64], document: Document) -> str:
    """The lines as items of an HTML list, shaded by score."""
    low, high = (float(scores.min()), float(scores.max())) if scores.size else (0.0, 1.0)
    heat = (scores - low) / max(high - low, 1e-9)
    return "\n".join(
        f'<li value="{number}" style="--h:{shade:.2f}" title="score {score:.3f}"><code>{text or " "}</code></li>'
        for number, shade, score, text in zip(
            document.numbers.tolist(),
            heat.tolist(),
            scores.tolist(),
            (html.escape(visible(line.rstrip("\r\n"), lines=True), quote=False) for line in lines),
            strict=True,
        )
    )
