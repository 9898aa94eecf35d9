import type { FinishReason } from "../../core/index.ts";
import { isRecord } from "../../core/kit.ts";
import { parseJson } from "../../shared/json.ts";
import type { UnknownRecord } from "../../shared/guards.ts";
import { type Answer, type AnswerCall, type Control, type Frame, isSpoken, namedSse, type Piece, type Spoken } from "./answer.ts";
import { signThinking } from "./prefix.ts";

const words: { readonly [Reason in FinishReason]?: string } = {
  stop: "end_turn",
  "tool-calls": "tool_use",
  length: "max_tokens",
  "context-full": "model_context_window_exceeded",
  "content-filter": "refusal",
  refusal: "refusal",
  paused: "pause_turn",
};

/** A content block of an answer, or an event between two blocks. */
type Block = { readonly block: UnknownRecord; readonly deltas: readonly object[] } | Control | { readonly error: string };

function toBlocks({ pieces, request, key }: Answer): readonly Block[] {
  const said: UnknownRecord[] = [];
  return pieces.map((piece) => {
    const written = toBlock(piece, () => signThinking(request, said, `${key}${said.length}`));
    if ("block" in written) said.push(written.block);
    return written;
  });
}

function toBlock(piece: Piece, sign: () => string): Block {
  if (isSpoken(piece)) return piece.kind === "reasoning" ? toThinking(piece, sign()) : toText(piece);
  if (piece.kind === "error") return { error: piece.error.message };
  if (piece.kind === "item") return toRaw(piece.item);
  return piece.kind === "call" ? toToolUse(piece) : piece;
}

function toText({ texts }: Spoken): Block {
  return { block: { type: "text", text: texts.join("") }, deltas: texts.map((text) => ({ type: "text_delta", text })) };
}

function toThinking({ texts }: Spoken, signature: string): Block {
  const deltas = texts.map((thinking) => ({ type: "thinking_delta", thinking }));
  return {
    block: { type: "thinking", thinking: texts.join(""), signature },
    deltas: [...deltas, { type: "signature_delta", signature }],
  };
}

function toToolUse({ id, name, argsText, fragments }: AnswerCall): Block {
  const input = argsText === "" ? {} : parseJson(argsText);
  const pieces = fragments.length === 0 ? [argsText] : fragments;
  return {
    block: { type: "tool_use", id, name, input: isRecord(input) ? input : {} },
    deltas: pieces.map((partial) => ({ type: "input_json_delta", partial_json: partial })),
  };
}

/**
 * Splits a block into its start and its deltas. A call's input arrives as JSON text, and a compaction's summary in one piece. Other blocks
 * are complete at their start.
 */
function toRaw(block: UnknownRecord): Block {
  const { type, input, ...rest } = block;
  if (isRecord(input)) return { block, deltas: [{ type: "input_json_delta", partial_json: JSON.stringify(input) }] };
  return { block, deltas: type === "compaction" ? [{ ...rest, type: "compaction_delta" }] : [] };
}

function toStart(block: UnknownRecord): object {
  if (block.type === "text") return { type: "text", text: "" };
  if (block.type === "thinking") return { type: "thinking", thinking: "", signature: "" };
  if (block.type === "compaction") return { type: "compaction", content: null };
  return isRecord(block.input) ? { ...block, input: {} } : block;
}

function toMessage({ key, model, counts: { input, cached } }: Answer): UnknownRecord {
  const usage = {
    input_tokens: input - cached,
    cache_read_input_tokens: cached,
    cache_creation_input_tokens: 0,
    output_tokens: 1,
  };
  return {
    id: `msg_${key}`,
    type: "message",
    role: "assistant",
    model,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage,
  };
}

/** Writes an answer as a stream. `report` is the `input_transformations` field, for a request that asked for it. */
export function writeMessages(answer: Answer, report: object): readonly Frame[] {
  const { finish, counts } = answer;
  const frames: Frame[] = [
    namedSse({ type: "message_start", message: { ...toMessage(answer), ...report } } as { readonly type: string }),
  ];
  frames.push(namedSse({ type: "ping" }));
  let index = 0;
  for (const written of toBlocks(answer)) {
    if ("kind" in written) frames.push(written);
    else if ("error" in written) frames.push(frame("error", { error: { type: "overloaded_error", message: written.error } }));
    else {
      frames.push(frame("content_block_start", { index, content_block: toStart(written.block) }));
      for (const delta of written.deltas) frames.push(frame("content_block_delta", { index, delta }));
      frames.push(frame("content_block_stop", { index }));
      index += 1;
    }
  }
  const delta = { stop_reason: words[finish] ?? finish, stop_sequence: null };
  frames.push(frame("message_delta", { delta, usage: { output_tokens: counts.output } }), frame("message_stop", {}));
  return frames;
}

function frame(type: string, fields: object): string {
  return namedSse({ type, ...fields });
}

/** Writes an answer as a whole, for a request without streaming. */
export function toMessageBody(answer: Answer, report: object): object {
  const content = toBlocks(answer).flatMap((written) => ("block" in written ? [written.block] : []));
  const message = toMessage(answer);
  const usage = { ...Object(message.usage), output_tokens: answer.counts.output };
  return { ...message, content, stop_reason: words[answer.finish] ?? answer.finish, usage, ...report };
}
