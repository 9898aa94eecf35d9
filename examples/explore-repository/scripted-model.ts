// A model for users without an API key. It follows fixed rules, and takes all facts in its answer from tool results.

import { createMockProvider, type MockPart, type MockProvider, text, toolCall, wait } from "turnwright/testing";
import { type Clues, findClues, soughtWords } from "./clues.ts";
import { composeAnswer } from "./scripted-answer.ts";
import { type Call, readSeen, type Seen } from "./seen.ts";

export function createScriptedModel({ isPaced }: { readonly isPaced: boolean }): MockProvider {
  const pause = (ms: number): readonly MockPart[] => (isPaced ? [wait(ms)] : []);
  const say = (words: string): readonly MockPart[] =>
    words.split(/(?<=\s)/).flatMap((word) => [...pause(8 + 4 * word.length), text(word)]);
  return createMockProvider(
    ({ messages }) => {
      const seen = readSeen(messages);
      const clues = findClues(seen);
      for (const plan of plans) {
        const { words, calls } = plan(clues, seen);
        const left = calls.filter((call) => !seen.hasCalled(call));
        if (left.length > 0) return [...pause(400), ...say(words), ...left.map(({ name, args }) => toolCall(name, args))];
      }
      return [...pause(600), ...say(composeAnswer(seen, clues))];
    },
    { id: "script", model: "scripted-model" },
  );
}

interface Plan {
  readonly words: string;
  readonly calls: readonly Call[];
}

/** The model makes the calls of one plan after the other. The next plan begins when all calls of the previous plan were made. */
const plans: readonly ((clues: Clues, seen: Seen) => Plan)[] = [
  () => ({ words: "First, what is there.", calls: [{ name: "list_files", args: { folder: "." } }] }),
  ({ manifestPath, readmePath }) => ({ words: "What it says of itself.", calls: [manifestPath, readmePath].flatMap(toReading) }),
  ({ shownName, shownDefinition }, { listing }) => ({
    words: `${shownName === undefined ? "Where" : `The README calls \`${shownName}\`. Where is that defined, and where`} does it speak of "${soughtWords}"?`,
    calls: listing.total === 0 ? [] : [shownDefinition, soughtWords].flatMap(toSearch),
  }),
  ({ shown, sought }) => ({ words: "A closer look at what was found.", calls: [shown?.path, sought?.path].flatMap(toReading) }),
  ({ decider, deciderCall }) => ({ words: `And who calls \`${decider?.name}\`?`, calls: [deciderCall].flatMap(toSearch) }),
];

function toReading(path: string | undefined): readonly Call[] {
  return path === undefined ? [] : [{ name: "read_file", args: { path } }];
}

function toSearch(sought: string | undefined): readonly Call[] {
  return sought === undefined ? [] : [{ name: "search", args: { text: sought } }];
}
