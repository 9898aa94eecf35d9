import { describe, expect, it, onTestFinished, vi } from "vitest";
import { createMcpRegistry, type McpRegistryOptions } from "turnwright/mcp";
import { text, toolCall } from "turnwright/testing";
import { answersOf, play } from "../loop/play.ts";
import { closing, type Connection, generations } from "./connect.ts";
import { type Answer, createToolServer, says, type ToolServer } from "./tool-server.ts";

const notFound = "Error POSTing to endpoint (HTTP 404): Session not found";
const expired: readonly (readonly [what: string, error: Error])[] = [
  ["404 in the code", Object.assign(new Error(notFound), { code: 404 })],
  ["404 in the data", Object.assign(new Error("Session not found"), { code: "HTTP", data: { status: 404 } })],
  ["404 in the text only", new Error(notFound)],
  ["400 without a session", Object.assign(new Error("Bad Request: No valid session ID provided"), { code: 400 })],
  ["400 from a restarted server", Object.assign(new Error("Bad Request: Server not initialized"), { code: 400 })],
];

interface Stage {
  readonly client: Connection["client"];
  readonly errors: unknown[];
  readonly served: ToolServer;
  outcomes(calls?: number): Promise<readonly string[]>;
  /** The next request for a call fails with this error. */
  failWith(error: Error): void;
}

describe.for(generations)("createMcpRegistry with a client of $name", (generation) => {
  async function setUp({ answer, ...options }: Partial<McpRegistryOptions> & { answer?: Answer } = {}): Promise<Stage> {
    const served = createToolServer([{ name: "now" }], answer);
    const { client } = await closing(generation.connectTo(served.server));
    const errors: unknown[] = [];
    let failure: Error | undefined;
    const own = client as unknown as Record<string, (...args: readonly unknown[]) => unknown>;
    const send = own["request"]?.bind(client);
    Object.assign(client, {
      request: (...args: readonly unknown[]): unknown => {
        const error = failure;
        failure = undefined;
        return error === undefined ? send?.(...args) : Promise.reject(error);
      },
    });
    const tools = await createMcpRegistry({ client, onError: (error) => void errors.push(error), ...options });
    const outcomes = async (calls = 1): Promise<readonly string[]> => {
      const batch = Array.from({ length: calls }, () => toolCall("now", { n: 1 }));
      const result = await play([batch, text("Done.")], { tools }).result;
      return answersOf(result).map(({ outcome }) => outcome);
    };
    return { client, errors, served, outcomes, failWith: (error) => void (failure = error) };
  }

  it.for(expired)("reports a lost session to onError: %s", async ([, error]) => {
    const stage = await setUp();
    stage.failWith(error);
    expect([await stage.outcomes(), stage.errors]).toEqual([["failed"], [error]]);
  });

  it.for(expired)("calls `reconnect`, and sends the call again: %s", async ([, error]) => {
    const seen: unknown[] = [];
    const stage = await setUp({ reconnect: (client, found) => void seen.push(client, found) });
    stage.failWith(error);
    expect(await stage.outcomes()).toEqual(["completed"]);
    expect([seen[0] === stage.client, seen[1], stage.errors]).toEqual([true, error, []]);
  });

  it("reconnects a closed client once for several calls", async () => {
    let count = 0;
    const stage = await setUp({
      reconnect: async (client) => {
        count += 1;
        await generation.reconnect(client, createToolServer([{ name: "now" }]).server);
      },
    });
    await (stage.client as unknown as { close(): Promise<void> }).close();
    expect([await stage.outcomes(3), count, stage.errors]).toEqual([["completed", "completed", "completed"], 1, []]);
    expect(await stage.outcomes()).toEqual(["completed"]);
  });

  it("does not repeat a call that may have run, but reconnects", async () => {
    let count = 0;
    const stage = await setUp({ reconnect: () => void (count += 1) });
    stage.failWith(Object.assign(new Error("MCP error -32000: Connection closed"), { code: -32_000 }));
    expect([await stage.outcomes(), count, await stage.outcomes()]).toEqual([["failed"], 1, ["completed"]]);
  });

  it("waits at most five seconds for another call to finish before it reconnects", async () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    let count = 0;
    let answerFirst = (): void => {};
    const answered = new Promise<void>((resolve) => (answerFirst = resolve));
    const stage = await setUp({
      reconnect: () => void (count += 1),
      answer: async () => {
        if (stage.served.calls.length === 1) await answered;
        return says("Done.");
      },
    });
    stage.failWith(new Error(notFound));
    const outcomes = stage.outcomes(2);
    await vi.advanceTimersByTimeAsync(4_999);
    expect(count).toBe(0);
    await vi.advanceTimersByTimeAsync(1);
    expect(count).toBe(1);
    answerFirst();
    expect(await outcomes).toEqual(["completed", "completed"]);
  });

  it("reports an error thrown by `reconnect`", async () => {
    const broken = new Error("The server is down.");
    const stage = await setUp({ reconnect: () => Promise.reject(broken) });
    stage.failWith(new Error(notFound));
    expect([await stage.outcomes(), stage.errors]).toEqual([["failed"], [broken]]);
  });

  it("does not reconnect after other errors", async () => {
    let count = 0;
    const stage = await setUp({ reconnect: () => void (count += 1) });
    const errors = [
      new Error("Invalid params"),
      Object.assign(new Error("Tool not found"), { code: 404 }),
      Object.assign(new Error("Error POSTing to endpoint: no such tool"), { code: 404 }),
    ];
    for (const error of errors) {
      stage.failWith(error);
      expect(await stage.outcomes()).toEqual(["failed"]);
    }
    expect(count).toBe(0);
  });
});
