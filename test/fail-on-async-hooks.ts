// Fails a test file that leaves async hooks on, such as those of an AsyncLocalStorage. They slow promises down in all test files that share its
// process.

import { executionAsyncId } from "node:async_hooks";
import { afterAll } from "vitest";

/** Returns the id of a new promise, or of the code around it if there are no hooks. */
async function findId(): Promise<number> {
  await Promise.resolve();
  return executionAsyncId();
}

async function hasHooks(): Promise<boolean> {
  const first = await findId();
  return first !== (await findId());
}

// Only the first file is at fault.
const hadHooks = await hasHooks();

afterAll(async () => {
  if (!hadHooks && (await hasHooks()))
    throw new Error(
      "This file leaves async hooks on. Call disable() on each AsyncLocalStorage, or run it in a process of its own.",
    );
});
