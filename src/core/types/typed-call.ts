// Types of calls, results and contexts, inferred from a run's tools.

import type { ContentPart, Json, Plain, PlainError, StandardSchema } from "./common.ts";
import type { AnyTool, Deferred, ToolResult } from "./tool.ts";
import type { ToolHistoryEntry, ToolOutcome } from "./tool-outcome.ts";

/**
 * The type of `context.context` that these tools need. For a union of tools, the intersection of their context types. `unknown`
 * if no tool needs a context, and for tools with the general type `Tool`.
 */
export type ContextOf<T extends AnyTool> = (T extends AnyTool ? (context: NeededContext<T>) => void : never) extends (
  context: infer Context,
) => void
  ? Context
  : unknown;

type NeededContext<T extends AnyTool> = T extends {
  readonly execute?: ((args: never, context: infer ToolContext) => unknown) | undefined;
}
  ? [ToolContext] extends [{ readonly context: infer Context }]
    ? KnownContext<Context>
    : unknown
  : unknown;

/**
 * The general type `Tool` has the context `never`, because it accepts tools with any context. The `context` option then has the
 * type `unknown`.
 */
type KnownContext<Context> = [Context] extends [never] ? unknown : Context;

/** The default context of a tool type: the general type `Tool` includes tools with any context, and `Tool<Args>` needs none. */
export type ContextFor<Args> = [Args] extends [never] ? never : unknown;

/** The `context` option, which is required if a tool needs it. */
export type ContextOption<T extends AnyTool> =
  unknown extends ContextOf<T>
    ? { /** Any value. Tools can read it as `context.context`. */ readonly context?: unknown }
    : { /** The value that the tools read as `context.context`. */ readonly context: ContextOf<T> };

/** The `context` option of a run that uses the context `Outer` by default. Required if the tools need a context other than `Outer`. */
export type InheritedContextOption<T extends AnyTool, Outer> = [Outer] extends [ContextOf<T>]
  ? {
      /** The value that the tools read as `context.context`. Default: the outer context. */ readonly context?:
        | ContextOf<T>
        | undefined;
    }
  : { /** The value that the tools read as `context.context`. */ readonly context: ContextOf<T> };

/** The type of the arguments that a tool's `execute` receives: the output of its schema. */
export type ToolArgs<T extends AnyTool> = Parameters<NonNullable<T["execute"]>>[0];

/** The type of the arguments that a model sends to a tool: the input of its schema, before defaults and transforms. */
export type ToolInput<T extends AnyTool> = T["inputSchema"] extends StandardSchema<infer Input, unknown> ? Input : ToolArgs<T>;

/**
 * The type of the value that a tool's `execute` returns or resolves to. For a generator, the type of its return value, or of the
 * last yielded value if it returns undefined.
 */
export type ToolOutput<T extends AnyTool> = LastOf<Awaited<ReturnType<NonNullable<T["execute"]>>>>;

type LastOf<Result> = unknown extends Result
  ? Result
  : Result extends AsyncGenerator<infer Yielded, infer Returned, never> | Generator<infer Yielded, infer Returned, never>
    ? undefined extends Returned
      ? Yielded | Exclude<Returned, undefined | void>
      : Returned
    : Result;

/** The arguments of a call in a transcript: the input of the tool's schema as JSON data. `Json` if the type is unknown. */
export type CallArgs<T extends AnyTool> = JsonOf<ToolInput<T>>;

/**
 * The result of a completed call: the return type of `execute` as JSON data. `Json` if the type is unknown, for example because the tool
 * returns `toolResult` or `defer()`.
 */
export type CallResult<T extends AnyTool> = JsonOf<ToolOutput<T>>;

type JsonOf<Value> = [Value] extends [never]
  ? Json
  : [Extract<Value, ToolResult | Deferred>] extends [never]
    ? Written<Value> extends infer Plainly extends Json
      ? Plainly
      : Json
    : Json;

/** Converts a result that is itself `undefined` to null. An undefined field inside a result is not converted to null. */
type Written<Value> = Value extends undefined | void ? null : Plain<Value>;

/** The fields of `RunCall` that are the same for all tools. */
export interface RunCallFacts {
  readonly callId: string;
  /** The number of the iteration that made the call, counted from 0. */
  readonly iteration: number;
  /** The time from the start to the end of the call, in milliseconds. 0 if the call was not started. */
  readonly durationMs: number;
  /** The arguments that an approval decision or a check set in place of `args`. */
  readonly approvedArgs?: Json | undefined;
  /** The reason why there was no decision about the call, if its outcome is `approval-failed`. */
  readonly error?: PlainError | undefined;
  /** Images, files and text in addition to `result`. */
  readonly content?: readonly ContentPart[] | undefined;
  /** The text that the model wrote in the same iteration. */
  readonly preToolText?: string | undefined;
  /** True if the tool set `endTurn` to end the run. */
  readonly endTurn?: true | undefined;
}

/**
 * One call in a run, with its result. If the run's tools are known and `outcome` is "completed", `name` determines the types of
 * `args` and `result`. With any other outcome, both are `Json`.
 */
export type RunCall<T extends AnyTool = AnyTool> = CompletedCall<T> | UncompletedCall;

type CompletedCall<T extends AnyTool> = T extends AnyTool
  ? RunCallFacts & {
      readonly name: T["name"];
      /** The tool returned this result, and `processResults` did not change it. */
      readonly outcome: "completed";
      /** The arguments as the model wrote them. */
      readonly args: CallArgs<T>;
      readonly result: CallResult<T>;
    }
  : never;

type UncompletedCall = RunCallFacts & {
  readonly name: string;
  /** "processed": the call was completed, but `processResults` replaced its result with the text in `result`. */
  readonly outcome: Exclude<ToolHistoryEntry["outcome"], "completed"> | "processed";
  /** The arguments as the model wrote them. */
  readonly args: Json;
  /** The result that the model received. */
  readonly result: Json;
};

interface FinishedCall {
  readonly iteration: number;
  readonly outcome: ToolOutcome["kind"] | "processed";
  readonly result: unknown;
}

/** A call or an event about a call, as narrowed by `isCallOf` for the tool `T`. */
export type CallOf<T extends AnyTool, Call> = Call extends { readonly name: string }
  ? [T["name"] & Call["name"]] extends [never]
    ? never
    : Call extends FinishedCall
      ? FinishedCallOf<T, Call, Call["outcome"]>
      : Replaced<Call, { readonly name: T["name"]; readonly args: CallArgs<T> }>
  : never;

type FinishedCallOf<T extends AnyTool, Call extends FinishedCall, Outcome> = Outcome extends "completed"
  ? Replaced<
      Call,
      { readonly name: T["name"]; readonly outcome: Outcome; readonly args: CallArgs<T>; readonly result: CallResult<T> }
    >
  : Replaced<Call, { readonly name: T["name"]; readonly outcome: Outcome }>;

type Replaced<Fields, New> = { readonly [Field in keyof Fields]: Field extends keyof New ? New[Field] : Fields[Field] };
