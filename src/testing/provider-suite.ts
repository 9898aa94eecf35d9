import type { AssistantPart } from "../core/kit.ts";
import {
  type Message,
  type ModelCall,
  type ModelChunk,
  type ModelRequest,
  parseToolArguments,
  type Provider,
  type ProviderErrorCode,
  type ToolResultPart,
  toProviderError,
} from "../core/index.ts";
import { stableJson } from "../shared/json.ts";
import { systemClock } from "../shared/signals.ts";
import {
  type ProviderScenario,
  providerScenarios,
  type ScenarioCall,
  type ScenarioReply,
  scenarioTool,
} from "./provider-scenarios.ts";
import {
  callsOf,
  check,
  checkDistinct,
  checkFinished,
  checkSame,
  checkSetup,
  checkUnfinished,
  metadataOf,
  type Patience,
  type Reading,
  readStream,
  type SuiteCheck,
  textOf,
  usageOf,
  within,
} from "./suite-check.ts";

/** A provider for one check, connected to a test server or script that plays one scenario. */
export interface ProviderFixture {
  readonly provider: Provider;
  /** Called after the check, even if the check failed. */
  close?(): unknown;
}

/** Connects `providerSuite` to the provider to test. The suite passes `clock` to each call to the provider. */
export interface ProviderSuiteSetup extends Patience {
  /** Creates a provider for one check. The provider's client must not retry on its own. */
  create(scenario: ProviderScenario): ProviderFixture | PromiseLike<ProviderFixture>;
}

interface Bench {
  readonly provider: Provider;
  readonly scenario: ProviderScenario;
  readonly abort: AbortController;
  readonly call: ModelCall;
  readonly patience: Patience;
}

type Check = readonly [title: string, scenario: ProviderScenario, run: (bench: Bench) => Promise<void>];

/**
 * Returns the checks for a provider. `setup.create` connects the provider to a test server or script that plays the given scenario.
 *
 * The suite registers no tests on its own: loop over the checks with any test runner. A failed check rejects with an Error that
 * describes what the provider did. The check for listeners also fails if the vendor's SDK leaves its own listeners on the signal. Pass
 * such an SDK a separate signal.
 *
 * @example
 * for (const { title, run } of providerSuite({ create: (scenario) => startServer(scenario) })) it(title, run);
 */
export function providerSuite(setup: ProviderSuiteSetup): readonly SuiteCheck[] {
  checkSetup(setup, "create");
  return checks.map(([title, scenario, run]) => ({ title, run: () => runCheck(setup, scenario, run) }));
}

const { silence, unauthorized } = providerScenarios;

const checks: readonly Check[] = [
  ["streams text and ends with exactly one finish chunk", providerScenarios.text, checkText],
  ["reports usage", providerScenarios.text, checkUsage],
  ["sends a complete tool call with parsed arguments", providerScenarios["tool-call"], checkCalls],
  ["keeps parallel calls apart", providerScenarios["parallel-calls"], checkCalls],
  ["accepts tool results in the next request", providerScenarios["tool-results"], checkToolResults],
  ["does not change the request", providerScenarios["tool-results"], checkRequestUnchanged],
  ["passes text on while the stream is open", silence, checkStreaming],
  ["ends the stream soon after the signal fires", silence, checkAbortDuring],
  ["ends the stream soon if the signal has already fired", silence, checkAbortBefore],
  ["ends the stream soon after the reader stops", silence, checkReaderLeaves],
  ["leaves no listener on the signal after a finished stream", providerScenarios.text, checkListeners],
  ["sends no finish chunk if the connection closes early", providerScenarios["cut-early"], checkCutEarly],
  ['reports a rejected key as "auth"', unauthorized, (bench) => checkFailure(bench, "auth")],
  ['reports a rate limit as "rate-limit"', providerScenarios["rate-limited"], (bench) => checkFailure(bench, "rate-limit")],
  ['reports a server failure as "server"', providerScenarios["server-failure"], (bench) => checkFailure(bench, "server")],
];

async function runCheck(setup: ProviderSuiteSetup, scenario: ProviderScenario, run: Check[2]): Promise<void> {
  const { clock = systemClock, withinMs } = setup;
  const fixture = await setup.create(scenario);
  const abort = new AbortController();
  const timeouts = {
    streamIdleMs: 120_000,
    firstChunkMs: 300_000,
    toolMs: 300_000,
    toolCleanupMs: 5_000,
    approvalMs: 300_000,
    callbackMs: 30_000,
  };
  const call: ModelCall = { signal: abort.signal, heartbeat: () => {}, iteration: 0, clock, timeouts };
  try {
    await run({ provider: fixture.provider, scenario, abort, call, patience: { clock, withinMs } });
  } finally {
    abort.abort(new DOMException("The check is over.", "AbortError"));
    await fixture.close?.();
  }
}

function requestOf({ scenario }: Bench): ModelRequest {
  return { messages: [{ role: "user", content: scenario.prompt }], tools: [scenarioTool], iteration: 0 };
}

function read({ provider, call, patience }: Bench, request: ModelRequest): Promise<Reading> {
  return within(
    readStream(() => provider.stream(request, call)),
    "The stream did not end",
    patience,
  );
}

function replyOf({ scenario }: Bench, index = 0): Extract<ScenarioReply, { kind: "turn" }> {
  const reply = scenario.replies[index];
  check(reply?.kind === "turn", `The scenario "${scenario.name}" has no message with index ${index}.`);
  return reply;
}

async function checkText(bench: Bench): Promise<void> {
  const reading = await read(bench, requestOf(bench));
  const reason = checkFinished(reading);
  check(reason === "stop", `The finish reason must be "stop", but is "${reason}".`);
  checkSame(textOf(reading), replyOf(bench).text, "The text");
}

async function checkUsage(bench: Bench): Promise<void> {
  const usage = usageOf(await read(bench, requestOf(bench)));
  check(usage !== undefined, 'The stream has no "usage" chunk.');
  const { inputTokens, outputTokens, totalTokens } = usage;
  const expected = replyOf(bench).usage;
  checkSame(
    { inputTokens, outputTokens, totalTokens },
    { ...expected, totalTokens: expected.inputTokens + expected.outputTokens },
    "The usage",
  );
}

async function checkCalls(bench: Bench): Promise<void> {
  const reading = await read(bench, requestOf(bench));
  const reason = checkFinished(reading);
  check(reason === "tool-calls", `The finish reason must be "tool-calls", but is "${reason}".`);
  checkCallsOf(reading, replyOf(bench).calls);
}

function checkCallsOf(reading: Reading, expected: readonly ScenarioCall[]): void {
  const calls = callsOf(reading);
  checkSame(
    calls.map(({ name, args }) => ({ name, args })),
    expected,
    'The calls in the "call-ready" chunks',
  );
  checkDistinct(
    calls.map(({ key }) => key),
    "key",
  );
  checkDistinct(
    calls.flatMap(({ id }) => id ?? []),
    "id",
  );
  for (const { problem, streamedArgs, args } of calls) {
    check(problem === undefined, `A call with complete arguments must have no problem, but has the problem "${problem}".`);
    const streamed = parseToolArguments(streamedArgs);
    const agree = streamedArgs === "" || ("args" in streamed && stableJson(streamed.args) === stableJson(args));
    check(agree, `The streamed arguments of a call must be ${stableJson(args)}, but are ${streamedArgs}.`);
  }
}

async function checkToolResults(bench: Bench): Promise<void> {
  const request = requestOf(bench);
  const first = await read(bench, request);
  checkFinished(first);
  checkCallsOf(first, replyOf(bench).calls);
  const second = await read(bench, followUp(bench, request, first));
  checkFinished(second);
  checkSame(textOf(second), replyOf(bench, 1).text, "The text after the tool results");
}

async function checkRequestUnchanged(bench: Bench): Promise<void> {
  const first = requestOf(bench);
  const second = followUp(bench, first, await readUnchanged(bench, first));
  await readUnchanged(bench, second);
}

async function readUnchanged(bench: Bench, request: ModelRequest): Promise<Reading> {
  const before = stableJson(request);
  const reading = await read(bench, request);
  check(stableJson(request) === before, `The provider changed the request from ${before} to ${stableJson(request)}.`);
  return reading;
}

function followUp({ provider }: Bench, request: ModelRequest, reading: Reading): ModelRequest {
  const content: AssistantPart[] = [];
  const results: ToolResultPart[] = [];
  for (const [index, { id, name, args }] of callsOf(reading).entries()) {
    const callId = id ?? `call_i0_${index}`;
    content.push({ type: "tool-call", callId, providerCallId: id, name, args: JSON.parse(JSON.stringify(args)) });
    results.push({ callId, name, outcome: "completed", result: { celsius: 7 + index } });
  }
  const providerMetadata = metadataOf(reading).map((item) => ({ provider: provider.id, model: provider.model, item }));
  const turn: Message = {
    role: "assistant",
    content,
    providerMetadata: providerMetadata.length === 0 ? undefined : providerMetadata,
  };
  return { ...request, messages: [...request.messages, turn, { role: "tool", results }], iteration: 1 };
}

async function openStream(bench: Bench): Promise<AsyncIterator<ModelChunk>> {
  const { provider, call, patience } = bench;
  const iterator = provider.stream(requestOf(bench), call)[Symbol.asyncIterator]();
  const complaint = "The service sent text and kept the connection open, but the provider passed no text on";
  for (;;) {
    const { done, value } = await within(iterator.next(), complaint, patience);
    check(done !== true, "The stream ended although the service keeps the connection open.");
    if (value.type === "text-delta" && value.text !== "") return iterator;
  }
}

async function checkStreaming(bench: Bench): Promise<void> {
  await openStream(bench);
}

async function checkAbortDuring(bench: Bench): Promise<void> {
  const iterator = await openStream(bench);
  bench.abort.abort(new DOMException("Enough.", "AbortError"));
  const rest = readStream(() => ({ [Symbol.asyncIterator]: () => iterator }));
  checkUnfinished(await within(rest, "After the signal fired, the stream did not end", bench.patience));
}

async function checkAbortBefore(bench: Bench): Promise<void> {
  const { provider, call, abort, patience } = bench;
  abort.abort(new DOMException("Enough.", "AbortError"));
  const reading = readStream(() => provider.stream(requestOf(bench), call));
  checkUnfinished(await within(reading, "The signal had already fired, but the stream did not end", patience));
}

async function checkReaderLeaves(bench: Bench): Promise<void> {
  const iterator = await openStream(bench);
  const left = Promise.resolve(iterator.return?.()).catch(() => undefined);
  await within(left, "After its reader stopped, the stream did not end", bench.patience);
}

async function checkListeners(bench: Bench): Promise<void> {
  const listeners = watchListeners(bench.call.signal);
  checkFinished(await read(bench, requestOf(bench)));
  check(listeners.size === 0, `The finished stream left ${listeners.size} listener(s) on the signal. Remove them all.`);
}

function watchListeners(signal: AbortSignal): ReadonlySet<unknown> {
  const listeners = new Set<unknown>();
  const { addEventListener, removeEventListener } = signal;
  signal.addEventListener = (...args: Parameters<typeof addEventListener>) => {
    listeners.add(args[1]);
    Reflect.apply(addEventListener, signal, args);
  };
  signal.removeEventListener = (...args: Parameters<typeof removeEventListener>) => {
    listeners.delete(args[1]);
    Reflect.apply(removeEventListener, signal, args);
  };
  return listeners;
}

async function checkCutEarly(bench: Bench): Promise<void> {
  checkUnfinished(await read(bench, requestOf(bench)));
}

async function checkFailure(bench: Bench, expected: ProviderErrorCode): Promise<void> {
  const reading = await read(bench, requestOf(bench));
  const { failure } = reading;
  check(failure !== undefined, "The service rejected the request, but the provider neither threw nor sent an error chunk.");
  checkUnfinished(reading);
  const { code, message } = toProviderError(failure.error);
  check(code === expected, `The error code of the failure must be "${expected}", but is "${code}": ${message}`);
}
