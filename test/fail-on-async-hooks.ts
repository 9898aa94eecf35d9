// Fails a test file that leaves async hooks enabled, for example those of an AsyncLocalStorage. Async hooks slow down promises in
// all later test files of the same process.

import { executionAsyncId } from "node:async_hooks";
import { afterAll } from "vitest";

/** Returns the id of the current async execution. Only with async hooks enabled, each call has its own id. */
async function findId(): Promise<number> {
  await Promise.resolve();
  return executionAsyncId();
}

async function hasHooks(): Promise<boolean> {
  const first = await findId();
  return first !== (await findId());
}

// Hooks that an earlier test file left enabled are not the fault of this test file.
const hadHooks = await hasHooks();

afterAll(async () => {
  if (!hadHooks && (await hasHooks()))
    throw new Error(
      "This file leaves async hooks on. Call disable() on each AsyncLocalStorage, or run it in a process of its own.",
    );
});
