import { callParts, type Spec, type SpecStream, textParts } from "./ai-sdk-specs.ts";
import { type Ends, type Scripted, type ScriptedTurn, usual, wordFor } from "./scripted.ts";

const noPlace = { none: "v2 has no field for the value of the service" } as const;

/** The finish reasons of v3 and v4 models: the unified reason of the AI SDK, and then the raw reason of the service. */
const nested: Ends = {
  stop: ["stop", "stop end_turn"],
  tools: ["tool-calls", "tool-calls tool_use"],
  length: ["length", "length max_tokens"],
  "context-full": ["length model_context_window_exceeded"],
  "content-filter": ["content-filter", "content-filter SAFETY"],
  refusal: ["content-filter refusal"],
  paused: ["other pause_turn", "stop pause_turn", "other compaction"],
  continue: { none: "the stream has no field for a continuation token" },
  "malformed-call": ["error MALFORMED_FUNCTION_CALL"],
  error: ["error", "error OTHER"],
  unknown: ["other weather", "weather"],
  lost: ["silence"],
  dropped: ["a reset"],
  broken: ["an error"],
};

const flat: Ends = {
  ...nested,
  stop: ["stop"],
  tools: ["tool-calls"],
  length: ["length"],
  "context-full": noPlace,
  "content-filter": ["content-filter"],
  refusal: noPlace,
  paused: noPlace,
  "malformed-call": noPlace,
  error: ["error"],
  unknown: ["other", "weather"],
};

export const endsOf = ({ version }: Spec): Ends => (version === "v2" ? flat : nested);

const metadataOf = (signature: string): object => ({ providerMetadata: { mock: { signature } } });

function toParts({ reasoning, text = "", calls = [] }: ScriptedTurn): readonly object[] {
  return [
    { type: "stream-start", warnings: [] },
    { type: "response-metadata", id: "r", modelId: "m" },
    ...(reasoning === undefined
      ? []
      : [
          { type: "reasoning-start", id: "r" },
          { type: "reasoning-delta", id: "r", delta: reasoning[0] },
          { type: "reasoning-end", id: "r", ...metadataOf(reasoning[1]) },
        ]),
    ...(text === "" ? [] : textParts(Array.from(text))),
    ...calls.flatMap(([id, name, args]) => callParts(id, [name, args])),
  ];
}

export function toSpecStream(scripted: Scripted, spec: Spec): SpecStream {
  if ("status" in scripted) {
    const { status, message, retryAfter } = scripted;
    const responseHeaders = retryAfter === undefined ? {} : { "retry-after": retryAfter };
    const facts = { name: "AI_APICallError", statusCode: status, isRetryable: status !== 401, responseHeaders };
    return { parts: [], thrown: Object.assign(new Error(message), facts) };
  }
  const { end, usage = usual } = scripted;
  const parts = toParts(scripted);
  if (end === "silent") return { parts: parts.filter((part) => !("type" in part) || part.type !== "text-end"), ending: end };
  if (end === "dropped") return { parts, ending: "broken" };
  if (end === "broken") return { parts: [...parts, { type: "error", error: { type: "overloaded_error", message: "Busy." } }] };
  // AI SDK packages add a finish part even if the stream was cut off.
  if (end === "lost") return { parts: [...parts, spec.finish(spec.cutOff)] };
  const [reason = "", raw] = wordFor(endsOf(spec), { ...scripted, end }).split(" ");
  return { parts: [...parts, spec.finish(reason, raw === undefined ? { usage } : { raw, usage })] };
}
