// A vitest reporter that prints, for each failed test, the command that runs only this test.

import { relative } from "node:path";
import type { Reporter, TestCase, TestModule, TestSuite } from "vitest/node";

const maxPrinted = 20;

/** Replaces characters that have a meaning in shell quotes, or in the regular expression that vitest's `-t` takes. */
function toPattern(title: string): string {
  return title.replace(/[\\^$.*+?()[\]{}|"'`!]/g, ".");
}

/** Outermost suite first. Vitest's `-t` matches the titles of all suites and of the test, joined with spaces. */
function titlesOf({ name, parent }: TestCase | TestSuite): readonly string[] {
  return parent.type === "module" ? [name] : [...titlesOf(parent), name];
}

function toCommand(test: TestCase): string {
  const path = relative(process.cwd(), test.module.moduleId);
  const config = path.startsWith("test/package/") ? " --config test/package/vitest.config.ts" : "";
  return `npx vitest run ${path}${config} -t "${toPattern(titlesOf(test).join(" "))}"`;
}

export default class RerunReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const failed = modules.flatMap((module) => [...module.children.allTests("failed")]);
    if (failed.length === 0) return;
    console.error("\nTo run one failed test only:");
    for (const test of failed.slice(0, maxPrinted)) console.error(`  ${toCommand(test)}`);
    if (failed.length > maxPrinted) console.error(`  ... and ${failed.length - maxPrinted} more`);
  }
}
