// The results of a turn's calls, as parts of a prompt.

import { type ContentPart, isProviderError, type Json, type ToolMessage, type ToolResultPart } from "../../spi.ts";
import { takesFile, toFile } from "./file-source.ts";
import type { PromptPart } from "./model-wire.ts";
import type { SpecWords } from "./spec-words.ts";
import { toPromptName } from "./turn-parts.ts";

/** What results are written with. */
export interface ResultPorts {
  readonly words: SpecWords;
  /** The patterns of URLs that the model takes. */
  readonly urls: unknown;
  /** What the service said with each call: it wants that of some back with the result, such as who called. */
  readonly callOptions: ReadonlyMap<string, Json>;
}

/** One part for each result, in order. */
export function toResultParts({ results }: ToolMessage, ports: ResultPorts): readonly PromptPart[] {
  return results.map((part) => {
    const providerOptions = ports.callOptions.get(part.callId);
    return {
      type: "tool-result",
      toolCallId: part.callId,
      toolName: toPromptName(part.name),
      output: toOutput(part, ports),
      ...(providerOptions === undefined ? {} : { providerOptions }),
    };
  });
}

/** What the model reads is `result`, whatever it is wrapped in. */
function toOutput({ outcome, result, content = [] }: ToolResultPart, ports: ResultPorts): PromptPart {
  if (content.length > 0) return { type: "content", value: toContent(result, content, ports) };
  if (outcome === "denied") return ports.words.toDenial(toText(result));
  const kind = typeof result === "string" ? "text" : "json";
  const succeeded = outcome === "completed" || outcome === "restarted";
  return { type: succeeded ? kind : `error-${kind}`, value: result };
}

function toContent(result: Json, content: readonly ContentPart[], ports: ResultPorts): readonly PromptPart[] {
  const parts: readonly ContentPart[] = [{ type: "text", text: toText(result) }, ...content];
  return parts.flatMap((part) => {
    if (part.type !== "text") return [toResultFile(part, ports)];
    return part.text === "" ? [] : [toTextPart(part.text)];
  });
}

/**
 * Of what cannot be sent the model is told that it was there: an error would come back with every later request of the conversation, and
 * nobody but the tool could mend it.
 */
function toResultFile(part: Exclude<ContentPart, { readonly type: "text" }>, { words, urls }: ResultPorts): PromptPart {
  try {
    const file = toFile(part);
    const sendable = takesFile(urls, file) ? words.toResultFile(file) : undefined;
    if (sendable !== undefined) return sendable;
    const { source } = file;
    const place = source.kind === "url" ? ` at ${source.text}` : "";
    return toTextPart(`[Content of type ${part.mediaType}${place}, which cannot be shown here.]`);
  } catch (error) {
    if (!isProviderError(error)) throw error;
    return toTextPart(`[${error.message}]`);
  }
}

function toTextPart(text: string): PromptPart {
  return { type: "text", text };
}

function toText(result: Json): string {
  return typeof result === "string" ? result : JSON.stringify(result);
}
