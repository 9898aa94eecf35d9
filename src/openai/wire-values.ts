import type { ContentPart, Json, JsonSchema, ModelRequest, ToolResultPart } from "../core/index.ts";
import { createOutputPlanner, toArgumentsObject, toBase64 } from "../core/kit.ts";
import { isClientOf, type OutputPlan } from "../shared/adapters/output-schema.ts";
import { isOnWeb, type MediaPart, type ReadableMedia } from "../shared/media-source.ts";

/**
 * Converts content to a string or parts. Text without other parts stays a string, because servers for text-only models accept nothing else.
 */
export function toWireContent<Part>(
  content: string | readonly ContentPart[],
  write: (part: ContentPart) => Part,
): string | readonly Part[] {
  if (typeof content === "string") return content;
  const [first] = content;
  if (first === undefined) return "";
  return content.length === 1 && first.type === "text" ? first.text : content.map((part) => write(part));
}

export function toDataUrl(media: Exclude<ReadableMedia, { readonly kind: "url" }>): string {
  return `data:${media.mediaType};base64,${toBase64(media)}`;
}

/**
 * Returns an image's URL or data URL, or undefined for other media and for URLs that a server cannot fetch. Compatible servers support
 * more image types than OpenAI, but no server supports SVG. Base64 data needs an exact media type, not `image/*`.
 */
export function toImageUrl(media: ReadableMedia): string | undefined {
  const { mediaType } = media;
  if (!mediaType.startsWith("image/") || mediaType === "image/svg+xml") return undefined;
  if (media.kind === "url") return isOnWeb(media) ? media.url : undefined;
  return mediaType === "image/*" ? undefined : toDataUrl(media);
}

/** Returns the file's name. Adds an extension if there is none, because the APIs require one. An unnamed file is called `file`. */
export function toFileName({ filename = "file" }: ReadableMedia, ending: string): string {
  return /\.\w{1,8}$/.test(filename) ? filename : `${filename}.${ending}`;
}

/** Reads a file name. Returns undefined for `toFileName`'s default name. */
export function readFileName(filename: unknown): string | undefined {
  return typeof filename === "string" && !/^file\.[\w-]+$/.test(filename) ? filename : undefined;
}

export function toWireArguments(args: Json): string {
  return JSON.stringify(toArgumentsObject(args));
}

interface SortedResult<Part> {
  readonly text: string;
  readonly media: readonly Part[];
}

export function sortResult<Part extends object>(
  { result, content = [] }: ToolResultPart,
  write: (part: MediaPart) => Part | string,
): SortedResult<Part> {
  const texts = [typeof result === "string" ? result : JSON.stringify(result)];
  const media: Part[] = [];
  for (const part of content) {
    const written = part.type === "text" ? part.text : write(part);
    if (typeof written === "object") media.push(written);
    else if (written !== "") texts.push(written);
  }
  return { text: texts.join("\n"), media };
}

export function toMediaTitle(toolName: string, id: string): string {
  return `Content that the tool ${toolName} returned for call ${id}:`;
}

/**
 * Plans how the answer's schema is sent. OpenAI insists that all properties be required, and allows ten levels of nesting
 * (https://developers.openai.com/api/docs/guides/structured-outputs, "Supported schemas").
 */
export const planOutput: (request: ModelRequest, isPossible: boolean) => OutputPlan = /* @__PURE__ */ createOutputPlanner({
  maxOptional: 0,
  maxUnions: 100,
  maxDepth: 10,
});

/** Returns the fields that describe the answer's format in both Chat Completions and the Responses API. Both require a name. */
export function toFormat(schema: JsonSchema): object {
  return { name: "answer", schema, strict: true };
}

/** Matches models that reject schemas, or reject more schema keywords than other models do. */
const withoutSchemas = /^(?:ft:|gpt-3|gpt-4(?:$|-)|gpt-4o-2024-05-13|chatgpt-|o1-(?:mini|preview))|audio|realtime/i;

/** True if the server is OpenAI's own. Others, including Azure deployments, may reject or ignore the schema. */
export function enforcesSchemas(client: object, model: string): boolean {
  return isClientOf(client, "openai.com") && !withoutSchemas.test(model);
}
