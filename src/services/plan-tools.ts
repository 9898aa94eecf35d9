import { type ForcedChoice, isForced, toForcedText } from "../shared/forced-choice.ts";
import { isSameArguments, toWireName } from "../shared/tool-arguments.ts";
import { type Json, type ModelRequest, providerError, type ToolChoice, type ToolDefinition } from "../core/index.ts";
import type { RequestChange } from "../core/types/provider.ts";
import type { Quirks } from "./service.ts";

/** A request's tools, in the form that the service accepts. */
export interface ToolPlan {
  readonly tools: readonly ToolDefinition[];
  readonly choice: ToolChoice | undefined;
  /** Text at the end of the request that asks the model to make the call, if the service refuses to force it. */
  readonly instruction?: string | undefined;
  /** Body fields that turn thinking off. */
  readonly fields?: { readonly [field: string]: Json } | undefined;
}

/** The quirks that a request must follow, and the function that is called with each change they cause. */
export interface QuirkPorts {
  readonly quirks: Quirks;
  report(change: RequestChange): void;
}

/**
 * Chooses a request's tools, in a form that the service accepts. Throws a ProviderError `bad-request` if there are too many tools for the
 * service.
 */
export function planTools(given: ModelRequest, ports: QuirkPorts): ToolPlan {
  const { noneChoice, maxTools } = ports.quirks;
  const request = withOldTools(given, ports.quirks);
  const { tools, toolChoice: choice } = request;
  if (tools.length > 0 && choice === "none" && noneChoice === "no-tools") return { tools: [], choice: undefined };
  checkCount("tools", tools.length, maxTools);
  return isForced(choice) && tools.length > 0 ? planForced(request, choice, ports) : { tools, choice };
}

/**
 * Declares the tools that were called in earlier messages, if the request has no tools and the service requires this. Their parameters are
 * unknown, and they cannot be called.
 */
export function withOldTools(request: ModelRequest, { declaresOldTools }: Quirks): ModelRequest {
  if (request.tools.length > 0 || declaresOldTools !== true) return request;
  const content = request.messages.flatMap((message) => (message.role === "assistant" ? message.content : []));
  const names = new Set(content.flatMap((part) => (part.type === "tool-call" ? [toWireName(part.name)] : [])));
  return names.size === 0 ? request : { ...request, tools: [...names].map(toOldTool), toolChoice: "none" };
}

function toOldTool(name: string): ToolDefinition {
  const description = "A tool of earlier messages. It is not available now.";
  return { name, description, inputSchema: { type: "object", properties: {} } };
}

/** Throws a ProviderError `bad-request` if a list in the request is longer than the service allows. */
export function checkCount(what: string, count: number, most: number | undefined): void {
  if (most === undefined || count <= most) return;
  const remedy = what === "tools" ? "Show fewer tools, for example with withToolSearch of turnwright/middleware." : "Use fewer.";
  throw providerError("bad-request", `The request has ${count} ${what}, but the service accepts at most ${most}. ${remedy}`);
}

function planForced({ tools, settings }: ModelRequest, choice: ForcedChoice, { quirks, report }: QuirkPorts): ToolPlan {
  const { namedChoice, forcedChoice } = quirks;
  const named = typeof choice === "object" && namedChoice === "single" ? tools.filter(({ name }) => name === choice.name) : [];
  const form: ToolPlan = named.length > 0 ? { tools: named, choice: "required" } : { tools, choice };
  if (forcedChoice === undefined) return form;
  const extra = settings?.extra ?? {};
  if (forcedChoice === "never" || Object.entries(forcedChoice).some(([field, value]) => isSetOtherwise(extra, field, value))) {
    report({ by: "adapter", field: "toolChoice", action: "replaced", reason: "unsupported" });
    return { ...form, choice: "auto", instruction: toForcedText(choice) };
  }
  report({ by: "adapter", field: "thinking", action: "removed", reason: "forced-call" });
  return { ...form, fields: forcedChoice };
}

function isSetOtherwise(extra: { readonly [field: string]: Json }, field: string, value: Json): boolean {
  return Object.hasOwn(extra, field) && !isSameArguments(JSON.stringify(extra[field]), JSON.stringify(value));
}

/** Removes the body fields that services refuse in a request without tools, even if the caller set them in `extra`. */
export function withoutUnusedFields<Body extends object>(body: Body, fields: readonly string[]): Body {
  const tools: unknown = Reflect.get(body, "tools");
  if (Array.isArray(tools) && tools.length > 0) return body;
  const entries = Object.entries(body).filter(([field]) => field !== "tools" && !fields.includes(field));
  return Object.fromEntries(entries) as Body;
}
