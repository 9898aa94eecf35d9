// Runs every snippet of the docs, one after the other. Each asserts what its page says of it.

const snippets = [
  () => import("./approvals.ts"),
  () => import("./budgets.ts"),
  () => import("./chat.ts"),
  () => import("./cheat-sheet.ts"),
  () => import("./cheat-sheet-kit.ts"),
  () => import("./cheat-sheet-policies.ts"),
  () => import("./cheat-sheet-shapes.ts"),
  () => import("./cheat-sheet-tools.ts"),
  () => import("./config.ts"),
  () => import("./deliberate-mode.ts"),
  () => import("./endings.ts"),
  () => import("./events.ts"),
  () => import("./journal-file.ts"),
  () => import("./fallback.ts"),
  () => import("./nesting.ts"),
  () => import("./next-step.ts"),
  () => import("./prices.ts"),
  () => import("./provider.ts"),
  () => import("./restarts.ts"),
  () => import("./results.ts"),
  () => import("./resuming.ts"),
  () => import("./stop-conditions.ts"),
  () => import("./stopping.ts"),
  () => import("./structured-answers.ts"),
  () => import("./talking.ts"),
  () => import("./throwing.ts"),
  () => import("./tools.ts"),
];

for (const run of snippets) await run();
