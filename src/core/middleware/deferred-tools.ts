// Leaves tools with the `deferred` trait out of requests until the model has found them with a tool search, or has called them.

import type { AssistantMessage, Message, ToolResultPart } from "../types/message.ts";
import type { ToolDefinition } from "../types/tool.ts";
import { isRecord } from "../../shared/guards.ts";
import { memoize } from "../../shared/promises.ts";
import type { Middleware, RequestDraft, State } from "../types/middleware.ts";

/**
 * Shows a tool with the `deferred` trait only after a search has found it, or after the model has called it. Found tools are added at the
 * end of the list of tools, in the order in which they were found, so that the list begins like the previous request's list. Does nothing
 * if the run has no search tool. If the provider has `searchesTools`, the request contains all deferred tools and none of the run's search
 * tools.
 */
export function deferTools(): Middleware {
  return {
    name: "defer-tools",
    // Runs after these, because they remove tools, and a search must not find removed tools.
    after: ["handoffs", "context-restarts", "prepare-iteration"],
    pure: true,
    begin: ({ messages }) => {
      const loaded = findLoadedTools(messages);
      return {
        request(request, next, { state }) {
          noteLoaded(loaded, state);
          return next(arrange(request, loaded));
        },
      };
    },
  };
}

/**
 * Adds the tools that searches found and those that the model called. A called tool counts as loaded, so later requests include its schema.
 */
function noteLoaded(loaded: Set<string>, { lastBatch }: State): void {
  for (const { outcome } of lastBatch) {
    if (outcome.kind !== "unknown-tool" && outcome.kind !== "blocked") loaded.add(outcome.call.name);
    if (outcome.kind === "completed") for (const name of outcome.load ?? []) loaded.add(name);
  }
}

function arrange(request: RequestDraft, loaded: ReadonlySet<string>): RequestDraft {
  const { tools: allowed, provider, toolChoice, enforced = toolChoice } = request;
  const findable = allowed.filter(isDeferred);
  if (provider.searchesTools === true)
    return { ...request, tools: allowed.some(findsTools) ? allowed.filter((tool) => !findsTools(tool)) : allowed };
  if (findable.length === 0) return request;
  if (!allowed.some(findsTools)) return { ...request, tools: allowed.map(toLoaded) };
  const deferred = new Map(findable.map((tool) => [tool.name, toLoaded(tool)]));
  // A deferred tool that `toolChoice` names counts as found, so the request contains it.
  const names = typeof enforced === "object" ? new Set(loaded).add(enforced.name) : loaded;
  const found = [...names].flatMap((name) => deferred.get(name) ?? []);
  const tools = [...allowed.filter(({ name }) => !deferred.has(name)), ...found];
  return { ...request, tools, findableTools: [...deferred.values()] };
}

function findsTools(tool: ToolDefinition): boolean {
  return tool.findsTools === true;
}

function isDeferred({ deferred }: ToolDefinition): boolean {
  return deferred === true;
}

/**
 * Clears `deferred`, because a provider may send a deferred tool without its parameters. Memoized, so that requests share the
 * object.
 */
const toLoaded = /* @__PURE__ */ memoize((tool: ToolDefinition): ToolDefinition =>
  isDeferred(tool) ? Object.freeze({ ...tool, deferred: undefined }) : tool,
);

/** The name of the tool that `withToolSearch` adds. */
const finderName = "find_tools";

/**
 * Returns the names of the tools that the messages call, or that a tool search in the messages has found. These tools are
 * visible from the start, and keep the order in which earlier runs loaded them, so that the list of tools stays the same. A
 * forged search result can name any tool. A forged name is harmless, because gates and approvals still apply to visible tools.
 */
export function findLoadedTools(messages: readonly Message[]): Set<string> {
  const names = new Set<string>();
  messages.forEach((message, index) => {
    if (message.role !== "assistant") return;
    const answers = messages[index + 1];
    const results = answers?.role === "tool" ? answers.results : [];
    for (const name of listLoaded(message, new Map(results.map((result) => [result.callId, result])))) names.add(name);
  });
  return names;
}

function listLoaded({ content }: AssistantMessage, results: ReadonlyMap<string, ToolResultPart>): readonly string[] {
  return content.flatMap((part): readonly string[] => {
    if (part.type !== "tool-call") return [];
    const result = results.get(part.callId);
    const isCalled = result?.outcome !== "unknown-tool" && result?.outcome !== "blocked";
    const found = part.name === finderName && result?.outcome === "completed" ? readFound(result.result) : [];
    return isCalled ? [part.name, ...found] : [];
  });
}

/** Returns the tool names that a search found. Returns an empty array if middleware has replaced the search result with something else. */
function readFound(result: unknown): readonly string[] {
  const tools: unknown = isRecord(result) ? result["tools"] : undefined;
  if (!Array.isArray(tools)) return [];
  return tools.flatMap((tool: unknown) => (isRecord(tool) && typeof tool["name"] === "string" ? [tool["name"]] : []));
}
