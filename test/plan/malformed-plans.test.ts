import { describe, expect, it } from "vitest";
import { providerError } from "turnwright";
import { planLogs } from "turnwright/middleware";
import { chunk, fail, finish, type MockPart, text } from "turnwright/testing";
import { command, execute, plan, respond } from "./plan-stage.ts";

const whole = JSON.stringify({ next_action: "execute", execution_commands: [command("look")] });

describe("withPlanner: a plan", () => {
  it.for<[what: string, ...parts: MockPart[]]>([
    ["is read even if other text surrounds it", text(`I will look.\n${whole}\nThat is all.`)],
    ["is read from a code fence", text(`\`\`\`json\n${whole}\n\`\`\``)],
    ["is read with trailing commas", text(whole.replace("}]}", "},],}"))],
    ["is read after a <think> block", text(`<think>Or {"next_action":"response"}?</think>\n${whole}`)],
    ['is read from a message with the finish reason "tool-calls"', text(whole), finish("tool-calls")],
  ])("%s", async ([, ...parts]) => {
    const { result, model } = plan([parts, respond, text("Quiet.")]);
    expect([(await result).text, planLogs(await result).length, model.calls]).toEqual(["Quiet.", 1, 3]);
  });
});

/** With these finish reasons, more text could have followed. The planner therefore retries even a complete plan. */
const cut = (["length", "paused", "continue", "malformed-call"] as const).map(
  (reason) =>
    [
      `has the finish reason "${reason}"`,
      /^(?:The plan was cut off|The answer is a tool call)/,
      text(whole),
      finish(reason),
    ] as const,
);

const bad: readonly (readonly [what: string, problem: RegExp, ...parts: MockPart[]])[] = [
  ["is cut off", /^The plan was cut off\./, text(whole.slice(0, -3))],
  ...cut,
  ["is cut off at the token limit", /^The plan was cut off at the token limit\./, text(whole.slice(0, 30)), finish("length")],
  ["contains no JSON", /^The answer contains no JSON object with a plan\./, text("I would look around.")],
  [
    "is an object without any plan fields",
    /^The JSON object must have at least one of these fields: next_action, /,
    text('{"answer": 42}'),
  ],
  [
    "contains two plans",
    /^The answer contains more than one JSON object\./,
    text(`It says ${whole}. I do not: {"next_action":"response"}`),
  ],
  [
    "contains a plan and the start of another plan",
    /^The answer contains more than one JSON object\./,
    text(`${whole} No: {"next_action":"resp`),
  ],
  [
    "has commands that name no tool",
    /execution_commands\.0: must have a "tool_name"/,
    text('{"execution_commands":[{"name":"look"}]}'),
  ],
  ["is empty", /^The answer contains no JSON object with a plan\./, text("")],
  ["has a string as its commands", /execution_commands: /, text('{"next_action":"execute","execution_commands":"look"}')],
];

describe("withPlanner: a plan that cannot be used", () => {
  it.for(bad)("is requested again with a description of the problem if the plan %s", async ([, problem, ...parts]) => {
    const { result, model, recording } = plan([parts, parts, text(whole), respond, text("Quiet.")]);
    expect([(await result).text, planLogs(await result).length, model.calls]).toEqual(["Quiet.", 1, 5]);
    const { messages = [] } = model.requests[2] ?? {};
    const last = messages.at(-1);
    const complaint = last?.role === "user" && typeof last.content === "string" ? last.content : "";
    // The description of the problem follows the model's last message. If that message is empty, it follows the user's question.
    expect(complaint.split("\n\n").at(-1)).toMatch(problem);
    expect(messages.length).toBeLessThanOrEqual(3);
    // The run emits no text of an unreadable plan.
    expect(recording.of("text-delta").map((event) => event.text)).toEqual(["Quiet."]);
  });

  it.for(bad)("ends the run after planRetries more requests if the plan %s", async ([, problem, ...parts]) => {
    for (const planRetries of [0, 2]) {
      const { result, model } = plan(() => parts, {}, { planRetries });
      const { status, reason, messages } = await result;
      expect([status, model.calls, messages.length]).toEqual(["error", planRetries + 1, 1]);
      const tries = planRetries === 0 ? "1 try" : "3 tries";
      expect(reason).toMatchObject({ kind: "provider-error", error: { code: "no-output", retryable: false } });
      const message = reason.kind === "provider-error" ? reason.error.message : "";
      expect(message).toContain(`The model sent no valid plan in ${tries}: `);
      expect(message.slice(message.indexOf(": ") + 2)).toMatch(problem);
    }
  });

  it("keeps the records of earlier rounds", async () => {
    const { result } = plan((_, index) => (index === 0 ? execute(command("look")) : text("Hm.")));
    expect((await result).reason.kind).toBe("provider-error");
    expect(planLogs(await result)).toMatchObject([{ tool_name: "look", success: true }]);
  });
});

describe("withPlanner: a failed planning request", () => {
  it.for(["content-filter", "refusal", "context-full", "error", "unknown"] as const)(
    'runs no tool if a complete plan has the finish reason "%s"',
    async (reason) => {
      const { result, model } = plan([[text(whole), finish(reason)]]);
      expect([(await result).toolCallsExecuted, model.calls, planLogs(await result)]).toEqual([0, 1, []]);
    },
  );

  it.for<[what: string, kind: string, said: string, ...parts: MockPart[]]>([
    ["a refusal-delta chunk", "refusal", "I cannot.", chunk({ type: "refusal-delta", text: "I cannot." }), finish("refusal")],
    ['plain text and the finish reason "refusal"', "refusal", "I cannot.", text("I cannot."), finish("refusal")],
    ['the finish reason "unknown"', "provider-error", "", text(whole), finish("unknown")],
    ['the finish reason "content-filter"', "content-filter", "", finish("content-filter")],
    ['the finish reason "context-full"', "provider-error", "", finish("context-full")],
    ["an error chunk", "provider-error", "", chunk({ type: "error", error: providerError("overloaded", "Busy.") })],
    ["a thrown error", "provider-error", "", fail({ status: 401 })],
    ["a stream that ends early", "provider-error", "", text("{"), chunk({ type: "finish", reason: "error" })],
  ])('with %s, ends the run with the reason "%s"', async ([, kind, said, ...parts]) => {
    const { result, model } = plan([parts]);
    expect([(await result).reason.kind, (await result).text, model.calls]).toEqual([kind, said, 1]);
  });
});
