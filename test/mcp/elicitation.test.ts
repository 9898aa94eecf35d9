import { describe, expect, it, vi } from "vitest";
import { isLoopError, type LoopEvent } from "turnwright";
import { createMcpRegistry } from "turnwright/mcp";
import { text, toolCall } from "turnwright/testing";
import { answersOf, outcomesOf, play, type Playing } from "../loop/play.ts";
import { readRequestedSchema } from "../../src/mcp/elicitation.ts";
import { closing, type Generation, generations } from "./connect.ts";
import { type Answer, createToolServer, says, type ToolServer } from "./tool-server.ts";

const schema = {
  type: "object" as const,
  properties: {
    city: { type: "string" as const, minLength: 2, description: "The city" },
    kind: { type: "string" as const, enum: ["hotel", "flat"] },
    nights: { type: "integer" as const, minimum: 1 },
  },
  required: ["city"],
};

type Elicit = Parameters<ToolServer["server"]["server"]["elicitInput"]>[0];

interface Stage {
  readonly served: ToolServer;
  readonly errors: string[];
  start(calls?: readonly string[]): Playing;
}

/** A server whose tool asks the user, and returns the answer as JSON. */
async function setUp(
  generation: Generation,
  params: unknown = { message: "Where to?", requestedSchema: schema },
): Promise<Stage> {
  const answer: Answer = async () => says(JSON.stringify(await served.server.server.elicitInput(params as Elicit)));
  const served: ToolServer = createToolServer([{ name: "book", annotations: { readOnlyHint: true } }, { name: "look" }], answer);
  const { client } = await closing(generation.connectTo(served.server, { elicitation: { form: {} } }));
  const errors: string[] = [];
  const onError = (error: unknown): void => void errors.push((error as Error).message);
  const tools = await createMcpRegistry({ client, elicitation: true, onError });
  const start = (calls: readonly string[] = ["book"]): Playing =>
    play([calls.map((name) => toolCall(name)), text("Done.")], { tools });
  return { served, errors, start };
}

async function askedBy({ recording }: Playing): Promise<Extract<LoopEvent, { type: "question-asked" }>> {
  return vi.waitFor(() => {
    const asked = recording.events.findLast((event) => event.type === "question-asked");
    if (asked === undefined) throw new Error("No question yet.");
    return asked;
  });
}

const resultOf = async (playing: Playing): Promise<unknown> => {
  const data = answersOf(await playing.result)[0]?.result;
  return typeof data === "string" ? (JSON.parse(data) as unknown) : data;
};

describe.for(generations)("an elicitation request over $name", (generation) => {
  it("becomes a question that names the server", async () => {
    const { start } = await setUp(generation);
    const playing = start();
    const { id, question, fromPage, callId } = await askedBy(playing);
    expect([question.text, callId, fromPage]).toEqual(['The MCP server "test" asks: Where to?', "call_i0_0", true]);
    expect(question.schema).toEqual({ ...schema, additionalProperties: false });
    playing.control.answer(id, { kind: "result", result: { city: "O", nights: 1 } });
    const again = await vi.waitFor(async () => {
      const asked = await askedBy(playing);
      if (asked.question.issues === undefined) throw new Error("Not asked again.");
      return asked;
    });
    expect(again.question.issues).toEqual([{ message: "must have at least 2 characters", path: ["city"] }]);
    playing.control.answer(again.id, { kind: "result", result: { city: "Oslo", nights: 2 }, fromPage: true });
    expect(await resultOf(playing)).toMatchObject({ action: "accept", content: { city: "Oslo", nights: 2 } });
  });

  it("is declined if the answer is a failure", async () => {
    const { start, served } = await setUp(generation);
    const declined = start();
    declined.control.answer((await askedBy(declined)).id, { kind: "failed", error: "I will not say." });
    expect(await resultOf(declined)).toMatchObject({ action: "decline" });
    const killed = start();
    await askedBy(killed);
    killed.control.kill();
    expect(outcomesOf(await killed.result)).toEqual(["call_i0_0: interrupted"]);
    await vi.waitFor(() => expect(served.calls.at(-1)?.signal.aborted).toBe(true));
    expect(killed.clock.pending).toBe(0);
  });

  it("can be answered for each of two calls in one message", async () => {
    const { start } = await setUp(generation);
    const playing = start(["book", "look"]);
    for (const city of ["Oslo", "Rome"]) {
      const callId = city === "Oslo" ? "call_i0_0" : "call_i0_1";
      const { id } = await vi.waitFor(async () => {
        const asked = await askedBy(playing);
        if (asked.callId !== callId) throw new Error("Not asked yet.");
        return asked;
      });
      playing.control.answer(id, { kind: "result", result: { city } });
    }
    expect(
      answersOf(await playing.result).map(({ result }) => (JSON.parse(result as string) as { content: unknown }).content),
    ).toEqual([{ city: "Oslo" }, { city: "Rome" }]);
  });

  it("is canceled unless calls from exactly one run are in progress", async () => {
    const { start, errors, served } = await setUp(generation);
    const first = start();
    const { id } = await askedBy(first);
    const second = start();
    expect(await resultOf(second)).toMatchObject({ action: "cancel" });
    expect(errors).toEqual(["The MCP server asked a question while more than one of its calls was in progress."]);
    first.control.answer(id, { kind: "failed", error: "No." });
    await first.result;
    await expect(served.server.server.elicitInput({ message: "?", requestedSchema: schema })).resolves.toMatchObject({
      action: "cancel",
    });
    expect(errors.at(-1)).toContain("while none of its calls was");
  });

  it("is canceled without a question to the user if its schema is hostile", async () => {
    const properties = Object.fromEntries(Array.from({ length: 51 }, (_, index) => [`f${index}`, { type: "string" }]));
    const { start, errors } = await setUp(generation, { message: "Where to?", requestedSchema: { type: "object", properties } });
    const playing = start();
    expect(await resultOf(playing)).toMatchObject({ action: "cancel" });
    expect([playing.recording.types().includes("question-asked"), errors.join()]).toEqual([
      false,
      "The MCP server asked a question with an unsupported mode or schema.",
    ]);
  });

  it('is possible only if the client has the "elicitation" capability', async () => {
    const served = createToolServer([{ name: "book" }]);
    const { client } = await closing(generation.connectTo(served.server));
    const refused = await createMcpRegistry({ client, elicitation: true }).catch((error: unknown) => error);
    expect(isLoopError(refused, "invalid-option") && refused.message).toContain('capability "elicitation"');
  });
});

describe("readRequestedSchema", () => {
  const read = (property: unknown): unknown => {
    const found = readRequestedSchema({ type: "object", properties: { a: property } });
    const json = found?.["~standard"].jsonSchema?.input({ target: "draft-2020-12" });
    return json === undefined ? undefined : (json["properties"] as { readonly a: unknown }).a;
  };

  it("copies a field's known keywords and rejects unsupported fields", () => {
    expect(read({ type: "string", title: "T", default: "x", $ref: "#/a", format: "email" })).toEqual({
      type: "string",
      title: "T",
      default: "x",
      format: "email",
    });
    const choice = [{ const: "a", title: "A" }];
    expect(read({ type: "string", oneOf: choice })).toEqual({ type: "string", enum: ["a"], enumNames: ["A"] });
    expect(read({ type: "array", maxItems: 1, items: { anyOf: choice } })).toMatchObject({ items: { enum: ["a"] }, maxItems: 1 });
    for (const field of [
      { type: "object", properties: {} },
      { type: "array", items: { type: "object" } },
      { type: ["string"] },
      { type: "string", enum: [1] },
      { type: "string", enum: Array.from({ length: 201 }, String) },
      "string",
      null,
    ])
      expect(read(field)).toBeUndefined();
  });

  it("rejects hostile names", () => {
    const hostile = [JSON.parse('{"__proto__":{"type":"string"}}'), { ["a".repeat(65)]: { type: "boolean" } }, [], null] as const;
    for (const properties of hostile.slice(0, 2)) expect(readRequestedSchema({ type: "object", properties })).toBeUndefined();
    for (const schema of hostile.slice(2)) expect(readRequestedSchema(schema)).toBeUndefined();
  });

  it("checks each value in an answer", async () => {
    const properties = {
      text: { type: "string", maxLength: 2 },
      whole: { type: "integer", maximum: 3 },
      yes: { type: "boolean" },
      some: { type: "array", items: { enum: ["a", "b"] }, minItems: 1 },
    };
    const found = readRequestedSchema({ type: "object", properties, required: ["yes", "other"] });
    const check = async (value: unknown): Promise<string> => {
      const result = await found?.["~standard"].validate(value);
      return result?.issues?.map(({ message }) => message).join() ?? "fits";
    };
    const rows: readonly (readonly [unknown, string])[] = [
      [{ yes: true, text: "ab", whole: 3, some: ["a"] }, "fits"],
      [{ text: "ab" }, "is required"],
      [{ yes: "true" }, "must be of the type boolean"],
      [{ yes: true, text: "abc" }, "must have at most 2 characters"],
      [{ yes: true, whole: 1.5 }, "must be of the type integer"],
      [{ yes: true, whole: 4 }, "must be at most 3"],
      [{ yes: true, some: ["c"] }, "must be one of the values of the question"],
      [{ yes: true, some: [] }, "must have at least 1 values"],
      [{ yes: true, more: 1 }, "is not a field of this question"],
      [[], "must be an object with fields"],
    ];
    for (const [value, expected] of rows) expect(await check(value)).toBe(expected);
  });
});
