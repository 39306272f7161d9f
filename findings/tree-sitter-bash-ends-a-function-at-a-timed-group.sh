#!/usr/bin/env bash
# tree-sitter-bash 0.25.1 (PyPI), with tree-sitter 0.26.1: a group after `time`, `!` or `coproc NAME`.
#
# bash reads `time { …; }`, `! { …; }` and `coproc NAME { …; }` as groups. The grammar reads the brace as a word, an
# argument of a command, and reports no error: the group's closing brace then ends the function around it, and what
# follows stands outside of it. A tool that trusts a tree without errors cuts the function in the middle.
#
# Seen on Linux x86-64, Python 3.11, bash 5.2. Exits with 1 if any of this changes.
set -euo pipefail
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
python3 -m venv "$place/venv"
"$place/venv/bin/pip" install --quiet --disable-pip-version-check tree-sitter==0.26.1 tree-sitter-bash==0.25.1
cat >"$place/try.py" <<'TRY'
import subprocess

import tree_sitter_bash
from tree_sitter import Language, Parser

PARSER = Parser(Language(tree_sitter_bash.language()))
for words in ("time", "!", "coproc SERVER", ""):
    code = f"run() {{\n  {words} {{\n    first\n  }}\n  second\n}}\nthird\n"
    taken = subprocess.run(["bash", "-n"], input=code, text=True, check=False).returncode == 0
    tree = PARSER.parse(code.encode())
    function = next(node for node in tree.root_node.children if node.type == "function_definition")
    last = function.end_point.row + 1
    print(f"{words or 'no word':13} bash takes it: {taken}; errors: {tree.root_node.has_error}; lines of the function: 1-{last}")
    assert taken and not tree.root_node.has_error
    assert last == (4 if words else 6)
TRY
"$place/venv/bin/python" "$place/try.py"
