// The options of `withPlanner`, and the values that it refuses.

import { describe, expect, it } from "vitest";
import { type PlannerOptions, withPlanner } from "turnwright/plan";
import { createMockProvider, text } from "turnwright/testing";
import { command, execute, plan, respond } from "./plan-stage.ts";

describe("an option", () => {
  it("that is a planner plans in place of the model, in any of the forms, from what it is shown", async () => {
    const shown: unknown[] = [];
    const { result, model } = plan(
      [text("Quiet.")],
      {},
      {
        extraRequirement: "Quickly.",
        planner: (input) => {
          shown.push(input);
          return input.roundIndex === 0 ? Promise.resolve({ tool_command: command("look") }) : { next_action: "response" };
        },
      },
    );
    expect([(await result).text, model.calls]).toEqual(["Quiet.", 1]);
    expect(shown).toMatchObject([
      {
        userInput: "Go.",
        extraRequirement: "Quickly.",
        availableTools: [{ name: "add" }, { name: "look" }],
        donePlans: [],
        lastRoundRecords: [],
        roundIndex: 0,
        maxRounds: 5,
      },
      { donePlans: [{ tool_name: "look", result: "a quiet place" }], lastRoundRecords: [{ tool_name: "look" }], roundIndex: 1 },
    ]);
  });

  it("replaces what the models are told", async () => {
    const { result, model } = plan(
      [execute(command("look")), respond, text("Quiet.")],
      { system: "Be brief." },
      {
        prompt: ({ userInput, roundIndex }) => ({ system: `Plan ${roundIndex}.`, user: `For ${userInput}` }),
        extraInstruction: "In Norwegian.",
      },
    );
    await result;
    expect(model.requests[0]).toMatchObject({
      system: "Be brief.\n\nPlan 0.",
      messages: [{ role: "user", content: "Go.\n\nFor Go." }],
    });
    expect(model.requests[2]).toMatchObject({ system: "Be brief." });
    expect(JSON.stringify(model.requests[2]?.messages)).toContain("In Norwegian.");
  });

  it.for<[what: string, prompt: unknown]>([
    ["comes late", () => Promise.resolve({ system: "s", user: "u" })],
    ["is half of one", () => ({ user: "u" })],
    ["is none", () => null],
    ["fails late", () => Promise.reject(new Error("down"))],
  ])("that is a prompt must give one, or the run ends before anything is asked: one that %s", async ([, prompt]) => {
    const { result, model } = plan([], {}, { prompt: prompt as never });
    const { reason } = await result;
    expect([reason.kind === "provider-error" && reason.error.message.includes("prompt()"), model.calls]).toEqual([true, 0]);
  });

  it("that is a planner may change what it is shown, and changes nothing", async () => {
    let asked = 0;
    const { result } = plan(
      [text("Done.")],
      {},
      {
        planner: ({ availableTools }) => {
          (availableTools as unknown[]).length = 0;
          return (asked += 1) < 3 ? { tool_command: command("look") } : {};
        },
      },
    );
    expect([(await result).text, asked]).toEqual(["Done.", 3]);
  });

  it.for<[what: string, options: unknown, option: string]>([
    ["rounds below one", { maxRounds: 0 }, "maxRounds"],
    ["half a round", { maxRounds: 1.5 }, "maxRounds"],
    ["retries below none", { planRetries: -1 }, "planRetries"],
    ["retries without end", { planRetries: Number.POSITIVE_INFINITY }, "planRetries"],
    ["a prompt beside a planner", { planner: () => ({}), prompt: () => ({ system: "", user: "" }) }, "prompt"],
    ["retries beside a planner", { planner: () => ({}), planRetries: 1 }, "planRetries"],
    ["an early close beside a planner", { planner: () => ({}), closesEarly: true }, "closesEarly"],
    ["a prompt that is none", { prompt: "Plan." }, "prompt"],
    ["a planner that is none", { planner: {} }, "planner"],
    ["a switch that is none", { enabled: "no" }, "enabled"],
    ["another switch that is none", { closesEarly: 1 }, "closesEarly"],
    ["a requirement that is no text", { extraRequirement: 1 }, "extraRequirement"],
    ["an instruction that is no text", { extraInstruction: 1 }, "extraInstruction"],
  ])("is refused at once: %s", ([, options, option]) => {
    expect(() => withPlanner(createMockProvider([]), options as PlannerOptions)).toThrow(
      expect.objectContaining({ details: expect.objectContaining({ option }) }),
    );
  });

  it("is refused at once where there is no provider, or an option that nobody knows", () => {
    expect(() => withPlanner({} as never)).toThrow(expect.objectContaining({ code: "invalid-option" }));
    expect(() => withPlanner(createMockProvider([]), { rounds: 1 } as never)).toThrow(
      expect.objectContaining({ code: "unknown-option" }),
    );
  });
});
