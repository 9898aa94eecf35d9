import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { programLoader } from "../../scripts/program-loader.ts";

// V8 stops optimizing patterns in a process with much compiled code, such as a server after a while. A pattern that repeats over the
// whole text then overflowed the stack, and the run ended with "Maximum call stack size exceeded".
it("8 MB of base64 text is recognized even in a process that no longer optimizes regular expressions", () => {
  const program = fileURLToPath(new URL("./long-data.ts", import.meta.url));
  const flags = ["--no-regexp-optimization", "--no-regexp-tier-up", "--import", programLoader()];
  expect(execFileSync(process.execPath, [...flags, program], { encoding: "utf8" }).trim()).toBe("base64 true");
});
