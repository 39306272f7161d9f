#!/usr/bin/env bash
# Codex CLI 0.171.0 (npm: @openai/codex): a PostToolUse hook that replaces a command's output.
#
# A hook answers {"continue": false, "stopReason": TEXT}, and the model gets TEXT in place of the output. That holds for
# models whose commands are calls of a tool (gpt-5.5): the model gets TEXT, cut to some 10,000 characters, though the
# same model gets outputs of 40,000. Ten of the eleven models that `codex debug models` lists run commands from scripts
# instead ("code mode"). There the hook is called as well, with a tool_use_id that begins with "exec-", and its answer
# changes nothing: the script gets the whole output, and no log or message says that the hook's answer was dropped.
#
# Seen on Linux x86-64 with Node 20; a server on loopback plays the model. Exits with 1 if any of this changes.
set -euo pipefail
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
npm install --silent --no-audit --no-fund --prefix "$place" @openai/codex@0.171.0
cat >"$place/hook.py" <<'HOOK'
import json, os, sys
call = json.load(sys.stdin)
with open(os.environ["CALLS"], "a") as calls:
    calls.write(json.dumps([call["tool_name"], call["tool_use_id"]]) + "\n")
print(json.dumps({"continue": False, "stopReason": "REPLACED " + "r" * 20_000}))
HOOK
cat >"$place/play.py" <<'PLAY'
import json, os, pathlib, subprocess, sys, threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

place, model = pathlib.Path(sys.argv[1]), sys.argv[2]
home, work = place / model, place / model / "work"
work.mkdir(parents=True)
(work / "big.txt").write_text("".join(f"line {n} of a file\n" for n in range(1000)))
SCRIPT = "const r = await tools.exec_command({cmd: 'cat big.txt'}); text(r.output);"
outputs = []


class Model(BaseHTTPRequestHandler):
    """Runs one command, as a call of a tool or from a script, and then ends."""

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        found = [i["output"] for i in body.get("input", []) if str(i.get("type")).endswith("_call_output")]
        outputs[:] = [o if isinstance(o, str) else "".join(p.get("text", "") for p in o) for o in found]
        words = [{"type": "output_text", "text": "Done." if found else "I look."}]
        items = [{"type": "message", "role": "assistant", "id": "m", "content": words}]
        if not found and model == "gpt-5.5":
            arguments = '{"cmd": "cat big.txt"}'
            items.append({"type": "function_call", "id": "c", "call_id": "1", "name": "exec_command", "arguments": arguments})
        elif not found:
            items.append({"type": "custom_tool_call", "id": "c", "call_id": "1", "name": "exec", "input": SCRIPT})
        usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
        usage |= {"input_tokens_details": None, "output_tokens_details": None}
        events = [{"type": "response.created", "response": {"id": "r"}}]
        events += [{"type": "response.output_item.done", "output_index": n, "item": i} for n, i in enumerate(items)]
        events += [{"type": "response.completed", "response": {"id": "r", "usage": usage}}]
        data = "".join(f"event: {e['type']}\ndata: {json.dumps(e)}\n\n" for e in events).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
threading.Thread(target=server.serve_forever, daemon=True).start()
url = f"http://127.0.0.1:{server.server_port}/v1"
(home / "config.toml").write_text(
    f'model = "{model}"\nmodel_provider = "s"\n[model_providers.s]\nname = "s"\nbase_url = "{url}"\n'
    'wire_api = "responses"\nenv_key = "KEY"\n'
)
hook = {"type": "command", "command": f"{sys.executable} {place}/hook.py", "timeout": 10}
(home / "hooks.json").write_text(json.dumps({"hooks": {"PostToolUse": [{"matcher": "Bash", "hooks": [hook]}]}}))
calls = home / "calls"
env = {**os.environ, "HOME": str(home), "CODEX_HOME": str(home), "KEY": "none", "CALLS": str(calls)}
options = ["--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "--dangerously-bypass-hook-trust"]
command = [str(place / "node_modules/.bin/codex"), "exec", *options, "Look."]
subprocess.run(command, cwd=work, env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=200, check=True)
server.shutdown()
((tool, name),) = map(json.loads, calls.read_text().splitlines())
(output,) = outputs
replaced, script = "REPLACED" in output, name.startswith("exec-")
print(f"{model}: called for {tool} as {name[:5]}..., the model got {len(output):,} characters, replaced: {replaced}")
if model == "gpt-5.5":
    assert replaced and not script and 9_500 < len(output) < 11_000, output[:200]
else:
    assert not replaced and script and "line 999 of a file" in output, output[:200]
PLAY
python3 "$place/play.py" "$place" gpt-5.5
python3 "$place/play.py" "$place" gpt-6.2-sol
