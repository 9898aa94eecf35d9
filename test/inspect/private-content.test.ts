import { describe, expect, it } from "vitest";
import { defineTool, type Json, type LoopOptions } from "turnwright";
import { parseRunLog, type RunLogPlace } from "turnwright/inspect";
import { chunk, createMockProvider, fail, reasoning, text, toolCall } from "turnwright/testing";
import { logRun } from "./log-run.ts";

const key = "sk-abc12345678901";

/** Each place of the run has a text that begins with "private". */
function privateRun(): LoopOptions {
  const look = defineTool({
    name: "look",
    description: "private description",
    inputSchema: { type: "object", properties: { at: { type: "string", description: "private schema" } } },
    execute: (_args, context) => {
      context.progress({ "private key of progress": "private progress" });
      return { "private key of result": ["private result"], nested: { deep: "private deep result" } };
    },
  });
  const broken = defineTool({
    name: "broken",
    description: "private",
    inputSchema: { type: "object" },
    execute: () => {
      throw new Error("private error");
    },
  });
  return {
    provider: createMockProvider([
      [reasoning("private reasoning"), text("private answer"), toolCall("look", { at: "private argument" }), toolCall("broken")],
      [
        chunk({ type: "provider-metadata", item: { signature: "private signature" } }),
        text("private end"),
        fail({ message: "private failure", status: 400 }),
      ],
    ]),
    tools: [look, broken],
    system: "private system",
    version: "private version",
    session: { conversationId: "private conversation" },
    modelSettings: { stopSequences: ["private stop"], extra: { field: "private extra" } },
    messages: [
      {
        role: "user",
        content: [
          { type: "text", text: "private question" },
          { type: "image", mediaType: "image/png", data: "private data" },
          { type: "file", mediaType: "application/pdf", data: new URL("https://example.com/private") },
        ],
      },
    ],
  };
}

describe("runLog: the `redact` option", () => {
  it('is called with each string in the run and the string\'s place, such as "arguments"', async () => {
    const places = new Set<RunLogPlace>();
    const { lines, log } = await logRun(privateRun(), {
      redact: (said, place) => {
        if (said.includes("private")) places.add(place);
        return said.includes("private") ? "***" : said;
      },
    });
    expect(lines.join("")).not.toContain("private");
    expect([...places].sort()).toEqual([
      "arguments",
      "error",
      "media",
      "messages",
      "metadata",
      "output",
      "progress",
      "result",
      "session",
      "settings",
      "system",
      "tools",
    ]);
    expect(log.runs[0]?.iterations[0]?.request?.messages()).toEqual([
      {
        role: "user",
        content: [
          { type: "text", text: "***" },
          { type: "image", mediaType: "image/png", data: "***" },
          { type: "file", mediaType: "application/pdf", data: "***" },
        ],
      },
    ]);
  });

  it("keeps the structure of the log, even if redact changes every string", async () => {
    const { log } = await logRun(privateRun(), { redact: () => "x" });
    const [run] = log.runs;
    expect(run).toMatchObject({
      provider: "mock",
      status: "error",
      reason: { kind: "provider-error", error: { code: "bad-request", message: "x" } },
    });
    expect(run?.iterations[0]?.calls.map(({ name, outcome }) => [name, outcome])).toEqual([
      ["look", "completed"],
      ["broken", "failed"],
    ]);
    expect(run?.iterations[1]?.request?.messages().map(({ role }) => role)).toEqual(["user", "assistant", "tool"]);
  });

  it.for<readonly [what: string, redact: () => never]>([
    [
      "throws",
      () => {
        throw new Error("no");
      },
    ],
    ["does not return a string", () => undefined as never],
    ["returns a promise", () => Promise.reject(new Error("no")) as never],
  ])('puts the text "[redaction failed]" into the log if the redact function %s', async ([, redact]) => {
    const { result, lines } = await logRun(privateRun(), { redact });
    expect(result.functionHistory).toHaveLength(2);
    expect(lines.join("")).not.toContain("private");
    expect(parseRunLog(lines.join("")).runs[0]?.iterations[0]?.output?.text).toBe("[redaction failed]");
  });

  it("does not change the messages that the model receives", async () => {
    const plain = privateRun();
    await logRun(plain, { redact: () => "x" });
    const [, second] = (plain.provider as ReturnType<typeof createMockProvider>).requests;
    expect(JSON.stringify(second?.messages)).toContain("private deep result");
  });
});

describe("runLog", () => {
  it("never writes credentials to the log, with or without the `redact` option", async () => {
    const tool = defineTool({
      name: "look",
      description: "Looks",
      inputSchema: { type: "object" },
      execute: () => ({
        config: `OPENAI_API_KEY=${key}`,
        password: "hunter2 and more",
        list: [{ authorization: `Bearer ${"a1".repeat(20)}` }],
      }),
    });
    const options = (): LoopOptions => ({
      provider: createMockProvider([
        toolCall("look", { apiKey: key, url: "https://me:hidden@example.com" }),
        text(`The key is ${key}.`),
      ]),
      tools: [tool],
      system: `Use ${key}.`,
      messages: [{ role: "user", content: `My key is ${key}.` }],
    });
    for (const redact of [undefined, (said: string) => `${said} `]) {
      const { lines } = await logRun(options(), { redact });
      for (const secret of [key, "hunter2", "hidden@", "a1a1a1"]) expect(lines.join("")).not.toContain(secret);
    }
  });
});

describe("runLog with data that looks like log format marks", () => {
  const values: readonly Json[] = [
    { "@": 0 },
    { "@": 999 },
    { "=": [0, "wrong"] },
    { "~": { "@": 1 } },
    { "~": "x" },
    { "@": { "=": [1, { "~": { "~": { "@": "a ".repeat(200) } } }] } },
    [[{ "=": [] }], { "@": null }, { "@": 0, other: 1 }],
    JSON.parse('{"__proto__":{"@":1},"constructor":{"prototype":{"polluted":true}}}'),
    JSON.parse(`{"__proto__":"${"long ".repeat(50)}","toJSON":"no"}`),
    `"},{"type":"run-end"}\n{"type":"log"}\n\u2028${"x".repeat(300)}`,
    { 7: "seven", b: 1, 1: ["x".repeat(200), "x".repeat(200)], a: { 7: "seven", b: 1, 1: ["x".repeat(200), "x".repeat(200)] } },
    ["\ud800", "\u0000", ""],
    Array.from({ length: 900 }).reduce<Json>((inner) => ({ "@": [inner] }), "x".repeat(200)),
  ];
  const hostile = values.flatMap((value): Json[] => [value, { wrapped: [value, value, "y".repeat(200)] }]);

  it("logs the data unchanged", async () => {
    const echo = defineTool<{ readonly at: number }>({
      name: "echo",
      description: "Echoes",
      inputSchema: { type: "object" },
      execute: ({ at }) => hostile[at],
    });
    const provider = createMockProvider(({ iteration }) =>
      iteration < hostile.length
        ? toolCall("echo", { at: iteration, value: iteration === 24 ? null : hostile[iteration] })
        : text("Done."),
    );
    const { log, result } = await logRun({
      provider,
      tools: [echo],
      messages: [{ role: "user", content: "Go." }],
      limits: { maxIterations: 99 },
    });
    expect(result.text).toBe("Done.");
    const last = log.runs[0]?.iterations.at(-1)?.request?.messages();
    expect(JSON.stringify(last)).toBe(JSON.stringify(provider.requests.at(-1)?.messages));
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  });
});
