// Builds the reference out of the docstrings of the published entries.

import { readFileSync } from "node:fs";

const { compilerOptions } = JSON.parse(readFileSync("tsconfig.json", "utf8"));

/** @type {import("typedoc").TypeDocOptions} */
export default {
  entryPoints: Object.values(compilerOptions.paths).flat(),
  // Without it, TypeDoc reads the tests and the examples too.
  tsconfig: "scripts/tsconfig.reference.json",
  out: "docs/reference",
  readme: "none",
  treatWarningsAsErrors: true,
  // The types are checked by a gate of their own.
  skipErrorChecking: true,
  // Links to sources need a public remote.
  disableSources: true,
  // A marker that nobody writes or reads, and what callers are handed but never make.
  intentionallyNotExported: [
    // Parts of types that infer the arguments and results of tools.
    ...[
      "Inherited",
      "FromSchema",
      "Unvalidated",
      "JsonOf",
      "ToolInput",
      "ReasonOf",
      "Readable",
      "PreparedOptions",
      "ReleaseRequest",
      "ResultFields",
      "PageAnswer",
    ],
    ...[
      "AskingContext",
      "ClosedRun",
      "CutOff",
      "BegunCall",
      "NestingCall",
      "RecordedPlace",
      "PartDigest",
      "FirstRecord",
      "RequestPrefix",
      "IdleTimer",
      "EventSink",
    ],
    // The shapes of arguments and results of functions for adapters and hosts, which are documented with their function.
    ...[
      "Answerer",
      "AskedTool",
      "CallBasis",
      "CallLimits",
      "ContextPorts",
      "DefineAgentTool",
      "DefineTool",
      "Final",
      "Limit",
      "LimitName",
    ],
    ...["PartStart", "PricedAttempts", "PricingPorts", "RecordedRun", "Rule", "UnknownRecord", "WaitingSubject"],
    "fromSchema",
    // The rule of an option, which providers write as a value.
    ...["AdvisedOption", "Fields"],
    // Parts of the state of a run, which middleware only reads, and the options of its nested runs.
    ...["BeforeMessage", "CurrentMessage", "EndedCall", "InboxMessage", "Look", "NestedOptions"],
    // Parts of a generic type, which is documented as a whole.
    ...["OtherEventType", "EventOf", "ToolEnd", "FinishedCall", "FinishedCallOf", "Replaced"],
    ...[
      "CompletedCall",
      "UncompletedCall",
      "NeededContext",
      "Refusal",
      "Spending",
      "prefix",
      "Named",
      "Advice",
      "OddityChoice",
      "ConversationOwnOptions",
      "inherited",
      "NeededBySystem",
      "MemberContext",
    ],
  ],
};
