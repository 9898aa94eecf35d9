// Neutral messages into messages of a prompt, each converted once in its life.

import { assertNever, readTurn, toArgumentsObject, toWireName, writeUserMedia } from "../core/provider-kit.ts";
import type { AssistantMessage, Json, MediaPlace, Message, ToolCallPart, UserMessage } from "../core/provider-kit.ts";
import { createFileForms, type FileForms } from "./file-source.ts";
import type { PromptMessage, PromptPart } from "./model-wire.ts";
import { type MetadataReader, readMetadata } from "./provider-metadata.ts";
import { toResultParts } from "./tool-results.ts";

/** One message as it is sent, and what the calls in it carry for their results. */
interface ConvertedMessage {
  readonly messages: readonly PromptMessage[];
  readonly callOptions: ReadonlyMap<string, Json>;
}

/** Converts all messages; `urls` are the patterns of those that the model takes. */
type PromptConverter = (messages: readonly Message[], urls: unknown) => readonly PromptMessage[];

const noOptions: ReadonlyMap<string, Json> = new Map();

/** Makes a converter that remembers what it has converted, by the identity of the message. */
export function createPromptConverter(reader: MetadataReader): PromptConverter {
  const known = new WeakMap<Message, { readonly after: ReadonlyMap<string, Json>; readonly converted: ConvertedMessage }>();
  return (messages, urls) => {
    const prompt: PromptMessage[] = [];
    let callOptions = noOptions;
    const forms = createFileForms(reader.words, urls);
    for (const [index, message] of messages.entries()) {
      let made = known.get(message);
      // Another turn may have taken the place of the one whose calls were answered.
      if (made?.after !== callOptions) {
        made = { after: callOptions, converted: convert(message, reader, { forms, callOptions, index }) };
        known.set(message, made);
      }
      callOptions = made.converted.callOptions;
      prompt.push(...made.converted.messages);
    }
    return prompt;
  };
}

/** What a message depends on besides itself. */
interface Surroundings {
  readonly forms: FileForms;
  /** Of the calls of the message before. */
  readonly callOptions: ReadonlyMap<string, Json>;
  /** Its position. */
  readonly index: number;
}

function convert(message: Message, reader: MetadataReader, { forms, callOptions, index }: Surroundings): ConvertedMessage {
  switch (message.role) {
    case "user":
      return { messages: toUserMessages(message, forms, { provider: reader.id, message: index }), callOptions: noOptions };
    case "assistant":
      return convertTurn(message, reader);
    case "tool": {
      const content = toResultParts(message, { words: reader.words, forms, callOptions });
      return { messages: [{ role: "tool", content }], callOptions: noOptions };
    }
    default:
      return assertNever(message);
  }
}

/** Empty texts beside other parts are left out, as the AI SDK does: some services refuse them. */
function toUserMessages(
  { content }: UserMessage,
  { user }: FileForms,
  place: Omit<MediaPlace, "part">,
): readonly PromptMessage[] {
  if (typeof content === "string") return [{ role: "user", content: [{ type: "text", text: content }] }];
  const parts = content.flatMap((part, index): readonly PromptPart[] => {
    if (part.type !== "text") return [writeUserMedia(part, user, { ...place, part: index })];
    return part.text === "" ? [] : [{ type: "text", text: part.text }];
  });
  return parts.length === 0 ? [] : [{ role: "user", content: parts }];
}

function convertTurn(message: AssistantMessage, reader: MetadataReader): ConvertedMessage {
  const providerMetadata = readMetadata(message, reader);
  if (providerMetadata !== undefined) return providerMetadata;
  const content = rebuildTurn(message);
  return { messages: content.length === 0 ? [] : [{ role: "assistant", content }], callOptions: noOptions };
}

/** Text and calls only: reasoning without its signature is refused, or means nothing to another model. */
function rebuildTurn(turn: AssistantMessage): readonly PromptPart[] {
  const { text, calls } = readTurn(turn);
  return [...(text === "" ? [] : [{ type: "text", text }]), ...calls.map(toCallPart)];
}

function toCallPart({ callId, name, args }: ToolCallPart): PromptPart {
  return { type: "tool-call", toolCallId: callId, toolName: toWireName(name), input: toArgumentsObject(args) };
}
