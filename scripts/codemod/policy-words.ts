// The names of policies and hooks, and the middleware that replaces them.

/** The recommended order of middleware, outermost first, by the name of the policy or hook. */
export const order: readonly string[] = [
  "onIteration",
  "masking",
  "handoffs",
  "compaction",
  "restarts",
  "prepareIteration",
  "output",
  "loopDetection",
  "stopWhen",
  "finalAnswer",
  "preToolText",
  "guardrails",
  "promptCache",
  "gate",
  "results",
  "approve",
];

/** The functions that take the value of a policy. The values of other policies are middleware already. */
export const factories: { readonly [policy: string]: string } = {
  approve: "approve",
  gate: "gateTools",
  restarts: "contextRestarts",
  preToolText: "preToolText",
  finalAnswer: "finalAnswer",
  stopWhen: "stopWhen",
  prepareIteration: "prepareIteration",
  onIteration: "onIteration",
};

const words: { readonly [policy: string]: string } = {
  ...factories,
  masking: "maskResults",
  handoffs: "createHandoffs",
  compaction: "compactMessages",
  output: "structuredOutput",
  loopDetection: "detectLoops",
  guardrails: "guardrails",
  promptCache: "watchPromptCache",
  results: "processResults",
  allowToolChange: "allowToolChange",
};

/** The new names of local variables that hide a factory. */
export const otherNames: { readonly [factory: string]: readonly string[] } = {
  approve: ["policy", "decide", "approval"],
  finalAnswer: ["hasFinalAnswer"],
  stopWhen: ["conditions", "condition"],
  prepareIteration: ["prepare", "plan"],
  onIteration: ["afterIteration", "watch"],
  preToolText: ["endings"],
};

/** Names policies and hooks in prose as they are called now. */
export function toProse(text: string): string {
  return text
    .replaceAll(/\b(?:policies|hooks)\.(\w+)/g, (whole, name: string) => words[name] ?? whole)
    .replaceAll("limits.maxRestarts", "maxRestarts");
}
