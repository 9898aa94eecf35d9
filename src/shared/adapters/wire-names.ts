// Changes call ids, tool names and parameter names to a form that the service accepts. Restores the originals in answers, even in fragments
// of arguments.

import type { Message, ToolCallPart } from "../../core/types/message.ts";
import type { ModelChunk, ModelRequest } from "../../core/types/provider.ts";
import type { ToolDefinition } from "../../core/types/tool.ts";
import type { EventReader } from "./read-sdk-stream.ts";
import { memoize } from "../promises.ts";
import { mapItems } from "./well-formed.ts";
import { wrapReader } from "./wrap-reader.ts";
import type { JsonSchema } from "../../core/types/common.ts";
import { isRecord, type UnknownRecord } from "../guards.ts";
import { listOf } from "../plain-error.ts";
import { parseJson, digest } from "../json.ts";
import { JsonScan } from "../json-scan.ts";
import { toObjectSchema } from "./object-schema.ts";

/** Maps original names to the names that replace them. */
export type Names = ReadonlyMap<string, string>;

/** Returns a tool's parameter names that the service does not accept, each with the name to send instead. */
export function findParameters(schema: JsonSchema, accepted: RegExp | undefined): Names {
  if (accepted === undefined) return new Map();
  const refused = Object.keys(propertiesOf(toObjectSchema(schema))).filter((name) => !accepted.test(name));
  return new Map(refused.map((name) => [name, toWireId(name, idRules.anthropic)]));
}

/**
 * Renames the properties at a schema's root. Services check only these names: "The check is top-level only"
 * (github.com/aws-solutions-library-samples/accelerated-intelligent-document-processing-on-aws/issues/709).
 */
export function renameParameters(schema: JsonSchema, names: Names): JsonSchema {
  const root = toObjectSchema(schema);
  const properties = Object.entries(propertiesOf(root)).map(([name, property]) => {
    const wireName = names.get(name);
    // Describes a renamed parameter by its original name if it has no description, because its new name may be meaningless.
    return wireName === undefined
      ? [name, property]
      : [wireName, isRecord(property) ? { description: name, ...property } : property];
  });
  const required = listOf(root["required"]).map((name) => names.get(String(name)) ?? name);
  const made = { ...root, properties: Object.fromEntries(properties), ...(required.length === 0 ? {} : { required }) };
  return followReferences(made, names);
}

function propertiesOf({ properties }: JsonSchema): UnknownRecord {
  return isRecord(properties) ? properties : {};
}

/** Renames properties in references, because schemas from zod-to-json-schema contain references such as "#/properties/$filter". */
function followReferences(schema: object, names: Names): JsonSchema {
  const moved = new Map(Array.from(names, ([name, wireName]) => [toStep(name), wireName]));
  return JSON.parse(JSON.stringify(schema), (keyword, value: unknown) => {
    if (keyword !== "$ref" || typeof value !== "string") return value;
    return value.replace(/^(#\/properties\/)([^/]*)/, (_, start: string, step: string) => start + (moved.get(step) ?? step));
  }) as JsonSchema;
}

function toStep(name: string): string {
  return name.replaceAll("~", "~0").replaceAll("/", "~1");
}

/** Renames the keys of a call's arguments. Keys inside the values stay unchanged. */
export function renameKeys<Value>(args: Value, names: Names): Value {
  if (!isRecord(args) || !Object.keys(args).some((key) => names.has(key))) return args;
  return Object.fromEntries(Object.entries(args).map(([key, value]) => [names.get(key) ?? key, value])) as Value;
}

/**
 * Creates a function that renames keys in JSON text that arrives in pieces. It holds a key back until the key is complete. Keys inside the
 * values stay unchanged.
 */
export function createKeyRenamer(names: Names): (piece: string) => string {
  const json = new JsonScan();
  let mayBeKey = false;
  /** The part of the current key that has been read so far. */
  let key: string | undefined;
  const read = (character: string): string => {
    const wasInString = json.isInString;
    json.read(character);
    if (!wasInString && json.isInString) {
      key = mayBeKey && json.depth === 1 ? "" : undefined;
      mayBeKey = false;
    } else if (!wasInString && (character === "{" || character === ",")) mayBeKey = true;
    if (key === undefined) return character;
    key += character;
    if (json.isInString) return "";
    const text = renameText(key, names);
    key = undefined;
    return text;
  };
  return (piece) => Array.from(piece, read).join("");
}

function renameText(key: string, names: Names): string {
  const name = names.get(String(parseJson(key)));
  return name === undefined ? key : JSON.stringify(name);
}

/** The call ids that a service accepts. */
export interface IdRule {
  readonly fits: RegExp;
  /** The maximum length of an accepted id, in characters. */
  readonly longest: number;
}

/**
 * The rules for the services' call ids. OpenAI accepts at most 40 characters in Chat Completions and 64 in Responses, although some of its
 * backends send longer ids (github.com/Portkey-AI/gateway/issues/1062, github.com/openclaw/openclaw/pull/137489). Mistral accepts
 * exactly 9 letters and digits (github.com/karthink/gptel/issues/1203).
 */
export const idRules: { readonly [Name in "chat" | "responses" | "anthropic" | "plain" | "nine"]: IdRule } = {
  chat: { fits: /^[^]{1,40}$/, longest: 40 },
  responses: { fits: /^[^]{1,64}$/, longest: 64 },
  anthropic: { fits: /^[\w-]{1,64}$/, longest: 64 },
  plain: { fits: /^[\w-]{1,40}$/, longest: 40 },
  nine: { fits: /^[a-zA-Z\d]{9}$/, longest: 9 },
};

/**
 * Returns a call id that the service accepts. An accepted id is unchanged. Any other id is replaced with its first letters and digits,
 * followed by a digest of the whole id. The call and its result get the same id, and different ids stay different. An id of the maximum
 * length that looks like a replaced id is replaced too, so the two never collide.
 */
export function toWireId(callId: string, { fits, longest }: IdRule): string {
  const looksMade = callId.length === longest && /_[\da-f]{14}$/.test(callId);
  if (fits.test(callId) && !looksMade) return callId;
  const hash = digest(callId);
  const room = longest - hash.length - 1;
  if (room < 1) return Number.parseInt(hash, 16).toString(36).padStart(longest, "0").slice(-longest);
  return `${callId.replace(/[^\w-]/g, "").slice(0, room)}_${hash}`;
}

/** The user message that is sent before a conversation that starts with an assistant message. */
export const openingText = "(The conversation begins.)";

/** The user message that is sent after a conversation that ends with an assistant message. */
export const continueText = "Continue.";

/** The assistant message that is sent between tool results and a user message. */
export const resultsReadText = "I have read the results.";

/** The names that a service accepts. */
export interface NameRules {
  /** Matches the tool names that the service accepts, for example names that begin with a letter. Default: all. */
  readonly toolNames?: RegExp | undefined;
  /** Matches the tool parameter names that the service accepts. Default: all. */
  readonly parameterNames?: RegExp | undefined;
}

/** Replaces names of tools and parameters that a service refuses, and restores them in its answers. */
export interface ToolRenamer {
  rename(request: ModelRequest): ModelRequest;
  /** Returns a reader that restores the names in the chunks that `reader` pushes to `out`. */
  restore(reader: EventReader, out: ModelChunk[], request: ModelRequest): EventReader;
}

/** The renamed parameters, by tool. */
type Parameters = ReadonlyMap<string, Names>;
type Rename = <Item extends { readonly name: string }>(item: Item) => Item;

export function createToolRenamer({ toolNames = /^/, parameterNames }: NameRules): ToolRenamer {
  // Also replaces a name that looks like a replaced one, so that two tools never get the same name.
  const isKept = (name: string): boolean => toolNames.test(name) && (!name.startsWith("t_") || isKept(name.slice(2)));
  const toName = (name: string): string => (isKept(name) ? name : toWireId(`t_${name}`, idRules.anthropic));
  const named: Rename = (item) => {
    const name = toName(item.name);
    return name === item.name ? item : { ...item, name };
  };
  const parametersOf = memoize(({ inputSchema }: ToolDefinition) => findParameters(inputSchema, parameterNames));
  const toTool = memoize((tool: ToolDefinition): ToolDefinition => {
    const names = parametersOf(tool);
    return named(names.size === 0 ? tool : { ...tool, inputSchema: renameParameters(tool.inputSchema, names) });
  });
  const parametersIn = (tools: readonly ToolDefinition[]): Parameters =>
    new Map(tools.map((tool) => [tool.name, parametersOf(tool)] as const).filter(([, names]) => names.size > 0));
  const toMessages = createMessageRenamer(named);
  return {
    rename: (request) => {
      const { tools, messages, toolChoice } = request;
      const made = { tools: mapItems(tools, toTool), messages: toMessages(messages, parametersIn(tools)) };
      if (made.tools === tools && made.messages === messages) return request;
      return { ...request, ...made, toolChoice: typeof toolChoice === "object" ? named(toolChoice) : toolChoice };
    },
    restore: (reader, out, { tools }) => {
      const names = new Map(tools.map(({ name }) => [toName(name), name] as const).filter(([wire, name]) => wire !== name));
      const renamed = [...parametersIn(tools).values()].flatMap((known) => [...known]);
      const keys = new Map(renamed.map(([key, wireKey]) => [wireKey, key]));
      if (names.size + keys.size === 0) return reader;
      const restore = createRestorer(names, keys);
      // The reader was called with an empty `out`, so each chunk is restored only once.
      const restoreAll = (): void => void out.splice(0, out.length, ...out.map(restore));
      return wrapReader(() => reader, restoreAll);
    },
  };
}

type RenameMessages = (messages: readonly Message[], parameters: Parameters) => readonly Message[];

/** Creates a function that replaces the names in each message only once, as long as the renamed parameters stay the same. */
function createMessageRenamer(named: Rename): RenameMessages {
  let used = "";
  let toMessage = memoize((message: Message) => renameMessage(message, named));
  return (messages, parameters) => {
    const wanted =
      parameters.size === 0 ? "" : JSON.stringify(Array.from(parameters, ([tool, names]) => [tool, ...names.keys()]));
    if (wanted !== used) {
      used = wanted;
      toMessage = memoize((message) => renameMessage(message, named, parameters));
    }
    return mapItems(messages, toMessage);
  };
}

function renameMessage(message: Message, named: Rename, parameters?: Parameters): Message {
  if (message.role === "user") return message;
  if (message.role === "tool") {
    const results = mapItems(message.results, named);
    return results === message.results ? message : { ...message, results };
  }
  const content = mapItems(message.content, (part) =>
    part.type === "tool-call" ? named(renameArguments(part, parameters?.get(part.name))) : part,
  );
  return content === message.content ? message : { ...message, content };
}

function renameArguments(part: ToolCallPart, names: Names | undefined): ToolCallPart {
  if (names === undefined) return part;
  const [args, approvedArgs] = [renameKeys(part.args, names), renameKeys(part.approvedArgs, names)];
  return args === part.args && approvedArgs === part.approvedArgs ? part : { ...part, args, approvedArgs };
}

/** Creates a function that restores the names in each chunk of one stream. `names` and `keys` map sent names to the original ones. */
function createRestorer(names: Names, keys: Names): (chunk: ModelChunk) => ModelChunk {
  const pieces = new Map<string, (piece: string) => string>();
  const readPiece = (call: string, piece: string): string => {
    const read = pieces.get(call) ?? createKeyRenamer(keys);
    pieces.set(call, read);
    return read(piece);
  };
  return (chunk) => {
    if (chunk.type === "call-args-delta" && keys.size > 0) return { ...chunk, text: readPiece(chunk.key, chunk.text) };
    if (chunk.type !== "call-start" && chunk.type !== "call-ready") return chunk;
    const { name: wireName } = chunk;
    const name = names.get(wireName) ?? wireName;
    if (chunk.type === "call-start" || keys.size === 0) return name === wireName ? chunk : { ...chunk, name };
    const { args, argsText } = chunk;
    return { ...chunk, name, args: renameKeys(args, keys), argsText: argsText && createKeyRenamer(keys)(argsText) };
  };
}
