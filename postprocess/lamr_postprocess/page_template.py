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
:root { --ink:#1b1f24; --paper:#fff; --quiet:#6b7280; --line:#d8dee4; --heat:255 140 0;
  --semantic:#b45309; --dependency:#1d4ed8; --repair:#047857; --keep:#7c3aed; }
@media (prefers-color-scheme: dark) {
  :root { --ink:#e6e9ee; --paper:#14171c; --quiet:#8b949e; --line:#30363d; --heat:255 150 40;
    --semantic:#fbbf24; --dependency:#79b8ff; --repair:#4ade80; --keep:#c4b5fd; } }
* { box-sizing:border-box }
body { margin:0; color:var(--ink); background:var(--paper); font:15px/1.45 system-ui,sans-serif }
header { position:sticky; top:0; z-index:1; padding:12px 20px; background:var(--paper);
  border-bottom:1px solid var(--line) }
h1 { margin:0; font-size:17px } p { margin:2px 0; color:var(--quiet) } p:empty { display:none }
.tools { display:flex; flex-wrap:wrap; gap:6px 18px; align-items:center; margin-top:8px }
input[type=range] { width:min(340px,60vw); accent-color:var(--semantic) }
output { font-variant-numeric:tabular-nums }
.legend { display:flex; flex-wrap:wrap; gap:4px 14px; font-size:13px; color:var(--quiet) }
.legend b { display:inline-block; width:10px; height:10px; border-radius:2px; margin-right:5px;
  background:currentColor }
ol { list-style:none; margin:0; padding:8px 0 60px; font:13px/1.5 ui-monospace,Menlo,Consolas,monospace; tab-size:4 }
li { display:grid; grid-template-columns:5.5ch 11ch 1fr; gap:1ch; padding:0 20px; border-left:4px solid transparent }
li::before { content:attr(value); text-align:right; color:var(--quiet); user-select:none }
li::after { content:attr(data-why); grid-column:2; grid-row:1; color:var(--quiet); font-size:11px; user-select:none;
  white-space:nowrap; overflow:hidden; text-overflow:ellipsis }
code { grid-column:3; white-space:pre-wrap; overflow-wrap:anywhere; font:inherit;
  background:rgb(var(--heat) / calc(var(--h) * .38)) }
li.pruned { opacity:.38 } li.pruned code { background:none }
body.compact li.pruned { display:none }
.semantic { border-color:var(--semantic)!important; } .dependency { border-color:var(--dependency)!important }
.repair { border-color:var(--repair)!important } .keep { border-color:var(--keep)!important }
</style>
</head>
<body>
<header>
<h1>@TITLE@</h1>
<p>@QUERY@</p>
<p>@NOTE@</p>
<div class="tools">
<label>threshold <input id="threshold" type="range" min="0" step="1"></label>
<output id="shown" for="threshold"></output>
<label><input id="compact" type="checkbox"> hide pruned lines</label>
</div>
<div class="legend" id="legend"></div>
</header>
<ol id="lines">
@ROWS@
</ol>
<script type="application/json" id="data">@DATA@</script>
<script>
const data = JSON.parse(document.getElementById('data').textContent);
const lines = document.getElementById('lines').children;
const slider = document.getElementById('threshold');
const names = ['semantic', 'dependency', 'repair', 'keep', 'pruned'];
slider.max = data.steps.length - 1;
slider.value = data.start;
function show() {
  const step = Number(slider.value);
  const counts = Object.fromEntries(names.map((name) => [name, 0]));
  data.fates.forEach((fate, i) => {
    const reason = data.reasons[fate[step]];
    const kind = reason.split(':')[0];
    counts[kind] += 1;
    lines[i].className = kind;
    lines[i].dataset.why = kind === 'pruned' ? '' : reason.replace('repair:', '+ ');
  });
  const total = data.fates.length, kept = total - counts.pruned;
  const share = total ? Math.round(100 * kept / total) : 0;
  document.getElementById('shown').textContent =
    data.steps[step].toFixed(3) + ' keeps ' + kept + ' of ' + total + ' lines (' + share + ' %)';
  document.getElementById('legend').replaceChildren(...names.map((name) => {
    const item = document.createElement('span'), mark = document.createElement('b');
    mark.style.color = name === 'pruned' ? 'var(--line)' : 'var(--' + name + ')';
    item.append(mark, name + ' ' + counts[name]);
    return item;
  }));
}
slider.addEventListener('input', show);
document.getElementById('compact').addEventListener('change', (event) =>
  document.body.classList.toggle('compact', event.target.checked));
show();
</script>
</body>
</html>
"""
