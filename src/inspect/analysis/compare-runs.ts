import { isSameJson } from "../../shared/json.ts";
import type { Json, Message } from "../../core/index.ts";
import type { LoggedCall, LoggedIteration, LoggedRequest, LoggedRun } from "../../shared/run-log.ts";
import { type RequestStep, walkRequests } from "./request-messages.ts";
import { jsonLength } from "./json-parts.ts";
import { activeMsOf, activeMsUntil, executionsOf, type RunTotals, totalsOf } from "./run-totals.ts";

type RequestPart = "provider" | "model" | "tools" | "system" | "messages" | "toolChoice" | "settings";

/** Two iterations with the same number, one from each run. A side is undefined if only the other run has this iteration. */
export interface ComparedIteration {
  readonly iteration: number;
  readonly continuation: number;
  readonly left: LoggedIteration | undefined;
  readonly right: LoggedIteration | undefined;
  /** True if the requests, the outputs and the calls are the same. Usage, cost and time may differ. */
  readonly isSame: boolean;
  /** The parts in which the requests differ. Empty if a side has no request, for example because its stream was replayed. */
  readonly requestParts: readonly RequestPart[];
  readonly isOutputSame: boolean;
  readonly calls: readonly ComparedCall[];
}

interface RunComparison extends TotalsComparison {
  readonly iterations: readonly ComparedIteration[];
  /** The position in `iterations` at which the runs first differ. Undefined if all iterations are the same. */
  readonly firstDifference: number | undefined;
}

/** Compares two runs, iteration by iteration. If a stream was repeated after a crash, only its last repetition is compared. */
export function compareRuns(left: LoggedRun, right: LoggedRun): RunComparison {
  const [ours, theirs] = [lastStreams(left), lastStreams(right)];
  const keys = [...new Set([...ours.keys(), ...theirs.keys()])].sort((one, other) => one - other);
  const parts = compareRequests(left, right, keys);
  const iterations = keys.map((key) => compareIterations(ours.get(key), theirs.get(key), parts.get(key) ?? []));
  const first = iterations.findIndex(({ isSame }) => !isSame);
  return { iterations, firstDifference: first === -1 ? undefined : first, ...compareTotals(left, right) };
}

/**
 * The factor that combines an iteration's and a continuation's number into one key. An iteration always has fewer continuations than this.
 */
const maxContinuations = 1_000_000;

const keyOf = ({ iteration, continuation }: LoggedIteration): number => iteration * maxContinuations + continuation;

function lastStreams(run: LoggedRun): ReadonlyMap<number, LoggedIteration> {
  return new Map(run.iterations.map((iteration) => [keyOf(iteration), iteration]));
}

function compareIterations(
  left: LoggedIteration | undefined,
  right: LoggedIteration | undefined,
  requestParts: readonly RequestPart[],
): ComparedIteration {
  const { iteration, continuation } = left ?? right ?? { iteration: 0, continuation: 0 };
  const calls = compareCalls(left?.calls ?? [], right?.calls ?? []);
  const isOutputSame = isSameOutput(left, right);
  const areCallsSame = calls.every(({ kind }) => kind === "same");
  const isSame = left !== undefined && right !== undefined && requestParts.length === 0 && isOutputSame && areCallsSame;
  return { iteration, continuation, left, right, isSame, requestParts, isOutputSame, calls };
}

function isSameOutput(left: LoggedIteration | undefined, right: LoggedIteration | undefined): boolean {
  const textsOf = (iteration: LoggedIteration | undefined): readonly unknown[] => {
    const { text, reasoning, details } = iteration?.output ?? noOutput;
    return [iteration?.status, text, reasoning, details];
  };
  const others = textsOf(right);
  return textsOf(left).every((text, at) => text === others[at]);
}

const noOutput = { text: "", reasoning: "", details: "" };

/** Returns the differing parts of each pair of requests, by key. Compares each message once, even if many requests contain it. */
function compareRequests(
  left: LoggedRun,
  right: LoggedRun,
  keys: readonly number[],
): ReadonlyMap<number, readonly RequestPart[]> {
  const messages = new MessageComparison();
  const ours = createCursor(left, (step) => messages.take("left", step));
  const theirs = createCursor(right, (step) => messages.take("right", step));
  const areToolsSame = createToolComparison();
  const parts = new Map<number, readonly RequestPart[]>();
  for (const key of keys) {
    const [request, other] = [ours(key), theirs(key)];
    if (request === undefined || other === undefined) continue;
    const found = differingParts(request, other, areToolsSame);
    parts.set(key, messages.isSame() ? found : [...found, "messages"]);
  }
  return parts;
}

/**
 * Returns a function that moves forward to the request with a given key. It calls `take` with each request up to this key, and returns that
 * request.
 */
function createCursor(run: LoggedRun, take: (step: RequestStep) => void): (key: number) => LoggedRequest | undefined {
  const steps = walkRequests(run);
  // The iterator reuses one array of messages for all of a run's requests, so it advances only when the next request is needed.
  const keys = run.iterations.filter(({ request }) => request !== undefined).map(keyOf);
  let at = 0;
  return (key) => {
    let request: LoggedRequest | undefined;
    for (let next = keys[at]; next !== undefined && next <= key; next = keys[at]) {
      const { value } = steps.next() as { readonly value: RequestStep };
      take(value);
      request = next === key ? value.request : undefined;
      at += 1;
    }
    return request;
  };
}

type AreToolsSame = (left: LoggedRequest["tools"], right: LoggedRequest["tools"]) => boolean;

/** Compares tools, and remembers the previous result, because the tools rarely change between two requests. */
function createToolComparison(): AreToolsSame {
  let last: { readonly left: unknown; readonly right: unknown; readonly isSame: boolean } | undefined;
  return (left, right) => {
    if (last?.left !== left || last.right !== right) last = { left, right, isSame: isSame(left, right) };
    return last.isSame;
  };
}

function differingParts(left: LoggedRequest, right: LoggedRequest, areToolsSame: AreToolsSame): readonly RequestPart[] {
  const checks: readonly (readonly [part: RequestPart, isSame: boolean])[] = [
    ["provider", left.provider === right.provider],
    ["model", left.model === right.model],
    ["tools", areToolsSame(left.tools, right.tools)],
    ["system", left.system === right.system && isSame(left.output, right.output)],
    ["toolChoice", isSame(left.toolChoice, right.toolChoice)],
    ["settings", isSame(left.settings, right.settings)],
  ];
  return checks.filter(([, same]) => !same).map(([part]) => part);
}

const isSame = (one: unknown, other: unknown): boolean => isSameJson(one as Json | undefined, other as Json | undefined);

class MessageComparison {
  readonly #lists: { left: readonly Message[]; right: readonly Message[] } = { left: [], right: [] };
  readonly #different = new Set<number>();
  #compared = 0;

  take(side: "left" | "right", { messages, touched }: RequestStep): void {
    this.#lists[side] = messages;
    const { left, right } = this.#lists;
    const compared = Math.min(left.length, right.length);
    for (let at = compared; at < this.#compared; at += 1) this.#different.delete(at);
    for (const at of touched) if (at < this.#compared) this.#compare(at);
    for (let at = this.#compared; at < compared; at += 1) this.#compare(at);
    this.#compared = compared;
  }

  #compare(at: number): void {
    const { left, right } = this.#lists;
    if (at >= left.length || at >= right.length) return;
    if (isSame(left[at], right[at])) this.#different.delete(at);
    else this.#different.add(at);
  }

  isSame(): boolean {
    const { left, right } = this.#lists;
    return left.length === right.length && this.#different.size === 0;
  }
}

/**
 * One call, or a pair of calls with the same name and arguments. "added" calls are only in the right run, "removed" calls
 * only in the left one. "changed" calls have a different outcome or result.
 */
export interface ComparedCall {
  readonly kind: "same" | "changed" | "added" | "removed";
  readonly left: LoggedCall | undefined;
  readonly right: LoggedCall | undefined;
}

function compareCalls(left: readonly LoggedCall[], right: readonly LoggedCall[]): readonly ComparedCall[] {
  const open = new Map<string, LoggedCall[]>();
  for (const call of right) {
    const key = keyOfCall(call);
    const others = open.get(key);
    if (others === undefined) open.set(key, [call]);
    else others.push(call);
  }
  const paired = new Set<LoggedCall>();
  const changes = left.map((call): ComparedCall => {
    const others = open.get(keyOfCall(call)) ?? [];
    const at = others.findIndex((other) => isSameJson(call.args, other.args));
    const [partner] = at === -1 ? [] : others.splice(at, 1);
    if (partner === undefined) return { kind: "removed", left: call, right: undefined };
    paired.add(partner);
    return { kind: hasSameResult(call, partner) ? "same" : "changed", left: call, right: partner };
  });
  const added = right.filter((call) => !paired.has(call));
  return [...changes, ...added.map((call): ComparedCall => ({ kind: "added", left: undefined, right: call }))];
}

/** Returns a key for pairing calls. Different calls may share a key, so their arguments are compared later. */
function keyOfCall({ name, args }: LoggedCall): string {
  return `${jsonLength(args)} ${name}`;
}

function hasSameResult(one: LoggedCall, other: LoggedCall): boolean {
  return one.outcome === other.outcome && isSameJson(one.result, other.result);
}

export type ComparedTotals = RunTotals & { readonly activeMs: number };

interface TotalsComparison {
  readonly left: ComparedTotals;
  readonly right: ComparedTotals;
  /**
   * The first iteration that counts toward the totals. 0 if all count. A rerun repeats earlier iterations in almost no time and without
   * nested runs, so the totals of both runs leave them out.
   */
  readonly from: number;
}

export function compareTotals(left: LoggedRun, right: LoggedRun): TotalsComparison {
  const from = Math.max(firstNew(left), firstNew(right));
  const isCounted = (run: LoggedRun): boolean => run.iterations.some(({ iteration }) => iteration >= from);
  // If one run has no new iterations, counts all iterations of both, because that run's totals would otherwise be empty.
  const start = isCounted(left) && isCounted(right) ? from : 0;
  return { left: totalsFrom(left, start), right: totalsFrom(right, start), from: start };
}

function firstNew(run: LoggedRun): number {
  return run.iterations.find(({ isReplayed }) => !isReplayed)?.iteration ?? Infinity;
}

function totalsFrom(run: LoggedRun, from: number): ComparedTotals {
  const iterations = run.iterations.filter(({ iteration }) => iteration >= from);
  const [first] = iterations;
  const before = from === 0 || first === undefined ? 0 : activeMsUntil(executionsOf(run), first.startedAt);
  const compactions = run.compactions.filter(({ iteration }) => iteration >= from);
  return { ...totalsOf({ iterations, compactions }), activeMs: Math.max(0, activeMsOf(run) - before) };
}
