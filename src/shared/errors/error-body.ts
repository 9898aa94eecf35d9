// Reads an error's body. Services and gateways use different shapes, and a gateway's error may contain another service's.

import { isRecord, type UnknownRecord } from "../guards.ts";
import { parseJson } from "../json.ts";
import { listOf, recordOf, textOf } from "../plain-error.ts";
import { cutText } from "../texts.ts";
import { readReset, readRetryDelay } from "./retry-times.ts";

/** The HTTP status and the error codes from one service. */
export interface ErrorLevel {
  status: number | undefined;
  readonly words: Set<string>;
}

export interface BodyFacts {
  /** The service that answered. */
  readonly own: ErrorLevel;
  /** The service behind a gateway. */
  readonly upstream: ErrorLevel;
  readonly messages: string[];
  retryDelayMs: number | undefined;
}

interface Place {
  readonly facts: BodyFacts;
  readonly level: ErrorLevel;
  readonly depth: number;
}

const deepest = 6;
const maxReadLength = 10_000;
/** The maximum number of messages to compare with patterns. A hostile body may contain thousands. */
const maxMessages = 30;

/**
 * Returns the reason that a body gives, or undefined. Collects every message, status and error code in the body.
 *
 * - `{ error: { message, type, code } }`, or only the inner object, or `{ error: "text" }`, or a list of these
 * - `{ object: "error", message, type, code }`: Mistral, vLLM before 0.10.1 (github.com/vllm-project/vllm/issues/22099), SGLang
 * - `{ detail: "text" }` or `{ detail: [{ loc, msg, type }] }`: FastAPI (github.com/appstrate/appstrate/issues/138)
 * - text or JSON text from another service, see `upstreamOf`
 */
export function readReason(value: unknown, place: Place): string | undefined {
  if (typeof value === "string") return readText(value, place);
  if (place.depth > deepest) return undefined;
  const inner = { ...place, depth: place.depth + 1 };
  if (Array.isArray(value)) return readList(value, inner);
  return isRecord(value) && !(value instanceof Error) ? readRecord(value, inner) : undefined;
}

/**
 * Reads text. LiteLLM writes "AnthropicException - {…}", with the other service's body as JSON (github.com/SciPhi-AI/R2R/issues/622).
 */
function readText(text: string, place: Place): string | undefined {
  if (text.trim() === "") return undefined;
  const said = cutText(text, maxReadLength);
  if (place.facts.messages.length < maxMessages) place.facts.messages.push(said);
  const found = findBody(text);
  const reason = found && readReason(found.body, { ...place, level: place.facts.upstream, depth: place.depth + 1 });
  return reason === undefined ? pageTitle(said) : `${found?.before ?? ""}${reason}`;
}

const maxReasons = 3;

function readList(items: readonly unknown[], place: Place): string | undefined {
  const reasons = items.slice(0, maxReasons).flatMap((item) => {
    const reason = readReason(item, place);
    const steps = listOf(recordOf(item).loc).filter((step) => typeof step !== "object");
    const where = steps.join(".");
    return reason === undefined ? [] : where === "" ? reason : `${where}: ${reason}`;
  });
  return reasons.length === 0 ? undefined : reasons.join("; ");
}

/**
 * The fields that may contain the reason, most specific first. An `error` object takes precedence over them. An `error` string may be only
 * a title.
 */
const reasonFields = ["message", "detail", "msg", "error_description", "status_msg", "errors", "base_resp"] as const;

function readRecord(body: UnknownRecord, place: Place): string | undefined {
  const { level, facts } = place;
  noteWords(body, level);
  for (const status of [body.code, body.status, body.status_code, body.http_code, body.raw_status_code])
    noteStatus(status, level);
  noteDetails(body, place);
  const values = [...reasonFields.map((field) => body[field]), readException(body, level)];
  const ordered = typeof body.error === "object" ? [body.error, ...values] : [...values, body.error];
  const [own] = ordered.flatMap((value) => readReason(value, place) ?? []);
  const upstream = upstreamOf(body);
  const reason = readReason(upstream.body, { ...place, level: facts.upstream });
  if (reason === undefined) return own;
  const name = textOf(upstream.name);
  if (own === undefined) return name === "" ? reason : `${name}: ${reason}`;
  return `${own}${name === "" ? "" : ` (${name})`}: ${reason}`;
}

/** Reads an error whose name is the key, as in Bedrock stream events: `{ throttlingException: { message } }`. */
function readException(body: UnknownRecord, { words }: ErrorLevel): unknown {
  const key = Object.keys(body).find((candidate) => candidate.endsWith("Exception"));
  if (key === undefined) return undefined;
  words.add(key.toLowerCase());
  return body[key];
}

/** Collects the error codes next to the reason. */
function noteDetails(body: UnknownRecord, { level, facts }: Place): void {
  const { details } = body;
  const metadata = recordOf(body.metadata);
  facts.retryDelayMs ??= readRetryDelay(details) ?? readReset(body, metadata.headers);
  for (const detail of listOf(details).map(recordOf)) {
    noteWords(detail, level);
    for (const violation of listOf(detail.violations)) noteWords(recordOf(violation), level);
  }
  // Azure sends `innererror`, which LiteLLM moves to `provider_specific_fields` (github.com/BerriAI/litellm/issues/16231).
  const innerErrors = [body.innererror, recordOf(body.provider_specific_fields).innererror];
  for (const more of [recordOf(details), ...innerErrors.map(recordOf)]) noteWords(more, level);
  noteWords(metadata, facts.upstream);
  for (const sign of ["limit_usd", "flagged_input"]) if (sign in metadata) level.words.add(sign);
}

interface Upstream {
  readonly body?: unknown;
  readonly name?: unknown;
}

/** Extracts another service's error from a gateway's error. */
function upstreamOf({ metadata, value, external_model_error: external, ...body }: UnknownRecord): Upstream {
  // OpenRouter's form of an upstream error (openrouter.ai/docs/api/errors, github.com/open-webui/computer/issues/293).
  if (isRecord(metadata)) return { body: metadata.raw, name: metadata.provider_name };
  // Databricks' form of an upstream error (github.com/omnigent-ai/omnigent/issues/5066).
  if (external !== undefined) return { body: external, name: body.external_model_provider };
  // The form of an upstream error in streams from Vercel's gateway (github.com/vercel/ai/issues/18303).
  return { body: body.error_message ?? recordOf(value).error_message };
}

const wordFields = [
  "name",
  "code",
  "type",
  "type_",
  "status",
  "reason",
  "error_code",
  "errorCode",
  "error_type",
  "provider_code",
  "limit_source",
  "quotaId",
] as const;

/** The maximum length of an error code. A body may be hostile, and each error code is compared with many patterns. */
const maxWordLength = 200;

export function noteWords(fields: UnknownRecord, { words }: ErrorLevel): void {
  const { name, constructor } = fields;
  if (name === "Error" && typeof constructor === "function") words.add(constructor.name.toLowerCase());
  for (const field of wordFields) {
    const word = fields[field];
    if (typeof word === "string") words.add(word.slice(0, maxWordLength).toLowerCase());
  }
}

/** Stores the first status that is not a success, because some services answer with 200 and report the error in the body. */
export function noteStatus(value: unknown, level: ErrorLevel): void {
  const status = typeof value === "string" && /^\d{3}$/.test(value) ? Number(value) : value;
  if (typeof status !== "number" || !Number.isInteger(status) || status < 100 || status > 599) return;
  if (level.status === undefined || level.status < 300) level.status = status;
}

/**
 * Parses a response body that an SDK wrote into an error message, sometimes after the status: `429 {…}` or `got status: UNAVAILABLE. {…}`.
 */
export function parseBody(message: string): unknown {
  const start = /^(?:\d{3}\s{1,4}|got status: \w{1,64}\. )?(?=[{[])/.exec(message)?.[0].length;
  if (start === undefined) return undefined;
  const text = message.slice(start);
  return parseJson(text) ?? readCutBody(text);
}

function readCutBody(text: string): unknown {
  const fields: { [field: string]: unknown } = {};
  for (const [, field = "", value = ""] of text.slice(0, maxReadLength).matchAll(saidField)) fields[field] = parseJson(value);
  return fields;
}

const saidField = /"(message|type|code|status|reason)"\s{0,9}:\s{0,9}("(?:[^"\\]|\\.){0,2000}"|\d{1,9})/g;

/** Returns the error body in a string, which may have words before and after it. */
function findBody(text: string): { readonly before: string; readonly body: unknown } | undefined {
  const start = text.search(/[{[]\s{0,9}["{[]/);
  if (start < 0) return undefined;
  const end = Math.max(text.lastIndexOf("}"), text.lastIndexOf("]")) + 1;
  const parsed = parseJson(text.slice(start, end));
  const [body] = Array.isArray(parsed) ? [parsed[0]] : [parsed];
  // Accepts only an object that looks like an error, because the text may quote other JSON, such as a call's arguments.
  const isError = isRecord(body) && ("error" in body || "detail" in body || "external_model_error" in body || isFlat(body));
  return isError ? { before: text.slice(0, start).replace(/b?['"]?$/, ""), body } : undefined;
}

function isFlat({ message, type, code, object }: UnknownRecord): boolean {
  return typeof message === "string" && (type ?? code ?? object) !== undefined;
}

export function pageTitle(message: string): string {
  if (!/<(?:!doctype|html|head|body)\b/i.test(message)) return message;
  const title = /<title[^>]{0,100}>\s{0,100}([^<]{1,200})/i.exec(message)?.[1]?.trim();
  return title === undefined || title === ""
    ? "The server sent an HTML page. Check the base URL of the client."
    : `The server sent an HTML page: ${title}`;
}
