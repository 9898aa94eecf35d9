// Evaluations whose trials have scripted outcomes.

import { Window } from "happy-dom";
import { defineTool, runToolLoop } from "turnwright";
import { defineEvaluation, type EvalCase, type EvalOptions, type EvalReport, type Evaluation, evaluate } from "turnwright/evals";
import { createMockProvider, text, toolCall, usage } from "turnwright/testing";

export const hostile = `<img src=x onerror=alert(1)> | "q" & 'a' \`b\` @octocat </script><script>\n\u001b[2J\u202e\ud800]]>`;

export type Outcome = "pass" | "fail" | "error";

interface Outcomes {
  readonly [id: string]: readonly Outcome[];
}

interface ScriptedCase extends EvalCase {
  readonly outcomes: readonly Outcome[];
}

/** An evaluation without runs: each case lists the outcomes of its trials. */
export function scripted(cases: Outcomes, options: EvalOptions = {}): Evaluation<ScriptedCase, boolean, undefined> {
  return defineEvaluation<ScriptedCase, boolean>({
    name: "support",
    cases: Object.entries(cases).map(([id, outcomes]) => ({ id, outcomes })),
    directory: false,
    run({ outcomes }, { number }) {
      if (outcomes[number - 1] === "error") throw Object.assign(new Error(hostile), { code: "ECONNRESET" });
      return outcomes[number - 1] === "pass";
    },
    check: (passed) => ({ refunded: { pass: passed, reason: passed ? "paid" : hostile }, polite: { score: 0.5 } }),
    ...options,
  });
}

export const mixed: Outcomes = {
  calm: ["pass", "pass"],
  flaky: ["pass", "fail"],
  [hostile]: ["fail", "fail"],
  outage: ["error", "error", "error", "error"],
};

export const run = (cases: Outcomes, options?: EvalOptions): Promise<EvalReport> =>
  evaluate(scripted(cases, options), { trials: Object.values(cases)[0]?.length ?? 1 });

export interface Agent {
  /** The names of the tools that the agent calls, one after another. */
  readonly calls: readonly string[];
  readonly ok: boolean;
  readonly system?: string;
  readonly message?: string;
  readonly answer?: string;
}

/** An evaluation of an agent with tools, which keeps all trials. */
export function runAgent(
  directory: string,
  { calls, ok, system = "Be brief.", message = "Refund my order", answer = ok ? "Yes." : "No." }: Agent,
): Promise<EvalReport> {
  const names = ["refund", "lookup"];
  return evaluate(
    defineEvaluation({
      name: "agent",
      cases: [{ id: "order" }],
      directory,
      keep: "all",
      run(_item, trial) {
        const tools = names.map((name) =>
          defineTool({ name, description: name, inputSchema: { type: "object" }, execute: () => "done" }),
        );
        const spent = usage({ inputTokens: 100, outputTokens: 100, cachedInputTokens: 50 });
        const steps = calls.map((name) => [toolCall(name, {}), spent]);
        const provider = createMockProvider([...steps, [text(answer), spent]]);
        const messages = [{ role: "user" as const, content: message }];
        return runToolLoop(trial.options({ provider, tools, system, messages, pricing: () => 0.25 }));
      },
      check: () => ok,
    }),
  );
}

export function openPage(html: string): Document {
  return new new Window().DOMParser().parseFromString(html, "text/html") as unknown as Document;
}

export const textsOf = (page: Document, selector: string): readonly (string | null)[] =>
  [...page.querySelectorAll(selector)].map(({ textContent }) => textContent);

export const linkOf = (page: Document): string => page.querySelector(".card a")?.getAttribute("href") ?? "no link";
