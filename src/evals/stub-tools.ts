// Replaces the tools' code in a trial with stubs.

import type { Json, Tool, ToolContext } from "../core/index.ts";
import { checkFields, type Checks } from "../core/kit.ts";

/** A stub: a result, or a function that returns one, like a tool's `execute`. */
export type ToolStub = Json | ((args: never, context: ToolContext) => unknown);

/** The options of `stubTools`. */
export interface StubOptions {
  /**
   * Decides what happens to calls to tools without a stub. With "fail", the call fails, and the model reads that the tool is not
   * available. With "run", the tool runs. Default "fail", so that no trial acts on the real world by mistake.
   */
  readonly others?: "fail" | "run" | undefined;
}

const checks: Checks<StubOptions> = { others: ["fail", "run"] };

/**
 * Returns the tools with their code replaced, for a trial that must not act on the real world. Names, descriptions and schemas are
 * unchanged, so the model sees the same tools, and arguments are validated.
 *
 * Throws LoopError "unknown-option" if a stub's name does not match any tool, and "invalid-option" for `options`.
 *
 * @example
 * const tools = stubTools(realTools, { get_order: { id: 7, status: "paid" }, refund: ({ id }) => void world.refunds.push(id) });
 */
export function stubTools<T extends Tool>(
  tools: readonly T[],
  stubs: { readonly [name: string]: ToolStub },
  options: StubOptions = {},
): readonly T[] {
  checkFields("stubs", stubs, Object.fromEntries(tools.map(({ name }) => [name, ["a result or a function", () => true]])));
  checkFields("options", options, checks);
  return tools.map((tool) => {
    const stub = Object.hasOwn(stubs, tool.name) ? stubs[tool.name] : undefined;
    if (stub === undefined && options.others === "run") return tool;
    return { ...tool, execute: stub === undefined ? refuse(tool.name) : run(stub) };
  });
}

function refuse(name: string): () => never {
  return () => {
    throw new Error(`The tool "${name}" is not available in this trial.`);
  };
}

function run(stub: ToolStub): (args: unknown, context: ToolContext) => unknown {
  return (args, context) => (typeof stub === "function" ? stub(args as never, context) : stub);
}
