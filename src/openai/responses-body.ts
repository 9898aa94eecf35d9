import { assertNever } from "../shared/guards.ts";
import { createRefusedReasoning, type RefusedReasoning } from "../shared/adapters/refused-parts.ts";
import type {
  AssistantMessage,
  ContentPart,
  Json,
  JsonSchema,
  Message,
  ModelRequest,
  ToolChoice,
  ToolDefinition,
  ToolMessage,
} from "../core/index.ts";
import { idRules, toWireId } from "../shared/adapters/wire-names.ts";
import { isOnWeb, isTextType, type MediaPart } from "../shared/media-source.ts";
import { isRecord, memoize, readAssistantMessage, recordOf, textOf, type ToolCallPart, writeMedia } from "../core/kit.ts";
import type { MediaForms } from "../shared/adapters/write-media.ts";
import { toSettingFields } from "../shared/adapters/sdk-provider.ts";
import type { RequestChange } from "../core/types/provider.ts";
import { toObjectSchema } from "../shared/adapters/object-schema.ts";
import { toWireName } from "../shared/tool-arguments.ts";
import {
  planOutput,
  sortResult,
  toDataUrl,
  toFileName,
  toFormat,
  toImageUrl,
  toMediaTitle,
  toWireArguments,
  toWireContent,
} from "./wire-values.ts";
import { planTools, type ToolPlan, withoutUnusedFields } from "../services/plan-tools.ts";
import { toAcceptedSettings } from "../services/sampling.ts";
import type { InputItem, ResponsesRequestBody, ResponsesSettings } from "./responses-options.ts";
import { type CallType, isCallType } from "./responses-calls.ts";
import { readResponsesMetadata } from "./responses-metadata.ts";

function toInputPart(part: ContentPart): InputItem {
  const written = part.type === "text" ? part.text : toInputMedia(part);
  return typeof written === "string" ? { type: "input_text", text: written } : written;
}

export function toInputMedia(part: MediaPart): InputItem | string {
  return writeMedia(part, inputMedia);
}

/**
 * The supported file types other than text types, with their file name extensions
 * (https://developers.openai.com/api/docs/guides/file-inputs).
 */
const endings: ReadonlyMap<string, string> = new Map([
  ["application/pdf", "pdf"],
  ["application/msword", "doc"],
  ["application/vnd.openxmlformats-officedocument.wordprocessingml.document", "docx"],
  ["application/rtf", "rtf"],
  ["application/vnd.oasis.opendocument.text", "odt"],
  ["application/vnd.apple.pages", "pages"],
  ["application/vnd.ms-powerpoint", "ppt"],
  ["application/vnd.openxmlformats-officedocument.presentationml.presentation", "pptx"],
  ["application/vnd.apple.keynote", "key"],
  ["application/vnd.ms-excel", "xls"],
  ["application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "xlsx"],
  ["text/plain", "txt"],
]);

export const inputMedia: MediaForms<InputItem> = {
  takes: "images, PDFs, text files and office documents, as base64 or https: or http: URLs",
  write(media) {
    const image = toImageUrl(media);
    if (image !== undefined) return { type: "input_image", image_url: image, detail: "auto" };
    const ending = endingOf(media.mediaType);
    if (media.kind !== "url") {
      return ending === undefined
        ? undefined
        : { type: "input_file", filename: toFileName(media, ending), file_data: toDataUrl(media) };
    }
    // Also sends a file with a generic media type if it has a URL, because the service determines the type when fetching it.
    const isKnown = ending !== undefined || media.mediaType === "application/octet-stream";
    return isKnown && isOnWeb(media) ? { type: "input_file", file_url: media.url } : undefined;
  },
};

/** Returns the file name extension, which the API requires. Undefined for types that the service does not support. */
function endingOf(mediaType: string): string | undefined {
  const known = endings.get(mediaType);
  if (known !== undefined || !isTextType(mediaType)) return known;
  return /^[\w.+-]+\/(?:x-)?([\w-]{1,32})/.exec(mediaType)?.[1] ?? "txt";
}

export type InputSettings = Pick<ResponsesSettings, "id" | "model" | "store" | "customTools" | "toolResultMedia">;

type InputConverter = (messages: readonly Message[]) => readonly InputItem[];

interface ConvertedMessage {
  readonly items: readonly InputItem[];
  /** The calls in an assistant message, by call id. The type of a result depends on the type of its call. */
  readonly calls: ReadonlyMap<string, WireCall>;
  /** The message before the tool results. Undefined for a message from the user or the model. */
  readonly before: ConvertedMessage | undefined;
  /** True if the message is sent without its encrypted items, because the service has refused them. */
  readonly isBare: boolean;
}

interface WireCall {
  readonly type: CallType;
  /** The program on the service's server that made the call, if any. The program waits for the result. */
  readonly caller: Json | undefined;
}

const noCalls: ReadonlyMap<string, WireCall> = new Map();

/** Converts each message object once. Tool results are converted again if the message before them changes. */
export function createInputConverter(
  settings: InputSettings,
  refused: RefusedReasoning = createRefusedReasoning(),
): InputConverter {
  const converted = new WeakMap<Message, ConvertedMessage>();
  return (messages) => {
    const input: InputItem[] = [];
    let before: ConvertedMessage | undefined;
    for (const message of messages) {
      const known = converted.get(message);
      const isBare = refused.has(message);
      const isKnown = known !== undefined && known.isBare === isBare && (message.role !== "tool" || known.before === before);
      const current = isKnown ? known : toInputItems(message, { before, isBare }, settings);
      if (!isKnown) converted.set(message, current);
      for (const item of current.items) input.push(item);
      before = current;
    }
    return input;
  };
}

type Place = Pick<ConvertedMessage, "before" | "isBare">;

function toInputItems(message: Message, { before, isBare }: Place, settings: InputSettings): ConvertedMessage {
  switch (message.role) {
    case "user": {
      const content = toWireContent(message.content, toInputPart);
      return { items: [{ role: "user", content }], calls: noCalls, before: undefined, isBare };
    }
    case "assistant":
      return toAssistantInput(message, isBare, settings);
    case "tool":
      return { items: toResultInput(message, before?.calls ?? noCalls, settings), calls: noCalls, before, isBare };
    default:
      return assertNever(message);
  }
}

function toAssistantInput(message: AssistantMessage, isBare: boolean, settings: InputSettings): ConvertedMessage {
  // An item with an id must follow its reasoning, so if the encrypted reasoning is left out, `store: false` leaves out the ids too.
  const own = readResponsesMetadata(message, isBare ? { ...settings, store: false } : settings);
  const known = isBare ? own?.filter(({ type, encrypted_content: text }) => type !== "reasoning" && text === undefined) : own;
  const items = known ?? rebuildMessage(message, settings);
  const calls = new Map<string, WireCall>();
  for (const { type, call_id: id, caller } of items) if (isCallType(type)) calls.set(textOf(id), { type, caller });
  return { items, calls, before: undefined, isBare };
}

/** Keeps only text and calls, because a model cannot read another model's reasoning. */
function rebuildMessage(message: AssistantMessage, settings: InputSettings): readonly InputItem[] {
  const { text, calls: asked } = readAssistantMessage(message);
  const calls = asked.map((call) => rebuildCall(call, settings));
  return text.trim() === "" ? calls : [{ role: "assistant", content: text }, ...calls];
}

function rebuildCall({ callId, name, args }: ToolCallPart, { customTools }: InputSettings): InputItem {
  const known = { call_id: toWireId(callId, idRules.responses), name: toWireName(name) };
  if (customTools.has(name) && isRecord(args) && typeof args.input === "string") {
    return { type: "custom_tool_call", ...known, input: args.input };
  }
  return { type: "function_call", ...known, arguments: toWireArguments(args) };
}

/** Converts tool results. With `toolResultMedia: "user-message"`, the images and files of all results follow in one user message. */
function toResultInput(
  { results }: ToolMessage,
  calls: ReadonlyMap<string, WireCall>,
  settings: InputSettings,
): readonly InputItem[] {
  const inTool = settings.toolResultMedia === "tool-message";
  const items: InputItem[] = [];
  const aside: InputItem[] = [];
  for (const result of results) {
    const { text, media: parts } = sortResult(result, toInputMedia);
    const id = toWireId(result.callId, idRules.responses);
    const { type, caller } = calls.get(id) ?? { type: "function_call" };
    items.push({
      type: `${type}_output`,
      call_id: id,
      output: inTool && parts.length > 0 ? [...toTextParts(text), ...parts] : text,
      ...(isRecord(caller) ? { caller } : {}),
    });
    if (!inTool && parts.length > 0) aside.push({ type: "input_text", text: toMediaTitle(result.name, id) }, ...parts);
  }
  if (aside.length > 0) items.push({ role: "user", content: aside });
  return items;
}

function toTextParts(text: string): readonly InputItem[] {
  return text === "" ? [] : [{ type: "input_text", text }];
}

interface BodyPorts {
  readonly settings: ResponsesSettings;
  readonly toInput: InputConverter;
  readonly toTool: ToolConverter;
  report(change: RequestChange): void;
}

type ToolConverter = (definition: ToolDefinition) => object;

/** Builds the request body. The request's `settings.extra` can override any field. */
export function buildResponsesBody(request: ModelRequest, ports: BodyPorts): ResponsesRequestBody {
  const { settings: model = {} } = request;
  const { settings, toInput, report } = ports;
  const { include, reasoning, store, promptCacheKey, quirks } = settings;
  const extra = model.extra ?? {};
  const text = recordOf(extra["text"]);
  const { system = "", schema } = planOutput(request, text["format"] === undefined);
  const plan = planTools(request, { quirks, report });
  const { effort } = recordOf(extra["reasoning"] ?? reasoning);
  const last: readonly InputItem[] = plan.instruction === undefined ? [] : [{ role: "user", content: plan.instruction }];
  const body = {
    model: settings.model,
    ...(system === "" ? {} : { instructions: system }),
    input: [...toInput(request.messages), ...last],
    ...toResponsesToolFields(plan, ports),
    store,
    ...(include.length === 0 ? {} : { include }),
    ...(reasoning === undefined ? {} : { reasoning }),
    ...(promptCacheKey === undefined ? {} : { prompt_cache_key: promptCacheKey }),
    ...toCompactionField(request, settings),
    ...toSettingFields(toAcceptedSettings({ ...model, stopSequences: undefined }, effort, { quirks, report }), settingNames),
    // A spread copies a "__proto__" key as a plain field, whereas an assignment would set the prototype.
    ...extra,
    ...toTextField(schema, text),
    // Casts to `true`, the only value that the types of all SDK versions accept here.
    stream: (extra["stream"] !== false) as true,
  };
  return withoutUnusedFields(body, ["tool_choice", "parallel_tool_calls"]);
}

function toResponsesToolFields({ tools, choice, fields }: ToolPlan, { settings, toTool }: BodyPorts): object {
  const isSearched = settings.searchesTools && tools.some(({ deferred }) => deferred === true);
  const wire = [...tools.map(toTool), ...settings.serverTools, ...(isSearched ? [{ type: "tool_search" }] : [])];
  return wire.length === 0 ? {} : { tools: wire, ...toChoiceField(choice, settings), ...fields };
}

/** Adds the schema to the `text` field. Keeps the field's other entries, such as `verbosity`. */
function toTextField(schema: JsonSchema | undefined, text: object): object {
  return schema === undefined ? {} : { text: { ...text, format: { type: "json_schema", ...toFormat(schema) } } };
}

/** The smallest `compact_threshold` that the service accepts, in tokens. */
const smallestThreshold = 1_000;

function toCompactionField({ compactAt }: ModelRequest, { compacts }: ResponsesSettings): object {
  if (compactAt === undefined || !compacts) return {};
  return { context_management: [{ type: "compaction", compact_threshold: Math.max(smallestThreshold, compactAt) }] };
}

/** The API's names for settings. The API has no fields for `stopSequences` and `seed`, so they are not sent. */
const settingNames = { maxOutputTokens: "max_output_tokens", temperature: "temperature", topP: "top_p" };

function toChoiceField(choice: ToolChoice | undefined, { customTools }: ResponsesSettings): object {
  if (choice === undefined) return {};
  if (typeof choice === "string") return { tool_choice: choice };
  return { tool_choice: { type: customTools.has(choice.name) ? "custom" : "function", name: choice.name } };
}

export function createToolConverter({
  customTools,
  searchesTools,
}: Pick<ResponsesSettings, "customTools" | "searchesTools">): ToolConverter {
  return memoize(({ name, description, inputSchema, deferred }) => {
    const format = customTools.get(name);
    const loading = searchesTools && deferred === true ? { defer_loading: true } : {};
    if (format !== undefined) return { type: "custom", name, description, format, ...loading };
    // Sets `strict: false`, because the service treats schemas as strict by default, and most do not follow the strict rules.
    return { type: "function", name, description, parameters: toObjectSchema(inputSchema), strict: false, ...loading };
  });
}
