// Passes an MCP server's questions ("elicitation requests") to the user. The questions do not say which tool call they belong to, so this
// works only while exactly one call to the server is in progress.

import { cutText, quote, takeStart } from "../shared/texts.ts";
import { isRecord, textOf } from "../core/kit.ts";
import { findAnswerIssue } from "../shared/answer-issue.ts";
import { issue } from "../shared/argument-schema.ts";
import { ask, type Json, type JsonSchema, LoopError, type StandardSchema, type ToolContext } from "../core/index.ts";
import { toPlainError } from "../shared/plain-error.ts";
import type { UnknownRecord } from "../shared/guards.ts";
import { type McpClient, onElicitation } from "./mcp-client.ts";

const maxMessageLength = 2_000;

type ElicitResult = { readonly action: "accept"; readonly content: unknown } | { readonly action: "decline" | "cancel" };

const cancelled: ElicitResult = { action: "cancel" };

const callsInProgress = new WeakMap<McpClient, Set<ToolContext>>();

export function trackCall(client: McpClient, context: ToolContext): () => void {
  const calls = callsInProgress.get(client) ?? new Set();
  callsInProgress.set(client, calls);
  calls.add(context);
  return () => void calls.delete(context);
}

/**
 * Answers the server's questions until the returned function is called. Throws LoopError "invalid-option" if the client lacks the
 * `elicitation` capability.
 */
export function answerElicitations(client: McpClient, report: (error: unknown) => void): () => void {
  const answer = async (request: unknown): Promise<ElicitResult> => {
    try {
      return await askUser(client, isRecord(request) && isRecord(request["params"]) ? request["params"] : {});
    } catch (error) {
      report(error);
      return cancelled;
    }
  };
  try {
    return onElicitation(client, answer);
  } catch (cause) {
    const expected = `false unless the client has the capability "elicitation" (${toPlainError(cause).message})`;
    throw new LoopError("invalid-option", { option: "elicitation", expected, received: "true" }, { cause });
  }
}

async function askUser(client: McpClient, params: Readonly<Record<string, unknown>>): Promise<ElicitResult> {
  const [context, other] = callsInProgress.get(client) ?? [];
  if (context === undefined || other !== undefined)
    throw new Error(
      `The MCP server asked a question while ${context === undefined ? "none" : "more than one"} of its calls was in progress.`,
    );
  const { mode = "form", message, requestedSchema } = params;
  const schema = mode === "form" ? readRequestedSchema(requestedSchema) : undefined;
  if (schema === undefined) throw new Error("The MCP server asked a question with an unsupported mode or schema.");
  const question = `The MCP server ${quote(serverNameOf(client))} asks: ${cutText(textOf(message), maxMessageLength)}`;
  try {
    return { action: "accept", content: await ask(context, { question, schema, wait: true, fromPage: true }) };
  } catch (error) {
    if (error instanceof Error && error.name === "AnswerFailed") return { action: "decline" };
    if (context.signal.aborted) return cancelled;
    throw error;
  }
}

function serverNameOf(client: McpClient): string {
  const version: unknown = client.getServerVersion?.();
  return isRecord(version) ? textOf(version["title"]) || textOf(version["name"]) : "";
}

const maxProperties = 50;
const maxOptions = 200;
const maxTextLength = 1_000;
const maxNameLength = 64;

type Copied = { [keyword: string]: Json };

const texts = ["type", "title", "description", "format"];
const numbers = ["minLength", "maxLength", "minimum", "maximum", "minItems", "maxItems"];

/**
 * Copies an elicitation request's schema field by field, because the server is not trusted. Drops unknown keywords. The
 * schema must be an object whose fields are strings, numbers, booleans, or arrays of strings chosen from a list. Otherwise, returns
 * undefined.
 *
 * @see https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation#requested-schema
 */
export function readRequestedSchema(schema: unknown): StandardSchema | undefined {
  if (!isRecord(schema) || schema["type"] !== "object" || !isRecord(schema["properties"])) return undefined;
  const entries = Object.entries(schema["properties"]);
  if (entries.length > maxProperties || entries.some(([name]) => name === "__proto__" || name.length > maxNameLength))
    return undefined;
  const fields = entries.flatMap(([name, field]): [string, Copied][] => {
    const copied = copyField(field);
    return copied === undefined ? [] : [[name, copied]];
  });
  if (fields.length !== entries.length) return undefined;
  const properties = new Map(fields);
  const given: readonly unknown[] = Array.isArray(schema["required"]) ? schema["required"] : [];
  const required = [...properties.keys()].filter((name) => given.includes(name));
  const json: JsonSchema = { type: "object", properties: Object.fromEntries(fields), required, additionalProperties: false };
  return {
    "~standard": {
      version: 1,
      vendor: "turnwright",
      validate: (value) => validate(value, json, properties),
      jsonSchema: { input: () => ({ ...json }) },
    },
  };
}

type Checked = ReturnType<StandardSchema["~standard"]["validate"]>;

/** Validates an answer against the keywords that a copied field can have. */
function validate(value: unknown, schema: JsonSchema, properties: ReadonlyMap<string, Copied>): Checked {
  if (!isRecord(value)) return issue("must be an object with fields");
  const found = findAnswerIssue(schema, value);
  if (found !== undefined) return { issues: [found] };
  for (const [name, one] of Object.entries(value)) {
    const field = properties.get(name);
    const problem = field === undefined ? "is not a field of this question" : findRangeProblem(one, field);
    if (problem !== undefined) return issue(problem, name);
  }
  return { value };
}

function copyField(field: unknown): Copied | undefined {
  if (!isRecord(field)) return undefined;
  const { type } = field;
  const copied = copyKeywords(field);
  const options = optionsOf(type === "array" && isRecord(field["items"]) ? field["items"] : field);
  if (options === "invalid") return undefined;
  if (type === "array") return options === undefined ? undefined : { ...copied, items: { type: "string", ...options } };
  if (type !== "string" && type !== "number" && type !== "integer" && type !== "boolean") return undefined;
  return type === "string" ? { ...copied, ...options } : copied;
}

function copyKeywords(field: UnknownRecord): Copied {
  const copied: Copied = {};
  for (const keyword of texts) {
    const value = field[keyword];
    if (typeof value === "string") copied[keyword] = takeStart(value, maxTextLength);
  }
  for (const keyword of numbers) {
    const value = field[keyword];
    if (typeof value === "number") copied[keyword] = value;
  }
  const { default: preset } = field;
  if (typeof preset === "boolean" || typeof preset === "number") copied["default"] = preset;
  if (typeof preset === "string") copied["default"] = takeStart(preset, maxTextLength);
  return copied;
}

function optionsOf({ enum: values, enumNames, oneOf, anyOf }: UnknownRecord): Copied | "invalid" | undefined {
  const titled = Array.isArray(oneOf) ? oneOf : anyOf;
  if (Array.isArray(titled)) {
    const pairs = titled.map((one) => (isRecord(one) ? [one["const"], one["title"] ?? one["const"]] : []));
    const [consts, titles] = [pairs.map(([value]) => value), pairs.map(([, title]) => title)];
    return isTexts(consts) && isTexts(titles) ? { enum: consts, enumNames: titles } : "invalid";
  }
  if (values === undefined) return undefined;
  if (!isTexts(values)) return "invalid";
  return isTexts(enumNames) && enumNames.length === values.length ? { enum: values, enumNames } : { enum: values };
}

function isTexts(values: unknown): values is string[] {
  return (
    Array.isArray(values) &&
    values.length <= maxOptions &&
    values.every((one) => typeof one === "string" && one.length <= maxTextLength)
  );
}

function findRangeProblem(value: unknown, rules: Copied): string | undefined {
  if (typeof value === "number") return findOutside(value, [rules["minimum"], rules["maximum"]]);
  if (typeof value === "string") return findOutside(value.length, [rules["minLength"], rules["maxLength"]], "characters");
  return Array.isArray(value) ? findOutside(value.length, [rules["minItems"], rules["maxItems"]], "values") : undefined;
}

function findOutside(size: number, [min, max]: readonly (Json | undefined)[], unit?: string): string | undefined {
  const [verb, end] = unit === undefined ? ["be", ""] : ["have", ` ${unit}`];
  if (typeof min === "number" && size < min) return `must ${verb} at least ${min}${end}`;
  return typeof max === "number" && size > max ? `must ${verb} at most ${max}${end}` : undefined;
}
