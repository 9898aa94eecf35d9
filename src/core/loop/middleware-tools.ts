// Functions for middleware that spends tokens itself, or needs a call's validated arguments.

import type { Pricing, Usage } from "../types/common.ts";
import type { ToolRegistry } from "../types/loop-options.ts";
import type { Answer, Recorder, State } from "../types/middleware.ts";
import type { Provider } from "../types/provider.ts";
import type { EndReason } from "../types/termination.ts";
import type { NestedSpending, ToolCall } from "../types/tool-outcome.ts";
import { noUsage } from "../../shared/count-usage.ts";
import { isRecord } from "../../shared/guards.ts";
import { toJson } from "../../shared/json.ts";
import { costOf, type PricingPorts } from "../../shared/cost-of.ts";
import { insideOf } from "../tools/inside-call.ts";

type OwnSpending = Pick<Answer, "usage" | "costUSD" | "knownCostUSD">;

/** The request or the call that a recorder belongs to. */
interface RecorderPlace {
  readonly run: {
    readonly state: State;
    readonly registry: ToolRegistry;
    readonly events: PricingPorts["events"];
    readonly options: { readonly provider: Provider; readonly pricing?: Pricing | undefined };
    readonly meter: {
      addUsage(spending: OwnSpending): void;
      findSpent(expectedUSD: number, spent?: { readonly tokens: number; readonly costUSD: number }): EndReason | undefined;
    };
  };
  readonly spent: NestedSpending[];
}

function runPlaceOf(at: Recorder): RecorderPlace {
  return insideOf(at) as unknown as RecorderPlace;
}

/**
 * Adds tokens and their cost to the usage, cost and limits of the run and its outer runs. Call it after the step that spent them, even if
 * the step was recorded before.
 *
 * @example
 * const { usage } = await at.step("translate", () => translate(text));
 * addSpending(at, { usage, costUSD: 0.002 });
 */
export function addSpending(at: Recorder, spending: OwnSpending): void {
  const { usage = noUsage, costUSD, knownCostUSD } = spending;
  const { run, spent } = runPlaceOf(at);
  run.meter.addUsage(spending);
  spent.push({ usage, costUSD, knownCostUSD, toolCallsExecuted: 0 });
}

/** Returns the cost of tokens in USD, at the run's prices. Undefined if the price is unknown. `model` defaults to the run's model. */
export function priceUsage(
  at: Recorder,
  usage: Usage,
  model?: { readonly provider: string; readonly model: string },
): number | undefined {
  const { options, events, state } = runPlaceOf(at).run;
  const { pricing, provider } = options;
  const by = model ?? { provider: provider.id, model: provider.model };
  const cost = costOf(usage, { ...by, iteration: state.iteration }, { pricing, events });
  return typeof cost === "number" ? cost : undefined;
}

/**
 * Returns the limit, of this run or an outer run, that a request with this cost in USD would exceed. Undefined if there is none. `spent` is
 * the usage of the middleware's own requests that `addSpending` has not added yet.
 */
export function findSpentLimit(
  at: Recorder,
  expectedUSD: number,
  spent?: { readonly tokens: number; readonly costUSD: number },
): EndReason | undefined {
  return runPlaceOf(at).run.meter.findSpent(expectedUSD, spent);
}

/**
 * Validates a call's arguments. Returns a copy of the schema's output, which the tool receives, or undefined if the arguments are invalid.
 *
 * @example const valid = await validatedArgs(at, call);
 */
export async function validatedArgs(
  at: Recorder,
  { name, args }: Pick<ToolCall, "name" | "args">,
): Promise<{ readonly value: unknown } | undefined> {
  const { registry } = runPlaceOf(at).run;
  const value = toJson(args);
  if (registry.validate === undefined) return { value };
  const made: unknown = await registry.validate(name, value);
  return isRecord(made) && "value" in made ? { value: made["value"] } : undefined;
}
