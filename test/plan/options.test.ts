import { describe, expect, it } from "vitest";
import { withPlanner } from "turnwright/middleware";
import type { PlannerOptions } from "../../src/middleware/plan/with-planner.ts";
import { createMockProvider, text } from "turnwright/testing";
import { command, execute, plan, respond } from "./plan-stage.ts";

describe("withPlanner", () => {
  it("gets the plans from options.planner instead of from the model", async () => {
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

  it("sends the text of options.prompt and options.extraInstruction to the models", async () => {
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
    ["returns a promise", () => Promise.resolve({ system: "s", user: "u" })],
    ["returns no system prompt", () => ({ user: "u" })],
    ["returns null", () => null],
    ["rejects", () => Promise.reject(new Error("down"))],
  ])("ends the run with an error before any request if options.prompt %s", async ([, prompt]) => {
    const { result, model } = plan([], {}, { prompt: prompt as never });
    const { reason } = await result;
    expect([
      reason.kind === "provider-error" && reason.error.message.includes('"prompt" must synchronously'),
      model.calls,
    ]).toEqual([true, 0]);
  });

  it("ignores changes that options.planner makes to its input", async () => {
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
    ["maxRounds below 1", { maxRounds: 0 }, "maxRounds"],
    ["a fractional maxRounds", { maxRounds: 1.5 }, "maxRounds"],
    ["a negative planRetries", { planRetries: -1 }, "planRetries"],
    ["an infinite planRetries", { planRetries: Number.POSITIVE_INFINITY }, "planRetries"],
    ["prompt together with planner", { planner: () => ({}), prompt: () => ({ system: "", user: "" }) }, "prompt"],
    ["planRetries together with planner", { planner: () => ({}), planRetries: 1 }, "planRetries"],
    ["closesEarly together with planner", { planner: () => ({}), closesEarly: true }, "closesEarly"],
    ["a prompt that is not a function", { prompt: "Plan." }, "prompt"],
    ["a planner that is not a function", { planner: {} }, "planner"],
    ["an enabled option that is not a boolean", { enabled: "no" }, "enabled"],
    ["a closesEarly option that is not a boolean", { closesEarly: 1 }, "closesEarly"],
    ["an extraRequirement that is not a string", { extraRequirement: 1 }, "extraRequirement"],
    ["an extraInstruction that is not a string", { extraInstruction: 1 }, "extraInstruction"],
  ])("throws immediately for %s", ([, options, option]) => {
    expect(() => withPlanner(createMockProvider([]), options as PlannerOptions)).toThrow(
      expect.objectContaining({ details: expect.objectContaining({ option }) }),
    );
  });

  it("throws immediately without a provider or with an unknown option", () => {
    expect(() => withPlanner({} as never)).toThrow(expect.objectContaining({ code: "invalid-option" }));
    expect(() => withPlanner(createMockProvider([]), { rounds: 1 } as never)).toThrow(
      expect.objectContaining({ code: "unknown-option" }),
    );
  });
});
