// Runs in which everything fails, with one text for each kind of secret, and all texts that then leave the package.

import { tracingChannel } from "node:diagnostics_channel";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inspect } from "node:util";
import { vi } from "vitest";
import {
  approve,
  gateTools,
  type Journal,
  type LoopEvent,
  type LoopOptions,
  type LoopResult,
  memoryJournal,
  onIteration,
  prepareIteration,
  type Provider,
  runToolLoop,
  stopWhen,
  unwrap,
  withFallback,
} from "turnwright";
import { toAGUIStream } from "turnwright/ag-ui";
import { aiSdkModel } from "turnwright/ai-sdk";
import { anthropicMessages } from "turnwright/anthropic";
import { compactMessages, guardrails } from "turnwright/middleware";
import { readEnvironment } from "turnwright/config";
import { iterationChannel, runChannel, toolChannel, diagnostics, recordSpans, tracing } from "turnwright/observe";
import { googleGenerateContent } from "turnwright/google";
import { journalToRunLog, parseRunLog, renderRunPage, type RunLog, toChromeTrace, toMarkdown, runLog } from "turnwright/inspect";
import { fileJournal } from "turnwright/journal";
import { createMcpRegistry } from "turnwright/mcp";
import { openaiChat, openaiResponses } from "turnwright/openai";
import { createMockProvider, fail, memoryCassette, recordEvents, recordTo, text, toolCall } from "turnwright/testing";
import { toUIMessageStream } from "turnwright/ui-message-stream";
import { tool } from "../loop/play.ts";
import { setUpTracing, type TracingStage } from "../tracing/stage.ts";
import { secretKinds } from "./secret-kinds.ts";
import { addWatchers } from "../add-watchers.ts";

type LoopEventType = LoopEvent["type"];

const messages: LoopOptions["messages"] = [{ role: "user", content: "Go." }];
const texts: readonly string[] = secretKinds.map(({ text }) => text);
const hi = createMockProvider(() => text("Hi."));

const show = (value: unknown): string => JSON.stringify(value) ?? "";

/** The text of everything that hangs on a value, including fields that JSON omits. */
const showAll = (value: unknown): string => show(value) + inspect(value, { depth: 12, showHidden: true, maxStringLength: null });

function errorWith(said: string): Error {
  const cause = new AggregateError([new Error(said)], said);
  return Object.assign(new Error(said, { cause }), { code: said, name: said });
}

function thrower(said: string): () => never {
  return () => {
    throw errorWith(said);
  };
}

/** Does the same for each text, and joins what leaves. */
async function forEach(work: (said: string) => unknown, write = show): Promise<string> {
  const left: string[] = [];
  for (const said of texts) left.push(write(await work(said)));
  return left.join("\n");
}

function thrownBy(work: () => unknown): unknown {
  try {
    return work();
  } catch (error) {
    return error;
  }
}

const reasonOf = async (options: Partial<LoopOptions>): Promise<LoopResult["reason"]> =>
  (await runToolLoop({ provider: hi, messages, ...options })).reason;

async function play(options: LoopOptions): Promise<{ readonly result: LoopResult; readonly events: readonly LoopEvent[] }> {
  const recording = recordEvents(options.events);
  const result = await runToolLoop({ ...options, events: recording.emitter });
  return { result, events: recording.events };
}

async function eventsOf(type: LoopEventType, options: Partial<LoopOptions>): Promise<readonly LoopEvent[]> {
  const { events } = await play({ provider: hi, messages, ...options });
  return events.filter((event) => event.type === type);
}

const textAt = (args: unknown): string => texts[(args as { readonly at: number }).at] ?? "";
const callEach = (name: string): ReturnType<typeof toolCall>[] => texts.map((_, at) => toolCall(name, { at }));

const callFailures: readonly string[] = ["broken", "rejecting", "unapproved", "unsure", "invalid"];

/** A run in which attempts, listeners and calls fail. `names` are the ways in which calls fail. */
function brokenRun(names: readonly string[]): LoopOptions & { readonly provider: Provider } {
  const failing = texts.map((said) =>
    createMockProvider(() => [text("half"), fail({ status: 503, message: said, cause: errorWith(said) })]),
  );
  const calling = createMockProvider(({ iteration }) => (iteration === 0 ? names.flatMap(callEach) : text("Done.")), {
    id: "calling",
  });
  const { emitter } = recordEvents();
  for (const said of texts) emitter.on("iteration-start", thrower(said));
  const validate = (args: unknown): never => thrower(textAt(args))();
  const schema = { "~standard": { version: 1, vendor: "own", validate, jsonSchema: { input: () => ({ type: "object" }) } } };
  return {
    provider: withFallback([...failing, calling]),
    tools: [
      tool("broken", validate),
      tool("rejecting", (args) => Promise.reject(errorWith(textAt(args)))),
      tool("unapproved", () => 1, { needsApproval: true }),
      tool("unsure", () => 1, { needsApproval: validate }),
      tool("invalid", () => 1, { inputSchema: schema as never }),
    ],
    messages,
    events: emitter,
    limits: { maxToolCalls: 10_000 },
    middleware: [approve(({ name, args }) => (name === "unapproved" ? validate(args) : { kind: "approve" }))],
  };
}

/** Each way out, and what leaves by it. */
export type Ways = readonly (readonly [way: string, leave: () => string | Promise<string>])[];

/** The ways that also exist in a program without the exact redaction. */
export function waysOfRuns(): Ways {
  let played: ReturnType<typeof play> | undefined;
  const broken = (): ReturnType<typeof play> => (played ??= play(brokenRun(callFailures)));
  return [...waysOfEvents(broken), ...waysOfResults(broken)];
}

function waysOfEvents(broken: () => ReturnType<typeof play>): Ways {
  const ofType = (type: LoopEventType): Ways[number] => [
    `the event ${type}`,
    async () => show((await broken()).events.filter((event) => event.type === type)),
  ];
  return [
    [
      "the next request to the model",
      async () => {
        const provider = createMockProvider([callEach("broken"), text("Done.")]);
        await runToolLoop({ provider, messages, tools: [tool("broken", (args) => thrower(textAt(args))())] });
        return show(provider.requests[1]?.messages);
      },
    ],
    ...(["tool-end", "approval-decided", "attempt-discarded", "listener-error"] as const).map(ofType),
    ["the event run-end", () => forEach((said) => eventsOf("run-end", { middleware: [prepareIteration(thrower(said))] }))],
    [
      "the event guardrail",
      () =>
        forEach((said) =>
          eventsOf("guardrail", { middleware: [guardrails({ input: [{ name: "topic", check: thrower(said) }] })] }),
        ),
    ],
    [
      "the event compaction-end",
      () =>
        forEach((said) => {
          const provider = createMockProvider(({ purpose }) =>
            purpose === "summary" ? fail({ status: 400, message: said }) : text("Done."),
          );
          const long = Array.from({ length: 4 }, () => ({ role: "user" as const, content: "x ".repeat(1_000) }));
          return eventsOf("compaction-end", {
            provider,
            messages: long,
            middleware: [compactMessages({ when: 1_500, keep: 500 })],
          });
        }),
    ],
    [
      "the event hidden-notice",
      () => {
        const calls = secretKinds.map(({ text: said, mark }) => toolCall("search", { [mark]: true, said, inner: [{ said }] }));
        const gate = {
          active: true,
          triggerMatchByToolName: new Map([["search", { trigger: "s", match: "s", source: "stem" } as const]]),
        };
        const provider = createMockProvider([calls, text("Done.")]);
        return eventsOf("hidden-notice", { provider, tools: [tool("search", () => 1)], middleware: [gateTools(gate)] }).then(
          show,
        );
      },
    ],
  ];
}

type Ending = (said: string) => Promise<LoopResult>;

/** Plays one run for each text, whose result several ways show. */
function once(run: Ending): Ending {
  const played = new Map<string, Promise<LoopResult>>();
  return (said) => {
    const result = played.get(said) ?? run(said);
    played.set(said, result);
    return result;
  };
}

function waysOfResults(broken: () => ReturnType<typeof play>): Ways {
  const hookFails = once((said) =>
    runToolLoop({ provider: createMockProvider([toolCall("none")]), messages, middleware: [onIteration(thrower(said))] }),
  );
  const failed = once((said) =>
    runToolLoop({ provider: createMockProvider([fail({ status: 400, message: said, cause: errorWith(said) })]), messages }),
  );
  return [
    ["result.messages", async () => show((await broken()).result.messages)],
    ["result.functionHistory", async () => show((await broken()).result.functionHistory)],
    ["result.journal", async () => JSON.stringify((await broken()).result.journal)],
    ["result.reason of onIteration", () => forEach(async (said) => (await hookFails(said)).reason)],
    ["result.reason of prepareIteration", () => forEach((said) => reasonOf({ middleware: [prepareIteration(thrower(said))] }))],
    ["result.reason of stopWhen", () => forEach((said) => reasonOf({ middleware: [stopWhen(thrower(said))] }))],
    ["result.reason of a provider", () => forEach(async (said) => (await failed(said)).reason)],
    ["the whole result", () => forEach(hookFails, showAll)],
    [
      "LoopEndedError",
      () => forEach(async (said) => [await hookFails(said)].map((result) => thrownBy(() => unwrap(result))), showAll),
    ],
    [
      "ProviderFailedError",
      () => forEach(async (said) => [await failed(said)].map((result) => thrownBy(() => unwrap(result))), showAll),
    ],
    [
      "LoopError journal-failed",
      () =>
        forEach(async (said) => {
          const journal: Journal = { durable: false, read: () => undefined, step: () => Promise.reject(said) };
          const thrown: unknown = await runToolLoop({ provider: hi, messages, journal }).catch((error: unknown) => error);
          // The cause is what the journal of the caller threw.
          const { message, details } = thrown as { readonly message: string; readonly details: object };
          return { message, details };
        }),
    ],
  ];
}

const makeAdapters: { readonly [adapter: string]: (thrown: () => Promise<never>) => Provider } = {
  openaiChat: (create) => openaiChat({ client: { chat: { completions: { create } } }, model: "m" }),
  openaiResponses: (create) => openaiResponses({ client: { responses: { create } }, model: "m" }),
  anthropicMessages: (create) =>
    anthropicMessages({ client: { messages: { create }, beta: { messages: { create } } } as never, model: "m" }),
  googleGenerateContent: (generateContentStream) =>
    googleGenerateContent({ client: { models: { generateContentStream } }, model: "m" }),
  aiSdkModel: (doStream) =>
    aiSdkModel({
      model: {
        specificationVersion: "v3",
        provider: "p",
        modelId: "m",
        doStream,
        doGenerate: doStream,
        supportedUrls: {},
      } as never,
    }),
};

/** An error as SDKs throw it: the text is also in the body of the response. */
const rejectAsSdk = (said: string) => (): Promise<never> =>
  Promise.reject(Object.assign(errorWith(said), { status: 401, error: { message: said, type: said }, responseBody: said }));

async function* replay(events: readonly LoopEvent[]): AsyncGenerator<LoopEvent> {
  yield* events;
}

async function drain(stream: ReadableStream<unknown>): Promise<string> {
  const chunks: unknown[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return JSON.stringify(chunks);
}

/** The messages of all channels, with the fields that have getters. */
async function listen(work: () => Promise<unknown>): Promise<string> {
  const heard: string[] = [];
  const stops = [runChannel, iterationChannel, toolChannel].map((name) => {
    const channel = tracingChannel<unknown, object>(name);
    const note = (message: object): void => void heard.push(inspect(message, { depth: 6, getters: true, maxStringLength: null }));
    const listeners = { start: note, end: note, asyncStart: note, asyncEnd: note, error: note };
    channel.subscribe(listeners);
    return () => channel.unsubscribe(listeners);
  });
  await work().finally(() => {
    for (const stop of stops) stop();
  });
  return heard.join("\n");
}

const spansOf = (stage: TracingStage): string =>
  show(stage.spans().map(({ name, attributes, events, status }) => ({ name, attributes, events, status })));

interface Watched {
  readonly events: readonly LoopEvent[];
  readonly log: RunLog;
  readonly lines: string;
  readonly journal: string;
  readonly stage: TracingStage;
}

/** Plays the broken run with a journal in a file, a run log and traces. */
async function watch(): Promise<Watched> {
  const lines: string[] = [];
  const stage = setUpTracing({ captureContent: true });
  const directory = mkdtempSync(join(tmpdir(), "turnwright-"));
  const path = join(directory, "run.jsonl");
  const options = { ...brokenRun(["broken"]), journal: fileJournal(path, { fsync: false }), runId: "r" };
  const logged = addWatchers(options, runLog({ to: { write: (line) => void lines.push(line) } }));
  const { events } = await play(addWatchers(logged, tracing(stage.options)));
  const journal = readFileSync(path, "utf8");
  rmSync(directory, { recursive: true });
  return { events, log: parseRunLog(lines.join("")), lines: lines.join(""), journal, stage };
}

/** Plays a run whose model makes up names of tools and ids of calls. */
async function nameCalls(): Promise<{ readonly heard: string; readonly spans: string; readonly trace: string }> {
  const provider = createMockProvider([texts.map((said) => toolCall(said, {}, { id: said })), text("Done.")]);
  const lines: string[] = [];
  const stage = setUpTracing();
  const logged = addWatchers({ provider, tools: [], messages }, runLog({ to: { write: (line) => void lines.push(line) } }));
  const heard = await listen(() => runToolLoop(addWatchers(addWatchers(logged, diagnostics()), tracing(stage.options))));
  return { heard, spans: spansOf(stage), trace: toChromeTrace(parseRunLog(lines.join(""))) };
}

/** Plays a run whose messages, arguments, results and answer have the texts. Only logs and traces leave out their secrets. */
async function talk(): Promise<{ readonly lines: string; readonly spans: string }> {
  const calls = texts.map((said) => toolCall("look", { said, inner: [{ said }] }));
  const provider = createMockProvider([calls, texts.map((said) => text(`${said}\n`))]);
  const lines: string[] = [];
  const stage = setUpTracing({ captureContent: true });
  const look = tool("look", (args) => ({ seen: [args] }));
  const asked = texts.map((content) => ({ role: "user" as const, content }));
  const options = addWatchers(
    { provider, tools: [look], messages: asked },
    runLog({ to: { write: (line) => void lines.push(line) } }),
  );
  await runToolLoop(addWatchers(options, tracing(stage.options)));
  return { lines: lines.join(""), spans: spansOf(stage) };
}

const waysOfProviders: Ways = [
  ...Object.entries(makeAdapters).map(([adapter, make]): Ways[number] => [
    adapter,
    () => forEach((said) => reasonOf({ provider: make(rejectAsSdk(said)) })),
  ]),
  [
    "a cassette",
    () =>
      forEach(async (said) => {
        const cassette = memoryCassette();
        await reasonOf({
          provider: recordTo(
            cassette,
            openaiChat({ client: { chat: { completions: { create: rejectAsSdk(said) } } }, model: "m" }),
          ),
        });
        return cassette.read();
      }),
  ],
  [
    "createMcpRegistry",
    async () => {
      const nothing = (): undefined => undefined;
      const client = {
        getServerCapabilities: () => ({ tools: {} }),
        setNotificationHandler: nothing,
        removeNotificationHandler: nothing,
        listTools: () => Promise.resolve({ tools: [{ name: "far", inputSchema: { type: "object" } }] }),
        callTool: (call: { readonly arguments: unknown }) => Promise.reject(errorWith(textAt(call.arguments))),
      };
      const tools = await createMcpRegistry({ client });
      const provider = createMockProvider([callEach("far"), text("Done.")]);
      return show((await runToolLoop({ provider, tools, messages })).messages);
    },
  ],
];

/** The ways of the other entries. */
export function waysOfEntries(): Ways {
  let watched: Promise<Watched> | undefined;
  const broken = (): Promise<Watched> => (watched ??= watch());
  let called: ReturnType<typeof nameCalls> | undefined;
  const named = (): ReturnType<typeof nameCalls> => (called ??= nameCalls());
  let talked: ReturnType<typeof talk> | undefined;
  const told = (): ReturnType<typeof talk> => (talked ??= talk());
  const onError = (failure: object): string => JSON.stringify(failure);
  return [
    ...waysOfProviders,
    ["fileJournal", async () => (await broken()).journal],
    ["the run log", async () => (await broken()).lines],
    [
      "the run log of a journal",
      async () => {
        const journal = memoryJournal();
        await runToolLoop({ ...brokenRun(["broken"]), journal });
        return journalToRunLog(journal);
      },
    ],
    ["the run page", async () => renderRunPage({ name: "run.jsonl", text: (await broken()).lines })],
    ["Markdown", async () => (await broken()).log.runs.map((run) => toMarkdown(run)).join("\n")],
    ["the Chrome trace", async () => (await named()).trace],
    ["traces with content", async () => spansOf((await broken()).stage)],
    ["the texts of a run in its log", async () => (await told()).lines],
    ["the texts of a run in traces", async () => (await told()).spans],
    ["names in traces", async () => (await named()).spans],
    [
      "traces of a log",
      async () => {
        const recorded = setUpTracing({ captureContent: true });
        recordSpans((await broken()).log, recorded.options);
        return spansOf(recorded);
      },
    ],
    ["diagnostics channels", async () => (await named()).heard],
    ["toUIMessageStream", async () => drain(toUIMessageStream(replay((await broken()).events), { onError }))],
    ["toAGUIStream", async () => drain(toAGUIStream(replay((await broken()).events), { threadId: "t", runId: "r", onError }))],
    ["readEnvironment", () => forEach((said) => readEnvironment({ TURNWRIGHT_TOOL_MS: said }))],
    [
      "a process warning",
      async () => {
        const warn = vi.spyOn(process, "emitWarning").mockImplementation(() => undefined);
        try {
          await forEach((said) => runToolLoop(addWatchers({ provider: hi, messages }, runLog({ to: { write: thrower(said) } }))));
          return showAll(warn.mock.calls);
        } finally {
          warn.mockRestore();
        }
      },
    ],
  ];
}
