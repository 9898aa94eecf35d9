// The conformance suite for tool registries: everything that the loop relies on, for tools from any source.

import {
  isRecord,
  stableJson,
  type StandardSchema,
  systemClock,
  toFailure,
  type Tool,
  type ToolContext,
  type Conclusion,
  type ToolRegistry,
  toOutcome,
  toPlainError,
  type Validation,
} from "../core/entry-kit.ts";
import { check, checkSetup, type Patience, type SuiteCheck, within } from "./suite-check.ts";
import { createToolContext } from "./run-tool.ts";
import { untilAborted } from "./until-aborted.ts";

/** A registry with the tools of the suite. */
export interface RegistryFixture {
  readonly registry: ToolRegistry;
  /** Called after the check, whether it passed or not. */
  close?(): unknown;
}

/** How the suite creates its registries. */
export interface RegistrySuiteSetup extends Patience {
  /**
   * Makes a registry for one check, from the given tools. If tools live elsewhere, use others with the same names and behaviour:
   * "echo" returns `{ text }`, "break" fails with the message "out of order", and "hold" runs until its signal fires and then
   * ends at once.
   */
  create(tools: readonly Tool[]): RegistryFixture | PromiseLike<RegistryFixture>;
}

interface RegistryBench {
  readonly registry: ToolRegistry;
  readonly abort: AbortController;
  readonly patience: Patience;
}

/** Written by hand, so that the kit needs no schema library. */
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
    description: "Gives back its text.",
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
    description: "Goes on until it is stopped.",
    inputSchema: noArguments,
    execute: (_args: unknown, { signal }) => untilAborted(signal, () => () => {}),
  },
];

/**
 * Returns the checks for a tool registry. Registers nothing by itself: loop over the checks with any test runner. A registry
 * without `validate`, or with one that returns unchecked values, passes the checks of validation.
 *
 * @example
 * for (const { title, run } of registrySuite({ create: (tools) => ({ registry: createToolRegistry(tools) }) })) it(title, run);
 */
export function registrySuite(setup: RegistrySuiteSetup): readonly SuiteCheck[] {
  checkSetup(setup);
  return checks.map(([title, run]) => ({ title, run: () => runRegistryCheck(setup, run) }));
}

const checks: readonly (readonly [title: string, run: (bench: RegistryBench) => Promise<void>])[] = [
  ["lists each tool with what every provider accepts", checkDefinitions],
  ["gives the same definitions while nothing changes", checkStable],
  ["gives what a tool gives", checkResult],
  ["keeps parallel calls apart", checkParallel],
  ["fails where a tool fails", checkToolFailure],
  ["fails for a tool that it does not have", checkUnknown],
  ["gives issues for arguments that do not fit", checkIssues],
  ["lets arguments pass that fit", checkFitting],
  ["hands the signal on to the tool", checkSignal],
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

/** Runs a tool and reads its end like the loop: a throw, a rejection and a failed result are all failures. */
async function execute(
  { registry, abort, patience }: RegistryBench,
  name: string,
  args: unknown,
): Promise<Conclusion<"completed" | "failed" | "deferred">> {
  const context: ToolContext = createToolContext({ name, signal: abort.signal, heartbeat: () => {}, progress: () => {} });
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
    check(definition !== undefined, `The tool "${name}" is not among the definitions.`);
    check(definition.description.trim() !== "", `The tool "${name}" has no description.`);
    check(
      definition.inputSchema["type"] === "object",
      `The input schema of "${name}" must be of type "object", but is ${stableJson(definition.inputSchema)}.`,
    );
  }
  for (const { name } of definitions)
    check(/^[\w-]{1,64}$/.test(name), `The name "${name}" has characters that some provider refuses, or too many.`);
  check(new Set(definitions.map(({ name }) => name)).size === definitions.length, "Two tools have the same name.");
}

async function checkStable({ registry }: RegistryBench): Promise<void> {
  check(
    registry.definitions() === registry.definitions(),
    "Two looks at unchanged definitions must give one array, but give two.",
  );
}

async function checkResult(bench: RegistryBench): Promise<void> {
  checkEcho(await execute(bench, "echo", { text: "Grüße" }), "Grüße");
}

async function checkParallel(bench: RegistryBench): Promise<void> {
  const texts = ["one", "two", "three"];
  const outcomes = await Promise.all(texts.map((text) => execute(bench, "echo", { text })));
  for (const [index, outcome] of outcomes.entries()) checkEcho(outcome, texts[index]);
}

function checkEcho(outcome: Conclusion<"completed" | "failed" | "deferred">, text: string | undefined): void {
  check(outcome.kind === "completed", `The tool "echo" failed: ${outcome.kind === "failed" ? outcome.error.message : ""}`);
  const [is, must] = [stableJson(outcome.data), stableJson({ text })];
  check(is === must, `The tool "echo" must give ${must}, but gives ${is}.`);
}

async function checkToolFailure(bench: RegistryBench): Promise<void> {
  const outcome = await execute(bench, "break", {});
  check(outcome.kind === "failed", 'The tool "break" must fail, but its failure came back as a result.');
  check(
    outcome.error.message.includes("out of order"),
    `The failure must say "out of order", but says "${outcome.error.message}".`,
  );
}

/** Includes the names that every object inherits, because a model may use them. */
async function checkUnknown(bench: RegistryBench): Promise<void> {
  for (const name of ["no_such_tool", "__proto__", "constructor", "toString", "hasOwnProperty"]) {
    const { kind } = await execute(bench, name, {});
    check(kind === "failed", `There is no tool "${name}", but executing it gave a result.`);
  }
}

async function checkIssues(bench: RegistryBench): Promise<void> {
  for (const args of [{ text: 42 }, {}, null, [], "text"]) {
    const validation = await validate(bench, args);
    const isRefused = validation === undefined || ("issues" in validation && validation.issues.length > 0);
    check(isRefused, `The arguments ${stableJson(args)} do not fit "echo", but there is no issue.`);
  }
}

async function checkFitting(bench: RegistryBench): Promise<void> {
  const validation = await validate(bench, { text: "hi" });
  if (validation === undefined) return;
  check("value" in validation, 'The arguments {"text":"hi"} fit "echo", but there are issues.');
  check(
    stableJson(validation.value) === '{"text":"hi"}',
    `The arguments {"text":"hi"} came out of the validation as ${stableJson(validation.value)}.`,
  );
}

/** Validates arguments of "echo"; undefined if they were not checked. */
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
  // The tool may be in another process, and has to be running when the signal fires.
  await new Promise<void>((resolve) => void clock.setTimeout(resolve, 20));
  check(!isOver, 'The tool "hold" ended before its signal fired.');
  bench.abort.abort(new DOMException("Enough.", "AbortError"));
  await running;
}
