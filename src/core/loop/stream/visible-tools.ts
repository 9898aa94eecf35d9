// Builds the messages and the visible tools of a model request.

import type { Message } from "../../types/message.ts";
import { frozenView, seal, toCompacted } from "../state/transcript.ts";
import type { RequestViews, VisibleTools, Run } from "../run/run.ts";
import type { IterationPlan } from "../../types/loop-options.ts";
import type { ModelRequest, Provider, StreamResult } from "../../types/provider.ts";
import type { ShownTool, ToolCall, ToolChange } from "../../types/tool-outcome.ts";
import type { ToolDefinition } from "../../types/tool.ts";
import { stableJson } from "../../utils/json.ts";
import { memoize } from "../../utils/promises.ts";
import { findToolChanges, isBreaking, toShown } from "../../tools/compare-tools.ts";
import { checkDefinitions } from "../../tools/registry.ts";

/** A class whose objects share one getter, because V8 stores objects with separate getters much less efficiently. */
export class SharedViews implements RequestViews {
  readonly given: number;
  declare readonly messages: readonly Message[];
  readonly #run: Run;
  #sent: (() => readonly Message[]) | undefined;

  /** Defined on each object, and not on the prototype, so that a copy made with an object spread has the messages too. */
  static readonly #messages: PropertyDescriptor = {
    get(this: SharedViews) {
      return frozenView(this.#run.state.messages);
    },
    enumerable: true,
  };

  constructor(run: Run) {
    this.given = run.state.givenMessages;
    this.#run = run;
    Object.defineProperty(this, "messages", SharedViews.#messages);
  }

  sent(): readonly Message[] {
    this.#sent ??= createSentView(this.#run);
    return this.#sent();
  }
}

/** The property `messages` of each request. All requests share this getter, so that they also share a hidden class of V8. */
const sentMessages: PropertyDescriptor = {
  get(this: { readonly transcript: RequestViews }) {
    return this.transcript.sent();
  },
  enumerable: true,
  configurable: true,
};

/** The array `messages` is created when it is first read. */
export function withMessages(fields: Omit<ModelRequest, "messages"> & { readonly transcript: RequestViews }): ModelRequest {
  return Object.defineProperty<Partial<ModelRequest>>(fields, "messages", sentMessages) as ModelRequest;
}

/**
 * Returns the function that builds the messages of a request. The message with the context items comes last, or directly before
 * a paused message that is being continued.
 */
function createSentView(run: Run): () => readonly Message[] {
  let made: { readonly base: readonly Message[]; readonly context: Message; readonly view: readonly Message[] } | undefined;
  const compacted = createCompactedView(run);
  return () => {
    const { contextMessage: context, isCurrentPlaced: turnPlaced } = run.state;
    const whole = frozenView((run.view ?? run.state).messages);
    const base = run.features.handoffs?.filter(run, whole)?.messages ?? compacted(whole);
    if (context === undefined) return base;
    if (made?.base === base && made.context === context) return made.view;
    const end = turnPlaced ? base.length - 1 : base.length;
    made = { base, context, view: Object.freeze([...base.slice(0, end), seal(context), ...base.slice(end)]) };
    return made.view;
  };
}

/**
 * Returns a function that replaces old messages with the summary of a compaction. The function returns the same array for equal
 * arguments.
 */
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

/**
 * Returns the tools of the next iteration. If nothing has changed, returns the object of the previous iteration. Loaded tools
 * come last, in the order in which they were loaded, so that each list begins like the list of the previous request.
 */
export function expose(run: Run, provider: Provider, { tools: names, toolChoice }: IterationPlan): VisibleTools {
  const { hiddenTools, loadedTools } = run.state;
  const last = run.visibleTools;
  const source = run.registry.definitions();
  const searches = provider.searchesTools === true;
  const chosen = typeof toolChoice === "object" ? toolChoice.name : undefined;
  const stamp = `${loadedTools.size} ${searches} ${chosen}`;
  const isSame = last.source === source && last.hiddenCount === hiddenTools.size;
  if (names === undefined && isSame && (last.stamp === "" || last.stamp === stamp)) return last;
  if (last.registered !== source) checkDefinitions(source);
  const shown = names === undefined ? undefined : new Set(names);
  const allowed = source.filter(({ name }) => !hiddenTools.has(name) && (shown === undefined || shown.has(name)));
  const loaded = chosen === undefined ? loadedTools : new Set(loadedTools).add(chosen);
  // A list that `prepareIteration` has limited is used for one iteration only.
  const reuse = shown === undefined ? { source, hiddenCount: hiddenTools.size } : noReuse;
  run.visibleTools = arrange(allowed, { source, stamp, searches, loaded, reuse });
  return run.visibleTools;
}

interface Deferral {
  readonly source: readonly ToolDefinition[];
  readonly stamp: string;
  /** True if the provider searches the deferred tools itself. */
  readonly searches: boolean;
  /** The loaded tools. A tool that `toolChoice` requires counts as loaded. */
  readonly loaded: ReadonlySet<string>;
  readonly reuse: Pick<VisibleTools, "source" | "hiddenCount">;
}

/**
 * Separates the visible tools from the deferred tools that the model has to find. If no tool can find deferred tools, all tools
 * are visible.
 */
function arrange(allowed: readonly ToolDefinition[], { source, stamp, searches, loaded, reuse }: Deferral): VisibleTools {
  const findable = allowed.filter(isDeferred);
  const callable = searches ? allowed.filter((tool) => !findsTools(tool)) : allowed.map(toLoaded);
  const facts = { findable, stamp: findable.length === 0 ? "" : stamp, ...reuse };
  if (searches || !source.some(findsTools)) return toVisibleTools(callable, source, facts);
  const deferred = new Map(findable.map((tool) => [tool.name, toLoaded(tool)]));
  const found = [...loaded].flatMap((name) => deferred.get(name) ?? []);
  const tools = [...callable.filter(({ name }) => !deferred.has(name)), ...found];
  return toVisibleTools(tools, source, { callable: [...tools, ...callable], ...facts });
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

/**
 * Returns the current definitions of the tools that the model saw in a replayed iteration. A removed tool keeps its recorded
 * definition. Breaking changes are collected only for called tools, because other tools do not affect the records.
 */
export function exposeRecorded(run: Run, result: StreamResult): VisibleTools {
  const { basis } = result;
  const registered = run.registry.definitions();
  const live = new Map(registered.map((tool) => [tool.name, tool]));
  const calls = [...run.state.current.calls, ...result.calls];
  const called = new Set(calls.map(({ name }) => name));
  const recorded = new Map<string, ShownTool>();
  const changes = new Map<string, readonly ToolChange[]>();
  const tools: ToolDefinition[] = [];
  for (const name of new Set([...result.visibleTools, ...findUnseen(calls, result)])) {
    const was = findOwn(basis?.tools, name) ?? findOwn(run.firstTools?.shown, name);
    const now = live.get(name);
    const tool = now ?? (was === undefined ? undefined : { name, description: was.description, inputSchema: was.inputSchema });
    if (tool !== undefined) tools.push(tool);
    if (!called.has(name)) continue;
    if (was !== undefined) recorded.set(name, was);
    const breaking = findBreaking(name, was, now);
    if (breaking.length > 0) changes.set(name, breaking);
  }
  const findable = findFindable(run, registered, result);
  return toVisibleTools(tools, registered, { findable, recorded: { asks: basis?.asks === true, tools: recorded, changes } });
}

function findFindable(
  { state: { hiddenTools } }: Run,
  registered: readonly ToolDefinition[],
  { basis }: StreamResult,
): readonly ToolDefinition[] {
  const findable = registered.filter((tool) => isDeferred(tool) && !hiddenTools.has(tool.name));
  if (basis?.findable === undefined) return findable;
  const recorded = new Set(basis.findable);
  return findable.filter(({ name }) => recorded.has(name));
}

/**
 * Returns the names of the tools with a call that was not refused. These may include deferred tools that were not visible yet.
 * Compares ids, because one of two calls of a tool may be refused.
 */
function findUnseen(calls: readonly ToolCall[], { refusals = [] }: StreamResult): readonly string[] {
  const refused = new Set(refusals.map(({ call }) => call.callId));
  return calls.filter(({ callId }) => !refused.has(callId)).map(({ name }) => name);
}

function findOwn(tools: { readonly [name: string]: ShownTool } | undefined, name: string): ShownTool | undefined {
  return tools !== undefined && Object.hasOwn(tools, name) ? tools[name] : undefined;
}

function findBreaking(name: string, was: ShownTool | undefined, now: ToolDefinition | undefined): readonly ToolChange[] {
  if (was === undefined) return now === undefined ? [{ toolName: name, kind: "removed" }] : [];
  return findToolChanges(name, was, now === undefined ? undefined : toShown(now)).filter(isBreaking);
}

function toVisibleTools(
  tools: readonly ToolDefinition[],
  registered: VisibleTools["registered"],
  facts: Partial<VisibleTools> & { readonly callable?: readonly ToolDefinition[] },
): VisibleTools {
  const { callable = tools, findable = [], stamp = "", source = noReuse.source, hiddenCount = -1, recorded } = facts;
  return {
    tools: Object.freeze(tools),
    byName: new Map(callable.map((tool) => [tool.name, tool])),
    findable,
    stamp,
    source,
    registered,
    recorded,
    hiddenCount,
    hasEager: callable.some(({ eager }) => eager === true),
    hasApproval: callable.some(({ needsApproval = false }) => needsApproval !== false),
  };
}

/**
 * If `prepareIteration` has limited the tools that a search may find, adds the names of these tools to the record, because a run
 * that is resumed before the search must find the same tools.
 */
function withFindable({ state, visibleTools }: Run, result: StreamResult): StreamResult {
  const { findable, source, registered } = visibleTools;
  if (source !== noReuse.source) return result;
  const finders = new Set(registered.filter(findsTools).map(({ name }) => name));
  if (![...state.current.calls, ...result.calls].some(({ name }) => finders.has(name))) return result;
  return { ...result, basis: { ...result.basis, findable: findable.map(({ name }) => name) } };
}

function isLater(shown: ShownTool, first: ShownTool | undefined): boolean {
  return shown !== first && (first === undefined || stableJson(shown) !== stableJson(first));
}

/** True if the next calls may use tools that the first record of the run does not describe. */
function needsCallFacts({ options, visibleTools, firstTools }: Run): boolean {
  return (
    firstTools !== undefined && (options.policies?.approve !== undefined || visibleTools.registered !== firstTools.registered)
  );
}

/**
 * Adds the facts that a replay of the result needs, unless the first record of the run already contains them: the `toolChoice` of
 * the request, whether a policy decides about the calls, and which of the called tools were added or changed after the start of
 * the run.
 */
export function addBasis(run: Run, streamed: StreamResult): StreamResult {
  const { toolChoice } = run;
  const result = toolChoice === undefined ? streamed : { ...streamed, toolChoice };
  if (needsCallFacts(run)) return withFindable(run, withCallFacts(run, result));
  return run.options.hooks?.prepareIteration === undefined ? result : withFindable(run, result);
}

function withCallFacts(run: Run, result: StreamResult): StreamResult {
  const names = new Set([...run.state.current.calls, ...result.calls].map(({ name }) => name));
  if (names.size === 0) return result;
  const asks = run.options.policies?.approve !== undefined;
  const called = [...run.visibleTools.byName.values()].filter(({ name }) => names.has(name));
  const tools = called.map((tool) => [tool.name, toShown(tool)] as const);
  const later = tools.filter(([name, shown]) => isLater(shown, findOwn(run.firstTools?.shown, name)));
  if (!asks && later.length === 0) return result;
  const basis = { ...(asks ? { asks } : {}), ...(later.length === 0 ? {} : { tools: Object.fromEntries(later) }) };
  return { ...result, basis };
}

/** No registry returns this `source` array, so the tools of the next iteration are selected again. */
const noReuse: Pick<VisibleTools, "source" | "hiddenCount"> = { source: [], hiddenCount: -1 };

/** No tools are visible before the first iteration. */
export function noVisibleToolsOf(definitions: readonly ToolDefinition[]): VisibleTools {
  return toVisibleTools([], definitions, { source: definitions });
}
