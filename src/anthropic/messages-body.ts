// The body of one request. What repeats from iteration to iteration, messages and tools, is converted once and only gathered here.

import {
  groupByRole,
  isRecord,
  type Json,
  memoize,
  type Message,
  type ModelRequest,
  type ModelSettings,
  type ToolChoice,
  type ToolDefinition,
} from "../core/provider-kit.ts";
import { markLast, markMessages, markSystem, type JoinedMessage } from "./cache-breakpoints.ts";
import type { MessageConverter } from "./message-converter.ts";
import type { MessagesSettings } from "./messages-options.ts";
import type { MessagesRequestBody, WireContainer, WireMessage } from "./messages-wire.ts";

/** What a body is made with. */
export interface BodyPorts {
  readonly settings: MessagesSettings;
  readonly convert: MessageConverter;
  /** Milliseconds since 1970, for containers that have expired. */
  readonly now: number;
}

/** Writes a request. `extra` comes last and may replace every field but `stream`. */
export function buildMessagesBody(request: ModelRequest, ports: BodyPorts): MessagesRequestBody {
  const { system, messages, settings: model = {} } = request;
  const { settings, convert } = ports;
  const { cacheControl } = settings;
  const joined = joinMessages(messages, convert);
  return {
    model: settings.model,
    max_tokens: model.maxOutputTokens ?? settings.maxTokens,
    ...(system === undefined || system.trim() === ""
      ? {}
      : { system: cacheControl === undefined ? system : markSystem(system, cacheControl) }),
    ...toToolFields(request, settings),
    messages: cacheControl === undefined ? joined.map(({ message }) => message) : markMessages(joined, cacheControl),
    ...toThinkingField(messages, ports),
    ...toSettingFields(model),
    // Spread, not assigned: an own key "__proto__" stays a field.
    ...model.extra,
    ...toContainerField(messages, model.extra?.container, ports),
    stream: true,
  };
}

/** The service wants the user to begin, and refuses a conversation that begins with a greeting of the model's. */
const opening: JoinedMessage = {
  message: { role: "user", content: [{ type: "text", text: "(The conversation begins.)" }] },
  stableBlocks: 0,
};

/** Messages of one role that follow each other become one: results of tools, then what a user says to them. */
function joinMessages(messages: readonly Message[], convert: MessageConverter): readonly JoinedMessage[] {
  const wire = messages.map((message, position) => {
    const { wire: followed, asLast } = convert(message, position);
    return position === messages.length - 1 ? asLast : followed;
  });
  const joined = groupByRole(wire.filter(({ content }) => content.length > 0)).map(join);
  return joined[0]?.message.role === "assistant" ? [opening, ...joined] : joined;
}

function join(group: readonly [WireMessage, ...WireMessage[]]): JoinedMessage {
  const [first] = group;
  const last = group[group.length - 1];
  if (last === undefined || group.length === 1) return { message: first, stableBlocks: 0 };
  const content = group.flatMap((message) => message.content);
  return { message: { role: first.role, content }, stableBlocks: content.length - last.content.length };
}

function toToolFields({ tools, toolChoice }: ModelRequest, { cacheControl, serverTools }: MessagesSettings): object {
  if (tools.length + serverTools.length === 0) return {};
  const wire: readonly object[] = [...tools.map(toWireTool), ...serverTools];
  return { tools: cacheControl === undefined ? wire : markLast(wire, cacheControl), ...toChoiceField(toolChoice) };
}

function toChoiceField(choice: ToolChoice | undefined): object {
  if (choice === undefined) return {};
  if (typeof choice === "object") return { tool_choice: { type: "tool", name: choice.name } };
  return { tool_choice: { type: choice === "required" ? "any" : choice } };
}

/** The wire has no seed, and refuses fields that it does not know. */
function toSettingFields({ temperature, topP, stopSequences }: ModelSettings): object {
  return {
    ...(temperature === undefined ? {} : { temperature }),
    ...(topP === undefined ? {} : { top_p: topP }),
    ...(stopSequences === undefined || stopSequences.length === 0 ? {} : { stop_sequences: stopSequences }),
  };
}

/**
 * Models that think within a budget refuse to go on from the results of a turn that does not begin with thinking. One that
 * another model began has none to send back, so that this request goes without.
 */
function toThinkingField(messages: readonly Message[], { settings, convert }: BodyPorts): object {
  const { thinking } = settings;
  if (thinking === undefined) return {};
  let position = messages.length - 1;
  while (messages[position]?.role === "user") position -= 1;
  const turn = messages[position - 1];
  const goesOn = messages[position]?.role === "tool" && turn !== undefined && convert(turn, position - 1).isRebuilt;
  return thinking.type === "enabled" && goesOn ? {} : { thinking };
}

/** The container that the conversation used last goes along until it expires, also beside skills that `extra` asks for. */
function toContainerField(messages: readonly Message[], extra: Json | undefined, { convert, now }: BodyPorts): object {
  if (extra !== undefined && !(isRecord(extra) && extra.id === undefined)) return {};
  const container = lastContainer(messages, convert);
  if (container === undefined || Date.parse(container.expires_at ?? "") <= now) return {};
  return { container: extra === undefined ? container.id : { ...extra, id: container.id } };
}

function lastContainer(messages: readonly Message[], convert: MessageConverter): WireContainer | undefined {
  for (let position = messages.length - 1; position >= 0; position -= 1) {
    const message = messages[position];
    const container = message === undefined ? undefined : convert(message, position).container;
    if (container !== undefined) return container;
  }
  return undefined;
}

const toWireTool = memoize(({ name, description, inputSchema }: ToolDefinition): object => ({
  name,
  description,
  input_schema: inputSchema,
}));
