// Builds the messages and the visible tools of a model request.

import type { Message } from "../../types/message.ts";
import { frozenView, seal, toCompacted } from "../state/transcript.ts";
import type { RequestViews, VisibleTools } from "../run/request.ts";
import type { Run } from "../run/run.ts";
import type { ModelRequest, StreamResult } from "../../types/provider.ts";
import type { ShownTool, ToolChange } from "../../types/tool-outcome.ts";
import type { ToolDefinition } from "../../types/tool.ts";
import { stableJson } from "../../utils/json.ts";
import { findToolChanges, isBreaking, toShown } from "../../tools/compare-tools.ts";
import { checkDefinitions } from "../../tools/registry.ts";

export function createRequestViews(run: Run): RequestViews {
  const { state } = run;
  const views = {
    get messages() {
      return frozenView(state.messages);
    },
    given: state.givenMessages,
  };
  return Object.defineProperty(views, "sent", { value: createSentView(run) }) as unknown as RequestViews;
}

/**
 * Defines the property `messages` of each request. All requests share this getter, because V8 stores an object with a getter of
 * its own much less efficiently.
 */
const sentMessages: PropertyDescriptor = {
  get(this: { readonly transcript: RequestViews }) {
    return this.transcript.sent();
  },
  enumerable: true,
  configurable: true,
};

/** Adds `messages` to a request. The array is created when it is first read. */
export function withMessages(fields: Omit<ModelRequest, "messages"> & { readonly transcript: RequestViews }): ModelRequest {
  return Object.defineProperty<Partial<ModelRequest>>(fields, "messages", sentMessages) as ModelRequest;
}

/**
 * Returns the function that builds the messages of a request. The context items are the last message, or the message before a
 * paused message that is being continued.
 */
function createSentView(run: Run): () => readonly Message[] {
  let made: { readonly base: readonly Message[]; readonly context: Message; readonly view: readonly Message[] } | undefined;
  const compacted = createCompactedView(run);
  return () => {
    const { contextMessage: context, isCurrentPlaced: turnPlaced } = run.state;
    const base = compacted(frozenView((run.view ?? run.state).messages));
    if (context === undefined) return base;
    if (made?.base === base && made.context === context) return made.view;
    const end = turnPlaced ? base.length - 1 : base.length;
    made = { base, context, view: Object.freeze([...base.slice(0, end), seal(context), ...base.slice(end)]) };
    return made.view;
  };
}

/** Returns the function that puts the summary of a compaction in place of the old messages. Equal arguments give the same array. */
function createCompactedView({ state }: Run): (base: readonly Message[]) => readonly Message[] {
  let made: { readonly base: object; readonly compaction: object; readonly view: readonly Message[] } | undefined;
  return (base) => {
    const { compaction } = state;
    if (compaction === undefined) return base;
    if (made?.base !== base || made.compaction !== compaction) {
      made = { base, compaction, view: toCompacted(base, compaction) };
    }
    return made.view;
  };
}

/** Returns the tools of the next iteration. The list is the same object as before if nothing has changed. */
export function expose(run: Run, names?: readonly string[]): VisibleTools {
  const { hiddenTools } = run.state;
  const source = run.registry.definitions();
  if (names === undefined && run.visibleTools.source === source && run.visibleTools.hiddenCount === hiddenTools.size)
    return run.visibleTools;
  if (run.visibleTools.registered !== source) checkDefinitions(source);
  const shown = names === undefined ? undefined : new Set(names);
  const tools = source.filter(({ name }) => !hiddenTools.has(name) && (shown === undefined || shown.has(name)));
  // A list that `prepareIteration` has limited is used for one iteration only.
  run.visibleTools = {
    ...toVisibleTools(tools, source),
    ...(shown === undefined ? { source, hiddenCount: hiddenTools.size } : {}),
  };
  return run.visibleTools;
}

/**
 * Returns the current definitions of the tools that the model saw in a replayed iteration. A removed tool keeps its recorded
 * definition. Breaking changes are collected only for called tools, because other tools do not affect the records.
 */
export function exposeRecorded(run: Run, result: StreamResult): VisibleTools {
  const { visibleTools, calls, basis } = result;
  const registered = run.registry.definitions();
  const live = new Map(registered.map((tool) => [tool.name, tool]));
  const called = new Set([...run.state.current.calls, ...calls].map(({ name }) => name));
  const recorded = new Map<string, ShownTool>();
  const changes = new Map<string, readonly ToolChange[]>();
  const tools: ToolDefinition[] = [];
  for (const name of visibleTools) {
    const was = findOwn(basis?.tools, name) ?? findOwn(run.firstTools?.shown, name);
    const now = live.get(name);
    const tool = now ?? (was === undefined ? undefined : { name, description: was.description, inputSchema: was.inputSchema });
    if (tool !== undefined) tools.push(tool);
    if (!called.has(name)) continue;
    if (was !== undefined) recorded.set(name, was);
    const breaking = findBreaking(name, was, now);
    if (breaking.length > 0) changes.set(name, breaking);
  }
  return { ...toVisibleTools(tools, registered), recorded: { asks: basis?.asks === true, tools: recorded, changes } };
}

function findOwn(tools: { readonly [name: string]: ShownTool } | undefined, name: string): ShownTool | undefined {
  return tools !== undefined && Object.hasOwn(tools, name) ? tools[name] : undefined;
}

function findBreaking(name: string, was: ShownTool | undefined, now: ToolDefinition | undefined): readonly ToolChange[] {
  if (was === undefined) return now === undefined ? [{ toolName: name, kind: "removed" }] : [];
  return findToolChanges(name, was, now === undefined ? undefined : toShown(now)).filter(isBreaking);
}

function toVisibleTools(tools: readonly ToolDefinition[], registered: VisibleTools["registered"]): VisibleTools {
  return {
    ...noVisibleTools,
    tools: Object.freeze(tools),
    byName: new Map(tools.map((tool) => [tool.name, tool])),
    hasEager: tools.some(({ eager }) => eager === true),
    hasApproval: tools.some(({ needsApproval = false }) => needsApproval !== false),
    registered,
  };
}

function isLater(shown: ShownTool, first: ShownTool | undefined): boolean {
  return shown !== first && (first === undefined || stableJson(shown) !== stableJson(first));
}

/** True if the next calls may use tools that the first record of the run does not describe. */
export function needsBasis({ options, visibleTools, firstTools }: Run): boolean {
  return (
    firstTools !== undefined && (options.policies?.approve !== undefined || visibleTools.registered !== firstTools.registered)
  );
}

/**
 * Adds facts about the calls to a stream result, if the first record of the run does not contain these facts: if a policy decides
 * about the calls, and which tools were added or changed after the start.
 */
export function withBasis(run: Run, result: StreamResult): StreamResult {
  const names = new Set([...run.state.current.calls, ...result.calls].map(({ name }) => name));
  if (names.size === 0) return result;
  const asks = run.options.policies?.approve !== undefined;
  const tools = run.visibleTools.tools.filter(({ name }) => names.has(name)).map((tool) => [tool.name, toShown(tool)] as const);
  const later = tools.filter(([name, shown]) => isLater(shown, findOwn(run.firstTools?.shown, name)));
  if (!asks && later.length === 0) return result;
  const basis = { ...(asks ? { asks } : {}), ...(later.length === 0 ? {} : { tools: Object.fromEntries(later) }) };
  return { ...result, basis };
}

/** The initial value. No registry returns its `source` list, so the first iteration creates new tools. */
export const noVisibleTools: VisibleTools = {
  tools: [],
  byName: new Map(),
  source: [],
  registered: [],
  hiddenCount: -1,
  hasEager: false,
  hasApproval: false,
};
