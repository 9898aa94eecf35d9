import { approve, type Approve, type Journal, type LoopOptions, memoryJournal, type SavedJournal } from "turnwright";
import { createMockProvider, type MockScript, text, toolCall } from "turnwright/testing";
import { defineAgentTool } from "turnwright";
import type { Fault } from "../faults.ts";
import { play, tool } from "../play.ts";
import { after, called, type Port, type Ports, portsOf, question } from "./port.ts";

const asksFor: Approve = () => ({ kind: "ask" });
const asking = { middleware: [approve(asksFor)], runId: "recorded" };

type Verbs = { readonly [Verb in keyof Journal]?: unknown };

const journal = (verbs: (inner: Journal) => Verbs): Partial<LoopOptions> => {
  const inner = memoryJournal();
  const own: Journal = {
    durable: true,
    step: async (key, body) => inner.step(key, body),
    read: async (key) => inner.read(key),
  };
  return { journal: { ...own, ...(verbs(own) as Partial<Journal>) } };
};

const atStep =
  (key: string) =>
  (fault: Fault): Partial<LoopOptions> =>
    journal(({ step }) => ({ step: (asked: string, body: () => unknown) => (asked === key ? fault() : step(asked, body)) }));

const inside: Partial<LoopOptions> = {
  runId: "recorded",
  tools: [
    defineAgentTool({
      name: "t",
      description: "",
      inputSchema: { type: "object" },
      prepare: () => ({
        messages: question,
        provider: createMockProvider([toolCall("inner"), text("In.")]),
        tools: [tool("inner", () => 1)],
        middleware: asking.middleware,
      }),
    }),
  ],
};

interface Suspended {
  readonly saved: SavedJournal;
  readonly id: string;
}

async function suspend(script: MockScript, more: Partial<LoopOptions>): Promise<Suspended> {
  const { journal: made, reason } = await play(script, { journal: memoryJournal(), ...more }).result;
  const id = reason.kind === "approval-required" ? (reason.calls[0]?.id ?? "") : "";
  return { saved: JSON.parse(JSON.stringify(made)) as SavedJournal, id };
}

const waiting = await suspend([toolCall("t")], { ...called(() => 1), ...asking });
const waitingInside = await suspend([toolCall("t")], inside);

const resumed = ({ saved }: Suspended, verbs: Verbs = {}): Partial<LoopOptions> => ({
  journal: { ...memoryJournal(saved), ...(verbs as Partial<Journal>) },
});

const asked = (over: Port["over"], ends: readonly string[] = []): Port => ({
  over,
  ends: ["thrown", "journal-failed", ...ends],
  hangs: "journal-unresponsive",
});

const definition = { name: "t", description: "", inputSchema: {} };

export const recordingPorts: Ports = {
  // Nothing is done before the journal is open. So its errors are passed on, and the end of the time limit loses nothing.
  "journal.open": {
    ...asked((fault) => journal(() => ({ open: fault })), ["thrown", "invalid-option"]),
    endsAtWallClock: true,
  },
  "the close function of a journal": asked((fault) => journal(() => ({ open: () => Promise.resolve(fault) })), ["answered"]),
  "journal.step for the first step": asked(atStep("run"), ["journal-mismatch", "journal-damaged"]),
  "journal.step for a model request": asked(atStep("i1/request/model"), ["journal-damaged"]),
  "journal.step for a tool call": asked(atStep("i1/call/0/t/outcome"), ["journal-damaged"]),
  "journal.step for a call that begins": asked(atStep("i1/call/0/t/begun"), ["journal-damaged"]),
  "journal.step for the last look": asked(atStep("i2/answered"), ["journal-damaged"]),
  // Nothing is read in a run without earlier records.
  "journal.read": { over: (fault) => journal(() => ({ read: fault })), ends: ["answered"] },
  "journal.read (in a resumed run)": asked(
    (fault) => ({ ...called(() => 1), ...asking, ...resumed(waiting, { read: fault }) }),
    ["approval-required", "journal-damaged"],
  ),
  "journal.read (in a resumed run with a nested run)": asked(
    (fault) => ({ ...inside, ...resumed(waitingInside, { read: fault }) }),
    ["approval-required", "journal-damaged"],
  ),
  ...portsOf("registry.definitions() (in a resumed run) on call ", [1, 2, 3, 4], (call) => ({
    over: (fault) => ({
      ...asking,
      ...resumed(waiting),
      answers: { [waiting.id]: { kind: "approve" } },
      tools: { definitions: after(call - 1, () => [{ ...definition }], fault), executeTool: () => 1 } as never,
    }),
    // If call 1 fails, the replay fails and the run is rejected. If a later call fails, the run ends, or only the tool call fails.
    // An empty list means that the waiting tool was removed.
    ends:
      call === 1
        ? ["thrown", "invalid-option", "tools-changed"]
        : ["hook-failed", "approval-required", "answered", ...(call === 2 ? ["tools-changed"] : [])],
  })),
  allowToolChange: {
    over: (fault) => ({
      ...asking,
      ...resumed(waiting),
      tools: [],
      middleware: asking.middleware,
      allowToolChange: fault as () => boolean,
    }),
    ends: ["tools-changed"],
  },
};
