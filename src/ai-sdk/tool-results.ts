// The results of a turn's calls, as parts of a prompt.

import { hasSucceeded, toWireName, writeToolMedia } from "../core/provider-kit.ts";
import type { ContentPart, Json, ToolMessage, ToolResultPart } from "../core/provider-kit.ts";
import type { FileForms } from "./file-source.ts";
import type { PromptPart } from "./model-wire.ts";
import type { SpecWords } from "./spec-words.ts";

/** What results are written with. */
export interface ResultPorts {
  readonly words: SpecWords;
  readonly forms: FileForms;
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
      toolName: toWireName(part.name),
      output: toOutput(part, ports),
      ...(providerOptions === undefined ? {} : { providerOptions }),
    };
  });
}

/** What the model reads is `result`, whatever it is wrapped in. */
function toOutput(part: ToolResultPart, ports: ResultPorts): PromptPart {
  const { outcome, result, content = [] } = part;
  if (content.length > 0) return { type: "content", value: toContent(result, content, ports) };
  if (outcome === "denied") return ports.words.toDenial(toText(result));
  const kind = typeof result === "string" ? "text" : "json";
  return { type: hasSucceeded(part) ? kind : `error-${kind}`, value: result };
}

function toContent(result: Json, content: readonly ContentPart[], { forms }: ResultPorts): readonly PromptPart[] {
  const parts = content.map((part) => (part.type === "text" ? part.text : writeToolMedia(part, forms.result)));
  return [toText(result), ...parts].flatMap((part) => {
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
