const MOST_MESSAGES = 100

/** The user's last words in each session, which its latest messages may no longer hold. */
const tasks = new Map()

/** OpenCode 1: one object of hooks. */
async function server({ client, directory }) {
  async function messages(sessionID) {
    const path = { id: sessionID }
    const { data } = await client.session.messages({ path, query: { limit: MOST_MESSAGES } })
    const asked = (found) => found.findLast((message) => message.info.role === "user")
    if (!asked(data) && !tasks.has(sessionID)) {
      const all = await client.session.messages({ path })
      tasks.set(sessionID, asked(all.data))
    }
    return asked(data) ? data : [tasks.get(sessionID), ...data].filter(Boolean)
  }
  return {
    "chat.message": async ({ sessionID }, { message, parts }) => {
      tasks.set(sessionID, { info: message, parts })
    },
    "tool.execute.after": async ({ tool, sessionID, args }, result) => {
      if (!LAMR.tools.includes(tool) || typeof result?.output !== "string") return
      const call = { session: sessionID, cwd: directory, tool, input: args, text: result.output }
      call.failed = (result.metadata?.exit ?? 0) !== 0
      result.output = await shown(call, () => messages(sessionID))
    },
  }
}

/** OpenCode 2: hooks are registered one by one. */
async function setup(context) {
  async function messages(sessionID) {
    const data = await context.session.context({ sessionID })
    const asked = data.some((message) => message.type === "user")
    return asked ? data : [tasks.get(sessionID), ...data].filter(Boolean)
  }
  await context.session.hook("prompt", ({ sessionID, prompt }) => {
    tasks.set(sessionID, { type: "user", text: prompt.text })
  })
  await context.tool.hook("execute.after", async (event) => {
    if (!LAMR.tools.includes(event.tool) || event.status !== "completed") return
    const { content } = event.result
    const parts = typeof content === "string" ? [{ type: "text", text: content }] : (content ?? [])
    const [first, ...rest] = parts
    if (first?.type !== "text") return
    const cwd = context.location?.directory ?? process.cwd()
    const call = { session: event.sessionID, cwd, tool: event.tool, input: event.input, text: first.text }
    call.failed = (event.result.metadata?.exit ?? 0) !== 0
    const text = await shown(call, () => messages(event.sessionID))
    if (text !== first.text) event.result = { ...event.result, content: [{ ...first, text }, ...rest] }
  })
}

export default { id: "lamr", server, setup }
