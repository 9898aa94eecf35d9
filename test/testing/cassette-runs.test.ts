import { describe, expect, it } from "vitest";
import { type LoopResult, type Provider, providerError, runToolLoop, withFallback, withRetry } from "turnwright";
import {
  type Cassette,
  createMockProvider,
  createScenarioProvider,
  endEarly,
  fail,
  failInBand,
  finish,
  memoryCassette,
  type MockMessage,
  providerMetadata,
  providerSuite,
  type ProviderScenario,
  recordTo,
  replayFrom,
  text,
  toolCall,
} from "turnwright/testing";
import { play, tool } from "../loop/play.ts";
import { scenarios } from "../loop/scenarios/all.ts";
import { setUp, type Scenario } from "../loop/scenarios/scenario.ts";

const byTitle = scenarios.map((scenario) => [scenario.title, scenario] as const);

const withoutJournal = ({ journal: _, ...rest }: LoopResult): unknown => JSON.parse(JSON.stringify(rest));

/**
 * In these scenarios, a message is sent while the model is streaming, or the stream takes too long. Without the recorded timing, a
 * replay would end before that.
 */
const timed: ReadonlySet<string> = new Set([
  "a message steered into the last iteration",
  "a message steered into the last iteration that is allowed",
  "a drain after a message steered into the last iteration",
  "a model that never stops writing",
]);

const withoutTimes = (result: LoopResult): unknown =>
  JSON.parse(JSON.stringify(withoutJournal(result)), (key, value: unknown) => (key === "durationMs" ? 0 : value));

async function run(scenario: Scenario, toProvider: (own: Provider) => Provider): Promise<LoopResult> {
  const { stage, options } = setUp(scenario);
  const running = runToolLoop({ ...options, provider: toProvider(options.provider) });
  await scenario.meanwhile?.(stage);
  const result = await running;
  await stage.clock.flush();
  expect(stage.clock.pending).toBe(0);
  return result;
}

const untouchable = (scenario: Scenario): Scenario => ({
  ...scenario,
  script: () => {
    throw new Error("asked on replay");
  },
});

describe("recordTo and replayFrom with a whole run", () => {
  it.for(byTitle)('leave the result of the scenario "%s" unchanged while recording', async ([, scenario]) => {
    const bare = await run(scenario, (own) => own);
    const recorded = await run(scenario, (own) => recordTo(memoryCassette(), own));
    expect(withoutJournal(recorded)).toEqual(withoutJournal(bare));
  });

  it.for(byTitle)('return the recorded result of the scenario "%s" in the replay', async ([, scenario]) => {
    const cassette = memoryCassette();
    const recorded = await run(scenario, (own) => recordTo(cassette, own));
    const replayed = await run(untouchable(scenario), () => replayFrom(cassette, { timing: true }));
    expect(withoutJournal(replayed)).toEqual(withoutJournal(recorded));
  });

  it.for(byTitle.filter(([title]) => !timed.has(title)))(
    'return the recorded result of the scenario "%s" in a replay with timing: false',
    async ([, scenario]) => {
      const cassette = memoryCassette();
      const recorded = await run(scenario, (own) => recordTo(cassette, own));
      const replayed = await run(untouchable(scenario), () => replayFrom(cassette, { match: "order" }));
      expect(withoutTimes(replayed)).toEqual(withoutTimes(recorded));
    },
  );
});

describe("recordTo and replayFrom", () => {
  const busy = fail({ status: 503, message: "Busy." });
  const mock = (...turns: readonly MockMessage[]): Provider => createMockProvider(turns, { id: "m", model: "m-1", family: "f" });
  const echo = tool("echo", (args) => args);

  async function recordAndReplay(
    record: (cassette: Cassette) => Provider,
    replay: (cassette: Cassette) => Provider = replayFrom,
  ): Promise<LoopResult> {
    const cassette = memoryCassette();
    const first = play([], { provider: record(cassette), tools: [echo], runId: "r" });
    await first.clock.runAll();
    const recorded = await first.result;
    const again = play([], { provider: replay(cassette), tools: [echo], runId: "r" });
    await again.clock.runAll();
    const replayed = await again.result;
    expect(withoutTimes(replayed)).toEqual(withoutTimes(recorded));
    expect(again.recording.outline()).toEqual(first.recording.outline());
    return replayed;
  }

  it.for<[what: string, turns: readonly MockMessage[], reason: string]>([
    ["with tools", [[text("So. "), toolCall("echo", { n: 1 }, { fragments: 3 })], text("Done.")], "answered"],
    ["with provider metadata", [[providerMetadata({ sealed: "x" }), toolCall("echo")], text("Done.")], "answered"],
    ["with a continuation", [[text("Half, "), finish("continue", { token: "t" })], text("whole.")], "answered"],
    ["whose provider throws", [[text("Half"), busy]], "provider-error"],
    ["with an error chunk in its stream", [[text("Half"), failInBand(providerError("overloaded", "Busy."))]], "provider-error"],
    ["whose stream ends early", [[text("Half"), endEarly()]], "provider-error"],
  ])("record and replay a run %s", async ([, turns, reason]) => {
    const result = await recordAndReplay((cassette) => recordTo(cassette, mock(...turns)));
    expect(result.reason.kind).toBe(reason);
    expect(result.streamResults.map(({ provider, model, family }) => [provider, model, family])).toEqual(
      result.streamResults.map(() => ["m", "m-1", "f"]),
    );
  });

  it("record and replay retries if recordTo wraps withRetry", async () => {
    const result = await recordAndReplay((cassette) => recordTo(cassette, withRetry(mock(busy, busy, text("Hi.")))));
    expect(result.text).toBe("Hi.");
  });

  it("record and replay retries if withRetry wraps recordTo and replayFrom", async () => {
    const retrying = (provider: Provider): Provider => withRetry(provider, { random: () => 1 });
    const result = await recordAndReplay(
      (cassette) => retrying(recordTo(cassette, mock(busy, busy, text("Hi.")))),
      (cassette) => retrying(replayFrom(cassette)),
    );
    expect(result.text).toBe("Hi.");
  });

  it("record and replay a fallback if recordTo wraps withFallback", async () => {
    const fallback = withFallback([
      mock([text("Wrong"), busy], [text("No"), busy]),
      createMockProvider([[text("Half, "), finish("continue", { token: "t" })], text("whole.")], { id: "b", model: "b-1" }),
    ]);
    const result = await recordAndReplay((cassette) => recordTo(cassette, fallback));
    expect([result.text, result.streamResults.at(-1)?.provider]).toEqual(["Half, whole.", "b"]);
  });

  it("record and replay a fallback with a separate cassette for each provider", async () => {
    const second = memoryCassette();
    const result = await recordAndReplay(
      (first) => withFallback([recordTo(first, mock([text("Wrong"), busy])), recordTo(second, mock(text("Right.")))]),
      (first) => withFallback([replayFrom(first), replayFrom(second)]),
    );
    expect(result.text).toBe("Right.");
  });

  it("give the redacted chunks to the recorded run and to the replayed run", async () => {
    const kept: Cassette[] = [];
    const hide = <T>(value: T): T => JSON.parse(JSON.stringify(value).replaceAll("4711", "****"));
    const turns = [
      [text("Account 4711."), toolCall("echo", { account: "4711" })],
      [text("4711"), fail(new Error("no 4711"))],
    ];
    const result = await recordAndReplay((cassette) => {
      kept.push(cassette);
      return recordTo(cassette, mock(...turns), { redact: ({ chunk }) => hide(chunk) });
    });
    expect(result.streamResults.map(({ text }) => text)).toEqual(["Account ****.", "****"]);
    expect(JSON.stringify(result.messages)).not.toContain("4711");
    expect(result.reason).toMatchObject({ error: { message: "no ****" } });
    expect(kept[0]?.read()).toContain("****");
    expect(kept[0]?.read()).not.toContain("4711");
  });
});

describe("a provider recorded by recordTo, and then replayed by replayFrom", () => {
  const cassettes = new Map<ProviderScenario, Cassette[]>();
  const recording = providerSuite({
    create: (scenario) => {
      const cassette = memoryCassette();
      cassettes.set(scenario, [...(cassettes.get(scenario) ?? []), cassette]);
      return { provider: recordTo(cassette, createScenarioProvider(scenario)) };
    },
  });
  const replaying = providerSuite({
    create: (scenario) => ({ provider: replayFrom(cassettes.get(scenario)?.shift() ?? memoryCassette()) }),
  });
  it.for(recording.map((check, index) => [check.title, check, replaying[index]] as const))("%s", async ([, record, replay]) => {
    await record.run();
    await replay?.run();
  });
});
