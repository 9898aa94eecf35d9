// One execution of a run that pays and writes notes. It kills itself at the point that it is given, and prints its result as JSON.

import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { defineTool, type Journal, type Message, runToolLoop } from "turnwright";
import { fileJournal } from "turnwright/journal";
import { createMockProvider, text, toolCall } from "turnwright/testing";
import { dailyQuota } from "./daily-quota.ts";
import { type Permission, rememberPermissions } from "./remember-permissions.ts";

export interface Execution {
  readonly folder: string;
  readonly runId: string;
  /** The number of the point at which the process dies. Points are counted over all executions of the run. */
  readonly killAt?: number | undefined;
  readonly answers: Readonly<Record<string, Permission>>;
}

export interface Ended {
  readonly status: string;
  readonly text: string;
  /** How many points the run has passed. */
  readonly points: number;
  readonly waiting: readonly { readonly id: string; readonly callId: string; readonly name: string }[];
}

const kill = (): void => void process.kill(process.pid, "SIGKILL");

export async function execute({ folder, runId, killAt, answers }: Execution, die: () => void = kill): Promise<Ended> {
  const passed = join(folder, `${runId}-points`);
  let points = existsSync(passed) ? readFileSync(passed, "utf8").length : 0;
  const point = (): void => {
    appendFileSync(passed, ".");
    points += 1;
    if (killAt !== undefined && points >= killAt) die();
  };

  const pay = defineTool({
    name: "pay",
    description: "Pays an amount in EUR",
    inputSchema: z.object({ to: z.string(), eur: z.number().default(5) }),
    execute({ to, eur }, { idempotencyKey }) {
      point();
      appendFileSync(join(folder, "paid.txt"), `${runId} ${idempotencyKey}\n`);
      point();
      return `Paid ${eur} EUR to ${to}.`;
    },
  });

  /** The records before, while and after they are made. */
  const watch = (inner: Journal): Journal => ({
    ...inner,
    async step<T>(key: string, body: () => T | PromiseLike<T>): Promise<T> {
      const value = await inner.step<T>(key, async () => {
        point();
        const made = await body();
        point();
        return made;
      });
      point();
      return value;
    },
  });

  const script = [
    [toolCall("pay", { to: "Ann", eur: 7 }), toolCall("pay", { to: "Ben" })],
    [toolCall("pay", { eur: 7, to: "Ann" }), toolCall("pay", { to: "Cleo" })],
  ];
  const outcomesOf = (said: readonly Message[]): readonly string[] =>
    said.flatMap((one) => (one.role === "tool" ? one.results.map(({ outcome }) => outcome) : []));
  const provider = createMockProvider(({ messages }) => {
    const turns = messages.filter(({ role }) => role === "assistant").length;
    return script[turns] ?? text(outcomesOf(messages).join(" "));
  });
  const result = await runToolLoop({
    provider,
    tools: [pay],
    messages: [{ role: "user", content: "Pay my friends." }],
    middleware: [
      rememberPermissions(join(folder, "permissions")),
      dailyQuota({ folder: join(folder, "quota"), limits: { pay: 2 }, today: () => "today" }),
    ],
    runId,
    journal: watch(fileJournal(join(folder, `${runId}.jsonl`), { fsync: false })),
    answers,
  });
  const { reason, status, text: said } = result;
  return { status, text: said, points, waiting: reason.kind === "result-required" ? reason.calls : [] };
}
