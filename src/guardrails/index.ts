export type {
  CheckContext,
  CheckedInput,
  CheckedOutput,
  CheckSpending,
  InputCheck,
  InputVerdict,
  OutputCheck,
  OutputVerdict,
  ToolCheck,
  ToolVerdict,
} from "./checks.ts";
export { type GuardrailOptions, guardrails } from "./guardrails.ts";
