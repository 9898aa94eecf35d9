// Checks the terminal session key by key, with a test clock.

import assert from "node:assert/strict";
import { mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { stripVTControlCharacters } from "node:util";
import { createTestClock, type MockProvider } from "turnwright/testing";
import { createScriptedCook, createTimer, type Pause } from "./kitchen.ts";
import { openRunFile, type RunFile, type SavedRun } from "./run-file.ts";
import { openScreen } from "./screen.ts";
import { runSession } from "./session.ts";

export async function checkSession(): Promise<void> {
  await checkSteering();
  await checkStop();
  await checkInterrupts();
  await checkSuspension();
  await checkPipe();
  await checkFile();
}

async function checkSteering(): Promise<void> {
  const session = open();
  session.type("Make breakfast, please.\r");
  await session.sees("Now the tea.");
  await session.sees("run_timer: 4 s left");
  session.type("No toast");
  session.type(", please.\r");
  await session.sees("(goes along with the next request)");
  await session.sees("» sent: No toast, please.");
  await session.sees("Now the eggs.");
  await session.sees("Breakfast is ready: tea and eggs.");
  await session.sees("[completed: answered] iterations: 3, calls: 2");
  await session.quit();
  // This line was typed while a tool ran, so the next request contains it after the tool's result.
  const [first, second] = session.provider.requests;
  assert.deepEqual(first?.messages, [{ role: "user", content: "Make breakfast, please." }]);
  assert.deepEqual(second?.messages.slice(2), [
    {
      role: "tool",
      results: [{ callId: "call_i0_0", name: "run_timer", outcome: "completed", result: { dish: "tea", status: "done" } }],
    },
    { role: "user", content: "No toast, please." },
  ]);
  console.log("✓ a typed line goes along with the next request");
}

async function checkStop(): Promise<void> {
  const session = open();
  session.type("Make breakfast, please.\r");
  await session.sees("run_timer: 3 s left");
  session.type("And jam.\r/stop\r");
  await session.sees("run_timer: interrupted");
  await session.sees("[stopped-by-user: stopped] iterations: 1, calls: 1");
  await session.sees("not delivered: And jam.");
  // The next question is appended to a transcript with the finished work.
  session.type("No tea, no eggs.\r");
  await session.sees("Breakfast is ready: toast.");
  const asked = session.provider.requests
    .at(-1)
    ?.messages.flatMap((message) => (message.role === "user" ? [message.content] : []));
  assert.deepEqual(asked, ["Make breakfast, please.", "No tea, no eggs."]);
  session.type("Once more.\r");
  await session.sees("Now the tea.");
  session.type("/kill\r");
  await session.sees("[stopped-by-user: killed]");
  await session.quit();
  console.log("✓ a stop tells what was not delivered, and the conversation goes on");
}

async function checkInterrupts(): Promise<void> {
  const deaf: Pause = () => new Promise(() => {});
  const session = open({ pause: deaf });
  session.type("Make breakfast, please.\r");
  await session.sees("run_timer: 4 s left");
  session.type("\u0003");
  await session.sees("(stopping; Ctrl-C again kills)");
  session.type("\u0003");
  await session.sees("[stopped-by-user: killed]");
  session.type("\u0003");
  await session.over;
  console.log("✓ Ctrl-C stops a run, then kills it, then ends the session");
}

async function checkSuspension(): Promise<void> {
  const file = createMemoryFile();
  const first = open({ file });
  first.type("/resume\r");
  await first.sees("No run is suspended.");
  first.type("Make breakfast, please.\r");
  await first.sees("run_timer: 4 s left");
  first.type("/drain\r");
  await first.sees("(suspends before the next request)");
  first.type("No eggs.\r");
  await first.sees("[suspended: drained] iterations: 1, calls: 1");
  await first.sees("not delivered: No eggs.");
  await first.sees("/resume goes on");
  await first.quit();

  // Simulates another process: a second session with the same file and a new model.
  const second = open({ file });
  await second.sees("Going on with: Make breakfast, please.");
  await second.sees("» sent: No eggs.");
  await second.sees("Now the toast.");
  second.type("/drain\r");
  await second.sees("[suspended: drained] iterations: 2, calls: 2");
  second.type("/resume\r");
  await second.sees("Breakfast is ready: tea and toast.");
  await second.sees("[completed: answered] iterations: 3, calls: 2");
  await second.quit();
  assert.equal(second.shown().includes("Now the tea."), false, "what is recorded was shown again");
  assert.deepEqual([first.provider.calls, second.provider.calls], [1, 2]);
  assert.equal(await file.load(), undefined);
  console.log("✓ a suspended run goes on in another process, with what it had not been told");
}

async function checkPipe(): Promise<void> {
  const session = open({ isTerminal: false });
  session.type("Make breakfast, please.\nNo tea, no eggs.\n");
  session.end();
  await session.sees("[completed: answered]");
  await session.over;
  const [, ...lines] = session.shown().trimEnd().split("\n");
  assert.deepEqual(lines, [
    "(goes along with the next request)",
    "» sent: No tea, no eggs.",
    "Now the toast.",
    '· run_timer {"dish":"toast","seconds":3}',
    ...["3 s left", "2 s left", "1 s left", "completed"].map((said) => `· run_timer: ${said}`),
    "Breakfast is ready: toast. I am a script.",
    "[completed: answered] iterations: 2, calls: 1",
  ]);
  console.log("✓ in a pipe it is plain lines, and the end of the input waits for the run");
}

async function checkFile(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "suspended-run-"));
  try {
    const file = openRunFile(join(folder, "runs", "run.json"));
    const message = { role: "user", content: "Make breakfast, please." } as const;
    const saved = { runId: "7", messages: [message], journal: { steps: { "i0/inbox": { now: 0 } } }, undelivered: [message] };
    assert.equal(await file.load(), undefined);
    await file.save(saved);
    assert.deepEqual(await file.load(), saved);
    const mode = (await stat(file.path)).mode & 0o777;
    assert(process.platform === "win32" || mode === 0o600, "others can read it");
    await file.clear();
    assert.equal(await file.load(), undefined);
    await writeFile(file.path, '{"runId":7}');
    await assert.rejects(file.load());
  } finally {
    await rm(folder, { recursive: true });
  }
  console.log("✓ a suspended run is kept in a file that nobody else reads");
}

interface OpenSession {
  readonly provider: MockProvider;
  readonly over: Promise<void>;
  type(keys: string): void;
  /** Advances the clock until the session shows this text. Only looks at text that no earlier call has matched. */
  sees(text: string): Promise<void>;
  shown(): string;
  end(): void;
  quit(): Promise<void>;
}

interface OpenOptions {
  readonly file?: RunFile;
  readonly pause?: Pause;
  readonly isTerminal?: boolean;
}

function open({ file = createMemoryFile(), pause, isTerminal = true }: OpenOptions = {}): OpenSession {
  const clock = createTestClock();
  const [input, output] = [new PassThrough(), new PassThrough()];
  let written = "";
  let seen = 0;
  output.setEncoding("utf8").on("data", (text: string) => (written += text));
  const shown = (): string => stripVTControlCharacters(written);
  const paced: Pause = (ms, signal) =>
    new Promise((resolve, reject) => {
      clock.setTimeout(() => resolve(undefined), ms);
      signal.addEventListener("abort", () => reject(signal.reason));
    });
  const provider = createScriptedCook();
  const over = file.load().then((saved) => {
    const screen = openScreen({ input, output, isTerminal });
    return runSession({ provider, tools: [createTimer(pause ?? paced)], screen, file, clock }, saved);
  });
  const type = (keys: string): void => void input.write(keys);
  return {
    provider,
    over,
    type,
    async sees(text) {
      for (let steps = 0; steps < 1_000; steps += 1) {
        const at = shown().indexOf(text, seen);
        if (at >= 0) return void (seen = at + text.length);
        await clock.advance(20);
      }
      assert.fail(`"${text}" was not shown behind: ${shown().slice(0, seen)}\nbut:\n${shown().slice(seen)}`);
    },
    shown,
    end: () => input.end(),
    quit: async () => {
      type("/quit\r");
      await over;
    },
  };
}

/** A test clock cannot wait for a real disk, so this file is in memory. */
function createMemoryFile(): RunFile {
  let saved: SavedRun | undefined;
  return {
    path: "memory",
    load: async () => saved,
    save: async (run) => {
      saved = JSON.parse(JSON.stringify(run));
    },
    clear: async () => {
      saved = undefined;
    },
  };
}
