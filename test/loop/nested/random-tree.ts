import fc from "fast-check";
import type { NestedLoopOptions, Provider, Tool } from "turnwright";
import { createMockProvider, type MockMessage, type TestClock, text, toolCall, wait } from "turnwright/testing";
import { tool } from "../play.ts";
import { type Kind, kinds, nesting, question, tokens } from "./nesting.ts";

export interface Plan {
  readonly kind: Kind;
  readonly maxToolCalls: number | undefined;
  readonly maxTokens: number | undefined;
  readonly iterations: readonly { readonly waitMs: number; readonly calls: readonly (Plan | "leaf" | "slow leaf" | "alone")[] }[];
}

const { plan } = fc.letrec<{ plan: Plan; call: Plan["iterations"][number]["calls"][number] }>((tie) => ({
  plan: fc.record({
    kind: fc.constantFrom(...kinds),
    maxToolCalls: fc.option(fc.integer({ min: 1, max: 12 }), { nil: undefined, freq: 3 }),
    maxTokens: fc.option(fc.integer({ min: 1, max: 60 }), { nil: undefined, freq: 2 }),
    iterations: fc.array(
      fc.record({ waitMs: fc.constantFrom(0, 0, 3, 7), calls: fc.array(tie("call"), { minLength: 1, maxLength: 4 }) }),
      { maxLength: 3 },
    ),
  }),
  call: fc.oneof(
    { maxDepth: 3, depthSize: "small" },
    fc.constantFrom("leaf" as const, "slow leaf" as const, "alone" as const),
    tie("plan"),
  ),
}));

export const plans: fc.Arbitrary<Plan> = plan;

interface Count {
  readonly limit: number;
  begun: number;
  readonly outer: Count | undefined;
}

function countOne(count: Count | undefined): void {
  for (let run = count; run !== undefined; run = run.outer) run.begun += 1;
}

export interface Stage {
  readonly clock: TestClock;
  readonly counts: Count[];
  ran: number;
}

export function optionsOf(
  { iterations, maxToolCalls, maxTokens }: Plan,
  stage: Stage,
  outer?: Count,
): NestedLoopOptions & { readonly provider: Provider } {
  const count: Count = { limit: maxToolCalls ?? Number.POSITIVE_INFINITY, begun: 0, outer };
  stage.counts.push(count);
  const { clock } = stage;
  const leaf = (act: () => unknown) => () => {
    countOne(count);
    stage.ran += 1;
    return act();
  };
  const tools: Tool[] = [
    tool(
      "leaf",
      leaf(() => 1),
    ),
    tool(
      "alone",
      leaf(() => 1),
      { sequential: true },
    ),
    tool(
      "slow_leaf",
      leaf(() => new Promise((resolve) => void clock.setTimeout(() => resolve(1), 5))),
    ),
  ];
  const turns = iterations.map(({ waitMs, calls }, iteration): MockMessage => {
    const parts = calls.map((call, index) => {
      if (typeof call === "string") return toolCall(call.replace(" ", "_"));
      const name = `run_${iteration}_${index}`;
      const prepare = (): NestedLoopOptions => {
        countOne(count);
        return optionsOf(call, stage, count);
      };
      tools.push(nesting(call.kind, name, prepare));
      return toolCall(name);
    });
    return [wait(waitMs), ...parts, tokens(3)];
  });
  const script = [...turns, [text("Done."), tokens(2)]];
  const provider = createMockProvider((_, index) => {
    stage.ran += 1;
    return script[index] ?? text("No more.");
  });
  return { messages: question, provider, tools, limits: { maxToolCalls, maxTokens, maxDepth: 5 } };
}
