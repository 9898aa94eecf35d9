import type {
  ConversationChange,
  ConversationLock,
  ConversationState,
  ConversationStore,
  StoredConversation,
} from "../conversation/conversation-store.ts";
import { isLoopError, type Message } from "../core/index.ts";
import { systemClock } from "../shared/signals.ts";
import { toPlainError } from "../shared/plain-error.ts";
import { check, checkSame, checkSetup, type Patience, type SuiteCheck, within } from "./suite-check.ts";

/** Connects `conversationStoreSuite` to the store to test. */
export interface ConversationStoreSuiteSetup extends Patience {
  /**
   * Returns the store. Each check calls this function more than once, as if two processes opened the store, so all returned stores must
   * contain the same conversations. For an in-memory store, return the same object each time.
   */
  open(): ConversationStore | PromiseLike<ConversationStore>;
}

/**
 * Returns the checks for a conversation store: changes, locks, and the separation of conversations. The suite registers no tests on its
 * own: loop over the checks with any test runner. Each check uses new conversation ids.
 *
 * @example
 * for (const { title, run } of conversationStoreSuite({ open: () => fileConversationStore(folder) })) it(title, run);
 */
export function conversationStoreSuite(setup: ConversationStoreSuiteSetup): readonly SuiteCheck[] {
  checkSetup(setup, "open");
  return checks.map(([title, run]) => ({
    title,
    run: async () => {
      const bench = { first: await setup.open(), second: await setup.open(), id: `suite-${globalThis.crypto.randomUUID()}` };
      await within(run(bench), "The check did not end", { withinMs: 10_000, ...setup });
    },
  }));
}

/** Two stores with the same conversations, and the id of a conversation that does not exist yet. */
interface StoreBench {
  readonly first: ConversationStore;
  readonly second: ConversationStore;
  readonly id: string;
}

const checks: readonly (readonly [title: string, run: (bench: StoreBench) => Promise<void>])[] = [
  ["returns undefined for a conversation that was never written", checkMissing],
  ["returns the messages and the state unchanged", checkContent],
  ["replaces the messages from a position", checkReplacement],
  ["keeps the order of 2,000 messages and a message of 1 MB", checkLarge],
  ["gives the lock to one writer at a time", checkOneWriter],
  ["gives the lock to only one of ten simultaneous writers", checkRace],
  ["stores nothing after the release of the lock", checkReleased],
  ["keeps conversations with similar ids apart", checkIds],
  ["shows a reader only complete changes", checkReader],
  ["reports whether a conversation is locked", checkLocked],
  ["deletes a conversation only if the conversation is not locked", checkRemoval],
];

const user = (content: string): Message => ({ role: "user", content });

const stateOf = (runs: number): ConversationState => ({
  runs,
  usage: { inputTokens: runs, outputTokens: 0, totalTokens: runs },
  undelivered: [],
});

async function write(store: ConversationStore, id: string, changes: readonly ConversationChange[]): Promise<void> {
  const lock = await store.lock(id);
  try {
    for (const change of changes) await lock.append(change);
  } finally {
    await lock.release();
  }
}

async function checkLoaded(store: ConversationStore, id: string, expected: StoredConversation | undefined): Promise<void> {
  checkSame((await store.load(id)) ?? null, expected ?? null, "The loaded conversation");
  const lock = await store.lock(id);
  await lock.release();
  checkSame(lock.stored ?? null, expected ?? null, "The conversation of the lock");
}

async function checkMissing({ first, second, id }: StoreBench): Promise<void> {
  await checkLoaded(first, id, undefined);
  // Nothing was written before the lock was released, so the conversation must still not exist.
  await checkLoaded(second, id, undefined);
}

const odd = "\u0000 \ud800 \u2028 é 🜚 \\ \" ' $1 %s";

const content: StoredConversation = {
  messages: [
    { role: "user", content: odd, pinned: true },
    {
      role: "assistant",
      content: [{ type: "tool-call", callId: "c1", name: "look", args: { [odd]: [1, null, 0.1, odd] } }],
      providerMetadata: [{ provider: "p", model: "m", item: { signature: odd } }],
    },
    { role: "tool", results: [{ callId: "c1", name: "look", outcome: "awaiting-approval", result: { text: odd } }] },
  ],
  state: {
    ...stateOf(1),
    costUSD: 0.000_123,
    compaction: { summary: odd, count: 1, kept: [0] },
    undelivered: [{ role: "user", content: [{ type: "text", text: odd }], pinned: true }],
    lastRun: { runId: "r", start: 1, status: "suspended", reason: { kind: "drained" } },
  },
};

async function checkContent({ first, second, id }: StoreBench): Promise<void> {
  await write(first, id, [{ from: 0, ...content }]);
  await checkLoaded(second, id, content);
}

async function checkReplacement({ first, second, id }: StoreBench): Promise<void> {
  const add = (from: number, ...texts: readonly string[]): ConversationChange => ({
    from,
    messages: texts.map(user),
    state: stateOf(from),
  });
  const seen: [readonly ConversationChange[], string][] = [
    [[add(0, "a", "b", "c"), add(3, "d")], "abcd"],
    [[add(1, "x")], "ax"],
    [[add(2)], "ax"],
    [[add(1), add(1, "y", "z", "w")], "ayzw"],
    [[add(0)], ""],
  ];
  for (const [changes, expected] of seen) {
    await write(first, id, changes);
    await checkLoaded(second, id, { messages: [...expected].map(user), state: stateOf(changes.at(-1)?.from ?? 0) });
  }
}

async function checkLarge({ first, second, id }: StoreBench): Promise<void> {
  const messages = Array.from({ length: 2_000 }, (_, index) => user(`message ${index}`));
  const large = user("x".repeat(2 ** 20));
  await write(first, id, [
    { from: 0, messages, state: stateOf(1) },
    { from: 2_000, messages: [large], state: stateOf(2) },
  ]);
  await checkLoaded(second, id, { messages: [...messages, large], state: stateOf(2) });
}

async function checkBusy(what: string, work: () => unknown): Promise<void> {
  try {
    await work();
  } catch (error) {
    const { message } = toPlainError(error);
    return check(
      isLoopError(error, "conversation-busy"),
      `${what} must reject with "conversation-busy", but rejected with: ${message}`,
    );
  }
  check(false, `${what} must reject with LoopError "conversation-busy".`);
}

async function checkOneWriter({ first, second, id }: StoreBench): Promise<void> {
  for (const other of [first, second]) {
    const lock = await first.lock(id);
    await checkBusy("A second lock", () => other.lock(id));
    await lock.append({ from: 0, messages: [user("a")], state: stateOf(1) });
    await checkBusy("A second lock", () => other.lock(id));
    await lock.release();
  }
  await checkLoaded(second, id, { messages: [user("a")], state: stateOf(1) });
}

async function checkLocked({ first, second, id }: StoreBench): Promise<void> {
  const checkBoth = async (expected: boolean, when: string): Promise<void> => {
    for (const store of [first, second]) checkSame(await store.isLocked(id), expected, `The answer of isLocked ${when}`);
  };
  await checkBoth(false, "for a conversation that does not exist");
  for (const when of ["while a new conversation is locked", "while a written conversation is locked"]) {
    const lock = await first.lock(id);
    await checkBoth(true, when);
    await lock.append({ from: 0, messages: [user("a")], state: stateOf(1) });
    await checkBoth(true, when);
    await lock.release();
    await checkBoth(false, "after the release");
  }
}

async function checkRace({ first, second, id }: StoreBench): Promise<void> {
  const tries = await Promise.allSettled(
    Array.from({ length: 10 }, async (_, index) => (index % 2 === 0 ? first : second).lock(id)),
  );
  const locks = tries.flatMap((one): readonly ConversationLock[] => (one.status === "fulfilled" ? [one.value] : []));
  check(locks.length === 1, `Exactly one of ten writers must get the lock, but ${locks.length} got it.`);
  for (const lock of locks) await lock.release();
}

async function checkReleased({ first, second, id }: StoreBench): Promise<void> {
  const late = await first.lock(id);
  await late.append({ from: 0, messages: [user("a")], state: stateOf(1) });
  await late.release();
  const own = await second.lock(id);
  const refused = await Promise.resolve()
    .then(() => late.append({ from: 1, messages: [user("late")], state: stateOf(2) }))
    .then(
      () => false,
      () => true,
    );
  check(refused, "A change after the release must be refused.");
  await own.append({ from: 1, messages: [user("b")], state: stateOf(3) });
  await own.release();
  await checkLoaded(first, id, { messages: [user("a"), user("b")], state: stateOf(3) });
}

async function checkIds({ first, second, id }: StoreBench): Promise<void> {
  const ids = [id, id.toUpperCase(), `${id}.`, `${id} `, `${id}%`, `${id}_`, `${id}é`, `${id}e\u0301`, `${id}${"x".repeat(150)}`];
  for (const [index, one] of ids.entries()) await write(first, one, [{ from: 0, messages: [user(one)], state: stateOf(index) }]);
  for (const [index, one] of ids.entries()) await checkLoaded(second, one, { messages: [user(one)], state: stateOf(index) });
}

async function checkReader({ first, second, id }: StoreBench): Promise<void> {
  const rounds = Array.from({ length: 10 }, (_, index) => index + 1);
  const lock = await first.lock(id);
  const progress = { isWritten: false };
  const writeRounds = async (): Promise<void> => {
    // Each change replaces all messages: round 3, for example, writes 3 messages. A different number means that a partial change was read.
    for (const round of rounds) {
      const messages = Array.from({ length: round }, () => user(`${round}`));
      await lock.append({ from: 0, messages, state: stateOf(round) });
    }
    await lock.release();
  };
  const read = async (): Promise<void> => {
    while (!progress.isWritten) {
      const { messages, state } = (await second.load(id)) ?? { messages: [], state: stateOf(0) };
      const expected = Array.from({ length: state.runs }, () => user(`${state.runs}`));
      checkSame(messages, expected, "The messages that a reader gets during a write");
      // Gives the writer time to run, because reading from an in-memory store may never pause.
      await new Promise<void>((resolve) => void systemClock.setTimeout(resolve, 0));
    }
  };
  const writing = writeRounds().finally(() => {
    progress.isWritten = true;
  });
  await Promise.all([writing, read()]);
}

async function checkRemoval({ first, second, id }: StoreBench): Promise<void> {
  await second.remove(id);
  const lock = await first.lock(id);
  await lock.append({ from: 0, messages: [user("a"), user("b")], state: stateOf(1) });
  await checkBusy("The deletion of a locked conversation", () => second.remove(id));
  await lock.release();
  await second.remove(id);
  await checkLoaded(first, id, undefined);
  await write(first, id, [{ from: 0, messages: [user("new")], state: stateOf(1) }]);
  await checkLoaded(second, id, { messages: [user("new")], state: stateOf(1) });
}
