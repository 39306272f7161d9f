export default function lamr(pi) {
  pi.on("tool_result", async (event, context) => {
    // A call that a script of the agent's makes has a parent: its result is the script's, and nobody reads it.
    if (!LAMR.tools.includes(event.toolName) || event.isError || event.parentToolCallId) return undefined
    const [first, ...rest] = event.content
    if (first?.type !== "text" || rest.length) return undefined
    const session = context.sessionManager
    const call = { session: session.getSessionId(), cwd: context.cwd, tool: event.toolName, input: event.input }
    const text = await shown({ ...call, text: first.text }, () => session.getBranch(), context.signal)
    if (text === first.text) return undefined
    return { content: [{ ...first, text }], structuredContent: event.structuredContent }
  })
}
