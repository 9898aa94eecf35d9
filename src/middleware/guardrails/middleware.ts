// Middleware that checks input and output. The input checks run in parallel with the request, as a separate journal step. The output
// checks' verdicts are stored with the answer.

import { addSpending, type Answer, type Hooks, isRecord, type Recorder, type RunFacts, type State } from "../../core/kit.ts";
import type { GuardrailRecord } from "../../core/types/guardrails.ts";
import { LoopError, type Message, type UserMessage } from "../../core/index.ts";
import { toJson } from "../../shared/json.ts";
import { userTextOf } from "../../shared/transcript.ts";
import { askCheck, type CheckPorts } from "./ask-check.ts";
import type { CheckedInput, InputCheck, OutputCheck } from "./checks.ts";
import { guardProvider, type Guarding, hasPassed } from "./guard-stream.ts";
import { OutputGate } from "./output-gate.ts";

export interface RequestChecks {
  readonly input: readonly InputCheck[];
  readonly output: readonly OutputCheck[];
}

const name = "guardrails";
const noText = { text: "", reasoning: "" };
const unchecked: Guarding = { checked: undefined, createGate: undefined };

export function guardRequests({ input, output }: RequestChecks, run: RunFacts): Pick<Hooks, "provider" | "request"> {
  let hasNewInput = true;
  let guarding = unchecked;
  return {
    provider: (provider) => guardProvider(provider, () => guarding),
    async request(request, next, at) {
      const { continuation, steered, messages } = at.state;
      if (continuation === 0 && steered.length > 0) hasNewInput = true;
      const newMessages = hasNewInput ? findNewMessages(messages) : [];
      const own = new AbortController();
      const ports = portsOf(run, at, AbortSignal.any([at.signal, own.signal]));
      const checking =
        newMessages.length * input.length === 0 ? undefined : checkInput(at, { input, messages, newMessages, ports });
      guarding = { checked: checking?.verdict, createGate: gateMaker(output, at.state, ports) };
      try {
        const answer = await settleBoth(next(request), checking?.records);
        const records = (await checking?.records) ?? [];
        if (checking !== undefined) hasNewInput = !records.every(hasPassed);
        return judge(answer, records, at);
      } finally {
        own.abort(new DOMException("The request is over.", "AbortError"));
      }
    },
  };
}

/** Waits for both promises, so that the checks' step has ended before the request fails. */
async function settleBoth(answer: Promise<Answer>, records: Promise<unknown> | undefined): Promise<Answer> {
  await Promise.allSettled([answer, records]);
  return answer;
}

function gateMaker(checks: readonly OutputCheck[], state: State, ports: CheckPorts): Guarding["createGate"] {
  if (checks.length === 0) return undefined;
  const { text, reasoning } = state.continuation === 0 ? noText : state.current;
  return (call) => {
    const gate: OutputGate = new OutputGate({
      checks,
      before: { text, reasoning },
      ask: ({ name: of, check }, output) =>
        askCheck(ports, { name: of, mayRewrite: true, check: (context) => check(output, context) }),
      onAsked: () => call.note?.(name, toJson(gate.records)),
    });
    return gate;
  };
}

function findNewMessages(messages: readonly Message[]): readonly UserMessage[] {
  const last = messages.findLastIndex(({ role }) => role !== "user");
  return messages.slice(last + 1) as readonly UserMessage[];
}

function portsOf({ runId, clock, timeouts }: RunFacts, at: Recorder, signal: AbortSignal): CheckPorts {
  const { session, context, state } = at;
  return { facts: { runId, iteration: state.iteration, session, context }, clock, ms: timeouts.callbackMs, signal };
}

interface Checking {
  readonly input: readonly InputCheck[];
  readonly messages: readonly Message[];
  readonly newMessages: readonly UserMessage[];
  readonly ports: CheckPorts;
}

interface Checked {
  /** The checks' records. Resolves once the checks' journal step is recorded. */
  readonly records: Promise<readonly GuardrailRecord[]>;
  /**
   * The records of this check. Resolves while the journal step is still running, because the request may need the records before the step
   * can end.
   */
  readonly verdict: Promise<readonly GuardrailRecord[]>;
}

function checkInput(at: Recorder, { input, messages, newMessages, ports }: Checking): Checked {
  let settle: (records: readonly GuardrailRecord[]) => void = () => {};
  const verdict = new Promise<readonly GuardrailRecord[]>((resolve) => (settle = resolve));
  const text = newMessages.map(userTextOf).join("\n\n");
  const report = (records: readonly GuardrailRecord[]): void => {
    for (const record of records) at.emit("guardrail", { stage: "input", ...record });
    settle(records);
  };
  let isLive = false;
  const step = async (): Promise<readonly GuardrailRecord[]> => {
    const records = await at.step("input", async () => {
      isLive = true;
      const made = await askAll(input, { text, newMessages, messages: Object.freeze([...messages]) }, ports);
      report(made);
      return made;
    });
    if (!isLive) report(readRecords(records));
    return records;
  };
  const records = step();
  records.catch(() => {});
  return { records, verdict };
}

/** Runs the checks in parallel. The first check that does not pass cancels the others, so that the run ends immediately. */
async function askAll(
  checks: readonly InputCheck[],
  input: CheckedInput,
  ports: CheckPorts,
): Promise<readonly GuardrailRecord[]> {
  const own = new AbortController();
  const shared = { ...ports, signal: AbortSignal.any([ports.signal, own.signal]) };
  return Promise.all(
    checks.map(async ({ name: of, check }) => {
      const asked = await askCheck(shared, { name: of, mayRewrite: false, check: (context) => check(input, context) });
      if (asked.verdict !== "pass") own.abort(new DOMException("The input was refused.", "AbortError"));
      return asked;
    }),
  );
}

/** Adds the checks' records to the answer, and an ending if a check stopped the stream. */
function judge({ notes, ...answer }: Answer, input: readonly GuardrailRecord[], at: Recorder): Answer {
  const { [name]: note, ...others } = notes ?? {};
  const output = note === undefined ? [] : readRecords(note);
  for (const record of output) at.emit("guardrail", { stage: "output", ...record });
  for (const { spent } of [...input, ...output]) if (spent !== undefined) addSpending(at, spent);
  const whole: Answer = {
    ...answer,
    ...(Object.keys(others).length > 0 && { notes: others }),
    ...(output.length > 0 && { guardrails: output }),
  };
  const refused = findRefusal(input);
  if (refused !== undefined) return endBy("input", refused, whole);
  const stopped = output.find((record) => !hasPassed(record));
  return stopped === undefined ? whole : endBy("output", stopped, whole);
}

/** Returns the record of the check that refused or failed, if any. The records from the other checks may say "cancelled". */
function findRefusal(records: readonly GuardrailRecord[]): GuardrailRecord | undefined {
  return records.find(({ verdict }) => verdict === "refuse" || verdict === "failed");
}

/** Ends the answer because of a check. If the run was canceled during the check, the answer's own ending is kept. */
function endBy(stage: "input" | "output", record: GuardrailRecord, answer: Answer): Answer {
  const { guardrail, verdict, reason, info, error } = record;
  if (verdict === "cancelled") return answer;
  if (verdict === "failed" && error !== undefined)
    return { ...answer, status: "error", reason: { kind: "hook-failed", hook: `guardrails.${guardrail}`, error }, error };
  return { ...answer, status: "error", reason: { kind: `${stage}-guardrail`, guardrail, reason, info }, error: undefined };
}

/** Reads recorded verdicts. Checks them, because a saved journal may have been edited. */
function readRecords(value: unknown): readonly GuardrailRecord[] {
  if (Array.isArray(value) && value.every(isGuardrailRecord)) return value;
  throw new LoopError("journal-damaged", { key: name, problem: "contains an invalid check verdict" });
}

function isGuardrailRecord(value: unknown): value is GuardrailRecord {
  if (!isRecord(value) || typeof value["guardrail"] !== "string" || typeof value["verdict"] !== "string") return false;
  const { spent } = value;
  return (
    spent === undefined || (isRecord(spent) && isRecord(spent["usage"]) && typeof spent["usage"]["totalTokens"] === "number")
  );
}
