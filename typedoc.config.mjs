// Builds the reference out of the docstrings of the published entries.

import { readFileSync } from "node:fs";

const { compilerOptions } = JSON.parse(readFileSync("tsconfig.json", "utf8"));

/** @type {import("typedoc").TypeDocOptions} */
export default {
  entryPoints: Object.values(compilerOptions.paths).flat(),
  out: "docs/reference",
  readme: "none",
  treatWarningsAsErrors: true,
  // The types are checked by a gate of their own.
  skipErrorChecking: true,
  // Links to sources need a public remote.
  disableSources: true,
  // A marker that nobody writes or reads, and what callers are handed but never make.
  intentionallyNotExported: [
    "fromSchema",
    "IdleTimer",
    // The rule of an option, which providers write as a value.
    ...["AdvisedOption", "NumberRule", "Choice", "Fields"],
    // Parts of the state of a run, which middleware only reads, and the options of its nested runs.
    ...["BeforeMessage", "CurrentMessage", "EndedCall", "IdenticalCalls", "InboxMessage", "Look", "NestedOptions"],
    // Parts of a generic type, which is documented as a whole.
    ...["OtherEventType", "EventOf", "ToolEnd", "JsonOf", "FinishedCall", "FinishedCallOf", "Replaced"],
    ...[
      "CompletedCall",
      "UncompletedCall",
      "LastOf",
      "NeededContext",
      "Refusal",
      "Spending",
      "prefix",
      "Named",
      "Readable",
      "AnswerIds",
      "CutOff",
      "Names",
      "Advice",
      "NestedSchema",
      "OddityChoice",
      "ByteWatcher",
      "EventHandlers",
      "MediaRules",
      "ConversationOwnOptions",
      "inherited",
      "NeededBySystem",
      "MemberContext",
    ],
  ],
};
