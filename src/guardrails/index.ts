export type { CheckContext, CheckedInput, CheckedOutput, InputCheck, OutputCheck, ToolCheck } from "./checks.ts";
export { type GuardrailOptions, guardrails } from "./guardrails.ts";
export type { CheckSpending, InputVerdict, OutputVerdict, ToolVerdict } from "./verdicts.ts";
