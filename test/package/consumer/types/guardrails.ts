import type { LoopResult, Middleware } from "turnwright";
import {
  type CheckContext,
  type CheckedInput,
  type CheckedOutput,
  type CheckSpending,
  type GuardrailOptions,
  guardrails,
  type InputCheck,
  type InputVerdict,
  type OutputCheck,
  type OutputVerdict,
  type ToolCheck,
  type ToolVerdict,
} from "turnwright/middleware";

export const spentBy = (result: LoopResult): CheckSpending => result;

async function judge({ text, newMessages }: CheckedInput, { signal, session }: CheckContext): Promise<InputVerdict> {
  signal.throwIfAborted();
  if (newMessages.length > 3) return { kind: "refuse", reason: session.userId, info: { count: newMessages.length } };
  return { kind: text === "" ? "refuse" : "pass" };
}

const redact = ({ text, part }: CheckedOutput): OutputVerdict =>
  part === "text" ? { kind: "rewrite", text: text.trim() } : { kind: "pass" };

const deny = (name: string): ToolVerdict => ({ kind: "refuse", reason: name, endsRun: true });

export const input: InputCheck = { name: "judge", check: judge };
export const output: OutputCheck = { name: "redact", window: 40, parts: ["text"], check: redact };
export const call: ToolCheck = { name: "deny", check: ({ name }) => deny(name) };
export const options: GuardrailOptions = { input: [input], output: [output], tools: [call] };
export const policy: Middleware = guardrails(options);
