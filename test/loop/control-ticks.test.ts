import { expect, it } from "vitest";
import { type LoopControl, type LoopOptions, type LoopResult, memoryJournal } from "turnwright";
import { finish, type MockMessage, text, toolCall } from "turnwright/testing";
import { createDurableStore } from "./durable-store.ts";
import { play, tool } from "./play.ts";
import { textsOf } from "./transcript-lines.ts";

const scripts: { readonly [name: string]: readonly MockMessage[] } = {
  "an answer": [[text("Hello", { chunks: 3 })]],
  "synchronous tools": [[text("Hm. "), toolCall("quick"), toolCall("quick")], text("Done.")],
  "asynchronous tools": [[toolCall("later"), toolCall("alone")], text("Done.")],
  "an empty response": [finish("stop")],
  "a truncated message": [[text("Hm. "), toolCall("quick"), finish("length")], text("Done.")],
};

const verbs: { readonly [name: string]: (control: LoopControl) => readonly string[] } = {
  steer: (control) => [control.steer("Hey.")],
  interrupt: (control) => [control.interrupt("Hey.")],
  drain: (control) => [control.drain()],
  "steer and drain": (control) => [control.drain(), control.steer("Hey.")],
  "interrupt and stop": (control) => [control.stop(), control.interrupt("Hey.")],
  "steer and kill": (control) => [control.kill(), control.steer("Hey.")],
};

const endings: { readonly [verb: string]: string } = { "interrupt and stop": "stopped", "steer and kill": "killed" };

const playOn = (script: readonly MockMessage[], more: Partial<LoopOptions>, ran: string[]): ReturnType<typeof play> => {
  const note = (_: unknown, { callId }: { readonly callId: string }): number => ran.push(callId);
  const tools = [
    tool("quick", note),
    tool("later", async (args, context) => (await Promise.resolve(), note(args, context))),
    tool("alone", note, { sequential: true }),
  ];
  return play((request) => script[request.iteration] ?? text("More."), { tools, runId: "ticks", ...more });
};

const plain = ({ journal: _, ...rest }: LoopResult): object => JSON.parse(JSON.stringify(rest));

/** Each row tries every sixth tick. Together, the rows of a script try every tick, once with each kind of journal. */
const stride = 6;

const rows = Object.entries(scripts).flatMap(([name, script]) =>
  Object.entries(verbs).flatMap(([verb, act], index) =>
    (["memory", "a store"] as const).map((kind) => [verb, name, kind, act, script, index] as const),
  ),
);

function openJournals(
  kind: "memory" | "a store",
): readonly [LoopOptions["journal"], (result: LoopResult) => LoopOptions["journal"]] {
  const store = createDurableStore();
  if (kind === "a store") return [store.open(), () => store.open()];
  return [undefined, ({ journal }) => memoryJournal(JSON.parse(JSON.stringify(journal)))];
}

/** Calls the control method after `tick` microtasks. Resolves to true if the run had already ended by then. */
async function checkTick([verb, , kind, act, script]: (typeof rows)[number], tick: number): Promise<boolean> {
  const ran: string[] = [];
  const [journal, reopen] = openJournals(kind);
  const playing = playOn(script, { journal }, ran);
  for (let passed = 0; passed < tick; passed += 1) await Promise.resolve();
  const isOver = act(playing.control).includes("finished");
  const result = await playing.result;

  expect([tick, ...saidIn(result)]).toEqual([tick, "Go.", ...(verb === "drain" || isOver ? [] : ["Hey."])]);
  expect([tick, playing.clock.pending]).toEqual([tick, 0]);
  // A stop or kill cannot change how a run with an empty response ends. With a store, it may also come too late: the last step may
  // already be in the store.
  const isObeyed = kind === "memory" && !isOver && result.status !== "empty-response";
  if (isObeyed && verb in endings) expect([tick, result.reason.kind]).toEqual([tick, endings[verb]]);

  const again = await playOn(script, { journal: reopen(result) }, ran).result;
  expect([tick, ...ran]).toEqual([tick, ...new Set(ran)]);
  // A suspended run returns its messages as undelivered. The resumed run must therefore equal a run that got no messages.
  const first = result.status === "suspended" ? await plainRunOf(script) : plain(result);
  // With a store, a message may arrive while the last inbox step is being written. That step then does not contain the message.
  const differs = kind === "memory" ? {} : { undelivered: [] };
  expect([tick, { ...plain(again), ...differs }]).toEqual([tick, { ...first, ...differs }]);
  return isOver;
}

const plainRuns = new Map<readonly MockMessage[], object>();

async function plainRunOf(script: readonly MockMessage[]): Promise<object> {
  const known = plainRuns.get(script) ?? plain(await playOn(script, {}, []).result);
  plainRuns.set(script, known);
  return known;
}

function saidIn({ messages, undelivered, reason }: LoopResult): readonly string[] {
  const sent = messages.flatMap((message) => (message.role === "user" ? textsOf([message]) : []));
  return [...sent, ...textsOf(undelivered), ...(reason.kind === "interrupted" ? textsOf([reason.message]) : [])];
}

it.for(rows)(
  'createLoopControl: "%s" at any moment in a run with %s loses no message and repeats no call (journal in %s)',
  async (row) => {
    let [, , , , , tick] = row;
    while (!(await checkTick(row, tick))) tick += stride;
    expect(tick).toBeGreaterThan(10);
  },
);
