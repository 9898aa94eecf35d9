import { assertNever } from "../shared/guards.ts";
import type {
  AssistantMessage,
  ContentPart,
  Json,
  Message,
  ModelRequest,
  ToolChoice,
  ToolDefinition,
  ToolMessage,
  ToolResultPart,
  UserMessage,
} from "../core/index.ts";
import { createMediaFitter } from "../shared/adapters/fit-media.ts";
import {
  createOutputPlanner,
  hasSucceeded,
  isRecord,
  memoize,
  readAssistantMessage,
  recordOf,
  textOf,
  toArgumentsObject,
  toBase64,
  type ToolCallPart,
  writeMedia,
} from "../core/kit.ts";
import { planCached, type PlannedRequest } from "../shared/adapters/cached-content.ts";
import type { OutputPlan } from "../shared/adapters/output-schema.ts";
import type { MediaForms } from "../shared/adapters/write-media.ts";
import type { RequestChange } from "../core/types/provider.ts";
import { findParameters, type IdRule, idRules, toWireId } from "../shared/adapters/wire-names.ts";
import { groupByRole, toSettingFields } from "../shared/adapters/sdk-provider.ts";
import { isMediaTypeOf, type ReadableMedia } from "../shared/media-source.ts";
import { toObjectSchema } from "../shared/adapters/object-schema.ts";
import { toWireName } from "../shared/tool-arguments.ts";
import { planTools, withoutUnusedFields } from "../services/plan-tools.ts";
import { separateRoles } from "../services/separate-roles.ts";
import type { Quirks } from "../services/service.ts";
import {
  type AiSdkCallOptions,
  type FileFacts,
  type ModelSettings,
  type PromptMessage,
  type PromptPart,
  type SpecWords,
  specWords,
} from "./model-options.ts";
import { type OwnMessageReader, readMetadata } from "./provider-metadata.ts";

interface FileForms {
  readonly user: MediaForms<PromptPart>;
  readonly result: MediaForms<PromptPart>;
}

/**
 * Creates the file converters. `urls` are the URL patterns that the model accepts. Media types are not checked here, so the model's
 * package may still reject a file because of its media type.
 */
export function createFileForms(words: SpecWords, urls: unknown): FileForms {
  const takes = "files as base64, and only some URLs";
  const forms = (write: (file: FileFacts) => PromptPart | undefined): MediaForms<PromptPart> => ({
    takes,
    write: (media) => {
      const file = toFile(media);
      return takesFile(urls, file) ? write(file) : undefined;
    },
  });
  return {
    user: forms(({ mediaType, source, name }) => ({ type: "file", mediaType, data: words.toFileData(source), ...name })),
    result: forms((file) => words.toResultFile(file)),
  };
}

function toFile(media: ReadableMedia): FileFacts {
  const { mediaType, filename } = media;
  const name = filename === undefined ? {} : { filename };
  if (media.kind !== "url") return { mediaType, name, source: { kind: "base64", data: toBase64(media) } };
  return { mediaType, name, source: { kind: "url", text: media.url, url: new URL(media.url) } };
}

/**
 * True if the model accepts the file's URL. The keys of `patterns` are media types, such as `image/*` or `*`. Many patterns expect a
 * lower-case URL, so the URL's lower-case form is tried too.
 */
function takesFile(patterns: unknown, { mediaType, source }: FileFacts): boolean {
  if (source.kind === "base64") return true;
  if (!isRecord(patterns)) return false;
  const spellings = [source.text, source.text.toLowerCase()];
  return Object.entries(patterns).some(
    ([key, list]) =>
      isMediaTypeOf(mediaType, key) &&
      Array.isArray(list) &&
      // Uses `search` because, unlike `test`, it ignores the `lastIndex` of a global or sticky pattern.
      list.some((pattern: unknown) => pattern instanceof RegExp && spellings.some((url) => url.search(pattern) !== -1)),
  );
}

interface ResultPorts {
  readonly words: SpecWords;
  readonly forms: FileForms;
  /** The service's metadata for each call, by call id. It is sent back with the result, because some services require it there. */
  readonly callOptions: ReadonlyMap<string, Json>;
}

function toResultParts({ results }: ToolMessage, ports: ResultPorts): readonly PromptPart[] {
  return results.map((part) => {
    const providerOptions = ports.callOptions.get(part.callId);
    return {
      type: "tool-result",
      toolCallId: part.callId,
      toolName: toWireName(part.name),
      output: toOutput(part, ports),
      ...(providerOptions === undefined ? {} : { providerOptions }),
    };
  });
}

function toOutput(part: ToolResultPart, ports: ResultPorts): PromptPart {
  const { outcome, result, content = [] } = part;
  if (content.length > 0) return { type: "content", value: toContent(result, content, ports) };
  if (outcome === "denied") return ports.words.toDenial(toText(result));
  const kind = typeof result === "string" ? "text" : "json";
  return { type: hasSucceeded(part) ? kind : `error-${kind}`, value: result };
}

function toContent(result: Json, content: readonly ContentPart[], { forms }: ResultPorts): readonly PromptPart[] {
  const parts = content.map((part) => (part.type === "text" ? part.text : writeMedia(part, forms.result)));
  return toFilledParts([toText(result), ...parts]);
}

function toFilledParts(parts: readonly (string | PromptPart)[]): readonly PromptPart[] {
  return parts.flatMap((part) => {
    if (typeof part !== "string") return [part];
    return part === "" ? [] : [toTextPart(part)];
  });
}

function toTextPart(text: string): PromptPart {
  return { type: "text", text };
}

function toText(result: Json): string {
  return typeof result === "string" ? result : JSON.stringify(result);
}

interface ConvertedMessage {
  readonly messages: readonly PromptMessage[];
  readonly callOptions: ReadonlyMap<string, Json>;
}

type PromptConverter = (messages: readonly Message[], urls: unknown) => readonly PromptMessage[];

const noOptions: ReadonlyMap<string, Json> = new Map();

function createPromptConverter(reader: OwnMessageReader, rule: IdRule | undefined): PromptConverter {
  const known = new WeakMap<Message, { readonly after: ReadonlyMap<string, Json>; readonly converted: ConvertedMessage }>();
  return (messages, urls) => {
    const prompt: PromptMessage[] = [];
    let callOptions = noOptions;
    const forms = createFileForms(reader.words, urls);
    for (const message of messages) {
      let made = known.get(message);
      // Converts the message again if the assistant message before it has changed, because tool results depend on that message.
      if (made?.after !== callOptions) {
        const { messages: written, ...rest } = convert(message, reader, { forms, callOptions });
        const filled = withoutBlanks(written);
        made = { after: callOptions, converted: { messages: rule === undefined ? filled : withIds(filled, rule), ...rest } };
        known.set(message, made);
      }
      callOptions = made.converted.callOptions;
      prompt.push(...made.converted.messages);
    }
    return prompt;
  };
}

/**
 * Omits blank text parts, and reasoning at the end of a message, because some services reject them. Keeps a blank text part that has
 * metadata from the service.
 */
function withoutBlanks(messages: readonly PromptMessage[]): readonly PromptMessage[] {
  const isFilled = ({ type, text, providerOptions }: PromptPart): boolean =>
    type !== "text" || providerOptions !== undefined || typeof text !== "string" || text.trim() !== "";
  return messages.flatMap((message): readonly PromptMessage[] => {
    if (message.role === "system") return [message];
    const filled = message.content.filter(isFilled);
    const content = filled.slice(0, filled.findLastIndex(({ type }) => type !== "reasoning") + 1);
    if (content.length === message.content.length) return [message];
    return content.length === 0 ? [] : [{ ...message, content }];
  });
}

/**
 * Returns the rule for call ids. A provider name such as "openai.chat" means that the package uses Chat Completions. Other packages send at
 * most 64 characters of an id.
 */
function idRuleOf(callIds: Quirks["callIds"], provider: string): IdRule | undefined {
  if (callIds === "any") return undefined;
  return idRules[callIds ?? (provider.endsWith(".chat") ? "chat" : "responses")];
}

function withIds(messages: readonly PromptMessage[], rule: IdRule): readonly PromptMessage[] {
  const withId = (part: PromptPart): PromptPart =>
    typeof part.toolCallId === "string" ? { ...part, toolCallId: toWireId(part.toolCallId, rule) } : part;
  return messages.map((message) => (message.role === "system" ? message : { ...message, content: message.content.map(withId) }));
}

function toPromptMessage(role: "user" | "assistant", text: string): PromptMessage {
  return { role, content: [toTextPart(text)] };
}

interface Surroundings {
  readonly forms: FileForms;
  readonly callOptions: ReadonlyMap<string, Json>;
}

function convert(message: Message, reader: OwnMessageReader, { forms, callOptions }: Surroundings): ConvertedMessage {
  switch (message.role) {
    case "user":
      return { messages: toUserMessages(message, forms), callOptions: noOptions };
    case "assistant":
      return convertAssistantMessage(message, reader);
    case "tool": {
      const content = toResultParts(message, { words: reader.words, forms, callOptions });
      return { messages: [{ role: "tool", content }], callOptions: noOptions };
    }
    default:
      return assertNever(message);
  }
}

/** Converts a user message. Omits empty text parts, as the AI SDK does, because some services reject them. */
function toUserMessages({ content }: UserMessage, { user }: FileForms): readonly PromptMessage[] {
  if (typeof content === "string") return [toPromptMessage("user", content)];
  const parts = toFilledParts(content.map((part) => (part.type === "text" ? part.text : writeMedia(part, user))));
  return parts.length === 0 ? [] : [{ role: "user", content: parts }];
}

function convertAssistantMessage(message: AssistantMessage, reader: OwnMessageReader): ConvertedMessage {
  const providerMetadata = readMetadata(message, reader);
  if (providerMetadata !== undefined) return providerMetadata;
  const content = rebuildMessage(message);
  return { messages: content.length === 0 ? [] : [{ role: "assistant", content }], callOptions: noOptions };
}

/** Omits reasoning, which has either no signature or one from a different model. */
function rebuildMessage(message: AssistantMessage): readonly PromptPart[] {
  const { text, calls } = readAssistantMessage(message);
  return [...(text === "" ? [] : [{ type: "text", text }]), ...calls.map(toCallPart)];
}

function toCallPart({ callId, name, args }: ToolCallPart): PromptPart {
  return { type: "tool-call", toolCallId: callId, toolName: toWireName(name), input: toArgumentsObject(args) };
}

/** Combines the strictest rules of all services, because the service that runs the model is unknown. */
const planOutput = /* @__PURE__ */ createOutputPlanner({ maxOptional: 0, maxUnions: 16, maxDepth: 4 });

interface PlannedCall extends PlannedRequest {
  readonly providerTools: ProviderTools;
}

function planCall(given: ModelRequest, settings: ModelSettings, report: (change: RequestChange) => void): PlannedCall {
  const { extra = {} } = given.settings ?? {};
  const { providerTools = {}, quirks, structuredOutput = false } = settings;
  const plan = (request: ModelRequest): OutputPlan => {
    // Some AI SDK packages send the schema as a tool's parameters, so its property names must be valid parameter names
    // (github.com/twentyhq/twenty/pull/21834).
    const isNamed = request.output === undefined || findParameters(request.output.schema, quirks.parameterNames).size === 0;
    return planOutput(request, structuredOutput && isNamed && extra["responseFormat"] === undefined);
  };
  if (!usesCachedContent(extra["providerOptions"] ?? settings.providerOptions)) {
    return { request: given, ...plan(given), providerTools };
  }
  const serverTools = ["providerTools", Object.keys(providerTools).length] as const;
  return { ...planCached(given, { serverTools, plan, report }), providerTools: {} };
}

/** True if a provider's options, such as those of `@ai-sdk/google`, name cached content. */
function usesCachedContent(providerOptions: unknown): boolean {
  return Object.values(recordOf(providerOptions)).some((options) => textOf(recordOf(options).cachedContent) !== "");
}

type CallBuilder = (
  request: ModelRequest,
  signal: AbortSignal,
  report: (change: RequestChange) => void,
) => Promise<AiSdkCallOptions>;

/**
 * Creates a function that builds the `doStream` options. It throws ProviderError `bad-request` if a message has content that cannot be
 * sent to the model.
 */
export function createCallBuilder(settings: ModelSettings): CallBuilder {
  const { model, id, quirks } = settings;
  const words = specWords[model.specificationVersion];
  const convert = createPromptConverter({ id, model: model.modelId, words }, idRuleOf(quirks.callIds, model.provider));
  const fitterFor = memoize((urls: object) =>
    createMediaFitter({ forms: createFileForms(words, urls).user, limits: quirks.media, id }),
  );
  return async (given, signal, report) => {
    const urls: unknown = await model.supportedUrls;
    signal.throwIfAborted();
    const { request, system, schema, providerTools } = planCall(given, settings, report);
    const { tools, choice, instruction } = planTools(request, { quirks, report });
    const messages = convert(fitterFor(recordOf(urls))(request).messages, urls);
    const asked = instruction === undefined ? messages : [...messages, toPromptMessage("user", instruction)];
    const options = {
      prompt: separateRoles(joinMessages(system, asked, quirks.alternates), toOrder(asked, quirks), toPromptMessage),
      ...toToolFields({ ...request, tools, toolChoice: choice }, providerTools, words.providerToolType),
      ...toSettingFields(request.settings ?? {}),
      ...(settings.providerOptions === undefined ? {} : { providerOptions: settings.providerOptions }),
      ...(settings.headers === undefined ? {} : { headers: settings.headers }),
      ...(schema === undefined ? {} : { responseFormat: { type: "json", name: "answer", schema } }),
      // A spread copies a "__proto__" key as a plain field, whereas an assignment would set the prototype.
      ...request.settings?.extra,
      // With raw chunks enabled, a gateway would send everything twice: as a part and as a raw chunk.
      includeRawChunks: !model.provider.startsWith("gateway"),
      abortSignal: signal,
    };
    return withoutUnusedFields(options, ["toolChoice"]);
  };
}

/**
 * Returns the rules for the order of the messages. An assistant message may end the history if the service runs its calls itself, because
 * the service continues the message.
 */
function toOrder(messages: readonly PromptMessage[], quirks: Quirks): Quirks {
  const last = messages.at(-1);
  const isPaused = last?.role === "assistant" && last.content.some(({ providerExecuted }) => providerExecuted === true);
  return isPaused ? { ...quirks, endsWithUser: undefined } : quirks;
}

/**
 * Joins consecutive tool messages, which occur when one has approval answers for the service and the other has tool results. Also joins
 * consecutive assistant messages if the service requires that roles alternate.
 */
function joinMessages(
  system: string | undefined,
  messages: readonly PromptMessage[],
  alternates: boolean | undefined,
): readonly PromptMessage[] {
  const prompt = groupByRole(messages).flatMap((group): readonly PromptMessage[] => {
    const [{ role }] = group;
    const joins = role === "tool" || (role === "assistant" && alternates === true);
    const content = group.flatMap((message) => (message.role === "system" ? [] : message.content));
    return group.length > 1 && joins ? [{ role, content }] : group;
  });
  return system === undefined || system === "" ? prompt : [{ role: "system", content: system }, ...prompt];
}

type ProviderTools = NonNullable<ModelSettings["providerTools"]>;

function toToolFields({ tools, toolChoice }: ModelRequest, providerTools: ProviderTools, type: string): object {
  const own = tools.filter(({ name }) => !Object.hasOwn(providerTools, name)).map(toFunctionTool);
  const defined = Object.entries(providerTools).map(([name, { id, args }]) => ({ type, id, name, args }));
  if (own.length + defined.length === 0) return {};
  return { tools: [...own, ...defined], ...toChoiceField(toolChoice) };
}

function toChoiceField(choice: ToolChoice | undefined): object {
  if (choice === undefined) return {};
  return { toolChoice: typeof choice === "string" ? { type: choice } : { type: "tool", toolName: choice.name } };
}

const toFunctionTool = memoize(({ name, description, inputSchema }: ToolDefinition): object => ({
  type: "function",
  name,
  description,
  inputSchema: toObjectSchema(inputSchema),
}));
