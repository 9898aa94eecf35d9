// A run with compaction sends a summary in place of its first messages. The transcript keeps these messages.

import { expect, it } from "vitest";
import type { CacheWatcher, StreamCache } from "./types.ts";
import type { Message, ModelRequest } from "../../core/index.ts";
import { RunWatcher } from "./watch-prompt-cache.ts";

const user = (content: string): Message => ({ role: "user", content });
const assistant = (text: string): Message => ({ role: "assistant", content: [{ type: "text", text }] });

const createWatcher = (): CacheWatcher => new RunWatcher(undefined);

interface Sending {
  readonly messages: readonly Message[];
  readonly transcript: readonly Message[];
  /** The messages in the body. Default: the request's messages. */
  readonly body?: readonly Message[];
}

function send(watcher: CacheWatcher, { messages, transcript, body = messages }: Sending): StreamCache["requests"] {
  const request: ModelRequest = { messages, tools: [], iteration: 0, transcript: { messages: transcript, given: 1 } };
  const watch = watcher.watch(request);
  watch.sending({ system: "Be brief.", messages: body }, { id: "p", model: "m" });
  return watch.read([], () => undefined)?.requests ?? [];
}

const early = [user("One"), assistant("1"), user("Two"), assistant("2"), user("Three")];
const latest = early.slice(3);
const summary = user('The user said "One" and "Two".');
const context = user("It is noon.");

it.for<[what: string, end: readonly Message[]]>([
  ["no context message at the end", []],
  ["a context message at the end", [context]],
])("watchPromptCache: reports a summary of the first messages as an intended change in a request with %s", ([, end]) => {
  const watcher = createWatcher();
  send(watcher, { messages: [...early, ...end], transcript: early });
  const added = [assistant("3"), user("Four")];
  const [compacted] = send(watcher, { messages: [summary, ...latest, ...added, ...end], transcript: [...early, ...added] });
  expect(compacted?.break).toMatchObject({ cause: { kind: "messages-compacted" }, isIntended: true });
  expect(compacted?.possibleBytes).toBe(compacted?.sharedBytes);
  const more = [...added, assistant("4"), user("Five")];
  const [next] = send(watcher, { messages: [summary, ...latest, ...more, ...end], transcript: [...early, ...more] });
  expect(next?.break).toBeUndefined();
});

it("watchPromptCache: reports an edit after a summary as edited messages, not as moved context", () => {
  const watcher = createWatcher();
  const messages = [summary, ...early.slice(4)];
  send(watcher, { messages, transcript: early });
  const [edited] = send(watcher, { messages, transcript: early, body: [summary, user("Drei")] });
  expect(edited?.break).toMatchObject({ cause: { kind: "messages-edited" }, isIntended: false });
});

it("watchPromptCache: ignores a request that is reported after the end of a stream", () => {
  const request: ModelRequest = { messages: early, tools: [], iteration: 0 };
  const watch = createWatcher().watch(request);
  expect(watch.read([], () => undefined)).toBeUndefined();
  watch.sending({ messages: early }, { id: "p", model: "m" });
  expect(watch.read([], () => undefined)).toBeUndefined();
});
