import {
  isSameArguments,
  type Json,
  type Message,
  type ModelRequest,
  providerError,
  toForcedText,
  type ToolChoice,
  type ToolDefinition,
  toWireName,
} from "../core/provider-kit.ts";
import type { ChatQuirks } from "./service.ts";

/** The tools of a request, in the form that the service accepts. */
export interface ToolPlan {
  readonly tools: readonly ToolDefinition[];
  readonly choice: ToolChoice | undefined;
  /** A text for the model at the end of the request, if the service refuses the forced call. */
  readonly instruction?: string | undefined;
  /** Fields for the body that turn thinking off. */
  readonly fields?: { readonly [field: string]: Json } | undefined;
}

/** Throws a ProviderError `bad-request` if the request has more tools than the service accepts. */
export function planTools(request: ModelRequest, quirks: ChatQuirks): ToolPlan {
  const { tools, toolChoice: choice } = request;
  if (tools.length === 0) {
    const old = quirks.declaresOldTools === true ? toOldTools(request.messages) : [];
    return old.length === 0 ? { tools, choice } : { tools: old, choice: "none" };
  }
  if (choice === "none" && quirks.noneChoice === "no-tools") return { tools: [], choice: undefined };
  checkCount("tools", tools.length, quirks.maxTools);
  return typeof choice === "object" || choice === "required" ? planForced(request, choice, quirks) : { tools, choice };
}

/** Throws a ProviderError `bad-request` if a list of the request is longer than the service allows. */
export function checkCount(what: string, count: number, most: number | undefined): void {
  if (most === undefined || count <= most) return;
  const remedy = what === "tools" ? "Show fewer tools, for example with withToolSearch of turnwright/tool-search." : "Use fewer.";
  throw providerError("bad-request", `The request has ${count} ${what}, but the service accepts at most ${most}. ${remedy}`);
}

function planForced({ tools, settings }: ModelRequest, choice: ToolChoice, quirks: ChatQuirks): ToolPlan {
  const { namedChoice, forcedChoice } = quirks;
  const named = typeof choice === "object" && namedChoice === "single" ? tools.filter(({ name }) => name === choice.name) : [];
  const isSingle = named.length > 0;
  const form: ToolPlan = isSingle ? { tools: named, choice: "required" } : { tools, choice };
  if (forcedChoice === undefined) return form;
  const set = settings?.extra ?? {};
  const isOther =
    forcedChoice === "never" ||
    Object.entries(forcedChoice).some(
      ([field, value]) => Object.hasOwn(set, field) && !isSameArguments(JSON.stringify(set[field]), JSON.stringify(value)),
    );
  return isOther ? { ...form, choice: "auto", instruction: toForcedText(choice) } : { ...form, fields: forcedChoice };
}

/** Declares each tool that the messages call, without its parameters, which are unknown. */
function toOldTools(messages: readonly Message[]): readonly ToolDefinition[] {
  const content = messages.flatMap((message) => (message.role === "assistant" ? message.content : []));
  const names = new Set(content.flatMap((part) => (part.type === "tool-call" ? [toWireName(part.name)] : [])));
  return [...names].map((name) => ({
    name,
    description: "A tool of earlier messages. It is not available now.",
    inputSchema: { type: "object", properties: {} },
  }));
}

/** Removes the fields of a body that services refuse without tools, also if the caller set them in `extra`. */
export function withoutUnusedFields<Body extends object>(body: Body, fields: readonly string[]): Body {
  const tools: unknown = Reflect.get(body, "tools");
  if (Array.isArray(tools) && tools.length > 0) return body;
  const entries = Object.entries(body).filter(([field]) => field !== "tools" && !fields.includes(field));
  return Object.fromEntries(entries) as Body;
}
