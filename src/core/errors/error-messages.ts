// The messages of LoopErrors. Each message says what is wrong, then what to do.

import { quote } from "../../shared/texts.ts";
import type { LoopErrorCode, LoopErrorDetails } from "../../shared/errors/loop-error.ts";
import type { ToolChange, ToolChangeKind } from "../types/tool-outcome.ts";

const pageRule =
  ' A page may only answer calls of tools without "execute", and calls that used defer, ask or wait with { fromPage: true }.';

const changeWords: { readonly [Kind in ToolChangeKind]: string } = {
  removed: "was removed",
  "source-changed": "has a different origin",
  "field-removed": "no longer has the field",
  "required-field-added": "requires the field",
  "type-changed": "has a different type in",
  "constraint-changed": "has a different constraint in",
  "description-changed": "has a different description in",
  "default-changed": "has a different default in",
  "trait-changed": "has a different value for the trait",
};

const hasValues = /^(?:source|type|constraint|default)-/;

/** Describes a change in words, for example `"pay" has a different type in "amount": now string, before number`. */
function describeChange({ toolName, kind, field, was = "none", now = "none" }: ToolChange): string {
  const words = changeWords[kind];
  const what = field === undefined ? words.replace(/ in$/, "") : `${words} ${quote(field)}`;
  return `${quote(toolName)} ${what}${hasValues.test(kind) ? `: now ${now}, before ${was}` : ""}`;
}

/** Describes what an entry in `answers` must look like, for each kind of wait. */
const forms = {
  answer: "an answer that fits",
  result: '{ kind: "result", result } or { kind: "failed", error }',
  approval: '{ kind: "approve" }, { kind: "deny", reason } or { kind: "modify", args }',
};

function nameStep(verb: string, key?: string): string {
  return `${quote(verb)}${key === undefined ? "" : ` for ${quote(key)}`}`;
}

type Messages = { readonly [Code in LoopErrorCode]: (details: LoopErrorDetails[Code]) => string };

const messages: Messages = {
  "invalid-option": ({ option, expected, received, instead }) =>
    // A value that is not an option is described in words, such as "The argument of startWith()".
    `${option.includes(" ") ? option : `Option ${quote(option)}`} is ${received}, but must be ${expected}.${instead === undefined ? "" : ` Write: ${instead}.`}`,
  "unknown-option": ({ option, nearest, instead }) =>
    [
      `There is no option ${quote(option)}.`,
      ...(nearest === undefined ? [] : [`Did you mean ${quote(nearest)}?`]),
      ...(instead === undefined ? [] : [`Write: ${instead}`]),
    ].join(" "),
  "duplicate-tool": ({ toolName }) =>
    `There are two tools named ${quote(toolName)}: rename one, or prefix its registry with withPrefix.`,
  "invalid-tool": ({ toolName, problem }) => `Tool ${quote(toolName)} ${problem}.`,
  "invalid-schema": ({ toolName, problem }) => `The input schema of tool ${quote(toolName)} ${problem}.`,
  "invalid-messages": ({ index, problem }) => `Message ${index} ${problem}.`,
  "already-running": ({ what, runId }) =>
    `${what === "runId" ? `Run ${quote(runId ?? "")} is already running in this process` : `This ${what} already belongs to a running loop`}. Use another ${what}.`,
  "depth-exceeded": ({ current, limit }) =>
    `The nested run would be at level ${current + 1}, but "limits.maxDepth" is ${limit}. Answer without a nested run.`,
  "journal-mismatch": ({ field, expected, received }) => {
    if (field === "messagesDigest")
      return "The journal began with different messages. Pass inspectJournal(...).initialMessages, not the result's messages. A new question needs a new journal and runId.";
    if (field === "version")
      return `The journal has format version ${received}, but this release reads version ${expected}. Use the release that wrote it. If "withBlobs" wrote it, read it with "withBlobs".`;
    return `The journal was written by a different run: its ${field} is ${received}, but this run has ${expected}. Use the journal of this run.`;
  },
  "unknown-decision": ({ call, waiting }) => {
    const advice =
      waiting === undefined || waiting.length === 0
        ? 'Pass the journal of the suspended run, and an "id" from its "reason.calls" or from inspectJournal.'
        : `Use the id of a waiting call: ${waiting.map(quote).join(", ")}.`;
    return `Call ${quote(call)} is not waiting for a decision or a result. ${advice}`;
  },
  "invalid-decision": ({ call, waitsFor, problem }) => {
    const form = forms[waitsFor === "result" || waitsFor === "answer" ? waitsFor : "approval"];
    const page = problem === "comes from a page" ? pageRule : "";
    return `The ${waitsFor === "answer" ? "answer for" : "decision about"} call ${quote(call)} ${problem}.${page} Pass ${form}. The call is still waiting.`;
  },
  "journal-locked": ({ path, lockPath, pid, host, isVisible }) =>
    `The journal ${path} is locked by process ${pid} on ${quote(host)}${isVisible ? "" : ", in another container or machine"}. Wait until it ends. If it has ended, or its id now belongs to another program, remove ${lockPath}.`,
  "journal-refused": ({ path, problem }) => `The file ${path} cannot be used as a journal: ${problem}.`,
  "log-damaged": ({ path, problem }) => `${path}: ${problem}.`,
  "rerun-refused": ({ iteration, problem }) => `The run cannot be repeated from iteration ${iteration}: ${problem}.`,
  "journal-damaged": ({ path, line, key, problem }) =>
    key === undefined
      ? `The journal ${path} is damaged: line ${line} ${problem}. Use an unchanged copy.`
      : `The journal is damaged: the record ${quote(key)} ${problem}. Use an unchanged copy, and check your "redact" function.`,
  "journal-lost": ({ runId }) => `Another process has taken over the run ${quote(runId)}. Leave the run to that process.`,
  "journal-closed": ({ path }) => `The journal ${path} is not open. Call its "open" method first.`,
  "journal-incomplete": ({ key }) =>
    `Step ${quote(key)} is not recorded, and a replay runs no new steps: use the journal of a finished run.`,
  "journal-unresponsive": ({ verb, key, ms, ended }) =>
    `The journal did not answer ${nameStep(verb, key)} within ${ms} ms${ended === undefined ? "" : ` after the run was ended (${ended})`}. Check the journal's storage, then repeat the same call.`,
  "journal-failed": ({ verb, key, problem }) =>
    `The journal failed in ${nameStep(verb, key)}: ${problem.replace(/[.]?$/, ".")} Repair the journal's storage, then repeat the same call.`,
  "conversation-busy": ({ conversation }) =>
    `Conversation ${quote(conversation)} has a live run, possibly in another process. Wait until that run ends, or set "waitMs".`,
  "conversation-refused": ({ conversation, problem }) => `Conversation ${quote(conversation)} ${problem}.`,
  "store-unresponsive": ({ verb, ms }) =>
    `The conversation store did not answer ${quote(verb)} within ${ms} ms. Check the store, then repeat the same call.`,
  "tools-changed": ({ changes }) =>
    `Recorded calls no longer fit their tools: ${changes.map(describeChange).join("; ")}. Restore the tools, or use "allowToolChange".`,
};

export function describeError<Code extends LoopErrorCode>(code: Code, details: LoopErrorDetails[Code]): string {
  return messages[code](details);
}
