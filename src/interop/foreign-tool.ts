// What is taken of a tool that another library made, and how its fields are read: by shape, never by class.

import { type JsonSchema, type NeedsApproval, type ToolContext, type ToolSchema, type UnknownRecord } from "../core/entry-kit.ts";

/** A foreign tool, read. */
export interface ForeignTool {
  readonly name: unknown;
  readonly description: unknown;
  /** Undefined where only the tool's own service knows its arguments. */
  readonly schema: ForeignSchema | undefined;
  /** Whether the tool parses its arguments itself: then it has to get what the model wrote, and not what a schema has made of it. */
  readonly parses: boolean;
  /** Makes the tool's own approval mark one of ours; `parse` gives the arguments as the tool would get them. */
  readonly needsApproval?: ((parse: ParseArgs) => boolean | NeedsApproval<unknown>) | undefined;
  readonly timeoutMs?: number | undefined;
  execute(args: unknown, context: ToolContext): unknown;
}

/** What checks a tool's arguments, and what a model is shown of them where that cannot be made of it. */
export interface ForeignSchema {
  readonly inputSchema: ToolSchema;
  readonly jsonSchema?: JsonSchema | undefined;
}

/** The arguments of a call as the tool's schema makes them; undefined where they do not fit. */
export type ParseArgs = (args: unknown) => Parsed | PromiseLike<Parsed>;

type Parsed = { readonly value: unknown } | undefined;

/** A function of unknown arguments. */
export type Callable = (...args: readonly unknown[]) => unknown;

/** True for anything that can be called. */
export function isCallable(value: unknown): value is Callable {
  return typeof value === "function";
}

/** A method of a foreign object, tied to it. Whoever asks has seen that it is there. */
export function methodOf(owner: UnknownRecord, name: string): Callable {
  return (...args) => {
    const method = owner[name];
    return isCallable(method) ? Reflect.apply(method, owner, args) : undefined;
  };
}
