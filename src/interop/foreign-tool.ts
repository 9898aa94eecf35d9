import {
  type ContentPart,
  type JsonSchema,
  type StandardSchema,
  type ToolContext,
  toolResult,
  type ToolResult,
} from "../core/index.ts";
import type { NeedsApproval } from "../core/types/tool.ts";
import { encodeBase64, isOnWeb, locateMedia } from "../shared/media-source.ts";
import { isRecord, textOf, type ToolSchema } from "../core/kit.ts";
import type { StandardResult } from "../core/types/common.ts";
import type { ToolTraits } from "../core/types/tool.ts";
import { quote } from "../shared/texts.ts";
import { textOrNone, toPlainError } from "../shared/plain-error.ts";
import type { UnknownRecord } from "../shared/guards.ts";
import { whenReady } from "../shared/promises.ts";

type ToolResultFields = Parameters<typeof toolResult>[0];

type Answer = StandardResult<unknown> | Promise<StandardResult<unknown>>;

export function toStandardSchema(vendor: string, json: JsonSchema, validate: (args: unknown) => Answer): StandardSchema {
  return { "~standard": { version: 1, vendor, validate, jsonSchema: { input: () => ({ ...json }) } } };
}

/**
 * Validates arguments with `schema`, but returns the arguments unchanged. Needed for tools that parse their arguments themselves.
 */
export function keepArgs(schema: StandardSchema): StandardSchema {
  const { vendor, jsonSchema, validate } = schema["~standard"];
  const check = (args: unknown): Answer => {
    const answer = whenReady(validate(args), (result) => (result.issues === undefined ? { value: args } : result));
    return "then" in answer ? Promise.resolve(answer) : answer;
  };
  return { "~standard": { version: 1, vendor, validate: check, jsonSchema } };
}

export function toIssues(error: unknown): StandardResult<never> {
  const cause = isRecord(error) ? error["cause"] : undefined;
  const found = [error, cause].map(listOf).find((list) => list.length > 0) ?? [{ message: toPlainError(error).message }];
  return { issues: found };
}

type StandardIssues = Extract<StandardResult<unknown>, { readonly issues: readonly unknown[] }>["issues"];

function listOf(holder: unknown): StandardIssues {
  const list: unknown = isRecord(holder) ? holder["issues"] : holder;
  return Array.isArray(list) ? list.filter(isIssue) : [];
}

function isIssue(value: unknown): value is StandardIssues[number] {
  return isRecord(value) && typeof value["message"] === "string" && (value["path"] === undefined || Array.isArray(value["path"]));
}

export interface ForeignTool {
  readonly name: unknown;
  readonly description: unknown;
  /** The schema of the arguments. Undefined if only the model's provider knows it. */
  readonly schema: ForeignSchema | undefined;
  /** True if the tool parses its arguments itself. `execute` then receives the model's arguments, not the output of the schema. */
  readonly parses: boolean;
  readonly needsApproval?: ((parse: ParseArgs) => boolean | NeedsApproval<unknown>) | undefined;
  readonly timeoutMs?: number | undefined;
  readonly outputSchema?: StandardSchema | undefined;
  readonly replay?: ToolTraits["replay"];
  execute(args: unknown, context: ToolContext): unknown;
}

export interface ForeignSchema {
  readonly inputSchema: ToolSchema;
  /** The JSON Schema of the arguments. Set only if `inputSchema` cannot be converted. */
  readonly jsonSchema?: JsonSchema | undefined;
}

export type ParseArgs = (args: unknown) => Parsed | PromiseLike<Parsed>;

type Parsed = { readonly value: unknown } | undefined;

export type Callable = (...args: readonly unknown[]) => unknown;

export function isCallable(value: unknown): value is Callable {
  return typeof value === "function";
}

export function methodOf(owner: UnknownRecord, name: string): Callable {
  return (...args) => {
    const method = owner[name];
    return isCallable(method) ? Reflect.apply(method, owner, args) : undefined;
  };
}

export function toContentResult(blocks: readonly unknown[], more: ToolResultFields = {}): ToolResult {
  const parts = blocks.flatMap(toParts);
  const texts = parts.flatMap((part) => (part.type === "text" ? [part.text] : []));
  const content = parts.filter((part) => part.type !== "text");
  return toolResult({
    ...more,
    ...(texts.length === 0 ? {} : { data: texts.join("\n") }),
    ...(content.length === 0 ? {} : { content }),
  });
}

/** Converts a content block. A block that cannot be converted, such as a provider's file id, becomes text that names its type. */
function toParts(block: unknown): readonly ContentPart[] {
  if (typeof block === "string") return [{ type: "text", text: block }];
  if (!isRecord(block)) return [];
  const text = textIn(block);
  if (text !== undefined) return [{ type: "text", text }];
  const inner = nestedBlocks(block);
  if (inner !== undefined) return inner.flatMap(toParts);
  return [toMedia(block) ?? { type: "text", text: `(a part of type ${quote(String(block["type"]))} that cannot be shown here)` }];
}

function textIn({ type, text, source, data }: UnknownRecord): string | undefined {
  if (type === "text" || type === "input_text" || type === "output_text" || type === "text-plain") return textOrNone(text);
  for (const holder of [source, data]) {
    if (isRecord(holder) && holder["type"] === "text") return textOrNone(holder["data"] ?? holder["text"]);
  }
  return undefined;
}

function nestedBlocks({ type, content, source, title }: UnknownRecord): readonly unknown[] | undefined {
  const held = isRecord(source) && source["type"] === "content" ? source["content"] : content;
  if (typeof held === "string") return [held];
  if (!Array.isArray(held)) return undefined;
  const blocks: readonly unknown[] = held;
  return type === "search_result" ? [`${String(title)} (${String(source)})`, ...blocks] : blocks;
}

function toMedia(block: UnknownRecord): ContentPart | undefined {
  const holders = holdersOf(block);
  const data = holders.map(bytesOrAddress).find((found) => found !== undefined);
  if (data === undefined) return undefined;
  const isImage = typeof block["type"] === "string" && block["type"].includes("image");
  const said = holders.map(mediaTypeOf).find((found) => found !== undefined) ?? mediaTypeInUrl(data);
  const filename = holders.map((holder) => textOrNone(holder["filename"])).find((found) => found !== undefined && found !== "");
  const mediaType = said ?? (isImage ? "image/*" : "application/octet-stream");
  return {
    type: mediaType.startsWith("image") ? "image" : "file",
    mediaType: mediaType === "image" ? "image/*" : mediaType,
    data,
    ...(filename === undefined ? {} : { filename }),
  };
}

function holdersOf(block: UnknownRecord): readonly UnknownRecord[] {
  const inner = ["source", "image", "file", "image_url", "data"].flatMap((field) => {
    const value = block[field];
    if (isRecord(value) && !(value instanceof Uint8Array) && !(value instanceof URL)) return [value];
    return typeof value === "string" && field !== "data" ? [{ url: value }] : [];
  });
  return [...inner, block];
}

function bytesOrAddress({ data, url, imageUrl, fileData, fileUrl }: UnknownRecord): string | undefined {
  for (const value of [data, url, imageUrl, fileData, fileUrl]) {
    if (value instanceof Uint8Array) return encodeBase64(value);
    const text = value instanceof URL ? value.href : textOf(value);
    if (text !== "" && isOpen(text)) return text;
  }
  return undefined;
}

/**
 * True for an http or https URL, and for base64. The model's service would read other URLs, such as "gs:", with its own permissions.
 */
function isOpen(data: string): boolean {
  const source = locateMedia({ type: "file", mediaType: "", data });
  return source.kind !== "url" || isOnWeb(source);
}

function mediaTypeOf({ mediaType, media_type, mime_type, mimeType }: UnknownRecord): string | undefined {
  return [mediaType, media_type, mime_type, mimeType].map(textOrNone).find((found) => found !== undefined && found !== "");
}

function mediaTypeInUrl(data: string): string | undefined {
  return /^data:([\w.+-]+\/[\w.+-]+)/.exec(data.slice(0, 200))?.[1];
}
