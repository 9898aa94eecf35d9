import { describe, expect, it } from "vitest";
import { isLoopError } from "turnwright";
import { planLogs, type PlannerOptions, withPlanner } from "turnwright/plan";
import { chunk, createMockProvider, fail, finish, type MockPart, text } from "turnwright/testing";
import { providerError } from "turnwright";
import { command, execute, plan, respond } from "./plan-stage.ts";

const whole = JSON.stringify({ next_action: "execute", execution_commands: [command("look")] });

describe("a plan that can be read all the same", () => {
  it.for<[what: string, ...parts: MockPart[]]>([
    ["has text around it", text(`I will look.\n${whole}\nThat is all.`)],
    ["is in a fence", text(`\`\`\`json\n${whole}\n\`\`\``)],
    ["has trailing commas", text(whole.replace("}]}", "},],}"))],
    ["is whole where its stream was cut off", text(`${whole} and th`), finish("length")],
    ["comes with the finish of calls", text(whole), finish("tool-calls")],
  ])("%s", async ([, ...parts]) => {
    const { result, model } = plan([parts, respond, text("Quiet.")]);
    expect([(await result).text, planLogs(await result).length, model.calls]).toEqual(["Quiet.", 1, 3]);
  });
});

const bad: readonly (readonly [what: string, problem: RegExp, ...parts: MockPart[]])[] = [
  ["cut off", /^The plan was cut off\./, text(whole.slice(0, -3))],
  ["cut off at the limit", /^The plan was cut off\./, text(whole.slice(0, 30)), finish("length")],
  ["text", /^There is no JSON object of a plan\./, text("I would look around.")],
  ["something else", /^There is no JSON object of a plan\./, text('{"answer": 42}')],
  ["one of two", /^There is more than one plan\./, text(`It says ${whole}. I do not: {"next_action":"response"}`)],
  ["empty", /^There is no JSON object of a plan\./, text("")],
  ["of the wrong shape", /execution_commands: /, text('{"next_action":"execute","execution_commands":"look"}')],
];

describe("a plan that cannot be read", () => {
  it.for(bad)("is asked for again with what is wrong: %s", async ([, problem, ...parts]) => {
    const { result, model, recording } = plan([parts, parts, text(whole), respond, text("Quiet.")]);
    expect([(await result).text, planLogs(await result).length, model.calls]).toEqual(["Quiet.", 1, 5]);
    const { messages = [] } = model.requests[2] ?? {};
    const complaint = messages.at(-1);
    expect(complaint).toMatchObject({ role: "user", content: expect.stringMatching(problem) });
    expect(messages.filter(({ role }) => role === "user")).toHaveLength(4);
    // What is no plan is no text either.
    expect(recording.of("text-delta").map((event) => event.text)).toEqual(["Quiet."]);
  });

  it.for(bad)("ends the run after so many tries, and nothing runs: %s", async ([, problem, ...parts]) => {
    for (const planRetries of [0, 2]) {
      const { result, model } = plan(() => parts, {}, { planRetries });
      const { status, reason, messages } = await result;
      expect([status, model.calls, messages.length]).toEqual(["error", planRetries + 1, 1]);
      const tries = planRetries === 0 ? "1 try" : "3 tries";
      expect(reason).toMatchObject({ kind: "provider-error", error: { code: "no-output", retryable: false } });
      const message = reason.kind === "provider-error" ? reason.error.message : "";
      expect(message).toContain(`The model gave no plan in ${tries}: `);
      expect(message.slice(message.indexOf(": ") + 2)).toMatch(problem);
    }
  });

  it("leaves the rounds before it as they were", async () => {
    const { result } = plan((_, index) => (index === 0 ? execute(command("look")) : text("Hm.")));
    expect((await result).reason.kind).toBe("provider-error");
    expect(planLogs(await result)).toMatchObject([{ tool_name: "look", success: true }]);
  });
});

describe("a planning request that ends otherwise ends the pass so", () => {
  it.for(["content-filter", "refusal", "context-full", "error"] as const)(
    "and nothing runs: %s behind a whole plan",
    async (reason) => {
      const { result, model } = plan([[text(whole), finish(reason)]]);
      expect([(await result).toolCallsExecuted, model.calls, planLogs(await result)]).toEqual([0, 1, []]);
    },
  );

  it.for<[what: string, kind: string, said: string, ...parts: MockPart[]]>([
    ["a refusal", "refusal", "I cannot.", chunk({ type: "refusal-delta", text: "I cannot." }), finish("refusal")],
    ["a filter", "content-filter", "", finish("content-filter")],
    ["a full context", "provider-error", "", finish("context-full")],
    ["an error in the stream", "provider-error", "", chunk({ type: "error", error: providerError("overloaded", "Busy.") })],
    ["an error that is thrown", "provider-error", "", fail({ status: 401 })],
    ["a stream that ends early", "provider-error", "", text("{"), chunk({ type: "finish", reason: "error" })],
  ])("%s", async ([, kind, said, ...parts]) => {
    const { result, model } = plan([parts]);
    expect([(await result).reason.kind, (await result).text, model.calls]).toEqual([kind, said, 1]);
  });
});

describe("a planner of the caller's own", () => {
  it("plans in place of the model, in any of the forms, from what it is shown", async () => {
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

  it.for<[what: string, planner: PlannerOptions["planner"], message: string]>([
    [
      "that throws",
      () => {
        throw new Error("No idea.");
      },
      "No idea.",
    ],
    ["that rejects", () => Promise.reject(new Error("No idea.")), "No idea."],
    ["that answers with something else", () => 7, "The planner gave no plan: A plan is an object, not 7."],
  ])("%s ends the run, and keeps what has run", async ([, planner, message]) => {
    let round = 0;
    const { result } = plan(
      [],
      {},
      {
        planner: (input, ports) => (round++ === 0 ? { tool_command: command("look") } : planner?.(input, ports)),
      },
    );
    const { reason } = await result;
    expect(reason.kind === "provider-error" && reason.error.message).toContain(message);
    expect(planLogs(await result)).toMatchObject([{ tool_name: "look", success: true }]);
  });
});

describe("what the models are told", () => {
  it("can be replaced", async () => {
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
      messages: [{ content: "Go." }, { content: "For Go." }],
    });
    expect(model.requests[2]).toMatchObject({ system: "Be brief." });
    expect(JSON.stringify(model.requests[2]?.messages)).toContain("In Norwegian.");
  });

  it.for<[what: string, prompt: unknown]>([
    ["comes late", () => Promise.resolve({ system: "s", user: "u" })],
    ["is half of one", () => ({ user: "u" })],
  ])("is a prompt, or ends the run before anything is asked: one that %s", async ([, prompt]) => {
    const { result, model } = plan([], {}, { prompt: prompt as never });
    const { reason } = await result;
    expect([reason.kind === "provider-error" && reason.error.message.includes("prompt()"), model.calls]).toEqual([true, 0]);
  });

  it("is theirs: what a planner does to it changes nothing", async () => {
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
    ["a prompt that is none", { prompt: "Plan." }, "prompt"],
    ["a planner that is none", { planner: {} }, "planner"],
    ["a switch that is none", { enabled: "no" }, "enabled"],
    ["another switch that is none", { closesEarly: 1 }, "closesEarly"],
    ["a requirement that is no text", { extraRequirement: 1 }, "extraRequirement"],
    ["an instruction that is no text", { extraInstruction: 1 }, "extraInstruction"],
  ])("is refused at once: %s", ([, options, option]) => {
    expect(thrownBy(() => withPlanner(createMockProvider([]), options as PlannerOptions))).toMatchObject({ details: { option } });
  });

  it("is refused at once where there is no provider, or an option that nobody knows", () => {
    expect(thrownBy(() => withPlanner({} as never))).toMatchObject({ code: "invalid-option" });
    expect(thrownBy(() => withPlanner(createMockProvider([]), { rounds: 1 } as never))).toMatchObject({ code: "unknown-option" });
  });
});

function thrownBy(call: () => unknown): unknown {
  try {
    call();
  } catch (error) {
    return isLoopError(error) ? { code: error.code, details: error.details } : error;
  }
  return undefined;
}
