import { runAgentLoop } from "@earendil-works/pi-agent-core";
import { createAssistantMessageEventStream, Type } from "@earendil-works/pi-ai";
import { checkRun, description, question } from "./script.js";

/**
 * @typedef {import("./script.js").Work} Work
 * @typedef {import("@earendil-works/pi-ai").AssistantMessage} AssistantMessage
 * @typedef {import("@earendil-works/pi-ai").AssistantMessageEventStream} AssistantMessageEventStream
 * @typedef {import("@earendil-works/pi-agent-core").AgentTool<any>} AgentTool
 */

/** @type {import("@earendil-works/pi-ai").Model<"script">} */
const model = {
  id: "script",
  name: "script",
  api: "script",
  provider: "script",
  baseUrl: "",
  reasoning: false,
  input: ["text"],
  cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
  contextWindow: 1e9,
  maxTokens: 1e9,
};

/** @type {import("./script.js").Peer} */
export const run = (work) => async () => {
  let requests = 0;
  let text = "";
  const streamFn = (/** @type {unknown} */ _model, /** @type {unknown} */ _context, /** @type {any} */ options) => {
    options?.signal?.throwIfAborted();
    const events = createAssistantMessageEventStream();
    void speak(work, requests++, events);
    return events;
  };
  await runAgentLoop(
    [{ role: "user", content: question, timestamp: 0 }],
    { systemPrompt: "", messages: [], tools: [toTool(work)] },
    { model, convertToLlm: (messages) => /** @type {any} */ (messages) },
    (event) => {
      if (event.type === "message_update" && event.assistantMessageEvent.type === "text_delta")
        text += event.assistantMessageEvent.delta;
    },
    new AbortController().signal,
    streamFn,
  );
  checkRun(text, requests, work);
};

/**
 * @param {Work} work
 * @returns {AgentTool}
 */
function toTool({ execute }) {
  return {
    name: "forecast",
    label: "forecast",
    description,
    parameters: Type.Object({ city: Type.String(), days: Type.Number() }),
    execute: async (_callId, args, signal) => {
      signal?.throwIfAborted();
      const result = await execute(/** @type {any} */ (args));
      return { content: [{ type: "text", text: JSON.stringify(result) }], details: undefined };
    },
  };
}

/**
 * @param {Work} work
 * @param {number} iteration
 * @param {AssistantMessageEventStream} events
 */
async function speak({ stream }, iteration, events) {
  /** @type {AssistantMessage} */
  const partial = {
    role: "assistant",
    content: [],
    api: model.api,
    provider: model.provider,
    model: model.id,
    usage: {
      input: 0,
      output: 0,
      cacheRead: 0,
      cacheWrite: 0,
      totalTokens: 0,
      cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
    },
    stopReason: "stop",
    timestamp: 0,
  };
  events.push({ type: "start", partial });
  for await (const chunk of stream(iteration)) {
    if (chunk.type === "text-delta") sayText(events, partial, chunk.text);
    if (chunk.type === "call-ready") {
      const toolCall = /** @type {const} */ ({ type: "toolCall", id: chunk.id, name: chunk.name, arguments: chunk.args });
      partial.content.push(/** @type {any} */ (toolCall));
      partial.stopReason = "toolUse";
      const contentIndex = partial.content.length - 1;
      events.push({ type: "toolcall_start", contentIndex, partial });
      events.push({ type: "toolcall_end", contentIndex, toolCall: /** @type {any} */ (toolCall), partial });
    }
  }
  const reason = partial.stopReason === "toolUse" ? "toolUse" : "stop";
  events.push({ type: "done", reason, message: partial });
}

/**
 * @param {AssistantMessageEventStream} events
 * @param {AssistantMessage} partial
 * @param {string} delta
 */
function sayText(events, partial, delta) {
  const contentIndex = 0;
  const [block] = partial.content;
  if (block?.type === "text") block.text += delta;
  else {
    partial.content.push({ type: "text", text: delta });
    events.push({ type: "text_start", contentIndex, partial });
  }
  events.push({ type: "text_delta", contentIndex, delta, partial });
}
