// Starts calls of eager tools while the model is still streaming. The recorded answer contains their outcomes and steps.

import type { Journal } from "../types/journal.ts";
import type { NestedSpending, ToolCall, ToolOutcome } from "../types/tool-outcome.ts";
import type { ToolDefinition } from "../types/tool.ts";
import { sumSpending } from "../../shared/count-usage.ts";
import { stableJson } from "../../shared/json.ts";
import { beginCall, useCall } from "./early-calls.ts";
import { recordSteps } from "./journals.ts";
import { isBarring } from "./seam.ts";
import type { Answer, BegunCall, Middleware, RequestDraft, StreamPlace, MessageWatch } from "../types/middleware.ts";

/** The outcome of a call that ran while its message streamed, with its steps. */
export type EagerOutcome = ToolOutcome & { readonly steps?: Steps };

/** A call's steps by key. The keys do not include the call's place. */
interface Steps {
  readonly [key: string]: unknown;
}

/**
 * Starts calls to tools with `eager` while the model is still streaming, as soon as a call and all calls before it are complete. A
 * call that needs a decision starts only after its message is complete, as do all calls in a run with `limits.maxToolCalls`.
 */
export function eagerTools(): Middleware {
  return {
    name: "eager-tools",
    begin: ({ limits }) => ({ stream: (request, at) => new EagerCalls(request, at, limits.toolConcurrency) }),
  };
}

interface StartedCall {
  readonly call: ToolCall;
  readonly kept: KeptSteps;
  readonly begun: Promise<BegunCall | undefined>;
  /** The id of the current attempt's call that receives the outcome. Undefined after its attempt was discarded. */
  claimedBy: string | undefined;
  /** True if the outcome prevents other calls in the message from starting. */
  isBarring: boolean;
}

/** The calls that started during one stream. */
class EagerCalls implements MessageWatch {
  readonly #at: StreamPlace;
  readonly #concurrency: number;
  readonly #eager: ReadonlySet<string>;
  readonly #started: StartedCall[] = [];
  /**
   * Calls from discarded attempts that no call in the current attempt has claimed, by signature. The earliest call in each list comes last.
   */
  readonly #unclaimed = new Map<string, StartedCall[]>();
  #running = 0;

  constructor({ tools, findableTools = [] }: RequestDraft, at: StreamPlace, concurrency: number) {
    this.#at = at;
    this.#concurrency = concurrency;
    this.#eager = new Set([...tools, ...findableTools].filter(mayBegin).map(({ name }) => name));
  }

  call(call: ToolCall): void {
    if (call.problem !== undefined || this.#claim(call) !== undefined) return;
    if (!this.#eager.has(call.name) || this.#running >= this.#concurrency || this.#isBarred) return;
    const kept = new KeptSteps();
    const begun = kept.begin(this.#at, call);
    const started: StartedCall = { call, kept, begun, claimedBy: call.callId, isBarring: false };
    this.#running += 1;
    this.#started.push(started);
    void this.#follow(started);
  }

  async #follow(started: StartedCall): Promise<void> {
    const begun = await started.begun.catch(() => undefined);
    this.#running -= 1;
    started.isBarring = begun?.outcome !== undefined && isBarring(begun.outcome);
  }

  /** True if a call in this attempt ends the run. */
  get #isBarred(): boolean {
    return this.#started.some(({ claimedBy, isBarring: bars }) => bars && claimedBy !== undefined);
  }

  /** Takes over a call from a discarded attempt that has the same name and arguments. */
  #claim(call: ToolCall): StartedCall | undefined {
    const found = this.#unclaimed.size === 0 ? undefined : this.#unclaimed.get(signatureOf(call))?.pop();
    if (found !== undefined) found.claimedBy = call.callId;
    return found;
  }

  /** Called when an attempt is discarded. Keeps its started calls, so that the next attempt can use their outcomes. */
  discarded(): void {
    this.#unclaimed.clear();
    for (const one of this.#started.toReversed()) {
      one.claimedBy = undefined;
      const signature = signatureOf(one.call);
      const equal = this.#unclaimed.get(signature) ?? [];
      this.#unclaimed.set(signature, equal);
      equal.push(one);
    }
  }

  async ended(calls: readonly ToolCall[]): Promise<Partial<Answer>> {
    if (this.#started.length === 0) return {};
    const left = new Map<StartedCall, BegunCall>();
    await Promise.all(
      this.#started.map(async (started) => {
        const begun = await started.begun;
        if (begun !== undefined) left.set(started, begun);
      }),
    );
    const eagerOutcomes: EagerOutcome[] = [];
    const claimed = new Map(this.#started.map((started) => [started.claimedBy, started]));
    for (const call of calls) {
      // The `call` hook never saw the calls after an incomplete one, so they are matched with started calls here. A call with unusable
      // arguments matches none.
      const started = claimed.get(call.callId) ?? (call.problem === undefined ? this.#claim(call) : undefined);
      const begun = started && left.get(started);
      if (started === undefined || begun === undefined) continue;
      left.delete(started);
      useCall(this.#at, call, begun);
      eagerOutcomes.push(toOutcome(call, begun, started.kept));
    }
    const eagerSpent = [...left].flatMap(([{ kept }, begun]) => toOutcome(begun.call, begun, kept).nested ?? []);
    return eagerSpent.length === 0 ? { eagerOutcomes } : { eagerOutcomes, eagerSpent };
  }

  async recorded({ eagerOutcomes = [] }: Answer): Promise<void> {
    for (const { call, steps } of eagerOutcomes as readonly EagerOutcome[]) {
      const begun = await new KeptSteps(steps).begin(this.#at, call);
      if (begun !== undefined) useCall(this.#at, call, begun);
    }
  }
}

function mayBegin({ eager, needsApproval = false }: ToolDefinition): boolean {
  return eager === true && needsApproval === false;
}

function signatureOf({ name, args }: ToolCall): string {
  return `${name} ${stableJson(args)}`;
}

/** Returns a call's outcome. It may come from an identical call in a discarded attempt. */
function toOutcome(call: ToolCall, { outcome, spent }: BegunCall, kept: KeptSteps): EagerOutcome {
  const all: readonly NestedSpending[] = outcome?.nested === undefined ? spent : [outcome.nested, ...spent];
  const ended: ToolOutcome = outcome ?? { call, durationMs: 0, kind: "not-run" };
  return { ...ended, call, nested: sumSpending(all), steps: kept.toSteps(call) };
}

/** Stores a call's steps while its message streams. After that, new steps go to the run's journal. */
class KeptSteps {
  readonly #steps: Map<string, unknown>;
  #isOpen = true;

  constructor(recorded: Steps = {}) {
    this.#steps = new Map(Object.entries(recorded));
  }

  /** Runs a call. Resolves to undefined if the call had no effect. */
  async begin(at: StreamPlace, call: ToolCall): Promise<BegunCall | undefined> {
    const begun = await beginCall(at, call, (place, outer) => this.#toJournal(place, outer));
    this.#isOpen = false;
    return begun?.outcome === undefined && this.#steps.size === 0 ? undefined : begun;
  }

  /** Returns the call's steps. The record of the outcome names the call that receives the outcome. */
  toSteps(call: ToolCall): Steps {
    const outcome = this.#steps.get("/outcome");
    return { ...Object.fromEntries(this.#steps), ...(outcome !== undefined && { "/outcome": { ...(outcome as object), call } }) };
  }

  #toJournal(place: string, outer: Journal): Journal {
    const own = recordSteps(this.#steps);
    const toOwn = (key: string): string => (key.startsWith(place) ? key.slice(place.length) : key);
    return {
      read: (key) => own.read(toOwn(key)) ?? (this.#isOpen ? undefined : outer.read(key)),
      step: (key, body) =>
        this.#isOpen || own.read(toOwn(key)) !== undefined ? own.step(toOwn(key), body) : outer.step(key, body),
    };
  }
}
