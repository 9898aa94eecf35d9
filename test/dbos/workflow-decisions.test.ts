import { DBOS } from "@dbos-inc/dbos-sdk";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { defineTool, runToolLoop } from "turnwright";
import { readWaits, runInWorkflow, sendAnswer } from "turnwright/dbos";
import { createMockProvider, text, toolCall } from "turnwright/testing";
import { type Postgres, startPostgres } from "../../examples/workers/start-postgres.ts";

let postgres: Postgres;
const inputSchema = { type: "object" } as const;
const book = defineTool({ name: "book", description: "Books", inputSchema, needsApproval: true, execute: () => "Booked." });
const sign = defineTool({ name: "sign", description: "A person signs", inputSchema });

const answer = DBOS.registerWorkflow(
  async (tool: string): Promise<string> => {
    const provider = createMockProvider(({ iteration }) => [iteration === 0 ? toolCall(tool) : text("Done.")]);
    const messages = [{ role: "user" as const, content: "Go." }];
    const end = await runInWorkflow((ports) => runToolLoop({ provider, tools: [book, sign], messages, ...ports }));
    return JSON.stringify(end.messages);
  },
  { name: "answer" },
);

beforeAll(async () => {
  postgres = await startPostgres();
  const own = { applicationVersion: "1", executorID: "a", logLevel: "error" };
  DBOS.setConfig({ name: "decisions", systemDatabaseUrl: postgres.url, ...own });
  await DBOS.launch();
}, 60_000);

afterAll(async () => {
  await DBOS.shutdown();
  await postgres.stop();
});

/** Starts a workflow, and returns the id of its waiting call. */
async function start(workflowID: string, tool: string): Promise<string> {
  await DBOS.startWorkflow(answer, { workflowID })(tool);
  const find = async () => (await readWaits(workflowID))[0]?.id;
  await expect.poll(find, { timeout: 20_000 }).toBeDefined();
  return (await find()) ?? "";
}

describe("a workflow's waiting call", () => {
  it("keeps waiting after messages that are not decisions", async () => {
    const callId = await start("noise", "book");
    const unfit = JSON.stringify({ id: callId, attempt: 0, value: { kind: "yes" } });
    for (const noise of ["not JSON", unfit, "null", 7]) await DBOS.send("noise", noise, "turnwright answers");
    await sendAnswer("noise", callId, { kind: "approve" });
    expect(await DBOS.getResult("noise")).toContain("Booked.");
  }, 30_000);
});

describe("sendDecision", () => {
  it("approves a workflow's waiting call", async () => {
    const callId = await start("approved", "book");
    await sendAnswer("approved", callId, { kind: "approve" });
    expect(await DBOS.getResult("approved")).toContain("Booked.");
  }, 30_000);

  it("passes a result to a workflow's waiting call", async () => {
    const callId = await start("signed", "sign");
    await sendAnswer("signed", callId, { kind: "result", result: "Kim" });
    expect(await DBOS.getResult("signed")).toContain("Kim");
  }, 30_000);

  it.each([
    ["an unknown call", "nobody", { kind: "approve" }, "unknown-decision"],
    ["a result instead of an approval", undefined, { kind: "result", result: 1 }, "invalid-decision"],
    ["a malformed decision", undefined, { kind: "yes" }, "invalid-decision"],
    ["a decision that is not an object", undefined, "approve", "invalid-decision"],
  ])(
    "refuses %s, and the call keeps waiting",
    async (...[title, id, decision, code]) => {
      const callId = await start(title, "book");
      await expect(sendAnswer(title, id ?? callId, decision as never)).rejects.toMatchObject({ code });
      await sendAnswer(title, callId, { kind: "approve" });
      expect(await DBOS.getResult(title)).toContain("Booked.");
    },
    30_000,
  );
});
