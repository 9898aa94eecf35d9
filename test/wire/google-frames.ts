export const chunk = (fields: object): string => `data: ${JSON.stringify(fields)}\r\n\r\n`;

export const says = (...parts: readonly object[]): string =>
  chunk({ candidates: [{ content: { role: "model", parts }, index: 0 }] });

export const text = (content: string): string => says({ text: content });

export const callPart = (id: string, name: string, args: unknown): object => ({
  functionCall: { ...(id === "" ? {} : { id }), name, args },
});

/** `candidates` does not include `thoughts`. */
export const counts = (prompt: number, candidates: number, thoughts = 0): object => ({
  promptTokenCount: prompt,
  candidatesTokenCount: candidates,
  ...(thoughts === 0 ? {} : { thoughtsTokenCount: thoughts }),
  totalTokenCount: prompt + candidates + thoughts,
});

/** Writes the last chunk, with a finish reason and token counts. Default: 3 input tokens and 2 output tokens. */
export const stop = (finishReason = "STOP", rest: object = {}, usageMetadata: object = counts(3, 2)): string =>
  chunk({ candidates: [{ finishReason, index: 0, ...rest }], usageMetadata });

export const piece = (functionCall: object, rest: object = {}): string => says({ functionCall, ...rest });
