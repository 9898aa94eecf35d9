// Builds the messages and the visible tools of a model request.

import type { Message } from "../../types/message.ts";
import { frozenView, seal, toCompacted } from "../state/transcript.ts";
import type { RequestViews, VisibleTools, Run } from "../run/run.ts";
import type { IterationPlan } from "../../types/loop-options.ts";
import type { Provider } from "../../types/provider.ts";
import type { ToolDefinition } from "../../types/tool.ts";
import { memoize } from "../../utils/promises.ts";
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

/** No registry returns this `source` array, so the tools of the next iteration are selected again. */
const noReuse: Pick<VisibleTools, "source" | "hiddenCount"> = { source: [], hiddenCount: -1 };
