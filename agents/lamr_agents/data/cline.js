/** Prunes what each file or command of a call has shown. The host ends a run if a plugin takes three seconds. */
async function afterTool({ snapshot, toolCall, input, result }) {
  const asked = input?.files ?? input?.commands
  const { output } = result
  if (!LAMR.tools.includes(toolCall.toolName) || result.isError || !Array.isArray(output)) return undefined
  if (!Array.isArray(asked) || asked.length !== output.length) return undefined
  const session = snapshot.conversationId ?? snapshot.agentId
  const pruned = output.map(async (each, place) => {
    if (typeof each?.result !== "string" || !each.success) return each
    const [tool, given] = input.files ? ["read", asked[place]] : ["bash", { command: asked[place] }]
    const call = { session, cwd: process.cwd(), tool, input: given, text: each.result }
    return { ...each, result: await shown(call, () => snapshot.messages) }
  })
  return { result: { ...result, output: await Promise.all(pruned) } }
}

/** Starts lamr's server, which takes longer than a hook may; nobody waits for it. */
function beforeRun() {
  ask({ nothing: " ".repeat(LAMR.small) }).catch(() => {})
}

export default { name: "lamr", manifest: { capabilities: ["hooks"] }, hooks: { beforeRun, afterTool } }
