import {
  createLoopControl,
  defineTool,
  type LoopOptions,
  type LoopResult,
  type Message,
  onIteration,
  runToolLoop,
  toolResult,
  type UserMessage,
  withFallback,
  withRetry,
} from "turnwright";
import { aiSdkModel } from "turnwright/ai-sdk";
import { describe, expect, it } from "vitest";
import { generations } from "./ai-sdk-client.ts";
import type { Scripted } from "./all-wires.ts";
import { type MediaOutcome, type MediaRow, mediaRows, type MediaSender, secret } from "./media-cells.ts";
import { type Player, players } from "./media-wires.ts";

const asks: Scripted = { calls: [["call_1", "look", "{}"]], end: "tools" };
const answers: Scripted = { text: "I see.", end: "stop" };
const sends = ({ part }: MediaRow): UserMessage => ({ role: "user", content: [{ type: "text", text: "What is this?" }, part] });

interface Played {
  readonly result: LoopResult;
  readonly bodies: readonly unknown[];
}

async function play(player: Player, script: readonly Scripted[], options: Partial<LoopOptions>): Promise<Played> {
  const { provider, bodies } = await player.start(script);
  const result = await runToolLoop({ provider: withRetry(provider), messages: [{ role: "user", content: "Look." }], ...options });
  expect(bodies.map((body) => player.check(body))).toEqual(bodies.map(() => []));
  return { result, bodies };
}

const returning = ({ part }: MediaRow): LoopOptions["tools"] => [
  defineTool({
    name: "look",
    description: "Looks",
    inputSchema: { type: "object" },
    execute: () => toolResult({ data: "seen", content: [part] }),
  }),
];

const textsOf = (value: unknown): string => JSON.stringify(value);
const carries = (body: unknown, { traces, says: mediaType = "" }: MediaRow): boolean =>
  traces.some((trace) => textsOf(body).includes(trace)) && textsOf(body).includes(mediaType);
/** Ignores backslashes, because `words` may be in a JSON string that was escaped twice. */
const says = (body: unknown, words: string): boolean => textsOf(body).replaceAll("\\", "").includes(words.replaceAll("\\", ""));

const rowOf = (kind: string): MediaRow => {
  const found = mediaRows.find((row) => row.kind === kind);
  if (found === undefined) throw new Error(`There is no row ${kind}.`);
  return found;
};
const greeted: readonly Message[] = [
  { role: "user", content: "Hi." },
  { role: "assistant", content: [{ type: "text", text: "Hello." }] },
];

function expectRefusal({ result, bodies }: Played, row: MediaRow, place: string): void {
  expect(result).toMatchObject({ status: "error", reason: { kind: "provider-error" } });
  const message = result.error?.message ?? "";
  expect(result.error).toMatchObject({ code: "bad-request", retryable: false });
  expect([message.startsWith(place), message.includes(row.reason), message.includes(secret)]).toEqual([true, true, false]);
  expect(bodies.every((body) => !textsOf(body).includes(secret))).toBe(true);
}

const titles: { readonly [Outcome in MediaOutcome]: (part: string) => string } = {
  sent: (part) => `sends ${part}`,
  refused: (part) => `rejects ${part}`,
  told: (part) => `replaces ${part} with a text`,
};

describe.for(players)("provider $name: images and files", (player) => {
  const titled = (from: MediaSender, place: string): readonly (readonly [title: string, row: MediaRow])[] =>
    mediaRows.map((row) => [titles[player.expect(row, from)](`the part "${row.kind}" of a ${place}`), row]);

  it.for(titled("user", "user message"))("%s", async ([, row]) => {
    const messages = [...greeted, sends(row)];
    const played = await play(player, [answers], { messages });
    if (player.expect(row, "user") === "sent") {
      expect(played.result).toMatchObject({ status: "completed", text: "I see." });
      expect(played.bodies.map((body) => [carries(body, row), says(body, "What is this?")])).toEqual([[true, true]]);
      return;
    }
    expectRefusal(played, row, "Part 1 of message 2 is ");
    expect([played.bodies, played.result.messages]).toEqual([[], messages]);
  });

  it.for(titled("tool", "tool result"))("%s", async ([, row]) => {
    const { result, bodies } = await play(player, [asks, answers], { tools: returning(row) });
    expect(result).toMatchObject({ status: "completed", text: "I see." });
    expect(result.functionHistory).toMatchObject([{ outcome: "completed", content: [row.part] }]);
    expect(bodies).toHaveLength(2);
    const isSent = player.expect(row, "tool") === "sent";
    expect([carries(bodies[1], row), says(bodies[1], "[The tool returned "), says(bodies[1], row.reason)]).toEqual([
      isSent,
      !isSent,
      !isSent,
    ]);
    if (!isSent) expect(textsOf(bodies[1])).not.toContain(secret);
  });

  it("rejects an unsupported part in a message from control.steer()", async () => {
    const control = createLoopControl();
    const row = rowOf("file: URL");
    const steer = (): void => void control.steer(sends(row));
    const played = await play(player, [asks], {
      control,
      tools: returning(rowOf("image as PNG, base64")),
      middleware: [onIteration(steer)],
    });
    expectRefusal(played, row, "Part 1 of message 3 is ");
    expect(played.bodies).toHaveLength(1);
    expect(played.result.messages.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "user"]);
  });

  it.for(mediaRows.filter((row) => player.expect(row, "user") === "refused"))(
    'replaces an unsupported "$kind" in an old user message with text, but rejects it in a new message',
    async (row) => {
      const messages = [sends(row), ...greeted.slice(1), { role: "user", content: "And now?" } as const];
      const { result, bodies } = await play(player, [answers], { messages });
      expect([result.status, result.messages.slice(0, 3)]).toEqual(["completed", messages]);
      expect([says(bodies[0], "[The user sent a"), says(bodies[0], row.reason), carries(bodies[0], row)]).toEqual([
        true,
        true,
        false,
      ]);
      expectRefusal(await play(player, [answers], { messages: [sends(row)] }), row, "Part 1 of message 0 is ");
    },
  );

  it("corrects an image's media type", async () => {
    const row = rowOf("image as PNG, base64");
    const mislabelled: MediaRow = { ...row, part: { ...row.part, mediaType: "image/jpeg" } };
    const { bodies } = await play(player, [asks, answers], {
      tools: returning(mislabelled),
      messages: [...greeted, sends(mislabelled)],
    });
    expect(bodies.map((body) => [carries(body, row), says(body, "image/jpeg")])).toEqual([
      [true, false],
      [true, false],
    ]);
  });

  it("rejects an unsupported part again in a second run", async () => {
    const row = rowOf("file: URL");
    const { provider, bodies } = await player.start([answers]);
    const messages = [...greeted, sends(row)];
    const results: LoopResult[] = [];
    for (let time = 0; time < 2; time += 1) results.push(await runToolLoop({ provider, messages }));
    for (const result of results) expectRefusal({ result, bodies }, row, "Part 1 of message 2 is ");
    expect(bodies).toEqual([]);
    const next = await runToolLoop({ provider, messages: [...greeted, { role: "user", content: "Never mind." }] });
    expect([next.text, bodies.length]).toEqual(["I see.", 1]);
  });
});

const cannot = players.filter((player) => player.expect(rowOf("audio, https: URL"), "user") === "refused");
const can = players.find(({ name }) => name === "google");

describe.for(cannot)("provider $name: an unsupported audio URL", (player) => {
  const row = rowOf("audio, https: URL");
  const messages = [...greeted, sends(row)];
  const startOther = async (): Promise<Awaited<ReturnType<Player["start"]>>> => {
    if (can === undefined) throw new Error("There is no wire that can.");
    return can.start([answers]);
  };

  it("is sent by withFallback's next provider", async () => {
    const first = await player.start([answers]);
    const second = await startOther();
    const { text } = await runToolLoop({ provider: withFallback([first.provider, second.provider]), messages });
    expect([text, first.bodies.length, second.bodies.map((body) => carries(body, row))]).toEqual(["I see.", 0, [true]]);
  });

  it("is sent if the run is resumed with a different provider", async () => {
    const first = await player.start([answers]);
    const refused = await runToolLoop({ provider: first.provider, messages });
    const second = await startOther();
    const options: Partial<LoopOptions> = { journal: refused.journal, resume: "retry-last" };
    const { text } = await runToolLoop({ provider: second.provider, messages, ...options });
    expect([refused.error?.code, text, second.bodies.map((body) => carries(body, row))]).toEqual([
      "bad-request",
      "I see.",
      [true],
    ]);
  });

  it("is sent if another provider continues the rejected run's messages", async () => {
    const first = await player.start([answers]);
    const refused = await runToolLoop({ provider: first.provider, messages });
    const second = await startOther();
    const { text } = await runToolLoop({ provider: second.provider, messages: refused.messages });
    expect([text, second.bodies.map((body) => carries(body, row))]).toEqual(["I see.", [true]]);
  });
});

describe.for(generations)("aiSdkModel (@ai-sdk/openai, spec $version)", ({ connect }) => {
  it.for(["anything else (ZIP), base64", "video as MP4, base64"])(
    'rejects the unsupported file "%s" before a request',
    async (kind) => {
      const row = rowOf(kind);
      const { chat, responses, bodies } = connect("http://127.0.0.1:9/v1");
      for (const model of [chat, responses]) {
        const { error } = await runToolLoop({ provider: aiSdkModel({ model }), messages: [sends(row)] });
        expect(error).toMatchObject({
          code: "bad-request",
          retryable: false,
          message: expect.stringContaining(row.part.mediaType),
        });
      }
      expect(bodies).toEqual([]);
    },
  );
});
