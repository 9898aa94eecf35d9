// The difficult parts of a provider. The API is invented. It streams tool arguments as text.

import assert from "node:assert/strict";
import {
  parseToolArguments,
  providerError,
  runToolLoop,
  type Message,
  type ModelCall,
  type ModelChunk,
  type ModelRequest,
  type Provider,
} from "turnwright";
import { wrapProvider } from "turnwright/kit";
import { createMockProvider, providerSuite, type ProviderScenario, text } from "turnwright/testing";

type WireEvent =
  | { readonly kind: "ping" }
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "tool"; readonly index: number; readonly id: string; readonly name: string }
  | { readonly kind: "tool-json"; readonly index: number; readonly json: string }
  | { readonly kind: "end"; readonly why: string; readonly tokens: { readonly in: number; readonly out: number } }
  | { readonly kind: "problem"; readonly busy: boolean; readonly message: string };

interface WireMessage {
  readonly from: string;
  readonly body: unknown;
}

interface WireClient {
  open(body: { readonly messages: readonly WireMessage[] }, options: { readonly signal: AbortSignal }): AsyncIterable<WireEvent>;
}

// #region messages
const wireMessages = new WeakMap<Message, WireMessage>();

function toWireMessage(message: Message): WireMessage {
  let wire = wireMessages.get(message);
  if (wire === undefined) {
    wire = { from: message.role, body: message.role === "tool" ? message.results : message.content };
    wireMessages.set(message, wire);
  }
  return wire;
}
// #endregion messages

/** A tool call whose arguments have not arrived completely yet. */
interface OpenCall {
  readonly key: string;
  readonly id: string;
  readonly name: string;
  argsText: string;
}

function toReady({ key, id, name, argsText }: OpenCall): ModelChunk {
  return { type: "call-ready", key, id, name, argsText, args: undefined, ...parseToolArguments(argsText) };
}

// #region errors
function toProblem({ busy, message }: Extract<WireEvent, { kind: "problem" }>): ModelChunk {
  const error = busy ? providerError("overloaded", message, { retryAfterMs: 2_000 }) : providerError("bad-request", message);
  return { type: "error", error };
}
// #endregion errors

// #region stream
const finishReasons: ReadonlyMap<string, "stop" | "tool-calls" | "length"> = new Map([
  ["done", "stop"],
  ["tools", "tool-calls"],
  ["too-long", "length"],
]);

async function* streamWire(client: WireClient, request: ModelRequest, call: ModelCall): AsyncGenerator<ModelChunk> {
  const open = new Map<number, OpenCall>();
  const body = { messages: request.messages.map(toWireMessage) };
  for await (const event of client.open(body, { signal: call.signal })) {
    switch (event.kind) {
      case "ping":
        call.heartbeat();
        break;
      case "text":
        yield { type: "text-delta", text: event.text };
        break;
      case "tool": {
        const { index, id, name } = event;
        open.set(index, { key: String(index), id, name, argsText: "" });
        yield { type: "call-start", key: String(index), id, name };
        break;
      }
      case "tool-json": {
        const pending = open.get(event.index);
        if (pending !== undefined) pending.argsText += event.json;
        yield { type: "call-args-delta", key: String(event.index), text: event.json };
        break;
      }
      case "end": {
        yield* Array.from(open.values(), toReady);
        yield { type: "usage", mode: "snapshot", usage: toUsage(event.tokens) };
        const said = finishReasons.get(event.why) ?? "unknown";
        // The API sends "done" even after tool calls. The loop runs the calls only if the finish reason is "tool-calls".
        yield { type: "finish", reason: said === "stop" && open.size > 0 ? "tool-calls" : said, raw: event.why };
        return;
      }
      case "problem":
        yield toProblem(event);
        return;
    }
  }
  // If the connection closes before the event "end", no "finish" is sent. The loop then treats the response as cut off.
}
// #endregion stream

function toUsage(tokens: { readonly in: number; readonly out: number }): {
  inputTokens: number;
  outputTokens: number;
  totalTokens: number;
} {
  return { inputTokens: tokens.in, outputTokens: tokens.out, totalTokens: tokens.in + tokens.out };
}

function createProvider(client: WireClient): Provider {
  return { id: "invented", model: "small", stream: (request, call) => streamWire(client, request, call) };
}

/** Makes a service that sends the replies of a test scenario, one per request. */
function createService({ replies }: Pick<ProviderScenario, "replies">): WireClient {
  let next = 0;
  return {
    async *open(_body, { signal }) {
      signal.throwIfAborted();
      const reply = replies[next++];
      if (reply?.kind !== "turn") throw Object.assign(new Error("refused"), { status: reply?.status });
      yield { kind: "ping" };
      for (const word of reply.text.split(/(?<= )/)) if (word !== "") yield { kind: "text", text: word };
      for (const [index, { name, args }] of reply.calls.entries()) {
        yield { kind: "tool", index, id: `c${index}`, name };
        for (const json of JSON.stringify(args).split(/(?<=:)/)) yield { kind: "tool-json", index, json };
      }
      if (reply.ending === "cut") return;
      if (reply.ending === "silent") await untilAborted(signal);
      const { inputTokens, outputTokens } = reply.usage;
      yield { kind: "end", why: reply.calls.length > 0 ? "tools" : "done", tokens: { in: inputTokens, out: outputTokens } };
    },
  };
}

function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    else signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}

// #region suite
for (const { run } of providerSuite({ create: (scenario) => ({ provider: createProvider(createService(scenario)) }) })) {
  await run(); // rejects with an Error that describes the provider's fault
}
// #endregion suite

const messages: readonly Message[] = [{ role: "user", content: "Hello?" }];
const problem = createProvider({
  async *open() {
    yield { kind: "problem", busy: true, message: "All workers are busy." };
  },
});
const { reason } = await runToolLoop({ provider: problem, messages });
assert.deepEqual(reason, {
  kind: "provider-error",
  error: { name: "ProviderError", code: "overloaded", message: "All workers are busy.", retryable: true, retryAfterMs: 2_000 },
});

const cut: Provider = createProvider(
  createService({
    replies: [{ kind: "turn", text: "I was", calls: [], usage: { inputTokens: 1, outputTokens: 1 }, ending: "cut" }],
  }),
);
const early = await runToolLoop({ provider: cut, messages });
assert.equal(early.reason.kind === "provider-error" && early.reason.error.code, "stream-ended-early");
assert.equal(early.text, "I was");

const garbled = createProvider({
  async *open() {
    yield { kind: "tool", index: 0, id: "c0", name: "search" };
    yield { kind: "tool-json", index: 0, json: '{"query": "os' };
    yield { kind: "end", why: "tools", tokens: { in: 1, out: 1 } };
  },
});
const { functionHistory } = await runToolLoop({ provider: garbled, messages, limits: { maxIterations: 1 } });
assert.equal(functionHistory[0]?.outcome, "malformed");

const done = createProvider({
  async *open() {
    yield { kind: "tool", index: 0, id: "c0", name: "search" };
    yield { kind: "end", why: "done", tokens: { in: 1, out: 1 } };
  },
});
const asked = await runToolLoop({ provider: done, messages, limits: { maxIterations: 1 } });
assert.deepEqual([asked.reason.kind, asked.functionHistory.length], ["max-iterations", 1]);

// #region wrapped
function countRequests(provider: Provider, count: () => void): Provider {
  return wrapProvider(provider, {
    stream: (request, call) => {
      count();
      return provider.stream(request, call);
    },
  });
}
// #endregion wrapped

let requests = 0;
const counted = countRequests(createMockProvider([text("Hello.")], { compacts: true }), () => (requests += 1));
await runToolLoop({ provider: counted, messages: [{ role: "user", content: "Hi." }] });
assert.deepEqual([requests, counted.compacts], [1, true]);
