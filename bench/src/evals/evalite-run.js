// Runs the suite with evalite, which ends its process. The arguments are a JSON file for the results, and a folder for its page. With
// EVALS_TWICE=1, the suite then runs again with the worse version, and the page's server says how the scores have changed.
import { rmSync } from "node:fs";
import { exportStaticUI } from "evalite/export-static";
import { createInMemoryStorage } from "evalite/in-memory-storage";
import { runEvalite } from "evalite/runner";
import { createServer } from "evalite/server";

const [, , results = "", page = ""] = process.argv;
const storage = createInMemoryStorage();
const port = 3_907;

// `runEvalite` exits if a trial has failed, before the page can be written.
process.exit = /** @type {any} */ (() => {});
await runEvalite({ mode: "run-once-and-exit", storage, outputPath: results });
if (process.env["EVALS_TWICE"] === undefined) {
  await exportStaticUI({ storage, outputPath: page });
} else {
  process.env["EVALS_VERSION"] = "worse";
  await runEvalite({ mode: "run-once-and-exit", storage });
  createServer({ storage }).start(port);
  // The function does not say when the server listens.
  await new Promise((resolve) => setTimeout(resolve, 2_000));
  const response = await fetch(`http://localhost:${port}/api/eval?name=support`);
  console.log(`history: ${await response.text()}`);
}
rmSync("node_modules", { recursive: true, force: true });
process.kill(process.pid);
