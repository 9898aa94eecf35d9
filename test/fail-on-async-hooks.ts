// Fails a test file that leaves async hooks on, such as those of an AsyncLocalStorage. They slow promises down in all test files that share its
// process.

import { executionAsyncId } from "node:async_hooks";
import { afterAll } from "vitest";

/** Returns the id of a new promise, or of the code around it if there are no hooks. */
async function findId(): Promise<number> {
  await Promise.resolve();
  return executionAsyncId();
}

afterAll(async () => {
  const first = await findId();
  if (first !== (await findId())) throw new Error("This file leaves async hooks on. Call disable() on each AsyncLocalStorage.");
});
