// Random programs of a run: what the model asks for, tools of every kind, middleware, and answers from outside.

import type { Json } from "../../src/core/types/common.ts";
import type { LoopResult } from "../../src/core/types/loop-result.ts";
import type { AssistantMessage, Message } from "../../src/core/types/message.ts";
import type { ModelChunk, Provider } from "../../src/core/types/provider.ts";
import type { Tool } from "../../src/core/types/loop-options.ts";
import { runToolLoop } from "../../src/core/run/run-tool-loop.ts";
import type { SeamOptions } from "../../src/core/run/run.ts";
import type { Middleware, StepJournal, Wait } from "../../src/core/run/seam.ts";
import type { ToolCallContext } from "../../src/core/run/tool-context.ts";

export interface Random {
  below(count: number): number;
  maybe(share: number): boolean;
  pick<T>(items: readonly T[]): T;
}

export function createRandom(seed: number): Random {
  let state = (seed * 2_654_435_761) >>> 0 || 1;
  const next = (): number => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
  for (let times = 0; times < 5; times += 1) next();
  const below = (count: number): number => Math.floor(next() * count);
  return {
    below,
    maybe: (share) => next() < share,
    pick: <T>(items: readonly T[]) => items[below(items.length)] as T,
  };
}

const kinds = ["ok", "throws", "asks", "twice", "steps", "gated", "eager", "nests", "team", "code", "alone"] as const;
type Kind = (typeof kinds)[number];
interface PlannedCall {
  readonly kind: Kind;
  readonly sub: number;
}
type Plan = readonly (readonly PlannedCall[])[];

export interface Program {
  run(options: Partial<SeamOptions> & { readonly journal: StepJournal }): Promise<LoopResult>;
  /** Runs executions until the end, with some of the answers each time. */
  finish(journal: StepJournal, order: Random): Promise<LoopResult>;
  answer(wait: Wait): Json;
  /** The idempotency keys of the plain tools that have run, and of those that have ended. */
  readonly ran: string[];
}

export type Delay = () => Promise<void> | undefined;

const user = [{ role: "user", content: "Go." }] as const;
const schema = { type: "object" } as const;
const noDelay: Delay = () => undefined;

export function waitsOf({ reason }: LoopResult): readonly Wait[] {
  return "waits" in reason ? (reason.waits as readonly Wait[]) : [];
}

export function createProgram(seed: number, delay: Delay = noDelay): Program {
  const random = createRandom(seed);
  const top = planOf(random, { turns: 1 + random.below(4), most: 4, depth: 1 });
  const inner = [1, 2, 1].map((turns) => planOf(random, { turns, most: 3, depth: 0 }));
  const uses = {
    approve: random.maybe(0.7),
    beside: random.maybe(0.3),
    guard: random.maybe(0.3),
    iteration: random.maybe(0.3),
    summary: random.maybe(0.3),
    again: random.maybe(0.3),
    handoff: random.maybe(0.3),
  };
  const verdicts = Object.fromEntries(kinds.map((kind) => [kind, random.pick(["approve", "approve", "ask", "deny"])]));
  const toolConcurrency = random.pick([1, 2, 10]);
  const ran: string[] = [];

  const middleware = (depth: number): readonly Middleware[] => [
    ...(uses.guard ? [guardInput(delay)] : []),
    ...(uses.approve ? [approve((name) => verdicts[name] ?? "approve", delay)] : []),
    ...(uses.iteration ? [noteIteration()] : []),
    ...(uses.beside ? [workBeside(delay)] : []),
    ...(depth > 0 && uses.summary ? [summarize()] : []),
    ...(uses.handoff ? [handOver()] : []),
    ...(depth > 0 && uses.again ? [askAgain()] : []),
  ];

  const nested = (sub: number): SeamOptions => {
    const plan = inner[sub % inner.length] ?? [];
    return { provider: scripted(plan, `inner ${sub}`, delay), messages: user, tools: tools(0), middleware: middleware(0) };
  };

  const plain = (name: Kind, execute: (args: { readonly n: number }) => unknown, traits: object = {}): Tool =>
    ({
      name,
      description: name,
      inputSchema: schema,
      ...traits,
      execute: async (args: { readonly n: number }, context: ToolCallContext) => {
        ran.push(context.idempotencyKey);
        await delay();
        return execute(args);
      },
    }) as unknown as Tool;

  const durable = (name: Kind, execute: (args: { readonly n: number; readonly sub: number }, context: ToolCallContext) => unknown): Tool =>
    ({ name, description: name, inputSchema: schema, durable: true, execute }) as unknown as Tool;

  const tools = (depth: number): readonly Tool[] => [
    plain("ok", ({ n }) => `ok ${n}`),
    plain("throws", ({ n }) => {
      throw new Error(`no ${n}`);
    }),
    plain("gated", ({ n }) => n),
    plain("alone", ({ n }) => n, { sequential: true }),
    {
      name: "eager",
      description: "eager",
      inputSchema: schema,
      eager: true,
      execute: async ({ n }: { readonly n: number }) => {
        await delay();
        return `eager ${n}`;
      },
    } as unknown as Tool,
    durable("asks", async (_, { step, wait }) => [await step("first", () => Promise.resolve(delay()).then(() => 1)), await wait("question", { q: 1 })]),
    durable("twice", async (_, { wait }) => [await wait("question", { q: 1 }), await wait("question", { q: 2 })]),
    durable("steps", async ({ n }, { step }) => {
      const branch = async (name: string): Promise<unknown> => [
        await step(name, () => Promise.resolve(delay()).then(() => name)),
        await step(`${name}2`, async () => {
          await delay();
          if (n % 2 === 1) throw new Error("odd");
          return n;
        }).catch((error: unknown) => (error as Error).message),
      ];
      return Promise.all([branch("x"), branch("y")]);
    }),
    ...(depth === 0
      ? []
      : [
          durable("nests", async ({ sub }, { run }) => (await run(nested(sub) as never)).text),
          durable("team", async ({ sub }, { run }) => {
            const both = await Promise.all([run(nested(sub) as never, "a"), run(nested(sub + 1) as never, "b")]);
            return both.map(({ text }) => text);
          }),
        ]),
    durable("code", async ({ n }, { call }) => {
      const both = await Promise.all(
        [1, 2].map(async (index) => [
          await call("ok", { n: n * 100 + index }),
          await call("gated", { n: n * 100 + index }).catch((error: unknown) => (error as Error).message),
        ]),
      );
      return [...both, await call("asks", {}).catch((error: unknown) => (error as Error).message)];
    }),
  ];

  const run: Program["run"] = (options) =>
    runToolLoop({
      provider: scripted(top, "done", delay),
      messages: user,
      tools: tools(1),
      middleware: middleware(1),
      runId: "r",
      limits: { maxConsecutiveToolErrors: 1_000, toolConcurrency },
      timeouts: { journalMs: Number.POSITIVE_INFINITY, toolMs: Number.POSITIVE_INFINITY },
      ...options,
    });

  const answer: Program["answer"] = ({ id, what }) => {
    const kind = [...id].reduce((sum, character) => sum + character.charCodeAt(0), 0) % 3;
    return what === "approval" ? (["approve", "deny", "approve"][kind] ?? "approve") : `answer ${id}`;
  };

  const finish: Program["finish"] = async (journal, order) => {
    let answers: { readonly [id: string]: Json } = {};
    for (let times = 0; times < 100; times += 1) {
      const result = await run({ journal, answers });
      if (result.status !== "suspended") return result;
      const waits = waitsOf(result);
      if (waits.length === 0) throw new Error("suspended without waits");
      const chosen = waits.filter(() => order.maybe(0.5));
      answers = Object.fromEntries((chosen.length > 0 ? chosen : waits.slice(0, 1)).map((wait) => [wait.id, answer(wait)]));
    }
    throw new Error("The program never ends.");
  };

  return { run, finish, answer, ran };
}

function planOf(random: Random, { turns, most, depth }: { readonly turns: number; readonly most: number; readonly depth: number }): Plan {
  const allowed = depth > 0 ? kinds : kinds.filter((kind) => kind !== "nests" && kind !== "team");
  const plan = Array.from({ length: turns }, () =>
    Array.from({ length: random.below(most + 1) }, () => ({ kind: random.pick(allowed), sub: random.below(3) })),
  );
  return plan.filter((turn) => turn.length > 0);
}

/** What the model says depends on the transcript only, so that it is the same in each replay. */
function scripted(plan: Plan, final: string, delay: Delay): Provider {
  async function* stream({ messages }: { readonly messages: readonly Message[] }): AsyncGenerator<ModelChunk> {
    await delay();
    const [first] = messages;
    const told = first?.role === "user" ? String(first.content) : "";
    const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 };
    if (told.startsWith("Summarize")) {
      yield { type: "text-delta", text: "summary" };
    } else {
      const said = messages.filter((message): message is AssistantMessage => message.role === "assistant").length;
      const turn = said + Number(/turns:(\d+)/.exec(told)?.[1] ?? 0);
      for (const [index, { kind, sub }] of (plan[turn] ?? []).entries()) {
        await delay();
        const args = { n: turn * 10 + index, sub };
        yield { type: "call-ready", key: String(index), id: `c${turn}_${index}`, name: kind, args };
      }
      if (plan[turn] === undefined) yield { type: "text-delta", text: final };
      else {
        yield { type: "usage", usage, mode: "snapshot" };
        yield { type: "finish", reason: "tool-calls" };
        return;
      }
    }
    yield { type: "usage", usage, mode: "snapshot" };
    yield { type: "finish", reason: "stop" };
  }
  return { id: "scripted", model: "scripted", stream: stream as Provider["stream"] };
}

/** Asks about some calls, and records what its policy says. */
function approve(policy: (name: string) => string, delay: Delay): Middleware {
  return {
    name: "approve",
    async call(call, next, at) {
      const first = await at.step("policy", async () => {
        await delay();
        return policy(call.name);
      });
      const said = first === "ask" ? await at.wait("approval", { name: call.name, args: call.args }) : first;
      return said === "approve" ? next(call) : { call, durationMs: 0, kind: "denied", reason: "no" };
    },
  };
}

/** Checks the first request beside the stream. */
function guardInput(delay: Delay): Middleware {
  return {
    name: "guard-input",
    async request(request, next, at) {
      if (at.state.iteration > 0) return next(request);
      const [answer] = await Promise.all([
        next(request),
        at.step("verdict", async () => {
          await delay();
          return "pass";
        }),
      ]);
      return answer;
    },
  };
}

function noteIteration(): Middleware {
  return {
    name: "note-iteration",
    async request(request, next, at) {
      await at.step("noted", () => at.state.iteration);
      return next(request);
    },
  };
}

/** Steps beside a call, in parallel. */
function workBeside(delay: Delay): Middleware {
  return {
    name: "work-beside",
    async call(call, next, at) {
      const wait = async (): Promise<number> => {
        await delay();
        return 1;
      };
      const [outcome] = await Promise.all([next(call), at.step("p", wait).then(() => at.step("q", wait)), at.step("r", wait)]);
      return outcome;
    },
  };
}

/** Replaces old messages by a summary, which a nested run writes. */
function summarize(): Middleware {
  return {
    name: "summarize",
    begin: () => {
      let [from, turns] = [0, 0];
      return {
        async request(request, next, at) {
          const { messages } = request;
          if (messages.length - from > 5) {
            const cut = messages.findLastIndex(({ role }) => role === "assistant");
            const { text } = await at.run({ messages: [{ role: "user", content: "Summarize." }] }, "summary");
            [from, turns] = [cut, messages.slice(0, cut).filter(({ role }) => role === "assistant").length];
            if (text !== "summary") throw new Error(text);
          }
          const view: readonly Message[] =
            from === 0 ? messages : [{ role: "user", content: `turns:${turns}` }, ...messages.slice(from)];
          return next({ ...request, messages: view });
        },
      };
    },
  };
}

/** Folds the outcomes of the batch before, in call order. */
function handOver(): Middleware {
  return {
    name: "hand-over",
    pure: true,
    begin: () => {
      let agent = "first";
      return {
        request(request, next, { state }) {
          for (const { call, outcome } of state.lastBatch) if (outcome.kind === "completed") agent = call.name;
          return next({ ...request, system: `You are ${agent}.` });
        },
        result: () => ({ agent }),
      };
    },
  };
}

/** Asks once more after the answer. */
function askAgain(): Middleware {
  return {
    name: "ask-again",
    begin: () => {
      let asked = false;
      return {
        async beforeEnd({ status }, at) {
          if (status !== "completed" || asked) return undefined;
          asked = true;
          const word = await at.step("check", () => "Sure?");
          return { again: [{ role: "user", content: word }] };
        },
      };
    },
  };
}
