import type { FinishReason } from "../../core/index.ts";
import { isRecord } from "../../core/kit.ts";
import { parseJson } from "../../shared/json.ts";
import { type Answer, type AnswerCall, type Frame, isSpoken, type Piece, sse } from "./answer.ts";

const words: { readonly [Reason in FinishReason]?: string } = {
  stop: "STOP",
  "tool-calls": "STOP",
  length: "MAX_TOKENS",
  "content-filter": "SAFETY",
  refusal: "STOP",
  error: "OTHER",
  "malformed-call": "MALFORMED_FUNCTION_CALL",
};

/** Writes an answer as a Gemini stream. Its first call has a signature. If there are no calls, its text has one. */
export function writeGenerate(answer: Answer): readonly Frame[] {
  const { pieces, finish } = answer;
  const frames: Frame[] = [];
  for (const piece of toSigned(answer, pieces)) frames.push(isParts(piece) ? sse(toBody(answer, piece.parts)) : piece);
  frames.push(sse({ ...toBody(answer, [], words[finish] ?? finish.toUpperCase()), usageMetadata: toCounts(answer) }));
  return frames;
}

interface Parts {
  readonly parts: readonly object[];
}

function isParts(value: Parts | Frame): value is Parts {
  return typeof value === "object" && "parts" in value;
}

function toSigned({ key }: Answer, pieces: readonly Piece[]): readonly (Parts | Frame)[] {
  let isSigned = false;
  return pieces.flatMap((piece): readonly (Parts | Frame)[] => {
    if (isSpoken(piece))
      return piece.texts.map((text) => ({ parts: [piece.kind === "reasoning" ? { text, thought: true } : { text }] }));
    if (piece.kind === "error") return [sse({ error: { code: 503, message: piece.error.message, status: "UNAVAILABLE" } })];
    if (piece.kind === "item") return [{ parts: [piece.item] }];
    if (piece.kind !== "call") return [piece];
    const signature = isSigned ? {} : { thoughtSignature: btoa(`gemini.${key}`) };
    isSigned = true;
    return [{ parts: [{ functionCall: toCall(piece), ...signature }] }];
  });
}

function toCall({ id, name, argsText }: AnswerCall): object {
  const args = argsText === "" ? {} : parseJson(argsText);
  return { ...(id === "" ? {} : { id }), name, args: isRecord(args) ? args : {} };
}

function toBody({ key, model }: Answer, parts: readonly object[], finishReason?: string): object {
  const content = parts.length === 0 ? {} : { content: { role: "model", parts } };
  const candidate = { ...content, index: 0, ...(finishReason === undefined ? {} : { finishReason }) };
  return { candidates: [candidate], modelVersion: model, responseId: `r${key}` };
}

function toCounts({ counts: { input, output, cached, reasoning } }: Answer): object {
  return {
    promptTokenCount: input,
    candidatesTokenCount: output - reasoning,
    cachedContentTokenCount: cached,
    thoughtsTokenCount: reasoning,
    totalTokenCount: input + output,
  };
}

/** Writes an answer as a whole, for a request without streaming. */
export function toGenerated(answer: Answer): object {
  const parts = toSigned(answer, answer.pieces).flatMap((piece) => (isParts(piece) ? piece.parts : []));
  return { ...toBody(answer, parts, words[answer.finish] ?? "OTHER"), usageMetadata: toCounts(answer) };
}
