// Names of tools and parameters in a form that a service accepts. Its answers get the original names back, also in fragments of arguments.

import type { Message, ToolCallPart } from "../types/message.ts";
import type { ModelChunk, ModelRequest } from "../types/provider.ts";
import type { ToolDefinition } from "../types/tool.ts";
import type { EventReader } from "./read-sdk-stream.ts";
import { memoize } from "../utils/promises.ts";
import { mapItems } from "./well-formed.ts";
import { idRules, toWireId } from "./wire-ids.ts";
import { wrapReader } from "./wrap-reader.ts";
import { createKeyRenamer, findParameters, type Names, renameKeys, renameParameters } from "./wire-parameters.ts";

/** The names that a service accepts. */
export interface NameRules {
  /** Matches the tool names that the service accepts, for example names that begin with a letter. Default: all. */
  readonly toolNames?: RegExp | undefined;
  /** Matches the names of a tool's parameters that the service accepts. Default: all. */
  readonly parameterNames?: RegExp | undefined;
}

/** Replaces the names of tools and parameters that a service refuses, and restores them in its answers. */
export interface ToolRenamer {
  rename(request: ModelRequest): ModelRequest;
  /** Returns a reader that restores the names in the chunks that `reader` pushes to `out`. */
  restore(reader: EventReader, out: ModelChunk[], request: ModelRequest): EventReader;
}

/** The renamed parameters of each tool that has some. */
type Parameters = ReadonlyMap<string, Names>;
type Rename = <Item extends { readonly name: string }>(item: Item) => Item;

export function createToolRenamer({ toolNames = /^/, parameterNames }: NameRules): ToolRenamer {
  // A name that looks replaced is replaced too, so that two tools never get the same name.
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
      // `out` is empty before each call, so each chunk is restored once.
      const restoreAll = (): void => void out.splice(0, out.length, ...out.map(restore));
      return wrapReader(() => reader, restoreAll);
    },
  };
}

type RenameMessages = (messages: readonly Message[], parameters: Parameters) => readonly Message[];

/** Renames each message once, as long as the same parameters are renamed. */
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

/** Creates a function that restores the names in each chunk of one stream. `names` and `keys` have the original of each name. */
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
