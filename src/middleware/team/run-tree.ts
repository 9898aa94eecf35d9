import { addKnown } from "../../shared/count-usage.ts";
import { isSpending } from "../../shared/event-table.ts";
import { checkFields, type Checks, is } from "../../core/kit.ts";
import type { EndReason, LoopEvent, LoopStatus } from "../../core/index.ts";

/** A run in a `RunTree`. */
export interface RunNode {
  readonly runId: string;
  /** The name of the tool whose call contains the run. For the outermost run, the `name` option. */
  readonly name: string;
  /** The first string in the arguments of the call that contains the run. Undefined for the outermost run. */
  readonly task: string | undefined;
  /** "working" until the run ends, then the run's status. */
  readonly state: "working" | LoopStatus;
  /** Why the run ended. Undefined while it is running. */
  readonly reason: EndReason["kind"] | undefined;
  /** The names of the running tools, except those whose calls contain nested runs. */
  readonly tools: readonly string[];
  /** The tokens used so far, including nested runs. */
  readonly tokens: number;
  /** The cost so far in USD, including nested runs. Undefined if no cost is known. */
  readonly costUSD: number | undefined;
  /** The time at which the run started, according to the tree's clock. */
  readonly startedAt: number;
  /** The duration in milliseconds. Undefined until the run ends. */
  readonly durationMs: number | undefined;
  readonly nested: readonly RunNode[];
}

/** The options for `createRunTree`. */
export interface RunTreeOptions {
  /** The name for outermost runs. Default "lead". */
  readonly name?: string | undefined;
  /** Returns the current time in milliseconds. Default: `Date.now`. */
  readonly now?: (() => number) | undefined;
}

const treeChecks: Checks<RunTreeOptions> = { name: is.text, now: is.fn };

/** The runs in an event stream, as a tree. Created by `createRunTree`. */
export interface RunTree {
  /** The outermost runs, in the order in which they started. */
  readonly runs: readonly RunNode[];
  /** Updates the tree. Events that do not belong to a known run are ignored. */
  add(event: LoopEvent): void;
  now(): number;
}

interface OpenCall {
  readonly name: string;
  readonly task: string | undefined;
  nested: number;
}

interface Node {
  readonly runId: string;
  readonly path: readonly string[];
  readonly call: Pick<OpenCall, "name" | "task">;
  readonly startedAt: number;
  readonly calls: Map<string, OpenCall>;
  readonly nested: Node[];
  state: RunNode["state"];
  reason: RunNode["reason"];
  tokens: number;
  costUSD: number | undefined;
  end: Pick<RunNode, "tokens" | "costUSD" | "durationMs"> | undefined;
}

/**
 * Creates a tree from a run and its nested runs. Works for teams and for all other tools with nested runs.
 *
 * @example
 * const tree = createRunTree();
 * for await (const event of streamToolLoop(options)) {
 *   tree.add(event);
 *   if (event.type === "tool-end") console.log(renderTree(tree));
 * }
 */
export function createRunTree(options: RunTreeOptions = {}): RunTree {
  checkFields("options", options, treeChecks);
  const { name = "lead", now = Date.now } = options;
  const nodes = new Map<string, Node>();
  const roots: Node[] = [];

  /** Returns the run whose call contains a new run. Call ids are unique only within one run. */
  function findOuter(path: readonly string[]): Node | undefined {
    const callId = path.at(-1) ?? "";
    const outerPath = path.slice(0, -1).join(" ");
    return [...nodes.values()].findLast((node) => node.calls.has(callId) && node.path.join(" ") === outerPath);
  }

  function start(runId: string, path: readonly string[] = []): void {
    const outer = path.length === 0 ? undefined : findOuter(path);
    const siblings = path.length === 0 ? roots : outer?.nested;
    if (siblings === undefined) return;
    const call = outer?.calls.get(path.at(-1) ?? "");
    if (call !== undefined) call.nested += 1;
    const counts = { state: "working", reason: undefined, tokens: 0, costUSD: undefined, end: undefined } as const;
    const place = { runId, path, call: call ?? { name, task: undefined }, startedAt: now() };
    const node: Node = { ...place, ...counts, calls: new Map(), nested: [] };
    // A resumed run emits `run-start` again with the same id, so its new node replaces the old one.
    const position = siblings.findIndex((sibling) => sibling.runId === runId);
    siblings.splice(position === -1 ? siblings.length : position, position === -1 ? 0 : 1, node);
    nodes.set(runId, node);
  }

  return {
    get runs() {
      return roots.map(toRunNode);
    },
    add(event) {
      if (event.type === "run-start") start(event.runId, event.path);
      const node = nodes.get(event.runId);
      if (node !== undefined) update(node, event);
    },
    now,
  };
}

function update(node: Node, event: LoopEvent): void {
  if (event.type === "tool-start") {
    node.calls.set(event.callId, { name: event.name, task: firstText(event.args), nested: 0 });
  } else if (event.type === "tool-end") node.calls.delete(event.callId);
  else if (isSpending(event)) {
    node.tokens += event.usage?.totalTokens ?? 0;
    node.costUSD = addKnown(node.costUSD, event.costUSD);
  } else if (event.type === "run-end") {
    node.state = event.status;
    node.reason = event.reason.kind;
    node.end = { tokens: event.usage.totalTokens, costUSD: event.costUSD, durationMs: event.durationMs };
    node.calls.clear();
  }
}

function firstText(args: unknown): string | undefined {
  if (typeof args !== "object" || args === null) return undefined;
  return Object.values(args).find((value): value is string => typeof value === "string");
}

function toRunNode({ runId, call, state, reason, tokens, costUSD, startedAt, end, ...node }: Node): RunNode {
  const nested = node.nested.map(toRunNode);
  return {
    runId,
    name: call.name,
    task: call.task,
    state,
    reason,
    tools: [...node.calls.values()].filter((open) => open.nested === 0).map((open) => open.name),
    tokens: end?.tokens ?? nested.reduce((sum, inner) => sum + inner.tokens, tokens),
    costUSD: end?.costUSD ?? nested.reduce((sum, inner) => addKnown(sum, inner.costUSD), costUSD),
    startedAt,
    durationMs: end?.durationMs,
    nested,
  };
}
