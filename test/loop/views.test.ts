import { describe, expect, it } from "vitest";
import {
  approve,
  contextRestarts,
  type LoopOptions,
  type Message,
  onIteration,
  prepareIteration,
  runToolLoop,
  stopWhen,
} from "turnwright";
import { createMockProvider, type MockProvider, text, toolCall } from "turnwright/testing";
import { play, tool } from "./play.ts";

interface Part {
  readonly type: string;
  readonly text?: string;
  readonly args?: object;
}

function contentOf(message: Message | undefined): Part[] {
  return message?.role === "assistant" ? (message.content as Part[]) : [];
}

const changes: { readonly [how: string]: (messages: Message[]) => unknown } = {
  "reverse()": (messages) => messages.reverse(),
  "sort()": (messages) => messages.sort(() => -1),
  "push()": (messages) => messages.push({ role: "user", content: "Forged." }),
  "pop()": (messages) => messages.pop(),
  "splice()": (messages) => messages.splice(0, 1),
  "setting the length": (messages) => (messages.length = 0),
  "replacing a message": (messages) => (messages[0] = { role: "user", content: "Forged." }),
  "setting a field of a message": (messages) => Object.assign(messages[0] ?? {}, { content: "Forged." }),
  "adding a part to a message": (messages) => contentOf(messages[1]).push({ type: "text", text: "Forged." }),
  "setting a field of a part": (messages) => Object.assign(contentOf(messages[1])[0] ?? {}, { text: "Forged." }),
  "setting an argument of a call": (messages) =>
    Object.assign(messages.flatMap(contentOf).at(-1)?.args ?? messages, {
      to: "me",
    }),
};

const given = (): Message[] => [
  { role: "user", content: "Hi." },
  { role: "assistant", content: [{ type: "text", text: "Hello." }] },
  { role: "user", content: "Again." },
];

const readers: { readonly [who: string]: (change: (messages: readonly Message[]) => void) => Partial<LoopOptions> } = {
  "a tool": (change) => ({ tools: [tool("t", (_, { messages }) => change(messages))] }),
  prepareIteration: (change) => ({ middleware: [prepareIteration(({ messages }) => change(messages))] }),
  approve: (change) => ({ middleware: [approve((_, { messages }) => (change(messages), { kind: "approve" }))] }),
  needsApproval: (change) => ({
    tools: [tool("t", () => 1, { needsApproval: (_, { messages }) => (change(messages), false) })],
    middleware: [approve()],
  }),
};

const script = [toolCall("t", { to: "you" }), text("Done.")];

async function sent(options: Partial<LoopOptions>): Promise<readonly unknown[]> {
  const playing = play(script, { tools: [tool("t", () => undefined)], messages: given(), ...options });
  const result = await playing.result;
  return [playing.provider.requests.map(({ messages }) => messages), result.status, result.messages];
}

describe("messages that callbacks receive", () => {
  const rows = Object.keys(readers).flatMap((who) => Object.keys(changes).map((how) => [who, how] as const));

  it.for(rows)("cannot be changed in `%s` by %s", async ([who, how]) => {
    const thrown: unknown[] = [];
    const options = readers[who]?.((messages) => {
      try {
        changes[how]?.(messages as Message[]);
      } catch (error) {
        thrown.push(error);
      }
    });
    const quiet = readers[who]?.(() => {});
    expect(await sent(options ?? {})).toEqual(await sent(quiet ?? {}));
    // Some of the changes throw no error, because the changed message is not in the list yet.
    for (const error of thrown) expect(error).toBeInstanceOf(TypeError);
  });

  it.for(Object.keys(changes))("cannot be changed by a provider that tries %s", async (how) => {
    const run = async (change: (messages: Message[]) => unknown): Promise<unknown> => {
      const mock: MockProvider = createMockProvider(script);
      const provider = {
        ...{ id: "p", model: "m" },
        stream: (...[request, call]: Parameters<MockProvider["stream"]>) => {
          for (const list of [request.messages, request.transcript?.messages]) {
            try {
              change(list as Message[]);
            } catch {
              // A frozen list throws.
            }
          }
          return mock.stream(request, call);
        },
      };
      const { messages } = await runToolLoop({ provider, messages: given(), tools: [tool("t", () => undefined)] });
      return [mock.requests.map((request) => request.messages), messages];
    };
    expect(await run(changes[how] ?? (() => {}))).toEqual(await run(() => {}));
  });

  it("can be cloned, serialized and spread, and are the same array for all callbacks", async () => {
    const seen: (readonly Message[])[] = [];
    const look = tool("t", (_, { messages }) => void seen.push(messages));
    await play([[toolCall("t"), toolCall("t")], text("Done.")], { tools: [look], messages: given() }).result;
    const [first = [], second] = seen;
    expect(second).toBe(first);
    expect([structuredClone(first), JSON.parse(JSON.stringify(first)), [...first]]).toEqual([first, first, first]);
    expect(Array.isArray(first)).toBe(true);
  });

  it("are included in every kind of copy that a provider makes of a request", async () => {
    const mock = createMockProvider(script);
    const copies: (readonly Message[])[] = [];
    const transcripts: unknown[] = [];
    const provider = {
      ...{ id: "p", model: "m" },
      stream: (...[request, call]: Parameters<MockProvider["stream"]>) => {
        const copy = { ...request };
        copies.push(copy.messages, structuredClone(request.messages), JSON.parse(JSON.stringify(request)).messages);
        transcripts.push(
          { ...request.transcript },
          structuredClone(request.transcript),
          JSON.parse(JSON.stringify(request)).transcript,
        );
        return mock.stream(copy, call);
      },
    };
    await runToolLoop({
      provider,
      messages: given(),
      tools: [tool("t", () => undefined)],
      middleware: [contextRestarts({ items: ["Now."] })],
    });
    expect(copies.map(({ length }) => length)).toEqual([4, 4, 4, 6, 6, 6]);
    const [first, second] = mock.requests.map(({ transcript }) => transcript);
    expect(transcripts).toEqual([first, first, first, second, second, second]);
    expect([first?.messages.length, second?.messages.length]).toEqual([3, 5]);
  });
});

describe("messages that the caller passes", () => {
  it("are not frozen, but later changes have no effect", async () => {
    const messages = given();
    const change = tool("t", () => {
      messages.reverse();
      Object.assign(messages[0] ?? {}, { content: "Forged." });
    });
    const playing = play(script, { tools: [change], messages });
    const result = await playing.result;
    expect(result.messages.slice(0, 3)).toEqual(given());
    expect([Object.isFrozen(messages), messages.some(Object.isFrozen)]).toEqual([false, false]);
  });

  it("are the same objects in the next run if they come from a result", async () => {
    const { messages } = await play(script, { tools: [tool("t", () => undefined)], messages: given() }).result;
    const list = [...messages, { role: "user" as const, content: "And?" }];
    const next = await play([text("So.")], { messages: list }).result;
    expect(next.messages.slice(0, -3).every((message, index) => message === messages[index])).toBe(true);
    // The array result.messages can be changed, but its messages are frozen.
    (messages as Message[]).push({ role: "user", content: "Mine." });
    expect(Object.isFrozen(messages)).toBe(false);
  });

  it("can be changed after control.steer() without any effect", async () => {
    const message = { role: "user" as const, content: "Steered." };
    const playing = play(script, { tools: [tool("t", () => void (message.content = "Forged."))] });
    playing.control.steer(message);
    expect(JSON.stringify((await playing.result).messages)).toContain("Steered.");
    expect(Object.isFrozen(message)).toBe(false);
  });
});

describe("callbacks of runToolLoop", () => {
  it.for<[what: string, options: (change: (value: unknown) => void) => Partial<LoopOptions>]>([
    [
      "context items",
      (change) => ({
        middleware: [contextRestarts({ items: [{ a: [1] }] })],
        tools: [tool("t", (_, { contextItems }) => change(contextItems))],
      }),
    ],
    ["lists of tools", (change) => ({ middleware: [prepareIteration(({ tools }) => change(tools))] })],
    ["tool definitions", (change) => ({ middleware: [prepareIteration(({ tools }) => change(tools[0]))] })],
    ["usage", (change) => ({ middleware: [prepareIteration(({ usage }) => change(usage))] })],
    [
      "model settings",
      (change) => ({ modelSettings: { seed: 1 }, middleware: [prepareIteration(({ modelSettings }) => change(modelSettings))] }),
    ],
    [
      "toolChoice objects",
      (change) => ({ toolChoice: { name: "t" }, middleware: [prepareIteration(({ toolChoice }) => change(toolChoice))] }),
    ],
    [
      "tool calls in an iteration",
      (change) => ({ middleware: [onIteration((_, { lastToolCalls }) => change(lastToolCalls[0]))] }),
    ],
    ["responses", (change) => ({ middleware: [stopWhen(({ response }) => (change(response), false))] })],
    ["lists of calls in a response", (change) => ({ middleware: [stopWhen(({ response }) => (change(response.calls), false))] })],
    ["tool outcomes", (change) => ({ middleware: [stopWhen(({ lastToolResults }) => (change(lastToolResults[0]), false))] })],
  ])("receive frozen %s", async ([, options]) => {
    const seen: unknown[] = [];
    const playing = play(script, { tools: [tool("t", () => 1)], ...options((value) => void seen.push(value)) });
    expect((await playing.result).status).toBe("completed");
    expect(seen.filter((value) => value !== undefined).map(Object.isFrozen)).not.toContain(false);
    expect(seen.length).toBeGreaterThan(0);
  });

  it("receive frozen arguments and results in events", async () => {
    const playing = play(script, { tools: [tool("t", () => ({ list: [1] }))] });
    await playing.result;
    const [start] = playing.recording.of("tool-start");
    const [end] = playing.recording.of("tool-end");
    expect([Object.isFrozen(start?.args), Object.isFrozen(end?.result)]).toEqual([true, true]);
  });
});
