// Loads a host's file and plays the host: what stands on standard input is done, what came of it is printed.
import { pathToFileURL } from "node:url"

const chunks = []
for await (const chunk of process.stdin) chunks.push(chunk)
const { file, generation, directory, sessions, calls, broken } = JSON.parse(Buffer.concat(chunks))
const plugin = (await import(pathToFileURL(file))).default

/** As a host that can't say what was said. */
function messagesOf(sessionID) {
  if (broken) throw new Error(broken)
  return sessions[sessionID] ?? []
}

const asked = []

async function opencode1() {
  const client = {
    session: {
      async messages({ path, query }) {
        asked.push(query?.limit ?? "all")
        const messages = messagesOf(path.id)
        return { data: query?.limit ? messages.slice(-query.limit) : messages }
      },
    },
  }
  const hooks = await plugin.server({ client, directory, worktree: directory })
  return async ({ tool, session, input, text, metadata = {}, said }) => {
    if (said) return hooks["chat.message"]({ sessionID: session }, { message: said.info, parts: said.parts })
    const output = { title: "t", output: text, metadata }
    await hooks["tool.execute.after"]({ tool, sessionID: session, callID: "c", args: input }, output)
    return output.output
  }
}

async function opencode2() {
  const hooks = {}
  const registering = (domain) => async (name, callback) => {
    hooks[`${domain}.${name}`] = callback
    return { dispose: async () => {} }
  }
  const session = { hook: registering("session"), context: async ({ sessionID }) => messagesOf(sessionID) }
  await plugin.setup({ session, tool: { hook: registering("tool") }, location: { directory } })
  return async ({ tool, session, input, text, content, metadata = {}, status = "completed", said }) => {
    if (said) return hooks["session.prompt"]({ sessionID: session, prompt: { text: said } })
    const before = { output: "whole", content: content ?? text, metadata }
    const event = { tool, sessionID: session, id: "c", input, status, result: Object.freeze(before) }
    if (status === "error") delete event.result
    await hooks["tool.execute.after"](event)
    return event.result
  }
}

async function pi() {
  const handlers = {}
  plugin({ on: (name, handler) => (handlers[name] = handler) })
  return async ({ tool, session, input, text, content, abort, ...more }) => {
    const signal = abort === undefined ? undefined : AbortSignal.timeout(abort)
    const sessionManager = { getSessionId: () => session, getBranch: () => messagesOf(session) }
    const shown = content ?? [{ type: "text", text }]
    const event = { type: "tool_result", toolName: tool, toolCallId: "c", input, content: shown, ...more }
    return handlers.tool_result(event, { cwd: directory, signal, sessionManager })
  }
}

async function cline() {
  return async ({ tool, session, input, output, ...more }) => {
    const snapshot = { conversationId: session, messages: messagesOf(session) }
    return plugin.hooks.afterTool({ snapshot, toolCall: { toolName: tool }, input, result: { output, ...more } })
  }
}

const play = await { opencode1, opencode2, pi, cline }[generation]()
const results = []
const milliseconds = []
for (const call of calls) {
  const begin = performance.now()
  results.push((await (Array.isArray(call) ? Promise.all(call.map(play)) : play(call))) ?? null)
  milliseconds.push(performance.now() - begin)
}
console.log(JSON.stringify({ results, milliseconds, asked }))
