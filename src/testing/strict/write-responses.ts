import type { UnknownRecord } from "../../shared/guards.ts";
import { type Answer, type AnswerCall, type Control, type Frame, isSpoken, namedSse, type Spoken } from "./answer.ts";
import { printInput } from "./prefix.ts";
import { show } from "../../services/rule-checks.ts";

interface Item {
  readonly item: UnknownRecord;
  readonly empty: UnknownRecord;
  readonly deltas: readonly { readonly type: string }[];
}

type Written = Item | Control | { readonly error: string };

/**
 * Returns an answer's items. The id of an item after reasoning names that reasoning, so that a rule can check that the two stay together.
 */
function toItems({ pieces, key, request }: Answer): readonly Written[] {
  const items: Written[] = [];
  let reasoning: string | undefined;
  for (const [index, piece] of pieces.entries()) {
    const id = `${key}${index}`;
    const beside = reasoning === undefined ? id : `of_${reasoning}_${id}`;
    if (isSpoken(piece) && piece.kind === "reasoning") {
      reasoning = `rs_${id}`;
      items.push(toReasoning(reasoning, piece.texts, `enc.${printInput(request, request.items)}.${id}`));
    } else if (isSpoken(piece)) items.push(toMessageItem(`msg_${beside}`, piece));
    else if (piece.kind === "call") items.push(toCallItem(`fc_${beside}`, piece));
    else if (piece.kind === "item") items.push({ item: piece.item, empty: piece.item, deltas: [] });
    else items.push(piece.kind === "error" ? { error: piece.error.message } : piece);
  }
  return items;
}

function toReasoning(id: string, texts: readonly string[], encrypted: string): Item {
  const item = { type: "reasoning", id, summary: [{ type: "summary_text", text: texts.join("") }], encrypted_content: encrypted };
  const deltas = texts.map((delta) => ({ type: "response.reasoning_summary_text.delta", summary_index: 0, delta }));
  return { item, empty: { ...item, summary: [], encrypted_content: "" }, deltas };
}

function toMessageItem(id: string, { kind, texts }: Spoken): Item {
  const isRefusal = kind === "refusal";
  const part = isRefusal
    ? { type: "refusal", refusal: texts.join("") }
    : { type: "output_text", text: texts.join(""), annotations: [] };
  const item = { type: "message", id, role: "assistant", status: "completed", content: [part] };
  const type = isRefusal ? "response.refusal.delta" : "response.output_text.delta";
  return {
    item,
    empty: { ...item, status: "in_progress", content: [] },
    deltas: texts.map((delta) => ({ type, content_index: 0, delta })),
  };
}

function toCallItem(id: string, { id: callId, name, argsText, fragments }: AnswerCall): Item {
  const item = { type: "function_call", id, call_id: callId, name, arguments: argsText, status: "completed" };
  const deltas = fragments.map((delta) => ({ type: "response.function_call_arguments.delta", delta }));
  const done = { type: "response.function_call_arguments.done", arguments: argsText };
  return { item, empty: { ...item, status: "in_progress", arguments: "" }, deltas: [...deltas, done] };
}

function toEndedResponse({ finish, key, model, counts }: Answer, output: readonly object[]): UnknownRecord {
  const { input, output: spoken, cached, reasoning } = counts;
  const incomplete: { readonly [finish: string]: string } = { length: "max_output_tokens", "content-filter": "content_filter" };
  const reason = incomplete[finish];
  return {
    id: `resp_${key}`,
    object: "response",
    created_at: 1_795_000_000,
    model,
    status: reason === undefined ? "completed" : "incomplete",
    incomplete_details: reason === undefined ? null : { reason },
    error: null,
    output,
    usage: {
      input_tokens: input,
      input_tokens_details: { cached_tokens: cached },
      output_tokens: spoken,
      output_tokens_details: { reasoning_tokens: reasoning },
      total_tokens: input + spoken,
    },
  };
}

/** Writes an answer as a stream. `report` is the `input_transformations` field. */
export function writeResponses(answer: Answer, report: object): readonly Frame[] {
  const begun = { ...toEndedResponse(answer, []), status: "in_progress", incomplete_details: null, usage: null };
  const frames: Frame[] = [toEvent("response.created", { response: begun })];
  const output: object[] = [];
  for (const written of toItems(answer)) {
    if ("kind" in written) frames.push(written);
    else if ("error" in written) frames.push(toEvent("error", { code: "server_error", message: written.error, param: null }));
    else {
      const place = { output_index: output.length, item_id: written.item.id };
      frames.push(toEvent("response.output_item.added", { output_index: output.length, item: written.empty }));
      for (const delta of written.deltas) frames.push(namedSse({ ...delta, ...place }));
      frames.push(toEvent("response.output_item.done", { output_index: output.length, item: written.item }));
      output.push(written.item);
    }
  }
  const response = { ...toEndedResponse(answer, output), ...report };
  frames.push(toEvent(`response.${show(response.status)}`, { response }));
  return frames;
}

function toEvent(type: string, fields: object): string {
  return namedSse({ type, ...fields });
}

/** Writes an answer as a whole, for a request without streaming. */
export function toResponse(answer: Answer, report: object): object {
  const output = toItems(answer).flatMap((written) => ("item" in written ? [written.item] : []));
  return { ...toEndedResponse(answer, output), ...report };
}
