// Splits an entry into pieces of text, in the order in which the transcript shows them. The search reads the same pieces.

import type { Message } from "../../../core/index.ts";
import type { UserPart } from "../../../core/types/common.ts";
import type { LoggedAttempt, LoggedCall, LoggedIteration, LoggedRequest } from "../../../shared/run-log.ts";
import { describeEnding } from "./describe-ending.ts";
import { describeLine, reasonData } from "./describe-line.ts";
import type { Entry } from "./entries.ts";
import { lookUp } from "./format-value.ts";

export interface Piece {
  readonly id: string;
  /** The piece's label. Empty for the main text of the entry. */
  readonly label: string;
  readonly value: unknown;
  /** The request view shows "request" pieces, and the title shows "mark" pieces. They are listed here only for the search. */
  readonly form: "text" | "faint" | "data" | "error" | "request" | "mark";
}

type Shape = Omit<Piece, "value">;

function pieceOf(shape: Shape, value: unknown): readonly Piece[] {
  return value === undefined || value === "" ? [] : [{ ...shape, value }];
}

const data = (id: string, label: string): Shape => ({ id, label, form: "data" });
const text = (id: string, label = ""): Shape => ({ id, label, form: "text" });
const failure = (id: string, label: string): Shape => ({ id, label, form: "error" });

export function piecesOf({ content, run }: Entry): readonly Piece[] {
  switch (content.kind) {
    case "system":
      return pieceOf(text("text"), content.text);
    case "message":
      return piecesOfMessage(content.message);
    case "stream":
      return [...modelOf(content.stream.iteration), ...piecesOfStream(content.stream.iteration, content.stream.previous)];
    case "call":
      return piecesOfCall(content);
    case "note":
      return pieceOf(text("value"), describeLine(content.line).value);
    case "nested":
      return [];
    case "end":
      return [
        ...pieceOf(failure("detail", ""), describeEnding(run).detail),
        ...pieceOf(data("reason", "Reason"), reasonData(run.reason)),
      ];
  }
}

export function piecesOfMessage(message: Message): readonly Piece[] {
  if (message.role === "tool")
    return message.results.flatMap(({ name, callId, result, content }, index) => [
      ...pieceOf(data(`result/${index}`, `Result of ${name} (${callId})`), result),
      ...pieceOf(data(`content/${index}`, "Content"), content),
    ]);
  if (typeof message.content === "string") return pieceOf(text("text"), message.content);
  return message.content.flatMap((part, index) => {
    if (part.type === "text") return pieceOf(text(`part/${index}`), part.text);
    if (part.type === "reasoning") return pieceOf({ ...text(`part/${index}`, "Reasoning"), form: "faint" }, part.text);
    if (part.type === "tool-call") return pieceOf(data(`part/${index}`, `Call of ${part.name} (${part.callId})`), part.args);
    return piecesOfMedia(part, index);
  });
}

/** Shows the data of images and files as text, because the page must not load anything. */
function piecesOfMedia(part: Exclude<UserPart, { type: "text" }>, index: number): readonly Piece[] {
  const label = `${part.type === "image" ? "Image" : "File"}, ${part.mediaType}`;
  return pieceOf(data(`part/${index}`, label), String(part.data));
}

function modelOf({ model, request }: LoggedIteration): readonly Piece[] {
  return pieceOf({ id: "model", label: "", form: "mark" }, model ?? request?.model);
}

function piecesOfStream(iteration: LoggedIteration, previous: LoggedIteration | undefined): readonly Piece[] {
  const { request, attempts, output } = iteration;
  const lost = attempts.flatMap(piecesOfAttempt);
  return [
    ...(request === undefined ? [] : piecesOfRequest(request, previous?.request)),
    ...lost,
    ...pieceOf({ id: "reasoning", label: "Reasoning", form: "faint" }, output?.reasoning),
    ...pieceOf(text("text"), output?.text),
    ...pieceOf(text("details", "Details"), output?.details),
    ...pieceOf(data("thoughts", "Thought log"), output?.thoughtLog),
    ...pieceOf(failure("error", "Error"), output?.error),
    ...pieceOf(
      data("metadata", "Provider metadata"),
      output?.providerMetadata.length === 0 ? undefined : output?.providerMetadata,
    ),
  ];
}

function piecesOfAttempt({ attempt, provider, model, discardedAt, error, ...lost }: LoggedAttempt): readonly Piece[] {
  if (discardedAt === undefined) return [];
  const name = `Discarded attempt ${attempt} (${provider} ${model})`;
  return [
    ...pieceOf(failure(`attempt/${attempt}/error`, name), error ?? "no error in the log"),
    ...pieceOf({ id: `attempt/${attempt}/reasoning`, label: "Discarded reasoning", form: "faint" }, lost.reasoning),
    ...pieceOf({ id: `attempt/${attempt}/text`, label: "Discarded text", form: "faint" }, lost.text),
  ];
}

/**
 * Returns the pieces of a request that are not in the previous request. Otherwise, the search would find unchanged text in each request.
 */
function piecesOfRequest(request: LoggedRequest, before: LoggedRequest | undefined): readonly Piece[] {
  const changed = (id: "system" | "tools" | "settings" | "toolChoice"): readonly Piece[] => {
    const isNew =
      id === "system" ? before !== undefined && before.system !== request.system : !isSameList(request[id], before?.[id]);
    return isNew ? pieceOf({ id: `request/${id}`, label: "", form: "request" }, request[id]) : [];
  };
  const replaced = request.replaced.map(([, message]) => message);
  return [
    ...changed("system"),
    ...changed("tools"),
    ...changed("settings"),
    ...changed("toolChoice"),
    ...(replaced.length === 0 ? [] : pieceOf({ id: "request/replaced", label: "", form: "request" }, replaced)),
  ];
}

/** Compares two values, first by identity, because equal long values in a log are the same object. */
function isSameList(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (!Array.isArray(one) || !Array.isArray(other)) return JSON.stringify(one) === JSON.stringify(other);
  return one.length === other.length && one.every((item, index) => isSameList(item, other[index]));
}

const problems: { readonly [problem: string]: string | undefined } = {
  malformed: "The arguments were not JSON. The log does not have the text that the model sent.",
  truncated: "The arguments were cut off, so they were not JSON. The log does not have the text that the model sent.",
};

/** Returns the pieces of a call's arguments: none for a call with a problem, although its log line may contain an empty object. */
function piecesOfArgs({ args, problem }: LoggedCall): readonly Piece[] {
  if (problem === undefined) return pieceOf(data("args", "Arguments"), args);
  return pieceOf(failure("args", "Arguments"), lookUp(problems, problem) ?? `The arguments had a problem: ${problem}.`);
}

function piecesOfCall({ call, facts }: Extract<Entry["content"], { kind: "call" }>): readonly Piece[] {
  const { decision } = facts;
  const progress = call.progress.map((step) => step.data);
  const result = call.outcome === "completed" ? data("result", "Result") : failure("result", "Result");
  return [
    ...pieceOf({ id: "call-id", label: "", form: "mark" }, call.callId),
    ...piecesOfArgs(call),
    ...pieceOf(data("approved", "Arguments set by the decision"), decision?.["args"]),
    ...pieceOf(text("decider", "Decided by"), decision?.["by"]),
    ...pieceOf(text("decision", "Reason of the decision"), decision?.["reason"]),
    ...pieceOf(failure("decisionError", "Error of the decision"), decision?.["error"]),
    ...pieceOf(data("progress", "Progress"), progress.length === 0 ? undefined : progress),
    ...pieceOf(call.outcome === "deferred" ? data("result", "Result") : result, call.result),
    ...pieceOf(data("sent", "Result as sent to the model"), facts.sent),
    ...pieceOf(data("metadata", "Metadata"), call.metadata),
  ];
}
