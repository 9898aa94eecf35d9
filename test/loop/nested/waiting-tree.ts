// Generates random trees of runs with calls that wait for approval, sequential calls, fatal errors and control calls.

import fc from "fast-check";
import {
  approve,
  type Approve,
  createLoopControl,
  defineAgentTool,
  FatalToolError,
  type LoopControl,
  type LoopOptions,
  type Tool,
} from "turnwright";
import { createMockProvider, type TestClock, text, toolCall } from "turnwright/testing";
import { tool } from "../play.ts";
import { question } from "./nesting.ts";

/**
 * These tools start no nested run. A call of "ask" waits for a decision, "alone" is sequential, "fatal" ends its run, and "drain"
 * drains its run.
 */
const leaves = ["look", "slow", "alone", "slow_alone", "ask", "ask", "ask_alone", "fatal", "drain"] as const;
type Leaf = (typeof leaves)[number];

export interface Plan {
  readonly calls: readonly (Leaf | Plan)[];
  readonly sequential: boolean;
  readonly isFatal: boolean;
}

const { plan } = fc.letrec<{ plan: Plan; call: Leaf | Plan }>((tie) => ({
  plan: fc.record({
    calls: fc.array(tie("call"), { minLength: 1, maxLength: 4 }),
    sequential: fc.boolean(),
    isFatal: fc.constantFrom(false, false, false, true),
  }),
  call: fc.oneof({ maxDepth: 2, depthSize: "small" }, fc.constantFrom(...leaves), tie("plan")),
}));

export const plans: fc.Arbitrary<Plan> = plan;

export interface Deed {
  readonly key: string;
  readonly isEnd: boolean;
}

export interface Stage {
  readonly clock: TestClock;
  readonly deeds: Deed[];
  readonly controls: LoopControl[];
}

const policy: Approve = ({ name }) => ({ kind: name.startsWith("ask") ? "ask" : "approve" });

export function optionsOf(
  { calls }: Plan,
  stage: Stage,
): Pick<LoopOptions, "control" | "messages" | "middleware" | "timeouts"> & {
  readonly provider: LoopOptions["provider"];
  readonly tools: readonly Tool[];
} {
  const control = createLoopControl();
  stage.controls.push(control);
  const names = calls.map((call, index) =>
    typeof call === "string" ? call : `agent_${index}${call.sequential ? "_alone" : ""}`,
  );
  const agents = calls.flatMap((call, index) => (typeof call === "string" ? [] : [agentOf(call, names[index] ?? "", stage)]));
  const provider = createMockProvider(({ messages }) =>
    messages.length === 1 ? names.map((name) => toolCall(name)) : text("Done."),
  );
  const tools = [...agents, ...leavesOf(stage, control)];
  return { provider, messages: question, tools, control, middleware: [approve(policy)], timeouts: { toolCleanupMs: 0 } };
}

function agentOf(plan: Plan, name: string, stage: Stage): Tool {
  return defineAgentTool({
    name,
    description: name,
    inputSchema: { type: "object" },
    sequential: plan.sequential,
    prepare: () => optionsOf(plan, stage),
    toResult: ({ status }) => {
      if (plan.isFatal) throw new FatalToolError("No.");
      return status;
    },
  });
}

function leavesOf({ clock, deeds }: Stage, control: LoopControl): readonly Tool[] {
  const make = (name: Leaf, act: () => unknown = () => 1): Tool =>
    tool(
      name,
      async (_, { idempotencyKey: key }) => {
        deeds.push({ key, isEnd: false });
        await act();
        deeds.push({ key, isEnd: true });
      },
      { sequential: name.endsWith("alone") },
    );
  const sleep = (): Promise<void> => new Promise((resolve) => void clock.setTimeout(resolve, 5));
  return [
    make("look"),
    make("slow", sleep),
    make("alone"),
    make("slow_alone", sleep),
    make("ask"),
    make("ask_alone", sleep),
    make("fatal", () => {
      throw new FatalToolError("No.");
    }),
    make("drain", () => control.drain()),
  ];
}
