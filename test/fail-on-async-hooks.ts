// Fails a test file that leaves async hooks enabled, for example those of an AsyncLocalStorage. Async hooks slow down promises in
// all later test files of the same process.

import { executionAsyncId } from "node:async_hooks";
import { afterAll } from "vitest";

/** With async hooks, returns a new id for each call. Without async hooks, returns the id of the surrounding code. */
async function findId(): Promise<number> {
  await Promise.resolve();
  return executionAsyncId();
}

async function hasHooks(): Promise<boolean> {
  const first = await findId();
  return first !== (await findId());
}

// If an earlier file has left hooks enabled, this file is not reported.
const hadHooks = await hasHooks();

afterAll(async () => {
  if (!hadHooks && (await hasHooks()))
    throw new Error(
      "This file leaves async hooks on. Call disable() on each AsyncLocalStorage, or run it in a process of its own.",
    );
});
