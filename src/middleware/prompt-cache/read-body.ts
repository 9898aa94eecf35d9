import { isRecord, listOf, recordOf, textOf } from "../../core/kit.ts";
import type { UnknownRecord } from "../../shared/guards.ts";

/** The parts of a request body, in the order in which services read them. */
export interface BodyParts {
  readonly tools: readonly unknown[];
  readonly system: readonly unknown[];
  readonly messages: readonly unknown[];
  /** The settings that are part of the cached prefix, as JSON strings by name. */
  readonly settings: { readonly [name: string]: string };
}

/**
 * Reads a request body for the Anthropic, Chat Completions, Responses or Google API, or the call options of an AI SDK model. Returns
 * undefined if the body has no messages.
 */
export function readBody(body: unknown): BodyParts | undefined {
  const fields = recordOf(body);
  const { contents, input, prompt, messages } = fields;
  const sent = contents ?? input ?? prompt ?? messages;
  if (sent === undefined || sent === null) return undefined;
  const config = contents === undefined ? fields : recordOf(fields["config"]);
  const all = toList(sent);
  const first = all.findIndex((message) => !isSystem(message));
  const start = first === -1 ? all.length : first;
  const own = config["system"] ?? config["systemInstruction"] ?? config["instructions"];
  return {
    tools: listOf(config["tools"]).flatMap(toTools),
    system: [...toList(own), ...all.slice(0, start)],
    messages: start === 0 ? all : all.slice(start),
    settings: readSettings(fields),
  };
}

function toList(value: unknown): readonly unknown[] {
  if (value === undefined || value === null) return [];
  return Array.isArray(value) ? value : [value];
}

function isSystem(message: unknown): boolean {
  const { role } = recordOf(message);
  return role === "system" || role === "developer";
}

/**
 * Returns the tools in the prefix. A deferred tool is not part of the prefix, because the service adds it to the messages only when the
 * model finds it.
 */
function toTools(tool: unknown): readonly unknown[] {
  const { functionDeclarations, defer_loading: isDeferred } = recordOf(tool);
  if (Array.isArray(functionDeclarations)) return functionDeclarations;
  return isDeferred === true ? [] : [tool];
}

/**
 * Settings that a service reads before the messages. A setting with the place "system" is read before the system text, so a change
 * also invalidates the cached system text.
 */
export const settingPlaces: { readonly [name: string]: "system" | "messages" } = {
  response_format: "system",
  "text.format": "system",
  "output_config.format": "system",
  thinking: "messages",
  tool_choice: "messages",
};

function readSettings(fields: UnknownRecord): BodyParts["settings"] {
  const settings: { [name: string]: string } = {};
  for (const name of Object.keys(settingPlaces)) {
    const [group = "", field] = name.split(".");
    const value = field === undefined ? fields[group] : recordOf(fields[group])[field];
    if (value !== undefined && isPrefixSetting(name, value)) settings[name] = JSON.stringify(value);
  }
  return settings;
}

const choices: ReadonlySet<string> = new Set(["any", "tool", "none"]);

/**
 * True for a setting that is part of the cached prefix. `tool_choice` is part of the prefix only for Anthropic, and only if its value is
 * not "auto", which means the same as no choice.
 */
function isPrefixSetting(name: string, value: unknown): boolean {
  return name !== "tool_choice" || (isRecord(value) && choices.has(textOf(value["type"])));
}
