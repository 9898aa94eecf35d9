import { defineTool, type FinishReason } from "turnwright";
import type { Adapter } from "./adapters.ts";
import { no, type Probe, type ProbeGroup, send } from "./probe-kit.ts";
import { type End, listEnds, type ScriptedCall, type ScriptedTurn } from "./scripted.ts";

const look = defineTool({ name: "look", description: "Looks", inputSchema: { type: "object" }, execute: () => "seen" });
const calls: readonly ScriptedCall[] = [["call_1", "look", "{}"]];

const reasons: { readonly [Reason in FinishReason]: string } = {
  stop: "The model is done",
  "tool-calls": "The model calls tools",
  length: "The answer reached its length limit",
  "context-full": "The context is full",
  refusal: "The model declines",
  "content-filter": "The service filtered the answer",
  paused: "The service pauses",
  continue: "The answer continues in another request",
  "malformed-call": "The call cannot be read",
  error: "The model failed",
  unknown: "Any other stop reason",
};

type Known = ReadonlyMap<string, ReadonlySet<string>>;

/** Finds the values that a service sends for each finish reason. Tries every value in messages with and without calls. */
async function listen(adapter: Adapter): Promise<Known> {
  const known = new Map<string, Set<string>>();
  for (const { end, words } of listEnds(adapter.ends)) {
    for (const said of words) {
      const word = typeof said === "string" ? said : said.word;
      for (const more of [{}, { calls }]) await play(adapter, { text: "Mild.", ...more, end, word }, known);
    }
  }
  return known;
}

async function play(
  adapter: Adapter,
  turn: ScriptedTurn & { readonly end: End },
  known: Map<string, Set<string>>,
): Promise<void> {
  const { iteration } = await send(adapter, { tools: [look] }, { script: [turn] });
  const { finish, calls: read } = iteration;
  if (finish === undefined) return;
  if (read.length > 0 && finish === "stop") throw new Error("A turn with calls ends as one without.");
  const words = known.get(finish) ?? new Set();
  words.add(turn.word ?? "");
  known.set(finish, words);
}

const listened = new WeakMap<Adapter, Promise<Known>>();

/** Leaves out a value such as `stop end_turn` if `stop` alone is also a value. */
function toCell(words: ReadonlySet<string> | undefined): string {
  if (words === undefined) return no;
  return [...words]
    .filter((word) => !words.has(word.split(" ")[0] ?? "") || !word.includes(" "))
    .map((word) => `\`${word}\``)
    .join(", ");
}

function probeOf(reason: string, what: string): Probe {
  return {
    title: `\`${reason}\`: ${what}`,
    async find(adapter) {
      let known = listened.get(adapter);
      if (known === undefined) listened.set(adapter, (known = listen(adapter)));
      const words = (await known).get(reason);
      return reason === "unknown" && words !== undefined ? "yes" : toCell(words);
    },
  };
}

export const finishProbes: readonly ProbeGroup[] = [
  {
    title: "Finish reasons",
    about: `Each cell lists the stop reasons of the service that lead to one finish reason. One stop reason may lead to several finish reasons, because the content of the
message also decides: a refusal or a call. If an entry of \`aiSdkModel\` has two words, the first one is from the AI SDK and the second one from the service.`,
    probes: Object.entries(reasons).map(([reason, what]) => probeOf(reason, what)),
  },
];
