// What the conformance suite asks a service to play, in the words of Chat Completions.

import type { ProviderScenario } from "turnwright/testing";
import { done, json, sse, type RawReply } from "./raw-sse-server.ts";

type Reply = ProviderScenario["replies"][number];
type Turn = Extract<Reply, { kind: "turn" }>;

/** One reply of a scenario. */
export function toRawReply(reply: Reply): RawReply {
  if (reply.kind === "failure") return json(reply.status, { error: { message: "No." } });
  const frames = [...textFrames(reply), ...callFrames(reply)];
  if (reply.ending !== "finished") return { frames, ending: reply.ending === "silent" ? "stall" : "end" };
  const { inputTokens, outputTokens } = reply.usage;
  const usage = { prompt_tokens: inputTokens, completion_tokens: outputTokens, total_tokens: inputTokens + outputTokens };
  const reason = reply.calls.length > 0 ? "tool_calls" : "stop";
  return {
    frames: [...frames, sse({ choices: [{ index: 0, delta: {}, finish_reason: reason }] }), sse({ choices: [], usage }), done],
  };
}

/** Character by character. */
function textFrames({ text }: Turn): readonly string[] {
  return Array.from(text, (content) => sse({ choices: [{ index: 0, delta: { content } }] }));
}

/** Names first, then the arguments in halves, so that the fragments of the calls interleave. */
function callFrames({ calls }: Turn): readonly string[] {
  const texts = calls.map(({ args }) => JSON.stringify(args));
  const frame = (index: number, rest: object): string =>
    sse({ choices: [{ index: 0, delta: { tool_calls: [{ index, ...rest }] } }] });
  const halves = (from: (length: number) => number, to: (length: number) => number): readonly string[] =>
    texts.map((text, index) => frame(index, { function: { arguments: text.slice(from(text.length), to(text.length)) } }));
  return [
    ...calls.map(({ name }, index) => frame(index, { id: `call_${index}`, type: "function", function: { name, arguments: "" } })),
    ...halves(
      () => 0,
      (length) => length >> 1,
    ),
    ...halves(
      (length) => length >> 1,
      (length) => length,
    ),
  ];
}
