// LoopError: its codes, the details of each, and their messages. Thrown only for misuse, before any request. Other endings are
// results.

import type { PartialResult } from "../types/loop-result.ts";
import type { Issue } from "../types/common.ts";
import type { ToolChange, WaitingCall } from "../types/tool-outcome.ts";
import { hasBrand } from "../utils/guards.ts";
import { quote } from "../utils/texts.ts";
import { describeChange } from "./other-words.ts";

/** The codes of LoopError with the details of each. A code without a message does not compile. */
export interface LoopErrorDetails {
  /** An option has an invalid value. `received` describes the type of the value, never its content. */
  readonly "invalid-option": { readonly option: string; readonly expected: string; readonly received: string };
  /** An option does not exist. `nearest` is the one that was probably meant. */
  readonly "unknown-option": {
    readonly option: string;
    readonly nearest?: string | undefined;
    /** How to write the option, if the name comes from another library. */
    readonly instead?: string | undefined;
  };
  /** Two tools have the same name. */
  readonly "duplicate-tool": { readonly toolName: string };
  /** A tool has an invalid shape. `problem` follows the name of the tool. */
  readonly "invalid-tool": { readonly toolName: string; readonly problem: string };
  /** An input schema cannot be shown to a model. `problem` follows "The input schema of tool …". */
  readonly "invalid-schema": { readonly toolName: string; readonly problem: string };
  /** A conversation cannot be sent. `index` is the 0-based message, and `problem` follows it. */
  readonly "invalid-messages": { readonly index: number; readonly problem: string };
  /** A control, a run id or an in-memory journal belongs to a running loop. */
  readonly "already-running": { readonly what: "control" | "runId" | "journal"; readonly runId?: string | undefined };
  /** A nested run would be too deep: `current` runs are around it, and `limit` levels are allowed. */
  readonly "depth-exceeded": { readonly current: number; readonly limit: number };
  /** The journal belongs to another run. `field` names the difference. */
  readonly "journal-mismatch": { readonly field: string; readonly expected: string; readonly received: string };
  /** A decision names a call that does not wait: unknown, or settled. The id of a call inside another one is the path to it. */
  readonly "unknown-decision": {
    readonly call: string;
    /** The ids of calls that do wait, at most 10. Absent if none is known yet. */
    readonly waiting?: readonly string[] | undefined;
  };
  /**
   * A decision does not fit its call, which goes on waiting: an approval for a call that waits for its result, or the reverse, or a
   * result that does not fit the `outputSchema` of the tool. `problem` follows the call.
   */
  readonly "invalid-decision": {
    readonly call: string;
    readonly waitsFor: WaitingCall["waitsFor"];
    readonly problem: string;
    /** The issues of a result that does not fit. */
    readonly issues?: readonly Issue[] | undefined;
  };
  /**
   * Another process writes the journal, on the machine `host`. `isVisible` is false if that process runs in another container or
   * on another machine, so that its state cannot be checked.
   */
  readonly "journal-locked": {
    readonly path: string;
    readonly lockPath: string;
    readonly pid: number;
    readonly host: string;
    readonly isVisible: boolean;
  };
  /** A file cannot be used as a journal. `problem` follows "The journal … is refused:" and says what to do. */
  readonly "journal-refused": { readonly path: string; readonly problem: string };
  /**
   * The journal does not contain what was written: a line of a file, counted from 1, or the impossible record of a step.
   * `problem` follows the line or the key.
   */
  readonly "journal-damaged":
    | { readonly path: string; readonly line: number; readonly key?: undefined; readonly problem: string }
    | { readonly key: string; readonly path?: undefined; readonly line?: undefined; readonly problem: string };
  /** A loop of the caller ran a step with a journal that is not open. */
  readonly "journal-closed": { readonly path: string };
  /** A replay reached a step that is not recorded. */
  readonly "journal-incomplete": { readonly key: string };
  /**
   * The journal did not answer in time. `ms` is how long the run waited; if `ended` is set, it counts from the end from outside.
   * `partial` is the result so far. It is not enumerable, so it is omitted when the error is printed or converted to JSON.
   */
  readonly "journal-unresponsive": {
    readonly verb: "open" | "close" | "step" | "all" | "replays" | "has";
    /** The requested step; the first, if there were several. */
    readonly key?: string | undefined;
    readonly ms: number;
    readonly ended?: "stop" | "kill" | "abort" | "wall-clock" | undefined;
    readonly partial?: PartialResult | undefined;
  };
  /** The store of a run host did not answer in time; `ms` is how long the host waited. */
  readonly "store-unresponsive": { readonly verb: "read" | "write"; readonly ms: number };
  /** A resumed run has recorded calls that no longer fit their tools: the names of these tools, and their changes. */
  readonly "tools-changed": { readonly changed: readonly string[]; readonly changes: readonly ToolChange[] };
}

/** The error codes, for comparison in programs. */
export type LoopErrorCode = keyof LoopErrorDetails;

/** A LoopError with one of these codes. Comparing `code` narrows the type of `details`. */
export type LoopErrorOf<Code extends LoopErrorCode> = Code extends LoopErrorCode ? LoopError<Code> : never;

type Messages = { readonly [Code in LoopErrorCode]: (details: LoopErrorDetails[Code]) => string };

const messages: Messages = {
  "invalid-option": ({ option, expected, received }) => `Option ${quote(option)} must be ${expected}, but is ${received}.`,
  "unknown-option": ({ option, nearest, instead }) =>
    [
      `There is no option ${quote(option)}.`,
      ...(nearest === undefined ? [] : [`Did you mean ${quote(nearest)}?`]),
      ...(instead === undefined ? [] : [`Write: ${instead}`]),
    ].join(" "),
  "duplicate-tool": ({ toolName }) =>
    `There are two tools named ${quote(toolName)}: rename one, or all of its registry by withPrefix of "turnwright/interop".`,
  "invalid-tool": ({ toolName, problem }) => `Tool ${quote(toolName)} ${problem}.`,
  "invalid-schema": ({ toolName, problem }) => `The input schema of tool ${quote(toolName)} ${problem}.`,
  "invalid-messages": ({ index, problem }) => `Message ${index} ${problem}.`,
  "already-running": ({ what, runId }) =>
    what === "runId"
      ? `Run ${quote(runId ?? "")} is already running in this process.`
      : `This ${what} already belongs to a running loop.`,
  "depth-exceeded": ({ current, limit }) =>
    `A run ${current === 1 ? "inside another one" : `inside ${current} others`} is one level more than "limits.maxDepth" (${limit}) allows: answer without a nested run.`,
  "journal-mismatch": ({ field, expected, received }) => {
    if (field === "messagesDigest")
      return "The journal was written by another run: its messages are not those of this call. Call with the messages that the run began with, which inspectJournal(...).initialMessages gives, and not with those of its result. A new question needs a new journal and a new runId.";
    if (field === "version")
      return `The records of the journal have version ${received}, but this version of turnwright reads ${expected}: use the version that wrote them.`;
    return `The journal was written by another run: its ${field} is ${received}, but this run's is ${expected}.`;
  },
  "unknown-decision": ({ call, waiting }) => {
    const known = waiting === undefined ? "" : ` Calls that wait: ${waiting.map(quote).join(", ")}.`;
    return `No call ${quote(call)} of this run waits for a decision or a result.${known} Use an "id" of "reason.calls" of the result that asked, or of the pending calls of inspectJournal, and the journal of that run.`;
  },
  "invalid-decision": ({ call, waitsFor, problem }) =>
    `The decision about call ${quote(call)}, which waits for ${waitsFor === "result" ? "its result" : "an approval"}, ${problem}. Pass ${waitsFor === "result" ? '{ kind: "result", result } or { kind: "failed", error }' : '{ kind: "approve" }, { kind: "deny", reason } or { kind: "modify", args }'}. The call still waits.`,
  "journal-locked": ({ path, lockPath, pid, host, isVisible }) =>
    isVisible
      ? `The journal ${path} is being written by process ${pid} on ${quote(host)}. Wait for it to end. If that process does something else by now, remove ${lockPath}.`
      : `The journal ${path} is locked by process ${pid} on ${quote(host)}, in another container or on another machine, so that nobody here can know whether it still runs. If it is gone for certain, remove ${lockPath}.`,
  "journal-refused": ({ path, problem }) => `The journal ${path} is refused: ${problem}.`,
  "journal-damaged": ({ path, line, key, problem }) =>
    key === undefined
      ? `The journal ${path} is damaged: line ${line} ${problem}.`
      : `The journal is damaged: the record ${quote(key)} ${problem}. Go on from a copy that was not changed. A "redact" must leave the shape of a record as it is.`,
  "journal-closed": ({ path }) => `The journal ${path} is not open: a loop of your own calls its "open" first.`,
  "journal-incomplete": ({ key }) => `Step ${quote(key)} is not recorded, and a replay runs nothing.`,
  "journal-unresponsive": ({ verb, key, ms, ended }) =>
    `The journal did not answer ${quote(verb)}${key === undefined ? "" : ` of ${quote(key)}`} within ${ms} ms${ended === undefined ? "" : ` after the run was ended (${ended})`}. See what holds up its storage, then make the same call again.`,
  "store-unresponsive": ({ verb, ms }) =>
    `The run store did not answer ${quote(verb)} within ${ms} ms. Find out what holds up its storage, then make the same call again.`,
  "tools-changed": ({ changes }) =>
    `Recorded calls do not fit their tools any more: ${changes.map(describeChange).join("; ")}. Restore the tools, or allow the change in "policies.allowToolChange".`,
};

/** Shared by all copies of the package, so that the guard works across ESM and CommonJS. */
const brand = Symbol.for("turnwright.LoopError");

/**
 * Thrown for misuse, before any request. `code` identifies the error and `details` has the facts. Use `isLoopError` instead of
 * `instanceof`, which fails if two copies of the package are loaded.
 */
export class LoopError<Code extends LoopErrorCode = LoopErrorCode> extends Error {
  override readonly name = "LoopError";
  readonly code: Code;
  readonly details: LoopErrorDetails[Code];

  constructor(code: Code, details: LoopErrorDetails[Code], options?: ErrorOptions) {
    super(messages[code](details), options);
    this.code = code;
    this.details = details;
    Object.defineProperty(this, brand, { value: true });
  }
}

/**
 * True for a LoopError of any copy of the package. With a `code`, true only for that code.
 *
 * @example if (isLoopError(error, "unknown-option")) console.log(error.details.nearest);
 */
export function isLoopError<Code extends LoopErrorCode = LoopErrorCode>(value: unknown, code?: Code): value is LoopErrorOf<Code> {
  if (!hasBrand(value, brand)) return false;
  return code === undefined || ("code" in value && value.code === code);
}
