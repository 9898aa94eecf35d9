// Describes how services' streams deviate from the API they implement. `strictService` in `turnwright/testing` simulates these oddities.

/** One way that a Chat Completions stream can deviate from the usual form. */
export type ChatOddity =
  | "null-ids"
  | "other-ids"
  | "no-first-id"
  | "no-index"
  | "index-from-1"
  | "index-reused"
  | "whole-arguments"
  | "null-arguments"
  | "repeated-name"
  | "role-in-each-chunk"
  | "empty-calls"
  | "no-finish-reason"
  | "stop-with-calls"
  | "first-chunk-without-choices"
  | "comments"
  | "usage-in-choice"
  | "usage-in-x-groq"
  | "two-reasoning-fields";

interface OddityFacts {
  readonly rule: string;
  readonly source: string;
}

export const chatOddities: { readonly [Name in ChatOddity]: OddityFacts } = {
  "null-ids": { rule: "Later fragments of a call have the id null.", source: "mistral-vibe#1127, langchainjs#11505" },
  "other-ids": { rule: "Later fragments of a call have another id, without a name.", source: "mistral-vibe#1127, zed#54058" },
  "no-first-id": { rule: "Calls have no ids.", source: "continue#13225, opencode#47954" },
  "no-index": { rule: "Fragments of calls have no index.", source: "openai-python#3246, AstrBot#6692" },
  "index-from-1": { rule: "The index of calls begins at 1.", source: "agentgateway#2965" },
  "index-reused": { rule: "Every call has the index 0.", source: "agno#8880" },
  "whole-arguments": { rule: "A call comes in one fragment.", source: "async-openai#329, ollama#13581, huggingface.js#1512" },
  "null-arguments": { rule: "The first fragment of a call has the arguments null.", source: "ogx#5462" },
  "repeated-name": { rule: "Every fragment of a call has its name.", source: "github.com/NousResearch/hermes-agent#11984" },
  "role-in-each-chunk": { rule: "Every chunk has the role.", source: "@ai-sdk/openai-compatible@3.0.0" },
  "empty-calls": {
    rule: "After the calls comes an empty list of calls.",
    source: "new-api#3326, @ai-sdk/openai-compatible@3.0.44",
  },
  "no-finish-reason": { rule: "No chunk has a finish reason.", source: "pi#6225, openclaw#98575" },
  "stop-with-calls": { rule: "An answer with calls has the finish reason stop.", source: "vllm#25054, litellm#12862" },
  "first-chunk-without-choices": { rule: "The first chunk has no choices.", source: "MindSearch#310, cli-mentat#429" },
  comments: {
    rule: "The stream has comments, which keep the connection alive.",
    source: "https://openrouter.ai/docs/api/reference/streaming",
  },
  "usage-in-choice": { rule: "Token counts are in the choice.", source: "@earendil-works/pi-ai@1.6.0" },
  "usage-in-x-groq": { rule: "Token counts are in `x_groq`.", source: "groq-sdk@1.6.0" },
  "two-reasoning-fields": { rule: "A chunk has two reasoning fields, one of them empty.", source: "localharness#142" },
};

/** How a service writes a Chat Completions stream. */
export interface ChatStyle {
  /** The part of the stream where the service puts reasoning. Absent if it sends no reasoning. */
  readonly reasoning?: "reasoning_content" | "reasoning" | "think-tags" | "thinking-parts" | undefined;
  readonly oddities: readonly ChatOddity[];
}
