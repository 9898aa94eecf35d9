import type { Message } from "../types/message.ts";
import type { ModelChunk, ModelRequest } from "../types/provider.ts";
import type { EventReader } from "./read-sdk-stream.ts";
import { memoize } from "../utils/promises.ts";
import { mapItems } from "./well-formed.ts";
import { idRules, toWireId } from "./wire-ids.ts";

/** Replaces the names of tools that a service refuses, and restores them in its answers. */
export interface ToolRenamer {
  rename(request: ModelRequest): ModelRequest;
  /** Returns a reader that restores the names in the chunks that `reader` pushes to `out`. */
  restore(reader: EventReader, out: ModelChunk[], request: ModelRequest): EventReader;
}

/** `accepted` matches the names that the service accepts, for example names that begin with a letter. */
export function createToolRenamer(accepted: RegExp): ToolRenamer {
  const toName = (name: string): string => (accepted.test(name) ? name : toWireId(`t_${name}`, idRules.anthropic));
  const named = <Item extends { readonly name: string }>(item: Item): Item => {
    const name = toName(item.name);
    return name === item.name ? item : { ...item, name };
  };
  const toTool = memoize(named);
  const toMessage = memoize((message: Message): Message => renameMessage(message, named));
  return {
    rename: (request) => {
      const { tools, messages, toolChoice } = request;
      const made = { tools: mapItems(tools, toTool), messages: mapItems(messages, toMessage) };
      if (made.tools === tools && made.messages === messages) return request;
      return { ...request, ...made, toolChoice: typeof toolChoice === "object" ? named(toolChoice) : toolChoice };
    },
    restore: (reader, out, { tools }) => {
      const names = new Map(tools.flatMap(({ name }) => (accepted.test(name) ? [] : [[toName(name), name] as const])));
      return names.size === 0 ? reader : withRestoredNames(reader, out, names);
    },
  };
}

function renameMessage(message: Message, named: <Item extends { readonly name: string }>(item: Item) => Item): Message {
  if (message.role === "user") return message;
  if (message.role === "tool") {
    const results = mapItems(message.results, named);
    return results === message.results ? message : { ...message, results };
  }
  const content = mapItems(message.content, (part) => (part.type === "tool-call" ? named(part) : part));
  return content === message.content ? message : { ...message, content };
}

function withRestoredNames(reader: EventReader, out: ModelChunk[], names: ReadonlyMap<string, string>): EventReader {
  const restore = (): void => {
    for (const [index, chunk] of out.entries()) {
      const name = "name" in chunk ? names.get(chunk.name) : undefined;
      if (name !== undefined) out[index] = { ...chunk, name } as ModelChunk;
    }
  };
  return {
    get failed() {
      return reader.failed;
    },
    get finished() {
      return reader.finished;
    },
    get isOver() {
      return reader.isOver === true;
    },
    get mayGoOn() {
      return reader.mayGoOn === true;
    },
    read: (event) => {
      reader.read(event);
      restore();
    },
    end: () => {
      reader.end();
      restore();
    },
  };
}
