import type { PartialResult } from "../../core/types/loop-result.ts";
import type { Issue } from "../../core/types/common.ts";
import type { ToolChange, WaitingCall } from "../../core/types/tool-outcome.ts";
import { hasBrand } from "../guards.ts";
import { edges } from "../edges.ts";
import { describeValue } from "../texts.ts";

/** The codes of LoopError, with the details for each code. A code without a message does not compile. */
export interface LoopErrorDetails {
  /** An option has an invalid value. `received` describes the type of the value, never its content. */
  readonly "invalid-option": {
    readonly option: string;
    readonly expected: string;
    readonly received: string;
    /** The code to write instead, if the value belongs to a different library or option. */
    readonly instead?: string | undefined;
  };
  /** An option does not exist. `nearest` is the option that was probably meant. */
  readonly "unknown-option": {
    readonly option: string;
    readonly nearest?: string | undefined;
    /** The code with the same effect in turnwright, if the option name comes from a different library. */
    readonly instead?: string | undefined;
  };
  /** Two tools have the same name. */
  readonly "duplicate-tool": { readonly toolName: string };
  /** A tool has an invalid shape. In the message, `problem` comes directly after the tool's name. */
  readonly "invalid-tool": { readonly toolName: string; readonly problem: string };
  /** An input schema cannot be shown to a model. In the message, `problem` comes directly after "The input schema of tool …". */
  readonly "invalid-schema": { readonly toolName: string; readonly problem: string };
  /**
   * A conversation cannot be sent. `index` is the position of the invalid message, counted from 0. In the error message, `problem`
   * comes directly after `index`.
   */
  readonly "invalid-messages": { readonly index: number; readonly problem: string };
  /** A control, a run id or an in-memory journal is already in use by a running loop. */
  readonly "already-running": { readonly what: "control" | "runId" | "journal"; readonly runId?: string | undefined };
  /** A nested run would be too deep: it would have `current` outer runs, but at most `limit` levels are allowed. */
  readonly "depth-exceeded": { readonly current: number; readonly limit: number };
  /** The journal belongs to a different run. `field` names the field that differs. */
  readonly "journal-mismatch": { readonly field: string; readonly expected: string; readonly received: string };
  /**
   * A decision names a call that is not waiting for a decision or a result: the call is unknown or already has a result. For a
   * call in a nested run, the id is the path of call ids that leads to the call.
   */
  readonly "unknown-decision": {
    readonly call: string;
    /** The ids of the calls that are waiting, at most 10. Absent if no waiting call is known yet. */
    readonly waiting?: readonly string[] | undefined;
  };
  /**
   * A decision is not valid for its call, which is still waiting. In the message, `problem` comes directly after the call. The causes
   * are:
   *
   * - an approval for a call that is waiting for its result
   * - a result for a call that is waiting for approval
   * - a result that does not match the tool's `outputSchema`
   * - a result from a web page that is not allowed to send it
   */
  readonly "invalid-decision": {
    readonly call: string;
    readonly waitsFor: WaitingCall["waitsFor"];
    readonly problem: string;
    /** The issues with a result that does not match the tool's `outputSchema`. */
    readonly issues?: readonly Issue[] | undefined;
  };
  /**
   * Another process is writing the journal. `host` is the machine of that process. `isVisible` is false if that process runs in
   * another container or on another machine. In that case, it is unknown whether the process is still running.
   */
  readonly "journal-locked": {
    readonly path: string;
    readonly lockPath: string;
    readonly pid: number;
    readonly host: string;
    readonly isVisible: boolean;
  };
  /** A file cannot be used as a journal. `problem` says why, and what to do. */
  readonly "journal-refused": { readonly path: string; readonly problem: string };
  /**
   * The content of the journal was changed. Either a line of its file is invalid (`line`, counted from 1), or the record of a step is
   * invalid (`key`). In the message, `problem` comes directly after the line or the key.
   */
  readonly "journal-damaged":
    | { readonly path: string; readonly line: number; readonly key?: undefined; readonly problem: string }
    | { readonly key: string; readonly path?: undefined; readonly line?: undefined; readonly problem: string };
  /** A file or a string cannot be used as a run log. `line`, counted from 1, is the invalid line. `path` is "run log" for a string. */
  readonly "log-damaged": {
    readonly path: string;
    readonly line?: number | undefined;
    readonly problem: string;
  };
  /** A run cannot be repeated from `iteration`. In the message, `problem` comes directly after the iteration. */
  readonly "rerun-refused": { readonly iteration: number; readonly problem: string };
  /**
   * Another process has opened this run's journal in the database, and is continuing the run. This process can no longer add records. To
   * show the run, read its journal or its log.
   */
  readonly "journal-lost": { readonly runId: string };
  /** A step was run with a journal that is not open. Only a loop that you wrote yourself can cause this error. */
  readonly "journal-closed": { readonly path: string };
  /** A replay reached a step that is not recorded. */
  readonly "journal-incomplete": { readonly key: string };
  /**
   * The journal did not answer in time. `ms` is how long the run waited. If `ended` is set, something outside the loop ended the run, and
   * `ms` counts from that moment. `partial` is the result so far. It is not enumerable, so it is omitted when the error is printed or
   * converted to JSON.
   */
  readonly "journal-unresponsive": {
    readonly verb: "open" | "close" | "step" | "all" | "replays" | "has" | "read";
    /** The key of the requested step. If several steps were requested together, the key of the first one. */
    readonly key?: string | undefined;
    readonly ms: number;
    readonly ended?: "stop" | "kill" | "abort" | "wall-clock" | undefined;
    readonly partial?: PartialResult | undefined;
  };
  /**
   * The journal threw a value that is not an error, or an error that cannot be changed. This value is the `cause`. For any other error from
   * a journal, the run rejects with that error itself, and adds the (non-enumerable) `details.partial` field to it.
   */
  readonly "journal-failed": {
    readonly verb: "close" | "step" | "all" | "replays" | "has" | "read";
    /** The key of the requested step. If several steps were requested together, the key of the first one. */
    readonly key?: string | undefined;
    /** The message of the error that the journal threw. */
    readonly problem: string;
    readonly partial?: PartialResult | undefined;
  };
  /** A conversation has a live run, or is being changed, in this or another process. */
  readonly "conversation-busy": { readonly conversation: string };
  /**
   * A method of a conversation cannot be used now. In the message, `problem` follows the conversation's id. `calls` is set if
   * calls in the last run are waiting for decisions or results.
   */
  readonly "conversation-refused": {
    readonly conversation: string;
    readonly problem: string;
    readonly calls?: readonly WaitingCall[] | undefined;
  };
  /** The store of a run host did not answer in time. `ms` is how long the host waited. */
  readonly "store-unresponsive": {
    readonly verb: "load" | "lock" | "append" | "release" | "remove" | "removeJournal";
    readonly ms: number;
  };
  /**
   * A resumed run has recorded calls that no longer fit their tools. `changed` lists the names of these tools, and `changes` says
   * how each tool has changed.
   */
  readonly "tools-changed": { readonly changed: readonly string[]; readonly changes: readonly ToolChange[] };
}

/** The error codes, for comparison in programs. */
export type LoopErrorCode = keyof LoopErrorDetails;

/** A LoopError with one of the given codes. Comparing `code` narrows the type of `details`. */
export type LoopErrorOf<Code extends LoopErrorCode> = Code extends LoopErrorCode ? LoopError<Code> : never;

const brand = Symbol.for("turnwright.LoopError");

/**
 * Thrown for misuse, before any request. `code` identifies the error, and `details` contains the data for that code. Use `isLoopError`
 * instead of `instanceof`, which fails if two copies of the package are loaded.
 */
export class LoopError<Code extends LoopErrorCode = LoopErrorCode> extends Error {
  override readonly name = "LoopError";
  readonly code: Code;
  readonly details: LoopErrorDetails[Code];

  constructor(code: Code, details: LoopErrorDetails[Code], options?: ErrorOptions) {
    super(edges.describeError?.(code, details) ?? `${code}: ${JSON.stringify(details)}`, options);
    this.code = code;
    this.details = details;
    Object.defineProperty(this, brand, { value: true });
  }
}

/**
 * True for a LoopError from any copy of the package. If `code` is given, true only for an error with that code.
 *
 * @example if (isLoopError(error, "unknown-option")) console.log(error.details.nearest);
 */
export function isLoopError<Code extends LoopErrorCode = LoopErrorCode>(value: unknown, code?: Code): value is LoopErrorOf<Code> {
  if (!hasBrand(value, brand)) return false;
  return code === undefined || ("code" in value && value.code === code);
}

/** Creates the LoopError "invalid-option". The message names the type of the received value, never its content. */
export function invalidOption(option: string, expected: string, received: unknown): LoopError<"invalid-option"> {
  return new LoopError("invalid-option", { option, expected, received: describeValue(received) });
}
