import { spawn } from "node:child_process"

/**
 * What the agent is shown of a tool's result: the text pruned, or as it came, with a reason where something failed.
 *
 * The hook only tells the server of a small call, which may be a range of a file that was cut.
 *
 * @param call the call and its result, under the names that lamr reads
 * @param heard gives the session's messages, the latest last; asked only where the result is large
 * @param signal ends the question where the user ends the agent's turn
 */
async function shown(call, heard, signal) {
  const { text } = call
  const small = Buffer.byteLength(JSON.stringify(call)) < LAMR.small
  try {
    const answer = await ask(small ? call : { ...call, messages: recent(await heard()) }, signal)
    return answer.text ?? (answer.beside ? `${text}\n${answer.beside}\n` : text)
  } catch (error) {
    if (small || (error.code === "ENOENT" && LAMR.optional)) return text
    return `${text}\n${LAMR.failed}${error.message}]\n`
  }
}

/** Runs lamr's hook, which starts the local server when it first needs one. */
function ask(payload, signal) {
  return new Promise((resolve, reject) => {
    const hook = spawn(LAMR.command[0], LAMR.command.slice(1), { stdio: ["pipe", "pipe", "ignore"], signal })
    const printed = []
    const clock = setTimeout(() => {
      hook.kill("SIGKILL")
      reject(new Error(`lamr's hook took longer than ${LAMR.seconds} s`))
    }, LAMR.seconds * 1000)
    hook.on("error", (error) => {
      clearTimeout(clock)
      reject(error)
    })
    hook.on("close", (code) => {
      clearTimeout(clock)
      if (code !== 0) return reject(new Error(`lamr's hook ended with code ${code}; install lamr again`))
      const answer = Buffer.concat(printed).toString()
      try {
        resolve(answer ? JSON.parse(answer) : {})
      } catch (error) {
        reject(error)
      }
    })
    hook.stdout.on("data", (part) => printed.push(part))
    hook.stdin.on("error", () => {}) // it needn't read all
    hook.stdin.end(JSON.stringify(payload))
  })
}

/** The latest messages of the session, and the latest of the user's, as many of each as LAMR.heard characters hold. */
function recent(messages) {
  const left = { users: LAMR.heard, others: LAMR.heard }
  const kept = []
  for (const message of messages.toReversed()) {
    const roles = [message.info?.role, message.message?.role, message.role, message.type]
    const whose = roles.includes("user") ? "users" : "others"
    if (left[whose] > 0) left[whose] -= JSON.stringify(message).length
    if (left[whose] > 0) kept.unshift(message)
  }
  return kept
}
