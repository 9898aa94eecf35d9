import { onTestFinished } from "vitest";

export interface Following {
  /** Resolves when the whole text so far ends with `end`. */
  until(end: string): Promise<string>;
}

export async function follow(url: string): Promise<Following> {
  const { body } = await fetch(url);
  const reader = (body as ReadableStream<Uint8Array>).getReader();
  onTestFinished(() => reader.cancel().catch(() => {}));
  const decoder = new TextDecoder();
  let said = "";
  return {
    async until(end) {
      while (!said.endsWith(end)) {
        const { value, done } = await reader.read();
        if (done) throw new Error(`The response ended after ${said}`);
        said += decoder.decode(value, { stream: true });
      }
      return said;
    },
  };
}
