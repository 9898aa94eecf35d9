import { digest } from "../../shared/json.ts";
import { isRecord } from "../../core/kit.ts";
import { bindingBeta } from "../../services/anthropic.ts";
import type { ChatOddity } from "../../services/oddities.ts";
import type { ToErrorBody } from "../../services/rule.ts";
import type { Answer, Frame } from "./answer.ts";
import type { Kind } from "./kinds.ts";
import { findChangedReasoning, findChangedThinking } from "./prefix.ts";
import type { Wire } from "./read-wire.ts";
import { toCompletion, writeChat } from "./write-chat.ts";
import { toGenerated, writeGenerate } from "./write-generate.ts";
import { toMessageBody, writeMessages } from "./write-messages.ts";
import { toResponse, writeResponses } from "./write-responses.ts";
import { show } from "../../services/rule-checks.ts";

/** An HTTP response. */
export interface Reply {
  readonly status: number;
  readonly headers: { readonly [name: string]: string };
  readonly frames: readonly Frame[];
}

/** All of the service's oddities or none, a seed that chooses some, or the names of oddities. */
export type OddityChoice = boolean | number | readonly ChatOddity[];

interface WritePorts {
  readonly wire: Wire;
  readonly kind: Kind;
  readonly toError: ToErrorBody;
  readonly oddities: OddityChoice;
  readonly streams: boolean;
}

export function toJsonReply(status: number, body: object, headers: { readonly [name: string]: string } = {}): Reply {
  return { status, headers: { ...headers, "content-type": "application/json" }, frames: [JSON.stringify(body)] };
}

/** Writes an answer in the format of its API. An error at the beginning becomes the response's status. */
export function writeAnswer(answer: Answer, ports: WritePorts): Reply {
  const [first] = answer.pieces;
  if (first?.kind === "fail" && isRecord(first.error) && typeof first.error.status === "number") {
    const { status, message, code, headers } = first.error;
    const body = ports.toError({
      status,
      message: show(message),
      code: typeof code === "string" ? code : undefined,
      type: undefined,
    });
    return toJsonReply(status, body, Object.fromEntries(new Headers(toInit(headers)).entries()));
  }
  if (!ports.streams) return toJsonReply(200, toWhole(answer, ports));
  return { status: 200, headers: { "content-type": "text/event-stream" }, frames: toFrames(answer, ports) };
}

function toInit(headers: unknown): HeadersInit {
  if (headers instanceof Headers) return headers;
  return isRecord(headers) ? Object.entries(headers).map(([name, value]): [string, string] => [name, show(value)]) : [];
}

function toFrames(answer: Answer, { wire, kind, oddities }: WritePorts): readonly Frame[] {
  switch (wire) {
    case "chat":
      return writeChat(answer, kind.style, chooseOddities(kind, answer, oddities));
    case "responses":
      return writeResponses(answer, reportReasoning(answer));
    case "messages":
      return writeMessages(answer, reportThinking(answer, kind));
    case "generate":
      return writeGenerate(answer);
  }
}

function toWhole(answer: Answer, { wire, kind }: WritePorts): object {
  switch (wire) {
    case "chat":
      return toCompletion(answer, kind.style);
    case "responses":
      return toResponse(answer, reportReasoning(answer));
    case "messages":
      return toMessageBody(answer, reportThinking(answer, kind));
    case "generate":
      return toGenerated(answer);
  }
}

/** Chooses oddities. A seed chooses about half of them for each answer. */
function chooseOddities({ style }: Kind, { key }: Answer, oddities: OddityChoice): ReadonlySet<ChatOddity> {
  if (typeof oddities === "object") return new Set(oddities);
  if (typeof oddities === "boolean") return new Set(oddities ? style.oddities : []);
  return new Set(style.oddities.filter((name) => Number.parseInt(digest(`${oddities} ${key} ${name}`).slice(-1), 16) % 2 === 0));
}

/** Returns the field that reports dropped thinking, for requests with the beta header. */
function reportThinking({ request }: Answer, { checksPrefix }: Kind): object {
  if (!checksPrefix || request.headers.get("anthropic-beta")?.includes(bindingBeta) !== true) return {};
  const dropped = findChangedThinking(request).map(({ at, index }) => ({
    type: "thinking_dropped",
    path: `messages.${at}.content.${index}`,
    reason: "prefix_binding_mismatch",
  }));
  return { input_transformations: dropped };
}

/** Returns the field that reports removed reasoning. Starting with GPT-6.2, the service removes reasoning after a changed prefix. */
function reportReasoning({ request, model }: Answer): object {
  if (!/^gpt-(?:6\.[2-9]|[7-9])/.test(model)) return {};
  const removed = findChangedReasoning(request).map(({ id }) => ({
    id,
    type: "reasoning",
    action: "removed",
    reason: "prefix_mismatch",
  }));
  return { input_transformations: removed };
}
