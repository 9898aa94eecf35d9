// Identifies a request by digests of its parts. Digests show which parts of two requests differ without recording any content.

import { digest, stableJson } from "../../shared/json.ts";
import { isRecord, memoize } from "../../core/kit.ts";
import type { Message, ModelRequest, ToolDefinition } from "../../core/index.ts";
import { quote } from "../../shared/texts.ts";

type Part = readonly [name: string, digest: string];

export interface RequestPrint {
  readonly messages: readonly Part[];
  readonly tools: readonly Part[];
  readonly fields: readonly Part[];
}

/** Digests a request's parts. Omits provider metadata, because it only repeats chunks from earlier recorded streams. */
export function printRequest(request: ModelRequest): RequestPrint {
  const { messages, tools, system, output, toolChoice, settings, continuationToken } = request;
  const named = Object.entries(settings ?? {}).map(([name, value]) => [`settings.${name}`, value] as const);
  const fields = [
    ["system", system],
    ["output", output?.schema],
    ["toolChoice", toolChoice],
    ["continuationToken", continuationToken],
    ...named,
  ] as const;
  return {
    messages: messages.map((message) => [message.role, digestOfMessage(message)]),
    tools: tools.map((tool): Part => [tool.name, digestOfTool(tool)]).sort(byName),
    fields: fields
      .flatMap(([name, value]): readonly Part[] => (value === undefined ? [] : [[name, digest(stableJson(value))]]))
      .sort(byName),
  };
}

export function keyOf({ messages, tools, fields }: RequestPrint): string {
  return JSON.stringify([messages, tools, fields]);
}

export function isPrint(value: unknown): value is RequestPrint {
  return isRecord(value) && [value["messages"], value["tools"], value["fields"]].every(isParts);
}

export interface Difference {
  readonly size: number;
  readonly words: readonly string[];
}

export function compare(asked: RequestPrint, recorded: RequestPrint): Difference {
  const fields = compareNamed(asked.fields, recorded.fields);
  const tools = compareNamed(asked.tools, recorded.tools).map((words) => `tool ${words}`);
  const messages = compareMessages(asked.messages, recorded.messages);
  return { size: fields.length + tools.length + messages.size, words: [...fields, ...tools, ...messages.words] };
}

function compareNamed(asked: readonly Part[], recorded: readonly Part[]): readonly string[] {
  const before = new Map(recorded);
  const now = new Map(asked);
  const gone = recorded.filter(([name]) => !now.has(name)).map(([name]) => `${quote(name)} is missing`);
  const others = asked.flatMap(([name, print]) => {
    const known = before.get(name);
    if (known === print) return [];
    return [known === undefined ? `${quote(name)} is new` : `${quote(name)} is different`];
  });
  return [...gone, ...others];
}

/** Describes only the first message that differs, because later ones usually differ as a consequence. */
function compareMessages(asked: readonly Part[], recorded: readonly Part[]): Difference {
  const shorter = Math.min(asked.length, recorded.length);
  const differing = asked.slice(0, shorter).flatMap(([role, print], index) => {
    const [was, known] = recorded[index] ?? [];
    if (role === was && print === known) return [];
    return [`message ${index} (${role}) is different${role === was ? "" : `; the recorded role is ${quote(was ?? "")}`}`];
  });
  const size = differing.length + Math.abs(asked.length - recorded.length);
  const counted = asked.length === recorded.length ? [] : [`there are ${asked.length} messages instead of ${recorded.length}`];
  return { size, words: [...differing.slice(0, 1), ...counted] };
}

const digestOfMessage = memoize((message: Message) => {
  const said = message.role === "assistant" ? { role: message.role, content: message.content } : message;
  return digest(stableJson(said));
});

const digestOfTool = memoize((tool: ToolDefinition) => digest(stableJson(tool)));

function byName([one]: Part, [other]: Part): number {
  return one < other ? -1 : Number(one > other);
}

function isParts(value: unknown): value is readonly Part[] {
  return Array.isArray(value) && value.every((part) => Array.isArray(part) && part.length === 2 && part.every(isText));
}

function isText(value: unknown): boolean {
  return typeof value === "string";
}
