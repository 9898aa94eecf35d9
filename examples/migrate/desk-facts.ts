// The facts about a support desk that must be the same with both libraries, and the check of its input.

export interface DeskFacts {
  readonly shown: readonly string[];
  /** The system text and the names of the tools of each request. */
  readonly requests: readonly { readonly system: string; readonly tools: readonly string[] }[];
  readonly nextSystem: string;
  readonly refunds: readonly string[];
}

/** Stands in for a small model that judges the topic. */
export async function isOffTopic(input: unknown): Promise<boolean> {
  return JSON.stringify(input).includes("lock");
}
