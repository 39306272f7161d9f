// Says whether texts parse: a line of JSON {kind, text} in, `true`, `false` or `null` (nothing here reads that kind) out.
// Nothing that is read is ever run. The parsers lie in the folder `node_modules` below the first argument.
import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import path from "node:path";
import vm from "node:vm";

const require = createRequire(path.resolve(process.argv[2], "x.js"));
const optional = (name) => {
  try {
    return require(name);
  } catch {
    return null;
  }
};
const [ts, PHP, postcss, graphql] = ["typescript", "php-parser", "postcss", "graphql"].map(optional);
const [scss, less, vue] = ["postcss-scss", "postcss-less", "@vue/compiler-sfc"].map(optional);
let ruby = null;
try {
  ruby = await (await import(require.resolve("@ruby/prism"))).loadPrism();
} catch {}
let svelte = null;
try {
  const module = await import(require.resolve("svelte/compiler"));
  svelte = module.parse ? module : module.default;
} catch {}

const quiet = (parse) => (text) => {
  try {
    return parse(text) !== false;
  } catch {
    return false;
  }
};
const compiled = (name) => (text) => {
  const { parseDiagnostics } = ts.createSourceFile(name, text, ts.ScriptTarget.Latest);
  return parseDiagnostics.length === 0;
};
const script = (text) => {
  try {
    new vm.Script(text);
    return true;
  } catch {
    new vm.SourceTextModule(text);
    return true;
  }
};
const php = () => new PHP.Engine({ parser: { extractDoc: true, suppressErrors: false }, ast: {} });
const parsers = {
  javascript: script,
  jsx: ts && compiled("x.jsx"),
  typescript: ts && compiled("x.ts"),
  tsx: ts && compiled("x.tsx"),
  php: PHP && ((text) => php().parseCode(text, "x.php")),
  ruby: ruby && ((text) => ruby(text).errors.length === 0),
  css: postcss && ((text) => postcss.parse(text)),
  scss: scss && ((text) => scss.parse(text)),
  less: less && ((text) => less.parse(text)),
  graphql: graphql && ((text) => graphql.parse(text)),
  vue: vue && ((text) => vue.parse(text).errors.length === 0),
  svelte: svelte && ((text) => svelte.parse(text, { modern: true })),
};

for await (const line of createInterface({ input: process.stdin })) {
  const { kind, text } = JSON.parse(line);
  const parse = parsers[kind];
  process.stdout.write(`${parse ? quiet(parse)(text) : null}\n`);
}
process.exit(0);
