import { describe, expect, it, onTestFinished } from "vitest";
import {
  contextRestart,
  contextRestarts,
  createContextStash,
  defineTool,
  type LoopOptions,
  runToolLoop,
  type Tool,
} from "turnwright";
import { type Scripted, type Wire, wires } from "../../wire/all-wires.ts";
import { toolNamesIn, userTextsIn } from "../../wire/read-body.ts";
import { startRawServer } from "../../wire/raw-sse-server.ts";

const stash = createContextStash();
const inputSchema = { type: "object" };
const restart = (name: string, more: () => object): Tool =>
  defineTool({
    name,
    description: name,
    inputSchema,
    execute: () => contextRestart({ type: "context_restart_profile", ...more() }),
  });

const tools: readonly Tool[] = [
  restart("enrich", () => ({ enhanced_context_item: { name: "Ada" }, disable_tools: ["enrich"] })),
  restart("recall", () => ({ pending_context_key: stash.put({ likes: "tides" }) })),
];

const calling = (id: string, name: string): Scripted => ({ text: "Wait.", calls: [[id, name, "{}"]], end: "tools" });

async function send(wire: Wire, script: readonly Scripted[], more: Partial<LoopOptions> = {}): Promise<readonly unknown[]> {
  const server = await startRawServer(script.map((scripted) => wire.toReply(scripted)));
  onTestFinished(() => server.close());
  const { provider, bodies } = wire.connect(server.url);
  const messages = [{ role: "user" as const, content: "Who am I?" }];
  const { text } = await runToolLoop({ provider, tools, messages, middleware: [contextRestarts({ stash })], ...more });
  expect(text).toBe("Hello.");
  expect(bodies.map((body) => wire.check(body))).toEqual(bodies.map(() => []));
  return bodies;
}

const hello: Scripted = { text: "Hello.", end: "stop" };

describe.for(wires)("context items in $name requests", (wire) => {
  it("form the last message if the caller passes the items", async () => {
    const bodies = await send(wire, [hello], { middleware: [contextRestarts({ items: ["It is night.", { at: "home" }] })] });
    expect(bodies.map(userTextsIn)).toEqual([["Who am I?", 'Context:\nIt is night.\n{"at":"home"}']]);
  });

  it("follow the results after a restart, in a request without the disabled tools", async () => {
    const bodies = await send(wire, [calling("call_1", "enrich"), hello]);
    expect(bodies.map(userTextsIn)).toEqual([["Who am I?"], ["Who am I?", 'Context:\n{"name":"Ada"}']]);
    const sent = JSON.stringify(bodies[1]);
    expect(sent.indexOf("context_restarted")).toBeGreaterThan(0);
    expect(sent.indexOf("context_restarted")).toBeLessThan(sent.indexOf("Context:"));
    expect(bodies.map(toolNamesIn)).toEqual([["enrich", "recall"], ["recall"]]);
  });

  it("are in the same message as items from a stash", async () => {
    const bodies = await send(wire, [calling("call_1", "enrich"), calling("call_2", "recall"), hello]);
    expect(bodies.map((body) => userTextsIn(body).at(-1))).toEqual([
      "Who am I?",
      'Context:\n{"name":"Ada"}',
      'Context:\n{"name":"Ada"}\n{"likes":"tides"}',
    ]);
    expect(userTextsIn(bodies[2])).toHaveLength(2);
  });
});
