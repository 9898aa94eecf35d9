// Explains what is wrong with a message in the `messages` option. These functions are optional: the loop calls them only if the bundle
// includes them.

import type { ContentPart } from "../types/common.ts";
import type { Message } from "../types/message.ts";
import type { MessageProblem } from "../../shared/edges.ts";
import { isRecord, type UnknownRecord } from "../../shared/guards.ts";
import { nearestName } from "../../shared/nearest-name.ts";
import { quote } from "../../shared/texts.ts";
import { adviseMessage } from "./foreign-words.ts";

const repair = 'Add a result for each call, or let "repairMessages" add "not-run" results';

const words: { readonly [Problem in MessageProblem]: string } = {
  "not-an-object": "is not an object",
  "nothing-to-send": "and all later messages contain nothing that can be sent. Add a user message",
  "reused-call-id": "reuses the id of an earlier call. Give each call its own id",
  "unknown-result":
    'has a result without a call in the previous message, or two results for one call. Remove extra results, or use "repairMessages"',
  "missing-result": `has no result for a call in the previous message. ${repair}`,
  "missing-results": `has calls without results in the next message. ${repair}`,
  role: 'has an invalid "role": it must be "user", "assistant" or "tool"',
  id: 'has an invalid "id": it must be a non-empty string',
  "user-content": 'has invalid "content": it must be a string or an array of content parts',
  "assistant-content": 'has invalid "content": it must be an array of text, reasoning and tool-call parts',
  results: 'has invalid "results": it must be an array of tool results',
  metadata: 'has invalid "metadata": it must be a plain JSON object',
};

function isContentPart(part: unknown): part is ContentPart {
  if (!isRecord(part)) return false;
  const { type, text, mediaType, data, filename } = part;
  if (type === "text") return typeof text === "string";
  if (filename !== undefined && typeof filename !== "string") return false;
  return (
    (type === "image" || type === "file") && typeof mediaType === "string" && (typeof data === "string" || data instanceof URL)
  );
}

type Fits = (fields: UnknownRecord) => boolean;

const isFilled = (value: unknown): boolean => typeof value === "string" && value !== "";
const isListOf = (value: unknown, fits: Fits): boolean =>
  Array.isArray(value) && value.every((item) => isRecord(item) && fits(item));

const isAssistantPart: Fits = ({ type, text, callId, name, args }) =>
  type === "text" || type === "reasoning"
    ? typeof text === "string"
    : type === "tool-call" && isFilled(callId) && isFilled(name) && args !== undefined;

const isResult: Fits = ({ callId, name, result, content = [] }) =>
  isFilled(callId) && isFilled(name) && result !== undefined && isListOf(content, isContentPart);

const shapes: { readonly [Role in Message["role"]]: (message: UnknownRecord) => MessageProblem | undefined } = {
  user({ content, id, metadata = {} }) {
    if (id !== undefined && !isFilled(id)) return "id";
    if (!isRecord(metadata)) return "metadata";
    return typeof content === "string" || isListOf(content, isContentPart) ? undefined : "user-content";
  },
  assistant: ({ content }) => (isListOf(content, isAssistantPart) ? undefined : "assistant-content"),
  tool: ({ results }) => (isListOf(results, isResult) ? undefined : "results"),
};

/** Returns the problem with a message, or undefined if the loop can send it. */
export function findMessageProblem(message: UnknownRecord, given: unknown): string | undefined {
  const { role } = message;
  const shape = role === "user" || role === "assistant" || role === "tool" ? shapes[role](message) : "role";
  return shape === undefined ? findMisspelt(message) : describeMessage(shape, given);
}

/** Describes the problem, with advice if the message or one of its parts is in another library's format or has a misspelled field. */
export function describeMessage(problem: MessageProblem, message?: unknown): string {
  if (!isRecord(message)) return words[problem];
  const misspelt = findMisspelt(message);
  const advice = adviseMessage(message) ?? (misspelt === undefined ? undefined : `It ${misspelt}`);
  return advice === undefined ? words[problem] : `${words[problem]}. ${advice}`;
}

const content = ["type", "text", "mediaType", "data", "filename"];
const parts: { readonly [role: string]: readonly string[] } = {
  user: content,
  assistant: ["type", "text", "callId", "providerCallId", "name", "args", "approvedArgs"],
  tool: ["callId", "name", "outcome", "result", "content"],
};
const fields: { readonly [role: string]: readonly string[] } = {
  user: ["role", "id", "content", "pinned", "metadata"],
  assistant: ["role", "content", "providerMetadata"],
  tool: ["role", "results"],
};

/**
 * Returns a field of a message or part that looks like a misspelled known field. Other unknown fields are allowed, because
 * applications store ids or dates in messages.
 */
function findMisspelt(message: UnknownRecord): string | undefined {
  const { role, content: given, results } = message;
  const known = typeof role === "string" && Object.hasOwn(fields, role) ? role : undefined;
  if (known === undefined) return undefined;
  const own = listOf(known === "tool" ? results : given);
  const inner = own.flatMap((part) => listOf(part["content"]).map((one) => findIn(one, content)));
  return [findIn(message, fields[known]), ...own.map((part) => findIn(part, parts[known])), ...inner].find(Boolean);
}

function listOf(value: unknown): readonly UnknownRecord[] {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}

function findIn(given: UnknownRecord, known: readonly string[] = []): string | undefined {
  const missing = known.filter((name) => given[name] === undefined);
  for (const name of Object.keys(given)) {
    const nearest = known.includes(name) ? undefined : (nearestName(name, missing) ?? missing.find((one) => endsWith(name, one)));
    if (nearest !== undefined) return `has an unknown field ${quote(name)}. Did you mean ${quote(nearest)}?`;
  }
  return undefined;
}

/** True if the name is the known name preceded by other words, such as "toolcallId". */
function endsWith(name: string, known: string): boolean {
  return known.length > 3 && name.toLowerCase().endsWith(known.toLowerCase());
}
