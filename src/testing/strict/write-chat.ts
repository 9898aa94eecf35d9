import type { FinishReason } from "../../core/index.ts";
import type { ChatOddity, ChatStyle } from "../../services/oddities.ts";
import {
  type Answer,
  type AnswerCall,
  callsOf,
  type Frame,
  isSpoken,
  joinTexts,
  type Piece,
  type Spoken,
  sse,
} from "./answer.ts";

const words: { readonly [Reason in FinishReason]?: string } = {
  stop: "stop",
  "tool-calls": "tool_calls",
  length: "length",
  "content-filter": "content_filter",
  refusal: "stop",
  error: "error",
};

/** Writes an answer as a stream of chunks. `shown` contains the oddities to simulate. */
export function writeChat(answer: Answer, style: ChatStyle, shown: ReadonlySet<ChatOddity>): readonly Frame[] {
  const { pieces, key, model } = answer;
  const role = shown.has("role-in-each-chunk") ? { role: "assistant" } : {};
  const base = { id: `chatcmpl-${key}`, object: "chat.completion.chunk", created: 1_795_000_000, model };
  const chunk: ToChunk = (delta, rest = {}, top = {}) =>
    sse({ ...base, choices: [{ index: 0, delta: { ...role, ...delta }, finish_reason: null, ...rest }], ...top });
  const frames: Frame[] = [];
  if (shown.has("comments")) frames.push(": PROCESSING\n\n");
  if (shown.has("first-chunk-without-choices"))
    frames.push(sse({ ...base, id: "", model: "", choices: [], prompt_filter_results: [] }));
  frames.push(chunk({ role: "assistant", content: "" }));
  for (const delta of toDeltas(pieces, style, shown)) frames.push(isDelta(delta) ? chunk(delta.delta) : delta);
  if (shown.has("empty-calls") && callsOf(pieces).length > 0) frames.push(chunk({ tool_calls: [] }));
  return [...frames, ...toEnd(answer, chunk, shown), "data: [DONE]\n\n"];
}

type ToChunk = (delta: object, rest?: object, top?: object) => string;

/** Writes the finish reason and the token counts. */
function toEnd(answer: Answer, chunk: ToChunk, shown: ReadonlySet<ChatOddity>): readonly string[] {
  const usage = toUsage(answer);
  const end = { finish_reason: toWord(answer.finish, shown) };
  if (shown.has("usage-in-choice")) return [chunk({}, { ...end, usage })];
  if (shown.has("usage-in-x-groq")) return [chunk({}, end, { x_groq: { id: "req_1", usage } })];
  return [chunk({}, end), sse({ object: "chat.completion.chunk", id: `chatcmpl-${answer.key}`, choices: [], usage })];
}

function toWord(finish: FinishReason, shown: ReadonlySet<ChatOddity>): string | null {
  if (shown.has("no-finish-reason")) return null;
  return shown.has("stop-with-calls") && finish === "tool-calls" ? "stop" : (words[finish] ?? finish);
}

interface Delta {
  readonly delta: object;
}

function isDelta(value: Delta | Frame): value is Delta {
  return typeof value === "object" && "delta" in value;
}

function toDeltas(pieces: readonly Piece[], style: ChatStyle, shown: ReadonlySet<ChatOddity>): readonly (Delta | Frame)[] {
  const deltas: (Delta | Frame)[] = [];
  const thoughts = toThoughts(style, shown);
  let index = 0;
  for (const piece of pieces) {
    if (isSpoken(piece)) deltas.push(...toSpoken(piece, thoughts));
    else if (piece.kind === "error")
      deltas.push(sse({ error: { message: piece.error.message, type: "server_error", code: piece.error.code } }));
    else if (piece.kind === "item") deltas.push({ delta: piece.item });
    else if (piece.kind !== "call") deltas.push(piece);
    else {
      deltas.push(...toFragments(piece, index, shown).map((fragment) => ({ delta: { tool_calls: [fragment] } })));
      index += 1;
    }
  }
  return deltas;
}

type ToThought = (text: string, position: { readonly isFirst: boolean; readonly isLast: boolean }) => object;

function toSpoken({ kind, texts }: Spoken, toThought: ToThought | undefined): readonly Delta[] {
  if (kind === "text") return texts.map((content) => ({ delta: { content } }));
  if (kind === "refusal") return texts.map((refusal) => ({ delta: { refusal } }));
  if (toThought === undefined) return [];
  return texts.map((text, at) => ({ delta: toThought(text, { isFirst: at === 0, isLast: at === texts.length - 1 }) }));
}

function toThoughts({ reasoning }: ChatStyle, shown: ReadonlySet<ChatOddity>): ToThought | undefined {
  switch (reasoning) {
    case undefined:
      return undefined;
    case "think-tags":
      return (text, { isFirst, isLast }) => ({ content: `${isFirst ? "<think>" : ""}${text}${isLast ? "</think>" : ""}` });
    case "thinking-parts":
      return (text) => ({ content: [{ type: "thinking", thinking: [{ type: "text", text }] }] });
    case "reasoning":
    case "reasoning_content": {
      const other = reasoning === "reasoning" ? "reasoning_content" : "reasoning";
      const more = shown.has("two-reasoning-fields") ? { [other]: "" } : {};
      return (text) => ({ [reasoning]: text, ...more });
    }
  }
}

const fragmentOddities = ["null-ids", "other-ids", "null-arguments", "repeated-name"] as const;

/**
 * True if a call is sent in one fragment. Such a call cannot show the oddities of later fragments, so if such oddities are also chosen,
 * only every second call is sent this way.
 */
function comesWhole({ turn, fragments }: AnswerCall, shown: ReadonlySet<ChatOddity>): boolean {
  if (fragments.length === 0 || shown.has("no-index")) return true;
  return shown.has("whole-arguments") && (turn % 2 === 1 || !fragmentOddities.some((name) => shown.has(name)));
}

function toFragments(call: AnswerCall, position: number, shown: ReadonlySet<ChatOddity>): readonly object[] {
  const { id, name, argsText, fragments } = call;
  const place = toPlace(position, shown);
  const isWhole = comesWhole(call, shown);
  const ids = shown.has("no-first-id") ? {} : { id };
  const begin = isWhole ? argsText : shown.has("null-arguments") ? null : "";
  const first = { ...place, ...ids, type: "function", function: { name, arguments: begin } };
  if (isWhole) return [first];
  const again = shown.has("repeated-name") ? { name } : {};
  const later = fragments.map((text, at) => ({
    ...place,
    ...toLaterId(call, at, shown),
    function: { ...again, arguments: text },
  }));
  return [first, ...later];
}

/** Returns the id field of a call's later fragment. If both "null-ids" and "other-ids" are chosen, fragments alternate between them. */
function toLaterId({ id, turn }: AnswerCall, at: number, shown: ReadonlySet<ChatOddity>): object {
  const ids = [
    ...(shown.has("null-ids") ? [{ id: null }] : []),
    ...(shown.has("other-ids") ? [{ id: `${id.slice(0, -1)}~` }] : []),
  ];
  return ids[(at + Math.floor(turn / 2)) % ids.length] ?? {};
}

function toPlace(position: number, shown: ReadonlySet<ChatOddity>): object {
  if (shown.has("no-index")) return {};
  if (shown.has("index-reused")) return { index: 0 };
  return { index: shown.has("index-from-1") ? position + 1 : position };
}

function toUsage({ counts: { input, output, cached, reasoning } }: Answer): object {
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: { cached_tokens: cached },
    completion_tokens_details: { reasoning_tokens: reasoning },
  };
}

/** Writes an answer as a whole, for a request without streaming. */
export function toCompletion(answer: Answer, { reasoning }: ChatStyle): object {
  const { pieces, finish, key, model } = answer;
  const text = joinTexts(pieces, "text");
  const refusal = joinTexts(pieces, "refusal");
  const thought = joinTexts(pieces, "reasoning");
  const calls = callsOf(pieces).map(({ id, name, argsText }) => ({
    id,
    type: "function",
    function: { name, arguments: argsText },
  }));
  const field = reasoning === "reasoning" || reasoning === "reasoning_content" ? reasoning : undefined;
  const message = {
    role: "assistant",
    content: text === "" ? null : text,
    ...(refusal === "" ? {} : { refusal }),
    ...(thought === "" || field === undefined ? {} : { [field]: thought }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  };
  return {
    id: `chatcmpl-${key}`,
    object: "chat.completion",
    created: 1_795_000_000,
    model,
    choices: [{ index: 0, message, finish_reason: words[finish] ?? finish }],
    usage: toUsage(answer),
  };
}
