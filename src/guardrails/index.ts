export {
  type CheckContext,
  type CheckedInput,
  type CheckedOutput,
  type GuardrailOptions,
  guardrails,
  type InputCheck,
  type OutputCheck,
  type ToolCheck,
} from "./guardrails.ts";
export type { CheckSpending, InputVerdict, OutputVerdict, ToolVerdict } from "./verdicts.ts";
