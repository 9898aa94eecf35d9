// Random programs of a run: what the model asks for, tools of every kind, middleware, and answers from outside.

import type { Json } from "../../src/core/types/common.ts";
import type { LoopResult } from "../../src/core/types/loop-result.ts";
import type { AssistantMessage, Message } from "../../src/core/types/message.ts";
import type { ModelChunk, Provider } from "../../src/core/types/provider.ts";
import type { Tool } from "../../src/core/types/loop-options.ts";
import { runToolLoop } from "../../src/core/loop/run-tool-loop.ts";
import { waitsOf } from "../../src/core/loop/durability/waiting-calls.ts";
import type { SeamOptions } from "../../src/core/loop/run.ts";
import { contextRestarts } from "../../src/core/middleware/context-restarts.ts";
import { eagerTools } from "../../src/core/loop/eager-tools.ts";
import { maskResults } from "../../src/core/middleware/mask-results.ts";
import { type Journal, runNested, type ToolContext } from "turnwright";
import type { Middleware, Wait } from "../../src/core/types/middleware.ts";

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
  run(options: Partial<SeamOptions> & { readonly journal: Journal }): Promise<LoopResult>;
  /** Runs executions until the end, with some of the answers each time. */
  finish(journal: Journal, order: Random): Promise<LoopResult>;
  answer(wait: Wait): Json;
  /** The idempotency keys of the plain tools that have run, and of those that have ended. */
  readonly ran: string[];
}

export type Delay = () => Promise<void> | undefined;

const user = [{ role: "user", content: "Go." }] as const;
const schema = { type: "object" } as const;
const noDelay: Delay = () => undefined;

interface Facts {
  readonly inner: readonly Plan[];
  readonly uses: { readonly [feature: string]: boolean };
  readonly verdicts: { readonly [name: string]: string };
  readonly ran: string[];
  readonly delay: Delay;
}

export function createProgram(seed: number, delay: Delay = noDelay): Program {
  const random = createRandom(seed);
  const top = planOf(random, { turns: 1 + random.below(4), most: 4, depth: 1 });
  const inner = [1, 2, 1].map((turns) => planOf(random, { turns, most: 3, depth: 0 }));
  const shares = { approve: 0.7, beside: 0.3, guard: 0.3, iteration: 0.3, summary: 0.3, again: 0.3, handoff: 0.3, views: 0.3 };
  const uses = Object.fromEntries(Object.entries(shares).map(([feature, share]) => [feature, random.maybe(share)]));
  const verdicts = Object.fromEntries(kinds.map((kind) => [kind, random.pick(["approve", "approve", "ask", "deny"])]));
  const toolConcurrency = random.pick([1, 2, 10]);
  const ran: string[] = [];
  const facts: Facts = { inner, uses, verdicts, ran, delay };
  const run: Program["run"] = (options) =>
    runToolLoop({
      provider: scripted(top, "done", delay),
      messages: user,
      tools: toolsOf(facts, 1),
      middleware: middlewareOf(facts, 1),
      runId: "r",
      limits: { maxConsecutiveToolErrors: 1_000, toolConcurrency },
      timeouts: { toolMs: 1_000_000 },
      ...options,
    });
  return { run, finish: (journal, order) => finishProgram(run, journal, order), answer, ran };
}

const answer: Program["answer"] = ({ id, what }) => {
  const kind = [...id].reduce((sum, character) => sum + (character.codePointAt(0) ?? 0), 0) % 3;
  return what === "approval" ? { kind: ["approve", "deny", "approve"][kind] ?? "approve" } : `answer ${id}`;
};

async function finishProgram(run: Program["run"], journal: Journal, order: Random): Promise<LoopResult> {
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
}

function middlewareOf({ uses, verdicts, delay }: Facts, depth: number): readonly Middleware[] {
  const list: readonly (readonly [isUsed: boolean | undefined, middleware: () => Middleware])[] = [
    [uses["views"], () => maskResults({ keepIterations: 0, minTokens: 0 })],
    [uses["views"], () => contextRestarts({ items: ["An item."] })],
    [uses["guard"], () => guardInput(delay)],
    [uses["approve"], () => approve((name) => verdicts[name] ?? "approve", delay)],
    [uses["iteration"], noteIteration],
    [uses["beside"], () => workBeside(delay)],
    [depth > 0 && uses["summary"], summarize],
    [uses["handoff"], handOver],
    [depth > 0 && uses["again"], askAgain],
  ];
  return [eagerTools(), ...list.flatMap(([isUsed, make]) => (isUsed === true ? [make()] : []))];
}

interface CallArgs {
  readonly n: number;
  readonly sub: number;
}

function plain(
  { ran, delay }: Facts,
  name: Kind,
  { execute, ...traits }: { readonly execute: (args: CallArgs) => unknown },
): Tool {
  const run = async (args: CallArgs, context: ToolContext): Promise<unknown> => {
    if (name !== "eager") ran.push(context.idempotencyKey);
    await delay();
    return execute(args);
  };
  return { name, description: name, inputSchema: schema, ...traits, execute: run };
}

function durable(name: Kind, execute: (args: CallArgs, context: ToolContext) => unknown): Tool {
  return { name, description: name, inputSchema: schema, durable: true, execute };
}

function toolsOf(facts: Facts, depth: number): readonly Tool[] {
  const { delay } = facts;
  const fail = ({ n }: CallArgs): never => {
    throw new Error(`no ${n}`);
  };
  return [
    plain(facts, "ok", { execute: ({ n }) => `ok ${n}` }),
    plain(facts, "throws", { execute: fail }),
    plain(facts, "gated", { execute: ({ n }) => n }),
    plain(facts, "alone", { execute: ({ n }) => n, ...{ sequential: true } }),
    plain(facts, "eager", { execute: ({ n }) => `eager ${n}`, ...{ eager: true } }),
    durable("asks", async (_, { step, wait }) => [
      await step("first", async () => (await delay(), 1)),
      await wait("question", { q: 1 }),
    ]),
    durable("twice", async (_, { wait }) => [await wait("question", { q: 1 }), await wait("question", { q: 2 })]),
    durable("steps", ({ n }, { step }) => Promise.all([branch(step, "x", { n, delay }), branch(step, "y", { n, delay })])),
    durable("code", ({ n }, { call }) => callOthers(call, n)),
    ...(depth === 0 ? [] : nestingTools(facts)),
  ];
}

/** Two steps, of which the second fails for odd numbers. */
async function branch(
  step: ToolContext["step"],
  name: string,
  { n, delay }: { readonly n: number; readonly delay: Delay },
): Promise<unknown> {
  const first = await step(name, async () => (await delay(), name));
  const second = step(`${name}2`, async () => {
    await delay();
    if (n % 2 === 1) throw new Error("odd");
    return n;
  });
  return [first, await second.catch(messageOf)];
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : "";
}

async function callOthers(call: ToolContext["call"], n: number): Promise<unknown> {
  const both = await Promise.all(
    [1, 2].map(async (index) => [
      await call("ok", { n: n * 100 + index }),
      await call("gated", { n: n * 100 + index }).catch(messageOf),
    ]),
  );
  return [...both, await call("asks", {}).catch(messageOf)];
}

function nestingTools(facts: Facts): readonly Tool[] {
  const nested = (sub: number): SeamOptions => {
    const plan = facts.inner[sub % facts.inner.length] ?? [];
    const provider = scripted(plan, `inner ${sub}`, facts.delay);
    return { provider, messages: user, tools: toolsOf(facts, 0), middleware: middlewareOf(facts, 0) };
  };
  return [
    durable("nests", async ({ sub }, context) => (await runNested(context, nested(sub) as never)).text),
    durable("team", async ({ sub }, context) => {
      const inner = [sub, sub + 1].map((each, index) => runNested(context, nested(each) as never, index === 0 ? "a" : "b"));
      const both = await Promise.all(inner);
      return both.map(({ text }) => text);
    }),
  ];
}

function planOf(
  random: Random,
  { turns, most, depth }: { readonly turns: number; readonly most: number; readonly depth: number },
): Plan {
  const allowed = depth > 0 ? kinds : kinds.filter((kind) => kind !== "nests" && kind !== "team");
  const plan = Array.from({ length: turns }, () =>
    Array.from({ length: random.below(most + 1) }, () => ({ kind: random.pick(allowed), sub: random.below(3) })),
  );
  return plan.filter((turn) => turn.length > 0);
}

/** Returns a model whose messages depend on the transcript only, so that they are the same in each replay. */
function scripted(plan: Plan, final: string, delay: Delay): Provider {
  async function* stream({ messages }: { readonly messages: readonly Message[] }): AsyncGenerator<ModelChunk> {
    await delay();
    const [first] = messages;
    const told = first?.role === "user" && typeof first.content === "string" ? first.content : "";
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
      const given = first === "ask" ? await at.wait("approval", { name: call.name, args: call.args }) : { kind: first };
      return (given as { readonly kind: string }).kind === "approve"
        ? next(call)
        : { call, durationMs: 0, kind: "denied", reason: "no" };
    },
  };
}

/** Checks the first request alongside the stream. */
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

/** Steps that run in parallel with a call. */
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
            const { text } = await runNested(at, { messages: [{ role: "user", content: "Summarize." }] }, "summary");
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
