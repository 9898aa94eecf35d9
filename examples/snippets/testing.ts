// Tests with mock models, which answer from a script and record their requests.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import OpenAI from "openai";
import { z } from "zod";
import {
  defineAgentTool,
  defineTool,
  type LoopResult,
  memoryJournal,
  type Message,
  type ModelChunk,
  type Provider,
  runToolLoop,
} from "turnwright";
import { openaiChat } from "turnwright/openai";
import {
  createMockProvider,
  createTestClock,
  fail,
  memoryCassette,
  recordEvents,
  recordTo,
  replayFrom,
  runTool,
  stall,
  strictService,
  text,
  toolCall,
  usage,
} from "turnwright/testing";

const messages: readonly Message[] = [{ role: "user", content: "Coat?" }];

// #region mock
const weather = defineTool({
  name: "get_weather",
  description: "Current weather of a city",
  inputSchema: { type: "object" },
  execute: () => ({ city: "Oslo", celsius: 7 }),
});
const provider = createMockProvider([toolCall("get_weather", { city: "Oslo" }, { id: "call_1" }), text("Take a coat.")]);
const result = await runToolLoop({ provider, tools: [weather], messages: [{ role: "user", content: "Coat?" }] });

assert.equal(result.text, "Take a coat.");
// The model read this tool result before it answered.
assert.deepEqual(provider.requests[1]?.messages.at(-1), {
  role: "tool",
  results: [{ callId: "call_1", name: "get_weather", outcome: "completed", result: { city: "Oslo", celsius: 7 } }],
});
// #endregion mock

{
  // #region turns
  const provider = createMockProvider([
    [text("Let me see."), toolCall("get_weather", { city: "Oslo" }), usage({ inputTokens: 900, outputTokens: 30 })],
    [text("Take a"), fail({ status: 503, message: "Overloaded" })],
  ]);
  const { reason, text: said } = await runToolLoop({ provider, tools: [weather], messages });
  assert.deepEqual([reason.kind, said], ["provider-error", "Take a"]);
  // #endregion turns
}

{
  // #region resumed
  const pay = defineTool({
    name: "pay",
    description: "Pays",
    inputSchema: { type: "object" },
    needsApproval: true,
    execute: () => "paid",
  });
  const createModel = () => createMockProvider(({ messages: said }) => (said.length === 1 ? toolCall("pay") : text("Paid.")));
  const options = { tools: [pay], messages, runId: "bill-7", journal: memoryJournal() };
  const first = await runToolLoop({ ...options, provider: createModel() });
  assert(first.reason.kind === "approval-required");
  const answers = Object.fromEntries(first.reason.calls.map(({ id }) => [id, { kind: "approve" as const }]));
  const second = await runToolLoop({ ...options, provider: createModel(), answers }); // as in a new process
  assert.equal(second.text, "Paid.");
  // #endregion resumed
}

{
  const researcher = defineAgentTool({
    name: "research",
    description: "Answers a question",
    inputSchema: z.object({ question: z.string() }),
    prepare: ({ question }) => ({ messages: [{ role: "user", content: question }], tools: [weather] }),
  });
  const provider = createMockProvider([toolCall("get_weather"), text("7 degrees.")]);
  const outcome = await runTool(researcher, { question: "How warm is it?" }, { provider });
  assert(outcome.kind === "completed");
  assert.equal(outcome.data, "7 degrees.");
  assert.equal(provider.calls, 2);
}

{
  const provider = createMockProvider([toolCall("get_weather"), text("Yes.")], { usage: false });
  const pricing = (): number => 0.01;
  const { reason } = await runToolLoop({ provider, tools: [weather], messages, pricing, limits: { maxCostUSD: 1 } });
  assert.equal(reason.kind, "cost-unknown"); // with estimates, the run would complete
}

{
  const provider = createMockProvider([toolCall("get_weather")]);
  const { reason } = await runToolLoop({ provider, tools: [weather], messages });
  assert(reason.kind === "provider-error");
  assert.equal(reason.error.code, "server");
  assert.match(reason.error.message, /asked for message 1 \(counted from 0\), but the script has only 1/);
}

{
  // #region silence
  const clock = createTestClock();
  const recording = recordEvents();
  const running = runToolLoop({ provider: createMockProvider([stall()]), messages, clock, events: recording.emitter });
  await clock.advance(300_000);
  assert.equal((await running).reason.kind, "first-chunk");
  assert.equal(clock.pending, 0); // no timer is left
  assert.match(recording.outline(), /^run-start\n {2}iteration-start 0\n/);
  // #endregion silence
}

{
  const folder = mkdtempSync(join(tmpdir(), "cassettes-"));
  const home = process.cwd();
  process.chdir(folder);
  const service = createMockProvider([toolCall("get_weather", { city: "Oslo" }), text("Take a coat.")]);
  const tools = [weather];
  const answers = async (provider: Provider): Promise<LoopResult> => {
    // #region cassette
    // With RECORD=1, the streams of the real service are recorded. Later, the test needs neither the service nor a key.
    const tape = "weather.jsonl";
    const model = process.env["RECORD"] === "1" ? recordTo(tape, provider) : replayFrom(tape);
    const result = await runToolLoop({ provider: model, tools, messages });
    assert.equal(result.text, "Take a coat.");
    // #endregion cassette
    return result;
  };
  process.env["RECORD"] = "1";
  const recorded = await answers(service);
  delete process.env["RECORD"];
  const replayed = await answers(service);
  assert.equal(service.calls, 2);
  process.chdir(home);
  assert.deepEqual(replayed.messages, recorded.messages);
  rmSync(folder, { recursive: true });
}

{
  const cassette = memoryCassette();
  await runToolLoop({ provider: recordTo(cassette, createMockProvider([text("Hi.")])), messages });
  const provider = replayFrom(cassette);
  const { reason } = await runToolLoop({ provider, messages, system: "Be brief." });
  assert(reason.kind === "provider-error");
  assert.match(
    reason.error.message,
    /^The cassette does not contain this request\. .* nearest recorded request 0 .*"system" is new/,
  );
}

{
  const cassette = memoryCassette();
  const said = createMockProvider([text("Your key is 4711-0815.")]);
  // #region redact-cassette
  const redact = ({ chunk }: { readonly chunk: ModelChunk }): ModelChunk =>
    chunk.type === "text-delta" ? { ...chunk, text: chunk.text.replace(/\d{4}-\d{4}/, "****") } : chunk;
  const result = await runToolLoop({ provider: recordTo(cassette, said, { redact }), messages });
  assert.equal(result.text, "Your key is ****."); // the recorded run gets the same redacted chunks as the file
  // #endregion redact-cassette
  assert(!cassette.read().includes("4711"));
}

{
  // #region strict
  const service = strictService("mistral", { answers: [toolCall("get_weather", { city: "Oslo" }), text("Take a coat.")] });
  const client = new OpenAI({ apiKey: "test", baseURL: "https://api.mistral.ai/v1", fetch: service.fetch });
  const provider = openaiChat({ client, model: "mistral-large-4" });
  const result = await runToolLoop({ provider, tools: [weather], messages });

  assert.equal(result.text, "Take a coat.");
  assert.equal(service.refusals.length, 0);
  // #endregion strict

  // Mistral refuses a user message directly after a tool message. The adapter puts an assistant message between them.
  const wrong = [
    { role: "tool" as const, tool_call_id: "abcdefghi", content: "7" },
    { role: "user" as const, content: "Coat?" },
  ];
  await assert.rejects(client.chat.completions.create({ model: "mistral-large-4", messages: wrong }), { status: 400 });
  assert.match(service.refusals[0]?.rule ?? "", /^A user message does not come directly after a tool message/);
}
