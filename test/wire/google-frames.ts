// Frames of generateContentStream, chunk by chunk.

/** One event, as the service frames it. */
export const chunk = (fields: object): string => `data: ${JSON.stringify(fields)}\r\n\r\n`;

/** Parts of the model's content. */
export const says = (...parts: readonly object[]): string =>
  chunk({ candidates: [{ content: { role: "model", parts }, index: 0 }] });

/** A text. */
export const text = (content: string): string => says({ text: content });

/** Makes a call in one part. An empty id is left out. */
export const callPart = (id: string, name: string, args: unknown): object => ({
  functionCall: { ...(id === "" ? {} : { id }), name, args },
});

/** Token counts. `thoughts` are counted in addition to the candidates. */
export const counts = (prompt: number, candidates: number, thoughts = 0): object => ({
  promptTokenCount: prompt,
  candidatesTokenCount: candidates,
  ...(thoughts === 0 ? {} : { thoughtsTokenCount: thoughts }),
  totalTokenCount: prompt + candidates + thoughts,
});

/** The finish reason with the last counts: 3 in, 2 out. */
export const stop = (finishReason = "STOP", rest: object = {}, usageMetadata: object = counts(3, 2)): string =>
  chunk({ candidates: [{ finishReason, index: 0, ...rest }], usageMetadata });

/** A piece of a call whose arguments are streamed. */
export const piece = (functionCall: object, rest: object = {}): string => says({ functionCall, ...rest });
