// A DBOS worker in a process of its own: runs one random program on the new core, and may kill itself at one of its new steps.

import { writeSync } from "node:fs";
import { DBOS } from "@dbos-inc/dbos-sdk";
import type { Journal } from "turnwright";
import { readWaits, runInWorkflow, sendAnswer } from "../../src/dbos/run-in-workflow.ts";
import { answerUntil } from "../core/engine-programs.ts";
import { createProgram } from "../core/random-program.ts";

const [url = "", id = "", seed = "", count = ""] = process.argv.slice(2);
const program = createProgram(Number(seed));
let left = Number(count);

/** Kills this process at its n-th new step, after the work of the step and before its record. */
function killing(journal: Journal): Journal {
  return {
    ...journal,
    step: (key, body) =>
      journal.step(key, async () => {
        const value = await body();
        left -= 1;
        if (left === 0) process.kill(process.pid, "SIGKILL");
        return value;
      }),
  };
}

const stepRun = DBOS.registerWorkflow(
  async (): Promise<string> => {
    const { messages } = await runInWorkflow((ports) => program.run({ ...ports, journal: killing(ports.journal) }));
    return JSON.stringify(messages);
  },
  { name: "stepRun" },
);

DBOS.setConfig({ name: "killed", systemDatabaseUrl: url, applicationVersion: "1", executorID: "a", logLevel: "error" });
// Continues the workflows of an earlier process.
await DBOS.launch();
const known = await DBOS.listWorkflows({ workflowIDs: [id] });
if (known.length === 0) await DBOS.startWorkflow(stepRun, { workflowID: id })();
const end = DBOS.retrieveWorkflow<string>(id).getResult();
const messages = await answerUntil({ waits: (one) => readWaits(one), answer: sendAnswer }, id, { end, program });
writeSync(1, JSON.stringify({ messages: JSON.parse(messages ?? "[]"), ran: program.ran }));
await DBOS.shutdown();
process.exit(0);
