// Checks of the input, the output and the tool calls.

import assert from "node:assert/strict";
import {
  createLoopEvents,
  defineTool,
  type Message,
  type Provider,
  runToolLoop,
  streamToolLoop,
  structuredOutput,
} from "turnwright";
import { guardrails, type InputCheck, type OutputCheck, type ToolCheck } from "turnwright/middleware";
import { createMockProvider, text, toolCall, usage } from "turnwright/testing";
import { z } from "zod";

const messages: readonly Message[] = [{ role: "user", content: "When does my parcel arrive?" }];
const shown: string[] = [];
const console = { log: (line: string): void => void shown.push(line) };
const readFile = defineTool({
  name: "read_file",
  description: "Reads a file",
  inputSchema: z.object({ path: z.string() }),
  execute: ({ path }) => `content of ${path}`,
});
const tools = [readFile];

{
  const provider = createMockProvider([
    [toolCall("read_file", { path: "/etc/passwd" }), toolCall("read_file", { path: "/data/parcels" })],
    text("Call 0301234567 tomorrow."),
  ]);
  // #region checks
  const middleware = [
    guardrails({
      input: [{ name: "length", check: ({ text: asked }) => (asked.length > 5_000 ? { kind: "refuse" } : { kind: "pass" }) }],
      output: [
        { name: "numbers", check: ({ text: said }) => ({ kind: "rewrite", text: said.replaceAll(/\d{6,}/g, "[number]") }) },
      ],
      tools: [
        {
          name: "folder",
          check: ({ args }) => {
            const { path } = args as { path: string };
            return path.startsWith("/data/") ? { kind: "pass" } : { kind: "refuse", reason: "Only files in /data." };
          },
        },
      ],
    }),
  ];
  const result = await runToolLoop({ provider, tools, messages, middleware });
  // result.text: "Call [number] tomorrow." The refused call has the outcome "denied", and the model read the reason.
  // #endregion checks
  assert.equal(result.text, "Call [number] tomorrow.");
  assert.deepEqual(
    result.functionHistory.map(({ outcome }) => outcome),
    ["denied", "completed"],
  );
}

{
  const provider = createMockProvider([text("First, you need a thin wire.")]);
  const topic: InputCheck = { name: "topic", check: () => ({ kind: "refuse", reason: "Not about parcels." }) };
  const middleware = [guardrails({ input: [topic] })];
  // #region refused
  const { reason } = await runToolLoop({ provider, messages, middleware });
  if (reason.kind === "input-guardrail") console.log(`${reason.guardrail}: ${reason.reason}`); // "topic: Not about parcels."
  // #endregion refused
  assert.deepEqual(shown.splice(0), ["topic: Not about parcels."]);
}

{
  const provider = createMockProvider([
    text(`Call us at 0301234567. ${"Or write to the desk in the hall. ".repeat(4)}`, { chunks: 50 }),
  ]);
  const process = { stdout: { write: console.log } };
  // #region window
  const numbers: OutputCheck = {
    name: "numbers",
    window: 40, // no number that the check looks for is longer
    check: ({ text: said }) => ({ kind: "rewrite", text: said.replaceAll(/\d{6,}/g, "[number]") }),
  };
  const stream = streamToolLoop({ provider, messages, middleware: [guardrails({ output: [numbers] })] });
  for await (const event of stream) if (event.type === "text-delta") process.stdout.write(event.text); // shows the first text before the model is done
  // #endregion window
  assert.ok(shown.length > 1);
  assert.match(shown.splice(0).join(""), /^Call us at \[number\]\. Or write/);
}

{
  const strict: ToolCheck = {
    name: "folder",
    check: ({ args }) => {
      const { path } = args as { path: string };
      if (path.startsWith("/etc")) return { kind: "refuse", reason: "A system file.", endsRun: true };
      if (path.startsWith("/data/")) return { kind: "pass" };
      return { kind: "rewrite", args: { path: `/data/${path}` } };
    },
  };
  const middleware = [guardrails({ tools: [strict] })];
  const rewritten = await runToolLoop({
    provider: createMockProvider([toolCall("read_file", { path: "a" }), text("Done.")]),
    tools,
    messages,
    middleware,
  });
  assert.match(JSON.stringify(rewritten.messages), /content of \/data\/a/);
  const ended = await runToolLoop({
    provider: createMockProvider([toolCall("read_file", { path: "/etc/passwd" })]),
    tools,
    messages,
    middleware,
  });
  assert.deepEqual(ended.reason, {
    kind: "tool-guardrail",
    guardrail: "folder",
    toolName: "read_file",
    reason: "A system file.",
  });
}

{
  const small: Provider = createMockProvider([[text('{"isAboutParcels":true}'), usage({ inputTokens: 30, outputTokens: 5 })]]);
  const provider = createMockProvider([[text("Tomorrow."), usage({ inputTokens: 10, outputTokens: 5 })]]);
  const pricing = (): number => 0.25;
  // #region model
  const schema = z.object({ isAboutParcels: z.boolean() });
  const topic: InputCheck = {
    name: "topic",
    async check({ text: asked }, { signal }) {
      const judged = await runToolLoop({
        provider: small,
        system: "Is the text about parcels?",
        messages: [{ role: "user", content: asked }],
        signal,
        pricing,
        middleware: [structuredOutput(schema)],
      });
      if (judged.output === undefined) throw new Error(`The judge gave no verdict: ${judged.reason.kind}`); // ends the run
      if (judged.output.isAboutParcels) return { kind: "pass", spent: judged };
      return { kind: "refuse", reason: "Not about parcels.", spent: judged };
    },
  };
  const result = await runToolLoop({ provider, messages, pricing, middleware: [guardrails({ input: [topic] })] });
  // result.usage and result.costUSD include the tokens and the cost of the judge
  // #endregion model
  assert.deepEqual([result.text, result.usage.totalTokens, result.costUSD], ["Tomorrow.", 50, 0.5]);
}

{
  const provider = createMockProvider([text("Tomorrow.")]);
  const middleware = [
    guardrails({
      input: [{ name: "length", check: () => ({ kind: "pass" }) }],
      output: [{ name: "tone", parts: ["text"], check: () => ({ kind: "pass" }) }],
    }),
  ];
  const events = createLoopEvents();
  events.on("guardrail", ({ stage, guardrail, verdict }) => console.log(`${stage} ${guardrail}: ${verdict}`));
  await runToolLoop({ provider, messages, middleware, events });
  // "input length: pass", "output tone: pass"
  assert.deepEqual(shown.splice(0), ["input length: pass", "output tone: pass"]);
}
