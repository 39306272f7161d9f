"""The frame of the HTML page: its style and script. `page.py` fills the @NAMES@."""

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
