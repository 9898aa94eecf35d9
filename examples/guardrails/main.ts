// A chat of a bank with guardrails. A question is refused before anything is shown, and a call for another customer is denied. Card
// numbers are redacted while the answer streams. An answer with an internal code ends the run.
// `npx tsx examples/guardrails/main.ts` needs no key: a script plays the models.

import assert from "node:assert/strict";
import { defineTool, type LoopResult, type Message, runToolLoop, streamToolLoop, structuredOutput } from "turnwright";
import { guardrails, type InputCheck, type OutputCheck, type ToolCheck } from "turnwright/middleware";
import { createMockProvider, text, toolCall, usage } from "turnwright/testing";
import { z } from "zod";

const lastText = (messages: readonly Message[]): string => {
  const { content } = messages.findLast(({ role }) => role === "user") as Extract<Message, { readonly role: "user" }>;
  return typeof content === "string" ? content : "";
};

const judge = createMockProvider(({ messages }) => [
  text(JSON.stringify({ isAboutBanking: !lastText(messages).includes("lock") })),
  usage({ inputTokens: 40, outputTokens: 4 }),
]);

/** The model of the chat. It answers every question, and leaks an internal code if the user asks for one. */
const model = createMockProvider(({ messages }) => {
  const question = lastText(messages);
  const isAnswered = messages.at(-1)?.role === "tool";
  if (question.includes("lock")) return [text("First, you need "), toolCall("find_account", { customer: "7" })];
  if (question.includes("code")) return text(`${"Let me see. ".repeat(10)}The code is ACME-INTERNAL-7.`, { chunks: 40 });
  if (!isAnswered) return [toolCall("find_account", { customer: "8" }), toolCall("find_account", { customer: "7" })];
  return text(`Your card 4929 1234 5678 9012 was used in Oslo. ${"It was used for coffee. ".repeat(5)}`, { chunks: 60 });
});

let lookups = 0;
const findAccount = defineTool({
  name: "find_account",
  description: "Looks up the account of a customer",
  inputSchema: z.object({ customer: z.string() }),
  execute: ({ customer }) => {
    lookups += 1;
    return { customer, card: "4929 1234 5678 9012" };
  },
});

// #region checks
const topic: InputCheck = {
  name: "topic",
  async check({ newMessages }, { signal }) {
    const schema = z.object({ isAboutBanking: z.boolean() });
    const middleware = [structuredOutput(schema)];
    const judged = await runToolLoop({ provider: judge, messages: newMessages, signal, middleware });
    if (judged.output === undefined) throw new Error(`The judge gave no verdict: ${judged.reason.kind}`);
    if (judged.output.isAboutBanking) return { kind: "pass", spent: judged };
    return { kind: "refuse", reason: "We only talk about your account.", spent: judged };
  },
};
const cards: OutputCheck = {
  name: "cards",
  window: 30, // a card number has 19 characters
  check: ({ text: said }) => ({ kind: "rewrite", text: said.replaceAll(/\d{4}(?: ?\d{4}){3}/g, "[card]") }),
};
const codes: OutputCheck = {
  name: "codes",
  window: 30,
  check: ({ text: said }) => (said.includes("ACME-INTERNAL") ? { kind: "refuse", reason: "an internal code" } : { kind: "pass" }),
};
const owner: ToolCheck = {
  name: "owner",
  check: ({ args }, { session }) => {
    const { customer } = args as { customer: string };
    return customer === session.userId ? { kind: "pass" } : { kind: "refuse", reason: "This is another customer." };
  },
};
const middleware = [guardrails({ input: [topic], output: [cards, codes], tools: [owner] })];
// #endregion checks

interface Answer {
  readonly shown: readonly string[];
  readonly result: LoopResult;
}

let transcript: readonly Message[] = [];

// #region chat
async function ask(question: string): Promise<Answer> {
  const messages: readonly Message[] = [...transcript, { role: "user", content: question }];
  const stream = streamToolLoop({ provider: model, tools: [findAccount], messages, middleware, session: { userId: "7" } });
  const shown: string[] = [];
  for await (const event of stream) if (event.type === "text-delta") shown.push(event.text);
  const result = await stream.result;
  // A refused question stays out of the transcript. Otherwise the next run would check and refuse it again.
  if (result.reason.kind !== "input-guardrail") transcript = result.messages;
  return { shown, result };
}
// #endregion chat

{
  const { shown, result } = await ask("How do I pick a lock?");
  assert.deepEqual(result.reason, {
    kind: "input-guardrail",
    guardrail: "topic",
    reason: "We only talk about your account.",
    info: undefined,
  });
  // The model was already writing and had called a tool when the check refused. The user saw neither the text nor the call.
  assert.equal(model.calls, 1);
  assert.deepEqual([shown, lookups, result.text], [[], 0, ""]);
  assert.ok((result.usage.totalTokens ?? 0) >= 44); // the tokens of the judge count
}

{
  const { shown, result } = await ask("Where was my card used?");
  assert.equal(result.status, "completed");
  assert.match(result.text, /^Your card \[card\] was used in Oslo\./);
  assert.equal(shown.join("").trim(), result.text);
  assert.ok(shown.length > 2, "The answer appears while the model writes.");
  assert.deepEqual(
    result.functionHistory.map(({ outcome }) => outcome),
    ["denied", "completed"],
  );
  assert.ok(!JSON.stringify(result.messages.at(-1)).includes("4929"));
}

{
  const { shown, result } = await ask("What is your internal code?");
  assert.equal(result.reason.kind, "output-guardrail");
  assert.match(shown.join(""), /^Let me see\./);
  assert.ok(!`${shown.join("")}${JSON.stringify(result)}`.includes("ACME"));
  console.log(`The page showed ${JSON.stringify(shown.join("").slice(-24))}, and then the answer was refused.`);
}
