import { isRecord, type Validation } from "../core/kit.ts";
import { stableJson } from "../shared/json.ts";
import type { StandardSchema, Tool, ToolContext, ToolRegistry } from "../core/index.ts";
import { systemClock } from "../shared/signals.ts";
import { type Conclusion, toFailure, toOutcome } from "../shared/to-outcome.ts";
import { toPlainError } from "../shared/plain-error.ts";
import { check, checkSetup, type Patience, type SuiteCheck, within } from "./suite-check.ts";
import { createToolContext } from "./run-tool.ts";
import { untilFired } from "./scripted-stream.ts";

/** A registry that contains the suite's tools. */
export interface RegistryFixture {
  readonly registry: ToolRegistry;
  /** Called after the check, even if the check failed. */
  close?(): unknown;
}

/** Connects `registrySuite` to the registry to test. */
export interface RegistrySuiteSetup extends Patience {
  /**
   * Creates a registry with the given tools for one check. If your registry's tools are elsewhere, such as on a server, provide tools there
   * with the same names and behavior. "echo" returns `{ text }`. "break" fails with the message "out of order". "hold" runs until its
   * signal fires, and then ends immediately.
   */
  create(tools: readonly Tool[]): RegistryFixture | PromiseLike<RegistryFixture>;
}

interface RegistryBench {
  readonly registry: ToolRegistry;
  readonly abort: AbortController;
  readonly patience: Patience;
}

/** The schema of the "echo" tool, written by hand so that `turnwright/testing` needs no schema library. */
const echoSchema: StandardSchema<{ text: string }> = {
  "~standard": {
    version: 1,
    vendor: "turnwright",
    validate: (value) =>
      isRecord(value) && typeof value["text"] === "string"
        ? { value: { text: value["text"] } }
        : { issues: [{ message: "Expected a string.", path: ["text"] }] },
  },
};

const noArguments = { type: "object", properties: {} } as const;

const tools: readonly Tool[] = [
  {
    name: "echo",
    description: "Returns its text.",
    inputSchema: echoSchema,
    jsonSchema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
    execute: async ({ text }: { text: string }) => ({ text }),
  },
  {
    name: "break",
    description: "Fails.",
    inputSchema: noArguments,
    execute: async () => {
      throw new Error("out of order");
    },
  },
  {
    name: "hold",
    description: "Runs until it is cancelled.",
    inputSchema: noArguments,
    execute: (_args: unknown, { signal }) => untilFired(signal),
  },
];

/**
 * Returns the checks for a tool registry. The suite registers no tests on its own: loop over the checks with any test runner. The
 * validation checks also pass for a registry that has no `validate`, or whose `validate` returns values as `unchecked`.
 *
 * @example
 * for (const { title, run } of registrySuite({ create: (tools) => ({ registry: createToolRegistry(tools) }) })) it(title, run);
 */
export function registrySuite(setup: RegistrySuiteSetup): readonly SuiteCheck[] {
  checkSetup(setup, "create");
  return checks.map(([title, run]) => ({ title, run: () => runRegistryCheck(setup, run) }));
}

const checks: readonly (readonly [title: string, run: (bench: RegistryBench) => Promise<void>])[] = [
  ["lists each tool in a form that every provider accepts", checkDefinitions],
  ["returns the same definitions while nothing changes", checkStable],
  ["returns the result of a tool", checkResult],
  ["keeps parallel calls apart", checkParallelCalls],
  ["fails a call if the tool fails", checkToolFailure],
  ["fails a call to an unknown tool", checkUnknown],
  ["returns issues for invalid arguments", checkIssues],
  ["accepts valid arguments", checkFitting],
  ["passes the signal to the tool", checkSignal],
];

async function runRegistryCheck(setup: RegistrySuiteSetup, run: (bench: RegistryBench) => Promise<void>): Promise<void> {
  const fixture = await setup.create(tools);
  const abort = new AbortController();
  try {
    await run({ registry: fixture.registry, abort, patience: setup });
  } finally {
    abort.abort(new DOMException("The check is over.", "AbortError"));
    await fixture.close?.();
  }
}

async function execute(
  { registry, abort, patience }: RegistryBench,
  name: string,
  args: unknown,
): Promise<Conclusion<"completed" | "failed" | "deferred">> {
  const context: ToolContext = createToolContext({
    name,
    signal: abort.signal,
    heartbeat: () => {},
    progress: () => {},
    emit: () => {},
  });
  const running = (async () => registry.executeTool(name, args, context))();
  return within(
    running.then((output) => toOutcome(output).outcome, toFailure),
    `The tool "${name}" did not end`,
    patience,
  );
}

async function checkDefinitions({ registry }: RegistryBench): Promise<void> {
  const definitions = registry.definitions();
  for (const { name } of tools) {
    const definition = definitions.find((candidate) => candidate.name === name);
    check(definition !== undefined, `The definitions do not contain the tool "${name}".`);
    check(definition.description.trim() !== "", `The tool "${name}" has no description.`);
    check(
      definition.inputSchema["type"] === "object",
      `The input schema of "${name}" must have the type "object", but is ${stableJson(definition.inputSchema)}.`,
    );
  }
  for (const { name } of definitions)
    check(/^[\w-]{1,64}$/.test(name), `Some providers reject the tool name "${name}". Use 1 to 64 letters, digits, "_" and "-".`);
  check(new Set(definitions.map(({ name }) => name)).size === definitions.length, "Two tools have the same name.");
}

async function checkStable({ registry }: RegistryBench): Promise<void> {
  check(
    registry.definitions() === registry.definitions(),
    "While nothing changes, definitions() must return the same array, but returned two.",
  );
}

async function checkResult(bench: RegistryBench): Promise<void> {
  checkEcho(await execute(bench, "echo", { text: "Grüße" }), "Grüße");
}

async function checkParallelCalls(bench: RegistryBench): Promise<void> {
  const texts = ["one", "two", "three"];
  const outcomes = await Promise.all(texts.map((text) => execute(bench, "echo", { text })));
  for (const [index, outcome] of outcomes.entries()) checkEcho(outcome, texts[index]);
}

function checkEcho(outcome: Conclusion<"completed" | "failed" | "deferred">, text: string | undefined): void {
  check(outcome.kind === "completed", `The tool "echo" failed: ${outcome.kind === "failed" ? outcome.error.message : ""}`);
  const [is, must] = [stableJson(outcome.data), stableJson({ text })];
  check(is === must, `The tool "echo" must return ${must}, but returned ${is}.`);
}

async function checkToolFailure(bench: RegistryBench): Promise<void> {
  const outcome = await execute(bench, "break", {});
  check(outcome.kind === "failed", 'The tool "break" must fail, but its failure was returned as a successful result.');
  check(
    outcome.error.message.includes("out of order"),
    `The error message must contain "out of order", but is "${outcome.error.message}".`,
  );
}

/** Calls unknown tools. A model may use any name, even the name of a property that every object inherits. */
async function checkUnknown(bench: RegistryBench): Promise<void> {
  for (const name of ["no_such_tool", "__proto__", "constructor", "toString", "hasOwnProperty"]) {
    const { kind } = await execute(bench, name, {});
    check(kind === "failed", `The tool "${name}" does not exist, but executing it returned a result.`);
  }
}

async function checkIssues(bench: RegistryBench): Promise<void> {
  for (const args of [{ text: 42 }, {}, null, [], "text"]) {
    const validation = await validate(bench, args);
    const isRefused = validation === undefined || ("issues" in validation && validation.issues.length > 0);
    check(isRefused, `The arguments ${stableJson(args)} are invalid for "echo", but the validation returned no issue.`);
  }
}

async function checkFitting(bench: RegistryBench): Promise<void> {
  const validation = await validate(bench, { text: "hi" });
  if (validation === undefined) return;
  check("value" in validation, 'The arguments {"text":"hi"} are valid for "echo", but the validation returned issues.');
  check(
    stableJson(validation.value) === '{"text":"hi"}',
    `The validation must return the arguments {"text":"hi"} unchanged, but returned ${stableJson(validation.value)}.`,
  );
}

async function validate({ registry, patience }: RegistryBench, args: unknown): Promise<Validation | undefined> {
  if (registry.validate === undefined) return undefined;
  try {
    const validation = await within(Promise.resolve(registry.validate("echo", args)), "The validation did not end", patience);
    return "value" in validation && validation.unchecked === true ? undefined : validation;
  } catch (error) {
    throw new Error(`The validation of ${stableJson(args)} failed: ${toPlainError(error).message}`);
  }
}

async function checkSignal(bench: RegistryBench): Promise<void> {
  const { clock = systemClock } = bench.patience;
  let isOver = false;
  const running = execute(bench, "hold", {}).finally(() => {
    isOver = true;
  });
  // Waits until the tool is running, because the signal must fire during the call, and a tool in another process needs time to start.
  await new Promise<void>((resolve) => void clock.setTimeout(resolve, 20));
  check(!isOver, 'The tool "hold" ended before its signal fired.');
  bench.abort.abort(new DOMException("Enough.", "AbortError"));
  await running;
}
