// Runs the suite twice with the next version of evalite, which plays the answers of AI SDK models from a cache. Prints the number of
// requests after each run.
import { rmSync } from "node:fs";
import { createInMemoryStorage } from "evalite-next/in-memory-storage";
import { runEvalite } from "evalite-next/runner";
import { countNotes } from "./script.js";

const storage = createInMemoryStorage();
const [, , outputPath = ""] = process.argv;
process.exit = /** @type {any} */ (() => {});
for (let runs = 0; runs < 2; runs += 1) {
  await runEvalite({ mode: "run-once-and-exit", storage, outputPath });
  console.log(`\nrequests: ${countNotes(process.env["EVALS_NOTES"] ?? "")("request")}`);
}
rmSync("node_modules", { recursive: true, force: true });
process.kill(process.pid);
