// Checks that the ES module build and the CommonJS build work together if both are loaded, as bundlers and Next.js do: they recognize
// each other's errors, and what one of them makes works in a run of the other.

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import * as core from "turnwright";
import { exercise } from "./exercises/index.cjs";

const copy = createRequire(import.meta.url)("turnwright");
const guardsOf = ({ isLoopEndedError, isLoopError }) => ({ isLoopEndedError, isLoopError });
const loadWith = (both) => (specifier) => (specifier === "turnwright" ? both : import(specifier));

assert.notEqual(core.runToolLoop, copy.runToolLoop);
await exercise(loadWith({ ...copy, ...guardsOf(core) }));
await exercise(loadWith({ ...core, ...guardsOf(copy) }));
for (const [one, other] of [
  [core, copy],
  [copy, core],
]) {
  await checkMessages(one, other);
  await checkResults(one, other);
  await checkParts(one, other);
  await checkResuming(one, other);
}

console.log("ran both copies");

/** Streams one answer for each request: a text, or the name of a tool that is called. */
function providerOf(...answers) {
  return {
    id: "p",
    model: "m",
    async *stream() {
      const answer = answers.shift() ?? "Done.";
      const isText = answer.endsWith(".");
      if (isText) yield { type: "text-delta", text: answer };
      else yield { type: "call-ready", key: "0", name: answer, args: {} };
      yield { type: "finish", reason: isText ? "stop" : "tool-calls" };
    },
  };
}

function toolOf({ defineTool }, execute, traits = {}) {
  return defineTool({ name: "work", description: "", inputSchema: { type: "object" }, execute, ...traits });
}

function run({ runToolLoop }, options) {
  return runToolLoop({ provider: providerOf("work"), messages: [{ role: "user", content: "Go." }], ...options });
}

/** Both copies explain their errors. */
async function checkMessages(one, other) {
  const error = await run(one, { maxSteps: 3 }).catch((reason) => reason);
  assert.match(error.message, /limits\.maxIterations/);
  assert.ok(other.isLoopError(error, "unknown-option"));
}

async function checkResults(one, other) {
  const endOf = async (execute) => (await run(one, { tools: [toolOf(other, execute)] })).reason.kind;
  assert.equal(await endOf(() => other.toolResult({ data: 1, endTurn: true })), "end-turn");
  const outside = other.createToolRegistry([toolOf(other, undefined)]);
  assert.equal((await run(one, { tools: outside })).reason.kind, "result-required");
  const fatal = () => {
    throw new other.FatalToolError("no");
  };
  assert.equal(await endOf(fatal), "fatal-tool-error");
  const restart = () => other.contextRestart({ type: "context_restart_more" });
  const middleware = [other.contextRestarts()];
  const { calls, messages } = await run(one, { tools: [toolOf(other, restart)], middleware });
  assert.deepEqual([calls.length, messages.at(-2).results[0].outcome], [0, "restarted"]);
}

/** A registry, an agent, middleware, a control and an emitter. */
async function checkParts(one, other) {
  const { createLoopControl, createLoopEvents, createToolRegistry, defineAgentTool, detectLoops, maskResults } = other;
  const agent = defineAgentTool({
    name: "work",
    description: "",
    inputSchema: { type: "object" },
    prepare: () => ({ messages: [{ role: "user", content: "Inside." }], provider: providerOf("Inner.") }),
  });
  const events = createLoopEvents();
  const heard = [];
  events.on("text-delta", ({ text, path = [] }) => heard.push([path.length, text]));
  const middleware = [maskResults(), detectLoops(), other.processResults({ processor: (_, text) => text.toUpperCase() })];
  const control = createLoopControl();
  const { text, calls } = await run(one, { tools: createToolRegistry([agent]), events, middleware, control });
  assert.deepEqual([text, calls[0].result, control.stop()], ["Done.", "INNER.", "finished"]);
  assert.deepEqual(heard, [
    [1, "Inner."],
    [0, "Done."],
  ]);
}

/** One copy suspends a run, and the other one goes on, with a journal of the first. */
async function checkResuming(one, other) {
  const journal = other.memoryJournal();
  const tools = [toolOf(other, () => "worked", { needsApproval: true })];
  const first = await run(one, { tools, journal, runId: "copies" });
  const [{ id }] = first.reason.calls;
  const again = { tools, journal, runId: "copies", provider: providerOf(), answers: { [id]: { kind: "approve" } } };
  const { text, calls } = await run(other, again);
  assert.deepEqual([text, calls[0].result], ["Done.", "worked"]);
}
