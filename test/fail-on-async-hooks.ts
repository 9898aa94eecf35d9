// Fails a test file that leaves async hooks enabled, for example those of an AsyncLocalStorage. Async hooks slow down promises in
// all later test files of the same process.

import { executionAsyncId } from "node:async_hooks";
import { afterAll } from "vitest";

/** Each call returns another id only if async hooks are enabled. */
async function findId(): Promise<number> {
  await Promise.resolve();
  return executionAsyncId();
}

async function hasHooks(): Promise<boolean> {
  const first = await findId();
  return first !== (await findId());
}

// An earlier test file may have left hooks enabled. This test file must not fail because of them.
const hadHooks = await hasHooks();

afterAll(async () => {
  if (!hadHooks && (await hasHooks()))
    throw new Error(
      "This file leaves async hooks on. Call disable() on each AsyncLocalStorage, or run it in a process of its own.",
    );
});
